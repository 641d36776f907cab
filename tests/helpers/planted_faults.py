"""Faults planted on purpose, for the tests that a check catches them: one that catches nothing would pass for ever."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from adcli.lang.ir.build import When
from adcli.lang.ir.primitives import TABLE


@contextmanager
def caught() -> Iterator[None]:
    """The block must fail as a test fails."""
    with pytest.raises(AssertionError):
        yield


@contextmanager
def wrong_rule(name: str, position: int, change: Callable[[Any], Any]) -> Iterator[None]:
    """One map of a row of the table replaced by a changed one; rows are frozen, so this goes around the class."""
    op = TABLE[name]
    right = op.maps
    rule = right[position]
    assert rule is not None

    def wrong(t: Any, *rest: Any) -> Any:
        mapped = rule(t, *rest)
        return When(mapped.condition, change(mapped.value)) if isinstance(mapped, When) else change(mapped)

    object.__setattr__(op, "maps", (*right[:position], wrong, *right[position + 1:]))
    try:
        yield
    finally:
        object.__setattr__(op, "maps", right)


@contextmanager
def wrong_status(name: str, entry: int, level: int | None) -> Iterator[None]:
    """One status condition of a row at another level, or gone (None)."""
    op = TABLE[name]
    right = op.status
    changed = () if level is None else (replace(right[entry], level=level),)
    object.__setattr__(op, "status", (*right[:entry], *changed, *right[entry + 1:]))
    try:
        yield
    finally:
        object.__setattr__(op, "status", right)
