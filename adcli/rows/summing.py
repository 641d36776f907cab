"""--sum and --mean: the rows of a table added up, and what is written of that.

Blocks of rows are read as ever; none is written to be added later. What is written has the shape of the results of a point.
"""
from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

from adcli.answers.watch import Watch
from adcli.codegen.machine.memory import require_room
from adcli.command.options import ResultOptions
from adcli.input.fields import Fault
from adcli.lang.ir import LEVELS, Param, Var
from adcli.lang.ir.errors import AdError, one_line
from adcli.lang.ir.names import Names, composed, repeated
from adcli.output.layout import Row, nested
from adcli.output.numbers import json_number, json_text, number_format
from adcli.output.streams import write_points
from adcli.output.suffixes import ARRAYS
from adcli.rows.appended import json_field, quoted, slices
from adcli.rows.blocks import Done, Work, parquet_tables
from adcli.rows.reading import Reading
from adcli.rows.rows import Rows, Table
from adcli.rows.sources import Location
from adcli.rows.stream import TableRun
from adcli.rows.sums import Group, Key, Sums, SumWork, quantities
from adcli.task.shapes import refuse_tensors
from adcli.task.signature import Signature
from adcli.task.tasks import Task
from adcli.task.verbs import MATRIX_FORMATS

FEW_GROUPS = 1 << 14
"""Groups that always have room."""
GROUP_BYTES = 160
"""Bytes that a sum takes; a group takes as many as three beside its sums."""
FINITE_NEEDED = "a weight must be a finite number"


class SumNames(NamedTuple):
    """What the columns of a sum are called: the groups by, the number of rows, the weights (None: there are none), and the number
    of rows of each status level."""

    groups: tuple[str, ...]
    rows: str
    weights: str | None
    levels: tuple[str, ...]


def sum_names(signature: Signature, options: ResultOptions) -> SumNames:
    """Names that the results leave free."""
    groups = groups_by(options)
    free = Names([*(c.name for c in signature.results), *groups])
    return SumNames(groups, free.fresh("rows"), None if options.weights is None else free.fresh("weights"),
                    tuple(free.fresh(f"rows_{level}") for level in LEVELS) if options.status else ())


def groups_by(options: ResultOptions) -> tuple[str, ...]:
    """The columns that --group-by names."""
    found = [] if options.group_by is None else [name.strip() for name in composed(options.group_by).split(",")]
    if not all(found):
        raise AdError("--group-by names nothing", help="write --group-by site,year")
    if (twice := repeated(found)) is not None:
        raise AdError(f"--group-by names '{twice}' twice")
    return tuple(found)


def check(task: Task, options: ResultOptions) -> None:
    """AdError for what a sum has no use for."""
    option = "--sum" if options.sum else "--mean"
    if options.sum and options.mean:
        raise AdError("--sum and --mean cannot be used together", help="a mean is a sum divided by 'rows', or by 'weights'")
    options.refuse(["only"], f"has no effect with {option}, which writes no rows")
    if options.on_error == "mark":
        raise AdError(f"--on-error mark marks rows, and {option} writes none", help="write --on-error skip")
    options.refuse(["digits", "enclose"], f"cannot be used with {option}")
    if options.form in MATRIX_FORMATS:
        options.refuse(["status"], "needs --format text, csv or json")
        options.refuse(["group_by"], f"has no place in --format {options.form}, which writes one matrix")
        options.refuse(["gauss_newton"], f"has no place in --format {options.form}; JᵀJ is in text, CSV and JSON")
    if task.signature.tensors:
        refuse_tensors(task.primal, option)
    if options.gauss_newton and (not task.signature.values or (options.of and ":" in options.of)):
        raise AdError("--gauss-newton needs the outputs and their first derivatives", help="name outputs alone with --of")


