"""Native code for a program as it stands, outside of any request: what Python's Functions and solvers call."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adcli.lang.ir.elementwise import has_tensors

if TYPE_CHECKING:
    from adcli.lang.ir import Program


def compiled(program: Program) -> Any:
    """A Kernel, or a TensorKernel where the program has tensors."""
    if has_tensors(program):
        from adcli.task.nest_code import native
        return native(program)
    from adcli.codegen.rows.compiled import compile_program
    from adcli.codegen.rows.expand import for_machine
    return compile_program(for_machine(program))
