"""A request worked out: the slow way, which parses and differentiates."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from adcli.lang.derive.derivatives import DerivationStep, requested
from adcli.lang.ir import Program, has_tensors
from adcli.lang.lower.frontend import parse_source
from adcli.lang.operations.activity import inputs_to_differentiate, outputs_to_differentiate, with_outputs
from adcli.task.request import Request, Signature, columns
from adcli.task.verbs import VERBS, Asked

if TYPE_CHECKING:
    from adcli.lang.passes.steps_taken import CountedSteps


@dataclass(frozen=True)
class DerivedProgram:
    """The program with the outputs asked for, its derivative, the inputs it was taken by, and the plans of sweeps."""

    primal: Program
    program: Program
    wrt: list[str]
    steps: tuple[DerivationStep, ...] = ()

    @property
    def signature(self) -> Signature:
        """The interface of the derivative."""
        primal, program = self.primal, self.program
        outputs = tuple(r.name for r in primal.results)
        return Signature(program.params, outputs, tuple(columns(program)), tuple(self.wrt), primal.notes, primal.source,
                         has_tensors(primal))

    def along(self, request: Request, seeds: Mapping[str, float]) -> DerivedProgram:
        """The derivative for seeds that are known: a zero seed drops what it would have caused, so none is emitted."""
        nonzero = [p.seed for p in self.program.params if p.seed and seeds[p.name]]
        return replace(self, program=VERBS[request.verb].derive(Asked(request, self.primal, self.wrt, nonzero, [])))


@dataclass(frozen=True)
class ShortProgram:
    """A program whose loops that end early have `counted` steps, and the derivative of it that is `worked` out."""

    counted: CountedSteps
    worked: DerivedProgram

    def derived(self, request: Request) -> ShortProgram:
        """Its derivative."""
        return replace(self, worked=derived(request, self.worked.program))


def short(program: Program, wrt: Sequence[str] = ()) -> ShortProgram | None:
    """The program with the steps that are taken of its loops that end early; None where there are none to be counted."""
    if not has_tensors(program):
        return None
    from adcli.lang.passes.steps_taken import counted_steps
    counted = counted_steps(program)
    return None if counted is None else ShortProgram(counted, DerivedProgram(counted.program, counted.program, [*wrt]))


def derived(request: Request, program: Program | None = None) -> DerivedProgram:
    """Derive the program of a request, from its text or of a program that is there already. AdError if the program is wrong, or
    what is asked of it."""
    verb, program = VERBS[request.verb], program or parse_source(request.source)
    outputs, partials = requested(program, request.of, verb.differentiates)
    primal = with_outputs(program, outputs)
    wrt = inputs_to_differentiate(primal, request.wrt, partials) if verb.differentiates else []
    steps: list[DerivationStep] = []
    made = verb.derive(Asked(request, primal, wrt, None, steps))
    return DerivedProgram(primal, made, wrt, tuple(steps))


def chosen(program: Program, of: Sequence[str] | None) -> Program:
    """The program with the outputs in `of` only, in that order."""
    return with_outputs(program, outputs_to_differentiate(program, of))


def looked_at(program: Program, of: Sequence[str] | None, wrt: Sequence[str] | None) -> tuple[Program, list[str]]:
    """The program with the outputs asked for, and the inputs to differentiate by."""
    primal = chosen(program, of)
    return primal, inputs_to_differentiate(primal, wrt)


