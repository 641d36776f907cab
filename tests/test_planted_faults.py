"""Faults planted on purpose: each check that the other tests use passes without the fault and catches it.

A check that catches nothing would pass for ever; this is the test of the tests.
"""
from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from adcli.codegen.machine import kernel as kernels
from adcli.lang.derive.derivatives import gradient
from adcli.lang.ir import Equation, Lit, Program, Var, check, notation
from adcli.lang.ir.primitives import TABLE
from adcli.lang.passes import duplicate, guards, reverse, simplify
from adcli.lang.passes import zero_seeds as seeds
from adcli.lang.syntax.parse import parse
from laws import (
    check_arm,
    check_differences,
    check_duplicate,
    check_modes_agree,
    check_round_trip,
    check_rows,
    check_simplify,
    check_zero_seeds,
)
from random_programs import SPECIAL
from wrong_rules import wrong_rule

Plant = Callable[[pytest.MonkeyPatch], Any]


@contextmanager
def caught() -> Iterator[None]:
    """The block must fail as a test fails."""
    with pytest.raises(AssertionError):
        yield


# ---------------------------------------------------------------- (a) a wrong rule

ROWS = ("mul", "div", "sub", "sin", "tanh", "sqrt", "hypot", "max", "select", "fma", "atan2", "sigmoid", "erf", "log", "abs",
        "relu", "lgamma", "pown")
RULES = [(name, position) for name in ROWS
         for position, rule in enumerate(TABLE[name].maps) if rule is not None]
CHANGES = {"one part in a million": lambda m: m * (1 + 1e-6), "sign": lambda m: -m, "zero": lambda m: m * 0.0,
           "twice": lambda m: m + m}


def program_of(name: str) -> Program:
    """A program in which every argument of an operation counts, at the point `HERE` away from anything awkward."""
    texts = {"mul": "x*y", "div": "x/y", "sub": "x - y", "select": "(c > 0 ? x : y) + (c < 0 ? x : y)", "pown": "x**3"}
    call = f"{name}({', '.join(('x', 'y', 'c')[:TABLE[name].arity])})"
    return parse(f"input x, y, c\nv = exp({texts.get(name, call)})*x")


HERE = {"x": 1.3, "y": 0.7, "c": 0.4}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize(("name", "position"), RULES)
def test_a_wrong_rule(name: str, position: int, change: Callable[[Any], Any]) -> None:
    program = program_of(name)
    for mode in ("forward", "reverse"):
        assert check_differences(program, HERE, mode)
        with wrong_rule(name, position, change), caught():
            check_differences(program, HERE, mode)
        assert check_differences(program, HERE, mode)


# ---------------------------------------------------------------- (b) a fault in duplication, (c) in the order of the sweep

SHARED = parse("s = x*y\nt = sin(s)*s\nv = t*s + x/t\nw = t - y")
POINTS = [{"x": 1.25, "y": -0.5}, {"x": 0.0, "y": 2.0}, {"x": 3.0, "y": 0.1}]


def drops_a_copy(program: Program) -> Program:
    """The second copy is made, and a constant used in its place."""
    right = DUPLICATE(program)
    lost = next(e.outs[1] for e in right.equations if e.op is TABLE["dup"])
    return replaced(right, lost, Lit(0.0))


def uses_the_original(program: Program) -> Program:
    """The first copy is made, and the original used once more in its place."""
    right = DUPLICATE(program)
    made = next(e for e in right.equations if e.op is TABLE["dup"])
    return replaced(right, made.outs[0], made.args[0])


def uses_a_copy_twice(program: Program) -> Program:
    right = DUPLICATE(program)
    made = next(e for e in right.equations if e.op is TABLE["dup"])
    return replaced(right, made.outs[0], made.outs[1])


def copies_nothing(program: Program) -> Program:
    return program


DUPLICATE = duplicate.duplicate


def replaced(program: Program, old: Var, new: Var | Lit) -> Program:
    equations = tuple(Equation(e.outs, e.op, tuple(new if a is old else a for a in e.args)) for e in program.equations)
    return Program(program.params, equations, program.results)


@pytest.mark.parametrize("fault", [drops_a_copy, uses_the_original, uses_a_copy_twice, copies_nothing])
def test_a_fault_in_duplication(fault: Callable[[Program], Program], monkeypatch: pytest.MonkeyPatch) -> None:
    check_duplicate(SHARED, POINTS)
    assert check_modes_agree(SHARED, POINTS) == 12
    monkeypatch.setattr(duplicate, "duplicate", fault)
    with caught():
        check_duplicate(SHARED, POINTS)
    monkeypatch.setattr(reverse, "duplicate", fault)
    monkeypatch.setattr(check, "ALWAYS", False)                # the modes alone must notice
    with caught():
        check_modes_agree(SHARED, POINTS)


