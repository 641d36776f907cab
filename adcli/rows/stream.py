"""Rows in, rows with results out, in constant memory: what the verbs do with --data.

The table is cut into blocks; reading, computing and writing overlap, because blocks are worked on in threads that mostly run
outside the interpreter's lock, and results leave in order.
"""
from __future__ import annotations

import os
import stat
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any, BinaryIO

from adcli.answers.watch import Watch
from adcli.command.options import ResultOptions
from adcli.input.fields import Fault
from adcli.input.points import out_of_range
from adcli.lang.ir.errors import AdError, plural
from adcli.output.progress import Progress
from adcli.output.streams import destination, say, write_rows
from adcli.rows.blocks import Done, Work, fast_tables
from adcli.rows.rows import Table
from adcli.rows.tables import BadTable, Input, blocks, kind_of, without_mark
from adcli.task.tasks import Task
from adcli.task.verbs import MATRIX_FORMATS


def source(task: Task, options: ResultOptions) -> Input | None:
    """The table that --data names, or piped standard input; None where nothing is piped.

    Standard input counts as piped if it is a pipe, a socket or a file, and has something in it: a terminal or /dev/null (as
    in a cron job) is not asked for rows.
    """
    if options.data is not None:
        refuse(task, options)
        options.refuse(["at"], "and --data cannot be used together")
        if options.data == "-" == options.program:
            raise AdError("the program and --data cannot both be standard input")
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
    run = TableRun(task, table, options, watch)
    try:
        with destination(options.output) as out:
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


class TableRun:
    """One table on its way through a program."""

    def __init__(self, task: Task, source: Input, options: ResultOptions, watch: Watch) -> None:
        self.task, self.source, self.options, self.watch = task, source, options, watch
        self.progress = Progress(source.size, shown=not options.quiet and not sys.stdout.isatty())
        self.policy = options.on_error
        self.rows = self.bad = 0
        kind = kind_of(source.path, options.input_format, source.head)
        self.line = 0 if kind == "parquet" else 1
        self.beyond: set[str] = set()
        self.pieces = self._parquet() if kind == "parquet" else without_mark(source.pieces(), source.name)
        self._look(options.input_format, kind)
        self.table = Table(self.kind, task.free, options.missing)

    def _parquet(self) -> Iterator[bytes | None]:
        if self.source.path == "-":
            raise AdError("Parquet cannot be read from a pipe", help="give it as a file: --data rows.parquet")
        fast = fast_tables()
        if fast is None:
            raise AdError(f"{self.source.name}: Parquet needs polars", help="pip install 'adcli[data]'")
        return iter(fast.parquet(self.source.path))

    def _look(self, asked: str | None, kind: str) -> None:
        """What unpacked text starts with can tell another kind than the packed bytes did."""
        start = next((p for p in self.pieces if p), b"")
        self.pieces = _after(start, self.pieces)
        self.kind = "csv" if kind == "parquet" else kind_of(self.source.path, asked, start)

    def write(self, out: BinaryIO) -> None:
        """Everything, in order."""
        found = blocks(self.pieces, self.table.separator, self.source.name)
        work = Work(self.task, self.table, self.options)
        if self.table.separator is not None:
            found = self._header(found, work)
        head = work.form.header()
        if head:
            write_rows(out, head)
        for done in overlapped(work, found, self.threads):
            if work.form.kind == "text" and self.rows and done.data:
                done.data = b"\n" + done.data
            if done.data:
                write_rows(out, done.data)
            self.rows += done.rows
            self.watch.failed |= done.failed
            self._remark(done.outside)
            for line, fault in done.faults:
                self._tell(self.line + line, fault)
            self.line += done.lines
            self.progress.update(self.rows, self.source.taken)
        self._sum_up()

    @property
    def threads(self) -> int:
        """The interpreter's lock makes more than one useless without polars."""
        return max(1, self.options.jobs or min(8, os.cpu_count() or 1)) if find_spec("polars") else 1

    def _header(self, found: Iterator[bytes | None], work: Work) -> Iterator[bytes | None]:
        """Take the first row that is not blank as the header; the blocks of the rows after it."""
        for block in filter(None, found):
            for text, line in self.table.split(block):
                try:
                    self.table.take_header(text, work.new)
                except Fault as fault:
                    raise BadTable(f"{self.source.name}:{self.line + line}: {fault.reason}", fault.help) from None
                return _after(self._rest(block, line), found)
            self.line += block.count(b"\n")
        raise BadTable(f"{self.source.name}:1: the table is empty: no header")

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
        message = f"{self.source.name}:{line}: {fault.reason}"
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
        for p in self.table.inputs:
            if p.name in outside and p.name not in self.beyond:
                self.beyond.add(p.name)
                self.watch.say(out_of_range(p, outside[p.name], self.task.signature.source))

    def _sum_up(self) -> None:
        if self.bad and self.watch.loud:
            self.progress.clear()
            total = self.rows + (self.bad if self.policy == "skip" else 0)
            how = "skipped" if self.policy == "skip" else "marked"
            self.watch.say(f"{self.source.name}: {self.bad} of {plural(total, 'row')} bad, {how}")


def overlapped(work: Callable[[bytes], Done], found: Iterator[bytes | None], threads: int) -> Iterator[Done]:
    """The blocks worked on, in order, a few at a time. All that is under way comes out before the input is waited for."""
    pool = ThreadPoolExecutor(threads)
    pending: deque[Future[Done]] = deque()
    try:
        for block in found:
            if block is not None:
                pending.append(pool.submit(work, block))
            while pending and (block is None or len(pending) > threads):
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _after(one: Any, rest: Iterator[Any]) -> Iterator[Any]:
    if one:
        yield one
    yield from rest
