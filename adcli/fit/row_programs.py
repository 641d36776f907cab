"""A program of numbers for all rows of a table, in one call of native code."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adcli.codegen.machine.arrays import run_arrays
from adcli.lang.derive import derivatives
from adcli.lang.ir import Program
from adcli.lang.ir.errors import Source
from adcli.numerics.vectors import Vector
from adcli.task.derive import DerivedProgram
from adcli.task.request import Request
from adcli.task.tasks import Task


class RowProgram:
    """The results of a task in so many `rows`, the last of them the status: `columns` has an array or a number for each input but
    the parameters `names`."""

    def __init__(self, task: Task, columns: Mapping[str, Any], rows: int, jobs: int | None, names: Sequence[str] = ()) -> None:
        self.rows, self.jobs, self.kernel = rows, jobs, task.kernel
        self.results = 1 + len(task.signature.outputs) + len(task.signature.derived)
        self.whole = -(-rows // self.kernel.lanes) * self.kernel.lanes   # the last row again, to fill a block
        self.columns = {name: np.pad(np.broadcast_to(x, rows).astype(np.float64), (0, self.whole - rows), "edge")
                        for name, x in columns.items()}
        self.parameters = {name: np.empty(self.whole) for name in names}
        self.inputs = [(self.columns | self.parameters)[p.name] for p in task.signature.inputs]

    def __call__(self, values: Sequence[Any] = ()) -> Vector:
        """A row for each result; a parameter is a number, or one for each row."""
        for column, x in zip(self.parameters.values(), values, strict=True):
            column[:self.rows] = x
            column[self.rows:] = column[self.rows - 1]
        found = np.empty((self.results, self.whole))
        run_arrays(self.kernel, self.inputs, self.whole, [*found], self.jobs)
        return found[:, :self.rows]


def task_of(program: Program, verb: str, wrt: Sequence[str] = ()) -> Task:
    """The values of a program, its `jacobian` or its `hessian`, which no command line asked for."""
    match verb:
        case "jacobian":
            made = derivatives.jacobian(program, wrt, zeros=True)
        case "hessian":
            made = derivatives.hessian(program, wrt)
        case _:
            made = program
    derived = DerivedProgram(program, made, list(wrt))
    request = Request(verb, program.source or Source("<text>", ""), wrt=list(wrt), zeros=True)
    return Task(request, derived.signature, worked=derived)
