"""Simplification changes no bit at any point, and a fold that did would be caught."""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Equation, Lit
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from adcli.lang.passes import simplify
from hypothesis import given
from laws import check_simplify
from planted_faults import caught
from random_programs import SPECIAL, Sample, choices, extreme, law, mixed_points

Plant = Callable[[pytest.MonkeyPatch], Any]


def fold(name: str, when: float, result: Callable[[Any], Any]) -> Plant:
    """A plant: an operation with the constant `when` comes to `result` of the other operand."""
    op = TABLE[name]
    right = simplify.FOLDS[op]

    def wrong(f: Any, e: Equation, args: tuple[Any, ...]) -> Any:
        for one, other in (args, args[::-1]):
            if isinstance(other, Lit) and other.bits == Lit(when).bits:
                return result(one)
        return right(f, e, args)
    return lambda patch: patch.setitem(simplify.FOLDS, op, wrong)


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


@law(130)
@given(extreme, choices)
def test_simplification_changes_no_bit(written: Sample, r: random.Random) -> None:
    program = parse(written.text)
    check_simplify(program, mixed_points(r, program))


@pytest.mark.parametrize("n", [1, 2, 3, 20_001])
def test_a_condition_may_be_negated_as_often_as_one_likes(n: int) -> None:
    program = parse(f"v = {'not ' * n}(x > 0) ? 1 : 2")
    assert evaluate(simplify.simplify(program), {"x": 1.0}) == evaluate(program, {"x": 1.0}) == {"v": 1.0 + n % 2}
    select, = (e for e in simplify.simplify(program).equations if e.op.name == "select")
    assert len(simplify.prune(simplify.simplify(program)).equations) == 2 and select.args[0].truth
