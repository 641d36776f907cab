"""--sum and --mean: the sums as they are written, in every format, in the shape that the results of a point have; and the work on
blocks of rows that are added up, read as ever and never written."""
from __future__ import annotations

import json
import math
import sys
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, BinaryIO

import numpy as np

from adcli.answers.evaluation import points_at_once
from adcli.answers.reporter import Reporter
from adcli.codegen.machine.arrays import of_doubles, run_arrays
from adcli.input.fields import Fault
from adcli.input.settings import ResultOptions
from adcli.lang.ir import LEVELS, Param, Values, Var
from adcli.lang.ir.errors import AdError, one_line
from adcli.lang.ir.names import composed, repeated
from adcli.output.layout import Row, nested
from adcli.output.numbers import json_number, json_text, number_format, shortest
from adcli.output.streams import write_points
from adcli.output.suffixes import ARRAYS
from adcli.rows.blocks import Done, Work, parquet_tables
from adcli.rows.sum_work import ArraySums, SumNames, SumWork, free_names, quantities
from adcli.rows.sums import Group, Key, OtherShapes, Sums, columns
from adcli.tables.appended import json_field, quoted, slices
from adcli.tables.appended import json_text as json_value
from adcli.tables.reader import Rows, Table
from adcli.tables.streams import PIECE
from adcli.task.request import Signature
from adcli.task.tasks import Task
from adcli.task.verbs import MATRIX_FORMATS


def other_shapes(fault: OtherShapes) -> str:
    """The fault of results that have other shapes than those before."""
    return f"'{fault.name}' has shape {fault.found}, and {fault.known} in the rows before: a sum needs one shape"


def sum_names(signature: Signature, options: ResultOptions) -> SumNames:
    """The names of the columns that options ask for."""
    found = free_names([c.name for c in signature.results], groups_by(options), options.weights is not None)
    return found if options.status else found._replace(levels=())


def weighted_by(options: ResultOptions) -> str | None:
    """The column that --weights names."""
    if options.weights is None:
        return None
    if not options.weights.strip():
        raise AdError("--weights names nothing", help="write --weights w")
    return composed(options.weights.strip())


def groups_by(options: ResultOptions) -> tuple[str, ...]:
    """The columns that --group-by names."""
    found = [] if options.group_by is None else [name.strip() for name in composed(options.group_by).split(",")]
    if not all(found):
        raise AdError("--group-by names nothing", help="write --group-by site,year")
    if (twice := repeated(found)) is not None:
        raise AdError(f"--group-by names '{twice}' twice")
    return tuple(found)


SumRow = tuple[Key, Group, list[float]]
"""A group with its sums or means, each rounded."""


