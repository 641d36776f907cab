"""A library with the function that `--emit c` writes: of two arrays, for whatever calls C."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adcli.codegen.machine import veclib
from adcli.codegen.rows.instructions import Instructions
from adcli.codegen.rows.point import function
from adcli.lang.ir import Program
from adcli.lang.ir.precision import Precision
from adcli.lang.passes.pipeline import Pass


@dataclass(frozen=True, slots=True)
class LibraryModule:
    """LLVM IR that defines the functions `exports` and no other that can be seen; `calling` says in the terms of C how they are
    called, and `length` how much work it is for LLVM."""

    text: str
    exports: tuple[str, ...]
    calling: tuple[str, ...]
    length: int


def module(program: Program, name: str, prepared: Pass, fast: bool, visible: str, precision: Precision,
           flushing: str) -> LibraryModule:
    """The function of a program; `prepared` is the program as code is made from it, `visible` how LLVM is told that others can
    call it. On the architecture `flushing` numbers below the least normal one are 0."""
    instructions = Instructions(1, veclib.NO_LIBRARY, fast, precision, flushing)
    made = function(prepared(program), name, instructions, visible)
    calling = (f"call: {made.head}; it returns 0",
               "in[i] is input i, out[j] output j, counted from 0 in the order above; the arrays do not overlap",
               *([f"work: {made.work} {made.type}s that no other call uses meanwhile"] if made.work else []))
    return LibraryModule(text([*instructions.declarations(), *made.lines]), (made.name,), calling, made.length)


def text(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"
