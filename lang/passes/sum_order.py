"""In what order sums of products are taken.

    s +=! x(i) * A(i, j) * B(j, k) * y(k)        N³ points
    x_A(j) +=! x(i) * A(i, j)                    N²
    B_y(j) +=! B(j, k) * y(k)                    N²
    s +=! x_A(j) * B_y(j)                        N

A sum over products of several factors is split into sums over fewer where that at least halves the number of points: the
least number for up to MOST_TRIED groups of factors, by dynamic programming over their subsets, and beyond that pair by pair, the
cheapest first, both as in opt_einsum (Smith and Gray, Journal of Open Source Software 3(26), 2018). An extent that is a number
counts as it is and a size as TYPICAL_SIZE, so that the degree in sizes decides, and between equal orders that of the text. No
tensor is made that is larger than those that are there. What is left of a sum that its indices do not change goes beside it
(`adcli.lang.passes.invariant`). Comprehensions under guards, those that read or write through integers,
and those whose reads are inside of their tensors for some sizes only, stay as they are; but what is summed for one element that
an integer names is summed before the element is looked up:

    s(dst(e), j) +=! x(src(e), d) * W(d, j)      x_W(e, j) +=! x(src(e), d) * W(d, j)
                                                 s(dst(e), j) +=! x_W(e, j)

The order is part of what a program means: the evaluator and native code have the same. Derivatives are ordered as well, so that
a text of one that is read again is the same program.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from adcli.lang.ir import Equation, Primitive, Program, Var
from adcli.lang.ir.affine import Affine, Index, affine, atoms, substituted, value
from adcli.lang.ir.comprehension import Agreement, Comprehension, Read, in_reading_order
from adcli.lang.ir.records import value_record
from adcli.lang.ir.recurrence import Recurrence, at_one_step
from adcli.lang.passes.invariant import apart
from adcli.lang.passes.marginal_sums import MarginalSums
from adcli.lang.passes.prefix_sums import linear
from adcli.lang.passes.product_sums import (
    Factor,
    FactorGroup,
    Part,
    ProductSum,
    SplitSum,
    box_of,
    factored,
    grouped,
    reads_inside,
    union,
)

TYPICAL_SIZE = 1000
"""What a size counts as where points are counted before it is known."""
FEWEST_POINTS = 1000
"""Sums over fewer points stay as they are written."""
MOST_TRIED = 6
"""Groups of factors of which every order is counted."""
AS_LARGE = 4
"""How many times as large a tensor may be as the largest that is there and still count as no larger: N + K - 1 beside N."""


def contracted(program: Program) -> Program:
    """The program with its sums of products in the order of least cost, unless its text is to be taken as written; itself where
    nothing changes. The indices of every comprehension are in the order in which they are read."""
    exact, changed = program.source is not None and program.source.exact_order, False
    equations: list[Equation] = []
    agreed: dict[Index | str, Affine] = {}
    sums = MarginalSums()
    for e in program.equations:
        read = as_read(e)
        if isinstance(read.op, Comprehension) and not exact:
            for a in read.op.agreements:
                agree(agreed, a)
            parts = [sums.read(each) for each in ordered(read, agreed)]
            equations += [as_read(x) for each in parts for x in linear(each, FEWEST_POINTS, agreed)]
        else:
            equations.append(read if exact else sums.read(read))
        changed = changed or equations[-1] is not e
    return replace(program, equations=tuple(equations)) if changed else program


def as_read(e: Equation) -> Equation:
    """An equation with the indices of its comprehensions in the order in which they are read; the step of a loop is the first."""
    op: Primitive = e.op
    if isinstance(op, Comprehension):
        op = in_reading_order(op)
    elif isinstance(op, Recurrence):
        statements = tuple([statement_as_read(s, op.step) for s in op.statements])
        op = op if statements == op.statements else replace(op, statements=statements)
    return e if op is e.op else Equation(e.outs, op, e.args, e.span, e.group)


def statement_as_read(s: Equation, step: Index) -> Equation:
    if not isinstance(s.op, Comprehension):
        return s
    op = in_reading_order(at_one_step(s.op, step))
    ranges = (s.op.ranges[0], *op.ranges)
    return s if ranges == s.op.ranges else Equation(s.outs, replace(op, ranges=ranges), s.args, s.span, s.group)


def ordered(e: Equation, agreed: Mapping[Index | str, Affine]) -> Iterator[Equation]:
    """A sum as several, until none of them can be made of fewer points; `agreed` are sizes that are equal to others."""
    todo = [e]
    while todo:
        first = todo.pop()
        op = first.op
        parts = split(first, agreed) or apart(first, agreed) or scattered(first, op) if isinstance(op, Comprehension) else None
        if parts is None:
            yield first
        else:
            todo += reversed(parts)


# ---------------------------------------------------------------- what is counted

@value_record
class Counting:
    """How many points boxes have. `out` are the indices of the result, `most` the elements that a tensor may have."""

    extents: tuple[int, ...]
    out: int
    most: int

    def points(self, box: int) -> int:
        return prod([n for k, n in enumerate(self.extents) if box >> k & 1])

    def summed(self, parts: tuple[Part, ...], others: int) -> ProductSum | None:
        """The product of parts, summed over the indices that neither the result nor the `others` have. None where it would be too
        large a tensor; where nothing is summed over, it is none."""
        box = union(p.kept for p in parts)
        kept = box & (self.out | others)
        if kept != box and self.points(kept) > self.most:
            return None
        return ProductSum(parts, box, kept, self.points(box) + sum(p.cost for p in parts if isinstance(p, ProductSum)))

    def single(self, g: FactorGroup, others: int) -> list[Part]:
        """A group as part of a product: as it is, or summed over the indices that it alone has."""
        node = self.summed((g,), others)
        return [g] if node is None or node.kept == node.box else [g, node]


def size_of(extent: Affine) -> int:
    """An extent as a number."""
    return max(1, value(extent, dict.fromkeys(atoms(extent), TYPICAL_SIZE)))


# ---------------------------------------------------------------- the order

def split(e: Equation, agreed: Mapping[Index | str, Affine]) -> list[Equation] | None:
    """The equations that compute a sum of products over fewer points, the last of them what `e` defines; None where it stays."""
    op = e.op
    assert isinstance(op, Comprehension)
    if op.reduction != "+" or op.guards or len(op.ranges) < 2:
        return None
    out, every = box_of(op, op.write), (1 << len(op.ranges)) - 1
    if out == every or not all(isinstance(s, Affine) for s in op.write):
        return None
    found, negated = factored(op)
    groups, constant = grouped(op, found)
    alone = out & ~union(g.box for g in groups)
    groups += [FactorGroup((), alone, len(found))] if alone else []
    if len(groups) < 2:
        return None
    counting = counted(e, op, out)
    whole, least = counting.points(every), max([counting.points(box) for box in (out, *[g.box for g in groups])])
    if whole < FEWEST_POINTS or 2 * least > whole or union(g.box for g in groups) != every:
        return None
    node = (cheapest if len(groups) <= MOST_TRIED else pairwise)(groups, counting)
    if node is None or 2 * node.cost > whole or not reads_inside(e, op.sources, agreed):
        return None
    return SplitSum(e).equations(flat(node), constant, negated)


def scattered(e: Equation, op: Comprehension) -> list[Equation] | None:
    """What a scatter adds to one element in one place as a sum of its own, and the scatter of these sums; None where that is no
    scatter, or there is too little to sum."""
    out, every = box_of(op, op.write), (1 << len(op.ranges)) - 1
    if op.reduction != "+" or not any(isinstance(s, Read) for s in op.write) or box_of(op, op.guards) & ~out:
        return None
    counting = counted(e, op, out)
    whole, places = counting.points(every), counting.points(out)
    if whole < FEWEST_POINTS or 2 * places > whole or places > counting.most:
        return None
    terms = FactorGroup((Factor(op.body.results[0].atom, False),), every, 0)
    return SplitSum(e).equations(ProductSum((ProductSum((terms,), every, out, whole),), out, out, whole + places), (), False)


def counted(e: Equation, op: Comprehension, out: int) -> Counting:
    """How a sum with these indices of the result is counted."""
    largest = max([prod(map(size_of, a.shape)) for a in (*e.args, *e.outs) if isinstance(a, Var)])
    return Counting(tuple([size_of(r.high - r.low) for r in op.ranges]), out, AS_LARGE * largest)


def agree(agreed: dict[Index | str, Affine], a: Agreement) -> None:
    """Enter that two extents are the same number, where one of them is a size: one of all that are equal stands for them."""
    left, right = substituted(a.left, agreed), substituted(a.right, agreed)
    for one, other in ((left, right), (right, left)):
        name = one.terms[0][0] if one.terms else None
        if isinstance(name, str) and one == affine(name) and name not in atoms(other):
            agreed |= {n: substituted(x, {name: other}) for n, x in agreed.items()}
            agreed[name] = other
            return


def cheapest(groups: Sequence[FactorGroup], counting: Counting) -> ProductSum | None:
    """The order of the fewest points of all: for each set of groups the cheapest of its two parts, sets of few groups first."""
    count = len(groups)
    outside = [union([g.box for k, g in enumerate(groups) if not chosen >> k & 1]) for chosen in range(1 << count)]
    best: dict[int, Sequence[Part]] = {1 << k: counting.single(g, outside[1 << k]) for k, g in enumerate(groups)}
    for chosen in sorted(range(1, 1 << count), key=int.bit_count)[count:]:
        first = chosen & -chosen
        left = (chosen - 1) & chosen
        nodes = []
        while left:
            if left & first:
                nodes += [counting.summed((a, b), outside[chosen]) for a in best[left] for b in best[chosen ^ left]]
            left = (left - 1) & chosen
        possible = [n for n in nodes if n is not None]
        best[chosen] = [min(possible, key=lambda n: n.cost)] if possible else []
    found = best[(1 << count) - 1]
    return found[-1] if found and isinstance(found[-1], ProductSum) else None


def pairwise(groups: Sequence[FactorGroup], counting: Counting) -> ProductSum | None:
    """Always the pair whose product takes the fewest points."""
    def others(*taken: Part) -> int:
        return union([p.kept for p in parts if p not in taken])
    parts: list[Part] = list(groups)
    parts = [counting.single(g, others(g))[-1] for g in groups]
    while len(parts) > 1:
        pairs = [counting.summed((a, b), others(a, b)) for k, a in enumerate(parts) for b in parts[k + 1:]]
        node = min([n for n in pairs if n is not None], key=lambda n: counting.points(n.box), default=None)
        if node is None:
            return None
        parts = [node if p is node.parts[0] else p for p in parts if p is not node.parts[1]]
    return parts[0] if isinstance(parts[0], ProductSum) else None


def flat(node: ProductSum) -> ProductSum:
    """The node in whose product those that nothing is summed over have their factors, in the order of the text."""
    parts: list[Part] = []
    for p in node.parts:
        if isinstance(p, ProductSum):
            p = flat(p)
            parts += p.parts if p.kept == p.box else [p]
        else:
            parts.append(p)
    return replace(node, parts=tuple(sorted(parts, key=lambda p: p.place)))


