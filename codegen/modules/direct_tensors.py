"""Quick calls of a program with tensors: the builtins that take arrays of the planned shapes, with memory that is kept ready."""
from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from adcli.codegen.builtins.direct import Quick, never
from adcli.codegen.modules.counted import CountedKernel
from adcli.codegen.modules.runtime import TensorKernel
from adcli.lang.ir import Program

FIRST_CALLS = 32
"""Calls after which a quick one is made; where that is not yet possible it is tried again after twice as many."""


def direct_tensors(kernel: TensorKernel | CountedKernel, program: Program, values: Sequence[Any]) -> tuple[Quick, Quick]:
    """Fast calls for tensors of these shapes, of values alone and with what else a Function is given, by the builtins `results`
    and `tensors`; None for anything else."""
    defaults = {p.name: p.default for p in program.params if p.default is not None and not p.var.integer and not p.var.shape}
    given = {p.name: v for p, v in zip(program.params, values, strict=True)}
    if isinstance(kernel, CountedKernel):
        if not kernel.few(given):
            return never, never
        kernel = kernel.whole()
    found = kernel.quick(given, defaults)
    if found is None or found[1] is never:
        return never, never
    plan, tensors, alone = found
    made = dict(zip(kernel.made, plan.outputs, strict=True))
    shapes, empty, address, real = {r.name: made[r.name] for r in program.results}, np.empty, ctypes.addressof, kernel.real

    def fresh() -> dict[str, Any]:
        return {name: empty(shape, real) if shape else None for name, shape in shapes.items()}

    def again() -> dict[str, Any]:
        memory = dict(zip(kernel.made, plan.results.arrays(kernel.spare_bytes(plan.results.bytes)), strict=True))
        return {name: memory[name] if shape else None for name, shape in shapes.items()}

    def shared(env: Any, given: Any, targets: dict[str, Any] | None, team: int) -> Any:   # memory is found while helpers wake
        def computed(role: Any) -> Any:
            return tensors(given, targets or new(), targets is None, address(env), address(role))
        return kernel.share(env, computed, team)

    def quick(given: Any, out: Any, jobs: Any) -> dict[str, Any] | None:
        if type(given) is not dict or (jobs is not None and (type(jobs) is not int or jobs < 1)):
            return None
        targets: dict[str, Any] | None = None
        if out is not None:
            if type(out) is not dict or len(out) != len(shapes):
                return None
            targets = {name: out.get(name) for name in shapes}
            if not all(shape or type(targets[name]) is float for name, shape in shapes.items()):
                return None
        try:
            frame = plan.spare.pop()
        except IndexError:
            frame = kernel.frame(plan)
        results: dict[str, Any] | None
        if threads and (team := kernel.team(plan, jobs)) > 1:
            results = shared(frame[0], given, targets, team)
        else:
            results = tensors(given, targets or new(), out is None, address(frame[0]), 0)
        if threads:
            kernel.run_ended()
        if results is not None:
            plan.spare.append(frame)
        return results

    threads, new = plan.idle_window > 0, again if plan.results.large else fresh
    return alone, quick


class OftenCalled:
    """A kernel that is called again and again with arrays of the same shapes."""

    def __init__(self, kernel: TensorKernel | CountedKernel) -> None:
        self.kernel, self.calls, self.quick = kernel, 0, (never, never)

    def __call__(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The results by name."""
        alone, quick = self.quick
        if (found := alone(given) or quick(given, None, None)) is not None:
            return dict(found)
        self.calls += 1
        found = self.kernel(given)
        if self.calls >= FIRST_CALLS and self.calls & (self.calls - 1) == 0:
            self.quick = direct_tensors(self.kernel, self.kernel.program, [given[p.name] for p in self.kernel.program.params])
        return found
