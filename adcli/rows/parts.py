"""Parts of the input that are worked on by themselves: how files are cut into them, what their results are called, and what is
done with one, which needs nothing but the part and the job, so that another machine can do it.
"""
from __future__ import annotations

import json
import os
import pickle
import threading
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from typing import Any, NamedTuple

from adcli.answers.reporter import Reporter
from adcli.codegen.machine.cache import own_content
from adcli.input.settings import ResultOptions
from adcli.lang.ir import Values
from adcli.lang.ir.errors import AdError, missing
from adcli.output import suffixes
from adcli.output.remote import RemoteFile, is_url, shown
from adcli.output.streams import packed_destination
from adcli.rows import manifest
from adcli.rows.stream import TableRun, same_in_all
from adcli.rows.sum_run import SumRun
from adcli.rows.sums import Sums
from adcli.tables.sources import Location
from adcli.tables.streams import SUFFIXES, BadTable, Input, kind_of
from adcli.task.request import Request
from adcli.task.tasks import Task, prepared

FORM_SUFFIXES = {"csv": ".csv", "tsv": ".tsv", "json": ".ndjson", "parquet": ".parquet", "npz": ".npz", "text": ".ad"}
INDIFFERENT = ("verb", "typed", "program", "expressions", "form_known", "output", "quiet", "explain", "data", "jobs", "no_cache",
               "tier", "resume", "engine", "retries", "at", "tangent", "cotangent")
"""Options that no result depends on, or that are told apart by what they mean."""
LONG_VALUE = 100
"""Characters of a value that the manifest shows."""
SPELLED = {"form": "--format", "hexadecimal": "--hex"}


class RowGroup(NamedTuple):
    """A row group of a Parquet file: its number, and its rows in the file."""

    number: int
    start: int
    rows: int


@dataclass(frozen=True)
class PartLocation(Location):
    """A file at an absolute path, or one row group of it; the user calls the file `source`."""

    source: str = ""
    group: RowGroup | None = None

    @property
    def name(self) -> str:
        return self.source + (f": row group {self.group.number}" if self.group else "")

    def opened(self) -> Input:
        found = super().opened()
        found.name = self.source
        found.rows = self.group and (self.group.start, self.group.rows)
        return found


@dataclass(frozen=True)
class Part:
    """The `number`-th of all parts: what is read, about how many bytes that are, and what the file of its results is called in
    the folder of all results."""

    number: int
    piece: PartLocation
    size: int
    file: str | None = None

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self.piece.name


@dataclass(frozen=True, eq=False)
class Job:
    """The work on every part, which travels to other machines: the request and the options, and no code. `known` are
    the inputs that have one value for all rows; `folder` is where results go that are files; `code` is the digest of the adcli
    that asks."""

    request: Request
    seeds: Values
    known: Values
    options: ResultOptions
    folder: str | None
    code: str = field(default_factory=own_content)


@dataclass(slots=True)
class Outcome:
    """The outcome of a part: how many rows were written, how many bad, and whether --strict fails; what there is to say of
    it, and of inputs that leave their range a value that does; its `result`, as the manifest has it: the hash of its file, or
    its sums. Or the fault that has ended it, with `final` where it is one that ends the run."""

    part: Part
    rows: int = 0
    bad: int = 0
    failed: bool = False
    said: list[str] = field(default_factory=list)
    outside: Mapping[str, float] = field(default_factory=dict)
    result: Values = field(default_factory=dict)
    fault: str | None = None
    final: bool = False

    @property
    def entry(self) -> dict[str, Any]:
        """Its entry of the manifest."""
        piece = self.part.piece
        group = {"row_group": piece.group.number} if piece.group else {}
        return {"part": self.part.number, "source": piece.source, **group, "rows": self.rows, "bad_rows": self.bad,
                "strict": self.failed, **self.result}


class OtherCode(Exception):
    """Another adcli is to do the work than the one that asked for it."""


# ---------------------------------------------------------------- what there is to do

def job(task: Task, options: ResultOptions, folder: str | None) -> Job:
    """The job for every part. Values that --at gives are read here, so that no other machine needs their files."""
    own = {f.name: getattr(options, f.name) for f in fields(ResultOptions)}   # a verb's further options are in the request
    return Job(task.request, task.seeds, same_in_all(task, options), ResultOptions(**{**own, "at": (), "quiet": True}),
               folder and os.path.abspath(folder))


