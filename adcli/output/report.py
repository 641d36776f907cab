"""Results as text, JSON or CSV: the one place that prints numbers.

Text is one `name = value` a line, which is itself a program of the language. JSON is one object a point, RFC 8259, with what
it has no numbers for as the strings "NaN", "Infinity" and "-Infinity". CSV is RFC 4180 with LF: the inputs, then the results.
"""
from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from adcli.lang.ir import LEVELS, Program
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import Names

Number = Callable[[float], str]
Path = tuple[str | int, ...]
"""Where a number stands in the JSON object of its point; after a number the value is a list."""


@dataclass(frozen=True)
class Layout:
    """What the columns of a result are: the verb, the inputs of the program, its outputs, and what was derived.

    `derived` names each derivative and where it stands in the JSON object of its point; `status` is the name of the
    status where it is to be shown.
    """

    verb: str
    inputs: tuple[str, ...]
    seeds: dict[str, str]
    values: tuple[str, ...]
    derived: tuple[tuple[str, Path], ...]
    status: str | None = None

    @classmethod
    def of(cls, verb: str, primal: Program, program: Program, wrt: Collection[str], show_status: bool) -> Layout:
        """The layout of `program`, the derivative of `primal` that the verb asks for: its outputs come first."""
        inputs = tuple(p.name for p in program.params if not p.seed)
        seeds = {p.name: p.seed for p in program.params if p.seed}
        values = () if verb == "taylor" else tuple(r.name for r in primal.results)
        derived = program.results[len(values):]
        outputs = [r.name for r in primal.results]
        match verb:
            case "grad":
                paths: list[Path] = [("grad", r.of or "", ",".join(r.wrt)) for r in derived]
            case "jacobian":
                paths = [("jacobian", r.of or "", *r.wrt) for r in derived]
            case "hessian":
                paths = [("grad" if len(r.wrt) == 1 else "hessian", r.of or "", *r.wrt) for r in derived]
            case "jvp":
                paths = [("jvp", name) for name in outputs]
            case "taylor":
                paths = [("taylor", name, k) for name in outputs for k in range(len(derived) // max(1, len(outputs)))]
            case "propagate":
                paths = [(verb, r.name) for r in derived]
            case _:
                paths = [(verb, p.name) for p in primal.params if p.name in wrt]
        status = Names.of(program).fresh("status") if show_status else None
        pairs = tuple((r.name, path) for r, path in zip(derived, paths, strict=verb != "eval"))
        return cls(verb, inputs, seeds, values, pairs, status)

    @property
    def names(self) -> list[str]:
        """The results in order, and the status."""
        return [*self.values, *(name for name, _ in self.derived), *([self.status] if self.status else [])]


@dataclass(frozen=True)
class Row:
    """One point with its results: the outputs, then the derivatives, and the status level (-1 where it is not known)."""

    at: dict[str, Any]
    results: Sequence[Any]
    level: int


TEMPLATE = re.compile(r"%[-+ #0]*\d{0,3}(\.\d{1,3})?[eEfFgG]", re.ASCII)


def number_format(template: str | None, hexadecimal: bool) -> Number:
    """How numbers are written: the shortest decimal that reads back, hexadecimal, or by a printf template."""
    if template is not None and hexadecimal:
        raise AdError("--fmt and --hex exclude each other")
    if hexadecimal:
        return lambda x: x.hex() if math.isfinite(x) else repr(x)
    if template is None:
        return shortest
    if not TEMPLATE.fullmatch(template):
        raise AdError(f"--fmt '{template}' is no template for one number", help="write --fmt %.6g; e, f and g are known")
    return lambda x: template % x if math.isfinite(x) else repr(x)


def shortest(x: float) -> str:
    """The shortest decimal that reads back to the same double, with a point or an exponent."""
    return repr(float(x))


def text(layout: Layout, rows: Iterable[Row], number: Number, several: bool) -> Iterator[str]:
    """A paragraph a point; where there are several, a comment in front says which."""
    for i, row in enumerate(rows):
        lines = []
        if several:
            lines += [""] * bool(i) + [f"# {', '.join(f'{k} = {number(v)}' for k, v in row.at.items())}".rstrip()]
        written = [number(x) for x in row.results]
        if layout.status:
            written.append(LEVELS[row.level])
        lines += [f"{name} = {x}" for name, x in zip(layout.names, written, strict=True)]
        yield "\n".join(lines) + "\n"


def csv_rows(layout: Layout, rows: Iterable[Row], number: Number) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*layout.inputs, *layout.seeds, *layout.names])
    for row in rows:
        line = [number(v) for v in (*row.at.values(), *row.results)]
        writer.writerow([*line, LEVELS[row.level]] if layout.status else line)
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()


def csv_text(*records: Iterable[object]) -> str:
    """Records of RFC 4180, each ended by LF."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(records)
    return buffer.getvalue()


def json_rows(layout: Layout, rows: Iterable[Row], number: Number) -> Iterator[str]:
    for row in rows:
        yield json_text(json_record(layout, row, number)) + "\n"


def json_record(layout: Layout, row: Row, number: Number, value: Callable[[Any, Number], object] | None = None) -> dict[str, Any]:
    """One point with its results as an object; `value` writes what is not just a number. A level below 0 is no status."""
    def written(x: Any) -> object:
        return (value or json_value)(x, number)

    record: dict[str, Any] = {"at": {k: written(row.at[k]) for k in layout.inputs}}
    if layout.seeds:
        kind = "cotangent" if layout.verb == "vjp" else "tangent"
        record[kind] = {of: written(row.at[k]) for k, of in layout.seeds.items()}
    values, derivatives = row.results[:len(layout.values)], row.results[len(layout.values):]
    if layout.values:
        record["value"] = {name: written(x) for name, x in zip(layout.values, values, strict=True)}
    if layout.verb != "eval":
        record.update(nested([path for _, path in layout.derived], [written(x) for x in derivatives]))
        record.setdefault(layout.verb, {})
    if row.level >= 0:
        record["status"] = LEVELS[row.level]
    return record


def json_value(x: float, number: Number) -> object:
    """A number as JSON has it: with the digits that `number` gives; a string where JSON has no number for it."""
    if not math.isfinite(x):
        return "NaN" if x != x else "Infinity" if x > 0 else "-Infinity"
    shown = number(x)
    try:
        return float(shown)
    except ValueError:
        return shown


def nested(paths: Sequence[Path], values: Sequence[object]) -> dict[str, Any]:
    """The values as an object, each at its path."""
    tree: dict[str, Any] = {}
    for path, x in zip(paths, values, strict=True):
        inner: Any = tree
        for key, following in pairwise(path):
            inner = inner.setdefault(key, [] if isinstance(following, int) else {})
        if isinstance(inner, list):
            inner.append(x)
        else:
            inner[path[-1]] = x
    return tree


def json_text(record: object) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
