"""The proof that no access is outside of its tensor, with sizes as numbers, and that whole numbers fit a machine word.

All of it is arithmetic on a program's extents and subscripts, done once for each set of shapes and never for each element.
The proof is sound: what it lets pass stays inside. It sees a subscript's least and greatest value over the box, and where guards
cut corners off the box, whether any point of what is left (rational ones included) is outside.

The proof is arithmetic without bounds, and what runs has 64 bits: a guard that overflowed would let points pass that the proof
has excluded. So no partial sum and no product in an expression may get near the end of a word.

The order of a recurrence: that an element is read behind all writes to it, and written by one statement only.

Where lags are constant the offsets of the subscripts from the step say it. What they leave open are lags that are sizes or
indices, statements that touch other elements of one step, or steps that no write reaches: with sizes as numbers it is proved that
no point of the one meets a point of the other.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import cast

from adcli.lang.ir import Atom, Equation, Lit, Program, Var
from adcli.lang.ir.affine import (
    Affine,
    AffineAtom,
    Extreme,
    Floor,
    Index,
    Modulo,
    NewSubstitution,
    Product,
    affine,
    atoms,
    bounds,
    greatest,
    linear,
    nested,
    never_negative,
    substituted,
    text,
    value,
    without,
)
from adcli.lang.ir.errors import AdError
from adcli.lang.operations.comprehension import Range, Read, Subscript, ends_of, in_ranges
from adcli.lang.operations.matrix import Boxed, accesses
from adcli.lang.operations.recurrence import Meeting, Recurrence, boxed, loops, meetings, whole_statements, with_statements
from adcli.lang.sizes.binding import number, shapes
from adcli.lang.sizes.proofs import Ends, IndexBox, eliminated, impossible

MOST_POINTS = 50_000
"""Points that are tried one by one where no proof shows that guards keep a subscript inside."""


# ---------------------------------------------------------------- the proof

def prove(program: Program, sizes: Mapping[str, int]) -> None:
    """AdError unless extents agree and every subscript, other than a gathered one, stays inside its tensor.

    Subscripts that are elements of tensors of integers are known only when they are read, and are checked there.
    """
    for e in with_statements(program.equations):
        for x in (x for out in e.outs for x in out.shape):
            _prove_positive(divisors(x), e, program, sizes)
    extents = shapes(program, sizes)
    for e in boxed(program.equations):
        _prove_positive((a for a in divisors(*expressions(e.op)) if not a.whole.indices()), e, program, sizes)
        _prove_equation(program, e, e.op, sizes, extents)


def _prove_equation(program: Program, e: Equation, op: Boxed, sizes: Mapping[str, int],
                    extents: Mapping[Var, tuple[int, ...]]) -> None:
    for a in op.agreements:
        left, right = number(a.left, sizes), number(a.right, sizes)
        if left != right:
            raise AdError(a.message % (left, right), a.span or e.span, None, program.source)
    if (before := op.start(e)) is not None and (shape := _extent_of(before, extents)) != extents[e.outs[0]]:
        raise AdError(f"'{e.outs[0].name}' has shape {extents[e.outs[0]]} here, and what it starts from {shape}", e.span, None,
                      program.source)
    require_words(program, e, op, sizes, extents)
    box = _box(op, sizes)
    if any(last < first for first, last in box.values()):
        return
    _prove_positive(divisors(*expressions(op)), e, program, sizes)
    for atom, subscripts in accesses(e, op):
        for d, (s, n) in enumerate(zip(subscripts, _extent_of(atom, extents), strict=False)):   # of matrices the leading ones
            if isinstance(s, Affine):
                reach = interval(s, box, sizes)
                if reach[0] < 0 or reach[1] >= n:
                    _Access(e, op, atom, d, s, reach, n, box, sizes).prove(program)


def require_words(program: Program, e: Equation, op: Boxed, sizes: Mapping[str, int],
                  extents: Mapping[Var, tuple[int, ...]]) -> None:
    """AdError where a whole number that the loops of `op`, a form of the equation's comprehension, compute may have more than 64
    bits."""
    touched = [(subscripts, _extent_of(atom, extents)) for atom, subscripts in accesses(e, op)]
    if large := too_large(op, touched, _box(op, sizes), sizes):
        raise AdError(f"the numbers in {large} are too large: whole numbers have 64 bits", e.span, None, program.source)


def divisors(*found: Affine) -> list[Floor | Modulo]:
    """The quotients and remainders in expressions that are not by positive numbers; inner ones first."""
    every = [a for x in found for each in nested(x) for a, _ in each.terms if isinstance(a, Floor | Modulo)]
    return [a for a in dict.fromkeys(reversed(every)) if (a.divisor.number or 0) <= 0]


def _prove_positive(found: Iterable[Floor | Modulo], e: Equation, program: Program, sizes: Mapping[str, int]) -> None:
    for a in found:
        if (n := number(a.divisor, sizes)) <= 0:
            what = "remainder" if isinstance(a, Modulo) else "quotient"
            raise AdError(f"the {what} by {text(a.divisor)} is taken, which is {n}", e.span, f"a {what} is by a positive number",
                          program.source)


def _box(op: Boxed, sizes: Mapping[str, int]) -> IndexBox:
    return {r.index: (number(r.low, sizes), number(r.high, sizes) - 1) for r in op.ranges}


def _extent_of(atom: Atom, extents: Mapping[Var, tuple[int, ...]]) -> tuple[int, ...]:
    return () if isinstance(atom, Lit) else extents[atom]


def ends(box: IndexBox) -> Iterator[Affine]:
    """Expressions that are at least 0 in a box."""
    for i, (low, high) in box.items():
        yield from (affine(i) - low, affine(high) - affine(i))


def interval(x: Affine, box: IndexBox, sizes: Mapping[str, int]) -> Ends:
    """The least and greatest value of an expression over a box that is not empty."""
    if not all(isinstance(a, (Index, str)) for a, _ in x.terms):   # an index may be multiplied by a size
        x = at_sizes(x, sizes)
    low = high = x.constant
    for a, c in x.terms:
        first, last = _interval(a, box, sizes)
        low, high = (low + c * first, high + c * last) if c > 0 else (low + c * last, high + c * first)
    return low, high


def at_sizes(x: Affine, sizes: Mapping[str, int]) -> Affine:
    """The expression with numbers in the place of sizes."""
    return substituted(x, {name: affine(sizes[name]) for name in atoms(x) if isinstance(name, str)})


def _interval(a: AffineAtom, box: IndexBox, sizes: Mapping[str, int]) -> Ends:
    match a:
        case Index():
            return box[a]
        case Floor(whole, by):
            (low, high), n = interval(whole, box, sizes), number(by, sizes)
            return low // n, high // n
        case Extreme(parts, largest):
            lows, highs = zip(*[interval(p, box, sizes) for p in parts], strict=True)
            return (max(lows), max(highs)) if largest else (min(lows), min(highs))
        case Product(left, right):
            corners = [x * y for x in interval(left, box, sizes) for y in interval(right, box, sizes)]
            return min(corners), max(corners)
        case Modulo(whole, by):
            (low, high), n = interval(whole, box, sizes), number(by, sizes)
            return (low % n, high % n) if low // n == high // n else (0, n - 1)
        case _:
            return sizes[a], sizes[a]


def longer_history(loop: Equation, history: Var, d: int) -> str:
    """Advice where a loop goes beyond the end of a tensor that an earlier statement has made."""
    shape = list(history.shape)
    for s in whole_statements(loop):
        if s.outs[0] is history and d < len(s.op.write) and isinstance(at := s.op.write[d], Affine):
            shape[d] = greatest(shape[d], bounds(at, ends_of(s.op.ranges))[1] + 1)
    return larger_shape(history.name, shape)


def larger_shape(name: str | None, shape: Iterable[Affine]) -> str:
    """Advice where a tensor has fewer elements than statements behind its first one ask for."""
    return (f"'{name}' has the shape that its first statement gives it; declare a larger one there: "
            f"where float({', '.join(map(text, shape))}) {name}")


# ---------------------------------------------------------------- guards

@dataclass(frozen=True)
class _Access:
    """A subscript of an equation over a box in which it takes the values `reach`, beyond the `extent` of its dimension."""

    equation: Equation
    op: Boxed
    atom: Atom
    dimension: int
    subscript: Affine
    reach: Ends
    extent: int
    box: IndexBox
    sizes: Mapping[str, int]

    def prove(self, program: Program) -> None:
        """AdError unless guards keep the subscript inside."""
        if not self.guarded():
            points = self.points_outside()
            if points is None or points:
                raise self.fault(program, points)

    def guarded(self) -> bool:
        """Whether no point of the box that the guards leave has the subscript below 0 or at the extent or beyond."""
        s, *guards = [at_sizes(x, self.sizes) for x in (self.subscript, *self.op.guards)]
        known = [*guards, *ends(self.box)]
        return bool(guards) and all(impossible([outside, *known]) for outside in (-s - 1, s - self.extent))

    def points_outside(self) -> Sequence[Mapping[Index | str, int]] | None:
        """The first point of the box that the guards leave with the subscript outside, if there is one: they are tried one by
        one. None where they are too many."""
        guards, box = self.op.guards, self.box
        used, told = {*self.subscript.indices()}, list(guards)
        while more := [g for g in told if not used.isdisjoint(g.indices())]:
            told = [g for g in told if g not in more]
            used.update(i for g in more for i in g.indices())
        found = [i for i in box if i in used]
        asked = [g for g in guards if not used.isdisjoint(g.indices())]
        if not guards or prod(box[i][1] - box[i][0] + 1 for i in found) > MOST_POINTS:
            return None
        for point in product(*(range(box[i][0], box[i][1] + 1) for i in found)):
            here: dict[Index | str, int] = dict(zip(found, point, strict=True))
            at = self.at(here)
            if all(value(g, at) >= 0 for g in asked) and not 0 <= value(self.subscript, at) < self.extent:
                return [here]
        return []

    def at(self, point: Mapping[Index | str, int]) -> Mapping[Index | str, int]:
        return {**cast(Mapping[Index | str, int], self.sizes), **point}

    def fault(self, program: Program, points: Sequence[Mapping[Index | str, int]] | None) -> AdError:
        s, atom = self.subscript, self.atom
        name = atom.name if isinstance(atom, Var) and atom.name else "a tensor"
        place = f"subscript {text(s)} of dimension {self.dimension} of '{name}'"
        if points:
            places = ", ".join(f"{i.name} = {k}" for i, k in points[0].items() if isinstance(i, Index) and i in atoms(s))
            message = (f"{place} is {value(s, self.at(points[0]))}{' at ' if places else ''}{places}, "
                       f"and the extent there is {self.extent}")
            return AdError(message, self.equation.span, "no condition keeps it inside there", program.source)
        used, box = atoms(s), self.box
        where = ", ".join(f"{i.name} from {box[i][0]} to {box[i][1]}" for i in self.op.indices if i in used)
        help = "; ".join(x for x in (f"with {where}" if where else "", self.advice(program)) if x)
        return AdError(f"{place} runs from {self.reach[0]} to {self.reach[1]}, and the extent there is {self.extent}",
                       self.equation.span, help or None, program.source)

    def advice(self, program: Program) -> str:
        """A longer history, or a range that keeps the subscript inside."""
        atom, outs = self.atom, self.equation.outs
        loop = next((x for x in loops(program.equations) if outs[0] in x.outs), None)
        if isinstance(atom, Var) and self.reach[1] >= self.extent and loop is not None and atom in loop.outs:
            return longer_history(loop, atom, self.dimension)
        if isinstance(atom, Var) and (inside := self.range_inside(atom.shape[self.dimension])):
            of_step = loop is not None and inside[0] is loop.op.step
            return f"write {'for' if of_step else 'where'} {inside[1]}"
        return ""

    def range_inside(self, extent: Affine) -> tuple[Index, str] | None:
        """The range of an index that keeps the subscript inside whatever the other indices are: of one of the result, or else the
        longest."""
        s, op = self.subscript, self.op
        ends = ends_of(op.ranges)
        written = {a for x in op.write if isinstance(x, Affine) for a in atoms(x)}
        found: dict[tuple[Index, str], tuple[bool, int]] = {}
        for r in op.ranges:
            c = s.coefficient(r.index)
            if abs(c) != 1 or not linear(s):
                continue
            least, most = bounds(without(s, r.index), ends)
            low, high = (-least, extent - most) if c > 0 else (most - extent + 1, least + 1)
            below, beyond = (self.reach[0] < 0, self.reach[1] >= self.extent)[::c]
            low, high = low if below else r.low, high if beyond else r.high
            length = number(high, self.sizes) - number(low, self.sizes)
            if length > 0:
                found[r.index, f"{r.index.name} in {text(low)}:{text(high)}"] = r.index in written, length
        return max(found, key=found.__getitem__, default=None)


# ---------------------------------------------------------------- words of 64 bits

LARGEST_WHOLE = 1 << 56
"""Of elements: the bytes of an address are eight times as many, and a block of a loop may reach a little beyond its end."""


def too_large(op: Boxed, tensors: Sequence[tuple[tuple[Subscript, ...], tuple[int, ...]]],
              box: IndexBox, sizes: Mapping[str, int]) -> str | None:
    """The first expression of a comprehension whose numbers may not fit, as text. `tensors` are its accesses, each with the
    extents of its tensor; `box` has the first and last value of every index."""
    def of(a: AffineAtom) -> int:
        if isinstance(a, Product):
            return magnitude(a.left, of) * magnitude(a.right, of)
        return max(map(abs, box[a])) + 1 if isinstance(a, Index) else sizes[cast(str, a)]

    for x in expressions(op):
        if magnitude(x, of) > LARGEST_WHOLE:
            return text(x)
    for subscripts, extents in tensors:
        if prod(extents) > LARGEST_WHOLE:   # no memory holds it, which is for others to say
            continue
        for d, s in enumerate(subscripts):
            if isinstance(s, Affine) and magnitude(s, of) * prod(extents[d + 1:]) > LARGEST_WHOLE:
                return text(s)
    return None


def expressions(op: Boxed) -> Iterator[Affine]:
    """Every expression of whole numbers in a comprehension."""
    yield from op.guards
    yield from op.shape
    for r in op.ranges:
        yield from (r.low, r.high)
    stack: list[Subscript] = [*op.sources, *op.write]
    while stack:
        s = stack.pop()
        if isinstance(s, Read):
            stack += s.subscripts
        else:
            yield s


def magnitude(x: Affine, of: Callable[[AffineAtom], int]) -> int:
    """A bound on the absolute value of the expression, of all its partial sums and of everything inside of it, from those of
    indices, sizes and products."""
    return abs(x.constant) + sum(abs(c) * _magnitude(a, of) for a, c in x.terms)


def _magnitude(a: AffineAtom, of: Callable[[AffineAtom], int]) -> int:
    match a:
        case Floor(whole, by):
            return magnitude(whole, of) + (magnitude(by, of) if by.terms else 0)
        case Extreme(parts, _):
            return max(magnitude(p, of) for p in parts)
        case Modulo(whole, by):
            return magnitude(whole, of) + magnitude(by, of)
        case _:
            return of(a)


# ---------------------------------------------------------------- with sizes as numbers

# ---------------------------------------------------------------- the order of steps

def prove_steps(program: Program, sizes: Mapping[str, int]) -> None:
    """AdError unless in every recurrence all writes to an element come before its first read, and one statement assigns it."""
    for e in loops(program.equations):
        for each in meetings(e):
            if _meet(each, e.op, sizes):
                raise _in_wrong_order(program, each, e.op)


def _meet(each: Meeting, op: Recurrence, sizes: Mapping[str, int]) -> bool:
    """Whether there may be a point of each that are the same element, the write not over before the other."""
    rows, ranges = _together(each, op)
    box = {r.index: (number(r.low, sizes), number(r.high, sizes) - 1) for r in ranges}
    if any(last < first for first, last in box.values()):
        return False
    return not impossible([*[at_sizes(x, sizes) for x in rows], *ends(box)])


def _together(each: Meeting, op: Recurrence) -> tuple[list[Affine], list[Range]]:
    """Expressions that are at least 0 at a point of each where they are the same element and the write is not over before the
    other; and the ranges of both points, the other's with indices of its own."""
    writer, other = each.writer.op, each.other.op
    assert isinstance(writer, Boxed)
    again = {r.index: Index(r.index.name) for r in other.ranges}
    by: NewSubstitution = {i: affine(j) for i, j in again.items()}
    rows: list[Affine] = [*writer.guards, *[substituted(g, by) for g in other.guards]]
    for mine, its in zip(writer.write, each.subscripts, strict=False):
        if isinstance(mine, Affine) and isinstance(its, Affine):
            rows += [mine - substituted(its, by), substituted(its, by) - mine]
    if each.reads:
        later = affine(op.step) - substituted(affine(op.step), by)
        rows.append((-later if op.down else later) - (1 if each.same_step else 0))
    return rows, [*writer.ranges, *[replace(r, index=again[r.index]) for r in other.ranges]]


