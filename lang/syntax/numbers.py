"""Numbers as other languages and paper write them."""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from adcli.lang.syntax.scan import DECIMAL, HEXADECIMAL


class ForeignNumber(NamedTuple):
    """Number of another language, why it is none here, and its spellings here; more than one choice where it is not
    certain what it is, none where it is no real number."""

    text: str
    reason: str
    choices: tuple[str, ...]

    @property
    def certain(self) -> bool:
        return len(self.choices) == 1

    @property
    def help(self) -> str:
        return f"write {' or '.join(self.choices)}" if self.choices else "a program is of real numbers"


M = r"(?:\d+\.?\d*|\.\d+)"
X = rf"{M}(?:[eE][-+]?\d+)?"
EXPONENT, KIND, TYPE = "an exponent is written with e", "numbers have no kinds", "numbers have no types"
GROUPS, MARKS = "digits are grouped by three", "there are no marks between digits but _"
IMAGINARY = "it is imaginary"
KINDS = frozenset(("1", "2", "4", "8", "10", "16", "32", "64"))
"""Kinds of Fortran that are numbers."""


def grouped(text: str) -> tuple[str, ...]:
    """A number whose digits are not grouped by three; one with a kind, perhaps."""
    number, _, last = text.rpartition("_")
    plain = text.replace("_", "")
    return (f"{number} (_{last} is a kind)", plain) if last in KINDS and "_" not in number else (plain,)


def hundredth(number: str) -> str:
    from decimal import Decimal  # only after a fault
    return f"{Decimal(number) / 100:f}"


Row = tuple[str, str, Callable[..., tuple[str, ...]]]
FORMS: tuple[Row, ...] = (
    (r"0[bB][01_]+", "it is binary", lambda t: (str(int(t, 2)),)),
    (r"0[oO][0-7_]+", "it is octal", lambda t: (str(int(t, 8)),)),
    (rf"({M})(?:f16|f32|f64|bf16)", TYPE, lambda t, x: (x,)),
    (rf"({M})[dDqQf]([-+]?\d+)(?:_\w+)?", EXPONENT, lambda t, x, e: (f"{x}e{int(e)}",)),
    (rf"({M})\*\^([-+]?\d+)", EXPONENT, lambda t, x, e: (f"{x}e{e}",)),
    (rf"({X})_[A-Za-z]\w*", KIND, lambda t, x: (x,)),
    (rf"({X})(?:im|[ijI])", IMAGINARY, lambda t, x: ()),
    (r"((?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)(?:[fFlL]|LL)", TYPE, lambda t, x: (x,)),
    (r"(\d+\.\d*|\.\d+)([dD])", TYPE, lambda t, x, d: (x, f"{x}*{d}")),
    (r"(\d+)(?:[uU][lL]{1,2}|LL|[iu](?:8|16|32|64|size))", TYPE, lambda t, x: (x,)),
    (r"\d[\d_]*\d(?:\.\d*)?(?:[eE][-+]?\d[\d_]*)?|\d[\d_]*\.\d[\d_]*(?:[eE][-+]?\d[\d_]*)?|\.\d[\d_]*", GROUPS, grouped),
    (r"\d{1,3}(?:['’]\d{3})+(?:\.\d+)?", MARKS, lambda t: (re.sub("['’]", "", t),)),
    (r"\d{1,3}(?:,\d{3}){2,}(?:\.\d+)?|\d{1,3},\d{3}\.\d+", MARKS, lambda t: (t.replace(",", ""),)),
    (r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}", MARKS, lambda t: (t.replace(".", "").replace(",", "."),)),
    (r"\d{1,3},\d{3}", MARKS, lambda t: (t.replace(",", ""), t.replace(",", "."))),
    (r"\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:\.\d+)?", MARKS, lambda t: (re.sub(r"\s", "", t),)),
    (rf"({M})\s?%(?=\s*(?:[-+*/),;\]]|\Z))", "a per cent is a hundredth", lambda t, x: (hundredth(x),)),
)
"""A pattern, what is to be said, and what is written, of the whole and the groups."""
ALONE: tuple[Row, ...] = (
    (rf"({X})[fFlLdDuUmMhH]", TYPE, lambda t, x: (x,)),
    (r"\d+,(?!\d{3}\Z)\d+", "a decimal point is a point", lambda t: (t.replace(",", "."),)),
    (rf"({M})([-+]\d{{3}})", EXPONENT, lambda t, x, e: (f"{x}e{int(e)}",)),
)
"""Foreign number where only a number can stand."""


def foreign_number(text: str, at: int = 0) -> ForeignNumber | None:
    """The number of another language that stands at a place of a text, and is none here."""
    return next((said for row in FORMS if (said := matched(row, text, at, r"(?![\w.])"))), None)


def as_number(text: str) -> ForeignNumber | None:
    """Foreign number that is a whole text, which may have a sign."""
    text = text.strip()
    sign = text[:1] if text[:1] in ("+", "-") else ""
    found = next((said for row in (*ALONE, *FORMS) if (said := matched(row, text, len(sign), r"\Z"))), None)
    return found and found._replace(text=text, choices=tuple(sign + x for x in found.choices))


def matched(row: Row, text: str, at: int, end: str) -> ForeignNumber | None:
    pattern, reason, written = row
    found = re.compile(rf"(?:{pattern}){end}", re.ASCII).match(text, at)
    if found is None or re.fullmatch(rf"{DECIMAL}|{HEXADECIMAL}", found[0]):
        return None
    return ForeignNumber(found[0], reason, written(found[0], *found.groups()))
