"""Long programs in parts: the same bits as in one piece, and no more memory between parts than is needed."""
from __future__ import annotations

import ctypes

import pytest
from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import run
from adcli.codegen.rows import jit, llvm
from adcli.codegen.rows.compiled import compile_program
from adcli.codegen.rows.parts import cut
from adcli.lang.ir import Atom, Param, Program, Result, Var
from adcli.lang.ir.build import Builder
from adcli.lang.ir.primitives import TABLE
from back_ends import bits
from native_programs import WIDTHS, long_program


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("size", [1, 7, 100])
def test_parts_agree_with_the_whole(size: int, level: int, lanes: int) -> None:
    program = long_program(300)
    at = [[0.1 * i + 0.3 * k - 0.5 for i in range(2 * lanes + 1)] for k in range(5)]
    whole = llvm.emit(program, lanes, veclib.host(), part_size=10_000)
    parts = llvm.emit(program, lanes, veclib.host(), part_size=size)
    assert whole.work_bytes == 0 < parts.work_bytes
    runs = [run(jit.link(jit.object_code(m.text, level=level), m.entry), at) for m in (whole, parts)]
    assert [[bits(x) for x in column] for column in runs[0]] == [[bits(x) for x in column] for column in runs[1]]


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize("rows", [1, 3, 4, 5, 9])
def test_blocks_that_go_through_parts_together(rows: int, lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = long_program(300)
    at = [[0.1 * i + 0.3 * k - 0.5 for i in range(rows * lanes)] for k in range(5)]
    whole = llvm.emit(program, lanes, veclib.host(), part_size=10_000)
    single = llvm.emit(program, lanes, veclib.host(), part_size=50)
    monkeypatch.setattr(llvm, "BLOCKS_BEYOND", 100)
    together = llvm.emit(program, lanes, veclib.host(), part_size=50)
    assert together.work_bytes == llvm.BLOCKS * single.work_bytes
    runs = [run(jit.link(jit.object_code(m.text), m.entry), at) for m in (whole, together)]
    assert [[bits(x) for x in column] for column in runs[0]] == [[bits(x) for x in column] for column in runs[1]]


def test_what_waits_lies_on_whole_cache_lines() -> None:
    module = llvm.emit(long_program(300), 4, veclib.NO_LIBRARY, part_size=50)
    assert module.text.count("define ") == module.text.count(" alignstack(32) {")
    assert "alignstack" not in llvm.emit(long_program(300), 2, veclib.NO_LIBRARY, part_size=50).text
    kernel = compile_program(long_program(5000))
    assert kernel.work_bytes and ctypes.addressof(kernel.workspace()) % 64 == 0


def test_slots_are_reused() -> None:
    x = Var("x")
    b = Builder()
    z: Atom = x
    for _ in range(5000):
        z = b.emit(TABLE["sin"], z)
    program = Program((Param(x, "x"),), tuple(b.equations), (Result("z", z),))
    parts, slots = cut(program, 100)
    assert len(parts) == 50
    assert slots <= 2
