"""The verbs show and fmt: a program at a stage of its way to a derivative, and in canonical form."""
from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from adcli.command.options import derivative_options, option, output_option, program_options, takes
from adcli.command.usage import EMIT, OTHER, WHAT, Command, OneOf
from adcli.input.settings import Options
from adcli.lang.ir.errors import AdError, visible
from adcli.lang.lower.frontend import tree_and_program
from adcli.lang.passes.pipeline import STAGES, adjoints, tangents
from adcli.lang.printing.format import format_tree
from adcli.lang.printing.printer import STYLES, print_program
from adcli.output.colour import in_colour, wanted
from adcli.output.streams import STDOUT, VisibleOutput, descriptor, destination, say
from adcli.task.rules import require_fit
from adcli.task.shapes import shape_lines

if TYPE_CHECKING:
    from adcli.lang.ir import Program

@dataclass(frozen=True, kw_only=True)
class ShowOptions(Options):
    """Options of show."""

    stage: str
    style: str | None
    shapes: bool


@click.command("show", cls=Command,
               examples=("adcli show --stage reverse --style prefix -e 'v = x*sin(y)'",
                         "adcli show --stage dup -e 'v = x*sin(x)'"))
@program_options
@derivative_options
@option(WHAT, "--stage", type=OneOf("stage", STAGES), default="parsed", help="The stage to show.")
@option(EMIT, "--style", type=OneOf("style", STYLES), help="Nested expressions, one operation per line (anf), or prefix calls.")
@option(EMIT, "--shapes", help="Begin with a comment that lists all shapes.")
@output_option
@takes(ShowOptions)
def show_command(options: ShowOptions) -> int:
    """The program at a stage of its way to a derivative; the text of every stage is a program again."""
    text = stage_text(options)
    write_listing(options.output, text)
    return 0


def stage_text(options: ShowOptions) -> str:
    """The program at the stage that is asked for."""
    stage, style = options.stage, options.style
    wrt, of = options.inputs, options.outputs
    tree, program = tree_and_program(options.source)
    make = STAGES[stage]
    require_fit(options, "show")
    if make is None:
        if style == "anf":
            raise AdError("stage parsed has no style anf", help="that is --stage anf")
        text = format_tree(tree, "prefix" if style == "prefix" else "infix")
        return "".join(f"# {line}\n" for line in told(program, options.shapes)) + text
    derived = {"forward": tangents, "reverse": adjoints}.get(stage)
    made = derived(program, wrt, of) if derived else make(program)
    explained = stage == "ranges"
    return print_program(made, style or ("nested" if explained else "anf"), told(made, options.shapes), explained)


def told(program: Program, shapes: bool) -> list[str]:
    """The comment that --shapes asks for."""
    if not shapes:
        return []
    return shape_lines(program)


@dataclass(frozen=True, kw_only=True)
class FormatOptions(Options):
    """Options of fmt."""

    check: bool


@click.command("fmt", cls=Command,
               examples=("adcli fmt -e 'v=x*(sin (y))'", "adcli fmt -e 'v=x*(sin (y))' --check || echo reformat it"))
@program_options
@option(OTHER, "--check", help="Write nothing; exit 1 if the text is not in canonical form.")
@output_option
@takes(FormatOptions)
def fmt_command(options: FormatOptions) -> int:
    """The program in canonical form, comments kept."""
    require_fit(options, "fmt")
    source = options.source
    formatted = format_tree(tree_and_program(source)[0])
    if options.check:
        if formatted != source.text:
            say(f"{source.name}: not in canonical form")
            return 1
        return 0
    write_listing(options.output, formatted)
    return 0


def write_listing(path: str | None, text: str) -> None:
    """Write a program to `-o path`, in colour where standard output wants it."""
    with destination(path) as stream:
        if descriptor(path) == STDOUT and wanted(sys.stdout):
            stream = stream.terminal if isinstance(stream, VisibleOutput) else stream
            text = coloured(text)
        stream.write(text.encode())


def coloured(text: str) -> str:
    """A program for a terminal, which obeys nothing in it but colours."""
    from adcli.editors.kinds import tokens
    parts, done = [], 0
    for start, end, kind in tokens(text):
        parts += [visible(text[done:start]), in_colour(visible(text[start:end]), kind.colour)]
        done = end
    return "".join([*parts, visible(text[done:])])
