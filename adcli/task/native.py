"""Native code for a program as it stands: what Python's Functions and solvers call, and every program with tensors.

What LLVM makes of a program with tensors takes the longest: it is given what the shapes at hand need, to be made in haste where
there is little to compute, and what it makes is kept in the cache where there is one, by the name of what LLVM is given. The bits
are the same. What a run with the same shapes needs beside it is kept by `adcli.task.replays`.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adcli.codegen.machine import veclib
from adcli.codegen.machine.cache import Store, location, to_stderr
from adcli.codegen.rows.compiled import kept_or_made
from adcli.lang.ir import has_tensors
from adcli.lang.ir.records import paused
from adcli.lang.operations.precision import PRECISIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from adcli.codegen.machine.kernel import EntryPoint, Kernel
    from adcli.codegen.modules.counted import CountedKernel
    from adcli.codegen.modules.module import TensorModule
    from adcli.codegen.modules.runtime import TensorKernel
    from adcli.lang.ir import Program
    from adcli.lang.passes.steps_taken import CountedSteps


def compiled(program: Program, keep: bool = False, precision: str = "double", fast: bool = False) -> Any:
    """A Kernel, or a TensorKernel where the program has tensors. `keep`: it may come from the compile cache and go there; it is
    `fast` as --fast-math says."""
    store = Store(location(), to_stderr) if keep else None
    if has_tensors(program):
        return native(program, store, precision, fast=fast)
    from adcli.codegen.rows.expand import for_machine
    from adcli.codegen.rows.tiers import native as of_numbers
    return of_numbers(for_machine(program), store=store, precision=precision, fast=fast)


def with_steps(counted: CountedSteps, program: Program, short: Program, code: Callable[[Program], TensorKernel]) -> CountedKernel:
    """A program with loops that end early, made callable: with the steps that are taken, which are inputs of the `short` one.
    `code` makes programs callable."""
    from adcli.codegen.modules.counted import CountedKernel
    return CountedKernel(program, counted, lambda: code(program), lambda: code(short), lambda: code(counted.counter))


HASTE = {True: 0, False: 2}
"""Optimisation levels of LLVM."""


def native(program: Program, store: Store | None = None, precision: str = "double", hasty: bool = True,
           fast: bool = False) -> TensorKernel:
    """A program made callable: elements of seeds that are zero drop what they would have caused. Code is well made from the start
    where it may not be `hasty`, and `fast` as --fast-math says."""
    from adcli.codegen.modules.module import laid_out
    from adcli.codegen.modules.runtime import TensorKernel
    from adcli.lang.passes.pipeline import evaluation_program
    with paused():
        real = PRECISIONS[precision]
        module = laid_out(evaluation_program(program), veclib.lanes(real.bytes), veclib.host(), precision=real, fast=fast)

    def compiled(module: TensorModule, haste: bool) -> Kernel:
        def made() -> tuple[EntryPoint, bytes]:
            from adcli.codegen.rows import jit
            return module.entry, jit.object_code(module.text, level=HASTE[haste])

        return kept_or_made(code_words(module, haste), made, store)

    return TensorKernel(module, None, compiled=compiled, hasty=hasty)


def code_words(module: TensorModule, haste: bool) -> list[str]:
    """Parts of the cache key of a module's code."""
    return ["tensors", str(HASTE[haste]), module.text]
