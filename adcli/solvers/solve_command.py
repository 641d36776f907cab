"""The verb solve: where all outputs are zero, and how that place depends on the other inputs."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import click

from adcli.command.options import FOR_C, format_option, of_option, option, program_options, result_options, takes
from adcli.command.usage import WHAT, Command
from adcli.input.points import located, need_headings, require_point
from adcli.input.settings import PART_OPTIONS, ResultOptions
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse_source
from adcli.output.numbers import number_format
from adcli.output.streams import packed_destination, write_points
from adcli.task.rules import require_fit

FORMATS = ("text", "json", "csv")
WITHOUT = ("form", *PART_OPTIONS, "jobs", "digits", "enclose", "status", "strict", "fast_math", "tier", "no_cache")

if TYPE_CHECKING:
    from adcli.lang.ir import Program
    from adcli.solvers.solve_report import SolveReport


@dataclass(frozen=True, kw_only=True)
class SolveOptions(ResultOptions):
    """Options of solve."""

    finds_zeros: ClassVar[bool] = True
    equations: tuple[str, ...] = ()
    sensitivities: bool = False


@click.command("solve", cls=Command,
               examples=("adcli solve -e 'cos(x) == x' --at x=1",
                         "adcli solve -e 'x**2 + y**2 - a' -e 'x*y - 1' --wrt x,y --at x=2,y=0,a=4",
                         "adcli solve samples/two_link_arm.ad --equation 'px == 0.5' --equation 'py == 0.3' --at q1=0.3,q2=0.8"))
@program_options
@option(WHAT, "--wrt", metavar="x,…", help="The unknowns (default: all inputs but params); --at has their start, and the others.")
@option(WHAT, "--equation", "equations", multiple=True, metavar="EQUATION",
        help="'px == 0.5', of outputs or expressions; repeatable (default: every output is zero).")
@option(WHAT, "--sensitivities",
        help="With --emit: the derivatives of the unknowns by the other inputs, in the place of the Jacobians.")
@of_option("Outputs that are zero (default: all where there is no --equation).")
@format_option(FORMATS, "Format of the results (default: by the suffix of -o FILE; else text, or for rows that of the table).")
@result_options(FORMATS, without=WITHOUT, helps={
    **FOR_C,
    "at": "Starts of the unknowns, and values of other inputs: x=1,a=4; a=0:1:11 for a range; A=@matrix.npy; @points.json."
          " With --emit: inputs that become constants.",
    "emit": "Write the equations with their Jacobian by the unknowns and by the other inputs.",
    "data": "A table of the other inputs, one solution a row: CSV, TSV, JSON, Parquet, or - for standard input; repeatable."})
@takes(SolveOptions)
def command(options: SolveOptions) -> int:
    """Find where equations hold, or all outputs are zero, from the start that --at gives.

    The solvers are SciPy's, with the exact Jacobian; Newton steps go on to the last digits. After the unknowns come their
    derivatives by every other input, dx_da, by the implicit function theorem. More equations than unknowns are solved by least
    squares. Declared ranges of the unknowns are kept. Exits 1 where there is no solution, or the Jacobian is singular there, and
    says why.
    """
    program = parse_source(options.source)
    for note in program.notes:
        options.remark(note)
    if options.emit:
        return emitted(program, options)
    require_fit(options, "solve")
    if options.data:
        return in_rows(options)
    require_point(program.params, options.at)
    number = number_format(options.fmt, options.hexadecimal)
    failed = list[bool]()
    told = reports(program, options, failed)
    from adcli.solvers.point_report import written
    headed = options.form == "text" and need_headings(program.params, options.at)
    with packed_destination(options.output) as out:
        write_points(out, written(told, options.form, number, headed))
    return int(any(failed))


def emitted(program: Program, options: SolveOptions) -> int:
    """Write the equations with their Jacobian by the unknowns and by the other inputs, or the derivatives of the unknowns."""
    from adcli.input.fixed_inputs import with_constants
    from adcli.lang.derive.derivatives import jacobian
    from adcli.lang.derive.implicit import sensitivities
    from adcli.lang.ir import has_tensors
    from adcli.lang.operations.activity import inputs_to_differentiate
    from adcli.solvers.conditions import with_equations
    from adcli.task.derive import DerivedProgram
    from adcli.task.emit import emit
    from adcli.task.request import Request
    from adcli.task.tasks import Task
    from adcli.task.verbs import VERBS
    program, constants = with_constants(program, options.at, options.quiet)
    equations = with_equations(program, options.outputs, options.equations)
    unknowns = inputs_to_differentiate(equations, options.inputs)
    if started := next((name for name in unknowns if name in constants), None):
        raise AdError(f"--at {started}: an unknown is no constant, and an emitted program has no start",
                      help=f"leave '{started}' out of --at")
    every = [*unknowns, *(p.name for p in program.params if p.name not in (*unknowns, *constants) and not p.var.integer)]
    verb = VERBS["jacobian"]
    if options.sensitivities:
        verb = verb._replace(name="sensitivities", header="the equations and the derivatives of the unknowns")
    made = sensitivities(equations, unknowns, constants) if options.sensitivities else jacobian(equations, every)
    worked = DerivedProgram(equations, made, every)
    signature = worked.signature._replace(tensors=has_tensors(made))
    emit(Task(Request("jacobian", options.source), signature, constants, worked=worked), options, verb)
    return 0


def in_rows(options: SolveOptions) -> int:
    """A solution for each row of tables."""
    from adcli.rows.stream import given_tables, stream
    from adcli.solvers.solve_rows import SolveReporter, SolveRun
    from adcli.task.request import Request
    from adcli.task.tasks import made
    task = made(Request("eval", options.source), None)
    reporter = SolveReporter(task, options)
    reporter.asked = options.inputs, options.outputs, options.equations
    return stream(task, given_tables(options), options, reporter, SolveRun)


def reports(program: Program, options: SolveOptions, failed: list[bool]) -> Iterator[SolveReport]:
    """A report for each point, after which it is said why it `failed` if it has."""
    from adcli.solvers.solve import Sequel
    from adcli.solvers.solve_report import SolveReport
    solver = Sequel(program, options.inputs, options.outputs, options.equations)
    for point in located(program.params, options.at, options.remark, program.source):
        yield (told := SolveReport(solver(point)))
        failed.append(not told.shown)
        for line in told.reasons():
            options.remark(line)
