"""The order of steps, with sizes as numbers: writes come before reads, and an element is assigned once."""
from __future__ import annotations

import pytest
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Equation, Lit, Param, Program, Result, Var
from adcli.lang.ir.affine import Affine, Index, affine
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.comprehension import Comprehension, Range, Read, identity_body
from adcli.lang.operations.recurrence import Recurrence, signature_of
from loop_programs import LOOPS
from row_tables import each_row
from well_formed import CheckError, check

STEPS, SHAPE = affine("T"), (affine("T") + 4,)


def copying(lag: int, down: bool, high: Affine = STEPS) -> Program:
    """h(t + 2) = h(t + 2 + lag) for every step."""
    t, inner, out, size = Index("t"), Var("h", shape=SHAPE), Var("h", shape=SHAPE), Var("T", integer=True)
    op = Comprehension(ranges=(Range(t, affine(0), high),), write=(affine(t) + 2,), shape=SHAPE, reduction="=",
                       sources=(Read(0, (affine(t) + (2 + lag),)),), body=identity_body())
    loop = Recurrence(signature=signature_of(1), step=t, low=affine(0), high=high, down=down, histories=(inner,),
                      constants=(), statements=(Equation((inner,), op, (inner,)),))
    return Program((Param(size, "T"),), (Equation((out,), loop, (Lit(0.0),)),), (Result("h", out),))


@each_row("lag", [-2, -1, 0, 1, 2])
@each_row("down", [False, True])
def test_a_read_is_later_than_the_write_in_the_direction_of_the_loop(lag: int, down: bool) -> None:
    if (lag > 0) == down and lag:
        check(copying(lag, down))
        evaluate(copying(lag, down), {"T": 3})
        return
    with pytest.raises(CheckError, match="read before it is written"):
        check(copying(lag, down))
    with pytest.raises(AdError, match="is read before the loop over t has written it"):
        evaluate(copying(lag, down), {"T": 3})


def test_what_no_step_reaches_is_no_fault_once_sizes_are_known() -> None:
    evaluate(copying(2, False), {"T": 1})   # what is read no step writes
    with pytest.raises(AdError, match="is read before"):
        evaluate(copying(2, False), {"T": 3})


def test_two_statements_assign_one_element_where_sizes_make_them_meet() -> None:
    program, inputs = parse(LOOPS["heat"].text), {"k": 0.1, "right": 1.0, "T": 2}
    evaluate(program, {"u0": [1.0, 2.0], **inputs})
    with pytest.raises(AdError, match="two statements of the loop over t give elements of 'u' a value"):
        evaluate(program, {"u0": [1.0], **inputs})


@pytest.mark.parametrize(("statements", "allowed"), [
    ("h(t + 1) = x(t); h(t + 1) += 1", True),
    ("h(t + 1) = x(t); h(t) += t >= 1 ? 1 : 0", True),
    ("h(t + 1) += 1; h(t + 1) = x(t)", False),
    ("h(t) += t >= 1 ? 1 : 0; h(t + 1) = x(t)", True),
    ("h(t + 1) = x(t); h(t + 2) += 1", False),
])
def test_what_has_been_assigned_may_be_added_to(statements: str, allowed: bool) -> None:
    text, inputs = f"input x(T)\nh(0) = 0\nh(T + 1) = 0\nfor t in 0:T {{ {statements} }}\n", {"x": [1.0, 2.0, 3.0]}
    if allowed:
        evaluate(parse(text), inputs)
        return
    with pytest.raises(AdError, match=r"of .h. are assigned, and added to|two statements of the loop over t give"):
        evaluate(parse(text), inputs)
