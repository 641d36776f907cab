"""In what order sums are taken.

    s +=! x(i) * A(i, j) * B(j, k) * y(k)        N³ points
    x_A(j) +=! x(i) * A(i, j)                    N²
    B_y(j) +=! B(j, k) * y(k)                    N²
    s +=! x_A(j) * B_y(j)                        N

The cost of a sum is the number of its points: an extent that is a number counts as it is and a size as TYPICAL_SIZE, so that the
degree in sizes decides. A rewrite takes parts of a sum before it, and is made where that at least halves the cost of a sum over
FEWEST_POINTS points and makes no tensor that is larger than those that are there:

- products of factors with fewer indices are summed first, in the order of least cost over all subsets of up to MOST_TRIED groups
  of factors, as in opt_einsum (Smith and Gray, Journal of Open Source Software 3(26), 2018); of equal orders that of the text;
- what is summed for one element that an integer names is summed before the element is looked up;

      s(dst(e), j) +=! x(src(e), d) * W(d, j)      x_W(e, j) +=! x(src(e), d) * W(d, j)
                                                   s(dst(e), j) +=! x_W(e, j)

- a factor made of literals and sizes is applied once to the sum, in loops too, where the step is one of these. (Others could
  be infinite or 0, where a sum of products and a product with a sum have different values.)
- a value that takes a call of a function, and has fewer indices than the sum, is computed once for each of its own points.

Sums over triangles become loops (`adcli.lang.simplify.sum_parts`), and sums of terms that another sum has read that
(at the end of this file). Comprehensions under guards, those that read or write through integers, and those
whose reads are inside of their tensors for some sizes only, stay as they are.

The order is part of what a program means: the evaluator and native code have the same. Derivatives are ordered as well, so that
a text of one that is read again is the same program.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite, prod
from typing import NamedTuple

from adcli.lang.ir import Atom, Equation, Lit, Param, Primitive, Program, Var
from adcli.lang.ir.affine import Affine, Index, NewSubstitution, Substitution, affine, atoms, substituted, value
from adcli.lang.ir.records import value_record
from adcli.lang.operations.comprehension import (
    Agreement,
    Comprehension,
    Range,
    Read,
    all_fixed,
    atoms_in,
    body_of,
    fixed_indices,
    in_reading_order,
)
from adcli.lang.operations.forms import term_form
from adcli.lang.operations.recurrence import Recurrence, at_one_step, signature_of
from adcli.lang.simplify.sum_parts import (
    NEG,
    Factor,
    ProductPart,
    SplitSum,
    box_of,
    boxes_of,
    calls,
    factored,
    grouped,
    linear,
    part,
    reads_inside,
    sources_of,
    union,
)

TYPICAL_SIZE = 1000
"""What a size counts as where points are counted before it is known."""
FEWEST_POINTS = 1000
"""Sums over fewer points stay as they are written."""
MOST_TRIED = 9
"""Groups of factors of which every order is counted; a product of more stays as it is written."""
AS_LARGE = 4
"""How many times as large a tensor may be as the largest that is there and still count as no larger: N + K - 1 beside N."""


def contracted(program: Program) -> Program:
    """The program with its sums of products in the order of least cost, unless its text is to be taken as written; itself where
    nothing changes. The indices of every comprehension are in the order in which they are read."""
    exact, changed = program.source is not None and program.source.exact_order, False
    equations: list[Equation] = []
    agreed: NewSubstitution = {}
    sums = MarginalSums()
    for e in program.equations:
        read = as_read(e)
        if isinstance(read.op, Comprehension) and not exact:
            for a in read.op.agreements:
                agree(agreed, a)
            parts = [sums.read(each) for each in ordered(read, agreed)]
            equations += [as_read(x) for each in parts for x in linear(each, FEWEST_POINTS, agreed)]
        else:
            read = read if exact or not isinstance(read.op, Recurrence) else without_constants_in_steps(read)
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
    return e if op is e.op else e.with_op(op, e.args)


def statement_as_read(s: Equation, step: Index) -> Equation:
    if not isinstance(s.op, Comprehension):
        return s
    op = in_reading_order(at_one_step(s.op, step))
    ranges = (s.op.ranges[0], *op.ranges)
    return s if ranges == s.op.ranges else s.with_op(replace(op, ranges=ranges), s.args)


def without_constants_in_steps(e: Equation[Recurrence]) -> Equation:
    """A loop whose sums have no constant factors: each such sum is a history of its own."""
    op, made, statements = e.op, list[Var](), list[Equation]()
    for s in op.statements:
        parts = constants_apart(s, op)
        made += [x.outs[0] for x in parts[:-1]]
        statements += parts
    if not made:
        return e
    count, outs = len(op.histories), tuple([Var(v.name, True, shape=v.shape) for v in made])
    loop = replace(op, histories=(*op.histories, *made), statements=tuple(statements), signature=signature_of(count + len(made)))
    args = (*e.args[:count], *[Lit(0.0)] * len(made), *e.args[count:])
    return e.with_op(loop, args, (*e.outs, *outs))


def constants_apart(s: Equation, op: Recurrence) -> list[Equation]:
    """A statement of a loop, or the sum without its constant factors and their product."""
    if s.op.reduction != "+":
        return [s]
    one, steps, at = at_one_step(s.op, op.step), s.op.ranges[0], affine(op.step)
    parts = SumRewrites(replace(s, op=one), one, {}).without_constants_of_step()
    if parts is None or len(parts) != 2:
        return [s]
    inner, outer = parts
    history = Var(inner.outs[0].name, True, shape=(op.high, *inner.outs[0].shape))
    reads = tuple([replace(x, subscripts=(at, *x.subscripts)) if isinstance(x, Read) and outer.args[x.arg] is inner.outs[0] else x
                   for x in outer.op.sources])
    args = [history if a is inner.outs[0] else a for a in outer.args]
    return [over_steps(inner, steps, (history,), inner.args, write=(at, *inner.op.write), shape=history.shape),
            over_steps(outer, steps, outer.outs, args, sources=reads)]


def over_steps(e: Equation, steps: Range, outs: tuple[Var, ...], args: Sequence[Atom], **changes: object) -> Equation:
    """An equation of one step as a statement of a loop."""
    return e.with_op(replace(e.op, ranges=(steps, *e.op.ranges), **changes), args, outs)


def ordered(e: Equation, agreed: Substitution) -> Iterator[Equation]:
    """A sum as several, until none of them can be made of fewer points; `agreed` are sizes that are equal to others."""
    todo = [e]
    while todo:
        first = todo.pop()
        op = first.op
        parts = SumRewrites(first, op, agreed).rewritten() if op.reduction == "+" else None
        if parts is None:
            yield first
        else:
            todo += reversed(parts)


def agree(agreed: NewSubstitution, a: Agreement) -> None:
    """Enter that two extents are the same number, where one of them is a size: one of all that are equal stands for them."""
    left, right = substituted(a.left, agreed), substituted(a.right, agreed)
    for one, other in ((left, right), (right, left)):
        name = one.terms[0][0] if one.terms else None
        if isinstance(name, str) and one == affine(name) and name not in atoms(other):
            agreed |= {n: substituted(x, {name: other}) for n, x in agreed.items()}
            agreed[name] = other
            return


# ---------------------------------------------------------------- the cost

@value_record
class Cost:
    """How many points boxes have. `out` are the indices of the result, `most` the elements that a tensor may have."""

    extents: tuple[int, ...]
    out: int
    most: int

    @staticmethod
    def of(e: Equation, op: Comprehension) -> Cost:
        largest = max([prod(map(size_of, a.shape)) for a in (*e.args, *e.outs) if isinstance(a, Var)])
        return Cost(tuple([size_of(r.high - r.low) for r in op.ranges]), box_of(op, op.write), AS_LARGE * largest)

    def points(self, box: int) -> int:
        return prod([n for k, n in enumerate(self.extents) if box >> k & 1])

    def halves(self, cost: int) -> bool:
        """Whether so many points are at most half of all, which are not few."""
        whole = self.points((1 << len(self.extents)) - 1)
        return FEWEST_POINTS <= whole >= 2 * cost

    def summed(self, parts: tuple[ProductPart, ...], others: int) -> ProductPart | None:
        """The product of parts, summed over the indices that neither the result nor the `others` have. None where it would be too
        large a tensor; where nothing is summed over, it is none."""
        box = union(p.kept for p in parts)
        kept = box & (self.out | others)
        if kept != box and self.points(kept) > self.most:
            return None
        return ProductPart((), parts, box, kept, self.points(box) + sum(p.cost for p in parts), min(p.place for p in parts))

    def single(self, g: ProductPart, others: int) -> list[ProductPart]:
        """A group as part of a product: as it is, or summed over the indices that it alone has."""
        node = self.summed((g,), others)
        return [g] if node is None or node.kept == node.box else [g, node]

    def cheapest(self, groups: Sequence[ProductPart]) -> ProductPart | None:
        """The order of least cost: for each set of groups the cheapest of its two parts, sets of few groups first."""
        count = len(groups)
        outside = [union([g.box for k, g in enumerate(groups) if not chosen >> k & 1]) for chosen in range(1 << count)]
        best: dict[int, Sequence[ProductPart]] = {1 << k: self.single(g, outside[1 << k]) for k, g in enumerate(groups)}
        for chosen in sorted(range(1, 1 << count), key=int.bit_count)[count:]:
            first = chosen & -chosen
            left = (chosen - 1) & chosen
            nodes = []
            while left:
                if left & first:
                    nodes += [self.summed((a, b), outside[chosen]) for a in best[left] for b in best[chosen ^ left]]
                left = (left - 1) & chosen
            possible = [n for n in nodes if n is not None]
            best[chosen] = [min(possible, key=lambda n: n.cost)] if possible else []
        found = best[(1 << count) - 1]
        return found[-1] if found and found[-1].parts else None


def size_of(extent: Affine) -> int:
    """An extent as a number."""
    return max(1, value(extent, dict.fromkeys(atoms(extent), TYPICAL_SIZE)))


def flat(node: ProductPart) -> ProductPart:
    """The part in whose product those that nothing is summed over have their factors, in the order of the text."""
    parts: list[ProductPart] = []
    for p in node.parts:
        p = flat(p) if p.parts else p
        parts += p.parts if p.parts and p.kept == p.box else [p]
    return replace(node, parts=tuple(sorted(parts, key=lambda p: p.place)))


# ---------------------------------------------------------------- the rewrites

class SumRewrites:
    """A sum, and the equations that compute it in parts; `out` and `every` are the boxes of its result and of all its indices."""

    def __init__(self, e: Equation, op: Comprehension, agreed: Substitution) -> None:
        self.e, self.op, self.agreed = e, op, agreed
        self.out, self.every = box_of(op, op.write), (1 << len(op.ranges)) - 1
        self.guarded = box_of(op, op.guards)

    def rewritten(self) -> list[Equation] | None:
        """The equations that come instead, the last of them what `e` defines; None where it stays."""
        if any(isinstance(s, Read) for s in self.op.write):
            return self.before_scatter()
        return None if self.out == self.every else self.by_products() or self.without_constants() or self.after_calls()

    def by_products(self) -> list[Equation] | None:
        if self.op.guards or len(self.op.ranges) < 2:
            return None
        found, negated = factored(self.op)
        groups, constant = grouped(self.op, found)
        alone = self.out & ~union(g.box for g in groups)
        groups += [part((), alone, len(found))] if alone else []
        if not 2 <= len(groups) <= MOST_TRIED or union(g.box for g in groups) != self.every:
            return None
        cost = Cost.of(self.e, self.op)
        if not cost.halves(max([cost.points(box) for box in (self.out, *[g.box for g in groups])])):
            return None
        node = cost.cheapest(groups)
        if node is None or not cost.halves(node.cost) or not reads_inside(self.e, self.op.sources, self.agreed):
            return None
        return SplitSum(self.e).equations(flat(node), constant, negated)

    def before_scatter(self) -> list[Equation] | None:
        """What is added to one element in one place as a sum of its own, and the scatter of these sums."""
        cost = Cost.of(self.e, self.op)
        if self.guarded & ~self.out or not cost.halves(places := cost.points(self.out)) or places > cost.most:
            return None
        terms = part([Factor(self.op.body.results[0].atom)], self.every)
        return SplitSum(self.e).equations(ProductPart((), (ProductPart((), (terms,), self.every, self.out),), self.out, self.out))

    def without_constants(self) -> list[Equation] | None:
        """The sum without the factors that are literals or made of sizes, and its product with them."""
        (found, negated), boxes, summed = factored(self.op), boxes_of(self.op), self.every & ~self.out
        outside = [f for f in found if self.is_constant(f, boxes)]
        inside = [f for f in found if f not in outside]
        box = union(boxes.get(f.atom, 0) for f in inside)
        if not outside or all(f.divides for f in inside) or box & summed != summed or self.guarded & summed:
            return None
        inner = ProductPart((), (part(inside, box),), box, box & self.out)
        return SplitSum(self.e).equations(ProductPart((), (inner,), self.out, self.out), outside, negated)

    def without_constants_of_step(self) -> list[Equation] | None:
        """The same of a statement in a loop, where it pays for another one."""
        cost = Cost.of(self.e, self.op)
        plain = self.out != self.every and not any(isinstance(s, Read) for s in self.op.write)
        return self.without_constants() if plain and cost.halves(cost.points(self.out)) else None

    def is_constant(self, f: Factor, boxes: Mapping[Atom, int]) -> bool:
        """Whether a factor is the same finite number at all points, whatever the inputs are."""
        if isinstance(f.atom, Lit):
            return isfinite(f.atom.value) and not (f.divides and f.atom.value == 0)
        return not any(isinstance(s, Read) for s in sources_of(self.op, [f.atom])) and not boxes[f.atom]

    def after_calls(self) -> list[Equation] | None:
        """The sum that reads values which take calls and have fewer indices. No tensor is made with more indices than one that it
        is made of."""
        op, boxes, calling = self.op, boxes_of(self.op), dict[Atom, str]()
        for x in op.body.equations:
            said = next((calling[a] for a in x.args if a in calling), x.op.name if calls(x.op) else "")
            calling |= {x.outs[0]: said} if said else {}

        def made_before(v: Var) -> bool:
            box = boxes.get(v, 0)
            if v not in calling or v.truth or box in (0, self.every) or self.guarded & ~box:
                return False
            sources = sources_of(op, [v])
            return any(box_of(op, [s]) == box for s in sources if isinstance(s, Read)) and \
                reads_inside(self.e, sources, self.agreed)
        before = {v for x in op.body.equations for v in x.outs if made_before(v)}
        used = {a for x in op.body.equations if before.isdisjoint(x.outs) for a in x.args}
        chosen = [v for x in op.body.equations for v in x.outs if v in before & used]
        return SplitSum(self.e).reading([(v, boxes[v], calling[v]) for v in chosen]) if chosen else None


# ---------------------------------------------------------------- sums of terms that another sum has already
#     a(r, s) +=! d(t, s) * exp(f(t, r) - m(t, s))
#     z(r) +=! -(d(t, s) * exp(f(t, r) - m(t, s)))        z(r) +=! -a(r, s)
#
# Where the terms take a call of a function and an earlier sum of the same terms keeps at least the indices of this one, this one
# is a sum over the elements of that: derivatives of log-sum-exp have such.

class EarlierSum(NamedTuple):
    """A sum whose elements are each the whole sum of terms at the indices that it keeps: by their names in the form of the terms,
    the subscripts of its element."""

    out: Var
    subscripts: tuple[Affine, ...]
    kept: frozenset[Affine]
    negated: bool


class MarginalSums:
    """The sums so far, by their terms."""

    def __init__(self) -> None:
        self.known: dict[object, list[EarlierSum]] = {}
        self.over = set[Atom]()
        """The tensors that later ones begin from: who reads one behind that would need a copy."""

    def read(self, e: Equation) -> Equation:
        """An equation that reads an earlier sum, where there is one that has its terms; else itself."""
        op = e.op
        self.over.update(before for before, _ in op.started(e))
        if not isinstance(op, Comprehension) or op.reduction not in "+=" or not any(calls(x.op) for x in op.body.equations):
            return e
        if any(isinstance(s, Read) for s in op.write):
            return e
        terms, negated = positive(op)
        form, names = term_form(terms, e.args)
        mine = frozenset(names[i] for i in indices(op, op.write))
        found = [s for s in self.known.get(form, ()) if s.kept >= mine and s.out not in self.over] if op.reduction == "+" else []
        if found:
            return sum_of(e, op, found[-1], {names[i]: i for i in op.indices}, negated)
        written, fixed = indices(op, op.write), fixed_indices(op.ranges, op.write)
        if op.onto is None and written == fixed and (op.reduction == "+" or fixed == {*op.indices}):
            here = tuple([substituted(s, names) for s in op.write if isinstance(s, Affine)])
            self.known.setdefault(form, []).append(EarlierSum(e.outs[0], here, mine, negated))
        return e


def positive(op: Comprehension) -> tuple[Comprehension, bool]:
    """The terms of a sum without a sign before them, and whether there is one."""
    value = op.body.results[0].atom
    last = next((x for x in op.body.equations if value in x.outs), None)
    if last is None or last.op is not NEG:
        return op, False
    return replace(op, body=body_of(last.args[0], op.body.params, [x for x in op.body.equations if x is not last])), True


def indices(op: Comprehension, sources: tuple[object, ...]) -> set[Index]:
    found = atoms_in(sources)   # type: ignore[arg-type]
    return {i for i in op.indices if i in found}


def sum_of(e: Equation, op: Comprehension, earlier: EarlierSum, index: dict[Affine, Index], negated: bool) -> Equation:
    """The sum over elements of an earlier one; `index` are the indices by their names in the form of the terms."""
    kept = {index[x] for x in earlier.kept}
    here: NewSubstitution = {a: affine(i) for name, i in index.items() for a in atoms(name) if isinstance(a, str)}
    source = Read(0, tuple([substituted(s, here) for s in earlier.subscripts]))
    x = Param(Var("x0"), "x0")
    sign = [Equation((Var(None, True),), NEG, (x.var,))] if negated != earlier.negated else []
    ranges = tuple([r for r in op.ranges if r.index in kept])
    once = op.onto is None and all_fixed(ranges, op.write)
    guards = tuple([g for g in op.guards if {*g.indices()} <= kept])
    made = replace(op, ranges=ranges, guards=guards, sources=(source,), reduction="=" if once else "+",
                   body=body_of(sign[-1].outs[0] if sign else x.var, [x], sign), onto=None if op.onto is None else 1)
    args = (earlier.out,) if op.onto is None else (earlier.out, e.args[op.onto])
    return e.with_op(made, args)
