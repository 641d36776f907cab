"""Long programs in parts: the same bits as in one piece, and no more memory between parts than is needed."""
from __future__ import annotations

import ctypes

import pytest
from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import run
from adcli.codegen.rows import jit, llvm
from adcli.codegen.rows.compiled import compile_program
from adcli.codegen.rows.expand import expand
from adcli.codegen.rows.instructions import DEFINITIONS
from adcli.codegen.rows.parts import PART_SIZE, cut
from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Result, Var
from adcli.lang.ir.build import Builder
from adcli.lang.ir.primitives import TABLE
from back_ends import bits
from native_programs import WIDTHS, long_program
from row_tables import each_row
from session_seed import each_choice


@pytest.mark.usefixtures("made_well")
@pytest.mark.parametrize("size, level, lanes", each_choice((1, 7, 100), (0, 1, 2), WIDTHS))
def test_parts_agree_with_the_whole(size: int, level: int, lanes: int) -> None:
    program = long_program(300)
    at = [[0.1 * i + 0.3 * k - 0.5 for i in range(2 * lanes + 1)] for k in range(5)]
    whole = llvm.emit(program, lanes, veclib.host(), part_size=10_000)
    parts = llvm.emit(program, lanes, veclib.host(), part_size=size)
    assert whole.work_bytes == 0 < parts.work_bytes
    runs = [run(jit.link(jit.object_code(m.text, level=level), m.entry), at) for m in (whole, parts)]
    assert [[bits(x) for x in column] for column in runs[0]] == [[bits(x) for x in column] for column in runs[1]]


@pytest.mark.parametrize("rows, lanes", each_choice([1, 3, 4, 5, 9], WIDTHS))
def test_blocks_that_go_through_parts_together(rows: int, lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = long_program(300)
    at = [[0.1 * i + 0.3 * k - 0.5 for i in range(rows * lanes)] for k in range(5)]
    whole = llvm.emit(program, lanes, veclib.host(), part_size=10_000)
    single = llvm.emit(program, lanes, veclib.host(), part_size=50)
    monkeypatch.setattr(llvm, "BLOCKS_BEYOND", 100)
    together = llvm.emit(program, lanes, veclib.host(), part_size=50)
    assert together.work_bytes == llvm.BLOCKS * single.work_bytes
    assert single.work_bytes == 8 * lanes * cut(expand(program, DEFINITIONS), 50)[1]
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


def constants(count: int) -> Program:
    x = Var("x")
    atoms = [x if i % 3 else Lit(float(i)) for i in range(count)]
    return Program((Param(x, "x"),), (), tuple(Result(f"r{i}", a) for i, a in enumerate(atoms)))


def two_results() -> Program:
    """One value is two results, and an operation has two."""
    x, y, a, b = Var("x"), Var("y"), Var("a"), Var("b")
    equations = (Equation((a, b), TABLE["dup"], (x,)), *(Equation((Var(),), TABLE["neg"], (y,)) for _ in range(20)),
                 Equation((z := Var("z"),), TABLE["mul"], (a, b)))
    results = (Result("p", z), Result("q", z), Result("a", a), Result("one", Lit(1.0)), Result("y", y))
    return Program((Param(x, "x"), Param(y, "y")), equations, results)


PROGRAMS = [*(long_program(length, length) for length in (3, 6, 13, 47, 48, 49, 300)), *map(constants, (0, 1, 7, 20)),
            two_results()]


@each_row("size", [1, 2, 7, 50, PART_SIZE])
@each_row("program", PROGRAMS, ids=lambda p: f"{len(p.equations)}-{len(p.results)}")
def test_parts_are_the_program_and_pass_on_what_is_read_later(program: Program, size: int) -> None:
    """Each value is in the slot that a part reads it from; nothing is passed on that no later part reads; no slot is idle."""
    parts, slots = cut(program, size)
    assert [e for part in parts for e in part.equations] == list(program.equations)
    lengths = [len(part.equations) for part in parts if part.equations]
    assert max(lengths, default=0) <= size
    assert len(set(lengths[:-1])) <= 1 and (not lengths or lengths[-1] <= lengths[0]), "of nearly equal length"
    assert sorted(i for part in parts for i, _ in part.results) == list(range(len(program.results)))
    assert all(program.results[i].atom is atom for part in parts for i, atom in part.results)
    position = {p.var: i for i, p in enumerate(program.params)}
    home = {out: k for k, part in enumerate(parts) for e in part.equations for out in e.outs}
    read = [{a for e in part.equations for a in e.args} | {a for _, a in part.results} for part in parts]
    held: dict[int, Var] = {}
    most = 0
    for k, part in enumerate(parts):
        wanted = {a for a in read[k] if isinstance(a, Var) and home.get(a) != k}
        assert part.params == sorted(position[v] for v in wanted if v in position)
        assert {v for v, _ in part.loads} == {v for v in wanted if v not in position} and len(part.loads) == len(set(part.loads))
        assert all(held[slot] is v for v, slot in part.loads)
        later = {a for values in read[k + 1:] for a in values}
        assert [v for v, _ in part.stores] == [out for e in part.equations for out in e.outs if out in later]
        kept = {slot for slot, v in held.items() if v in read[k] or v in later}
        assert not kept & {slot for _, slot in part.stores}
        held.update((slot, v) for v, slot in part.stores)
        most = max(most, len(kept) + len(part.stores))
        for _, atom in part.results:
            assert isinstance(atom, Lit) or atom in position or home[atom] == k
    assert slots == most
    outside = [sum(a not in home for _, a in part.results) for part in parts]
    assert max(outside, default=0) <= size and sorted(outside, reverse=True) == outside
