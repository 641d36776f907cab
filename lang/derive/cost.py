"""What a sweep costs, counted on the program before it is made.

A rule is written out once for each operation and argument (`adcli.lang.ir.rule_programs`): equations that depend on the seed
are paid for in every direction, the others (the cosine of a sine) once, since directions share them. Counts are weighted by
how long an operation takes beside an addition in vector code.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from adcli.lang.ir import Atom, Equation, Primitive, Program
from adcli.lang.ir.build import many
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.rule_programs import Statics, by_operation, map_rule, shared_rule
from adcli.lang.passes.seed_masks import union

DUP = TABLE["dup"]
FUNCTION, DIVISION = 8, 3
"""Weight of a call of the mathematics library, and of a division or root; everything else is 1."""


class Price(NamedTuple):
    """Weighted operations of a rule: `shared` by all directions, for `each` of them, and once for `all` arguments."""

    shared: int
    each: int
    all: int = 0


def weight(op: Primitive) -> int:
    if op is DUP:
        return 0
    if op.llvm in ("fdiv", "llvm.sqrt"):
        return DIVISION
    return FUNCTION if op.libm or op.value else 1


def operations(program: Program) -> int:
    """The weighted operations of a program."""
    return sum(weight(op) * count for op, count in Counter([e.op for e in program.equations]).items())


@by_operation
def prices(op: Primitive, static: Statics, count: int) -> tuple[Price | None, ...]:
    """What the rule of each argument of an equation costs; None where it is zero by construction."""
    if many(op, count):
        return (_price(op, 0, static, count),) * count   # the rules of many arguments are alike
    return tuple([_price(op, i, static, count) for i in range(count)])


def _price(op: Primitive, position: int, static: Statics, count: int) -> Price | None:
    rule = map_rule(op, position, static, count)
    if rule is None:
        return None
    gate = 0 if rule.condition is None else 1
    depends: set[Atom] = {rule.t}
    each = 0
    for e in rule.equations:
        if not depends.isdisjoint(e.args):
            depends.update(e.outs)
            each += weight(e.op)
    common = shared_rule(op, count)
    return Price(sum(weight(e.op) for e in rule.equations) - each, each + gate,
                 sum(weight(e.op) for e in common.equations) if common else 0)


Paid = set[tuple[Equation, int]]
"""Rules whose shared part has been paid for, by equation and argument, −1 for all of them; both modes share it too."""
ALL = -1


def forward_cost(program: Program, seeds: Mapping[Atom, int], paid: Paid) -> int:
    """Weighted operations of the tangents along several directions; `seeds` has a bit for each direction of an input.

    Only what reaches a result of `program` should stand in it.
    """
    masks, cost = dict(seeds), 0
    mask_of = masks.get
    for e in program.equations:
        whole = terms = 0
        args = e.args
        for i, rule in enumerate(prices(e)):
            if rule and (mask := mask_of(args[i], 0)):
                own, each, of_all = rule
                count = mask.bit_count()
                cost += each * count
                if own or of_all:
                    cost += shared(rule, e, i, paid)
                terms += count
                whole |= mask
        if whole and not e.op.truth:
            for out in e.outs:
                masks[out] = whole
            if e.op is not DUP:
                cost += terms - whole.bit_count()
    return cost


def shared(rule: Price, e: Equation, position: int, paid: Paid) -> int:
    """What is owed for the rule's parts that are paid for once."""
    cost = 0
    for part, owed in ((e, position), rule.shared), ((e, ALL), rule.all):
        if owed and part not in paid:
            paid.add(part)
            cost += owed
    return cost


def reverse_cost(equations: Sequence[Equation], seeds: Mapping[Atom, int], active: set[Atom], paid: Paid) -> int:
    """Weighted operations of several reverse sweeps; `seeds` has a bit for each sweep of a result, `active` are the values
    that depend on an input of interest."""
    masks, cost = dict(seeds), 0
    mask_of = masks.get
    for e in reversed(equations):
        outs = e.outs
        mask = mask_of(outs[0]) if len(outs) == 1 else union(masks, outs)
        if not mask or outs[0] not in active:
            continue
        count, args = mask.bit_count(), e.args
        for i, rule in enumerate(prices(e)):
            if rule and (a := args[i]) in active:
                own, each, of_all = rule
                before = mask_of(a)
                cost += each * count
                if own or of_all:
                    cost += shared(rule, e, i, paid)
                if before is None:
                    masks[a] = mask
                else:
                    cost += (before & mask).bit_count()
                    masks[a] = before | mask
    return cost
