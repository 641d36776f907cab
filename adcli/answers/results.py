"""What is done with a task: its program is written, or its results at the points or for the rows of a table."""
from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from adcli.codegen.machine.kernel import run
from adcli.command.options import ROWS, refuse
from adcli.input.points import points, several, within
from adcli.lang.ir.errors import AdError
from adcli.output.report import Layout, Number, Row, csv_rows, json_rows, number_format, text
from adcli.output.streams import destination, say, write_points
from adcli.task.tasks import Task

BLOCK = 4096
"""Points that are computed and written at a time."""
MATRICES = ("coo", "mtx")
"""Formats that write the entries of a matrix, those that are not zero by construction."""


def carry_out(task: Task, options: Mapping[str, Any]) -> int:
    """Write the task's program, or its results at the points; returns the exit code."""
    watch = Watch(task, loud=not options["quiet"], derivatives=options["form"] != "json")
    for remark in task.primal.notes:
        watch.say(remark)
    if options.get("explain") and task.tensors:
        raise AdError("--explain counts operations on scalars, and this program has tensors")
    if options.get("explain"):
        from adcli.task.explain_plan import explanation
        text = explanation(task)
        if not (options["emit"] or options["at"] or options["data"]):
            with destination(options["output"]) as out:
                out.write(text.encode())
            return 0
        say(text.rstrip("\n"))
    if options["emit"]:
        from adcli.task.emit import emit
        emit(task, options)
        return 0
    refuse(["style", "lanes"], "is for --emit")
    if task.tensors:
        from adcli.answers.tensor_results import carry_out_tensors
        return carry_out_tensors(task, options)
    if options["form"] in MATRICES:
        refuse(["digits", "enclose", "status"], "goes with --format text, csv and json")
    if options["enclose"]:
        from adcli.answers.enclose import enclose_report
        return enclose_report(task, options["at"], options)
    inputs = [p for p in task.program.params if p.name not in task.seeds]
    missing = [p.name for p in inputs if p.default is None]
    if options["data"] is not None or (missing and not options["at"]):
        from adcli.rows.stream import source, stream
        if table := source(options["data"]):
            refuse_for_rows(options)
            return stream(task, table, options)
    refuse(ROWS, "is about rows, which --data gives")
    if missing and not options["at"]:
        raise AdError(f"no values for {', '.join(missing)}",
                      help=f"give a point, --at {','.join(f'{n}=1' for n in missing[:3])}{'' if len(missing) <= 3 else ',…'};"
                           " rows, --data FILE or piped in; or --emit text for the program itself")
    at = within(inputs, points(inputs, options["at"], watch.say), watch.say, task.primal.source)
    if options["digits"]:
        from adcli.answers.digits import digits_report
        return digits_report(task, at, options)
    number = number_format(options["fmt"], options["hexadecimal"])
    layout = Layout.of(task.verb, task.primal, task.program, task.wrt, options["status"])
    rows = watch.over(evaluate(task, at))
    pieces = matrices(options["form"], task, rows, number, several(options["at"])) if options["form"] in MATRICES else \
        written(options["form"], layout, rows, number, several(options["at"]))
    with destination(options["output"]) as out:
        write_points(out, pieces)
    watch.conclude()
    return 4 if options["strict"] and watch.failed else 0


def refuse_for_rows(options: Mapping[str, Any]) -> None:
    """What is known at points only."""
    if options["form"] in MATRICES:
        raise AdError(f"--format {options['form']} writes the matrix of a point, and these are rows",
                      help="give a point with --at, or --format csv")
    refuse(["digits"], "is for points, which --at gives")


def matrices(form: str, task: Task, rows: Iterable[Row], number: Number, numbered: bool) -> Iterator[str]:
    """The matrix that the task is about, at every point."""
    from adcli.task.matrices import coo, matrix_among, matrix_market
    matrix, places = matrix_among(task.program.results, task.wrt, task.verb)
    points = ((row.at, [row.results[k] for k in places]) for row in rows)
    return matrix_market(matrix, points, number) if form == "mtx" else coo(matrix, points, number, numbered)


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
            from adcli.answers.diagnose import note
            whole = self.task.whole()
            self.say(note(whole.primal, whole.derivative, row.at, row.level))

    def conclude(self) -> None:
        if self.count > self.MOST:
            self.say(f"note: {self.count - self.MOST} more results are not smooth")
