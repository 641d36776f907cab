"""Options: what a command line can say, in groups by purpose.

A decorator adds options to a command; `takes` makes the settings that the command's function gets (`adcli.input.settings`), once,
from the command line. Nothing behind it asks click anything.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from adcli.codegen.targets import ABIS, LANES, TARGETS
from adcli.command.usage import EMIT, OTHER, PROGRAM, TRUST, WHAT, WHERE, WRITTEN, OneOf, Operand, Option
from adcli.input.settings import Options, TypedOption
from adcli.output.suffixes import form_of
from adcli.output.version import __version__
from adcli.readers.front import READERS

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Decorator = Callable[[Decorated], Decorated]

Kind = TypeVar("Kind", bound=Options)


def takes(kind: type[Kind]) -> Callable[[Callable[[Kind], int]], Callable[..., int]]:
    """The function of a command that gets all that was said as one object of this kind."""
    def decorate(work: Callable[[Kind], int]) -> Callable[..., int]:
        @functools.wraps(work)
        def command(**values: Any) -> int:
            context = click.get_current_context()
            said = tuple(typed(context))
            form = None if any(t.parameter == "form" for t in said) else form_by_suffix(context, values)
            if form:
                values["form"] = form
            if values.get("plot"):
                from adcli.pictures.destinations import require_place
                require_place(values["plot"], values["form"], values["output"], values["size"])
            known = form is not None or any(t.parameter == "form" for t in said)
            return work(kind(verb=context.info_name or "", typed=said, form_known=known, **values))
        return command
    return decorate


def form_by_suffix(context: click.Context, values: Mapping[str, Any]) -> str | None:
    """The format of the results that the name of their file asks for. What is emitted, drawn or explained has none."""
    formats = next((p.type.words for p in context.command.params if p.name == "form" and isinstance(p.type, OneOf)), None)
    if formats is None or any(values.get(name) for name in ("emit", "pattern")) or explained_only(values):
        return None
    return form_of(values["output"], formats, context.info_name or "", "emit" in values)


def explained_only(values: Mapping[str, Any]) -> bool:
    """True if --explain writes its text in place of results."""
    return bool(values.get("explain")) and not (values.get("at") or values.get("data"))


def typed(context: click.Context) -> list[TypedOption]:
    """The parameters that the command line gives."""
    found = []
    for p in context.command.params:
        if p.name and context.get_parameter_source(p.name) is ParameterSource.COMMANDLINE:
            value = context.params.get(p.name)
            values: Iterable[Any] = (value or ()) if p.multiple else [value]
            flag = isinstance(p, click.Option) and p.is_flag
            off = flag and value is False and p.secondary_opts
            spelling = p.secondary_opts[0] if off else p.opts[0]
            words = (spelling,) if flag else tuple(word for x in values for word in (p.opts[0], str(x)))
            found.append(TypedOption(p.name, p.opts[0], words if isinstance(p, click.Option) else tuple(map(str, values))))
    return found


# ---------------------------------------------------------------- options in groups

def option(group: str, *declarations: str, **attributes: Any) -> Decorator:
    """An option that the help lists under a purpose."""
    return click.option(*declarations, cls=Option, group=group, **attributes)


def together(*options: Decorator) -> Decorator:
    """Several decorators as one, in the order of the help."""
    def decorate(command: Decorated) -> Decorated:
        for each in reversed(options):
            command = each(command)
        return command
    return decorate


program_options: Decorator = together(
    click.argument("program", required=False, cls=Operand),
    option(PROGRAM, "-e", "--expression", "expressions", multiple=True, metavar="TEXT",
           help="The program, or one line of it (repeatable); a bare expression is named f."),
    option(PROGRAM, "--from", "language", type=OneOf("language", READERS),
           help="The language of the file, where its suffix does not say it."),
    option(OTHER, "--exact-order", help="Take sums of products of tensors as written, whatever they cost."),
    option(OTHER, "--checkpoint", help="Keep few steps of all loops and compute the others again: less memory."),
    click.version_option(__version__, "--version", prog_name="adcli", cls=Option, group=OTHER),
)
"""PROGRAM and -e, and how it is read; --version, which every verb has as it has --help."""

output_option = option(WRITTEN, "-o", "--output", metavar="FILE", help="Write to FILE, which is replaced when all is written.")
quiet_option = option(WRITTEN, "-q", "--quiet", help="No notes on standard error.")
wrt_option = option(WHAT, "--wrt", metavar="x,…", help="Inputs to differentiate with respect to (default: all but params).")
points_option = option(WHERE, "--at", "at", multiple=True, metavar="POINT",
                       help="x=2,y=5; x=0:1:11 for a range; @points.json; repeatable.")


def of_option(help: str, metavar: str = "v,…") -> Decorator:
    return option(WHAT, "--of", metavar=metavar, help=help)


derivative_options = together(wrt_option, of_option("Outputs to differentiate (default: all)."))
"""--wrt and --of."""


def seed_option(kind: str, help: str | None = None) -> Decorator:
    """--tangent or --cotangent."""
    what, of, example = ("Direction", "input", "x=1,…") if kind == "tangent" else ("Weights", "output", "v=1,…")
    return option(WHAT, f"--{kind}", metavar=example, help=help or f"{what}; {of}s not named get 0, a single scalar {of} gets 1."
                  " Tensors as in --at, or one number for all elements.")


GROUPS: dict[str, Decorator] = {
    "derivatives": derivative_options,
    "one output": together(wrt_option, of_option("The output to differentiate; required if there are several.", "v")),
    "shown outputs": of_option("Outputs to show (default: all)."),
    "expanded outputs": of_option("Outputs to expand (default: all)."),
    "tangent": seed_option("tangent"),
    "cotangent": seed_option("cotangent"),
    "mode": together(
        option(WHAT, "--mode", type=OneOf("mode", ("auto", "forward", "reverse")), default="auto",
               help="Mode of differentiation; auto takes the fewest operations."),
        option(TRUST, "--explain",
               help="Show how the derivatives are computed: modes, sweeps and operations. Needs no point.")),
    "order": option(WHAT, "--order", type=click.IntRange(1, 32), default=1, metavar="N",
                    help="All partial derivatives up to order N."),
    "taylor": together(
        seed_option("tangent", "Direction; inputs not named get 0, a single input gets 1."),
        option(WHAT, "--order", type=click.IntRange(0, 64), default=3, metavar="N", help="The highest power."),
        option(WHAT, "--scaled",
               help="Derivatives instead of coefficients: each times the factorial of its order.")),
    "matrix": together(
        option(WRITTEN, "--zeros/--no-zeros", "zeros", default=None,
               help="Show entries that are zero by construction (default: unless they are half or more of over 100)."),
        option(WRITTEN, "--pattern",
               help="Draw which entries are not zero by construction, instead of numbers.")),
    "sums": together(
        option(WHAT, "--sum", help="Add the results of all rows, exactly, and round each sum once."),
        option(WHAT, "--mean", help="Their means; with --weights weighted ones."),
        option(WHAT, "--weights", metavar="COLUMN", help="For --sum and --mean: the column that has the weight of each row."),
        option(WHAT, "--group-by", metavar="COLUMN,…", help="For --sum and --mean: one result for each group of rows.")),
    "gauss-newton": option(WHAT, "--gauss-newton",
                           help="For --sum and --mean: also rᵀr, Jᵀr and JᵀJ of the outputs r and their Jacobian J."),
}
"""Groups of options, by their names in the table of verbs."""


fmt_option = option(WRITTEN, "--fmt", metavar="TEMPLATE", help="printf template for numbers, such as %.6g.")
hexadecimal_option = option(WRITTEN, "--hex", "hexadecimal", help="Write numbers exactly, in hexadecimal.")


look_options = together(
    option(WRITTEN, "--size", metavar="SIZE",
           help="Of a picture: 16x10cm, 6x4in, or 800x600 in pixels; in characters 100x30, columns and lines."),
    option(WRITTEN, "--theme", type=OneOf("theme", ("light", "dark")), default="light",
           help="Colours of a picture in a file."))
"""How a picture looks."""


def plot_option(what: str) -> Decorator:
    """--plot, whose value can be left out: the terminal."""
    def checked(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
        if value is not None:
            from adcli.pictures.destinations import form_of_file
            form_of_file(value)   # its name is looked at before anything else
        return value

    return together(option(
        WRITTEN, "--plot", metavar="[FILE]", is_flag=False, flag_value="-", callback=checked,
        help=f"Also draw {what}: on standard output, or to FILE .svg, .png or .pdf (.csv for the numbers)."), look_options)


def precision_option(help: str) -> Decorator:
    return option(OTHER, "--precision", type=OneOf("precision", ("double", "single"), "decimals: --fmt %.6g"), help=help)


fast_math_option = option(
    OTHER, "--fast-math",
    help="Let code fuse products with sums, multiply by reciprocals and flush subnormal numbers to 0; last digits may change.")

FOR_C = {"precision": "For C: double numbers, the default, or single ones."}
"""Help of --precision where numbers are doubles."""


def format_option(formats: Sequence[str], help: str) -> Decorator:
    return option(WRITTEN, "--format", "form", type=OneOf("format", formats), default="text", help=help)


RESULT_OPTIONS: dict[str, Callable[..., Decorator]] = {
    "at": partial(option, WHERE, "--at", "at", multiple=True, metavar="POINT",
        help="x=2,y=5; x=0:1:11 for a range; A=[[1,2],[3,4]] or A=@matrix.npy for a tensor; @points.json; @inputs.npz;"
        " repeatable. With --emit: inputs that become constants."),
    "data": partial(option, WHERE, "--data", multiple=True, metavar="ROWS",
        help="A table: a file of CSV, TSV, JSON, Parquet or .npz, a folder of these, 'parts/*.csv', a URL, or - for standard"
        " input; repeatable. --at fixes inputs. Piped rows need no --data if an input has no default."),
    "input_format": partial(option, WHERE, "--input-format", type=OneOf("format", ("csv", "tsv", "ndjson", "json", "parquet")),
        help="Format of the table (default: by suffix, then by content)."),
    "delimiter": partial(option, WHERE, "--delimiter", metavar="C", help="Character between fields, such as ';' or '|'."),
    "decimal": partial(option, WHERE, "--decimal", type=OneOf("decimal mark", (".", ",")), default=".",
        help="Decimal mark, read and written; with a comma the delimiter is ; by default."),
    "no_header": partial(option, WHERE, "--no-header",
        help="The table has no header: its columns are the inputs in order, or --columns."),
    "columns": partial(option, WHERE, "--columns", metavar="x,…", help="Names of the columns of a table without a header."),
    "rename": partial(option, WHERE, "--rename", multiple=True, metavar="OLD=NEW",
        help="Rename columns: 'my col=x' or a=x,b=y; repeatable."),
    "na": partial(option, WHERE, "--na", metavar="TEXT,…", help="Fields that count as empty, such as NA,-999."),
    "missing": partial(option, WHERE, "--missing", type=OneOf("policy", ("error", "nan")), default="error",
        help="Treat an empty field as an error or as NaN."),
    "on_error": partial(option, WHERE, "--on-error", type=OneOf("policy", ("stop", "skip", "mark")), default="stop",
        help="On a bad row: stop, skip it, or mark it in a status column."),
    "only": partial(option, WHERE, "--only", help="Write the results alone, without the columns of the table."),
    "engine": partial(option, WHERE, "--engine", metavar="ENGINE",
        help="Work on files and row groups with dask: on this machine, or dask=tcp://host:8786."),
    "retries": partial(option, WHERE, "--retries", type=click.IntRange(0, 100), default=3, metavar="N",
        help="With --engine: how often a part is tried again whose worker died or failed."),
    "resume": partial(option, WHERE, "--resume",
        help="Go on with the parts that an earlier run has not written to -o DIR/."),
    "emit": partial(option, EMIT, "--emit", type=OneOf("target", tuple(TARGETS)), help="Write the program instead of numbers."),
    "style": partial(option, EMIT, "--style", type=OneOf("style", ("nested", "anf", "prefix", "math")),
        help="For --emit text: nested expressions, one operation per line (anf), prefix calls, or for reading, as mathematics "
             "writes it."),
    "lanes": partial(option, EMIT, "--lanes", type=OneOf("lane count", tuple(map(str, LANES))),
        help="For LLVM and below: rows at a time, as vectors; 1, the default, is portable."),
    "symbol": partial(option, EMIT, "--symbol", metavar="NAME",
        help="Name of the function in code (default: by the file and the verb, such as worked_grad)."),
    "main": partial(option, EMIT, "--main",
        help="For C: a program, which reads rows of CSV and appends the results."),
    "abi": partial(option, EMIT, "--abi", type=OneOf("interface", ABIS),
        help="For --emit library: functions of C (plain, the default), or CasADi's, with their derivatives."),
    "triple": partial(option, EMIT, "--target", "triple", metavar="TRIPLE",
        help="For machine code and LLVM: another machine, such as aarch64-linux-gnu, thumbv7em-none-eabihf"
        " or wasm32."),
    "cpu": partial(option, EMIT, "--cpu", metavar="NAME", help="The processor, as LLVM names it (default: the least one)."),
    "form": partial(format_option,
        help="Format of the results (default: by the suffix of -o FILE; else text, or for rows that of the table). Arrays"
        " go to -o FILE.npz."),
    "fmt": lambda: fmt_option,
    "hexadecimal": lambda: hexadecimal_option,
    "output": lambda: output_option,
    "quiet": lambda: quiet_option,
    "digits": partial(option, TRUST, "--digits",
        help="Show how many decimal digits of every number are proven right."),
    "enclose": partial(option, TRUST, "--enclose",
        help="Guaranteed bounds instead of numbers: at a point, over a box (x=1±0.1) or over declared ranges."),
    "status": partial(option, TRUST, "--status",
        help="Show the status: smooth, kink, jump, singular, pole, domain, …; with --emit one more output."),
    "strict": partial(option, TRUST, "--strict",
        help="Exit 4 if a result is not smooth or not finite, and write it."),
    "jobs": partial(option, OTHER, "--jobs", type=click.IntRange(1, 256), metavar="N", help="Threads for rows (default: all)."),
    "fast_math": lambda: fast_math_option,
    "precision": partial(precision_option,
        help="Of all numbers: double, the default, or single, which has 7 digits and is twice as fast."),
    "tier": partial(option, OTHER, "--tier", type=OneOf("tier", ("auto", "tape", "compiled")), default="auto",
        help="Interpret (tape, starts sooner) or compile (runs faster); auto estimates which finishes first."),
    "no_cache": partial(option, OTHER, "--no-cache", help="Neither read nor write the compile cache."),
}
"""Options about how results are computed and written, in the order of the help."""


def result_options(formats: Sequence[str], helps: Mapping[str, str] | None = None, without: Sequence[str] = ()) -> Decorator:
    """The options of results, written in one of `formats`. `helps` says what options mean to a verb that takes them otherwise; it
    does not have those it is `without`."""
    helps = helps or {}
    assert {*helps, *without} <= RESULT_OPTIONS.keys()

    def made(name: str) -> Decorator:
        said = {"help": helps[name]} if name in helps else {}
        return RESULT_OPTIONS[name](*([formats] if name == "form" else ()), **said)
    return together(*(made(name) for name in RESULT_OPTIONS if name not in without))
