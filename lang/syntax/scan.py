"""From characters to tokens.

One regular expression cuts the text; the parser, its recovery after a fault and the formatter all read the same tokens.
The scanner never fails: a character that belongs nowhere becomes a BAD token, which no rule accepts, and
`wrong_character` says what to type instead. A newline inside ( ) or [ ] is a blank.
"""
from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from adcli.lang.ir.errors import AdError, Source
from adcli.lang.syntax.tree import Token

KEYWORDS = {"input": "INPUT", "param": "PARAM", "output": "OUTPUT", "def": "DEF", "in": "IN",
            "where": "WHERE", "exists": "EXISTS", "and": "OP", "or": "OP", "not": "NOT"}
OPERAND_END = frozenset(("NAME", "NUMBER", "RPAR"))

TERMINALS = r"""
[ \t\f\v]*(?:
  (?P<NAME>(?!m(?:in|ax)=[^=])[A-Za-z_{starts}][A-Za-z0-9_{rest}]*)
| (?P<NUMBER>0[xX](?:[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*\.?(?:[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*)?
                    |\.[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*)(?:[pP][-+]?[0-9]+)?
           |(?:[0-9]+(?:_[0-9]+)*\.?(?:[0-9]+(?:_[0-9]+)*)?|\.[0-9]+(?:_[0-9]+)*)(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?)
| (?P<REDUCE>(?:[-+*/]|m(?:in|ax))=!)
| (?P<AUGMENT>(?:\*\*|[-+*/^]|m(?:in|ax))=(?!=))
| (?P<ARROW>->|→)
| (?P<OP>\*\*|<=>|<=|>=|==|!=|&&|\|\||[*/^<>%])
| (?P<SIGN>[-+])
| (?P<LPAR>\()
| (?P<RPAR>\))
| (?P<COMMA>,)
| (?P<SEP>\r\n|[\n\r;])
| (?P<EQUAL>=)
| (?P<COMMENT>\#[^\n\r]*)
| (?P<QUERY>\?)
| (?P<COLON>:)
| (?P<NOT>!)
| (?P<LBRACK>\[)
| (?P<RBRACK>\])
| (?P<LBRACE>\{{)
| (?P<RBRACE>\}})
| (?P<BAD>[^ \t\f\v])
)"""


ANOTHER, FOLLOWED = re.compile(r"[ \t]+\w"), re.compile(r"\s+\w")
"""A further word on the line, and anywhere."""


@lru_cache(maxsize=8)
def pattern(starts: str, rest: str) -> re.Pattern[str]:
    return re.compile(TERMINALS.format(starts=starts, rest=rest), re.VERBOSE)


def pattern_for(text: str) -> re.Pattern[str]:
    """The terminals, with those characters beyond ASCII that this text may use in names."""
    if text.isascii():
        return pattern("", "")
    beyond = sorted(c for c in set(text) if not c.isascii() and ("a" + c).isidentifier())
    return pattern("".join(c for c in beyond if c.isidentifier()), "".join(beyond))


def scan(text: str, newlines: bool = False) -> tuple[list[Token], list[Token], set[str]]:
    """Tokens, comments and the set of names. With `newlines`, those inside brackets are kept as NEWLINE tokens."""
    tokens: list[Token] = []
    comments: list[Token] = []
    names: set[str] = set()
    append, keyword, depth, before = tokens.append, KEYWORDS.get, 0, "SEP"
    for match in pattern_for(text).finditer(text):
        kind = match.lastgroup or ""
        start, end = match.span(kind)
        word = text[start:end]
        if kind == "NAME":
            if word in KEYWORDS and is_word(word, before, tokens, text, end):
                kind = keyword(word, kind)
            else:
                names.add(word)
        elif kind in UNCHANGED_KINDS:
            pass
        elif kind in BRACKETS:
            depth = max(0, depth + BRACKETS[kind])
            if kind == "RBRACE" and before != "SEP":
                append(Token("SEP", "", start, start))
        elif kind == "COMMENT":
            comments.append(Token(kind, word.rstrip(), start, end))
            continue
        elif kind == "SEP":
            if depth and word != ";":
                if newlines:
                    append(Token("NEWLINE", word, start, end))
                continue
        elif word[0] == "m" and before not in OPERAND_END:   # `max=` is no operator where a statement starts: max=3
            names.add(word[:3])
            tokens += [Token("NAME", word[:3], start, start + 3), Token("EQUAL", "=", start + 3, start + 4)]
            if kind == "AUGMENT":
                before = "EQUAL"
                continue
            kind, word, start = "NOT", "!", start + 4
        append(Token(kind, word, start, end))
        before = kind
    append(Token("SEP", "", len(text), len(text)))
    return tokens, comments, names


