"""Expansions about a point, from one side: sums of c · s^p · ℓ^q for s → 0 from above, where ℓ = −log s grows without end.

The exponents are rational and the coefficients exact (`lang/evaluate/exact_reals.py`), so roots and logarithms at 0 expand like
everything else; a series knows the order O(s^p ℓ^q) of what it leaves out. Such sums are ordered by growth, and the first term
is the limit (G. H. Hardy, Orders of Infinity, 1910; B. Salvy and J. Shackell, Symbolic asymptotics, 1999). What lies beyond
(a growth faster than any power, an infinite constant) is a `Beyond`; it says why, and goes on as far as that is certain.
"""
from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from adcli.lang.evaluate.exact_reals import ONE, ExactReal, Undecided, exponential, logarithm, number

Order = tuple[Fraction, Fraction]
"""(p, −q) of s^p ℓ^q: smaller is faster growing."""
CONSTANT_ORDER: Order = (Fraction(0), Fraction(0))
FLAT: Order = (Fraction(10 ** 6), Fraction(0))
"""Stands for smaller than any power."""


MOST_PRODUCTS = 60_000
"""Products of coefficients that one expansion of a program may take."""


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
    """A value without an expansion: `constant`, where it is inf, -inf or nan for every s; `steep` = ±1, where it grows faster
    than any power of 1/s."""

    reason: str
    constant: float | None = None
    steep: int = 0


def nan(reason: str) -> Stop:
    return Stop(Beyond(reason, math.nan))


@dataclass(frozen=True)
class AsymptoticSeries:
    """Terms with their orders, fastest growing first, and the order of what is left out (None: nothing is)."""

    terms: tuple[tuple[Order, ExactReal], ...]
    error: Order | None = None

    @property
    def lead(self) -> tuple[Order, ExactReal]:
        if not self.terms:
            raise Lost
        order, c = self.terms[0]
        _ = c.sign   # Undecided where it may be zero after all
        return order, c

    @property
    def zero(self) -> bool:
        """Whether it vanishes identically."""
        return not self.terms and self.error is None

    @property
    def sign(self) -> int:
        """Its sign for small s."""
        return 0 if self.zero else self.lead[1].sign

    @property
    def size(self) -> Order:
        """A bound of its growth."""
        if self.terms:
            return self.terms[0][0]
        return FLAT if self.error is None else self.error


SeriesOrBeyond = AsymptoticSeries | Beyond


def made(terms: Iterable[tuple[Order, ExactReal]], error: Order | None, keep: int) -> AsymptoticSeries:
    """The series of these terms: like orders joined, sorted, and cut to `keep` terms."""
    joined: dict[Order, ExactReal] = {}
    for order, c in terms:
        if error is None or order < error:
            joined[order] = joined[order] + c if order in joined else c
    ordered = sorted(((order, c) for order, c in joined.items() if c.terms), key=lambda term: term[0])
    if len(ordered) > keep:
        error = ordered[keep][0]
        ordered = ordered[:keep]
    return AsymptoticSeries(tuple(ordered), error)


def shifted(a: Order, b: Order) -> Order:
    return a[0] + b[0], a[1] + b[1]


