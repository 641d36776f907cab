"""What goes into a derivative and comes out of it, without the equations in between: all that an evaluation needs to know.

The cache keeps a Signature beside the compiled code, so that a warm run neither parses nor differentiates.
"""
from __future__ import annotations

from typing import NamedTuple

from adcli.lang.ir import Param, Program
from adcli.lang.ir.errors import Note, Source
from adcli.lang.ir.names import Names


class Column(NamedTuple):
    """A result: its name, the output that it is a derivative `of`, and the inputs it was taken with respect to."""

    name: str
    of: str | None = None
    wrt: tuple[str, ...] = ()


class Signature(NamedTuple):
    """The interface of a derivative.

    `inputs` are those of the derivative program: the program's own, then the seeds. `outputs` are the program's; `results` are
    the derivative's, and begin with the outputs unless the verb replaces them. `tensors`: some value of it is no scalar.
    """

    inputs: tuple[Param, ...]
    outputs: tuple[str, ...]
    results: tuple[Column, ...]
    wrt: tuple[str, ...]
    notes: tuple[Note, ...] = ()
    source: Source | None = None
    tensors: bool = False

    @property
    def own(self) -> tuple[Param, ...]:
        """The inputs without the seeds."""
        return tuple(p for p in self.inputs if not p.seed)

    @property
    def seeds(self) -> tuple[Param, ...]:
        """The inputs that are the tangent of an input or the cotangent of an output."""
        return tuple(p for p in self.inputs if p.seed)

    @property
    def values(self) -> tuple[str, ...]:
        """The outputs, where the results begin with them."""
        return self.outputs if tuple(r.name for r in self.results[:len(self.outputs)]) == self.outputs else ()

    @property
    def derived(self) -> tuple[Column, ...]:
        """The results that are not the outputs themselves."""
        return self.results[len(self.values):]

    def names(self) -> Names:
        """The names that are taken, with fresh ones on request."""
        return Names.among(self.inputs, (r.name for r in self.results))


def columns(program: Program) -> list[Column]:
    """The results of a program as columns."""
    return [Column(r.name, r.of, r.wrt) for r in program.results]
