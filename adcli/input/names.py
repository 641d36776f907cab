"""Lists of names: of inputs, of outputs, and of partial derivatives."""
from __future__ import annotations

import re

from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import ALONG, composed

SEPARATOR, COMMA = re.compile(r",(?![^(\[]*[)\]])"), re.compile(r"\s*,\s*")
"""A comma between names, and one within the brackets of an element."""


def has_partials(text: str) -> bool:
    """Whether a text names partial derivatives, 'v:x'."""
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