UNCHANGED_KINDS = frozenset(("NUMBER", "OP", "SIGN", "COMMA", "EQUAL"))
BRACKETS = {"LPAR": 1, "RPAR": -1, "LBRACK": 1, "RBRACK": -1, "LBRACE": 0, "RBRACE": 0}


def is_word(word: str, before: str, tokens: list[Token], text: str, end: int) -> bool:
    """Whether a word that the language has is meant as one, and not as a name."""
    if word == "where":   # behind a statement, on its line or the next; elsewhere a value may have this name
        if before in OPERAND_END:
            return tokens[-1].text != "dup" and FOLLOWED.match(text, end) is not None
        return before == "SEP" and ANOTHER.match(text, end) is not None
    if word == "exists":
        return before in ("WHERE", "COMMA") and ANOTHER.match(text, end) is not None
    return not is_call(word, before, text, end)


def is_call(word: str, before: str, text: str, end: int) -> bool:
    """Whether `and` or `or` stands where an operand is wanted and is called: `and(a, b)`."""
    return word in ("and", "or") and before not in OPERAND_END and text[end:end + 80].lstrip().startswith("(")


TYPE_INSTEAD = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "‒": "-", "×": "*", "·": "*", "⋅": "*", "∗": "*", "•": "*",
    "÷": "/", "∕": "/", "⁄": "/", "≤": "<=", "≥": ">=", "≠": "!=", "⇒": "->", "√": "sqrt(...)", "∞": "inf",
    "∧": "and", "∨": "or", "¬": "not", "²": "**2", "³": "**3", "⁴": "**4", "½": "0.5", "¼": "0.25", "¾": "0.75",
}
QUOTATION_MARKS = "\"'`´“”„‟‘’‚‛«»"
MEANT = {"%": "for a remainder write fmod(x, y)", "\\": "a line goes on inside parentheses", "&": "write and",
         "|": "write or", "~": "write not", "@": "write a product with *", "$": "a name is made of letters, digits and _",
         ".": "a decimal point needs a digit beside it", "²": "write **2", "³": "write **3", "⁴": "write **4"}


def is_bare_expression(text: str) -> bool:
    """Whether a text is one expression and no statement: `x*sin(y)`."""
    tokens, _, _ = scan(text)
    while tokens and tokens[-1].type == "SEP":
        tokens.pop()
    kinds = {t.type for t in tokens}
    return bool(tokens) and kinds.isdisjoint(
        ("SEP", "EQUAL", "AUGMENT", "REDUCE", "INPUT", "PARAM", "OUTPUT", "DEF", "LBRACE", "WHERE"))


def wrong_character(token: Token, source: Source) -> AdError:
    """The error for a BAD token: which character it is, and what to type."""
    c = token.text
    code = f"U+{ord(c):04X} {unicodedata.name(c, '')}".rstrip()
    shown = f"'{c}' ({code})" if not c.isascii() else f"'{c}'"
    if not c.isprintable():
        shown = f"the invisible character {code}"
    return AdError(f"{shown} does not belong here", (token.start, token.end), typed_instead(c), source)


def typed_instead(c: str) -> str | None:
    plain = unicodedata.normalize("NFKC", c)
    if c in MEANT:
        return MEANT[c]
    if c in TYPE_INSTEAD:
        return f"type {TYPE_INSTEAD[c]}"
    if c in QUOTATION_MARKS:
        return "there are no strings in a program; remove the quote"
    if unicodedata.category(c) == "Zs" or plain == " ":
        return "type an ordinary space"
    if not c.isprintable():
        return "remove it"
    return f"type {plain}" if plain != c and plain.isascii() and plain.isprintable() else None
