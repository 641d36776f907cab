"""Tables read and written by native code, many times faster.

Nothing here decides what a table means. A block is read only where each line is a row of the right number of fields, and a field
that is no plain decimal number is read by `Table.number`. So the bytes are those of the standard library's reader.
"""
from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain

import numpy as np

from adcli.codegen.machine.kernel import Kernel
from adcli.codegen.texts.objects import object_reader, scanned_objects
from adcli.codegen.texts.reading import ScannedRows, reader, scanned
from adcli.codegen.texts.writing import Column, FieldColumn, NumberSpelling, TextColumn, WordColumn, filled, writer
from adcli.lang.ir.names import composed
from adcli.tables.appended import RowFormat, json_string
from adcli.tables.reader import Table, is_text, unquoted

ESCAPED = re.compile(rb"[\0-\x09\x0b-\x1f]")
"""Characters that JSON writes in another way, but for the line end."""
MEMBER = re.compile(rb'[ \t]*[{,][ \t]*"([^"\\\x00-\x1f]*)"[ \t]*:[ \t]*')
VALUE = re.compile(rb'"[^"\\\x00-\x1f]*"|[-+.0-9eE]+|true|false|null')
CLOSED = re.compile(rb"[ \t]*}[ \t]*")
"""An object of one line in pieces: up to a value, a value that is no object and no array, and behind the last one."""
JSON_NAMES = (b'"NaN"', b'"Infinity"', b'"-Infinity"')
"""Spellings in JSON of numbers that it does not have."""


class NativeLines:
    """Rows in the text that they stand in, and their inputs in NumPy's memory; of some fields the texts, by their places. Of an
    object `tail` bytes stand behind its members."""

    def __init__(self, text: bytes, columns: list[np.ndarray], found: ScannedRows, tail: int = 0) -> None:
        self.text, self.columns, self.places, self.fields, self.tail = text, columns, found.places, found.texts, tail

    def __len__(self) -> int:
        return len(self.places)

    def rows(self) -> list[bytes]:
        """The rows as they were written."""
        return self.pieces(self.places)

    def pieces(self, places: np.ndarray) -> list[bytes]:
        """The pieces of the text that begin and end there."""
        return [self.text[begin:end] for begin, end in places.tolist()]

    def grouped(self, table: Table) -> tuple[list[tuple[str, ...]], np.ndarray]:
        """The groups of rows that have the same texts where the table wants them, in order of first appearance, and for each row
        the number of its group."""
        written: dict[tuple[bytes, ...], int] = {}
        known: dict[tuple[str, ...], int] = {}
        numbers = []
        for key in zip(*(self.pieces(self.fields[place]) for place in table.words), strict=True):
            if key not in written:
                group = tuple(unquoted(field, 1).decode() for field in key)
                written[key] = known.setdefault(group, len(known))
            numbers.append(written[key])
        return list(known), np.array(numbers, np.int32)


