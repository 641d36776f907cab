"""Libraries for whatever calls C: they load by themselves, export the function alone, and give the verb's numbers."""
from __future__ import annotations

import array
import ctypes
import math
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from adcli.codegen.machine.kernel import run
from adcli.codegen.rows.compiled import compile_program
from adcli.codegen.rows.expand import for_machine
from adcli.lang.derive.derivatives import gradient
from adcli.lang.lower.frontend import parse
from command import adcli, succeeds
from engines import package, program, zig
from libraries import LD, called, library
from places import ROOT

needs_ld = pytest.mark.skipif(LD is None, reason="no ld")
MANUAL = (ROOT / "adcli/manual/libraries.md").read_text(encoding="utf-8")


@needs_ld
def test_a_library_by_itself(tmp_path: pathlib.Path) -> None:
    words = ("grad", "-e", "v = sin(x)*exp(y) + gamma(x)", "--symbol", "f")
    loaded = library(tmp_path, *words)
    expected = [float(line.split()[-1]) for line in succeeds(*words[:3], "--at", "x=1.5,y=0.25").out.splitlines()]
    assert called(loaded, "f", [1.5, 0.25], 3) == pytest.approx(expected, rel=1e-15)
    first = (tmp_path / "libf.so").read_bytes()
    library(tmp_path, *words)
    assert (tmp_path / "libf.so").read_bytes() == first
    assert b"call: int f(const double *restrict in, double *restrict out); it returns 0" in first


