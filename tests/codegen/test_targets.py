"""What the targets write: the same bytes every time, with the header, and nothing of this machine."""
from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from adcli.codegen.emission import EmitOptions
from adcli.codegen.targets import TARGETS
from adcli.lang.lower.frontend import parse
from native_programs import long_program
from places import ROOT
from row_tables import each_row


@pytest.mark.parametrize("name", ["llvm", "asm", "object"])
@pytest.mark.parametrize("length", [10, 3000])
def test_emit(name: str, length: int) -> None:
    program, header = long_program(length), ["made by a test", ""]
    first, second = (TARGETS[name].emit(program, header, EmitOptions()) for _ in range(2))
    assert first == second
    if name == "object":
        assert b"kernel" in first
        return
    assert "made by a test" in first.splitlines()[0]
    assert "_ZGV" not in first
    assert "triple" not in first


def test_a_text_follows_from_the_program() -> None:
    """What is asked of sizes is put together in one order, wherever the indices of a loop lie in memory."""
    text = (ROOT / "tests/programs/models/heat.ad").read_text(encoding="utf-8")
    assert len({TARGETS["c"].emit(parse(text), [], EmitOptions()) for _ in range(4)}) == 1


def test_emit_other_lanes() -> None:
    text = TARGETS["llvm"].emit(long_program(50), [], EmitOptions(lanes=4, name="f"))
    assert "define void @f(" in text
    assert "<4 x double>" in text


PROGRAMS = [
    # program, lanes, the first LLVM that takes it
    ("v = x*y", 1, 15), ("v = x*y", 4, 15), ("v = x*y + 1", 1, 15), ("v = x*y + 1", 4, 18), ("v = max(x, y)", 1, 17),
    ("v = clamp(x, 0, 1)", 1, 17), ("v = min(x, y) * 2", 2, 18), ("v = x > y ? gamma(x) : exp(y)", 1, 15),
]


@each_row("text, lanes, version", PROGRAMS)
def test_llvm_says_which_version_it_needs(text: str, lanes: int, version: int) -> None:
    written = str(TARGETS["llvm"].emit(parse(text), [], EmitOptions(lanes=lanes)))
    assert f"\n; needs LLVM {version} or newer\n" in written
    for there in range(14, 30):   # those that this machine has say the same
        if compiler := shutil.which(f"llc-{there}"):
            ended = subprocess.run([compiler, "-mtriple=x86_64", "-o", os.devnull], input=written.encode(), capture_output=True,
                                   check=False)
            assert (ended.returncode == 0) == (there >= version), (there, ended.stderr)
