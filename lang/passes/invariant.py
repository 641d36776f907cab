"""What of a sum its indices do not change, beside it.

    s(t, u) +=! q(t, e) * k(u, e) / sqrt(E)      q_k(t, u) +=! q(t, e) * k(u, e)
                                                 s(t, u) = q_k(t, u) / sqrt(E)

    y(n, j) +=! tanh(x(n, i)) * W(i, j)          tanh_x(n, i) = tanh(x(n, i))
                                                 y(n, j) +=! tanh_x(n, i) * W(i, j)

A factor or divisor made of literals and sizes is applied once to the sum. (Others could be infinite or 0, where a sum of products
and a product with a sum have different values.) A value that takes a call of a function, and has fewer indices than the sum, is
computed once for each of its own points, where every read of it is inside of its tensor for all sizes and conditions are about
its own indices. Only the first changes bits.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from math import isfinite

from adcli.lang.ir import Atom, Equation, Lit, Primitive, Var
from adcli.lang.ir.affine import Affine, Index
from adcli.lang.ir.build import Builder
from adcli.lang.ir.comprehension import BodySource, Comprehension, Read
from adcli.lang.passes.product_sums import (
    Factor,
    FactorGroup,
    ProductSum,
    SplitSum,
    box_of,
    boxes_of,
    factored,
    reads_inside,
    union,
)


def apart(e: Equation, agreed: Mapping[Index | str, Affine]) -> list[Equation] | None:
    """The equations that compute a sum and, beside it, what its indices do not change; None where there is nothing. `agreed` are
    sizes that are equal to others."""
    op = e.op
    assert isinstance(op, Comprehension)
    out, every = box_of(op, op.write), (1 << len(op.ranges)) - 1
    if op.reduction != "+" or out == every or not all(isinstance(s, Affine) for s in op.write):
        return None
    return factors_outside(e, op, out) or calls_before(e, op, agreed)


def factors_outside(e: Equation, op: Comprehension, out: int) -> list[Equation] | None:
    """The sum without the factors that are literals or made of sizes, and its product with them; None where there are none. `out`
    are the indices of the result."""
    found, negated = factored(op)
    outside = [f for f in found if is_constant(op, f)]
    inside = [f for f in found if f not in outside]
    boxes = boxes_of(op)
    summed, box = ((1 << len(op.ranges)) - 1) & ~out, union(boxes.get(f.atom, 0) for f in inside)
    if not outside or all(f.divides for f in inside) or box & summed != summed or box_of(op, op.guards) & summed:
        return None
    group = FactorGroup(tuple(inside), box, 0)
    product = ProductSum((ProductSum((group,), box, box & out, 0),), out, out, 0)
    return SplitSum(e).equations(product, outside, negated)


def is_constant(op: Comprehension, f: Factor) -> bool:
    """Whether a factor is the same finite number at all points, whatever the inputs are."""
    if isinstance(f.atom, Lit):
        return isfinite(f.atom.value) and not (f.divides and f.atom.value == 0)
    return not any(isinstance(s, Read) for s in sources_of(op, [f.atom])) and not boxes_of(op)[f.atom]


def calls_before(e: Equation, op: Comprehension, agreed: Mapping[Index | str, Affine]) -> list[Equation] | None:
    """The sum that reads what takes calls and has fewer indices than it, behind the equations that make that; None where there is
    nothing. No tensor is made that has more indices than one that it is made of."""
    boxes, every, calling = boxes_of(op), (1 << len(op.ranges)) - 1, dict[Atom, str]()
    for x in op.body.equations:
        said = next((calling[a] for a in x.args if a in calling), x.op.name if calls(x.op) else "")
        calling |= {x.outs[0]: said} if said else {}

    def made_before(v: Var) -> bool:
        sources, box = sources_of(op, [v]), boxes.get(v, 0)
        return (v in calling and not v.truth and box not in (0, every) and not box_of(op, op.guards) & ~box
                and any(box_of(op, [s]) == box for s in sources if isinstance(s, Read)) and reads_inside(e, sources, agreed))
    before = {v for x in op.body.equations for v in x.outs if made_before(v)}
    used = {a for x in op.body.equations if before.isdisjoint(x.outs) for a in x.args}
    chosen = [v for x in op.body.equations for v in x.outs if v in before & used]
    return SplitSum(e).reading([(v, boxes[v], calling[v]) for v in chosen]) if chosen else None


def sources_of(op: Comprehension, values: Iterable[Atom]) -> list[BodySource]:
    """The sources that values of a body are made of."""
    needed = set(values)
    for e in reversed(op.body.equations):
        if not needed.isdisjoint(e.outs):
            needed.update(e.args)
    return [s for p, s in zip(op.body.params, op.sources, strict=True) if p.var in needed]


@cache
def calls(op: Primitive) -> bool:
    """Whether an operation takes a call of a function, by itself or by its definition."""
    if op.value is None or op.static:
        return op.libm is not None and op.ulps != 0
    b = Builder()
    op.value(*[b.expr(Var(None, True, op.kind(k) == "t")) for k in range(op.arity)])
    return any(calls(x.op) for x in b.equations)
