"""Rows of a table as numbers: what a field may be, what is wrong with a row, and in words that name the row.

`Table.careful` reads row by row and defines what a table means; `native` reads blocks without a bad row many times faster.
"""
from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from adcli.input.fields import Fault, field_number, shown
from adcli.input.values import DECIMAL
from adcli.lang.ir import Param
from adcli.lang.ir.errors import nearest, plural
from adcli.lang.ir.names import composed, repeated
from adcli.output.numbers import NON_FINITE
from adcli.output.wrap import few
from adcli.tables.dialect import Dialect
from adcli.tables.streams import field_pattern, row_pattern

Known = TypeVar("Known")
QUOTED = re.compile(rb'"(?:[^"]++|"")*+"')


@dataclass(slots=True)
class Rows:
    """Rows as they were written, without line ends; the inputs, one column each, of numbers or of tensors; the faults by row; the
    lines of the rows in the block, where a row was bad of all; how many lines the block has; the `frame` of Parquet that the
    block was."""

    texts: list[bytes]
    columns: list[list[Any]]
    faults: dict[int, Fault]
    places: dict[int, int]
    lines: int
    frame: Any = None

    def only(self, kept: Sequence[int], lines: int) -> Rows:
        """These rows, with so many lines of the block."""
        def of(known: Mapping[int, Known]) -> dict[int, Known]:
            return {k: known[i] for k, i in enumerate(kept) if i in known}
        columns = [[c[i] for i in kept] for c in self.columns]
        return Rows([self.texts[i] for i in kept], columns, of(self.faults), of(self.places), lines, self.frame)


