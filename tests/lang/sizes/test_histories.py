"""Which elements of a history are written, for all sizes: against sets of numbers."""
from __future__ import annotations

from itertools import product

from adcli.lang.ir.affine import Affine, Index, affine, value
from adcli.lang.sizes.histories import ELEMENT, Gappy, extent_over, joined, missing, surely_missing, surely_written
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
        for sizes in possible(list(chosen)):
            own = elements(chosen, sizes)
            assert elements(joined(chosen), sizes) == own
            assert max(own, default=-1) < value(extent_over(chosen), sizes)


def test_elements_that_are_said_to_be_there_or_missing_are():
    random, answers = drawn("boxes"), set()
    for _ in range(60):
        boxes = [tuple(random.sample(SOME, 2)) for _ in range(3)]
        read = tuple(random.sample(SOME, 2))
        gappy = Gappy(0).also(*boxes)
        at = missing(read, gappy.boxes, ())
        lacks = at is not None and surely_missing(at, gappy.boxes, ())
        answers.add((at is None, lacks))
        for sizes in possible([i for box in (*boxes, read) for i in box]):
            there = {p for box in boxes for p in points(box, sizes)}
            assert at is not None or points(read, sizes) <= there
            assert not lacks or tuple(value(x, sizes) for x in at or ()) not in there
    assert len(answers) > 1


def test_elements_that_are_said_to_be_written_are() -> None:
    random, answers = drawn("regions"), set[bool]()
    e, f = map(affine, ELEMENT[:2])

    def some(x: Affine, y: Affine) -> Affine:
        along = x * random.choice((-1, 0, 1)) + y * random.choice((-1, 0, 0, 1))
        return along + random.choice((0, 1, -1, 3)) + T * random.choice((0, 1))
    for _ in range(80):
        i, k = Index("i"), Index("k")
        regions = [(e, T - e, *[some(e, f) for _ in range(2)]) for _ in range(2)] + [(e - 1, T - 1 - e)]
        known = [affine(i), T - affine(i), affine(k), T - affine(k), some(affine(i), affine(k))]
        at = [affine(i) + random.choice((0, 1)), affine(k)]
        said = surely_written(at, known, regions)
        answers.add(said)
        for t, x, y in product(range(4), repeat=3) if said else ():
            point = {"T": t, i: x, k: y}
            place = {ELEMENT[0]: value(at[0], point), ELEMENT[1]: value(at[1], point), "T": t}
            assert any(value(g, point) < 0 for g in known) or any(all(value(g, place) >= 0 for g in r) for r in regions)
    assert answers == {True, False}


def points(box: tuple[tuple[Affine, Affine], ...], sizes: dict[str, int]) -> set[tuple[int, ...]]:
    return set(product(*[range(value(low, sizes), value(high, sizes)) for low, high in box]))


def test_intervals_that_touch_are_one():
    assert joined([(affine(0), affine(1)), (affine(1), T)]) == ((affine(0), T),)
    assert joined([(K + 1, T + 1), (affine(0), affine(1)), (affine(1), K + 1)]) == ((affine(0), T + 1),)
    assert extent_over([(affine(0), affine(1)), (affine(1), T)]) == T
    start, rest = ((affine(0), affine(1)), (affine(0), K)), ((affine(1), T), (affine(0), K))
    assert Gappy(0).also(start, rest).boxes == (((affine(0), T), (affine(0), K)),)
    assert missing(((affine(0), T), (affine(0), K)), (start, rest), ()) is None
    assert missing(((affine(0), T), (affine(0), K)), (rest,), ()) == (affine(0), affine(0))
