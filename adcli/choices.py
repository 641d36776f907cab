"""What is known of a derivative before any number: how it will be computed (--explain), and its structure (--pattern)."""
from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adcli.options import NUMBERS, refuse
from adcli.output import destination

if TYPE_CHECKING:
    from adcli.tasks import Request, Task
    from lang.derivatives import Step
    from lang.sweeps import Plan


def explanation(task: Task) -> str:
    """How a derivative is computed, order by order: the ways there are, what each costs, which is taken."""
    task = task.whole()
    return "".join(f"{line}\n" for step in task.steps for line in explained(step)) or "nothing to differentiate\n"


def explained(step: Step) -> Iterator[str]:
    entries = "entry is" if step.entries == 1 else "entries are"
    yield f"order {step.order}: {step.entries:,} of {step.of:,} {entries} not zero by construction"
    table = [(p, described(p)) for p in step.plans]
    width = max(len(text) for _, text in table)
    figure = max(len(f"{p.cost:,}") for p in step.plans)
    for plan, text in table:
        taken = "*" if plan is step.taken else " "
        yield f"  {taken} {text:{width}}  {plan.cost:>{figure},} operations"
    yield f"    the program has {step.before:,} operations before, {step.after:,} after"


def described(plan: Plan) -> str:
    """A plan in words: its mode, its sweeps, and whether they are shared."""
    members = sum(map(len, plan.inputs)) + sum(map(len, plan.outputs))
    sweeps = "1 sweep" if plan.sweeps == 1 else f"{plan.sweeps:,} sweeps"
    shared = f" for {members:,} {'inputs' if plan.inputs else 'outputs'}" if members > plan.sweeps else ""
    if plan.mode == "mixed":
        return f"mixed    {len(plan.inputs):,} forward and {len(plan.outputs):,} reverse sweeps"
    return f"{plan.mode:8} {sweeps}{shared}"


def pattern(request: Request, options: Mapping[str, Any]) -> int:
    """Write a picture of the entries of a Jacobian or Hessian that are not zero by construction."""
    from adcli.derive import chosen
    from adcli.picture import picture
    from lang.derivatives import inputs_to_differentiate, one_output
    from lang.parse import parse_source
    from lang.simplify import simplify
    from lang.sparsity import hessian_pattern, jacobian_pattern
    refuse(NUMBERS, "is about numbers, and --pattern shows none")
    primal = simplify(chosen(parse_source(request.source), request.of))
    inputs = inputs_to_differentiate(primal, request.wrt)
    rows: Sequence[str] = inputs
    if request.verb == "hessian":
        found = hessian_pattern(primal, inputs, one_output(primal, None))
    else:
        rows = [r.name for r in primal.results]
        found = jacobian_pattern(primal, inputs, rows)
    width = shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80
    with destination(options["output"]) as out:
        out.write(picture(found, rows, inputs, width, name=request.verb).encode())
    return 0
