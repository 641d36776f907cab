"""Tables of quick rows as one test each: an item costs pytest two milliseconds, more than most rows take."""
from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

Test = Callable[..., None]
Row = TypeVar("Row")
MOST = [sys.maxsize]
"""Rows of a table that are run at most: `pytest --rows N`."""
CHOSEN: list[str] = []
"""A name, if one is looked for: tests that have rows with it run these alone, and `pytest -k` finds them by it."""


def spread(rows: Sequence[Row], most: int) -> list[Row]:
    """So many rows at most, evenly spread over a table."""
    count = min(most, len(rows))
    return [rows[i * len(rows) // count] for i in range(count)]


def named(row: Any) -> str:
    """The values of a row, by their names where they have some."""
    return " ".join(str(getattr(x, "name", x)) for x in (row if isinstance(row, tuple) else (row,)))


def each_row(names: str | Sequence[str], rows: Iterable[Any], ids: Callable[[Any], str] = named) -> Callable[[Test], Test]:
    """Like `pytest.mark.parametrize`, but in one test, which runs all rows and reports each that fails.

    Fixtures are set up once for all rows, so a test must leave them as it finds them.
    """
    words = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = list(rows)
    assert table, "a table without rows tests nothing"
    chosen = {name: [row for row in table if name in ids(row)] for name in CHOSEN}
    table = spread([row for found in chosen.values() for row in found] or table, MOST[0])

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            failures = []
            for row in table:
                values = row if len(words) > 1 else [row]
                try:
                    test(**fixtures, **dict(zip(words, values, strict=True)))
                except Exception as error:
                    error.add_note(f"row: {ids(row)}")
                    failures.append(error)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(table)} rows", failures)
        signature = inspect.signature(test)
        others = [p for p in signature.parameters.values() if p.name not in words]
        run.__signature__ = signature.replace(parameters=others)   # type: ignore[attr-defined]
        run.__dict__.update({name: True for name, found in chosen.items() if found})
        return run
    return decorate
