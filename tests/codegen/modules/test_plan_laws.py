"""Plans of checkpointed loops, held against the order of the program: every step reads what it has there, whatever is kept and
made again, in blocks of one step and more."""
from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from adcli.codegen.modules import sweeps
from adcli.codegen.modules.segments import Action, Run
from adcli.lang.ir import Program
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoint_program, tangent_program
from adcli.lang.sizes.binding import number
from plan_laws import PlanOnMarks
from random_loops import random_loop
from session_seed import drawn, half

DERIVATIVES = {
    "value": lambda p: p, "adjoint": adjoint_program, "forward over reverse": lambda p: tangent_program(adjoint_program(p)),
    "reverse over reverse": lambda p: adjoint_program(adjoint_program(p))}
PRODUCTS = """input a, c(T)
h(T) = a
for t in 0:T down {
    h(t) = sin(h(t + 1)) + c(t)
    q(t) = log(1 + c(t)**2) + sin(h(t))
    q(t + 1) += h(t) where t < T - 1
}
p(i) *=! 1 + 0.3 * q(j) where i in 0:T, j in 0:i + 1
y +=! p(i) * sin(i)
output y
"""
COPIED = """input a, b, int32 T
h(T + 1) = a * b
for t in 0:T down { h(t + 1) = 0.5 * sin(h(t + 2)) }
y *=! 1 + 0.1 * h(i)**2 where i in 1:T + 2
output y
"""
"""Two histories begin with the same numbers: one copies what the other goes on from."""


def on_marks(program: Program, steps: int) -> PlanOnMarks:
    """The plan of a program whose steps are so many, and other sizes 2."""
    sizes = {"T": steps, "N": 2}
    shapes = {p.name: tuple(number(x, sizes) for x in p.var.shape) for p in program.params}
    return PlanOnMarks(program, shapes, {"T": steps})


@pytest.mark.parametrize("derivative", half([*DERIVATIVES.values()]), ids=half([*DERIVATIVES]))
def test_every_step_of_random_loops_reads_what_the_program_has_there(derivative, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "LEAST_BLOCK", 1)
    r, kept = drawn(f"plans of {derivative}"), 0
    for text in [PRODUCTS, COPIED, *(random_loop(r).replace(" checkpoint", "") for _ in range(1))]:
        program = derivative(parse(text, checkpoint=True))
        for steps in (5, 12):
            plan = on_marks(program, steps)
            plan.check(plan.actions)
            kept += len(plan.windows)
    assert kept or derivative is DERIVATIVES["value"]


def without(actions: Sequence[Action], k: int) -> list[Action]:
    return [*actions[:k], *actions[k + 1:]]


def test_a_plan_that_leaves_something_out_or_does_it_too_early_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "LEAST_BLOCK", 1)
    plan, r = on_marks(adjoint_program(parse(PRODUCTS, checkpoint=True)), 7), Random(0)
    runs = [k for k, x in enumerate(plan.actions) if isinstance(x, Run) and plan.ran(x)[0] < plan.ran(x)[1]]
    faults = [without(plan.actions, k) for k in r.sample(runs, 12)]
    faults += [[plan.actions[k], *without(plan.actions, k)] for k in runs[-3:]]
    for actions in faults:
        with pytest.raises(AssertionError):
            plan.check(actions)
