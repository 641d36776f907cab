"""Many points of scalars: grids made, computed and written in arrays, block by block. The bytes are those of the way that goes
point by point (`adcli.output.report`), which is the definition; this one may only be faster. Every point is the same text with
other numbers in it, made once by the code that writes one point, with marks where the numbers are."""
from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import BinaryIO, NamedTuple

import numpy as np

from adcli.answers.evaluation import points_at_once, require_singles
from adcli.answers.overlap import overlapped, threads
from adcli.answers.reporter import Reporter
from adcli.codegen.machine.arrays import of_doubles, run_arrays
from adcli.codegen.machine.kernel import Kernel, NoExecutableMemory
from adcli.codegen.machine.memory import require_room
from adcli.codegen.texts.writing import Column, NumberSpelling, WordColumn, filled, writer
from adcli.input.points import Axis, GridRange, Grids, combined, complete, shapes
from adcli.input.settings import ResultOptions
from adcli.lang.ir import LEVELS, Param, Values
from adcli.output.layout import Layout, Row
from adcli.output.numbers import SHORTEST, Number, as_spelled, json_number, json_text
from adcli.output.report import csv_text, json_record
from adcli.task.tasks import Task

MARK = re.compile(r"<(\d+)>")
BLOCK = 1 << 15
"""Points of a block, at most."""

WORD = 8
"""Bytes that the status of a point takes, a word that all share."""
STREAMS = "write CSV or JSON, which takes any number of points: -o FILE.csv"

Columns = dict[str, np.ndarray]


class Computed(NamedTuple):
    """A block of points with its results, a column each: all inputs in order, then all results; the levels of status; the text
    that is to be written, if it is text."""

    at: Columns
    results: Sequence[np.ndarray]
    levels: np.ndarray
    text: bytes


def computed(task: Task, points: Grids, reporter: Reporter, write: Callable[[Computed], bytes]) -> Iterator[Computed]:
    """The blocks, in order, with the text that `write` makes of each; watched when they have been used."""
    order, kernel = [p.name for p in task.signature.inputs], of_doubles(task.kernel)

    def work(at: Columns) -> Computed:
        rows = len(next(iter(at.values()))) if at else 1
        full = {name: at[name] if name in at else np.full(rows, task.seeds[name]) for name in order}
        if task.request.precision == "single":
            require_singles({name: [float(c.min(initial=0.0)), float(c.max(initial=0.0))] for name, c in full.items()})
        *results, levels = run_arrays(kernel, list(full.values()), rows)
        found = Computed(full, results, levels.astype(np.int64), b"")
        return found._replace(text=write(found))

    size = points_at_once(len(order) + len(task.signature.results), BLOCK)
    for found in overlapped(work, blocks(task.free, points, size), threads(None)):
        reporter.outside_block(found.at)
        yield found
        reporter.over_block(found.at, found.results, found.levels)


def blocks(params: Sequence[Param], points: Grids, size: int) -> Iterator[Columns]:
    """The columns of all inputs, in blocks of `size` points."""
    for grid in points.grids:
        for columns in columns_of(grid, size):
            rows = len(next(iter(columns.values()))) if columns else 1
            whole = complete(params, {name: c for name, c in columns.items() if name not in points.spare})
            yield {name: x if isinstance(x, np.ndarray) else np.full(rows, x) for name, x in whole.items()}


def columns_of(grid: Sequence[Axis], size: int) -> Iterator[Columns]:
    """The points of a grid, those of a file that do not all name the same inputs one by one."""
    total = math.prod(map(len, grid))
    if any(len(shapes(axis)) > 1 for axis in grid):
        yield from ({name: np.array([x]) for name, x in point.items()} for point in combined(grid))
        return
    for start in range(0, total, size):
        number, columns = np.arange(start, min(total, start + size)), {}
        for axis in reversed(grid):
            number, index = np.divmod(number, len(axis))
            columns.update(values(axis, index))
        yield columns


def values(axis: Axis, index: np.ndarray) -> Columns:
    """The values along one axis at these places."""
    if isinstance(axis, GridRange):
        return {axis.name: axis.values(index)}
    return {name: np.array([point[name] for point in axis])[index] for name in axis[0]}


# ---------------------------------------------------------------- what is written

def text(task: Task, points: Grids, options: ResultOptions, reporter: Reporter, number: Number, headed: bool) -> Iterator[bytes]:
    """The blocks as text, JSON, CSV or TSV."""
    shape = lines(task.layout(options.status), options.form, number, headed, not options.no_cache)
    yield shape.header
    first = len(shape.between)
    for found in computed(task, points, reporter, lambda block: piece(shape, block)):
        yield found.text[first:]
        first = 0


def piece(shape: PointTemplate, block: Computed) -> bytes:
    return shape.filled([*block.at.values(), *block.results], block.levels if shape.status else None)


def arrays(task: Task, points: Grids, options: ResultOptions, reporter: Reporter) -> tuple[Columns, list[str] | None]:
    """All inputs and results by name, and the words of the status where it is shown. AdError where memory does not hold them."""
    layout, count = task.layout(options.status), points.points
    names = [*layout.inputs, *layout.seeds, *layout.results]
    size = 8 * len(names) + WORD * options.status
    require_room(f"a file of {len(names):,} × {count:,} numbers",
                 size * count * (2 if options.form == "parquet" else 1), STREAMS)
    whole, words = {name: np.empty(count, task.kernel.entry.code) for name in names}, list[str]()
    done = 0
    for block in computed(task, points, reporter, lambda block: b""):
        end = done + len(block.levels)
        for column, part in zip(whole.values(), [*block.at.values(), *block.results], strict=True):
            column[done:end] = part
        words += [LEVELS[i] for i in block.levels.tolist()] if options.status else []
        done = end
    return whole, words if options.status else None


