"""The whole manual as one page for `man`: what adcli is, every verb with its options, then the chapters.

click-man would make a page for each verb out of its help alone, and has no place for chapters; the macros that are needed are
few. Tables and code are set as they stand, at the width of a plain terminal.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from adcli.manual.markdown import Block, Bullet, CellTable, Code, Heading, Paragraph, spans
from adcli.manual.terminal import render

WIDTH = 72
"""Characters of a line of a table, as they fit beside the margin of a page."""


class Described(NamedTuple):
    """A verb: how it is called, what it does, and its options with their help, as click shows them."""

    name: str
    usage: str
    help: str
    options: Sequence[tuple[str, str]]
    examples: Sequence[str]


def page(version: str, about: str, verbs: Iterable[Described], chapters: Iterable[Iterable[Block]]) -> str:
    """The page, in section 1."""
    lines = [f'.TH ADCLI 1 "" "adcli {version}" "adcli manual"', ".nh", ".ad l", ".SH NAME", f"adcli \\- {escaped(about)}",
             ".SH SYNOPSIS", "\\fBadcli\\fR \\fIVERB\\fR [\\fIOPTIONS\\fR] [\\fIPROGRAM\\fR]", ".SH VERBS"]
    for verb in verbs:
        lines += described(verb)
    for chapter in chapters:
        for block in chapter:
            lines += written(block)
    return "\n".join(lines) + "\n"


def described(verb: Described) -> Iterator[str]:
    yield f".SS {quoted(verb.usage)}"
    for part in verb.help.split("\n\n"):
        yield from [".PP", escaped(" ".join(part.split()))]
    for option, help in verb.options:
        yield from [".TP", f"\\fB{escaped(option)}\\fR", escaped(help)]
    if verb.examples:
        yield from written(Code("", tuple(verb.examples)))


def written(block: Block) -> Iterator[str]:
    match block:
        case Heading(1, text):
            yield f".SH {quoted(text.upper())}"
        case Heading(_, text):
            yield f".SS {quoted(text)}"
        case Paragraph(text):
            yield from [".PP", inline(text)]
        case Bullet(text):
            yield from [".IP \\(bu 2", inline(text)]
        case Code(_, lines):
            yield from [".PP", ".RS 4", ".nf", *map(escaped, lines), ".fi", ".RE"]
        case CellTable():
            yield from [".PP", ".nf", *map(escaped, render([block], WIDTH).splitlines()), ".fi"]


def inline(text: str) -> str:
    return guarded(spans(text, lambda code: f"\\fB{plain(code)}\\fR", lambda strong: f"\\fI{plain(strong)}\\fR", plain))


def plain(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-").replace("^", "\\(ha").replace("~", "\\(ti").replace("`", "\\(ga")


def guarded(line: str) -> str:
    """A line that begins with no request."""
    return f"\\&{line}" if line.startswith((".", "'")) else line


def escaped(text: str) -> str:
    return guarded(plain(text))


def quoted(text: str) -> str:
    return '"' + plain(text).replace('"', '\\(dq') + '"'
