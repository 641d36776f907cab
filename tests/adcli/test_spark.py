"""The adapter of Spark, in a local session with two workers that are processes of their own."""
from __future__ import annotations

import engines
import pytest
from documents import as_shown, fenced, imported, text
from engines import package
from places import WORKED

import adcli

pytestmark = pytest.mark.engine
ROWS = [(None if i % 7 == 3 else float(i), i % 5 + 1, f"row {i}") for i in range(100)]


@pytest.fixture(scope="module")
def frame():
    return engines.spark().createDataFrame(ROWS, "x double, y int, id string").repartition(3)


def test_rows_with_their_results(frame):
    g = adcli.load(WORKED).grad()
    m = g.arrow(on_error="null", status=True)
    made = frame.mapInArrow(adcli.spark.mapper(m), adcli.spark.schema(m, frame))
    assert made.columns == ["x", "y", "id", "v", "dv_dx", "dv_dy", "status"]
    nothing = (None,) * 4
    assert {tuple(row) for row in made.collect()} == {
        (x, y, name, *(nothing if x is None else (*g(x=x, y=y).values(), "smooth"))) for x, y, name in ROWS}


def test_partitions_without_rows_and_rows_left_out(frame):
    m = adcli.load(WORKED).grad().arrow(on_error="skip", only=True)
    schema = adcli.spark.schema(m, frame)
    assert frame.where("x < 0").mapInArrow(adcli.spark.mapper(m), schema).collect() == []
    assert frame.mapInArrow(adcli.spark.mapper(m), schema).count() == sum(x is not None for x, *_ in ROWS)


def test_a_bad_row_reaches_the_user(frame):
    m = adcli.load(WORKED).grad().arrow()
    with pytest.raises(Exception, match="of the stream, counted from 0: column 'x' is null"):
        frame.mapInArrow(adcli.spark.mapper(m), adcli.spark.schema(m, frame)).collect()


def test_a_wrong_column_is_refused_before_anything_runs(frame):
    with pytest.raises(adcli.AdError, match="column 'id' must be numbers, not string"):
        adcli.spark.schema("v = x*id", frame)


def test_sums_merge_to_the_bits_of_one_machine(frame):
    s = adcli.load(WORKED).grad().arrow_sum(group_by="y", on_error="skip")
    states = frame.mapInArrow(adcli.spark.mapper(s), adcli.spark.schema(s, frame)).collect()
    assert 1 < len(states) <= 3
    rows = package("pyarrow").RecordBatch.from_pylist([dict(zip(("x", "y"), row, strict=False)) for row in ROWS])
    here = s.finish(s.batch(rows))
    assert s.finish([row.state for row in states]).to_pylist() == here.to_pylist()


@pytest.mark.usefixtures("frame")
def test_the_example_of_the_manual():
    (block,) = (block for block in fenced(text("engines"), "python") if "pyspark" in imported(block))
    as_shown(block)
