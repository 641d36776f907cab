"""Tensors from Python: arrays and lists in, arrays of the right shapes out, derivatives as Functions, faults, travel."""
from __future__ import annotations

import collections
import copy
import math
import pickle
import sys
import types

import numpy as np
import polars as pl
import pytest
from adcli.lang.ir.errors import AdError
from same_programs import equal
from side_by_side import in_threads

import adcli

MV = adcli.compile("def mv(float(M,N) A, float(N) B) -> (C) { C(i) +=! A(i,j) * B(j) }")
LOSS = adcli.compile("""
input A(M, N), B(N), s
param k = 3
C(i) +=! A(i,j) * B(j)
L +=! s * sin(C(i)) + k
output L
""")
PICK = adcli.compile("def pick(float(E,D) LUT, int32(B) I) -> (O) { O(b,d) = LUT(I(b), d) }")

r = np.random.default_rng(5)
A, B = r.normal(size=(4, 3)), r.normal(size=3)


def test_arrays_in_and_arrays_out():
    out = MV(A=A, B=B)
    assert list(out) == ["C"] and out["C"].shape == (4,) and out["C"].dtype == np.float64
    np.testing.assert_allclose(out["C"], A @ B, rtol=1e-14)
    np.testing.assert_array_equal(MV({"A": A.tolist(), "B": tuple(B)})["C"], out["C"])
    np.testing.assert_array_equal(MV(A=np.asfortranarray(A), B=B[::-1][::-1])["C"], out["C"])
    np.testing.assert_allclose(MV(A=A[::2, ::-1], B=B[::-1])["C"], (A @ B)[::2], rtol=1e-14)
    ints = MV(A=[[1, 2], [3, 4]], B=np.array([True, False]))["C"]
    assert ints.tolist() == [1, 3]
    assert MV(A=A.astype(np.float32), B=B)["C"].tolist() == MV(A=A.astype(np.float32).astype(float), B=B)["C"].tolist()


def test_scalars_are_floats_and_defaults_hold():
    out = LOSS(A=A, B=B, s=2)
    assert type(out["L"]) is float
    np.testing.assert_allclose(out["L"], 2 * np.sin(A @ B).sum() + 4 * 3, rtol=1e-14)
    np.testing.assert_allclose(LOSS(A=A, B=B, s=np.array(2.0), k=0)["L"], 2 * np.sin(A @ B).sum(), rtol=1e-14)


def test_one_function_serves_all_sizes():
    for m, n in [(1, 1), (2, 7), (0, 3), (3, 0), (40, 50)]:
        a, b = r.normal(size=(m, n)), r.normal(size=n)
        np.testing.assert_allclose(MV(A=a, B=b)["C"], a @ b, rtol=1e-13)


def test_results_go_into_arrays_that_are_there():
    first = MV(A=A, B=B)
    expected = first["C"].copy()
    first["C"][:] = 0
    again = MV(A=A, B=B, out=first, jobs=1)
    assert again["C"] is first["C"]
    np.testing.assert_array_equal(first["C"], expected)
    g = LOSS.grad()
    first = g(A=A, B=B, s=2)
    again = g(A=2 * A, B=B, s=2, out=first)
    assert list(again) == list(first) and again["dL_dA"] is first["dL_dA"] and type(again["L"]) is float
    assert again["L"] == g(A=2 * A, B=B, s=2)["L"] != first["L"]


def test_out_may_be_any_mapping():
    there = np.zeros(len(A))
    assert MV(A=A, B=B, out=collections.OrderedDict(C=there))["C"] is there and there.any()
    there[:] = 0
    assert MV(A=A, B=B, out=types.MappingProxyType({"C": there}))["C"] is there and there.any()


def test_derivatives_are_functions():
    out = LOSS.grad()(A=A, B=B, s=2)
    y = A @ B
    assert list(out) == ["L", "dL_dA", "dL_dB", "dL_ds"] and type(out["dL_ds"]) is float
    np.testing.assert_allclose(out["dL_dA"], 2 * np.outer(np.cos(y), B), rtol=1e-13)
    np.testing.assert_allclose(out["dL_dB"], 2 * A.T @ np.cos(y), rtol=1e-13)
    assert LOSS.grad(wrt="B").outputs == ("L", "dL_dB")
    w = r.normal(size=4)
    back = MV.vjp()(A=A, B=B, d_dC=w)
    np.testing.assert_allclose(back["d_dA"], np.outer(w, B), rtol=1e-14)
    np.testing.assert_allclose(back["d_dB"], A.T @ w, rtol=1e-13)
    da, db = r.normal(size=A.shape), r.normal(size=B.shape)
    there = MV.jvp()(A=A, B=B, dA=da, dB=db)
    np.testing.assert_allclose(there["dC"], da @ B + A @ db, rtol=1e-13)
    np.testing.assert_allclose(w @ there["dC"], (back["d_dA"] * da).sum() + back["d_dB"] @ db, rtol=1e-13)


