"""Rows on their way out: the row as it came in with the results appended, or written anew in another format.

A row keeps its bytes where it can: results go behind it, after a separator, or inside the closing brace of its JSON object.
Where another format is asked for, every field is written in that format: the text of a number as it stands, and what JSON nests
as JSON.
"""
from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]  # it finds where a text ends
from typing import Any

from adcli.input.fields import COMMA, Fault
from adcli.input.settings import ResultOptions
from adcli.output.layout import Layout, Row
from adcli.output.numbers import SHORTEST, Number, json_number
from adcli.output.report import text
from adcli.tables.reader import Table, members
from adcli.tables.streams import GAP, SCAN, SEPARATORS, field_pattern, past

JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
QUOTED_IF = re.compile(rb'[",\t\r\n]')
COLUMNS = ("parquet", "npz")
"""Formats of columns that have types."""
EMPTY = b'""'
"""An empty text, in a field and in JSON."""

Texts = Callable[[Sequence[float]], list[str]]
"""The texts of a column of numbers."""
Columns = Sequence[Sequence[Any]]
"""Results, a column each: numbers; or tensors, of which a bad row has None."""


class RowFormat:
    """One format for the rows of a table: the header, what a row becomes, and the bytes of rows with results and status words.

    `form` is the word for it in --format. `kind` is text, ndjson, delimited or columns, which are written from rows of the kind
    csv. `keeps`: rows keep their bytes; `only`: they are left out; `new` are the names that are appended. `ranks` are the
    dimensions of the results, where some are tensors.
    """

    def __init__(self, table: Table, options: ResultOptions, layout: Layout, texts: Texts, number: Number) -> None:
        self.table, self.texts, self.number = table, texts, number
        self.layout, self.status, self.new = layout._replace(status=None), layout.status, layout.names
        self.names, self.only, dialect = self.layout.names, options.only, table.dialect
        self.ranks: Sequence[int] = ()
        own = {"ndjson": "json"}.get(table.kind, table.kind)
        self.form = form = options.form if options.form_known else own
        self.kind = {"json": "ndjson", "text": "text", **dict.fromkeys(COLUMNS, "columns")}.get(form, "delimited")
        self.separator = SEPARATORS["csv"] if self.kind == "columns" else SEPARATORS["tsv"] if form == "tsv" else \
            (dialect.separator if own == "csv" else None) or dialect.other
        self.keeps = form == own and not self.only
        self.comma = dialect.comma and self.kind == "delimited"
        table.utf8 = self.kind in ("ndjson", "columns") and not self.only
        table.new = [] if self.only or self.kind == "text" else self.new
        table.start = None if self.kind == "text" or (self.keeps and not (dialect.renamed and self.kind == "ndjson")) \
            else self.begun

    @property
    def closed(self) -> bool:
        """True if the members of the first object are the columns that all have."""
        return self.table.separator is None and self.tabular

    @property
    def tabular(self) -> bool:
        """True if all rows are written with the same columns."""
        return self.kind in ("delimited", "columns") and not self.only

    def header(self) -> bytes:
        """The first line, where the format has one."""
        table = self.table
        if self.kind != "delimited" or table.dialect.columns is not None:
            return b""
        new = [self.quoted(n.encode()) for n in self.new]
        return self.separator.join([*([] if self.only else self._old_header()), *new]) + b"\n"

    def _old_header(self) -> list[bytes]:
        table = self.table
        if table.header is None:
            return [self.quoted(name.encode("utf-8", "replace")) for name in table.names]
        if self.keeps and not table.dialect.renamed:
            return [table.header]
        fields = [f.strip(b" \t") for f in table.fields(table.header)]
        old = raw_fields(table.header, table.separator or b",") if self.keeps else list(map(self.quoted, fields))
        new = {a.encode(): self.quoted(b.encode()) for a, b in table.dialect.renamed.items()}
        return [new.get(field, text) for field, text in zip(fields, old, strict=True)]

    def quoted(self, field: bytes) -> bytes:
        return quoted(field, self.separator)

    def separable(self, block: bytes) -> bool:
        """True if only the separator of rows changes: nothing is quoted, and nothing has to be."""
        own = self.table.separator
        if self.kind not in ("delimited", "columns") or own is None or block.count(b"\r") > block.count(b"\r\n"):
            return False
        return not any(mark in block for mark in (b'"', b",", b"\t", self.separator) if mark != own)

    # ------------------------------------------------------------ what a row becomes

    def begun(self, row: bytes) -> bytes:
        """The beginning of a row that results are appended to: the row in the format that is written, for JSON without the last
        brace."""
        if self.only:
            return b""
        table = self.table
        if self.kind != "ndjson":
            return self.separator.join(self._fields(row))
        if table.separator is None:
            new = table.dialect.renamed
            pairs = [(new.get(name, name), value) for name, value in slices(row)]
        else:
            pairs = [(n, json_field(f, table.dialect.comma, n in table.lists))
                     for n, f in zip(table.names, table.fields(row), strict=True)]
        return b"{" + encoded("".join(f"{json_string(name)}:{value}," for name, value in pairs))

    def _fields(self, row: bytes) -> list[bytes]:
        """The fields of a row as they are written, in the order of the columns. An empty text stays apart from nothing."""
        table, new = self.table, self.table.dialect.renamed
        if table.separator is None:
            found = {new.get(name, name): value for name, value in slices(row)}
            values = [found.get(name, "null") for name in table.names]
            return [EMPTY if value == '""' else self.quoted(self.field(value)) for value in values]
        fields = [self.quoted(field) for field in table.fields(row)]
        if EMPTY not in row:
            return fields
        return [EMPTY if raw == EMPTY else field for raw, field in zip(raw_fields(row, table.separator), fields, strict=True)]

    def field(self, value: str) -> bytes:
        """A JSON value as a field: strings as their text, null as nothing, all else as it is written."""
        if value == "null":
            return b""
        if self.comma and JSON_NUMBER.fullmatch(value):
            value = value.replace(".", ",")
        return encoded(json.loads(value) if value[0] == '"' else value)

    def repaired(self, row: bytes) -> bytes:
        """The beginning of a bad row, as far as that can be had."""
        if self.table.utf8:
            row = row.decode("utf-8", "replace").encode()
        row = repaired(self.table, row)
        try:
            return self.table.start(row) if self.table.start else row
        except Fault:
            return self.begun(b"{}")

    # ------------------------------------------------------------ rows with their results

    def rows(self, rows: Sequence[bytes], at: Mapping[str, Sequence[float]], results: Columns,
             words: Sequence[str] | None) -> bytes:
        """Rows as they begin with their results; `at` has the columns of the inputs."""
        if not rows:
            return b""
        if self.kind == "text":
            return self._text(at, results, words)
        if self.kind == "ndjson":
            return self._objects(rows, results, words)
        return self._delimited([] if self.only else rows, [self._result_fields(c) for c in results], words)

    def _result_fields(self, column: Sequence[Any]) -> list[str]:
        """The results of a column as fields: numbers, or JSON arrays, which have no decimal comma."""
        if self.holds_tensors(column):
            return [self.quoted(text.encode()).decode() for text in self._lists(column, "")]
        return [t.replace(".", ",") for t in self.texts(column)] if self.comma else self.texts(column)

    def _result_values(self, column: Sequence[Any]) -> list[str]:
        """The results of a column as JSON values."""
        if self.holds_tensors(column):
            return self._lists(column, "null")
        return list(map(json_text, column, self.texts(column)))

    def _lists(self, column: Sequence[Any], nothing: str) -> list[str]:
        from adcli.output.numbers import as_spelled
        from adcli.tables.lists import list_text
        plain = self.number in SHORTEST
        return [nothing if x is None else list_text(as_spelled([x], self.number)[0], self._leaf, plain) for x in column]

    def _leaf(self, x: float) -> str:
        return json_text(x, self.number(x))

    def holds_tensors(self, column: Sequence[Any]) -> bool:
        return any(self.ranks) and not all(type(x) is float for x in column)

    def _delimited(self, old: Sequence[bytes], columns: list[list[str]], words: Sequence[str] | None) -> bytes:
        separator = self.separator.decode()
        if words is not None:
            columns.append([self.quoted(w.encode()).decode() for w in words])
        new = map(str.encode, map(separator.join, zip(*columns, strict=True)))
        lines = map(self.separator.join, zip(old, new, strict=True)) if old else new
        return b"\n".join(lines) + b"\n"

    def _objects(self, rows: Sequence[bytes], results: Columns, words: Sequence[str] | None) -> bytes:
        keys = [json_string(name) + ":" for name in self.names]
        columns = [[key + value for value in self._result_values(c)] for key, c in zip(keys, results, strict=True)]
        if words is not None:
            columns.append([f"{json_string(self.status or '')}:{json_string(w)}" for w in words])
        members = map(str.encode, map(",".join, zip(*columns, strict=True)))
        starts = [b"{"] * len(rows) if self.only else rows if self.table.start else map(opened, rows)
        return b"".join([start + new + b"}\n" for start, new in zip(starts, members, strict=True)])

    def _text(self, at: Mapping[str, Sequence[float]], results: Columns, words: Sequence[str] | None) -> bytes:
        """As at points, and a comment with the reason where a row is bad."""
        found = []
        for i, values in enumerate(zip(*[[math.nan if x is None else x for x in c] for c in results], strict=True)):
            row = Row({name: column[i] for name, column in at.items() if type(column[i]) is float}, values, 0)
            status = f"{self.status} = {words[i]}\n" if words is not None else ""
            found.append("".join(text(self.layout, [row], self.number, True)) + status)
        return "\n".join(found).encode()


