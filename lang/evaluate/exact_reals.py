"""Exact real numbers for limits: polynomials with rational coefficients in constants such as exp(3), log(2), sqrt(2), pi.

Whether a limit exists hangs on whether a leading coefficient is zero, and no rounded number can tell. So a coefficient that
vanishes here does so identically; one that does not must differ from zero by more than its rounding error, in doubles or else in
the guaranteed bounds of more and more bits (python-flint, an extra). Where it does neither, `Undecided` is raised instead of a
guess. A constant is known by the function and argument that made it, so exp(1) − exp(1) is zero.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any

from adcli.lang.ir.records import record

MOST_BITS = 1000
"""Bits of a rational coefficient beyond which it is rounded."""
ABSOLUTE_ERROR = 16 * 2.0 ** -52
"""Error of those functions that lose digits beside their zeros."""
MOST_TERMS = 24
"""Terms of a polynomial beyond which it becomes one constant of its own."""

ENCLOSURE_BITS = (128, 400, 1300, 4000)
"""Working precisions at which bounds of a number are looked for, in turn."""
ENOUGH = 1e-12
"""Relative error up to which a number in doubles is printed."""
LARGEST_EXPONENT = 64
"""Numerator and denominator of an exponent with which powers are exact."""


class Undecided(Exception):
    """A number that can neither be shown to be zero nor not to be."""


@record
class NamedConstant:
    """A constant by its number: the function and argument that made it, its value, and a bound of the error of that. For a
    root, radicand and degree."""

    number: int
    function: str
    argument: ExactReal
    value: float
    error: float
    root: tuple[Fraction, int] | None = None


Monomial = tuple[tuple[NamedConstant, int], ...]
_symbols: dict[tuple[object, ...], NamedConstant] = {}


def symbol(function: str, argument: ExactReal, value: float, error: float,
           root: tuple[Fraction, int] | None = None) -> NamedConstant:
    if not math.isfinite(value):
        raise Undecided("a constant beyond the range of doubles")
    key = (function, argument.key)
    return _symbols.setdefault(key, NamedConstant(len(_symbols), function, argument, value, error, root))


class ExactReal:
    """A polynomial in symbols; symbols may have negative powers."""

    def __init__(self, terms: dict[Monomial, Fraction]) -> None:
        self.terms = {m: f for m, f in terms.items() if f}

    @cached_property
    def key(self) -> tuple[object, ...]:
        return tuple(sorted((tuple((s.number, k) for s, k in m), f) for m, f in self.terms.items()))

    @property
    def rational(self) -> Fraction | None:
        """The number, where it is rational."""
        if not self.terms:
            return Fraction(0)
        return self.terms.get(()) if len(self.terms) == 1 else None

    @cached_property
    def length(self) -> int:
        """The number of terms, very long coefficients counted more than once: what a product with it costs."""
        return sum(1 + (f.numerator.bit_length() + f.denominator.bit_length()) // MOST_BITS for f in self.terms.values())

    def __add__(self, other: ExactReal) -> ExactReal:
        terms = dict(self.terms)
        for m, f in other.terms.items():
            terms[m] = terms.get(m, Fraction(0)) + f
        return ExactReal(terms).bounded()

    def __neg__(self) -> ExactReal:
        return ExactReal({m: -f for m, f in self.terms.items()})

    def __sub__(self, other: ExactReal) -> ExactReal:
        return self + -other

    def __mul__(self, other: ExactReal) -> ExactReal:
        terms: dict[Monomial, Fraction] = {}
        for m, f in self.terms.items():
            for n, g in other.terms.items():
                joined, factor = product(m, n)
                terms[joined] = terms.get(joined, Fraction(0)) + f * g * factor
        return ExactReal(terms).bounded()

    def bounded(self) -> ExactReal:
        """The same, or one constant for it where it has become too long."""
        if len(self.terms) <= MOST_TERMS and all(
                max(f.numerator.bit_length(), f.denominator.bit_length()) <= MOST_BITS for f in self.terms.values()):
            return self
        try:
            value, error = self.estimate()
        except Undecided:
            return self
        return ExactReal({((symbol("sum", self, value, error), 1),): Fraction(1)})

    def estimate(self) -> tuple[float, float]:
        """The value in doubles and a bound of its error."""
        total, error = 0.0, 0.0
        try:
            for m, f in self.terms.items():
                x, relative = float(f), 1.0
                for s, k in m:
                    x *= s.value ** k
                    relative += abs(k) * (2 + s.error / abs(s.value) / 2 ** -53 if s.value else math.inf)
                total += x
                error += abs(x) * (relative + len(self.terms)) * 2 ** -52
        except (OverflowError, ZeroDivisionError):
            raise Undecided("a coefficient beyond the range of doubles") from None
        if not math.isfinite(total):
            raise Undecided("a coefficient beyond the range of doubles")
        return total, error

    def __float__(self) -> float:
        q = self.rational
        if q is None:
            value, error = self.estimate()
            if error <= ENOUGH * abs(value):
                return value
            bounds = enclosed(self, lambda x: bool(x.ball().rel_accuracy_bits() > 60))
            if bounds is None:
                raise Undecided(f"it is about {value:.3g}, but its digits cancel")
            return float(bounds.ball().mid())
        try:
            return float(q)
        except OverflowError:
            raise Undecided("it is finite, but beyond the range of doubles") from None

    @cached_property
    def sign(self) -> int:
        """-1, 0 or 1. Undecided where rounding hides it."""
        if not self.terms:
            return 0
        q = self.rational
        if q is not None:
            return 1 if q > 0 else -1
        if len(self.terms) == 1:
            (m, f), = self.terms.items()
            if all(abs(s.value) > s.error for s, _ in m):
                flips = sum(k for s, k in m if s.value < 0)
                return (1 if f > 0 else -1) * (-1 if flips % 2 else 1)
        value, error = self.estimate()
        if abs(value) > 2 * error:
            return 1 if value > 0 else -1
        bounds = enclosed(self, lambda x: not x.has(0))
        if bounds is None:
            raise Undecided("a leading coefficient may be zero or not")
        return 1 if bounds.lo > 0 else -1

    def inverse(self) -> ExactReal:
        if len(self.terms) == 1:
            (m, f), = self.terms.items()
            turned, factor = product(tuple((s, -k) for s, k in m), ())
            return ExactReal({turned: factor / f})
        return constant("inverse", self, lambda x: 1 / x)

    def power(self, a: Fraction) -> ExactReal:
        """The number to a rational power; it must be positive unless that is whole."""
        if self.rational == 1:
            return self
        if a.denominator == 1 and abs(a) <= LARGEST_EXPONENT:
            base, whole = (self, ONE) if a >= 0 else (self.inverse(), ONE)
            for _ in range(abs(int(a))):
                whole = whole * base
            return whole
        q = self.rational
        if q is not None and abs(a.numerator) <= LARGEST_EXPONENT and a.denominator <= LARGEST_EXPONENT:
            exact = Fraction(root(q.numerator, a.denominator) or 0, root(q.denominator, a.denominator) or 1)
            if exact ** a.denominator == q:
                return ExactReal({(): exact}).power(Fraction(a.numerator))
            value = rounded_root(q, a.denominator)
            s = symbol(f"power {Fraction(1, a.denominator)}", self, value, 4 * math.ulp(value), (q, a.denominator))
            return ExactReal({((s, 1),): Fraction(1)}).power(Fraction(a.numerator))
        if len(self.terms) == 1:   # one constant for √(π/4), √(1/π) and √π
            (m, f), = self.terms.items()
            if m and abs(f) != 1:
                return number(abs(f)).power(a) * (self * number(1 / abs(f))).power(a)
            if f == 1 and len(m) == 1 and m[0][1] != 1 and m[0][0].value > m[0][0].error:
                return ExactReal({((m[0][0], 1),): f}).power(a * m[0][1])
        if a.numerator != 1 and abs(a.numerator) <= LARGEST_EXPONENT:
            return self.power(Fraction(1, a.denominator)).power(Fraction(a.numerator))
        return constant(f"power {a}", self, lambda x: x ** float(a))


ONE = ExactReal({(): Fraction(1)})


def product(m: Monomial, n: Monomial) -> tuple[Monomial, Fraction]:
    """The product of two monomials, and the rational number that roots in it come to."""
    if not n and not any(k < 0 and s.root for s, k in m):
        return m, Fraction(1)
    powers: dict[NamedConstant, int] = dict(m)
    factor = Fraction(1)
    for s, k in n:
        powers[s] = powers.get(s, 0) + k
    for s, k in powers.items():
        if s.root is not None and not 0 <= k < s.root[1]:
            whole, powers[s] = divmod(k, s.root[1])
            factor *= s.root[0] ** whole
    return tuple(sorted(((s, k) for s, k in powers.items() if k), key=lambda item: item[0].number)), factor


def root(n: int, degree: int) -> int | None:
    """The integer root, where there is one."""
    if n < 0:
        return None
    low, high = 0, 1 << (n.bit_length() // degree + 1)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if middle ** degree < n else (low, middle)
    return low if low ** degree == n else None


def rounded_root(q: Fraction, degree: int) -> float:
    """The root of a positive number that may itself be beyond the range of doubles."""
    shift = (q.numerator.bit_length() - q.denominator.bit_length()) // degree
    try:
        return math.ldexp(float(q * Fraction(2) ** (-shift * degree)) ** (1 / degree), shift)
    except OverflowError:
        raise Undecided("a root beyond the range of doubles") from None


def number(x: float | int | Fraction) -> ExactReal:
    return ExactReal({(): Fraction(x)})


def constant(name: str, x: ExactReal, function: Callable[[float], float]) -> ExactReal:
    """function(x) as a constant, the primitive `name`, with its order or exponent; its error from how the function changes
    within the error of x."""
    q = x.rational
    value, error = (float(x), math.ulp(float(x))) if q is not None else x.estimate()
    step = error + math.ulp(value)
    try:
        made, near = function(value), (function(value - step), function(value + step))
    except (ValueError, OverflowError, ZeroDivisionError):
        raise Undecided(f"{name} at {value:.6g} is beyond the range of doubles") from None
    spread = max(abs(y - made) for y in near)
    error = 2 * spread + 4 * math.ulp(made) + (ABSOLUTE_ERROR if name.startswith(("lgamma", "polygamma")) else 0.0)
    return ExactReal({((symbol(name, x, made, error), 1),): Fraction(1)})


def enclosed(x: ExactReal, enough: Callable[[Any], bool]) -> Any | None:
    """Bounds of a number that are narrow enough; None where no precision gives them, or python-flint is missing."""
    try:
        from flint import ctx
    except ModuleNotFoundError:
        return None
    for bits in ENCLOSURE_BITS:
        with ctx.workprec(bits):
            bounds = interval(x)
            if bounds.decoration and bounds.bounded and enough(bounds):   # it is certainly defined
                return bounds
    return None


def interval(x: ExactReal) -> Any:
    """Bounds of a number at the precision of the time: first of the constants it is made of, in the order they were made."""
    needed: set[NamedConstant] = set()
    left = [x]
    while left:
        new = {s for m in left.pop().terms for s, _ in m} - needed
        needed |= new
        left += [s.argument for s in new]
    bounds: dict[NamedConstant, Any] = {}
    for s in sorted(needed, key=lambda s: s.number):
        bounds[s] = interval_of_constant(s, polynomial(s.argument, bounds))
    return polynomial(x, bounds)


def polynomial(x: ExactReal, bounds: dict[NamedConstant, Any]) -> Any:
    """Bounds of a number from those of its constants."""
    from adcli.lang.evaluate.interval_arithmetic import interval_arithmetic
    from adcli.lang.evaluate.intervals import point
    functions, total = interval_arithmetic().functions, point(0)
    for m, f in x.terms.items():
        term = ratio(f)
        for s, k in m:
            term = functions["mul"](term, functions["pown"](bounds[s], point(k)))
        total = functions["add"](total, term)
    return total


def ratio(q: Fraction) -> Any:
    from adcli.lang.evaluate.intervals import div, point
    return div(point(q.numerator), point(q.denominator))


def interval_of_constant(s: NamedConstant, x: Any) -> Any:
    """Bounds of a constant: its function of the bounds of its argument."""
    from adcli.lang.evaluate.interval_arithmetic import interval_arithmetic
    functions = interval_arithmetic().functions
    name, _, parameter = s.function.partition(" ")
    match name:
        case "sum":
            return x
        case "power":
            return functions["pow"](x, ratio(Fraction(parameter)))
        case "polygamma":
            return functions["polygamma"](ratio(Fraction(parameter)), x)
        case "inverse":
            return functions["div"](ratio(Fraction(1)), x)
        case "pi":
            return functions["acos"](ratio(Fraction(-1)))
    return functions[name](x)


def exponential(x: ExactReal) -> ExactReal:
    """exp(x), where exp(q log c) is c to the power q."""
    result, rest = ONE, dict(x.terms)
    for m, f in x.terms.items():
        if len(m) == 1 and m[0][1] == 1 and m[0][0] in _LOGARITHMS:
            result = result * _LOGARITHMS[m[0][0]].power(f)
            del rest[m]
    left = ExactReal(rest)
    if not left.terms:
        return result
    if left.estimate()[0] < 0:   # one constant for exp(c) and exp(−c)
        return result * _kept(_EXPONENTIALS, constant("exp", -left, math.exp), -left).inverse()
    return result * _kept(_EXPONENTIALS, constant("exp", left, math.exp), left)


def logarithm(x: ExactReal) -> ExactReal:
    """log(x) for x > 0, where log(exp(c)) is c."""
    if x.rational == 1:
        return ExactReal({})
    if len(x.terms) == 1:
        (m, f), = x.terms.items()
        if m and all(s in _EXPONENTIALS for s, _ in m):
            return sum((_EXPONENTIALS[s] * number(k) for s, k in m), logarithm(number(f)))
    return _kept(_LOGARITHMS, constant("log", x, math.log), x)


def _kept(table: dict[NamedConstant, ExactReal], made: ExactReal, argument: ExactReal) -> ExactReal:
    """Remember the argument of the one symbol that a number is."""
    (m, _), = made.terms.items()
    table[m[0][0]] = argument
    return made


_LOGARITHMS: dict[NamedConstant, ExactReal] = {}
_EXPONENTIALS: dict[NamedConstant, ExactReal] = {}
PI = ExactReal({((symbol("pi", number(1), math.pi, math.ulp(math.pi)), 1),): Fraction(1)})


def special(name: str, x: ExactReal) -> ExactReal | None:
    """The exact value of an odd function at 0, of lgamma at 1 and 2, and of atan at ±1."""
    q = x.rational
    if (q == 0 and name != "lgamma") or (name == "lgamma" and q in (1, 2)):
        return ExactReal({})
    return PI * number(q / 4) if name == "atan" and q in (1, -1) and q is not None else None
