"""Columns as files by polars, and its faults."""
from __future__ import annotations

import errno
import io

import numpy as np
import polars as pl
import pytest

from adcli.output import frames


def test_columns_are_a_parquet_file():
    out = io.BytesIO()
    frames.write_frame(out, {"x": np.array([1.0, 2.0]), "status": ["smooth", "kink"]})
    found = pl.read_parquet(io.BytesIO(out.getvalue()))
    assert found.to_dict(as_series=False) == {"x": [1.0, 2.0], "status": ["smooth", "kink"]}


def test_a_fault_of_the_system_that_polars_has_made_a_text_of_is_one():
    with pytest.raises(OSError, match="No space left") as fault, frames.faults_kept(io.BytesIO()):
        raise pl.exceptions.ComputeError("No space left on device (os error 28)")
    assert fault.value.errno == errno.ENOSPC