# ---------------------------------------------------------------- for all sizes

def meeting_sizes(each: Meeting, op: Recurrence, known: Sequence[Affine]) -> tuple[Affine, ...] | None:
    """Expressions of sizes that are all at least 0 wherever two statements may meet; None where they never do. Those of `known`
    are at least 0."""
    rows, ranges = _together(each, op)
    rows += in_ranges(ranges)
    indices = [r.index for r in ranges]   # in their order, which that of what is left follows
    rows = [x for x in (*rows, *known) if all(isinstance(a, Index) or atoms(affine(a)).isdisjoint(indices) for a, _ in x.terms)]
    name = {a: a if isinstance(a, Index) else Index("") for x in rows for a, _ in x.terms}
    left = eliminated([({name[a]: c for a, c in x.terms}, x.constant) for x in rows], indices)
    if left is None:
        return ()
    if any(not row and constant < 0 for row, constant in left):
        return None
    sized = {i: a for a, i in name.items() if i not in indices}
    found = [sum((affine(sized[i]) * c for i, c in row.items()), start=affine(constant)) for row, constant in left]
    if impossible(found):
        return None
    given = set(known)
    return tuple([x for x in found if not never_negative(x) and x not in given])


def _in_wrong_order(program: Program, each: Meeting, op: Recurrence) -> AdError:
    name = each.writer.outs[0].name or "a history"
    element = f"{name}({', '.join(text(s) if isinstance(s, Affine) else '…' for s in each.subscripts)})"
    if each.reads:
        return AdError(f"{element} is read before the loop over {op.step.name} has written it", each.other.span,
                       "a read is at least one step behind, or stands behind the assignment of its step",
                       program.source)
    return AdError(f"two statements of the loop over {op.step.name} give elements of '{name}' a value", each.other.span,
                   "an element is assigned once, and added to only behind that: write += for all that is added up",
                   program.source)
