"""The verb fmt: a program in canonical form."""
from __future__ import annotations

from dataclasses import dataclass

import click

from adcli.command.options import Options, option, output_option, program_options, takes
from adcli.command.usage import OTHER, Command
from adcli.editors.listing import write_listing
from adcli.lang.lower.frontend import tree_and_program
from adcli.lang.syntax.format import format_tree
from adcli.output.streams import say


@dataclass(frozen=True, kw_only=True)
class FormatOptions(Options):
    """What fmt is told."""

    check: bool


@click.command("fmt", cls=Command,
               examples=("adcli fmt -e 'v=x*(sin (y))'", "adcli fmt -e 'v=x*(sin (y))' --check || echo reformat it"))
@program_options
@option(OTHER, "--check", is_flag=True, help="Write nothing; exit 1 if the text is not in canonical form.")
@output_option
@takes(FormatOptions)
def command(options: FormatOptions) -> int:
    """The program in canonical form, comments kept."""
    options.refuse(["exact_order"], "has no meaning for fmt, which changes no order")
    options.refuse(["checkpoint"], "has no meaning for fmt, which runs nothing: write for t in 0:T checkpoint { … }")
    source = options.source
    formatted = format_tree(tree_and_program(source)[0])
    if options.check:
        options.refuse(["output"], "cannot be used with --check, which writes nothing")
        if formatted != source.text:
            say(f"{source.name}: not in canonical form")
            return 1
        return 0
    write_listing(options.output, formatted)
    return 0
