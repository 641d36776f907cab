"""`why`: the cause of every NaN, infinity and zero, as the conventions have it; the words, the command."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.lang.analyse.findings import explained
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from command import succeeds

from adcli import compile
from adcli.why.causes import Words

INF = float("inf")
SENTENCES = [
    # program, point, mode, what is asked about, the sentence and what it goes back to
    ("sin(1/x)", {"x": 0.0}, "both", "v", "sin(u) at u = 1/x = inf is nan: there is no limit at infinity (p:1:5), since u / v at "
     "u = 1.0, v = x = 0.0 is inf: division by zero (p:1:9)"),
    ("x - x", {"x": 2.0}, "both", "v", "u - v at u = x = 2.0, v = x = 2.0 is 0.0: a value less itself (p:1:5)"),
    ("x - x", {"x": 2.0}, "forward", "dv_dx", "the 2 contributions to one tangent, the first by ∂(u - v)/∂u at u = x = 2.0, "
     "v = x = 2.0, cancel exactly (p:1:5)"),
    ("log(x) - 2*log(x)", {"x": 0.0}, "forward", "dv_dx", "the 2 contributions to one tangent, the first by ∂(u - v)/∂u at "
     "u = log(x) = -inf, v = 2*log(x) = -inf, are infinite with opposite signs: inf - inf = nan (p:1:5), since log'(u) at u = x "
     "= 0.0 is inf: a singularity (p:1:5)"),
    ("fma(x, y, z)", {"x": 1.0, "y": 2.0, "z": -2.0}, "both", "v", "fma(u, v, w) at u = x = 1.0, v = y = 2.0, w = z = -2.0 is "
     "0.0: the operands cancel exactly (p:1:5)"),
    ("fma(x, y, z)", {"x": 1e-200, "y": 1e-200, "z": 0.0}, "both", "v", "fma(u, v, w) at u = x = 1e-200, v = y = 1e-200, "
     "w = z = 0.0 is 0.0: underflow, smaller than any double (p:1:5)"),
    ("fma(x, y, z)", {"x": 0.0, "y": 1.0, "z": 0.0}, "both", "v", "x is 0.0"),
    ("x*1e300*1e300", {"x": 2.0}, "reverse", "dv_dx", "∂(u * v)/∂u at u = x = 2.0, v = 1e+300 is 1e+300; times the adjoint "
     "1e+300 it overflows, larger than any double (p:1:5)"),
    ("(x*1e-200)*(y*1e-200)", {"x": 1.0, "y": 1.0}, "reverse", "dv_dx", "∂(u * v)/∂u at u = x = 1.0, v = 1e-200 is 1e-200; "
     "times the adjoint 1e-200 it underflows, smaller than any double (p:1:6)"),
    ("tanh(x)", {"x": 1e4}, "both", "dv_dx", "tanh'(u) at u = x = 10000.0 is 0.0: underflow, smaller than any double (p:1:5)"),
    ("atan(x)", {"x": INF}, "both", "dv_dx", "atan'(u) at u = x = inf is 0.0: its limit there (p:1:5)"),
    ("hypot(x, y)", {"x": 0.0, "y": 2.0}, "both", "dv_dx", "∂(hypot(u, v))/∂u at u = x = 0.0, v = y = 2.0 is 0.0: zero at these "
     "operands (p:1:5)"),
    ("cos(x)", {"x": 0.0}, "both", "dv_dx", "cos'(u) at u = x = 0.0 is 0.0: a stationary point (p:1:5)"),
    ("floor(x) + 1", {"x": 2.5}, "both", "dv_dx", "floor'(u) at u = x = 2.5 is 0.0: a step function has derivative 0 (p:1:5)"),
    ("x**y", {"x": 0.0, "y": -1.0}, "both", "dv_dx", "∂(u**v)/∂u at u = x = 0.0, v = y = -1.0 is -inf: a pole (p:1:5)"),
    ("x**y", {"x": -2.0, "y": 2.0}, "both", "dv_dy", "∂(u**v)/∂v at u = x = -2.0, v = y = 2.0 is nan: it has no derivative there "
     "(p:1:5)"),
    ("x + 0*y", {"x": 1.0, "y": 1.0}, "both", "dv_dy", "the constant 0.0 is a factor of the derivative of 0*y (p:1:9)"),
    ("x < 1 ? x*x : log(y)", {"x": 0.5, "y": -1.0}, "both", "dv_dy", "the arm log(y) is not taken: x < 1 is true at x = 0.5 "
     "(p:1:5)"),
    ("x > 0 ? 1.0 : 2.0", {"x": 1.0}, "reverse", "dv_dx", "only a condition depends on it (x > 0 is true at x = 1.0), and a "
     "condition has derivative 0 (p:1:5)"),
    ("x > 0 ? 1.0 : 2.0", {"x": 1.0}, "forward", "dv_dx", "only a comparison depends on it, x > 0, which has derivative 0 "
     "(p:1:5)"),
    ("fmax(x, y)", {"x": INF - INF, "y": 1.0}, "both", "dv_dx", "fmax(u, v) at u = x = nan, v = y = 1.0 ignores the nan of u "
     "(p:1:5)"),
    ("max(x, y, z)", {"x": 2.0, "y": 1.0, "z": 2.0}, "both", "dv_dy", "v of max(u, v, w) is not the largest at u = x = 2.0, v = "
     "y = 1.0, w = z = 2.0 (p:1:5)"),
    ("clamp(x, lo, hi)", {"x": 5.0, "lo": 0.0, "hi": 1.0}, "both", "dv_dx", "clamp(u, v, w) at u = x = 5.0, v = lo = 0.0, w = hi "
     "= 1.0: outside its bounds, where the derivative with respect to u is 0 (p:1:5)"),
    ("clamp(x, lo, hi)", {"x": 5.0, "lo": 0.0, "hi": 1.0}, "both", "dv_dlo", "clamp(u, v, w) at u = x = 5.0, v = lo = 0.0, w = "
     "hi = 1.0: this bound is not the one reached, where the derivative with respect to v is 0 (p:1:5)"),
    ("relu(x)", {"x": -1.0}, "both", "dv_dx", "relu(u) at u = x = -1.0: its flat side, where the derivative with respect to u is "
     "0 (p:1:5)"),
    ("sqrt(x*y + x)", {"x": 0.0, "y": 0.0}, "forward", "dv_dy", "sqrt'(u) at u = x*y + x = 0.0 is inf, and the tangent that "
     "meets it is 0.0: 0·inf = nan (p:1:5), since x = 0.0 is a factor of the derivative of x*y (p:1:10)"),
]


@pytest.mark.parametrize(("text", "at", "mode", "name", "said"), SENTENCES, ids=lambda x: x if isinstance(x, str) else "")
def test_every_kind_of_cause_has_its_sentence(text, at, mode, name, said):
    program = parse(f"v = {text}\n", "p")
    for forward in (True, False) if mode == "both" else (mode == "forward",):
        explainer, found = explained(program, at, list(at), forward)
        (finding,) = [f for f in found if f.name == name]
        assert [Words(explainer).since(c) for c in finding.causes] == [said]


# ---------------------------------------------------------------- the command


def test_many_names_are_counted():
    text = " + ".join(f"x{i}*y" for i in range(20))
    ones = ",".join(f"x{i}=1" for i in range(20))
    out = succeeds("why", "-e", f"v = {text}", "--at", f"{ones},y=0").out
    assert out.count("y = 0.0 is a factor of the derivative of x") == 20
    out = succeeds("why", "-e", f"v = floor({text})", "--at", f"{ones},y=1.01").out
    assert out.startswith("dv_dx0, dv_dy, dv_dx1, dv_dx2, dv_dx3, dv_dx4 and 15 more are 0.0\n")


def test_json_has_of_a_long_tensor_its_size_and_first_elements(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(1001.0))
    (record,) = succeeds("why", "-e", "input x(N), s", "-e", "v +=! log(x(i)*s)", "--at", f"x=@{tmp_path / 'x.npy'},s=1",
                         "--format", "json").records
    assert record["at"] == {"x": {"shape": [1001], "norm": pytest.approx((1000*1001*2001/6)**0.5, rel=1e-15), "smallest": 0.0,
                                  "largest": 1000.0, "first": [0.0, 1, 2, 3, 4, 5, 6, 7]}, "s": 1.0}
    assert record["why"][0]["results"] == {"dv_ds": "NaN"}


# ---------------------------------------------------------------- tensors, loops, matrices

LOOP = """input W(n, n), x(T, n), h0(n)
h(0, i) = h0(i)
for t in 0:T {
    a(t, i) +=! W(i, j)*h(t, j)
    h(t + 1, i) = log(a(t, i) + x(t, i))
}
L +=! h(T, i)**2
"""
ELEMENTS = [
    # program, point, heading, the sentence, other lines
    (LOOP, {"W": [[0.5, 1], [1, 0.2]], "h0": [1, 2], "x": [[1, -2.5], [1, 1], [1, 1]]}, "L, dL_dW(0, 0)",
     "<text>:5:19: in h(1, 1), log(u) at u = a(t, i) + x(t, i) = -1.1 is nan: outside its domain",
     ["with a(0, 1) = 1.4, x(0, 1) = -2.5", "passed on through a(1, 0), h(2, 0), a(2, 0), h(3, 0)"]),
    ("input A(B, n, n), b(n), s\nfor t in 0:2 {\nM(t, k, i, j) = A(k, i, j)*s\nx(t, k) = solve(M(t, k), b)\n}\n"
     "v +=! x(t, k, i)\noutput v",
     {"A": [[[1, 2], [0, 1]], [[1, 1], [1, 1]]], "b": [1, 1], "s": 2}, "v, dv_dA(1, 0, 0)",
     "in x(0, 1, 0), solve(M(t, k), b) at pivot 2 of its matrix = 0.0 is nan: the matrix is singular",
     ["the same in x(1, 1, 0)"]),
    ("input A(n, n)\nv = logdet(A)\noutput v", {"A": [[1, 2], [2, 1]]}, "v, dv_dA(0, 0)",
     "in v, logdet(A) is nan: the determinant of its matrix is below 0", []),
    ("input A(n, n)\nv = logdet(A)\noutput v", {"A": [[1, 2], [2, 4]]},
     "dv_dA(0, 0), dv_dA(0, 1), dv_dA(1, 0) and dv_dA(1, 1) are nan",
     "in v, logdet(A) at pivot 2 of its matrix = 0.0 is -inf: the matrix is singular", ["v is -inf"]),
    ("input A(n, n)\nL = cholesky(A)\nv +=! L(i, i)\noutput v", {"A": [[1, 2], [2, 1]]}, "v, dv_dA(0, 0)",
     "in L(0, 0), cholesky(A) at pivot 2 of its matrix = -3.0 is nan: the matrix is not positive definite",
     []),
    ("input x(n)\ny(i) = max(x(i), 0)\nv +=! y(i)**2\noutput v", {"x": [-1, -2]}, "v is 0.0",
     "in y(0), u of max(u, v) is not the largest at u = x(0) = -1.0, v = 0.0", ["every element of dv_dx is 0.0"]),
    ("input x(n)\nv +=! x(i)", {"x": [1, -1]}, "v is 0.0", "u + v at u = x(0) = 1.0, v = x(1) = -1.0 is 0.0", []),
    ("input x(n)\nv +=! x(i)", {"x": [1, float("nan")]}, "v is nan", "x(1) is nan, which is passed on", []),
]


@pytest.mark.parametrize("text, at, heading, sentence, others", ELEMENTS)
def test_elements_and_steps_are_named(text, at, heading, sentence, others):
    found = str(compile(text).why(at))
    assert found.startswith(heading) and sentence in found and not [x for x in others if x not in found.split("\n")], found


def test_what_is_too_large_says_so():
    with pytest.raises(AdError, match=r"why follows at most 400,000 operations on numbers; here there are 4,194,304"):
        compile("input A(n, n)\nB(i, j) +=! A(i, k)*A(k, j)\noutput B").why(A=np.ones((128, 128)) - 1, order=2)

