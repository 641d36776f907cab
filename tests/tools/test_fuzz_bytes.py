"""The byte fuzzer: a small run of it, and that it notices a defect."""
from __future__ import annotations

import fuzz_bytes
import pytest


def test_mutated_files_are_answered(tmp_path: pytest.TempPathFactory) -> None:
    assert list(fuzz_bytes.fuzz(1000, 7)) == []


def test_the_byte_fuzzer_notices_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that fails with a traceback, ends the process' work or says nothing is a finding."""
    def broken(args: list[str]) -> int:
        raise SystemExit(0)
    assert fuzz_bytes.fault(b"v = x", ["fmt", "-"]) is None
    for stand_in in (broken, lambda args: 70, lambda args: 3):
        monkeypatch.setattr(fuzz_bytes.main, "run", stand_in)
        assert fuzz_bytes.fault(b"v = x", ["fmt", "-"]) is not None
