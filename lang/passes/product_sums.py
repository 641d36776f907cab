"""Sums of products, taken apart and put together: the factors that a body is the product of, by the indices that they have,
and the equations that come in place of one sum when it is taken in parts."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_

from adcli.lang.ir import Atom, Equation, Lit, Param, Primitive, Var, shape_of
from adcli.lang.ir.affine import Affine, Index, affine, substituted
from adcli.lang.ir.comprehension import (
    BodySource,
    Comprehension,
    Range,
    Read,
    all_fixed,
    atoms_in,
    body_of,
    corner,
    in_reading_order,
    nested_reads,
)
from adcli.lang.ir.elementwise import compact
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.records import value_record
from adcli.lang.sizes.ranges import Access, Domain, surely_inside

ADD, SUB, MUL, DIV, NEG = (TABLE[name] for name in ("add", "sub", "mul", "div", "neg"))
LONGEST_NAME = 24
"""Characters of a name made of those of factors."""


# ---------------------------------------------------------------- factors

@value_record
class Factor:
    """A value in a body that the whole is multiplied or divided by."""

    atom: Atom
    divides: bool


@value_record
class FactorGroup:
    """Factors that have the same indices; `box` are bits, one for each range. `place` is where the first of them stands. A group
    without factors is for indices that only the result has."""

    factors: tuple[Factor, ...]
    box: int
    place: int

    @property
    def kept(self) -> int:
        return self.box


@value_record
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


def union(boxes: Iterable[int]) -> int:
    return reduce(or_, boxes, 0)


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


def boxes_of(op: Comprehension) -> dict[Atom, int]:
    """The ranges whose indices each value of a body has."""
    boxes: dict[Atom, int] = {p.var: box_of(op, [s]) for p, s in zip(op.body.params, op.sources, strict=True)}
    for e in op.body.equations:
        boxes[e.outs[0]] = union(boxes.get(a, 0) for a in e.args)
    return boxes


def grouped(op: Comprehension, found: Iterable[Factor]) -> tuple[list[FactorGroup], list[Factor]]:
    """Factors by their indices, and those that have none."""
    boxes = boxes_of(op)
    groups: dict[int, list[tuple[int, Factor]]] = {}
    for place, f in enumerate(found):
        groups.setdefault(boxes.get(f.atom, 0), []).append((place, f))
    constant = [f for _, f in groups.pop(0, [])]
    return [FactorGroup(tuple([f for _, f in each]), box, each[0][0]) for box, each in groups.items()], constant


def reads_inside(e: Equation, sources: Iterable[BodySource], agreed: Mapping[Index | str, Affine]) -> bool:
    """Whether these reads are inside of their tensors for all sizes; `agreed` are sizes that are equal to others. What else is
    inside is so only where no range is empty, and a part of the sum with fewer ranges would read what the whole does not."""
    op = e.op
    assert isinstance(op, Comprehension)

    def same(x: Affine) -> Affine:
        return substituted(x, agreed)
    domain = Domain(tuple([replace(r, low=same(r.low), high=same(r.high)) for r in op.ranges]), (), ())
    for s in nested_reads(sources):
        subscripts = tuple([same(x) for x in s.subscripts if isinstance(x, Affine)])
        shape = tuple(map(same, shape_of(e.args[s.arg])))
        if len(subscripts) < len(s.subscripts) or not surely_inside(Access("", shape, subscripts), domain):
            return False
    return True


# ---------------------------------------------------------------- what is written

class SplitSum:
    """The equations that come instead of one."""

    def __init__(self, e: Equation) -> None:
        assert isinstance(e.op, Comprehension)
        self.e, self.op, self.done = e, e.op, list[Equation]()

    def equations(self, node: ProductSum, constant: Sequence[Factor], negated: bool) -> list[Equation]:
        op, args = self.comprehension(node, constant, negated)
        once = self.op.onto is None and all_fixed(op.ranges, self.op.write)
        whole = replace(op, write=self.op.write, shape=self.op.shape, onto=self.op.onto, reduction="=" if once else "+")
        if once and not (whole.shape or whole.ranges or whole.guards):
            self.add_scalars(whole, args)
        else:
            self.add(whole, args, self.e.outs[0])
        return self.done

    def add_scalars(self, op: Comprehension, args: Sequence[Atom]) -> None:
        """Append the body of an equation without indices as equations of numbers."""
        op, args = compact(op, tuple(args))
        env: dict[Atom, Atom] = {op.body.results[0].atom: self.e.outs[0]}
        for p, s in zip(op.body.params, op.sources, strict=True):
            if isinstance(s, Read) and not s.subscripts:
                env[p.var] = args[s.arg]
                continue
            env[p.var] = self.number(op, s) if isinstance(s, Affine) else self.identity(op, args, s)
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
        self.done.append(Equation((Var(None, True),), op, args, self.e.span, self.e.group))
        return self.done[-1].outs[0]

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
            params.append(fresh_parameter(params))
            sources.append(Read(len(args), here))
            args.append(tensor)
            values.append(Factor(params[-1].var, False))
        lines, value = product(values, negated)
        guards = tuple([g for g in self.op.guards if not box_of(self.op, [g]) & ~node.box])   # others are of what reads this
        op = replace(self.op, ranges=self.ranges(node.box), guards=guards, sources=tuple(sources), onto=None, agreements=(),
                     body=body_of(value, params, (*body.equations, *lines)))
        return op, args

    def reading(self, values: Sequence[tuple[Var, int, str]]) -> list[Equation]:
        """The sum that reads values of its body, each with its box and a word for its name, from tensors made before it."""
        body, sources, args = self.op.body, list(self.op.sources), list(self.e.args)
        for v, box, word in values:
            tensor, here = self.tensor(ProductSum((FactorGroup((Factor(v, False),), box, 0),), box, box, 0), word)
            body = replace(body, params=(*body.params, replace(fresh_parameter(body.params), var=v)),
                           equations=tuple([x for x in body.equations if v not in x.outs]))
            sources.append(Read(len(args), here))
            args.append(tensor)
        self.add(replace(self.op, sources=tuple(sources), body=body, agreements=()), args, self.e.outs[0])
        return self.done

    def tensor(self, node: ProductSum, word: str = "") -> tuple[Var, tuple[Affine, ...]]:
        """The value of a node, by an equation of its own, and the subscripts of its element at a point."""
        op, args = self.comprehension(node)
        if node.kept == node.box:
            op = replace(op, reduction="=")
        kept = self.ranges(node.kept)
        whole = node.kept == box_of(self.op, self.op.write)
        here, shape = corner(kept if whole else [r for r in in_reading_order(replace(op, write=())).ranges if r in kept])
        out = Var(self.name(node, word), True, False, shape)
        self.add(replace(op, write=here, shape=shape), args, out)
        return out, here

    def ranges(self, box: int) -> tuple[Range, ...]:
        return tuple([r for k, r in enumerate(self.op.ranges) if box >> k & 1])

    def name(self, node: ProductSum, word: str) -> str:
        """A name made of a word and those of the tensors that a value is made of."""
        names = [word, *self.names(node)] if word else self.names(node)
        said = "_".join(names) if len(names) > 1 else f"sum_{names[0]}" if names else ""
        return said if 0 < len(said) <= LONGEST_NAME else f"{self.e.outs[0].name or 't'}_part"

    def names(self, node: ProductSum) -> list[str]:
        return [n for p in node.parts for n in (self.names(p) if isinstance(p, ProductSum) else self.names_in(p.factors))]

    def names_in(self, found: Iterable[Factor]) -> list[str]:
        """The names of the tensors whose elements factors are made of."""
        read = compact(replace(self.op, write=(), onto=None, body=replace(self.op.body, results=tuple(
            [replace(self.op.body.results[0], atom=f.atom) for f in found]))), self.e.args)[1]
        return [a.name or "t" for a in read if isinstance(a, Var) and not a.integer]


def fresh_parameter(params: Sequence[Param]) -> Param:
    """A parameter with a name that no other has."""
    names = {p.name for p in params}
    name = next(name for k in range(len(params), 2 * len(params) + 1) if (name := f"t{k}") not in names)
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
