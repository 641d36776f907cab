"""In what order sums of products are taken.

    s +=! x(i) * A(i, j) * B(j, k) * y(k)        N³ points
    x_A(j) +=! x(i) * A(i, j)                    N²
    B_y(j) +=! B(j, k) * y(k)                    N²
    s +=! x_A(j) * B_y(j)                        N

A sum over products of several factors is split into sums over fewer where that at least halves the number of points: the
least number for up to MOST_TRIED groups of factors, by dynamic programming over their subsets, and beyond that pair by pair, the
cheapest first, both as in opt_einsum (Smith and Gray, Journal of Open Source Software 3(26), 2018). An extent that is a number
counts as it is and a size as TYPICAL_SIZE, so that the degree in sizes decides, and between equal orders that of the text. No
tensor is made that is larger than those that are there. Comprehensions under guards, those that read or write through integers,
and those whose reads are inside of their tensors for some sizes only, stay as they are.

The order is part of what a program means: the evaluator and native code have the same. Derivatives are ordered as well, so that
a text of one that is read again is the same program.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from operator import or_

from adcli.lang.ir import Atom, Equation, Lit, Param, Primitive, Program, Var
from adcli.lang.ir.affine import Affine, Index, affine, atoms, substituted, value
from adcli.lang.ir.comprehension import (
    Agreement,
    BodySource,
    Comprehension,
    Range,
    Read,
    all_fixed,
    atoms_in,
    body_of,
    corner,
    in_reading_order,
)
from adcli.lang.ir.elementwise import compact, shape_of
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.ranges import Access, Domain, surely_inside
from adcli.lang.ir.recurrence import Recurrence, at_one_step

MUL, DIV, NEG = TABLE["mul"], TABLE["div"], TABLE["neg"]
TYPICAL_SIZE = 1000
"""What a size counts as where points are counted before it is known."""
FEWEST_POINTS = 1000
"""Sums over fewer points stay as they are written."""
MOST_TRIED = 6
"""Groups of factors of which every order is counted."""
AS_LARGE = 4
"""How many times as large a tensor may be as the largest that is there and still count as no larger: N + K - 1 beside N."""
LONGEST_NAME = 24
"""Characters of a name made of those of factors."""


def contracted(program: Program) -> Program:
    """The program with its sums of products in the order of least cost, unless its text is to be taken as written; itself where
    nothing changes. The indices of every comprehension are in the order in which they are read."""
    exact, changed = program.source is not None and program.source.exact_order, False
    equations: list[Equation] = []
    agreed: dict[Index | str, Affine] = {}
    for e in program.equations:
        read = as_read(e)
        if isinstance(read.op, Comprehension) and not exact:
            for a in read.op.agreements:
                agree(agreed, a)
            equations += ordered(read, agreed)
        else:
            equations.append(read)
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
        parts = split(first, agreed)
        if parts is None:
            yield first
        else:
            todo += reversed(parts)


# ---------------------------------------------------------------- what is counted

@dataclass(frozen=True, slots=True)
class Factor:
    """A value in a body that the whole is multiplied or divided by."""

    atom: Atom
    divides: bool


@dataclass(frozen=True, slots=True)
class FactorGroup:
    """Factors that have the same indices; `box` are bits, one for each range. `place` is where the first of them stands. A group
    without factors is for indices that only the result has."""

    factors: tuple[Factor, ...]
    box: int
    place: int

    @property
    def kept(self) -> int:
        return self.box


@dataclass(frozen=True, slots=True)
class ProductSum:
    """The product of groups and of other nodes, summed over the indices of its box that are not `kept`; `cost` counts the points
    of all sums in it."""

    parts: tuple[FactorGroup | ProductSum, ...]
    box: int
    kept: int
    cost: int

    @property
    def place(self) -> int:
        return min(p.place for p in self.parts)


Part = FactorGroup | ProductSum


@dataclass(frozen=True, slots=True)
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


def union(boxes: Iterable[int]) -> int:
    return reduce(or_, boxes, 0)


def size_of(extent: Affine) -> int:
    """An extent as a number."""
    return max(1, value(extent, dict.fromkeys(atoms(extent), TYPICAL_SIZE)))


def box_of(op: Comprehension, sources: Iterable[BodySource]) -> int:
    """The ranges whose indices occur in sources or subscripts."""
    found = atoms_in(sources)
    return union(1 << k for k, r in enumerate(op.ranges) if r.index in found)


def factored(op: Comprehension) -> tuple[list[Factor], bool]:
    """What the value of a body is the product of, in the order of the text, and whether it is negated."""
    made = {e.outs[0]: e for e in op.body.equations}
    uses = Counter(a for e in op.body.equations for a in e.args)
    found, negated = [], False
    stack = [Factor(op.body.results[0].atom, False)]
    while stack:
        f = stack.pop()
        e = made.get(f.atom) if isinstance(f.atom, Var) and uses[f.atom] <= 1 else None
        if e is not None and e.op in (MUL, DIV):
            stack += [Factor(e.args[1], f.divides != (e.op is DIV)), Factor(e.args[0], f.divides)]
        elif e is not None and e.op is NEG:
            negated = not negated
            stack.append(Factor(e.args[0], f.divides))
        else:
            found.append(f)
    return found, negated


def grouped(op: Comprehension, found: Iterable[Factor]) -> tuple[list[FactorGroup], list[Factor]]:
    """Factors by their indices, and those that have none."""
    boxes: dict[Atom, int] = {p.var: box_of(op, [s]) for p, s in zip(op.body.params, op.sources, strict=True)}
    for e in op.body.equations:
        boxes[e.outs[0]] = union(boxes.get(a, 0) for a in e.args)
    groups: dict[int, list[tuple[int, Factor]]] = {}
    for place, f in enumerate(found):
        groups.setdefault(boxes.get(f.atom, 0), []).append((place, f))
    constant = [f for _, f in groups.pop(0, [])]
    return [FactorGroup(tuple([f for _, f in each]), box, each[0][0]) for box, each in groups.items()], constant


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
    largest = max([prod(map(size_of, a.shape)) for a in (*e.args, *e.outs) if isinstance(a, Var)])
    counting = Counting(tuple([size_of(r.high - r.low) for r in op.ranges]), out, AS_LARGE * largest)
    whole, least = counting.points(every), max([counting.points(box) for box in (out, *[g.box for g in groups])])
    if whole < FEWEST_POINTS or 2 * least > whole or union(g.box for g in groups) != every:
        return None
    node = (cheapest if len(groups) <= MOST_TRIED else pairwise)(groups, counting)
    if node is None or 2 * node.cost > whole or not reads_inside(e, agreed):
        return None
    return SplitSum(e).equations(flat(node), constant, negated)


def reads_inside(e: Equation, agreed: Mapping[Index | str, Affine]) -> bool:
    """Whether every read is inside of its tensor for all sizes. Others are known to be so only where no range is empty, and a
    part of the sum that has not all ranges would read what the whole does not."""
    op = e.op
    assert isinstance(op, Comprehension)

    def same(x: Affine) -> Affine:
        return substituted(x, agreed)
    domain = Domain(tuple([replace(r, low=same(r.low), high=same(r.high)) for r in op.ranges]), (), ())
    for _, s in op.reads():
        subscripts = tuple([same(x) for x in s.subscripts if isinstance(x, Affine)])
        shape = tuple(map(same, shape_of(e.args[s.arg])))
        if len(subscripts) < len(s.subscripts) or not surely_inside(Access("", shape, subscripts), domain):
            return False
    return True


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


# ---------------------------------------------------------------- what is written

class SplitSum:
    """The equations that come instead of one."""

    def __init__(self, e: Equation) -> None:
        assert isinstance(e.op, Comprehension)
        self.e, self.op, self.done = e, e.op, list[Equation]()

    def equations(self, node: ProductSum, constant: Sequence[Factor], negated: bool) -> list[Equation]:
        op, args = self.comprehension(node, constant, negated)
        once = self.op.onto is None and all_fixed(op.ranges, self.op.write)
        self.add(replace(op, write=self.op.write, shape=self.op.shape, onto=self.op.onto, reduction="=" if once else "+"), args,
                 self.e.outs[0])
        return self.done

    def add(self, op: Comprehension, args: Sequence[Atom], out: Var) -> None:
        """Append an equation; the first one has what must agree, so that this is what is said where it does not."""
        op = op if self.done else replace(op, agreements=self.op.agreements)
        op, args = compact(in_reading_order(op), tuple(args))
        self.done.append(Equation((out,), op, tuple(args), self.e.span, self.e.group))

    def comprehension(self, node: ProductSum, constant: Sequence[Factor] = (), negated: bool = False
                      ) -> tuple[Comprehension, list[Atom]]:
        """The sum that a node is, to be written, behind the equations of the nodes in it."""
        body, sources, params, args = self.op.body, list(self.op.sources), list(self.op.body.params), list(self.e.args)
        values = list(constant)
        for p in node.parts:
            if isinstance(p, FactorGroup):
                values += p.factors
                continue
            tensor, here = self.tensor(p)
            params.append(Param(Var(f"t{len(params)}"), f"t{len(params)}"))
            sources.append(Read(len(args), here))
            args.append(tensor)
            values.append(Factor(params[-1].var, False))
        lines, value = product(values, negated)
        op = replace(self.op, ranges=self.ranges(node.box), sources=tuple(sources), onto=None, agreements=(),
                     body=body_of(value, params, (*body.equations, *lines)))
        return op, args

    def tensor(self, node: ProductSum) -> tuple[Var, tuple[Affine, ...]]:
        """The value of a node, by an equation of its own, and the subscripts of its element at a point."""
        op, args = self.comprehension(node)
        kept = self.ranges(node.kept)
        here, shape = corner(r for r in in_reading_order(replace(op, write=())).ranges if r in kept)
        out = Var(self.name(node), True, False, shape)
        self.add(replace(op, write=here, shape=shape), args, out)
        return out, here

    def ranges(self, box: int) -> tuple[Range, ...]:
        return tuple([r for k, r in enumerate(self.op.ranges) if box >> k & 1])

    def name(self, node: ProductSum) -> str:
        """A name made of those of the tensors that are multiplied."""
        names = self.names(node)
        said = "_".join(names) if len(names) > 1 else f"sum_{names[0]}" if names else ""
        return said if 0 < len(said) <= LONGEST_NAME else f"{self.e.outs[0].name or 't'}_part"

    def names(self, node: ProductSum) -> list[str]:
        return [n for p in node.parts for n in (self.names(p) if isinstance(p, ProductSum) else self.names_in(p.factors))]

    def names_in(self, found: Iterable[Factor]) -> list[str]:
        """The names of the tensors whose elements factors are made of."""
        read = compact(replace(self.op, write=(), onto=None, body=replace(self.op.body, results=tuple(
            [replace(self.op.body.results[0], atom=f.atom) for f in found]))), self.e.args)[1]
        return [a.name or "t" for a in read if isinstance(a, Var) and not a.integer]


def product(values: Sequence[Factor], negated: bool) -> tuple[list[Equation], Atom]:
    """The lines that multiply values from left to right and then divide, and what they make."""
    lines: list[Equation] = []

    def line(op: Primitive, *args: Atom) -> Var:
        lines.append(Equation((Var(None, True),), op, args))
        return lines[-1].outs[0]
    above = [f.atom for f in values if not f.divides] or [Lit(1.0)]
    made = reduce(lambda x, y: line(MUL, x, y), above)
    made = reduce(lambda x, y: line(DIV, x, y), [f.atom for f in values if f.divides], made)
    return (lines, line(NEG, made)) if negated else (lines, made)
