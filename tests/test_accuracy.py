"""The law of accuracy: derivatives of every row to third order keep their digits over the whole domain, on every back end."""
from __future__ import annotations

import itertools
import math
import random

import mpmath
import pytest
from accuracy import EPSILON, beyond
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import Primitive, Program
from adcli.lang.ir.special_rows import DERIVATIVES
from adcli.lang.lower.frontend import parse
from back_ends import MODES, values
from multiple_precision import mpmath_arithmetic
from one_operation import BESSEL, REAL, few_costly, orders, program, samples
from row_tables import each_row
from session_seed import each_choice, half

MAGNITUDES = (1e-300, 1e-100, 1.1e-17, 1e-9, 1.3e-4, 0.013, 0.31, 0.71, 1 - 2 ** -10, 1 - 2 ** -40, 1 + 2 ** -40,
              1.4616321449683622, 1.61, 2.37, 5.3, 10.4, 19.5, 25.03, 80.1, 350.2, 701.3, 1.7e4, 1e9, 1e16, 1e100, 1e300)
"""From the smallest to the largest, with the tails of exponentials and both sides of 1: arguments of functions of one number."""
MODERATE = (1e-75, 1e-30, 1e-12, 1.3e-4, 0.31, 0.71, 1.0, 1 + 2 ** -40, 1.61, 7.3, 25.03, 350.2, 1.7e4, 1e12, 1e75)
"""The same for several arguments: no product of a few of them leaves the range of doubles."""
PAIRS = 12
STATIC = {"pown": (-3, 2, 5), "polygamma": (1, 20), "dpow": ((0, 0), (1, 1)), "dxlogy": (0, 2), "derfcx": (0, 3),
          **{name: orders(name, (0, 2)) for name in DERIVATIVES}, "dgamma_p": ((0,),),
          **dict.fromkeys({*BESSEL, "dbessel_k", "voigt", "owens_t"} - {"bessel_k"}, ())}


def grid(op: Primitive, names: list[str]) -> list[dict[str, float]]:
    if len(names) == 1:
        ordinary = [x for x in MAGNITUDES if "sinc" not in op.name or x < 1e15]   # beyond it all doubles are whole
        return [{names[0]: x if i % 2 or "x >" in op.defined else -x} for i, x in enumerate(ordinary)]
    r = random.Random(op.name)   # the same in every run: how far off each row is was measured here, not proven
    chosen = [r.sample(MODERATE, len(names)) for _ in range(PAIRS)]
    return [{n: x * r.choice((1, -1)) for n, x in zip(names, xs, strict=True)} for xs in chosen]


JUDGED = half([(op, static) for op in REAL if op.pieces != "step" and "inc_beta" not in op.name
               for static in STATIC.get(op.name, (0,))])
"""Rows with their constants that are judged in this run."""
OTHERS = [op for op in REAL if op.name != "stop" and op not in [row for row, _ in JUDGED]]
"""What the derivative of `stop` is, no difference can know."""


@pytest.mark.parametrize(("op", "static"), [pytest.param(op, static, id=op.name + (f" {static}" if op.static else ""))
                                            for op, static in JUDGED])
def test_derivatives_keep_their_digits(op: Primitive, static: int | tuple[int, ...]):
    p = program(op, static)
    names = [x.name for x in p.params]
    at = [x for x in grid(op, names) if math.isfinite(evaluate(p, x, FLOAT)["z"])]
    assert at
    assert list(beyond(op, p, at, [("forward", "reference"), ("reverse", "native")])) == []


def by_differences(p: Program, at: dict[str, float], wrt: tuple[str, ...]) -> mpmath.mpf:
    """A mixed partial derivative by mpmath's differences of the value alone; no rule takes part in it."""
    names, mp = [x.name for x in p.params], mpmath_arithmetic(250)   # far more digits than the differences take away
    with mpmath.workdps(40 if len(names) < 3 else 25):               # differences of differences take twice as many each
        def f(*xs):
            return mpmath.mpf(evaluate(p, dict(zip(names, map(mp.constant, xs), strict=True)), mp)["z"])
        return mpmath.diff(f, tuple(mpmath.mpf(at[n]) for n in names), tuple(map(wrt.count, names)))


