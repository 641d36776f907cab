"""The places of a program in the text of another language that it was made of.

They are not kept part by part: the text of the program and the Draft have the same tree, and only where a place is asked for is
the text parsed and put beside it.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from adcli.lang.ir.errors import AdError, Source, SourceOrigin, Span

Result = TypeVar("Result")


class PartReader:
    """A reader of a tree, which knows the part that it is at."""

    part: Any = None

    def at(self, part: Any, work: Callable[..., Result], *args: Any) -> Result:
        """The result of work on a part, whose place its errors and lines have."""
        outer, self.part = self.part, part
        try:
            return work(*args)
        finally:
            self.part = outer


class TextOrigin(SourceOrigin):
    """The text that a program was made of, and the places of its statements in the order of their tree."""

    def __init__(self, source: Source, places: Sequence[Span], function: Span) -> None:
        self.source, self.places, self.function = source, places, function

    def shown(self, text: str, span: Span, element: str = "") -> tuple[Source, Span]:
        """The place of the smallest part of the program around a span; that of the function where there is none."""
        start, end = span
        try:
            pairs = self.pairs(text)
        except AdError:   # no program, which whoever reads it says
            pairs = []
        around = [(b - a, place) for (a, b), place in pairs if a <= start and end <= b]
        return self.source, min(around, default=(0, self.function))[1]

    def pairs(self, text: str) -> list[tuple[Span, Span]]:
        if getattr(self, "_of", None) != text:
            from adcli.lang.syntax.parse import parse_tree  # for messages only
            self._pairs = list(zip(places(parse_tree(Source("", text)).statements), self.places, strict=True))
            self._of = text
        return self._pairs


def places(part: Any) -> Iterator[Span]:
    """The spans of a tree's parts in the order of their fields; parentheses have none."""
    if type(part).__name__ == "Parens":
        yield from places(part.inner)
    elif isinstance(part, list):
        for p in part:
            yield from places(p)
    elif hasattr(part, "__slots__"):
        if hasattr(part, "start"):
            yield part.start, part.end
        for kind in type(part).__mro__:
            for name in getattr(kind, "__slots__", ()):
                yield from places(getattr(part, name))
