"""The second kind of operation: out[write] ⊕= body(arg0[read0], arg1[read1], …) over a domain of indices.

A comprehension is complete by itself: ranges of the indices, affine accesses, a reduction, and a body that is a scalar
Program. Nothing in it says diagonal, window, broadcast or full sum; these are what accesses can be. Sizes are
names until arrays arrive, so one comprehension serves all sizes.

Meaning. The result has `shape`. It starts as a copy of argument `onto` where that is given, else filled with the neutral value
of the reduction (0 for "="). Then, for every point of the domain (indices in their ranges, all `guards` ≥ 0), the body is
evaluated on its sources and the value goes to the element `write` names: it replaces it ("=") or is combined with it ("+", "*",
"min", "max": SEMANTICS.md's min and max, a NaN wins; "lse": the logarithm of the sum of exponentials). Several points assign to
one element only where the write goes through integers; the last of them stays, in the order of the ranges, of which the first
runs slowest.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from adcli.lang.ir import Atom, Equation, Lit, Param, Primitive, Program, Result, Shape, Var, definitions
from adcli.lang.ir.affine import (
    Affine,
    Index,
    Modulo,
    Substitution,
    affine,
    atoms,
    bounds,
    expanded,
    greatest,
    never_negative,
    product,
    slope,
    substituted,
    without,
)
from adcli.lang.ir.errors import Span
from adcli.lang.ir.primitives import INDEX_POWER, TABLE
from adcli.lang.ir.records import named_record, record
from adcli.lang.operations.activity import active_values

NEUTRAL = {"=": 0.0, "+": 0.0, "*": 1.0, "min": float("inf"), "max": float("-inf"), "lse": float("-inf")}
"""The neutral value of each reduction."""
COMBINED_BY = {"+": "add", "*": "mul", "min": "min", "max": "max", "lse": "logaddexp"}
"""The row of the table that combines two values. (Many values under "lse" are `adcli.lang.operations.elementwise`.)"""
MOST_DIMENSIONS = 32
"""Of a tensor, and indices of a comprehension: every NumPy has so many."""
POW = TABLE["pow"]
Ends = Mapping[Index, tuple[Affine, Affine]]


@record
class Range:
    """An index with its half-open range; `why` says where the range comes from, for people."""

    index: Index
    low: Affine
    high: Affine
    why: str = ""


@record
class Read:
    """An element of argument `arg` of the equation. A subscript is affine, or itself a Read: a gather through integers."""

    arg: int
    subscripts: tuple[Subscript, ...]


Subscript = Affine | Read
"""Where in one dimension: an affine expression, or an element of a tensor of integers."""

BodySource = Read | Affine
"""The source of a parameter of the body: an element of an argument, or the value of an expression of indices and sizes."""


def replaced(s: BodySource, by: Substitution) -> BodySource:
    """A subscript, or source, with expressions for indices, also where it is read by others."""
    return replace(s, subscripts=tuple([replaced(x, by) for x in s.subscripts])) if isinstance(s, Read) else substituted(s, by)


def nested_reads(sources: Iterable[BodySource]) -> Iterator[Read]:
    """The elements of tensors among sources or subscripts, each followed by those inside of its subscripts."""
    stack = list(sources)[::-1]
    while stack:
        s = stack.pop()
        if isinstance(s, Read):
            yield s
            stack.extend(reversed(s.subscripts))


def atoms_in(sources: Iterable[BodySource]) -> set[Index | str]:
    """All indices and sizes in sources or subscripts, those inside of subscripts too."""
    own = list(sources)
    every = [*own, *(x for s in nested_reads(own) for x in s.subscripts)]
    return {a for s in every if isinstance(s, Affine) for a in atoms(s)}


@record
class Agreement:
    """Two extents that must be the same number once sizes are known, or there is a fault of the user: `message` has %d twice."""

    left: Affine
    right: Affine
    message: str
    span: Span | None = None


@named_record
class Comprehension(Primitive):
    """See the module. `body` has one parameter for each source, in order, and one result. `write`, as a read, may go through
    integers: the adjoint of a gather is a scatter.

    To the passes it is an operation like a row of the table, of one result and as many arguments as its equation has; what
    a row says by maps, lang/modes/comprehension_rules.py says for all comprehensions.
    """

    tensors: ClassVar[bool] = True
    name: str = "comprehension"
    signature: str = ">r"
    ranges: tuple[Range, ...] = ()
    guards: tuple[Affine, ...] = ()
    write: tuple[Subscript, ...] = ()
    shape: Shape = ()
    reduction: str = "="
    sources: tuple[BodySource, ...] = ()
    body: Program = Program((), (), (Result("z", Lit(0.0)),))
    onto: int | None = None
    agreements: tuple[Agreement, ...] = ()

    @property
    def indices(self) -> tuple[Index, ...]:
        return tuple(r.index for r in self.ranges)

    def reads(self) -> Iterator[tuple[int, Read]]:
        """The sources that read an argument, with their positions."""
        return ((i, s) for i, s in enumerate(self.sources) if isinstance(s, Read))

    def inputs(self) -> Iterator[tuple[Param, BodySource]]:
        """The parameters of the body, each with its source."""
        return zip(self.body.params, self.sources, strict=True)

    def kind(self, position: int) -> str:
        return "r"

    def inner(self) -> Sequence[Equation]:
        return self.body.equations

    def moved(self, e: Equation, values: Collection[Atom], steps: bool = True) -> Iterable[Atom]:
        if not steps and (self.onto is None or e.args[self.onto] not in values):
            own = [self.body.params[k].name for k, s in self.reads() if e.args[s.arg] in values]
            if self.body.results[0].atom not in active_values(self.body, own, steps=False):
                return ()
        return [x for x in e.outs if not x.whole]


def body_of(value: Atom, params: Iterable[Param] = (), equations: Iterable[Equation] = ()) -> Program:
    """The body of a comprehension that has this value."""
    return Program(tuple(params), tuple(equations), (Result("z", value),))


def whole_values(body: Program, sources: Iterable[BodySource]) -> dict[Atom, Affine]:
    """The values of a body that are sums of multiples of indices, sizes and whole numbers by construction."""
    found: dict[Atom, Affine] = {p.var: s for p, s in zip(body.params, sources, strict=True) if isinstance(s, Affine)}
    for e in body.equations:
        args = [affine(a.integer) if isinstance(a, Lit) and a.integer is not None else found.get(a) for a in e.args]
        match e.op.name, args:
            case "add", [Affine() as x, Affine() as y]:
                found[e.outs[0]] = x + y
            case "sub", [Affine() as x, Affine() as y]:
                found[e.outs[0]] = x - y
            case "neg", [Affine() as x]:
                found[e.outs[0]] = -x
            case "mul", [Affine() as x, Affine() as y] if (number := x.number if y.number is None else y.number) is not None:
                found[e.outs[0]] = (x if y.number is not None else y) * number
            case "div", [Affine() as x, Affine() as y] if y.number in (1, -1):
                found[e.outs[0]] = x * y.constant
    return found


def with_index_powers(body: Program, sources: Iterable[BodySource]) -> Program:
    """The body with every power whose exponent is made of indices as the product that it is by definition."""
    whole = whole_values(body, sources)

    def is_index(a: Atom) -> bool:
        return a in whole and any(isinstance(x, Index) for x in atoms(whole[a]))
    equations = [replace(e, op=INDEX_POWER) if e.op is POW and is_index(e.args[1]) else e for e in body.equations]
    return replace(body, equations=tuple(equations))


def identity_body() -> Program:
    """The body of a copy: the value of its one source."""
    x = Var("x")
    return body_of(x, [Param(x, "x")])


def constant_body(value: float) -> Program:
    return body_of(Lit(value))


def fixed_indices(ranges: Collection[Range], subscripts: Iterable[Subscript]) -> set[Index]:
    """The indices whose value the subscripts of an element fix: each subscript fixes those of its indices that are not known yet
    and are digits of it."""
    spans = {r.index: r.high - r.low for r in ranges}
    fixed: set[Index] = set()
    expressions = [s for s in subscripts if isinstance(s, Affine)]
    progress = True
    while progress:
        progress = False
        for s in expressions:
            missing = {i for i in s.indices() if i in spans and i not in fixed}
            if missing and digits(s, missing, spans) is not None:
                fixed |= missing
                progress = True
    return fixed


def digits(s: Affine, wanted: Collection[Index], spans: Mapping[Index, Affine]) -> list[tuple[Affine, Affine]] | None:
    """Some indices of an expression as the digits of a number, the last one first, each with what a step of it is worth and the
    number of its values; None where their values do not show to follow from that of the expression: the worth of a digit must be
    more than those behind it make together."""
    last = s.terms[0][0] if len(s.terms) == 1 else None
    if isinstance(last, Modulo) and len(wanted) == 1:   # i + 1 goes around at most once
        (i,) = wanted
        whole = last.whole
        steps = slope(whole, i).number
        around = steps in (1, -1) and i not in without(whole, i).indices() and never_negative(last.divisor - spans[i])
        return [(affine(1), spans[i])] if around else None
    left = {i: slope(s, i) for i in wanted}
    rest = s
    for i in wanted:
        rest = without(rest, i)
    if not {*rest.indices()}.isdisjoint(wanted):
        return None
    left = {i: -c if never_negative(-c) else c for i, c in left.items()}
    if len(left) == 1 and all(c.number for c in left.values()):
        return [(c, spans[i]) for i, c in left.items()]
    found: list[tuple[Affine, Affine]] = []
    least = affine(1)
    while left:
        following = [i for i, c in left.items() if never_negative(c - least)]
        if not following:
            return None
        alone = [i for i in following if never_negative(affine(1) - spans[i])]   # one value leaves room for another of its worth
        i = next((i for i in alone or following if expanded(left[i] - least).number == 0), following[0])
        found.append((left.pop(i), spans[i]))
        least = least + product(found[-1][0], spans[i] - 1)
    return found


def all_fixed(ranges: Collection[Range], subscripts: Iterable[Subscript]) -> bool:
    """Whether the subscripts fix every index: no two points of a box have the same element."""
    return len(fixed_indices(ranges, subscripts)) == len(ranges)


def covers(op: Comprehension) -> bool:
    """Whether every element of the result is written, if no range is empty: each subscript runs through the whole extent, with
    indices of its own."""
    ranges = {r.index: r for r in op.ranges}
    spans = {i: r.high - r.low for i, r in ranges.items()}
    seen: set[Index] = set()
    for s, extent in zip(op.write, op.shape, strict=True):
        if not isinstance(s, Affine):
            return False
        own = {*s.indices()}
        if not seen.isdisjoint(own) or not _runs_through(s, own, extent, ranges, spans):
            return False
        seen |= own
    return not op.guards


def _runs_through(s: Affine, own: set[Index], extent: Affine, ranges: Mapping[Index, Range],
                  spans: Mapping[Index, Affine]) -> bool:
    """Whether a subscript has every value from 0 to the extent."""
    if not own:
        return s.number == 0 and extent.number == 1
    if s.index is not None:
        return ranges[s.index].low.number == 0 and ranges[s.index].high == extent
    found = digits(s, own, spans)
    if found is None:
        return False
    if isinstance(around := s.terms[0][0], Modulo):
        return s == affine(around) and spans[next(iter(own))] == extent == around.divisor
    low = bounds(s, ends_of(ranges.values()))[0]
    count = affine(1)
    for worth, span in found:
        if expanded(worth - count).number != 0:
            return False
        count = product(worth, span)
    return low.number == 0 and expanded(count - extent).number == 0


def ends_of(ranges: Iterable[Range]) -> Ends:
    """The first and last value of each index."""
    return {r.index: (r.low, r.high - 1) for r in ranges}


def in_ranges(ranges: Iterable[Range]) -> list[Affine]:
    """Expressions that are at least 0 where indices are in their ranges."""
    return [x for r in ranges for x in (affine(r.index) - r.low, r.high - 1 - affine(r.index))]


def implied(x: Affine, ends: Ends, guards: Iterable[Affine]) -> bool:
    """Whether an expression is not negative at every point of a box where a guard is not, or anywhere in it."""
    return any(never_negative(bounds(x - g, ends)[0]) for g in (affine(0), *guards))


def needed_guards(guards: Sequence[Affine], ranges: Iterable[Range]) -> tuple[Affine, ...]:
    """Guards without those that follow from the ranges or from another one."""
    ends, kept = ends_of(ranges), list(dict.fromkeys(guards))
    for g in guards:
        others = [x for x in kept if x is not g]
        if len(others) < len(kept) and implied(g, ends, others):
            kept = others
    return tuple(guards) if len(kept) == len(guards) else tuple(kept)


def extent_of(r: Range) -> Affine:
    """The number of values of an index; a range whose high end can be below its low end is empty then."""
    extent = r.high - r.low
    return extent if never_negative(extent) else greatest(extent, affine(0))


def corner(ranges: Iterable[Range]) -> tuple[tuple[Affine, ...], tuple[Affine, ...]]:
    """Subscripts and extents of a tensor with one element for every point of a box."""
    ranges = tuple(ranges)
    return tuple([affine(r.index) - r.low for r in ranges]), tuple(map(extent_of, ranges))


def in_reading_order(op: Comprehension) -> Comprehension:
    """The comprehension with its ranges in the order in which sums are taken: indices as they are met in what is written, in the
    reads of the body from left to right, and in its other values. So a text of it that is read has the same order, whatever
    names it gives to parts."""
    if len(op.ranges) < 2:
        return op
    place = {r.index: k for k, r in enumerate(op.ranges)}
    met: dict[Index, None] = {}
    reads = list(_sources_in_order(op))
    for s in (*op.write, *[r for r in reads if isinstance(r, Read)], *[x for x in reads if isinstance(x, Affine)]):
        stack: list[Subscript] = [s]
        while stack:
            each = stack.pop()
            if isinstance(each, Read):
                stack += reversed(each.subscripts)
            else:
                found = [i for i in atoms(each) if isinstance(i, Index) and i in place]
                met |= dict.fromkeys(sorted(found, key=lambda i, each=each: (each.coefficient(i) < 0, place[i])))  # type: ignore[misc]
    ranked = {i: n for n, i in enumerate(met)}
    ranges = tuple(sorted(op.ranges, key=lambda r: ranked.get(r.index, len(ranked))))
    return op if ranges == op.ranges else replace(op, ranges=ranges)


def _sources_in_order(op: Comprehension) -> Iterator[BodySource]:
    """The sources of a body from left to right, with repetition."""
    made = definitions(op.body.equations)
    sources = {p.var: s for p, s in op.inputs()}
    stack, seen = [r.atom for r in op.body.results], set[Atom]()
    while stack:
        a = stack.pop()
        if isinstance(a, Lit) or a in seen:
            continue
        seen.add(a)
        if a in sources:
            yield sources[a]
        else:
            stack += reversed(made[a].args)
