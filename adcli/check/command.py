"""The verb check: the derivatives of a program against methods that get them in other ways, and a verdict."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from adcli.check.points import (
    MOST_POINTS,
    MOST_SECONDS,
    RETURNS,
    SAMPLES,
    TIME_LIMIT,
    CheckOptions,
    check_of,
    differentiated,
    drawn_points,
    run,
    usable_points,
)
from adcli.command.options import (
    derivative_options,
    format_option,
    option,
    output_option,
    plot_option,
    precision_option,
    program_options,
    takes,
)
from adcli.command.usage import TRUST, WHAT, WHERE, WRITTEN, Command, OneOf, WholeNumber
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.output.streams import columns_of, packed_destination

if TYPE_CHECKING:
    from adcli.check.points import Check
    from adcli.input.sampling import Point

@click.command("check", cls=Command,
               examples=("adcli check -e 'v = x*sin(y)' --at x=2,y=0.5",
                         """adcli check -e 'v = x*y' --against 'adcli eval -e "dv_dx = y; dv_dy = x"' -q"""))
@program_options
@derivative_options
@option(WHERE, "--at", "at", multiple=True, metavar="POINT",
        help="x=2,y=5; x=0:1:11 for a range; @points.json; repeatable (default: points are drawn).")
@option(WHERE, "--samples", type=WholeNumber(1, MOST_POINTS), default=SAMPLES, metavar="N",
        help="Number of points to draw, from declared ranges where there are any.")
@option(WHERE, "--seed", type=WholeNumber(0, 1 << 53), default=0, metavar="S",
        help="Seed of the points and directions drawn.")
@option(TRUST, "--all", "everything",
        help="Every entry and every point by every method, however long it takes (default: a part of many, which is said).")
@option(TRUST, "--digits", type=click.IntRange(17, 100), default=19, metavar="D",
        help="Decimal digits that multiple precision must settle.")
@precision_option("Also of code in single precision, at points of such numbers: double, the default, or single.")
@option(WHAT, "--against", metavar="WHAT",
        help="Compare somebody's value, gradient or Hessian: ./libmodel.so, model.py:grad, or a command that reads and writes"
             " CSV. It is run.")
@option(WHAT, "--symbol", metavar="NAME", help="Function of the library (default: as --emit c names it).")
@option(WHAT, "--returns", type=OneOf("content", RETURNS),
        help="What its numbers are (default: by their names, else by how many there are).")
@option(WHAT, "--time-limit", type=WholeNumber(1, MOST_SECONDS), default=TIME_LIMIT,
        metavar="SECONDS",
        help="Seconds for all points.")
@format_option(("text", "json"), "A table, or one JSON object.")
@output_option
@plot_option("the remainders of Taylor's expansion, on logarithmic axes")
@option(WRITTEN, "-q", "--quiet", help="Only the verdict, and no notes on standard error.")
@takes(CheckOptions)
def command(options: CheckOptions) -> int:
    """Compare first and second derivatives, in both modes, native and interpreted, with differences in multiple precision,
    products and Taylor remainders. Exits with 1 if any of them disagree, or if there was nothing to compare.

    Tolerances widen where cancellation loses digits, and the report says so; kinks, poles and overflow are counted, not
    compared.

    With --against, somebody's value, gradient or Hessian is compared too, and a wrong entry traced to a part of the formula.
    """
    from adcli.lang.lower.frontend import parse_source
    if options.at and options.given("samples"):
        raise AdError("⟦--samples⟧ and ⟦--at⟧ cannot be used together", help="leave out one of the two")
    primal, inputs = differentiated(parse_source(options.source), options.outputs, options.inputs)
    check = check_of(primal, inputs, options)
    points, summary = given_points(check, primal, options) if options.at else drawn_points(check, options.samples, options.seed)
    run(check, points, options.remark)
    code = report(check, summary, options)
    if options.plot:
        from adcli.check.report import picture
        options.draw(picture(check))
    return code


def given_points(check: Check, primal: Program, options: CheckOptions) -> tuple[list[Point], dict[str, Any]]:
    """The `usable_points` of --at."""
    from adcli.input.points import checked, points_of, within
    found = checked(primal.params, options.at, options.remark)
    if found.points > MOST_POINTS:
        raise AdError(f"⟦--at⟧ gives {found.points:,} points; the limit is {MOST_POINTS:,}",
                      help="give fewer points, or draw them: ⟦--samples 1000⟧")
    return usable_points(check, list(within(primal.params, points_of(primal.params, found), options.remark, primal.source)))


def report(check: Check, points: dict[str, Any], options: CheckOptions) -> int:
    """Write the figures; returns the exit code."""
    from adcli.check.report import json_report, text_report, verdict
    if options.form == "json":
        text = json_report(check, points)
    else:
        text = f"{verdict(check)}\n" if options.quiet else text_report(check, points, columns_of(options.output))
    with packed_destination(options.output) as stream:
        stream.write(text.encode())
    return 0 if check.agrees else 1
