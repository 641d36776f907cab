"""The checker: what every program must satisfy, and that it says which equation does not."""
from __future__ import annotations

from dataclasses import replace

import pytest
from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Result, Var
from adcli.lang.ir.affine import Index, affine
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.comprehension import Read
from comprehension_samples import convolution, with_op
from row_tables import each_row
from well_formed import CheckError, check, check_linear


def test_the_checker_refuses_what_is_not_complete_by_itself() -> None:
    program = convolution().program()
    [e] = program.equations
    h, k = e.op.indices
    stray, image = Index("stray"), program.params[0].var
    late = replace(e.op.ranges[0], high=affine(k))
    faults = [
        (with_op(program, reduction="mean"), "no reduction mean"),
        (with_op(program, ranges=(*e.op.ranges, e.op.ranges[0])), "two ranges of one index"),
        (with_op(program, ranges=(late, e.op.ranges[1])), "the range of h depends on an index"),
        (with_op(program, guards=(affine(stray),)), "a guard with an index that has no range"),
        (with_op(program, guards=(affine("Z"),)), "sizes that no input has: Z"),
        (with_op(program, write=(affine(stray),)), "a subscript with an index that has no range"),
        (with_op(program, write=(affine("Z"),)), "a subscript with a size that no input has"),
        (with_op(program, write=(affine(h), affine(k))), "a write of another rank than the result"),
        (with_op(program, shape=(affine("H"),)), "a result of another shape"),
        (with_op(program, sources=(e.op.sources[0],)), "a body with another number of inputs than there are sources"),
        (with_op(program, sources=(e.op.sources[0], Read(0, ()))), "a read of another rank than its argument"),
        (with_op(program, sources=(e.op.sources[0], Read(2, ()))), "a read of an argument that is not there"),
        (with_op(program, write=(Read(0, (affine(h),)),)), "a subscript that is no integer"),
        (with_op(program, onto=2), "onto an argument that is not there"),
        (with_op(program, onto=0, reduction="lse"), "no lse goes onto a value"),
        (replace(program, equations=(replace(e, args=(Lit(1.0), e.args[1])),)), "a read of another rank than its argument"),
        (replace(program, equations=(replace(e, args=(Var("x", shape=(affine("H"),)), e.args[1])),)), "no bound value"),
        (replace(program, equations=(Equation((Var("z"),), TABLE["sin"], (image,)),)), "a scalar operation on tensors"),
    ]
    check(program)
    for wrong, message in faults:
        with pytest.raises(CheckError, match=message):
            check(wrong)


# ---------------------------------------------------------------- scalars

X, Y, T = Var("x"), Var("y"), Var("t", truth=True)
INPUT = Param(X, "x")


def sine(out: Var, arg: Atom) -> Equation:
    return Equation((out,), TABLE["sin"], (arg,))


@each_row(("params", "equations", "results", "said"), [
    ((INPUT, INPUT), (), (), "input x is bound twice"),
    ((INPUT, Param(Y, "x")), (), (), "two inputs of one name"),
    ((INPUT,), (sine(Y, X), sine(Y, X)), (), "equation 1: y is bound twice"),
    ((INPUT,), (sine(X, X),), (), "x is bound twice"),
    ((INPUT,), (sine(Y, Var("z")),), (), "argument z is no bound value"),
    ((INPUT,), (sine(T, X),), (), "t has the wrong kind"),
    ((INPUT,), (Equation((Y,), TABLE["lt"], (X, X)),), (), "y has the wrong kind"),
    ((INPUT,), (Equation((T,), TABLE["lt"], (X, X)), sine(Y, T)), (), "t has the wrong kind"),
    ((INPUT,), (Equation((Y,), TABLE["select"], (Lit(1.0), X, X)),), (), "a constant where a truth value belongs"),
    ((INPUT,), (Equation((Y,), TABLE["add"], (X,)),), (), "wrong number of arguments"),
    ((INPUT,), (Equation((Y,), TABLE["max"], (X,)),), (), "wrong number of arguments"),
    ((INPUT,), (Equation((Y, Var("z")), TABLE["sin"], (X,)),), (), "wrong number of results"),
    ((INPUT,), (Equation((Y,), TABLE["dup"], (X,)),), (), "wrong number of results"),
    ((INPUT,), (Equation((Y,), TABLE["pown"], (X, X)),), (), "an argument that must be constant"),
    ((INPUT,), (Equation((Y,), TABLE["pown"], (X, Lit(0.5))),), (), "a constant that is no integer"),
    ((INPUT,), (), (Result("v", Y),), "result v is not a bound real value"),
    ((INPUT,), (Equation((T,), TABLE["lt"], (X, X)),), (Result("v", T),), "result v is not a bound real value"),
    ((INPUT,), (), (Result("v", X), Result("v", X)), "two results of one name")])
def test_what_no_program_may_be(params: tuple[Param, ...], equations: tuple[Equation, ...], results: tuple[Result, ...],
                                said: str) -> None:
    with pytest.raises(CheckError, match=said):
        check(Program(params, equations, results))


def test_a_value_used_twice_is_not_in_explicit_duplication_form() -> None:
    first, second = Var("a"), Var("b")
    copied = (Equation((first, second), TABLE["dup"], (X,)), Equation((Y,), TABLE["mul"], (first, second)))
    check_linear(Program((INPUT,), copied, (Result("y", Y),)))
    for wrong in (Program((INPUT,), (Equation((Y,), TABLE["mul"], (X, X)),), (Result("y", Y),)),
                  Program((INPUT,), (sine(Y, X),), (Result("y", Y), Result("x", X)))):
        with pytest.raises(CheckError, match="a value is used more than once"):
            check_linear(wrong)


def test_the_fault_is_shown_among_its_neighbours() -> None:
    values = [Var(f"v{i}") for i in range(9)]
    lines = [sine(new, old) for old, new in zip((X, *values[:3], Var("lost"), *values[4:7]), values[:8], strict=True)]
    with pytest.raises(CheckError) as fault:
        check(Program((INPUT,), tuple(lines), ()))
    assert str(fault.value).splitlines() == [
        "equation 4: argument lost is no bound value", "  v1 = sin(v0)", "  v2 = sin(v1)", "  v3 = sin(v2)", "> v4 = sin(lost)",
        "  v5 = sin(v4)", "  v6 = sin(v5)", "  v7 = sin(v6)"]
