"""What the targets write: the same bytes every time, with the header, and nothing of this machine."""
from __future__ import annotations

import pytest
from adcli.codegen.targets import TARGETS, EmitOptions
from native_programs import long_program


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


def test_emit_other_lanes() -> None:
    text = TARGETS["llvm"].emit(long_program(50), [], EmitOptions(lanes=4, name="f"))
    assert "define void @f(" in text
    assert "<4 x double>" in text
