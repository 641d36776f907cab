"""From characters to tokens.

One regular expression cuts the text; the parser, its recovery after a fault and the formatter all read the same tokens.
The scanner never fails: a character that belongs nowhere becomes a BAD token, which no rule accepts; `foreign` says what to
type instead. A newline inside ( ) or [ ] is a blank.

Before that the bytes of a program file become text.
"""
from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from adcli.lang.ir.errors import AdError, Source
from adcli.lang.ir.names import composed
from adcli.lang.tree.nodes import Token

KEYWORDS = {"input": "INPUT", "param": "PARAM", "output": "OUTPUT", "def": "DEF", "in": "IN",
            "where": "WHERE", "exists": "EXISTS", "for": "FOR", "int32": "TYPE", "and": "OP", "or": "OP", "not": "NOT",
            "minimize": "OBJECTIVE", "maximize": "OBJECTIVE", "subject": "SUBJECT"}
HEADER_WORDS = {"down": "DOWN", "until": "UNTIL", "checkpoint": "CHECKPOINT"}
"""Words of the language between the range of a `for` and its `{`; names everywhere else."""
LOGICAL = frozenset(("and", "or", "not"))
"""Keywords that are operators."""
OPERAND_END = frozenset(("NAME", "NUMBER", "RPAR"))

WHOLE_DIGITS = r"(?:[0-9]{1,3}(?:_[0-9]{3})+(?![0-9_])|[0-9]+)"
DIGITS_BEHIND = r"(?:[0-9]{3}(?:_[0-9]{3})+(?:_[0-9]{1,2})?(?![0-9_])|[0-9]{3}_[0-9]{3}(?![0-9_])|[0-9]+)"
"""Digits before and behind the point, in groups of three. One shorter group would be a kind of Fortran: 1.0_8."""
DECIMAL = rf"(?:{WHOLE_DIGITS}\.?{DIGITS_BEHIND}?|\.{DIGITS_BEHIND})(?:[eE][-+]?[0-9]+)?"
HEX_DIGITS = "[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*"
HEXADECIMAL = rf"0[xX](?:{HEX_DIGITS}\.?(?:{HEX_DIGITS})?|\.{HEX_DIGITS})(?:[pP][-+]?[0-9]+)?"
TERMINALS = {
    "NAME": r"(?!(?:min|max|lse)=[^=]|argm(?:in|ax)=!)[A-Za-z_{starts}][A-Za-z0-9_{rest}]*",
    "NUMBER": rf"{HEXADECIMAL}|{DECIMAL}",
    "REDUCE": r"(?:[-+*/]|(?:arg)?m(?:in|ax)|lse)=!",
    "AUGMENT": r"(?:\*\*|[-+*/^]|min|max|lse)=(?!=)",
    "ARROW": r"->|→",
    "OP": r"\*\*|<=>|<=|>=|==|!=|&&|\|\||[*/^<>%]",
    "SIGN": r"[-+]",
    "LPAR": r"\(",
    "RPAR": r"\)",
    "COMMA": r",",
    "SEP": r"\r\n|[\n\r;]",
    "EQUAL": r"=",
    "COMMENT": r"#[^\n\r]*",
    "QUERY": r"\?",
    "COLON": r":",
    "NOT": r"!",
    "LBRACK": r"\[",
    "RBRACK": r"\]",
    "LBRACE": r"\{",
    "RBRACE": r"\}",
    "BAD": r"[^ \t\f\v]",
}
"""The tokens in the order in which they are tried, behind blanks; `starts` and `rest` are what names have beyond ASCII."""

ANOTHER = re.compile(r"[ \t]+\w")
"""A further word on the line."""
CONDITION = r"\(|!(?!=)|[-+](?!=)"
"""Other beginnings of a condition."""
BEHIND_OBJECTIVE = re.compile(r"[ \t]+(?!(?:and|or)\b)[-+]?[\w(.](?!(?:[^\n\r;#<>=!]|[<>=!]=|[<>](?!=))*=)")
"""An expression without an assignment, so that a target may be called minimize."""
SUBJECT_TO = re.compile(r"[ \t]+to(?!\w)(?![ \t]*=)")
COMPARISONS = frozenset(("<=", ">=", "==", "<", ">", "="))
"""Signs of conditions."""
BEHIND_WHERE, BEHIND_FIRST_WHERE = re.compile(rf"\s+\w|\s*(?:{CONDITION})"), re.compile(rf"[ \t]+(?:\w|{CONDITION})")
"""Text after `where`, and after a `where` that is first on its line, so that a target may have this name."""


