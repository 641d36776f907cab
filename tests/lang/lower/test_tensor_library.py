"""Functions of whole tensors that need no definition: values against NumPy, derivatives against the other mode."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from adcli.lang.lower.frontend import parse
from adcli.lang.lower.tensor_library import definitions
from adcli.lang.tree.notation import TENSOR_CALLS
from command import adcli as run
from command import succeeds
from session_seed import half

import adcli

AT = {"A": [[1.5, -2.0, 0.5], [0.25, 3.0, 1.0], [2.0, 0.0, -1.25]], "B": [[1.0, 2.0], [-3.0, 0.5]], "x": [1.5, -2.0, 0.75],
      "y": [0.5, 0.0, -1.0], "Y": [[1.0, 2.0, 0.0], [-0.5, 0.0, 3.0], [2.0, 2.5, -1.0], [0.0, 1.0, 1.0]],
      "z": [1.0, -2.0, 0.5, 0.0]}
SMALL = {"A": [[1.5, -2.0], [0.25, 3.0]], "x": [1.5, -2.0], "y": [0.5, 0.0], "Y": [[1.0, 2.0], [-0.5, 0.0], [2.0, 2.5]],
         "z": [1.0, -2.0, 0.5]}
"""For derivatives: each of second order is looked at."""
SHAPES = "input A(N, N), B(P, Q), x(N), y(N), Y(T, N), z(T)\n"
OF = {
    "trace": (("A",), np.trace), "norm": (("x", "A"), np.linalg.norm), "dot": (("x, y",), np.dot),
    "kron": (("A, B", "B, A"), np.kron), "outer": (("x, z",), np.outer), "diag": (("x", "A"), np.diag),
    "matmul": (("Y, A", "Y, x", "z, Y", "x, y"), np.matmul), "diff": (("x",), np.diff), "convolve": (("x, z",), np.convolve),
    "trapezoid": (("x, y",), np.trapezoid), "sum": (("x", "Y"), np.sum),
    "prod": (("x", "Y"), np.prod), "amax": (("x", "Y"), np.max), "amin": (("x", "Y"), np.min),
    "argmax": (("x",), np.argmax), "argmin": (("x",), np.argmin), "std": (("x", "B"), np.std),
    "log_softmax": (("x",), lambda x: x - np.log(np.exp(x).sum())),
    "cumsum": (("x",), np.cumsum), "cumprod": (("x", "y"), np.cumprod), "mean": (("x", "B"), np.mean),
    "var": (("x", "B"), np.var),
    "logsumexp": (("x", "B"), lambda x: np.log(np.exp(x).sum())), "softmax": (("x",), lambda x: np.exp(x) / np.exp(x).sum()),
    "argsort": (("x",), np.argsort), "lstsq": (("Y, z",), lambda a, b: np.linalg.lstsq(a, b)[0]),
    "eigh": ((), None), "qr": ((), None),
    "svd": ((), None), "pinv": (("Y",), np.linalg.pinv),
    **dict.fromkeys(("knots_around", "interp", "hermite", "pchip", "pchip_slopes", "natural_spline", "natural_slopes", "cubics"),
                    ((), None)),   # test_tables.py
    **dict.fromkeys(("dirichlet_lpdf", "multi_normal_cholesky_lpdf", "lkj_corr_lpdf", "lkj_corr_cholesky_lpdf"),
                    ((), None)),   # test_densities.py
}
CALLS = {f"{name}({args})": function for name, (choices, function) in OF.items() for args in choices}
NEW = "for t in 0:T { r(t) = norm(Y(t) - x)*dot(Y(t), softmax(y)); h(t) = mean(Y(t)) + var(Y(t)*r(t)) + logsumexp(Y(t)) }"


def given(text: str) -> dict[str, Any]:
    return {p.name: AT[p.name] for p in parse(text).params}


def test_each_function_has_definitions_and_a_line():
    assert {*definitions()} == {*TENSOR_CALLS} == {*OF}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.whole
def test_a_call_has_the_value_of_numpy(call: str) -> None:
    names = call.partition("(")[2][:-1].split(", ")
    shapes = {"A": "N, N", "B": "P, Q", "Y": "T, N", "z": "T"}
    declared = ", ".join(f"{n}({shapes.get(n, 'N')})" for n in names)
    found = adcli.compile(f"input {declared}\nv = {call}")(**{n: AT[n] for n in names})
    wanted = CALLS[call](*(np.array(AT[n]) for n in names))
    np.testing.assert_allclose(found["v"], wanted, rtol=1e-13 if "Y" in call else 4e-15)


def test_factors_are_called_together():
    text = "input A(N, N), Y(T, N); (w, V) = eigh(A); (O, R) = qr(Y); (L, s, U) = svd(Y); output w, V, O, R, L, s, U"
    found = adcli.compile(text)(A=AT["A"], Y=AT["Y"])
    symmetric = (np.array(AT["A"]) + np.array(AT["A"]).T) / 2
    np.testing.assert_allclose(symmetric @ found["V"], found["V"] * found["w"], atol=1e-14)
    np.testing.assert_allclose(found["O"] @ found["R"], AT["Y"], atol=1e-14)
    np.testing.assert_allclose(found["L"] * found["s"] @ found["U"].T, AT["Y"], atol=1e-14)
    np.testing.assert_allclose(found["O"].T @ found["O"], np.eye(3), atol=1e-14)
    assert (np.diagonal(found["R"]) > 0).all() and (np.diff(found["w"]) > 0).all()


def test_calls_on_slices_and_in_loops():
    text = f"{SHAPES}s(t) = norm(Y(t) - x)\nc(t) = cumsum(Y(t))\nv = 2*norm(A) + mean(softmax(x - y)) + trace(inverse(A))\n{NEW}"
    at = given(text)
    found, n = adcli.compile(text)(**at), {k: np.array(v) for k, v in AT.items()}
    p = np.exp(n["x"] - n["y"])
    weights = np.exp(n["y"]) / np.exp(n["y"]).sum()
    r = np.linalg.norm(n["Y"] - n["x"], axis=1) * (n["Y"] @ weights)
    want = {"s": np.linalg.norm(n["Y"] - n["x"], axis=1), "c": n["Y"].cumsum(1),
            "v": 2 * np.linalg.norm(n["A"]) + (p / p.sum()).mean() + np.trace(np.linalg.inv(n["A"])),
            "h": n["Y"].mean(1) + (n["Y"] * r[:, None]).var(1) + np.log(np.exp(n["Y"]).sum(1))}
    for name, value in want.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-14)


def test_a_loop_may_end_by_a_call():
    """The power method: the derivative of the largest eigenvalue is the dyad of its vector."""
    text = """input A(N, N), x(N)
