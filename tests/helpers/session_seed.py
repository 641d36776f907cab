"""What the tests draw: new programs and points in every run, from one seed that pytest says and `--seed N` repeats.

A test that draws asks for `drawn` with words of its own, so that what it draws depends on the seed and on itself alone, whichever
tests run beside it. `tests/conftest.py` sets the seed, and that of every property test.
"""
from __future__ import annotations

import itertools
import os
import random
from collections.abc import Sequence
from typing import Any, TypeVar

Row = TypeVar("Row")
VARIABLE = "ADCLI_TESTS_SEED"
"""Where the seed stands: the processes of a run have it from the first."""
WHOLE = "ADCLI_TESTS_WHOLE"
"""Set where long tables are run wholly: a mutant is judged once."""


def session_seed() -> int:
    return int(os.environ[VARIABLE])


def drawn(*words: object) -> random.Random:
    """A source of random choices for those who say these words."""
    return random.Random("/".join(map(str, (session_seed(), *words))))


def part(rows: Sequence[Row], of: int, bit: int = 0) -> Sequence[Row]:
    """One row in so many of a long table that takes long to run; another run may take others. Where a part is taken of a part,
    each needs a bit of the seed of its own: else some rows are in no run."""
    return rows if WHOLE in os.environ else rows[(session_seed() >> bit) % of::of]


def fewer(count: int, of: int) -> int:
    """How many of so many draws are made: one in `of`, all where whole tables are run."""
    return count if WHOLE in os.environ else max(1, count // of)


def half(rows: Sequence[Row]) -> Sequence[Row]:
    return part(rows, 2)


def each_choice(*tables: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Rows in which every value of every table occurs, as many as the longest table has, instead of all combinations: for
    options that work independently. Another run may combine others."""
    if WHOLE in os.environ:
        return [*itertools.product(*tables)]
    count = max(map(len, tables))
    orders = [drawn("choices", k).sample(range(count), count) for k in range(1, len(tables))]
    return [tuple(table[place % len(table)] for table, place in zip(tables, places, strict=True))
            for places in zip(range(count), *orders, strict=True)]


def fixed(*words: object) -> random.Random:
    """The same choices in every run: for tests that also ask how much of what is drawn can be compared at all, which is a fact
    about the draw and no law."""
    return random.Random("/".join(map(str, words)))
