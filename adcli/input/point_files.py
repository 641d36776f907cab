"""Points from files: objects of JSON, arrays of NumPy by their names, and one number."""
from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from adcli.input.nested import of_lists
from adcli.input.values import json_number, malformed, one_text, value
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import composed
from adcli.output.standard import opened
from adcli.readers.front import decoder, foreign, read

TABLES = (".csv", ".tsv", ".tab", ".parquet")
"""Suffixes of files of rows."""
NAMED, _QUOTED = r"""['"]?\b([^\W\d]\w*)['"]?\s*[=:]\s*""", r'"\1": '
"""A name before its value, and how JSON has it."""
POINTS = '{"x": 2, "y": 5}', '{"x": [1, 2]}'
"""Points in JSON, of numbers and of tensors."""
LONGEST_POINT = 80
"""Characters of a point that is repeated in a message."""


def file_points(path: str, kinds: Mapping[str, int]) -> list[dict[str, Any]]:
    """Points from a JSON file: an object, a list of objects, or one object a line; results of adcli are read by their `at`.

    A program has the values that it begins with, as a model in a .nl file has. Where there are tensors an .npz is a point too,
    and nested lists are tensors. `kinds` are the `ranks` of the inputs.
    """
    if not path:
        raise AdError("'@' needs a file name", help="write --at @points.json")
    if asked := foreign(path, None):
        from adcli.lang.lower.frontend import parse_source
        with opened(path) as file:
            program = parse_source(read(decoder(asked)(file.read(), path), asked))
        return [{p.name: p.default for p in program.params if p.default is not None}]
    if kinds and path.lower().endswith(".npz"):
        from adcli.input.arrays import read_npz
        return [dict(read_npz(path))]
    if path.lower().endswith((".npy", ".npz")):
        if not any(kinds.values()):
            named = path.lower().endswith(".npz")
            raise AdError(f"{path}: a file of arrays, and every input is a number",
                          help=f"write --data {as_option(path)}" if named else "write --at x=2,y=5, or --data ROWS")
        raise AdError(f"{path}: an array needs the name of an input", help=f"write {max(kinds, key=kinds.__getitem__)}=@{path}")
    if path.lower().removesuffix(".gz").removesuffix(".zst").endswith(TABLES):
        raise AdError(f"{path}: a table of rows, and --at has points as JSON", help=f"write --data {as_option(path)}")
    try:
        with opened(path) as file:
            text = file.read().decode("utf-8-sig")
    except OSError as error:
        raise AdError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise AdError(f"{path}: not UTF-8: a stray byte at byte offset {error.start}") from None
    path = "<stdin>" if path == "-" else path
    return [object_point(path, i, o, bool(kinds)) for i, o in enumerate(objects(path, text, bool(kinds)), 1)]


def file_number(name: str, path: str) -> float:
    """The one number that a file holds, or standard input."""
    if not path:
        raise AdError(f"{name}=@ needs a file name", help=f"write {name}=@number.txt, or {name}=@- for standard input")
    try:
        with opened(path) as file:
            words = file.read().decode("utf-8-sig").split()
    except OSError as error:
        raise AdError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise AdError(f"{name}=@{path}: expected a number, not a tensor") from None
    if len(words) != 1:
        raise AdError(f"{name}=@{path}: '{name}' is one number, and there are {len(words)} words",
                      help="rows of numbers go to --data" if words else None)
    return value(name, words[0])


def objects(path: str, text: str, tensors: bool) -> list[object]:
    """Content of a file: one JSON text, or one on every line."""
    try:
        return one_text(path, text)
    except json.JSONDecodeError as error:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        if len(lines) < 2 or error.msg != "Extra data":
            raise malformed(path, error.lineno, error, as_json(path, error.doc.strip(), tensors)) from None
    return [item for number, line in lines for item in one_line(path, number, line, tensors)]


def one_line(path: str, number: int, line: str, tensors: bool) -> list[object]:
    try:
        return one_text(path, line)
    except json.JSONDecodeError as error:
        raise malformed(path, number, error, as_json(path, line.strip(), tensors)) from None


def as_json(path: str, text: str, tensors: bool) -> str:
    """Suggestion for a text that is not JSON: its point as JSON where it is one in other words, or where its rows go."""
    named = re.sub(NAMED, _QUOTED, re.sub(r"(?<=[^,;\s])\s*\n\s*(?=\w+\s*=)", ", ", text))
    for meant in (f"{{{named}}}", named) if 0 < len(named) <= LONGEST_POINT else ():
        with suppress(json.JSONDecodeError):
            if isinstance(json.loads(meant), dict):
                return f"write {meant}"
    if text and not any(c in text for c in "{[=:"):
        return f"rows go to --data: --data {as_option(path)}"
    return f"write {POINTS[tensors]}"


def as_option(path: str) -> str:
    """The name of a file as an option has it."""
    from shlex import quote  # start-up: only faults ask
    return "-" if path == "<stdin>" else quote(path)


def object_point(path: str, number: int, item: object, tensors: bool) -> dict[str, Any]:
    if isinstance(item, dict) and isinstance(item.get("at"), dict):
        item = item["at"]
    if not isinstance(item, dict):
        raise AdError(f"{path}: item {number} is not an object",
                      help=f"write {POINTS[tensors]}{f', or name what a file is: --at x=@{as_option(path)}' * tensors}")
    return {composed(name): json_value(f"{path}: item {number}: ", name, x, tensors) for name, x in item.items()}


def json_value(where: str, name: str, x: object, tensors: bool) -> Any:
    if tensors and isinstance(x, list):
        return of_lists(name, x, where)
    return json_number(f"{where}'{name}'", x)
