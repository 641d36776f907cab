"""The programs that the project began with, as samples, against systems that are not this one.

Networks, a mixture and single layers are compared with the numbers of PyTorch in tests/data/tensors/networks.json, the mixture
also with the exact ones of tests/data/adbench.json, scalar formulas with what is found by hand.
"""
from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.passes.pipeline import adjoints, tangents
from command import adcli as command
from command import succeeds
from places import DATA
from sample_files import ROOT, TENSORS
from session_seed import half

import adcli

CASES: list[dict[str, Any]] = json.loads((DATA / "tensors" / "networks.json").read_text(encoding="utf-8"))["references"]
OTHERS = ("kepler", "gaussian_process", "optimal_power_flow", "eight_schools", "radon")
"""Samples with tensors that are compared with numbers of mpmath, of CasADi, and log densities with closed forms and Stan's."""
CLAMPED = "clamp(z(t, n, h) + r(t, n, h) + b1(h), 0, inf)"
NOTEBOOK = [c for c in CASES if c["program"] in ("feed_forward", "recurrent")][::2]
every_case = pytest.mark.parametrize("case", half([pytest.param(c, id=f"{i}-{c['program']}") for i, c in enumerate(CASES)]))


@cache
def sample(name: str) -> adcli.Function:
    """A sample; "recurrent with clamp" has clamp in the place of relu."""
    base = name.removesuffix(" with clamp")
    text = (ROOT / "samples" / f"{base}.ad").read_text(encoding="utf-8")
    return adcli.compile(text if base == name else text.replace("relu(z(t, n, h) + r(t, n, h) + b1(h))", CLAMPED))


@cache
def forward(name: str, wrt: tuple[str, ...]) -> adcli.Function:
    return sample(name).jvp(wrt=wrt)


@cache
def reverse(name: str, wrt: tuple[str, ...]) -> adcli.Function:
    return sample(name).vjp(wrt=wrt)


def seeded(case: dict[str, Any], *kinds: str) -> dict[str, Any]:
    prefix = {"tangent": "d", "cotangent": "d_d"}
    return {**case["at"], **{prefix[kind] + name: x for kind in kinds for name, x in case[kind].items()}}


def close(got: Mapping[str, Any], want: Mapping[str, Any], prefix: str, tolerance: float) -> None:
    """Each tensor, relative to its largest element."""
    for name, reference in want.items():
        x, y = np.asarray(got[prefix + name]), np.asarray(reference)
        assert x.shape == y.shape, (prefix + name, x.shape, y.shape)
        assert np.max(np.abs(x - y)) <= tolerance * np.max(np.abs(y)), (prefix + name, x, y)


# ---------------------------------------------------------------- PyTorch

@every_case
def test_values_and_adjoints_are_those_of_pytorch(case):
    got = reverse(case["program"], tuple(case["vjp"]))(seeded(case, "cotangent"))
    close(got, case["value"], "", 1e-13)
    close(got, case["vjp"], "d_d", 1e-12)


@every_case
def test_tangents_are_those_of_pytorch(case):
    got = forward(case["program"], tuple(case["vjp"]))(seeded(case, "tangent"))
    close(got, case["value"], "", 1e-13)
    close(got, case["jvp"], "d", 1e-12)


@every_case
def test_forward_is_the_transpose_of_reverse(case):
    wrt = tuple(case["vjp"])
    pushed, pulled = (f(case["program"], wrt)(seeded(case, kind)) for f, kind in ((forward, "tangent"), (reverse, "cotangent")))
    one = [np.sum(np.multiply(w, pushed[f"d{name}"])) for name, w in case["cotangent"].items()]
    other = [np.sum(np.multiply(v, pulled[f"d_d{name}"])) for name, v in case["tangent"].items()]
    assert math.isclose(sum(one), sum(other), rel_tol=0, abs_tol=1e-13 * max(map(abs, (*one, *other))))


@every_case
def test_second_derivatives_are_those_of_pytorch(case):
    """Of the tangents of the adjoints, to 1e-11: PyTorch finds sigmoid' by s (1 - s), which cancels, and its trigamma has 11
    digits."""
    wrt = list(case["vjp"])
    program = tangents(adjoints(sample(case["program"]).program, wrt), wrt)
    got = evaluate(program, seeded(case, "tangent", "cotangent"), numpy_arithmetic())
    close(got, case["jvp of vjp"], "dd_d", 1e-11)


def test_every_sample_with_tensors_has_numbers_of_pytorch():
    assert {c["program"] for c in CASES} == {*(p.stem for p in TENSORS if p.stem not in OTHERS), "recurrent with clamp"}


