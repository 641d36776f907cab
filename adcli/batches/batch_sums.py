"""Sums of results over record batches, exact and rounded once at the end: for engines that cut a table and go through the pieces
in an order of their own, on which no bit depends.

A state is a record batch of one row with one binary column, so that every engine can carry it.
"""
from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import sha256
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from adcli.batches.arrow_columns import doubles, list_column, list_type, memory, rank, without
from adcli.batches.batch_function import BatchFunction, Faults, marked
from adcli.codegen.machine.cache import own_content
from adcli.lang.ir import LEVELS, Program, Values, shape_of
from adcli.lang.ir.errors import AdError, nearest
from adcli.lang.ir.names import composed, repeated
from adcli.lang.printing.printer import print_program
from adcli.rows.sum_work import ArraySums, Quantity, SumNames, SumWork, free_names, quantities
from adcli.rows.sums import Key, OtherShapes, Sums
from adcli.rows.sums import columns as columns_of
from adcli.task.request import Signature, columns

STATE = pa.schema([pa.field("state", pa.binary(), nullable=False)])
Origin = dict[str, str]
"""Digests of what the numbers of a state depend on besides its rows, each by what is said where it differs: states that agree in
all of them can be merged."""
PLAIN = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
"""Types that can be sorted in place of some that cannot."""
DIGITS = 16
"""Hexadecimal digits of a digest that tells sums apart."""
OTHER_ADCLI = "another adcli"
Place = tuple[int, str]
"""Offset of a batch in the data given, and the name of these in messages."""


