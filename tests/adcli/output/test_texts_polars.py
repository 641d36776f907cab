"""Numbers as text by polars: what `repr` gives, in columns and between pieces of text."""
from __future__ import annotations

import errno
import io
import math

import numpy as np
import polars as pl
import pytest

from adcli.output import texts_polars
from adcli.output.numbers import number_format

EDGES = [1e-4, math.nextafter(1e-4, 0), 1e16, math.nextafter(1e16, 0), 9999999999999998.0, 5e-324, 0.0, 1.0, 123.456, 1e15]
VALUES = [s * x for x in EDGES for s in (1.0, -1.0)] + [math.nan, math.inf, -math.inf]


@pytest.mark.parametrize("values",
                         [[1.0, 2.5], [1.0, 1e300], [1e300], [], VALUES, *[[x] for x in VALUES],
                          *[[0.5, x, 2.0] for x in VALUES]], ids=str)
def test_texts_are_those_of_repr(values):
    assert texts_polars.number_texts(values) == list(map(repr, values))
    lines = texts_polars.filled(["a ", " b"], [texts_polars.texts(np.array(values))])
    assert lines.decode() == "".join(f"a {x!r} b\n" for x in values)


def test_other_texts_stand_where_repr_would():
    """What is beyond polars' range is written by the function that is given, all else is the same as shortest."""
    found = texts_polars.texts(np.array([1e300, 2.0, math.nan]), number_format("%.1e", False))
    assert found.to_list() == ["1.0e+300", "2.0", "nan"]


def test_columns_stand_side_by_side_and_between_pieces():
    columns = [texts_polars.texts(np.array([1.0, -0.0])), texts_polars.words(["a,b", '"q"']), texts_polars.words(["", "é"])]
    assert texts_polars.separated(columns, "\t").decode() == '1.0\ta,b\t\n-0.0\t"q"\té\n'
    assert texts_polars.separated(columns[:1], ",") == b"1.0\n-0.0\n"
    assert texts_polars.filled(["{", ", ", " %s ", "}"], columns).decode() == '{1.0, a,b %s }\n{-0.0, "q" %s é}\n'


def test_columns_are_a_parquet_file():
    out = io.BytesIO()
    texts_polars.write_frame(out, {"x": np.array([1.0, 2.0]), "status": ["smooth", "kink"]})
    found = pl.read_parquet(io.BytesIO(out.getvalue()))
    assert found.to_dict(as_series=False) == {"x": [1.0, 2.0], "status": ["smooth", "kink"]}


def test_a_fault_of_the_system_that_polars_has_made_a_text_of_names_the_file():
    with pytest.raises(OSError, match="No space left") as fault, texts_polars.faults_kept(io.BytesIO(), "a.parquet"):
        raise pl.exceptions.ComputeError("No space left on device (os error 28)")
    assert (fault.value.errno, fault.value.filename) == (errno.ENOSPC, "a.parquet")