@pytest.mark.parametrize("case", NOTEBOOK, ids=lambda case: case["program"])
def test_the_networks_are_at_the_numbers_of_the_notebook(case):
    assert json.loads((ROOT / "samples" / f"{case['program']}.json").read_text(encoding="utf-8")) == case["at"]
    assert case["cotangent"] == {"L": 1.0}


def test_the_kink_of_the_notebook():
    """One input of relu is exactly 0 there: relu has the derivative 0 and clamp has 1, as torch.relu and torch.clamp."""
    assert [c["zeros"] for c in CASES] == [int(c is NOTEBOOK[1]) for c in CASES]
    (clamped,) = [c for c in CASES if c["program"] == "recurrent with clamp"]
    assert clamped["at"] == NOTEBOOK[1]["at"]
    assert clamped["value"] == NOTEBOOK[1]["value"]
    assert clamped["vjp"]["w1"] != NOTEBOOK[1]["vjp"]["w1"]


# ---------------------------------------------------------------- Kepler's equation

@pytest.mark.parametrize(("mean", "e"), [(0.5, 0.3), (3.0, 0.9), (-1.0, 0.01), (0.1, 0.95)])
def test_newtons_method_has_the_derivative_of_the_implicit_function(mean, e):
    """mpmath finds E of Kepler's equation; dE/dM = 1 / (1 - e cos E) and dE/de = sin E / (1 - e cos E)."""
    exact = mpmath.findroot(lambda x: x - e * mpmath.sin(x) - mean, mean + e, tol=1e-40) if mean else 0
    slope = 1 - e * mpmath.cos(exact)
    got = sample("kepler").vjp(wrt=("M", "e"))({"M": mean, "e": e, "d_dE": 1.0, "d_dr": 0.0})
    want = {"E": exact, "r": slope, "d_dM": 1 / slope, "d_de": mpmath.sin(exact) / slope}
    assert {n: float(got[n]) for n in want} == pytest.approx({n: float(x) for n, x in want.items()}, rel=1e-13)


# ---------------------------------------------------------------- a Gaussian process

def log_likelihood(x, y, length, noise):
    """The negative logarithm of the likelihood, by the determinant and the inverse of the kernel's matrix."""
    K = mpmath.matrix([[mpmath.exp(-((a - b) / length)**2 / 2) + (noise**2 if i == j else 0) for j, b in enumerate(x)]
                       for i, a in enumerate(x)])
    values = mpmath.matrix(y)
    return (values.T * mpmath.inverse(K) * values)[0] / 2 + mpmath.log(mpmath.det(K)) / 2 + len(x) * mpmath.log(2 * mpmath.pi) / 2


def test_a_likelihood_by_cholesky_is_that_by_determinant_and_inverse():
    at = {"x": [0.0, 1.0, 2.5], "y": [1.0, 0.5, -1.0], "length": 1.2, "noise": 0.3}
    got = sample("gaussian_process").grad()(at)
    with mpmath.workdps(50):
        want = {"nll": log_likelihood(**at)}
        for name in ("length", "noise"):
            want[f"dnll_d{name}"] = mpmath.diff(lambda v, name=name: log_likelihood(**{**at, name: v}), at[name])
    assert {n: float(got[n]) for n in want} == pytest.approx({n: float(v) for n, v in want.items()}, rel=1e-12)


# ---------------------------------------------------------------- the mixture, exactly

EXACT = {c["id"]: c for c in json.loads((DATA / "adbench.json").read_text(encoding="utf-8"))["cases"]}


def unpacked(numbers: Mapping[str, str], k: int, d: int) -> dict[str, np.ndarray]:
    """Tensors from the numbers of a program of scalars; of the lower triangles, each column in turn."""
    found = {"alpha": np.zeros(k), "mean": np.zeros((k, d)), "q": np.zeros((k, d)), "l": np.zeros((k, d, d))}
    below = [(i, j) for j in range(d) for i in range(j + 1, d)]
    for c in range(k):
        found["alpha"][c] = float(numbers[f"alpha{c + 1}"])
        for i in range(d):
            found["mean"][c, i] = float(numbers[f"mean{c + 1}_{i + 1}"])
            found["q"][c, i] = float(numbers[f"icf{c + 1}_{i + 1}"])
        for n, (i, j) in enumerate(below):
            found["l"][c, i, j] = float(numbers[f"icf{c + 1}_{d + n + 1}"])
    return found


@pytest.mark.parametrize("name, k, x", [
    ("gmm-test", 3, [[1.175171, 2.02916]]),
    ("gmm-d2_K5_n4", 5, json.loads((ROOT / "samples/mixture.json").read_text(encoding="utf-8"))["x"])])
