"""Numbers in the fields of a table: what a field may be, and what is wrong with one."""
from __future__ import annotations

import math
import re

from adcli.lang.ir.errors import one_line
from adcli.lang.syntax.scan import DECIMAL, HEXADECIMAL

NUMBER = re.compile(rf"[+-]?(?:{DECIMAL}|inf(?:inity)?|nan)".encode(), re.IGNORECASE)
"""A number in a field: as in the language, and inf, infinity, nan in any case. Spaces and tabs around it do not count."""
HEXADECIMAL_NUMBER = re.compile(rf"[+-]?{HEXADECIMAL}".encode())
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
    if HEXADECIMAL_NUMBER.fullmatch(bare):
        try:
            return float.fromhex(bare.decode().replace("_", ""))
        except OverflowError:
            raise Fault(f"{shown(text)} is too large for a double") from None
    raise Fault(f"{shown(text)} is not a number", in_our_spelling(text, comma))


def in_our_spelling(text: bytes, comma: bool) -> str | None:
    """A help where it is a number elsewhere, or one with the other decimal mark."""
    from adcli.lang.syntax.numbers import MARKS, as_number  # only after a fault
    found = as_number(text.decode("utf-8", "replace"))
    if not comma and text.count(b",") == 1 and NUMBER.fullmatch(text.strip(b" \t").translate(COMMA)):
        decimal = "--decimal , reads decimal commas"
        return f"{decimal}; without them write {found.choices[0]}" if found and found.reason == MARKS else decimal
    return found and f"{found.reason}: {found.help}"


def shown(text: bytes | str) -> str:
    """A field in a message: quoted, printable, not too long."""
    words = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    words = words if len(words) <= CHARACTERS_SHOWN else words[:CHARACTERS_SHOWN - 1] + "…"
    return "'" + "".join(c if c.isprintable() else "�" for c in words) + "'"
