"""Colour on terminals: which streams have it, and the colour of each part of a message.

Nothing is said by colour alone: without it every message is the same text. A run that only asks if a stream is coloured loads no
more than this.
"""
from __future__ import annotations

import os
import re
from typing import TextIO

OF_KIND = {"error": "1;31", "warning": "1;33", "note": "1;36", "help": "1;32"}
"""The colours of the words that messages begin with (SGR, ECMA-48 section 8.3.117)."""
BEGINNING = re.compile(rf"((?:\S.*?: )?)({'|'.join(OF_KIND)}):(?= )")


def wanted(stream: TextIO | None) -> bool:
    """Decide if a stream is coloured: by NO_COLOR (no-color.org), then CLICOLOR_FORCE and CLICOLOR (bixense.com/clicolors) or
    FORCE_COLOR (force-color.org), else where it is a terminal that can."""
    if os.environ.get("NO_COLOR"):
        return False
    if any(value not in ("", "0") for value in (os.environ.get("CLICOLOR_FORCE", ""), os.environ.get("FORCE_COLOR", ""))):
        return True
    able = os.environ.get("CLICOLOR") != "0" and os.environ.get("TERM") != "dumb"
    return able and stream is not None and stream.isatty()


def in_colour(text: str, colour: str) -> str:
    """A text between the codes of a colour; plain where there is none."""
    return f"\x1b[{colour}m{text}\x1b[0m" if colour else text


def message(line: str) -> str:
    """A line of a message: its place in bold, what it is and its carets in colour."""
    from adcli.output.wrap import CARETS
    if carets := CARETS.fullmatch(line):
        return line[:carets.start(2)] + in_colour(carets[2], OF_KIND["error"])
    if found := BEGINNING.match(line):
        place = in_colour(found[1].rstrip(), "1") + " " if found[1] else ""
        return place + in_colour(f"{found[2]}:", OF_KIND[found[2]]) + line[found.end():]
    return line
