"""Sums in parts: a sum of products by the indices that its factors have, and one over a triangle as running sums.

The terms of a triangle do not depend on the result's index, so they are added one by one in linear time:

    y(i) +=! x(j) where j in 0:i + 1            N² / 2 points

    a(0) = 0
    for j in 0:N { a(j + 1) = a(j) + x(j) }     N
    y(i) = a(i + 1)

A condition j <= i + c makes running sums from the start, j >= i + c from the end; products likewise. As the order of sums of
products is (sum_order.py), this is part of what a program means, and of derivatives.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, reduce
from operator import or_
from typing import NamedTuple

from adcli.lang.ir import Atom, Atoms, Equation, Lit, Param, Primitive, Program, Var, definitions, shape_of
from adcli.lang.ir.affine import Affine, Substitution, affine, bounds, never_negative, substituted
from adcli.lang.ir.build import Builder
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.records import value_record
from adcli.lang.operations.comprehension import (
    BodySource,
    Comprehension,
    Range,
    Read,
    all_fixed,
    atoms_in,
    body_of,
    corner,
    extent_of,
    fixed_indices,
    identity_body,
    in_reading_order,
    nested_reads,
)
from adcli.lang.operations.elementwise import compact, emit, running
from adcli.lang.sizes.ranges import Access, Domain, surely_inside

ADD, SUB, MUL, DIV, NEG = (TABLE[name] for name in ("add", "sub", "mul", "div", "neg"))
LONGEST_NAME = 24
"""Characters of a name made of those of factors."""


@value_record
class Factor:
    """A value in a body that the whole is multiplied or divided by."""

    atom: Atom
    divides: bool = False


@value_record
class ProductPart:
    """A product of factors and other parts, summed over the indices of its box that are not `kept`. `box` has a bit for each
    range; `place` is that of the first factor in the text; `cost` counts the points of all sums in it."""

    factors: tuple[Factor, ...]
    parts: tuple[ProductPart, ...]
    box: int
    kept: int
    cost: int = 0
    place: int = 0


def part(factors: Iterable[Factor], box: int, place: int = 0) -> ProductPart:
    """A product of factors with these indices."""
    return ProductPart(tuple(factors), (), box, box, 0, place)


def union(boxes: Iterable[int]) -> int:
    return reduce(or_, boxes, 0)


def box_of(op: Comprehension, sources: Iterable[BodySource]) -> int:
    """The ranges whose indices occur in sources or subscripts."""
    found = atoms_in(sources)
    return union(1 << k for k, r in enumerate(op.ranges) if r.index in found)


def boxes_of(op: Comprehension) -> dict[Atom, int]:
    """The ranges whose indices each value of a body has."""
    boxes: dict[Atom, int] = {p.var: box_of(op, [s]) for p, s in op.inputs()}
    for e in op.body.equations:
        boxes[e.outs[0]] = union(boxes.get(a, 0) for a in e.args)
    return boxes


def factored(op: Comprehension) -> tuple[list[Factor], bool]:
    """What the value of a body is the product of, in the order of the text, and whether it is negated."""
    made = definitions(op.body.equations)
    uses = Counter(a for e in op.body.equations for a in e.args)
    found, negated = [], False
    stack = [Factor(op.body.results[0].atom)]
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


def grouped(op: Comprehension, found: Iterable[Factor]) -> tuple[list[ProductPart], list[Factor]]:
    """Factors by their indices, and those that have none."""
    boxes = boxes_of(op)
    groups: dict[int, list[tuple[int, Factor]]] = {}
    for place, f in enumerate(found):
        groups.setdefault(boxes.get(f.atom, 0), []).append((place, f))
    constant = [f for _, f in groups.pop(0, [])]
    return [part([f for _, f in each], box, each[0][0]) for box, each in groups.items()], constant


def sources_of(op: Comprehension, values: Iterable[Atom]) -> list[BodySource]:
    """The sources that values of a body are made of."""
    needed = set(values)
    for e in reversed(op.body.equations):
        if not needed.isdisjoint(e.outs):
            needed.update(e.args)
    return [s for p, s in op.inputs() if p.var in needed]


def reads_inside(e: Equation[Comprehension], sources: Iterable[BodySource], agreed: Substitution) -> bool:
    """Whether these reads are inside of their tensors for all sizes; `agreed` are sizes that are equal to others. What else is
    inside is so only where no range is empty, and a part of the sum with fewer ranges would read what the whole does not."""
    op = e.op

    def same(x: Affine) -> Affine:
        return substituted(x, agreed)
    domain = Domain(tuple([replace(r, low=same(r.low), high=same(r.high)) for r in op.ranges]), (), ())
    for s in nested_reads(sources):
        subscripts = tuple([same(x) for x in s.subscripts if isinstance(x, Affine)])
        shape = tuple(map(same, shape_of(e.args[s.arg])))
        if len(subscripts) < len(s.subscripts) or not surely_inside(Access("", shape, subscripts), domain):
            return False
    return True


@cache
def calls(op: Primitive) -> bool:
    """Whether an operation takes a call of a function, by itself or by its definition."""
    if op.value is None or op.static:
        return op.libm is not None and op.ulps != 0
    b = Builder()
    op.value(*[b.expr(Var(None, True, op.kind(k) == "t")) for k in range(op.arity)])
    return any(calls(x.op) for x in b.equations)


# ---------------------------------------------------------------- what is written

class SplitSum:
    """The equations that come instead of one."""

    def __init__(self, e: Equation[Comprehension]) -> None:
        self.e, self.op, self.done = e, e.op, list[Equation]()

    def equations(self, node: ProductPart, constant: Sequence[Factor] = (), negated: bool = False) -> list[Equation]:
        """The sum that a part is, with constant factors, in place of the whole."""
        op, args = self.comprehension(node, constant, negated)
        once = self.op.onto is None and all_fixed(op.ranges, self.op.write)
        whole = replace(op, write=self.op.write, shape=self.op.shape, onto=self.op.onto, reduction="=" if once else "+")
        if once and not (whole.shape or whole.ranges or whole.guards):
            self.add_scalars(whole, args)
        else:
            self.add(whole, args, self.e.outs[0])
        return self.done

    def reading(self, values: Sequence[tuple[Var, int, str]]) -> list[Equation]:
        """The sum that reads values of its body, each with its box and a word for its name, from tensors made before it."""
        op, args = self.op, [*self.e.args]
        for v, box, word in values:
            op = self.with_tensor(op, args, part([Factor(v)], box), v, word)
        made = {v for v, _, _ in values}
        body = replace(op.body, equations=tuple([x for x in op.body.equations if made.isdisjoint(x.outs)]))
        self.add(replace(op, body=body, agreements=()), args, self.e.outs[0])
        return self.done

    def comprehension(self, node: ProductPart, constant: Sequence[Factor] = (), negated: bool = False
                      ) -> tuple[Comprehension, list[Atom]]:
        """The sum that a part is, to be written, behind the equations of the parts in it."""
        op, args, values = self.op, [*self.e.args], [*constant, *node.factors]
        for p in node.parts:
            if not p.parts:
                values += p.factors
                continue
            op = self.with_tensor(op, args, p)
            values.append(Factor(op.body.params[-1].var))
        lines, value = product(values, negated)
        guards = tuple([g for g in self.op.guards if not box_of(self.op, [g]) & ~node.box])   # others are of what reads this
        return replace(op, ranges=self.ranges(node.box), guards=guards, onto=None, agreements=(),
                       body=body_of(value, op.body.params, (*op.body.equations, *lines))), args

    def with_tensor(self, op: Comprehension, args: list[Atom], p: ProductPart, value: Var | None = None, word: str = ""
                    ) -> Comprehension:
        """The comprehension with a source more, a part that is a tensor of its own and joins `args`."""
        tensor, here = self.tensor(p, word)
        new = fresh_parameter(op.body)
        body = replace(op.body, params=(*op.body.params, new if value is None else replace(new, var=value)))
        args.append(tensor)
        return replace(op, sources=(*op.sources, Read(len(args) - 1, here)), body=body)

    def tensor(self, node: ProductPart, word: str = "") -> tuple[Var, tuple[Affine, ...]]:
        """The value of a part, by an equation of its own, and the subscripts of its element at a point."""
        op, args = self.comprehension(node)
        if node.kept == node.box:
            op = replace(op, reduction="=")
        kept = self.ranges(node.kept)
        whole = node.kept == box_of(self.op, self.op.write)
        here, shape = corner(kept if whole else [r for r in in_reading_order(replace(op, write=())).ranges if r in kept])
        out = Var(self.name(node, word), True, False, shape)
        self.add(replace(op, write=here, shape=shape), args, out)
        return out, here

    def add(self, op: Comprehension, args: Sequence[Atom], out: Var) -> None:
        """Append an equation; the first one has what must agree, so that this is what is said where it does not."""
        op = op if self.done else replace(op, agreements=self.op.agreements)
        op, args = compact(in_reading_order(op), tuple(args))
        self.done.append(self.e.with_op(op, args, (out,)))

    # An equation without indices, as equations of numbers.

    def add_scalars(self, op: Comprehension, args: Sequence[Atom]) -> None:
        """Append a body as equations of numbers."""
        op, args = compact(op, tuple(args))
        env: dict[Atom, Atom] = {op.body.results[0].atom: self.e.outs[0]}
        for p, s in op.inputs():
            if isinstance(s, Read):
                env[p.var] = self.identity(op, args, s) if s.subscripts else args[s.arg]
            else:
                env[p.var] = self.number(op, s)
        for out in (out for x in op.body.equations for out in x.outs):   # a body may be that of several equations
            env.setdefault(out, Var(out.name, True, out.truth))
        self.done += [Equation(x.outs, x.op, x.args, self.e.span, self.e.group).substituted(env) for x in op.body.equations]

    def identity(self, op: Comprehension, args: Sequence[Atom], source: BodySource) -> Var:
        """The value of a source that has no indices."""
        param, out = Param(Var("x0"), "x0"), Var(None, True)
        self.add(replace(op, sources=(source,), body=body_of(param.var, [param])), args, out)
        return out

    def number(self, op: Comprehension, x: Affine) -> Atom:
        """The value of an expression of sizes."""
        found: Atom | None = None
        for a, c in x.terms:
            term: Atom = self.identity(op, (), affine(a))
            term = term if c == 1 else self.line(MUL, Lit(float(c)), term)
            found = term if found is None else self.line(ADD, found, term)
        if found is None or x.constant == 0:
            return found or Lit(float(x.constant))
        return self.line(ADD if x.constant > 0 else SUB, found, Lit(float(abs(x.constant))))

    def line(self, op: Primitive, *args: Atom) -> Var:
        """Append an equation of numbers."""
        self.done.append(self.e.with_op(op, args, (Var(None, True),)))
        return self.done[-1].outs[0]

    # Ranges and names.

    def ranges(self, box: int) -> tuple[Range, ...]:
        return tuple([r for k, r in enumerate(self.op.ranges) if box >> k & 1])

    def name(self, node: ProductPart, word: str) -> str:
        """A name made of a word and those of the tensors that a value is made of."""
        names = [word, *self.names(node)] if word else self.names(node)
        said = "_".join(names) if len(names) > 1 else f"sum_{names[0]}" if names else ""
        return said if 0 < len(said) <= LONGEST_NAME else f"{self.e.outs[0].name or 't'}_part"

    def names(self, node: ProductPart) -> list[str]:
        """The names of the tensors whose elements a part is made of."""
        results = tuple([replace(self.op.body.results[0], atom=f.atom) for f in node.factors])
        read = compact(replace(self.op, write=(), onto=None, body=replace(self.op.body, results=results)), self.e.args)[1]
        own = [a.name or "t" for a in read if isinstance(a, Var) and not a.integer]
        return [*own, *(n for p in node.parts for n in self.names(p))]


def fresh_parameter(body: Program) -> Param:
    """A parameter with a name that no other has."""
    names, count = {p.name for p in body.params}, len(body.params)
    name = next(name for k in range(count, 2 * count + 1) if (name := f"t{k}") not in names)
    return Param(Var(name), name)


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


# ---------------------------------------------------------------- sums over triangles

class Triangle(NamedTuple):
    """An index of the result, the row, and how far the sum of each goes: over the part of a range below the `end` of its index,
    or from there on where it is `down`."""

    row: Range
    along: Range
    end: Affine
    down: bool


def linear(e: Equation[Comprehension], fewest: int, agreed: Substitution) -> Iterator[Equation]:
    """A sum over a triangle of at least so many points as a loop and a copy; any other equation as it is. `agreed` are sizes that
    are equal to others."""
    op = e.op
    found = triangle(op) if op.reduction in ("+", "*") and len(op.guards) == 1 else None
    if found is None or _few(found, fewest) or not reads_inside(e, op.sources, agreed):
        yield e
        return
    b = Builder()
    b.span, b.group = e.span, e.group
    fixed = fixed_indices(op.ranges, op.write)
    shared = tuple([r for r in op.ranges if r.index in fixed and r is not found.row])
    terms, args = _terms(b, replace(op, onto=None), e.args, found.along, shared)
    partial = running(b, terms, args, found.down)
    read = Read(0, (found.end - found.along.low, *corner(shared)[0]))
    copy = replace(op, ranges=tuple([r for r in op.ranges if r.index in fixed]), guards=(), sources=(read,), body=identity_body(),
                   reduction="=" if op.reduction == "+" and op.onto is None else op.reduction,
                   onto=None if op.onto is None else 1)
    onto = () if op.onto is None else (e.args[op.onto],)
    yield from b.equations
    yield e.with_op(copy, (partial, *onto))


def triangle(op: Comprehension) -> Triangle | None:
    """The triangle that the guard of a reduction makes, if the body is the same for every index of the result."""
    if not all(isinstance(s, Affine) for s in op.write):
        return None
    (guard,), fixed = op.guards, fixed_indices(op.ranges, op.write)
    ranges = {r.index: r for r in op.ranges}
    mine, its = ([i for i in guard.indices() if (i in fixed) is kept] for kept in (True, False))
    if len(mine) != 1 or len(its) != 1 or mine[0] in atoms_in(op.sources) or not fixed.issuperset(atoms_in(op.write) & {*ranges}):
        return None
    i, j = ranges[mine[0]], ranges[its[0]]
    slopes = guard.coefficient(i.index), guard.coefficient(j.index)
    if slopes not in ((1, -1), (-1, 1)) or len(guard.terms) != 2:
        return None
    down = slopes[0] < 0
    end = affine(i.index) + (-guard.constant if down else guard.constant + 1)   # j < end, or j >= end
    least, most = bounds(end, {i.index: (i.low, i.high - 1)})
    if not never_negative(least - j.low) or not never_negative(j.high - most) or j.low.number is None:
        return None
    used = replace(j, low=least) if down else replace(j, high=most)   # of a term that no sum takes, nobody may hear
    return None if used.low.number is None else Triangle(i, used, end, down)


def _few(found: Triangle, fewest: int) -> bool:
    """Whether a triangle is known to have fewer points than it takes to be worth a loop."""
    n, m = extent_of(found.row).number, extent_of(found.along).number
    return n is not None and m is not None and n * m < fewest


def _terms(b: Builder, op: Comprehension, args: Atoms, along: Range, shared: tuple[Range, ...]
           ) -> tuple[Comprehension, Atoms]:
    """What is added step by step: elements that are there, or a tensor of what is made of them, other indices reduced."""
    fixed = fixed_indices(op.ranges, op.write)
    others = tuple([r for r in op.ranges if r.index not in fixed and r.index is not along.index])
    plain = replace(op, ranges=(along, *others, *shared), guards=())
    if not others and not op.body.equations:
        return compact(replace(plain, write=(), shape=()), args)
    here, extents = corner((along, *shared))
    kept = emit(b, replace(plain, write=here, shape=extents, reduction=op.reduction if others else "="), args).atom
    read = Read(0, here)
    return replace(plain, ranges=(along, *shared), sources=(read,), body=identity_body()), (kept,)
