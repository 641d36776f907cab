"""How wide texts are on a terminal."""
from __future__ import annotations

import re
import unicodedata

PLAIN = re.compile("[ -\u02ff\u0304\u0307\u0370-\u03ff\u1e00-\u1eff\u2070-\u209c√─│]*")
"""Texts that hold no characters of other widths than one column, beside dots and bars."""


def width(text: str) -> int:
    """The columns of a terminal that a text takes."""
    if PLAIN.fullmatch(text):
        return len(text) - text.count("\u0304") - text.count("\u0307")
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def padded(text: str, columns: int, side: str = "<") -> str:
    blanks = " " * (columns - width(text))
    return text + blanks if side == "<" else blanks + text
