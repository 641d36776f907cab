"""Which reader a program needs: by the suffix of its file or by --from; `FILE:FUNCTION` names a function of the file."""
from __future__ import annotations

import marshal
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from typing import NamedTuple

from adcli.lang.ir.errors import AdError, Source, alike


class SourceReader(NamedTuple):
    """A language: the suffixes of its files, the file of another room that reads it, and whether that makes texts of bytes."""

    suffixes: tuple[str, ...]
    module: str
    decodes: bool = False


READERS = {"python": SourceReader((".py", ".pyi"), "from_python.module"),
           "c": SourceReader((".c", ".h"), "from_c.module"),
           "nl": SourceReader((".nl",), "from_nl.module", True),
           "sympy": SourceReader((".sympy", ".srepr"), "from_sympy.module")}
"""The languages that are read, by the word for --from."""


INCLUDE = re.compile(r'#\s*include\s*"')
"""A text that others belong to."""


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
    from adcli.lang.syntax.scan import decode
    row = READERS[asked.language] if asked else None
    made: Callable[[bytes, str], Source] = import_module(f"adcli.{row.module}").decode if row and row.decodes else decode
    return made


def read(source: Source, asked: AskedSource, values: Mapping[str, object] = {}, ranks: Mapping[str, int] = {},
         cached: bool = False) -> Source:
    """The program that a text in another language is, where `values` and `ranks` of inputs are known; from the cache where it is
    there. Of the values only whole numbers are constants of programs."""
    def made() -> Source:
        found: Source = import_module(f"adcli.{READERS[asked.language].module}").read(source, asked.function, values, ranks)
        return found
    if not cached or READERS[asked.language].decodes or INCLUDE.search(source.text):   # models have files beside them
        return made()
    from adcli.codegen.machine import cache
    from adcli.readers.origin import TextOrigin
    whole = {n: x if not isinstance(x, float) or x.is_integer() else None for n, x in values.items()}
    store = cache.Store(cache.location(), cache.to_stderr)
    try:
        name = cache.key([source.text, source.name, repr((asked, whole, ranks)), cache.remembered_content()])
    except OSError:
        return made()
    if (kept := store.get(name)) is not None:
        called, text, *places = marshal.loads(kept)
        return Source(called, text, origin=TextOrigin(source, *places))
    found = made()
    if isinstance(origin := found.origin, TextOrigin):
        store.put(name, marshal.dumps((found.name, found.text, [*origin.places], origin.function)))
    return found


def chosen(source: Source, names: Mapping[str, Collection[str]], public: Sequence[str], name: str | None, example: str) -> str:
    """The function of a file that is meant: by its name, or the one public function that no other one calls. `names` are those in
    each function."""
    if name in names:
        return str(name)
    word = "-- -" if source.name == "<stdin>" else source.name
    if not names:
        raise AdError("no function in this file", source=source, help=f"write {example}")
    if name is not None:
        close = alike(name, [*names])
        raise AdError(f"no function '{name}' in this file", source=source,
                      help=f"did you mean '{word}:{close}'?" if close else f"the functions are {', '.join(public)}")
    called = {c for n, inside in names.items() for c in inside if c != n}
    top = [n for n in public if n not in called] or public or [*names]
    if len(top) > 1:
        raise AdError(f"this file has {len(top)} functions: {', '.join(top)}", source=source, help=f"write {word}:{top[-1]}")
    return top[0]


def functions(path: str, language: str | None) -> list[str]:
    """The functions of a file in another language; none where it cannot be read."""
    asked = foreign(path, language)
    if asked is None or not os.path.isfile(asked.path):
        return []
    with open(asked.path, encoding="utf-8", errors="replace") as file:
        found: list[str] = import_module(f"adcli.{READERS[asked.language].module}").names(file.read())
    return found