def test_the_mixture_is_the_program_of_scalars(name, k, x):
    case = EXACT[f"adbench/{name}"]
    assert all(repr(number) in case["program"] for row in x for number in row)
    for point in case["points"]:
        at = unpacked(point["at"], k, 2)
        got = sample_gradient()(x=x, **at)
        assert math.isclose(got["err"], float(point["value"]["err"]), rel_tol=1e-13)
        close(got, unpacked(point["grad"]["err"], k, 2), "derr_d", 1e-12)


@cache
def sample_gradient() -> adcli.Function:
    return sample("mixture").grad()


def test_the_mixture_is_at_its_data():
    at = json.loads((ROOT / "samples/mixture.json").read_text(encoding="utf-8"))
    for name, x in unpacked(EXACT["adbench/gmm-d2_K5_n4"]["points"][0]["at"], 5, 2).items():
        np.testing.assert_array_equal(at[name], x)


# ---------------------------------------------------------------- comprehensions as text

def emitted(name: str) -> str:
    """The derivative program of a sample, without its header."""
    text = succeeds("vjp", ROOT / f"samples/{name}.ad", "--emit", "text").out
    return re.sub(r"^#.*\n", "", text, flags=re.M)


# The draft that the first three definitions come from has slips. The adjoint of B in a matrix-vector product sums over the rows
# (the draft indexes the cotangent by the column); what is added to every element has the sum of the cotangent as its adjoint
# (the draft: 1); and that of a maximum is the cotangent where the maximum is taken and 0 elsewhere (the draft: the largest
# product of the cotangent with a value, the same for every element of a row: no derivative).
ADJOINTS = {
    "matrix_vector": """\
def mv(float(M, N) A, float(N) B, float(M) d_dC) -> (C, d_dA, d_dB) {
    C(i) +=! A(i, j) * B(j)
    d_dA(i, j) = d_dC(i) * B(j)
    d_dB(j) +=! A(i, j) * d_dC(i)
}
""",
    "matrix_product": """\
def sgemm(float a, float b, float(N, M) A, float(M, Q) B, float(N, Q) d_dC) -> (C, d_da, d_db, d_dA, d_dB) {
    C(i, j) = b where i in 0:N, j in 0:Q
    C(i, j) += a * A(i, k) * B(k, j)
    d_dA(i, k) +=! a * (d_dC(i, j) * B(k, j))
    d_dB(k, j) +=! a * A(i, k) * d_dC(i, j)
    d_da +=! d_dC(i, j) * B(k, j) * A(i, k)
    d_db +=! d_dC(i, j)
}
""",
    "row_maximum": """\
def maxmv(float(M, N) A, float(M) d_dB) -> (B, d_dA) {
    B(i) max=! A(i, j)
    i1(i) +=! A(i, j) == B(i) ? 1 : 0
    d_dA(i, j) = B(i) > A(i, j) ? 0 : d_dB(i) * (B(i) == B(i) ? 1 / i1(i) : nan)
}
"""}


@pytest.mark.parametrize("case", [c for c in CASES if c["program"] in (*ADJOINTS, "max_pooling", "convolution")],
                         ids=lambda case: case["program"])
def test_the_emitted_adjoint_is_a_program(case):
    """It reads back, and its own text is the same again; run, it gives PyTorch's numbers."""
    text = emitted(case["program"])
    again = adcli.compile(text)
    assert again.text() == text
    got = evaluate(again.program, seeded(case, "cotangent"), numpy_arithmetic())
    close(got, case["vjp"], "d_d", 1e-12)


def test_adjoints_that_can_be_written_down():
    r = np.random.default_rng(1)
    A, B, w = r.normal(size=(3, 4)), r.normal(size=4), r.normal(size=3)
    got = reverse("matrix_vector", ("A", "B"))(A=A, B=B, d_dC=w)
    np.testing.assert_allclose(got["d_dA"], np.outer(w, B), rtol=1e-15)
    np.testing.assert_allclose(got["d_dB"], A.T @ w, rtol=1e-13)
    B, W = r.normal(size=(4, 2)), r.normal(size=(3, 2))
    got = reverse("matrix_product", ("a", "b", "A", "B"))(a=2.0, b=3.0, A=A, B=B, d_dC=W)
    np.testing.assert_allclose(got["C"], 3 + 2 * A @ B, rtol=1e-13)
    np.testing.assert_allclose(got["d_dA"], 2 * W @ B.T, rtol=1e-13)
    np.testing.assert_allclose(got["d_dB"], 2 * A.T @ W, rtol=1e-13)
    np.testing.assert_allclose([got["d_da"], got["d_db"]], [np.sum(W * (A @ B)), np.sum(W)], rtol=1e-13)


# ---------------------------------------------------------------- y = a x² + b x + c

