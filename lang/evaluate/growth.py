"""How fast functions grow: the monomials x₀^a₀ · x₁^a₁ · … · exp(φ) of x₀ → ∞, with x₁ = log x₀, x₂ = log x₁ and so on.

φ is a sum of coefficients times monomials larger than 1, so an exponential stands above all powers, and may stand in an exponent
again. One monomial grows faster than another if the logarithm of their quotient tends to infinity; this is a sum of monomials
that grow more slowly, and its largest term decides. These are the comparability classes of D. Gruntz (On Computing Limits in a
Symbolic Manipulation System, 1996), and the monomials the transmonomials of J. van der Hoeven (Transseries and Real
Differential Algebra, 2006, chapter 4).
"""
from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cmp_to_key, lru_cache

from adcli.lang.evaluate.exact_reals import ExactReal, Undecided, number

LEVELS = 8
"""Logarithms of logarithms that are told apart."""
DEEPEST = 20
"""Exponentials of exponentials."""
NONE = (Fraction(0),) * LEVELS

Powers = tuple[Fraction, ...]
Exponent = tuple[tuple["Monomial", ExactReal], ...]


class Monomial:
    """A product of `powers` of x₀, x₁, … and of exp(φ), φ = `exponent`, its largest term first. Equal ones are one object."""

    __slots__ = ("depth", "exponent", "key", "powers", "serial", "signed")

    def __init__(self, powers: Powers, exponent: Exponent, key: object, serial: int) -> None:
        self.powers, self.exponent, self.key, self.serial = powers, exponent, key, serial
        self.signed: int | None = None
        self.depth: int = 1 + max((m.depth for m, _ in exponent), default=-1)
        if self.depth > DEEPEST:
            raise Undecided(f"exponentials more than {DEEPEST} deep")

    @property
    def growth(self) -> int:
        """1 where it tends to infinity, -1 where it tends to 0, 0 where it is 1. Undecided where its exponents cannot tell."""
        if self.signed is None:
            self.signed = self.leading()
        return self.signed

    def leading(self) -> int:
        """The sign of the largest term of the logarithm."""
        level = next((k for k, a in enumerate(self.powers) if a), None)
        if not self.exponent:
            return 0 if level is None else 1 if self.powers[level] > 0 else -1
        (largest, c), *_ = self.exponent
        if level is None:
            return c.sign
        below = variable(level + 1)
        if below is largest:
            return (c + number(self.powers[level])).sign
        return c.sign if compare(largest, below) > 0 else 1 if self.powers[level] > 0 else -1

    @property
    def logarithm(self) -> Exponent:
        """The terms of its logarithm, each larger than 1."""
        return (*self.exponent, *((variable(k + 1), number(a)) for k, a in enumerate(self.powers) if a))

    def __mul__(self, other: Monomial) -> Monomial:
        return product(self, other)

    def __truediv__(self, other: Monomial) -> Monomial:
        return product(self, other ** Fraction(-1))

    def __pow__(self, a: Fraction) -> Monomial:
        """To a rational power."""
        exact = number(a)
        return monomial(tuple(p * a for p in self.powers), ((m, c * exact) for m, c in self.exponent))


_monomials: dict[object, Monomial] = {}


def monomial(powers: Powers, exponent: Iterable[tuple[Monomial, ExactReal]]) -> Monomial:
    """The one object for a product of powers and an exponential. What the exponent has of logarithms becomes powers, as far as
    their coefficients are rational."""
    joined: dict[Monomial, ExactReal] = {}
    for m, c in exponent:
        joined[m] = joined[m] + c if m in joined else c
    whole = list(powers)
    for m, c in list(joined.items()):
        if m in _levels and (q := c.terms.get(())):
            whole[_levels[m] - 1] += q
            joined[m] = c - number(q)
    ordered = descending((m, c) for m, c in joined.items() if c.terms)
    key = (tuple(whole), tuple((m.serial, c.key) for m, c in ordered))
    if key not in _monomials:
        _monomials[key] = Monomial(key[0], ordered, key[1], len(_monomials))
    return _monomials[key]


@lru_cache(maxsize=1 << 16)
def product(m: Monomial, n: Monomial) -> Monomial:
    powers = tuple(a + b if a and b else a or b for a, b in zip(m.powers, n.powers, strict=True))
    return monomial(powers, (*m.exponent, *n.exponent))


def compare(m: Monomial, n: Monomial) -> int:
    """1 where m grows faster than n, -1 where it grows more slowly, 0 where they are one."""
    if m is n:
        return 0
    if m.key == n.key:
        return 1 if m.powers > n.powers else -1
    return (m / n).growth


def descending(terms: Iterable[tuple[Monomial, ExactReal]]) -> Exponent:
    """Terms in the order of growth, the fastest first."""
    return tuple(sorted(terms, key=lambda term: BY_GROWTH(term[0]), reverse=True))


BY_GROWTH = cmp_to_key(compare)
_levels: dict[Monomial, int] = {}
CONSTANT = monomial(NONE, ())


def variable(level: int) -> Monomial:
    """x₀, or a logarithm of it."""
    if level >= LEVELS:
        raise Undecided(f"a logarithm taken more than {LEVELS - 1} times")
    return VARIABLES[level]


VARIABLES = [monomial(tuple(Fraction(int(k == level)) for k in range(LEVELS)), ()) for level in range(LEVELS)]
_levels.update({m: k for k, m in enumerate(VARIABLES) if k})
SMALL = VARIABLES[0] ** Fraction(-1)
"""The distance from the point."""


def exponential_of(terms: Iterable[tuple[Monomial, ExactReal]]) -> Monomial:
    """exp of a sum of terms larger than 1."""
    return monomial(NONE, terms)
