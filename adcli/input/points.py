"""Points given on the command line: `x=2,y=5`, ranges `x=0:1:11`, `@points.json`, several of each.

One `--at` is a comma-separated list of parts. Every part is an axis, a sequence of partial points (one for a number, n for a
range, one for each object of a file), and the axes of one `--at` span a grid, the last running fastest. Points are made one
by one as they are asked for, so a grid takes no memory.
"""
from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from adcli.lang.ir import Param
from adcli.lang.ir.errors import AdError, Note, Source, nearest

if TYPE_CHECKING:
    from fractions import Fraction

Point = dict[str, float]
DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?", re.ASCII)
"""Numbers that need no parser: plain decimals that are no overflow."""
HEXADECIMAL = re.compile(r"[+-]?0x[0-9a-f]+(\.[0-9a-f]*)?p[+-]?\d{1,4}", re.ASCII)
"""Numbers as --hex writes them."""
MOST = 1 << 53
"""Points of one range."""


class Range(Sequence[Point]):
    """Values of one input from `first` to `last`, each the double nearest to the exact value."""

    def __init__(self, name: str, first: Fraction, last: Fraction, count: int) -> None:
        self.name, self.length, self.ends = name, count, (float(first), float(last))
        self.scale = first.denominator * last.denominator * max(1, count - 1)
        self.low, self.high = first.numerator * last.denominator, last.numerator * first.denominator

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, i: int) -> Point:  # type: ignore[override]  # no slices are taken
        n = self.length - 1
        if i in (0, n):
            return {self.name: self.ends[i == n]}
        return {self.name: (self.low * (n - i) + self.high * i) / self.scale}


def points(params: Sequence[Param], specs: Sequence[str], remark: Callable[[str], None],
           read: Callable[[str], list[Sequence[Point]]] | None = None) -> Iterator[Point]:
    """All points that the `--at` options give, complete: defaults are filled in. Every name is checked before the first
    point comes out, so a bad point loses no results. `read` gives the axes of one `--at` where `axes` does not."""
    grids = [(read or axes)(spec) for spec in specs]
    spare: set[str] = set()
    for spec, grid in zip(specs, grids, strict=True):
        for kinds in product(*[shapes(axis) for axis in grid]):
            names = [name for kind in kinds for name in kind]
            repeated = [n for n in names if names.count(n) > 1]
            if repeated:
                raise AdError(f"'{repeated[0]}' is given twice in '{spec}'")
            spare |= components(params, names)
            complete(params, dict.fromkeys((n for n in names if n not in spare), 0.0))
    if not specs:
        return iter([complete(params, {})])
    for name in sorted(spare):
        remark(f"note: the program does not use {name}")
    return (complete(params, {n: x for n, x in point.items() if n not in spare} if spare else point)
            for grid in grids for point in combined(grid))


def several(specs: Sequence[str]) -> bool:
    """Whether the points need a heading each: there may be more than one."""
    return len(specs) > 1 or any(c in spec for spec in specs for c in ":@")


def components(params: Sequence[Param], names: Sequence[str]) -> set[str]:
    """The names that are no inputs but stand beside inputs of the same numbered family, as x0 beside x1 and x2: components
    of a vector that this formula happens not to use. They can hide no mistyped name, since no family member is left out."""
    known = {p.name for p in params}
    families = {family(p.name) for p in params if p.default is None and family(p.name) != p.name}
    return {n for n in names if n not in known and family(n) in families and family(n) != n}


def family(name: str) -> str:
    """x of x12; the name itself where it does not end in a number."""
    return name.rstrip("0123456789")


def shapes(axis: Sequence[Point]) -> list[tuple[str, ...]]:
    """The different sets of names that the points of an axis give."""
    return [(axis.name,)] if isinstance(axis, Range) else list(dict.fromkeys(tuple(p) for p in axis))


def combined(grid: Sequence[Sequence[Point]]) -> Iterator[Point]:
    """The points of a grid, the last axis running fastest."""
    for number in range(math.prod(len(axis) for axis in grid)):
        point: Point = {}
        for axis in reversed(grid):
            number, i = divmod(number, len(axis))
            point.update(axis[i])
        yield point


def within(params: Sequence[Param], at: Iterable[Point], remark: Callable[[Note], None],
           source: Source | None) -> Iterator[Point]:
    """The points as they are; one remark for each input that leaves the range it was declared with."""
    bounded = {p.name: (p.low, p.high) for p in params if p.low is not None and p.high is not None}
    if not bounded:
        yield from at
        return
    for point in at:
        for name, (low, high) in list(bounded.items()):
            if not low <= point[name] <= high:
                remark(Note(f"{name} = {point[name]!r} is outside its range [{low!r}, {high!r}]", None, source))
                del bounded[name]
        yield point


def axes(spec: str) -> list[Sequence[Point]]:
    """The axes of one `--at`."""
    found = [axis(part) for part in spec.split(",") if part.strip()]
    if not found and spec.strip():
        raise AdError(f"'{spec}' is not a point", help="write --at x=2,y=5")
    return found


def axis(part: str) -> Sequence[Point]:
    """One part of a point: `x=2`, `x=0:1:11` or `@file`."""
    part = part.strip()
    if part.startswith("@"):
        return file_points(part[1:])
    name, equals, text = part.partition("=")
    name = name.strip()
    if not equals or not name:
        raise AdError(f"'{part}' is not name=value", help="write --at x=2,y=5")
    if "±" in text:
        raise AdError(f"'{part}' has a spread, and this verb takes points",
                      help="a spread is for propagate and for --enclose, the bounds over a box")
    return span(name, text) if ":" in text else [{name: value(name, text)}]