class SumReport:
    """Sums as they are written: one result, or one for each group. `comma`: the table has decimal commas, and CSV gets them.
    `reporter` is told what is not finite although all rows are."""

    def __init__(self, task: Task, options: ResultOptions, total: Sums, separator: str, comma: bool,
                 reporter: Reporter) -> None:
        self.task, self.options, self.total, self.shapes = task, options, total, total.shapes
        self.names = names = sum_names(task.signature, options)
        self.separator, self.comma, self.reporter = separator, comma, reporter
        self.weighted = names.weights is not None
        self.number = number_format(options.fmt, options.hexadecimal)
        self.layout = task.layout(False)
        self.results = len(self.layout.results)

    def rows(self) -> Iterator[SumRow]:
        """The sums of each group, or of all rows."""
        for key, group in self.total.items():
            row = key, group, group.values(self.options.mean, self.weighted)
            self.remark(*row)
            yield row

    def entries(self, values: list[float]) -> list[Any]:
        """The values of a group with the elements of a tensor as an array."""
        if not any(self.shapes.values()):
            return values
        rest = iter(values)
        return [np.reshape(list(islice(rest, math.prod(shape))), shape) if shape else next(rest)
                for shape in self.shapes.values()]

    def remark(self, key: Key, group: Group, values: list[float]) -> None:
        """Say what is not finite although all rows are."""
        if all(map(math.isfinite, values)):
            return
        self.reporter.failed, where = True, f"{self.title(key)}: " if key else ""
        if self.options.mean and not (group.sums[0].whole if self.weighted else group.rows):
            reason = "there are no rows" if not group.rows else "the weights add up to 0"
            self.reporter.remark("means of nothing", f"note: {where}{reason}, so the means are nan".__str__)
            return
        for name, total, x in zip(self.total.names, group.sums, values, strict=True):
            if total.finite and not math.isfinite(x):
                beyond = f"note: {where}{name} = {x!r}: the sum is beyond the largest double"
                self.reporter.remark("sums beyond the largest double", beyond.__str__)

    def title(self, key: Key) -> str:
        return ", ".join(f"{name} = {one_line(text)}" for name, text in zip(self.names.groups, key, strict=True))

    def write(self, out: BinaryIO) -> None:
        match self.options.form:
            case "parquet":
                from adcli.output.frames import words, write_frame
                keys, arrays = self.arrays()
                texts = {name: words([key[i] for key in keys]) for i, name in enumerate(self.names.groups)}
                write_frame(out, {**texts, **{name: a.tolist() if a.ndim > 1 else a for name, a in arrays.items()}})
            case form if form in ARRAYS:
                self.write_arrays(out)
            case form if form in MATRIX_FORMATS:
                from adcli.answers.results import matrices
                row = Row({}, next(self.rows())[2][self.weighted:][:self.results], -1)
                write_points(out, matrices(self.task, form, [row], self.number, False))
            case "json":
                write_points(out, (json_text(self.record(*row)) + "\n" for row in self.rows()))
            case "text":
                write_points(out, self.text())
            case _:
                write_points(out, self.delimited())

    def counts(self, group: Group) -> list[tuple[str, int]]:
        """The number of rows, and of those of each level where they are shown."""
        return [(self.names.rows, group.rows), *zip(self.names.levels, group.levels, strict=False)]

    def text(self) -> Iterator[str]:
        """As at points. Levels that no row has are left out."""
        for i, (key, group, values) in enumerate(self.rows()):
            lines = ([""] * (i > 0) + [f"# {self.title(key)}".rstrip()]) if key else []
            lines += [f"{name} = {n}" for k, (name, n) in enumerate(self.counts(group)) if n or k == 0]
            for name, x in zip(self.shapes, self.entries(values), strict=True):
                lines += [f"{name} = {self.number(x)}"] if type(x) is float else self.lines(name, x)
            yield "\n".join(lines) + "\n"

    def lines(self, name: str, x: Any) -> Iterable[str]:
        """A tensor as a point shows it."""
        from adcli.output.tensors import require_text_room, result_lines
        require_text_room([x])
        return result_lines(name, x, self.number, self.options.output is None and sys.stdout.isatty())

    def field(self, x: Any) -> str:
        """A number as a field, or a tensor as a JSON array in it."""
        if type(x) is not float:
            from adcli.tables.lists import list_text
            text = list_text(x, lambda e: json_value(e, self.number(e)), self.number is shortest)
            return quoted(text.encode(), self.separator.encode()).decode()
        return self.number(x).replace(".", ",") if self.comma else self.number(x)

    def json(self, x: Any) -> object:
        """A number, or a tensor as nested lists."""
        if type(x) is float:
            return json_number(x, self.number)
        from adcli.output.tensors import json_tensor
        return json_tensor(x, self.number)

    def delimited(self) -> Iterator[str]:
        """The header, then a line for each group."""
        yield self.line([*self.names.groups, self.names.rows, *self.names.levels, *self.shapes], [])
        for key, group, values in self.rows():
            numbers = list(map(self.field, self.entries(values)))
            yield self.line(key, [*(str(n) for _, n in self.counts(group)), *numbers])

    def line(self, words: Sequence[str], numbers: Sequence[str]) -> str:
        mark = self.separator
        return mark.join([*(quoted(w.encode(), mark.encode()).decode() for w in words), *numbers]) + "\n"

    def record(self, key: Key, group: Group, sums: list[float]) -> dict[str, Any]:
        """A group as an object: numbers of rows are whole numbers, and results stand where those of a point do."""
        values = [self.json(x) for x in self.entries(sums)]
        found: dict[str, Any] = {}
        if key:
            found["group"] = {name: json.loads(json_field(text.encode(), self.comma))
                              for name, text in zip(self.names.groups, key, strict=True)}
        found["rows"] = group.rows
        if self.weighted:
            found["weights"] = values.pop(0)
        found |= self.layout.shaped(values[:self.results])
        if self.options.gauss_newton:
            paths = [q.path for q in quantities(self.task.signature, True)[self.results:]]
            found["gauss_newton"] = nested(paths, values[self.results:])
        found["status"] = dict(zip(LEVELS, group.levels, strict=True))
        return found

    def arrays(self) -> tuple[list[Key], dict[str, Any]]:
        """The groups, and the numbers in columns."""
        keys, numbers, values = [], array("q"), array("d")
        for key, group, sums in self.rows():
            keys.append(key)
            numbers.extend(n for _, n in self.counts(group))
            values.extend(sums)
        names = self.names.rows, *self.names.levels
        return keys, columns(dict.fromkeys(names, ()), keys, np.array(numbers)) | columns(self.shapes, keys, np.array(values))

    def write_arrays(self, out: BinaryIO) -> None:
        """Each column as an array, of groups also their texts; without groups each as a number."""
        from adcli.output.tensors import write_npz
        if self.options.form == "npy":
            raise AdError(f"-o {self.options.output}: a sum is several arrays", help="use .npz")
        keys, arrays = self.arrays()
        texts = {name: np.array([key[i] for key in keys], np.str_) for i, name in enumerate(self.names.groups)}
        write_npz(out, ((name, a if self.names.groups else a[0]) for name, a in (texts | arrays).items()))


