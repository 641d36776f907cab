"""The comparison with gcc: that both sides compute the same numbers; how fast they are is no matter for a test."""
from __future__ import annotations

import shutil

import pytest
from bench_gcc import main

EVERYTHING = """
p = select(x < y and not (x == 2), x*y, -x/y) + max(x, y, 0.7) - min(x, 1) + abs(x - 1)
q = sqrt(x) + exp(-y) + log(x) + atan2(y, x) + x**y + x**3 + tanh(x) + relu(x - 1) + fma(x, y, 0.25) + floor(3*x)
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="compares with gcc")
@pytest.mark.parametrize("options", [["--rows", "4096"], ["--fast-math", "--rows", "64"]])
def test_table(tmp_path, capsys, options):
    path = tmp_path / "everything.ad"
    path.write_text(EVERYTHING)
    assert main([str(path), "--seconds", "0", *options]) == 0
    head, line, end = capsys.readouterr().out.splitlines()
    assert head.split() == ["program", "inputs", "outputs", "equations", "adcli", "gcc", "gcc/adcli", "agree"]
    name, inputs, outputs, _, ours, theirs, ratio, agree = line.split()
    assert (name, inputs, outputs, agree) == ("everything", "2", "6", "100.0%")
    assert float(ratio) == pytest.approx(float(theirs) / float(ours), rel=0.05)
    assert end.startswith("1 programs, worst ")
    assert 5e-324 / 1.0 > 0, "subnormal numbers are gone"
