"""The gate: the commands run, and a planted difference is seen."""
from __future__ import annotations

import pathlib
import re
import sys

import gate
import gate_times
import pytest


def test_a_record_compared_with_itself_and_with_a_planted_difference(tmp_path: pathlib.Path, capsys) -> None:
    only = re.compile(r"^grad samples/worked\.ad --at \S+ --(format|order|status)")
    before, after = tmp_path / "before", tmp_path / "after"
    assert gate.record(before, only, 1, 1) == 8
    text = (before / "grad.txt").read_text("utf-8")
    assert "exit 0\nv = 3920.6\ndv_dx = 5880.0\n" in text
    after.mkdir()
    for old, new, seen in (("5880.0", "5880.0", 0), ("5880.0", "5880.1", 8), ("exit 0", "exit 1", 8)):
        (after / "grad.txt").write_text(text.replace(old, new), "utf-8")
        assert gate.compare(before, after, re.compile(""), 1) == seen
    assert re.search(r"exit code +8\n$", capsys.readouterr().out)


def test_the_list_has_every_verb_and_every_sample() -> None:
    programs, verbs = set(gate.samples()), set()
    assert {path.stem for path in (gate.ROOT / "samples").glob("*.ad")} <= programs
    listed = gate.selected(pathlib.Path("/tmp"), re.compile("^(?!.*wrong)"), 1)
    verbs = {command[0] for command in listed if command}
    assert set(gate.VERBS) <= verbs


def test_times_of_one_version_beside_itself(capsys) -> None:
    gate_times.main([sys.executable, sys.executable, "--only", "emit", "--rounds", "1"])
    _, line, summary = capsys.readouterr().out.splitlines()
    before, after, ratio = map(float, line.removeprefix("emit C").split())
    assert before > 0 and ratio == pytest.approx(after / before, abs=1e-2) and summary.startswith("1 figures")
