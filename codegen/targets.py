"""The targets of `--emit`: one line of `TARGETS` and one file each, which is loaded when something is emitted.

An emitter takes a program of any rank, the lines of a header and `EmitOptions`. Emitted files are the same on every machine of an
architecture: one lane, libm's names and the baseline processor, unless asked otherwise.
"""
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adcli.codegen.c.language import Language
    from adcli.codegen.emission import EmitOptions
    from adcli.lang.ir import Program

LANES = (1, 2, 4, 8)
ABIS = ("plain", "casadi")
CODE = ("symbol", "precision", "lanes", "fast_math", "triple", "cpu")
"""Options of code on rows."""


class Target(NamedTuple):
    """The words for a line of help, the emitter as file:function, the options that change what it
    writes, and the file of the language that names the function."""

    help: str
    emitter: str
    options: tuple[str, ...] = CODE
    file: str = "c.spelling"

    def emit(self, program: Program, header: Sequence[str], options: EmitOptions) -> str | bytes:
        written: str | bytes = loaded(self.emitter)(program, header, options)
        return written

    @property
    def language(self) -> Language:
        row: Language = loaded(f"{self.file}:LANGUAGE")
        return row


def loaded(place: str) -> Any:
    file, _, name = place.partition(":")
    return getattr(import_module(f"adcli.codegen.{file}"), name)


TARGETS = {
    "text": Target("the program, readable again", "emission:text", ("style",)),
    "c": Target("a function of C99", "c.files:emit_source", ("symbol", "precision", "main", "fast_math")),
    "header": Target("its header: sizes, names, defaults and the pattern of zeros", "c.files:emit_header",
                     ("symbol", "precision")),
    "js": Target("a module of JavaScript", "scripts.javascript:emit", ("symbol",), "scripts.javascript"),
    "python": Target("a module of Python for NumPy", "scripts.python:emit", ("symbol",), "scripts.python"),
    "matlab": Target("a function of MATLAB and Octave", "scripts.matlab:emit", ("symbol",), "scripts.matlab"),
    "rust": Target("a module of Rust", "scripts.rust:emit", ("symbol",), "scripts.rust"),
    "sympy": Target("a module that builds expressions of SymPy", "scripts.symbolic:emit", ("symbol",), "scripts.symbolic"),
    "latex": Target("equations of LaTeX", "documents.latex:emit", ()),
    "dot": Target("a graph for Graphviz", "documents.graph:emit", ("symbol",)),
    "llvm": Target("verified LLVM IR", "library.code:ir"),
    "asm": Target("assembly", "library.code:assembly"),
    "object": Target("an object file", "library.code:object_file"),
    "library": Target("a shared library", "library.code:library",
                      (*CODE, "abi")),
}