class SumBlocks(Work):
    """From the bytes of rows to their sums."""

    def __init__(self, task: Task, table: Table, options: ResultOptions, fixed: Mapping[str, float]) -> None:
        self.weights, names = options.weights, sum_names(task.signature, options)
        if self.weights in fixed:
            raise AdError(f"--weights {self.weights}: --at gives it one value in every row",
                          help=f"leave out --at {self.weights}=…")
        form = options.form if options.form in ("csv", "tsv") else "csv"
        super().__init__(task, table, replace(options, only=True, form=form, form_known=True, fmt=None, hexadecimal=False,
                                              status=False), fixed)
        table.wanted, self.grouped = names.groups, bool(names.groups)
        table.required = [*(("--group-by", name) for name in names.groups),
                          *([] if self.weights is None else [("--weights", self.weights)])]
        if self.grouped:
            table.utf8, table.start = True, self.key
        summed = quantities(task.signature, options.gauss_newton, names.weights, (names.rows, *names.levels, *names.groups))
        self.adder = SumWork(self.kernel, task.signature, self.constant, summed, keep=not options.no_cache)

    @staticmethod
    def inputs(known: Sequence[Param], options: ResultOptions) -> list[Param]:
        if options.weights is None or options.weights in (p.name for p in known):
            return list(known)
        return [*known, Param(Var(options.weights), options.weights)]

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

    def __call__(self, block: Any) -> Done:
        """A block of a text, or a piece of a Parquet file."""
        if isinstance(block, bytes):
            return super().__call__(block)
        lines = self._fast.taken(self.table, block)
        text = self._fast.as_csv(self.table, block) if lines is None else b""
        return super().__call__(text) if lines is None else self._in_arrays(lines, block)

    def _in_arrays(self, lines: Any, block: Any) -> Done:
        count = len(lines)
        columns = dict(zip((p.name for p in self.table.inputs), lines.columns, strict=True))
        weights = columns.get(self.weights or "")
        if weights is not None and not math.isfinite(float(abs(weights).max())):
            text = block if isinstance(block, bytes) else self._fast.as_csv(self.table, block)
            return self._listed(self.table.careful(text), text)
        groups = self._fast.grouped(self.table, lines) if self.grouped else None
        sums = self.adder.add_columns(columns, count, groups, weights)
        return self._done(sums, columns, self._outside_arrays(columns), range(count), count, [], block)

    def _listed(self, rows: Rows, block: bytes) -> Done:
        if self.weights is not None:
            self._check_weights(rows, block)
        kept, faults = self._kept(rows)
        rows = rows if len(kept) == len(rows.texts) else rows.only(kept)
        columns = {p.name: array("d", c) for p, c in zip(self.table.inputs, rows.columns, strict=True)}
        numbers: dict[bytes, int] = {}
        which = array("i", [numbers.setdefault(text, len(numbers)) for text in rows.texts]) if self.grouped else None
        groups = None if which is None else ([tuple(json.loads(text)) for text in numbers], which)
        sums = self.adder.add_columns(columns, len(rows.texts), groups, columns.get(self.weights or ""))
        return self._done(sums, columns, self._outside(columns, ()), kept, rows.lines, faults, block)

    def _check_weights(self, rows: Rows, block: bytes) -> None:
        """Make rows bad whose weight is not finite."""
        place = next(i for i, p in enumerate(self.table.inputs) if p.name == self.weights)
        if finite(rows.columns[place]):
            return
        lines = [line for _, line in self.table.split(block)]
        for i, w in enumerate(rows.columns[place]):
            if not math.isfinite(w) and i not in rows.faults:
                rows.faults[i] = Fault(f"column '{self.weights}' is {w!r}: {FINITE_NEEDED}")
                rows.places[i] = lines[i]

    def _done(self, sums: Sums, columns: Mapping[str, Any], outside: dict[str, float], kept: Sequence[int], lines: int,
              faults: list[tuple[int, Fault]], block: Any) -> Done:
        rows = len(kept)
        rough = any(not s.finite for g in sums.groups.values() for s in g.sums) or \
            (self.strict and any(any(g.levels[1:]) for g in sums.groups.values()))
        many, first = self._first_rough(columns, kept, block) if rough else (0, None)
        return Done(b"", rows, lines, faults, many, first, outside, sums)

    def _first_rough(self, columns: Mapping[str, Any], kept: Sequence[int], block: Any) -> tuple[int, tuple[int, Row]]:
        """How many rows are not finite (with --strict: or not smooth), and the first of them with its line."""
        import numpy as np

        from adcli.codegen.machine.arrays import run_arrays
        known, rows = self.constant, len(kept)
        full = {p.name: np.full(rows, known[p.name]) if p.name in known else np.asarray(columns[p.name])
                for p in self.task.signature.inputs}
        *results, levels = run_arrays(self.kernel, list(full.values()), rows)
        fine = np.logical_and.reduce([*map(np.isfinite, results), *([levels == 0] if self.strict else [])])
        wrong = np.flatnonzero(~fine)
        row = int(wrong[0])
        line = kept[row] if not isinstance(block, bytes) else next(islice(self.table.split(block), kept[row], None))[1]
        at = {name: float(column[row]) for name, column in full.items()}
        return len(wrong), (line, Row(at, [float(r[row]) for r in results], int(levels[row])))


