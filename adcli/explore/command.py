"""The verb explore: one file of HTML about a program, to be opened in a browser, sent, or shown to a class."""
from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import click

from adcli.command.options import Options, derivative_options, option, output_option, program_options, quiet_option, takes
from adcli.command.usage import WHERE, Command
from adcli.explore.assembly import page
from adcli.explore.data import document
from adcli.input.points import one_point
from adcli.lang.ir.errors import AdError, Source, shortened
from adcli.lang.lower.frontend import parse_source
from adcli.output.streams import STDOUT, descriptor, packed_destination, say

LONGEST_TITLE = 60
"""Characters of a title that is the beginning of a program."""


@dataclass(frozen=True, kw_only=True)
class ExploreOptions(Options):
    """What explore is told."""


@click.command("explore", cls=Command,
               examples=("adcli explore samples/worked.ad --at x=2,y=5", "adcli explore -e 'v = x*sin(x)' --at x=2"))
@program_options
@derivative_options
@option(WHERE, "--at", "at", multiple=True, metavar="POINT",
        help="The point to begin at: x=2,y=5; A=@matrix.npy for a tensor; @point.json.")
@output_option
@quiet_option
@takes(ExploreOptions)
def command(options: ExploreOptions) -> int:
    """A page for a browser: the program, its derivatives, its graph and its evaluation table, linked and alive.

    Sliders move the inputs, and steps go forwards through the values and backwards through the adjoints. The page is one file,
    which loads nothing and needs no network: adcli explore model.ad -o model.html.
    """
    if descriptor(options.output) == STDOUT and sys.stdout.isatty():
        raise AdError("refusing to write a page to a terminal; use -o FILE.html")
    source = options.source
    made, evaluator = document(source, start(source, options), options.outputs, options.inputs)
    text = page(title(source, options), made, evaluator)
    with packed_destination(options.output) as stream:
        stream.write(text.encode())
    return 0


def title(source: Source, options: ExploreOptions) -> str:
    """The name of the file; where there is none, how the program begins."""
    if options.program not in (None, "-"):
        return PurePath(source.name).name
    return shortened(source.text.strip().partition("\n")[0], LONGEST_TITLE) or source.name


def start(source: Source, options: ExploreOptions) -> dict[str, Any] | None:
    """The point that the page begins with, where one is given."""
    if not options.at:
        return None
    return one_point(parse_source(source).params, options.at, silent if options.quiet else say, source,
                     "a page begins at one point", "give one; the sliders reach the others")


def silent(_: object) -> None:
    """Say nothing, as --quiet asks."""
