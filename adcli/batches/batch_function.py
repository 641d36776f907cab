"""A Function for Arrow: from record batches to record batches, as engines for large tables pass them from process to process.

A batch function is immutable and can be used from several threads. It travels as program text and is compiled once in each
process, however often it arrives there.
"""
from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np
import pyarrow as pa

from adcli.answers.array_calls import one_number
from adcli.batches.arrow_columns import Lists, doubles, list_column, list_type, lists, nulls, number_column, rank, without
from adcli.codegen.machine.kernel import COMPILING, Kernel
from adcli.input.arrays import conformed
from adcli.input.points import unknown_name
from adcli.lang.ir import LEVELS, Param, Program, Values, has_tensors, shape_of
from adcli.lang.ir.errors import AdError, nearest
from adcli.lang.ir.names import composed

Faults = list[tuple[np.ndarray, str]]
"""Rows that are bad, with the reason; the first one of a row is the one that is told."""
POLICIES = ("stop", "skip", "null", "mark")
MISSING = ("error", "nan")
FUNCTIONS = 64
"""Functions that arrived in this process and are kept, since an engine sends the same again with every task."""


class FittedSchema(NamedTuple):
    """Column of each input in batches of a schema, and the schema of the result."""

    given: pa.Schema
    places: dict[str, int]
    schema: pa.Schema


class BatchOptions(NamedTuple):
    """See `Function.arrow`."""

    only: bool = False
    on_error: str = "stop"
    missing: str = "error"
    status: bool = False
    jobs: int | None = 1


class ArrayFunction(Protocol):
    """Protocol of the functions that batches are computed with."""

    @property
    def program(self) -> Program: ...

    @property
    def outputs(self) -> tuple[str, ...]: ...

    def __call__(self, at: Values, /, *, jobs: int | None) -> dict[str, Any]: ...

    def kernel(self) -> Kernel: ...


