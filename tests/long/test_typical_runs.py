"""What the parts that take things away from a run notice: each way to end badly, and none of the ways to end well."""
from __future__ import annotations

import signal

import pytest
import typical_runs
from typical_runs import OLD, Ended, tried, wrong

WELL = Ended(0, b"v = 1.5\n", "", b"\0whole", ())
RIGHT = [WELL, Ended(2, b"", "adcli: error: too little\n", None, ()), Ended(2, b"v =", "adcli: error: full\n", OLD, ()),
         Ended(-15, b"", "", None, (".r.csv.1-1.part",)), Ended(130, b"", "", OLD, ()),
         Ended(2, b"", "adcli: error: x\n", b"\0whole", ())]
WRONG = [WELL._replace(out=b"v = 1.25\n"), WELL._replace(file=None), WELL._replace(file=b"\0who"), WELL._replace(left=("tmp",)),
         WELL._replace(code=70, err="internal error: x"), Ended(2, b"", "Traceback (most recent call last)", None, ()),
         Ended(2, b"", "", None, ()), Ended(2, b"w", "adcli: error: x\n", None, ()),
         Ended(2, b"", "adcli: error: x\n", b"\0w", ()),
         Ended(-11, b"", "", None, ()), Ended(-15, b"", "", b"\0w", ()), Ended(-15, b"", "", None, ("r.csv",))]


@pytest.fixture(autouse=True)
def _known(monkeypatch):
    monkeypatch.setattr(typical_runs, "expected", lambda name: WELL)
    monkeypatch.setattr(typical_runs, "warm_cache", lambda name: None)


@pytest.mark.parametrize("ended", RIGHT + WRONG, ids=repr)
def test_how_a_run_may_end(ended):
    found = wrong("rows to csv", ended, ended.file == OLD, signals=(signal.SIGTERM, signal.SIGINT))
    assert (found is None) == (ended in RIGHT), found


def test_numbers_may_differ_only_where_that_is_said():
    near = WELL._replace(out=b"v = 1.5000000000000002\n")
    assert wrong("rows to csv", near, False) and wrong("rows to csv", near, False, exact=False) is None


def test_what_is_harmless_must_have_the_answer_and_what_is_left_must_be_whole():
    short = Ended(2, b"", "adcli: error: too little\n", None, ())
    assert tried("rows to csv", True, False, lambda p: short) is None
    assert "refused" in (tried("rows to csv", True, False, lambda p: short, harmless=True) or "")

    def spoils(p):
        p.cache.mkdir()
        (p.cache / ("ab" * 32 + ".adc")).write_bytes(b"half")
        return WELL
    assert "not whole" in (tried("rows to csv", True, False, spoils) or "")
