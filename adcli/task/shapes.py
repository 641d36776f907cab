"""Shapes of values as people read them, and the answers where a program with tensors has no place or is too large."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from adcli.lang.ir import Atom, Program, Values, Var, shape_of
from adcli.lang.ir.affine import shape_text
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import name_table

if TYPE_CHECKING:
    from adcli.lang.evaluate.recording import Unfolded

LIST_WIDTH = 100


def shaped(name: str, atom: Atom) -> str:
    """A(M, N) for a tensor, x for a scalar; integers are told."""
    kind = "int32 " if isinstance(atom, Var) and atom.integer else ""
    return kind + result_shape(name, atom)


def result_shape(name: str, atom: Atom) -> str:
    """Name and shape of a result, whose elements are real."""
    return f"{name}{shape_text(shape_of(atom)) if shape_of(atom) else ''}"


def shape_lines(program: Program) -> list[str]:
    """The shapes of everything in a program: inputs, values on the way, outputs."""
    names, results = name_table(program), {r.atom for r in program.results}
    inner = [o for e in program.equations for o in e.outs if o not in results and o.name]
    return [*listed("inputs", (shaped(p.name, p.var) for p in program.params)),
            *listed("values", (shaped(names[o], o) for o in inner)),
            *listed("outputs", (result_shape(r.name, r.atom) for r in program.results))]


def listed(title: str, items: Iterable[str]) -> Iterator[str]:
    """Items behind a title, over as many lines as they need."""
    at = 0
    placed = []
    for item in items:
        at += len(item) + 2
        placed.append((at // LIST_WIDTH, item))
    for line, group in groupby(placed, key=lambda pair: pair[0]):
        yield f"{title if line == 0 else ' ' * len(title)}{':' if line == 0 else ' '} {', '.join(item for _, item in group)}"


def written_out(program: Program, at: Values, verb: str) -> Unfolded:
    """A program with tensors as one of numbers at a point. AdError where that would be too long."""
    from adcli.lang.evaluate.recording import MOST_OPERATIONS, length, unfolded
    operations = length(program, at)
    if operations > MOST_OPERATIONS:
        raise AdError(f"{verb} writes out every operation on numbers, at most {MOST_OPERATIONS:,}; here there are {operations:,}",
                      help="give smaller tensors: fewer rows of a batch, fewer steps, fewer units")
    return unfolded(program, at)
