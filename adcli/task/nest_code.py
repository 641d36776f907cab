"""Native code for programs with tensors.

What LLVM makes of a program takes the longest: it is given what the shapes at hand need, and what it makes is kept in the cache
where there is one, by the name of what LLVM is given.
What a run with the same shapes needs beside it is kept by `adcli.task.replays`.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from adcli.codegen.machine import veclib
from adcli.codegen.nests.module import TensorModule, laid_out
from adcli.codegen.nests.runtime import TensorKernel
from adcli.codegen.rows.compiled import kept_or_made
from adcli.lang.ir.gc import paused
from adcli.lang.ir.precision import PRECISIONS
from adcli.lang.passes.pipeline import evaluation_program

if TYPE_CHECKING:
    from adcli.codegen.machine.cache import Store
    from adcli.codegen.machine.kernel import Kernel
    from adcli.lang.ir import Program


def native(program: Program, store: Store | None = None, precision: str = "double") -> TensorKernel:
    """A program made callable: elements of seeds that are zero drop what they would have caused."""
    with paused():
        real = PRECISIONS[precision]
        module = laid_out(evaluation_program(program), veclib.lanes(real.bytes), veclib.host(), precision=real)

    def compiled(module: TensorModule) -> Kernel:
        def made() -> bytes:
            from adcli.codegen.rows import jit
            return jit.object_code(module.text)

        return kept_or_made(["tensors", module.text], module.entry, made, store)

    return TensorKernel(module, None, compiled=compiled)