# ---------------------------------------------------------------- blocks of rows

class Summing(Work, ABC):
    """Work on rows that are added up: reads inputs, weights and groups."""

    def __init__(self, task: Task, table: Table, options: ResultOptions, fixed: Mapping[str, float]) -> None:
        self.weights = weighted_by(options)
        self.names = names = sum_names(task.signature, options)
        if self.weights in fixed:
            raise AdError(f"--weights {self.weights}: --at gives it one value in every row",
                          help=f"leave out --at {self.weights}=…")
        form = options.form if options.form in ("csv", "tsv") else "csv"
        super().__init__(task, table, replace(options, only=True, form=form, form_known=True, fmt=None, hexadecimal=False,
                                              status=False), fixed)
        table.wanted, self.grouped = names.groups, bool(names.groups)
        table.required = [*(("--group-by", name) for name in names.groups),
                          *([] if self.weights is None else [("--weights", self.weights)])]
        self.by_columns = True
        if self.grouped:
            table.utf8, table.start = True, self.key

    @staticmethod
    def inputs(known: Sequence[Param], options: ResultOptions) -> list[Param]:
        weights = weighted_by(options)
        if weights is None or weights in (p.name for p in known):
            return list(known)
        return [*known, Param(Var(weights), weights)]

    def key(self, row: bytes) -> bytes:
        """The group of a row."""
        table = self.table
        if table.separator is not None:
            fields = table.fields(row)
            found = [fields[place].decode() for place in table.words]
        else:
            new = table.dialect.renamed
            members = {new.get(name, name): value for name, value in slices(row)}
            for name in table.wanted:
                if name not in members:
                    raise Fault(f"no '{name}', which --group-by names")
            found = [self.form.field(members[name]).decode() for name in table.wanted]
        return json.dumps(found).encode()

    def _read(self, block: bytes) -> Rows:
        rows = super()._read(block)
        self._check_weights(rows, block)
        return rows

    def _check_weights(self, rows: Rows, block: bytes) -> None:
        """Make rows bad whose weight is not finite."""
        place = next((i for i, p in enumerate(self.table.inputs) if p.name == self.weights), None)
        if place is None or all(map(math.isfinite, rows.columns[place])):
            return
        lines = [line for _, line in self.table.split(block)]
        for i, w in enumerate(rows.columns[place]):
            if not math.isfinite(w) and i not in rows.faults:
                rows.faults[i] = Fault(f"column '{self.weights}' is {w!r}: a weight must be a finite number")
                rows.places[i] = lines[i]
    @abstractmethod
    def empty(self) -> Sums | ArraySums:
        """The sums of no rows."""

    @abstractmethod
    def add(self, total: Any, done: Done) -> None:
        """Add a block to the sums of the rows so far; faults that are found in it go to the block."""


