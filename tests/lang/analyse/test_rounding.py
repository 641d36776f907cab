"""The bound on what rounding did to a result: it holds and says something."""
from __future__ import annotations

import mpmath
import pytest
from adcli.codegen.rows.expand import expand
from adcli.lang.analyse.rounding import Rounding
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate, rounded_arithmetic
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.precision import SINGLE
from multiple_precision import mpmath_arithmetic
from session_seed import fixed

TEXTS = ["v = (x - y)*(x + y)/(x*x - y*y + 1e-9)", "v = exp(x)*sin(y) - x/y", "v = log1p(x) - atan2(y, x)**3",
         "v = tanh(x*y)*erf(x) + lgamma(y)", "v = 1/3*x - sqrt(x*x + y) + (x > y ? x : y*y)"]


@pytest.mark.parametrize("text", TEXTS)
def test_the_rounding_bound_holds_and_is_not_vacuous(text):
    program = gradient(parse(text), order=2)
    exact, r = mpmath_arithmetic(60), fixed("test_the_rounding_bound_holds_and_is_not_vacuous", text)
    for _ in range(20):
        at = {"x": r.uniform(0.1, 3), "y": r.uniform(0.1, 3)}
        rounding, true = Rounding(expand(program), at), evaluate(program, {n: mpmath.mpf(x) for n, x in at.items()}, exact)
        for result in expand(program).results:
            value, bound = rounding.of(result.atom)
            assert abs(value - true[result.name]) <= bound <= 1e-7 * (1 + abs(value)), (result.name, at)


@pytest.mark.parametrize("text", ["v = gamma_p(x, 1.7)", "v = inc_beta(x, 1.7, 0.3)", "v = inc_beta_logit(x, 1.7, 0.3)"])
def test_sums_over_tables_have_a_bound(text):
    program = expand(parse(text))
    assert Rounding(program, {"x": 2.5}).of(program.results[0].atom)[1] < 1e-13


@pytest.mark.parametrize("text", TEXTS)
def test_the_bound_of_single_precision_holds_and_is_not_vacuous(text):
    """Against the program carried out with every result rounded to single precision."""
    program = expand(gradient(parse(text), order=2))
    single, r, near = rounded_arithmetic(SINGLE), fixed("test_the_bound_of_single_precision", text), 0
    for _ in range(20):
        at = {name: SINGLE.rounded(r.uniform(0.1, 3)) for name in "xy"}
        rounding, found = Rounding(program, at, precision=SINGLE), evaluate(program, at, single)
        for result in program.results:
            value, bound = rounding.of(result.atom)
            assert abs(value - found[result.name]) <= bound, (result.name, at)
            near += bound <= 1e-3 * (1 + abs(value))
    assert near > 60


def test_what_single_precision_does_not_hold_has_no_bound():
    program = expand(parse("v = x*x - 1"))
    rounding = Rounding(program, {"x": 1e25}, precision=SINGLE)
    assert rounding.of(program.results[0].atom)[1] == float("inf")
