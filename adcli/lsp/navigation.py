"""Definitions and references of a name, its renaming, and the canonical form."""
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

from adcli.lang.ir.errors import AdError, Fix, Source
from adcli.lang.ir.names import RESERVED, composed
from adcli.lang.lower import frontend
from adcli.lang.lower.frontend import read_through
from adcli.lang.syntax.format import format_tree
from adcli.lang.syntax.scan import KEYWORDS, scan
from adcli.lang.syntax.tree import Broken, Tree
from adcli.lsp.occurrences import CONSTANT, KNOWN, Meaning, Occurrence, Occurrences, occurrences
from adcli.lsp.open_text import OpenText

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
    fixes = fixes_of(text.tree, name_to_change(text, params.position), params.new_name)
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


OTHER = "choose another name"


def fixes_of(tree: Tree, at: Occurrence, name: str) -> list[Fix]:
    """The changes that give a new name to what stands at a place, in order; none where it has that name. AdError where it cannot
    have it."""
    name = composed(name.strip())
    renamable(tree, at.meaning)
    check_spelling(name)
    if name == at.meaning.name:
        return []
    fixes = [Fix(o.start, o.end, name) for o in at.meaning.places]
    before = occurrences(tree)
    after, _, error = read_through(Source(tree.source.name, all_applied(fixes, tree.source.text)))
    if pattern(before) != pattern(occurrences(after)):
        raise AdError(f"'{name}' {taken(before, name)}", help=OTHER)
    faults = read_through(tree.source)[2]
    if error is not None and len([error, *error.more]) > (0 if faults is None else len([faults, *faults.more])):
        raise AdError(f"with that name the program is wrong: {error.message}", help=OTHER)
    return fixes


def all_applied(fixes: list[Fix], text: str) -> str:
    """A text with changes made that are in order and apart from each other."""
    pieces, done = list[str](), 0
    for fix in fixes:
        pieces += [text[done:fix.start], fix.text]
        done = fix.end
    return "".join([*pieces, text[done:]])


def renamable(tree: Tree, meaning: Meaning) -> None:
    """AdError where something has no name to be changed, or where a part of the text cannot be read."""
    if meaning.kind in (KNOWN, CONSTANT):
        what = meaning.kind.removesuffix(" of the language")
        raise AdError(f"'{meaning.name}' is a {what} of the language and cannot be renamed")
    if meaning.name == "_":
        raise AdError("'_' is a value that is not wanted, and has no name", help="assign it to a name instead")
    if (broken := next((s for s in tree.statements if isinstance(s, Broken)), None)) is not None:
        line = tree.source.place(broken.start)[0]
        raise AdError(f"line {line} cannot be read, so it is not known which names are in it", help="mend it first")


def check_spelling(name: str) -> None:
    """AdError where a text is no name."""
    tokens = scan(name)[0]
    if name in KEYWORDS or name in RESERVED:
        raise AdError(f"'{name}' is a word of the language and cannot be a name", help=OTHER)
    if [t.type for t in tokens[:-1]] != ["NAME"] or tokens[0].text != name:
        raise AdError(f"'{name}' is not a name", help="a name is letters, digits and _, and does not start with a digit")


def pattern(found: Occurrences) -> list[tuple[int, str, bool]]:
    """Pattern of meanings in a text, without the names: for each place the number of its meaning, and what kind that is."""
    numbers: dict[int, int] = {}
    return [(numbers.setdefault(id(o.meaning), len(numbers)), o.meaning.kind, o.defines) for o in found.places]


def taken(before: Occurrences, name: str) -> str:
    """Why a name cannot be given to something else."""
    there = next((m for m in before.meanings() if m.name == name), None)
    if there is None:
        return "would mean something else here"
    what = f"{'an' if there.kind[0] in 'aeiou' else 'a'} {there.kind}"
    return f"is {what} already" if there.kind not in (KNOWN, CONSTANT) else f"is {what} that the program uses"
