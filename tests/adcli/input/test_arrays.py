"""What is wrong with tensors at the command line: shapes, lists, files of every kind, memory, and verbs that are of scalars."""
from __future__ import annotations

import io
import math
import random
import sys
import zipfile

import numpy as np
import pytest
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoints
from adcli.lang.simplify.simplify import simplify
from command import adcli
from session_seed import drawn
from tensor_cases import A, B, folder

import adcli as api
import adcli.input.arrays as tensors

__all__ = ["folder"]


@pytest.mark.parametrize("name, data, message", [
    ("x.csv", b"1,2\n3\n", "x.csv:2: 1 field, but line 1 has 2"),
    ("x.csv", b"a,b\n1,2\n", "x.csv:1: 'a' is not a number\nhelp: a matrix has no header"),
    ("x.csv", b"1,2\n3,1e999\n", "x.csv:2: '1e999' is too large for a double"),
    ("x.csv", b"1,2\n3,\n", "x.csv:2: '' is not a number"),
    ("x.csv", b"\n\n", "x.csv: no numbers"),
    ("x.bin", b"\xff\xfe\x00\x01", "x.bin: not a tensor: a stray byte at byte offset 0\n"
     "help: tensors are read from .npy, .npz, JSON and CSV"),
    ("x.json", b"[[1, 2], 3]", "x.json: 'A' is ragged along dimension 1: A(0) has 2 elements, and A(1) is a number"),
    ("x.json", b"[[1, 2], [3]]", "x.json: 'A' is ragged along dimension 1: A(0) has 2 elements, and A(1) has 1 element"),
    ("x.json", b"[[1, 2], [3, true]]", "x.json: A(1, 1) is not a number"),
    ("x.json", b"[[1, 2], [3, 1e999]]", "x.json: A(1, 1) is too large for a double\nhelp: infinity is written \"Infinity\""),
    ("x.json", b"[[1, 2], [3, 4]", "x.json:1:16: not JSON: Expecting ',' delimiter"),
    ("x.json", b"[" * 40 + b"]" * 40, "x.json: 'A' has more than 32 dimensions"),
    ("x.json", b"[" * 100_000, "x.json: JSON nested too deeply"),
    ("x.npy", b"\x93NUMPY\x01\x00\x10\x00{'shape': (2,2),", "x.npy: not an .npy file that this NumPy can read"),
    ("x.npy", b"\x93NUMPY\x09\x00", "x.npy: not an .npy file that this NumPy can read"),
    ("x.npz", b"PK\x03\x04 and nothing more", "x.npz: not an .npz archive: File is not a zip file"),
])
def test_files_that_hold_no_tensor(name, data, message, folder):
    (folder / name).write_bytes(data)
    ended = adcli("eval", "mv.ad", "--at", f"A=@{name},B=[1,2]")
    assert (ended.code, ended.err) == (2, f"adcli: error: {message}\n")


def header(shape: tuple[int, ...], descr: str = "<f8") -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"shape": shape, "fortran_order": False, "descr": descr})
    return file.getvalue()


@pytest.mark.parametrize("data, message", [
    (header((3, 2)) + bytes(40), "x.npy: truncated: 40 bytes of data, but (3, 2) of float64 needs 48"),
    (header((3, 2)) + bytes(49), "x.npy: more than 48 bytes of data, but (3, 2) of float64 needs 48"),
    (header((3, 2), "<c16") + bytes(96), "x.npy: must be real numbers, not complex128"),
    (header((1,), "|O") + b"cos\nsystem\n(S'true'\ntR.", "x.npy: must be real numbers, not object"),
    (header((1,), "<U4") + bytes(16), "x.npy: must be real numbers, not <U4"),
    (header((-3, 2)), "x.npy: impossible shape (-3, 2)"),
    (header((0, 2**63)), f"x.npy: impossible shape (0, {2**63})"),
])
def test_arrays_that_are_none(data, message, folder):
    (folder / "x.npy").write_bytes(data)
    assert adcli("eval", "mv.ad", "--at", "A=@x.npy,B=[1,2]").err == f"adcli: error: {message}\n"
    with zipfile.ZipFile("x.npz", "w") as archive:
        archive.writestr("A.npy", data)
    assert adcli("eval", "mv.ad", "--at", "@x.npz,B=[1,2]").err == f"adcli: error: {message.replace('x.npy', 'x.npz: A.npy')}\n"


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("members, message", [
    (["A.npy", "A.npy"], "'A' occurs twice"), (["run.py"], "run.py is not an array that NumPy wrote"),
    ([], "the archive has no arrays")])
