"""--sum and --mean over the rows of tables, in one run, or over points: rows are read as ever and never written."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from adcli.answers.bulk import Columns, blocks
from adcli.answers.reporter import Reporter
from adcli.answers.results import check as check_points
from adcli.input.points import checked
from adcli.input.settings import ResultOptions
from adcli.lang.ir.errors import AdError, plural
from adcli.output.layout import Row
from adcli.output.streams import packed_destination
from adcli.rows.blocks import Done, Work
from adcli.rows.stream import TableRun
from adcli.rows.sum_work import SumWork, quantities
from adcli.rows.summing import SumBlocks, Summing, SumReport, rough_rows, sum_names
from adcli.rows.sums import Sums
from adcli.tables.sources import Location
from adcli.tables.streams import BadTable
from adcli.task.rules import require_fit
from adcli.task.tasks import Task

POINTS_AT_ONCE = 1 << 15
"""Points of a grid that are made at a time."""


def check(task: Task, options: ResultOptions) -> None:
    """AdError for what a sum has no use for."""
    require_fit(options, "sums", task.signature.tensors)
    if options.gauss_newton and (not task.signature.values or (options.of and ":" in options.of)):
        raise AdError("--gauss-newton needs the outputs and their first derivatives", help="name outputs alone with --of")


# ---------------------------------------------------------------- tables

class SumRun(TableRun):
    """Tables that are added up."""

    policies = "skip"

    @staticmethod
    def work_of(task: Task) -> type[Work]:
        if not task.signature.tensors:
            return SumBlocks
        from adcli.rows.tensor_rows import TensorSumWork
        return TensorSumWork

    def __init__(self, task: Task, found: Sequence[Location], options: ResultOptions, reporter: Reporter,
                 known: Mapping[str, Any] | None = None) -> None:
        super().__init__(task, found, options, reporter, known)
        assert isinstance(self.first.work, Summing)
        self.asked, self.work = options, self.first.work
        self.several, self.total = self.work.grouped, self.work.empty()

    def take(self, done: Done) -> None:
        self.work.add(self.total, done)

    def summed(self) -> Sums:
        """The sums of all rows."""
        self._write(lambda data: None)
        self.progress.clear()
        return self.total if isinstance(self.total, Sums) else self.total.sums()

    def write(self, out: BinaryIO) -> None:
        total = self.summed()
        require_rows(self.name, total)
        SumReport(self.task, self.asked, total, self.form.separator.decode(), self.form.comma, self.reporter).write(out)


def require_rows(name: str, total: Sums) -> None:
    """BadTable where sums have no shapes, since there were no rows."""
    if not total.shapes:
        raise BadTable(f"{name}: no rows to add, so nothing says what shapes the sums have")


# ---------------------------------------------------------------- over points

def over_points(task: Task, options: ResultOptions, reporter: Reporter) -> int:
    """Write the sums; returns the exit code."""
    check_points(task, options)
    require_fit(options, "sums of points")
    names = sum_names(task.signature, options)
    summed = quantities(task.signature, options.gauss_newton, None, (names.rows, *names.levels))
    adder = SumWork(task.kernel, task.signature, task.seeds, summed, keep=not options.no_cache)
    total, many, first = adder.nothing(), 0, None
    for columns, count in watched(task, options, reporter):
        sums = adder.add(columns, count)
        total.merge(sums)
        if sums.rough(options.strict):
            more, _, row = rough_rows(task, task.seeds, columns, count, options.strict)
            many, first = many + more, first or row
    if first:
        which = f"the first of {many} such points of {total.rows}" if many > 1 else f"1 of {plural(total.rows, 'point')}"
        tell(first, which, options, reporter)
    report = SumReport(task, options, total, "\t" if options.form == "tsv" else ",", False, reporter)
    with packed_destination(options.output) as out:
        report.write(out)
    return reporter.conclude()


def watched(task: Task, options: ResultOptions, reporter: Reporter) -> Iterator[tuple[Columns, int]]:
    """The points in blocks, with their number. Of each input that leaves its range it is said once."""
    for block in blocks(task.free, checked(task.free, options.at, reporter.say), POINTS_AT_ONCE):
        columns = {name: column.astype("float64") for name, column in block.items()}
        reporter.outside_block(columns)
        yield columns, len(next(iter(columns.values()))) if columns else 1


def tell(first: Row, which: str, options: ResultOptions, reporter: Reporter) -> None:
    """Say where the first point is that is not finite (with --strict: or not smooth), and why."""
    reporter.failed = True
    where = ", ".join(f"{name} = {x!r}" for name, x in first.at.items())
    reporter.say(f"note: not {'smooth or not ' if options.strict else ''}finite at {where}, {which}")
    reporter.say(reporter.explained(first))
