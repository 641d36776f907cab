"""Whole-text answers: outline, semantic tokens, and shapes and ranges between the words."""
from __future__ import annotations

from itertools import chain

from lsprotocol.types import (
    DocumentSymbol,
    DocumentSymbolParams,
    InlayHint,
    InlayHintKind,
    InlayHintParams,
    SemanticTokens,
    SemanticTokensLegend,
    SemanticTokensParams,
    SymbolKind,
    TextEdit,
)

from adcli.lang.syntax.scan import HEADER_WORDS, KEYWORDS, scan
from adcli.lang.syntax.tree import TensorAssign, within
from adcli.lsp.occurrences import CONSTANT, FUNCTION, GIVEN, INDEX, INPUT, KNOWN, PARAMETER, SIZE, TYPES, VALUE, Meaning
from adcli.lsp.open_text import OpenText

# ---------------------------------------------------------------- the outline

SYMBOLS = {INPUT: SymbolKind.Property, VALUE: SymbolKind.Variable, SIZE: SymbolKind.TypeParameter, FUNCTION: SymbolKind.Function,
           PARAMETER: SymbolKind.Variable}


def symbols(text: OpenText, params: DocumentSymbolParams) -> list[DocumentSymbol]:
    """Inputs, values and functions, each where it first stands; what is inside of a function is below it."""
    outer: list[DocumentSymbol] = []
    inner: dict[int, list[DocumentSymbol]] = {}
    for meaning in text.names.meanings():
        if meaning.kind not in SYMBOLS or not meaning.places:
            continue
        made = symbol(text, meaning)
        if meaning.kind == FUNCTION or meaning.function is None:
            outer.append(made)
            made.children = inner.setdefault(id(meaning.function), []) if meaning.function is not None else None
        else:
            inner.setdefault(id(meaning.function), []).append(made)
    return outer


def symbol(text: OpenText, meaning: Meaning) -> DocumentSymbol:
    at = meaning.definition or meaning.places[0]
    of_program = meaning.kind == FUNCTION or meaning.function is None
    whole = text.tree.statements[at.statement] if of_program else at
    value = meaning.kind == VALUE and of_program
    outputs = {r.name for r in text.program.results} if value and text.program is not None else set()
    everything = text.places.range(min(whole.start, at.start), max(whole.end, at.end))
    return DocumentSymbol(meaning.name, SYMBOLS[meaning.kind], everything, text.places.range(at.start, at.end),
                          "output" if meaning.name in outputs else meaning.kind)


# ---------------------------------------------------------------- words

TOKEN_TYPES = ("variable", "parameter", "function", "keyword", "number", "comment", "operator", "type", "typeParameter")
MODIFIERS = ("declaration", "readonly", "defaultLibrary")
LEGEND = SemanticTokensLegend(TOKEN_TYPES, MODIFIERS)
OF_MEANINGS = {INPUT: ("parameter", 2), PARAMETER: ("parameter", 2), VALUE: ("variable", 0), SIZE: ("typeParameter", 2),
               INDEX: ("typeParameter", 0), GIVEN: ("variable", 0), FUNCTION: ("function", 0), KNOWN: ("function", 4),
               CONSTANT: ("variable", 6)}
"""Token type of each kind of name, with bits for its modifiers."""
WORD_KINDS = frozenset((*KEYWORDS.values(), *HEADER_WORDS.values())) - {"OP", "NOT"}
OPERATOR_KINDS = frozenset(("OP", "NOT", "SIGN", "EQUAL", "REDUCE", "AUGMENT", "ARROW", "QUERY", "COLON"))


def semantic_tokens(text: OpenText, params: SemanticTokensParams) -> SemanticTokens:
    """The kind of every word, as numbers: each place relative to the one before."""
    data: list[int] = []
    line = column = 0
    for start, end, kind, modifiers in words(text):
        at, behind = text.places.position(start), text.places.position(end)
        data += [at.line - line, at.character - (column if at.line == line else 0), behind.character - at.character,
                 TOKEN_TYPES.index(kind), modifiers]
        line, column = at.line, at.character
    return SemanticTokens(data)


def words(text: OpenText) -> list[tuple[int, int, str, int]]:
    """Start, end, kind and modifiers of every word, in order."""
    known = {o.start: (*OF_MEANINGS[o.meaning.kind][:1], OF_MEANINGS[o.meaning.kind][1] | o.defines) for o in text.names.places}
    tokens, comments, _ = scan(text.source.text)
    found = []
    for t in chain(tokens, comments):
        if t.start in known and t.type in ("NAME", *WORD_KINDS):
            found.append((t.start, t.end, *known[t.start]))
        elif t.type == "NAME" and t.text in TYPES:
            found.append((t.start, t.end, "type", 4))
        elif t.type in WORD_KINDS or (t.type in ("OP", "NOT") and t.text.isalpha()):
            found.append((t.start, t.end, "keyword", 0))
        elif t.type in OPERATOR_KINDS:
            found.append((t.start, t.end, "operator", 0))
        elif t.type in ("NUMBER", "COMMENT"):
            found.append((t.start, t.end, t.type.lower(), 0))
    return sorted(found)


# ---------------------------------------------------------------- between the words

def inlay_hints(text: OpenText, params: InlayHintParams) -> list[InlayHint]:
    """Of every tensor statement the shape of what it makes, and the ranges that it leaves to be found; these can be accepted into
    the text."""
    start, end = text.places.offset(params.range.start), text.places.offset(params.range.end)
    hints: list[InlayHint] = []
    for outer in text.tree.statements:
        if outer.end < start or outer.start > end:
            continue
        for s in within(outer):
            if isinstance(s, TensorAssign) and start <= s.end and s.start <= end:
                hints += statement_hints(text, s)
    return hints


def statement_hints(text: OpenText, s: TensorAssign) -> list[InlayHint]:
    known = text.indices.get(s.start)
    if known is None:
        return []
    hints = []
    if s.subscripts and known.shape:
        behind = text.source.text.index(")", s.subscripts[-1].end) + 1
        hints.append(InlayHint(text.places.position(behind), f": {known.shape}", InlayHintKind.Type))
    named = {o.meaning.name for o in text.names.between(s.start, s.end) if o.meaning.kind == INDEX}
    stated = {c.name.text for c in s.clauses if c.kind == "range" and c.name is not None}
    missing = [f"{i} in {low}:{high}" for i, (low, high) in known.ranges.items() if i in named - stated]
    if missing:
        label = (", " if s.clauses else " where ") + ", ".join(missing)
        at = text.places.position(s.end)
        hints.append(InlayHint(at, label, text_edits=[TextEdit(text.places.range(s.end, s.end), label)]))
    return hints
