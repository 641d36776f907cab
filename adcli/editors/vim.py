"""A syntax file for Vim and Neovim: the words and shapes of the table, without what depends on the token before."""
from __future__ import annotations

from collections.abc import Iterable

from adcli.editors.kinds import CALLED, KINDS, NAMING, keywords, words
from adcli.lang.syntax.scan import HEADER_WORDS

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