y(0, i) = x(i)
for t in 0:60 until norm(y(t + 1) - y(t)) < 1e-13 { z(t, i) +=! A(i, j)*y(t, j); y(t + 1) = z(t)/norm(z(t)) }
v = dot(y(60), z(59))
output v"""
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    found = adcli.compile(text).grad(wrt=["A"])(A=a, x=[1.0, 2.0])
    values, vectors = np.linalg.eigh(a)
    assert found["v"] == pytest.approx(values[1], rel=1e-12)
    np.testing.assert_allclose(found["dv_dA"], np.outer(vectors[:, 1], vectors[:, 1]), rtol=1e-9)


@pytest.mark.parametrize("text", half([
    "v = norm(x) + norm(A)*trace(A); K = kron(B, A)", "v = cumsum(x*y); w = cumprod(y)", "v = mean(A) + var(x); w = softmax(x)",
    "v = logsumexp(A) + dot(x, y)", "v = std(A)*prod(x); w = matmul(diff(convolve(x, diag(A))), Y); u = log_softmax(x)",
    "v = sum(outer(x, y)) - amax(A)*amin(x); k = argmax(y); u = x(k); w = matmul(matmul(x, A), x)",
    "(w, V) = eigh(A); v +=! w(i)*V(0, i)", "c = lstsq(Y, z); E = expm(A)",
    "s(t) = sort(Y(t)); k = argsort(x); d(i) = x(k(i))*i; e = det(A)", "(O, R) = qr(Y); H = pinv(Y)", "(U, s, V) = svd(Y)",
    "s(t) = norm(Y(t) - x); c(t) = cumprod(Y(t))", NEW,
    "def f(float(N) z) -> (v) { v = norm(z)*mean(z) }\nw(t) = f(Y(t))"]))
@pytest.mark.whole
def test_the_modes_agree_to_second_order(text: str) -> None:
    at = AT if "convolve" in text else AT | SMALL   # whose result has as many elements as there are rows
    text = f"{SHAPES}{text}"
    point = ",".join(f"{n}={at[n]}".replace(" ", "") for n in given(text))
    assert "no disagreement" in succeeds("check", "-e", text, "--at", point).out


def test_a_norm_has_a_kink_at_zero():
    for mode in ("grad", "hessian"):
        told = run(mode, "-e", "input x(N); v = norm(x)", "--at", "x=[0,0]")
        assert "dv_dx = [0.0, 0.0]" in told.out and "1:17: note: abs'(u) at u = 0.0: kink" in told.err
    assert adcli.compile("input x(N); v = norm(x)").grad()(x=[1e-200, 0])["v"] == 0   # the square is 0


@pytest.mark.parametrize("text, value", [
    ("def norm(float(N) x) -> (v) { v +=! x(i) }\ninput x(N); v = norm(x)", 0.25),
    ("input x(N); mean(i) = 2*x(i); v = mean(1)", -4.0),
    ("def f(float(N) x) -> (v) { var(i) = 2*x(i); v +=! var(i) }\ninput x(N); v = f(x)", 0.5),
    ("input x(N); trace = x(0); v = 2*trace", 3.0)])
def test_a_name_of_the_text_hides_the_function(text: str, value: float) -> None:
    assert adcli.compile(text)(x=AT["x"])["v"] == value


def test_only_a_text_that_calls_one_reads_the_definitions(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> Any:
        raise AssertionError
    place: Callable[..., Any] | str = "adcli.lang.lower.tensor_library.definitions"
    monkeypatch.setattr(place, refused)
    parse("input x(N); v +=! x(i); def f(float(N) y) -> (v) { v +=! y(i) }; w = f(x)")
    with pytest.raises(AssertionError):
        parse("input x(N); v = norm(x)")
