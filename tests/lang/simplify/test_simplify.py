"""Simplification changes no bit at any point, and a fold that did would be caught."""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Equation, Lit
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from adcli.lang.simplify import simplify
from hypothesis import given
from laws import check_simplify
from planted_faults import caught
from random_programs import SPECIAL, Sample, choices, extreme, law, mixed_points
from row_tables import each_row

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


ONE_PRODUCT = {"100*x + 100*x": 200, "2*(100*x)": 200, "-4*(3*x)": -12, "3*(x*-8)": -24,
               "2*(2*(5*x) + 2*(5*x))": 40, "7*(1024*x)": 7168}
"""Whole multiples of x, and the one factor that they come to."""
SEVERAL_PRODUCTS = ("0.5*x + 0.5*x", "2*(0.1*x)", "3*(5*x)", "2*(1.5*x)", "0.5*(4*x)", "6*(3*x)", "3*(4*(5*x))",
                    "2**40*(2**14*x)", "4*(0.25*x)", "0*(2*x)", "2*(0*x)")
"""What rounds otherwise in one product for some x, or might, or has no power of two in it."""


@each_row("text", [*ONE_PRODUCT, *SEVERAL_PRODUCTS])
def test_multiples_by_powers_of_two_are_one_product(text: str) -> None:
    program = parse(f"v = {text}")
    check_simplify(program, [*AWKWARD, *({"x": x} for x in (5e-324, 3e-308, 1e308, -4e307, 2.0 ** 1020 * 1.9))])
    lines = simplify.simplify(program).equations
    assert (len(lines) == 1) == (text in ONE_PRODUCT)
    assert len(lines) > 1 or [a.value for a in lines[0].args if isinstance(a, Lit)] == [ONE_PRODUCT[text]]


def test_a_multiple_that_has_a_name_stays() -> None:
    """It is what a reader looks for, and it is computed anyway."""
    program = simplify.simplify(parse("p = 4*x\nv = 2*p*y"))
    assert [a.value for e in program.equations for a in e.args if isinstance(a, Lit)] == [4, 2]


@pytest.mark.parametrize("real", [np.float64, np.float32])
def test_what_is_exact_together_is_exact_at_every_number(real: type[Any]) -> None:
    r = np.random.default_rng(7)
    whole = np.dtype(f"u{np.dtype(real).itemsize}")
    small = np.arange(1000, dtype=whole).view(real)   # the smallest numbers of all
    drawn = r.integers(0, 2 ** (8 * whole.itemsize), 200_000, dtype=np.uint64).astype(whole).view(real)
    x = np.concatenate([drawn, small, np.array([np.inf, np.finfo(real).max, np.finfo(real).tiny], real)])
    with np.errstate(all="ignore"):
        for c, d in [(c, d) for c in (2, -4, 2 ** 20, 3, 100, 12345, 2 ** 25 + 1) for d in (2, 64, -2 ** 21, 7)]:
            if simplify.exact_together(float(c), float(d)):
                one, two = real(c * d) * x, real(c) * (real(d) * x)
                assert (one.view(whole) == two.view(whole))[~np.isnan(x)].all()
        assert (real(1.5) * (real(2) * small) == real(3) * small).all()
        assert not (real(2) * (real(1.5) * small) == real(3) * small).all()   # not a whole number
