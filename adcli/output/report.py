"""Results as text, JSON or CSV: the one place that prints numbers.

Text is one `name = value` a line, which is itself a program of the language. JSON is one object a point, RFC 8259, with what
it has no numbers for as the strings "NaN", "Infinity" and "-Infinity". CSV is RFC 4180 with LF: the inputs, then the results.
"""
from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from adcli.lang.ir import LEVELS, Values
from adcli.output.layout import Layout, Row, nested
from adcli.output.numbers import Number, json_number, json_text


def text(layout: Layout, rows: Iterable[Row], number: Number, several: bool, cut: bool = False) -> Iterator[str]:
    """A paragraph a point, in which each result begins a line; where there are several points, a comment in front says which.

    With `cut` only the corners of a large tensor are shown.
    """
    for i, row in enumerate(rows):
        lines = [""] * (several and i > 0) + [heading(i, row, number)] * several
        lines += result_lines(layout, row, number, cut)
        if layout.status:
            lines.append(f"{layout.status} = {LEVELS[row.level]}")
        yield "\n".join(lines) + "\n"


def result_lines(layout: Layout, row: Row, number: Number, cut: bool) -> list[str]:
    """One line for each number, one or more for each tensor."""
    if scalars(row.results):
        return [f"{name} = {number(x)}" for name, x in zip(layout.results, row.results, strict=True)]
    from adcli.output import tensors
    tensors.require_text_room(row.results)
    pairs = zip(layout.results, row.results, strict=True)
    return [line for name, x in pairs for line in tensors.result_lines(name, x, number, cut)]


def heading(i: int, row: Row, number: Number) -> str:
    """A comment that says which point this is: its number, where tensors are not shown."""
    return f"# {which(i, row.at, number)}".rstrip()


def which(i: int, at: Values, number: Number) -> str:
    """The inputs that are numbers, with the number of the point in front where others are tensors."""
    values = {name: x.tolist() if getattr(x, "shape", None) == () else x for name, x in at.items()}
    told = [f"{name} = {number(x) if type(x) is float else x}" for name, x in values.items() if type(x) in (float, int)]
    return ", ".join(told if len(told) == len(at) else [f"point {i + 1}", *told])


def csv_rows(layout: Layout, rows: Iterable[Row], number: Number, separator: str = ",") -> Iterator[str]:
    """The header, then a line a point."""
    yield csv_text([*layout.inputs, *layout.seeds, *layout.names], separator=separator)
    for row in rows:
        status = [LEVELS[row.level]] if layout.status else []
        yield csv_text([*map(number, (*row.at.values(), *row.results)), *status], separator=separator)


def csv_text(*records: Iterable[object], separator: str = ",") -> str:
    """Records of RFC 4180, each ended by LF."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n", delimiter=separator).writerows(records)
    return buffer.getvalue()


def json_rows(layout: Layout, rows: Iterable[Row], number: Number) -> Iterator[str]:
    """One object a line, one line a point."""
    for row in rows:
        yield json_text(json_record(layout, row, number)) + "\n"


def json_record(layout: Layout, row: Row, number: Number, value: Callable[[Any, Number], object] | None = None,
                ) -> dict[str, Any]:
    """One point with its results as an object. A level below 0 is no status; `value` is how numbers are written if not as JSON
    has them."""
    if value is None:
        value = json_number
        if not scalars(row.results) or not scalars(row.at.values()):
            from adcli.output.tensors import json_tensor, require_text_room
            require_text_room([*row.at.values(), *row.results])
            value = json_tensor
    record = json_point(layout, {name: value(x, number) for name, x in row.at.items()})
    count = len(layout.values)
    if layout.values:
        record["value"] = {name: value(x, number) for name, x in zip(layout.values, row.results[:count], strict=True)}
    if layout.group:
        record.update(nested([path for _, path in layout.derived], [value(x, number) for x in row.results[count:]]))
        record.setdefault(layout.group, {})
    if row.level >= 0:
        record["status"] = LEVELS[row.level]
    return record


def json_point(layout: Layout, at: Mapping[str, object]) -> dict[str, Any]:
    """The point of an object, with its direction or weights; `at` has the values as they are to be written."""
    record: dict[str, Any] = {"at": {k: at[k] for k in layout.inputs}}
    if layout.seeds:
        record[layout.kind] = {of: at[k] for k, of in layout.seeds.items()}
    return record


def scalars(values: Iterable[Any]) -> bool:
    """True if none of these is an array."""
    return all(type(x) is float for x in values)