def test_archives_with_something_else_in_them(members, message):
    with zipfile.ZipFile("x.npz", "w") as archive:
        for name in members:
            archive.writestr(name, header((1, 2)) + bytes(16))
    assert adcli("eval", "mv.ad", "--at", "@x.npz").err == f"adcli: error: x.npz: {message}\n"


def test_archives_that_are_ambiguous_or_damaged(folder):
    np.savez("x.npz", a=A, b=B)
    assert adcli("eval", "mv.ad", "--at", "A=@x.npz,B=[1]").err == "adcli: error: x.npz: no array 'A'\nhelp: did you mean 'a'?\n"
    whole = bytearray((folder / "x.npz").read_bytes())
    whole[200] ^= 1
    (folder / "x.npz").write_bytes(whole)
    assert "not an .npz archive: Bad CRC-32" in adcli("eval", "mv.ad", "--at", "@x.npz").err


def test_memory_is_computed_before_it_is_taken(folder, monkeypatch):
    (folder / "x.npy").write_bytes(header((1 << 40, 1 << 20)))
    error = adcli("eval", "mv.ad", "--at", "A=@x.npy,B=[1]").err
    assert error.startswith("adcli: error: x.npy needs 8589934592 GiB of memory, but only ") and error.endswith(" is free\n")
    np.save("long.npy", np.zeros(1_000_000))
    copy = ["-e", "input x(N)", "-e", "y(i) = x(i)", "--at", "x=@long.npy"]
    assert "adcli: error: this needs 7450 GiB of memory, but only " in adcli("jacobian", *copy).err
    outer = ["-e", "input x(N)", "-e", "y(i, j) = x(i) * x(j)", "--at", "x=@long.npy"]
    assert "adcli: error: this needs 7450 GiB of memory, but only " in adcli("eval", *outer).err
    assert "adcli: error: 'd_dy' needs 7450 GiB of memory, but only " in adcli("vjp", *outer, "--cotangent", "y=1").err
    monkeypatch.setattr("adcli.codegen.machine.memory.available", lambda: 90_000_000)
    assert adcli("eval", *copy).err == \
        "adcli: error: the text of 1,000,000 numbers needs 95 MiB of memory, but only 85 MiB is free\n"


@pytest.mark.parametrize("kind", ["npy", "npz", "deflated", "json", "csv"])
def test_damaged_files_are_arrays_or_faults(kind, folder):
    r = drawn("test_damaged_files_are_arrays_or_faults", kind)
    good = written(kind)
    for _ in range(300):
        data = bytearray(good)
        for _ in range(r.randint(1, 4)):
            data[r.randrange(len(data))] = r.choice(b"\x00\xff[](){}',.0919eE-")
        del data[r.choice((len(data), r.randrange(len(data)))):]
        (folder / "x").write_bytes(data)
        try:
            assert isinstance(tensors.read_tensor("A", "x", 2), np.ndarray)
        except AdError as fault:
            assert fault.message.startswith("x:")


def written(kind: str) -> bytes:
    """A matrix as a file of some kind."""
    file = io.BytesIO()
    match kind:
        case "npy":
            np.save(file, A)
        case "npz":
            np.savez(file, A=A)
        case "deflated":
            np.savez_compressed(file, A=A)
        case "json":
            return str(A.tolist()).encode()
        case "csv":
            return b"\n".join(b",".join(b"%r" % float(x) for x in row) for row in A)
    return file.getvalue()