INVISIBLE = (r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
             r"\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]")
"""Characters that nothing is drawn for (Default_Ignorable_Code_Point of Unicode), some of them letters to Unicode."""


@lru_cache(maxsize=8)
def pattern(starts: str, rest: str) -> re.Pattern[str]:
    shapes = {**TERMINALS, "NAME": TERMINALS["NAME"].format(starts=starts, rest=rest)}
    return re.compile(rf"[ \t\f\v]*(?:{'|'.join(f'(?P<{kind}>{shape})' for kind, shape in shapes.items())})")


def pattern_for(text: str) -> re.Pattern[str]:
    """The terminals, with those characters beyond ASCII that this text may use in names."""
    return pattern(*letters(text))


@lru_cache(maxsize=1)   # a long text is scanned in many pieces
def letters(text: str) -> tuple[str, str]:
    """The characters beyond ASCII with which the names of a text may start, and those that they may have."""
    if text.isascii():
        return "", ""
    beyond = sorted(c for c in set(text) if not c.isascii() and ("a" + c).isidentifier() and not re.match(INVISIBLE, c))
    return "".join(c for c in beyond if c.isidentifier()), "".join(beyond)


def scan(text: str, newlines: bool = False, start: int = 0, one: bool = False) -> tuple[list[Token], list[Token], set[str]]:
    """Tokens, comments and the set of names, from where a statement starts. With `newlines`, those inside brackets are kept as
    NEWLINE tokens; `one` stops behind that statement, or behind the first line of a block."""
    tokens: list[Token] = []
    comments: list[Token] = []
    names: set[str] = set()
    append, keyword, depth, before = tokens.append, KEYWORDS.get, 0, "SEP"
    header = False   # of a loop, behind `for` and before its `{`
    stating = False   # conditions, behind `subject to` and before `where`
    for match in pattern_for(text).finditer(text, start):
        kind = match.lastgroup or ""
        start, end = match.span(kind)
        word = text[start:end]
        if kind == "NAME":
            if word in KEYWORDS and before != "TYPE" and is_word(word, before, tokens, text, end):
                kind = keyword(word, kind)
                header |= kind == "FOR"
                stating = (stating or kind == "SUBJECT") and kind != "WHERE"
            elif header and word in HEADER_WORDS and not depth and before in HEADER_PART_END:
                kind = HEADER_WORDS[word]
            elif before == "SUBJECT":
                kind = "TO"
            else:
                names.add(word)
        elif kind in UNCHANGED_KINDS:
            kind = "COMPARE" if stating and not depth and word in COMPARISONS else kind
        elif kind in BRACKETS:
            depth = max(0, depth + BRACKETS[kind])
            header &= kind != "LBRACE"
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
            stating = False
            if one:
                append(Token(kind, word, start, end))
                return tokens, comments, names
        elif word[0].isalpha() and before not in OPERAND_END:   # `max=` is no operator where a statement starts: max=3
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


HEADER_PART_END = OPERAND_END | {"DOWN", "CHECKPOINT"}
UNCHANGED_KINDS = frozenset(("NUMBER", "OP", "SIGN", "COMMA", "EQUAL"))
BRACKETS = {"LPAR": 1, "RPAR": -1, "LBRACK": 1, "RBRACK": -1, "LBRACE": 0, "RBRACE": 0}


