"""Results at points, of any rank, in every format: the one loop that computes, watches and writes."""
from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING

from adcli.answers.evaluation import evaluate
from adcli.answers.reporter import Reporter
from adcli.input.points import Grids, checked, need_headings, points_of, require_point, within
from adcli.input.settings import ResultOptions
from adcli.lang.ir.errors import AdError
from adcli.lang.operations.precision import PRECISIONS
from adcli.output.layout import Layout, Row
from adcli.output.numbers import Number, number_format
from adcli.output.report import csv_rows, json_rows, text
from adcli.output.streams import packed_destination, require_parquet, write_points, write_rows
from adcli.output.suffixes import ARRAYS
from adcli.task.rules import BINARY, require_fit
from adcli.task.tasks import Task
from adcli.task.verbs import MATRIX_FORMATS, TEXT_FORMATS

if TYPE_CHECKING:
    from adcli.task.matrices import Matrix, MatrixPoint

MANY = 2048
"""Points that are worth loading NumPy."""
OTHER_SOURCES = "; rows: --data FILE, or a pipe; or --emit text for the program itself"
"""Other sources of numbers, for messages."""


def at_points(task: Task, options: ResultOptions, reporter: Reporter) -> int:
    """Write the results at the points that --at gives; returns the exit code."""
    check(task, options)
    at = checked(task.free, options.at, reporter.say)
    if not task.signature.tensors and (options.form in BINARY or (options.form in TEXT_FORMATS and at.points >= MANY)):
        in_bulk(task, at, options, reporter)
        return reporter.conclude()
    rows = rows_at(task, at, options, reporter)
    with packed_destination(options.output, options.document and need_headings(task.free, options.at)) as out:
        if options.form in ARRAYS:
            from adcli.output.tensors import write_arrays
            write_arrays(out, options.form, task.layout(False), rows, at.points, PRECISIONS[task.request.precision].code)
        else:
            write_points(out, written(task, options, rows, reporter))
    return reporter.conclude()


def in_bulk(task: Task, at: Grids, options: ResultOptions, reporter: Reporter) -> None:
    """Many points, or files that have all of them."""
    from adcli.answers import bulk
    one = not need_headings(task.free, options.at)
    with packed_destination(options.output, options.document and not one) as out:
        if options.form in BINARY:
            found, words = bulk.arrays(task, at, options, reporter)
            bulk.write_binary(out, options.form, task.layout(options.status), found, words, one)
            return
        number = number_format(options.fmt, options.hexadecimal, options.precision)
        for piece in bulk.text(task, at, options, reporter, number, not one):
            write_rows(out, piece)


def evaluated(task: Task, options: ResultOptions, reporter: Reporter) -> Iterator[Row]:
    """The results at the points, watched. Whatever is wrong with options and points is found before the first."""
    check(task, options)
    return rows_at(task, checked(task.free, options.at, reporter.say), options, reporter)


def rows_at(task: Task, at: Grids, options: ResultOptions, reporter: Reporter) -> Iterator[Row]:
    """The results at these points, watched."""
    points = within(task.free, points_of(task.free, at, light=True), reporter.say, task.signature.source)
    return reporter.over(evaluate(task, points, options.jobs, reporter.say))


def check(task: Task, options: ResultOptions) -> None:
    """AdError where options make no sense at points, or there is no point."""
    require_fit(options, "points", task.signature.tensors)
    if options.form == "parquet":
        require_parquet(options.output)
    require_point(task.free, options.at, OTHER_SOURCES)


def written(task: Task, options: ResultOptions, rows: Iterator[Row], reporter: Reporter) -> Iterator[str]:
    """The results in the format that is asked for, a piece a point."""
    number = number_format(options.fmt, options.hexadecimal, options.precision)
    layout, headed = task.layout(options.status), need_headings(task.free, options.at)
    if options.form in MATRIX_FORMATS:
        return matrices(task, options.form, rows, number, headed)
    if task.signature.tensors:
        return with_tensors(layout, options, rows, number, reporter)
    match options.form:
        case "csv" | "tsv":
            return csv_rows(layout, rows, number, "\t" if options.form == "tsv" else ",")
        case "json":
            return json_rows(layout, rows, number)
    return text(layout, rows, number, headed)


def with_tensors(layout: Layout, options: ResultOptions, rows: Iterator[Row], number: Number,
                 reporter: Reporter) -> Iterator[str]:
    """Text of results that are tensors: two points tell whether there are several."""
    from adcli.output.tensors import csv_matrix, is_cut
    first = list(islice(rows, 2))
    if options.form in ("csv", "tsv"):
        if len(first) != 1:
            raise AdError(f"--format {options.form} writes one point, but --at gives several",
                          help="use --format json or -o FILE.npz")
        return csv_matrix(layout, first[0], number, "\t" if options.form == "tsv" else ",")
    if options.form == "json":
        return json_rows(layout, chain(first, rows), number)
    cut = options.output is None and sys.stdout.isatty()
    if cut and any(is_cut(row.results) for row in first):
        reporter.say("note: tensors are shortened for the terminal; -o FILE.npz and pipes get them whole")
    return text(layout, chain(first, rows), number, len(first) > 1, cut)


def matrices(task: Task, form: str, rows: Iterable[Row], number: Number, numbered: bool) -> Iterator[str]:
    """The matrix that the task is about, at every point."""
    from adcli.task.matrices import matrix_among
    assert task.verb.matrix is not None, "the format is one of matrices"
    matrix, places = matrix_among(task.signature.results, task.signature.wrt, task.verb.matrix)
    points = ((row.at, [row.results[k] for k in places]) for row in rows)
    return matrices_of(matrix, form, points, number, numbered)


def matrices_of(matrix: Matrix, form: str, points: Iterable[MatrixPoint], number: Number, numbered: bool) -> Iterator[str]:
    """A matrix at points, as --format coo or mtx; of several points each has its number where they are `numbered`."""
    from adcli.task.matrices import coo, matrix_market
    return matrix_market(matrix, points, number) if form == "mtx" else coo(matrix, points, number, numbered)
