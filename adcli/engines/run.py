"""The loop over the parts of a table: what is done stands in the manifest, what is to be said is said in order, and what fails is
named with the rest finished.

An executor is given the job and the parts that are left, and gives what has become of each, in any order. The one here
works on them one after the other in this process.
"""
from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import partial
from importlib import import_module

from adcli.answers.reporter import Reporter
from adcli.input.settings import ResultOptions
from adcli.lang.ir.errors import AdError, one_line, plural
from adcli.output.remote import is_url
from adcli.output.streams import Progress, packed_destination, require_parquet, say
from adcli.rows.manifest import DoneParts, Entry, Manifest
from adcli.rows.parts import Job, Outcome, Part, asked, compile_ahead, done, job, parts, unpacked
from adcli.rows.stream import tables
from adcli.rows.sum_run import require_rows
from adcli.rows.summing import SumReport, other_shapes
from adcli.rows.sums import OtherShapes, Sums
from adcli.tables.streams import BadTable
from adcli.task.rules import require_fit
from adcli.task.tasks import Task

ENGINES = {"dask": "adcli.engines.dask_cluster"}
"""Engines with the modules that know them."""
MOST_SAID = 20
"""Messages from parts, and parts that failed, that are said one by one."""
Executor = Callable[[Job, Sequence[Part], "PartsBar"], Generator[Outcome]]


def run(task: Task, options: ResultOptions, reporter: Reporter) -> int:
    """Write the results for the rows of files, part by part, or their sums; returns the exit code."""
    if options.resume and options.output in (None, "-"):
        raise AdError("--resume goes on with what a run has written, and needs -o",
                      help="write -o FILE" if options.summed else "write -o DIR/, a file for each part")
    if is_url(options.output or "") and (options.resume or not options.summed):
        raise AdError(f"-o {options.output}: parts are kept in a folder of this machine",
                      help="leave out --resume" if options.summed else "write -o DIR/")
    if options.summed and options.into_folder:
        raise AdError(f"-o {options.output}: sums are one result, not one for each part", help="write -o FILE")
    if not (options.summed or options.into_folder):
        raise AdError("rows in parts are written to a folder, a file for each part", help="write -o DIR/")
    found = tables(task, options)
    executor = chosen(task, options)
    nowhere = options.output in (None, "-") or is_url(options.output or "")
    folder = None if nowhere else f"{options.output}.parts" if options.summed else options.output
    work = job(task, options, None if options.summed else folder)
    todo = parts(found, options, into_files=not options.summed)
    if any(part.file and part.file.endswith((".parquet", ".pq")) for part in todo):
        require_parquet(options.output)
    kept = DoneParts()
    try:
        if folder is not None:
            kept = manifest = Manifest(folder, asked(work, found), options.output if options.summed else None)
            manifest.begin(options.resume, [part.file for part in todo if part.file])
        return PartsRun(task, work, todo, kept, reporter, options).all_done(executor)
    finally:
        kept.close()


def chosen(task: Task, options: ResultOptions) -> Executor:
    """The executor that --engine names; this process where it names none."""
    if options.engine is None:
        require_fit(options, "this process")
        return partial(in_turn, task)
    name, equals, where = options.engine.partition("=")
    if name not in ENGINES:
        from adcli.lang.ir.errors import unknown
        raise unknown("engine", name, ENGINES)
    if equals and not where.strip():
        raise AdError(f"--engine {options.engine} names no address", help=f"for this machine write --engine {name}")
    compile_ahead(task, options)   # once, for all workers that share the cache
    executor: Executor = import_module(ENGINES[name]).executor(where or None, options)
    return executor


def in_turn(task: Task, work: Job, todo: Sequence[Part], bar: PartsBar) -> Generator[Outcome]:
    """Outcomes of parts, one after the other in this process."""
    for part in todo:
        try:
            yield done(work, part, task, bar)
        except OSError as error:
            if error.filename != part.piece.path:
                raise
            yield Outcome(part, fault=f"{one_line(part.piece.source)}: {error.strerror}")


