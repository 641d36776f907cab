"""The verbs that evaluate, each made from its row: a derivative written as a program, or computed at points or for rows."""
from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import click

from adcli.answers.evaluation import components, seeded
from adcli.answers.reporter import Reporter
from adcli.answers.results import at_points
from adcli.command.options import GROUPS, program_options, result_options, takes, together
from adcli.command.usage import Command
from adcli.input.points import RANGE, complete
from adcli.input.settings import ResultOptions, entries
from adcli.input.values import value
from adcli.lang.ir.errors import AdError
from adcli.output.streams import columns_of, destination, say
from adcli.task.request import Request
from adcli.task.rules import require_fit
from adcli.task.tasks import Task, prepared
from adcli.task.verbs import MATRIX_FORMATS, Verb


@cache
def command(verb: Verb) -> click.Command:
    """The command of a verb."""
    @takes(ResultOptions)
    def evaluated(options: ResultOptions) -> int:
        return evaluate(verb, options)

    work: Callable[..., int] = together(
        program_options, *(GROUPS[name] for name in verb.options), result_options(verb.formats))(evaluated)
    make = click.command(verb.name, cls=Command, short_help=verb.short, help=verb.help, examples=verb.examples)
    made: click.Command = make(work)
    return made


def evaluate(verb: Verb, options: ResultOptions) -> int:
    """Run a verb."""
    request = requested(verb, options)
    if options.pattern:
        from adcli.verbs.picture import pattern
        return pattern(request, options)
    spec = options.cotangent if verb.seed == "cotangent" else options.tangent
    if verb.wrt == "--tangent" and spec is not None:
        task, spec = along(request, spec, options)
    else:
        task = prepared(request, options)
    if verb.seed:
        task = seeded(task, spec, emitted=options.emit is not None)
    return carry_out(task, options)


def requested(verb: Verb, options: ResultOptions) -> Request:
    """Request of a command line."""
    of = entries(options.of) if verb.partials else options.outputs
    zeros = False if options.form in MATRIX_FORMATS else options.zeros
    return Request(verb.name, options.source, of, options.inputs, options.mode, options.order, options.fast_math, zeros,
                   options.scaled, precision=options.precision or "double",
                   listed=options.zeros is False and options.form not in MATRIX_FORMATS)


def along(request: Request, spec: str, options: ResultOptions) -> tuple[Task, str]:
    """The task with respect to the inputs that a direction moves, and the direction without the others."""
    direction = components(spec)
    moved = {x: text for x, text in direction.items() if RANGE.search(text) or text[:1] in ("[", "@") or value(x, text)}
    task = prepared(request._replace(wrt=list(moved)), options)
    complete([replace(p, default=0.0) for p in task.signature.own], direction)   # only inputs have a direction
    return task, ",".join(f"{x}={text}" for x, text in moved.items())


def carry_out(task: Task, options: ResultOptions) -> int:
    """Write the task's program, or its results at points or for the rows of a table; returns the exit code."""
    reporter = Reporter(task, options, options.jobs)
    reporter.begin()
    if options.explain and explained(task, options):
        return 0
    if options.emit:
        from adcli.task.emit import emit
        emit(task, options)
        return 0
    require_fit(options, "numbers")
    if options.summed:
        return add_up(task, options, reporter)
    if options.enclose:
        from adcli.answers.enclose import bounds
        return bounds(task, options, reporter)
    if options.data and options.in_parts:
        from adcli.engines.run import run
        return run(task, options, reporter)
    if options.data or (not options.at and any(p.default is None for p in task.free)):
        from adcli.rows.stream import stream, tables
        require_fit(options, "whole tables")
        if found := tables(task, options):
            return stream(task, found, options, reporter)
    if options.digits:
        from adcli.answers.digits import with_digits
        return with_digits(task, options, reporter)
    if task.signature.tensors and options.form in MATRIX_FORMATS:
        from adcli.answers.elements import matrix_at_point
        return matrix_at_point(task, options, reporter)
    return at_points(task, options, reporter)


def add_up(task: Task, options: ResultOptions, reporter: Reporter) -> int:
    """Write the sums of the results for the rows of tables, or over points; returns the exit code."""
    from adcli.rows.stream import stream, tables
    from adcli.rows.sum_run import SumRun, check, over_points
    check(task, options)
    if options.data and options.in_parts:
        from adcli.engines.run import run
        return run(task, options, reporter)
    require_fit(options, "whole tables")
    if (options.data or (not options.at and any(p.default is None for p in task.free))) and (found := tables(task, options)):
        return stream(task, found, options, reporter, SumRun)
    if task.signature.tensors:
        raise AdError(f"{'--sum' if options.sum else '--mean'} of a program with tensors needs rows",
                      help="give a table: --data FILE, or a pipe")
    return over_points(task, options, reporter)


def explained(task: Task, options: ResultOptions) -> bool:
    """Say how the derivatives are computed; whether that is all there is to do."""
    from adcli.output.wrap import fitted
    text = explanation_of(task, options)
    if options.emit or options.at or options.data:
        say(fitted(text.rstrip("\n"), columns_of(sys.stderr)))
        return False
    with destination(options.output) as out:
        out.write(fitted(text, columns_of(options.output)).encode())
    return True


def explanation_of(task: Task, options: ResultOptions) -> str:
    """Explanation of the plan; for tensors with the sizes at the first point."""
    from adcli.input.points import checked, points_of
    from adcli.task.emit import explanation
    if not task.signature.tensors or not options.at or options.emit:
        return explanation(task)
    return explanation(task, next(points_of(task.free, checked(task.free, options.at, lambda remark: None))))
