"""--explain for programs with tensors: what the code of a derivative consists of, and at a point its sizes, work and memory."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from adcli.lang.sizes.binding import bind, number

if TYPE_CHECKING:
    from adcli.codegen.nests.calls import CallPlan
    from adcli.codegen.nests.module import TensorModule
    from adcli.lang.ir import Program
    from adcli.task.tasks import Task


def explanation_of_tensors(task: Task, at: Mapping[str, Any] | None) -> str:
    """How the results are computed; `at` is a point, whose shapes say how much there is to do."""
    return "".join(f"{line}\n" for line in described(task.program, at, task.tier, task.request.fast))


def described(program: Program, at: Mapping[str, Any] | None, tier: str, fast: bool) -> Iterator[str]:
    """The lines on a program."""
    from adcli.codegen.machine import veclib
    from adcli.codegen.nests.module import laid_out, written
    from adcli.codegen.nests.runtime import TensorKernel, instructions_worth
    from adcli.lang.passes.pipeline import evaluation_program
    module = laid_out(evaluation_program(program), veclib.lanes(), veclib.host(), fast=fast)
    why = ", as --tier says" if tier == "compiled" else ", for --fast-math" if fast else ""
    if at is None:
        yield f"code: compiled{why}; {counted(module)}"
        yield "a point says more: its sizes, the work and the memory (--at)"
        return
    kernel = TensorKernel(module, None)   # a plan needs no code
    plan = kernel.plan(kernel.key(inputs(program, at)))
    worth = 0.0 if tier == "compiled" else instructions_worth(written(module, schedules=kernel.schedules(plan)).text)
    in_haste = plan.instructions < worth
    better = f", compiling well pays from {worth:,.0f} instructions on" if in_haste else ""
    yield f"code: compiled{' in haste' if in_haste else ''}{why}{better}; {counted(module)}"
    yield from planned(module, plan)


def counted(module: TensorModule) -> str:
    """3 steps on tensors, 1 loop of 4 statements, 2 operations on matrices."""
    loops = [s for s in module.steps if s.loop is not None]
    matrices = sum(s.calls for s in (*module.steps, *(inner for s in loops for inner in s.each)))
    found = [plural(sum(bool(s.schedules) for s in module.steps), "step") + " on tensors"]
    found += [f"a loop of {plural(len(s.each), 'statement')}" for s in loops]
    if matrices:
        found.append(plural(matrices, "operation") + " on matrices")
    return ", ".join(found)


def planned(module: TensorModule, plan: CallPlan) -> Iterator[str]:
    """Plan for the shapes of a point."""
    if plan.sizes:
        yield f"sizes: {', '.join(f'{name} = {size:,}' for name, size in plan.sizes.items())}"
    yield f"work: about {plan.instructions:,.0f} instructions"
    yield f"memory: {plan.memory:,} bytes for values on the way"
    if plan.idle_window:
        soon = "" if plan.idle_window == inf else f" of a run that begins less than {1000 * plan.idle_window:g} ms after another"
        yield f"threads: several share {plural(module.helped(plan.cells), 'step')}{soon}"
    else:
        yield "threads: one; the whole is too short for more"


def inputs(program: Program, at: Mapping[str, Any]) -> list[Any]:
    """Arrays of the shapes that the inputs have at a point; those of seeds follow from the sizes."""
    import numpy as np

    own = [p for p in program.params if p.name in at]
    integers = {p.name: at[p.name] for p in own if p.var.integer and not p.var.shape}
    sizes = bind(replace(program, params=tuple(own)), {p.name: np.shape(at[p.name]) for p in own}, integers)
    return [np.asarray(at[p.name]) if p.name in at else np.broadcast_to(0.0, tuple(number(x, sizes) for x in p.var.shape))
            for p in program.params]


def plural(count: int, name: str) -> str:
    return f"{count:,} {name}{'' if count == 1 else 's'}"
