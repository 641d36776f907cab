"""Functions of the prelude against multiple precision: values and derivatives to third order by each argument, at random points
and in the tails."""
from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest
from accuracy import EPSILON
from adcli.lang.derive.derivatives import gradient
from adcli.lang.lower.frontend import parse
from adcli.lang.lower.library import prelude
from back_ends import values
from row_tables import each_row
from session_seed import half, part

import adcli

DATA = Path(__file__).parents[2] / "data"
POINTS, ROUNDINGS = 50, 50
"""Points for each function (200 were tried), and units of relative error, as `adcli help functions` promises."""


class Truth(NamedTuple):
    """A function of multiple precision, and arguments to draw: exponents of ten by sign, or a range."""

    of: Callable[..., Any]
    drawn: Callable[[random.Random], tuple[float, ...]]


def magnitude(r: random.Random, low: float, high: float, signs: tuple[int, ...] = (1, -1)) -> float:
    return r.choice(signs) * 10 ** r.uniform(low, high)


def probability(r: random.Random) -> float:
    p = 10 ** r.uniform(-30, -0.3)
    return p if r.random() < 0.6 else 1 - p if p > 1e-15 else 0.5 + p


def log_beta(a: Any, b: Any) -> Any:
    return mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)


FUNCTIONS = {
    "cosm1": Truth(lambda x: mpmath.cos(x) - 1, lambda r: (magnitude(r, -9, 0.3),)),
    "silu": Truth(lambda x: x / (1 + mpmath.exp(-x)), lambda r: (magnitude(r, -9, 2),)),
    "logsigmoid": Truth(lambda x: -mpmath.log1p(mpmath.exp(-x)), lambda r: (magnitude(r, -9, 2),)),
    "logit": Truth(lambda p: mpmath.log(p / (1 - p)), lambda r: (probability(r),)),
    "gelu": Truth(lambda x: x * mpmath.ncdf(x), lambda r: (magnitude(r, -9, 1.5),)),
    "normal_logcdf": Truth(lambda x: mpmath.log(mpmath.ncdf(x)) if x < 0 else mpmath.log1p(-mpmath.ncdf(-x)),
                           lambda r: (magnitude(r, -9, 1.5),)),
    "erfcinv": Truth(lambda x: mpmath.erfinv(1 - x), lambda r: (2 * probability(r),)),
    "log1mexp": Truth(lambda x: mpmath.log1p(-mpmath.exp(x)), lambda r: (magnitude(r, -9, 2.3, (-1,)),)),
    "sinc": Truth(mpmath.sincpi, lambda r: (magnitude(r, -9, 3),)),
    "exprel": Truth(lambda x: mpmath.expm1(x) / x, lambda r: (magnitude(r, -9, 2.5),)),
    "lbeta": Truth(log_beta, lambda r: (magnitude(r, -9, 7, (1,)), magnitude(r, -9, 7, (1,)))),
    "lambert_w0": Truth(lambda x: mpmath.lambertw(x).real, lambda r: (magnitude(r, -9, 6, (1,)) if r.random() < 0.5
                                                                      else -r.uniform(0, 0.3678),)),
    "lambert_wm1": Truth(lambda x: mpmath.lambertw(x, -1).real, lambda r: (-r.uniform(1e-9, 0.3678),)),
    "expint_e1": Truth(mpmath.e1, lambda r: (magnitude(r, -9, 2.5, (1,)),)),
    "expint_ei": Truth(mpmath.ei, lambda r: (magnitude(r, -9, 2.5),)),
    "log_diff_exp": Truth(lambda x, y: mpmath.log(mpmath.exp(x) - mpmath.exp(y)),
                          lambda r: (lambda x: (x, x - 2.0 ** r.randint(-20, 5)))(r.randint(-64, 64) / 8)),
}


@each_row("name", FUNCTIONS)
def test_values_and_derivatives(name: str) -> None:
    """Relative to the derivative, beside what a rounding of the argument changes in it. Differences are taken over 1e-45."""
    truth, r = FUNCTIONS[name], random.Random(name)
    at = part([truth.drawn(r) for _ in range(POINTS)], 4)
    names = [f"x{k}" for k in range(len(at[0]))]
    program = parse(f"v = {name}({', '.join(names)})\n")
    for k, x in enumerate(names):
        with mpmath.workdps(45):
            given = [[mpmath.mpf(z) for z in point] for point in at]
            slopes = [[*mpmath.diffs(lambda z, k=k, of=of: truth.of(*of[:k], z, *of[k + 1:]), of[k], 4)] for of in given]
        found = values(gradient(program, [x], order=3), [dict(zip(names, point, strict=True)) for point in at], "native")
        for point, got, known in zip(at, found, slopes, strict=True):
            for order, (derivative, want, steeper) in enumerate(zip(got.values(), known[:4], known[1:], strict=True)):
                allowed = EPSILON * (ROUNDINGS * abs(want) + abs(point[k] * steeper))
                assert abs(derivative - want) <= allowed, (x, order, point)


