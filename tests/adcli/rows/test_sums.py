"""The states of sums: exact, whatever comes together in them; those of groups are those of the rows of each group alone."""
from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
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
from adcli.rows.sum_work import ArraySums, SumWork, quantities
from adcli.rows.sums import ExactSum, Group, Sums
from adcli.task.request import Request
from adcli.task.tasks import made


def summed(*terms: float) -> Sums:
    total = ArraySums(["v"], keep=False)
    for x in terms:
        total.add([x], 0)
    return total.sums()


def only(total: Sums) -> Group:
    (_, found), = total.items()
    return found


def test_a_sum_is_rounded_once_and_a_quotient_too() -> None:
    terms = [1.0, 2.0 ** -60, -3.5, 1e308, -1e308, 5e-324, -0.0]
    found, exact = only(summed(*terms)), sum(map(Fraction, terms))
    assert found.values() == [float(exact)] and found.values(mean=True) == [float(exact / 7)]
    assert only(summed(-5e-324)).values() == [-5e-324]
    assert math.isnan(found.sums[0].over(ExactSum())) and found.sums[0].over(*only(summed(-math.inf)).sums) == 0.0


@pytest.mark.parametrize(("terms", "want"), [
    ([math.inf, -math.inf], "nan"), ([math.inf, -1e308], "inf"), ([1.0, math.nan], "nan"), ([1.7e308, 1.7e308], "inf"),
    ([-1.7e308, -1.7e308], "-inf")])
def test_what_ieee_makes_of_terms_that_are_not_finite(terms: list[float], want: str) -> None:
    assert [repr(x) for x in only(summed(*terms)).values()] == [want]
    assert only(summed(1.7e308, 1.7e308)).values(mean=True) == [1.7e308]


def test_nothing_is_zero_and_has_no_mean() -> None:
    nothing = only(Sums({"v": ()}, [1]))
    assert nothing.values() == [0.0] and math.isnan(nothing.values(mean=True)[0])


def test_states_are_packed_and_those_of_other_names_are_not_added() -> None:
    total = ArraySums(["u", "v"], "w", keep=False)
    for key, x in (("a", -3e9), ('"', math.inf), ("a", math.nan), ("a", 5e-324)):
        total.add([x, np.full((2, 2), -x)], 1, (key,), -0.1)
    one = total.sums()
    there = Sums.unpacked(json.loads(json.dumps(one.packed())))
    assert list(there.items()) == list(one.items())
    assert [*Sums.unpacked(one.packed(sorted(one.index))).index] == [('"',), ("a",)]
    with pytest.raises(ValueError, match="'v'"):
        Sums({"v": ()}, [1]).merge(Sums({"u": ()}, [1]))


# ---------------------------------------------------------------- groups

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
        alone = only(work().add(mine, len(mine["x"]), mine["w"]))
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