class Header:
    """The columns of a table that are inputs of a program: `places` has the column of every input, None for its default.

    `fixed` are the inputs that have a value without it; `lists` are the columns that hold lists of numbers, with their
    dimensions. `required` are columns that an option names, by that option; of those in `wanted` the texts are wanted, and
    `words` has their places. What is written decides the rest: `new` are the names about to be appended to each row, `start`
    makes of a row what its results are appended to (None: the row as it is), and `utf8` says that all of it must be text.
    """

    def __init__(self, dialect: Dialect, inputs: Sequence[Param], fixed: Collection[str] = ()) -> None:
        self.dialect, self.inputs, self.fixed = dialect, inputs, fixed
        self.kind, self.separator = dialect.kind, dialect.separator
        self.lists = {p.name: len(p.var.shape) for p in inputs if p.var.shape}
        self.tensors = any(p.var.shape or p.var.integer for p in inputs)
        self.header: bytes | None = None
        self.new: Sequence[str] = ()
        self.start: Callable[[bytes], bytes] | None = None
        self.utf8 = self.closed = False
        self.required: Sequence[tuple[str, str]] = ()
        self.wanted: Sequence[str] = ()
        self.words: list[int] = []
        self.names: list[str] = []
        self.known: frozenset[str] = frozenset()
        self.places: list[int | None] = []

    def take_first(self, text: bytes) -> bool:
        """Find the inputs in the first row, without its line end; whether it is a header."""
        if b"\0" in text:
            raise Fault("not a table of text", "write CSV, TSV or JSON in UTF-8, Parquet or .npz")
        fields = [field.strip(b" \t") for field in self.fields(text)]
        columns = self.dialect.columns
        if columns is None:
            self.header = text
            self._take_names([composed(self._word(field)) for field in fields])
            return True
        wanted = list(columns) or [p.name for p in self.inputs][:len(fields)]
        if len(wanted) != len(fields):
            raise Fault(f"{plural(len(fields), 'column')}, but --columns names {len(columns)}" if columns else
                        f"{plural(len(fields), 'column')}, but {plural(len(wanted), 'input')}: {', '.join(wanted)}",
                        None if columns else "name the columns: --columns id,x,y")
        self._take_names(wanted)
        return False

    def take_header(self, names: list[str]) -> None:
        """Find the inputs among the names of columns."""
        self._take_names(list(map(composed, names)))

    def take_object(self, text: bytes) -> None:
        """Take the members of the first object, by their new names, as the columns that all rows have."""
        self.take_columns(list(renamed(members(text), self.dialect)))

    def take_columns(self, names: list[str]) -> None:
        """Take these columns as those that all rows have."""
        self._take_names(names, placed=False)
        self.closed, self.known = True, frozenset(self.names)

    def compare(self, wanted: list[str], other: str) -> None:
        """Fault where the columns are not those of another table."""
        if self.names == wanted:
            return
        missing, new = [n for n in wanted if n not in self.names], [n for n in self.names if n not in wanted]
        reason = f"no column '{missing[0]}', which {other} has" if missing else \
            f"column '{new[0]}', which {other} does not have" if new else f"the columns have another order than in {other}"
        raise Fault(reason, "write the results alone, --only, or --format json")

    def _word(self, field: bytes) -> str:
        try:
            return field.decode()
        except UnicodeDecodeError:
            if self.utf8:
                raise not_text("the header") from None
            return field.decode("utf-8", "replace")

    def _take_names(self, found: list[str], placed: bool = True) -> None:
        for old in self.dialect.renamed if placed else ():
            if old not in found:
                new = self.dialect.renamed[old]
                raise Fault(f"no column '{old}', which --rename names",
                            nearest(old, found) or (f"write --rename {new}={old}" if new in found else self._columns(found)))
        self.names = [self.dialect.renamed.get(name, name) for name in found] if placed else found
        for name, count in Counter(self.names).items():
            if count > 1 and (self.utf8 or name in self.dialect.renamed.values()):
                raise Fault(f"column '{name}' occurs {count} times")
        self.refuse_names(self.names, "the table")
        for option, name in self.required:
            if name not in self.names:
                raise Fault(f"no column '{name}', which {option} names",
                            self._delimiter(name) or nearest(name, self.names) or self._columns(self.names))
        self.words = [self.names.index(name) for name in self.wanted]
        if placed:
            self.places = [self._place(p) for p in self.inputs]

    def refuse_names(self, names: Collection[str], what: str) -> None:
        """Fault where a table or an object has what --at gives or what is about to be appended."""
        for name in self.fixed:
            if name in names:
                raise Fault(f"{what} has '{name}', which --at fixes", f"leave out --at {name}=…, or --rename {name}=other")
        for name in self.new:
            if name in names:
                column = "a column " if what == "the table" else ""
                raise Fault(f"{what} already has {column}'{name}'",
                            f"a result of this name is appended: --rename {name}=other, or --only")

    def _place(self, p: Param) -> int | None:
        found = [i for i, name in enumerate(self.names) if name == p.name]
        if len(found) > 1:
            raise Fault(f"column '{p.name}' occurs {len(found)} times")
        if not found and p.default is None:
            raise Fault(f"no column '{p.name}'", self._instead(p))
        return found[0] if found else None

    def _near(self, p: Param, names: Collection[str]) -> str | None:
        """The name that may have been meant in a table or an object that lacks an input. One that is another input's is
        not meant, and an input without a standard uncertainty is exact."""
        known = ",".join(q.seed for q in self.inputs if q.seed and q.name in names)
        inputs = [q.name for q in self.inputs]
        if p.seed not in names or p.seed not in inputs:
            return nearest(p.name, names)
        what = f"{p.seed} is exact with --wrt {known}" if known else f"it has the standard uncertainty of {p.seed} in each row"
        return nearest(p.name, [n for n in names if n not in inputs]) or what

    def _delimiter(self, name: str) -> str | None:
        """The option with which a table of one column has one of this name."""
        for other in ";|\t,":
            if len(self.names) == 1 and name in map(str.strip, self.names[0].split(other)):
                return "add " + (f"--delimiter {other!r}" if other != "\t" else "--input-format tsv")
        return None

    def _instead(self, p: Param) -> str:
        """A help where a table has no column for an input."""
        if (option := self._delimiter(p.name)) is not None:
            return option
        near = self._near(p, self.names)
        if near is None and all(DECIMAL.fullmatch(n.strip()) for n in self.names):
            return "add --no-header if the first row is data"
        if near is None and len(self.names) == 1 and (split := next((d for d in ";|\t, " if all(
                DECIMAL.fullmatch(n.strip()) for n in self.names[0].split(d))), None)):
            return f"add --no-header --delimiter {split!r} if the first row is data"
        if p.name in self.lists:
            return near or f"--at {p.name}=@{p.name}.npy gives it one value in every row"
        return near or self._columns(self.names)

    def _columns(self, names: Sequence[str]) -> str:
        return f"the columns are {few((shown(n)[1:-1] for n in names), 10)}"

    def fields(self, text: bytes) -> list[bytes]:
        """The fields of a row, quotes taken off."""
        separator = self.separator or b","
        if b'"' not in text:
            return text.split(separator)
        pattern, at = re.compile(field_pattern(separator)), 0
        found: list[bytes] = []
        while True:
            one = pattern.match(text, at)
            assert one is not None
            found.append(unquoted(one[0], len(found) + 1))
            at = one.end()
            if at == len(text):
                return found
            if text[at:at + 1] != separator:
                raise Fault("a quoted field is not closed")
            at += 1


