"""Options that several verbs share, and the program they are about."""
from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from adcli.command.usage import OneOf
from adcli.lang.ir.errors import AdError
from adcli.output.version import __version__

if TYPE_CHECKING:
    from adcli.lang.ir.errors import Source

Command = TypeVar("Command", bound=Callable[..., Any])

TARGETS = ("text", "llvm", "asm", "object")
"""The names in adcli.codegen.targets, said again so that a help text loads no code generator; a test compares."""


ROWS = ("input_format", "on_error", "missing", "jobs")
"""Options about rows of tables."""
NUMBERS = ("at", "data", *ROWS, "form", "fmt", "hexadecimal", "status", "strict", "digits", "enclose")
"""Options about numbers, which an emitted program and a pattern have none of."""


def program_options(command: Command) -> Command:
    """PROGRAM and -e; --version, which every verb has as it has --help."""
    command = click.version_option(__version__, "--version", prog_name="adcli")(command)
    command = click.option("-e", "--expression", "expressions", multiple=True, metavar="TEXT",
                           help="The program itself, or a line of it; a bare expression is named f.")(command)
    return click.argument("program", required=False)(command)


def derivative_options(command: Command) -> Command:
    """--wrt and --of."""
    command = click.option("--of", metavar="v,…", help="Outputs to differentiate (default: all).")(command)
    return wrt_option(command)


def one_output_options(command: Command) -> Command:
    """The same for what one output has."""
    command = click.option("--of", metavar="v", help="The output to differentiate; needed where there are several.")(command)
    return wrt_option(command)


def wrt_option(command: Command) -> Command:
    return click.option("--wrt", metavar="x,…",
                        help="Inputs to differentiate with respect to (default: all but params).")(command)


def seed_option(kind: str) -> Callable[[Command], Command]:
    """--tangent or --cotangent."""
    what, example = ("Direction; inputs", "x=1,…") if kind == "tangent" else ("Weights; outputs", "v=1,…")
    return click.option(f"--{kind}", metavar=example, help=f"{what} not named have 0. One scalar alone has 1 by default."
                        " Tensors as in --at, or a number.")


def mode_option(command: Command) -> Command:
    """--mode, and --explain, which says what auto chose."""
    command = click.option("--explain", is_flag=True,
                           help="Say how the derivatives are computed: modes, sweeps and operations; without a point, only that."
                           )(command)
    return click.option("--mode", type=OneOf("mode", ("auto", "forward", "reverse")), default="auto", show_default=True,
                        help="Mode of differentiation; auto takes what costs fewest operations.")(command)


def matrix_options(command: Command) -> Command:
    """What a Jacobian and a Hessian have of their own."""
    command = click.option("--pattern", is_flag=True,
                           help="A picture of the entries that are not zero by construction, instead of numbers.")(command)
    return click.option("--zeros/--no-zeros", "zeros", default=None,
                        help="Show entries that are zero by construction (default: unless they are half of more than 100)."
                        )(command)


def output_option(command: Command) -> Command:
    return click.option("-o", "--output", metavar="FILE", help="Write to a file, which appears only when it is whole.")(command)


