"""Numbers in the fields of a table: what a field may be, and what is wrong with one."""
from __future__ import annotations

import math
import re

from adcli.lang.ir.errors import one_line

NUMBER = re.compile(rb"[+-]?(?:(?:[0-9]+(?:_[0-9]+)*\.?(?:[0-9]+(?:_[0-9]+)*)?|\.[0-9]+(?:_[0-9]+)*)(?:[eE][+-]?[0-9]+)?"
                    rb"|(?:inf(?:inity)?|nan))", re.IGNORECASE)
"""A number in a field: as in the language, and inf, infinity, nan in any case. Spaces and tabs around it do not count."""
HEXADECIMAL = re.compile(rb"[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?", re.IGNORECASE)
COMMA = bytes.maketrans(b",.", b".!")
"""A number with a decimal comma as one with a point; what had a point is no number then."""
CHARACTERS_SHOWN = 40
"""Characters of a field that a message shows."""


class Fault(Exception):
    """A row is bad, and why; the help goes with the first one that is reported."""

    def __init__(self, reason: str, help: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.help = one_line(reason), help and one_line(help)


def field_number(text: bytes, comma: bool = False) -> float:
    """The number in a field; with `comma` that is its decimal mark. Fault where there is none."""
    bare = text.strip(b" \t")
    bare = bare.translate(COMMA) if comma else bare
    if NUMBER.fullmatch(bare):
        value = float(bare)
        if math.isinf(value) and bare[-1:] not in b"fFyY":
            raise Fault(f"{shown(text)} is too large for a double")
        return value
    if HEXADECIMAL.fullmatch(bare):
        try:
            return float.fromhex(bare.decode())
        except OverflowError:
            raise Fault(f"{shown(text)} is too large for a double") from None
    raise Fault(f"{shown(text)} is not a number", other_mark(text, comma))


def other_mark(text: bytes, comma: bool) -> str | None:
    """A help where the number has the other decimal mark."""
    if comma or text.count(b",") != 1:
        return None
    return "--decimal , reads decimal commas" if NUMBER.fullmatch(text.strip(b" \t").translate(COMMA)) else None


def shown(text: bytes | str) -> str:
    """A field in a message: quoted, printable, not too long."""
    words = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    words = words if len(words) <= CHARACTERS_SHOWN else words[:CHARACTERS_SHOWN - 1] + "…"
    return "'" + "".join(c if c.isprintable() else "�" for c in words) + "'"
