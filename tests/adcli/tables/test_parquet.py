"""Parquet in and out: the types that columns have or look like, and files longer than is held at a time."""
from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from adcli.lang.ir.errors import AdError
from command import adcli, succeeds

from adcli.tables import parquet as parquet_tables

TYPES = [
    # fields of a column, its type, its values
    (["1", "-20", "0"], pl.Int64, [1, -20, 0]), (["999999999999999999", "1"], pl.Int64, [10**18 - 1, 1]),
    (["1000000000000000000", "1"], pl.Int64, [10**18, 1]), (["10000000000000000000", "1"], pl.Float64, [1e19, 1.0]),
    (["-0", "1"], pl.Float64, [-0.0, 1.0]), (["007", "1"], pl.String, ["007", "1"]), (["1.50", "2e3"], pl.Float64, [1.5, 2000.0]),
    (["+1", "2"], pl.String, ["+1", "2"]),
    (["1.", "2"], pl.String, ["1.", "2"]), (["a", "1"], pl.String, ["a", "1"]), (["", "1"], pl.Int64, [None, 1]),
    (["", "1.5"], pl.Float64, [None, 1.5]),
    (["nan", "1.5"], pl.String, ["nan", "1.5"]), (["1,5", "2"], pl.String, ["1,5", "2"]),
    (["true", "false"], pl.String, ["true", "false"])]


@pytest.mark.parametrize(("fields", "kind", "values"), TYPES, ids=lambda x: repr(x)[:24])
def test_a_column_has_the_type_that_all_its_fields_have(fields, kind, values, tmp_path):
    rows = "".join(f'{i + 1},"{f}",2\n' if f else f"{i + 1},,2\n" for i, f in enumerate(fields))
    succeeds("eval", "-e", "v = x*y", "--data", "-", "-o", tmp_path / "a.parquet", "--status", stdin=f"x,n,y\n{rows}".encode())
    found = pl.read_parquet(tmp_path / "a.parquet")
    assert found.schema == {"x": pl.Int64, "n": kind, "y": pl.Int64, "v": pl.Float64, "status": pl.String}
    assert found["n"].to_list() == values
    assert found["v"].to_list() == [2.0 * (i + 1) for i in range(len(fields))]


def test_decimal_commas_are_numbers(tmp_path):
    succeeds("eval", "-e", "v = x*y", "--decimal", ",", "--data", "-", "-o", tmp_path / "a.parquet",
             stdin=b"x;n;m;y\n1,5;1,25;1.5;2\n2,5;3;2;2\n")
    found = pl.read_parquet(tmp_path / "a.parquet")
    assert found.to_dict(as_series=False) == {"x": [1.5, 2.5], "n": [1.25, 3.0], "m": ["1.5", "2"], "y": [2, 2], "v": [3.0, 5.0]}


def test_no_rows_have_columns_all_the_same(tmp_path):
    succeeds("eval", "-e", "v = x*y", "--data", "-", "-o", tmp_path / "a.parquet", stdin=b"x,n,y\n")
    assert pl.read_parquet(tmp_path / "a.parquet").schema == {"x": pl.String, "n": pl.String, "y": pl.String, "v": pl.Float64}
    pl.DataFrame(schema={"x": pl.Float32, "n": pl.Date, "y": pl.Int8}).write_parquet(tmp_path / "in.parquet")
    succeeds("eval", "-e", "v = x*y", "--data", tmp_path / "in.parquet", "--rename", "n=day", "-o", tmp_path / "a.parquet")
    assert pl.read_parquet(tmp_path / "a.parquet").schema == {"x": pl.Float32, "day": pl.Date, "y": pl.Int8, "v": pl.Float64}


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 4, 7])
def test_long_files_are_read_a_part_at_a_time(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_tables, "PARQUET_ROWS", 3)
    frame = pl.DataFrame({"x": [i + 0.5 for i in range(rows)], "n": ["a,b"] * rows}, schema={"x": pl.Float64, "n": pl.String})
    frame.write_parquet(tmp_path / "in.parquet")
    pieces = list(parquet_tables.parquet(str(tmp_path / "in.parquet"), ","))
    assert b"".join(pieces) == frame.write_csv().encode()
    assert [p.count(b"\n") for p in pieces] == [1, *(min(3, rows - i) for i in range(0, rows, 3))]
    assert b"".join(parquet_tables.parquet(str(tmp_path / "in.parquet"), ";")) == frame.write_csv(separator=";").encode()
    out = succeeds("eval", "-e", "v = 2*x", "--data", tmp_path / "in.parquet", "--only").out
    assert out == "".join(["v\n", *(f"{2.0*i + 1}\n" for i in range(rows))])


