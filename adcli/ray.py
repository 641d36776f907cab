"""adcli in Ray Data: results for the rows of a data set, by map_batches.

    ds.map_batches(adcli.ray.mapper(f.grad()), batch_format="pyarrow")

Every worker needs adcli and pyarrow.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adcli.lang.ir.errors import missing

try:
    import pyarrow as pa
except ModuleNotFoundError:
    raise missing("adcli.ray", "pyarrow") from None

from adcli.api.engines import ForBatches, Given, batches_of

__all__ = ["mapper"]


def mapper(program: Given | ForBatches, **options: Any) -> Callable[[pa.Table], pa.Table]:
    """The function for map_batches with batch_format="pyarrow"; the options are those of `f.arrow()`. For what `f.arrow_sum()`
    has made, it gives a state for each batch."""
    return batches_of(program, **options).table
