"""Grammars of editors: that of TextMate, which VS Code, Sublime Text, GitHub and shiki read too, and a syntax file for Vim.

Engines of TextMate (manual.macromates.com/en/language_grammars) see one line at a time, and match the shapes of the scanner at
every place in turn. What the scanner decides by the token before (whether `where`, `and`, `max=` are words and operators or
names) is a state here: behind an operand a rule is open that ends with the next token, whichever line that is on. Shapes are
kept to what Oniguruma, PCRE and JavaScript have in common. The file for Vim leaves out what depends on the token before.
"""
from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from adcli.editors.kinds import CALLED, KINDS, NAMING, OF_TERMINAL, TokenKind, keywords, words
from adcli.lang.syntax.scan import HEADER_WORDS, INVISIBLE, OPERAND_END, TERMINALS

SCOPE = "source.adcli"
FULL = r"[^ \t\f\x0B\r\n]"
"""A character that is no blank; a line of an engine may have its end."""
SEEN = "(?!" + re.sub(r"\\[uU]0*([0-9a-f]+)", r"\\x{\1}", INVISIBLE) + ")"
FIRST, FURTHER = r"_\p{L}\p{Nl}", r"_\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}"
"""Characters of names, by categories of Unicode (as ID_Start and ID_Continue of its annex 31, but for some 30 characters)."""
NAME = rf"{SEEN}[{FIRST}](?:{SEEN}[{FURTHER}])*"
ENDED = rf"(?!{SEEN}[{FURTHER}])"
"""Behind a word."""


def grammar() -> dict[str, Any]:
    """The grammar, as JSON has it."""
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "adcli", "scopeName": SCOPE, "fileTypes": ["ad"], "uuid": "5b2f4a7e-3c0e-4d0b-9a53-1f6c2f6f0a11",
        "patterns": [{"include": "#token"}],
        "repository": {"token": {"patterns": rules(AFTER)}, "header": {"patterns": [AGAIN, *rules(HEADER)]},
                       "comment": rule(TERMINALS["COMMENT"], KINDS["comment"])},
    }


def rules(behind: str) -> list[dict[str, Any]]:
    """A rule for each shape, in the order in which they are tried where an operand is wanted; `behind` ends an operand."""
    named = [operand(rf"(?:{'|'.join(known)}){ENDED}(?={'|'.join(followed)})", kind, DUP if known == ("dup",) else behind)
             for kind, known, followed in words()]
    operands = [operand(shape, OF_TERMINAL[terminal], behind) for terminal, shape in
                (("NAME", NAME), ("NUMBER", TERMINALS["NUMBER"]), ("RPAR", TERMINALS["RPAR"]))]
    others = [rule(shape, OF_TERMINAL[terminal]) for terminal, shape in {**TERMINALS, "SEP": ";", "BAD": FULL}.items()
              if terminal not in OPERAND_END]
    return [*reserved(), *named, *operands, *others]


def reserved() -> list[dict[str, Any]]:
    """The rules of keywords, as far as they are keywords where an operand is wanted."""
    return [
        {"match": rf"(def){ENDED}(?:[ \t]+({NAME}))?", "captures": captures("definition", "defined")},
        {"match": rf"(,)(?:[ \t]*(exists){ENDED}(?=[ \t]+\w))?", "captures": captures("comma", "clause")},
        rule(rf"(?:not|(?:and|or)(?![ \t]*\()){ENDED}", KINDS["logical"]),
        rule(f"in{ENDED}", KINDS["clause"]),
        {"begin": rf"for{ENDED}(?=[ \t]+\w)", "beginCaptures": {"0": {"name": scope(KINDS["clause"])}}, "end": r"(?=\{)|$",
         "patterns": [{"include": "#header"}]},
        rule(f"(?:{'|'.join(keywords(KINDS['declaration']))}){ENDED}", KINDS["declaration"]),
    ]


def operand(shape: str, kind: TokenKind, after: str) -> dict[str, Any]:
    """The rule of an operand, open until the next token."""
    return {"begin": shape, "beginCaptures": {"0": {"name": scope(kind)}}, "patterns": [{"include": "#comment"}],
            "end": after, "endCaptures": captures("logical", "clause", "clause", "reduction", "augmented", "clause")}