class Calculus:
    """Arithmetic on series with a number of terms."""

    def __init__(self, keep: int) -> None:
        self.keep, self.work = keep, 0

    def constant(self, x: ExactReal) -> AsymptoticSeries:
        return AsymptoticSeries(((CONSTANT_ORDER, x),) if x.terms else ())

    def add(self, f: AsymptoticSeries, g: AsymptoticSeries) -> AsymptoticSeries:
        errors = [e for e in (f.error, g.error) if e is not None]
        return made((*f.terms, *g.terms), min(errors) if errors else None, self.keep)

    def neg(self, f: AsymptoticSeries) -> AsymptoticSeries:
        return AsymptoticSeries(tuple((o, -c) for o, c in f.terms), f.error)

    def sub(self, f: AsymptoticSeries, g: AsymptoticSeries) -> AsymptoticSeries:
        return self.add(f, self.neg(g))

    def scale(self, f: AsymptoticSeries, c: ExactReal) -> AsymptoticSeries:
        return made(((o, d * c) for o, d in f.terms), f.error, self.keep) if c.terms else AsymptoticSeries(())

    def mul(self, f: AsymptoticSeries, g: AsymptoticSeries) -> AsymptoticSeries:
        if f.zero or g.zero:
            return AsymptoticSeries(())
        errors = []
        if f.error is not None:
            errors.append(shifted(f.error, g.size))
        if g.error is not None:
            errors.append(shifted(g.error, f.size))
        self.work += sum(len(c.terms) for _, c in f.terms) * sum(len(c.terms) for _, c in g.terms)
        if self.work > MOST_PRODUCTS:
            raise Undecided(TOO_LONG)
        terms = ((shifted(o, p), c * d) for o, c in f.terms for p, d in g.terms)
        return made(terms, min(errors) if errors else None, self.keep)

    def split(self, f: AsymptoticSeries) -> tuple[ExactReal, AsymptoticSeries]:
        """The limit of a series that has one, and the rest, which goes to 0."""
        if f.error is not None and f.error <= CONSTANT_ORDER:
            raise Lost
        if f.terms and f.lead[0] < CONSTANT_ORDER:
            raise Stop(Beyond("an infinite operand"))
        limit = next((c for o, c in f.terms if o == CONSTANT_ORDER), ExactReal({}))
        return limit, AsymptoticSeries(tuple(t for t in f.terms if t[0] != CONSTANT_ORDER), f.error)

    def compose(self, coefficients: list[ExactReal], d: AsymptoticSeries) -> AsymptoticSeries:
        """The power series with these coefficients at d, which goes to 0."""
        whole = AsymptoticSeries(())
        for c in reversed(coefficients):
            whole = self.add(self.mul(whole, d), self.constant(c))
        if d.zero:
            return whole
        n = len(coefficients)
        return self.add(whole, AsymptoticSeries((), (d.size[0] * n, d.size[1] * n)))

    def around(self, f: AsymptoticSeries) -> tuple[Order, ExactReal, AsymptoticSeries]:
        """f as c · s^p ℓ^q · (1 + d)."""
        order, c = f.lead
        back = (-order[0], -order[1])
        turned = c.inverse()
        rest = AsymptoticSeries(tuple((shifted(o, back), x * turned) for o, x in f.terms[1:]),
                      None if f.error is None else shifted(f.error, back))
        return order, c, rest

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
        order, c, d = self.around(f)
        if c.sign < 0 and a.denominator != 1:
            raise nan("a root of a negative number")
        binomial, term = [ONE], Fraction(1)
        for k in range(1, self.keep + 1):
            term = term * (a - k + 1) / k
            binomial.append(number(term))
        head = AsymptoticSeries((((order[0] * a, order[1] * a), c.power(a)),))
        return self.mul(head, self.compose(binomial, d))

    def div(self, f: AsymptoticSeries, g: AsymptoticSeries) -> AsymptoticSeries:
        if g.zero:
            side = f.sign
            raise Stop(Beyond("division by zero along the whole line", side * math.inf if side else math.nan))
        return self.mul(f, self.power(g, Fraction(-1))) if not f.zero else f

    def log(self, f: AsymptoticSeries) -> AsymptoticSeries:
        if f.zero:
            raise Stop(Beyond("the logarithm of zero along the whole line", -math.inf))
        order, c, d = self.around(f)
        if c.sign < 0:
            raise nan("a logarithm of a negative number")
        if order[1]:
            raise Stop(Beyond("a logarithm of a logarithm"))
        head = made([(CONSTANT_ORDER, logarithm(c)), ((Fraction(0), Fraction(-1)), number(-order[0]))], None, self.keep)
        tail = [ExactReal({}), *[number(Fraction((-1) ** (k + 1), k)) for k in range(1, self.keep + 1)]]
        return self.add(head, self.compose(tail, d))

    def exp(self, f: AsymptoticSeries) -> AsymptoticSeries:
        if f.error is not None and f.error <= CONSTANT_ORDER:
            raise Lost
        growing = [(o, c) for o, c in f.terms if o < CONSTANT_ORDER]
        factor = self.constant(ONE)
        if growing:
            (power, logs), c = growing[0]
            if power < 0 or logs < -1:
                if c.sign < 0:
                    return AsymptoticSeries((), FLAT)
                raise Stop(Beyond("growth faster than any power", steep=1))
            if logs != -1 or len(growing) > 1 or c.rational is None:
                raise Stop(Beyond("an exponential of logarithms that is no power"))
            factor = AsymptoticSeries((((-c.rational, Fraction(0)), ONE),))
        limit, d = self.split(AsymptoticSeries(tuple(t for t in f.terms if t[0] >= CONSTANT_ORDER), f.error))
        factorials = [number(Fraction(1, math.factorial(k))) for k in range(self.keep + 1)]
        return self.mul(self.scale(factor, exponential(limit)), self.compose(factorials, d))
