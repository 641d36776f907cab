"""Expansions of the error function and of the gamma function and its relatives: at numbers, at poles, and at infinity.

At infinity they are the asymptotic series of the NIST Digital Library of Mathematical Functions: 7.12.1 (erfc), 5.11.1 (log
gamma), 5.11.2 (digamma) and 5.15.8 (polygamma). These diverge, but each sum is right up to the order of the first term left out.
"""
from __future__ import annotations

import math
from fractions import Fraction

from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.evaluate.asymptotic import AsymptoticSeries, Beyond, Calculus, Stop, infinite
from adcli.lang.evaluate.exact_reals import ONE, PI, ExactReal, constant, logarithm, number, special
from adcli.lang.ir import Lit
from adcli.lang.ir.build import composed
from adcli.lang.ir.polygamma import bernoulli
from adcli.lang.ir.primitives import TABLE

HALF = Fraction(1, 2)
MOST_GAMMA_STEPS = 50
"""Steps by which the recurrence of the gamma function may lift its argument."""
ERF_SLOPE = (PI * number(Fraction(1, 4))).power(HALF).inverse()


class SpecialExpansions:
    """The special functions on series of `keep` terms."""

    def __init__(self, c: Calculus) -> None:
        self.c, self.keep = c, c.keep

    # -- the error function

    def erf(self, f: AsymptoticSeries) -> AsymptoticSeries:
        side = infinite(f)
        if side:
            tail = self.tail(f if side > 0 else self.c.neg(f))
            return self.c.add(self.c.constant(number(side)), self.c.neg(tail) if side > 0 else tail)
        limit, d = self.c.split(f)

        def slope(t: AsymptoticSeries) -> AsymptoticSeries:
            return self.c.scale(self.c.exp(self.c.neg(self.c.mul(t, t))), ERF_SLOPE)
        return self.c.compose(self.c.integrated("erf", limit, math.erf, slope), d)

    def erfc(self, f: AsymptoticSeries) -> AsymptoticSeries:
        if infinite(f) > 0:
            return self.tail(f)
        return self.c.sub(self.c.constant(ONE), self.erf(f))

    def tail(self, f: AsymptoticSeries) -> AsymptoticSeries:
        """erfc(f) for f → ∞: exp(−f²)/(f √π) · Σ (−1)^k (2k − 1)!!/(2f²)^k."""
        square = self.c.mul(f, f)
        terms, c = [ONE], Fraction(1)
        for k in range(1, self.keep + 1):
            c *= Fraction(-(2 * k - 1), 2)
            terms.append(number(c))
        head = self.c.div(self.c.exp(self.c.neg(square)), self.c.scale(f, PI.power(HALF)))
        return self.c.mul(head, self.c.compose(terms, self.c.power(square, Fraction(-1))))

    # -- the gamma function

    def gamma(self, f: AsymptoticSeries) -> AsymptoticSeries:
        if infinite(f):
            return self.c.exp(self.lgamma(f))
        *below, top = self.lifts(f)
        whole = self.c.exp(self.lgamma(top))
        for g in below:
            whole = self.c.div(whole, g)
        return whole

    def lgamma(self, f: AsymptoticSeries) -> AsymptoticSeries:
        c = self.c
        if self.far(f):   # (f − 1/2) log f − f + log(2π)/2 + Σ B₂ₖ/(2k (2k − 1) f^(2k−1))
            head = c.mul(c.sub(f, c.constant(number(HALF))), c.sub(c.log(f), c.constant(ONE)))
            half = logarithm(PI * number(2)) * number(HALF) - number(HALF)
            return c.add(c.add(head, c.constant(half)), self.inverse_powers(
                f, {2 * k - 1: bernoulli(2 * k) / (2 * k * (2 * k - 1)) for k in range(1, self.keep)}))
        *below, top = self.lifts(f)
        limit, _ = c.split(top)
        whole = self.regular([special("lgamma", limit) or constant("lgamma", limit, math.lgamma)], 0, top)
        for g in below:
            whole = c.sub(whole, c.log(c.neg(g) if g.sign < 0 else g))
        return whole

    def polygamma(self, n: int, f: AsymptoticSeries) -> AsymptoticSeries:
        """ψ⁽ⁿ⁾; digamma is that of order 0."""
        sign = (-1) ** (n + 1)
        if self.far(f):
            powers = {n + 2 * k: sign * bernoulli(2 * k) * Fraction(math.factorial(2 * k + n - 1), math.factorial(2 * k))
                      for k in range(1, self.keep)}
            powers[n + 1] = Fraction(sign * math.factorial(n), 2)
            if n:
                powers[n] = Fraction(sign * math.factorial(n - 1))
            tail = self.inverse_powers(f, powers)
            return tail if n else self.c.add(self.c.log(f), tail)
        *below, top = self.lifts(f)
        whole = self.regular([], n, top)
        for g in below:
            whole = self.c.add(whole, self.c.scale(self.c.power(g, Fraction(-n - 1)), number(sign * math.factorial(n))))
        return whole

    def far(self, f: AsymptoticSeries) -> bool:
        """Whether f tends to infinity, on the right: on the left there are poles without end."""
        side = infinite(f)
        if side < 0:
            raise Stop(Beyond("poles without end"))
        return side > 0

    def inverse_powers(self, f: AsymptoticSeries, powers: dict[int, Fraction]) -> AsymptoticSeries:
        """A sum of powers of 1/f, right up to the order after the last."""
        coefficients = [number(powers.get(k, Fraction(0))) for k in range(max(powers) + 1)]
        return self.c.compose(coefficients, self.c.power(f, Fraction(-1)))

    def lifts(self, f: AsymptoticSeries) -> list[AsymptoticSeries]:
        """f, f + 1, … as long as the limit is not positive: the recurrence of the gamma function goes through them."""
        limit, _ = self.c.split(f)
        steps = 0 if limit.sign > 0 else 1 - math.floor(float(limit))
        if steps > MOST_GAMMA_STEPS:
            raise Stop(Beyond("a gamma function far on the left"))
        return [self.c.add(f, self.c.constant(number(k))) for k in range(steps + 1)]

    def regular(self, first: list[ExactReal], order: int, f: AsymptoticSeries) -> AsymptoticSeries:
        """The Taylor series at a positive limit of f, whose coefficients after `first` are those of polygamma from `order` on,
        divided by factorials: `first` is as long as the integrations that lead there."""
        limit, d = self.c.split(f)
        n = len(first)
        later = [psi(order + k, limit) * number(Fraction(1, math.factorial(k + n))) for k in range(self.keep)]
        return self.c.compose(first + later, d)


def psi(n: int, x: ExactReal) -> ExactReal:
    """polygamma(n, x) as a constant."""
    program = composed(TABLE["polygamma"], {0: Lit(float(n))})
    return constant(f"polygamma {n}", x, lambda y: float(evaluate(program, {"x1": y}, FLOAT)["z"]))
