"""Diagnostics of a text, the changes that mend it, and those that bring it into canonical form."""
from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from lsprotocol.types import (
    CodeAction,
    CodeActionKind,
    CodeActionParams,
    Diagnostic,
    DiagnosticSeverity,
    DocumentFormattingParams,
    Range,
    TextEdit,
    WorkspaceEdit,
)

from adcli.lang.ir.errors import AdError, Fix, Source, one_line
from adcli.lang.lower.frontend import lowered
from adcli.lang.printing.format import format_tree
from adcli.lang.suggest.fixes import LONGEST_TEXT, faults_of, touches
from adcli.lang.syntax.mend import shortest
from adcli.lsp.one_name import OpenText

LONGEST_TITLE = 80
LINES = re.compile(r"[^\n]*\n|[^\n]+")
"""The lines of a program with their ends; what else ends a line for Python (form feeds, U+2028) is part of one."""


def diagnostics(text: OpenText) -> list[Diagnostic]:
    """Every fault and every note."""
    found = [fault_diagnostic(text, f) for f in text.faults]
    for note in text.notes:
        start, end = note.span or (0, 0)
        place = text.places.range(start, end)
        found.append(Diagnostic(place, one_line(note.message), DiagnosticSeverity.Information, source="adcli"))
    return found


def fault_diagnostic(text: OpenText, fault: AdError) -> Diagnostic:
    """A fault at its place; one of the text as a whole at its first line. A text without a statement is not wrong, only begun."""
    severity = DiagnosticSeverity.Error if text.tree.statements else DiagnosticSeverity.Information
    message = one_line(fault.message) + (f"\n{one_line(fault.help)}" if fault.help else "")
    return Diagnostic(fault_range(text, fault), message, severity, source="adcli")


def fault_range(text: OpenText, fault: AdError) -> Range:
    start, end = fault.span or (0, len(text.source.line(1)))
    return text.places.range(start, max(start, end))


def code_actions(text: OpenText, params: CodeActionParams) -> list[CodeAction]:
    """The changes that mend the faults in a part of the text."""
    only = params.context.only
    if only and not any(CodeActionKind.QuickFix.value.startswith(str(getattr(kind, "value", kind))) for kind in only):
        return []
    start, end = text.places.offset(params.range.start), text.places.offset(params.range.end)
    return list(quick_fixes(text, start, end))


def quick_fixes(text: OpenText, start: int, end: int) -> Iterator[CodeAction]:
    for fault in text.faults:
        if fault.fix is None or not touches(fault, start, end) or not mends(text.source, fault):
            continue
        fix = shortest(fault.fix, text.source.text)
        edit = TextEdit(text.places.range(fix.start, fix.end), text.places.written(fix.text))
        yield CodeAction(title(fault, fault.fix), CodeActionKind.QuickFix, [fault_diagnostic(text, fault)],
                         is_preferred=fix.certain, edit=WorkspaceEdit({text.uri: [edit]}))


def mends(source: Source, fault: AdError) -> bool:
    """Test that the change of a fault leaves none where it is made. In a short text it was tried when the text was read."""
    assert fault.fix is not None
    if len(source.text) <= LONGEST_TEXT:
        return True
    fixed = Source(source.name, fault.fix.applied(source.text))
    return not any(touches(f, fault.fix.start, fault.fix.start + len(fault.fix.text)) for f in faults_of(fixed, lowered))


def title(fault: AdError, fix: Fix) -> str:
    """Title of a change."""
    help = fault.help or ""
    if meant := re.fullmatch(r"did you mean '(.*)'\?", help):
        return f"Change to '{meant[1]}'"
    said = help[:1].upper() + help[1:] if help else f"Write {fix.text.strip()}"
    return said if len(said) <= LONGEST_TITLE and "\n" not in said else f"{said[:LONGEST_TITLE].splitlines()[0]} …"


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
