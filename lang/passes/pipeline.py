"""The passes in order, as flat lists; `check` sees the result of each where it is asked to.

`STAGES` names what `adcli show --stage` can print. `parsed` and `anf` are source trees; the others are Programs. `ranges` is
the program with the range of every index and where it comes from, as comments.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from adcli.lang.derive.derivatives import inputs_to_differentiate, outputs_to_differentiate
from adcli.lang.ir import Program
from adcli.lang.ir.check import checked
from adcli.lang.ir.gc import paused
from adcli.lang.passes import forward, reverse
from adcli.lang.passes.duplicate import duplicate
from adcli.lang.passes.simplify import simplify

Pass = Callable[[Program], Program]


@paused()
def run(program: Program, passes: Sequence[Pass]) -> Program:
    """The program after all passes in turn."""
    for each in passes:
        program = checked(each(program))
    return program


def tangents(program: Program, wrt: Sequence[str] | None = None, of: Sequence[str] | None = None) -> Program:
    """The forward derivative program, as the pass makes it."""
    inputs, outputs = inputs_to_differentiate(program, wrt), outputs_to_differentiate(program, of)
    return run(program, [lambda p: forward.jvp(p, inputs, outputs)])


def adjoints(program: Program, wrt: Sequence[str] | None = None, of: Sequence[str] | None = None) -> Program:
    """The reverse derivative program, as the pass makes it."""
    inputs, outputs = inputs_to_differentiate(program, wrt), outputs_to_differentiate(program, of)
    return run(program, [lambda p: reverse.vjp(p, inputs, outputs)])


STAGES: dict[str, Pass | None] = {
    "parsed": None,
    "anf": None,
    "ssa": lambda program: program,
    "ranges": lambda program: program,
    "dup": lambda program: run(program, [duplicate]),
    "forward": tangents,
    "reverse": adjoints,
    "simplified": lambda program: run(program, [simplify]),
}
