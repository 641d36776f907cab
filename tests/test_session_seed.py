"""Rows that a run takes of long tables."""
from __future__ import annotations

import itertools

import pytest
from session_seed import VARIABLE, WHOLE, each_choice, part

TABLES = ("abcdefg", (1, 2, 3), (True, False))


@pytest.mark.parametrize("seed", range(4))
def test_every_value_of_every_table_occurs_in_as_few_rows_as_the_longest_has(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(seed))
    monkeypatch.delenv(WHOLE, raising=False)
    rows = each_choice(*TABLES)
    assert len(rows) == 7
    assert [{*column} for column in zip(*rows, strict=True)] == [{*table} for table in TABLES]
    monkeypatch.setenv(WHOLE, "1")
    assert each_choice(*TABLES) == [*itertools.product(*TABLES)]


def test_the_parts_of_several_runs_are_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    monkeypatch.delenv(WHOLE, raising=False)
    for seed in range(3):
        monkeypatch.setenv(VARIABLE, str(seed))
        found += part("abcdefgh", 3)
    assert sorted(found) == [*"abcdefgh"]
