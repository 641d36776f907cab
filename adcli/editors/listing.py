"""Listings of programs on a terminal, in the colours of the table."""
from __future__ import annotations

import sys

from adcli.lang.ir.errors import visible
from adcli.output.colour import in_colour, wanted
from adcli.output.streams import STDOUT, VisibleOutput, descriptor, destination


def write_listing(path: str | None, text: str) -> None:
    """Write a program to `-o path`, in colour where standard output wants it."""
    with destination(path) as stream:
        if descriptor(path) == STDOUT and wanted(sys.stdout):
            stream = stream.terminal if isinstance(stream, VisibleOutput) else stream
            text = coloured(text)
        stream.write(text.encode())


def coloured(text: str) -> str:
    """A program for a terminal, which obeys nothing in it but colours."""
    from adcli.editors.kinds import tokens
    parts, done = [], 0
    for start, end, kind in tokens(text):
        parts += [visible(text[done:start]), in_colour(visible(text[start:end]), kind.colour)]
        done = end
    return "".join([*parts, visible(text[done:])])
