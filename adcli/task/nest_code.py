"""Native code for programs with tensors.

What LLVM makes of a program takes the longest, and is kept in the cache where there is one, by the name of what LLVM is given.
The rest, which knows the program's shapes, is made anew: it takes milliseconds.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from adcli.codegen.machine import cache, veclib
from adcli.codegen.nests.module import emit
from adcli.codegen.nests.runtime import TensorKernel
from adcli.codegen.rows import jit
from adcli.codegen.rows.compiled import kept, linked
from adcli.lang.ir.gc import paused
from adcli.lang.passes.pipeline import evaluation_program
from adcli.task.tasks import Slot

if TYPE_CHECKING:
    from adcli.lang.ir import Program


def native(program: Program, slot: Slot | None = None) -> TensorKernel:
    """A program made callable: elements of seeds that are zero drop what they would have caused."""
    with paused():
        module = emit(evaluation_program(program), veclib.lanes(), veclib.host())
    if slot is None:
        return TensorKernel(module, linked(jit.object_code(module.text), module.entry))
    name = cache.key(["tensors", module.text, *cache.surroundings()])
    head, _, code = (slot.store.get(name) or b"").partition(b"\n")
    kernel = kept(code, module.entry) if head == name.encode() else None
    if kernel is None:
        code = jit.object_code(module.text)
        slot.store.put(name, name.encode() + b"\n" + code)
        kernel = linked(code, module.entry)
    return TensorKernel(module, kernel)
