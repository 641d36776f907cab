"""The bound on what rounding did to a result: it holds and says something."""
from __future__ import annotations

import mpmath
import pytest
from adcli.codegen.rows.expand import expand
from adcli.lang.analyse.rounding import Rounding
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate, mpmath_arithmetic
from adcli.lang.lower.frontend import parse
from session_seed import fixed


@pytest.mark.parametrize("text", ["v = (x - y)*(x + y)/(x*x - y*y + 1e-9)", "v = exp(x)*sin(y) - x/y",
                                  "v = log1p(x) - atan2(y, x)**3",
                                  "v = tanh(x*y)*erf(x) + lgamma(y)", "v = 1/3*x - sqrt(x*x + y) + (x > y ? x : y*y)"])
def test_the_rounding_bound_holds_and_is_not_vacuous(text):
    program = gradient(parse(text), order=2)
    exact, r = mpmath_arithmetic(60), fixed("test_the_rounding_bound_holds_and_is_not_vacuous", text)
    for _ in range(20):
        at = {"x": r.uniform(0.1, 3), "y": r.uniform(0.1, 3)}
        rounding, true = Rounding(expand(program), at), evaluate(program, {n: mpmath.mpf(x) for n, x in at.items()}, exact)
        for result in expand(program).results:
            value, bound = rounding.of(result.atom)
            assert abs(value - true[result.name]) <= bound <= 1e-7 * (1 + abs(value)), (result.name, at)