class PartsRun:
    """A run over parts: what is done, and what has been said of it."""

    def __init__(self, task: Task, work: Job, parts: Sequence[Part], kept: DoneParts, reporter: Reporter,
                 options: ResultOptions) -> None:
        self.task, self.job, self.parts, self.kept, self.reporter, self.options = task, work, parts, kept, reporter, options
        self.todo = [part for part in parts if part.number not in kept.done]
        self.said = 0
        self.failed: list[Outcome] = []
        self.bar = PartsBar(self.todo, shown=not options.quiet)

    def all_done(self, executor: Executor) -> int:
        """Do what is left to do; returns the exit code."""
        try:
            if held := len(self.parts) - len(self.todo):
                self.reporter.say(f"{self._name}: {plural(held, 'part')} of {len(self.parts)} done already")
            if self.todo:
                self._work(executor)
            self.bar.clear()
            self._sum_up()
            if self.failed:
                return 5
            if self.options.summed:
                self._write_sums()
        except BadTable as fault:
            self.bar.clear()
            say(fault)
            return 5
        finally:
            self.bar.clear()
        self.kept.finish()
        return self.reporter.conclude()

    def _write_sums(self) -> None:
        """Add up what the parts have added up, in their order."""
        entries = self.kept.in_order()
        total = added(entries)
        require_rows(self._name, total)
        first = entries[0]
        report = SumReport(self.task, self.options, total, first["separator"], first["comma"], self.reporter)
        with packed_destination(self.options.output, self.options.document and bool(report.names.groups)) as out:
            report.write(out)

    @property
    def _name(self) -> str:
        """Name of the run in messages."""
        return one_line(self.options.output or "the sum")

    def _work(self, executor: Executor) -> None:
        """Every part, and what there is to say of them in their order, however they come."""
        turn = {part.number: i for i, part in enumerate(self.todo)}
        early: dict[int, Outcome] = {}
        next_turn = 0
        with closing(executor(self.job, self.todo, self.bar)) as outcomes:
            for outcome in outcomes:
                if outcome.fault is None:
                    self._check(outcome)
                    self.kept.add(outcome.entry)
                elif outcome.final:
                    raise BadTable("\n".join([*outcome.said, outcome.fault]))
                early[turn[outcome.part.number]] = outcome
                self.bar.done(outcome)
                while next_turn in early:
                    self._tell(early.pop(next_turn))
                    next_turn += 1

    def _check(self, outcome: Outcome) -> None:
        """AdError where what a worker has written is not here."""
        if outcome.part.file is None:
            return
        path = os.path.join(str(self.job.folder), outcome.part.file)
        for pause in (0.0, 0.5, 2.0):   # a network's file system may show it a little later
            time.sleep(pause)
            if os.path.exists(path):
                return
        raise AdError(f"{self._name}: a worker has written {outcome.part.file}, which is not here",
                      help="-o must be a folder that all workers share")

    def _tell(self, outcome: Outcome) -> None:
        """Say what there is to say of a part."""
        if outcome.fault is not None:
            self.failed.append(outcome)
        if outcome.outside and self.reporter.loud:
            self.bar.clear()
        self.reporter.outside(outcome.outside)
        for message in outcome.said:
            self.said += 1
            if self.said <= MOST_SAID:
                self._say(message)

    def _say(self, message: object) -> None:
        if self.reporter.loud:
            self.bar.clear()
            self.reporter.say(message)

    def _sum_up(self) -> None:
        """Say how much was not said, how many rows were bad, and which parts failed."""
        if self.said > MOST_SAID:
            self._say(f"note: {self.said - MOST_SAID} more messages; the manifest has the bad rows of every part")
        entries = self.kept.done.values()
        self.reporter.failed |= any(entry["strict"] for entry in entries)
        if bad := sum(entry["bad_rows"] for entry in entries):
            skipped = self.options.on_error == "skip"
            total = sum(entry["rows"] for entry in entries) + bad * skipped
            self._say(f"{self._name}: {bad} of {plural(total, 'row')} bad, {'skipped' if skipped else 'marked'}")
        for outcome in self.failed[:MOST_SAID]:
            say(outcome.fault)
        if self.failed:
            more = f", {MOST_SAID} of them named" if len(self.failed) > MOST_SAID else ""
            again = "; --resume tries them again" if self.options.output not in (None, "-") else ""
            say(f"{self._name}: {plural(len(self.failed), 'part')} of {len(self.parts)} failed{more}, the rest is done{again}")


def added(entries: Sequence[Entry]) -> Sums:
    """The sums of parts, with the shapes of the first part that has rows. BadTable where another one has other shapes."""
    total = Sums()
    for entry in entries:
        try:
            total.merge(unpacked(entry["sums"]))
        except OtherShapes as fault:
            raise BadTable(f"{one_line(entry['source'])}: {other_shapes(fault)}") from None
    return total


class PartsBar:
    """How far a run over parts has come: rows, parts, workers; bytes for the time that is left."""

    def __init__(self, parts: Sequence[Part], shown: bool) -> None:
        self.progress = Progress(sum(part.size for part in parts), shown=shown)
        self.parts, self.count, self.rows, self.bytes, self.workers = len(parts), 0, 0, 0, 0

    def update(self, rows: int, taken: int) -> None:
        """Of the part that is under way in this process."""
        self.progress.update(self.rows + rows, self.bytes + taken, self._said)

    def wait(self, workers: int) -> None:
        self.workers = workers
        self.progress.update(self.rows, self.bytes, self._said)

    def done(self, outcome: Outcome) -> None:
        self.rows += outcome.rows
        self.bytes += outcome.part.size
        self.count += 1
        self.progress.update(self.rows, self.bytes, self._said)

    @property
    def _said(self) -> str:
        workers = f", {plural(self.workers, 'worker')}" if self.workers else ""
        return f", {self.count} of {plural(self.parts, 'part')}{workers}"

    def clear(self) -> None:
        self.progress.clear()
