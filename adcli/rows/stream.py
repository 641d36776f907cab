"""Rows in, rows with results out, in constant memory: what the verbs do with --data.

The table is cut into blocks; reading, computing and writing overlap, because blocks are worked on in threads that mostly run
outside the interpreter's lock, and results leave in order.
"""
from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any, BinaryIO

from adcli.answers.overlap import overlapped, threads
from adcli.answers.watch import Watch
from adcli.command.options import ResultOptions
from adcli.input.distributions import NORMAL, Spread
from adcli.input.fields import Fault
from adcli.input.points import axes, out_of_range, unknown_name
from adcli.input.spreads import split
from adcli.lang.ir.errors import AdError, plural
from adcli.output.layout import Row
from adcli.output.progress import Progress
from adcli.output.replacing import created
from adcli.output.streams import packed_destination, require_parquet, say, temporary_folder, write_rows
from adcli.output.suffixes import ARRAYS
from adcli.rows.blocks import Work, parquet_tables
from adcli.rows.dialect import dialect
from adcli.rows.rows import Table, members
from adcli.rows.tables import BadTable, Input, blocks, json_items, kind_of, without_mark
from adcli.task.tasks import Task
from adcli.task.verbs import MATRIX_FORMATS


def source(task: Task, options: ResultOptions) -> Input | None:
    """The table that --data names, or piped standard input; None where nothing is piped.

    Standard input counts as piped if it is a pipe, a socket or a file, and has something in it: a terminal or /dev/null (as
    in a cron job) is not asked for rows.
    """
    if options.data is not None:
        refuse(task, options)
        return Input(options.data)
    if options.program == "-" or not piped():
        return None
    found = Input("-")
    return found if found.head else None


def piped() -> bool:
    """Whether standard input is something that rows can come from without being asked for."""
    if sys.stdin is None:
        return False
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except OSError:   # a stream in memory
        return True
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def stream(task: Task, table: Input, options: ResultOptions, watch: Watch) -> int:
    """Write the results for the rows of a table; returns the exit code."""
    refuse(task, options)
    try:
        run = TableRun(task, table, options, watch)
    except BadTable as fault:
        say(fault)
        return 5
    try:
        with packed_destination(options.output) as out:
            run.write(out)
    except BadTable as fault:
        run.progress.clear()
        say(fault)
        return 5
    finally:
        run.progress.clear()
        table.close()
    return watch.conclude(options.strict)


def refuse(task: Task, options: ResultOptions) -> None:
    """AdError for what is known at points only."""
    if task.signature.tensors:
        raise AdError("rows are of scalars, and this program has tensors", help="give points: --at A=@matrix.npy")
    if options.form in MATRIX_FORMATS:
        raise AdError(f"--format {options.form} writes a matrix at a point, not rows",
                      help="give a point with --at, or --format csv")
    options.refuse(["digits"], "needs points (--at POINT)")
    if options.form in ARRAYS:
        raise AdError(f"-o {options.output}: rows are not written as arrays", help="use .parquet, .csv, .tsv or .json")
    if options.form == "text" and options.form_known:
        options.refuse(["only"], "has no effect on --format text")
    if options.form == "parquet":
        options.refuse(["fmt", "hexadecimal"], "has no effect on Parquet, which has numbers, not text")
        require_parquet(options.output)


def standard(name: str, spread: Spread) -> float:
    """The standard uncertainty of an input. AdError where it has a distribution, of which rows know nothing."""
    if spread.kind is not NORMAL:
        raise AdError(f"{name}: rows take standard uncertainties, not distributions",
                      help=f"write {name}={spread.x!r}±{spread.u:.15g}")
    return spread.u


def fixed(task: Task, options: ResultOptions) -> dict[str, float]:
    """The inputs to which --at gives the same value in every row; a spread is the value of the input that stands for it."""
    spread_of = {p.seed: p.name for p in task.free if p.seed}
    given: list[Mapping[str, float]] = []
    for spec in options.at:
        plain, spreads = split(spec) if spread_of else (spec, {})
        for axis in axes(plain, {}):
            if len(axis) != 1:
                raise AdError("with --data, --at gives inputs one value for all rows", help="write --at k=3")
            given.append(axis[0])
        given += [{spread_of.get(name, name): standard(name, spread)} for name, spread in spreads.items()]
    found: dict[str, float] = {}
    known = dict.fromkeys(p.name for p in task.free)
    for name, x in (pair for point in given for pair in point.items()):
        if name not in known:
            raise unknown_name("input", name, list(known))
        if name in found:
            raise AdError(f"'{name}' is given twice")
        found[name] = x
    return found