# ---------------------------------------------------------------- laws

def nested(r: random.Random, shape: tuple[int, ...]) -> object:
    if not shape:
        return r.choice((r.uniform(-9, 9), float(r.randint(-3, 3)), 1e-310))
    return [nested(r, shape[1:]) for _ in range(shape[0])]


def test_lists_are_the_arrays_that_numpy_makes_of_them() -> None:
    """As text with blanks anywhere, as JSON, and as a file."""
    r = random.Random(2)
    for _ in range(150):
        shape = tuple(r.randint(0, 3) for _ in range(r.randint(1, 4)))
        shape = shape[:shape.index(0) + 1] if 0 in shape else shape
        lists = nested(r, shape)
        want = np.array(lists)
        text = "".join(c + r.choice(("", "", " ", "  ")) if c in "[]," else c for c in repr(lists).replace(" ", ""))
        for got in (tensors.text_array("A", text), tensors.json_array("A", lists)):
            assert got.dtype == np.float64 and got.shape == want.shape and got.tobytes() == want.tobytes(), text


@pytest.mark.parametrize("text", ["[1]]", "[[1]", "[1,]", "[,1]", "[1][2]", "[1],2", "[[1],]", "]1[", "[]]", "[1,,2]", "[", "",
                                  "[1]x", "[1]," + "2" * 36, "[1]," + "2" * 37])
def test_brackets_that_are_no_lists(text: str) -> None:
    with pytest.raises(AdError) as fault:
        tensors.text_array("A", text)
    shown = text if len(text) <= 40 else text[:39] + "…"
    assert fault.value.message == f"A={shown} is not a tensor"
    assert fault.value.help == "write numbers in nested lists, as in A=[[1, 2], [3, 4]]"


def test_elements_in_lists_are_numbers_as_points_have_them() -> None:
    got = tensors.text_array("A", '[pi/2, "Infinity", "0x1p-3", -inf , 1_000]')
    assert got.tolist() == [math.pi / 2, math.inf, 0.125, -math.inf, 1000.0]
    with pytest.raises(AdError, match='A: "one" is not a number'):
        tensors.text_array("A", '["one"]')
    with pytest.raises(AdError, match=r"f: A\(1, 0\) is not a number"):
        tensors.json_array("A", [[1.0], [True]], "f: ")
    with pytest.raises(AdError, match="A is too large for a double"):
        tensors.json_array("A", math.inf)


def test_an_array_has_as_many_dimensions_as_every_numpy_has() -> None:
    depth = tensors.MOST_DIMENSIONS
    assert tensors.text_array("A", "[" * depth + "1" + "]" * depth).ndim == depth == 32
    with pytest.raises(AdError, match="'A' has more than 32 dimensions"):
        tensors.text_array("A", "[" * (depth + 1) + "1" + "]" * (depth + 1))
    assert tensors.npy_header(io.BytesIO(header((1,) * depth)), "x")[0] == (1,) * depth
    with pytest.raises(AdError, match="x: impossible shape"):
        tensors.npy_header(io.BytesIO(header((1,) * (depth + 1))), "x")
    assert tensors.npy_header(io.BytesIO(header((0, sys.maxsize))), "x")[0] == (0, sys.maxsize)


INTEGER, REAL = parse("input int32 k(N), x(N)\nv +=! x(i)*k(i)\n").params


@pytest.mark.parametrize(("array", "wrong"), [
    (np.array([1.0, -0.0, 2.0**62]), None), (np.array([1.0, 2.0**63]), 1), (np.array([0.5]), 0),
    (np.array([np.nan]), 0), (np.array([-np.inf]), 0), (np.array([2**63 - 1], np.uint64), None),
    (np.array([2**63], np.uint64), 0), (np.array([True, False]), None),
    (np.array([-5, 7], np.int8), None), (np.array(3.0), None), (np.array(3.5), 0)])