def finite(column: Sequence[float]) -> bool:
    """Whether all numbers are."""
    return all(map(math.isfinite, column))


class SumReading(Reading):
    """A table whose rows are added up. Parquet is read by its columns: of its text there is the header alone."""

    kind = SumBlocks

    def _parquet(self) -> Iterator[bytes | None]:
        return islice(super()._parquet(), 1)

    def blocks(self, first: Reading | None = None) -> Iterator[Any]:
        found = super().blocks(first)
        if not self.parquet:
            return found
        places = {*(place for place in self.table.places if place is not None), *self.table.words}
        tables = parquet_tables("Parquet")
        return iter(tables.frames(self.source.path, sorted(places) or [0], self.source.told))


class SumRun(TableRun):
    """Tables that are added up."""

    kind, policies = SumReading, "skip"

    def __init__(self, task: Task, found: Sequence[Location], options: ResultOptions, watch: Watch) -> None:
        super().__init__(task, found, options, watch)
        assert isinstance(self.first.work, SumBlocks)
        self.asked, self.names = options, sum_names(task.signature, options)
        self.total, self.asked_for = Sums(self.first.work.adder.names), FEW_GROUPS
        self.several = bool(self.names.groups)
        if not options.strict:
            self.rough_words = "not finite"

    def take(self, done: Done) -> None:
        assert done.sums is not None
        self.total.merge(done.sums)
        count = len(self.total.groups)
        if count > self.asked_for:   # room for as many again
            require_room(f"sums of more than {count:,} groups", GROUP_BYTES * (len(self.total.names) + 3) * count,
                         "group by columns of fewer different texts")
            self.asked_for = 2 * count

    def write(self, out: BinaryIO) -> None:
        self._write(lambda data: None)
        self.progress.clear()
        report = SumReport(self.task, self.asked, self.names, self.total, self.form.separator.decode(), self.form.comma)
        report.remark(self.watch)
        report.write(out)


# ---------------------------------------------------------------- what is written

class SumRow(NamedTuple):
    """A group with its sums or means, each rounded."""

    key: Key
    group: Group
    values: list[float]