def test_second_derivatives():
    da, db, y = r.normal(size=A.shape), r.normal(size=B.shape), A @ B
    out = LOSS.hvp(wrt=["A", "B"])(A=A, B=B, s=2, dA=da, dB=db)
    dy = da @ B + A @ db
    np.testing.assert_allclose(out["hvp_A"], 2 * (np.outer(-np.sin(y) * dy, B) + np.outer(np.cos(y), db)), rtol=1e-12)
    np.testing.assert_allclose(out["hvp_B"], 2 * (da.T @ np.cos(y) - A.T @ (np.sin(y) * dy)), rtol=1e-12)
    composed = LOSS.grad(wrt=["A", "B"]).jvp(wrt=["A", "B"])(A=A, B=B, s=2, dA=da, dB=db)
    np.testing.assert_allclose(composed["ddL_dA"], out["hvp_A"], rtol=1e-12)


def test_an_element_of_a_seed_that_is_zero_causes_nothing():
    f = adcli.compile("input x(N)\ny(i) = sqrt(x(i))")
    assert f.vjp()(x=[0, 4], d_dy=[0, 1])["d_dx"].tolist() == f.jvp()(x=[0, 4], dx=[0, 1])["dy"].tolist() == [0, 0.25]
    assert f.vjp()(x=[0, 4], d_dy=[1, 0])["d_dx"].tolist() == [np.inf, 0]


def test_integers_are_read_and_never_rounded():
    table = r.normal(size=(5, 2))
    for index in ([3, 0, 3], np.array([3, 0, 3], np.int32), np.array([3.0, 0.0, 3.0]), np.array([3, 0, 3], np.uint8)):
        np.testing.assert_array_equal(PICK(LUT=table, I=index)["O"], table[[3, 0, 3]])
    out = PICK.vjp()(LUT=table, I=[3, 0, 3], d_dO=np.ones((3, 2)))
    np.testing.assert_array_equal(out["d_dLUT"], [[1, 1], [0, 0], [0, 0], [2, 2], [0, 0]])
    with pytest.raises(adcli.AdError, match=r"I\(1\): a tensor of integers cannot hold 2\.5"):
        PICK(LUT=table, I=[0, 2.5])
    with pytest.raises(adcli.AdError, match=r"5 is out of range for dimension 0 of 'LUT'"):
        PICK(LUT=table, I=[0, 5])
    with pytest.raises(adcli.AdError, match="holds whole numbers"):
        PICK.grad(wrt=["I"])


def test_sizes_are_arguments_of_the_code():
    assert "define i32 @kernel(i64 %size.0" in LOSS.llvm(lanes=2)


def test_representations_show_shapes():
    assert repr(MV) == "<adcli.Function (A(M, N), B(N)) -> (C(M))>"
    assert repr(PICK) == "<adcli.Function (LUT(E, D), int32 I(B)) -> (O(B, D))>"
    assert repr(LOSS.grad()) == "<adcli.Function (A(M, N), B(N), s, k) -> (L, dL_dA(M, N), dL_dB(N), dL_ds)>"
    assert MV.inputs == ("A", "B") and MV.vjp().inputs == ("A", "B", "d_dC")


@pytest.mark.parametrize("f", [MV, LOSS, PICK, MV.vjp(), LOSS.grad(), LOSS.hvp(), LOSS.grad().jvp(), MV.jvp().vjp()],
                         ids=["mv", "loss", "pick", "vjp", "grad", "hvp", "second", "third"])
def test_functions_travel(f):
    g = pickle.loads(pickle.dumps(f))
    assert repr(g) == repr(f) and equal(g.program, f.program) and g.text() == f.text()
    assert [p.seed for p in g.program.params] == [p.seed for p in f.program.params]
    assert [(x.of, x.wrt) for x in g.program.results] == [(x.of, x.wrt) for x in f.program.results]
    assert copy.copy(f) is f and copy.deepcopy(f) is f


def test_text_compiles_to_the_same_function():
    for f, at in [(MV.vjp(), {"A": A, "B": B, "d_dC": A[:, 0]}), (LOSS.grad(), {"A": A, "B": B, "s": 2.0})]:
        expected, found = f(at), adcli.compile(f.text())(at)
        assert list(expected) == list(found)
        for name in expected:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-14)


def test_calls_from_several_threads():
    g = LOSS.grad()
    for i, x in enumerate(in_threads(lambda i: g(A=A * i, B=B, s=1.0)["dL_dB"], 8)):
        np.testing.assert_allclose(x, i * A.T @ np.cos(i * A @ B), rtol=1e-12)


def test_arrays_for_results_do_not_overlap() -> None:
    f = adcli.compile("input x(N)\ny(i) = 2 * x(i)\nz(i) = y(i) + 1\noutput y, z\n")
    there = np.zeros(5)
    for y, z in ((there[:4], there[1:]), (there[:4], there[:4])):
        with pytest.raises(AdError, match="the array for 'y' overlaps the array for another result"):
            f(x=np.ones(4), out={"y": y, "z": z})
    assert f(x=np.ones(2), out={"y": there[:2], "z": there[2:4]})["z"] is not None and there.tolist() == [2, 2, 3, 3, 0]


