"""The verbs that evaluate: eval, grad, jvp, vjp."""
from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import click

from adcli.options import ROWS, derivative_options, names, program_options, read_source, refuse, result_options
from adcli.output import destination, say, write_points
from adcli.points import complete, points, value, within
from adcli.report import Layout, Number, Row, csv_rows, json_rows, number_format, text
from adcli.tasks import Request, Task, prepared
from adcli.usage import OneOf, Verb
from codegen.kernel import run
from lang.errors import AdError
from lang.ir import MODES, Param, Program

BLOCK = 4096
"""Points that are computed and written at a time."""


@click.command("eval", cls=Verb, short_help="The outputs of a program.",
               example="adcli eval -e 'v = x*sin(y)' --at x=2,y=0.5")
@program_options
@click.option("--of", metavar="v,…", help="Outputs to show (default: all).")
@result_options
def eval_command(program: str | None, expressions: tuple[str, ...], of: str | None, **options: Any) -> int:
    """The outputs of a program."""
    request = Request("eval", read_source(program, expressions), names(of, "--of"), fast=options["fast_math"])
    return carry_out(prepared(request, options), options)


@click.command("grad", cls=Verb, short_help="The outputs and their partial derivatives.",
               example="adcli grad -e 'v = x*sin(y)' --at x=2,y=0.5")
@program_options
@derivative_options
@click.option("--mode", type=OneOf("mode", MODES), default="auto", show_default=True, help="Mode of differentiation.")
@click.option("--order", type=click.IntRange(1, 32), default=1, show_default=True,
              help="All partial derivatives up to this order.")
@result_options
def grad_command(program: str | None, expressions: tuple[str, ...], wrt: str | None, of: str | None, mode: str, order: int,
                 **options: Any) -> int:
    """The outputs and every first partial derivative; with --order N, the higher ones too."""
    request = Request("grad", read_source(program, expressions), names(of, "--of"), names(wrt, "--wrt"), mode, order,
                      options["fast_math"])
    return carry_out(prepared(request, options), options)


@click.command("jvp", cls=Verb, short_help="The outputs and their tangents: forward mode.",
               example="adcli jvp -e 'v = x*sin(y)' --at x=2,y=0.5 --tangent x=1")
@program_options
@derivative_options
@click.option("--tangent", metavar="x=1,…", help="Direction; inputs not named have 0. One input alone has 1 by default.")
@result_options
def jvp_command(program: str | None, expressions: tuple[str, ...], wrt: str | None, of: str | None, tangent: str | None,
                **options: Any) -> int:
    """The outputs and their tangents along a direction: forward mode."""
    request = Request("jvp", read_source(program, expressions), names(of, "--of"), names(wrt, "--wrt"), fast=options["fast_math"])
    return carry_out(seeded(prepared(request, options), tangent, "tangent", options), options)


@click.command("vjp", cls=Verb, short_help="The outputs and the adjoints of the inputs: reverse mode.",
               example="adcli vjp -e 'v = x*sin(y)' --at x=2,y=0.5 --cotangent v=1")
@program_options
@derivative_options
@click.option("--cotangent", metavar="v=1,…", help="Weights; outputs not named have 0. One output alone has 1 by default.")
@result_options
def vjp_command(program: str | None, expressions: tuple[str, ...], wrt: str | None, of: str | None, cotangent: str | None,
                **options: Any) -> int:
    """The outputs and the adjoints of the inputs for weights of the outputs: reverse mode."""
    request = Request("vjp", read_source(program, expressions), names(of, "--of"), names(wrt, "--wrt"), fast=options["fast_math"])
    return carry_out(seeded(prepared(request, options), cotangent, "cotangent", options), options)


def seeded(task: Task, spec: str | None, kind: str, options: Mapping[str, Any]) -> Task:
    """The task at its seeds."""
    return task.at(seed_values(task.program, spec, kind, needed=not options["emit"]), derive=bool(options["emit"]))


