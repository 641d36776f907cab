"""Proofs: inequalities between whole numbers, and expressions that are never negative where others are not.

Everything here is sound and incomplete: what it says holds, what it does not say may hold, too.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import gcd

from adcli.lang.ir.affine import Affine, AffineAtom, Extreme, Floor, Index, Modulo, Product, affine, factors, floor, product

MOST_PAIRS = 10_000
"""Pairs of constraints of a proof that are put together in one step; a proof that needs more is not found."""
MOST_ATOMS = 12
"""Of a proof: the elimination behind it takes a time that grows fast with them."""

Ends = tuple[int, int]
"""The least and the greatest value of an expression."""
IndexBox = Mapping[Index, Ends]
"""The first and last value of every index."""
ENDLESS = 1 << 80
"""More than any size."""
Coefficients = dict[Index, int]
Constraint = tuple[Coefficients, int]
"""Σ coefficient · index + constant ≥ 0."""


def proved(x: Affine, known: Iterable[Affine]) -> bool:
    """Whether an expression is never negative where those of `known` are not, whatever the sizes; False may also mean that the
    proof was not found."""
    rows = _connected([-x - 1], known)
    return len({a for row in rows for a, _ in row.terms}) <= MOST_ATOMS and _impossible(rows)


def impossible(rows: Iterable[Affine]) -> bool:
    """Whether no whole numbers, sizes among them, make all these expressions at least 0: True is certain, False may also mean
    that only fractions are left."""
    return _impossible(_connected(rows, ()))


def _impossible(rows: Iterable[Affine]) -> bool:
    numbers = {a: k for k, a in enumerate(dict.fromkeys(a for row in rows for a, _ in row.terms))}
    numbered = tuple((tuple((numbers[a], c) for a, c in row.terms), row.constant) for row in rows)
    return _contradictory(numbered, tuple(isinstance(a, str) for a in numbers))


@lru_cache(10_000)
def _contradictory(rows: tuple[tuple[tuple[tuple[int, int], ...], int], ...], sizes: tuple[bool, ...]) -> bool:
    """Whether no whole numbers, some of them sizes, make all rows Σ coefficient · number + constant at least 0. Kept: other reads
    ask the same of other indices."""
    indices = [Index("") for _ in sizes]
    ends: list[Constraint] = [end for i, size in zip(indices, sizes, strict=True)
                              for end in (({i: 1}, 0 if size else ENDLESS), ({i: -1}, ENDLESS))]
    left = eliminated([*(({indices[k]: c for k, c in row}, constant) for row, constant in rows), *ends], indices)
    return left is not None and any(not row and constant < 0 for row, constant in left)


def _connected(rows: Iterable[Affine], known: Iterable[Affine]) -> list[Affine]:
    """Expressions and those of `known` that have to do with them, with what floors and extrema in them satisfy."""
    rows, left = list(rows), list(known)
    done: set[AffineAtom] = set()
    while True:
        new = [a for a in dict.fromkeys(a for row in rows for a, _ in row.terms) if a not in done]
        if not new:
            return rows
        done.update(new)
        rows += [row for a in new for row in _laws(a)]
        apart = [k for k in left if done.isdisjoint(_named(k))]
        rows += [k for k in left if k not in apart]
        left = apart


def _named(x: Affine) -> Iterator[AffineAtom]:
    """The atoms of an expression, and those that its quotients and remainders are made of."""
    for a, _ in x.terms:
        yield a
        for part in factors(a):
            if isinstance(part, Floor | Modulo):
                yield from (inner for inner, _ in part.whole.terms)


def _laws(a: AffineAtom) -> Iterator[Affine]:
    """Expressions that are not negative by what an atom is."""
    match a:
        case Floor(whole, by):
            taken = product(affine(a), by)
            yield whole - taken
            yield taken + by - 1 - whole
        case Product():
            yield from (law for part in factors(a) if isinstance(part, Floor) for law in _laws(part))
        case Extreme(parts, largest):
            yield from (affine(a) - p if largest else p - affine(a) for p in parts)
        case Modulo(whole, by):
            yield affine(a)
            yield by - 1 - affine(a)
            if by.number and by.number > 0:   # i % 2 and floor(i / 2) say something of each other
                left = whole - floor(whole, by.number) * by.number - affine(a)
                yield from (left, -left)
        case _:
            return


def eliminated(constraints: Iterable[Constraint], away: Iterable[Index]) -> list[Constraint] | None:
    """The projection of constraints without some indices, by Fourier and Motzkin's elimination with coefficients cut to
    integers: it holds wherever there are values for these. A constraint without indices that is below 0 says that there are none.
    None where too many would have to be put together."""
    rows, left = [_cut(row, constant) for row, constant in constraints], dict.fromkeys(away)
    while left:
        i = min(left, key=lambda i: (not _exact(i, rows), _pairs(i, rows)))
        if _pairs(i, rows) > MOST_PAIRS:
            return None
        del left[i]
        up, down = [r for r in rows if r[0].get(i, 0) > 0], [r for r in rows if r[0].get(i, 0) < 0]
        rows = [r for r in rows if not r[0].get(i, 0)] + [_combined(i, p, q) for p in up for q in down]
        rows = _tightest(rows)
        if any(not row and constant < 0 for row, constant in rows):
            break
    return rows


def _pairs(i: Index, rows: Sequence[Constraint]) -> int:
    return sum(r[0].get(i, 0) > 0 for r in rows) * sum(r[0].get(i, 0) < 0 for r in rows)


def _exact(i: Index, rows: Sequence[Constraint]) -> bool:
    """Whether no whole number is lost without an index: all its coefficients of one sign are 1."""
    steps = {r[0].get(i, 0) for r in rows}
    return all(c <= 1 for c in steps) or all(c >= -1 for c in steps)


def _combined(i: Index, positive: Constraint, negative: Constraint) -> Constraint:
    """The consequence of two constraints without index `i`."""
    p, n = positive[0][i], -negative[0][i]
    row = {j: n * positive[0].get(j, 0) + p * negative[0].get(j, 0) for j in dict.fromkeys((*positive[0], *negative[0]))}
    return _cut(row, n * positive[1] + p * negative[1])


def _cut(row: Coefficients, constant: int) -> Constraint:
    """A constraint with coefficients that have no common divisor: the constant is rounded to what integers can reach."""
    row = {j: c for j, c in row.items() if c}
    common = gcd(*row.values()) if row else 1
    return {j: c // common for j, c in row.items()}, constant // common


def _tightest(rows: Sequence[Constraint]) -> list[Constraint]:
    """Of constraints that differ by the constant the strongest."""
    best: dict[frozenset[tuple[Index, int]], Constraint] = {}
    for row, constant in rows:
        key = frozenset(row.items())
        if key not in best or constant < best[key][1]:
            best[key] = row, constant
    return list(best.values())