class Table(Header):
    """Rows of a table as inputs of a program."""

    def careful(self, block: bytes) -> Rows:
        """Any rows at all."""
        rows = Rows([], [[] for _ in self.inputs], {}, {}, block.count(b"\n"))
        for text, line in self.split(block):
            try:
                values = self._object(text) if self.separator is None else self._values(text)
                text = self.start(text) if self.start else text
            except Fault as fault:
                rows.faults[len(rows.texts)] = fault
                values = [math.nan] * len(self.inputs)
            rows.places[len(rows.texts)] = line
            rows.texts.append(text)
            for column, value in zip(rows.columns, values, strict=True):
                column.append(value)
        return rows

    def split(self, block: bytes) -> Iterator[tuple[bytes, int]]:
        """The rows of a block without line ends, each with its line, counted from 0; blank lines are no rows."""
        if self.separator is None or b'"' not in block:
            for line, row in enumerate(block[:-1].split(b"\n")):
                if row := row.removesuffix(b"\r"):
                    yield row, line
            return
        pattern, at, line = row_pattern(self.separator), 0, 0
        while at < len(block):
            found = pattern.match(block, at)
            end = found.end() if found else len(block)
            if row := block[at:end - 1].removesuffix(b"\r"):
                yield row, line
            line += block.count(b"\n", at, end)
            at = end

    def _values(self, text: bytes) -> list[Any]:
        if self.utf8 and not is_text(text):
            raise not_text("the row")
        fields = self.fields(text)
        if len(fields) != len(self.names):
            raise Fault(f"{plural(len(fields), 'field')}, header has {len(self.names)}")
        return [self._value(fields, p, place) for p, place in zip(self.inputs, self.places, strict=True)]

    def _value(self, fields: list[bytes], p: Param, place: int | None) -> Any:
        if place is None:
            return self._typed(p, p.default)
        if self.dialect.is_empty(fields[place]):
            return self._nothing(p, f"column '{p.name}' is empty")
        try:
            if p.var.shape:
                from adcli.tables.lists import field_list
                return self._typed(p, field_list(fields[place]))
            return self._typed(p, field_number(fields[place], self.dialect.comma))
        except Fault as fault:
            raise Fault(f"column '{p.name}': {fault.reason}", fault.help) from None

    def _typed(self, p: Param, x: Any) -> Any:
        """The value of an input, which is an array where it is a tensor or an integer."""
        if not p.var.shape and not p.var.integer:
            if self.dialect.holds([x]) or math.isinf(x):
                return x
            raise Fault(f"{x!r} is too large for single precision", "double precision is the default")
        from adcli.tables.lists import tensor
        return tensor(p, x, self.dialect.nan)

    def _nothing(self, p: Param, reason: str) -> float:
        if self.dialect.nan and not p.var.shape and not p.var.integer:
            return math.nan
        raise Fault(reason, None if p.var.shape or p.var.integer else "--missing nan reads missing values as nan")

    def _object(self, text: bytes) -> list[Any]:
        found = renamed(members(text, self.closed), self.dialect)
        self.refuse_names(found, "the object")
        if self.closed:
            for name in found.keys() - self.known:
                raise Fault(f"the first object has no {shown(name)}, so there is no column for it",
                            "write JSON, --format json, or --only results; or give the first object every member")
        return [self._member(found, p) for p in self.inputs]

    def _member(self, found: dict[str, object], p: Param) -> Any:
        if p.name not in found and p.default is not None:
            return self._typed(p, p.default)
        value = found.get(p.name)
        empty = self.dialect.empty_numbers if isinstance(value, float) else self.dialect.empty_words
        if value in empty:
            value = None
        if value is None:
            close = None if p.name in found else self._near(p, found)
            try:
                return self._nothing(p, f"'{p.name}' is null" if p.name in found else f"no '{p.name}'")
            except Fault as fault:
                raise Fault(fault.reason, close or fault.help) from None
        if p.var.shape:
            return self._typed(p, value)
        if isinstance(value, float):
            if math.isinf(value):
                raise Fault(f"'{p.name}' is too large for a double")
            if not self.dialect.holds([value]):
                raise Fault(f"'{p.name}' is too large for single precision", "double precision is the default")
            return self._typed(p, value)
        if isinstance(value, str) and value in NON_FINITE:
            return NON_FINITE[value]
        raise Fault(f"'{p.name}': {shown(json.dumps(value, ensure_ascii=False))} is not a number")

    def number(self, field: bytes) -> float | None:
        """The number in a field, NaN in one that is empty where that is allowed. None where it is bad."""
        if self.dialect.is_empty(field):
            return math.nan if self.dialect.nan else None
        with suppress(Fault):
            return field_number(field, self.dialect.comma)
        return None


