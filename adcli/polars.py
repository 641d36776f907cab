"""adcli in polars: results as columns that an expression gives, lazy and streaming.

    import adcli.polars
    df.with_columns(adcli.polars.grad("v = x*sin(y)"))     # appends v, dv_dx and dv_dy

Columns are matched to inputs by name; `at={"x": pl.col("length") / 2, "k": 3.0}` gives an input by an expression or fixes it. An
input with a default is taken from the column of its name where there is one. Null gives null.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol

from adcli.lang.ir.errors import missing as missing_package

try:
    import polars as pl
    import pyarrow as pa
except ModuleNotFoundError as error:
    raise missing_package("adcli.polars", error.name or "polars") from None

from adcli.api.engines import Given, function_of
from adcli.api.function import CALLED
from adcli.batches.batch_function import BatchFunction
from adcli.input.points import unknown_name
from adcli.lang.ir.errors import AdError

__all__ = [*CALLED]   # names, all of them


class Expression(Protocol):
    """A verb: its options are those of the method of Function that has its name, and those of `f.arrow()`."""

    def __call__(self, program: Given, *args: Any, at: Mapping[str, Any] | None = None, on_error: str = "null",
                 missing: str = "error", status: bool = False, **options: Any) -> pl.Expr: ...


def expression(verb: str, program: Given, *args: Any, at: Mapping[str, Any] | None = None, on_error: str = "null",
               missing: str = "error", status: bool = False, **options: Any) -> pl.Expr:
    """The results of a verb, each a column."""
    if on_error == "skip":
        raise AdError("an expression leaves no row out", help="filter the rows first, or take on_error='null'")
    named = {name: x.alias(name) for name, x in (at or {}).items() if isinstance(x, pl.Expr)}
    fixed = {name: x for name, x in (at or {}).items() if name not in named}
    f = function_of(program, verb, *args, **options)
    m = f.arrow(fixed, only=True, on_error=on_error, missing=missing, status=status)
    for name in named.keys() - m.inputs:
        raise unknown_name("input", name, m.inputs)
    columns = [named[p.name] if p.name in named else pl.col(p.name if p.default is None else f"^{re.escape(p.name)}$")
               for p in m.free]
    if all(p.default is not None and p.name not in named for p in m.free):
        raise AdError("no input of the program is a column", help="give one by an expression: at={'x': polars.col('x')}")
    kinds = pl.Struct({f.name: dtype(f.type) for f in m.result_schema})
    return pl.struct(columns).map_batches(partial(results, m), kinds, is_elementwise=True).struct.unnest()


def dtype(kind: pa.DataType) -> pl.DataType:
    """The type that polars gives a column of results."""
    if pa.types.is_list(kind):
        return pl.List(dtype(kind.value_type))
    return pl.String() if pa.types.is_string(kind) else pl.Float64()


def results(m: BatchFunction, inputs: pl.Series) -> pl.Series:
    """The results for a column of structs as one."""
    try:
        found = m.table(inputs.struct.unnest().to_arrow(), "batch")
    except AdError as error:   # polars makes an error of the same type with more text, as only those of Python allow
        raise ValueError(str(error)) from None
    return pl.DataFrame(found).to_struct(inputs.name)


def __getattr__(name: str) -> Expression:
    """A verb of the table of verbs."""
    if name in CALLED:
        return partial(expression, name)
    raise AttributeError(f"module 'adcli.polars' has no attribute '{name}'")