@dataclass(frozen=True, eq=False)
class BatchSums:
    """See `Function.arrow_sum`, which makes it. The last result of `results` is the number of the status."""

    results: BatchFunction
    group_by: tuple[str, ...]
    weights: str | None
    gauss_newton: bool
    status: bool
    origin: Origin

    def __repr__(self) -> str:
        names = [*self.group_by, self._names.rows, *self._ranks]
        return f"<adcli.BatchSums ({', '.join(self.results.inputs)}) -> ({', '.join(names)})>"

    # ------------------------------------------------------------ names

    @cached_property
    def _names(self) -> SumNames:
        return free_names(self.results.function.outputs[:-1], self.group_by, self.weights is not None)

    @cached_property
    def _summed(self) -> tuple[Quantity, ...]:
        """The sums of a program of scalars."""
        program = self.results.function.program
        found = columns(program)[:-1]
        values = tuple(c.name for c in found if not c.wrt)
        wrt = tuple(dict.fromkeys(c.wrt[0] for c in found if len(c.wrt) == 1))
        return quantities(Signature(program.params, values, tuple(found), wrt), self.gauss_newton, self._names.weights)

    @cached_property
    def _ranks(self) -> dict[str, int]:
        """The dimensions of every sum by its name, the sum of the weights first."""
        program = self.results.function.program
        if not self.results.tensors:
            return {q.name: 0 for q in self._summed}
        weights = {self._names.weights: 0} if self._names.weights else {}
        return {**weights, **{r.name: len(shape_of(r.atom)) for r in program.results[:-1]}}

    def schema(self, given: pa.Schema) -> pa.Schema:
        """The schema of what `finish` gives, for batches of this schema. AdError where a column is missing or of the wrong
        type."""
        self.results.schema(given)
        if self.weights is not None:
            self._weights_place(given)
        return self._finished(self._groups(given))

    def _groups(self, given: pa.Schema) -> pa.Schema:
        """The columns that are grouped by."""
        return pa.schema([self._group_field(given, name) for name in self.group_by])

    def _finished(self, groups: pa.Schema) -> pa.Schema:
        counts = [self._names.rows, *(self._names.levels if self.status else ())]
        fields = [*groups, *((name, pa.int64()) for name in counts), *((name, list_type(n)) for name, n in self._ranks.items())]
        found = pa.schema(fields)
        if (twice := repeated(found.names)) is not None:
            raise AdError(f"column '{twice}' is grouped by, and a sum has this name", help="rename the column")
        return found

    def _place(self, given: pa.Schema, name: str, what: str) -> int:
        names = [composed(n) for n in given.names]
        if names.count(name) != 1:
            found = f"column '{name}' occurs {names.count(name)} times" if name in names else f"no column '{name}'"
            raise AdError(f"{found}, which {what} names", help=nearest(name, names))
        return names.index(name)

    def _weights_place(self, given: pa.Schema) -> int:
        assert self.weights is not None
        place = self._place(given, self.weights, "weights")
        if rank(kind := given.field(place).type) != 0:
            raise AdError(f"column '{self.weights}' must be numbers, not {kind}")
        return place

    def _group_field(self, given: pa.Schema, name: str) -> pa.Field:
        """A column that is grouped by, of the type that its groups have."""
        kind = given.field(self._place(given, name, "group_by")).type
        kind = kind.value_type if types.is_dictionary(kind) else kind
        kind = PLAIN.get(kind, kind)
        try:
            return pa.field(name, from_texts(as_texts(pa.array([], kind)), kind).sort().type)
        except pa.ArrowNotImplementedError:
            raise AdError(f"column '{name}' of type {kind} cannot be grouped by") from None

    # ------------------------------------------------------------ states

    @cached_property
    def _here(self) -> Origin:
        """Digests that states made in this process depend on."""
        return {**self.origin, OTHER_ADCLI: own_content()[:DIGITS]}

    def __reduce__(self) -> tuple[Any, ...]:
        return BatchSums, tuple(getattr(self, f.name) for f in fields(self))

    def batch(self, data: Any) -> pa.RecordBatch:
        """The state of a RecordBatch, or of a Table, a reader, a query of DuckDB and what else has Arrow's interface."""
        if isinstance(data, pa.RecordBatch):
            return self._state([data], data.schema, "batch").packed()
        if not hasattr(data, "__arrow_c_stream__"):
            raise AdError(f"a table of Arrow is expected, not {type(data).__name__}")
        reader = pa.RecordBatchReader.from_stream(data)
        return self._state(reader, reader.schema, "table").packed()

    def table(self, table: pa.Table) -> pa.Table:
        """The state of a Table, as a Table."""
        return pa.Table.from_batches([self.batch(table)])

    def each(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The one state of all batches of a stream; none where there is no batch."""
        rest = iter(batches)
        for first in rest:
            yield self._state(chain([first], rest), first.schema, "stream").packed()

    def mapped_schema(self, given: pa.Schema) -> pa.Schema:
        """The schema of what `each` gives: states."""
        self.schema(given)
        return STATE

    def _state(self, batches: Iterable[pa.RecordBatch], given: pa.Schema, called: str) -> State:
        self.schema(given)
        total, first = State(self._here, self._groups(given), Sums()), 0
        for batch in batches:
            groups = total.groups if batch.schema.equals(given) else self._groups(batch.schema)
            total.add(State(total.origin, groups, self._added(batch, groups, (first, called))))
            first += batch.num_rows
        return total

    def _added(self, batch: pa.RecordBatch, groups: pa.Schema, at: Place) -> Sums:
        """The sums of one batch."""
        given, faults = self.results.columns(batch)
        weights = None
        if self.weights is not None:
            weights = doubles(batch.column(self._weights_place(batch.schema)))
            if len(wrong := np.flatnonzero(~np.isfinite(weights))):
                faults = [*faults, (wrong, f"the weight '{self.weights}' is not a finite number")]
        if faults:
            return self._without(batch, groups, at, faults)
        if not batch.num_rows:
            return Sums()
        keys, numbers = grouped([batch.column(self._place(batch.schema, f.name, "group_by")) for f in groups], batch.num_rows)
        program = self.results.function.program
        if self.results.tensors:
            return self._of_tensors(batch, groups, at, given, [keys[i] for i in numbers.tolist()], weights)
        signature = Signature(program.params, (), (), ())
        work = SumWork(self.results.function.kernel(), signature, self._constants(given), self._summed)
        taken = {name: doubles(column) for name, column in given.items()}
        return work.add(taken, batch.num_rows, weights, keys, numbers if self.group_by else None)

    def _constants(self, given: Values) -> dict[str, float]:
        """The inputs that are the same in every row."""
        defaults = {p.name: p.default for p in self.results.free if p.name not in given and p.default is not None}
        return {**defaults, **self.results.fixed}

    def _without(self, batch: pa.RecordBatch, groups: pa.Schema, at: Place, faults: Faults) -> Sums:
        """Sums without bad rows, where these are skipped."""
        if self.results.on_error == "stop":
            self.results.refuse(faults, *at, "on_error='skip' leaves bad rows out")
        bad = marked(faults, batch.num_rows)
        left = pa.RecordBatch.from_arrays([without(column, bad) for column in batch.columns], schema=batch.schema)
        return self._added(left, groups, at)

    def _of_tensors(self, batch: pa.RecordBatch, groups: pa.Schema, at: Place, given: Mapping[str, pa.Array],
                    keys: Sequence[Key], weights: np.ndarray | None) -> Sums:
        """The sums of a program with tensors, element by element."""
        faults: Faults = []
        *found, levels = self.results.row_by_row(given, batch.num_rows, faults)
        if faults:
            return self._without(batch, groups, at, faults)
        sums = ArraySums(self.results.function.outputs[:-1], self._names.weights)
        with one_shape():
            for i, row in enumerate(zip(*found, strict=True)):
                sums.add(row, int(levels[i]), keys[i], None if weights is None else float(weights[i]))
        return sums.sums()

    def merge(self, *states: Any) -> pa.RecordBatch:
        """One state of several: RecordBatches, Tables, or rows with a column `state`, or the bytes in them; or lists of these."""
        return self._merged(states).packed()

    def _merged(self, states: Any) -> State:
        total: State | None = None
        for data in bytes_of(states):
            state = State.unpacked(data)
            if (other := next((what for what in self._here if state.origin.get(what) != self._here[what]), None)) is not None:
                help = "the same adcli must be installed everywhere" if other == OTHER_ADCLI else None
                raise AdError(f"this is the state of another sum, with {other}",
                              help=help or "merge states that the same arrow_sum has made")
            if total is None:
                total = state
            else:
                total.add(state)
        if total is None:
            raise AdError("there is no state to merge", help="take batch() of a batch without rows where there are no rows")
        return total

    # ------------------------------------------------------------ answers

    def finish(self, *states: Any, mean: bool = False) -> pa.RecordBatch:
        """The sums of states, or with `mean` the means, each rounded once: one row, or one for each group, by the order of the
        groups."""
        total = self._merged(states)
        shapes = {name: (0,) * dimensions for name, dimensions in self._ranks.items()}
        sums = total.sums if total.sums.shapes else Sums(shapes, [1] * len(shapes), () if self.group_by else ((),))
        groups = dict(sums.items())
        texts = [[json.loads(key[k]) for key in groups] for k in range(len(self.group_by))]
        made: list[pa.Array] = [from_texts(pa.array(text, pa.string()), f.type)
                                for text, f in zip(texts, total.groups, strict=True)]
        made.append(pa.array([g.rows for g in groups.values()], pa.int64()))
        if self.status:
            made += [pa.array([g.levels[k] for g in groups.values()], pa.int64()) for k in range(len(LEVELS))]
        values = np.array([g.values(mean, self.weights is not None) for g in groups.values()])
        cells = columns_of(sums.shapes, groups, values)
        made += [list_column(list(cells[name]), dimensions, None) for name, dimensions in self._ranks.items()]
        found = pa.RecordBatch.from_arrays(made, schema=self._finished(total.groups))
        return found.sort_by([(name, "ascending") for name in self.group_by]) if self.group_by else found


@dataclass(slots=True)
class State:
    """Sums, and the columns of their groups."""

    origin: Origin
    groups: pa.Schema
    sums: Sums

    def add(self, other: State) -> None:
        """Take the rows of another one in, which is not used any more."""
        if self.groups != other.groups:
            raise AdError(f"columns grouped by are of different types: {', '.join(map(str, self.groups))}, and"
                          f" {', '.join(map(str, other.groups))}")
        with one_shape():
            self.sums.merge(other.sums)

    def packed(self) -> pa.RecordBatch:
        """Record batch of a state: equal bytes for equal sums."""
        groups = base64.b64encode(self.groups.serialize()).decode()
        text = json.dumps({"of": self.origin, "groups": groups, "sums": self.sums.packed(sorted(self.sums.index))})
        return pa.record_batch([[text.encode()]], schema=STATE)

    @classmethod
    def unpacked(cls, data: bytes) -> State:
        """Inverse of `packed`. AdError for anything else."""
        try:
            found = json.loads(data)
            groups = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(found["groups"])))
            return cls(dict(found["of"]), groups, Sums.unpacked(found["sums"]))
        except (ValueError, KeyError, TypeError, AttributeError, pa.ArrowException):
            raise AdError("this is not the state of a sum", help="give what batch() or merge() gave") from None


def bytes_of(states: Any) -> Iterator[bytes]:
    """The bytes of all states, in whatever they are."""
    if isinstance(states, bytes | bytearray | memoryview):
        yield bytes(states)
    elif isinstance(states, pa.RecordBatch | pa.Table):
        if "state" not in states.schema.names:
            raise AdError("a state has a column 'state'", help="give what batch() or merge() gave")
        yield from bytes_of(states.column("state").to_pylist())
    elif isinstance(states, pa.Scalar):
        yield from bytes_of(states.as_py())
    elif isinstance(states, Mapping) and "state" in states:
        yield from bytes_of(states["state"])
    elif isinstance(states, Iterable) and not isinstance(states, str | Mapping):
        for state in states:
            yield from bytes_of(state)
    else:
        raise AdError(f"{type(states).__name__} is not the state of a sum", help="give what batch() or merge() gave")


def grouped(found: Sequence[pa.Array], rows: int) -> tuple[list[Key], np.ndarray]:
    """The groups of rows, as texts of JSON, and the number of its group for every row."""
    numbers = np.zeros(rows, np.int64)
    coded = [as_texts(column).dictionary_encode(null_encoding="encode") for column in found]
    for column in coded:
        numbers = numbers * max(1, len(column.dictionary)) + memory(column.indices)
        numbers = np.unique(numbers, return_inverse=True)[1].reshape(-1)
    _, firsts = np.unique(numbers, return_index=True)
    words = [[json.dumps(text) for text in column.dictionary.to_pylist()] for column in coded]
    places = [memory(column.indices)[firsts].tolist() for column in coded]
    keys = [tuple(text[i] for text, i in zip(words, one, strict=True)) for one in zip(*places, strict=True)]
    return keys if found else [()], numbers.astype(np.int32)


def as_texts(column: pa.Array) -> pa.Array:
    """The texts that the groups of a column have as keys: of days and times, their numbers. AdError where bytes are none."""
    if types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, as_texts(column.dictionary)).dictionary_decode()
    try:
        return (column.view(number) if (number := number_type(column.type)) else column).cast(pa.string())
    except pa.ArrowInvalid as error:
        raise AdError(f"a column that is grouped by: {error}") from None


def from_texts(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Inverse of `as_texts`."""
    return texts.cast(number).view(kind) if (number := number_type(kind)) else texts.cast(kind)


def number_type(kind: pa.DataType) -> pa.DataType | None:
    """The integers that a type of days or times consists of."""
    return {32: pa.int32(), 64: pa.int64()}.get(kind.bit_width) if types.is_temporal(kind) else None


def digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]


