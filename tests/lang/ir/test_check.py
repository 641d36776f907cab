"""The checker: what every program must satisfy, and that it says which equation does not."""
from __future__ import annotations

from dataclasses import replace

import pytest
from adcli.lang.ir import Equation, Lit, Var, check
from adcli.lang.ir.affine import Index, affine
from adcli.lang.ir.check import CheckError
from adcli.lang.ir.comprehension import Read
from comprehension_samples import convolution, with_op


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
        (with_op(program, onto=0, reduction="max"), "only a sum or = goes onto a value"),
        (replace(program, equations=(replace(e, args=(Lit(1.0), e.args[1])),)), "a read of another rank than its argument"),
        (replace(program, equations=(replace(e, args=(Var("x", shape=(affine("H"),)), e.args[1])),)), "no bound value"),
        (replace(program, equations=(Equation((Var("z"),), check.TABLE["sin"], (image,)),)), "a scalar operation on tensors"),
    ]
    check.check(program)
    for wrong, message in faults:
        with pytest.raises(CheckError, match=message):
            check.check(wrong)