MASKED = np.ma.array([1.0, 5.0], mask=[False, True])


@pytest.mark.parametrize("value", [MASKED, [MASKED, MASKED], np.ma.masked, [1.0, np.ma.masked], pl.Series([1.0, None])])
def test_what_is_missing_is_not_computed_with(value):
    for f, given in ((adcli.compile("v = 2*x"), {"x": value}), (adcli.compile("input x(N)\ns +=! x(i)"), {"x": value})):
        with pytest.raises(adcli.AdError, match=r"input 'x' has . missing entr"):
            f(given)


def test_another_thread_may_be_about_to_import_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy.ma", types.ModuleType("numpy.ma"))   # as it is while its parts are imported
    assert adcli.compile("input x(N)\ns +=! x(i)")(x=pl.Series([1.0, 2.0]))["s"] == 3


def test_nan_is_a_value_and_a_mask_may_be_empty():
    f = adcli.compile("v = 2*x")
    assert np.isnan(f(x=pl.Series([math.nan]))["v"]).all()
    assert f(x=np.ma.array([1.0, 2.0]))["v"].tolist() == [2.0, 4.0]
    assert np.isnan(f(x=MASKED.filled(math.nan))["v"]).tolist() == [False, True]


def test_a_result_that_memory_does_not_hold_is_refused_before_it_is_made() -> None:
    """NumPy broadcasts 800 kB and 8 MB to 800 GB."""
    f = adcli.compile("v = x*y; w = x + y")
    with pytest.raises(AdError, match="a result of 2 × 100,000,000,000 numbers needs 2980 GiB of memory"):
        f(x=np.zeros((100_000, 1)), y=np.zeros(1_000_000))


def test_whole_numbers_may_lie_in_memory_in_any_way():
    table, rows = r.normal(size=(5, 2)), np.array([4, 0, 4, 1])
    still = rows.copy()
    still.flags.writeable = False
    for given in (rows, rows[::-1].copy()[::-1], np.repeat(rows, 2)[::2], still, rows.astype(np.int32), rows.astype(np.uint8),
                  rows.astype(">i8"), rows.astype(float), rows.tolist()):
        np.testing.assert_array_equal(PICK(LUT=table, I=given)["O"], table[rows])
    with pytest.raises(AdError, match="out of range"):
        PICK(LUT=table, I=rows + 1)


@pytest.mark.parametrize("jobs", [None, 1, 2])
def test_numbers_are_the_same_for_any_number_of_threads(jobs):
    f = adcli.compile("v = x*y**2").grad()
    for k in range(15):   # the first calls go another way than the later ones
        assert f(x=2.0, y=3.0 + k, jobs=jobs) == {"v": 2*(3.0 + k)**2, "dv_dx": (3.0 + k)**2, "dv_dy": 4*(3.0 + k)}
    for wrong in (0, -1, 1.0, "1"):
        with pytest.raises(AdError, match="jobs must be a whole number from 1"):
            f(x=2.0, y=3.0, jobs=wrong)


class Tracked:
    """What torch has where it keeps derivatives: no array, and an error that says so."""

    requires_grad = True

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")


@pytest.mark.parametrize(("program", "given"), [
    ("input x(N)\nv +=! x(i)", {"x": Tracked()}), ("v = 2*x", {"x": Tracked()}),
    ("input y(N), x\nv +=! x*y(i)", {"x": Tracked(), "y": [1.0]}),
    ("input x(N)\nv +=! x(i)", {"x": [Tracked(), Tracked()]})])
def test_a_tensor_of_torch_that_requires_grad_is_to_be_detached(program, given):
    for f in (adcli.compile(program), adcli.compile(program).grad("x")):
        with pytest.raises(AdError, match="input 'x' requires grad") as caught:
            f(given)
        assert ".detach()" in caught.value.help


@pytest.mark.parametrize("precision", ["double", "single"])
def test_a_number_fills_a_direction_or_a_weight(precision):
    """Also after the calls from which on they are quick."""
    f = adcli.compile("input A(M, N), b(N), k; c(i) +=! k*A(i, j)*b(j)", precision=precision)
    at, jvp, vjp = {"A": np.arange(6.0).reshape(2, 3), "b": np.ones(3), "k": 2.0}, f.jvp(), f.vjp()
    for _ in range(15):
        assert jvp({**at, "dA": 0, "db": 1.0, "dk": 0})["dc"].tolist() == [6, 24]
        assert vjp({**at, "d_dc": np.float32(1)})["d_db"].tolist() == vjp({**at, "d_dc": [1, 1]})["d_db"].tolist() == [6, 10, 14]
    for seed, said in (("x", "must be real numbers"), ([1, 2, 3], "both are M")):
        with pytest.raises(adcli.AdError, match=said):
            vjp({**at, "d_dc": seed})
    with pytest.raises(adcli.AdError, match="'A' has 2 dimensions"):
        f(A=1.0, b=[1, 2], k=1.0)
