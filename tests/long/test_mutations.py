"""The part that mutates programs notices a defect."""
from __future__ import annotations

import mutations
import pytest


def test_a_defect_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that fails with a traceback, ends the process' work or says nothing is a finding."""
    def broken(args: list[str]) -> int:
        raise SystemExit(0)
    assert mutations.replay(b"v = x", ("fmt", "-")) is None
    for stand_in in (broken, lambda args: 70, lambda args: 3):
        monkeypatch.setattr(mutations.main, "run", stand_in)
        assert mutations.replay(b"v = x", ("fmt", "-")) is not None
