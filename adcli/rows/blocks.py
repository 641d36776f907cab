"""The work on one block of a table: read, compute, write. Blocks are worked on in several threads at once.

Native code reads a block where it is certain to give the bytes that the careful reader gives.
"""
from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from adcli.answers.overlap import threads
from adcli.codegen.machine.kernel import Kernel, NoExecutableMemory, run
from adcli.input.fields import Fault
from adcli.input.points import first_outside
from adcli.input.settings import ResultOptions
from adcli.lang.ir import LEVELS, Param, Values
from adcli.lang.ir.errors import missing
from adcli.output.layout import Row
from adcli.output.numbers import SHORTEST, number_format
from adcli.tables.appended import RowFormat
from adcli.tables.reader import Rows, Table
from adcli.tables.streams import PIECE
from adcli.task.tasks import Task

if TYPE_CHECKING:
    from adcli.rows.sums import Sums
    from adcli.tables.typed_columns import ColumnBlock

LARGE = 192 << 10
"""Bytes of a block that are worth loading native code: as long as that takes, this much is read with care."""
FEW_RESULTS = 16
"""Programs with more results have blocks of fewer rows, so that memory does not depend on their number either."""


@dataclass(slots=True)
class Done:
    """A block that has been worked on: its bytes, its rows, its lines; the bad rows, each with its line in the block; how many
    rows are not finite or, with --strict, not smooth, and the first of them with its line; for inputs that leave their range a
    value that does; what the rows add up to, where that is asked for, or what is still to be added; the rows in place of their
    bytes, where columns have types. `rest` is what becomes of its other rows, worked on as it is asked for."""

    data: bytes
    rows: int
    lines: int
    faults: list[tuple[int, Fault]]
    rough: int
    first: tuple[int, Row] | None
    outside: dict[str, float]
    sums: Sums | None = None
    summed: Sequence[Any] = ()
    typed: ColumnBlock | None = None
    rest: Iterable[Done] = ()


class ComputedRows(NamedTuple):
    """Rows with the columns of all inputs, results and status levels, and the place of each row in its block."""

    rows: Rows
    columns: Mapping[str, Sequence[float]]
    results: Sequence[Sequence[Any]]
    levels: Sequence[float]
    places: Sequence[int]


