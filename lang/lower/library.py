"""The functions of numbers that need no definition: those of the room `prelude`, of which a file is read when a text calls one of
its functions."""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path

from adcli.lang import prelude as room
from adcli.lang.expressions.inline import Template
from adcli.lang.ir.errors import Source
from adcli.lang.lower.program import functions
from adcli.lang.syntax.parse import parse_tree

FOLDER = Path(room.__path__[0])
FILES = ("elementary.ad", "probability.ad", "densities.ad", "learning.ad", "special.ad")
PARTS = "parts.ad"
"""Functions that others are made of, which nobody looks for."""


class Prelude(Mapping[str, Template]):
    """Functions by name, in the order of their files; those of `PARTS` are there, too, and are not listed."""

    def __getitem__(self, name: str) -> Template:
        return defined_in(self.places[name])[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, path in self.places.items() if path.name != PARTS)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self.places

    @cached_property
    def places(self) -> Mapping[str, Path]:
        """The file that defines each function."""
        return {name: FOLDER / file for file in (*FILES, PARTS)
                for name in re.findall(r"^def (\w+)", text(FOLDER / file), re.MULTILINE)}

    def body(self, name: str) -> str:
        """The expression of a function, as it is written."""
        found = re.search(rf"^def {name}\(.*?\) = (.*(?:\n .*)*)", text(self.places[name]), re.MULTILINE)
        written = " ".join(found[1].split()) if found else ""
        return written[2:-1] if written.startswith("( ") else written


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@lru_cache
def defined_in(path: Path) -> Mapping[str, Template]:
    """The functions of a file, which may call those of others."""
    return functions(parse_tree(Source(path.name, text(path))), prelude)


@lru_cache(maxsize=1)
def prelude() -> Prelude:
    return Prelude()