STORED = json.loads((DATA / "special_values.json").read_text(encoding="utf-8"))
SHAPES = {"inc_beta": 2, "student_t_cdf": 0}
"""How many arguments are shapes or orders, the first ones, where it is not one."""
LOOSER = {("voigt", 1, 3): 50, ("inc_beta", 0, 3): 2, ("inc_beta", 1, 3): 2}
"""Factors of ROUNDINGS, of functions by the number of an argument and the order, as help says."""


@each_row(("name", "k"), half([
    (name, k) for name, points in STORED.items() for k in range(len(points[0]["by"]))]))
def test_special_functions_against_stored_values(name: str, k: int) -> None:
    """As above, of values that `tests/tools/make_special_values.py` has made; beside a zero of one by a shape,
    relative to the derivative before over the width of the distribution, or of a logarithm to that alone."""
    names = [f"x{i}" for i in range(len(STORED[name][0]["at"]))]
    program = parse(f"v = {name}({', '.join(names)})\n")
    at = [dict(zip(names, point["at"], strict=True)) for point in STORED[name]]
    found = values(gradient(program, [names[k]], order=3), at, "native")
    for point, got in zip(STORED[name], found, strict=True):
        for order, derivative in enumerate(got.values()):
            want, steeper = point["by"][k][order:order + 2]
            width = 1.0 if name.startswith("log_") else (1 + abs(point["at"][k])) ** 0.5
            around = 0.0 if k >= SHAPES.get(name, 1) or not order else point["by"][k][order - 1] / width
            roundings = ROUNDINGS * LOOSER.get((name, k, order), 1)
            allowed = EPSILON * (roundings * max(abs(want), abs(around)) + abs(point["at"][k] * steeper))
            assert abs(derivative - want) <= allowed, (order, point)


@pytest.mark.parametrize(("y", "nu"), [(-0.5, 2e4), (-3.0, 2e4), (2.0, 5e3)])
def test_derivatives_of_student_t_cdf_by_large_degrees_of_freedom(y: float, nu: float) -> None:
    found = adcli.compile("v = student_t_cdf(y, nu, 0, 1)").grad(wrt="nu")(y=y, nu=nu)["dv_dnu"]
    with mpmath.workdps(50):
        def tail(n: Any) -> Any:
            return mpmath.betainc(n / 2, 0.5, 0, n / (n + y * y), regularized=True) / 2
        want = mpmath.diff(tail, mpmath.mpf(nu), h=mpmath.mpf("1e-12")) * (1 if y < 0 else -1)
        assert abs(found - want) <= 1e-11 * abs(want)


@each_row(("y", "nu"), [(-50.0, 4e3), (-1e3, 150.0), (-2.0, 5.0)])
def test_student_t_lcdf_where_the_probability_is_no_double_and_where_it_is(y: float, nu: float) -> None:
    found = adcli.compile("v = student_t_lcdf(y, nu, 0, 1)").grad()(y=y, nu=nu)
    with mpmath.workdps(40):
        def truth(t: Any, n: Any) -> Any:
            return mpmath.log(mpmath.betainc(n / 2, 0.5, 0, n / (n + t * t), regularized=True) / 2)
        at = mpmath.mpf(y), mpmath.mpf(nu)
        for name, orders in (("v", (0, 0)), ("dv_dy", (1, 0)), ("dv_dnu", (0, 1))):
            want = mpmath.diff(truth, at, orders, relative=True)
            assert abs(found[name] - want) <= 50 * EPSILON * abs(want), name


@each_row(("call", "x"), [("logit(x)", 0.25), ("logit(x)", 0.5), ("logit(x)", 0.75), ("normal_logcdf(x)", 0.0),
                                         ("log1mexp(x)", -0.6931471805599453), ("log_rising_factorial(x, 3)", 64.0),
                                         ("f_cdf(x, 3, 3)", 1.0), ("student_t_cdf(1, x, 0, 1)", 3060.0)])
def test_no_jump_where_one_formula_of_a_function_takes_over_from_another(call: str, x: float) -> None:
    assert adcli.compile(f"v = {call}").grad(order=2).status(x=x) == "smooth"


SIGNED = [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (-7.5, -2.0), (-4.0 + np.pi, 2 * np.pi), (6.0, 3.0), (1e-300, -1e300)]


@pytest.mark.parametrize(("x", "y"), SIGNED)
def test_a_remainder_has_the_sign_of_the_divisor(x: float, y: float) -> None:
    [found] = values(parse("v = mod(x, y)"), [{"x": x, "y": y}], "native")
    assert found["v"] == np.mod(x, y)


def test_functions_of_the_prelude_call_those_of_other_files() -> None:
    assert {"square", "logit", "normal_lpdf", "silu"} <= set(prelude())
    assert all(template.library for template in prelude().values())
