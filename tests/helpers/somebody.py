"""Somebody's derivatives of one program, and what check has to say of them."""
from __future__ import annotations

import functools
import subprocess

import pytest
from adcli.lang.lower.frontend import parse
from c_programs import CC

from adcli.check.against import Against
from adcli.check.foreign import foreign
from adcli.check.points import Check, drawn_points

needs_c = pytest.mark.skipif(CC is None, reason="no C compiler")
TEXT = "input x in [1, 2], y in [1, 2]\nv = x*sin(y) + 3*x/y\n"
"""The program whose derivatives somebody wrote by hand; C, Python and awk spell them alike."""
VALUE, BY_X, BY_Y = "x*sin(y) + 3*x/y", "sin(y) + 3/y", "x*cos(y) - 3*x/(y*y)"


@functools.cache
def looked_at(text=TEXT, samples=4, seed=0):
    """A program with what check sees of it."""
    program = parse(text)
    check = Check(program, [p.name for p in program.params if p.active], seed)
    points, _ = drawn_points(check, samples, seed)
    return check.subject, check.subject.see(points)


def held(what, text=TEXT, symbol=None, returns=None, seconds=20.0, names=(), samples=4):
    """The method alone, with what it has to say of its worst entry."""
    against = Against(foreign(str(what), names, symbol, seconds), returns)
    return asked(against, *looked_at(text, samples))


def asked(against, subject, seen):
    """The method after a run."""
    against.ask(subject.primal, subject.wrt, [s.at for s in seen], arrays=False)
    against.run(subject, seen)
    return against


def compiled(folder, text, name="f"):
    """C as a shared library."""
    file, library = folder / f"{name}.c", folder / f"lib{name}.so"
    file.write_text(text)
    subprocess.run([str(CC), "-shared", "-fPIC", "-O0", "-ffp-contract=off", "-w", file, "-o", library, "-lm"], check=True)
    return library
