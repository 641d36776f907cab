"""--sum and --mean over the points that --at gives, as over rows."""
from __future__ import annotations

from collections.abc import Iterator

from adcli.answers.bulk import Columns, blocks
from adcli.answers.results import check
from adcli.answers.watch import Watch
from adcli.command.options import ResultOptions
from adcli.input.points import checked
from adcli.lang.ir.errors import plural
from adcli.output.layout import Row
from adcli.output.streams import packed_destination
from adcli.rows.sum_report import SumReport, sum_names
from adcli.rows.sum_work import SumWork, quantities
from adcli.rows.summing import rough_rows
from adcli.rows.sums import Sums
from adcli.task.tasks import Task

POINTS_AT_ONCE = 1 << 15
"""Points of a grid that are made at a time."""


def over_points(task: Task, options: ResultOptions, watch: Watch) -> int:
    """Write the sums; returns the exit code."""
    check(task, options)
    options.refuse(["weights", "group_by"], "needs rows (--data FILE)")
    names = sum_names(task.signature, options)
    summed = quantities(task.signature, options.gauss_newton, None, (names.rows, *names.levels))
    adder = SumWork(task.kernel, task.signature, task.seeds, summed, keep=not options.no_cache)
    total, many, first = Sums(adder.names), 0, None
    for columns, count in watched(task, options, watch):
        sums = adder.add_columns(columns, count)
        total.merge(sums)
        if sums.rough(options.strict):
            more, _, row = rough_rows(task, task.seeds, columns, count, options.strict)
            many, first = many + more, first or row
    if first:
        which = f"the first of {many} such points of {total.rows}" if many > 1 else f"1 of {plural(total.rows, 'point')}"
        tell(first, which, options, watch)
    report = SumReport(task, options, names, total, "\t" if options.form == "tsv" else ",", False, watch)
    with packed_destination(options.output) as out:
        report.write(out)
    return watch.conclude(options.strict)


def watched(task: Task, options: ResultOptions, watch: Watch) -> Iterator[tuple[Columns, int]]:
    """The points in blocks, with their number. Of each input that leaves its range it is said once."""
    for block in blocks(task.free, checked(task.free, options.at, watch.say), POINTS_AT_ONCE):
        columns = {name: column.astype("float64") for name, column in block.items()}
        watch.outside_block(columns)
        yield columns, len(next(iter(columns.values()))) if columns else 1


def tell(first: Row, which: str, options: ResultOptions, watch: Watch) -> None:
    """Say where the first point is that is not finite (with --strict: or not smooth), and why."""
    watch.failed = True
    where = ", ".join(f"{name} = {x!r}" for name, x in first.at.items())
    watch.say(f"note: not {'smooth or not ' if options.strict else ''}finite at {where}, {which}")
    watch.say(watch.explained(first))
