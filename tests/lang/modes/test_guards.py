"""Guards: a derivative that exists only in the arm that is taken."""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from adcli.lang.derive.derivatives import gradient
from adcli.lang.ir import Equation, Lit, Program, Var
from adcli.lang.ir.build import Builder, When, mapped, shared
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from adcli.lang.modes import guards
from hypothesis import given
from laws import check_arm
from planted_faults import caught, wrong_rule
from random_programs import Scope, choices, law, mixed_points
from row_tables import each_row

ALONE = parse("input c, x, y, z\nv = y*y + x*y")
CHOSEN = parse("input c, x, y, z\nv = (c > 0 ? y*y : log(x)*sqrt(z)) + x*y")
ARMS = [{"c": 1.0, "x": 0.0, "y": 2.0, "z": 0.0}, {"c": 1.0, "x": -2.0, "y": 3.0, "z": -1.0}]


def ignores_the_guard(b: Any, value: Any, guard: Any, otherwise: float) -> Any:
    return value


def inverts_the_guard(b: Any, value: Any, guard: Any, otherwise: float) -> Any:
    return GATE(b, value, tuple((v, not wanted) for v, wanted in guard), otherwise)


def multiplies_by_the_guard(b: Any, value: Any, guard: Any, otherwise: float) -> Any:
    """0·∞ of an arm that is not taken."""
    return value * GATE(b, b.expr(Lit(1.0)), guard, 0.0) if guard else value


GATE = guards.gate


