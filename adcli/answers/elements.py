"""Matrices of the derivatives of tensors: rows and columns are elements, without the entries that are zero by construction.

Where most entries can be other than zero, the numbers are those of the derivatives as tensors, of one run; elsewhere they are
read from sweeps, one for each colour of the pattern.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from adcli.answers.evaluation import TensorEvaluator, computation, evaluate, unfit_where_refused
from adcli.answers.reporter import REMARKS, Reporter, not_finite
from adcli.answers.results import matrices_of
from adcli.input.arrays import filled, fitting
from adcli.input.points import located, require_point
from adcli.input.settings import ResultOptions
from adcli.lang.derive.derivatives import partial_name
from adcli.lang.ir import Program, Values
from adcli.lang.ir.errors import AdError, plural
from adcli.output.layout import Row
from adcli.output.numbers import number_format
from adcli.output.streams import packed_destination, write_points
from adcli.task.entries import element_matrix
from adcli.task.matrices import ElementMatrix, Matrix, dense, elements, output_shapes, read_by_colours
from adcli.task.rules import require_fit
from adcli.task.tasks import Task, prepared

FULL = 8
"""A matrix is full where one of so many entries, or more, can be other than zero."""
MOST_AT_ONCE = 1 << 25
"""Elements of all derivatives as tensors at most."""


def point_of(program: Program, specs: Sequence[str], what: str, say: Callable[..., None]) -> dict[str, Any]:
    """The one point that --at gives. AdError for none and for several."""
    require_point(program.params, specs)
    points = located(program.params, specs, say, program.source)
    at = fitting(program, next(points))
    if next(points, None) is not None:
        raise AdError(f"{what} of a program with tensors or loops is of one point, but ⟦--at⟧ gives several",
                      help="run adcli once for each of them")
    return at


def matrix_at_point(task: Task, options: ResultOptions, reporter: Reporter) -> int:
    """Write the Jacobian or Hessian by elements as --format coo or mtx; returns the exit code."""
    require_fit(options, "matrix of elements")
    assert task.verb.matrix is not None, "the format is one of matrices"
    at = point_of(task.primal, options.at, f"--format {options.form}", reporter.say)
    wrt = list(task.signature.wrt)
    found = element_matrix(task.primal, at, task.verb.matrix, wrt)
    name = f"hessian of {task.signature.outputs[0]}" if found.kind == "hessian" else "jacobian"
    whole = len(found.rows) * len(found.columns)
    if options.explain:
        reporter.say(f"pattern: {found.pattern_from}")
    if whole <= MOST_AT_ONCE and sum(map(len, found.pattern)) * FULL >= whole:
        matrix = found.matrix(name, found.places())
        row, = reporter.over(evaluate(task, [at], options.jobs, reporter.say))
        values = full_entries(task, matrix, row)
    else:
        matrix, values = SweepProducts(task, at, wrt, options, reporter).entries(found, name)
    number = number_format(options.fmt, options.hexadecimal, options.precision)
    with packed_destination(options.output, False) as out:
        write_points(out, matrices_of(matrix, options.form, [(named_elements(at), values)], number, False))
    return reporter.conclude()


def full_entries(task: Task, matrix: Matrix, row: Row) -> list[float]:
    """The entries of a matrix, read from the derivatives as tensors, which are the results of the task."""
    order, blocks = 2 if matrix.symmetric else 1, dict[tuple[str, str], np.ndarray]()
    inputs = {name: row.at[name] for name in task.signature.wrt}
    rows = inputs if matrix.symmetric else dict(zip(task.signature.outputs, row.results, strict=False))
    for c, x in zip(task.signature.results, row.results, strict=True):
        if len(c.wrt) == order:
            first, last = c.wrt[0] if matrix.symmetric else c.of or "", c.wrt[-1]
            block = np.reshape(x, (np.size(rows[first]), np.size(inputs[last])))
            if matrix.symmetric:
                blocks[last, first] = block.T
            blocks[first, last] = block
    return dense(blocks, rows, inputs)[list(matrix.i), list(matrix.j)].tolist()


class SweepProducts:
    """Products of the derivatives of a task with vectors at a point, by the code of jvp, vjp and hvp. What is rough or not finite
    there is said once."""

    def __init__(self, task: Task, at: dict[str, Any], wrt: list[str], options: ResultOptions, reporter: Reporter) -> None:
        self.task, self.at, self.wrt, self.options, self.reporter = task, at, wrt, options, reporter
        self.shapes = output_shapes(task.primal, at) | {name: np.shape(at[name]) for name in wrt}
        self.first = True

    def entries(self, found: ElementMatrix, name: str) -> tuple[Matrix, list[float]]:
        """The matrix without its numbers, and these."""
        reading = read_by_colours(found, self.task.request.mode)
        if self.options.explain:
            self.reporter.say(f"entries: {plural(int(reading.colours.max(initial=-1)) + 1, 'sweep')}, by colours")
        outputs, inputs = self.task.signature.outputs, [p.name for p in self.task.primal.params if p.name in self.wrt]
        if found.kind == "hessian":
            product = self.along("hvp", self.wrt, range(len(self.wrt)))
        elif reading.reverse:
            product = self.along("vjp", outputs, [inputs.index(name) for name in self.wrt])
        else:
            product = self.along("jvp", self.wrt, range(len(outputs)))
        values = reading.numbers(product)
        if self.first:   # nothing is read from a sweep, and yet there is something to say of the point
            product(np.zeros(len(reading.colours)))
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            row, column = found.rows[reading.i[wrong[0]]], found.columns[reading.j[wrong[0]]]
            entry = partial_name(outputs[0], (row, column)) if found.kind == "hessian" else partial_name(row, (column,))
            self.remark(f"note: {entry} = {float(values[wrong[0]])!r}: {len(wrong):,} of {len(values):,} entries are not finite")
        return found.matrix(name, list(zip(reading.i.tolist(), reading.j.tolist(), strict=True))), values.tolist()

    def along(self, verb: str, seeded: Sequence[str], order: Sequence[int]) -> Callable[[np.ndarray], np.ndarray]:
        """Products by the sweeps of a verb with vectors, whose elements are those of these inputs, or outputs, in turn: the
        elements of its derivatives in this order."""
        @cache
        def code() -> tuple[Task, TensorEvaluator]:
            task = prepared(self.task.request._replace(verb=verb, wrt=self.wrt, mode="auto"), self.options)
            return task, computation(task, self.options.jobs, self.reporter.say)

        def product(vector: np.ndarray) -> np.ndarray:
            task, compute = code()
            ends = np.cumsum([math.prod(self.shapes[name]) for name in seeded])[:-1]
            parts = dict(zip(seeded, np.split(vector, ends), strict=True))
            seeds = {p.name: parts[p.seed or ""].reshape(self.shapes[p.seed or ""]) for p in task.signature.seeds}
            with unfit_where_refused():
                results, level = compute(filled(task.program, self.at, seeds))
            outputs = len(task.signature.outputs)
            if self.first:
                self.look(results[:outputs], level)
            return np.concatenate([np.ravel(results[outputs + k]) for k in order])
        return product

    def look(self, outputs: Sequence[Any], level: int) -> None:
        """Say what is rough or not finite at the point."""
        self.first = False
        if level:
            self.reporter.failed = True
            self.reporter.rough(Row(self.at, outputs, level))
        for note in not_finite(self.task.signature.outputs, outputs):
            self.remark(note)

    def remark(self, note: str) -> None:
        self.reporter.failed = True
        self.reporter.note(REMARKS, lambda: note)


def named_elements(at: Values) -> dict[str, float]:
    """The numbers of a point by the names of elements."""
    return {x: float(value) for name, whole in at.items()
            for x, value in zip(elements(name, np.shape(whole)), np.ravel(whole), strict=True)}
