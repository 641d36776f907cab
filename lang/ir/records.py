"""Classes that hold values and little else.

They are dataclasses with slots. The type checker holds that nobody changes one; at run time that would make each of them four
times as long in the making. A run makes some sixty of these classes before it begins, and what takes most of the time in the
making of a class is methods from texts, so one function shows them all.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def record(kind: type[T]) -> type[T]:
    """A record that is known by identity, for what a program has a million of."""
    return _shown(dataclass(slots=True, eq=False, repr=False)(kind))


@dataclass_transform(frozen_default=True, eq_default=False, kw_only_default=True, field_specifiers=(field,))
def named_record(kind: type[T]) -> type[T]:
    """The same, where every field is given by its name."""
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
