"""A request worked out: the slow way, which parses and differentiates."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from adcli.lang.derive.derivatives import DerivationStep, partial_name, requested
from adcli.lang.ir import Program
from adcli.lang.ir.activity import inputs_to_differentiate, outputs_to_differentiate, with_outputs
from adcli.lang.ir.elementwise import has_tensors, shape_of
from adcli.lang.ir.errors import Source
from adcli.lang.ir.names import Names
from adcli.lang.lower.frontend import parse_source
from adcli.task.request import Request
from adcli.task.shapes import refuse_tensors
from adcli.task.signature import Column, Signature, columns
from adcli.task.verbs import VERBS, Asked


@dataclass(frozen=True)
class DerivedProgram:
    """The program with the outputs asked for, its derivative, the inputs it was taken with respect to, and the plans of sweeps.

    `program` is None for a Jacobian of tensors that no program has as its results: one sweep for each element computes it.
    """

    primal: Program
    program: Program | None
    wrt: list[str]
    steps: tuple[DerivationStep, ...] = ()

    @property
    def signature(self) -> Signature:
        """The interface of the derivative."""
        primal, program = self.primal, self.program
        results = swept_columns(primal, self.wrt) if program is None else columns(program)
        outputs = tuple(r.name for r in primal.results)
        return Signature((program or primal).params, outputs, tuple(results), tuple(self.wrt), primal.notes, primal.source,
                         has_tensors(primal))

    def along(self, request: Request, seeds: Mapping[str, float]) -> DerivedProgram:
        """The derivative for seeds that are known: a zero seed drops what it would have caused, so none is emitted."""
        assert self.program is not None, "what is computed by sweeps has no seeds"
        nonzero = [p.seed for p in self.program.params if p.seed and seeds[p.name]]
        return replace(self, program=VERBS[request.verb].derive(Asked(request, self.primal, self.wrt, nonzero, [])))


def derived(request: Request, program: Program | None = None) -> DerivedProgram:
    """What a request asks for, of its text or of a program that is there already. AdError if the program is wrong, or what is
    asked of it."""
    verb, program = VERBS[request.verb], program or parse_source(request.source)
    outputs, partials = requested(program, request.of, verb.differentiates)
    primal = with_outputs(program, outputs)
    wrt = inputs_to_differentiate(primal, request.wrt, partials) if verb.differentiates else []
    steps: list[DerivationStep] = []
    made = verb.derive(Asked(request, primal, wrt, None, steps))
    return DerivedProgram(primal, made, wrt, tuple(steps))


def swept(primal: Program, mode: str) -> bool:
    """Whether a Jacobian is of tensors in a way that no program has as its results, and takes a sweep for each element."""
    inputs = any(p.var.shape for p in primal.params)
    return any(shape_of(r.atom) for r in primal.results) or (inputs and mode == "forward")


def swept_columns(primal: Program, wrt: Sequence[str]) -> list[Column]:
    """The outputs and the matrices dv_dA that sweeps compute."""
    names = Names.of(primal)
    matrices = [Column(names.fresh(partial_name(r.name, (x,))), r.name, (x,)) for r in primal.results for x in wrt]
    return [*columns(primal), *matrices]


def chosen(program: Program, of: Sequence[str] | None) -> Program:
    """The program with the outputs in `of` only, in that order."""
    return with_outputs(program, outputs_to_differentiate(program, of))


def opened(source: Source, of: Sequence[str] | None, wrt: Sequence[str] | None, verb: str) -> tuple[Program, list[str]]:
    """The program of scalars that a verb looks at, with the outputs asked for, and the inputs to differentiate by. AdError
    where it has tensors."""
    primal, inputs = looked_at(parse_source(source), of, wrt)
    refuse_tensors(primal, verb)
    return primal, inputs


def looked_at(program: Program, of: Sequence[str] | None, wrt: Sequence[str] | None) -> tuple[Program, list[str]]:
    """The program with the outputs asked for, and the inputs to differentiate by."""
    primal = chosen(program, of)
    return primal, inputs_to_differentiate(primal, wrt)


