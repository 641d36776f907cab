"""Cost of sweeps, counted on the program before they are made.

A rule is written out once for each operation and argument (`adcli.lang.operations.rule_programs`): equations that depend on the
seed are paid for in every direction, the others (the cosine of a sine) once, since directions share them. Counts are weighted by
how long an operation takes beside an addition in vector code.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from adcli.lang.ir import Atom, Equation, Primitive, Program, counts
from adcli.lang.ir.build import many
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.records import record
from adcli.lang.operations.activity import union
from adcli.lang.operations.rule_programs import Statics, by_operation, map_rule, shared_rule

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
    return sum(weight(op) * count for op, count in counts(program).items())


@record
class Prices:
    """The price of the rule of each argument of an operation; None where it is zero by construction."""

    op: Primitive
    rules: tuple[Price | None, ...]


@by_operation
def prices(op: Primitive, static: Statics, count: int) -> Prices:
    """The prices of an equation."""
    if many(op, count):
        return Prices(op, (_price(op, 0, static, count),) * count)   # the rules of many arguments are alike
    return Prices(op, tuple([_price(op, i, static, count) for i in range(count)]))


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
FEW = 64
"""Directions up to which lines are so much like one another that what one costs is kept."""


def forward_cost(program: Program, seeds: Mapping[Atom, int], paid: Paid, most: float = math.inf) -> int:
    """Weighted operations of the tangents along several directions; `seeds` has a bit for each direction of an input.

    Only what reaches a result of `program` should stand in it. No more is counted than to more than `most`.
    """
    masks, cost = dict(seeds), 0
    lines = cache(_tangent_line) if len(seeds) <= FEW or max(seeds.values()) < 1 << FEW else _tangent_line
    mask_of = masks.get
    reached: tuple[int, ...]
    for e in program.equations:
        args = e.args
        if len(args) == 2:
            x, y = args
            reached = mask_of(x, 0), mask_of(y, 0)
        else:
            reached = tuple([mask_of(a, 0) for a in args])
        whole, price, owed = lines(prices(e), reached)
        if whole:
            for out in e.outs:
                masks[out] = whole
            cost += price
            if owed:
                cost += shared(e, owed, paid)
            if cost > most:
                break
    return cost


def _tangent_line(priced: Prices, reached: tuple[int, ...]) -> tuple[int, int, tuple[int, ...]]:
    """Of an equation whose arguments are `reached` by these directions those that reach its result, what they cost, and the
    arguments whose rules have parts that are paid for once. (Most lines are like others of their program.)"""
    whole = terms = cost = 0
    owed = []
    for i, (rule, mask) in enumerate(zip(priced.rules, reached, strict=True)):
        if rule and mask:
            count = mask.bit_count()
            cost += rule.each * count
            terms += count
            whole |= mask
            if rule.shared or rule.all:
                owed.append(i)
    return whole, cost if priced.op is DUP else cost + terms - whole.bit_count(), tuple(owed)


def shared(e: Equation, positions: Iterable[int], paid: Paid) -> int:
    """The cost owed for the parts of these arguments' rules that are paid for once."""
    cost, rules = 0, prices(e).rules
    for i in positions:
        rule = rules[i]
        assert rule is not None, "a rule has parts"
        for part, owed in ((e, i), rule.shared), ((e, ALL), rule.all):
            if owed and part not in paid:
                paid.add(part)
                cost += owed
    return cost


def reverse_cost(equations: Sequence[Equation], seeds: Mapping[Atom, int], active: set[Atom], paid: Paid,
                 most: float = math.inf) -> int:
    """Weighted operations of several reverse sweeps; `seeds` has a bit for each sweep of a result, `active` are the values
    that depend on an input of interest. No more is counted than to more than `most`."""
    masks, cost, lines = dict(seeds), 0, cache(_adjoint_line)
    mask_of, carries = masks.get, active.__contains__
    for e in reversed(equations):
        outs = e.outs
        mask = mask_of(outs[0]) if len(outs) == 1 else union(masks, outs)
        if not mask or outs[0] not in active:
            continue
        args = e.args
        each, through, owed = lines(prices(e), tuple(map(carries, args)))
        cost += each * mask.bit_count()
        if owed:
            cost += shared(e, owed, paid)
        for i in through:
            before = mask_of(a := args[i])
            if before is None:
                masks[a] = mask
            else:
                cost += (before & mask).bit_count()
                masks[a] = before | mask
        if cost > most:
            break
    return cost


def _adjoint_line(priced: Prices, active: tuple[bool, ...]) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Of an equation of which these arguments are active what one sweep costs, the arguments that it goes on to, and those whose
    rules have parts that are paid for once."""
    through = [(i, rule) for i, rule in enumerate(priced.rules) if rule and active[i]]
    owed = tuple([i for i, rule in through if rule.shared or rule.all])
    return sum([rule.each for _, rule in through]), tuple([i for i, _ in through]), owed