def is_word(word: str, before: str, tokens: list[Token], text: str, end: int) -> bool:
    """Test for a keyword that is meant as one, and not as a name."""
    if word == "where":   # behind a statement, on its line or the next; elsewhere a value may have this name
        if before in OPERAND_END:
            more = ANOTHER if tokens[-1].text == "dup" else BEHIND_WHERE   # `dup where` duplicates a value of that name
            return more.match(text, end) is not None
        return before == "SEP" and BEHIND_FIRST_WHERE.match(text, end) is not None
    if word == "exists":
        return before in ("WHERE", "COMMA") and ANOTHER.match(text, end) is not None
    if word == "for":   # where a statement starts, before the name of the step; elsewhere a value may have this name
        return before in ("SEP", "LBRACE") and ANOTHER.match(text, end) is not None
    if word == "int32":   # before what a statement assigns; elsewhere the name of a type or of a function
        return before in ("SEP", "LBRACE") and ANOTHER.match(text, end) is not None
    if word in ("minimize", "maximize"):
        return before == "SEP" and BEHIND_OBJECTIVE.match(text, end) is not None
    if word == "subject":
        return before == "SEP" and SUBJECT_TO.match(text, end) is not None
    return not is_call(word, before, text, end)


def is_call(word: str, before: str, text: str, end: int) -> bool:
    """Test for `and` or `or` called in the place of an operand: `and(a, b)`."""
    return word in ("and", "or") and before not in OPERAND_END and text[end:end + 80].lstrip().startswith("(")


IN_STATEMENTS = frozenset(("SEP", "EQUAL", "AUGMENT", "REDUCE", "INPUT", "PARAM", "OUTPUT", "DEF", "FOR", "LBRACE", "WHERE",
                           "ARROW", "BAD", "OBJECTIVE", "SUBJECT"))
"""Tokens that no expression has."""


def is_bare_expression(text: str, equations: bool = False) -> bool:
    """Test for a text that is one expression and no statement: `x*sin(y)`."""
    return bool(expression_tokens(scan(text)[0], equations))


def expression_tokens(tokens: list[Token], equations: bool) -> list[Token]:
    """The tokens of a text that is one expression and no statement; none where it is neither, or an assignment of another
    language: `v == 2`, which may be one of the `equations`, `v <- 2`, `return v`."""
    first = next((i for i, t in enumerate(tokens) if t.type != "SEP"), 0)
    last = next((i for i in range(len(tokens), 0, -1) if tokens[i - 1].type != "SEP"), 0)
    inner = tokens[first:last]
    kinds = [t.type for t in inner]
    if not inner or not IN_STATEMENTS.isdisjoint(kinds) or kinds[-1] not in OPERAND_END:
        return []
    words = [t.text for t in inner[1:3]]
    foreign = kinds[0] == "NAME" and "QUERY" not in kinds and ((words[:1] == ["=="] and not equations) or words == ["<", "-"])
    return [] if foreign or any(a in OPERAND_END and b in ("NAME", "NUMBER") for a, b in pairwise(kinds)) else inner


# ---------------------------------------------------------------- source

def decode(data: bytes, name: str) -> Source:
    """The text of a program file: UTF-8, with or without a byte order mark, any line ends."""
    if (other := other_encoding(data)) is not None:
        raise AdError(f"not UTF-8: the file looks like {other}", source=Source(name, ""), help="save it as UTF-8")
    zero = data.find(b"\0")
    if zero >= 0:
        raise AdError(f"a NUL byte at byte offset {zero}", source=Source(name, ""), help="a program is plain text")
    try:
        return normal(data.decode("utf-8"), name)
    except UnicodeDecodeError as fault:
        raise AdError(f"not UTF-8: byte 0x{data[fault.start]:02x} at byte offset {fault.start}",
                      source=Source(name, ""), help="save it as UTF-8") from None


def other_encoding(start: bytes) -> str | None:
    """The encoding of wide characters that a byte order mark tells."""
    if start.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):   # the mark of UTF-16 is the beginning of one of UTF-32
        return "UTF-32"
    return "UTF-16" if start.startswith((b"\xff\xfe", b"\xfe\xff")) else None


def normal(text: str, name: str) -> Source:
    """The text as diagnostics count it: no byte order mark, lines ended by a line feed, names composed."""
    return Source(name, composed(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")))


def is_file_name(text: str) -> bool:
    """Test for a text that is rather a file name than a program."""
    return text.endswith(".ad") and not any(c in text for c in " \t\n=;()*+")
