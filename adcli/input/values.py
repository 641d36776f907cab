"""Single numbers and lists of names as people write them: on the command line, and in JSON."""
from __future__ import annotations

import json
import math
import re

from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import ALONG, composed
from adcli.output.numbers import NON_FINITE

DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?", re.ASCII)
"""Numbers that need no parser: plain decimals, if they are no overflow."""
HEXADECIMAL_TEXT = re.compile(r"[+-]?0x[0-9a-f]+(\.[0-9a-f]*)?p[+-]?\d{1,4}", re.ASCII)
"""Numbers as --hex writes them."""


def value(name: str, text: str) -> float:
    """A number as in the language: also inf, -inf, nan, pi, constant expressions such as pi/2, and what JSON calls NaN and
    Infinity."""
    text = text.strip()
    if text in NON_FINITE:
        return NON_FINITE[text]
    if DECIMAL.fullmatch(text) and math.isfinite(x := float(text)):
        return x
    if not text:
        raise AdError(f"{name}= has no value", help=f"write {name}=2")
    if text[0] in "[@":
        raise AdError(f"{name}={text}: expected a number, not a tensor")
    from adcli.lang.syntax.constants import constant_text
    try:
        return constant_text(text)
    except AdError as error:
        from adcli.lang.syntax.numbers import as_number
        if found := as_number(text):
            raise AdError(f"{name}={text} is not a number: {found.reason}",
                          help=found.help.replace("write ", f"write {name}=")) from None
        reason = "not a constant" if error.message.startswith("a default or a bound") else error.message
        raise AdError(f"{name}={text}: {reason}", help=proposed(name, error.help)) from None


def proposed(name: str, help: str | None) -> str | None:
    """The help of a fault of a value, where it proposes another one: that as a value, if it is a constant."""
    from adcli.lang.syntax.constants import constant_text
    if help is None or not help.startswith("write "):
        return help
    try:
        constant_text(help.removeprefix("write "))
    except AdError as error:
        return error.help
    return help.replace("write ", f"write {name}=", 1)


def shortened(text: str) -> str:
    """Text of a user, shortened for a message."""
    return text if len(text) <= 40 else text[:39] + "…"


def one_text(path: str, text: str) -> list[object]:
    """Items of one JSON text; numbers are doubles. AdError where a name stands twice in one object."""
    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found: dict[str, object] = {}
        for name, x in pairs:
            if name in found:
                raise AdError(f"{path}: '{name}' is given twice in one object")
            found[name] = x
        return found

    try:
        whole = json.loads(text, object_pairs_hook=unique, parse_int=float, parse_constant=str)
    except RecursionError:
        raise AdError(f"{path}: JSON nested too deeply") from None
    return whole if isinstance(whole, list) else [whole]


def malformed(path: str, line: int, error: json.JSONDecodeError, help: str | None = None) -> AdError:
    return AdError(f"{path}:{line}:{error.colno}: not JSON: {error.msg}", help=help)


def json_number(what: str, x: object) -> float:
    """A JSON number, or one of the strings that stand for what JSON has no number for: NaN, infinities, --hex."""
    if isinstance(x, str) and x in NON_FINITE:
        return NON_FINITE[x]
    if isinstance(x, str) and HEXADECIMAL_TEXT.fullmatch(x):
        return value(what, x)
    if not isinstance(x, float):
        raise AdError(f"{what} is not a number")
    if math.isinf(x):
        raise AdError(f"{what} is too large for a double", help='infinity is written "Infinity"')
    return x


SEPARATOR, COMMA = re.compile(r",(?![^(\[]*[)\]])"), re.compile(r"\s*,\s*")
"""A comma between names, and one within the brackets of an element."""


def has_partials(text: str) -> bool:
    """Test for a text that names partial derivatives, 'v:x'."""
    return ALONG.search(text) is not None


def listed(text: str) -> list[str]:
    """The names that commas separate, other than those of an element: u, A(0, 1)."""
    return [COMMA.sub(", ", name.strip()) for name in SEPARATOR.split(composed(text)) if name.strip()]


def partials(text: str) -> list[str]:
    """Outputs and partial derivatives, as 'v', 'u,v', 'v:x,x,y' or 'v:x,x; u:y'."""
    if any(len(ALONG.findall(part)) > 1 for part in text.split(";")):
        apart = re.sub(r"\s*,\s*(?=[^,;:]*:)", ";", text)
        raise AdError(f"'{text}': partial derivatives are separated by ;", help=f"write '{apart}'")
    found = []
    for part in filter(None, (p.strip() for p in composed(text).split(";"))):
        before, *along = ALONG.split(part, 1)
        *plain, last = listed(before) or [""]
        found += [*plain, f"{last}:{along[0]}" if along else last]
    return found
