"""Layout of results: a point with its results, and the place of each in JSON."""
from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

Path = tuple[str | int, ...]
"""Path of a number in the JSON object of its point; after a number the value is a list."""


class Layout(NamedTuple):
    """Columns of a result: the inputs of the program, its outputs, and what was derived.

    `group` is the member of the JSON object of a point that is there even where nothing was derived, None where a program is
    evaluated as it is. `seeds` says of every seed input whose tangent or cotangent (`kind`) it is; `derived` names each
    derivative and where it stands in the object; `status` is the name of the status where it is to be shown.
    """

    group: str | None
    inputs: tuple[str, ...]
    kind: str
    seeds: dict[str, str]
    values: tuple[str, ...]
    derived: tuple[tuple[str, Path], ...]
    status: str | None = None

    @property
    def results(self) -> list[str]:
        """The results in order."""
        return [*self.values, *(name for name, _ in self.derived)]

    @property
    def names(self) -> list[str]:
        """The results in order, and the status."""
        return [*self.results, *([self.status] if self.status else [])]

    def shaped(self, entries: Sequence[object]) -> dict[str, Any]:
        """One entry a result, as an object of the shape that results have in JSON."""
        count = len(self.values)
        tree: dict[str, Any] = {"value": dict(zip(self.values, entries[:count], strict=True))} if count else {}
        return tree | nested([path for _, path in self.derived], entries[count:])


class Row(NamedTuple):
    """One point with its results: the outputs, then the derivatives, and the status level (-1 where it is not known).

    A result is a float, or an array where it is a tensor; so is an input.
    """

    at: dict[str, Any]
    results: Sequence[Any]
    level: int


def nested(paths: Sequence[Path], values: Sequence[object]) -> dict[str, Any]:
    """The values as an object, each at its path."""
    tree: dict[str, Any] = {}
    for path, x in zip(paths, values, strict=True):
        inner: Any = tree
        for key, following in pairwise(path):
            inner = inner.setdefault(key, [] if isinstance(following, int) else {})
        if isinstance(inner, list):
            inner.append(x)
        else:
            inner[path[-1]] = x
    return tree
