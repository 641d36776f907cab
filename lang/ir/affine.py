"""Extents and subscripts: integer expressions, affine in indices and sizes.

An `Affine` is a sum of integer multiples of atoms and a constant. Atoms are indices of a comprehension, names of sizes, and
what range inference makes of sizes: the floor of a quotient, the least or greatest of several, a product of two. Values are
structural: equal expressions are equal objects. Numbers come when arrays arrive: `value` with an integer for every atom.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """An index of a comprehension, known by identity; `name` is a printing hint."""

    name: str


@dataclass(frozen=True, slots=True)
class Floor:
    """The floor of an expression divided by a positive integer."""

    whole: Affine
    divisor: int


@dataclass(frozen=True, slots=True)
class Extreme:
    """The least, or the greatest, of several expressions."""

    parts: tuple[Affine, ...]
    greatest: bool = False


@dataclass(frozen=True, slots=True)
class Product:
    """The product of two expressions of sizes."""

    left: Affine
    right: Affine


AffineAtom = Index | str | Floor | Extreme | Product
AffineTerm = tuple[AffineAtom, int]


@dataclass(frozen=True, slots=True)
class Affine:
    """Σ coefficient · atom + constant; terms in a canonical order, none of them zero."""

    terms: tuple[AffineTerm, ...] = ()
    constant: int = 0

    @property
    def number(self) -> int | None:
        """The value, where no atom is left."""
        return None if self.terms else self.constant

    @property
    def index(self) -> Index | None:
        """The index that this is, where it is nothing but one."""
        if self.constant == 0 and len(self.terms) == 1 and self.terms[0][1] == 1 and isinstance(self.terms[0][0], Index):
            return self.terms[0][0]
        return None

    def coefficient(self, atom: AffineAtom) -> int:
        return next((c for a, c in self.terms if a == atom), 0)

    def indices(self) -> list[Index]:
        return [a for a, _ in self.terms if isinstance(a, Index)]

    def __add__(self, other: Affine | int) -> Affine:
        right = affine(other)
        sums = dict(self.terms)
        for a, c in right.terms:
            sums[a] = sums.get(a, 0) + c
        return Affine(_canonical(sums), self.constant + right.constant)

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: Affine | int) -> Affine:
        return self + affine(other) * -1

    def __mul__(self, factor: int) -> Affine:
        return Affine(tuple((a, c * factor) for a, c in self.terms) if factor else (), self.constant * factor)


def affine(x: Affine | AffineAtom | int) -> Affine:
    """An expression from a number or an atom."""
    if isinstance(x, Affine):
        return x
    return Affine((), x) if isinstance(x, int) else Affine(((x, 1),), 0)


def _canonical(sums: Mapping[AffineAtom, int]) -> tuple[AffineTerm, ...]:
    return tuple(sorted(((a, c) for a, c in sums.items() if c), key=_order))


def _order(term: AffineTerm) -> tuple[int, str, int]:
    a = term[0]
    return (0, a.name, id(a)) if isinstance(a, Index) else (1, a, 0) if isinstance(a, str) else (2, repr(a), 0)


def floor(whole: Affine, divisor: int) -> Affine:
    """The floor of a quotient; the part that is divisible comes out of it, and the floor of a floor is one."""
    assert divisor > 0
    if divisor == 1:
        return whole
    if len(whole.terms) == 1 and isinstance(inner := whole.terms[0][0], Floor) and whole.terms[0][1] == 1:
        return floor(inner.whole + whole.constant * inner.divisor, inner.divisor * divisor)
    out = Affine(tuple((a, c // divisor) for a, c in whole.terms if c % divisor == 0), whole.constant // divisor)
    rest = Affine(tuple((a, c) for a, c in whole.terms if c % divisor), whole.constant % divisor)
    return out + affine(Floor(rest, divisor)) if rest.terms else out


def least(*parts: Affine) -> Affine:
    return _extreme(parts, greatest=False)


def greatest(*parts: Affine) -> Affine:
    return _extreme(parts, greatest=True)


def _extreme(parts: tuple[Affine, ...], greatest: bool) -> Affine:
    """The least or greatest; parts that differ from another by a constant on the wrong side are dropped."""
    kept: list[Affine] = []
    for p in parts:
        def dominated(q: Affine, by: Affine) -> bool:
            gap = _gap(q - by)
            return gap is not None and (gap[1] <= 0 if greatest else gap[0] >= 0)
        if not any(dominated(p, k) for k in kept):
            kept = [k for k in kept if not dominated(k, p)] + [p]
    return kept[0] if len(kept) == 1 else affine(Extreme(tuple(sorted(kept, key=repr)), greatest))


def _gap(x: Affine) -> tuple[int, int] | None:
    """The least and greatest value of a difference that is a number, or one but for two floors of expressions that differ by a
    number."""
    if not x.terms:
        return x.constant, x.constant
    if len(x.terms) != 2:
        return None
    (one, c), (other, _) = sorted(x.terms, key=lambda t: -t[1])
    if isinstance(one, Floor) and isinstance(other, Floor) and one.divisor == other.divisor and x.terms[0][1] == -x.terms[1][1]:
        apart = (one.whole - other.whole).number
        if apart is not None:
            return x.constant + c * (apart // one.divisor), x.constant - c * (-apart // one.divisor)
    return None


def product(left: Affine, right: Affine) -> Affine:
    """The product; affine again where one factor is a number."""
    if left.number is not None:
        return right * left.number
    if right.number is not None:
        return left * right.number
    return affine(Product(left, right))


def value(x: Affine, known: Mapping[Index | str, int]) -> int:
    """The number, for numbers of all indices and sizes. KeyError where one is not known."""
    return x.constant + sum(c * _value(a, known) for a, c in x.terms)


def _value(a: AffineAtom, known: Mapping[Index | str, int]) -> int:
    match a:
        case Floor(whole, divisor):
            return value(whole, known) // divisor
        case Extreme(parts, largest):
            found = [value(p, known) for p in parts]
            return max(found) if largest else min(found)
        case Product(left, right):
            return value(left, known) * value(right, known)
        case _:
            return known[a]


def substituted(x: Affine, by: Mapping[Index | str, Affine]) -> Affine:
    """The expression with some of its indices and sizes replaced."""
    whole = Affine((), x.constant)
    for a, c in x.terms:
        whole = whole + _substituted(a, by) * c
    return whole


def _substituted(a: AffineAtom, by: Mapping[Index | str, Affine]) -> Affine:
    match a:
        case Floor(whole, divisor):
            return floor(substituted(whole, by), divisor)
        case Extreme(parts, largest):
            return _extreme(tuple(substituted(p, by) for p in parts), largest)
        case Product(left, right):
            return product(substituted(left, by), substituted(right, by))
        case _:
            return by.get(a, affine(a))


def nested(x: Affine) -> Iterator[Affine]:
    """An expression, and those inside of its atoms."""
    stack = [x]
    while stack:
        each = stack.pop()
        yield each
        for a, _ in each.terms:
            match a:
                case Floor(whole, _):
                    stack.append(whole)
                case Extreme(parts, _):
                    stack.extend(parts)
                case Product(left, right):
                    stack += [left, right]


def atoms(x: Affine) -> set[Index | str]:
    """All indices and sizes in an expression."""
    return {a for each in nested(x) for a, _ in each.terms if isinstance(a, (Index, str))}


def weight(x: Affine) -> int:
    """How long an expression is: its numbers and atoms, those inside of atoms too."""
    return sum(1 + len(each.terms) for each in nested(x))


def bounds(x: Affine, ranges: Mapping[Index, tuple[Affine, Affine]]) -> tuple[Affine, Affine]:
    """The least and greatest value over a box of indices; `ranges` gives the first and last value of each."""
    low = high = Affine((), x.constant)
    for a, c in x.terms:
        first, last = ranges[a] if isinstance(a, Index) and a in ranges else (affine(a), affine(a))
        low, high = low + (first if c > 0 else last) * c, high + (last if c > 0 else first) * c
    return low, high


def text(x: Affine, real: bool = False, places: Mapping[AffineAtom, int] | None = None) -> str:
    """The expression as the language has it; `real`: where `/` is the quotient of real numbers. Indices stand in the order of
    their `places`, if these are given: a reader takes ranges in the order in which indices appear."""
    shown = ""
    places = places or {}
    for a, c in sorted(x.terms, key=lambda t: (t[1] < 0, places.get(t[0], len(places)))):
        name = _text(a, real, places)
        if isinstance(a, Floor) and not real and (abs(c) != 1 or (c < 0 and not shown)):
            name = f"({name})"   # -N / 2 is the floor of -N/2
        factor = name if abs(c) == 1 else f"{abs(c)}*{name}"
        shown += (" - " if shown else "-") + factor if c < 0 else (" + " if shown else "") + factor
    if x.constant or not shown:
        number = str(abs(x.constant))
        shown += ((" - " if x.constant < 0 else " + ") if shown else "-" if x.constant < 0 else "") + number
    return shown


def _text(a: AffineAtom, real: bool, places: Mapping[AffineAtom, int]) -> str:
    match a:
        case Floor(whole, divisor):
            inner = text(whole, real, places)
            quotient = f"({inner}) / {divisor}" if len(whole.terms) > 1 or whole.constant else f"{inner} / {divisor}"
            return f"floor({quotient})" if real else quotient
        case Extreme(parts, largest):
            return f"{'max' if largest else 'min'}({', '.join(text(p, real, places) for p in parts)})"
        case Product(left, right):
            return f"({text(left, real, places)})*({text(right, real, places)})"
        case Index(name):
            return name
        case _:
            return a
