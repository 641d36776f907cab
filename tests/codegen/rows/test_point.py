"""Functions of two arrays: the bits of code on rows, for one point and in parts."""
from __future__ import annotations

import pytest
from adcli.codegen.machine import veclib
from adcli.codegen.rows import llvm, point
from adcli.codegen.rows.instructions import Instructions
from libraries import LD
from native_programs import long_program

pytestmark = pytest.mark.skipif(LD is None, reason="no ld")


def test_a_long_program_takes_its_array_from_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    program, instructions = long_program(300), Instructions(1, veclib.NO_LIBRARY)
    monkeypatch.setattr(point, "ONE_PART", 50)
    monkeypatch.setattr(point, "PART_SIZE", 50)
    own = point.function(program, "f", instructions)
    assert (own.name, own.work, own.head) == ("f", 0, "int f(const double *restrict in, double *restrict out)")
    monkeypatch.setattr(point, "LARGEST_STACK", 8)
    given = point.function(program, "f", instructions)
    assert given.name == "f_work"
    assert given.work > 1
    assert given.head == "int f_work(const double *restrict in, double *restrict out, double *restrict work)"
    assert point.function(program, "f", instructions, own=False).name == "f"
    assert llvm.quoted("f") == "f"

