"""Where a name is defined and used, another name for it, and the canonical form."""
from __future__ import annotations

import re
from difflib import SequenceMatcher
from pathlib import Path

from lsprotocol.types import (
    DefinitionParams,
    DocumentFormattingParams,
    DocumentHighlight,
    DocumentHighlightKind,
    DocumentHighlightParams,
    Location,
    Position,
    PrepareRenameParams,
    PrepareRenamePlaceholder,
    Range,
    ReferenceParams,
    RenameParams,
    TextEdit,
    WorkspaceEdit,
)

from adcli.lang.ir.errors import AdError
from adcli.lang.lower import frontend
from adcli.lang.syntax.format import format_tree
from adcli.lsp.occurrences import KNOWN, Occurrence
from adcli.lsp.open_text import OpenText
from adcli.lsp.rename import renamable, renamed

LINES = re.compile(r"[^\n]*\n|[^\n]+")
"""The lines of a program with their ends; what else ends a line for Python (form feeds, U+2028) is part of one."""


def definition(text: OpenText, params: DefinitionParams) -> Location | None:
    """The assignment that gave a name the value it has at a place, or the declaration of what else it is."""
    at = text.name_at(text.places.offset(params.position))
    if at is None:
        return None
    if at.meaning.kind == KNOWN:
        return in_prelude(at.meaning.name)
    first = at.reads or at.meaning.definition
    return location(text, first) if first is not None else None


def in_prelude(name: str) -> Location | None:
    """The definition of a function that the language itself has as text; one of the table has none."""
    if name not in frontend.prelude():
        return None
    path = Path(frontend.__file__).with_name("prelude.ad")
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        if line.startswith(f"def {name}("):
            return Location(path.resolve().as_uri(), Range(Position(number, 4), Position(number, 4 + len(name))))
    return None


def location(text: OpenText, o: Occurrence) -> Location:
    return Location(text.uri, text.places.range(o.start, o.end))


def references(text: OpenText, params: ReferenceParams) -> list[Location]:
    """All places of what a name means."""
    at = text.name_at(text.places.offset(params.position))
    with_definitions = params.context.include_declaration
    return [location(text, o) for o in at.meaning.places if with_definitions or not o.defines] if at else []


def highlights(text: OpenText, params: DocumentHighlightParams) -> list[DocumentHighlight]:
    at = text.name_at(text.places.offset(params.position))
    kinds = {True: DocumentHighlightKind.Write, False: DocumentHighlightKind.Read}
    return [DocumentHighlight(text.places.range(o.start, o.end), kinds[o.defines]) for o in at.meaning.places] if at else []


# ---------------------------------------------------------------- changes

def prepare_rename(text: OpenText, params: PrepareRenameParams) -> PrepareRenamePlaceholder:
    """The name that is about to be changed. AdError where it cannot be."""
    at = name_to_change(text, params.position)
    renamable(text.tree, at.meaning)
    return PrepareRenamePlaceholder(text.places.range(at.start, at.end), at.meaning.name)


def rename(text: OpenText, params: RenameParams) -> WorkspaceEdit:
    """The changes that give a name's meaning another name. AdError where it cannot have it."""
    fixes = renamed(text.tree, name_to_change(text, params.position), params.new_name)
    return WorkspaceEdit({text.uri: [TextEdit(text.places.range(f.start, f.end), f.text) for f in fixes]})


def name_to_change(text: OpenText, position: Position) -> Occurrence:
    at = text.name_at(text.places.offset(position))
    if at is None:
        raise AdError("there is no name here")
    return at


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
