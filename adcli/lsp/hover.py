"""Hover, definitions and completion: names and functions explained."""
from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from functools import lru_cache

from lsprotocol.types import (
    CompletionItem,
    CompletionItemKind,
    CompletionList,
    CompletionParams,
    DefinitionParams,
    Hover,
    HoverParams,
    Location,
    MarkupContent,
    MarkupKind,
    Position,
    Range,
)

from adcli.lang.ir import Param, Program
from adcli.lang.ir.affine import shape_text
from adcli.lang.lower import tensor_library
from adcli.lang.lower.library import prelude
from adcli.lang.printing.scalar_printer import range_text
from adcli.lang.syntax.constants import NAMED_CONSTANTS
from adcli.lang.syntax.scan import KEYWORDS
from adcli.lang.tree.nodes import Def, Typed
from adcli.lang.tree.notation import CONSTRAINTS, MATRIX_CALLS, TENSOR_CALLS, constant
from adcli.lsp.one_name import OpenText, bounds, function_program, index_range, partials, program_by, shape_at, value_program
from adcli.lsp.scopes import CONSTANT, FUNCTION, GIVEN, INDEX, INPUT, KNOWN, PARAMETER, SIZE, Name

MOST_LINES = 16
"""Lines of a derivative that are shown."""
BOUND_DIGITS = 6
MOST_PARTIALS = 3
"""Parameters of a function whose derivatives are shown together."""


def hover(text: OpenText, params: HoverParams) -> Hover | None:
    """Hover text of the name at a place."""
    at = text.name_at(text.places.offset(params.position))
    if at is None:
        return None
    return Hover(markdown(about(text, at)), text.places.range(at.start, at.end))


def markdown(paragraphs: list[str]) -> MarkupContent:
    return MarkupContent(MarkupKind.Markdown, "\n\n".join(p for p in paragraphs if p))


SPECIAL = re.compile(r"[\\`*~<>\[\]$&|]|(?<!\w)_|_(?!\w)|^[-+=#](?=\W|$)", re.MULTILINE)
"""Characters with a meaning in Markdown. An underscore within a word is one."""


def plain(text: str) -> str:
    """A name or a comment, as it stands in the program, in Markdown."""
    return SPECIAL.sub(lambda m: f"\\{m[0]}", text)


def code(text: str) -> str:
    """A piece of the language, cut where it is long."""
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES - 1], f"# … {len(lines) - MOST_LINES + 1} more lines: adcli grad --emit text"]
    return "```adcli\n" + "\n".join(lines) + "\n```" if lines else ""


def about(text: OpenText, at: Name) -> list[str]:
    """Paragraphs on a name: what it is, what stands beside it as a comment, and what follows from the program."""
    kind = at.kind
    if kind == KNOWN:
        return known_function(at.name)
    if kind == CONSTANT:
        return [f"**{at.name}** · constant", code(f"{at.name} = {constant(NAMED_CONSTANTS[at.name])[0]}")]
    comment = plain(text.comment_above((at.reads or at).start)) if kind not in (INDEX, GIVEN, SIZE) else ""
    if kind == FUNCTION:
        return [*own_function(text, at), comment]
    if kind in (INDEX, SIZE, GIVEN):
        return [f"**{plain(at.name)}** · {kind}", range_of_index(text, at) if kind == INDEX else ""]
    return [*value(text, at), comment]


# ---------------------------------------------------------------- values

def value(text: OpenText, at: Name) -> list[str]:
    """An input, a parameter or a value: shape, bounds, derivatives by it."""
    name, program = at.name, text.program
    if program is None:
        return [f"**{plain(name)}** · {at.kind}"]
    made = value_program(text.tree, at)
    result = next((r for r in program.results if r.name == name), None) if at.function is None else None
    kind = "output" if made is not None and result is not None and at.kind != INPUT else at.kind
    shape = shape_at(made) if made is not None else declared_shape(program, at)
    said = [f"**{plain(name)}** · {kind} · {f'tensor {shape}' if shape else 'number'}"]
    if made is None and at.kind == INPUT and (param := next((p for p in program.params if p.name == name), None)):
        said.append(range_of(param))
    if made is not None and (known := bounds(made)) is not None:
        low, high = (outward(x, up) for up, x in enumerate(known.ends))
        where = ", ".join(box_side(p) for p in known.inputs)
        between = f"`{low}`" if low == high else f"between `{low}` and `{high}`"
        said.append(f"{between}{f' for {where}' if where else ''}{'' if known.everywhere else ', where it has a value'} (proved)")
    by = program_by(text.tree, program, at, made)
    if by is not None and (shown := partials(by[0], [by[1]])):
        called = f", `{by[1]}` being the value that `{name}` has here" if by[1] != name else ""
        said += [f"Derivatives by `{name}`{called}:", code(shown)]
    return said


def outward(x: float, up: int) -> str:
    """A bound with few digits, rounded so that it still is one."""
    if not math.isfinite(x) or x == int(x):
        return constant(x)[0]
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    return constant(float(Context(BOUND_DIGITS, rounding).create_decimal(x)))[0]


