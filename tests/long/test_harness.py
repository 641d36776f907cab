"""The long run itself: it notices what is told, what crashes and what hangs, and goes on behind it; findings can be replayed."""
from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import harness
import pytest
from places import ROOT

PLANTED = """
import os, time
from collections import Counter
from harness import Finding, announce
ABOUT = "planted"
def run(r, until, tell):
    tried = Counter()
    while time.monotonic() < until:
        number = r.randrange(10**6)
        announce(b"\\xff%d" % number, ("a command",), tried)
        tried["numbers"] += 1
        tell(Finding("planted", 0, f"wrong by {number}", "input", ("a command",)))
        if tried["numbers"] == 10:
            announce(b"\\xffdeath", ("another",), tried)
            {ending}
    return tried
"""


def long_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> harness.Run:
    (tmp_path / "planted.py").write_text(PLANTED.replace("{ending}", ending))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    made = harness.Run(["planted"], 5, 1.0, tmp_path / "saved")
    made.rows["planted"].tried.update(made.process("planted", time.monotonic() + 60, 0))
    return made


@pytest.mark.parametrize("ending, what", [("os.abort()", "died with -6"), ("time.sleep(60)", "no answer")])
def test_what_is_told_and_what_kills_the_process_are_findings(tmp_path, monkeypatch, ending, what):
    monkeypatch.setattr(harness, "LIMIT", 1.0)
    made = long_run(tmp_path, monkeypatch, ending)
    row = made.rows["planted"]
    assert row.found["wrong by #"] == 10 == row.tried["numbers"]
    assert "planted" in made.table() and str(row.found.total()) in made.table()
    saved = [harness.read_finding(path) for path in (tmp_path / "saved").iterdir()]
    assert {f.input for f in saved} == {b"input", b"\xffdeath"}
    [death] = [f for f in saved if f.input == b"\xffdeath"]
    assert what in death.what and death.command == ("another",) and death.seed == 5


def test_a_finding_is_read_as_it_was_written(tmp_path):
    found = harness.Finding("mutations", 3, "bad", bytes(range(256)) + b"\n\n", ("fmt", "-", "é\udcff"))
    (tmp_path / "x").write_bytes(found.text())
    assert harness.read_finding(tmp_path / "x") == found


@pytest.mark.parametrize("name", harness.part_names())
def test_every_part_says_what_it_tries(name):
    part = harness.part(name)
    assert part.ABOUT == part.ABOUT.strip() != "" and "\n" not in part.ABOUT
    assert callable(part.run) and part.__doc__


@pytest.mark.parametrize("path", sorted(harness.FINDINGS.glob("*-*")), ids=lambda p: p.name)
def test_a_finding_of_old_is_none_today(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert harness.replayed(path) is None


def test_the_command_names_an_unknown_part() -> None:
    got = subprocess.run([sys.executable, str(ROOT / "tests/long/run"), "nothing"], capture_output=True, text=True, check=False)
    assert got.returncode == 2 and "no part 'nothing'; there are" in got.stderr
    assert all(name in got.stderr for name in harness.part_names())