@needs_ld
def test_only_the_function_is_exported(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adcli.codegen.rows.point.ONE_PART", 20)   # several functions inside
    monkeypatch.setattr("adcli.codegen.rows.point.PART_SIZE", 20)
    lines = "\n".join(f"a{i + 1} = sin(a{i} * x) + a{i // 2}" for i in range(50))
    (tmp_path / "long.ad").write_text(f"input x, a0\n{lines}\noutput a50\n")
    library(tmp_path, "eval", tmp_path / "long.ad", "--symbol", "f", name="long.so")
    assert symbols(tmp_path / "long.so") == [("f", "T"), ("sin", "U")]


def symbols(path: pathlib.Path) -> list[tuple[str, str]]:
    """Names that a library defines or needs, without versions, each with its kind as nm writes it."""
    lines = subprocess.run([program("nm"), "-D", path], capture_output=True, text=True, check=True).stdout.splitlines()
    return [(line.split()[-1].partition("@")[0], line.split()[-2]) for line in lines]


@needs_ld
@pytest.mark.parametrize("text, at, value", [("v = 2", [], 2.0), ("input x\nv = 3", [5.0], 3.0), ("v = -x", [-0.0], 0.0),
                                             ("v = x/y", [0.0, 0.0], math.nan), ("v = x", [math.inf], math.inf)])
def test_small_programs(tmp_path: pathlib.Path, text: str, at: list[float], value: float) -> None:
    (found,) = called(library(tmp_path, "eval", "-e", text, "--symbol", "f"), "f", at, 1)
    assert math.isnan(found) if math.isnan(value) else (found, math.copysign(1, found)) == (value, math.copysign(1, value))


TENSORS = """input x(N), w(K)
y(i) +=! x(i + k) * w(k)
v +=! y(i) * y(i)
output v"""


@needs_ld
def test_a_library_of_tensors_has_the_functions_of_c(tmp_path: pathlib.Path) -> None:
    loaded = library(tmp_path, "grad", "-e", TENSORS, "--symbol", "f")
    assert [name for name, kind in symbols(tmp_path / "libf.so") if kind == "T"] == ["f", "f_work_size"]
    loaded.f_work_size.restype = ctypes.c_size_t
    n, k = ctypes.c_size_t(5), ctypes.c_size_t(2)
    x, w = np.arange(1.0, 6), np.array([2.0, -1])
    y = np.correlate(x, w)
    arrays = [x, w, *(np.full(size, np.nan) for size in (1, 5, 2, loaded.f_work_size(n, k)))]
    assert loaded.f(n, k, *(a.ctypes.data_as(ctypes.c_void_p) for a in arrays)) == 0
    for found, value in zip(arrays[2:5], (y @ y, 2 * np.convolve(y, w), 2 * np.correlate(x, y)), strict=True):
        assert found == pytest.approx(np.atleast_1d(value), rel=1e-14)
    assert loaded.f(k, n, *(a.ctypes.data_as(ctypes.c_void_p) for a in arrays)) == 1
    assert b"call: int f(size_t N, size_t K, const double *restrict x" in (tmp_path / "libf.so").read_bytes()


@needs_ld
def test_a_linker_that_fails_is_told(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ld").write_text("#!/bin/sh\necho 'ld: no such thing' >&2\nexit 3\n")
    (tmp_path / "ld").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    ended = adcli("eval", "-e", "v = x*y", "--emit", "library", "-o", tmp_path / "a")
    said = "adcli: error: the linker ended with 3: ld: no such thing\nhelp: write --emit object, and link it\n"
    assert ended[:3] == (2, "", said)


@pytest.mark.engine
def test_zig_where_there_is_no_ld(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zig()
    monkeypatch.setattr("adcli.codegen.library.code.shutil.which", lambda name: None)
    loaded = library(tmp_path, "grad", "-e", "v = sin(x)*y", "--symbol", "f")
    assert called(loaded, "f", [1.0, 2.0], 3) == pytest.approx([2 * math.sin(1), 2 * math.cos(1), math.sin(1)], rel=1e-15)
    assert isinstance(loaded, ctypes.CDLL)


def example(language: str, library: str = "worked") -> str:
    """The block of the manual in this language that calls a library."""
    blocks = MANUAL.split(f"```{language}\n")[1:]
    return next(text for block in blocks if library in (text := block.partition("```")[0]))


@pytest.mark.engine
@needs_ld
@pytest.mark.parametrize("language, file, tools, build", [
    ("c", "main.c", ("cc", "gcc"), "{tool} main.c ./libworked.so -o main"),
    ("rust", "main.rs", ("rustc",), "{tool} main.rs -L . -o main"),
    ("fortran", "main.f90", ("gfortran",), "{tool} main.f90 ./libworked.so -o main"),
    ("julia", "main.jl", ("julia",), ""), ("python", "main.py", ("python3",), "")])
def test_the_examples_of_the_manual(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, language: str, file: str,
                                    tools: tuple[str, ...], build: str) -> None:
    monkeypatch.setenv("PATH", str(pathlib.Path.home() / ".cargo/bin"), prepend=":")
    tool = program(*tools)
    library(tmp_path, "grad", ROOT / "samples/worked.ad", name="libworked.so")
    (tmp_path / file).write_text(example(language))
    if build:
        subprocess.run(build.format(tool=tool).split(), cwd=tmp_path, check=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    command = ["./main"] if build else [tool, file]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    numbers = [float(word) for word in printed.replace("[", " ").replace("]", " ").replace(",", " ").split()]
    assert numbers == pytest.approx([3920.6, 5880.0, -0.12], rel=1e-12)


@needs_ld
def test_the_example_with_tensors(tmp_path: pathlib.Path) -> None:
    library(tmp_path, "grad", ROOT / "samples/cross_entropy.ad", name="libentropy.so")
    ended = subprocess.run([sys.executable, "-c", example("python", "libentropy")], cwd=tmp_path, capture_output=True, text=True,
                           check=True)
    assert ended.stdout == "0.753109 0.045015\n"


@pytest.mark.engine
def test_web_assembly_in_node_and_wasmtime(tmp_path: pathlib.Path) -> None:
    """The module of the manual, by the program of the manual, and in an engine of its own."""
    zig()
    at, words = tmp_path / "worked.wasm", ("grad", "-e", "v = sin(x)*exp(y) + max(x, y)")
    succeeds("grad", ROOT / "samples/worked.ad", "--emit", "library", "--target", "wasm32", "-o", at)
    succeeds(*words, "--symbol", "f", "--emit", "library", "--target", "wasm32", "-o", tmp_path / "f.wasm")
    assert in_wasmtime(at, "worked_grad", [2.0, 5.0], 3) == [3920.6, 5880.0, -0.12]
    expected = [float(line.split()[-1]) for line in succeeds(*words, "--at", "x=2,y=3").out.splitlines()]
    assert in_wasmtime(tmp_path / "f.wasm", "f", [2.0, 3.0], 3) == pytest.approx(expected, rel=1e-14)
    (tmp_path / "main.mjs").write_text(example("js"))
    node = [program("node", "nodejs"), "main.mjs"]
    printed = subprocess.run(node, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert [float(word) for word in printed.split()] == [3920.6, 5880.0, -0.12]


def in_wasmtime(path: pathlib.Path, name: str, at: list[float], outputs: int) -> list[float]:
    wasmtime = package("wasmtime")
    store = wasmtime.Store()
    module = wasmtime.Module.from_file(store.engine, str(path))
    assert not module.imports
    assert {e.name for e in module.exports} == {"memory", "__heap_base", "_initialize", name}
    exports = wasmtime.Instance(store, module, []).exports(store)
    begin = exports["__heap_base"].value(store)
    memory = exports["memory"]
    memory.grow(store, 1)
    memory.write(store, array.array("d", at).tobytes(), begin)
    assert exports[name](store, begin, begin + 8 * len(at)) == 0
    results = memory.read(store, begin + 8 * len(at), begin + 8 * (len(at) + outputs))
    return array.array("d", bytes(results)).tolist()


@needs_ld
def test_single_precision(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of numbers with an array between their parts: the bits of what runs here, scalar by scalar; of tensors; and of matrices."""
    monkeypatch.setattr("adcli.codegen.rows.point.ONE_PART", 4)
    monkeypatch.setattr("adcli.codegen.rows.point.PART_SIZE", 4)
    single, text = ("--precision", "single"), "v = sin(x)*exp(y) + gamma(x)/3"
    loaded = library(tmp_path, "grad", "-e", text, "--symbol", "f", *single)
    given, found = (ctypes.c_float * 2)(1.5, 0.25), (ctypes.c_float * 4)(7, 7, 7, 7)
    assert loaded.f(given, found) == 0 and found[3] == 7
    kernel = compile_program(for_machine(gradient(parse(text))), 1, precision="single")
    assert found[:3] == [x for (x,) in run(kernel, [[1.5], [0.25]])]
    assert b"int f(const float *restrict in, float *restrict out)" in (tmp_path / "libf.so").read_bytes()
    products = library(tmp_path, "vjp", "samples/matrix_vector.ad", "--symbol", "g", *single, name="libg.so")
    r = np.random.default_rng(0)
    a, b, d = (r.normal(size=s).astype(np.float32) for s in ((3, 2), 2, 3))
    made = [np.empty(s, np.float32) for s in (3, (3, 2), 2)]
    pointed = [ctypes.c_void_p(x.ctypes.data) for x in (a, b, d, *made)]
    assert products.g(ctypes.c_size_t(3), ctypes.c_size_t(2), *pointed) == 0
    for got, want in zip(made, (a @ b, np.outer(d, b), a.T @ d), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)
    likelihood = "input A(N, N), b(N); w = solve_lower(cholesky(A), b); q +=! w(i)**2; v = q + logdet(A)"
    matrices = library(tmp_path, "grad", "-e", likelihood, "--symbol", "h", *single, name="libh.so")
    A, made = (np.eye(3) + a @ a.T).astype(np.float32), [np.empty(s, np.float32) for s in (1, (3, 3), 3)]
    count, work = ctypes.c_size_t(3), np.empty(matrices.h_work_size(ctypes.c_size_t(3)), np.float32)
    assert matrices.h(count, *[ctypes.c_void_p(x.ctypes.data) for x in (A, d, *made, work)]) == 0
    inverse, x = np.linalg.inv(A), np.linalg.solve(A, d)
    for got, want in zip(made, ([d @ x + np.linalg.slogdet(A)[1]], inverse - np.outer(x, x), 2 * x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("words", "said"), [
    (("llvm",), "const float *const *in"), (("asm", "--lanes", "8"), "const float *const *in"),
    (("llvm", "--lanes", "8"), "<8 x float>")])
def test_code_in_single_precision(words: tuple[str, ...], said: str) -> None:
    assert said in succeeds("grad", "-e", "v = x*sin(y)", "--emit", *words, "--precision", "single").out



@pytest.mark.parametrize(("lines", "place", "said"), [
    (("w(i) = 2*x(i)", "y(i) +=! x(i + M) * z(j) where i in 0:N, i % 2 == 0", "v(i) = w(i)*3"), "3:1", "subscript i + M"),
    (("h(0) = 1", "for t in 0:N { y(t) +=! x(t + M)*z(j) where t % 2 == 0; h(t+1) = h(t)*y(t) }"), "3:16", "subscript t + M")])
def test_a_subscript_that_is_proved_for_some_points_alone_is_refused(lines: tuple[str, ...], place: str, said: str) -> None:
    ended = adcli("eval", *(word for line in ("input x(N), z(M)", *lines) for word in ("-e", line)), "--emit", "llvm")
    assert ended.code == 3 and ended.err.startswith(f"-e:{place}: error: {said} is not proved to be below N for all sizes\n")


@needs_ld
def test_a_subscript_without_an_index_is_asked_of_the_sizes(tmp_path: pathlib.Path) -> None:
    """Where there are points; whether a guard leaves any of them is no matter."""
    text = "input x(N), z(M); y(i) = x(M) * z(i) where i in 0:M, i % 2 == 0"
    loaded = library(tmp_path, "eval", "-e", text, "--symbol", "f")
    x, z, y = np.arange(1.0, 9), np.arange(2.0, 10), np.empty(8)
    for n, m, code in ((3, 2, 0), (2, 2, 1), (2, 3, 1), (0, 0, 0), (1, 0, 0), (0, 1, 1), (8, 7, 0)):
        given = (ctypes.c_size_t(n), ctypes.c_size_t(m), *(a.ctypes.data_as(ctypes.c_void_p) for a in (x, z, y)))
        assert loaded.f(*given) == code, (n, m)
    assert y[:7].tolist() == [x[7] * z[i] * (i % 2 == 0) for i in range(7)]
