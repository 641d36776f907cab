"""Matrices of the derivatives of tensors: rows and columns are elements, and entries that are zero by construction are left out.

At one point a program with tensors, loops or matrices is written out as one of numbers (`adcli.lang.evaluate.unfolding`), whose
inputs and outputs are the elements. Its Jacobian or Hessian has the pattern, the colouring and the formats of every program.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from adcli.answers.evaluation import evaluate
from adcli.answers.results import matrices
from adcli.answers.watch import Watch
from adcli.command.options import ResultOptions
from adcli.input.arrays import fitting
from adcli.input.points import located, require_point
from adcli.lang.evaluate.unfolding import Unfolded
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import tensor_of
from adcli.output.numbers import number_format
from adcli.output.streams import packed_destination, write_points
from adcli.task.shapes import written_out
from adcli.task.tasks import Task, prepared


def written_out_at(program: Program, specs: Sequence[str], what: str, say: Callable[..., None]) -> Unfolded:
    """The program of the elements at the one point that --at gives. AdError for none and for several."""
    require_point(program.params, specs)
    points = located(program.params, specs, say, program.source)
    at = fitting(program, next(points))
    if next(points, None) is not None:
        raise AdError(f"{what} of a program with tensors or loops is of one point, but --at gives several",
                      help="run adcli once for each of them")
    return written_out(program, at, what)


def elements_among(whole: Unfolded, inputs: Sequence[str]) -> list[str]:
    """The inputs of a program of elements that are the elements of these inputs."""
    return [p.name for p in whole.program.params if tensor_of(p.name) in inputs]


def matrix_at_point(task: Task, options: ResultOptions, watch: Watch) -> int:
    """Write the Jacobian or Hessian by elements as --format coo or mtx; returns the exit code."""
    options.refuse(["fast_math", "tier", "jobs"], f"has no effect on --format {options.form} of tensors")
    whole = written_out_at(task.primal, options.at, f"--format {options.form}", watch.say)
    request = task.request._replace(of=None, wrt=elements_among(whole, task.signature.wrt))
    numbers = prepared(request, options, whole.program)
    watch = Watch(numbers, options, options.jobs)
    rows = watch.over(evaluate(numbers, [whole.at]))
    number = number_format(options.fmt, options.hexadecimal, options.precision)
    with packed_destination(options.output, False) as out:
        write_points(out, matrices(numbers, options.form, rows, number, False))
    return watch.conclude(options.strict)
