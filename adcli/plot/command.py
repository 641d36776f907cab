"""The verb plot: outputs and their derivatives drawn against one input, or contours against two."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import click

from adcli.command.options import (
    RESULT_OPTIONS,
    fmt_option,
    format_option,
    look_options,
    of_option,
    option,
    output_option,
    program_options,
    quiet_option,
    takes,
    together,
)
from adcli.command.usage import WHAT, WHERE, Command, WholeNumber
from adcli.input.settings import ResultOptions, names
from adcli.lang.ir import Param, Var
from adcli.output.numbers import number_format
from adcli.output.streams import say
from adcli.pictures.destinations import write_picture
from adcli.pictures.picture import FORMATS, look, require_package
from adcli.plot.setting import HIGHEST, from_text
from adcli.rows.sample_columns import whole_table
from adcli.tables.sources import locations
from adcli.tables.streams import BadTable
from adcli.task.rules import SAMPLES, require_fit

COLUMNS = (*SAMPLES, "na", "missing")
"""Options about the columns of --data."""


@dataclass(frozen=True, kw_only=True)
class PlotOptions(ResultOptions):
    """The options of plot."""

    derivatives: int
    points: int | None
    against: str | None
    right: str | None
    title: str | None
    logx: bool
    logy: bool


@click.command("plot", cls=Command,
               examples=("adcli plot -e 'v = abs(sin(x))*y' --at x=-3:3,y=2",
                         "adcli plot -e 'v = x*y' --at x=-3:3,y=-3:3 --derivatives 0"))
@program_options
@of_option("Outputs to draw (default: all).")
@option(WHAT, "--derivatives", type=WholeNumber(0, HIGHEST), default=1, metavar="N",
        help="Also derivatives up to order N; of contours, arrows along the gradient (1) or none (0).")
@option(WHERE, "--at", "at", multiple=True, metavar="POINT",
        help="x=-3:3,y=2: x varies, y does not; two inputs that vary give contours. Inputs without a value vary over their"
             " declared range.")
@option(WHERE, "--points", type=WholeNumber(2, 100_000), metavar="N",
        help="Values of each input that varies (default: 401, for contours 101).")
@RESULT_OPTIONS["data"](help="Points over the curves or the map: a table with columns named as the inputs that vary and as"
                             " outputs.")
@together(*(RESULT_OPTIONS[name]() for name in COLUMNS))
@option(WHAT, "--against", metavar="v", help="Draw the other outputs against this one: a parametric curve.")
@option(WHAT, "--right", metavar="v,…", help="Outputs with an axis of their own, at the right.")
@option(WHAT, "--title", metavar="TEXT", help="Line above the picture (default: the inputs that do not vary).")
@option(WHAT, "--logx", help="Logarithmic horizontal axis.")
@option(WHAT, "--logy", help="Logarithmic vertical axis of the outputs.")
@look_options
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
    from adcli.plot.plots import Wanted, pictured
    require_package(options.form)
    require_fit(options, "plot")
    looks = look(options.form, options.size, options.theme)
    program, number = parse_source(options.source), number_format(options.fmt, False)
    for note in program.notes:
        options.remark(note)
    setting = from_text(program, options.at, options.points, options.remark)
    setting = setting.logarithmic(options.logx, options.logy, options.against)
    asked = Wanted(options.outputs, options.derivatives, options.against, names(options.right, "--right") or ())
    try:
        if options.data:
            asked = asked.with_data(program, setting, lambda across, outputs: columns(across, outputs, options))
    except BadTable as fault:
        say(fault)
        return 5
    picture = replace(pictured(setting, asked), **looks)
    if options.title is not None:
        picture = replace(picture, title=options.title)
    write_picture(picture, options.form, options.output, number)
    return 0


def columns(across: Sequence[str], outputs: Sequence[str], options: PlotOptions) -> Mapping[str, list[float]]:
    """Columns of the tables of --data, all rows; NaN for outputs that are none. BadTable where one is missing or a cell is no
    number."""
    found: dict[str, list[float]] = {name: [] for name in (*across, *outputs)}
    for there in locations(options.data, options.remark):
        read, faults = whole_table(there.opened(), options).read([
            *(Param(Var(name), name) for name in across), *(Param(Var(name), name, math.nan) for name in outputs)])
        for fault in faults.values():
            raise fault
        for name, column in zip(found, read, strict=True):
            found[name].extend(column if len(column) == len(read[0]) else [math.nan] * len(read[0]))
    return found
