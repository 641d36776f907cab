"""Interpolation of tables: values and derivatives to second order beside SciPy, knots, ends, status, and refusals."""
from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from adcli.lang.enclosures import precise_arithmetic
from adcli.lang.evaluate import evaluate
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.suggest.counterparts import OF_TABLES
from command import succeeds
from row_tables import each_row
from scipy.interpolate import CubicSpline, PchipInterpolator, RegularGridInterpolator
from session_seed import drawn, half

import adcli

TABLE = "input xs(N), ys(N), x(M)\n"
REFERENCES = {"natural_spline": lambda x, y: CubicSpline(x, y, bc_type="natural"), "pchip": PchipInterpolator}


def table(n: int, seed: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Knots, values and places: between the knots, at them and outside."""
    r = drawn(seed, n)
    xs = np.cumsum([r.uniform(0.1, 1.1) for _ in range(n)])
    return xs, np.array([r.gauss(0, 1) for _ in xs]), np.array([*(r.uniform(xs[0] - 1, xs[-1] + 1) for _ in range(30)), *xs])


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("n", [2, 3, 9])
def test_cubics_are_those_of_scipy_to_second_order(name: str, n: int) -> None:
    xs, ys, x = table(n, name)
    found = adcli.compile(f"{TABLE}y = {name}(x, xs, ys)")(xs=xs, ys=ys, x=x)["y"]
    each = adcli.compile(f"input xs(N), ys(N), x\ny = {name}(x, xs, ys)").grad(order=2, wrt=["x"])
    reference = REFERENCES[name](xs, ys)
    np.testing.assert_allclose(found, reference(x), rtol=1e-10, atol=1e-10)
    for at in x[:10]:
        got = each(xs=xs, ys=ys, x=at)
        np.testing.assert_allclose([got["dy_dx"], got["d2y_dx_dx"]], [reference(at, 1), reference(at, 2)], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 9, 64, 65])
def test_lines_are_those_of_numpy(n: int) -> None:
    xs, ys, x = table(n, "lines")
    np.testing.assert_allclose(adcli.compile(f"{TABLE}y(i) = interp(x(i), xs, ys)")(xs=xs, ys=ys, x=x)["y"], np.interp(x, xs, ys),
                               rtol=1e-13, atol=1e-14)


def test_a_matrix_is_that_of_scipy() -> None:
    xs, ys = table(5, "rows")[0], table(4, "columns")[0]
    z = np.add.outer(np.sin(xs), ys**2) * xs[:, None]
    at = np.array([[0.3 * xs[0] + 0.7 * xs[-1], 0.6 * ys[0] + 0.4 * ys[-1]], [xs[1], ys[2]]])
    found = adcli.compile("input xs(N), ys(M), Z(N, M), x(T), y(T)\nv(i) = interp(x(i), y(i), xs, ys, Z)")
    np.testing.assert_allclose(found(xs=xs, ys=ys, Z=z, x=at[:, 0], y=at[:, 1])["v"], RegularGridInterpolator((xs, ys), z)(at),
                               rtol=1e-13)


@pytest.mark.parametrize("text", half([
    *(f"y(i) = {name}(x(i), xs, ys)" for name in ("interp", *REFERENCES)),
    "y(0) = ys(0)\nfor t in 0:6 { y(t + 1) = y(t)/2 + interp(y(t), xs, ys)/3 }\nv = y(6)*x(0)",
    "m = natural_slopes(xs, ys)\nfor t in 0:M { y(t) = cubics(x(t), xs, ys, m, 1)*xs(0) }",
    "A(i, j) = ys(i)*xs(j)\ny(i) = interp(x(i), 2*x(i), xs, ys, A)"]))
@pytest.mark.whole
def test_the_modes_agree_by_the_table_too(text: str) -> None:
    said = succeeds("check", "-e", TABLE + text, "--at", "xs=[1,2,4,7],ys=[5,7,6,8],x=[0,1.2,3,9]").out
    assert "no disagreement" in said


STATUS = [   # the call, x, the order, and the status
    ("interp", 2.5, 1, "smooth"), ("interp", 2.0, 1, "kink"), ("interp", 1.0, 1, "kink"), ("interp", 7.0, 1, "kink"),
    ("interp", 9.0, 1, "smooth"), ("interp", math.nan, 1, "domain"), ("pchip", 2.0, 1, "smooth"), ("pchip", 2.0, 2, "kink"),
    ("pchip", 1.0, 2, "smooth"), ("natural_spline", 2.0, 2, "smooth"), ("natural_spline", 2.0, 3, "kink"),
    ("natural_spline", 2.5, 3, "smooth")]


@each_row("name, x, order, status", STATUS)
def test_a_knot_has_the_status_of_the_derivative_that_jumps(name: str, x: float, order: int, status: str) -> None:
    text = f"input xs(N), ys(N), x\ny = {name}(x, xs, ys)"
    said = succeeds("grad", "-e", text, "--order", str(order), "--wrt", "x", "--status", "-q", "--at",
                    f"xs=[1,2,4,7],ys=[5,7,6,8],x={x}")
    assert said.out.endswith(f"status = {status}\n")


@pytest.mark.parametrize("xs, ys, x, wanted, status", [
    ([1, 2, 2, 4], [5, 7, 6, 8], 2, [6, 1], "jump"), ([1, 2, 2, 4], [5, 7, 6, 8], 1.5, [6, 2], "smooth"),
    ([1, 2, 2], [5, 7, 6], 3, [6, 0], "smooth"), ([1], [5], 0, [5, 0], "smooth"), ([0, 1], [0.1, 0.7], 5, [0.7, 0], "smooth")])
def test_equal_knots_and_one_knot(xs: list[float], ys: list[float], x: float, wanted: list[float], status: str) -> None:
    at = f"xs={xs},ys={ys},x={x}".replace(" ", "")
    said = succeeds("grad", "-e", "input xs(N), ys(N), x\ny = interp(x, xs, ys)", "--wrt", "x", "--status", "-q", "--at", at)
    value, slope = map(float, wanted)
    assert said.out == f"y = {value}\ndy_dx = {slope}\nstatus = {status}\n"


@pytest.mark.parametrize("text, xs", [("interp(x, xs, ys)", []), ("pchip(x, xs, ys)", [1])])
def test_too_few_knots_are_an_error_with_a_place(text: str, xs: list[float]) -> None:
    with pytest.raises(AdError, match=r"has no elements|would have -1 elements"):
        adcli.compile(f"input xs(N), ys(N), x\ny = {text}")(xs=xs, ys=xs, x=0.5)


def test_a_search_counts_what_is_at_most_a_number() -> None:
    """As in fifty digits; of vectors that do not ascend, too, it gives the same everywhere."""
    r, text = drawn("search"), "input xs(N), x(M)\nk(i) = search(xs, x(i))\nn = search(xs, 0.5)\noutput k, n"
    for n in (0, 1, 2, 7, 100):
        xs = np.round([r.uniform(-3, 3) for _ in range(n)], 1)
        x = np.round([*(r.uniform(-4, 4) for _ in range(20)), math.inf, -math.inf], 1)
        for given in np.sort(xs), xs:
            at: dict[str, Any] = {"xs": given, "x": x}
            found = adcli.compile(text)(**at)
            precise = evaluate(parse(text), at, precise_arithmetic(50))
            assert list(found["k"]) == [int(float(str(k.value))) if hasattr(k, "value") else k for k in precise["k"]]
        assert list(adcli.compile(text)(xs=np.sort(xs), x=x)["k"]) == list(np.searchsorted(np.sort(xs), x, side="right"))


@each_row("name, count", OF_TABLES)
def test_each_foreign_function_of_tables_is_answered_with_what_it_is_here(name: str, count: int) -> None:
    (form,) = OF_TABLES[name, count]
    args = {"a": "xs", "b": "ys", "d": "Z"}
    with pytest.raises(AdError) as found:
        parse(f"input xs(N), ys(N), Z(N, N), x, y\nv = {name}({', '.join(args.get(p, p) for p in form.params)})")
    wanted = re.sub(r"\b[abd]\b", lambda m: args[m[0]], form.choices[0][0])
    assert f"write {wanted}" in str(found.value)
