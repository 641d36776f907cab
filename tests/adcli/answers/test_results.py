"""Tensors at the command line: in and out as lists, JSON, CSV, .npy and .npz, and what every verb does with them."""
from __future__ import annotations

import json
import os
import pathlib
import pty
import subprocess
import sys

import numpy as np
import pytest
from adcli.codegen.modules import calls
from command import adcli, succeeds
from places import ROOT
from tensor_cases import AT, SAT, A, B, folder, lists

__all__ = ["folder"]


# ---------------------------------------------------------------- the ways in

@pytest.mark.parametrize("at", [
    "A=[[1,2],[3,4],[5,6]],B=[0.5,-0.25]",
    " A = [ [1, 2],\n[3,4], [5e0,0x1.8p2] ] , B=[1/2,-0.25]", "A=@A.npy,B=@B.npy", "@both.npz",
    "A=@both.npz,B=@both.npz", "A=@A.csv,B=@B.csv", "A=@A.tsv,B=@row.csv", "A=@A.json,B=@B.json", "@point.json", "@lines.json",
    "A=@fortran.npy,B=@single.npy", "A=@ints.npy,B=@compressed.npz", "A=@blanks.txt,B=[0.5,-0.25]", "A=@renamed,B=@big.npy"])
def test_every_way_to_give_a_tensor(at, folder):
    (folder / "A.csv").write_text("1,2\r\n3,\"4\"\r\n5,6")
    (folder / "A.tsv").write_text("\ufeff1\t2\n3\t4\n\n5\t6\n")
    (folder / "blanks.txt").write_text("1.0 2\n 3 4\n5   6e0\n")
    (folder / "B.csv").write_text("0.5\n-0.25\n")
    (folder / "row.csv").write_text("0.5,-0.25\n")
    (folder / "A.json").write_text("[[1, 2], [3, 4],\n [5, 6]]")
    (folder / "B.json").write_text("[0.5, -0.25]")
    (folder / "point.json").write_text(json.dumps({"at": {"A": A.tolist(), "B": B.tolist()}, "value": {}}))
    (folder / "lines.json").write_text(json.dumps({"A": A.tolist(), "B": B.tolist()}) + "\n")
    np.save("fortran.npy", np.asfortranarray(A))
    np.save("single.npy", B.astype(np.float32))
    np.save("big.npy", B.astype(">f8"))
    np.save("ints.npy", A.astype(np.int16))
    np.savez_compressed("compressed.npz", anything=B)
    os.rename("A.npy", "renamed") if "renamed" in at else None
    assert succeeds("eval", "mv.ad", "--at", at).out == "C = [0.0, 0.5, 1.0]\n"


def test_ranges_and_files_of_scalars_stand_beside_tensors(folder):
    records = succeeds("eval", "loss.ad", "--at", "s=1:3:3,A=@A.npy,B=@B.npy", "--format", "json").records
    np.testing.assert_allclose([r["value"]["L"] for r in records], np.array([1, 2, 3]) * np.sin(A @ B).sum(), rtol=1e-15)
    (folder / "s.json").write_text('[{"s": 1}, {"s": 2}]')
    assert [r["at"]["s"] for r in succeeds("eval", "loss.ad", "--at", "@s.json,@both.npz", "--format", "json").records] == [1, 2]
    text = succeeds("eval", "loss.ad", *SAT, *SAT).out.splitlines()
    assert [line for line in text if "=" not in line or line.startswith("#")] == ["# point 1, s = 2.0", "", "# point 2, s = 2.0"]


def test_special_numbers_in_and_out(folder):
    np.save("x.npy", [4.0, np.inf, 0.0])
    assert succeeds("eval", "roots.ad", "--at", "x=@x.npy", "-q").out == "y = [2.0, inf, 0.0]\n"
    ended = adcli("eval", "roots.ad", "--at", 'x=[nan,-1,"Infinity",4]', "--format", "json")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == '{"at":{"x":["NaN",-1.0,"Infinity",4.0]},"value":{"y":["NaN","NaN","Infinity",2.0]},"status":"domain"}\n'
    (folder / "again.json").write_text(ended.out)
    assert adcli("eval", "roots.ad", "--at", "@again.json", "--format", "json").out == ended.out
    hexadecimal = adcli("eval", "roots.ad", "--at", "@again.json", "--format", "json", "--hex")
    (folder / "again.json").write_text(hexadecimal.out)
    assert adcli("eval", "roots.ad", "--at", "@again.json", "--format", "json").out == ended.out
    assert succeeds("eval", "roots.ad", "--at", "x=[2,9]", "--fmt", "%.3f").out == "y = [1.414, 3.000]\n"


