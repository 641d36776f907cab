"""Native code for a program as it stands, outside of any request: what Python's Functions and solvers call."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adcli.codegen.machine.cache import Store, location, to_stderr
from adcli.lang.ir import has_tensors

if TYPE_CHECKING:
    from adcli.lang.ir import Program


def compiled(program: Program, keep: bool = False, precision: str = "double", fast: bool = False) -> Any:
    """A Kernel, or a TensorKernel where the program has tensors. `keep`: it may come from the compile cache and go there; it is
    `fast` as --fast-math says."""
    store = Store(location(), to_stderr) if keep else None
    if has_tensors(program):
        from adcli.task.nest_code import native
        return native(program, store, precision, fast=fast)
    from adcli.codegen.rows.expand import for_machine
    from adcli.codegen.rows.tiers import native as of_numbers
    return of_numbers(for_machine(program), store=store, precision=precision, fast=fast)
