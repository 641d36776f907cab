"""Kinds of tokens for readers: the one table behind all highlighting.

The scanner says what a token is; names are told apart by a list of words and by what follows them, as a reader does it: `sin`
before a parenthesis is a function, `float` before a name a type. A program may hide some of these by names of its own, which
only a whole program shows, so the colour of a name is likely and not proven.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.library import prelude
from adcli.lang.syntax.constants import NAMED_CONSTANTS
from adcli.lang.syntax.scan import KEYWORDS, LOGICAL, scan
from adcli.lang.tree.nodes import ELEMENTS, INTEGERS, Token
from adcli.lang.tree.notation import ALIASES, MATRIX_CALLS, TENSOR_CALLS


class TokenKind(NamedTuple):
    """A row: what TextMate grammars, Pygments and Vim call a kind of token, its colour on a terminal (SGR; none for plain), and
    the tokens of the scanner that are of it."""

    name: str
    scope: str
    pygments: str
    vim: str
    colour: str
    terminals: tuple[str, ...]


KINDS = {kind.name: kind for kind in (
    TokenKind("comment", "comment.line.number-sign", "Comment.Single", "Comment", "32", ("COMMENT",)),
    TokenKind("number", "constant.numeric", "Literal.Number", "Number", "35", ("NUMBER",)),
    TokenKind("declaration", "keyword.other.declaration", "Keyword.Declaration", "Keyword", "34", ("INPUT", "PARAM", "OUTPUT")),
    TokenKind("problem", "keyword.other.problem", "Keyword", "Statement", "34", ("OBJECTIVE", "SUBJECT", "TO")),
    TokenKind("definition", "storage.type.function", "Keyword.Declaration", "Keyword", "34", ("DEF",)),
    TokenKind("clause", "keyword.control", "Keyword", "Conditional", "34",
              ("IN", "WHERE", "EXISTS", "FOR", "DOWN", "UNTIL", "CHECKPOINT")),
    TokenKind("logical", "keyword.operator.logical", "Operator.Word", "Operator", "34", ()),
    TokenKind("reduction", "keyword.operator.assignment.reduction", "Operator", "Operator", "", ("REDUCE",)),
    TokenKind("augmented", "keyword.operator.assignment.augmented", "Operator", "Operator", "", ("AUGMENT",)),
    TokenKind("assignment", "keyword.operator.assignment", "Operator", "Operator", "", ("EQUAL",)),
    TokenKind("operator", "keyword.operator", "Operator", "Operator", "", ("OP", "SIGN", "NOT", "QUERY", "COLON", "ARROW",
                                                                            "COMPARE")),
    TokenKind("bracket", "punctuation.section.brackets", "Punctuation", "Delimiter", "",
              ("LPAR", "RPAR", "LBRACK", "RBRACK", "LBRACE", "RBRACE")),
    TokenKind("comma", "punctuation.separator.comma", "Punctuation", "Delimiter", "", ("COMMA",)),
    TokenKind("end", "punctuation.terminator.statement", "Punctuation", "Delimiter", "", ("SEP",)),
    TokenKind("constant", "constant.language", "Keyword.Constant", "Constant", "35", ()),
    TokenKind("function", "support.function", "Name.Builtin", "Function", "36", ()),
    TokenKind("type", "storage.type", "Keyword.Type", "Type", "34", ("TYPE",)),
    TokenKind("defined", "entity.name.function", "Name.Function", "Function", "1", ()),
    TokenKind("name", "variable.other", "Name", "Identifier", "", ("NAME",)),
    TokenKind("wrong", "invalid.illegal", "Error", "Error", "31", ("BAD",)),
)}
OF_TERMINAL = {terminal: kind for kind in KINDS.values() for terminal in kind.terminals}


CALLED, NAMING = r"[ \t]*\(", r"[ \t]+\w"
"""Shapes after a name on its line: a parenthesis, a word. (What all engines of regular expressions understand.)"""


class NamedWords(NamedTuple):
    """Names that are of another kind where one of these follows them; of none, everywhere."""

    kind: TokenKind
    words: tuple[str, ...]
    followed: tuple[str, ...]


@cache
def words() -> tuple[NamedWords, ...]:
    """The names that the language gives a meaning, in the order in which they are tried."""
    functions = dict.fromkeys([*(row.spelled or row.name for row in TABLE.values()), *prelude(), *ALIASES, *MATRIX_CALLS,
                               *TENSOR_CALLS])
    return (
        NamedWords(KINDS["function"], tuple(functions), (CALLED,)),
        NamedWords(KINDS["function"], ("dup",), (NAMING,)),
        NamedWords(KINDS["type"], (*ELEMENTS, *INTEGERS), (CALLED, NAMING)),
        NamedWords(KINDS["constant"], tuple(NAMED_CONSTANTS), ()),
    )


def tokens(text: str) -> Iterator[tuple[int, int, TokenKind]]:
    """Start, end and kind of every token and comment of a text; it need not be a program."""
    found, comments, _ = scan(text)
    before = None
    for token in sorted((*found, *comments), key=lambda t: t.start):
        if text[token.start:token.end].strip("\r\n"):
            yield token.start, token.end, kind_of(token, before, text)
        before = token


def kind_of(token: Token, before: Token | None, text: str) -> TokenKind:
    """The kind of a token, with the one before it."""
    if token.text in LOGICAL and token.type != "NAME":
        return KINDS["logical"]
    if token.type != "NAME":
        return OF_TERMINAL[token.type]
    if before is not None and before.type == "DEF":
        return KINDS["defined"]
    return next((kind for kind, known, followed in words() if token.text in known and follows(followed, text, token.end)),
                KINDS["name"])


def follows(shapes: tuple[str, ...], text: str, at: int) -> bool:
    return not shapes or re.compile("|".join(shapes)).match(text, at) is not None


def keywords(kind: TokenKind) -> list[str]:
    """The words that the scanner makes tokens of this kind, but for those that are words in the header of a loop only."""
    return [word for word, terminal in KEYWORDS.items()
            if kind is (KINDS["logical"] if word in LOGICAL else OF_TERMINAL[terminal])]