# ---------------------------------------------------------------- the ways out

def test_text_is_nested_lists_over_lines():
    big = np.arange(2 * 3 * 40).reshape(2, 3, 40) / 7
    np.save("big.npy", big)
    copy = ["-e", "input x(A, B, C)", "-e", "y(i, j, k) = x(i, j, k)"]
    out = succeeds("eval", *copy, "--at", "x=@big.npy").out
    assert max(map(len, out.splitlines())) <= 110
    np.testing.assert_array_equal(lists(out)["y"], big)
    assert succeeds("eval", *copy, "--at", "x=[[[1],[2]],[[3],[4]]]").out == "y = [[[1.0], [2.0]], [[3.0], [4.0]]]\n"
    assert succeeds("eval", *copy, "--at", "x=[[],[]]".replace("[]", "[[]]")).out == "y = [[[]], [[]]]\n"


def test_a_pipe_gets_everything():
    np.save("x.npy", np.arange(1, 5001.0) ** 2)
    ended = succeeds("eval", "roots.ad", "--at", "x=@x.npy")
    np.testing.assert_array_equal(lists(ended.out)["y"], np.arange(1, 5001.0))


def test_a_terminal_is_shown_corners_and_told_how_to_get_all():
    np.save("x.npy", np.arange(5000.0) ** 2)
    master, slave = pty.openpty()
    ended = subprocess.run([sys.executable, "-m", "adcli", "eval", "roots.ad", "--at", "x=@x.npy"], stdout=slave,
                           stderr=subprocess.PIPE, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)})
    os.close(slave)
    assert not ended.returncode, ended.stderr
    shown = os.read(master, 100_000).decode()
    os.close(master)
    assert shown == "y = [0.0, 1.0, 2.0, …, 4997.0, 4998.0, 4999.0]\r\n"
    assert b"-o FILE.npz" in ended.stderr


def test_archives_hold_all_results():
    succeeds("vjp", "mv.ad", *AT, "--cotangent", "C=[1,0,2]", "-o", "out.npz")
    with np.load("out.npz") as found:
        assert list(found) == ["C", "d_dA", "d_dB"]
        np.testing.assert_array_equal(found["d_dA"], np.outer([1, 0, 2], B))
        np.testing.assert_array_equal(found["d_dB"], A.T @ [1, 0, 2])
    first = pathlib.Path("out.npz").read_bytes()
    succeeds("vjp", "mv.ad", *AT, "--cotangent", "C=[1,0,2]", "-o", "out.npz")
    assert pathlib.Path("out.npz").read_bytes() == first
    succeeds("eval", "mv.ad", *AT, "-o", "C.NPY")
    np.testing.assert_array_equal(np.load("C.NPY"), A @ B)
    succeeds("grad", "loss.ad", "--at", "@both.npz,s=1:3:3", "-o", "out.npz")
    with np.load("out.npz") as found:
        assert found["L"].shape == (3,) and found["dL_dA"].shape == (3, 3, 2)
        np.testing.assert_allclose(found["dL_ds"], np.sin(A @ B).sum(), rtol=1e-15)


# ---------------------------------------------------------------- the verbs