def after(where: str) -> str:
    """End of an operand: what is a word or an operator only behind one, or the place of any other token."""
    return (r"^(?=[ \t]*(?:(?:min|max|lse)=|argm(?:in|ax)=!|where(?:\(|[ \t]*$)))"   # a statement begins
            rf"|(and|or){ENDED}"
            rf"|(where){ENDED}(?={where})(?:[ \t]+(exists){ENDED}(?=[ \t]+\w))?"
            r"|((?:(?:arg)?m(?:in|ax)|lse)=!)|((?:min|max|lse)=(?!=))"
            rf"|(?=(?!#){FULL})")


AFTER, DUP = after(r"[ \t]+\w|[ \t]*(?:\(|!(?!=)|[-+](?!=)|$)"), after(r"[ \t]+\w")


WORDS = rf"(?:{'|'.join(HEADER_WORDS)}){ENDED}"
HEADER = AFTER.replace("|(?=(?!#)", rf"|({WORDS})|(?=(?!#)")
"""In the header of a loop, which has words of its own."""


def rule(shape: str, kind: TokenKind) -> dict[str, Any]:
    return {"match": shape, "name": scope(kind)}


def captures(*kinds: str) -> dict[str, Any]:
    """The scopes of the groups of a shape."""
    return {str(i): {"name": scope(KINDS[kind])} for i, kind in enumerate(kinds, 1)}


def scope(kind: TokenKind) -> str:
    return f"{kind.scope}.adcli"


AGAIN = rule("(?<=" + "|".join(rf"[ \t]{word}[ \t]" for word in HEADER_WORDS if word != "until") + f"){WORDS}", KINDS["clause"])
"""A word of a header behind another one."""


HEAD = '''" Vim syntax file for programs of adcli (made by adcli editor vim)
if exists("b:current_syntax")
  finish
endif
'''
SHAPES = (
    ("wrong", r"[^[:alnum:]_[:blank:]]"),
    ("operator", r"[-+*/^<>%?:!=]\|&&\|||\|→"),
    ("bracket", r"[][(){}]"),
    ("comma", ","),
    ("end", ";"),
    ("name", r"\<\K\k*\>"),
    ("number", r"\k\@1<!\%(0[xX][0-9a-fA-F_]*\.\?[0-9a-fA-F_]*\%([pP][-+]\?\d\+\)\?\|\%(\d[0-9_]*\.\?[0-9_]*\|\.\d[0-9_]*\)"
               r"\%([eE][-+]\?\d[0-9_]*\)\?\)"),
    ("augmented", r"\%(\*\*\|[-+*/^]\|\<\%(min\|max\|lse\)\)==\@!"),
    ("reduction", r"\%([-+*/]\|\<\%(\%(arg\)\?m\%(in\|ax\)\|lse\)\)=!"),
    ("comment", "#.*$"),
)
"""Shapes in the regular expressions of Vim; of two that fit at one place it takes the later."""


AHEAD = {CALLED: r"\s*(", NAMING: r"\s\+\k"}
RESERVED = ("declaration", "definition", "clause", "logical")
"""Kinds that are words. They are keywords wherever they stand."""


def syntax() -> str:
    """The file `syntax/adcli.vim`."""
    lines = [matched(kind, shape) for kind, shape in SHAPES]
    lines += [matched(kind.name, rf"\<\%({either(known)}\)\>{ahead(followed)}") for kind, known, followed in words()]
    lines.append(matched("defined", r"\%(\<def\s\+\)\@8<=\K\k*"))
    lines += [f"syntax keyword {group(kind)} {' '.join(keywords(KINDS[kind]))}" for kind in RESERVED]
    lines.append(matched("clause", rf"\%(\<for\s.*\)\@<=\<\%({either(HEADER_WORDS)}\)\>\%(.*{{\)\@="))
    used = sorted({*(kind for kind, _ in SHAPES), *(row.kind.name for row in words()), *RESERVED, "defined"})
    lines += [f"highlight default link {group(kind)} {KINDS[kind].vim}" for kind in used]
    return "\n".join([HEAD, *lines, "", 'let b:current_syntax = "adcli"', ""])


def matched(kind: str, shape: str) -> str:
    return f"syntax match {group(kind)} ~{shape}~"


def group(kind: str) -> str:
    return f"adcli{kind.capitalize()}"


def either(shapes: Iterable[str]) -> str:
    return r"\|".join(shapes)


def ahead(followed: tuple[str, ...]) -> str:
    return rf"\%({either(AHEAD[shape] for shape in followed)}\)\@=" if followed else ""