def result_options(command: Command, formats: tuple[str, ...] = ("text", "json", "csv")) -> Command:
    """How and where results are written."""
    for option in reversed((
        click.option("--at", "at", multiple=True, metavar="POINT",
                     help="x=2,y=5; x=0:1:11 for a range; A=[[1,2],[3,4]] or A=@matrix.npy for a tensor; @points.json; "
                          "@inputs.npz; repeatable."),
        click.option("--data", metavar="ROWS",
                     help="A table, - for standard input: CSV, TSV, NDJSON, Parquet. Piped rows need no --data"
                          " where an input has no default."),
        click.option("--input-format", type=OneOf("format", ("csv", "tsv", "ndjson", "parquet")),
                     help="What the rows are (default: by suffix, then by what they look like)."),
        click.option("--on-error", type=OneOf("policy", ("stop", "skip", "mark")), default="stop", show_default=True,
                     help="What a bad row does: end the run, be left out, or be marked in a status column."),
        click.option("--missing", type=OneOf("policy", ("error", "nan")), default="error", show_default=True,
                     help="What an empty field is."),
        click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Threads for rows (default: all)."),
        click.option("--emit", type=OneOf("target", TARGETS), help="Write the program instead of numbers."),
        click.option("--style", type=OneOf("style", ("nested", "anf", "prefix")),
                     help="For --emit text: nested expressions, one operation a line (anf), or prefix calls."),
        click.option("--lanes", type=OneOf("lane count", ("1", "2", "4", "8")),
                     help="For other emitted code, rows at a time: 1 is portable (default), the others are vectors."),
        click.option("--format", "form", type=OneOf("format", formats), default="text", show_default=True,
                     help="Format of the numbers; on rows the default is that of the table. Tensors also go to -o FILE.npz."),
        click.option("--fmt", metavar="TEMPLATE", help="printf template for numbers, as %.6g."),
        click.option("--hex", "hexadecimal", is_flag=True, help="Numbers in hexadecimal, exactly."),
        click.option("--digits", is_flag=True, help="Say how many decimal digits of every number are right."),
        click.option("--enclose", is_flag=True,
                     help="Guaranteed bounds instead of numbers; over a box with x=1±0.1 or the declared ranges."),
        click.option("--status", is_flag=True, help="Show the status: smooth, kink, jump, singular, pole, domain, …"),
        click.option("--strict", is_flag=True, help="Exit 4 if a result is not smooth or not finite."),
        output_option,
        click.option("-q", "--quiet", is_flag=True, help="No notes on standard error."),
        click.option("--fast-math", is_flag=True,
                     help="Let code fuse products with sums and multiply by reciprocals: last digits may change."),
        click.option("--no-cache", is_flag=True, help="Compile afresh."),
    )):
        command = option(command)
    return command


def matrix_result_options(command: Command) -> Command:
    """The same for matrices, which have two formats more: entries as CSV, and Matrix Market."""
    return result_options(command, ("text", "json", "csv", "coo", "mtx"))


def given() -> dict[str, str]:
    """The parameters that the command line gives, by name, as they are spelled."""
    context = click.get_current_context()
    return {p.name: p.opts[0] for p in context.command.params
            if p.name and context.get_parameter_source(p.name) is ParameterSource.COMMANDLINE}


def refuse(parameters: Sequence[str], reason: str) -> None:
    """AdError if any of these parameters is given: it would do nothing."""
    spelled = given()
    for name in parameters:
        if name in spelled:
            raise AdError(f"{spelled[name]} {reason}")


def names(text: str | None, option: str) -> list[str] | None:
    """A comma-separated list of names, None where the option was not given."""
    if text is None:
        return None
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise AdError(f"{option} names nothing", help=f"write {option} {'v' if option == '--of' else 'x,y'}")
    return found


def entries(text: str | None) -> list[str] | None:
    """--of with partial derivatives in it, as 'v', 'u,v', 'v:x,x,y' or 'v:x,x; u:y'; None where the option was not given."""
    if text is None or ":" not in text:
        return names(text, "--of")
    found = []
    for part in filter(None, (p.strip() for p in text.split(";"))):
        before, colon, along = part.partition(":")
        *plain, last = [name.strip() for name in before.split(",")]
        found += [*filter(None, plain), f"{last}:{along}" if colon else last]
    return found


def read_source(program: str | None, expressions: tuple[str, ...]) -> Source:
    """The text of the program: a file, standard input, or the -e lines."""
    from adcli.lang.syntax.source import decode
    if program is not None and expressions:
        raise AdError("a PROGRAM and -e exclude each other")
    if expressions:
        return expression_source(expressions)
    if program is None:
        raise AdError("no PROGRAM", help="give a file, - for standard input, or -e 'v = x*sin(y)'")
    if program == "-":
        if sys.stdin is None:
            raise AdError("standard input is closed")
        return decode(sys.stdin.buffer.read(), "<stdin>")
    with open(program, "rb") as file:
        return decode(file.read(), program)


def expression_source(expressions: tuple[str, ...]) -> Source:
    """The -e lines as one text; bare expressions are named f, f2, … as far as these names are free."""
    from adcli.lang.syntax.scan import is_bare_expression, scan
    from adcli.lang.syntax.source import decode
    lines = [decode(e.encode("utf-8", "surrogateescape"), "-e").text for e in expressions]
    taken = set().union(*[scan(line)[2] for line in lines])
    free = (name for i in range(1, len(taken) + len(lines) + 1) if (name := f"f{i}" if i > 1 else "f") not in taken)
    named = [f"{next(free)} = {line}" if is_bare_expression(line) else line for line in lines]
    return decode("\n".join([*named, ""]).encode(), "-e")
