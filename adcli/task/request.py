"""Requests and signatures: what is asked of a program, and what goes into its derivative and comes out, as plain data.

A Request has everything that the derivative program depends on, and nothing else. A Signature is the interface of a derivative
without the equations in between: the cache keeps it beside the code, so that a warm run neither parses nor differentiates.
"""
from __future__ import annotations

import json
from typing import NamedTuple

from adcli.codegen.machine import cache
from adcli.lang.ir import Param, Program
from adcli.lang.ir.errors import Note, Source
from adcli.lang.ir.names import Names

NO_TEXT = Source("<program>", "")
"""The text of a request about a program that is there already."""


class Request(NamedTuple):
    """One verb about one program.

    `of` and `wrt` name outputs (for grad also single partial derivatives, 'v:x,x,y') and inputs, None for the default; `order` is
    that of grad, taylor and propagate; `zeros` says whether matrices keep entries that are zero by construction (None: as they
    pay); `correlations` are of pairs of inputs, `moments` of inputs that are not normal, and with `dof` standard uncertainties
    have degrees of freedom; `fast` lets code fuse and reciprocate, and `precision` is that of the code. Matrices of tensors are
    `listed` as entries with their rows and columns.
    """

    verb: str
    source: Source
    of: list[str] | None = None
    wrt: list[str] | None = None
    mode: str = "auto"
    order: int = 1
    fast: bool = False
    zeros: bool | None = None
    scaled: bool = False
    correlations: tuple[tuple[str, str, float], ...] = ()
    moments: tuple[tuple[str, float, float], ...] = ()
    precision: str = "double"
    dof: bool = False
    listed: bool = False

    def key(self) -> str:
        """The name of the cache entry, here and now."""
        asked = json.dumps([getattr(self, name) for name in self._fields if name != "source"])
        wishes = str((self.source.exact_order, self.source.checkpoint, self.source.equations))
        return cache.key([self.source.text, self.source.name, wishes, asked, *cache.surroundings()])


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