class Work:
    """From the bytes of rows to the bytes of rows with results."""

    @staticmethod
    def inputs(known: Sequence[Param], options: ResultOptions) -> list[Param]:
        """The inputs that are read of each row."""
        return list(known)

    def __init__(self, task: Task, table: Table, options: ResultOptions, fixed: Values) -> None:
        self.task, self.table, self.constant = task, table, {**task.seeds, **fixed}
        self.results = max(1, len(task.signature.results) // FEW_RESULTS)
        self.block = max(1, PIECE // self.results)
        self.policy, self.strict, self.keep = options.on_error, options.strict, not options.no_cache
        self.words = options.status or self.policy == "mark"
        number = number_format(options.fmt, options.hexadecimal, options.precision)
        self.shortest = number in SHORTEST
        self.form = RowFormat(table, options, task.layout(self.words), self.texts, number)
        self.by_columns = self.form.kind == "columns"
        """True if rows of Parquet are of use without their text."""
        self.ranges = {p.name: (p.low, p.high) for p in task.free
                       if p.low is not None and p.high is not None and not p.var.shape}

    @staticmethod
    def threads(jobs: int | None) -> int:
        """How many work at once."""
        return threads(jobs)

    @cached_property
    def kernel(self) -> Kernel:
        return self.task.kernel

    @cached_property
    def _fast(self) -> Any:
        return fast_tables(self.keep)

    def fast(self, size: int) -> Any:
        """The fast way of reading and writing, where there is one and the work is worth loading it."""
        return self._fast if self.results * size >= LARGE or "_fast" in self.__dict__ else None

    def texts(self, column: Sequence[float]) -> list[str]:
        fast = self.fast(8 * len(column)) if self.shortest else None
        if not fast:
            return list(map(self.form.number, column))
        import numpy as np

        from adcli.output.numbers import as_spelled
        return fast.number_texts(as_spelled([np.asarray(column)], self.form.number)[0])

    def __call__(self, block: Any) -> Done:
        """A block of text, or a frame of Parquet."""
        if isinstance(block, bytes):
            return self._text(block)
        tables = parquet_tables("Parquet")
        lines = tables.taken(self.table, block) if self.by_columns and not self.table.tensors else None
        if lines is None or not self.holds(lines.columns):
            return self._text(tables.as_csv(self.table, block), block)
        return self._in_arrays(lines, block)

    def _text(self, block: bytes, frame: Any = None) -> Done:
        fast = self.fast(len(block)) if frame is None or self.form.kind != "columns" else None
        form = self.form
        objects = form.kind == "ndjson" and not form.only
        lines = fast.read(self.table, block, objects) if fast else None
        if lines is None or not self.holds(lines.columns):
            rows = self._read(block)
            rows.frame = frame
            return self._listed(rows, block)
        plain = form.keeps or form.only or objects or form.separable(block)
        if self.shortest and (plain or (form.kind == "columns" and self.table.separator)) and form.kind != "text":
            return self._in_arrays(lines, block)
        texts = list(map(self.table.start, lines.rows())) if self.table.start else lines.rows()
        return self._listed(Rows(texts, [c.tolist() for c in lines.columns], {}, {}, len(lines)), block)

    def holds(self, columns: Sequence[Any]) -> bool:
        """True if the precision has all numbers of a block. A NaN says nothing of the others."""
        import numpy as np
        return all(self.table.dialect.holds([np.fmin.reduce(c, initial=0.0), np.fmax.reduce(c, initial=0.0)]) for c in columns)

    def _first(self, block: Any, place: int, row: int, columns: Mapping[str, Sequence[float]],
               results: Sequence[Any], levels: Any) -> tuple[int, Row]:
        """Row `row` of the results, which is row `place` of the block, with its line in the block."""
        at = {name: single(column[row]) for name, column in columns.items()}
        line = next(islice(self.table.split(block), place, None))[1] if isinstance(block, bytes) else place
        return line, Row(at, [single(r[row]) for r in results], int(levels[row]))

    # ------------------------------------------------------------ rows without a fault, in arrays from end to end

    def _in_arrays(self, lines: Any, block: Any) -> Done:
        import numpy as np

        from adcli.codegen.machine.arrays import of_doubles, run_arrays
        from adcli.output.numbers import as_spelled
        count = len(lines)
        columns = self._with_seeds(lines.columns, lambda x: np.full(count, x))
        *results, levels = run_arrays(of_doubles(self.kernel), list(columns.values()), count)
        rough = self._rough_arrays(results, levels)
        first = self._first(block, rough[0], rough[0], columns, results, levels) if rough else None
        if self.form.kind == "columns":
            words = self._words(levels.tolist(), {}) if self.words else None
            typed = self._typed(block, lines.columns, results, words)
            return Done(b"", count, count, [], len(rough), first, self._outside_arrays(columns), typed=typed)
        written = as_spelled(self.written(results), self.form.number)
        data = self._fast.write(lines, self.form, written, LEVELS if self.words else None, levels)
        return Done(data, count, count, [], len(rough), first, self._outside_arrays(columns))

    def _typed(self, rows: Any, given: Sequence[Any], results: Sequence[Any], words: Sequence[str] | None,
               bad: Sequence[int] = (), separator: bytes | None = None) -> ColumnBlock:
        """Rows, as text or as a frame, as columns that have types."""
        from adcli.tables.typed_columns import column_block
        separator = separator or self.table.separator or b","
        return column_block(self.form, rows, separator, given, self.written(results), words, bad)

    def _rough_arrays(self, results: Sequence[Any], levels: Any) -> list[int]:
        """`_rough` for arrays of numbers, a column at a time: in most blocks there is none."""
        import numpy as np
        fine = [levels == 0] if self.strict else []
        fine = [column for column in (*fine, *map(np.isfinite, results)) if not column.all()]
        rough: list[int] = np.flatnonzero(~np.logical_and.reduce(fine)).tolist() if fine else []
        return rough

    def written(self, results: Sequence[Any]) -> Sequence[Any]:
        """The columns that are appended, of those that the program gives."""
        return results

    def _outside_arrays(self, columns: Values) -> dict[str, float]:
        found = {name: first_outside(columns[name], low, high) for name, (low, high) in self.ranges.items()}
        return {name: x for name, x in found.items() if x is not None}

    # ------------------------------------------------------------ any rows

    def _read(self, block: bytes) -> Rows:
        """Any rows, with what is written of the bad ones."""
        rows = self.table.careful(block)
        for i in rows.faults if self.policy == "mark" else ():
            rows.texts[i] = self.form.repaired(rows.texts[i])
        return rows

    def _listed(self, rows: Rows, block: bytes) -> Done:
        """The rows of a block with their results, some at a time."""
        pieces = self._pieces(rows, block)
        first = next(pieces)
        first.rest = pieces
        return first

    def _pieces(self, rows: Rows, block: bytes) -> Iterator[Done]:
        columns = self._with_seeds(rows.columns, lambda x: [x] * len(rows.texts))
        start = 0
        for results, levels in self._computed(rows, columns):
            part = range(start, start + len(levels))
            start = part.stop
            whole = rows if len(part) == len(rows.texts) else rows.only(part, rows.lines * (start == len(rows.texts)))
            kept, told = self._kept(whole)
            piece = whole if len(kept) == len(part) else whole.only(kept, whole.lines)
            at = {name: [column[part[i]] for i in kept] for name, column in columns.items()}
            computed = ComputedRows(piece, at, [[column[i] for i in kept] for column in results], [levels[i] for i in kept],
                                    [part[i] for i in kept])
            yield self._written(computed, told, block)

    def _computed(self, rows: Rows, columns: Mapping[str, Sequence[Any]]) -> Iterator[tuple[list[list[Any]], list[float]]]:
        """The results of rows, a column each, and their levels: of some rows after the other."""
        *results, levels = run(self.kernel, [array("d", c) for c in columns.values()], len(rows.texts))
        for i in rows.faults:
            for column in results:
                column[i] = math.nan
        yield results, levels

    def _kept(self, rows: Rows) -> tuple[Sequence[int], list[tuple[int, Fault]]]:
        """The rows that are written, and the faults that are told, with their lines in the block."""
        kept: Sequence[int] = range(len(rows.texts))
        faults = [(rows.places[i], rows.faults[i]) for i in sorted(rows.faults)]
        if faults and self.policy == "stop":
            return range(min(rows.faults)), faults[:1]
        return [i for i in kept if i not in rows.faults] if faults and self.policy == "skip" else kept, faults

    def _written(self, computed: ComputedRows, faults: list[tuple[int, Fault]], block: bytes) -> Done:
        """Rows of a block with their results."""
        rows, columns, results, levels, places = computed
        words = self._words(levels, rows.faults) if self.words else None
        rough = [i for i in self._rough(results, levels) if self.strict or i not in rows.faults]
        told = next((i for i in rough if i not in rows.faults), None)
        first = None if told is None else self._first(block, places[told], told, columns, results, levels)
        done = Done(b"", len(rows.texts), rows.lines, faults, len(rough), first, self._outside(columns, rows.faults))
        if self.form.kind == "columns":
            old = b"\n".join([*rows.texts, b""]) if rows.frame is None else rows.frame[list(places)]
            done.typed = self._typed(old, rows.columns, results, words, sorted(rows.faults), b",")
        else:
            done.data = self.form.rows(rows.texts, columns, self.written(results), words)
        return done

    def _rough(self, results: Sequence[Sequence[Any]], levels: Sequence[float]) -> list[int]:
        """The rows that are not finite or, where that is asked, not smooth."""
        wrong = {i for column in results if not all(map(self.finite, column)) for i, x in enumerate(column) if not self.finite(x)}
        return sorted(wrong.union(i for i, level in enumerate(levels) if level) if self.strict and any(levels) else wrong)

    @staticmethod
    def finite(x: Any) -> bool:
        return math.isfinite(x)

    def _with_seeds(self, columns: Sequence[Any], constant: Any) -> dict[str, Any]:
        """The columns of all parameters by name, in order."""
        given, known = iter(columns), self.constant
        return {p.name: constant(known[p.name]) if p.name in known else next(given) for p in self.task.signature.inputs}

    @staticmethod
    def _words(levels: Sequence[float], faults: Mapping[int, Fault]) -> list[str]:
        return [faults[i].reason if i in faults else LEVELS[int(level)] for i, level in enumerate(levels)]

    def _outside(self, columns: Mapping[str, Sequence[float]], faults: Collection[int]) -> dict[str, float]:
        found = {}
        for name, (low, high) in self.ranges.items():
            beyond = (x for i, x in enumerate(columns[name]) if not low <= x <= high and i not in faults)
            for x in beyond:
                found[name] = x
                break
        return found


def single(x: Any) -> Any:
    """An element of a column: a number as a float, a tensor as it is."""
    return x if getattr(x, "shape", ()) else float(x)


def fast_tables(keep: bool) -> Any:
    """Native code that reads and writes plain blocks, which may come from the compile cache and go there if it is to `keep`; None
    where the system runs none, or too little memory is left for NumPy or LLVM."""
    try:
        from adcli.tables.native import NativeTables
        return NativeTables(keep)
    except (NoExecutableMemory, ImportError, MemoryError):
        return None


def parquet_tables(what: str) -> Any:
    """The module that reads and writes Parquet. AdError where polars is not installed; where it cannot be loaded, its own error
    says why."""
    try:
        from adcli.tables import parquet as parquet_tables
    except ModuleNotFoundError:
        raise missing(what, "polars") from None
    return parquet_tables
