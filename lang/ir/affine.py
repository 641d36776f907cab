"""Extents and subscripts: integer expressions, affine in indices and sizes.

An `Affine` is a sum of integer multiples of atoms and a constant. Atoms are indices of a comprehension, names of sizes, and
what is made of these: the floor of a quotient, the remainder, the least or greatest of several, a product of two. An index may be
multiplied by sizes, `i*N`, and that product is a term of its own: the slope of the expression along i. In floors and remainders
it may stand too, and the expression is then not linear in it. Values are structural: equal expressions are equal objects. Numbers
come when arrays arrive: `value` with an integer for every atom.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from adcli.lang.ir.errors import AdError
from adcli.lang.ir.records import record, value_record


@record
class Index:
    """An index of a comprehension, known by identity; `name` is a printing hint."""

    name: str


@value_record
class Floor:
    """The floor of an expression divided by a positive number or expression of sizes."""

    whole: Affine
    divisor: Affine


@value_record
class Extreme:
    """The least, or the greatest, of several expressions."""

    parts: tuple[Affine, ...]
    greatest: bool = False


@value_record
class Product:
    """The product of two expressions of sizes; `left` may be an index alone."""

    left: Affine
    right: Affine


@value_record
class Modulo:
    """The remainder of an expression by a positive expression of sizes: from 0 to the divisor - 1,
    also where `whole` is negative."""

    whole: Affine
    divisor: Affine


AffineAtom = Index | str | Floor | Extreme | Product | Modulo
AffineTerm = tuple[AffineAtom, int]


@value_record
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
        """The indices in it, those inside of products, floors and remainders too."""
        found = [a for a, _ in self.terms if isinstance(a, Index)]
        if all(isinstance(a, (Index, str)) for a, _ in self.terms):
            return found
        return list(dict.fromkeys([*found, *(a for each in nested(self) for a, _ in each.terms if isinstance(a, Index))]))

    def __add__(self, other: Affine | int, times: int = 1) -> Affine:
        if isinstance(other, int):
            return Affine(self.terms, self.constant + times*other)
        if not other.terms:
            return Affine(self.terms, self.constant + times*other.constant)
        if not self.terms and times == 1:
            return Affine(other.terms, self.constant + other.constant)
        sums = dict(self.terms)
        for a, c in other.terms:
            sums[a] = sums.get(a, 0) + times*c
        return Affine(_canonical(sums), self.constant + times*other.constant)

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: Affine | int) -> Affine:
        return self.__add__(other, -1)

    def __mul__(self, factor: int) -> Affine:
        if factor == 1:
            return self
        return Affine(tuple((a, c * factor) for a, c in self.terms) if factor else (), self.constant * factor)

NewSubstitution = dict[Index | str, Affine]
Substitution = Mapping[Index | str, Affine]
"""Affine expressions in place of indices and sizes, as `substituted` takes them, and one in the making."""


def affine(x: Affine | AffineAtom | int) -> Affine:
    """An expression from a number or an atom."""
    if isinstance(x, Affine):
        return x
    return Affine((), x) if isinstance(x, int) else Affine(((x, 1),), 0)


def _canonical(sums: Mapping[AffineAtom, int]) -> tuple[AffineTerm, ...]:
    terms = [term for term in sums.items() if term[1]]
    return tuple(sorted(terms, key=_order) if len(terms) > 1 else terms)


def _order(term: AffineTerm) -> tuple[int, str, int]:
    a = term[0]
    return (0, a.name, id(a)) if isinstance(a, Index) else (1, a, 0) if isinstance(a, str) else (2, repr(a), hash(a))


def floor(whole: Affine, by: Affine | int) -> Affine:
    """The floor of a quotient; the part that is divisible comes out of it, and the floor of a floor is one."""
    n = (by := affine(by)).number
    if n is None:
        parts = [(term, exact_quotient(Affine((term,)), by)) for term in whole.terms]
        out = sum((q for _, q in parts if q is not None), Affine())
        rest = Affine(tuple(term for term, q in parts if q is None), whole.constant)
        return out + (rest.number if rest.number in (0, -1) else affine(Floor(rest, by)))
    if n <= 0:
        return affine(Floor(whole, by))   # refused when the sizes are known
    if n == 1:
        return whole
    if len(whole.terms) == 1 and isinstance(inner := whole.terms[0][0], Floor) and whole.terms[0][1] == 1:
        return floor(inner.whole + inner.divisor * whole.constant, inner.divisor * n)
    out = Affine(tuple((a, c // n) for a, c in whole.terms if c % n == 0), whole.constant // n)
    rest = Affine(tuple((a, c) for a, c in whole.terms if c % n), whole.constant % n)
    return out + affine(Floor(rest, by)) if rest.terms else out


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
        if apart is not None and (n := one.divisor.number):
            return x.constant + c * (apart // n), x.constant - c * (-apart // n)
    return None


def remainder(whole: Affine, divisor: Affine) -> Affine:
    """The remainder of a quotient; multiples of the divisor drop out of `whole`, and so do remainders by the same."""
    n = divisor.number
    if n is not None and n <= 0:
        return affine(Modulo(whole, divisor))   # refused when the sizes are known
    left = Affine((), whole.constant if n is None else whole.constant % n)
    for a, c in whole.terms:
        if isinstance(a, Modulo) and a.divisor == divisor:
            left = left + a.whole * c
        elif n is None and exact_quotient(Affine(((a, 1),)), divisor) is None:
            left = left + affine(a) * c
        elif n is not None and c % n:
            left = left + affine(a) * (c if abs(c) < n else c % n)
    if left != whole and left.terms:
        return remainder(left, divisor)
    return left if not left.terms and (n is not None or not left.constant) else affine(Modulo(left, divisor))


def within(x: Affine, ranges: Mapping[Index, tuple[Affine, Affine]]) -> Affine:
    """The expression without the remainders of what is between 0 and the divisor anyway, over a box of indices."""
    whole = x
    for a, c in x.terms:
        if isinstance(a, Modulo):
            low, high = bounds(a.whole, ranges)
            if never_negative(low) and never_negative(a.divisor - 1 - high):
                whole = whole + (a.whole - affine(a)) * c
    return whole


def product(left: Affine, right: Affine) -> Affine:
    """The product; affine again where one factor is a number. That of an index is a term for each term of the sizes."""
    if left.number is not None:
        return right * left.number
    if right.number is not None:
        return left * right.number
    if right.indices():
        left, right = right, left
    assert not right.indices(), "the product of two indices is not linear in either"
    plain = left.indices() or all(len(x.terms) == 1 and not x.constant for x in (left, right))
    return _distributed(left, expanded(right)) if plain else affine(Product(left, right))


def _distributed(left: Affine, right: Affine) -> Affine:
    """The product as a sum of products of atoms."""
    one, other = ([*x.terms, *([(None, x.constant)] if x.constant else [])] for x in (left, right))
    whole = Affine()
    for a, c in one:
        for b, d in other:
            whole = whole + _monomial([*factors(a), *factors(b)]) * (c * d)
    return whole


def factors(a: AffineAtom | None) -> list[AffineAtom]:
    """The atoms that an atom is the product of."""
    if a is None:
        return []
    if isinstance(a, Product) and (left := _single(a.left)) is not None and (right := _single(a.right)) is not None:
        return [*factors(left), *factors(right)]
    return [a]


def _single(x: Affine) -> AffineAtom | None:
    return x.terms[0][0] if not x.constant and len(x.terms) == 1 and x.terms[0][1] == 1 else None


def _monomial(factors: list[AffineAtom]) -> Affine:
    """The product of atoms; that with an index in it comes first."""
    if not factors:
        return Affine((), 1)
    held = [affine(a) for a, _ in sorted(((a, 1) for a in factors), key=lambda t: (not affine(t[0]).indices(), *_order(t)))]
    return reduce(lambda right, left: affine(Product(left, right)), reversed(held[:-1]), held[-1])


def expanded(x: Affine) -> Affine:
    """The expression with its products of sums as sums of products, so that equal polynomials are equal."""
    whole = Affine((), x.constant)
    for a, c in x.terms:
        made = _distributed(expanded(a.left), expanded(a.right)) if isinstance(a, Product) else affine(a)
        whole = whole + made * c
    return whole


def exact_quotient(x: Affine, divisor: Affine) -> Affine | None:
    """The expression divided by a product of sizes (and a number), None where that is not exact for all sizes."""
    by = expanded(divisor)
    if by.number is not None or len(by.terms) != 1 or by.constant:
        return None
    (atom, n), whole = by.terms[0], Affine()
    needed = factors(atom)
    if x.constant:
        return None
    for a, c in expanded(x).terms:
        left = factors(a)
        for factor in needed:
            if factor not in left:
                return None
            left.remove(factor)
        if c % n:
            return None
        whole = whole + _monomial(left) * (c // n)
    return whole


def slope(x: Affine, i: Index) -> Affine:
    """The increase of an expression when an index grows by 1, as far as it is linear in it: a number, or an expression of
    sizes."""
    whole = Affine()
    for a, c in x.terms:
        if a is i:
            whole = whole + c
        elif isinstance(a, Product) and a.left.index is i:
            whole = whole + a.right * c
    return whole


def without(x: Affine, i: Index) -> Affine:
    """The rest of an expression beside its slope along an index times that."""
    kept = tuple(t for t in x.terms if t[0] is not i and not (isinstance(t[0], Product) and t[0].left.index is i))
    return Affine(kept, x.constant)


def linear(x: Affine) -> bool:
    """Whether indices are in an expression as terms of their own only, multiplied by numbers or sizes."""
    return all(isinstance(a, (Index, str)) or not Affine(((a, 1),)).indices()
               or (isinstance(a, Product) and a.left.index is not None and not a.right.indices()) for a, _ in x.terms)


def value(x: Affine, known: Mapping[Index | str, int]) -> int:
    """The number, for numbers of all indices and sizes. KeyError where one is not known."""
    return x.constant + sum(c * _value(a, known) for a, c in x.terms)


def _value(a: AffineAtom, known: Mapping[Index | str, int]) -> int:
    match a:
        case Floor(whole, by):
            return value(whole, known) // _positive(by, known, "quotient")
        case Extreme(parts, largest):
            found = [value(p, known) for p in parts]
            return max(found) if largest else min(found)
        case Product(left, right):
            return value(left, known) * value(right, known)
        case Modulo(whole, by):
            return value(whole, known) % _positive(by, known, "remainder")
        case _:
            return known[a]


def _positive(by: Affine, known: Mapping[Index | str, int], what: str) -> int:
    n = value(by, known)
    if n <= 0:
        raise AdError(f"the {what} by {text(by)} is taken, which is {n}", help=f"a {what} is by a positive number")
    return n


def substituted(x: Affine, by: Substitution) -> Affine:
    """The expression with some of its indices and sizes replaced."""
    whole = Affine((), x.constant)
    for a, c in x.terms:
        whole = whole + _substituted(a, by) * c
    return whole


def _substituted(a: AffineAtom, by: Substitution) -> Affine:
    match a:
        case Floor(whole, of):
            return floor(substituted(whole, by), substituted(of, by))
        case Extreme(parts, largest):
            return _extreme(tuple(substituted(p, by) for p in parts), largest)
        case Product(left, right):
            return product(substituted(left, by), substituted(right, by))
        case Modulo(whole, of):
            return remainder(substituted(whole, by), substituted(of, by))
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
                case Extreme(parts, _):
                    stack.extend(parts)
                case Product(left, right) | Modulo(left, right) | Floor(left, right):
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
        first, last = _bounds(a, ranges)
        low, high = low + (first if c > 0 else last) * c, high + (last if c > 0 else first) * c
    return low, high


def _bounds(a: AffineAtom, ranges: Mapping[Index, tuple[Affine, Affine]]) -> tuple[Affine, Affine]:
    match a:
        case Index() if a in ranges:
            return ranges[a]
        case Product(left, right) if left.indices():
            first, last = bounds(left, ranges)
            return expanded(product(first, right)), expanded(product(last, right))
        case Floor(whole, divisor) if Affine(((a, 1),)).indices():
            first, last = bounds(whole, ranges)
            return floor(first, divisor), floor(last, divisor)
        case Modulo(whole, divisor) if whole.indices():
            first, last = bounds(whole, ranges)
            return affine(0), least(divisor - 1, last) if never_negative(first) else divisor - 1
        case _:
            return affine(a), affine(a)


def never_negative(x: Affine) -> bool:
    """Whether an expression is at least 0 for all sizes, as far as that shows: sizes are not negative, d times the floor of
    w / d is at most w, and the greatest of some is at least each of them, as the least is at most."""
    for a, c in x.terms:
        if isinstance(a, Floor) and c < 0 and (n := a.divisor.number) and c % n == 0:
            x = x - affine(a) * c + a.whole * (c // n)
    if any(c < 0 and isinstance(a, Product) for a, c in x.terms):
        x = expanded(x)
    extremes = [(a, c) for a, c in x.terms if isinstance(a, Extreme) and a.greatest == (c > 0)]
    if extremes:
        a, c = max(extremes, key=lambda t: weight(affine(t[0])))   # its parts may be extremes that others cancel
        return any(never_negative(x - affine(a) * c + part * c) for part in a.parts)
    return x.constant >= 0 and all(c > 0 and _never_negative(a) for a, c in x.terms)


def _never_negative(a: AffineAtom) -> bool:
    match a:
        case Product(left, right):
            return never_negative(left) and never_negative(right)
        case Floor(whole, _):
            return never_negative(whole)
        case Modulo():
            return True
        case _:
            return isinstance(a, str)


def text(x: Affine, real: bool = False, places: Mapping[AffineAtom, int] | None = None) -> str:
    """The expression as the language has it; `real`: where `/` is the quotient of real numbers. Indices stand in the order of
    their `places`, if these are given: a reader takes ranges in the order in which indices appear."""
    shown = ""
    places = places or {}
    for a, c in sorted(x.terms, key=lambda t: (t[1] < 0, places.get(_leading(t[0]), len(places)))):
        name = _text(a, real, places)
        floored = isinstance(a, Floor) and not name.startswith("floor(")
        if (floored or isinstance(a, Modulo)) and (abs(c) != 1 or (c < 0 and not shown)):
            name = f"({name})"   # -N / 2 is the floor of -N/2
        factor = name if abs(c) == 1 else f"{abs(c)}*{name}"
        shown += (" - " if shown else "-") + factor if c < 0 else (" + " if shown else "") + factor
    if x.constant or not shown:
        number = str(abs(x.constant))
        shown += ((" - " if x.constant < 0 else " + ") if shown else "-" if x.constant < 0 else "") + number
    return shown


def _leading(a: AffineAtom) -> AffineAtom:
    """The index that a product begins with, or the atom itself."""
    return a.left.index or a if isinstance(a, Product) else a


def _factor(x: Affine, real: bool, places: Mapping[AffineAtom, int]) -> str:
    inner = text(x, real, places)
    plain = not x.terms or isinstance(one := _single(x), (Index, str)) or (isinstance(one, Floor) and inner.startswith("floor("))
    return inner if plain else f"({inner})"


def _text(a: AffineAtom, real: bool, places: Mapping[AffineAtom, int]) -> str:
    match a:
        case Floor(whole, by):
            inner = text(whole, real, places)
            several = len(whole.terms) + bool(whole.constant) > 1
            quotient = f"{f'({inner})' if several else inner} / {_factor(by, real, places)}"
            return f"floor({quotient})" if real or whole.indices() else quotient
        case Extreme(parts, largest):
            return f"{'max' if largest else 'min'}({', '.join(text(p, real, places) for p in parts)})"
        case Product(left, right):
            return f"{_factor(left, real, places)}*{_factor(right, real, places)}"
        case Modulo(whole, by):
            return f"{_factor(whole, real, places)} % {_factor(by, real, places)}"
        case Index(name):
            return name
        case _:
            return a


def shape_text(shape: Sequence[Affine]) -> str:
    return f"({', '.join(map(text, shape))})"
