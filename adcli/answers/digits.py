"""--digits: results with the number of their right digits beside them.

As text the digits are comments, so the output stays a program; JSON has an object `digits` of the shape of the results, CSV
a column `v_digits` behind every `v`. In both, 17 stands for an exact number; null or an empty field for one of which nothing
is proven.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import tee

from adcli.answers.results import evaluated
from adcli.answers.watch import Watch
from adcli.command.options import ResultOptions
from adcli.input.points import need_headings
from adcli.lang.analyse.right_digits import EXACT, Digits, right_digits
from adcli.lang.ir import LEVELS, Program
from adcli.lang.ir.errors import AdError
from adcli.lang.passes.zero_seeds import drop_zero_seeds
from adcli.output.columns import commented
from adcli.output.layout import Layout, Row
from adcli.output.numbers import Number, json_text, number_format
from adcli.output.report import csv_text, json_record, text
from adcli.output.streams import packed_destination, write_points
from adcli.task.tasks import Task

FEW_DIGITS = 8.0
"""Digits below which the exact value is shown."""

Judged = tuple[Row, list[Digits]]


def with_digits(task: Task, options: ResultOptions, watch: Watch) -> int:
    """Write the results at the points with their digits; returns the exit code."""
    if options.fast_math:
        raise AdError("--digits and --fast-math cannot be used together", help="leave out --fast-math")
    found = evaluated(task, options, watch)
    number, layout = number_format(options.fmt, options.hexadecimal), task.layout(options.status)
    rows = judged(drop_zero_seeds(task.program), found)
    form = {"csv": csv_lines, "json": json_lines}.get(options.form)
    headed = need_headings(task.free, options.at)
    with packed_destination(options.output, options.document and headed) as out:
        write_points(out, form(layout, rows, number) if form else paragraphs(layout, rows, number, headed))
    return watch.conclude(options.strict)


def judged(program: Program, rows: Iterable[Row]) -> Iterator[Judged]:
    for row in rows:
        yield row, right_digits(program, row.at, row.results)


def paragraphs(layout: Layout, rows: Iterable[Judged], number: Number, headed: bool) -> Iterator[str]:
    """The text of the results with a comment behind every number, in one column."""
    rows, again = tee(rows)
    for paragraph, (_, digits) in zip(text(layout, (row for row, _ in rows), number, headed), again, strict=True):
        lines = paragraph.split("\n")
        first = len(lines) - 1 - len(layout.names)
        shown = slice(first, first + len(digits))
        lines[shown] = commented(lines[shown], list(map(comment, digits)))
        yield "\n".join(lines)


def comment(d: Digits) -> str:
    """The digits of one number in words."""
    said = words(d)
    return f"{said}; a comparison has the other outcome in exact arithmetic" if d.turned else said


def words(d: Digits) -> str:
    """How many digits are right, in words."""
    match d.exact, d.count:
        case "nan", _:
            return "not a number in exact arithmetic" + (" either" if d.count is None else ": 0.0 digits")
        case "inf or -inf", None:
            return "infinite, with the sign of a zero"
        case _, None:
            return "not proven"
        case _, count if count == EXACT:
            return "exact"
        case exact, count:
            shown = f"exactly {exact}" if exact else "exact value not proven"
            return f"{count:.1f} digits" + f", {shown}" * (count < FEW_DIGITS)


def json_lines(layout: Layout, rows: Iterable[Judged], number: Number) -> Iterator[str]:
    """One object a point, with the digits beside the results."""
    for row, digits in rows:
        record = json_record(layout, row, number)
        counts = [d.count if d.count is None else round(d.count, 2) for d in digits]
        record["digits"] = layout.shaped(counts)
        if any(d.turned for d in digits):
            record["turned"] = [name for name, d in zip(layout.results, digits, strict=True) if d.turned]
        yield json_text(record) + "\n"


def csv_lines(layout: Layout, rows: Iterable[Judged], number: Number) -> Iterator[str]:
    """A line a point, a column of digits behind each result."""
    yield csv_text([*layout.inputs, *layout.seeds, *(n for r in layout.results for n in (r, f"{r}_digits")),
                  *([layout.status] if layout.status else [])])
    for row, digits in rows:
        pairs = [(number(x), "" if d.count is None else f"{d.count:.2f}") for x, d in zip(row.results, digits, strict=True)]
        yield csv_text([*map(number, row.at.values()), *(field for pair in pairs for field in pair),
                      *([LEVELS[row.level]] if layout.status else [])])