def test_integers_are_never_rounded(array: np.ndarray, wrong: int | None) -> None:
    if wrong is None:
        got = tensors.conformed(INTEGER, array)
        assert got.dtype == np.int64 and got.shape == array.shape and got.tolist() == array.tolist() and got.flags.c_contiguous
        return
    place = f"k({wrong})" if array.ndim else "k"
    what = "an integer input" if not array.ndim else f"a tensor of {'64-bit ' if array.dtype.kind == 'u' else ''}integers"
    with pytest.raises(AdError) as fault:
        tensors.conformed(INTEGER, array, "f: ")
    assert fault.value.message == f"f: {place}: {what} cannot hold {array.reshape(-1)[wrong]}"


@pytest.mark.parametrize(("given", "said"), [
    (np.ones(2, complex), "must be real numbers, not an array of complex128"), ("abc", "must be real numbers, not str"),
    (None, "must be real numbers, not NoneType"), ([[1.0], [2.0, 3.0]], None),
    ([1.0, None], "must be real numbers, not an array of object")])
def test_what_is_no_array_of_numbers(given: object, said: str | None) -> None:
    with pytest.raises(AdError) as fault:
        tensors.conformed(REAL, given, "f: ")
    assert fault.value.message == (f"f: input 'x' {said}" if said else
                                   "f: 'x' is ragged along dimension 1: x(0) has 1 element, and x(1) has 2 elements")


@pytest.mark.parametrize("array", [
    np.arange(6.0).reshape(2, 3).T, np.arange(6, dtype=np.int16), np.ones((2, 2), bool), np.float32(1.5), np.arange(6.0)[::-2],
    np.arange(3.0).astype(">f8"), np.float16([65504, np.inf])])
def test_every_kind_of_real_array_is_taken_and_read_from_files(array: np.ndarray, folder) -> None:
    got = tensors.conformed(REAL, array)
    assert got.dtype == np.float64 and got.flags.c_contiguous and got.tolist() == array.tolist()
    for version in ((1, 0), (2, 0)):
        with open("x", "wb") as file:
            np.lib.format.write_array(file, np.asarray(array), version)
        assert tensors.read_tensor("A", "x", 2).tolist() == array.tolist()


@pytest.mark.parametrize("x", [2.0, np.float64(2), np.array(2.0), np.int8(2), True])
def test_a_scalar_beside_tensors_is_a_float(x: object) -> None:
    _, s = parse("input x(N), s\nv +=! x(i)*s\n").params
    assert isinstance(tensors.given(s, x), float) and tensors.given(s, x) == float(x)
    assert tensors.given(REAL, [1, 2]).tolist() == [1.0, 2.0] and tensors.given(INTEGER, np.array(3)).dtype == np.int64


def test_the_memory_a_file_takes_is_what_its_numbers_take(folder, monkeypatch) -> None:
    """Asked for before it is taken: the data of an array, 16 bytes for each character of text."""
    asked: list[tuple[str, int]] = []
    monkeypatch.setattr(tensors, "require_room", lambda what, size: asked.append((what, size)))
    np.save("x.npy", np.ones((3, 5), np.float32))
    (folder / "x.csv").write_text("1,2\n3,4\n")
    tensors.read_tensor("A", "x.npy", 2)
    tensors.read_tensor("A", "x.csv", 2)
    assert asked == [("x.npy", 60), ("x.csv", 128)]


@pytest.mark.parametrize(("text", "rank", "want"), [
    ("1,2\n3,4\n", 2, [[1, 2], [3, 4]]), ("1\t2\r\n3\t4", 2, [[1, 2], [3, 4]]), ("1 2\n\n 3  4 \n", 2, [[1, 2], [3, 4]]),
    ("1,2,3", 1, [1, 2, 3]), ("1\n2\n3\n", 1, [1, 2, 3]), ("1,2\n3,4", 1, [[1, 2], [3, 4]]), ("7\n", 0, 7), ("7,8", 0, [[7, 8]]),
    ("7", 2, [[7]]), ('"1.5","inf"\n nan,1_000\n', 2, [[1.5, math.inf], [math.nan, 1000]]), ("\ufeff1,2", 1, [1, 2]),
    ("1, 2\t\n", 1, [1, 2])])
