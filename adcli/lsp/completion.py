"""Names, functions and words that can stand at a place."""
from __future__ import annotations

from lsprotocol.types import CompletionItem, CompletionItemKind, CompletionList, CompletionParams

from adcli.lang.ir.notation import MATRIX_CALLS
from adcli.lang.syntax.constants import NAMED_CONSTANTS
from adcli.lang.syntax.scan import KEYWORDS
from adcli.lsp.hover import head, known_function, markdown
from adcli.lsp.occurrences import FUNCTION, INDEX, SIZE, Meaning, seen_from
from adcli.lsp.open_text import OpenText

KINDS = {FUNCTION: CompletionItemKind.Function, INDEX: CompletionItemKind.Field, SIZE: CompletionItemKind.TypeParameter}
WORDS = {
    "input": "input x, y = 2, z in [0, 1]: inputs, in this order, with defaults and ranges",
    "param": "param k = 9.81: an input that is differentiated only where it is named",
    "output": "output v, w: the outputs, in this order",
    "def": "def f(x) = x * x, or def f(x, y) -> (u, v) { ... }: a function",
    "in": "i in 0:N: the range of an index; x in [0, 1]: the range of an input",
    "where": "C(i) +=! A(i, k) where k in 0:K: ranges and conditions of a tensor statement",
    "exists": "where exists A(i + 1): only where this element is there",
    "int32": "int32 k(i) = floor(x(i)): whole numbers that are computed, which subscripts may be",
    "for": "for t in 0:T { h(t + 1) = f(h(t)) }: a loop over steps, with down or until c before its {",
    "and": "c and d: both truth values", "or": "c or d: at least one of two truth values", "not": "not c: the other truth value",
}
"""The words of the language, each with an example of its use."""
FUNCTIONS = "function of the language"


def completion(text: OpenText, params: CompletionParams) -> CompletionList:
    """Everything that has a meaning at a place: its own names first, then functions, constants and words. The editor chooses
    among them by what has been typed."""
    from adcli.manual.functions import called
    offset = text.places.offset(params.position)
    if any(c.start < offset <= c.end for c in text.tree.comments):
        return CompletionList(False, [])
    here = text.name_at(offset)
    own = {m.name: m for m in seen_from(text.names, text.tree, offset) if here is None or m.places != [here]}
    items = [own_item(text, m) for m in own.values()]
    items += [known_item(n, "2", CompletionItemKind.Function, FUNCTIONS) for n in called() if n not in own]
    items += [known_item(n, "2", CompletionItemKind.Function, f"{n}({args})", f"{about} (an operation on matrices)")
              for n, (args, about) in MATRIX_CALLS.items() if n not in own]
    items += [known_item(n, "3", CompletionItemKind.Constant, "constant") for n in NAMED_CONSTANTS if n not in own]
    items += [known_item(w, "4", CompletionItemKind.Keyword, "word of the language", WORDS[w]) for w in KEYWORDS]
    return CompletionList(False, items)


def own_item(text: OpenText, m: Meaning) -> CompletionItem:
    detail = head(text, m.function) if m.kind == FUNCTION and m.function is not None else m.kind
    comment = text.comment_above(m.places[0].start)
    kind = KINDS.get(m.kind, CompletionItemKind.Variable)
    return CompletionItem(m.name, kind=kind, detail=detail, documentation=comment or None, sort_text=f"1{m.name}")


def known_item(name: str, order: str, kind: CompletionItemKind, detail: str, said: str | None = None) -> CompletionItem:
    return CompletionItem(name, kind=kind, detail=detail, documentation=said, sort_text=order + name)


def resolved(item: CompletionItem) -> CompletionItem:
    """An item with what the table says of its function, which is worked out only for those that are looked at."""
    if item.detail == FUNCTIONS:
        item.documentation = markdown(known_function(item.label))
    return item