def seed_values(program: Program, spec: str | None, kind: str, needed: bool) -> dict[str, float]:
    """The value of every seed parameter: as given, 0 where not named, 1 where there is only one and nothing is given."""
    seeds = {p.seed: p.name for p in program.params if p.seed}
    if spec is None:
        if len(seeds) != 1 and needed and seeds:
            raise AdError(f"no --{kind}", help=f"write --{kind} {','.join(f'{s}=1' for s in list(seeds)[:3])}")
        return dict.fromkeys(seeds.values(), 1.0) if needed else {}
    given: dict[str, float] = {}
    for part in filter(None, (p.strip() for p in spec.split(","))):
        name, equals, number = (s.strip() for s in part.partition("="))
        if not equals:
            raise AdError(f"--{kind}: '{part}' is not name=value")
        if name in given:
            raise AdError(f"--{kind}: '{name}' is given twice")
        given[name] = value(name, number)
    zero = [Param(p.var, p.seed, 0.0) for p in program.params if p.seed]
    return {seeds[name]: x for name, x in complete(zero, given, "input" if kind == "tangent" else "output").items()}


# ---------------------------------------------------------------- what is done with a task

def carry_out(task: Task, options: Mapping[str, Any]) -> int:
    """Write the task's program, or its results at the points; returns the exit code."""
    watch = Watch(task, loud=not options["quiet"], derivatives=options["form"] != "json")
    for remark in task.primal.notes:
        watch.say(remark)
    if options["emit"]:
        from adcli.emit import emit
        emit(task, options)
        return 0
    refuse(["style", "lanes"], "is for --emit")
    inputs = [p for p in task.program.params if p.name not in task.seeds]
    missing = [p.name for p in inputs if p.default is None]
    if options["data"] is not None or (missing and not options["at"]):
        from adcli.stream import source, stream
        if table := source(options["data"]):
            return stream(task, table, options)
    refuse(ROWS, "is about rows, which --data gives")
    if missing and not options["at"]:
        raise AdError(f"no values for {', '.join(missing)}",
                      help=f"give a point, --at {','.join(f'{n}=1' for n in missing[:3])}{'' if len(missing) <= 3 else ',…'};"
                           " rows, --data FILE or piped in; or --emit text for the program itself")
    number = number_format(options["fmt"], options["hexadecimal"])
    at = within(inputs, points(inputs, options["at"], watch.say), watch.say, task.primal.source)
    layout = Layout.of(task.verb, task.primal, task.program, task.wrt, options["status"])
    rows = watch.over(evaluate(task, at))
    with destination(options["output"]) as out:
        write_points(out, written(options["form"], layout, rows, number, several(options["at"])))
    watch.conclude()
    return 4 if options["strict"] and watch.failed else 0


def several(specs: Sequence[str]) -> bool:
    """Whether the points need a heading each: there may be more than one."""
    return len(specs) > 1 or any(c in spec for spec in specs for c in ":@")


def written(form: str, layout: Layout, rows: Iterable[Row], number: Number, headed: bool) -> Iterator[str]:
    if form == "csv":
        return csv_rows(layout, rows, number)
    return json_rows(layout, rows, number) if form == "json" else text(layout, rows, number, headed)


def evaluate(task: Task, at: Iterable[dict[str, float]]) -> Iterator[Row]:
    """The results at every point, block by block; the first blocks are small, so that results come soon."""
    kernel = task.kernel
    at, size = iter(at), 64
    while block := list(islice(at, size)):
        full = [{**point, **task.seeds} for point in block] if task.seeds else block
        columns = [[point[p.name] for point in full] for p in task.program.params]
        *results, levels = run(kernel, columns, rows=len(block))
        for point, level, *values in zip(full, levels, *results, strict=True):
            yield Row(point, values, int(level))
        size = min(2 * size, BLOCK)


class Watch:
    """Watches results go by: a note for each that is not smooth, and whether --strict would fail.

    Notes go to standard error if the run is `loud`; those on `derivatives`, that is on results, not where the results
    say it themselves.
    """

    MOST = 20

    def __init__(self, task: Task, loud: bool, derivatives: bool) -> None:
        self.task, self.loud, self.derivatives = task, loud, derivatives
        self.failed, self.count = False, 0

    def say(self, remark: object) -> None:
        if self.loud:
            say(remark)

    def over(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            yield row
            if row.level or not all(map(math.isfinite, row.results)):
                self.failed = True
                if row.level and self.derivatives:
                    self.remark(row)

    def remark(self, row: Row) -> None:
        self.count += 1
        if self.loud and self.count <= self.MOST:
            from adcli.diagnose import note
            whole = self.task.whole()
            self.say(note(whole.primal, whole.derivative, row.at, row.level))

    def conclude(self) -> None:
        if self.count > self.MOST:
            self.say(f"note: {self.count - self.MOST} more results are not smooth")
