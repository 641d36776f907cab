"""The verb trace: the evaluation table of the textbooks, every line of a program with its value, tangent and adjoint.

`adcli.lang.analyse.trace` has the numbers, `adcli.trace.notation` the names, `adcli.trace.tables` and `adcli.trace.as_json`
the forms. Values are named as in Griewank and Walther (Evaluating Derivatives, 2nd ed. 2008): the n inputs are v₁₋ₙ … v₀,
what the program has no name for is v₁, v₂, … in the order of evaluation, and a last row says which value an output is; a
value that a statement names keeps its name. With `--names program` inputs and outputs keep theirs too. Where the program
itself has names such as v1, the numbered ones go by another letter.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from adcli.command.options import derivative_options, names, output_option, program_options, read_source
from adcli.command.usage import OneOf, Verb
from adcli.input.points import points, several, within
from adcli.lang.ir.errors import AdError
from adcli.output.report import Row, number_format
from adcli.task.tasks import Request, made

if TYPE_CHECKING:
    from adcli.lang.ir import Program
    from adcli.lang.ir.errors import Source
    from adcli.task.tasks import Task
    from adcli.trace.notation import Notation
    from adcli.trace.tables import Writer

SEED = {"jvp": "tangent", "vjp": "cotangent"}
READABLE = "%.6g"
"""Numbers of a table, where --fmt does not say otherwise."""


@click.command("trace", cls=Verb, short_help="The evaluation table: value, tangent and adjoint of every line.",
               example="adcli trace -e 'y = log(x1) + x1*x2 - sin(x2)' --at x1=2,x2=5 --tangent x1=1")
@program_options
@derivative_options
@click.option("--at", "at", multiple=True, metavar="POINT", help="x=2,y=5; x=0:1:11 for a range; @points.json; repeatable.")
@click.option("--tangent", metavar="x=1,…", help="Direction of the tangents; inputs not named have 0.")
@click.option("--cotangent", metavar="v=1,…", help="Weights of the outputs for the adjoints; outputs not named have 0.")
@click.option("--names", "naming", type=OneOf("naming", ("textbook", "program")), default="textbook", show_default=True,
              help="Inputs and outputs as numbered values, v₀ = x, or by their own names.")
@click.option("--format", "form", type=OneOf("format", ("text", "markdown", "latex", "json")), default="text", show_default=True,
              help="Format of the table.")
@click.option("--fmt", metavar="TEMPLATE", help=f"printf template for numbers (default: {READABLE}; all digits in JSON).")
@output_option
@click.option("-q", "--quiet", is_flag=True, help="No notes on standard error.")
def trace_command(program: str | None, expressions: tuple[str, ...], wrt: str | None, of: str | None, at: tuple[str, ...],
                  tangent: str | None, cotangent: str | None, output: str | None, **options: Any) -> int:
    """The evaluation table of the textbooks: every line of the program with its formula, the numbers put in, and its value.

    With --tangent the tangent of every line stands beside it; with --cotangent the adjoints, to be read upwards; with both
    there are two tables.
    """
    from adcli.output.streams import destination, write_points
    given = {"jvp": tangent, "vjp": cotangent}
    tables = Tables(prepared(read_source(program, expressions), names(of, "--of"), names(wrt, "--wrt"), given), options)
    params, watch = tables.primal.params, tables.watches[0]
    missing = [p.name for p in params if p.default is None]
    if missing and not at:
        more = "" if len(missing) <= 3 else ",…"
        raise AdError(f"no values for {', '.join(missing)}",
                      help=f"give a point, --at {','.join(f'{n}=1' for n in missing[:3])}{more}")
    for remark in tables.primal.notes:
        watch.say(remark)
    found = within(params, points(params, at, watch.say), watch.say, tables.primal.source)
    with destination(output) as stream:
        write_points(stream, tables.written(found, several(at)))
    for each in tables.watches:
        each.conclude()
    return 0


def prepared(source: Source, of: list[str] | None, wrt: list[str] | None, seeds: Mapping[str, str | None]) -> list[Task]:
    """What is evaluated beside the trace for its status: the forward and the reverse derivative at the given seeds, or the
    program alone."""
    from adcli.answers.seeding import seeded
    found = [seeded(task(Request(verb, source, of, wrt)), spec, SEED[verb], {"emit": None})
             for verb, spec in seeds.items() if spec is not None]
    if not found and wrt is not None:
        raise AdError("--wrt is for --tangent and --cotangent")
    return found or [task(Request("eval", source, of))]


def task(request: Request) -> Task:
    from adcli.task.shapes import refuse_tensors
    found = made(request, None)
    refuse_tensors(found.primal, "trace")
    return found


class Tables:
    """The tables of a program, point by point, in one of the forms."""

    def __init__(self, tasks: list[Task], options: Mapping[str, Any]) -> None:
        from adcli.answers.results import Watch
        from adcli.lang.passes.simplify import prune
        from adcli.trace.notation import labels
        self.tasks, self.form = tasks, options["form"]
        self.number = number_format(options["fmt"] or (None if self.form == "json" else READABLE), False)
        self.watches = [Watch(t, loud=not options["quiet"], derivatives=self.form != "json") for t in tasks]
        self.primal = tasks[0].primal if tasks[0].request.of is None else prune(tasks[0].primal)
        self.names = labels(self.primal, options["naming"] == "program")
        self.seeds = {SEED[t.verb]: {p.seed: t.seeds[p.name] for p in t.program.params if p.seed}
                      for t in tasks if t.verb in SEED}

    def written(self, at: Iterable[dict[str, float]], headed: bool) -> Iterator[str]:
        """The text of every point; with `headed` it says which point it is."""
        from adcli.lang.analyse.trace import traced
        from adcli.trace.tables import Writer
        programs, notation = [with_level(t) for t in self.tasks], self.notation()
        for i, point in enumerate(at):
            trace = traced(self.primal, point, self.tasks[0].wrt, self.seeds.get("tangent"), self.seeds.get("cotangent"))
            writer = Writer(trace, self.names, notation)
            level = self.watched(programs, point)
            yield self.object(writer, point, level) if self.form == "json" else "".join(self.lines(writer, point, headed, i))

    def lines(self, writer: Writer, point: Mapping[str, float], headed: bool, i: int) -> Iterator[str]:
        """The tables of a point."""
        from adcli.trace.tables import RENDERERS
        blank = "\n" * bool(i)
        if headed:
            yield blank + self.heading(", ".join(f"{name} = {self.number(x)}" for name, x in point.items()))
            blank = "\n"
        for table in writer.tables("tangent" in self.seeds, "cotangent" in self.seeds):
            yield blank if self.form != "text" or not headed else ""
            yield from RENDERERS[self.form](table)
            blank = "\n"

    def heading(self, point: str) -> str:
        return f"{ {'latex': '%', 'markdown': '**At**'}.get(self.form, '#') } {point}".rstrip() + "\n"

    def object(self, writer: Writer, point: Mapping[str, float], level: int) -> str:
        from adcli.trace.as_json import json_object
        return json_object(writer, point, self.seeds, level, self.number)

    def notation(self) -> Notation:
        from adcli.trace.notation import Latex, Unicode
        if self.form != "latex":
            return Unicode(self.number)
        named = [label.stem for label in self.names.values() if label.subscript is None]
        return Latex(self.number, dict.fromkeys([*named, *(p.name for p in self.primal.params),
                                                 *(r.name for r in self.primal.results)]))

    def watched(self, programs: list[Program], point: dict[str, float]) -> int:
        """The worst status at a point, for which a note is given."""
        from adcli.lang.evaluate import evaluate
        full = [{**point, **t.seeds} for t in self.tasks]
        levels = [int(evaluate(p, at)[p.results[-1].name]) for p, at in zip(programs, full, strict=True)]
        k = levels.index(max(levels))
        for _ in self.watches[k].over([Row(full[k], [], levels[k])]):
            pass
        return levels[k]


def with_level(task: Task) -> Program:
    """The task's program with its status as the last result, as it is computed everywhere."""
    from adcli.lang.passes.status import with_status
    from adcli.lang.passes.zero_seeds import drop_zero_seeds
    return drop_zero_seeds(with_status(task.program, task.primal, task.wrt))