def write_binary(out: BinaryIO, form: str, layout: Layout, found: Values, words: list[str] | None, one: bool) -> None:
    """Inputs and results as a Parquet file or as arrays; of `one` point the arrays are numbers."""
    if form == "parquet":
        from adcli.output.frames import write_frame
        write_frame(out, {**found, **({layout.status: words} if layout.status and words is not None else {})})
        return
    from adcli.output.tensors import require_one, write_npy, write_npz
    given = {name: x.reshape(()) if one else x for name, x in found.items()}
    if form == "npy":
        require_one(layout, "an .npy file")
        write_npy(out, given[layout.names[0]])
    else:
        write_npz(out, given.items())


# ---------------------------------------------------------------- the text of one point, with marks where numbers are

@dataclass(frozen=True)
class PointTemplate:
    """`pieces` stand around the numbers of a point, which `spelled` writes, and the word of the status, if there is one;
    `numbers` are the places of these among inputs and results, and `number` is how each is written; `between` stands before
    every point but the first. `keep`: code that writes points may come from the compile cache and go there."""

    header: bytes
    between: str
    pieces: tuple[str, ...]
    numbers: tuple[int, ...]
    spelled: Callable[[float], str]
    number: Number
    plain: bool
    status: bool
    keep: bool

    @cached_property
    def native(self) -> Kernel | None:
        """Native code, where numbers are written as it does and the system runs it, with memory left to make it."""
        with suppress(NoExecutableMemory, ImportError, MemoryError):
            return writer(self.keep) if self.plain else None
        return None

    def filled(self, columns: Sequence[np.ndarray], levels: np.ndarray | None) -> bytes:
        """The text of many points, the last line ended; `columns` are the inputs and the results, `levels` those of the status
        where it is shown."""
        columns = as_spelled([columns[i] for i in self.numbers], self.number)
        pieces = (self.between + self.pieces[0], *self.pieces[1:])
        if self.native:
            return self._by_native_code(self.native, pieces, columns, levels)
        words = [LEVELS[i] for i in levels.tolist()] if levels is not None else None
        template = "%s".join(p.replace("%", "%%") for p in pieces) + "\n"
        texts: list[Sequence[str]] = [list(map(self.spelled, c.tolist())) for c in columns]
        return "".join(map(template.__mod__, zip(*texts, *([words] if words is not None else []), strict=True))).encode()

    def _by_native_code(self, code: Kernel, pieces: Sequence[str], columns: Sequence[np.ndarray],
                        levels: np.ndarray | None) -> bytes:
        first, *rest = [piece.encode() for piece in pieces]
        found: list[Column] = [np.ascontiguousarray(c) for c in columns]
        if levels is not None:
            found.append(WordColumn(levels.astype(np.float64), [word.encode() for word in LEVELS]))
        nan, up, down = (self.spelled(x).encode() for x in (math.nan, math.inf, -math.inf))
        rows = len([*columns, *([levels] if levels is not None else [])][0])
        return filled(code, rows, [first, *chain(*zip(found, rest, strict=True)), b"\n"], NumberSpelling(names=(nan, up, down)))


def lines(layout: Layout, form: str, number: Number, headed: bool, keep: bool = True) -> PointTemplate:
    """Template of points in a format: text (with `headed` each with a comment that says which it is), json, csv or tsv."""
    inputs = [*layout.inputs, *layout.seeds]
    marks = [f"<{i}>" for i in range(len(inputs) + len(layout.results) + 1)]
    at, results, word = dict(zip(inputs, marks, strict=False)), marks[len(inputs):-1], marks[-1]
    plain = number in SHORTEST
    status = bool(layout.status) or form == "json"
    if form == "json":
        record = json_record(layout, Row(at, results, -1), number, lambda x, _: x) | {"status": word}
        pieces, numbers = cut(json_text(record).replace('"<', "<").replace('>"', ">"), len(marks) - 1)
        pieces[-2:] = [pieces[-2] + '"', '"' + pieces[-1]]
        spelled = json_float if plain else lambda x: json_text(json_number(x, number))
        return PointTemplate(b"", "", tuple(pieces), numbers, spelled, number, plain, True, keep)
    if form in ("csv", "tsv"):
        separator = "," if form == "csv" else "\t"
        header = csv_text([*inputs, *layout.names], separator=separator).encode()
        pieces, numbers = cut(separator.join(marks if status else marks[:-1]), len(marks) - 1)
        return PointTemplate(header, "", tuple(pieces), numbers, number, number, plain, status, keep)
    head = "# " + ", ".join(f"{name} = {at[name]}" for name in inputs) if headed else ""
    body = [f"{name} = {mark}" for name, mark in zip(layout.results, results, strict=True)]
    body += [f"{layout.status} = {word}"] if status else []
    pieces, numbers = cut("\n".join([*([head.rstrip()] if headed else []), *body]), len(marks) - 1)
    return PointTemplate(b"", "\n" if headed else "", tuple(pieces), numbers, number, number, plain, status, keep)


def cut(text: str, word: int) -> tuple[list[str], tuple[int, ...]]:
    """Text around the marks, and the numbers that these stand for; `word` is the mark of the status."""
    found = MARK.split(text)
    return found[::2], tuple(int(i) for i in found[1::2] if int(i) != word)


def json_float(x: float) -> str:
    """A number as JSON has it, or as the string that stands for it."""
    return json.dumps(json_number(x))
