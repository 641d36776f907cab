"""Where statements end in a text with tensor comprehensions.

Scalar statements end with their line. A tensor comprehension goes on where a line can be nothing but its continuation (a
line that ends with an operator, one that starts with an operator or `where`), several may stand on one line, and
in a function of tensors `input` and `output` are names like any other. This is done to the tokens, and only for the statements
and functions that have tensor notation: it is asked for when the tokens as they stand make no program.
"""
from __future__ import annotations

from itertools import pairwise

from adcli.lang.syntax.scan import OPERAND_END
from adcli.lang.tree.nodes import ELEMENTS, INTEGERS, Token

UNFINISHED = frozenset(("OP", "SIGN", "NOT", "EQUAL", "REDUCE", "AUGMENT", "COMMA", "QUERY", "COLON", "WHERE", "EXISTS", "IN",
                        "ARROW", "COMPARE", "TO", "OBJECTIVE"))
"""Tokens that cannot end a statement."""
CONTINUING = UNFINISHED - {"NOT", "EXISTS", "OBJECTIVE"} | {"RPAR", "LBRACE"}
"""Tokens that cannot start one."""
BLANK = ("SEP", "NEWLINE")
ASSIGNING = ("EQUAL", "AUGMENT", "REDUCE")
INTERFACE_KINDS = ("INPUT", "PARAM", "OUTPUT")


def laid_out(tokens: list[Token]) -> list[Token] | None:
    """The tokens with a SEP behind every statement and nowhere else; None where there is no tensor notation."""
    out: list[Token] = []
    tokens = [t for before, t in pairwise((tokens[0], *tokens)) if t.type != "SEP" or before.type != "SEP"]
    at, found = 0, False
    while at < len(tokens):
        end = unit_end(tokens, at)
        unit = tokens[at:end]
        if is_tensor(unit) or (end < len(tokens) and tokens[end].type == "WHERE"):
            found = True
            while end < len(tokens) and goes_on(tokens, end - 1):
                end = unit_end(tokens, end)
            out += joined(tokens[at:end])
        else:
            out += unit
        at = end
    return out if found else None


def unit_end(tokens: list[Token], at: int) -> int:
    """The index behind the separator of the statement at `at`; a function or a loop ends with the line of its `}`."""
    braces, function = 0, tokens[at].type in ("DEF", "FOR")
    for index in range(at, len(tokens)):
        kind = tokens[index].type
        if kind == "SEP":
            if not braces and not (function and goes_on(tokens, index)):
                return index + 1
        elif kind == "LBRACE":
            braces += 1
        elif kind == "RBRACE" and braces:
            braces -= 1
    return len(tokens)


def goes_on(tokens: list[Token], index: int) -> bool:
    """Test for a separator that is a newline inside a statement."""
    if tokens[index].text == ";" or not tokens[index].text:
        return False
    before = index - 1
    while before >= 0 and tokens[before].type in BLANK:
        before -= 1
    return before >= 0 and (tokens[before].type in UNFINISHED or following(tokens, index) in CONTINUING)


def joined(unit: list[Token]) -> list[Token]:
    """A statement's or a function's tokens with its newlines and names put right."""
    out: list[Token] = []
    depth, function, opened = 0, unit[0].type == "DEF", False
    for index, token in enumerate(unit):
        kind, before = token.type, out[-1].type if out else "SEP"
        if kind == "SEP" and goes_on(unit, index) and not (opened and following(unit, index) == "LBRACE"):
            continue
        depth += (kind in ("LPAR", "LBRACK")) - (kind in ("RPAR", "RBRACK"))
        opened |= kind == "LBRACE"
        if function and kind in INTERFACE_KINDS and (before != "SEP" or following(unit, index) != "NAME"):
            token = Token("NAME", token.text, token.start, token.end)
            kind = "NAME"
        typed = unit[0].type in INTERFACE_KINDS and bool(out) and out[-1].text in (*ELEMENTS, *INTEGERS)
        if kind == "NAME" and not depth and before in OPERAND_END and not typed and starts_target(unit, index):
            out.append(Token("SEP", "", token.start, token.start))
        out.append(token)
    return out


def following(tokens: list[Token], index: int) -> str:
    """The kind of the next token that is no separator."""
    index += 1
    while index < len(tokens) and tokens[index].type in BLANK:
        index += 1
    return tokens[index].type if index < len(tokens) else "SEP"


def starts_target(tokens: list[Token], index: int) -> bool:
    """Test for a name at `index` that starts a statement: `C(i, j) =`."""
    at = index + 1
    if at < len(tokens) and tokens[at].type == "LPAR":
        depth = 0
        while at < len(tokens):
            depth += (tokens[at].type == "LPAR") - (tokens[at].type == "RPAR")
            at += 1
            if not depth or tokens[at - 1].type in ("EQUAL", "SEP"):
                break
    while at < len(tokens) and tokens[at].type == "SEP" and tokens[at].text not in ("", ";"):
        at += 1
    return at < len(tokens) and tokens[at].type in ASSIGNING


def is_tensor(unit: list[Token]) -> bool:
    """Test for tensor notation in a statement or a function."""
    kinds = [t.type for t in unit]
    if kinds[0] == "FOR" or "REDUCE" in kinds or "WHERE" in kinds:
        return True
    for i, token in enumerate(unit[:-1]):
        if token.type == "NAME" and token.text in (*ELEMENTS, *INTEGERS) and kinds[i + 1] in ("LPAR", "NAME", *INTERFACE_KINDS):
            return True
    if kinds[0] in ("INPUT", "PARAM"):
        return any(kinds[i:i + 2] == ["NAME", "LPAR"] and kinds[i - 1] in ("INPUT", "PARAM", "COMMA")
                   for i in range(1, len(kinds)))
    if kinds[0] == "DEF" and "LBRACE" in kinds:
        return any(starts_target(unit, i) and kinds[i + 1] == "LPAR" for i in range(kinds.index("LBRACE"), len(kinds) - 1)
                   if kinds[i] == "NAME" and kinds[i - 1] in ("SEP", "LBRACE"))
    return kinds[:2] == ["NAME", "LPAR"] and starts_target(unit, 0)
