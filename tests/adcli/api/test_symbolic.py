"""Expressions of SymPy as Functions, and back: against SymPy's own values and derivatives at 30 digits."""
from __future__ import annotations

import pytest

import adcli

EXPRESSIONS = [
    "x**2*sin(y) + Rational(1, 2)*exp(-x)", "Piecewise((x**2, x > 1), (log(x), x > 0), (0, True))*z", "sqrt(x*y)/(1 + z**2)",
    "gamma(x)*erf(y)", "Max(x, y, z)*x", "loggamma(x) + digamma(y) + beta(x, y)", "atan2(y, x) + pi*E",
    "sec(x) + cot(y) + log(x, 2)", "polygamma(1, x)", "factorial(x)*y",
    "Min(x, 2)*tanh(z)**3", "erfinv(x/10)", "Float('0.1')*x**y", "asinh(x) + cbrt(y)"]


@pytest.mark.engine
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_values_gradients_and_hessians_are_those_of_sympy(text: str) -> None:
    sympy = pytest.importorskip("sympy", reason="no sympy")
    e = sympy.sympify(text, evaluate=True)
    point = {s: {"x": 1.3, "y": 0.7, "z": 0.4}[s.name] for s in sorted(e.free_symbols, key=str)}
    at = {s.name: v for s, v in point.items()}
    f = adcli.compile(e)
    exact = {s: sympy.Rational(v) for s, v in point.items()}

    def close(got: float, expected: object) -> None:
        assert got == pytest.approx(float(sympy.N(expected.subs(exact), 30)), rel=2e-14, abs=1e-15)   # type: ignore[attr-defined]
    close(f(**at)["f"], e)
    hessian = f.hessian()(**at)
    for k, a in enumerate(point):
        close(f.grad()(**at)[f"df_d{a}"], sympy.diff(e, a))
        for m, b in enumerate(point):
            slope = sympy.diff(e, a, b)
            if not slope.has(sympy.Derivative):
                close(hessian["d2f"][k][m] if "d2f" in hessian else second(hessian, a, b), slope)
    back = adcli.to_sympy(f)
    real = {sympy.Symbol(s.name, real=True): v for s, v in exact.items()}
    assert abs(sympy.N(back.subs(real) - e.subs(exact), 20)) < 1e-15


def second(hessian: dict[str, float], a: object, b: object) -> float:
    return next(hessian[n] for n in (f"d2f_d{a}_d{b}", f"d2f_d{b}_d{a}") if n in hessian)


@pytest.mark.engine
def test_sums_and_matrices_travel() -> None:
    sympy = pytest.importorskip("sympy", reason="no sympy")
    i, n, x = *sympy.symbols("i n", integer=True), sympy.IndexedBase("x")
    assert adcli.compile(sympy.Sum(x[i]**2, (i, 0, n - 1)))(x=[1.0, 2.0, 3.0]) == {"f": 14.0}
    u, v = sympy.symbols("u v")
    assert adcli.compile(sympy.Matrix([[u, v], [u * v, 1]]))(u=2.0, v=3.0)["f"].tolist() == [[2, 3], [6, 1]]
    u, v = sympy.symbols("x y", real=True)
    assert adcli.to_sympy(adcli.compile("v = x*y**2").grad()) == {"v": u * v**2, "dv_dx": v**2, "dv_dy": 2 * u * v}
    with pytest.raises(adcli.AdError, match="tensors"):
        adcli.to_sympy(adcli.compile("input x(n); s +=! x(i)"))
