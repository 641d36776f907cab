"""Rows on their way out: the row as it came in with the results appended, or written anew in another format.

A row keeps its bytes: results go behind it, after a separator, or inside the closing brace of its JSON object. Where another
format is asked for, the fields of a delimited row are written in that format; of a JSON object the inputs are.
"""
from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence

from adcli.input.fields import Fault
from adcli.output.layout import Layout, Row
from adcli.output.numbers import Number, json_number
from adcli.output.report import text
from adcli.rows.rows import Table
from adcli.rows.tables import SEPARATORS, field_pattern

JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
QUOTED_IF = re.compile(rb'[",\t\r\n]')

Texts = Callable[[Sequence[float]], list[str]]
"""The texts of a column of numbers."""
Columns = Sequence[Sequence[float]]


class RowFormat:
    """One format for the rows of a table: the header, and the bytes of rows with their results and status words.

    `keeps`: rows keep their bytes; `new` are the names that are appended.
    """

    def __init__(self, table: Table, form: str | None, layout: Layout, texts: Texts, number: Number) -> None:
        self.table, self.texts, self.number = table, texts, number
        self.layout, self.status, self.new = layout._replace(status=None), layout.status, layout.names
        self.names = self.layout.names
        own = "ndjson" if table.kind == "ndjson" else "delimited"
        self.kind = {None: own, "json": "ndjson", "text": "text", "csv": "delimited"}[form]
        self.keeps = self.kind == own and not (form == "csv" and table.kind == "tsv")
        self.separator = (table.separator if self.keeps else None) or SEPARATORS["csv"]

    def header(self) -> bytes:
        """The first line, where the format has one."""
        if self.kind != "delimited":
            return b""
        new = [quoted(n.encode()) for n in self.new]
        if self.table.header is None:
            old = [name.encode() for name in (*self.layout.inputs, *self.layout.seeds)]
        else:
            old = [self.table.header] if self.keeps else [quoted(f) for f in self.table.fields(self.table.header)]
        return self.separator.join(old + new) + b"\n"

    def rows(self, rows: Sequence[bytes], at: Mapping[str, Sequence[float]], results: Columns,
             words: Sequence[str] | None) -> bytes:
        """The rows with their results; `at` has the columns of the inputs."""
        if not rows:
            return b""
        if self.kind == "text":
            return self._text(at, results, words)
        if self.kind == "ndjson":
            return self._objects(rows, results, words)
        if self.table.separator is None:
            columns = [self.texts(c) for c in at.values()]
            return self._delimited([], columns + [self.texts(c) for c in results], words)
        old = rows if self.keeps else [self.separator.join(map(quoted, self.table.fields(row))) for row in rows]
        return self._delimited(old, [self.texts(c) for c in results], words)

    def _delimited(self, old: Sequence[bytes], columns: list[list[str]], words: Sequence[str] | None) -> bytes:
        separator = self.separator.decode()
        if words is not None:
            columns.append([quoted(w.encode()).decode() for w in words])
        new = map(str.encode, map(separator.join, zip(*columns, strict=True)))
        lines = map(self.separator.join, zip(old, new, strict=True)) if old else new
        return b"\n".join(lines) + b"\n"

    def _objects(self, rows: Sequence[bytes], results: Columns, words: Sequence[str] | None) -> bytes:
        keys = [json_string(name) + ":" for name in self.names]
        columns = [[key + json_text(x, t) for x, t in zip(c, self.texts(c), strict=True)]
                   for key, c in zip(keys, results, strict=True)]
        if words is not None:
            columns.append([f"{json_string(self.status or '')}:{json_string(w)}" for w in words])
        members = map(str.encode, map(",".join, zip(*columns, strict=True)))
        starts = map(self._opened, rows)
        return b"".join([start + new + b"}\n" for start, new in zip(starts, members, strict=True)])

    def _opened(self, row: bytes) -> bytes:
        """The row as a JSON object that still lacks its last members and the brace."""
        if self.table.separator is None:
            start = row.rstrip(b" \t\r").removesuffix(b"}")
            return start if start.strip(b" \t") == b"{" else start + b","
        pairs = zip(self.table.names, self.table.fields(row), strict=True)
        return ("{" + "".join(f"{json_string(n)}:{json_field(f)}," for n, f in pairs)).encode()

    def _text(self, at: Mapping[str, Sequence[float]], results: Columns, words: Sequence[str] | None) -> bytes:
        """As at points, and a comment with the reason where a row is bad."""
        found = []
        for i, values in enumerate(zip(*results, strict=True)):
            row = Row({name: column[i] for name, column in at.items()}, values, 0)
            status = f"{self.status} = {words[i]}\n" if words is not None else ""
            found.append("".join(text(self.layout, [row], self.number, True)) + status)
        return "\n".join(found).encode()


def repaired(table: Table, row: bytes) -> bytes:
    """A bad row so that results can be appended to it: as many fields as the header has, or an object."""
    if table.separator is None:
        try:
            ok = table.new and isinstance(found := json.loads(row), dict) and not any(n in found for n in table.new)
        except (ValueError, RecursionError):
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


def quoted(field: bytes) -> bytes:
    """A field of a CSV or TSV table, in quotes where it needs them."""
    return b'"' + field.replace(b'"', b'""') + b'"' if QUOTED_IF.search(field) else field


def json_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def json_field(field: bytes) -> str:
    """A field as a JSON value: numbers as they are written, anything else as a string."""
    words = field.decode("utf-8", "replace")
    return words if JSON_NUMBER.fullmatch(words) else json_string(words)


def json_text(x: float, shown: str) -> str:
    """A result as a JSON value: the texts that stand for what JSON has no number for, else as it is shown."""
    if math.isfinite(x) and JSON_NUMBER.fullmatch(shown):
        return shown
    found = json_number(x, lambda _: shown)
    return json_string(found) if isinstance(found, str) else repr(found)
