"""The verb plot: outputs and their derivatives drawn against one input, or contours against two."""
from __future__ import annotations

from dataclasses import dataclass, replace

import click

from adcli.command.options import (
    fmt_option,
    format_option,
    of_option,
    option,
    output_option,
    program_options,
    quiet_option,
    takes,
)
from adcli.command.usage import WHAT, WHERE, Command, WholeNumber
from adcli.input.settings import Options
from adcli.output.numbers import number_format
from adcli.pictures.destinations import write_picture
from adcli.pictures.picture import FORMATS, require_package
from adcli.plot.ranges import HIGHEST, from_text
from adcli.task.rules import require_fit


@dataclass(frozen=True, kw_only=True)
class PlotOptions(Options):
    """The options of plot."""

    derivatives: int
    points: int | None
    fmt: str | None
    title: str | None
    logx: bool
    logy: bool


@click.command("plot", cls=Command,
               examples=("adcli plot -e 'v = abs(sin(x))*y' --at x=-3:3,y=2",
                         "adcli plot -e 'v = x*y' --at x=-3:3,y=-3:3 --derivatives 0"))
@program_options
@of_option("Outputs to draw (default: all).")
@option(WHAT, "--derivatives", type=WholeNumber(0, HIGHEST), default=1, show_default=True, metavar="N",
        help="Also derivatives up to order N; of contours, arrows along the gradient (1) or none (0).")
@option(WHERE, "--at", "at", multiple=True, metavar="POINT",
        help="x=-3:3,y=2: x varies, y does not; two inputs that vary give contours. Inputs without a value vary over their"
             " declared range.")
@option(WHERE, "--points", type=WholeNumber(2, 100_000), metavar="N",
        help="Values of each input that varies (default: 401, for contours 101).")
@option(WHAT, "--title", metavar="TEXT", help="Line above the picture (default: the inputs that do not vary).")
@option(WHAT, "--logx", is_flag=True, help="Logarithmic horizontal axis.")
@option(WHAT, "--logy", is_flag=True, help="Logarithmic vertical axis of the outputs.")
@format_option(FORMATS, "Kind of picture, or csv for the numbers (default: by the suffix of -o FILE; else text).")
@fmt_option
@output_option
@quiet_option
@takes(PlotOptions)
def command(options: PlotOptions) -> int:
    """Draw outputs and their derivatives against one input, or contours against two.

    Where a value or a derivative is not continuous, the line is broken, and a note says what is there: a kink, a jump, a pole, a
    singularity or an edge of the domain. The picture goes to the terminal (plotext), or to a file .svg, .png or .pdf
    (matplotlib).
    """
    from adcli.lang.lower.frontend import parse_source
    from adcli.plot.plots import pictured
    require_package(options.form)
    program, number = parse_source(options.source), number_format(options.fmt, False)
    require_fit(options, "plot")
    for note in program.notes:
        options.remark(note)
    setting = from_text(program, options.at, options.points, options.remark).logarithmic(options.logx, options.logy)
    picture = pictured(setting, options.outputs, options.derivatives)
    if options.title is not None:
        picture = replace(picture, title=options.title)
    write_picture(picture, options.form, options.output, number)
    return 0
