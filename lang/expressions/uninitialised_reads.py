"""Reads of elements that nothing has written.

What statements write one by one before a loop, and the loop step by step, need not be all of a tensor. The boxes of elements that
are written are kept with the value (`Tensors.written`), for those that loops assign; every read of such a value is inside of
them, or a fault.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from adcli.lang.expressions.scope import Context
from adcli.lang.ir import Atom
from adcli.lang.ir.affine import Affine, Index, affine, text
from adcli.lang.ir.errors import AdError
from adcli.lang.sizes.histories import Gappy, box_of, missing, surely_missing, surely_written
from adcli.lang.sizes.ranges import Access, Domain, Range


def check_elements(context: Context, written: Mapping[Atom, Gappy], atom: Atom | None, a: Access, ranges: Iterable[Range],
                   guards: Iterable[Affine]) -> None:
    """AdError where an access to a value may be of an element along the step that nothing has written, or is surely of one
    elsewhere."""
    gappy = written.get(atom) if atom is not None else None
    if gappy is None:
        return
    ranges = tuple(ranges)
    gaps = [gap(gappy, a, ranges, each) for each in (guards, ())]   # the ends of ranges may be nearer than guards, for some sizes
    at = gaps[0]
    if at is None or gaps[1] is None or is_written(gappy, a, ranges, guards):
        return
    element = f"{a.tensor}({', '.join(map(text, at))})"
    beyond = any(low + 1 != high == at[gappy.place] for low, high in (box[gappy.place] for box in gappy.boxes))
    before = f"{a.tensor}({', '.join(text(x - 1 if d == gappy.place else x) for d, x in enumerate(at))})"
    raise AdError(f"this reads {element}, which nothing has written", a.span(gappy.place),
                  f"the last that is written is {before}: the end of a range is not in it" if beyond else
                  f"give it a value first: {element} = ...", context.source)


def is_written(gappy: Gappy, a: Access, ranges: tuple[Range, ...], guards: Iterable[Affine]) -> bool:
    """Whether every element of an access over a domain has been written, which boxes around these elements do not show."""
    at = [affine(Index("")) if x is None else x for x in a.subscripts]
    inside = [y for x, extent in zip(at, a.extents, strict=True) for y in (x, extent - 1 - x)]   # proved elsewhere
    return surely_written(at, [*Domain(ranges, tuple(guards), ()).known(), *inside], gappy.regions)


def gap(gappy: Gappy, a: Access, ranges: tuple[Range, ...], guards: Iterable[Affine]) -> tuple[Affine, ...] | None:
    """An element of an access over a domain that may be one that nothing has written, along the step, or is surely one."""
    whole = tuple((affine(0), extent) for extent in a.extents)
    box = box_of([affine(0) if x is None else x for x in a.subscripts], ranges, guards)
    assert box is not None, "no subscript is gathered"
    read = tuple(each if x is None else own for x, own, each in zip(a.subscripts, box, whole, strict=True))
    inside = [x for (low, high), extent in zip(read, a.extents, strict=True) for x in (low, extent - high)]   # proved elsewhere
    known, place = [*(r.high - r.low - 1 for r in ranges), *inside], gappy.place
    at = missing(read, gappy.boxes, known, place)
    own = read[place:place + 1]
    if at is None or surely_missing(at, gappy.boxes, known) or missing(own, [b[place:place + 1] for b in gappy.boxes], known):
        return at
    return None
