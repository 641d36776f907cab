"""adcli in Spark: results for the rows of a data frame, by mapInArrow.

    m = f.grad().arrow(on_error="null")
    df.mapInArrow(adcli.spark.mapper(m), adcli.spark.schema(m, df))

Every worker needs adcli and pyarrow, as mapInArrow needs the latter anyway.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from adcli.lang.ir.errors import missing

try:
    import pyarrow as pa
except ModuleNotFoundError:
    raise missing("adcli.spark", "pyarrow") from None

from adcli.api.engines import ForBatches, Given, batches_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["mapper", "schema"]

Batches = Iterator[pa.RecordBatch]


def mapper(program: Given | ForBatches, **options: Any) -> Callable[[Batches], Batches]:
    """The function for mapInArrow; the options are those of `f.arrow()`. For what `f.arrow_sum()` has made, it gives a state for
    each partition."""
    return batches_of(program, **options).each


def schema(program: Given | ForBatches, df: DataFrame, **options: Any) -> StructType:
    """The schema of what the mapper gives for this data frame. AdError where its columns do not fit the program."""
    try:
        from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
    except ModuleNotFoundError:
        raise missing("adcli.spark", "pyspark") from None
    return from_arrow_schema(batches_of(program, **options).mapped_schema(to_arrow_schema(df.schema)))
