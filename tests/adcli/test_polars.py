"""The adapter of polars: columns of the right values by every way that polars computes them."""
from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from engines import package
from places import ROOT, WORKED

import adcli

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def pl():
    package("pyarrow")
    return package("polars")


@pytest.fixture(scope="module")
def frame(pl):
    draw = np.random.default_rng(5)
    x = [None if i % 7 == 3 else x for i, x in enumerate(draw.normal(size=3000).tolist())]
    return pl.DataFrame({"x": x, "y": draw.integers(1, 99, 3000), "g": ["a", "b", "c"] * 1000})


def columns(frame, f):
    """What the function itself gives, null where an input is."""
    given = frame.drop_nulls()
    found = f(x=given["x"].to_numpy(), y=given["y"].to_numpy())
    values = iter(zip(*(x.tolist() for x in found.values()), strict=True))
    return [None if x is None else next(values) for x in frame["x"]]


def rows(frame, names):
    return [None if row[0] is None else row for row in frame.select(names).rows()]


@pytest.mark.parametrize("verb", ["eval", "grad", "jacobian", "hessian"])
def test_an_expression_gives_the_bits_of_the_function(verb, frame):
    f = adcli.load(WORKED) if verb == "eval" else getattr(adcli.load(WORKED), verb)()
    expression = getattr(adcli.polars, verb)(WORKED)
    wanted = columns(frame, f)
    for made in (frame.with_columns(expression), frame.lazy().with_columns(expression).collect(),
                 frame.lazy().with_columns(expression).collect(engine="streaming")):
        assert made.columns == ["x", "y", "g", *f.outputs]
        assert rows(made, f.outputs) == wanted


def test_directions_and_other_options_are_those_of_the_method(frame, pl):
    made = frame.select(adcli.polars.jvp("v = x*y", wrt="x", at={"dx": pl.lit(2.0)}))
    assert rows(made, ["v", "dv"]) == [None if x is None else (x * y, 2.0 * y) for x, y, _ in frame.rows()]
    assert frame.select(adcli.polars.grad("v = x*y", "y", order=2)).columns == ["v", "dv_dy", "d2v_dy_dy"]
    assert frame.select(adcli.polars.taylor("v = x*y", 1, at={"dx": 1.0, "dy": 0.0})).columns == ["v_0", "v_1"]


def test_a_schema_is_known_without_data(frame, pl):
    lazy = frame.lazy().with_columns(adcli.polars.grad("v = x*y", status=True))
    assert dict(list(lazy.collect_schema().items())[3:]) == {"v": pl.Float64, "dv_dx": pl.Float64, "dv_dy": pl.Float64,
                                                             "status": pl.String}


def test_in_groups_and_windows(frame, pl):
    grad = adcli.polars.grad("v = x*y", wrt="x")
    want = {g: part["y"].filter(part["x"].is_not_null()).sum() for (g,), part in frame.group_by("g")}
    found = frame.group_by("g").agg(grad.sum())
    assert dict(found.select("g", "dv_dx").rows()) == want
    assert [want[g] for g in frame["g"]] == frame.select(grad.sum().over("g"))["dv_dx"].to_list()


def test_inputs_by_expressions_fixed_and_by_default(frame, pl):
    program = "input x, y, k = 2; v = k*x + y"
    one, two = frame.head(2).select("x", "y").rows()
    assert frame.head(2).select(adcli.polars.eval(program))["v"].to_list() == [2 * x + y for x, y in (one, two)]
    assert frame.head(2).select(adcli.polars.eval(program, at={"k": 3}))["v"].to_list() == [3 * x + y for x, y in (one, two)]
    assert frame.head(2).select(adcli.polars.eval(program, at={"k": pl.col("y") + 1}))["v"].to_list() == [
        (y + 1) * x + y for x, y in (one, two)]
    with_k = frame.head(2).with_columns(k=pl.Series([5, 6]))
    assert with_k.select(adcli.polars.eval(program))["v"].to_list() == [5 * one[0] + one[1], 6 * two[0] + two[1]]


def test_lists_are_tensors(pl):
    made = pl.DataFrame({"A": [[[1, 2], [3, 4]], None], "B": [[1, 1], [1, 1]]}).with_columns(
        adcli.polars.vjp(ROOT / "samples/matrix_vector.ad", at={"d_dC": [1.0, 0.0]}))
    assert made["C"].to_list() == [[3.0, 7.0], None]
    assert made["d_dA"].to_list() == [[[1.0, 1.0], [0.0, 0.0]], None]


def test_frames_without_rows(frame):
    assert frame.clear().with_columns(adcli.polars.grad(WORKED)).columns == ["x", "y", "g", "v", "dv_dx", "dv_dy"]


@pytest.mark.parametrize("expression, error, message", [
    (lambda: adcli.polars.grad("v = x*g"), ValueError, "column 'g' must be numbers, not large_string\n"),
    (lambda: adcli.polars.grad("v = x*y", on_error="stop"), ValueError,
     r"row 3 of the batch, counted from 0: column 'x' is null\nhelp"),
    (lambda: adcli.polars.grad("v = tahn(x)"), adcli.AdError, "did you mean 'tanh'"),
    (lambda: adcli.polars.grad("v = x", on_error="skip"), adcli.AdError, "an expression leaves no row out"),
    (lambda: adcli.polars.eval("input k = 1; v = k"), adcli.AdError, "no input of the program is a column"),
    (lambda: adcli.polars.eval("v = x", at={"z": __import__("polars").col("y")}), adcli.AdError, "no input 'z'")])
def test_faults_are_readable(expression, error, message, frame):
    with pytest.raises(error, match=message):
        frame.with_columns(expression())


def test_adcli_imports_no_engine():
    """Neither alone, nor with one adapter those of others, nor pandas, which pyarrow imports for some conversions."""
    code = ("import sys, adcli; assert not {'polars', 'numpy', 'pyarrow'} & set(sys.modules); adcli.polars.grad('v = x');"
            " import polars; polars.DataFrame({'x': [1, None]}).with_columns(adcli.polars.grad('v = x'));"
            " assert not {'duckdb', 'ray', 'pyspark', 'pandas'} & set(sys.modules)")
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
