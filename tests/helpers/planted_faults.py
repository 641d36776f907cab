"""Faults planted on purpose, for the tests that a check catches them: one that catches nothing would pass for ever."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from adcli.lang.analyse import numeric_sweeps
from adcli.lang.ir import Primitive
from adcli.lang.ir.build import When
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations import rule_programs
from adcli.lang.passes import status


@contextmanager
def caught() -> Iterator[None]:
    """The block must fail as a test fails."""
    with pytest.raises(AssertionError):
        yield


@contextmanager
def planted(op: Primitive, column: str, value: Any) -> Iterator[None]:
    """A row of the table with another value in a column; rows are frozen, so this goes around the class."""
    right = getattr(op, column)
    object.__setattr__(op, column, value)
    forget()
    try:
        yield
    finally:
        object.__setattr__(op, column, right)
        forget()


def forget() -> None:
    """What is kept of rules of the table."""
    for forgotten in (numeric_sweeps._map.cache_clear, numeric_sweeps._shared.cache_clear, numeric_sweeps._status.cache_clear,
                      status.possible.cache_clear, *rule_programs.FORGET):
        forgotten()


@contextmanager
def wrong_rule(name: str, position: int, change: Callable[[Any], Any]) -> Iterator[None]:
    """One map of a row of the table replaced by a changed one."""
    op = TABLE[name]
    rule = op.maps[position]
    assert rule is not None

    def wrong(t: Any, *rest: Any) -> Any:
        mapped = rule(t, *rest)
        return When(mapped.condition, change(mapped.value)) if isinstance(mapped, When) else change(mapped)

    with planted(op, "maps", (*op.maps[:position], wrong, *op.maps[position + 1:])):
        yield


@contextmanager
def wrong_status(name: str, entry: int, level: int | None) -> Iterator[None]:
    """One status condition of a row at another level, or gone (None)."""
    op = TABLE[name]
    changed = () if level is None else (replace(op.status[entry], level=level),)
    with planted(op, "status", (*op.status[:entry], *changed, *op.status[entry + 1:])):
        yield
