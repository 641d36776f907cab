"""Where histories of loops are not zero, where that is known without their values.

    i(T) = n
    for t in 0:T down {
        i(t) += i(t + 1) != 0 ? 1 : 0
        j(t) += i(t + 1) != 0 ? 1 : 0
    }

Nothing in i and j is zero unless n is. It is shown by induction: what is claimed of all elements of all histories is true if it
follows, for each element, from what is claimed of those that its statements read; for a statement is true of the final histories,
and an element is written before it is read, so no element depends on itself. What is claimed first is that nothing is
zero; claims that do not follow give way to smaller ones until all do.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from adcli.lang.ir import Atom, Equation, Shape, Var, shape_of
from adcli.lang.ir.affine import Affine
from adcli.lang.ir.comprehension import Comprehension
from adcli.lang.ir.recurrence import Recurrence, whole_statements, without_onto
from adcli.lang.passes.nonzero_domains import (
    NOWHERE,
    Support,
    Supports,
    any_element,
    follows,
    is_zero,
    split,
    support_of,
    within,
    written,
)


def histories_supports(e: Equation, known: Supports) -> dict[Atom, Support]:
    """The supports of the results of a recurrence that are known, where all that it is made of comes from one number."""
    assert isinstance(e.op, Recurrence)
    numbers = {n: None for a in e.args if a in known for n in split(known[a])[1]}
    if len(numbers) != 1:
        return {}
    starts: dict[Atom, Atom] = dict(zip(e.outs, e.args, strict=False))
    writers: dict[Atom, list[Equation]] = {out: [] for out in starts}
    for s in whole_statements(e):
        writers[s.outs[0]].append(s)
    sizes: dict[Affine | Var, None] = dict.fromkeys(
        [c for a in e.args for c in split(known.get(a, ()))[0] if c.number is None and not c.indices()])
    runs = tuple([c for c in (e.op.high - e.op.low - 1,) if not c.indices()])
    claims: dict[Atom, Support] = dict.fromkeys(starts, (*sizes, *numbers))
    tried, settled = dict.fromkeys(claims, 0), False
    while not settled:
        settled = True
        for out, claim in [*claims.items()]:
            pieces = pieces_of(starts[out], writers[out], {**known, **claims}, runs)
            if is_union(claim, pieces, shape_of(out)):
                continue
            del claims[out]
            smaller: list[Support] = [(*dict.fromkeys([*sizes, *runs]), *numbers), *pieces] if pieces else []
            if tried[out] < len(smaller):
                claims[out] = smaller[tried[out]]
            tried[out], settled = tried[out] + 1, False
    return claims


def pieces_of(start: Atom, writers: Sequence[Equation], known: Mapping[Atom, Support], runs: Sequence[Affine]) -> list[Support]:
    """The supports of what a history starts from and of what each statement gives it, none of which takes away from another; none
    where they are not known. The loop `runs` where these are not negative."""
    begins = known.get(start, NOWHERE if is_zero(start) else None)
    if begins is None:
        return []
    pieces = [begins]
    for s in writers:
        added = without_onto(s)
        piece = support_of(added.op, added.args, known) if isinstance(added.op, Comprehension) else None
        if piece is None or (added is s and begins != NOWHERE and split(piece)[0] != written_by(s)):
            return []
        pieces.append(tuple(dict.fromkeys([*runs, *piece])))
    return [piece for piece in pieces if not any(c.number is not None and c.number < 0 for c in split(piece)[0])]


def written_by(s: Equation) -> tuple[Affine, ...] | None:
    """Which elements of its history a statement writes; None where that is not known."""
    return within(written(s.op), shape_of(s.outs[0])) if isinstance(s.op, Comprehension) else None


def is_union(claim: Support, pieces: Sequence[Support], shape: Shape) -> bool:
    """Whether a support is all of some others and nothing more."""
    ends, there = any_element(shape)
    region, numbers = split(claim)

    def implied(conditions: Support, *by: Affine) -> bool:
        return all(follows(c, ends, (*by, *there)) for c in split(conditions)[0])

    def beside(c: Affine) -> bool:
        elsewhere = -c - 1
        return implied((c,), *region) or any(
            implied(other, elsewhere, *region, *[elsewhere + r for r in region]) for other in pieces)
    return (all(split(piece)[1] == numbers and implied(region, *split(piece)[0]) for piece in pieces)
            and any(all(map(beside, split(piece)[0])) for piece in pieces))