class SumBlocks(Summing):
    """From the bytes of rows to their sums."""

    def __init__(self, task: Task, table: Table, options: ResultOptions, fixed: Mapping[str, float]) -> None:
        super().__init__(task, table, options, fixed)
        self.block = PIECE   # results are not kept, so their number does not matter
        names = self.names
        summed = quantities(task.signature, options.gauss_newton, names.weights, (names.rows, *names.levels, *names.groups))
        self.adder = SumWork(self.kernel, task.signature, self.constant, summed, keep=not options.no_cache)

    def empty(self) -> Sums:
        return self.adder.nothing(() if self.grouped else ((),))

    def add(self, total: Any, done: Done) -> None:
        total.merge(done.sums)

    def _in_arrays(self, lines: Any, block: Any) -> Done:
        count = len(lines)
        columns = dict(zip((p.name for p in self.table.inputs), lines.columns, strict=True))
        weights = columns.get(self.weights or "")
        if weights is not None and not math.isfinite(float(abs(weights).max())):
            text = block if isinstance(block, bytes) else parquet_tables("Parquet").as_csv(self.table, block)
            return self._listed(self._read(text), text)
        groups = lines.grouped(self.table) if self.grouped else ()
        return self._summed(columns, groups, range(count), block, count, [], self._outside_arrays(columns))

    def _listed(self, rows: Rows, block: bytes) -> Done:
        kept, faults = self._kept(rows)
        rows = rows if len(kept) == len(rows.texts) else rows.only(kept, rows.lines)
        columns = {p.name: array("d", c) for p, c in zip(self.table.inputs, rows.columns, strict=True)}
        known = dict[bytes, int]()
        numbers = array("i", [known.setdefault(text, len(known)) for text in rows.texts if self.grouped])
        groups = ([tuple(json.loads(text)) for text in known], numbers) if self.grouped else ()
        return self._summed(columns, groups, kept, block, rows.lines, faults, self._outside(columns, ()))

    def _summed(self, columns: Mapping[str, Any], groups: Sequence[Any], kept: Sequence[int], block: Any, lines: int,
                faults: list[tuple[int, Fault]], outside: dict[str, float]) -> Done:
        """The sums of the rows that are kept of a block; how many are not finite (with --strict: or not smooth), and the first
        of them with its line."""
        sums = self.adder.add(columns, len(kept), columns.get(self.weights or ""), *groups)
        many, told = 0, None
        if sums.rough(self.strict):
            many, first, row = rough_rows(self.task, self.constant, columns, len(kept), self.strict)
            line = kept[first] if not isinstance(block, bytes) else next(islice(self.table.split(block), kept[first], None))[1]
            told = line, row
        return Done(b"", len(kept), lines, faults, many, told, outside, sums)


def rough_rows(task: Task, known: Mapping[str, float], columns: Values, rows: int,
               smooth: bool) -> tuple[int, int, Row]:
    """How many rows are not finite, or not `smooth` where they must be, and the first one with its number. There is one."""
    full = {p.name: np.full(rows, known[p.name]) if p.name in known else np.asarray(columns[p.name])
            for p in task.signature.inputs}
    kernel, many, found = of_doubles(task.kernel), 0, None
    size = points_at_once(kernel.entry.outputs, rows)
    for begin in range(0, rows, size):
        *results, levels = run_arrays(kernel, [c[begin:begin + size] for c in full.values()], min(size, rows - begin))
        fine = np.logical_and.reduce([*map(np.isfinite, results), *([levels == 0] if smooth else [])])
        wrong = np.flatnonzero(~fine)
        many += len(wrong)
        if found is None and len(wrong):
            i = int(wrong[0])
            at = {name: float(column[begin + i]) for name, column in full.items()}
            found = begin + i, Row(at, [float(r[i]) for r in results], int(levels[i]))
    assert found is not None
    return many, *found
