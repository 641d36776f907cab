"""Kernels of long programs in several texts: the bits of one text, whatever the cuts, the threads and the linker."""
from __future__ import annotations

import math

import pytest
from adcli.codegen.machine import loader, memory, veclib, workers
from adcli.codegen.machine.kernel import run
from adcli.codegen.rows import compiled, jit, llvm, long_kernel
from adcli.codegen.rows.compiled import compile_program, kernel_texts
from adcli.codegen.rows.expand import expand
from adcli.codegen.rows.instructions import DEFINITIONS
from adcli.codegen.rows.long_kernel import LongKernel
from adcli.lang.ir import Atom, Lit, Param, Program, Result, Var
from adcli.lang.ir.build import Builder
from adcli.lang.ir.primitives import TABLE
from back_ends import bits
from native_programs import WIDTHS, everything, long_program, number
from one_operation import COSTLY, few_costly
from session_seed import half

pytestmark = pytest.mark.skipif(not loader.supported(), reason="long programs are one text on this machine")
SPECIAL = [0.0, -0.0, 5e-324, -1.5, 0.3, 2.0, 1e308, math.inf, -math.inf, math.nan]


def every_row() -> Program:
    """Rows of the table on two inputs and on constants, each negated too, so that each is read by what stands behind it."""
    x, y, b = Var("x"), Var("y"), Builder()
    truth = b.emit(TABLE["lt"], x, y)
    results = []
    for op in few_costly([op for op in TABLE.values() if op.outs == 1 and not op.static]):
        for real in [(x, y), (y, Lit(-0.0)), (Lit(math.nan), x)][:1 if op.name in COSTLY else 3]:
            args = [truth if op.kind(i) == "t" else real[i % 2] for i in range(max(1, op.arity))]
            z = number(b, b.emit(op, *args))
            results += [Result(f"{op.name}{len(results)}", a) for a in (z, b.emit(TABLE["neg"], z))]
    return Program((Param(x, "x"), Param(y, "y")), tuple(b.equations), tuple(results))


def listed() -> Program:
    x, b = Var("x"), Builder()
    z = b.emit(TABLE["neg"], x)
    atoms: list[Atom] = [z, x, Lit(-0.0), Lit(0.1)] * 200
    return Program((Param(x, "x"),), tuple(b.equations), tuple(Result(f"r{i}", a) for i, a in enumerate(atoms)))


PROGRAMS = [every_row(), everything(), long_program(300), long_program(47), listed(), Program((), (), (Result("r", Lit(3.0)),))]


@pytest.mark.parametrize(("lanes", "sizes"), half([
    *zip(WIDTHS, [(7, 2, 3), (50, 16, 100), (5, 3, 1), (1000, 16, 100)], strict=False)]))
def test_texts_have_the_bits_of_one_text(lanes: int, sizes: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """At every width, cut in different ways; loaded by us and linked by LLVM."""
    for name, size in zip(("PART_SIZE", "GROUP", "BLOCK_SIZE"), sizes, strict=True):
        monkeypatch.setattr(long_kernel, name, size)
    monkeypatch.setattr(long_kernel, "BLOCKS_BEYOND", 200)
    for program in PROGRAMS:
        whole = llvm.emit(program, lanes, veclib.host(), part_size=10_000)
        kernel = LongKernel(expand(program, DEFINITIONS), lanes, veclib.host())
        assert kernel.entry._replace(work_bytes=0) == whole.entry._replace(work_bytes=0)
        at = [SPECIAL if k == 0 else [SPECIAL[(i * 3 + k) % len(SPECIAL)] for i in range(len(SPECIAL))]
              for k in range(len(program.params))]
        code = jit.object_codes(kernel.texts, 0, 1)
        want, *found = [[[bits(x) for x in column] for column in run(each, at, rows=len(SPECIAL))] for each in (
            loader.load(jit.object_code(whole.text, level=0), whole.entry), loader.load(code, kernel.entry),
            jit.link(code, kernel.entry))]
        assert found == [want, want]


def test_the_code_does_not_depend_on_the_threads_that_make_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_kernel, "PART_SIZE", 20)
    monkeypatch.setattr(long_kernel, "GROUP", 3)
    program = expand(long_program(600), DEFINITIONS)
    codes = {jit.object_codes(LongKernel(program, veclib.lanes(), veclib.host()).texts, 0, jobs) for jobs in (1, 2, 2, 5)}
    assert len(codes) == 1 and len(loader.object_files(codes.pop())) > 5


def test_a_limit_on_memory_lets_one_thread_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(workers, "share", lambda function, parts, jobs: (asked.append(jobs), [function(part) for part in parts]))
    for free in (2 * memory.THREAD_BYTES, 2 * memory.THREAD_BYTES - 1):
        monkeypatch.setattr(memory, "left", lambda limit, free=free: free)
        assert len(jit.object_codes(iter(["define void @f() {\n ret void\n}"] * 2), 0, 2)) > 100
    assert asked == [2, 1]


@pytest.mark.parametrize("jobs", [1, 3])
def test_what_a_thread_meets_is_raised_here(jobs: int) -> None:
    """What LLVM refuses, and what stands in the way of writing a text; nothing is compiled after it."""
    good, asked = "define void @f() {\n ret void\n}", []

    def texts(bad: str | Exception):
        for k in range(50):
            asked.append(k)
            if k == 5 and isinstance(bad, Exception):
                raise bad
            yield bad if k == 5 else good
    with pytest.raises(jit.CodegenError, match=r"^LLVM: LLVM IR parsing error\n.*expected top-level entity"):
        jit.object_codes(texts("nonsense"), 0, jobs)
    with pytest.raises(MemoryError, match="too long"):
        jit.object_codes(texts(MemoryError("too long")), 0, jobs)
    assert len(asked) < 40
    assert len(loader.object_files(jit.object_codes(iter([good] * 4), 0, jobs))) == 4


@pytest.mark.parametrize("length", [3, -3])
def test_long_programs_are_several_texts(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = expand(long_program(200), DEFINITIONS)
    monkeypatch.setattr(llvm, "ONE_PART", len(program.equations) - length)
    kernel = kernel_texts(program, 2, veclib.NO_LIBRARY)
    assert isinstance(kernel, LongKernel) == (length > 0)
    at = [[0.1 * i + k for i in range(7)] for k in range(5)]
    assert repr(run(compile_program(program), at)) == repr(run(compile_program(program, level=2), at))
    monkeypatch.setattr(compiled, "supported", lambda: False)
    assert isinstance(kernel_texts(program, 2, veclib.NO_LIBRARY), llvm.Module)


@pytest.mark.parametrize(("columns", "long"), [(951, False), (952, True)])
def test_programs_of_many_columns_are_long(columns: int, long: bool) -> None:
    x, b = Var("x"), Builder()
    results = tuple(Result(f"r{i}", b.emit(TABLE["neg"], x)) for i in range(columns))
    kernel = kernel_texts(Program((Param(x, "x"),), tuple(b.equations), results), 2, veclib.NO_LIBRARY)
    assert isinstance(kernel, LongKernel) == long
