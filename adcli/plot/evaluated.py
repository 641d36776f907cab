"""A program and its derivatives as functions of arrays: curves, the status, and what tells of special places."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from adcli.codegen.machine.arrays import run_arrays
from adcli.lang.analyse.special_places import Telltale, quantities
from adcli.lang.derive.derivatives import gradient
from adcli.lang.ir import Atom, Program
from adcli.lang.ir.errors import AdError
from adcli.lang.operations.activity import needed_values, outputs_to_differentiate, with_outputs
from adcli.lang.passes.status import with_status
from adcli.lang.simplify.simplify import simplify
from adcli.task.native import compiled

Points = np.ndarray
"""Values of the inputs that vary: a row for each, a column for each point."""


class Evaluated:
    """The outputs `of` a program, and their derivatives up to an order with respect to the inputs that vary."""

    def __init__(self, program: Program, moving: Sequence[str], fixed: Mapping[str, float], of: Sequence[str] | None,
                 order: int) -> None:
        self.moving, self.fixed, self.order = list(moving), fixed, order
        self.primal = simplify(with_outputs(program, outputs_to_differentiate(program, of)))
        derived = gradient(self.primal, self.moving, None, "forward", order) if order else self.primal
        self.results = derived.results
        self.outputs = [r.name for r in self.primal.results]
        if not self.outputs:
            raise AdError("there is nothing to plot: no output has an element")
        self.kernel = compiled(with_status(derived, self.primal, self.moving))

    def __call__(self, points: Points) -> tuple[np.ndarray, np.ndarray]:
        """The results, a row for each, and the status, at every point."""
        *rows, levels = self.run(self.kernel, points)
        return np.array(rows), levels.astype(np.int64)

    @cached_property
    def _told(self) -> tuple[Any, list[Telltale]]:
        program, known = quantities(self.primal, self.moving)
        return compiled(program) if known else None, known

    @property
    def quantities(self) -> list[Telltale]:
        """Indicators of special places."""
        return self._told[1]

    def told(self, points: Points) -> np.ndarray:
        """The quantities at every point, a row for each."""
        kernel, _ = self._told
        return np.array(self.run(kernel, points)) if kernel else np.empty((0, points.shape[1]))

    @cached_property
    def reached(self) -> dict[str, set[Atom]]:
        """For each output the values that it depends on."""
        return {name: needed_values(self.primal, [name]) for name in self.outputs}

    def run(self, kernel: Any, points: Points) -> list[np.ndarray]:
        count = points.shape[1]
        varying = dict(zip(self.moving, points, strict=True))
        columns = [np.ascontiguousarray(varying[p.name]) if p.name in varying else np.full(count, self.fixed[p.name])
                   for p in self.primal.params]
        return run_arrays(kernel, columns, count)
