"""The verb solve: where all outputs are zero, and how that place depends on the other inputs."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from adcli.command.options import (
    Options,
    format_option,
    of_option,
    option,
    output_option,
    points_option,
    program_options,
    quiet_option,
    takes,
)
from adcli.command.usage import WHAT, Command
from adcli.input.points import located, need_headings, require_point
from adcli.lang.lower.frontend import parse_source
from adcli.output.numbers import number_format
from adcli.output.streams import packed_destination, say, write_points
from adcli.solvers.number_options import number_options

if TYPE_CHECKING:
    from adcli.lang.ir import Program
    from adcli.solvers.solve_report import SolveReport


@dataclass(frozen=True, kw_only=True)
class SolveOptions(Options):
    """What solve is told."""

    equations: tuple[str, ...] = ()
    fmt: str | None = None
    hexadecimal: bool = False


@click.command("solve", cls=Command,
               examples=("adcli solve -e 'x**2 + y**2 - a' -e 'x*y - 1' --wrt x,y --at x=2,y=0,a=4",
                         "adcli solve samples/two_link_arm.ad --equation 'px == 0.5' --equation 'py == 0.3' --at q1=0.3,q2=0.8"))
@program_options
@option(WHAT, "--wrt", metavar="x,…", help="The unknowns (default: all inputs but params); --at has their start, and the others.")
@option(WHAT, "--equation", "equations", multiple=True, metavar="EQUATION",
        help="'px == 0.5', of outputs or expressions; repeatable (default: every output is zero).")
@of_option("Outputs that are zero (default: all where there is no --equation).")
@points_option
@format_option(("text", "json", "csv"), "Format of the results (default: by the suffix of -o FILE; else text).")
@number_options
@output_option
@quiet_option
@takes(SolveOptions)
def command(options: SolveOptions) -> int:
    """Find where equations hold, or all outputs are zero, from the start that --at gives.

    The solvers are SciPy's, with the exact Jacobian; Newton steps go on to the last digits. Behind the unknowns are their
    derivatives by every other input, dx_da, by the implicit function theorem. More equations than unknowns are solved by least
    squares. Exits 1 where there is no solution, or the Jacobian is singular there, and says why.
    """
    program = parse_source(options.source)
    remark: Callable[[object], None] = (lambda text: None) if options.quiet else say
    for note in program.notes:
        remark(note)
    require_point(program.params, options.at)
    number = number_format(options.fmt, options.hexadecimal)
    told = Watched(reports(program, options, remark), remark)
    from adcli.solvers import solve_report as report
    with packed_destination(options.output) as out:
        match options.form:
            case "json":
                write_points(out, report.as_json(told, number))
            case "csv":
                write_points(out, report.as_csv(told, number))
            case _:
                write_points(out, report.as_text(told, number, need_headings(program.params, options.at)))
    return 1 if told.failed else 0


class Watched:
    """Reports as they go by, with the reasons of those that failed said behind them."""

    def __init__(self, told: Iterator[SolveReport], remark: Callable[[object], None]) -> None:
        self.told, self.remark, self.failed = told, remark, False

    def __iter__(self) -> Iterator[SolveReport]:
        for one in self.told:
            yield one
            self.failed |= not one.shown
            for line in one.reasons():
                self.remark(line)


def reports(program: Program, options: SolveOptions, remark: Callable[[object], None]) -> Iterator[SolveReport]:
    """A report for each point; where the start leads nowhere, the solution of the point before is the start."""
    from adcli.solvers.solve import solve, stated
    from adcli.solvers.solve_report import SolveReport
    last = None
    for point in located(program.params, options.at, remark, program.source):
        system = stated(program, options.inputs, options.outputs, point, options.equations)
        found = solve(system)
        if not found.found and last is not None:
            again = solve(replace(system, start=last.x))
            found = again if again.found else found
        last = found if found.found else last
        yield SolveReport(found)
