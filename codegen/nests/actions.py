"""What a call does, as plain data: a plan's actions name places in memory by numbers.

A number from 0 on is the cell of `env` with the address of a value; one below 0 is what checkpoints keep.
"""
from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

Place = tuple[Hashable, int]
"""A name of memory with an offset in bytes."""


class Stretch(NamedTuple):
    """Steps `first` to `last`; these `cells` are set before."""

    first: int
    last: int
    cells: tuple[tuple[int, int], ...] = ()


class Move(NamedTuple):
    """Bytes of a block of memory from one place to another."""

    target: Place
    source: Place
    bytes: int


class Fill(NamedTuple):
    """Elements with what those are that nothing writes."""

    place: Place
    elements: int
    value: float


class Base(NamedTuple):
    """The address of a tensor in `env`."""

    tensor: Hashable
    offset: int


CallAction = Stretch | Move | Fill | Base


def joined(actions: Sequence[CallAction]) -> list[CallAction]:
    """Neighbours that compiled code runs as one."""
    found: list[CallAction] = []
    for x in actions:
        before = found[-1] if found else None
        if isinstance(x, Stretch) and isinstance(before, Stretch) and x.first == before.last:
            found[-1] = Stretch(before.first, x.last, before.cells + x.cells)
        else:
            found.append(x)
    return found


def numbered(action: CallAction, numbers: Mapping[Hashable, int]) -> CallAction:
    """The action with numbers for names."""
    match action:
        case Move((target, at), (source, begin), size):
            return Move((numbers[target], at), (numbers[source], begin), size)
        case Fill((name, at), elements, value):
            return Fill((numbers[name], at), elements, value)
        case Base(tensor, offset):
            return Base(numbers[tensor], offset)
    return action
