"""The verb minimize: where an output is least, with a verdict on the point."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from adcli.command.options import (
    fmt_option,
    format_option,
    hexadecimal_option,
    of_option,
    option,
    output_option,
    points_option,
    program_options,
    quiet_option,
    takes,
)
from adcli.command.usage import OTHER, WHAT, Command, OneOf
from adcli.input.points import located, require_point
from adcli.input.settings import Options
from adcli.lang.lower.frontend import parse_source
from adcli.output.numbers import number_format
from adcli.output.streams import Progress, packed_destination, write_points

if TYPE_CHECKING:
    import numpy as np

    from adcli.numerics.optimality import Bounds

SOLVER_NAMES = ("auto", "trust-exact", "trust-krylov", "Newton-CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP", "trust-constr",
                "pounce", "ipopt")
"""The names in solvers.minimize, said again so that a help text loads no NumPy; a test compares."""


@dataclass(frozen=True, kw_only=True)
class MinimizeOptions(Options):
    """Options of minimize."""

    subject_to: tuple[str, ...] = ()
    maximize: bool = False
    solver: str = "auto"
    fmt: str | None = None
    hexadecimal: bool = False
    ampl: bool = False


@click.command("minimize", cls=Command,
               examples=("adcli minimize -e 'v = (1 - x)**2 + 100*(y - x**2)**2' --at x=-1.2,y=1",
                         "adcli minimize -e 'v = x*y' --at x=1,y=2 --subject-to 'x**2 + y**2 <= 2' --maximize",
                         "adcli minimize -e 'maximize x*y' -e 'subject to x**2 + y**2 <= 2' --at x=1,y=2"))
@program_options
@option(WHAT, "--wrt", metavar="x,…", help="Inputs to move (default: all but params); the others stay as --at gives them.")
@of_option("The output to minimize (default: that of the program, or the one that no condition names).", "v")
@option(WHAT, "--subject-to", multiple=True, metavar="CONDITION",
        help="'g <= 0', 'g == 1' or '0 <= g <= 2', of outputs or expressions; of tensors, element by element; repeatable. "
             "Those of the program and declared ranges hold too.")
@option(WHAT, "--maximize", help="Find the greatest value instead.")
@points_option
@option(WHAT, "--solver", type=OneOf("solver", SOLVER_NAMES), default="auto", metavar="SOLVER",
        help=f"{', '.join(SOLVER_NAMES[1:-2])} of SciPy, pounce or ipopt; auto tries those that fit until one ends at a minimum.")
@format_option(("text", "json", "csv"), "Format of the results (default: by the suffix of -o FILE; else text).")
@fmt_option
@hexadecimal_option
@output_option
@quiet_option
@option(OTHER, "-AMPL", "ampl", help="Write the solution of FILE.nl to FILE.sol, as AMPL and Pyomo ask for it.")
@takes(MinimizeOptions)
def command(options: MinimizeOptions) -> int:
    """Find where an output is least, from the start that --at gives.

    The solvers are SciPy's, with exact gradients and Hessians. Their answer is polished by Newton steps and checked at the point
    itself: the conditions hold, the gradient of the Lagrangian is zero, its Hessian is positive definite along what is free to
    move. Exits 1 where that does not show a minimum, and says why. Several starts (x=-5:5:11) give the best of their minima.
    """
    program = parse_source(options.source)
    for note in program.notes:
        options.remark(note)
    require_point(program.params, options.at)
    points = list(located(program.params, options.at, options.remark, program.source))
    from adcli.numerics.linear import load_scipy
    load_scipy()
    from adcli.numerics.optimality import outside
    from adcli.solvers import ampl
    from adcli.solvers.minimize import Optimum, Problem, advice, minimize, stated
    from adcli.solvers.minimize_report import Report
    from adcli.solvers.point_report import written
    model = ampl.refuse_whole_numbers(program.source and program.source.origin) if options.ampl else None
    progress, found = Progress(None, shown=not options.quiet), list[tuple[Problem, Optimum]]()

    def watch(iteration: int, evaluation: int, value: float, conditions: np.ndarray, bounds: Bounds) -> None:
        place = f"iteration {iteration:,}" if iteration else f"evaluation {evaluation:,}"
        progress.show(lambda seconds: f"{place}: {value:.9g}, conditions violated by "
                                      f"{outside(conditions, bounds.c_low, bounds.c_high):.1e}, {seconds:.0f} s")

    problem = None
    for point in points:
        problem = stated(program, options.inputs, options.outputs, options.subject_to, options.maximize, point, problem)
        if not found and (advised := advice(problem, options.solver)):
            options.remark(advised)
        found.append((problem, minimize(problem, options.solver, watch)))
    progress.clear()
    best = min(found, key=lambda pair: (pair[1].found.rank[0], pair[0].sign * pair[1].found.f))
    told = Report(*best, [optimum for _, optimum in found])
    if model is not None:
        ampl.answer(told, model)
        return 0
    number = number_format(options.fmt, options.hexadecimal)
    with packed_destination(options.output) as out:
        write_points(out, written([told], options.form, number))
    for line in told.reasons():
        options.remark(line)
    return 0 if told.shown else 1
