"""The kernel of a program of scalars: what its results are, and what its values are called."""
from __future__ import annotations

import math
import re

import pytest
from adcli.codegen.machine import veclib
from adcli.codegen.rows import jit, llvm
from adcli.codegen.rows.parts import PART_SIZE
from adcli.lang.derive.derivatives import gradient
from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Result, Var
from adcli.lang.ir.build import Builder
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from back_ends import bits
from native_programs import WIDTHS, long_program, native
from row_tables import each_row

import adcli


def test_results_that_are_no_equation() -> None:
    x, y = Var("x"), Var("y")
    results = tuple(Result(f"r{i}", a) for i, a in enumerate((y, Lit(-0.0), x, x, Lit(math.nan), Lit(5e-324))))
    program = Program((Param(x, "x"), Param(y, "y")), (), results)
    for lanes in WIDTHS:
        (row,) = native(program, [(1.0, 2.0)], lanes)
        assert [bits(v) for v in row] == [bits(v) for v in (2.0, -0.0, 1.0, 1.0, math.nan, 5e-324)]


def test_results_that_are_listed() -> None:
    """Constants, and values that are results many times, in any order, get data and no code: what code takes is looked at."""
    x, y, b = Var("x"), Var("y"), Builder()
    v, w = b.emit(TABLE["sqrt"], x), b.emit(TABLE["mul"], x, y)
    specials: list[Atom] = [Lit(-0.0), Lit(math.nan), Lit(math.inf), Lit(5e-324), Lit(0.1)]
    atoms: list[Atom] = [x, *specials, y, w, *([v, x, *specials, w] * 150), y]

    def program(count: int) -> Program:
        results = tuple(Result(f"r{i}", a) for i, a in enumerate(atoms[:count]))
        return Program((Param(x, "x"), Param(y, "y")), tuple(b.equations), results)

    rows = [(0.1 * k, 3.0 - k) for k in range(9)]
    few = [row[:12] for row in native(program(400), rows)]
    for lanes in WIDTHS:
        many = native(program(len(atoms)), rows, lanes)
        assert [[bits(z) for z in row[:12]] for row in many] == [[bits(z) for z in row] for row in few]
        assert all([bits(z) for z in row[8:-1]] == [bits(z) for z in row[8:16]] * 150 for row in many)
    module = llvm.emit(program(len(atoms)), 8)
    assert module.text.count("store ") == 4 + 2 and module.columns == 2 + 4
    assert llvm.emit(program(400)).columns == 402
    assert llvm.emit(program(len(atoms)), part_size=1).text.count("store ") == 4 + 2


def test_the_second_derivatives_of_an_extremum_are_no_code() -> None:
    many = gradient(parse(f"v = max({', '.join(f'x{i}' for i in range(60))})"), order=2)
    assert len(many.results) > 1800 and llvm.emit(many, 8).text.count("store ") < 100


KERNEL = """\
; made by a test
; second line
; in: x, y
; out: v

declare double @sin(double)

define void @"a b"(ptr %in, ptr %out, i64 %begin, i64 %end, ptr %work) {
entry:
  %in.0.slot = getelementptr ptr, ptr %in, i64 0
  %in.0 = load ptr, ptr %in.0.slot
  %in.1.slot = getelementptr ptr, ptr %in, i64 1
  %in.1 = load ptr, ptr %in.1.slot
  %out.0.slot = getelementptr ptr, ptr %out, i64 0
  %out.0 = load ptr, ptr %out.0.slot
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %block, label %exit
block:
  %row = phi i64 [ %begin, %entry ], [ %next, %block ]
  %in.0.at = getelementptr double, ptr %in.0, i64 %row
  %x = load double, ptr %in.0.at, align 8
  %in.1.at = getelementptr double, ptr %in.1, i64 %row
  %y = load double, ptr %in.1.at, align 8
  %i.1 = call double @sin(double %y)
  %v = fmul double %x, %i.1
  %out.0.at = getelementptr double, ptr %out.0, i64 %row
  store double %v, ptr %out.0.at, align 8
  %next = add i64 %row, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %block, label %exit
exit:
  ret void
}
"""


def product() -> Program:
    x, y, b = Var("x"), Var("y"), Builder()
    v = b.emit(TABLE["mul"], x, b.emit(TABLE["sin"], y), name="v")
    return Program((Param(x, "x"), Param(y, "y")), tuple(b.equations), (Result("v", v),))


def test_the_text_of_a_kernel() -> None:
    module = llvm.emit(product(), name="a b", header=["made by a test", "second line  "])
    assert module.text == KERNEL
    assert module.entry == ("a b", 1, 0, 2, 1, ("sin",), "d") and module.equations == 2
    assert (module.name, module.lanes, module.work_bytes) == module.entry[:3]
    assert llvm.emit(product()).text == llvm.emit(product(), 1, veclib.NO_LIBRARY, "kernel").text


