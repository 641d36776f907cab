"""How much memory there is, and how that is said."""
from __future__ import annotations

import builtins
from typing import Any

import pytest
from adcli.codegen.machine.memory import amount, available


def test_amounts_in_the_largest_unit_that_has_digits_enough() -> None:
    assert [amount(n) for n in (0, 9_999, 10_000, 90_000_000, 1 << 40, 1 << 50)] == \
        ["0 bytes", "9999 bytes", "9 KiB", "85 MiB", "1024 GiB", "1048576 GiB"]


def test_a_system_that_does_not_say_has_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 < available() < 1 << 62

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise FileNotFoundError
    monkeypatch.setattr(builtins, "open", refuse)
    found = available()
    monkeypatch.undo()
    assert found == 1 << 62
