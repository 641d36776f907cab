"""The verb show: a program at a stage of its way to a derivative."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from adcli.command.options import Options, derivative_options, option, output_option, program_options, takes
from adcli.command.usage import EMIT, WHAT, Command, OneOf
from adcli.editors.listing import write_listing
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import tree_and_program
from adcli.lang.passes.pipeline import STAGES, adjoints, tangents
from adcli.lang.syntax.flatten import flatten
from adcli.lang.syntax.format import format_tree
from adcli.lang.syntax.printer import STYLES, print_program
from adcli.task.shapes import shape_lines

if TYPE_CHECKING:
    from adcli.lang.ir import Program


@dataclass(frozen=True, kw_only=True)
class ShowOptions(Options):
    """What show is told."""

    stage: str
    style: str | None
    shapes: bool


@click.command("show", cls=Command,
               examples=("adcli show --stage reverse --style prefix -e 'v = x*sin(y)'",
                         "adcli show --stage dup -e 'v = x*sin(x)'"))
@program_options
@derivative_options
@option(WHAT, "--stage", type=OneOf("stage", STAGES), default="parsed", show_default=True, help="The stage to show.")
@option(EMIT, "--style", type=OneOf("style", STYLES), help="Nested expressions, one operation per line (anf), or prefix calls.")
@option(EMIT, "--shapes", is_flag=True, help="Begin with a comment that lists all shapes.")
@output_option
@takes(ShowOptions)
def command(options: ShowOptions) -> int:
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
    if stage not in ("forward", "reverse"):
        options.refuse(["wrt", "of"], "needs --stage forward or reverse")
    if make is None:
        check_style(stage, style)
        text = format_tree(flatten(tree) if stage == "anf" else tree, "prefix" if style == "prefix" else "infix")
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


def check_style(stage: str, style: str | None) -> None:
    """The text as it was parsed has its expressions, and in normal form it has none."""
    if style not in (None, "prefix", "nested" if stage == "parsed" else "anf"):
        raise AdError(f"stage {stage} has no style {style}", help=f"that is --stage {'anf' if stage == 'parsed' else 'parsed'}")