class SumReport:
    """Sums as they are written: one result, or one for each group. `comma`: the table has decimal commas, and CSV gets them."""

    def __init__(self, task: Task, options: ResultOptions, names: SumNames, total: Sums, separator: str, comma: bool) -> None:
        self.task, self.options, self.names, self.total = task, options, names, total
        self.separator, self.comma = separator, comma
        self.number = number_format(options.fmt, options.hexadecimal)
        self.layout = task.layout(False)
        self.results = len(self.layout.results)
        self.found = [SumRow(key, group := total.group(key), total.rounded(group, options.mean, names.weights))
                      for key in (total.groups if names.groups else [()])]

    def remark(self, watch: Watch) -> None:
        """Say what is not finite although all rows are."""
        for key, group, values in self.found:
            if all(map(math.isfinite, values)):
                continue
            watch.failed, where = True, f"{self.title(key)}: " if key else ""
            if self.options.mean and not (group.rows if self.names.weights is None else group.sums[0].whole):
                reason = "there are no rows" if not group.rows else "the weights add up to 0"
                watch.remark("means of nothing", f"note: {where}{reason}, so the means are nan".__str__)
                continue
            for name, total, x in zip(self.total.names, group.sums, values, strict=True):
                if total.finite and not math.isfinite(x):
                    beyond = f"note: {where}{name} = {x!r}: the sum is beyond the largest double"
                    watch.remark("sums beyond the largest double", beyond.__str__)

    def title(self, key: Key) -> str:
        return ", ".join(f"{name} = {one_line(text)}" for name, text in zip(self.names.groups, key, strict=True))

    def write(self, out: BinaryIO) -> None:
        match self.options.form:
            case "parquet":
                from adcli.output.texts_polars import words, write_frame
                texts = {name: words([row.key[i] for row in self.found]) for i, name in enumerate(self.names.groups)}
                write_frame(out, {**texts, **self.arrays()})
            case form if form in ARRAYS:
                self.write_arrays(out)
            case form if form in MATRIX_FORMATS:
                from adcli.answers.results import matrices
                row = Row({}, self.found[0].values[self.names.weights is not None:][:self.results], -1)
                write_points(out, matrices(self.task, form, [row], self.number, False))
            case "json":
                write_points(out, (json_text(self.record(*row)) + "\n" for row in self.found))
            case "text":
                write_points(out, self.text())
            case _:
                write_points(out, self.delimited())

    def counts(self, group: Group) -> list[tuple[str, int]]:
        """The number of rows, and of those of each level where they are shown."""
        return [(self.names.rows, group.rows), *zip(self.names.levels, group.levels, strict=False)]

    def text(self) -> Iterator[str]:
        """As at points. Levels that no row has are left out."""
        for i, (key, group, values) in enumerate(self.found):
            lines = ([""] * (i > 0) + [f"# {self.title(key)}".rstrip()]) if key else []
            lines += [f"{name} = {n}" for k, (name, n) in enumerate(self.counts(group)) if n or k == 0]
            lines += [f"{name} = {self.number(x)}" for name, x in zip(self.total.names, values, strict=True)]
            yield "\n".join(lines) + "\n"

    def delimited(self) -> Iterator[str]:
        """The header, then a line for each group."""
        yield self.line([*self.names.groups, self.names.rows, *self.names.levels, *self.total.names], [])
        for key, group, values in self.found:
            numbers = list(map(self.number, values))
            numbers = [x.replace(".", ",") for x in numbers] if self.comma else numbers
            yield self.line(key, [*(str(n) for _, n in self.counts(group)), *numbers])

    def line(self, words: Sequence[str], numbers: Sequence[str]) -> str:
        mark = self.separator
        return mark.join([*(quoted(w.encode(), mark.encode()).decode() for w in words), *numbers]) + "\n"

    def record(self, key: Key, group: Group, sums: Sequence[float]) -> dict[str, Any]:
        """A group as an object: numbers of rows are whole numbers, and results stand where those of a point do."""
        values = [json_number(x, self.number) for x in sums]
        found: dict[str, Any] = {}
        if key:
            found["group"] = {name: json.loads(json_field(text.encode(), self.comma))
                              for name, text in zip(self.names.groups, key, strict=True)}
        found["rows"] = group.rows
        if self.names.weights is not None:
            found["weights"] = values.pop(0)
        found |= self.layout.shaped(values[:self.results])
        if self.options.gauss_newton:
            paths = [q.path for q in quantities(self.task.signature, True)[self.results:]]
            found["gauss_newton"] = nested(paths, values[self.results:])
        found["status"] = dict(zip(LEVELS, group.levels, strict=True))
        return found

    def arrays(self) -> dict[str, Any]:
        """The numbers in columns."""
        import numpy as np
        names = self.names.rows, *self.names.levels
        counts = np.array([[n for _, n in self.counts(row.group)] for row in self.found], np.int64)
        values = np.array([row.values for row in self.found], np.float64)
        return {**dict(zip(names, counts.reshape(-1, len(names)).T.copy(), strict=True)),
                **dict(zip(self.total.names, values.reshape(-1, len(self.total.names)).T.copy(), strict=True))}

    def write_arrays(self, out: BinaryIO) -> None:
        """Each column as an array, of groups also their texts; without groups each as a number."""
        import numpy as np

        from adcli.output.tensors import write_npz
        if self.options.form == "npy":
            raise AdError(f"-o {self.options.output}: a sum is several arrays", help="use .npz")
        texts = {name: np.array([row.key[i] for row in self.found], np.str_) for i, name in enumerate(self.names.groups)}
        write_npz(out, ((name, a if self.names.groups else a.reshape(())) for name, a in (texts | self.arrays()).items()))
