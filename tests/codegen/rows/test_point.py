"""Functions of two arrays: the bits of code on rows, for one point and in parts."""
from __future__ import annotations

import ctypes
import pathlib

import pytest
from adcli.codegen.library.code import linked
from adcli.codegen.machine import veclib
from adcli.codegen.rows import jit, llvm, point
from adcli.codegen.rows.expand import for_machine
from adcli.codegen.rows.instructions import Instructions
from adcli.lang.derive.derivatives import gradient
from adcli.lang.ir import Program
from adcli.lang.lower.frontend import parse
from back_ends import same
from libraries import LD, called
from native_programs import everything, long_program, native
from random_programs import mixed_points, sample
from session_seed import drawn

pytestmark = pytest.mark.skipif(LD is None, reason="no ld")


def test_random_programs_long_ones_and_every_operation(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    r = drawn("test_random_programs_long_ones_and_every_operation")
    programs: list[Program] = [gradient(parse(sample(r, 16, extreme).text)) for extreme in (False, True) * 6]
    programs += [long_program(60, 1), everything(), parse("a = 1\nb = 2")]
    for size in (4_000, 20):
        monkeypatch.setattr(point, "ONE_PART", size)
        monkeypatch.setattr(point, "PART_SIZE", size)
        instructions = Instructions(1, veclib.NO_LIBRARY)
        made = [point.function(for_machine(p), f"f{k}", instructions) for k, p in enumerate(programs)]
        lines = [line for function in made for line in function.lines]
        names = [function.name for function in made]
        (tmp_path / f"{size}.so").write_bytes(
            linked(jit.object_code("\n".join([*instructions.declarations(), *lines, ""]), jit.baseline()), names, None))
        library = ctypes.CDLL(str(tmp_path / f"{size}.so"))
        for name, program in zip(names, programs, strict=True):
            points = [[at[p.name] for p in program.params] for at in mixed_points(r, program, 4)] if program.params else [[]]
            for at, ours in zip(points, native(for_machine(program), [tuple(at) for at in points], 1), strict=True):
                assert all(map(same, ours, called(library, name, at, len(ours)))), (name, at)


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
