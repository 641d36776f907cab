"""Long programs in parts: which equations stand together, and what passes between them.

Instruction selection is quadratic in the length of a basic block, so a long program becomes functions of bounded length
that pass values through a workspace. A value that a later part reads has a slot there from the part that defines it to
the last part that reads it; then the slot is free for another value. Inputs need no slot: each part reads its own.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from adcli.lang.ir import Atom, Equation, Program, Result, Var

PART_SIZE = 1000
"""Equations a part has at most."""
LARGEST_STACK = 256 << 10
"""Bytes of the largest workspace that a function of C has of its own, in text and as code."""


@dataclass(slots=True, eq=False, repr=False)
class ProgramPart:
    """Consecutive equations; `params` and `results` are positions in the program, slots positions in the workspace."""

    equations: Sequence[Equation]
    params: list[int] = field(default_factory=list)
    loads: list[tuple[Var, int]] = field(default_factory=list)
    stores: list[tuple[Var, int]] = field(default_factory=list)
    results: list[tuple[int, Atom]] = field(default_factory=list)


def alone(program: Program, part: ProgramPart) -> Program:
    """A part as a program, whose results are what later parts read and the results that are its own."""
    kept = [Result("", atom) for atom in (*[var for var, _ in part.stores], *[atom for _, atom in part.results])]
    return replace(program, equations=tuple(part.equations), results=tuple(kept))


def cut(program: Program, size: int = PART_SIZE, without: Set[int] = frozenset()) -> tuple[list[ProgramPart], int]:
    """The parts of a program in order, of nearly equal length, and the number of slots of the workspace; `without` are positions
    of results that no part has."""
    count = max(1, -(-len(program.equations) // size))
    length = max(1, -(-len(program.equations) // count))
    parts = [ProgramPart(program.equations[k * length:(k + 1) * length]) for k in range(count)]
    wanted = {r.atom for r in program.results}
    home: dict[Atom, int] = {
        out: k for k, part in enumerate(parts) for e in part.equations for out in e.outs if out in wanted}
    place(program, parts, home, size, without)
    return parts, allocate(parts, {p.var: i for i, p in enumerate(program.params)})


def place(program: Program, parts: list[ProgramPart], home: Mapping[Atom, int], size: int, without: Set[int]) -> None:
    """Each result to the part that defines it, `home`; constants and inputs `size` a part, the first parts first."""
    outside = 0
    for i, result in enumerate(program.results):
        if i in without:
            continue
        k = home.get(result.atom)
        if k is None:
            k, outside = outside // size, outside + 1
            if k == len(parts):
                parts.append(ProgramPart(()))
        parts[k].results.append((i, result.atom))


def allocate(parts: list[ProgramPart], position: dict[Var, int]) -> int:
    """Fill in what each part loads and stores; `position` is that of the inputs. The number of slots used."""
    incoming = [reads(part) for part in parts]
    last = {v: k for k, values in enumerate(incoming) for v in values}
    slot: dict[Var, int] = {}
    free: list[int] = []
    slots = 0
    for k, (part, values) in enumerate(zip(parts, incoming, strict=True)):
        part.params = sorted(position[v] for v in values if v in position)
        part.loads = [(v, slot[v]) for v in values if v not in position]
        for out in (out for e in part.equations for out in e.outs if out in last):
            if not free:
                free.append(slots)
                slots += 1
            slot[out] = free.pop()
            part.stores.append((out, slot[out]))
        free.extend(s for v, s in reversed(part.loads) if last[v] == k)
    return slots


def reads(part: ProgramPart) -> list[Var]:
    """Every Var that a part reads and does not define, once, in order of first use."""
    atoms = [a for e in part.equations for a in e.args] + [atom for _, atom in part.results]
    own = {out for e in part.equations for out in e.outs}
    return list(dict.fromkeys(a for a in atoms if isinstance(a, Var) and a not in own))
