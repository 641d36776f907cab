"""Compiling in this process: refusals, threads, and kernels that end in any order."""
from __future__ import annotations

import contextlib
import gc
from concurrent.futures import ThreadPoolExecutor

import pytest
from adcli.codegen.machine.kernel import run
from adcli.codegen.rows import jit, llvm
from adcli.codegen.rows.compiled import compile_program
from adcli.lang.ir import Lit, Program, Result
from native_programs import everything, long_program


def test_no_inputs_and_no_rows() -> None:
    kernel = compile_program(Program((), (), (Result("r", Lit(3.0)),)))
    assert run(kernel, []) == [[3.0]]
    assert run(kernel, [], rows=11) == [[3.0] * 11]
    assert run(compile_program(everything()), [[]])[0] == []


def test_what_llvm_refuses_is_an_exception() -> None:
    for text in ("nonsense", "define double @f(double %x) {\n ret double %y\n}"):
        with pytest.raises(jit.CodegenError):
            jit.verify(text)
    entry = llvm.EntryPoint("f", 1, 0, 0, 0, ("no_such_function",))
    with pytest.raises(jit.CodegenError):
        jit.link(jit.object_code("define void @f() {\n ret void\n}"), entry)


def test_threads() -> None:
    programs = [long_program(1500, seed) for seed in range(4)]
    at = [[0.1 * k + 0.01 * i for i in range(50)] for k in range(5)]
    want = [run(compile_program(p), at) for p in programs]
    with ThreadPoolExecutor(4) as pool:
        kernels = list(pool.map(compile_program, programs))
        got = list(pool.map(lambda k: run(k, at), kernels * 3))
    assert repr(got) == repr(want * 3)


def test_kernels_may_end_in_any_order() -> None:
    """Engines in reference cycles are freed by the collector in an order of its own."""
    def cycle() -> None:
        kernel = compile_program(long_program(5))
        held: list[object] = [kernel]
        held.append(held)
        with contextlib.suppress(jit.CodegenError):
            jit.verify("nonsense")

    for _ in range(30):
        cycle()
        gc.collect()
