"""The ranges of indices: what `where` says, and else the largest range that keeps every read inside its tensor.

As in Tensor Comprehensions (Vasilache et al., 2018, the section on range inference), in rounds: a subscript in which one
index alone has no range yet bounds that index, whatever values the others take; all bounds found in a round are intersected.
An index that is a subscript of the result does not start below 0. One that stands alone in two dimensions says that these
have the same extent, which is checked when sizes are numbers. What `where` says comes first; a tensor that exists before it is
written bounds the indices that nothing else does. The outcome does not depend on the order of the reads.

A read under a condition, as one in an arm of a choice, bounds no index that another read or what is written bounds. An index
without these has the places whose reads are inside, where intervals of places choose: in `i < N - 1 ? x(i + 1) : x(i)` the second
read alone says that i ends before N. Where other conditions choose, as in `i % 2 == 0 ? x(i + 1) : x(i - 1)`, it runs over the
dimension that is read, and subscripts are checked as the program runs.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from adcli.lang.ir.affine import (
    Affine,
    Index,
    affine,
    bounds,
    exact_quotient,
    floor,
    greatest,
    least,
    linear,
    never_negative,
    slope,
    text,
    without,
)
from adcli.lang.ir.errors import AdError, Fix, Source, Span
from adcli.lang.ir.records import value_record
from adcli.lang.operations.comprehension import Agreement, Range, ends_of, in_ranges
from adcli.lang.sizes.condition_dnf import EVERYWHERE, UNTOLD, Where, joint, known_where
from adcli.lang.sizes.proofs import proved


@value_record
class Access:
    """A tensor's element: name, extents, and subscripts with their places; None for one that is gathered. `where` says under
    which conditions it is accessed."""

    tensor: str
    extents: tuple[Affine, ...]
    subscripts: tuple[Affine | None, ...]
    spans: tuple[Span | None, ...] = ()
    where: Where = EVERYWHERE

    def span(self, dimension: int) -> Span | None:
        return self.spans[dimension] if self.spans else None


@value_record
class Given:
    """`index in low:high`; the bounds may contain other indices."""

    index: Index
    low: Affine
    high: Affine
    span: Span | None = None


@value_record
class Domain:
    """Ranges in the order of the indices; `guards` cut corners off their box."""

    ranges: tuple[Range, ...]
    guards: tuple[Affine, ...]
    agreements: tuple[Agreement, ...]

    def known(self) -> list[Affine]:
        """Expressions that are not negative at its points."""
        return [*in_ranges(self.ranges), *self.guards]

    def last(self, x: Affine) -> Affine:
        """The greatest value of an expression over the box."""
        return bounds(x, ends_of(self.ranges))[1]

    def never_negative(self, x: Affine) -> bool:
        """Whether an expression is at least 0 over the box for all sizes, as far as that shows without numbers."""
        return never_negative(bounds(x, ends_of(self.ranges))[0])


SURE, TOLD, OPEN, ANYWAY = range(4)
"""Ranks of bounds: without conditions; conditions that are intervals of the index; other conditions; whatever they keep."""


@value_record
class _Bound:
    """A range for an index from one subscript, without the ends that the conditions of the access keep; `whole` has both, and
    `alone` says that the subscript is the index itself, `shifted` that it is but for a constant, `held` that all other indices in
    it have ranges that the text says."""

    low: Affine | None
    high: Affine | None
    whole: tuple[Affine, Affine]
    alone: bool
    shifted: bool
    rank: int
    why: str
    span: Span | None
    held: bool

    def says(self, rank: int) -> bool:
        """Whether it has an end, and is of this rank or below."""
        return self.rank <= rank and (self.low is not None or self.high is not None)


def infer(indices: Sequence[Index], reads: Sequence[Access], given: Sequence[Given] = (), writes: Sequence[Access] = (),
          source: Source | None = None, target: Sequence[object] = (), where: Where = EVERYWHERE) -> Domain:
    """The domain of a comprehension. `writes` are accesses to tensors that exist already; indices that stand alone in `target`,
    the subscripts of what is written, start at 0 or above. `where` are the pieces of the box that count at all. AdError where a
    range stays open."""
    inference = _Inference(given, source, {x.index for x in target if isinstance(x, Affine) and x.index}, where)
    left = set(indices)
    while left:
        found = inference.stated(left) or inference.round(left, reads, SURE) or inference.round(left, writes, SURE)
        for rank in (TOLD, OPEN, ANYWAY):
            found = found or inference.round(left, reads, rank)
        if not found:
            raise inference.ambiguous([i for i in indices if i in left], (*reads, *writes))
        left -= found
    return Domain(tuple(inference.ranges[i] for i in indices), tuple(inference.guards), tuple(inference.agreements))


class _Inference:
    def __init__(self, given: Sequence[Given], source: Source | None, written: set[Index], where: Where) -> None:
        self.given, self.source, self.written, self.where = given, source, written, where
        self.stated_for = {g.index for g in given}
        self.ranges: dict[Index, Range] = {}
        self.ends: dict[Index, tuple[Affine, Affine]] = {}
        self.guards: list[Affine] = []
        self.agreements: list[Agreement] = []

    def settle(self, index: Index, low: Affine, high: Affine, why: str) -> None:
        self.ranges[index] = Range(index, low, high, why)
        self.ends[index] = low, high - 1

    def stated(self, left: set[Index]) -> set[Index]:
        """Indices with a `where` whose bounds are known by now."""
        found = set()
        for index in [g.index for g in self.given if g.index in left]:
            own = [g for g in self.given if g.index is index]
            if index not in found and not any(i in left for g in own for i in (*g.low.indices(), *g.high.indices())):
                found.add(index)
                self.stated_range(index, own)
        return found

    def stated_range(self, index: Index, own: list[Given]) -> None:
        """The box around the range; bounds that depend on other indices are guards inside of it."""
        self.guards += dict.fromkeys(affine(index) - g.low for g in own if g.low.indices())
        self.guards += dict.fromkeys(g.high - 1 - affine(index) for g in own if g.high.indices())
        plain = [g.low for g in own if not g.low.indices()]
        low = greatest(*(plain or [bounds(g.low, self.ends)[0] for g in own]))
        plain = [g.high for g in own if not g.high.indices()]
        high = least(*(plain or [bounds(g.high, self.ends)[1] for g in own]))
        self.settle(index, low, high, "where")

    def round(self, left: set[Index], accesses: Iterable[Access], rank: int) -> set[Index]:
        """Indices that are alone without a range in some subscript that is of this rank or below."""
        bounds_of: dict[Index, list[_Bound]] = {}
        for access in accesses:
            for d, x in enumerate(access.subscripts):
                open_ = [i for i in x.indices() if i in left] if x is not None else []
                alone = x is not None and len(open_) == 1 and open_[0] not in self.stated_for
                bound = self.solve(x, open_[0], access, d) if x is not None and alone else None
                if bound:
                    bounds_of.setdefault(open_[0], []).append(bound)
        said = {i: found for i, found in bounds_of.items() if rank == ANYWAY or any(b.says(rank) for b in found)}
        if rank == TOLD:   # an index that stands alone says more than one with a constant
            said = {i: found for i, found in said.items() if not any(b.alone and b.rank == OPEN and b.says(OPEN) for b in found)}
        for index, found in said.items():
            self.intersect(index, found, rank)
        return set(said)

    def solve(self, x: Affine, index: Index, access: Access, d: int) -> _Bound | None:
        """Where 0 ≤ x < extent for all values of the other indices; None where the ends cannot be written."""
        if not linear(x):
            return None
        a, extent = slope(x, index), access.extents[d]
        low, high = bounds(without(x, index), self.ends)
        found = _ends(a, low, high, extent)
        if found is None:
            return None
        where = f"dimension {d} of {access.tensor}"
        alone, rank = x.index is index, self.rank(access.where, index)
        shifted = x.indices() == [index] and a.number == 1 and not without(x, index).terms
        if rank == OPEN and shifted:
            found = _ends(a, affine(0), affine(0), extent) or found
        plain: tuple[Affine, Affine] = found
        ends: tuple[Affine | None, Affine | None] = found
        pieces = access.where   # what another index says is no matter of this one alone
        if len(x.indices()) > 1:
            pieces = known_where(joint(self.where, pieces))
        if pieces != EVERYWHERE:
            rooms = (x, extent - 1 - x) if a.number is None or a.number > 0 else (extent - 1 - x, x)
            ends = self.end(rooms[0], found[0], index, pieces, False), self.end(rooms[1], found[1], index, pieces, True)
            some = _ends(a, high, low, extent) or found   # for some values of the others, where points apart do not count
            kept = [len(x.indices()) > 1 and self.where != EVERYWHERE and self.holds(room) for room in rooms]
            plain = some[0] if kept[0] else found[0], some[1] if kept[1] else found[1]
        return _Bound(*ends, plain, alone, shifted and rank == OPEN, rank, where if alone else f"from {text(x)} in {where}",
                      access.span(d), rank == SURE and pieces == EVERYWHERE and self.is_held(x, index))

    def is_held(self, x: Affine, index: Index) -> bool:
        """Test for a subscript whose other indices have ranges that the text says."""
        return not self.stated_for.isdisjoint(x.indices()) and self.stated_for.issuperset({*x.indices()} - {index})

    def rank(self, where: Where, index: Index) -> int:
        """How far the conditions of a read leave open whether it is done."""
        if where == EVERYWHERE:
            return SURE
        told = all(g != UNTOLD and linear(g) and (slope(g, index).number or index not in g.indices())
                   for piece in where for g in piece)
        return TOLD if told else OPEN

    def holds(self, room: Affine) -> bool:
        """Whether an expression is never negative at points that count."""
        return all(proved(room, [*piece, *self.known()]) for piece in self.where)

    def end(self, room: Affine, plain: Affine, index: Index, pieces: Where, high: bool) -> Affine | None:
        """The end of a range that keeps `room` from being negative wherever one of the pieces is, None where they do so by
        themselves. `plain` is the end that does it everywhere; a piece may also be left out of the range as a whole."""
        found: list[Affine] = []
        for piece in pieces:
            if not proved(room, [*piece, *self.known()]):
                best = plain
                for without_it in (self.edge(-p - 1, index, high) for p in piece):
                    if without_it is not None and never_negative(without_it - best if high else best - without_it):
                        best = without_it
                found.append(best)
        return (least if high else greatest)(*found) if found else None

    def edge(self, x: Affine, index: Index, high: bool) -> Affine | None:
        """The end of a range that keeps an expression from being negative; None where it is none on this side."""
        c = slope(x, index).number if linear(x) else None
        rest = without(x, index)
        if not c or (c < 0) != high or any(i not in self.ends for i in rest.indices()):
            return None
        least_rest = bounds(rest, self.ends)[0]
        return floor(least_rest, -c) + 1 if high else -floor(least_rest, c)

    def known(self) -> Iterator[Affine]:
        """Expressions that are not negative where conditions are asked for."""
        yield from in_ranges(self.ranges.values())
        yield from self.guards
        yield from (affine(i) for i in self.written if i not in self.ranges)

    def intersect(self, index: Index, found: list[_Bound], rank: int) -> None:
        found = list(dict.fromkeys(found))
        whole = dict.fromkeys(b for b in found if (b.alone or (b.shifted and rank >= OPEN)) and b.high in (None, b.whole[1]))
        alone = sorted(((b, b.high) for b in whole if b.high is not None),
                       key=lambda t: (t[0].rank > rank, len(t[1].terms), text(t[1]), t[0].why))
        for other, last in alone[1:]:
            self.agree(index, *alone[0], other, last)
        found = [b for b in found if b.rank <= rank]
        alone = [t for t in alone if t[0].rank <= rank]
        used = [b for b, _ in alone[:1]]
        if rank < OPEN or not alone:
            used += [b for b in found if b.high is None or (b not in whole and not (alone and b.held))]
        lows, highs = [b.low for b in used if b.low is not None], [b.high for b in used if b.high is not None]
        if rank in (TOLD, OPEN) and index in self.written:
            lows = [affine(0)]   # elements that are left out would be 0
        anyway = [b.whole for b in found if b in whole] or [b.whole for b in found]
        lows = lows or ([affine(0)] if highs and index in self.written else [first for first, _ in anyway])
        low, high = greatest(*lows), least(*(highs or [end for _, end in anyway]))
        if index in self.written and not _natural(low):
            low = greatest(*lows, affine(0))
        telling = [*(b for b, _ in alone), *(b for b in used if b.says(rank))]
        self.settle(index, low, high, " and ".join(dict.fromkeys(b.why for b in telling)))

    def agree(self, index: Index, one: _Bound, end: Affine, other: _Bound, its: Affine) -> None:
        gap = (end - its).number
        if gap == 0:
            return
        said = f"index '{index.name}' runs over {one.why}, which has %d elements, and over {other.why}, which has %d"
        if gap is not None and end.number is not None:
            raise AdError(said % (end.number, its.number), other.span, None, self.source)
        known = [(a.left, a.right) for a in self.agreements]
        if (end, its) not in known:
            self.agreements.append(Agreement(end, its, said, other.span))

    def ambiguous(self, left: list[Index], accesses: Sequence[Access]) -> AdError:
        """The error for an index whose range stays open."""
        index = left[0]
        stands = [(a, d) for a in accesses for d, x in enumerate(a.subscripts) if x is not None and index in x.indices()]
        own = [g for g in self.given if g.index is index]
        if own:
            open_ = next(i.name for g in own for i in (*g.low.indices(), *g.high.indices()) if i in left)
            return AdError(f"the range of index '{index.name}' depends on '{open_}', which has no range", own[0].span,
                           "a range is made of sizes, whole numbers and other indices; a number of your own is "
                           f"input int32 {open_}", self.source)
        if not stands:
            return AdError(f"index '{index.name}' is in no read, so it has no range", None,
                           f"give it one, for example where {index.name} in 0:3", self.source)
        access, d = stands[0]
        x = access.subscripts[d]
        assert x is not None
        others = ", ".join(f"'{i.name}'" for i in left if i is not index and any(
            y is not None and {i, index} <= {*y.indices()} for a in accesses for y in a.subscripts))
        together = f" together with {others}" if others else ""
        return AdError(f"the range of index '{index.name}' is ambiguous: {text(x)} in dimension {d} of {access.tensor} "
                       f"(extent {text(access.extents[d])}) leaves it open{together}", access.span(d),
                       "give it one, for example where " + _offered(x, access.extents[d], [i for i in left if i in x.indices()]),
                       self.source)


def _ends(a: Affine, low: Affine, high: Affine, extent: Affine) -> tuple[Affine, Affine] | None:
    """The range of an index of slope `a` for which a subscript is inside, where the rest of it is at least `low` and at most
    `high`; None where the ends cannot be written."""
    top = extent - 1 - high
    if (c := a.number) is None:
        first, last = exact_quotient(low, a), exact_quotient(top, a) or exact_quotient(top - a + 1, a)
    else:
        first, last = (floor(low, c), floor(top, c)) if c > 0 else (floor(top, -c), floor(low, -c))
    return None if first is None or last is None else (-first, last + 1)


def outside(access: Access, domain: Domain, source: Source | None, verb: str = "read") -> AdError | None:
    """The error where a subscript is outside of its tensor whatever the sizes are, as far as that shows without numbers."""
    lengths = [(r.high - r.low).number for r in domain.ranges]
    if domain.guards or any(n is not None and n <= 0 for n in lengths):
        return None
    ends = ends_of(domain.ranges)
    for d, (x, extent) in enumerate(zip(access.subscripts, access.extents, strict=True)):
        if x is None:
            continue
        low, high = bounds(x, ends)
        beyond = (high - extent).number
        names = ", ".join(f"'{i.name}'" for i in x.indices())
        what = f"index {names}: " if names else ""
        if low.number is not None and low.number < 0:
            span, said = access.span(d), f"{what}subscript {text(x)} of {access.tensor} goes down to {low.number}"
            if x.number is None or span is None:
                least = f"{text(x - x.constant)} >= {-x.constant}, {text(x)} < {text(extent)}"
                help = f"to leave out what is not there write where {least}" if x.indices()[1:] and verb == "read" else None
                return AdError(said, span, help or "subscripts start at 0", source)
            return AdError(said, span, f"the first element is 0, and the last element is {text(extent - 1)}", source,
                           fix=Fix(*span, text(extent + x)))
        if beyond is not None and beyond >= 0:
            return AdError(f"{what}subscript {text(x)} of {access.tensor} goes up to {text(high)}, and dimension {d} has extent "
                           f"{text(extent)}", access.span(d), f"the last element {verb} can be {text(extent - 1)}", source)
    return None


def surely_inside(access: Access, domain: Domain) -> bool:
    """Whether all subscripts are inside for all sizes, as far as that shows without numbers."""
    return not ends_in_doubt(access, domain)


def ends_in_doubt(access: Access, domain: Domain) -> list[Affine]:
    """Expressions that must not be negative for all subscripts to be inside, where that does not show without numbers."""
    ends = ends_of(domain.ranges)
    found = []
    for x, extent in zip(access.subscripts, access.extents, strict=True):
        if x is not None:
            low, high = bounds(x, ends)
            found += [end for end, least in ((x, low), (extent - 1 - x, extent - 1 - high)) if not never_negative(least)]
    return found


def _offered(x: Affine, extent: Affine, open_: Sequence[Index]) -> str:
    """Ranges that `x` could have: the columns of a matrix that is laid out, and else all elements."""
    steep = {i: a for i in open_ if linear(x) and (a := slope(x, i)).number is None}
    if not steep:
        return f"{open_[0].name} in 0:{text(extent)}"
    width = text(next(iter(steep.values())))
    return ", ".join(f"{i.name} in 0:{3 if i in steep else width}" for i in open_)


def _natural(x: Affine) -> bool:
    """Whether an expression is surely not negative where no size is 0."""
    return x.constant + sum(c for _, c in x.terms) >= 0 and all(c > 0 and isinstance(a, str) for a, c in x.terms)
