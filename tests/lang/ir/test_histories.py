"""Which elements of a history are written, for all sizes: against sets of numbers."""
from __future__ import annotations

from itertools import product

from adcli.lang.ir.affine import Affine, affine, value
from adcli.lang.ir.histories import WrittenElements, extent_over, joined
from session_seed import drawn

T, K = affine("T"), affine("K")
ENDS = [affine(0), affine(1), affine(3), K, K + 1, T, T + 1]
SOME = [(low, high) for low, high in product(ENDS, ENDS) if value(high - low, {"T": 0, "K": 0}) >= 0]
SIZES = [{"T": t, "K": k} for t in range(5) for k in range(5)]


def elements(intervals: object, sizes: dict[str, int]) -> set[int]:
    return {i for low, high in intervals for i in range(value(low, sizes), value(high, sizes))}  # type: ignore[attr-defined]


def possible(intervals: list[tuple[Affine, Affine]]) -> list[dict[str, int]]:
    """The sizes for which no interval is of negative length, which is known of a loop."""
    return [s for s in SIZES if all(value(high - low, s) >= 0 for low, high in intervals)]


def test_what_is_known_of_intervals_is_true_for_all_sizes():
    for chosen in drawn("intervals").sample(list(product(SOME, repeat=3)), 60):
        intervals, written = list(chosen), WrittenElements(0).also(*chosen)
        for sizes in possible(intervals):
            own = elements(intervals, sizes)
            assert elements(joined(intervals), sizes) == own
            assert max(own, default=-1) < value(extent_over(intervals), sizes)
            for at in ENDS:
                first, reached = value(at, sizes), value(written.reached(at), sizes)
                assert set(range(first, reached)) <= own
                assert not (written.surely_lacks(at) and first in own)


def test_intervals_that_touch_are_one():
    assert joined([(affine(0), affine(1)), (affine(1), T)]) == ((affine(0), T),)
    assert joined([(K + 1, T + 1), (affine(0), affine(1)), (affine(1), K + 1)]) == ((affine(0), T + 1),)
    assert extent_over([(affine(0), affine(1)), (affine(1), T)]) == T
    assert WrittenElements(0, ((affine(0), affine(1)),)).surely_lacks(affine(3))