def test_products_with_vectors():
    dA = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]])
    np.save("dA.npy", dA)
    out = lists(succeeds("jvp", "mv.ad", *AT, "--tangent", "A=@dA.npy,B=1").out)
    np.testing.assert_array_equal(out["dC"], dA @ B + A @ [1, 1])
    record = succeeds("jvp", "mv.ad", *AT, "--tangent", "A=@dA.npy", "--format", "json").records[0]
    assert record["jvp"] == {"C": (dA @ B).tolist()} and record["tangent"] == {"A": dA.tolist(), "B": 0.0}
    np.savez("w.npz", C=[1.0, 2.0, 3.0])
    record = succeeds("vjp", "mv.ad", *AT, "--cotangent", "@w.npz", "--format", "json").records[0]
    assert record["vjp"] == {"A": np.outer([1, 2, 3], B).tolist(), "B": (A.T @ [1, 2, 3]).tolist()}
    assert succeeds("vjp", "mv.ad", *AT, "--cotangent", "C=0", "--wrt", "B").out == "C = [0.0, 0.5, 1.0]\nd_dB = [0.0, 0.0]\n"
    assert lists(succeeds("jvp", "mv.ad", *AT, "--tangent", "A=0,B=0").out)["dC"].tolist() == [0, 0, 0]


def test_gradients_and_hessian_vector_products():
    y = A @ B
    out = lists(succeeds("grad", "loss.ad", *SAT).out)
    np.testing.assert_allclose(out["dL_dA"], 2 * np.outer(np.cos(y), B), rtol=1e-14)
    np.testing.assert_allclose(out["dL_dB"], 2 * A.T @ np.cos(y), rtol=1e-14)
    np.testing.assert_allclose(out["dL_ds"], np.sin(y).sum(), rtol=1e-14)
    record = succeeds("grad", "loss.ad", *SAT, "--format", "json", "--wrt", "B").records[0]
    np.testing.assert_array_equal(record["grad"]["L"]["B"], out["dL_dB"])
    for name, x in lists(succeeds("vjp", "loss.ad", *SAT).out).items():
        np.testing.assert_allclose(x, out[name.replace("d_d", "dL_d")], rtol=1e-15)
    out = lists(succeeds("hvp", "loss.ad", *SAT, "--tangent", "B=[1,3]").out)
    np.testing.assert_allclose(out["hvp_B"], -2 * A.T @ (np.sin(y) * (A @ [1, 3])), rtol=1e-14)
    np.testing.assert_allclose(out["hvp_s"], A.T @ np.cos(y) @ [1, 3], rtol=1e-14)


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_jacobians_have_the_shapes_of_both(mode):
    record = succeeds("jacobian", "mv.ad", *AT, "--mode", mode, "--format", "json").records[0]["jacobian"]["C"]
    np.testing.assert_array_equal(record["A"], np.einsum("ik,j->ikj", np.eye(3), B))
    np.testing.assert_array_equal(record["B"], A)
    mixed = ["-e", "input x(N), s", "-e", "y(i) = s * x(i) * x(i)", "-e", "t +=! s * x(i)", "-e", "output y, t"]
    out = lists(succeeds("jacobian", *mixed, "--mode", mode, "--at", "x=[1,2],s=3").out)
    assert {name: x.tolist() for name, x in out.items()} == {
        "y": [3, 12], "t": 9, "dy_dx": [[6, 0], [0, 12]], "dy_ds": [1, 4], "dt_dx": [3, 3], "dt_ds": 3}
    rows, gradient = (lists(succeeds(*line, "loss.ad", *SAT).out) for line in (("jacobian", "--mode", mode), ("grad",)))
    assert rows.keys() == gradient.keys()
    for name, x in rows.items():
        np.testing.assert_allclose(x, gradient[name], rtol=1e-13)
    singular = adcli("jacobian", "roots.ad", "--mode", mode, "--at", "x=[0,4]", "--format", "json").records[0]
    assert singular["jacobian"]["y"]["x"] == [["Infinity", 0], [0, 0.25]]
    back = adcli("vjp", "roots.ad", "--cotangent", "y=[0,1]", "--at", "x=[0,4]")
    assert back.out == "y = [0.0, 2.0]\nd_dx = [0.0, 0.25]\n"
    assert back.err.endswith("note: sqrt'(u) at u = 0.0, i = 0: singular\n")


