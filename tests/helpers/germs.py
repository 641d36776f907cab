"""The numbers that expansions have far out, for tests: in mpmath, at a large value of x₀."""
from __future__ import annotations

import mpmath
from adcli.lang.evaluate import evaluate
from adcli.lang.evaluate.asymptotic import AsymptoticSeries, Expansion
from adcli.lang.evaluate.asymptotic_arithmetic import Expansions
from adcli.lang.evaluate.exact_reals import ONE, ExactReal
from adcli.lang.evaluate.growth import Monomial, variable
from adcli.lang.ir import Program


def at_infinity(program: Program, keep: int = 8, factor: ExactReal = ONE) -> Expansion:
    """The expansion of v for x → ∞, or for x → −∞ with the factor −1."""
    x = AsymptoticSeries(((variable(0), factor),))
    found: Expansion = evaluate(program, {"x": x}, Expansions(keep).arithmetic)["v"]
    return found


def size(m: Monomial, x: mpmath.mpf) -> mpmath.mpf:
    """The value of a monomial."""
    whole = mpmath.exp(sum((mpmath.mpf(float(c)) * size(n, x) for n, c in m.exponent), mpmath.mpf(0)))
    for a in m.powers:
        whole, x = whole * x ** (mpmath.mpf(a.numerator) / a.denominator) if a else whole, mpmath.log(x) if x > 0 else x
    return whole


def total(f: AsymptoticSeries, x: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
    """The sum of a series, and the size of what may be wrong with it but for a constant: the rest, and rounding."""
    terms = [mpmath.mpf(float(c)) * size(m, x) for m, c in f.terms]
    rest = mpmath.mpf(0) if f.error is None else size(f.error, x)
    return sum(terms, mpmath.mpf(0)), rest + 1e-15 * sum(map(abs, terms))
