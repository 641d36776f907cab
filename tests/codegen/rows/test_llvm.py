"""The kernel of a program of scalars: what its results are, and what its values are called."""
from __future__ import annotations

import math

from adcli.codegen.rows import jit, llvm
from adcli.codegen.rows.parts import cut
from adcli.lang.ir import Atom, Lit, Param, Program, Result, Var
from adcli.lang.ir.build import Builder
from adcli.lang.ir.primitives import TABLE
from back_ends import bits
from native_programs import WIDTHS, native


def test_results_that_are_no_equation() -> None:
    x, y = Var("x"), Var("y")
    results = tuple(Result(f"r{i}", a) for i, a in enumerate((y, Lit(-0.0), x, x, Lit(math.nan), Lit(5e-324))))
    program = Program((Param(x, "x"), Param(y, "y")), (), results)
    for lanes in WIDTHS:
        (row,) = native(program, [(1.0, 2.0)], lanes)
        assert [bits(v) for v in row] == [bits(v) for v in (2.0, -0.0, 1.0, 1.0, math.nan, 5e-324)]


def test_many_constant_results() -> None:
    program = Program((), (), tuple(Result(f"r{i}", Lit(float(i))) for i in range(2500)))
    assert len(cut(program)[0]) == 3
    assert native(program, [()]) == [[float(i) for i in range(2500)]]


def test_names() -> None:
    names = ["in", "x", "α", 'a"b', "x", "α", "row", "a.b", "1x", "i1", None, "in.0", "entry", "x_1", "\u200b"]
    b, x = Builder(), Var("work")
    z: Atom = x
    for name in names:
        z = b.emit(TABLE["neg"], z, name=name)
    program = Program((Param(x, "work"),), tuple(b.equations), (Result("z", z),))
    text = llvm.emit(program).text
    jit.verify(text)
    assert '%"α" = fneg' in text
    assert "%x_1 = fneg" in text