class NativeTables:
    """Reads and writes plain blocks. `keep`: its code may come from the compile cache and go there.
    NoExecutableMemory where the system runs no code of ours."""

    def __init__(self, keep: bool) -> None:
        self.keep, self.reader, self.writer = keep, reader(keep), writer(keep)

    @cached_property
    def object_reader(self) -> Kernel:
        """Loaded where there are objects."""
        return object_reader(self.keep)

    def read(self, table: Table, block: bytes, objects: bool = False) -> NativeLines | None:
        """The rows of a plain block; None where the careful reader has to look at it. With `objects` every field is wanted, and
        is text that JSON can hold; else those are wanted that the table says."""
        if table.tensors or ((table.utf8 or table.separator is None) and not is_text(block)) or (objects and table.lists):
            return None
        if table.separator is None:
            return self._objects(table, block, objects)
        if objects:
            block = block.replace(b"\r\n", b"\n")
            if ESCAPED.search(block.replace(b"\t", b" ") if table.separator == b"\t" else block):
                return None
        places = sorted({place for place in table.places if place is not None})
        texts = range(len(table.names)) if objects else {*table.words, *(places if table.dialect.empty_numbers else ())}
        point = b"," if table.dialect.comma else b"."
        found = scanned(self.reader, block, table.separator, len(table.names), places, texts, point)
        if found is None or not settled(table, block, found, table.number):
            return None
        if objects and table.separator == b"\t" and block.count(b"\t") != len(found.places) * (len(table.names) - 1):
            return None   # one is quoted
        columns = [np.full(len(found.places), p.default) if place is None else found.numbers[place]
                   for p, place in zip(table.inputs, table.places, strict=True)]
        return NativeLines(block, columns, found)

    def _objects(self, table: Table, block: bytes, whole: bool) -> NativeLines | None:
        """The rows of a block of objects that are all like the first one, which is read with care; they are written `whole`
        where they keep their names."""
        if table.dialect.empty or table.wanted or (whole and table.start):
            return None
        line = block.partition(b"\n")[0].removesuffix(b"\r")
        pieces, members = template(line)
        names = [table.dialect.renamed.get(name, name) for name in members]
        if not names or len(set(names)) < len(names) or table.careful(line + b"\n").faults:
            return None
        places = {p.name: names.index(p.name) for p in table.inputs if p.name in names}
        found = scanned_objects(self.object_reader, block, pieces, sorted(places.values()))
        if found is None or not settled(table, block, found, json_double):
            return None
        columns = [found.numbers[places[p.name]] if p.name in places else
                   np.full(len(found.places), math.nan if p.default is None else p.default) for p in table.inputs]
        return NativeLines(block, columns, found, len(pieces[-1].lstrip(b" \t")))

    def number_texts(self, values: Sequence[float]) -> list[str]:
        """`repr` of every number."""
        column = np.asarray(values, np.float64)
        return filled(self.writer, len(column), [column, b"\n"], NumberSpelling()).decode().splitlines()

    def write(self, lines: NativeLines, form: RowFormat, results: Sequence[np.ndarray], words: Sequence[str] | None,
              levels: np.ndarray) -> bytes:
        """The rows with the results appended, and the word for each level where there are words."""
        columns: list[Column] = [*results, *([WordColumn(levels, [w.encode() for w in words])] if words is not None else [])]
        if form.kind == "ndjson":
            return self._write_objects(lines, form, columns)
        old, separator = form.table.separator or b"", form.separator
        text = lines.text if old == separator else lines.text.replace(old, separator)
        rows = [] if form.only else [TextColumn(text, lines.places)]
        pieces = joined([[column] for column in (*rows, *columns)], separator)
        return filled(self.writer, len(lines), [*pieces, b"\n"], NumberSpelling(b"," if form.comma else b"."))

    def _write_objects(self, lines: NativeLines, form: RowFormat, results: Sequence[Column]) -> bytes:
        table = form.table
        begun: list[list[bytes | Column]] = []
        if table.separator is None and not form.only:
            begun = [[TextColumn(lines.text, lines.places - [0, lines.tail])]]
        elif not form.only:
            begun = [[member(name), FieldColumn(lines.text, lines.fields[i])] for i, name in enumerate(table.names)]
        new = [[member(name), *quoted(column)] for name, column in zip(form.new, results, strict=True)]
        spelling = NumberSpelling(b".", JSON_NAMES, b"," if table.dialect.comma else b".")
        start = [b"{"] if form.only or table.separator is not None else []
        return filled(self.writer, len(lines), [*start, *joined([*begun, *new], b","), b"}\n"], spelling)


def template(line: bytes) -> tuple[list[bytes], list[str]]:
    """The pieces around the values of an object, and the names of its members; nothing where a value is an object or an array,
    or a string with a backslash."""
    pieces, names, at = [], list[str](), 0
    while (piece := MEMBER.match(line, at)) and (value := VALUE.match(line, piece.end())):
        pieces.append(piece[0])
        names.append(composed(piece[1].decode()))
        at = value.end()
    end = CLOSED.fullmatch(line, at)
    return ([*pieces, end[0]], names) if end else ([], [])


def member(name: str) -> bytes:
    """The text before the value of a member."""
    return f"{json_string(name)}:".encode()


def json_double(text: bytes) -> float | None:
    """A number of JSON; None where it is too large for a double."""
    return x if math.isfinite(x := float(text)) else None


def quoted(column: Column) -> list[bytes | Column]:
    """A column as JSON has it, where the names of what is not finite are in quotes themselves."""
    return [b'"', column, b'"'] if isinstance(column, WordColumn) else [column]


def joined(parts: Sequence[Sequence[bytes | Column]], separator: bytes) -> Iterator[bytes | Column]:
    """The pieces of all parts, with a separator between the parts."""
    for i, part in enumerate(parts):
        yield from part if i == 0 else (separator, *part)


def settled(table: Table, block: bytes, found: ScannedRows, number: Callable[[bytes], float | None]) -> bool:
    """Put numbers where there are odd texts, or numbers that count as empty. False where that cannot be: a row is bad."""
    known: dict[bytes, float | None] = {}
    for row, field, begin, end in chain(found.odd.tolist(), doubtful(table.dialect.empty_numbers, found)):
        text = block[begin:end]
        if text not in known:
            known[text] = number(unquoted(text, field + 1))
        if (x := known[text]) is None:
            return False
        found.numbers[field][row] = x
    return True


def doubtful(empty: Sequence[float], found: ScannedRows) -> Iterator[tuple[int, int, int, int]]:
    """The row, field, begin and end of each number that may count as empty, since one of the texts that do says the same."""
    for field, column in found.numbers.items() if empty else ():
        for row in np.flatnonzero(np.isin(column, empty)).tolist():
            yield row, field, *found.texts[field][row].tolist()
