"""Which reader a program needs: by the suffix of its file or by --from; `FILE:FUNCTION` names a function of the file."""
from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from adcli.lang.ir.errors import AdError, Source


class SourceReader(NamedTuple):
    """A language: the suffixes of its files and the file of another room that reads it."""

    suffixes: tuple[str, ...]
    module: str


READERS = {"python": SourceReader((".py", ".pyi"), "from_python.module")}
"""The languages that are read, by the word for --from."""


class AskedSource(NamedTuple):
    """A program in another language: its file, or - for standard input, and the function that is meant."""

    path: str
    function: str | None
    language: str


def foreign(program: str | None, language: str | None) -> AskedSource | None:
    """The file, function and language of a word for a program; None where it is a program of ours."""
    if program is None:
        if language is not None:
            raise AdError("--from is for a file, or - for standard input", help=f"write adcli show --from {language} - < FILE")
        return None
    path, function = program, None
    if not os.path.exists(program):
        head, colon, tail = program.rpartition(":")
        if colon and tail.isidentifier() and (language is not None or by_suffix(head)):
            path, function = head, tail
    found = language or by_suffix(path)
    return AskedSource(path, function, found) if found else None


def by_suffix(path: str) -> str | None:
    return next((name for name, row in READERS.items() if path.endswith(row.suffixes)), None)


def read(source: Source, asked: AskedSource, at: Sequence[str] = ()) -> Source:
    """The program that a text in another language is. `at` is the point as far as it is known, from which ranks are taken."""
    values, ranks = known_of(at)
    made: Source = import_module(f"adcli.{READERS[asked.language].module}").read(source, asked.function, values, ranks)
    return made


def functions(path: str, language: str | None) -> list[str]:
    """The functions of a file in another language; none where it cannot be read."""
    asked = foreign(path, language)
    if asked is None or not os.path.isfile(asked.path):
        return []
    with open(asked.path, encoding="utf-8", errors="replace") as file:
        found: list[str] = import_module(f"adcli.{READERS[asked.language].module}").names(file.read())
    return found


def known_of(at: Sequence[str]) -> tuple[dict[str, object], dict[str, int]]:
    """The inputs of a point: numbers, and how many dimensions lists and arrays have."""
    values: dict[str, object] = {}
    ranks: dict[str, int] = {}
    for text in at:
        if text.startswith("@"):
            given = from_file(text[1:])
        else:
            pairs = (part.partition("=") for part in split(text))
            given = {name.strip(): value.strip() for name, equals, value in pairs if equals}
        for name, value in given.items():
            rank = rank_of(value)
            if rank is not None:
                ranks[name] = rank
            elif isinstance(value, str):
                try:
                    values[name] = float(value)
                except ValueError:
                    values[name] = value
            else:
                values[name] = value
    return values, ranks


def split(text: str) -> list[str]:
    """The parts of a point between commas outside of brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "[(") - (c in "])")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def rank_of(value: object) -> int | None:
    """The number of dimensions of a value of a point; None for a number."""
    if isinstance(value, str):
        if value.startswith("["):
            return len(value) - len(value.lstrip("[ "))
        if value.startswith("@"):
            found = from_file(value[1:]).get("")
            return found if isinstance(found, int) else rank_of(found)
        return None
    if isinstance(value, list):
        rank = 0
        item: object = value
        while isinstance(item, list):
            rank, item = rank + 1, item[0] if item else None
        return rank
    return None


def from_file(path: str) -> dict[str, object]:
    """What a file of values says of shapes, as far as it can be looked into here: a list for each name, or "" for one array."""
    try:
        if path.endswith((".npy", ".npz")):
            import numpy as np
            loaded = np.load(path, mmap_mode="r", allow_pickle=False)
            if path.endswith(".npz"):
                return {name: dummy(loaded[name].ndim) for name in loaded}
            return {"": loaded.ndim}
        if path.endswith(".json"):
            import json
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
            return found if isinstance(found, dict) else {"": found}
        if path.endswith(".csv"):
            return {"": 2}
    except (OSError, ValueError):   # which those who take the values tell
        return {}
    return {}


def dummy(rank: int) -> object:
    """A nested list of so many dimensions."""
    made: object = 0.0
    for _ in range(rank):
        made = [made]
    return made
