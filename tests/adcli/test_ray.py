"""The adapter of Ray Data, with two workers that are processes of their own."""
from __future__ import annotations

import engines
import pytest
from documents import as_shown, fenced, imported, text
from engines import package
from places import WORKED

import adcli

pytestmark = pytest.mark.engine
X = [None if i % 7 == 3 else float(i) for i in range(100)]
Y = [i % 5 + 1 for i in range(100)]


@pytest.fixture(scope="module")
def ray():
    return engines.ray()


@pytest.fixture(scope="module")
def data(ray):
    pa = package("pyarrow")
    table = pa.table({"x": pa.array(X, "float64"), "y": pa.array(Y, "int16")})
    return ray.data.from_arrow([table.slice(0, 30), table.slice(30, 0), table.slice(30)])


def test_rows_with_their_results(data):
    g = adcli.load(WORKED).grad()
    made = data.map_batches(adcli.ray.mapper(g, on_error="null"), batch_format="pyarrow", batch_size=8).take_all()
    found = {(row["x"], row["y"], row["v"], row["dv_dx"], row["dv_dy"]) for row in made}
    assert len(made) == 100
    assert found == {(x, y, *((None,) * 3 if x is None else g(x=x, y=y).values())) for x, y in zip(X, Y, strict=True)}


def test_a_bad_row_reaches_the_user(data, ray):
    with pytest.raises(ray.exceptions.RayTaskError, match="of the table, counted from 0: column 'x' is null"):
        data.map_batches(adcli.ray.mapper(WORKED), batch_format="pyarrow").take_all()
    with pytest.raises(ray.exceptions.RayTaskError, match="no column 'z'"):
        data.map_batches(adcli.ray.mapper("v = x*z"), batch_format="pyarrow").take_all()


def test_sums_merge_to_the_bits_of_one_machine(data):
    pa = package("pyarrow")
    s = adcli.load(WORKED).grad().arrow_sum(group_by="y", on_error="skip")
    states = data.map_batches(adcli.ray.mapper(s), batch_format="pyarrow", batch_size=16).take_all()
    whole = s.batch(pa.table({"x": pa.array(X, "float64"), "y": pa.array(Y, "int16")}))
    assert s.merge([row["state"] for row in states]).equals(whole)


@pytest.mark.usefixtures("ray")
def test_the_example_of_the_manual():
    (block,) = (block for block in fenced(text("engines"), "python") if "ray" in imported(block))
    as_shown(block)