def opened(row: bytes) -> bytes:
    """A JSON object that lacks its last members and the brace."""
    start = row.rstrip(b" \t\r").removesuffix(b"}")
    return start if start.strip(b" \t") == b"{" else start + b","


def repaired(table: Table, row: bytes) -> bytes:
    """A bad row so that results can be appended to it: as many fields as the header has, or an object."""
    if table.separator is None:
        try:
            ok = table.new and members(row).keys().isdisjoint(table.new)
        except Fault:
            ok = False
        return row if ok else b"{}"
    try:
        table.fields(row)
    except Fault:
        return table.separator.join([b'"' + row.replace(b'"', b'""') + b'"', *[b""] * (len(table.names) - 1)])
    found = raw_fields(row, table.separator)[:len(table.names)]
    return table.separator.join(found + [b""] * (len(table.names) - len(found)))


def raw_fields(row: bytes, separator: bytes) -> list[bytes]:
    """The fields of a well-formed row as they are written."""
    pattern, found, at = re.compile(field_pattern(separator)), [], 0
    while at <= len(row) and (one := pattern.match(row, at)):
        found.append(one[0])
        at = one.end() + 1
    return found


def quoted(field: bytes, separator: bytes = b",") -> bytes:
    """A field of a table, in quotes where it needs them."""
    return b'"' + field.replace(b'"', b'""') + b'"' if QUOTED_IF.search(field) or separator in field else field


