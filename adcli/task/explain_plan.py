"""--explain: how a derivative is computed, the ways there are and what each costs; and which code computes it."""
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from adcli.output.wrap import aligned

if TYPE_CHECKING:
    from adcli.lang.derive.derivatives import DerivationStep
    from adcli.lang.derive.sweep_plans import SweepPlan
    from adcli.task.tasks import Task


def explanation(task: Task) -> str:
    """Plan of a derivative, order by order: the ways there are, what each costs, which is taken; and by which code."""
    steps = [line for step in task.derivation.steps for line in explained(step)] or ["nothing to differentiate"]
    return "".join(f"{line}\n" for line in (*steps, f"code: {code(task)}"))


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
        yield f"  {'*' if plan.reads is step.taken.reads else ' '} {line} {operations(plan.cost)}"
    yield f"    the program has {step.before:,} {operations(step.before)} before, {step.after:,} after"


def operations(count: int) -> str:
    return "operation" if count == 1 else "operations"


def described(plan: SweepPlan) -> str:
    """A plan in words: its mode, its sweeps, and whether they are shared."""
    members = sum(map(len, plan.inputs)) + sum(map(len, plan.outputs))
    sweeps = "1 sweep" if plan.sweeps == 1 else f"{plan.sweeps:,} sweeps"
    shared = f" for {members:,} {'inputs' if plan.inputs else 'outputs'}" if members > plan.sweeps else ""
    if plan.mode == "mixed":
        last = "sweep" if len(plan.outputs) == 1 else "sweeps"
        return f"mixed    {len(plan.inputs):,} forward and {len(plan.outputs):,} reverse {last}"
    return f"{plan.mode:8} {sweeps}{shared}"