class TableRun:
    """One table on its way through a program."""

    def __init__(self, task: Task, source: Input, options: ResultOptions, watch: Watch) -> None:
        self.task, self.source, self.options, self.watch = task, source, options, watch
        self.progress = Progress(source.size, shown=not options.quiet and not sys.stdout.isatty())
        self.policy = options.on_error
        self.rows = self.bad = self.rough = 0
        self.first: tuple[int, Row] | None = None
        self.beyond: set[str] = set()
        self.parquet = kind_of(source.path, options.input_format, source.head) == "parquet"
        self.line, self.place = int(not self.parquet), f"{source.name}:"
        self.pieces: Iterator[bytes | None] = iter(())
        known = fixed(task, options)
        self.table = Table(dialect(self._kind(), options, self.parquet), [p for p in task.free if p.name not in known], known)
        if self.parquet:
            self.pieces = self._parquet()
        self.work = Work(task, self.table, options, known)

    def _parquet(self) -> Iterator[bytes | None]:
        if self.source.path == "-":
            raise AdError("Parquet cannot be read from a pipe", help="give it as a file: --data rows.parquet")
        assert self.table.separator is not None
        return iter(parquet_tables(f"{self.source.name}: Parquet").parquet(self.source.path, self.table.separator.decode()))

    def _kind(self) -> str:
        """The kind of the rows. What unpacked text starts with can tell another one than the packed bytes did; JSON that is not
        written in lines is put into lines."""
        if self.parquet:
            return "csv"
        pieces = without_mark(self.source.pieces(), self.source.name)
        start = next((p for p in pieces if p), b"")
        self.pieces = _after(start, pieces)
        kind = kind_of(self.source.path, self.options.input_format, start)
        if kind != "json":
            return kind
        self.place, self.pieces = f"{self.source.name}: item ", json_items(self.pieces, self.source.name)
        return "ndjson"

    def write(self, out: BinaryIO) -> None:
        """Everything, in order."""
        if self.work.form.kind != "parquet":
            self._write(lambda data: write_rows(out, data))
            return
        tables = parquet_tables("Parquet")
        with temporary_folder(self.options.output) as (folder, shown):
            path = os.path.join(folder, "rows.csv")
            with created(path, shown) as rows:
                self._write(rows.write)
            tables.write_parquet(path, shown, out, self.work.form, tables.parquet_types(self.source.path) if self.parquet else {})

    def _write(self, put: Callable[[bytes], object]) -> None:
        found = blocks(self.pieces, self.table.separator, self.source.name, self.work.block)
        if self.table.separator is not None:
            found = self._first_row(found)
        elif self.work.form.closed:
            found = self._first_object(found)
        if head := self.work.form.header():
            put(head)
        for done in overlapped(self.work, found, threads(self.options.jobs)):
            if self.work.form.kind == "text" and self.rows and done.data:
                done.data = b"\n" + done.data
            if done.data:
                put(done.data)
            self.rows += done.rows
            self.rough += done.rough
            if self.first is None and done.first is not None:
                line, row = done.first
                self.first = self.line + line, row
            self._remark(done.outside)
            for line, fault in done.faults:
                self._tell(self.line + line, fault)
            self.line += done.lines
            self.progress.update(self.rows, self.source.taken)
        self._sum_up()

    def _first_row(self, found: Iterator[bytes | None]) -> Iterator[bytes | None]:
        """Find the columns in the first row that is not blank; the blocks of the rows that are left."""
        for block in filter(None, found):
            for text, line in self.table.split(block):
                try:
                    header = self.table.take_first(text)
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

    def _tell(self, line: int, fault: Fault) -> None:
        """What a bad row means: the end, or a message and a count."""
        message = f"{self.place}{line}: {fault.reason}"
        if self.policy == "stop":
            help = f"\nhelp: {fault.help}" if fault.help else ""
            raise BadTable(f"{message}{help}\n{self.source.name}: 1 bad row, after {plural(self.rows, 'good row')};"
                           " --on-error skip or mark continues")
        self.bad += 1
        if self.bad <= Watch.MOST and self.watch.loud:
            self.progress.clear()
            self.watch.say(message)

    def _remark(self, outside: Mapping[str, float]) -> None:
        """Say once of each input that it leaves the range it was declared with."""
        for p in self.task.free:
            if p.name in outside and p.name not in self.beyond:
                self.beyond.add(p.name)
                self.watch.say(out_of_range(p, outside[p.name], self.task.signature.source))

    def _sum_up(self) -> None:
        """Say how many rows were bad and, where --strict asks, which was the first that is not smooth or not finite, and why."""
        self.watch.failed |= self.rough > 0
        if self.first is not None and self.watch.loud:
            self.progress.clear()
            line, row = self.first
            which = f"1 of {plural(self.rows, 'row')}"
            if self.rough > 1:
                which = f"the first of {self.rough} such rows of {self.rows}"
            self.watch.say(f"{self.place}{line}: not smooth or not finite, {which}")
            self.watch.say(self.watch.explained(row))
        if self.bad and self.watch.loud:
            self.progress.clear()
            total = self.rows + (self.bad if self.policy == "skip" else 0)
            how = "skipped" if self.policy == "skip" else "marked"
            self.watch.say(f"{self.source.name}: {self.bad} of {plural(total, 'row')} bad, {how}")


def _after(one: Any, rest: Iterator[Any]) -> Iterator[Any]:
    if one:
        yield one
    yield from rest
