"""Conditions on points of a box as pieces of it: where a condition holds, and where it does not.

A piece is where all of its parts hold, and no two pieces of a condition meet. What the parts are, comparisons as they are written
or expressions that are not negative, is a matter of who asks.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from adcli.lang.ir.affine import Affine, Index, affine

T = TypeVar("T")
SPLITS = 64
"""Most pieces that a condition may have."""
COMPARISONS = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
"""Each comparison with the one that holds where it does not."""
Pieces = Sequence[Sequence[T]] | None
"""The pieces of a condition; None: more than can be."""
Where = tuple[tuple[Affine, ...], ...]
"""Pieces of points: what is not negative in each of them."""
EVERYWHERE: Where = ((),)


class EitherWay(NamedTuple, Generic[T]):
    """The pieces where a condition holds, and where it does not."""

    holds: Pieces[T]
    fails: Pieces[T]

    def negated(self) -> EitherWay[T]:
        return EitherWay(self.fails, self.holds)

    def also(self, other: EitherWay[T]) -> EitherWay[T]:
        """Where both hold: it does not where the first does not, and where only that does."""
        return EitherWay(joint(self.holds, other.holds), together(self.fails, joint(self.holds, other.fails)))

    def either(self, other: EitherWay[T]) -> EitherWay[T]:
        return self.negated().also(other.negated()).negated()


UNTOLD = affine(Index("condition"))
"""An expression that is not negative where some condition holds, without any information on places."""
UNKNOWN: EitherWay[Affine] = EitherWay(((UNTOLD,),), ((UNTOLD,),))
"""A condition that says nothing of where a point is."""


def joint(first: Pieces[T], second: Pieces[T]) -> Pieces[T]:
    """Where a piece of the one and a piece of the other meet."""
    if first is None or second is None or len(first) * len(second) > SPLITS:
        return None
    return [[*p, *q] for p in first for q in second]


def together(first: Pieces[T], second: Pieces[T]) -> Pieces[T]:
    """The pieces of both."""
    return None if first is None or second is None or len(first) + len(second) > SPLITS else [*first, *second]


def known_where(pieces: Pieces[Affine]) -> Where:
    """Facts that hold in one of the pieces; none where they are too many."""
    return ((UNTOLD,),) if pieces is None else tuple([tuple(dict.fromkeys(p)) for p in pieces])


def under(where: Where, pieces: Pieces[Affine]) -> Where:
    """Pieces where one of some others is, too; what is too much to tell is left open."""
    found = joint(where, pieces)
    return known_where(joint(where, ((UNTOLD,),)) if found is None else found)


def compared(name: str, left: Affine, right: Affine) -> EitherWay[Affine]:
    """A comparison of whole numbers."""
    return EitherWay(_where(name, left, right), _where(COMPARISONS[name], left, right))


def _where(name: str, left: Affine, right: Affine) -> Sequence[Sequence[Affine]]:
    up, down = left - right, right - left
    match name:
        case "lt":
            return [[down - 1]]
        case "le":
            return [[down]]
        case "gt":
            return [[up - 1]]
        case "ge":
            return [[up]]
        case "eq":
            return [[up, down]]
        case _:
            return [[down - 1], [up - 1]]