def slices(row: bytes) -> list[tuple[str, str]]:
    """The names of the members of a JSON object, and the text of each value as it is written."""
    words = row.decode()
    at, found = past(GAP, words, past(GAP, words, 0) + 1), []
    while words[at] != "}":
        name, at = scanstring(words, at + 1)
        start = past(GAP, words, words.index(":", at) + 1)
        _, end = SCAN(words, start)
        found.append((name, words[start:end]))
        at = past(GAP, words, end)
        if words[at] == ",":
            at = past(GAP, words, at + 1)
    return found


def encoded(words: str) -> bytes:
    """Text as bytes. Fault where it holds half of a surrogate pair, which JSON can escape and UTF-8 cannot have."""
    try:
        return words.encode()
    except UnicodeEncodeError:
        raise Fault("a string holds half of a surrogate pair, which no text can", "write JSON: --format json") from None


def json_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def json_field(field: bytes, comma: bool, holds_list: bool = False) -> str:
    """A field as a JSON value: numbers as they are written, but with a point, lists where the column has any, and anything else
    as a string."""
    if holds_list:
        from adcli.tables.lists import json_list
        if (found := json_list(field.decode())) is not None:
            return found
    words = (field.translate(COMMA) if comma else field).decode()
    return words if JSON_NUMBER.fullmatch(words) else json_string(field.decode())


def json_text(x: float, shown: str) -> str:
    """A result as a JSON value: the texts that stand for what JSON has no number for, else as it is shown."""
    if math.isfinite(x) and JSON_NUMBER.fullmatch(shown):
        return shown
    found = json_number(x, lambda _: shown)
    return json_string(found) if isinstance(found, str) else repr(found)