@dataclass(frozen=True, eq=False)
class BatchFunction:
    """See `Function.arrow`, which makes it. `status` is the name of the column of that name, whose number is then the last result
    of `function`; None where there is none."""

    function: ArrayFunction
    fixed: Values
    only: bool
    on_error: str
    missing: str
    status: str | None
    jobs: int | None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The inputs that columns give."""
        return tuple(p.name for p in self.free)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The columns that are appended."""
        names = self.function.outputs
        return names if self.status is None else (*names[:-1], self.status)

    @cached_property
    def _ranks(self) -> list[int]:
        """The dimensions of the results."""
        return [len(shape_of(r.atom)) for r in self.function.program.results]

    @cached_property
    def tensors(self) -> bool:
        """Presence of tensors: batches go row by row then."""
        return has_tensors(self.function.program)

    @cached_property
    def free(self) -> list[Param]:
        """Declarations of the inputs that columns give."""
        return [p for p in self.function.program.params if p.name not in self.fixed]

    def __repr__(self) -> str:
        return f"<adcli.BatchFunction ({', '.join(self.inputs)}) -> ({', '.join(self.outputs)})>"

    def schema(self, given: pa.Schema) -> pa.Schema:
        """The schema of the result for batches of this schema. AdError where a column is missing, occurs twice, is of the wrong
        type, or has the name of a result."""
        if not isinstance(given, pa.Schema):
            raise AdError(f"a schema of pyarrow is expected, not {type(given).__name__}")
        return self._fitted(given).schema

    def _fitted(self, given: pa.Schema) -> FittedSchema:
        """Fitted schema, cached for the batches after it."""
        last: FittedSchema | None = self.__dict__.get("_last")
        if last is None or not last.given.equals(given, check_metadata=True):
            last = self.__dict__["_last"] = FittedSchema(given, self._places(given), self._schema(given))
        return last

    def _schema(self, given: pa.Schema) -> pa.Schema:
        kept = [] if self.only else list(given)
        for name in self.outputs:
            if not self.only and name in given.names:
                raise AdError(f"the table already has a column '{name}'",
                              help="a result of this name is appended: rename the column, or write only=True")
        return pa.schema([*kept, *self.result_schema], metadata=None if self.only else given.metadata)

    @cached_property
    def result_schema(self) -> pa.Schema:
        """The columns that are appended, with their types."""
        return pa.schema([(name, pa.string() if name == self.status else list_type(dimensions))
                          for name, dimensions in zip(self.outputs, self._ranks, strict=True)])

    def _places(self, given: pa.Schema) -> dict[str, int]:
        """The place of the column of every input that has one."""
        names = [composed(name) for name in given.names]
        for name in self.fixed:
            if name in names:
                raise AdError(f"the table has a column '{name}', which arrow({name}=…) fixes",
                              help=f"leave {name}=… away, or rename the column")
        places = {}
        for p in self.free:
            if (count := names.count(p.name)) > 1:
                raise AdError(f"column '{p.name}' occurs {count} times")
            if not count and p.default is None:
                shown = f"the columns are {', '.join(names[:10])}{', …' if len(names) > 10 else ''}; " if names else ""
                raise AdError(f"no column '{p.name}'", help=nearest(p.name, names) or f"{shown}arrow({p.name}=…) fixes an input")
            if count:
                places[p.name] = names.index(p.name)
                refuse_type(p, given.field(places[p.name]).type)
        return places

    # ------------------------------------------------------------ tables of every kind

    def __call__(self, data: Any) -> Any:
        """The result for a RecordBatch, a Table, or a RecordBatchReader (whose batches are computed as they are read), of the
        same kind; a Table for anything else that has the Arrow interface, such as a data frame of polars."""
        if isinstance(data, pa.RecordBatch):
            return self._batch(data, 0, "batch")
        if isinstance(data, pa.RecordBatchReader):
            return pa.RecordBatchReader.from_batches(self.schema(data.schema), self.each(data))
        if isinstance(data, pa.Table) or hasattr(data, "__arrow_c_stream__"):
            return self.table(data if isinstance(data, pa.Table) else pa.table(data))
        raise AdError(f"a table of Arrow is expected, not {type(data).__name__}",
                      help="for arrays call the function itself; pyarrow.record_batch({'x': x}) makes a batch of arrays")

    mapped_schema = schema
    """The schema of what `each` gives."""

    def table(self, table: pa.Table, called: str = "table") -> pa.Table:
        """The result for a Table, which messages call so."""
        return pa.Table.from_batches(self.each(table.to_batches(), called), self.schema(table.schema))

    def each(self, batches: Iterable[pa.RecordBatch], called: str = "stream") -> Iterator[pa.RecordBatch]:
        """The results for batches of one schema, one by one; together messages call them so."""
        first = 0
        for batch in batches:
            yield self._batch(batch, first, called)
            first += batch.num_rows

    def _batch(self, batch: pa.RecordBatch, first: int, called: str) -> pa.RecordBatch:
        """The result for a batch that begins with row `first` of what messages call so."""
        schema = self.schema(batch.schema)
        results, faults = self.results(batch)
        if faults and self.on_error == "stop":
            self.refuse(faults, first, called, "on_error='null' gives null results")
        if faults and self.on_error == "skip":
            bad = marked(faults, batch.num_rows)
            return pa.RecordBatch.from_arrays([without(c, bad) for c in [*([] if self.only else batch.columns), *results]],
                                              schema=schema)
        return pa.RecordBatch.from_arrays([*([] if self.only else batch.columns), *results], schema=schema)

    def refuse(self, faults: Faults, first: int, called: str, instead: str) -> NoReturn:
        """AdError for the first bad row; `instead` says what may be done with such rows."""
        row = min(int(places[0]) for places, _ in faults)
        reason = next(reason for places, reason in faults if places[0] == row)
        null = "missing='nan' takes null for NaN, " if reason.endswith("is null") and not self.tensors else ""
        raise AdError(f"row {first + row} of the {called}, counted from 0: {reason}", help=null + instead)

    # ------------------------------------------------------------ values

    def results(self, batch: pa.RecordBatch) -> tuple[list[pa.Array], Faults]:
        """The columns of the results, null in bad rows, and these."""
        columns, faults = self.columns(batch)
        rows = batch.num_rows
        values: Any = self.row_by_row(columns, rows, faults) if self.tensors else self._at_once(columns, rows)
        bad = marked(faults, rows) if faults else None
        made = [column_of(x, dimensions, bad) for x, dimensions in zip(values, self._ranks, strict=True)]
        if self.status is not None:
            made[-1] = words(made[-1], faults if self.on_error == "mark" else [])
        return made, faults

    def columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Faults]:
        """The columns of inputs by name, and the rows that are bad since they have null there."""
        columns = {name: batch.column(place) for name, place in self._fitted(batch.schema).places.items()}
        return columns, [(found, f"column '{p.name}' is null") for p in self.free if p.name in columns
                         and (self.missing == "error" or p.var.shape) and len(found := nulls(columns[p.name]))]

    def _at_once(self, columns: Mapping[str, pa.Array], rows: int) -> list[Any]:
        """The results of a program of scalars."""
        given = {name: doubles(column) for name, column in columns.items()}
        found = self.function({**self.fixed, **given}, jobs=self.jobs).values()
        return [x if isinstance(x, np.ndarray) else np.full(rows, x) for x in found]

    def row_by_row(self, columns: Mapping[str, pa.Array], rows: int, faults: Faults) -> list[list[Any]]:
        """The results of a program with tensors, whose sizes may differ from row to row; rows found bad join the `faults`."""
        bad = marked(faults, rows)
        params = {p.name: p for p in self.free if p.name in columns}
        values: dict[str, Lists | np.ndarray] = {}
        for name, p in params.items():
            dimensions = len(p.var.shape)
            values[name] = lists(columns[name], dimensions, p.var.integer) if dimensions else doubles(columns[name])
        empty = [np.empty((0,) * dimensions) if dimensions else np.nan for dimensions in self._ranks]
        found: list[list[Any]] = [[] for _ in empty]
        for i in range(rows):
            row: Sequence[Any] = empty
            if not bad[i]:
                try:
                    given = {name: self._value(params[name], x, columns[name], i) for name, x in values.items()}
                    row = list(self.function({**self.fixed, **given}, jobs=self.jobs).values())
                except AdError as error:
                    faults.append((np.array([i]), error.message))
            for one, x in zip(found, row, strict=True):
                one.append(x)
        return found

    @staticmethod
    def _value(p: Param, values: Lists | np.ndarray, column: pa.Array, row: int) -> Any:
        if not isinstance(values, Lists):
            return values[row]
        if values.lacking[row]:
            raise AdError(f"column '{p.name}' has null in its list")
        return conformed(p, column[row].as_py()) if values.ragged[row] else values.row(row)   # which says what is ragged

    # ------------------------------------------------------------ travel

    def __reduce__(self) -> tuple[Any, ...]:
        rest = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("function", "fixed")}
        return _restored, (pickle.dumps(self.function), dict(self.fixed), rest)


