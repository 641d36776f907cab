"""Reports of the points where solvers end, as text, JSON and CSV."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from adcli.lang.ir import LEVELS
from adcli.lang.ir.errors import Note
from adcli.numerics.linear import Vector
from adcli.output.layout import Layout, Row
from adcli.output.numbers import Number, json_number, json_text
from adcli.output.report import csv_text, heading, result_lines
from adcli.solvers.explain_failure import status
from adcli.solvers.vector_function import VectorFunction

NOT_SMOOTH = "not smooth"


class PointReport(ABC):
    """A point in words: the vector `x` of a function, the verdict on it, and what explains a failure."""

    def __init__(self, function: VectorFunction, x: Vector) -> None:
        self.function, self.x = function, x

    @abstractmethod
    def derived(self) -> dict[str, Any]:
        """What follows the inputs that were moved, by name."""

    @abstractmethod
    def comments(self) -> Iterator[str]:
        """The verdict, and what it took."""

    @abstractmethod
    def record(self, number: Number) -> dict[str, Any]:
        """The members of an object, from `at` on."""

    @abstractmethod
    def table(self) -> tuple[list[str], Sequence[Any]]:
        """A header and a row."""

    @cached_property
    def at(self) -> dict[str, Any]:
        """The point with all inputs."""
        return self.function.point(self.x)

    @cached_property
    def smoothness(self) -> tuple[int, Note | None]:
        """The level of the status of the outputs and their gradients at the point, and the note on it."""
        return status(self.function, self.at)

    @property
    def level(self) -> str:
        return LEVELS[max(self.smoothness[0], 0)]


def written(told: Iterable[PointReport], form: str, number: Number, headed: bool = False) -> Iterator[str]:
    """The reports in a format: text, where a comment says which point each is if they are `headed`; JSON, an object a point that
    --at @FILE reads; or CSV, a row a point."""
    for i, one in enumerate(told):
        match form:
            case "json":
                yield json_text({"at": {k: json_value(v, number) for k, v in one.at.items()}, **one.record(number)}) + "\n"
            case "csv":
                names, cells = one.table()
                yield csv_text(*[names] * (i == 0), [number(float(x)) if isinstance(x, float) else x for x in cells])
            case _:
                moved = one.function.unpack(one.x)
                results = {**moved, **one.derived()}
                row = Row({k: v for k, v in one.at.items() if k not in moved}, list(results.values()), 0)
                head = [*[""] * (i > 0), heading(i, row, number)] if headed else []
                lines = result_lines(Layout(None, (), "", {}, tuple(results), ()), row, number, False)
                yield "\n".join([*head, *lines, *(f"# {comment}" for comment in one.comments())]) + "\n"


def json_value(x: Any, number: Number) -> object:
    """A number or a tensor."""
    from adcli.output.tensors import json_tensor
    return json_tensor(np.asarray(x), number) if np.ndim(x) else json_number(float(x), number)