def unquoted(field: bytes, number: int) -> bytes:
    """A field without its quotes."""
    if not field.startswith(b'"'):
        return field
    if not QUOTED.fullmatch(field):
        raise Fault(f"field {number} has text after its closing quote")
    return field[1:-1].replace(b'""', b'"')


def members(text: bytes, unique: bool = False) -> dict[str, object]:
    """The members of a JSON object, all numbers as doubles. Fault where it is `unique` that a name is there twice."""
    try:
        found = _decoder(unique).decode(text.decode())
    except UnicodeDecodeError:
        raise not_text("the object") from None
    except RecursionError:
        raise Fault("not JSON: nested too deeply") from None
    except ValueError as error:
        begun = text.lstrip().startswith(b"{") and not text.rstrip().endswith(b"}")
        raise Fault(f"not JSON: {getattr(error, 'msg', error)}",
                    "--input-format json reads objects written over lines" if begun else None) from None
    if not isinstance(found, dict):
        raise Fault("not a JSON object", "write one object per line: {\"x\": 2}")
    return found if text.isascii() else {composed(name): x for name, x in found.items()}


@cache
def _decoder(unique: bool) -> json.JSONDecoder:
    return json.JSONDecoder(parse_int=float, parse_float=float, parse_constant=_no_constant,
                            object_pairs_hook=_distinct if unique else None)


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs) and (twice := repeated(name for name, _ in pairs)) is not None:
        raise Fault(f"{shown(twice)} is given twice")
    return found


def _no_constant(word: str) -> float:
    raise ValueError(f'write "{word}", in quotes')


def renamed(found: dict[str, object], dialect: Dialect) -> dict[str, object]:
    """The members by their new names."""
    if not dialect.renamed:
        return found
    new = {dialect.renamed.get(name, name): value for name, value in found.items()}
    if len(new) < len(found):
        twice = next(n for n in dialect.renamed.values() if n in found and n not in dialect.renamed)
        raise Fault(f"--rename: two members would be called '{twice}'")
    return new


def is_text(data: bytes) -> bool:
    """True for UTF-8."""
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False


def not_text(what: str) -> Fault:
    return Fault(f"{what} is not UTF-8", "iconv -f LATIN1 -t UTF-8 FILE | adcli … --data -")
