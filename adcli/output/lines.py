"""Many points of scalars as text, JSON, CSV or TSV: every point is the same text with other numbers in it.

The text is made once, by the code that writes one point (`adcli.output.report`), with marks where the numbers are.
"""
from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from adcli.codegen.machine.kernel import Kernel, NoExecutableMemory
from adcli.codegen.texts.writing import Column, NumberSpelling, WordColumn, filled, writer
from adcli.lang.ir import LEVELS
from adcli.output.layout import Layout, Row
from adcli.output.numbers import SHORTEST, Number, as_spelled, json_number, json_text
from adcli.output.report import csv_text, json_record

MARK = re.compile(r"<(\d+)>")


@dataclass(frozen=True)
class PointTemplate:
    """`pieces` stand around the numbers of a point, which `spelled` writes, and the word of the status, if there is one;
    `numbers` are the places of these among inputs and results, and `number` is how each is written; `between` stands before
    every point but the first. `keep`: code that writes points may come from the compile cache and go there."""

    header: bytes
    between: str
    pieces: tuple[str, ...]
    numbers: tuple[int, ...]
    spelled: Callable[[float], str]
    number: Number
    plain: bool
    status: bool
    keep: bool

    @cached_property
    def native(self) -> Kernel | None:
        """Native code, where numbers are written as it does and the system runs it, with memory left to make it."""
        with suppress(NoExecutableMemory, ImportError, MemoryError):
            return writer(self.keep) if self.plain else None
        return None

    def filled(self, columns: Sequence[np.ndarray], levels: np.ndarray | None) -> bytes:
        """The text of many points, the last line ended; `columns` are the inputs and the results, `levels` those of the status
        where it is shown."""
        columns = as_spelled([columns[i] for i in self.numbers], self.number)
        pieces = (self.between + self.pieces[0], *self.pieces[1:])
        if self.native:
            return self._by_native_code(self.native, pieces, columns, levels)
        words = [LEVELS[i] for i in levels.tolist()] if levels is not None else None
        template = "%s".join(p.replace("%", "%%") for p in pieces) + "\n"
        texts: list[Sequence[str]] = [list(map(self.spelled, c.tolist())) for c in columns]
        return "".join(map(template.__mod__, zip(*texts, *([words] if words is not None else []), strict=True))).encode()

    def _by_native_code(self, code: Kernel, pieces: Sequence[str], columns: Sequence[np.ndarray],
                        levels: np.ndarray | None) -> bytes:
        first, *rest = [piece.encode() for piece in pieces]
        found: list[Column] = [np.ascontiguousarray(c) for c in columns]
        if levels is not None:
            found.append(WordColumn(levels.astype(np.float64), [word.encode() for word in LEVELS]))
        nan, up, down = (self.spelled(x).encode() for x in (math.nan, math.inf, -math.inf))
        rows = len([*columns, *([levels] if levels is not None else [])][0])
        return filled(code, rows, [first, *chain(*zip(found, rest, strict=True)), b"\n"], NumberSpelling(names=(nan, up, down)))


def lines(layout: Layout, form: str, number: Number, headed: bool, keep: bool = True) -> PointTemplate:
    """Template of points in a format: text (with `headed` each with a comment that says which it is), json, csv or tsv."""
    inputs = [*layout.inputs, *layout.seeds]
    marks = [f"<{i}>" for i in range(len(inputs) + len(layout.results) + 1)]
    at, results, word = dict(zip(inputs, marks, strict=False)), marks[len(inputs):-1], marks[-1]
    plain = number in SHORTEST
    status = bool(layout.status) or form == "json"
    if form == "json":
        record = json_record(layout, Row(at, results, -1), number, lambda x, _: x) | {"status": word}
        pieces, numbers = cut(json_text(record).replace('"<', "<").replace('>"', ">"), len(marks) - 1)
        pieces[-2:] = [pieces[-2] + '"', '"' + pieces[-1]]
        spelled = json_float if plain else lambda x: json_text(json_number(x, number))
        return PointTemplate(b"", "", tuple(pieces), numbers, spelled, number, plain, True, keep)
    if form in ("csv", "tsv"):
        separator = "," if form == "csv" else "\t"
        header = csv_text([*inputs, *layout.names], separator=separator).encode()
        pieces, numbers = cut(separator.join(marks if status else marks[:-1]), len(marks) - 1)
        return PointTemplate(header, "", tuple(pieces), numbers, number, number, plain, status, keep)
    head = "# " + ", ".join(f"{name} = {at[name]}" for name in inputs) if headed else ""
    body = [f"{name} = {mark}" for name, mark in zip(layout.results, results, strict=True)]
    body += [f"{layout.status} = {word}"] if status else []
    pieces, numbers = cut("\n".join([*([head.rstrip()] if headed else []), *body]), len(marks) - 1)
    return PointTemplate(b"", "\n" if headed else "", tuple(pieces), numbers, number, number, plain, status, keep)


def cut(text: str, word: int) -> tuple[list[str], tuple[int, ...]]:
    """Text around the marks, and the numbers that these stand for; `word` is the mark of the status."""
    found = MARK.split(text)
    return found[::2], tuple(int(i) for i in found[1::2] if int(i) != word)


def json_float(x: float) -> str:
    """A number as JSON has it, or as the string that stands for it."""
    return json.dumps(json_number(x))
