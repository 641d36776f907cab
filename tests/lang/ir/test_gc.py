"""Long work without the garbage collector, and what the collector sees of it behind the block."""
from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from adcli.lang.ir.records import MANY, paused


@pytest.fixture
def walks() -> Iterator[list[int]]:
    """The number of objects that the collector walks over, each time it does. (tests/conftest.py froze what it had loaded.)"""
    seen: list[int] = []

    def noted(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            seen.append(len(gc.get_objects(generation=0)))
    gc.collect()
    gc.unfreeze()
    gc.callbacks.append(noted)
    yield seen
    gc.callbacks.remove(noted)
    gc.freeze()


def made(n: int) -> list[list[int]]:
    return [[] for _ in range(n)]


def test_nothing_is_walked_over_within_and_little_behind(walks: list[int]) -> None:
    with paused():
        kept = made(2 * MANY)
        assert not walks
    kept += made(MANY + 1_000)
    assert gc.isenabled() and walks and max(walks) < 1.5*MANY


def test_without_the_pause_it_is(walks: list[int]) -> None:
    """The measure can fail."""
    gc.disable()
    kept = made(2 * MANY)
    gc.enable()
    kept += made(MANY)
    assert max(walks) > 2 * MANY


def test_what_somebody_froze_stays_frozen() -> None:
    before = gc.get_freeze_count()
    with paused():
        kept = made(2 * MANY)
    assert before and 0 < gc.get_freeze_count() <= before and len(kept) == 2 * MANY


def test_a_pause_within_a_pause_ends_with_the_outer_one() -> None:
    with paused():
        with paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
