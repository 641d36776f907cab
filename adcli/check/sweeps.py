"""The derivatives of a program with tensors by both modes, as programs and as native code: made once, for all points."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from adcli.check.subject import FirstSweeps
from adcli.codegen.nests.runtime import TensorKernel
from adcli.input.points import Point
from adcli.lang.evaluate.recording import element
from adcli.lang.ir import Program, Result
from adcli.lang.ir.precision import DOUBLE, Precision
from adcli.lang.ir.recurrence import Recurrence
from adcli.lang.passes.pipeline import adjoint_program, tangent_program
from adcli.lang.passes.status import with_status
from adcli.lang.sizes.binding import bind, shapes
from adcli.task.native import native


@dataclass
class TensorDerivatives(FirstSweeps):
    """A program with tensors, what it is differentiated by, and the native code of its derivatives for all points, in doubles and
    in another precision that it is looked at in."""

    precision: Precision = DOUBLE

    @cached_property
    def tangents_twice(self) -> Program:
        return tangent_program(self.tangents, self.wrt)

    @cached_property
    def ahead(self) -> TensorKernel:
        """Values, tangents along a direction, and the status."""
        return self.coded(tangent_program)

    @cached_property
    def back(self) -> TensorKernel:
        """Values, adjoints for weights of the outputs, and the status."""
        return self.coded(adjoint_program)

    @cached_property
    def sweeps_in_precision(self) -> tuple[TensorKernel, TensorKernel]:
        """`back` and `ahead` in the other precision."""
        return self.coded(adjoint_program, self.precision), self.coded(tangent_program, self.precision)

    @cached_property
    def decisions(self) -> Program | None:
        """What is computed to decide which elements are read and where loops end, whole numbers among it; None where nothing
        is."""
        ends = [e.outs[e.op.until] for e in self.primal.equations if isinstance(e.op, Recurrence) and e.op.until is not None]
        found = [*(v for e in self.primal.equations for v in e.outs if v.whole), *ends]
        return replace(self.primal, results=tuple([Result(f"decision {k}", v) for k, v in enumerate(found)])) if found else None

    def decided_alike(self, at: Point) -> bool:
        """Whether code in the other precision decides so, too."""
        if self.decisions is None:
            return True
        first, second = (native(self.decisions, precision=p.name)(at) for p in (DOUBLE, self.precision))
        return all(np.array_equal(first[name], second[name], equal_nan=True) for name in first)

    def coded(self, sweep: Callable[[Program, list[str]], Program], precision: Precision = DOUBLE) -> TensorKernel:
        """Native code of a sweep, with the status."""
        return native(with_status(sweep(self.primal, self.wrt), self.primal, self.wrt), precision=precision.name)

    def finite(self, at: Point) -> list[bool]:
        """Which of the inputs and then of the outputs are finite in all elements; an output without any is not. AdError where
        shapes or subscripts do not fit."""
        inputs = [bool(np.isfinite(x).all()) for x in at.values()]
        sizes = bind(self.primal, {n: np.shape(x) for n, x in at.items()}, at)
        found = self.back({**at, **hot(self.back.program, sizes, "")})
        return [*inputs, *(bool(np.size(found[r.name]) and np.isfinite(found[r.name]).all()) for r in self.primal.results)]


def hot(program: Program, sizes: Mapping[str, int], one: str) -> dict[str, Any]:
    """Seeds that are 1 at one element, and 0 elsewhere. AdError where a value would have less than no elements."""
    found = shapes(program, sizes)
    seeds = {p.name: np.zeros(found[p.var]) for p in program.params if p.seed}
    for p in program.params:
        if p.seed:
            for place in np.ndindex(seeds[p.name].shape):
                seeds[p.name][place] = element(p.seed, place) == one
    return seeds