def span(name: str, text: str) -> Range:
    """first:last:count, both ends included."""
    fields = text.split(":")
    if len(fields) != 3:
        raise AdError(f"{name}={text}: a range has three parts", help=f"write {name}=first:last:count, as in {name}=0:1:11")
    first, last, count = (value(name, field) for field in fields)
    if count != count or count < 1 or count != math.floor(count) or count > MOST:
        raise AdError(f"{name}={text}: the count must be a whole number, 1 or more")
    if not (math.isfinite(first) and math.isfinite(last)):
        raise AdError(f"{name}={text}: the ends of a range must be finite")
    if count == 1 and first != last:
        raise AdError(f"{name}={text}: one point cannot reach from {first} to {last}", help="give a count of 2 or more")
    return Range(name, exact(fields[0], first), exact(fields[1], last), int(count))


def exact(text: str, double: float) -> Fraction:
    """A number as it is written where that is a decimal, so that the steps of 0:0.3:4 are those of 0.1."""
    from fractions import Fraction
    return Fraction(text.strip()) if DECIMAL.fullmatch(text.strip()) else Fraction(double)


def value(name: str, text: str) -> float:
    """A number as in the language: also inf, -inf, nan, pi, and constant expressions such as pi/2."""
    text = text.strip()
    if DECIMAL.fullmatch(text):
        return float(text)
    if not text:
        raise AdError(f"{name}= has no value", help=f"write {name}=2")
    if text[0] in "[@":
        raise AdError(f"{name}={text}: a tensor, where a number belongs")
    from adcli.lang.syntax.constants import constant_text
    try:
        return constant_text(text)
    except AdError as error:
        reason = "not a constant" if error.message.startswith("a default or a bound") else error.message
        raise AdError(f"{name}={text}: {reason}", help=error.help) from None


# ---------------------------------------------------------------- points from a file

def file_points(path: str, read: Callable[[str, str, object], Any] | None = None) -> list[Point]:
    """Points from a JSON file: an object, a list of objects, or one object a line; results of adcli are read by their `at`.

    `read` makes a value of what stands at a name, with what to say before it; by default it must be a number.
    """
    if not path:
        raise AdError("'@' without a file", help="write --at @points.json")
    if path.lower().endswith((".npy", ".npz")):
        raise AdError(f"{path}: arrays for a program of tensors, each with the name of an input", help=f"write A=@{path}")
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    except OSError as error:
        raise AdError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise AdError(f"{path}: not UTF-8: a stray byte at byte offset {error.start}") from None
    return [object_point(path, i, o, read or json_named) for i, o in enumerate(objects(path, text), 1)]


def objects(path: str, text: str) -> list[object]:
    """What the file holds: one JSON text, or one on every line."""
    try:
        return one_text(path, text)
    except json.JSONDecodeError as error:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        if len(lines) < 2 or error.msg != "Extra data":
            raise malformed(path, error.lineno, error) from None
    return [item for number, line in lines for item in one_line(path, number, line)]


def one_line(path: str, number: int, line: str) -> list[object]:
    try:
        return one_text(path, line)
    except json.JSONDecodeError as error:
        raise malformed(path, number, error) from None


def one_text(path: str, text: str) -> list[object]:
    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found: dict[str, object] = {}
        for name, x in pairs:
            if name in found:
                raise AdError(f"{path}: '{name}' is given twice in one object")
            found[name] = x
        return found

    try:
        whole = json.loads(text, object_pairs_hook=unique, parse_int=float, parse_constant=str)
    except RecursionError:
        raise AdError(f"{path}: JSON nested too deeply") from None
    return whole if isinstance(whole, list) else [whole]


def malformed(path: str, line: int, error: json.JSONDecodeError) -> AdError:
    return AdError(f"{path}:{line}:{error.colno}: not JSON: {error.msg}")


def object_point(path: str, number: int, item: object, read: Callable[[str, str, object], Any]) -> Point:
    if isinstance(item, dict) and isinstance(item.get("at"), dict):
        item = item["at"]
    if not isinstance(item, dict):
        raise AdError(f"{path}: item {number} is not an object", help='write {"x": 2, "y": 5}')
    return {name: read(f"{path}: item {number}: ", name, x) for name, x in item.items()}


def json_named(where: str, name: str, x: object) -> float:
    return json_number(f"{where}'{name}'", x)


def json_number(what: str, x: object) -> float:
    """A JSON number, or one of the strings that stand for what JSON has no number for: NaN, infinities, --hex."""
    names = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    if isinstance(x, str) and x in names:
        return names[x]
    if isinstance(x, str) and HEXADECIMAL.fullmatch(x):
        return value(what, x)
    if not isinstance(x, float):
        raise AdError(f"{what} is not a number")
    if math.isinf(x):
        raise AdError(f"{what} is too large for a double", help='infinity is written "Infinity"')
    return x


def complete(params: Sequence[Param], given: Mapping[str, Any], what: str = "input") -> dict[str, Any]:
    """The value of every input in order, the given one or the default. AdError for names unknown or missing, which are
    names of a `what`."""
    known = {p.name for p in params}
    for name in given:
        if name not in known:
            raise unknown_name(what, str(name), [p.name for p in params])
    missing = [p.name for p in params if p.name not in given and p.default is None]
    if missing:
        raise AdError(f"no value for {', '.join(missing)}")
    return {p.name: given.get(p.name, p.default) for p in params}


def unknown_name(what: str, name: str, known: Sequence[str]) -> AdError:
    return AdError(f"no {what} '{name}'", help=nearest(name, known) or f"the {what}s are {', '.join(known) or 'none'}")