def test_numbers_in_lines(text: str, rank: int, want: object, folder) -> None:
    (folder / "x.csv").write_text(text, "utf-8")
    np.testing.assert_array_equal(tensors.read_tensor("A", "x.csv", rank), np.array(want, float))


def test_an_archive_gives_the_array_of_the_name_or_the_only_one(folder) -> None:
    np.savez("x.npz", A=A, B=B)
    np.savez("one.npz", other=B)
    assert tensors.read_tensor("B", "x.npz", 1).tolist() == B.tolist() == tensors.read_tensor("A", "one.npz", 1).tolist()
    with pytest.raises(AdError) as fault:
        tensors.read_tensor("weights", "x.npz", 1)
    assert (fault.value.message, fault.value.help) == ("x.npz: no array 'weights'", "it has A, B")


@pytest.mark.parametrize("name", ["A", "A.npy.txt", ".npz", "npy", "A.NPY"])
def test_a_member_that_is_not_called_npy(name: str, folder) -> None:
    with zipfile.ZipFile("x.npz", "w") as archive:
        archive.writestr(name, header((1,)) + bytes(8))
    assert adcli("eval", "mv.ad", "--at", "@x.npz").err == f"adcli: error: x.npz: {name} is not an array that NumPy wrote\n"


def test_a_member_in_a_compression_that_numpy_never_writes(folder) -> None:
    with zipfile.ZipFile("x.npz", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("A.npy", header((1,)) + bytes(8))
    assert "A.npy is not an array that NumPy wrote" in adcli("eval", "mv.ad", "--at", "@x.npz").err


def test_a_seed_that_is_a_number_fills_its_tensor(monkeypatch) -> None:
    program = simplify(adjoints(parse("input A(M, N), x(N)\ny(i) +=! A(i, j)*x(j)\n")))
    at = {"A": np.ones((2, 3)), "x": np.ones(3)}
    asked: list[tuple[str, int]] = []
    monkeypatch.setattr(tensors, "require_room", lambda what, size: asked.append((what, size)))
    assert tensors.filled(program, at, {"d_dy": 2.5})["d_dy"].tolist() == [2.5, 2.5] and asked == [("'d_dy'", 16)]
    assert tensors.filled(program, at, {"d_dy": np.array([1.0, 2.0])})["d_dy"].tolist() == [1, 2]
    with pytest.raises(AdError, match=r"has the shape \(3,\), and"):
        tensors.filled(program, at, {"d_dy": np.ones(3)})
    assert tensors.is_zero(0.0) and tensors.is_zero(np.zeros(3)) and not tensors.is_zero(np.array([0.0, 1e-320]))


def test_an_empty_list_has_the_extents_of_other_inputs(folder):
    found = adcli("jacobian", "mv.ad", "--at", "A=[],B=[1,2,3]", "-o", "empty.npz")
    assert (found.code, found.err) == (0, "")
    with np.load("empty.npz") as arrays:
        assert {name: x.shape for name, x in arrays.items()} == {"C": (0,), "dC_dA": (0, 0, 3), "dC_dB": (0, 3)}
    assert adcli("trace", "mv.ad", "--at", "A=[],B=[1,2,3]").out.count("0 × 3") == 1
    assert api.load("mv.ad").vjp()(A=[], B=[1, 2, 3], d_dC=[])["d_dA"].shape == (0, 3)
    rows = adcli("eval", "mv.ad", stdin=b'{"A": [], "B": [1]}\n{"A": [[2]], "B": [3]}\n')
    assert [line.rpartition('"C":')[2] for line in rows.out.splitlines()] == ["[]}", "[6.0]}"]
    assert adcli("eval", "-e", "input A(M, N)\nC(i) +=! A(i, j)", "--at", "A=[]").err == (
        "adcli: error: 'A' has no elements, and nothing says what N is in (M, N)\n"
        "help: give it as a file, A=@A.npy, whose header has the shape\n")

