"""The definition of a name, and the canonical form of a text."""
from __future__ import annotations

import re
from difflib import SequenceMatcher
from pathlib import Path

from lsprotocol.types import DefinitionParams, DocumentFormattingParams, Location, Position, Range, TextEdit

from adcli.lang.lower import frontend
from adcli.lang.syntax.format import format_tree
from adcli.lsp.open_text import OpenText
from adcli.lsp.scopes import KNOWN

LINES = re.compile(r"[^\n]*\n|[^\n]+")
"""The lines of a program with their ends; what else ends a line for Python (form feeds, U+2028) is part of one."""


def definition(text: OpenText, params: DefinitionParams) -> Location | None:
    """The assignment that gave a name the value it has at a place, or the declaration of what else it is."""
    at = text.name_at(text.places.offset(params.position))
    if at is None:
        return None
    if at.kind == KNOWN:
        return in_prelude(at.name)
    first = at.reads
    return Location(text.uri, text.places.range(first.start, first.end)) if first is not None else None


def in_prelude(name: str) -> Location | None:
    """The definition of a function that the language itself has as text; one of the table has none."""
    if name not in frontend.prelude():
        return None
    path = Path(frontend.__file__).with_name("prelude.ad")
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        if line.startswith(f"def {name}("):
            return Location(path.resolve().as_uri(), Range(Position(number, 4), Position(number, 4 + len(name))))
    return None


def formatting(text: OpenText, params: DocumentFormattingParams) -> list[TextEdit] | None:
    """The changes that bring a text into canonical form, as `adcli fmt` writes it; none of a text with faults."""
    if text.program is None:
        return None
    old, new = LINES.findall(text.source.text), LINES.findall(format_tree(text.tree))
    edits = []
    for what, a, b, c, d in SequenceMatcher(None, old, new).get_opcodes():
        if what != "equal":
            edits.append(TextEdit(lines(text, a, b), text.places.written("".join(new[c:d]))))
    return edits


def lines(text: OpenText, first: int, behind: int) -> Range:
    """Whole lines, counted from 0."""
    return text.places.range(start_of_line(text, first), start_of_line(text, behind))


def start_of_line(text: OpenText, number: int) -> int:
    return text.source.start_of(number + 1) if number < len(text.places.lines) else len(text.source.text)