def agrees_with_differences(p: Program, mode: str, order: int, at: dict[str, float]) -> None:
    derivative = gradient(p, mode=mode, order=order)
    got = evaluate(derivative, at, FLOAT)
    for r in derivative.results:
        if r.wrt:
            want = by_differences(p, at, r.wrt)
            assert abs(got[r.name] - want) <= 1e-11 * max(1, abs(want)), (r.name, at, got[r.name], float(want))


@each_row("op, mode", each_choice(OTHERS, MODES))
def test_the_other_rows_have_their_derivatives(op: Primitive, mode: str):
    """At a point inside of their domains: to third order, most costly rows to first."""
    for at in samples(op, 1):
        agrees_with_differences(program(op), mode, 3 if op in few_costly(OTHERS) else 1, at)


@each_row("name, count, mode", itertools.product(["max", "min", "hypot"], [3, 4], MODES))
def test_more_than_two_arguments(name: str, count: int, mode: str):
    op = next(op for op in REAL if op.name == name)
    at = {f"x{i}": x for i, x in enumerate([0.7, 1.9, -0.4, 1.1][:count])}
    agrees_with_differences(program(op, count=count), mode, 2, at)


TAILS = {"tanh": lambda x: mpmath.sech(x) ** 2, "sigmoid": lambda x: mpmath.sech(x / 2) ** 2 / 4,
         "erf": lambda x: 2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-x * x),
         "erfc": lambda x: -2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-x * x)}
"""The first derivatives of functions that level off like exponentials."""


@each_row("order", [1, 2, 3])
@each_row("name", TAILS)
def test_tails_keep_all_their_digits(name, order):
    """Far out a derivative is as badly conditioned as an exponential is, and computed as well as one."""
    at = [{"x": x} for x in ((5.3, 10.4, 25.03, 25.9) if "erf" in name else (5.3, 19.5, 77.7, 300.1, 350.3))]
    derivative = gradient(parse(f"v = {name}(x)"), order=order)
    result = derivative.results[-1].name
    for back_end in ("reference", "native"):
        for point, got in zip(at, values(derivative, at, back_end), strict=True):
            with mpmath.workdps(60):
                want = mpmath.diff(TAILS[name], mpmath.mpf(point["x"]), order - 1)
            assert abs(got[result] - want) <= 16 * EPSILON * abs(want), point


@each_row(("text", "at", "truth"), [
    ("digamma(x)", 1.4616321449683622, lambda x: mpmath.digamma(x)),
    ("digamma(x)", 1.4616321449683623 + 2 ** -51, lambda x: mpmath.digamma(x)),
    ("digamma(x)", 1.5, lambda x: mpmath.digamma(x)), ("digamma(x)", 1e-300, lambda x: mpmath.digamma(x)),
    ("digamma(x)", 1e300, lambda x: mpmath.digamma(x)),
    ("polygamma(100, x)", 2511.0, lambda x: mpmath.psi(100, x)), ("polygamma(60, x)", 6.8e5, lambda x: mpmath.psi(60, x)),
    ("polygamma(140, x)", 3e3, lambda x: mpmath.psi(140, x)), ("polygamma(60, x)", 0.01, lambda x: mpmath.psi(60, x)),
    ("dlog_bessel_k(x, 2, 2, 0)", 1e10, lambda x: mpmath.psi(1, x)),
    ("dlog_bessel_i(x, 2, 2, 0)", 1e13, lambda x: -mpmath.psi(1, x + 1)),
    ("gauss(x)", 25.03, lambda x: mpmath.exp(-x * x))])
@each_row("back_end", ["reference", "native"])
def test_values_of_special_functions(text, at, truth, back_end):
    [got] = values(parse(f"v = {text}"), [{"x": at}], back_end)
    with mpmath.workdps(60):
        want = truth(mpmath.mpf(at))
        assert abs(got["v"] - want) <= 50 * EPSILON * abs(want)
