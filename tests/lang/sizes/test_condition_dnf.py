"""Pieces of conditions: what a condition says at each point of a box is what its pieces say."""
from __future__ import annotations

import operator
from itertools import product
from random import Random

from adcli.lang.ir.affine import Affine, Index, affine, value
from adcli.lang.sizes.condition_dnf import (
    COMPARISONS,
    EVERYWHERE,
    SPLITS,
    UNKNOWN,
    UNTOLD,
    EitherWay,
    Pieces,
    compared,
    joint,
    known_where,
    together,
)
from session_seed import drawn

ROW, COLUMN = Index("i"), Index("k")
POINTS = [{ROW: i, COLUMN: k, "N": n} for i, k, n in product(range(-2, 4), range(-2, 4), range(1, 4))]


def expression(random: Random) -> Affine:
    return sum((affine(a) * random.randint(-2, 2) for a in (ROW, COLUMN, "N")), affine(random.randint(-2, 2)))


def condition(random: Random, depth: int) -> tuple[EitherWay[Affine], list[bool]]:
    """A random condition, and whether it holds at each of the points."""
    name = random.choice(("and", "or", "not")) if depth and random.random() < 0.8 else random.choice(list(COMPARISONS))
    if name in COMPARISONS:
        left, right = expression(random), expression(random)
        return compared(name, left, right), [getattr(operator, name)(value(left, p), value(right, p)) for p in POINTS]
    first, truth = condition(random, depth - 1)
    if name == "not":
        return first.negated(), [not t for t in truth]
    second, other = condition(random, depth - 1)
    if name == "and":
        return first.also(second), [a and b for a, b in zip(truth, other, strict=True)]
    return first.either(second), [a or b for a, b in zip(truth, other, strict=True)]


def times(pieces: Pieces[Affine], point: dict[Index | str, int]) -> int:
    """In how many of the pieces a point is."""
    assert pieces is not None
    return sum(all(g == UNTOLD or value(g, point) >= 0 for g in piece) for piece in pieces)


def test_a_point_is_in_one_piece_of_what_holds_there_and_in_none_of_what_does_not() -> None:
    random, seen = drawn("pieces"), set[tuple[bool, bool]]()
    for _ in range(150):
        found, truth = condition(random, 3)
        for holds, pieces in zip((True, False), found, strict=True):
            seen.add((holds, pieces is None))
            if pieces is not None:
                assert len(pieces) <= SPLITS
                assert [times(pieces, p) for p in POINTS] == [int(t is holds) for t in truth]
    assert {(True, False), (False, False)} <= seen


def test_nothing_is_known_where_pieces_are_too_many() -> None:
    apart = compared("ne", affine(ROW), affine(COLUMN))
    found = apart
    for _ in range(6):
        found = found.also(apart)
    assert found.holds is None and found.negated().fails is None        # two to the seventh
    assert known_where(found.holds) == ((UNTOLD,),) != EVERYWHERE
    for both in (joint, together):
        assert both(None, apart.holds) is both(apart.holds, None) is None
    half = [[affine(ROW)]] * (SPLITS // 2)
    assert len(together(half, half) or ()) == len(joint(half, [[], []]) or ()) == SPLITS
    assert together([*half, []], half) is joint([*half, []], [[], []]) is None


def test_what_says_nothing_limits_neither_what_holds_nor_what_fails() -> None:
    """An unknown condition may go either way at every point; beside a known one, what that says is still known."""
    low = compared("lt", affine(ROW), affine(0))
    for p in POINTS:
        assert times(UNKNOWN.holds, p) == times(UNKNOWN.fails, p) == 1
        both, one = UNKNOWN.also(low), low.either(UNKNOWN)
        assert (times(both.holds, p) > 0, times(both.fails, p) > 0) == (p[ROW] < 0, True)
        assert (times(one.holds, p) > 0, times(one.fails, p) > 0) == (True, p[ROW] >= 0)
