"""What is proved of whole numbers is true."""
from __future__ import annotations

import itertools
import random

from adcli.lang.ir.affine import Floor, Index, affine, floor, greatest, least, remainder, value
from adcli.lang.sizes.in_bounds import ends
from adcli.lang.sizes.proofs import impossible, proved
from hypothesis import given
from hypothesis import strategies as st
from random_programs import law


@law(195)
@given(st.integers(0, 2**32))
def test_elimination_is_right_about_integers(seed: int) -> None:
    r = random.Random(seed)
    indices = [Index(name) for name in "ijk"]
    box = {i: (low := r.randint(-2, 2), low + r.randint(0, 3)) for i in indices}
    rows = [sum((affine(i) * r.randint(-2, 2) for i in indices), affine(r.randint(-4, 4))) for _ in range(r.randint(1, 3))]
    points = itertools.product(*[range(a, b + 1) for a, b in box.values()])
    some = any(all(value(x, dict(zip(indices, p, strict=True))) >= 0 for x in rows) for p in points)
    if impossible([*rows, *ends(box)]):
        assert not some
    elif len(rows) == 1:
        assert some


def test_triangles_are_decided_exactly() -> None:
    i, k = affine(Index("i")), affine(Index("k"))
    above = [k - i - 1, i, k, affine(9) - i, affine(9) - k]
    assert impossible([*above, i - 9])
    assert not impossible([*above, i - 8])
    assert impossible([i * 2 - k * 2 - 1, k * 2 - i * 2 + 1])   # 2i − 2k = 1 has no integers


def test_expressions_that_are_never_negative_for_any_size() -> None:
    n, m, i = affine("N"), affine("M"), affine(Index("i"))
    half = affine(Floor(n, affine(2)))
    assert proved(n - half * 2, [])
    assert not proved(half * 2 - n, [])
    assert proved(n - 1 - i * 2, [half - 1 - i])
    assert not proved(n - 3 - i * 2, [half - 1 - i])
    assert proved(n - least(n, m), [])
    assert proved(greatest(n, m) - m, [])
    assert not proved(n - m, [])


def test_a_remainder_and_a_quotient_of_the_same_say_something_of_each_other() -> None:
    n, i = affine("N"), affine(Index("i"))
    odd = remainder(i, affine(2)) - 1
    assert proved(n - 2 - floor(i, 2), [odd, n*2 - 2 - i])        # i = 2q + 1 is at most 2N - 3
    assert not proved(n - 2 - floor(i, 2), [n*2 - 2 - i])
    assert proved(floor(i + 1, 2) - floor(i, 2) - 1, [odd])
