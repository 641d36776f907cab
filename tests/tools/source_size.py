#!/usr/bin/env python3
"""The size of the source: files, lines with code, and tokens without comments and docstrings, of each folder and in all.

    python tests/tools/source_size.py [FOLDER…]     (default: adcli codegen lang)

Joining lines changes no number of tokens. The tables of the parser, which a program writes, are not counted.
"""
from __future__ import annotations

import ast
import pathlib
import sys
import tokenize
from collections.abc import Iterable, Iterator
from typing import NamedTuple

FOLDERS = ("adcli", "codegen", "lang")
GENERATED = ("lang/syntax/tables.py",)
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
          tokenize.ENDMARKER}


class Size(NamedTuple):
    """Of some files."""

    files: int
    lines: int
    tokens: int

    def __str__(self) -> str:
        return f"{self.files:6,} files {self.lines:9,} lines {self.tokens:9,} tokens"


def size(path: pathlib.Path) -> Size:
    """Of one file."""
    with tokenize.open(path) as file:
        text = file.read()
    documented = {(s.value.lineno, s.value.col_offset) for s in docstrings(ast.parse(text))}
    with open(path, "rb") as file:
        kept = [t for t in tokenize.tokenize(file.readline) if t.type not in LAYOUT and t.start not in documented]
    return Size(1, len({t.start[0] for t in kept}), len(kept))


def docstrings(tree: ast.Module) -> Iterator[ast.Expr]:
    """Texts that stand alone: docstrings, and those below a constant."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node


def together(sizes: Iterable[Size]) -> Size:
    return Size(*map(sum, zip(Size(0, 0, 0), *sizes, strict=True)))


def sizes(root: pathlib.Path, folders: Iterable[str]) -> dict[str, Size]:
    """Of each folder, all that lies in it."""
    return {name: together(size(path) for path in sorted((root / name).rglob("*.py"))
                           if path.relative_to(root).as_posix() not in GENERATED) for name in folders}


if __name__ == "__main__":
    found = sizes(pathlib.Path(__file__).resolve().parents[2], sys.argv[1:] or FOLDERS)
    for name, each in {**found, "all": together(found.values())}.items():
        print(f"{name:10}{each}")
