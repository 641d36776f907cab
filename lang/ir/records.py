"""Classes that hold values and little else.

They are dataclasses with slots. The type checker holds that nobody changes one; at run time that would make each of them four
times as long in the making. A run makes some sixty of these classes before it begins, and what takes most of the time in the
making of a class is methods from texts, so one function shows them all.
"""
from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def record(kind: type[T]) -> type[T]:
    """A record that is known by identity, for what a program has a million of."""
    return _shown(dataclass(slots=True, eq=False, repr=False)(kind))


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def plain_record(kind: type[T]) -> type[T]:
    """A record known by identity that may change, and is shown as any object."""
    return dataclass(slots=True, eq=False, repr=False)(kind)


@dataclass_transform(frozen_default=True, eq_default=False, kw_only_default=True, field_specifiers=(field,))
def named_record(kind: type[T]) -> type[T]:
    """A record known by identity whose fields are given by name."""
    return _shown(dataclass(slots=True, eq=False, repr=False, kw_only=True)(kind))


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_record(kind: type[T]) -> type[T]:
    """A record that is equal to any other whose fields are equal, and hashes so."""
    return _shown(dataclass(slots=True, repr=False, unsafe_hash=True)(kind))


def _shown(kind: type[T]) -> type[T]:
    """The class, with the text that a dataclass has unless it brings one."""
    if kind.__repr__ is object.__repr__:
        kind.__repr__ = _text   # type: ignore[method-assign]
    return kind


def _text(record: Any) -> str:
    given = []
    for name, column in record.__dataclass_fields__.items():   # no frame of its own: records stand in records, many deep
        if column.repr:
            given.append(f"{name}={getattr(record, name)!r}")
    return f"{type(record).__qualname__}({', '.join(given)})"


# ---------------------------------------------------------------- long work without the cyclic garbage collector
# Trees and programs hold no cycles, but while millions of their nodes are made the collector walks them again and again:
# at 10⁵ statements that is two thirds of the time of lowering. What has been made then counts as old: otherwise the first
# thing that happens behind the block is a walk over all of it.

MANY = 100_000
"""Objects that were made and are still there, from which on a walk over them takes longer than it is worth."""


@contextmanager
def paused() -> Iterator[None]:
    """Within the block (or the decorated function) no cycles are looked for."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] > MANY and not gc.get_freeze_count():   # what is frozen is not ours to thaw
            gc.freeze()
            gc.unfreeze()
        gc.enable()
