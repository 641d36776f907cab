"""--explain: how a derivative is computed, the ways there are and what each costs; and which code computes it.

Of programs with tensors: what the code of a derivative consists of, and at a point its sizes, work and memory.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from adcli.lang.sizes.binding import bind, number
from adcli.output.wrap import aligned

if TYPE_CHECKING:
    from adcli.codegen.modules.calls import CallPlan
    from adcli.codegen.modules.module import TensorModule
    from adcli.lang.derive.derivatives import DerivationStep
    from adcli.lang.derive.sweep_plans import SweepPlan
    from adcli.lang.ir import Program
    from adcli.task.tasks import Task


def explanation(task: Task, at: Mapping[str, Any] | None = None) -> str:
    """Plan of a derivative, order by order: the ways, their costs, the one taken; and the code that computes it. For tensors the
    plan of the results; `at` is a point, whose shapes say how much there is to do."""
    if task.signature.tensors:
        lines = list(of_tensors(task.program, at, task.tier, task.request.fast))
        if task.request.listed:
            lines.insert(0, "entries: statement by statement, without sweeps")
    else:
        lines = [line for step in task.derivation.steps for line in explained(step)] or ["nothing to differentiate"]
        lines.append(f"code: {code(task)}")
    return "".join(f"{line}\n" for line in lines)


def code(task: Task) -> str:
    """Tier of the code, and its counted length."""
    from adcli.codegen.machine.veclib import lanes
    from adcli.codegen.rows.llvm import compile_length
    from adcli.codegen.rows.tiers import TAPE_FROM, blocks_worth
    length = compile_length(task.expanded)
    counted = f"counted length {length:,}"
    if task.tier != "auto":
        return f"{'a tape, as --tier says' if task.tier == 'tape' else 'compiled, as --tier says or for many rows'}; {counted}"
    if task.request.fast:
        return f"compiled, for --fast-math; {counted}"
    if task.tape is None:
        why = f"a tape pays beyond {TAPE_FROM:,}" if length <= TAPE_FROM else "but the cache has the code"
        return f"compiled; {counted}, {why}"
    return f"a tape; {counted}, compiling pays from {lanes(task.tape.constants.itemsize) * blocks_worth(task.tape):,} rows on"


def explained(step: DerivationStep) -> Iterator[str]:
    entries = "entry is" if step.entries == 1 else "entries are"
    yield f"order {step.order}: {step.entries:,} of {step.of:,} {entries} not zero by construction"
    for plan, line in zip(step.plans, aligned([(described(p), f"{p.cost:,}") for p in step.plans], "<>"), strict=True):
        yield f"  {'*' if plan.reads is step.taken.reads else ' '} {line} {noun(plan.cost, 'operation')}"
    yield f"    the program has {plural(step.before, 'operation')} before, {step.after:,} after"


def described(plan: SweepPlan) -> str:
    """A plan in words: its mode, its sweeps, and whether they are shared."""
    members = sum(map(len, plan.inputs)) + sum(map(len, plan.outputs))
    sweeps = plural(plan.sweeps, "sweep")
    shared = f" for {members:,} {'inputs' if plan.inputs else 'outputs'}" if members > plan.sweeps else ""
    if plan.mode == "mixed":
        return f"mixed    {len(plan.inputs):,} forward and {plural(len(plan.outputs), 'reverse sweep')}"
    return f"{plan.mode:8} {sweeps}{shared}"


# ---------------------------------------------------------------- tensors

def of_tensors(program: Program, at: Mapping[str, Any] | None, tier: str, fast: bool) -> Iterator[str]:
    """The lines on a program."""
    from adcli.codegen.machine import veclib
    from adcli.codegen.modules.module import laid_out
    from adcli.codegen.modules.module_text import written
    from adcli.codegen.modules.runtime import TensorKernel, instructions_worth
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
    return f"{count:,} {noun(count, name)}"


def noun(count: int, name: str) -> str:
    return name if count == 1 else f"{name}s"
