"""Taylor remainders as a picture: on logarithmic axes a remainder of order k is a line of slope k + 1."""
from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from adcli.check.methods import directions
from adcli.lang.ir.errors import AdError, missing
from adcli.pictures.picture import Curve, Panel, Picture, PictureTable

if TYPE_CHECKING:
    from adcli.check.points import Check

STEPS = tuple(10.0 ** (-k / 2) for k in range(16, -1, -1))
"""Steps along the direction, in parts of the scale of each input."""
MOST_OUTPUTS = 3
LONG = 2000
"""Equations from which on the second derivatives are left out."""
ORDERS = ("value", "gradient", "Hessian")


def picture(check: Check) -> Picture:
    """The remainders at the first point where the program is smooth, along a random direction, in multiple precision."""
    if find_spec("flint") is None:
        raise missing("the picture of remainders", "python-flint")
    if not check.subjects:
        raise AdError("⟦--plot⟧ draws remainders in multiple precision, for which this point is too large",
                      help="give smaller tensors; without ⟦--at⟧, small ones are drawn")
    subject = check.subjects[0]
    outputs = [r.name for r in subject.primal.results]
    if len(outputs) > MOST_OUTPUTS:
        raise AdError(f"⟦--plot⟧ draws up to {MOST_OUTPUTS} outputs, and there are {len(outputs)}",
                      help=f"choose: ⟦--of {','.join(outputs[:MOST_OUTPUTS])}⟧")
    seen = next((s for s in subject.seen if not s.level), None)
    if seen is None:
        raise AdError("⟦--plot⟧ needs a point where the program is smooth", help="give another point")
    from adcli.lang.verify.differences import sizes
    once = subject.tangents
    derivatives = (subject.tangents_twice if len(once.equations) <= LONG else None) or once
    direction = {x: part * subject.length(seen, x, local=False) for x, part in directions(subject).items()}
    found = sizes(subject.primal, derivatives, seen.at, direction, STEPS)
    panels = tuple(panel(name, list(zip(*rows, strict=True))) for name, rows in found.items())
    at = ", ".join(f"{n} = {x:.6g}" for n, x in list(seen.at.items())[:6])
    names = ("h", *(f"{name}_{order}" for name, rows in found.items() for order in range(len(rows[0]))))
    rows = tuple((h, *(x for each in found.values() for x in each[k])) for k, h in enumerate(STEPS))
    title = f"at {at}" + ", …" * (len(seen.at) > 6)
    return Picture(title, "step h", panels, table=PictureTable(names, rows), log_x=True)


def panel(name: str, rests: Sequence[Sequence[float]]) -> Panel:
    """The remainders of one output; one that vanishes is in no logarithm."""
    return Panel(f"remainder of {name}", tuple(
        Curve(f"after the {order}: slope {k + 1}", STEPS, tuple(x if x > 0 else math.nan for x in rest), number=k)
        for k, (order, rest) in enumerate(zip(ORDERS, rests, strict=False))), log=True)