@pytest.mark.parametrize(("length", "parts"), [(llvm.ONE_PART, 1), (llvm.ONE_PART + 1, -(-(llvm.ONE_PART + 1) // PART_SIZE))])
def test_long_programs_are_cut(length: int, parts: int) -> None:
    x = Var("x")
    equations = tuple(Equation((Var(),), TABLE["neg"], (x,)) for _ in range(length))
    module = llvm.emit(Program((Param(x, "x"),), equations, (Result("v", equations[-1].outs[0]),)))
    assert module.equations == length
    assert module.text.count("define internal void @kernel.part") == (parts if parts > 1 else 0)
    assert module.text.count("call void @kernel.part") == module.text.count("define internal void")


@pytest.mark.parametrize("beyond", [299, 300])
def test_blocks_go_together_in_programs_beyond_a_length(beyond: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = long_program(250)
    equations = llvm.emit(program).equations
    monkeypatch.setattr(llvm, "BLOCKS_BEYOND", equations - (beyond == 299))
    module = llvm.emit(program, part_size=50)
    assert (f"add i64 %row, {llvm.BLOCKS}\n" in module.text) == (beyond == 299)
    jit.verify(module.text)


@each_row(("name", "text"), [
    ("x", "x"), ("_x.y$1", "_x.y$1"), ("1x", '"1x"'), ("α", '"α"'), ("a b", '"a b"'), ('a"b', r'"a\22b"'), ("a\\b", r'"a\5Cb"'),
    ("\u200b", r'"\E2\80\8B"'), ("a\nb", r'"a\0Ab"'), ("", '""'), ("x\n", r'"x\0A"')])
def test_a_name_as_llvm_has_it(name: str, text: str) -> None:
    assert llvm.quoted(name) == text


def test_no_two_values_have_one_name() -> None:
    names = [*llvm.LOOP_NAMES, "a", "a", "a_1", "a", "a.b", "a_b", "a.b", "i.1", "i_1", None, None, "load.0", "x"]
    b, x = Builder(), Var("x")
    z: Atom = x
    for name in names:
        z = b.emit(TABLE["neg"], z, name=name)
    text = llvm.emit(Program((Param(x, "x"),), tuple(b.equations), (Result("z", z),))).text
    jit.verify(text)
    defined = [line.split(" = ")[0].strip() for line in text.splitlines() if "fneg" in line]
    assert len(set(defined)) == len(names)
    assert defined[len(llvm.LOOP_NAMES):] == ["%a", "%a_1", "%a_1_1", "%a_2", "%a_b", "%a_b_1", "%a_b_2", "%i_1",
                                              "%i_1_1", "%i.1", "%i.2",
                                              "%load_0", "%x_1"]
    assert all("." not in name or name.startswith("%i.") for name in defined)


def test_names_that_are_taken_are_those_that_the_text_uses() -> None:
    text = llvm.emit(long_program(60), part_size=20).text
    used = re.findall(r"%([a-z]+)\b(?![.\d])", text) + re.findall(r"^([a-z]+):$", text, re.M)
    assert set(used) == set(llvm.LOOP_NAMES)


def test_an_object_file_says_what_made_it() -> None:
    lines = ["made by a test", 'inputs: "α", \\ and\ttabs', ""]
    text = llvm.identification(lines)
    assert text.startswith("\n!llvm.ident = !{!0, !1, !2}\n!0 = !{!\"made by a test\"}\n")
    code = jit.object_code(llvm.emit(product()).text + text)
    for line in lines[:2]:
        assert line.encode() in code
def test_names_longer_than_llvm_keeps_stay_apart():
    long = "a" * 1500
    f = adcli.compile(f"{long}1 = x + 1\n{long}2 = {long}1*x\nv = {long}1 + {long}2*y{long}*z{long}")
    assert f({"x": 2.0, f"y{long}": 1.0, f"z{long}": 10.0})["v"] == 63.0


def test_columns_are_asked_for_ahead_where_they_are_long() -> None:
    """By kernels for this machine's rows alone that write more columns than they read, once for each; the texts for any machine
    are as ever."""
    program = gradient(parse("v = x*x*y"))
    wide = llvm.emit(program, 8, veclib.Library("any", lambda symbol: False, True)).text
    assert wide.count("call void @llvm.prefetch") == len(program.params) + len(program.results)
    assert wide.count("i32 0, i32 3, i32 1)") == len(program.params)
    for lanes, library, size in ((8, veclib.NO_LIBRARY, None), (4, veclib.host(), None), (8, veclib.host(), 2)):
        assert "prefetch" not in llvm.emit(program, lanes, library, part_size=size).text