@pytest.mark.parametrize("a, b, c, x", [(2.0, 3.0, 5.0, 7.0), (-0.5, 0.25, 1.5, -3.0)])
def test_the_table_of_adjoints(a, b, c, x):
    """The rows are t10 = x², t20 = a t10, t11 = b x, t21 = t11 + c, t30 = t20 + t21."""
    (record,) = command("trace", ROOT / "samples/quadratic.ad", "--at", f"a={a},b={b},c={c},x={x}", "--cotangent", "y=1",
                        "--format", "json").records
    assert [line["value"] for line in record["lines"]] == [x * x, a * x * x, b * x, b * x + c, a * x * x + (b * x + c)]
    assert [line["adjoint"] for line in record["lines"]] == [a, 1, 1, 1, 1]
    assert {i["input"]: i["adjoint"] for i in record["inputs"]} == {"a": x * x, "b": x, "c": 1, "x": 2 * a * x + b}
    f = sample("quadratic")
    assert f.vjp()(a=a, b=b, c=c, x=x, d_dy=1.0) == {"y": record["outputs"][0]["value"], "d_da": x * x, "d_db": x, "d_dc": 1,
                                                     "d_dx": 2 * a * x + b}
    for name, derivative in {"a": x * x, "b": x, "c": 1.0, "x": 2 * a * x + b}.items():
        along = {f"d{n}": float(n == name) for n in "abcx"}
        assert f.jvp()(a=a, b=b, c=c, x=x, **along)["dy"] == derivative


# ---------------------------------------------------------------- vjp, jvp and the Jacobian

def test_a_path_through_the_graph_of_the_textbook():
    """∂f/∂x1 = 1/x1 + x2 and ∂f/∂x2 = x1 - cos x2, and each as often as one likes."""
    f = sample("textbook")
    x1, x2 = 2.0, 5.0
    want = 1 / x1 + x2, x1 - math.cos(x2)
    assert f.jvp()(x1=x1, x2=x2, dx1=1.0, dx2=0.0)["dy"] == pytest.approx(want[0], rel=1e-15)
    assert f.jvp()(x1=x1, x2=x2, dx1=0.0, dx2=1.0)["dy"] == pytest.approx(want[1], rel=1e-15)
    pulled = f.vjp()(x1=x1, x2=x2, d_dy=1.0)
    assert (pulled["d_dx1"], pulled["d_dx2"]) == pytest.approx(want, rel=1e-15)
    third = f.grad(order=3)(x1=x1, x2=x2)
    assert third["d3y_dx1_dx1_dx1"] == pytest.approx(2 / x1**3, rel=1e-14)
    assert third["d3y_dx2_dx2_dx2"] == pytest.approx(math.cos(x2), rel=1e-14)
    assert third["d2y_dx1_dx2"] == 1


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_row_of_the_jacobian_is_a_vjp_and_a_column_a_jvp(mode):
    r = np.random.default_rng(2)
    x, y = r.normal(size=(2, 3)), r.normal(size=3)
    (record,) = succeeds("jacobian", ROOT / "samples/subtraction.ad", "--mode", mode, "--format", "json",
                         "--at", f"x={x.tolist()},y={y.tolist()}").records
    by = {name: np.array(part) for name, part in record["jacobian"]["z"].items()}
    for i, j in np.ndindex(2, 3):
        unit = np.zeros((2, 3))
        unit[i, j] = 1
        row = reverse("subtraction", ("x", "y"))(x=x, y=y, d_dz=unit)
        np.testing.assert_array_equal(by["x"][i, j], row["d_dx"])
        np.testing.assert_array_equal(by["y"][i, j], row["d_dy"])
        column = forward("subtraction", ("x", "y"))(x=x, y=y, dx=unit, dy=np.zeros(3))
        np.testing.assert_array_equal(by["x"][:, :, i, j], column["dz"])
    np.testing.assert_array_equal(by["y"], -np.broadcast_to(np.eye(3), (2, 3, 3)))


def test_vjp_is_the_gradient_of_the_weighted_sum():
    r = np.random.default_rng(3)
    x, y, w = r.normal(size=(2, 3)), r.normal(size=3), r.normal(size=(2, 3))
    summed = adcli.compile("input x(M, N), y(N), w(M, N)\ns +=! w(i, j) * (x(i, j) - y(j))").grad(wrt=["x", "y"])(x=x, y=y, w=w)
    pulled = reverse("subtraction", ("x", "y"))(x=x, y=y, d_dz=w)
    np.testing.assert_allclose(summed["ds_dx"], pulled["d_dx"], rtol=1e-15)
    np.testing.assert_allclose(summed["ds_dy"], pulled["d_dy"], rtol=1e-15)

