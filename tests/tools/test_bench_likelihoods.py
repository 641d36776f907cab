"""The comparison of log densities with stanli: that both sides compute the same numbers; how fast they are is no matter for a
test."""
from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest
from places import ROOT


@pytest.mark.engine
@pytest.mark.skipif(importlib.util.find_spec("stanli") is None, reason="no stanli")
def test_both_sides_have_one_value_and_gradient() -> None:
    """In a process of its own: stanli brings an LLVM, and ends a process that has others, too."""
    ended = subprocess.run([sys.executable, ROOT / "tests" / "tools" / "bench_likelihoods.py", "--seconds", "0"],
                           capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    head, *rows, mean = ended.stdout.splitlines()
    assert head.split() == ["adcli", "stanli", "ratio", "agree"] and mean.startswith("geometric mean") and len(rows) == 11
    assert all(float(row.split()[-1]) < 1e-11 for row in rows)
