"""Every row's status against limits from both sides: no row is found wrong, and every condition that is taken away or moved
to another level is."""
from __future__ import annotations

import math
from random import Random

from adcli.lang.ir import DOMAIN, JUMP, KINK, LEVELS, SINGULAR, SMOOTH, Primitive, Status
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.special_rows import DERIVATIVES
from judged_status import GROWTH, NOTHING, NUMBER, Operation, judge, special_operands, tendency, ties
from one_operation import BETA, few_costly, orders
from planted_faults import planted, wrong_status
from row_tables import each_row

CONSTANTS = {"pown": [(-2.0,), (-1.0,), (0.0,), (1.0,), (3.0,)], "polygamma": [(1.0,)], "dxlogy": [(0.0,), (1.0,), (2.0,)],
             "derfcx": [(0.0,), (1.0,)],
             **{name: orders(name, (0.0, 1.0)[:2 - bool(TABLE[name].status or name in BETA)]) for name in DERIVATIVES},
             "dpow": [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (2.0, 0.0), (1.0, 1.0), (0.0, 2.0)]}
OPERATIONS = [Operation(op, tuple(zip(op.static, constants, strict=True)), count)
              for op in few_costly([op for op in TABLE.values() if op.name != "dup" and "r" in op.signature[:op.arity]
                                    and not any(s.order for s in op.status)])   # of a derivative, whose row is judged
              for constants in (CONSTANTS[op.name] if op.static else [()]) for count in (op.arity, 3)[:1 + op.variadic]]
BESIDE_1 = 1 + 2.0 ** -52
WIDE = [0.0, -0.0, 1e-300, -5e-324, 1e300, math.pi / 2, -37.0, 7.25, 1e17, BESIDE_1, 1.0, 3.0, -1e-9]


def name_of(x: object) -> str:
    return f"{x.op.name}{[n for _, n in x.static] or ''}{x.arguments}" if isinstance(x, Operation) else str(x)


def wide_operands(operation: Operation, count: int) -> list[tuple]:
    draw, constants = Random(name_of(operation)), dict(operation.static)
    wide = [x for x in WIDE if operation.op.name != "dpow" or x != BESIDE_1]   # x**ulp*log(x) vanishes at 0, but very late
    return [tuple(constants.get(i, draw.choice(wide) if i in operation.moved else draw.random() < 0.5)
                  for i in range(operation.arguments)) for _ in range(count)]


def wrong(operation: Operation, operands: list[tuple]) -> list[tuple]:
    """The operands where the status is found wrong."""
    rules = operation.rules()
    judged = [(x, judge(operation, x, rules)) for x in operands]
    return [(x, LEVELS[j.claimed], LEVELS[j.shown]) for x, j in judged if j and j.claimed != j.shown]


@each_row("operation", OPERATIONS, ids=name_of)
def test_every_status_of_the_table_is_what_values_on_both_sides_show(operation):
    special = special_operands(operation, operation.rules())
    assert not wrong(operation, [*special, *wide_operands(operation, 8)])
    assert any(judge(operation, x, operation.rules()) for x in special)


COVERED = {("pow", 3), ("pow", 5), ("dpow", 1), ("dpow", 3), ("dpow", 5)}
INFINITE = {("hurwitz_zeta", 0), ("dhurwitz_zeta", 0), ("owens_t", 0)}
"""Conditions that hold at no finite operands."""


def claims() -> list[tuple[Operation, int]]:
    """The conditions that hold at finite operands beside which the operation is defined, and that no other one covers."""
    return [(o, k) for o in OPERATIONS for k, s in enumerate(o.op.status)
            if s.level != DOMAIN and (o.op.name, k) not in COVERED | INFINITE and o.arguments == o.op.arity
            and (o.op.name != "pown" or o.static[0][1] < 0)]


every_claim = each_row(("operation", "entry"), claims())
BOTH = {("unit", 0), ("atan2", 0), ("pow", 0)}
"""Conditions where values jump along an argument, and slopes grow beside it: that is as well a jump as singular."""


@every_claim
def test_a_condition_that_is_taken_away_is_found(operation, entry):
    with wrong_status(operation.op.name, entry, None):
        assert wrong(operation, special_operands(operation, operation.rules()))


@every_claim
def test_a_condition_of_another_level_is_found(operation, entry):
    right = min(operation.op.status[entry].level, SINGULAR)
    for level in {KINK, JUMP, SINGULAR} - {right} - ({JUMP, SINGULAR} if (operation.op.name, entry) in BOTH else set()):
        with wrong_status(operation.op.name, entry, level):
            assert wrong(operation, special_operands(operation, operation.rules())), LEVELS[level]


@each_row("name", ["sin", "exp", "mul", "relu", "floor", "hypot"])
@each_row("level", [KINK, JUMP, SINGULAR])
def test_a_condition_that_holds_where_the_operation_is_smooth_is_found(name, level):
    op = TABLE[name]
    operation = Operation(op, (), op.arity)
    with planted(op, "status", (*op.status, Status(level, lambda z, x, *rest: x == 0.25))):
        found = wrong(operation, special_operands(operation, operation.rules()))
    assert found and {(x[0], claimed, shown) for x, claimed, shown in found} == {(0.25, LEVELS[level], LEVELS[SMOOTH])}


def test_what_a_size_tends_to():
    noise = 1e-100
    assert tendency(1.0, 1e-15, noise) == tendency(1.0, 1e-101, noise) == NOTHING
    assert tendency(1.0, 1.0 + 1e-12, noise) == NUMBER and tendency(1.0, -2.0, noise) == GROWTH
    assert tendency(1.0, 0.5, noise) is tendency(1.0, 1.0001, noise) is tendency(1e-101, 1.0, noise) is None


def test_ties_and_zeros_of_operands():
    assert set(ties(Operation(TABLE["fma"], (), 3), (1.0, 2.0, 2.0))) == {
        (0.0, 2.0, 2.0), (2.0, 2.0, 2.0), (1.0, 0.0, 2.0), (1.0, 1.0, 2.0), (1.0, 2.0, 0.0), (1.0, 2.0, 1.0), (1.0, 2.0, 2.0)}


def test_no_verdict_where_nothing_can_be_told():
    def at(name: str, *operands: float) -> object:
        op: Primitive = TABLE[name]
        operation = Operation(op, (), op.arity)
        return judge(operation, operands, operation.rules())
    assert at("sqrt", -1.0) is at("sin", math.inf) is at("max", 1.0, math.nan) is at("fmod", 1e300, 1e-300) is None