@pytest.mark.parametrize("fault", [ignores_the_guard, inverts_the_guard, multiplies_by_the_guard])
def test_a_fault_in_the_guard_of_a_select(fault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    check_arm(ALONE, CHOSEN, ARMS)
    monkeypatch.setattr(guards, "gate", fault)
    with caught():
        check_arm(ALONE, CHOSEN, ARMS)


@pytest.mark.parametrize("text", ["dxlogy(1, x, 1)", "derfcx(0, 0)*x", "polygamma(1, 1)*x", "pow(2, 2)*x"])
def test_an_argument_that_is_the_constant_of_a_row(text: str) -> None:
    """A literal operand and the order of a derivative may be one object."""
    assert gradient(parse(f"v = {text}"), order=2).results


def test_arms_exchanged_in_a_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both arms differentiate the same input, so their adjoints meet in one select."""
    alone, chosen = parse("input c, x\nv = x*x"), parse("input c, x\nv = c > 0 ? x*x : log(x)")
    at = [{"c": 1.0, "x": -2.0}]
    check_arm(alone, chosen, at)
    right = guards.complementary
    monkeypatch.setattr(guards, "complementary", lambda one, other: right(one, other) and one is other)
    monkeypatch.setattr(guards, "gate", inverts_the_guard)
    with caught():
        check_arm(alone, chosen, at)


# ---------------------------------------------------------------- arms that are not taken

UNDEFINED = ("log(-1 - ({0})**2)", "({0})/0", "sqrt(-1 - ({0})*({0}))", "inf*({0}) - inf*({0})", "gamma(-1 + 0*({0}))",
             "acosh(0*({0}))", "exp(1e300*({0})**2)", "(0*({0}))**-1", "pow(-2, ({0})*0 + 0.5)", "nan*({0})", "atan2(0*({0}), 0)")
"""Formulas of e with a value or a derivative that is no finite number, for most values of e."""
CHOICES = ("c > 0 ? {f} : {g}", "c <= 0 ? {g} : {f}", "not (c <= 0) ? {f} : {g}", "c > 0 ? (c < 5 ? {f} : {g}) : {g}",
           "select(c > 0 and c < 5, {f}, {g})", "c < 0 or c > 5 ? {g} : (c == 1 ? {f} : {g})")
"""Ways to choose f at c = 1."""
AROUND = ("{s}", "sin({s})*x", "({s}) - 2*y", "max({s}, x, y)", "({s})*z + x*y")
"""What is done with the choice."""


def arms(r: random.Random) -> tuple[Program, Program]:
    """A program, and the same with its formula as the arm taken of a choice."""
    scope = Scope(r, {}, set(), 12)
    scope.kinds.update(x="r", y="r", z="r")
    taken, other = scope.real(3).calls, scope.real(2).calls
    around, undefined = r.choice(AROUND), r.choice(UNDEFINED).format(other)
    chosen = "(" + r.choice(CHOICES).format(f=taken, g=undefined) + ")"
    head = "input c, x, y, z\nv = "
    return parse(head + around.format(s=taken)), parse(head + around.format(s=chosen))


@law(260)
@given(choices)
def test_an_arm_that_is_not_taken_changes_no_bit(r: random.Random) -> None:
    alone, chosen = arms(r)
    check_arm(alone, chosen, [{**at, "c": 1.0} for at in mixed_points(r, alone)])


# ---------------------------------------------------------------- maps written out

@each_row("name", [name for name, op in TABLE.items() if op.maps])
def test_a_written_map_is_the_map_of_the_row(name: str) -> None:
    """The lines that `contribution` emits are those that running the row's map emits, for every argument, constants as operands
    among them, and for more arguments than the arity."""
    op = TABLE[name]
    for count in {op.arity, op.arity + 2} if op.variadic else {op.arity}:
        for variant in range(3):
            args = tuple(Lit(float(variant)) if i in op.static or (variant == 2 and op.kind(i) == "r" and i != 0)
                         else Var(f"x{i}", truth=op.kind(i) == "t") for i in range(count))
            e = Equation((Var("z", truth=op.truth), Var())[:op.outs], op, args)
            for position in range(count):
                assert emitted(e, position) == run(e, position), (count, variant, position)


@each_row(("op", "operand", "infinite"), [
    ("div", Lit(2.0), False), ("div", Lit(-0.1), False), ("div", Lit(0.0), True), ("div", Lit(1e-310), True),
    ("div", Var("y"), True), ("mul", Var("y"), False), ("pown", Lit(2.0), False), ("pown", Lit(-1.0), True)])
def test_what_can_be_infinite_at_finite_values(op: str, operand: Var | Lit, infinite: bool) -> None:
    assert guards.can_be_infinite(Equation((Var("z"),), TABLE[op], (Var("x"), operand))) is infinite


def emitted(e: Equation, position: int) -> Any:
    b = Builder()
    term = guards.contribution(b, e, position, guards.Term.of(b.expr(SEED)))
    return None if term is None else shown(e, b, term.atom, term.guard)


def run(e: Equation, position: int) -> Any:
    b = Builder()
    if e.op.map(position) is None:
        return None
    shared(b, e)
    start = len(b.equations)
    found = mapped(b, e, position, b.expr(SEED))
    if found is None:
        return None
    if isinstance(found, When):
        guard = guards.restrict(b, (), guards.literals(b, found.condition, start))
        return None if guard is None else shown(e, b, found.value.atom, guard)
    return shown(e, b, found.atom, ())


SEED = Var("t")


def shown(e: Equation, b: Builder, value: Any, guard: Any) -> Any:
    """Equations with numbers for their values."""
    number: dict[Any, Any] = {SEED: "t", **{a: f"x{i}" for i, a in enumerate((*e.outs, *e.args))}}
    lines = []
    for x in b.equations:
        lines.append((x.op.name, [number.get(a) or repr(a.value) for a in x.args]))
        number[x.outs[0]] = f"i{len(lines)}"
    return lines, number.get(value) or repr(value.value), [(number[v], wanted) for v, wanted in guard]


def test_a_changed_map_is_noticed() -> None:
    """The comparison can fail."""
    e = Equation((Var("z"),), TABLE["mul"], (Var("x"), Var("y")))
    right = emitted(e, 0)
    with wrong_rule("mul", 0, lambda mapped: -mapped):
        assert emitted(e, 0) == run(e, 0) != right
