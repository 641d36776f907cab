"""The verb trace: the evaluation table of the textbooks, every line of a program with its value, tangent and adjoint.

Values have the names of all documents (`adcli.codegen.documents.names`). With `--names textbook` they are those of Griewank and
Walther (Evaluating Derivatives, 2nd ed. 2008): the n inputs are v₁₋ₙ … v₀, what the program has no name for is v₁, v₂, … in the
order of evaluation, and a last row says which value an output is; a value that a statement names keeps its name.
"""
from __future__ import annotations

import click

from adcli.command.options import (
    derivative_options,
    format_option,
    option,
    output_option,
    points_option,
    precision_option,
    program_options,
    quiet_option,
    seed_option,
    takes,
)
from adcli.command.usage import WRITTEN, Command, OneOf
from adcli.input.points import located, need_headings, require_point
from adcli.output.streams import packed_destination, write_points
from adcli.task.request import Request
from adcli.trace.at_points import READABLE, Tables, TraceOptions, prepared


@click.command("trace", cls=Command,
               examples=("adcli trace -e 'y = log(x1) + x1*x2 - sin(x2)' --at x1=2,x2=5 --tangent x1=1",
                         "adcli trace -e 'y = x*sin(x)' --at x=2 --cotangent y=1 --format markdown"))
@program_options
@derivative_options
@seed_option("tangent", "Direction of the tangents; inputs not named get 0.")
@seed_option("cotangent", "Weights of the outputs for the adjoints; outputs not named get 0.")
@points_option
@option(WRITTEN, "--names", "naming", type=OneOf("naming", ("textbook", "program")), default="program",
        help="Keep the names of inputs and outputs, or number them (v₀ = x).")
@option(WRITTEN, "--element", metavar="NAME",
        help="Of a program with tensors the operations that compute one element, h(3,0), or several, h(:,0): step after step.")
@format_option(("text", "markdown", "latex", "json"), "Format of the table.")
@option(WRITTEN, "--fmt", metavar="TEMPLATE", help=f"printf template for numbers (default: {READABLE}; all digits in JSON).")
@precision_option("What numbers are computed in: double, the default, or single.")
@output_option
@quiet_option
@takes(TraceOptions)
def command(options: TraceOptions) -> int:
    """The evaluation table of the textbooks: every line of the program with its formula, the numbers put in, and its value.

    With --tangent the tangent of every line stands beside it; with --cotangent the adjoints, to be read upwards; with both
    there are two tables.
    """
    request = Request("eval", options.source, options.outputs, options.inputs, precision=options.precision or "double")
    tasks = prepared(request, options.tangent, options.cotangent)
    tables = Tables(tasks, options)
    params, reporter = tables.primal.params, tables.reporters[0]
    require_point(params, options.at)
    reporter.begin()
    found = located(params, options.at, reporter.say, tables.primal.source)
    with packed_destination(options.output) as stream:
        write_points(stream, tables.written(found, need_headings(params, options.at)))
    for each in tables.reporters:
        each.conclude()
    return 0

