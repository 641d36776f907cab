"""Lists of names: of inputs, of outputs, and of partial derivatives."""
from __future__ import annotations

from adcli.lang.ir.names import composed


def listed(text: str) -> list[str]:
    """The names that commas separate."""
    return [name.strip() for name in composed(text).split(",") if name.strip()]


def partials(text: str) -> list[str]:
    """Outputs and partial derivatives, as 'v', 'u,v', 'v:x,x,y' or 'v:x,x; u:y'."""
    found = []
    for part in filter(None, (p.strip() for p in composed(text).split(";"))):
        before, colon, along = part.partition(":")
        *plain, last = [name.strip() for name in before.split(",")]
        found += [*filter(None, plain), f"{last}:{along}" if colon else last]
    return found
