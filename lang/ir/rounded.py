"""Constants that remember the real number they were rounded from.

A constant of a program is a double, and in exact arithmetic it stands for itself. Two kinds are not what they say: those of
the rules, such as ln 2 in the derivative of exp2, and those that simplification folded, such as 1/3. Each is a `Rounded`: a
double for every machine, with its `meaning` for arithmetics that know better (multiple precision, intervals). Without it,
no derivative of exp2 could be known to more digits than a double has.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Meaning = float | tuple[Any, ...]
"""A double, or the name of a primitive with the meanings of its arguments."""

MOST_ROUNDED_OPERATIONS = 32
"""Operations in a meaning; a constant that would need more is not folded."""


class Rounded(float):
    """The double nearest to what `meaning` says, or what double arithmetic makes of it; `size` counts its operations."""

    __slots__ = ("meaning", "size")
    meaning: tuple[Any, ...]
    size: int

    def __new__(cls, value: float, meaning: tuple[Any, ...] = (), size: int = 1) -> Rounded:
        self = super().__new__(cls, value)
        self.meaning, self.size = meaning, size
        return self

    def __neg__(self) -> Rounded:
        return Rounded(-float(self), ("neg", self.meaning), self.size + 1)


class Named(float):
    """A constant that is written by its name."""

    __slots__ = ("name",)
    name: str

    def __new__(cls, value: float, name: str = "") -> Named:
        self = super().__new__(cls, value)
        self.name = name
        return self

    def __repr__(self) -> str:
        return self.name


def meaning(value: float) -> Meaning:
    return value.meaning if type(value) is Rounded else value


def folded(op: str, value: float, args: tuple[float, ...]) -> float | None:
    """`value`, which double arithmetic makes of op(args), with its meaning where that is another number; None where the
    meaning would be too large."""
    if op == "stop":
        return args[0]
    if all(type(x) is not Rounded for x in args) and _exact(op, value, args):
        return value
    size = 1 + sum(x.size for x in args if type(x) is Rounded)
    return Rounded(value, (op, *map(meaning, args)), size) if size <= MOST_ROUNDED_OPERATIONS else None


def _exact(op: str, value: float, args: tuple[float, ...]) -> bool:
    """Whether double arithmetic rounded nothing; infinities and NaN are what they are."""
    if op == "abs" or not all(map(math.isfinite, args)):
        return True
    if not math.isfinite(value):
        return False
    (n, d), (p, q), *rest = [x.as_integer_ratio() for x in (value, *args)]
    match op:
        case "sqrt":
            return n * n * q == p * d * d
        case "add" | "sub":
            r, s = rest[0]
            return n * q * s == d * (p * s + (r * q if op == "add" else -r * q))
        case "mul":
            r, s = rest[0]
            return n * q * s == d * p * r
        case "div":
            r, s = rest[0]
            return n * q * r == d * p * s
    return False


def meant(value: Meaning, functions: Mapping[str, Callable[..., Any]], constant: Callable[[float], Any]) -> Any:
    """The real number a constant stands for, in an arithmetic of these primitives."""
    if type(value) is Rounded:
        value = value.meaning
    if isinstance(value, tuple):
        return functions[value[0]](*[meant(x, functions, constant) for x in value[1:]])
    return constant(value)
