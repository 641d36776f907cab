"""Which reader a program needs: by the suffix of its file or by --from; `FILE:FUNCTION` names a function of the file."""
from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import NamedTuple

from adcli.lang.ir.errors import AdError, Source


class SourceReader(NamedTuple):
    """A language: the suffixes of its files and the file of another room that reads it."""

    suffixes: tuple[str, ...]
    module: str


READERS = {"python": SourceReader((".py", ".pyi"), "from_python.module"),
           "c": SourceReader((".c", ".h"), "from_c.module"),
           "nl": SourceReader((".nl",), "from_nl.module"),
           "sympy": SourceReader((".sympy", ".srepr"), "from_sympy.module")}
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
        if colon and tail.replace(".", "_").isidentifier() and (language is not None or by_suffix(head)):
            path, function = head, tail
    found = language or by_suffix(path)
    return AskedSource(path, function, found) if found else None


def by_suffix(path: str) -> str | None:
    return next((name for name, row in READERS.items() if path.endswith(row.suffixes)), None)


def decoder(asked: AskedSource | None) -> Callable[[bytes, str], Source]:
    """The function that makes a text of the bytes of a file: that of its reader, if it has one."""
    from adcli.lang.syntax.source import decode
    module = import_module(f"adcli.{READERS[asked.language].module}") if asked else None
    made: Callable[[bytes, str], Source] = getattr(module, "decode", decode)
    return made


def read(source: Source, asked: AskedSource, values: Mapping[str, object] = {}, ranks: Mapping[str, int] = {}) -> Source:
    """The program that a text in another language is, where `values` and `ranks` of inputs are known."""
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
