"""What a verb asks of a program, worked out: the slow way, which parses and differentiates."""
from __future__ import annotations

from typing import TYPE_CHECKING

from lang.derivatives import cheaper_mode, gradient, inputs_to_differentiate, outputs_to_differentiate
from lang.ir import Program
from lang.parse import parse_source
from lang.pipeline import adjoints, tangents
from lang.simplify import simplify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adcli.tasks import Request


def derived(request: Request) -> tuple[Program, Program, list[str]]:
    """The program with the outputs asked for, its derivative, and the inputs differentiated with respect to."""
    primal = chosen(parse_source(request.source), request.of)
    if request.verb == "eval":
        return primal, simplify(primal), []
    inputs = inputs_to_differentiate(primal, request.wrt)
    if request.verb == "grad":
        return primal, gradient(primal, inputs, None, request.mode, request.order), inputs
    return primal, simplify(tangents(primal, inputs) if request.verb == "jvp" else adjoints(primal, inputs)), inputs


def along(verb: str, primal: Program, program: Program, wrt: list[str], seeds: Mapping[str, float]) -> Program:
    """The derivative for seeds that are known: a zero seed drops what it would have caused, so none is emitted."""
    nonzero = [p.seed for p in program.params if p.seed and seeds[p.name]]
    return simplify(tangents(primal, nonzero) if verb == "jvp" else adjoints(primal, wrt, nonzero))


def mode_taken(program: Program, inputs: list[str], mode: str, order: int) -> str:
    """The mode in words: what `auto` takes for a gradient is known, beyond that it may differ from order to order."""
    if mode != "auto":
        return mode
    return cheaper_mode(simplify(program), inputs, [r.name for r in program.results]) if order == 1 else "auto"


def chosen(program: Program, of: list[str] | None) -> Program:
    """The program with the outputs in `of` only, in that order."""
    results = {r.name: r for r in program.results}
    kept = tuple(results[name] for name in outputs_to_differentiate(program, of))
    return Program(program.params, program.equations, kept, program.source, program.notes)