def asked(job: Job, sources: Sequence[Location]) -> dict[str, Any]:
    """Everything that results depend on, for the manifest."""
    defaults = ResultOptions(verb="")
    request = [getattr(job.request, name) for name in job.request._fields if name not in ("verb", "source")]
    said = {SPELLED.get(f.name, "--" + f.name.replace("_", "-")): getattr(job.options, f.name) for f in fields(ResultOptions)
            if f.name not in INDIFFERENT and getattr(job.options, f.name) != getattr(defaults, f.name)}
    said |= {SPELLED["form"]: job.options.form} if job.options.form_known else {}   # text is written where it is asked for
    program = sha256(job.request.source.text.encode()).hexdigest()
    read = [{"source": s.name, "size": s.size, "stamp": s.stamp} for s in sources]
    return {"code": job.code[:16], "verb": job.request.verb, "program": program, **said,
            "--at": [f"{name}={digest(x)}" for name, x in job.known.items()] or None,
            "direction": [f"{name}={digest(x)}" for name, x in job.seeds.items()], "request": repr(request), "sources": read}


def digest(x: Any) -> str:
    """A value as it is written; a tensor of many elements, or of none, by its shape and its hash."""
    if isinstance(x, float | int):
        return repr(x)
    if 0 < x.size <= LONG_VALUE and len(text := repr(x.tolist()).replace(" ", "")) <= LONG_VALUE:
        return text
    return f"{'x'.join(map(str, x.shape))}:{x.dtype.str}:{sha256(x.tobytes()).hexdigest()}"


def parts(found: Sequence[Location], options: ResultOptions, into_files: bool) -> list[Part]:
    """The parts of some tables, in order. `into_files` gives each a file of its own."""
    made: list[Part] = []
    for location in found:
        if location.path == "-" or (location.size is None and not is_url(location.path)):
            raise AdError(f"{location.name}: only files can be read in parts", help="give files: --data FILE")
        path = location.path if is_url(location.path) else os.path.abspath(location.path)
        groups = row_groups(location) if is_parquet(location, options) else [None]
        rows, size = sum(g.rows for g in groups if g), location.size or 0
        for g in groups:
            share = size * g.rows // max(1, rows) if g else size
            made.append(Part(len(made), PartLocation(path, share, source=location.name, group=g), share))
    if not into_files:
        return made
    return [replace(part, file=file) for part, file in zip(made, file_names(made, options), strict=True)]


def is_parquet(location: Location, options: ResultOptions) -> bool:
    """True if a table is Parquet. It is opened only where its name does not say so."""
    kind = options.input_format or location.kind
    if kind is None:
        table = location.opened()
        table.close()
        kind = kind_of(location.path, None, table.head)
    return kind == "parquet"