def test_a_sweep_in_the_wrong_order(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_modes_agree(SHARED, POINTS) == 12
    right = reverse.pull_back
    monkeypatch.setattr(reverse, "pull_back", lambda b, equations, *rest: right(b, equations[::-1], *rest))
    with caught():
        check_modes_agree(SHARED, POINTS)


# ---------------------------------------------------------------- (d) the guard of a select

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


# A zero seed, and a seed that the arm taken does not see, are both no contribution to what comes behind.

BEHIND = [parse("s = c > 0 ? a : x\nv = s*log(y)"), parse("s = a*round(x)\nv = s*log(y)\nc = 0")]
NAN_BEHIND = [{"c": 1.0, "a": 2.0, "x": 0.3, "y": -1.0}]


@pytest.mark.parametrize("program", BEHIND)
def test_a_seed_let_in_through_the_arm_not_taken(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    check_zero_seeds(program, NAN_BEHIND)
    check_modes_agree(program, NAN_BEHIND)

    def any_arm(b: Any, e: Equation, present: Any) -> Var:
        return next(present[a] for a in reversed(e.args) if a in present)
    monkeypatch.setattr(seeds, "_chosen", any_arm)
    with caught():
        check_zero_seeds(program, NAN_BEHIND)


# ---------------------------------------------------------------- (e) a wrong fold

def fold(name: str, when: float, result: Callable[[Any], Any]) -> Plant:
    """A plant: an operation with the constant `when` comes to `result` of the other operand."""
    right = simplify.FOLDS[name]

    def wrong(f: Any, e: Equation, args: tuple[Any, ...]) -> Any:
        for one, other in (args, args[::-1]):
            if isinstance(other, Lit) and other.bits == Lit(when).bits:
                return result(one)
        return right(f, e, args)
    return lambda patch: patch.setitem(simplify.FOLDS, name, wrong)


FOLDS = {"x*0 → 0": ("x*0", fold("mul", 0.0, lambda x: Lit(0.0))), "x + 0 → x": ("x + 0", fold("add", 0.0, lambda x: x)),
         "x + -0 → 0": ("x + -0.0*1", fold("add", -0.0, lambda x: Lit(0.0))),
         "0 - x → x": ("0 - x", fold("sub", 0.0, lambda x: x)),
         "x/1 → 1": ("x/1", fold("div", 1.0, lambda x: Lit(1.0)))}
AWKWARD = [{"x": x} for x in SPECIAL]


@pytest.mark.parametrize(("text", "plant"), FOLDS.values(), ids=FOLDS)
def test_a_wrong_fold(text: str, plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    program = parse(f"v = {text}")
    check_simplify(program, AWKWARD)
    plant(monkeypatch)
    with caught():
        check_simplify(program, AWKWARD)


# ---------------------------------------------------------------- (f) the printer

def test_a_printer_without_parentheses(monkeypatch: pytest.MonkeyPatch) -> None:
    program = parse("v = (x - (y - z))*x")
    check_round_trip(program)
    monkeypatch.setattr(notation, "enclosed", lambda piece, least: piece[0])
    with caught():
        check_round_trip(parse("v = (x - (y - z))*x"))


@pytest.mark.parametrize(("text", "level"), [("(x**y)**z", notation.POWER), ("a and (b < c or x < y) ? 1 : 0", notation.OR),
                                             ("x/(y*z)", notation.PRODUCT), ("(c < 0 ? x : y)*z", notation.TERNARY)])
def test_a_printer_that_forgets_one_kind_of_parentheses(text: str, level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = parse(f"v = {text}".replace("a and", "a < 1 and"))
    check_round_trip(program)
    right = notation.enclosed
    monkeypatch.setattr(notation, "enclosed", lambda piece, least: piece[0] if piece[1] == level else right(piece, least))
    with caught():
        check_round_trip(program)


def test_a_printer_with_six_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    program = parse("v = x*0.1 + 1e-300")
    check_round_trip(program)
    inexact = parse("v = x*0.12345678901234567")
    check_round_trip(inexact)
    monkeypatch.setattr(notation, "number", lambda value: f"{value:g}")
    with caught():
        check_round_trip(inexact)


# ---------------------------------------------------------------- (g) lanes and tails

def run_in_turn(wrong: Callable[[list[list[float]], int], list[list[float]]]) -> Callable[..., list[list[float]]]:
    """kernel.run with its results spoiled."""
    right = kernels.run
    return lambda kernel, columns, rows: wrong(right(kernel, columns, rows), kernel.lanes)


def last_row_repeats(columns: list[list[float]], lanes: int) -> list[list[float]]:
    return [c[:-1] + c[-2:-1] if len(c) % lanes and len(c) > 1 else c for c in columns]


def lanes_exchanged(columns: list[list[float]], lanes: int) -> list[list[float]]:
    return [[c[1], c[0], *c[2:]] if len(c) >= lanes > 1 else c for c in columns]


def padding_shows(columns: list[list[float]], lanes: int) -> list[list[float]]:
    return [[*c[:-1], 0.0] if len(c) % lanes and len(c) > lanes else c for c in columns]


@pytest.mark.parametrize("wrong", [last_row_repeats, lanes_exchanged, padding_shows])
def test_a_wrong_lane_or_tail(wrong: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    r = random.Random(1)
    program = gradient(parse("v = exp(x)*y"))
    points = [{"x": r.uniform(-1, 1), "y": r.uniform(1, 2)} for _ in range(19)]
    check_rows(program, points)
    monkeypatch.setattr(kernels, "run", run_in_turn(wrong))
    with caught():
        check_rows(program, points)
