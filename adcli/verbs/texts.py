"""The verbs about the text of a program: show and fmt."""
from __future__ import annotations

from typing import TYPE_CHECKING

import click

from adcli.command.options import derivative_options, names, output_option, program_options, read_source, refuse
from adcli.command.usage import OneOf, Verb
from adcli.lang.ir.errors import AdError
from adcli.lang.passes.pipeline import STAGES, adjoints, tangents
from adcli.lang.syntax.printer import STYLES, print_program
from adcli.output.streams import destination, say

if TYPE_CHECKING:
    from adcli.lang.ir import Program
    from adcli.lang.ir.errors import Source


@click.command("show", cls=Verb, short_help="The program at a stage of the compiler.",
               example="adcli show --stage reverse --style prefix -e 'v = x*sin(y)'")
@program_options
@derivative_options
@click.option("--stage", type=OneOf("stage", STAGES), default="parsed", show_default=True, help="Which stage of the compiler.")
@click.option("--style", type=OneOf("style", STYLES), help="Nested expressions, one operation a line (anf), or prefix calls.")
@click.option("--shapes", is_flag=True, help="Begin with a comment that says the shapes of everything.")
@output_option
def show_command(program: str | None, expressions: tuple[str, ...], wrt: str | None, of: str | None, stage: str,
                 style: str | None, shapes: bool, output: str | None) -> int:
    """The program at a stage of its way to a derivative; the text of every stage is a program again."""
    text = stage_text(read_source(program, expressions), stage, style, names(wrt, "--wrt"), names(of, "--of"), shapes)
    with destination(output) as stream:
        stream.write(text.encode())
    return 0


def stage_text(source: Source, stage: str, style: str | None, wrt: list[str] | None, of: list[str] | None,
               shapes: bool = False) -> str:
    from adcli.lang.lower.program import lower
    from adcli.lang.syntax.flatten import flatten
    from adcli.lang.syntax.format import format_tree
    from adcli.lang.syntax.parse import read
    tree, faults = read(source)
    program = lower(tree, faults)
    make = STAGES[stage]
    if stage not in ("forward", "reverse"):
        refuse(["wrt", "of"], "is for the stages forward and reverse")
    if make is None:
        check_style(stage, style)
        text = format_tree(flatten(tree) if stage == "anf" else tree, "prefix" if style == "prefix" else "infix")
        return "".join(f"# {line}\n" for line in told(program, shapes)) + text
    derived = {"forward": tangents, "reverse": adjoints}.get(stage)
    made = derived(program, wrt, of) if derived else make(program)
    explained = stage == "ranges"
    return print_program(made, style or ("nested" if explained else "anf"), told(made, shapes), explained)


def told(program: Program, shapes: bool) -> list[str]:
    """The comment that --shapes asks for."""
    if not shapes:
        return []
    from adcli.task.shapes import shape_lines
    return shape_lines(program)


def check_style(stage: str, style: str | None) -> None:
    """The text as it was parsed has its expressions, and in normal form it has none."""
    if style not in (None, "prefix", "nested" if stage == "parsed" else "anf"):
        raise AdError(f"stage {stage} has no style {style}", help=f"that is --stage {'anf' if stage == 'parsed' else 'parsed'}")


@click.command("fmt", cls=Verb, short_help="The program in canonical form.",
               example="adcli fmt -e 'v=x*(sin (y))'")
@program_options
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if the text is not in canonical form.")
@output_option
def fmt_command(program: str | None, expressions: tuple[str, ...], check: bool, output: str | None) -> int:
    """The program in canonical form, comments kept."""
    from adcli.lang.lower.program import lower
    from adcli.lang.syntax.format import format_tree
    from adcli.lang.syntax.parse import read
    source = read_source(program, expressions)
    tree, faults = read(source)
    lower(tree, faults)
    formatted = format_tree(tree)
    if check:
        refuse(["output"], "is not for --check, which writes nothing")
        if formatted != source.text:
            say(f"{source.name}: not in canonical form")
            return 1
        return 0
    with destination(output) as stream:
        stream.write(formatted.encode())
    return 0
