"""Many points of scalars: grids made, computed and written in arrays, block by block. The bytes are those of the way that goes
point by point (`adcli.output.report`), which is the definition; this one may only be faster."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from adcli.answers.evaluation import points_at_once, require_singles
from adcli.answers.overlap import overlapped, threads
from adcli.answers.reporter import Reporter
from adcli.codegen.machine.arrays import of_doubles, run_arrays
from adcli.codegen.machine.memory import require_room
from adcli.input.points import Axis, GridRange, Grids, combined, complete, shapes
from adcli.input.settings import ResultOptions
from adcli.lang.ir import LEVELS, Param
from adcli.output.layout import Layout
from adcli.output.lines import PointTemplate, lines
from adcli.output.numbers import Number
from adcli.task.tasks import Task

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


def write_binary(out: BinaryIO, form: str, layout: Layout, found: Mapping[str, Any], words: list[str] | None, one: bool) -> None:
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
