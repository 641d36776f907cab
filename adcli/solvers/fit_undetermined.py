"""Parameters that data do not determine, one by one or together, and how that is said."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np


class NullDirection(NamedTuple):
    """Parameters that can be moved together, each by so much, without a change of any residual; the `names` of all, in order."""

    moves: Mapping[str, float]
    names: Sequence[str]


def connected(directions: Sequence[NullDirection]) -> list[list[NullDirection]]:
    """Directions, those together that move a parameter in common, if only by way of others."""
    found: list[list[NullDirection]] = []
    for d in directions:
        same = [group for group in found if any(not d.moves.keys().isdisjoint(other.moves) for other in group)]
        found = [group for group in found if group not in same] + [[*(other for group in same for other in group), d]]
    return found


def said_of(directions: Sequence[NullDirection]) -> str:
    """What is not determined along directions that are connected: parameters that can only be had together, with the one sum of
    them that the data determine, or with the moves that change nothing where there are several such sums."""
    moved = {name for d in directions for name in d.moves}
    names = [name for name in directions[0].names if name in moved]
    if len(names) == 1:
        return f"{names[0]} has no influence: no residual changes with it here"
    together = f"{', '.join(names[:-1])} and {names[-1]} can only be had together"
    if len(names) == len(directions) + 1:
        alone = "neither alone" if len(names) == 2 else "none alone"
        return f"{together}: here the data determine {determined(directions, names)}, and {alone}"
    moves = [", ".join(f"{x} by {m:.6g}" for x, m in d.moves.items()) for d in directions]
    if len(moves) == 1:
        return f"{together}: moving {moves[0]} changes no residual"
    return f"{together}: neither moving {', nor moving '.join(moves)} changes a residual"


def determined(directions: Sequence[NullDirection], names: Sequence[str]) -> str:
    """The one sum of parameters that none of the directions changes, that of the first parameter with the factor 1."""
    moves = np.array([[d.moves.get(name, 0.0) for name in names] for d in directions])
    lengths = np.abs(moves).max(axis=0)
    factors = np.linalg.svd(moves / lengths)[2][-1] / lengths
    terms = zip(names, (factors / factors[0]).tolist(), strict=True)
    return next(terms)[0] + "".join(f" {'-' if x < 0 else '+'} {factor(abs(x))}{name}" for name, x in terms)


def factor(x: float) -> str:
    text = f"{x:.6g}"
    return "" if text == "1" else f"{text}*"