ARRAYS = [   # of a file, and the rows of x + sum(w), or the message
    ({"x": np.array([1, 2], ">i2"), "w": np.array([[1, 2], [3, 4]], np.float32), "id": np.array(["a", 'b,"'])}, [4.0, 9.0]),
    ({"x": np.array([True, False]), "w": np.ones((2, 3), np.float16)}, [4.0, 3.0]),
    ({"x": np.zeros(0), "w": np.zeros((0, 2))}, []),
    ({"x": np.array(7), "w": np.array([[1.0], [2.0]])}, [8.0, 9.0]), ({"x": np.array([1j]), "w": np.ones((1, 1))}, "complex128"),
    ({"x": np.zeros(3), "w": np.zeros((2, 1))}, "'w' has 2 elements and 'x' 3, so they are no columns of one table")]


@pytest.mark.parametrize(("arrays", "want"), ARRAYS, ids=lambda x: "")
def test_arrays_are_a_table_and_what_is_written_too(arrays, want, tmp_path):
    np.savez(tmp_path / "in.npz", **arrays)
    run = ("eval", "-e", "input x, w(N); v +=! w(i) + (i == 0 ? x : 0)", "--data")
    if isinstance(want, str):
        assert want in adcli(*run, tmp_path / "in.npz").err
        return
    succeeds(*run, tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as found:
        assert found["v"].tolist() == want and [*found] == [*arrays, "v"]
    assert succeeds(*run, tmp_path / "out.npz", "--rename", "v=old", "--only").out == "".join(f"{x}\n" for x in ["v", *want])


@pytest.mark.parametrize("kind",
                         [pl.List(pl.String), pl.Struct({"a": pl.Int64}), pl.Array(pl.Boolean, 2), pl.Binary, pl.Duration("us")],
                         ids=str)
def test_what_no_field_holds_is_refused(kind, tmp_path):
    pl.DataFrame(schema={"x": pl.Float64, "m": kind}).write_parquet(tmp_path / "in.parquet")
    with pytest.raises(AdError) as found:
        list(parquet_tables.parquet(str(tmp_path / "in.parquet"), ","))
    said = str(found.value.message)
    assert said.startswith(f"{tmp_path}/in.parquet: column 'm' is of type ") and said.endswith("which no field of a row holds")
    assert found.value.help == "keep the columns of numbers, of lists of numbers and of text, as with polars: frame.drop(…)"


def test_bad_rows_of_a_file_have_their_number(tmp_path):
    pl.DataFrame({"x": [1.0, None, 3.0], "y": [1, 2, 3]}).write_parquet(tmp_path / "in.parquet")
    ended = adcli("eval", "-e", "v = x*y", "--data", tmp_path / "in.parquet", "--on-error", "mark", "-o", tmp_path / "a.parquet")
    assert (ended.code, ended.err.splitlines()[0]) == (0, f"{tmp_path}/in.parquet:2: column 'x' is empty")
    found = pl.read_parquet(tmp_path / "a.parquet")
    assert found["x"].to_list() == [1.0, None, 3.0] and found["status"].to_list() == ["smooth", "column 'x' is empty", "smooth"]
    assert found["v"].to_list()[::2] == [1.0, 9.0] and found["v"].is_nan().to_list() == [False, True, False]
