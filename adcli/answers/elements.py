"""Matrices of the derivatives of tensors: rows and columns are elements, and entries that are zero by construction are left out.

At one point a program with tensors, loops or matrices is written out as one of numbers (`adcli.lang.evaluate.unfolding`), whose
inputs and outputs are the elements. Its Jacobian or Hessian has the pattern, the colouring and the formats of every program.
Where most of many entries can be other than zero, the numbers are those of the derivatives as tensors: they are computed at once,
and written out each would be a formula.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from adcli.answers.evaluation import evaluate
from adcli.answers.results import matrices, matrices_of
from adcli.answers.watch import Watch
from adcli.command.options import ResultOptions
from adcli.input.arrays import fitting
from adcli.input.points import located, require_point
from adcli.lang.derive.sparsity import hessian_pattern, jacobian_pattern
from adcli.lang.evaluate.unfolding import Unfolded
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import tensor_of
from adcli.lang.passes.simplify import simplify
from adcli.output.layout import Row
from adcli.output.numbers import number_format
from adcli.output.streams import packed_destination, write_points
from adcli.task.matrices import Matrix
from adcli.task.shapes import written_out
from adcli.task.tasks import Task, prepared

MANY = 400
"""Entries up to which a matrix is quick to have from formulas."""
FULL = 8
"""A matrix is full where one of so many entries, or more, can be other than zero."""
MOST_AT_ONCE = 1 << 25
"""Elements of all derivatives as tensors at most."""


def written_out_at(program: Program, specs: Sequence[str], what: str, say: Callable[..., None]) -> Unfolded:
    """The program of the elements at the one point that --at gives. AdError for none and for several."""
    return written_out(program, point_of(program, specs, what, say), what)


def point_of(program: Program, specs: Sequence[str], what: str, say: Callable[..., None]) -> dict[str, Any]:
    """The one point that --at gives. AdError for none and for several."""
    require_point(program.params, specs)
    points = located(program.params, specs, say, program.source)
    at = fitting(program, next(points))
    if next(points, None) is not None:
        raise AdError(f"{what} of a program with tensors or loops is of one point, but --at gives several",
                      help="run adcli once for each of them")
    return at


def elements_among(whole: Unfolded, inputs: Sequence[str]) -> list[str]:
    """The inputs of a program of elements that are the elements of these inputs."""
    return [p.name for p in whole.program.params if tensor_of(p.name) in inputs]


def matrix_at_point(task: Task, options: ResultOptions, watch: Watch) -> int:
    """Write the Jacobian or Hessian by elements as --format coo or mtx; returns the exit code."""
    options.refuse(["fast_math", "tier", "jobs"], f"has no effect on --format {options.form} of tensors")
    at = point_of(task.primal, options.at, f"--format {options.form}", watch.say)
    whole = written_out(task.primal, at, f"--format {options.form}")
    inputs, number = elements_among(whole, task.signature.wrt), number_format(options.fmt, options.hexadecimal, options.precision)
    if (full := full_matrix(task, whole, inputs)) is not None:
        values = (FullMatrix(task, full).entries(row) for row in watch.over(evaluate(task, [at], options.jobs, watch.say)))
        pieces = matrices_of(full, options.form, ((whole.at, found) for found in values), number, False)
    else:
        numbers = prepared(task.request._replace(of=None, wrt=inputs), options, whole.program)
        watch = Watch(numbers, options, options.jobs)
        pieces = matrices(numbers, options.form, watch.over(evaluate(numbers, [whole.at])), number, False)
    with packed_destination(options.output, False) as out:
        write_points(out, pieces)
    return watch.conclude(options.strict)


def full_matrix(task: Task, whole: Unfolded, inputs: Sequence[str]) -> Matrix | None:
    """The matrix without its numbers, where it has many entries and is full; else None."""
    rows, hessian = [r.name for r in whole.program.results], task.verb.matrix == "hessian"
    elements = len(inputs) * len(inputs if hessian else rows)
    if not MANY < elements <= MOST_AT_ONCE:
        return None
    program = simplify(whole.program)
    pattern = hessian_pattern(program, inputs, rows[0]) if hessian else jacobian_pattern(program, inputs, rows)
    if sum(map(len, pattern)) * FULL < elements:
        return None
    places = [(i, j) for i, row in enumerate(pattern) for j in sorted(row) if not hessian or i <= j]
    return Matrix(f"hessian of {task.signature.outputs[0]}" if hessian else "jacobian", tuple(inputs if hessian else rows),
                  tuple(inputs), tuple(i for i, _ in places), tuple(j for _, j in places), hessian)


class FullMatrix:
    """Where the entries of a `matrix` stand among the derivatives as tensors, which are the results of `task`."""

    def __init__(self, task: Task, matrix: Matrix) -> None:
        self.task, self.matrix = task, matrix
        self.rows, self.columns = (self.places(names) for names in (matrix.rows, matrix.columns))

    def places(self, names: Sequence[str]) -> dict[str, slice]:
        """Which rows or columns are the elements of each tensor, and which is a number; none of one without elements."""
        of = [tensor_of(name) for name in names]
        found = {name: slice(of.index(name), of.index(name) + of.count(name)) for name in dict.fromkeys(of)}
        return defaultdict(lambda: slice(0, 0), found)

    def entries(self, row: Row) -> list[float]:
        """The numbers of the entries."""
        import numpy as np
        whole = np.zeros((len(self.matrix.rows), len(self.matrix.columns)))
        for c, x in zip(self.task.signature.results, row.results, strict=True):
            if len(c.wrt) == (2 if self.matrix.symmetric else 1):
                i, j = self.rows[c.wrt[0] if self.matrix.symmetric else c.of or ""], self.columns[c.wrt[-1]]
                whole[i, j] = np.asarray(x).reshape((i.stop - i.start, j.stop - j.start))
                if self.matrix.symmetric and c.wrt[0] != c.wrt[1]:
                    whole[j, i] = whole[i, j].T
        return whole[list(self.matrix.i), list(self.matrix.j)].tolist()
