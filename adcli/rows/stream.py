"""Rows in, rows with results out, in constant memory: what the verbs do with --data.

The table is cut into blocks; reading, computing and writing overlap, because blocks are worked on in threads that mostly run
outside the interpreter's lock, and results leave in order.
"""
from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any, BinaryIO

from adcli.answers.overlap import overlapped
from adcli.answers.reporter import Reporter
from adcli.input.distributions import NORMAL, Spread, T, split
from adcli.input.fields import Fault
from adcli.input.fixed_inputs import fixed, given
from adcli.input.points import ranks
from adcli.input.settings import ResultOptions
from adcli.lang.ir.errors import AdError, plural
from adcli.output.layout import Row
from adcli.output.streams import Progress, packed_destination, require_parquet, say, spooled, write_rows
from adcli.rows.blocks import Done, Work, parquet_tables
from adcli.tables.dialect import dialect
from adcli.tables.reader import Table, members
from adcli.tables.sources import Location, locations
from adcli.tables.streams import PIECE, TYPED, BadTable, Input, blocks, flushed, kind_of, lines_of
from adcli.task.rules import require_fit
from adcli.task.tasks import Task


class Reading:
    """A table that is being read: its rows in blocks, and what is done with them, `work`. `line` is where it is, in the words of
    its `place`; of its rows so many are written."""

    def __init__(self, task: Task, location: Location, options: ResultOptions, known: Mapping[str, Any],
                 kind: type[Work]) -> None:
        self.source = source = location.opened()
        self.options = options
        self.typed = kind_of(source.path, options.input_format, source.head) in TYPED
        self.line, self.place, self.rows = 1 + (source.rows[0] if source.rows else 0), f"{source.name}:", 0
        self.types: Mapping[str, Any] = {}
        self.pieces: Iterator[bytes | None] = iter(())
        form = dialect(self._kind(), options, self.typed)
        self.table = Table(form, kind.inputs([p for p in task.free if p.name not in known], options), known)
        if self.typed:
            self._look_at_types()
        self.work = kind(task, self.table, options, known)

    def close(self) -> None:
        self.source.close()

    def _look_at_types(self) -> None:
        """Find the types of columns that have them."""
        if self.source.path == "-":
            raise AdError("Parquet and arrays cannot be read from a pipe", help="give a file: --data rows.parquet")
        tables, renamed = parquet_tables(f"{self.source.name}: Parquet"), self.table.dialect.renamed
        self.types = {renamed.get(name, name): kind for name, kind in tables.parquet_types(self.source.path).items()}
        self.table.lists.update({name: depth for name, kind in self.types.items() if (depth := tables.dimensions(kind))})

    def _frames(self, first: Reading | None) -> Iterator[Any]:
        """The rows of typed columns, all of these where they are written."""
        tables, table = parquet_tables("Parquet"), self.table
        try:
            table.take_header(list(tables.parquet_types(self.source.path)))
            if first:
                table.compare(first.table.names, first.source.name)
        except Fault as fault:
            raise BadTable(f"{self.source.name}:{self.line}: {fault.reason}", fault.help) from None
        places = sorted({*(place for place in table.places if place is not None), *table.words}) or [0]
        most = max(1, tables.PARQUET_ROWS * self.work.block // PIECE)
        start, count = self.source.rows or (0, None)
        wanted = places if self.work.form.only else None
        return iter(tables.frames(self.source.path, start, count, wanted, most, self.source.told))

    def _kind(self) -> str:
        """The kind of the rows, whose text is in `pieces` then."""
        if self.typed:
            return "csv"
        kind, self.pieces = lines_of(self.source, self.options.input_format)
        if kind == "json":
            self.place = f"{self.source.name}: item "
        return "ndjson" if kind == "json" else kind

    def blocks(self, first: Reading | None = None) -> Iterator[Any]:
        """The rows behind the header, from which on the columns are known. Where they are written, they are those of the `first`
        table. BadTable where they are not."""
        if self.typed:
            return self._frames(first if self.work.form.tabular else None)
        found = blocks(flushed(self.pieces), self.table.separator, self.source.name, self.work.block)
        if self.table.separator is not None:
            found = self._first_row(found, first if self.work.form.tabular else None)
        elif self.work.form.closed and first:
            self.table.take_columns(first.table.names)
        elif self.work.form.closed:
            found = self._first_object(found)
        return found

    def _first_row(self, found: Iterator[bytes | None], first: Reading | None) -> Iterator[bytes | None]:
        """Find the columns in the first row that is not blank; the blocks of the rows that are left."""
        for block in filter(None, found):
            for text, line in self.table.split(block):
                try:
                    header = self.table.take_first(text)
                    if first:
                        self.table.compare(first.table.names, first.source.name)
                except Fault as fault:
                    raise BadTable(f"{self.source.name}:{self.line + line}: {fault.reason}", fault.help) from None
                return _after(self._rest(block, line) if header else block, found)
            self.line += block.count(b"\n")
        raise BadTable(f"{self.source.name}:1: the table is empty" + ": no header" * (self.table.dialect.columns is None))

    def _first_object(self, found: Iterator[bytes | None]) -> Iterator[bytes | None]:
        """Find the columns in the first row that is an object; all blocks."""
        seen = []
        for block in found:
            seen.append(block)
            for text, line in self.table.split(block or b""):
                with suppress(Fault):
                    members(text)
                    try:
                        self.table.take_object(text)
                    except Fault as fault:
                        raise BadTable(f"{self.place}{self.line + line}: {fault.reason}", fault.help) from None
                    return chain(seen, found)
        self.table.take_columns([p.name for p in self.table.inputs])   # no object ever came
        return iter(seen)

    def _rest(self, block: bytes, line: int) -> bytes:
        """The block after the header, which stands at this line."""
        assert self.table.header is not None
        start = 0
        for _ in range(line):
            start = block.index(b"\n", start) + 1
        end = block.index(b"\n", start + len(self.table.header)) + 1
        self.line += block.count(b"\n", 0, end)
        return block[end:]


def _after(one: Any, rest: Iterator[Any]) -> Iterator[Any]:
    if one:
        yield one
    yield from rest


# ---------------------------------------------------------------- all tables

def tables(task: Task, options: ResultOptions) -> list[Location]:
    """The tables that are given for the rows of a task."""
    if options.data:
        require_rows(task, options)
    return given_tables(options)


def given_tables(options: ResultOptions) -> list[Location]:
    """The tables that --data names, or piped standard input; none where nothing is piped.

    Standard input counts as piped if it is a pipe, a socket or a file, and has something in it: a terminal or /dev/null (as
    in a cron job) is not asked for rows.
    """
    if options.data:
        return locations(options.data, (lambda _: None) if options.quiet else say)
    if options.program == "-" or not piped():
        return []
    found = Input("-")
    return [Location("-", held=found)] if found.head else []


def piped() -> bool:
    """True if rows can come from standard input without being asked for."""
    if sys.stdin is None:
        return False
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except OSError:   # a stream in memory
        return True
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def stream(task: Task, found: Sequence[Location], options: ResultOptions, reporter: Reporter,
           kind: type[TableRun] | None = None) -> int:
    """Write the results for the rows of tables, one after the other, or what a `kind` of run makes of them; returns the exit
    code."""
    require_rows(task, options)
    run = None
    try:
        run = (kind or TableRun)(task, found, options, reporter)
        with packed_destination(options.output, options.document and run.several) as out:
            run.write(out)
    except BadTable as fault:
        if run:
            run.progress.clear()
        say(fault)
        return 5
    finally:
        if run:
            run.close()
    return reporter.conclude()


def require_rows(task: Task, options: ResultOptions) -> None:
    """AdError for options that are about points, and where Parquet cannot be written."""
    require_fit(options, "rows", task.signature.tensors)
    if options.form == "parquet" or (options.form == "npz" and not options.summed):
        require_parquet(options.output, "Parquet" if options.form == "parquet" else "a file of arrays")


def standard(name: str, spread: Spread, degrees: bool = False) -> float:
    """The standard uncertainty of an input. AdError where it has a distribution, of which rows know nothing but degrees of
    freedom."""
    if spread.kind is not NORMAL and not (degrees and spread.kind is T):
        raise AdError(f"{name}: rows take standard uncertainties, not distributions",
                      help=f"write {name}={spread.x!r}±{spread.u:.15g}")
    return spread.u


def same_in_all(task: Task, options: ResultOptions) -> dict[str, Any]:
    """The inputs to which --at gives the same value in every row; a spread is the value of the input that stands for it."""
    spread_of = {p.seed: p.name for p in task.free if p.seed}
    parts = [split(spec) if spread_of else (spec, {}) for spec in options.at]
    values = given([plain for plain, _ in parts], ranks(task.free), "with --data, --at gives inputs one value for all rows")
    free, degrees = {p.name for p in task.free}, task.request.dof
    every = [(name, spread) for _, each in parts for name, spread in each.items()]
    uncertainties = [(spread_of.get(name, name), standard(name, spread, degrees)) for name, spread in every]
    freedoms = [(dof, spread.dof) for name, spread in every if degrees and (dof := f"dof_{name}") in free]
    return fixed(task.free, chain(values, uncertainties, freedoms))


class TableRun:
    """Tables on their way through a program, as one. `known` are the inputs that have one
    value for all rows, which else --at says. `several`: there may be more than one result."""

    several = True
    policies = "skip or mark"
    """The policies that go on after a bad row."""
    rough_words = "not finite", "not smooth or not finite"
    """Descriptions of rough rows, without --strict and with it."""

    def __init__(self, task: Task, found: Sequence[Location], options: ResultOptions, reporter: Reporter,
                 known: Mapping[str, Any] | None = None) -> None:
        self.task, self.locations, self.reporter = task, found, reporter
        sizes = [location.size for location in found]
        size = None if None in sizes else sum(filter(None, sizes))
        self.progress = Progress(size, shown=not options.quiet and not sys.stdout.isatty())
        self.policy = options.on_error
        self.rows = self.bad = self.rough = self.taken = 0
        self.rough_row: tuple[Reading, int, Row] | None = None
        self.columns: Any = None
        """Where rows go whose columns have types."""
        self.known = same_in_all(task, options) if known is None else known
        self.first = self.reading = self.opened(found[0], options)
        self.form = self.first.work.form
        self.options = replace(options, form=self.form.form, form_known=True)   # what the first table is written as, all are

    @staticmethod
    def work_of(task: Task) -> type[Work]:
        """The class of work on rows."""
        if not task.signature.tensors:
            return Work
        from adcli.rows.tensor_rows import TensorWork
        return TensorWork

    def opened(self, location: Location, options: ResultOptions) -> Reading:
        """A table, opened."""
        return Reading(self.task, location, options, self.known, self.work_of(self.task))

    @property
    def name(self) -> str:
        """Name of all tables in messages."""
        return self.locations[0].name if len(self.locations) == 1 else f"{len(self.locations)} tables"

    def close(self) -> None:
        self.progress.clear()
        self.reading.close()

    def write(self, out: BinaryIO) -> None:
        """Everything, in order."""
        if self.form.kind != "columns":
            self._write(lambda data: write_rows(out, data))
            return
        parquet_tables("a file of typed columns")   # AdError without polars
        from adcli.tables.typed_columns import TypedColumns
        with spooled(self.options.output) as (file, path):
            self.columns = TypedColumns(file, path, self.form, self.first.types)
            self._write(lambda data: None)
            self.columns.write(out, self.options.output)

    def _write(self, put: Callable[[bytes], object]) -> None:
        begun = self.first.blocks()
        head = self.form.header()
        for reading, done in whole(overlapped(worked, self._blocks(begun), self.first.work.threads(self.options.jobs))):
            if self.form.kind == "text" and self.rows and done.data:
                done.data = b"\n" + done.data
            if head:   # which goes with rows: there is the code that computes them
                put(head)
                head = b""
            if done.data:
                put(done.data)
            if done.typed is not None:
                self.columns.add(done.typed)
            self.take(done)
            self.rows += done.rows
            self.rough += done.rough
            reading.rows += done.rows
            if self.rough_row is None and done.first is not None:
                line, row = done.first
                self.rough_row = reading, reading.line + line, row
            self.reporter.outside(done.outside)
            for line, fault in done.faults:
                self._tell(reading, reading.line + line, fault)
            reading.line += done.lines
            self.progress.update(self.rows, self.taken + self.reading.source.taken)
        if head:
            put(head)
        self._sum_up()

    def take(self, done: Done) -> None:
        """Hook for what else is kept of blocks, in order."""

    def _blocks(self, begun: Iterator[Any]) -> Iterator[tuple[Reading, Any] | None]:
        """The blocks of all tables, each with its table; the first one has been `begun`. One table is open at a time, and what
        was read before a fault goes its way first."""
        try:
            for location in (None, *self.locations[1:]):
                if location is not None:
                    begun = self._next(location)
                for block in begun:
                    yield None if block is None else (self.reading, block)
                self.reading.close()
        except (AdError, BadTable, OSError):
            yield None
            raise

    def _next(self, location: Location) -> Iterator[Any]:
        """Go on to another table; its blocks."""
        self.taken += self.reading.source.taken
        self.reading = self.opened(location, self.options)
        return self.reading.blocks(self.first)

    def _tell(self, reading: Reading, line: int, fault: Fault) -> None:
        """Handle a bad row: the end, or a message and a count."""
        message = f"{reading.place}{line}: {fault.reason}"
        if self.policy == "stop":
            help = f"\nhelp: {fault.help}" if fault.help else ""
            raise BadTable(f"{message}{help}\n{reading.source.name}: 1 bad row, after {plural(reading.rows, 'good row')};"
                           f" --on-error {self.policies} continues")
        self.bad += 1
        if self.bad <= Reporter.MOST and self.reporter.loud:
            self.progress.clear()
            self.reporter.say(message)

    def _sum_up(self) -> None:
        """Say how many rows were bad, and how many not finite or, with --strict, not smooth, which was the first, and why."""
        self.reporter.failed |= self.rough > 0
        if self.rough_row is not None and self.reporter.loud:
            self.progress.clear()
            reading, line, row = self.rough_row
            which = f"1 of {plural(self.rows, 'row')}"
            if self.rough > 1:
                which = f"the first of {self.rough} such rows of {self.rows}"
            self.reporter.say(f"{reading.place}{line}: {self.rough_words[self.options.strict]}, {which}")
            self.reporter.say(self.reporter.explained(row))
        if self.bad and self.reporter.loud:
            self.progress.clear()
            total = self.rows + (self.bad if self.policy == "skip" else 0)
            how = "skipped" if self.policy == "skip" else "marked"
            self.reporter.say(f"{self.name}: {self.bad} of {plural(total, 'row')} bad, {how}")


def worked(item: tuple[Reading, Any]) -> tuple[Reading, Done]:
    """A block that has been worked on, and its table."""
    reading, block = item
    return reading, reading.work(block)


def whole(found: Iterable[tuple[Reading, Done]]) -> Iterator[tuple[Reading, Done]]:
    """All that becomes of blocks: what has been made of each, and the rest of it."""
    for reading, done in found:
        yield reading, done
        for more in done.rest:
            yield reading, more
