"""Sums of groups: those of the rows of each group alone, however rows are cut and merged."""
from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from adcli.codegen.rows import exact_sums
from adcli.lang.ir.errors import AdError
from adcli.lang.syntax.scan import decode
from session_seed import drawn

from adcli.rows import sum_work, sums
from adcli.rows.sum_work import SumWork, quantities
from adcli.rows.sums import Sums
from adcli.task.request import Request
from adcli.task.tasks import made


@cache
def work() -> SumWork:
    """Sums of one, two and three factors a term."""
    task = made(Request("grad", decode(b"v = x*abs(y)", "-e")), None)
    return SumWork(task.kernel, task.signature, {}, quantities(task.signature, True, "w"), keep=False)


def wild(random: Random, rows: int) -> np.ndarray:
    """Numbers of all sizes, many the opposite of another, and a few that are not finite."""
    found = np.ldexp([random.uniform(-1, 1) for _ in range(rows)], [random.randint(-500, 500) for _ in range(rows)])
    found[1::3] = -found[:-1:3]
    found[random.randrange(rows)] = random.choice((np.nan, np.inf, -np.inf))
    return found


def state(columns: dict[str, np.ndarray], keys: np.ndarray, rows: Sequence[int]) -> Sums:
    """The sums of some rows."""
    rows = np.array(rows, np.int64)
    known: dict[str, int] = {}
    numbers = np.array([known.setdefault(key, len(known)) for key in keys[rows]], np.int32)
    mine = {name: column[rows] for name, column in columns.items()}
    return work().add(mine, len(rows), mine["w"], [(key,) for key in known], numbers)


@pytest.mark.parametrize("limits", [{}, {"RECORDS": 1500, "CHUNK": 16}, {"STEP": 3}, {"MOST_TERMS": 40}], ids=str)
def test_groups_are_those_of_their_rows_alone(limits: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Many groups of few rows and few of many; in pieces, with carries after every few terms, and put together in steps."""
    for name, value in limits.items():
        for module in (sum_work, sums, exact_sums):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, value)
    random = drawn("grouped", *limits)
    count = 150
    columns: dict[str, Any] = {name: wild(random, count) for name in "xyw"}
    columns["w"][~np.isfinite(columns["w"])] = 0.5
    keys = np.array([random.choice(("a", "b", f"g{random.randrange(60)}")) for _ in range(count)])
    ends = sorted({0, count, *(random.randrange(count) for _ in range(6))})
    total = work().nothing(())
    for a, b in pairwise(ends):
        total.merge(state(columns, keys, range(a, b)))
    found = dict(total.items())
    assert [key for key, in found] == list(dict.fromkeys(keys))
    assert total.rows == count and total.rough(False)
    assert total.packed() == Sums.unpacked(total.packed()).packed() == state(columns, keys, range(count)).packed()
    monkeypatch.undo()
    for key, in found:
        mine = {name: column[keys == key] for name, column in columns.items()}
        (_, alone), = work().add(mine, len(mine["x"]), mine["w"]).items()
        assert found[key,].levels == alone.levels and repr(found[key,].values()) == repr(alone.values()), key


def test_many_groups_take_little_memory_and_more_than_there_is_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(sums, "require_room", lambda *words: asked.append(words))
    rows = 20_000
    columns = {name: np.linspace(1.0, 2.0, rows) for name in "xyw"}
    total = work().nothing(())
    total.merge(work().add(columns, rows, columns["w"], [(str(n),) for n in range(rows)], np.arange(rows, dtype=np.int32)))
    held = total.levels.nbytes + sum(limb.nbytes for limb in total.limbs.values())
    assert held < 2 * rows * 8 * (7 + 6 * len(total.names))
    assert asked and sum(size for _, size, _ in asked) >= held
    monkeypatch.undo()

    def none_left(what: str, size: int, help: str) -> None:
        raise AdError(what, help=help)
    monkeypatch.setattr(sums, "require_room", none_left)
    with pytest.raises(AdError, match="sums of 20,000 groups"):
        work().nothing(()).merge(total)