def program_text(program: Program) -> str:
    """A program, and of what its results are derivatives."""
    return print_program(program, "anf") + repr([(r.name, r.of, r.wrt) for r in program.results])


def fixed_text(fixed: Values) -> str:
    """Inputs by name with every bit of their values."""
    return repr([(name, np.shape(x), np.asarray(x).tobytes().hex()) for name, x in sorted(fixed.items())])


@contextmanager
def one_shape() -> Iterator[None]:
    """AdError where tensors of different shapes would be added."""
    try:
        yield
    except OtherShapes as fault:
        raise AdError(f"'{fault.name}' has shape {fault.known} in one row and {fault.found} in another: it has no sum",
                      help="leave it out: wrt=, of=") from None


def batch_sums(results: BatchFunction, group_by: Sequence[str] | None, weights: str | None, gauss_newton: bool,
               status: bool) -> BatchSums:
    """See `Function.arrow_sum`."""
    if results.on_error not in ("stop", "skip"):
        raise AdError(f"on_error is stop or skip for a sum, not {results.on_error}")
    if weights is not None and not isinstance(weights, str):
        raise AdError(f"weights is the name of a column, not {type(weights).__name__}")
    groups, weights = tuple(group_by or ()), weights and composed(weights)
    program = results.function.program
    origin = {"another program": program_text(program), "other values of fixed inputs": fixed_text(results.fixed),
              "another group_by": repr(groups), "other weights": repr(weights), "another gauss_newton": repr(gauss_newton),
              "another missing": results.missing}
    made = BatchSums(results, groups, weights, gauss_newton, status, {what: digest(text) for what, text in origin.items()})
    if (twice := repeated(made.group_by)) is not None:
        raise AdError(f"group_by names '{twice}' twice")
    if gauss_newton and (results.tensors or not any(len(r.wrt) == 1 for r in program.results)):
        raise AdError("gauss_newton needs outputs and their first derivatives, which are numbers", help="f.grad().arrow_sum(…)")
    return made
