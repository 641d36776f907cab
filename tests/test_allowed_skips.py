"""Skips that are failures where the run says so."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest
from allowed_skips import VARIABLE, refused
from places import ROOT

TEST = """
import pytest

def test_a():
    pytest.skip("no package moon")

def test_b():
    pytest.importorskip("no_such")
"""


def test_a_reason_begins_as_a_line_that_says_why() -> None:
    assert refused(["no package moon", "no package mars", "no package moon"], "# planets\nno package mars: it is far\n") == {
        "no package moon": 2}
    assert refused([], "") == {}
    with pytest.raises(ValueError, match="has no reason"):
        refused([], "no package mars\n")


@pytest.mark.parametrize(("allowed", "code", "workers"), [
    ("no package moon: far\n", 1, "1"), ("no package moon: far\ncould not import 'no_such': new\n", 0, "0"), (None, 0, "0")])
def test_a_run(allowed: str | None, code: int, workers: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST)
    (tmp_path / "conftest.py").write_text("from allowed_skips import pytest_sessionfinish\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "tests" / "helpers")} | ({VARIABLE: "skips"} if allowed is not None else {})
    (tmp_path / "skips").write_text(allowed or "")
    ended = subprocess.run([sys.executable, "-m", "pytest", "-n", workers], cwd=tmp_path, env=env, capture_output=True, text=True,
                           check=False)
    assert ended.returncode == code, ended.stdout
    assert ("1 skipped, and skips does not allow it: could not import 'no_such'" in ended.stdout) == (code == 1)
