"""The verb check: the derivatives of a program against methods that get them in other ways, and a verdict."""
from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from adcli.command.options import derivative_options, given, names, output_option, program_options, read_source
from adcli.command.usage import OneOf, Verb
from adcli.lang.ir.errors import AdError
from adcli.output.streams import destination, say

if TYPE_CHECKING:
    from adcli.check.methods import Check
    from adcli.input.sampling import Point
    from adcli.lang.ir import Program

MOST = 100_000
"""Points in one run."""


@click.command("check", cls=Verb, short_help="The derivatives against independent methods, and a verdict.",
               example="adcli check -e 'v = x*sin(y)' --at x=2,y=0.5")
@program_options
@derivative_options
@click.option("--at", "at", multiple=True, metavar="POINT",
              help="x=2,y=5; x=0:1:11 for a range; @points.json; repeatable. Without it points are drawn.")
@click.option("--samples", type=click.IntRange(1, MOST), default=10, show_default=True, metavar="N",
              help="Points to draw, from the declared ranges where there are any.")
@click.option("--seed", type=click.IntRange(0, 1 << 53), default=0, show_default=True, metavar="S",
              help="Another seed draws other points and directions.")
@click.option("--digits", type=click.IntRange(17, 100), default=19, show_default=True, metavar="D",
              help="Decimal digits to which multiple precision settles an entry.")
@click.option("--format", "form", type=OneOf("format", ("text", "json")), default="text", show_default=True,
              help="A table, or one JSON object.")
@output_option
@click.option("-q", "--quiet", is_flag=True, help="The verdict alone, and no notes on standard error.")
def check_command(program: str | None, expressions: tuple[str, ...], wrt: str | None, of: str | None, at: tuple[str, ...],
                  samples: int, seed: int, digits: int, form: str, output: str | None, quiet: bool) -> int:
    """First and second derivatives in both modes, native and not, against differences, complex step, multiple precision,
    products and Taylor remainders. Ends with 1 where any of them disagrees.

    Entries that rounding has left few digits are allowed to have few; kinks, poles and overflow are counted, not compared.
    """
    from adcli.check.methods import Check
    from adcli.lang.derive.derivatives import inputs_to_differentiate
    from adcli.lang.syntax.parse import parse_source
    from adcli.task.derive import chosen
    from adcli.task.shapes import refuse_tensors
    if at and "samples" in given():
        raise AdError("--samples is for points that are drawn, and --at gives them", help="leave one of the two out")
    primal = chosen(parse_source(read_source(program, expressions)), names(of, "--of"))
    refuse_tensors(primal, "check")
    inputs = inputs_to_differentiate(primal, names(wrt, "--wrt"))
    if not inputs:
        raise AdError("there is no input to differentiate with respect to",
                      help="name a param with --wrt" if primal.params else None)
    check = Check(primal, inputs, seed, 10.0 ** -digits)
    points, summary = given_points(check, primal, at, quiet) if at else drawn_points(check, samples, seed)
    check.run(points)
    return report(check, summary, form, output, quiet)


def given_points(check: Check, primal: Program, specs: Sequence[str], quiet: bool) -> tuple[list[Point], dict[str, Any]]:
    """The points of --at at which something can be looked at: inputs are numbers, and so is a value."""
    from adcli.input.points import points, within
    inputs = primal.params
    remark = (lambda text: None) if quiet else say
    at = list(islice(within(inputs, points(inputs, specs, remark), remark, primal.source), MOST + 1))
    if len(at) > MOST:
        raise AdError(f"more than {MOST} points", help="a range or a grid of fewer, or points that are drawn: --samples 1000")
    outputs = len(check.chosen.results)
    good = [p for p, finite in zip(at, check.finite(at), strict=True) if all(finite[:-outputs]) and any(finite[-outputs:])]
    return good, {"how": "given", "usable": len(good), "unusable": len(at) - len(good), "seed": None}


def drawn_points(check: Check, count: int, seed: int) -> tuple[list[Point], dict[str, Any]]:
    """Drawn points at which all values are finite. AdError where none is found."""
    from adcli.input.sampling import usable
    points, failed = usable(check.primal.params, count, seed, lambda batch: [all(f) for f in check.finite(batch)])
    if not points:
        raise AdError(f"of {failed} points drawn none has finite values", help="give a point with --at, or declare ranges:"
                      f" input {check.primal.params[0].name} in [1, 2]")
    return points, {"how": "drawn", "usable": len(points), "unusable": failed, "seed": seed}


def report(check: Check, points: dict[str, Any], form: str, output: str | None, quiet: bool) -> int:
    """Write the figures; returns the exit code."""
    from adcli.check.report import json_report, text_report, verdict
    text = json_report(check, points) if form == "json" else f"{verdict(check)}\n" if quiet else text_report(check, points)
    with destination(output) as stream:
        stream.write(text.encode())
    return 1 if check.failed else 0
