"""Expansions about a point, from one side: sums of coefficients times monomials of s → 0 from above, the fastest growing first.

The monomials are those of `lang/evaluate/growth.py`, the coefficients exact (`lang/evaluate/exact_reals.py`), so roots,
logarithms and exponentials at a singularity expand like everything else; a series knows the order O(m) of what it leaves out.
The first term is the limit (G. H. Hardy, Orders of Infinity, 1910; B. Salvy and J. Shackell, Symbolic asymptotics, 1999). What
has no such expansion is `Between` two that have, or a `Beyond`: an infinite constant, nan, or something of which no more is
known than why.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from adcli.lang.evaluate.exact_reals import ONE, ExactReal, Undecided, constant, exponential, logarithm, number, special
from adcli.lang.evaluate.growth import CONSTANT, SMALL, Monomial, compare, descending, exponential_of

MOST_PRODUCTS = 15_000
"""Products of coefficients that an expansion may take."""
TOO_LONG = "the expansion grows too long"


class Lost(Exception):
    """More terms are needed than were kept."""


class Stop(Exception):
    """An operation has no expansion of this kind; `beyond` is what stands for its result."""

    def __init__(self, beyond: Beyond) -> None:
        super().__init__(beyond.reason)
        self.beyond = beyond


@dataclass(frozen=True)
class Beyond:
    """A value without an expansion: `constant`, where it is inf, -inf or nan for every s."""

    reason: str
    constant: float | None = None


def nan(reason: str) -> Stop:
    return Stop(Beyond(reason, math.nan))


@dataclass(frozen=True, eq=False)
class AsymptoticSeries:
    """Terms with their monomials, fastest growing first, and the order of what is left out (None: nothing is)."""

    terms: tuple[tuple[Monomial, ExactReal], ...]
    error: Monomial | None = None

    @property
    def lead(self) -> tuple[Monomial, ExactReal]:
        if not self.terms:
            raise Lost
        m, c = self.terms[0]
        _ = c.sign   # Undecided where it may be zero after all
        return m, c

    @property
    def zero(self) -> bool:
        """Whether it vanishes identically."""
        return not self.terms and self.error is None

    @property
    def sign(self) -> int:
        """Its sign for small s."""
        return 0 if self.zero else self.lead[1].sign

    @property
    def size(self) -> Monomial:
        """A bound of its growth; it must not vanish identically."""
        if self.terms:
            return self.terms[0][0]
        assert self.error is not None
        return self.error

    @property
    def constant(self) -> ExactReal | None:
        """The number that it is for every s, where it is one."""
        if self.error is None and all(m is CONSTANT for m, _ in self.terms):
            return self.terms[0][1] if self.terms else ExactReal({})
        return None

    @property
    def settled(self) -> bool:
        """Whether what is left out goes to 0."""
        return self.error is None or self.error.growth < 0


@dataclass(frozen=True, eq=False)
class Between:
    """A value with no expansion that lies between two that have one, for every small s.

    Where they are known, it falls to `low` or below and rises to `high` or above again and again as s → 0, however small s is:
    if these two have different limits, it has none. Where it is continuous, it takes all values between these two as well.
    """

    lower: AsymptoticSeries
    upper: AsymptoticSeries
    low: AsymptoticSeries | None = None
    high: AsymptoticSeries | None = None
    continuous: bool = False


Expansion = AsymptoticSeries | Between | Beyond


def made(terms: Iterable[tuple[Monomial, ExactReal]], error: Monomial | None, keep: int) -> AsymptoticSeries:
    """The series of these terms: like monomials joined, sorted, and cut to `keep` terms."""
    joined: dict[Monomial, ExactReal] = {}
    for m, c in terms:
        joined[m] = joined[m] + c if m in joined else c
    ordered = descending((m, c) for m, c in joined.items() if c.terms and (error is None or compare(m, error) > 0))
    if len(ordered) > keep:
        error = ordered[keep][0]
        ordered = ordered[:keep]
    return AsymptoticSeries(ordered, error)


def larger(*errors: Monomial | None) -> Monomial | None:
    """The fastest growing of some orders, those that are None left out."""
    found: Monomial | None = None
    for e in errors:
        if e is not None and (found is None or compare(e, found) > 0):
            found = e
    return found


class Calculus:
    """Arithmetic on series with a number of terms."""

    def __init__(self, keep: int) -> None:
        self.keep, self.work = keep, 0
        self.taylor: dict[tuple[str, object], list[ExactReal]] = {}

    def constant(self, x: ExactReal) -> AsymptoticSeries:
        return AsymptoticSeries(((CONSTANT, x),) if x.terms else ())

    def add(self, f: AsymptoticSeries, g: AsymptoticSeries) -> AsymptoticSeries:
        return made((*f.terms, *g.terms), larger(f.error, g.error), self.keep)

    def neg(self, f: AsymptoticSeries) -> AsymptoticSeries:
        return AsymptoticSeries(tuple((m, -c) for m, c in f.terms), f.error)

    def sub(self, f: AsymptoticSeries, g: AsymptoticSeries) -> AsymptoticSeries:
        """The difference; that of a value and itself is known without its terms."""
        return AsymptoticSeries(()) if f is g else self.add(f, self.neg(g))

    def scale(self, f: AsymptoticSeries, c: ExactReal) -> AsymptoticSeries:
        return made(((m, d * c) for m, d in f.terms), f.error, self.keep) if c.terms else AsymptoticSeries(())

    def mul(self, f: AsymptoticSeries, g: AsymptoticSeries) -> AsymptoticSeries:
        if f.zero or g.zero:
            return AsymptoticSeries(())
        error = larger(f.error * g.size if f.error is not None else None, g.error * f.size if g.error is not None else None)
        terms = []
        for m, c in f.terms:
            for n, d in g.terms:
                product = m * n
                if error is None or compare(product, error) > 0:
                    self.work += c.length * d.length
                    if self.work > MOST_PRODUCTS:
                        raise Undecided(TOO_LONG)
                    terms.append((product, c * d))
        return made(terms, error, self.keep)

    def extreme(self, f: AsymptoticSeries, g: AsymptoticSeries, want: int) -> AsymptoticSeries:
        """The larger (want = 1) or smaller of two; where they are the same as far as they are known, so is it."""
        gap = self.sub(g, f)
        if not gap.terms:
            return self.add(f, gap)
        return g if gap.sign == want else f

    def split(self, f: AsymptoticSeries) -> tuple[ExactReal, AsymptoticSeries]:
        """The limit of a series that has one, and the rest, which goes to 0."""
        if not f.settled:
            raise Lost
        if f.terms and f.lead[0].growth > 0:
            raise Stop(Beyond("an infinite operand"))
        limit = next((c for m, c in f.terms if m is CONSTANT), ExactReal({}))
        return limit, AsymptoticSeries(tuple(t for t in f.terms if t[0] is not CONSTANT), f.error)

    def compose(self, coefficients: list[ExactReal], d: AsymptoticSeries) -> AsymptoticSeries:
        """The power series with these coefficients at d, which goes to 0; the coefficients after these are bounded."""
        whole = AsymptoticSeries((), CONSTANT)
        for c in reversed(coefficients):
            whole = self.add(self.mul(whole, d), self.constant(c))
        return whole

    def around(self, f: AsymptoticSeries) -> tuple[Monomial, ExactReal, AsymptoticSeries]:
        """f as c · m · (1 + d)."""
        m, c = f.lead
        turned = c.inverse()
        rest = AsymptoticSeries(tuple((n / m, x * turned) for n, x in f.terms[1:]), None if f.error is None else f.error / m)
        return m, c, rest

    def power(self, f: AsymptoticSeries, a: Fraction) -> AsymptoticSeries:
        """f to a rational power."""
        if a.denominator == 1 and 0 <= a <= 64:
            whole = self.constant(ONE)
            for _ in range(int(a)):
                whole = self.mul(whole, f)
            return whole
        if f.zero:
            if a > 0:
                return f
            raise Stop(Beyond("a pole along the whole line", math.inf))
        m, c, d = self.around(f)
        if c.sign < 0 and a.denominator != 1:
            raise nan("a root of a negative number")
        binomial, term = [ONE], Fraction(1)
        for k in range(1, self.keep + 1):
            term = term * (a - k + 1) / k
            binomial.append(number(term))
        return self.mul(AsymptoticSeries(((m ** a, c.power(a)),)), self.compose(binomial, d))

    def div(self, f: AsymptoticSeries, g: AsymptoticSeries) -> AsymptoticSeries:
        if g.zero:
            side = f.sign
            raise Stop(Beyond("division by zero along the whole line", side * math.inf if side else math.nan))
        if f is g:
            return self.constant(ONE)
        return self.mul(f, self.power(g, Fraction(-1))) if not f.zero else f

    def log(self, f: AsymptoticSeries) -> AsymptoticSeries:
        if f.zero:
            raise Stop(Beyond("the logarithm of zero along the whole line", -math.inf))
        m, c, d = self.around(f)
        if c.sign < 0:
            raise nan("a logarithm of a negative number")
        head = made([(CONSTANT, logarithm(c)), *m.logarithm], None, self.keep)
        tail = [ExactReal({}), *[number(Fraction((-1) ** (k + 1), k)) for k in range(1, self.keep + 1)]]
        return self.add(head, self.compose(tail, d))

    def exp(self, f: AsymptoticSeries) -> AsymptoticSeries:
        """exp(φ + c + d) = exp(φ)·exp(c)·exp(d), φ the terms that grow, d those that go to 0."""
        if not f.settled:
            if f.terms and f.lead[0].growth > 0 and f.lead[1].sign < 0:   # half of its first term is above it
                m, c = f.lead
                return AsymptoticSeries((), exponential_of([(m, c * number(Fraction(1, 2)))]))
            raise Lost
        growing = exponential_of((m, c) for m, c in f.terms if m.growth > 0)
        limit, d = self.split(AsymptoticSeries(tuple(t for t in f.terms if t[0].growth <= 0), f.error))
        factorials = [number(Fraction(1, math.factorial(k))) for k in range(self.keep + 1)]
        return self.mul(AsymptoticSeries(((growing, exponential(limit)),)), self.compose(factorials, d))

    def integrated(self, name: str, at: ExactReal, function: Callable[[float], float],
                   slope: Callable[[AsymptoticSeries], AsymptoticSeries]) -> list[ExactReal]:
        """The Taylor coefficients at a number of a function whose derivative is `slope`."""
        key = (name, at.key)
        if key not in self.taylor:
            powers = dict(slope(nearby(at)).terms)
            self.taylor[key] = [special(name, at) or constant(name, at, function)]
            self.taylor[key] += [powers.get(SMALL ** Fraction(k), ExactReal({})) * number(Fraction(1, k + 1))
                                 for k in range(self.keep)]
        return self.taylor[key]


def infinite(f: AsymptoticSeries) -> int:
    """The sign of the infinity that a series goes to, 0 where it stays bounded."""
    if f.terms and f.terms[0][0].growth > 0:
        return f.lead[1].sign
    if not f.terms and f.error is not None and f.error.growth > 0:
        raise Lost
    return 0


def nearby(x: ExactReal, distance: ExactReal = ONE) -> AsymptoticSeries:
    """x + s, or with another factor of s."""
    return made([(CONSTANT, x), (SMALL, distance)], None, 2)