def test_code_is_kept_between_runs(folder, monkeypatch):
    from adcli.codegen.rows import jit
    monkeypatch.setenv("ADCLI_CACHE_DIR", str(folder / "cache"))
    line = ["vjp", "mv.ad", *AT, "--cotangent", "C=1"]
    first = succeeds(*line)
    made = jit.object_code
    monkeypatch.setattr(jit, "object_code", None)
    assert succeeds(*line) == first
    smaller = succeeds("vjp", "mv.ad", "--at", "A=[[1]],B=[2]", "--cotangent", "C=3").out
    assert smaller == "C = [2.0]\nd_dA = [[6.0]]\nd_dB = [3.0]\n"
    assert adcli("eval", "mv.ad", *AT).code == adcli(*line, "--no-cache").code == 70
    monkeypatch.setattr(jit, "object_code", made)
    assert succeeds(*line, "--no-cache") == first


def test_gathers_read_integers():
    out = succeeds("eval", "gather.ad", "--at", "LUT=[[1,2],[3,4]],I=[1,0,1]", "--format", "json").records[0]
    assert (out["at"]["I"], out["value"]["O"]) == ([1, 0, 1], [[3, 4], [1, 2], [3, 4]])
    np.save("I.npy", np.array([1, 1], np.int32))
    assert lists(succeeds("vjp", "gather.ad", "--at", "LUT=@A.npy,I=@I.npy", "--cotangent", "O=1").out)["d_dLUT"].tolist() == \
        [[0, 0], [2, 2], [0, 0]]


def test_programs_that_are_written_and_run_again():
    text = succeeds("vjp", "mv.ad", "--emit", "text").out
    assert "# outputs: C(M), d_dA(M, N), d_dB(N)\n# inputs: A(M, N), B(N), d_dC(M)\n" in text
    again = succeeds("eval", "-", "--at", AT[1] + ",d_dC=[1,0,2]", stdin=text.encode()).out
    assert again == succeeds("vjp", "mv.ad", *AT, "--cotangent", "C=[1,0,2]").out
    gradient = succeeds("vjp", "loss.ad", "--cotangent", "L=1", "--emit", "text").out
    assert "d_dL" not in gradient.partition("made by")[2].partition("\n")[2]
    assert succeeds("eval", "-", *SAT, stdin=gradient.encode()).out == succeeds("vjp", "loss.ad", *SAT).out
    twice = succeeds("jvp", "-", "--tangent", "B=[1,3]", *SAT, stdin=gradient.encode()).out
    product = succeeds("hvp", "loss.ad", *SAT, "--tangent", "B=[1,3]").out
    np.testing.assert_allclose(lists(twice)["dd_dB"], lists(product)["hvp_B"])


def test_a_long_run_is_remarked_on_before_it_starts(monkeypatch):
    monkeypatch.setattr(calls, "LONG_RUN", 1.0)
    run = ("grad", "-e", "input x(N); s *=! x(i)", "--at", "x=[1,2,3]")
    assert adcli(*run).err.count("note: at these sizes one run takes about ") == 1
    assert adcli(*run, "-q").err == ""


def test_whole_numbers_are_written_without_a_fraction(folder):
    (folder / "place.ad").write_text("input z(N)\nk argmax=! z(i)\nint32 r(i) = round(z(i))\nv = z(k)\noutput k, r, v\n")
    assert succeeds("eval", "place.ad", "--at", "z=[1.2,3.7]", "--fmt", "%.2f").out == "k = 1\nr = [1, 4]\nv = 3.70\n"
    assert json.loads(succeeds("eval", "place.ad", "--at", "z=[1.2,3.7]", "--format", "json").out)["value"] == {
        "k": 1, "r": [1, 4], "v": 3.7}
    succeeds("eval", "place.ad", "--at", "z=[1.2,3.7]", "-o", "place.npz")
    assert {name: a.dtype.kind for name, a in np.load("place.npz").items()} == {"k": "i", "r": "i", "v": "f"}
    assert "holds whole numbers and has no derivative" in adcli("grad", "place.ad", "--at", "z=[1.2,3.7]", "--of", "k").err
    assert "place.ad:2:1: note: the first index at k with 2 equal elements: jump" in \
        adcli("eval", "place.ad", "--at", "z=[1,3,3]").err

