"""Sets of numbers against those of Python."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.lang.sparsity import number_sets
from adcli.lang.sparsity.number_sets import NumberSets
from session_seed import drawn


@pytest.mark.parametrize("many", [0, 1 << 14])
@pytest.mark.parametrize("numbers", [1, 63, 64, 65, 1000])
def test_unions_of_unions(numbers: int, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(number_sets, "MANY", many)
    r, sets = drawn("number sets", numbers), NumberSets(numbers)
    known = {0: frozenset[int]()} | {k + 1: frozenset([k]) for k in range(numbers)}
    for _ in range(30):
        pairs = [(r.randrange(5), r.choice([-1, *known])) for _ in range(r.randrange(12))]
        found = sets.unions(np.array([g for g, _ in pairs], np.int64), np.array([s for _, s in pairs], np.int64), 5)
        for group, number in enumerate(found.tolist()):
            whole = frozenset[int]().union(*[known[s] for g, s in pairs if g == group and s >= 0])
            assert known.setdefault(number, whole) == whole
    every = np.array(list(known))
    assert sets.pattern(every) == tuple(tuple(sorted(each)) for each in known.values())
    place, members = sets.members(every)
    again = sets.collected(place, members, len(every))
    assert sets.pattern(again) == sets.pattern(every)
    if many:
        assert len(set(known.values())) == len(known)


def test_too_many_words_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(number_sets, "MOST_AT_ONCE", 100)
    sets = NumberSets(6400)
    with pytest.raises(number_sets.TooMany):
        sets.unions(np.zeros(101, np.int64), np.arange(1, 6400, 63)[:101], 1)
