"""Columns of polars that hold lists of numbers, as JSON arrays in fields and back."""
from __future__ import annotations

import json
from typing import Any

from adcli.output.frames import pl
from adcli.output.numbers import NON_FINITE


def dimensions(kind: Any) -> int:
    """How deep the lists of a column are nested whose elements are numbers; 0 for any other column."""
    depth = 0
    while isinstance(kind, pl.List | pl.Array):
        depth, kind = depth + 1, kind.inner
    return depth if kind.is_numeric() else 0


def list_text(column: pl.Expr, kind: Any) -> pl.Expr:
    """Lists of numbers as JSON arrays. What is not finite stands bare in them, and a float of less than 64 bits has all digits of
    the double that it is."""
    if isinstance(kind, pl.Array):   # one level of lists, whatever its shape
        return list_text(column.arr.to_list(), pl.List(kind.inner))
    if not isinstance(kind, pl.List):
        return column.cast(pl.Float64).cast(pl.String).str.replace("inf", "Infinity", literal=True) if kind.is_float() else \
            column.cast(pl.String)
    parts = column.list.eval(list_text(pl.element(), kind.inner).fill_null("null")).list.join(",")
    return parts.str.replace("^", "[") + "]"


def from_text(column: pl.Expr, kind: Any) -> pl.Expr:
    """The lists that JSON arrays are, null where a field holds nothing."""
    inner = kind
    while isinstance(inner, pl.List | pl.Array):
        inner = inner.inner
    number = float if inner.is_float() else int

    def lists(texts: pl.Series) -> pl.Series:
        return pl.Series(texts.name, [numbers(json.loads(t, parse_int=number)) if t else None for t in texts], dtype=kind)

    return column.map_batches(lists, return_dtype=kind, is_elementwise=True)


def numbers(x: Any) -> Any:
    """Nested lists with doubles for what JSON has no number for."""
    return [numbers(e) for e in x] if isinstance(x, list) else NON_FINITE.get(x) if isinstance(x, str) else x


def nested(rank: int, real: Any = None) -> Any:
    """The type of a tensor of so many dimensions, of doubles or of other real numbers."""
    return pl.List(nested(rank - 1, real)) if rank else real or pl.Float64()
