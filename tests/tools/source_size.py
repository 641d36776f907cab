#!/usr/bin/env python3
"""The size of the source: files, lines with code, and tokens without comments and docstrings, of each folder and in all.

    python tests/tools/source_size.py [FOLDER…]              (default: adcli codegen lang)
    python tests/tools/source_size.py --since REVISION        and the change since a revision of git

Joining lines changes no number of tokens. The tables of the parser, which a program writes, are not counted.
"""
from __future__ import annotations

import argparse
import ast
import pathlib
import subprocess
import tempfile
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


def sizes_of_revision(root: pathlib.Path, revision: str, folders: Iterable[str]) -> dict[str, Size]:
    """Of a revision of git."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "-C", str(root), "archive", revision, *folders], check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        return sizes(pathlib.Path(folder), folders)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folders", nargs="*", default=FOLDERS)
    parser.add_argument("--since", metavar="REVISION")
    given = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    found = sizes(root, given.folders)
    for name, each in {**found, "all": together(found.values())}.items():
        print(f"{name:10}{each}")
    if given.since:
        before = together(sizes_of_revision(root, given.since, given.folders).values())
        now = together(found.values())
        change = (f"{x - y:+,} {what}" for what, x, y in zip(Size._fields, now, before, strict=True))
        print(f"since {given.since}: {', '.join(change)}")


if __name__ == "__main__":
    main()