def row_groups(location: Location) -> list[RowGroup | None]:
    """The row groups of a Parquet file; None, for the whole of it, where there is one at most."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError:
        raise missing("Parquet in parts", "pyarrow") from None
    try:
        with ParquetFile(RemoteFile(location.path, anywhere=True) if is_url(location.path) else location.path) as file:
            counts = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    except (ArrowException, OSError) as error:
        raise AdError(f"{location.name}: {str(error).splitlines()[0]}") from None
    found: list[RowGroup | None] = []
    start = 0
    for i, rows in enumerate(counts):
        found.append(RowGroup(i, start, rows))
        start += rows
    return found if len(found) > 1 else [None]


def file_names(parts: Sequence[Part], options: ResultOptions) -> list[str]:
    """Names for the results of parts: as their files, in folders as far as these differ, with the number of the row group
    and, where another format is asked for, its suffix. A name that is taken gets a number, and a URL keeps its secrets."""
    paths = [shown(part.piece.path) if is_url(part.piece.path) else part.piece.path for part in parts]
    folders = [path.split("/")[:-1] for path in paths]
    top = next((i for i, names in enumerate(zip(*folders, strict=False)) if len(set(names)) > 1), min(map(len, folders)))
    taken: set[str] = set()
    found = []
    for part, path, folder in zip(parts, paths, folders, strict=True):
        stem, suffix = split(path.rpartition("/")[2])
        if options.form_known:
            packing = os.path.splitext(suffix)[1]
            packed = packing.lower() in suffixes.PACKED and options.form != "parquet"
            suffix = FORM_SUFFIXES[options.form] + packing * packed
        stem += f"-{part.piece.group.number:05}" if part.piece.group else ""
        stem = "/".join([*folder[top:], stem])
        name, number = stem + suffix, 1
        while name.casefold() in taken or name in (manifest.NAME, manifest.JOURNAL):
            number += 1
            name = f"{stem}-{number}{suffix}"
        taken.add(name.casefold())
        found.append(name)
    return found


def split(base: str) -> tuple[str, str]:
    """The name of a file without the suffixes that tell its format and its packing, and these."""
    stem, suffix = os.path.splitext(base)
    packing = ""
    if suffix.lower() in suffixes.PACKED:
        packing = suffix
        stem, suffix = os.path.splitext(stem)
    if suffix.lower() not in SUFFIXES:
        stem, suffix = stem + suffix, ""
    return stem, suffix + packing


# ---------------------------------------------------------------- one part

class Heard(Reporter):
    """Remarks on a part, kept until its turn comes."""

    def __init__(self, task: Task, options: ResultOptions) -> None:
        super().__init__(task, options)
        self.loud = True
        self.said: list[str] = []
        self.found: Mapping[str, float] = {}

    def say(self, remark: object) -> None:
        self.said.append(str(remark))

    def outside(self, found: Mapping[str, float]) -> None:
        """Kept for who sees all parts, and says it once."""
        self.found = {**found, **self.found}


def result(run: TableRun) -> dict[str, Any]:
    """Go through a part, whose rows are added up or written to a file of their own; what the manifest has of it."""
    if isinstance(run, SumRun):
        return {"sums": packed(run.summed()), "separator": run.form.separator.decode(), "comma": run.form.comma}
    path = str(run.options.output)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with packed_destination(path, run.options.document) as out:
        run.write(out)
    return {"sha256": manifest.sha256(path)}


def packed(sums: Sums) -> str:
    """Sums as a text: those of all parts are held until all are there, and a network has millions."""
    return b64encode(zlib.compress(json.dumps(sums.packed()).encode(), 1)).decode()


def unpacked(text: str) -> Sums:
    """The inverse of `packed`."""
    return Sums.unpacked(json.loads(zlib.decompress(b64decode(text))))


def done(job: Job, part: Part, task: Task | None = None, progress: Any = None) -> Outcome:
    """Do what a job asks of a part. A fault of the input is an outcome; what else goes wrong may go well at another time or in
    another place, and is raised."""
    task = task or task_of(job)
    reporter = Heard(task, job.options)
    run: TableRun | None = None
    try:
        kind = SumRun if job.options.summed else TableRun
        run = kind(task, [part.piece], part_options(job, part), reporter, job.known)
        run.progress = progress or run.progress
        found = result(run)
    except BadTable as fault:
        return Outcome(part, said=reporter.said, fault=str(fault), final=job.options.on_error == "stop")
    except AdError as fault:
        return Outcome(part, said=reporter.said, fault=str(fault))
    finally:
        if run:
            run.close()
    file = {"file": part.file} if part.file else {}
    return Outcome(part, run.rows, run.bad, reporter.failed, reporter.said, reporter.found, {**file, **found})


def part_options(job: Job, part: Part) -> ResultOptions:
    """The options for one part. The name of its file decides the format, where nothing else does."""
    if job.folder is None or part.file is None:
        return job.options
    options = replace(job.options, output=os.path.join(job.folder, part.file))
    form = None if options.form_known else suffixes.FORMATS.get(suffixes.split(options.output)[0])
    return replace(options, form=form, form_known=True) if form in FORM_SUFFIXES else options


PREPARING = threading.Lock()
"""Held while a task is compiled: LLVM is no place for two threads, and one of them would do the same work."""
TASKS: dict[tuple[str, bytes], Task] = {}
TASKS_KEPT = 8


def task_of(job: Job) -> Task:
    """The task of a job that has come from another process, compiled once. OtherCode where it has come from another adcli."""
    if job.code != own_content():
        raise OtherCode
    with PREPARING:
        key = job.request.key(), pickle.dumps(job.seeds)
        if key not in TASKS:
            while len(TASKS) >= TASKS_KEPT:
                del TASKS[next(iter(TASKS))]
            TASKS[key] = replace(prepared(job.request, job.options), seeds=job.seeds)
            compile_ahead(TASKS[key], job.options)
        return TASKS[key]


def compile_ahead(task: Task, options: ResultOptions) -> None:
    """Compile what all rows need."""
    if task.signature.tensors:
        from adcli.rows.tensor_rows import RowResults
        RowResults.of(task, options.jobs, options.quiet)
    else:
        _ = task.kernel
