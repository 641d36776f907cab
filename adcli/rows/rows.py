"""Rows of a table as numbers: what a field may be, what is wrong with a row, and in words that name the row.

`Table.careful` reads row by row and is the definition of what a table means. `Table.plain` reads a block of rows that have
nothing special about them several times faster and gives None for any other; `tables_polars` does the same faster still.
"""
from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adcli.input.fields import Fault, field_number, shown
from adcli.lang.ir import Param
from adcli.lang.ir.errors import nearest, plural
from adcli.output.numbers import NON_FINITE
from adcli.rows.tables import SEPARATORS, field_pattern, row_pattern

UNUSUAL = re.compile(rb'["\r_\x0b\x0c\x1c-\x1f]|\n\n')
"""What the plain reader leaves to the careful one: quotes, stray carriage returns, blank lines, what float() takes otherwise."""
QUOTED = re.compile(rb'"(?:[^"]++|"")*+"')


@dataclass(slots=True)
class Rows:
    """Rows as they were written, without line ends; the inputs, one column each; the faults by row, with their lines
    in the block; how many lines the block has."""

    texts: list[bytes]
    columns: list[list[float]]
    faults: dict[int, Fault]
    places: dict[int, int]
    lines: int

    def only(self, kept: Sequence[int]) -> Rows:
        """These rows, none of which is bad."""
        return Rows([self.texts[i] for i in kept], [[c[i] for i in kept] for c in self.columns], {}, {}, self.lines)


class Table:
    """How rows of a table become inputs of a program: `places` has the column of every input, None for its default;
    `new` are the members about to be appended to JSON objects."""

    def __init__(self, kind: str, inputs: Sequence[Param], missing: str = "error") -> None:
        self.kind, self.inputs, self.nan = kind, inputs, missing == "nan"
        self.separator = SEPARATORS.get(kind)
        self.header: bytes | None = None
        self.new: Sequence[str] = ()
        self.names: list[str] = []
        self.places: list[int | None] = []

    def take_header(self, text: bytes, new: Sequence[str]) -> None:
        """Find the inputs in the first row, without its line end; `new` names are about to be appended to it."""
        self.header = text
        self.names = [field.decode("utf-8", "replace").strip(" \t") for field in self.fields(text)]
        self.places = [self._place(p) for p in self.inputs]
        for name in new:
            if name in self.names:
                raise Fault(f"the table already has a column '{name}'", "rename it: a result of this name is appended")

    def _place(self, p: Param) -> int | None:
        found = [i for i, name in enumerate(self.names) if name == p.name]
        if len(found) > 1:
            raise Fault(f"column '{p.name}' occurs {len(found)} times")
        if not found and p.default is None:
            known = ", ".join(shown(n)[1:-1] for n in self.names[:10]) + (", …" if len(self.names) > 10 else "")
            raise Fault(f"no column '{p.name}'", nearest(p.name, self.names) or f"the columns are {known}")
        return found[0] if found else None

    # ------------------------------------------------------------ row by row

    def careful(self, block: bytes) -> Rows:
        """Any rows at all."""
        rows = Rows([], [[] for _ in self.inputs], {}, {}, block.count(b"\n"))
        for text, line in self.split(block):
            try:
                values = self._object(text) if self.separator is None else self._values(text)
            except Fault as fault:
                rows.places[len(rows.texts)], rows.faults[len(rows.texts)] = line, fault
                values = [math.nan] * len(self.inputs)
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

    def _values(self, text: bytes) -> list[float]:
        fields = self.fields(text)
        if len(fields) != len(self.names):
            raise Fault(f"{plural(len(fields), 'field')}, header has {len(self.names)}")
        return [self._value(fields, p, place) for p, place in zip(self.inputs, self.places, strict=True)]

    def _value(self, fields: list[bytes], p: Param, place: int | None) -> float:
        if place is None:
            assert p.default is not None
            return p.default
        if not fields[place].strip(b" \t"):
            return self._nothing(f"column '{p.name}' is empty")
        try:
            return field_number(fields[place])
        except Fault as fault:
            raise Fault(f"column '{p.name}': {fault.reason}") from None

    def _nothing(self, reason: str) -> float:
        if self.nan:
            return math.nan
        raise Fault(reason, "--missing nan reads missing values as nan")

    def _object(self, text: bytes) -> list[float]:
        found = members(text)
        for name in self.new:
            if name in found:
                raise Fault(f"the object already has '{name}'", "rename it: a result of this name is appended")
        return [self._member(found, p) for p in self.inputs]

    def _member(self, found: dict[str, object], p: Param) -> float:
        if p.name not in found and p.default is not None:
            return p.default
        value = found.get(p.name)
        if value is None:
            close = None if p.name in found else nearest(p.name, found)
            try:
                return self._nothing(f"'{p.name}' is null" if p.name in found else f"no '{p.name}'")
            except Fault as fault:
                raise Fault(fault.reason, close or fault.help) from None
        if isinstance(value, float):
            if math.isinf(value):
                raise Fault(f"'{p.name}' is too large for a double")
            return value
        if isinstance(value, str) and value in NON_FINITE:
            return NON_FINITE[value]
        raise Fault(f"'{p.name}': {shown(json.dumps(value, ensure_ascii=False))} is not a number")

    # ------------------------------------------------------------ block by block

    def plain(self, block: bytes) -> Rows | None:
        """The same for rows of the right length with plain decimal numbers; None where any row is not so."""
        text = block.replace(b"\r\n", b"\n")
        if self.separator is None or text.startswith(b"\n") or UNUSUAL.search(text):
            return None
        texts = text[:-1].split(b"\n")
        rows = [row.split(self.separator) for row in texts]
        if set(map(len, rows)) != {len(self.names)}:
            return None
        try:
            columns = [self._column(rows, p, place) for p, place in zip(self.inputs, self.places, strict=True)]
        except ValueError:
            return None
        return Rows(texts, columns, {}, {}, len(texts)) if all(math.isfinite(sum(c)) for c in columns) else None

    @staticmethod
    def _column(rows: list[list[bytes]], p: Param, place: int | None) -> list[float]:
        if place is not None:
            return [float(row[place]) for row in rows]
        assert p.default is not None
        return [p.default] * len(rows)


def unquoted(field: bytes, number: int) -> bytes:
    """A field without its quotes."""
    if not field.startswith(b'"'):
        return field
    if not QUOTED.fullmatch(field):
        raise Fault(f"field {number} has text after its closing quote")
    return field[1:-1].replace(b'""', b'"')


def members(text: bytes) -> dict[str, object]:
    """The members of a JSON object, all numbers as floats."""
    try:
        found = json.loads(text.decode(), parse_int=float, parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise Fault("not UTF-8") from None
    except RecursionError:
        raise Fault("not JSON: nested too deeply") from None
    except ValueError as error:
        raise Fault(f"not JSON: {getattr(error, 'msg', error)}") from None
    if not isinstance(found, dict):
        raise Fault("not a JSON object", "write one object per line: {\"x\": 2}")
    return found


def _no_constant(word: str) -> float:
    raise ValueError(f'write "{word}", in quotes')
