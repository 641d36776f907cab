"""Compositions of the table written out for the machine."""
from __future__ import annotations

from adcli.codegen.rows.expand import expand
from adcli.lang.ir import Equation, Lit, Param, Program, Result, Var
from adcli.lang.ir.primitives import TABLE


def test_expand_keeps_names_and_leaves_no_composition() -> None:
    x, z, w, copy, other = Var("x"), Var("z"), Var("w"), Var("a"), Var("b")
    equations = (Equation((copy, other), TABLE["dup"], (x,)), Equation((z,), TABLE["softplus"], (copy,)),
                 Equation((w,), TABLE["pown"], (other, Lit(1.0))), Equation((v := Var("v"),), TABLE["max"], (z, w, x)))
    program = expand(Program((Param(x, "x"),), equations, tuple(Result(str(i), a) for i, a in enumerate((z, w, v)))))
    assert [r.atom for r in program.results] == [z, x, v]
    assert {e.op.name for e in program.equations} == {"max", "abs", "neg", "exp", "log1p", "add"}
    assert all(len(e.args) <= 2 for e in program.equations)