@lru_cache(maxsize=FUNCTIONS)
def _arrived(packed: bytes) -> ArrayFunction:
    function: ArrayFunction = pickle.loads(packed)
    return function


def _restored(packed: bytes, fixed: Values, rest: Values) -> BatchFunction:
    with COMPILING:   # one thread at a time, also where this process forks
        function = _arrived(packed)
    return BatchFunction(function, sealed(fixed), **rest)


# ---------------------------------------------------------------- making one

def batch_function(function: ArrayFunction, levels: Callable[[], ArrayFunction], fixed: Values,
                   options: BatchOptions) -> BatchFunction:
    """See `Function.arrow`; `levels` gives the function with the number of its status as one more result."""
    only, on_error, missing, status, jobs = options
    one_of("on_error", on_error, POLICIES)
    one_of("missing", missing, MISSING)
    if jobs is not None and (type(jobs) is not int or jobs < 1):
        raise AdError(f"jobs must be a whole number from 1, not {jobs!r}")
    known = {p.name: p for p in function.program.params}
    values = {}
    for name, x in fixed.items():
        if (p := known.get(composed(name))) is None:
            raise unknown_name("input", name, list(known))
        values[p.name] = conformed(p, x) if p.var.shape or p.var.integer else one_number(p.name, x)
    with_status = status or on_error == "mark"
    whole = levels() if with_status else function
    return BatchFunction(whole, sealed(values), only, on_error, missing, whole.outputs[-1] if with_status else None, jobs)


def sealed(values: Values) -> Values:
    """Read-only mapping of read-only copies."""
    kept = {name: np.array(x) if isinstance(x, np.ndarray) else x for name, x in values.items()}
    for x in kept.values():
        if isinstance(x, np.ndarray):
            x.flags.writeable = False
    return MappingProxyType(kept)


def one_of(what: str, value: object, known: Sequence[str]) -> None:
    if value not in known:
        raise AdError(f"{what} must be one of {', '.join(known)}, not {value!r}", help=nearest(str(value), known))


def refuse_type(p: Param, kind: pa.DataType) -> None:
    """AdError where a column of this type cannot give the input."""
    wanted, found = len(p.var.shape), rank(kind)
    if found == wanted or (wanted and pa.types.is_null(kind)):
        return
    shape = "numbers" if not wanted else f"lists of {'lists of ' * (wanted - 1)}numbers"
    help = f"cast it: column.cast({str(list_type(wanted))!r})" if not wanted and pa.types.is_string(kind) else None
    raise AdError(f"column '{p.name}' must be {shape}, not {kind}", help=help)


# ---------------------------------------------------------------- bad rows

def marked(faults: Faults, rows: int) -> np.ndarray:
    """Mask of the bad rows."""
    bad = np.zeros(rows, bool)
    for places, _ in faults:
        bad[places] = True
    return bad


def words(levels: pa.Array, faults: Faults) -> pa.Array:
    """The column of the status: a level's word, or what is wrong with a bad row."""
    found = pa.DictionaryArray.from_arrays(levels.cast(pa.int8(), safe=False), pa.array(LEVELS)).cast(pa.string())
    if not faults:
        return found
    texts = found.to_pylist()
    for places, reason in reversed(faults):
        for i in places.tolist():
            texts[i] = reason
    return pa.array(texts, pa.string())


def column_of(found: Any, dimensions: int, bad: np.ndarray | None) -> pa.Array:
    """The results of all rows as a column."""
    if not dimensions:
        return number_column(np.asarray(found, np.float64), bad)
    try:
        return list_column(found, dimensions, bad)
    except OverflowError:
        raise AdError("the results of a batch are more than 2,147,483,647 elements", help="give smaller batches") from None
