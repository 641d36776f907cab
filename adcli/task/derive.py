"""What a verb asks of a program, worked out: the slow way, which parses and differentiates."""
from __future__ import annotations

from typing import TYPE_CHECKING

from adcli.lang.derive import derivatives
from adcli.lang.derive.derivatives import Step, inputs_to_differentiate, outputs_to_differentiate, requested
from adcli.lang.ir import Program
from adcli.lang.ir.elementwise import shape_of
from adcli.lang.ir.errors import AdError
from adcli.lang.passes.pipeline import adjoints, tangents
from adcli.lang.passes.simplify import simplify
from adcli.lang.syntax.parse import parse_source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from adcli.task.tasks import Request


def derived(request: Request) -> tuple[Program, Program, list[str], list[Step]]:
    """The program with the outputs asked for, its derivative, the inputs differentiated with respect to, and how."""
    program, steps = parse_source(request.source), list[Step]()
    outputs, partials = requested(program, request.of)
    primal = chosen(program, outputs)
    if request.verb == "eval":
        return primal, simplify(primal), [], steps
    inputs = inputs_to_differentiate(primal, request.wrt, partials)
    return primal, derivative(request, primal, inputs, steps), inputs, steps


def derivative(request: Request, primal: Program, inputs: list[str], steps: list[Step]) -> Program:
    """The derivative program that a request asks for."""
    of, mode, zeros = request.of, request.mode, request.zeros
    match request.verb:
        case "grad":
            return derivatives.gradient(primal, inputs, of, mode, request.order, steps)
        case "jacobian" if swept(primal, mode):
            from adcli.answers.tensor_jacobian import outline
            return outline(primal, inputs)
        case "jacobian":
            return derivatives.jacobian(primal, inputs, None, mode, zeros, steps)
        case "hessian":
            return derivatives.hessian(primal, inputs, None, mode, zeros, steps)
        case "hvp":
            return derivatives.hvp(primal, inputs)
        case "taylor":
            from adcli.lang.derive.taylor import taylor
            return taylor(primal, inputs, None, request.order, request.scaled)
        case "propagate":
            from adcli.lang.derive.uncertainty import propagation
            from adcli.task.shapes import refuse_tensors
            refuse_tensors(primal, "propagate")
            return propagation(primal, inputs, request.order, request.correlations)
        case "jvp":
            return simplify(tangents(primal, inputs))
        case "vjp":
            return simplify(adjoints(primal, inputs))
    raise AdError(f"'{request.verb}' derives nothing")


def swept(primal: Program, mode: str) -> bool:
    """Whether a Jacobian is of tensors in a way that no program has as its results, and takes a sweep for each element."""
    inputs = any(p.var.shape for p in primal.params)
    return any(shape_of(r.atom) for r in primal.results) or (inputs and mode == "forward")


def along(request: Request, primal: Program, program: Program, wrt: list[str], seeds: Mapping[str, float]) -> Program:
    """The derivative for seeds that are known: a zero seed drops what it would have caused, so none is emitted."""
    nonzero = [p.seed for p in program.params if p.seed and seeds[p.name]]
    if request.verb == "vjp":
        return simplify(adjoints(primal, wrt, nonzero))
    if request.verb == "hvp":
        return derivatives.hvp(primal, wrt, None, nonzero)
    return derivative(request, primal, nonzero, [])


def modes(request: Request, steps: Sequence[Step]) -> str:
    """The mode of differentiation in words."""
    if request.verb in FIXED:
        return FIXED[request.verb]
    return " over ".join(s.taken.mode for s in reversed(steps))


FIXED = {"jvp": "forward", "vjp": "reverse", "hvp": "forward over reverse", "taylor": "forward"}


def chosen(program: Program, of: Sequence[str] | None) -> Program:
    """The program with the outputs in `of` only, in that order."""
    results = {r.name: r for r in program.results}
    kept = tuple(results[name] for name in outputs_to_differentiate(program, of))
    return Program(program.params, program.equations, kept, program.source, program.notes)