def declared_shape(program: Program, at: Name) -> str:
    """The shape of an input, or of a parameter as it is declared."""
    shape = next((p.var.shape for p in program.params if p.name == at.name), ())
    if at.kind in (INPUT, PARAMETER) and at.function is None:
        return shape_text(shape) if shape else ""
    d = at.function
    typed = next((t for t in (*d.params, *d.results) if t.text == at.name and type(t) is Typed), None) if d else None
    extents = typed.extents if type(typed) is Typed else None
    source = program.source.text if program.source else ""
    return f"({', '.join(source[n.start:n.end] for n in extents)})" if extents else ""


def range_of(p: Param) -> str:
    parts = [f"default `{constant(p.default)[0]}`"] if p.default is not None else []
    if declared := range_text(p).removeprefix(" in "):
        parts.append(f"in `{declared}`")
    return ", ".join(parts)


def box_side(p: Param) -> str:
    if p.low is None or p.high is None:
        return f"`{p.name} = {constant(p.default or 0.0)[0]}`"
    return f"`{p.name}` in `{range_text(p).removeprefix(' in ')}`"


def range_of_index(text: OpenText, at: Name) -> str:
    """Range of an index, where it is known."""
    s, program = at.statement, text.program
    ends = index_range(program, s.start, at.name) if s is not None and program is not None else None
    return code(f"{at.name} in {ends[0]}:{ends[1]}") if ends else ""


# ---------------------------------------------------------------- functions

@lru_cache(maxsize=256)
def known_function(name: str) -> list[str]:
    """A function of the language: the rows of the table."""
    from adcli.manual.functions import functions
    said = []
    for f in functions(name):
        several, example = len(f.derivatives) > 1, f" for {f.example}" if f.example else ""
        by = [f"# by {x}{example}\n{d}" if several else d for x, d in f.derivatives.items()]
        said += [f"**{f.form}** · {f.about}{f', for {f.domain}' if f.domain else ''}",
                 "Derivative:" if by else "", code("\n".join(by))]
        said += ["\n".join(f"- {s.level}{f' by `{s.wrt}`' if s.wrt else ''} where `{s.where}`" for s in f.status)]
    return said or [f"**{name}**"]


def own_function(text: OpenText, at: Name) -> list[str]:
    """A function of the text: its head, and its derivatives where it is of numbers."""
    d = at.function
    assert d is not None
    said = [code(head(text, d))]
    program = function_program(text.tree, d)
    if program is not None and 0 < len(program.params) <= MOST_PARTIALS:
        shown = partials(program, [p.name for p in program.params])
        said += ["Derivatives:" if shown else "", code(shown)]
    return said


def head(text: OpenText, d: Def) -> str:
    """The first line of a definition, or all of one that fits a line."""
    end = d.brace if d.value is None else d.end
    return " ".join(text.source.text[d.start:end].split())


# ---------------------------------------------------------------- definitions

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
    if name not in prelude() and name not in TENSOR_CALLS:
        return None
    path = prelude().places.get(name, tensor_library.PATH)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        if line.startswith(f"def {name}("):
            return Location(path.resolve().as_uri(), Range(Position(number, 4), Position(number, 4 + len(name))))
    return None


# ---------------------------------------------------------------- completion

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
    "minimize": "minimize v: what adcli minimize looks for, an output or an expression", "maximize": "maximize v",
    "subject": "subject to g <= 0, 0 <= x(i) <= hi(i): conditions, of tensors for every element",
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
    typed = None if here is None or here.defines else here.start
    own: dict[str, Name] = {}
    for n in text.names.seen_from(offset):
        if n.start != typed:
            own.setdefault(n.name, n)
    items = [own_item(text, n) for n in own.values()]
    items += [known_item(n, "2", CompletionItemKind.Function, FUNCTIONS) for n in called() if n not in own]
    items += [known_item(n, "2", CompletionItemKind.Function, f"{n}({args})", f"{about} ({of})")
              for calls, of in ((MATRIX_CALLS, "an operation on matrices"), (TENSOR_CALLS, "a function of tensors"))
              for n, (args, about) in calls.items() if n not in own]
    items += [known_item(n, "3", CompletionItemKind.Constant, "constant") for n in NAMED_CONSTANTS if n not in own]
    items += [known_item(w, "4", CompletionItemKind.Keyword, "word of the language", WORDS[w]) for w in KEYWORDS]
    items += [known_item(w, "4", CompletionItemKind.Keyword, "constraint of an input", about) for w, about in CONSTRAINTS.items()]
    return CompletionList(False, items)


def own_item(text: OpenText, n: Name) -> CompletionItem:
    detail = head(text, n.function) if n.kind == FUNCTION and n.function is not None else n.kind
    kind = KINDS.get(n.kind, CompletionItemKind.Variable)
    return CompletionItem(n.name, kind=kind, detail=detail, documentation=text.comment_above(n.start) or None,
                          sort_text=f"1{n.name}")


def known_item(name: str, order: str, kind: CompletionItemKind, detail: str, said: str | None = None) -> CompletionItem:
    return CompletionItem(name, kind=kind, detail=detail, documentation=said, sort_text=order + name)


def resolved(item: CompletionItem) -> CompletionItem:
    """An item with what the table says of its function, which is worked out only for those that are looked at."""
    if item.detail == FUNCTIONS:
        item.documentation = markdown(known_function(item.label))
    return item
