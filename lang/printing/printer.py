"""A Program as text that reads back to an equal program, at every stage and of every derivative.

Three styles: `anf`, one operation a line; `prefix`, as in the source-to-source worked examples, with the equations of one
derivative line together on one line; `nested`, the formula one would write, where temporaries used once stand inside the
expression that uses them, as long as the line stays readable. A tensor comprehension is one statement in every style.
"""
from __future__ import annotations

from collections.abc import Sequence

from adcli.lang.ir import Program, has_tensors
from adcli.lang.printing.scalar_printer import ScalarWriter

STYLES = ("nested", "anf", "prefix")


def print_program(program: Program, style: str = "nested", header: Sequence[str] = (), explained: bool = False) -> str:
    """The text of a program; `header` lines become comments in front of it, with `explained` ranges of indices too."""
    return "\n".join([*(f"# {line}".rstrip() for line in header), *writer_of(program, style, explained).lines()]) + "\n"


def writer_of(program: Program, style: str, explained: bool = False) -> ScalarWriter:
    """Writer of the statements of a program."""
    if not has_tensors(program):
        return ScalarWriter(program, style)
    from adcli.lang.printing.comprehension_printer import TensorWriter  # only for programs with tensors
    return TensorWriter(program, style, explained)
