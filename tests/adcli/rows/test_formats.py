"""What a table is written as: every column survives from every format to every other, in every dialect and with every reader."""
from __future__ import annotations

import codecs
import csv
import datetime
import io
import json
import math
import re
import shlex

import numpy as np
import polars
import pytest
from command import adcli, succeeds
from hypothesis import given, settings
from hypothesis import strategies as st
from places import ROOT
from readers import outcomes, reader, same

from adcli.tables.streams import JsonItems

XY = "v = x*y"
ROWS = [{"id": "007", "n": "1.50", "x": "1", "t": 'a, "b"\n;|\tc', "y": "2.50", "é": "", "b": "1e400"},
        {"id": "8", "n": "-0", "x": "3.0", "t": "", "y": "4", "é": "\\u00e9", "b": "nan"},
        {"id": "", "n": "12345678901234567890", "x": "5e0", "t": "'q' ", "y": "6", "é": "ÿ", "b": "x\x7f"}]
"""Fields that a careless writer changes: leading zeros, trailing ones, long numbers, what looks like one, quotes, line ends."""
NAMES = list(ROWS[0])
NUMBERS = ("n", "x", "y")


def table(kind):
    """The rows as a table."""
    if kind == "parquet":
        stream = io.BytesIO()
        rows = [{n: x if n not in NUMBERS[1:] else float(x) for n, x in row.items()} for row in ROWS]
        polars.DataFrame(rows).write_parquet(stream)
        return stream.getvalue()
    if kind in ("csv", "tsv"):
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n", delimiter="," if kind == "csv" else "\t")
        writer.writerows([NAMES, *[row.values() for row in ROWS]])
        return stream.getvalue().encode()
    members = [",".join(f"{json.dumps(n)}: {x if n in NUMBERS else json.dumps(x)}" for n, x in row.items()) for row in ROWS]
    return ("\n".join(f"{{{m}}}" for m in members) if kind == "ndjson" else f"[{{{'},{'.join(members)}}}]").encode()


def read(form, data):
    """The fields of what has been written, as text."""
    if form == "parquet":
        rows = polars.read_parquet(io.BytesIO(data)).rows(named=True)
        return [{n: "" if x is None else str(x) for n, x in row.items()} for row in rows]
    if form == "npz":
        with np.load(io.BytesIO(data)) as found:   # nothing in it is pickled
            columns = {n: found[n].tolist() for n in found}
        return [dict(zip(columns, map(str, row), strict=True)) for row in zip(*columns.values(), strict=True)]
    if form == "json":
        return json.loads(data, parse_int=str, parse_float=str)
    if form == "ndjson":
        return [json.loads(line, parse_int=str, parse_float=str) for line in data.decode().splitlines()]
    return list(csv.DictReader(io.StringIO(data.decode(), newline=""), delimiter="," if form == "csv" else "\t"))


@pytest.mark.parametrize("kind", ["csv", "tsv", "ndjson", "json", "parquet"])
@pytest.mark.parametrize("form", ["csv", "tsv", "json", "ndjson", "parquet", "npz"])
def test_every_column_survives(kind, form, tmp_path):
    path = tmp_path / f"rows.{kind}"
    path.write_bytes(table(kind))
    for name in ("careful", "native"):
        with reader(name):
            out = tmp_path / f"{name}.{form}"
            assert succeeds("grad", "-e", XY, "--data", path, "-o", out).data == b""
        found = read(form, out.read_bytes())
        assert [list(row) for row in found] == [[*NAMES, "v", "dv_dx", "dv_dy"]] * len(ROWS)
        typed = {"n", "x", "y"} if form in ("parquet", "npz") else {"x", "y"} if kind == "parquet" else set()
        for row, want in zip(found, ROWS, strict=True):
            assert {n: row[n] for n in NAMES if n not in typed} == {n: want[n] for n in NAMES if n not in typed}
            assert all(float(row[n]) == float(want[n]) for n in typed)
            assert float(row["v"]) == float(want["x"]) * float(want["y"])


def told(line: str) -> str:
    """What every reader makes of a table, whole and cut anywhere; it is the last word, with the escapes of Python's bytes."""
    verb, _, program, *options, _, text = shlex.split(line)
    whole, cut = (same(outcomes(codecs.escape_decode(text.encode())[0], program, *options, verb=verb, cut=cut))
                  for cut in (False, True))
    assert whole == cut, line
    out = whole.data.decode("utf-8", "backslashreplace").replace("\r", "\\r")
    return f"{whole.err}{out}= {whole.code}\n"


def test_the_golden_file_is_that_of_today(request: pytest.FixtureRequest) -> None:
    """Dialects, headers, objects, ranges, and what is said of wrong ones; `--rewrite-programs` writes today's."""
    path = ROOT / "tests" / "adcli" / "rows" / "tables.txt"
    today = "".join(f"$ {line}\n{told(line)}" for line in re.findall(r"^\$ (.*)", path.read_text(encoding="utf-8"), flags=re.M))
    if request.config.getoption("--rewrite-programs"):
        path.write_text(today, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == today


@pytest.mark.parametrize("form", [[], ["--format", "json"], ["--format", "tsv"], ["--format", "text"], ["--only"]], ids=" ".join)
@pytest.mark.parametrize("digits", [[], ["--fmt", "%.2e"], ["--hex"]], ids=" ".join)
def test_results_are_spelled_alike_by_every_reader(form, digits):
    data = b"x,n,y\n1,a,0.1\n-3,b,1e-5\n0,c,1e17\n2.5,d,nan\n0,e,-inf\n"
    status = "--status" if form and digits else "--strict"
    ended = same(outcomes(data, "v = x*y + abs(x)", *form, *digits, status))
    assert ended.code == (4 if status == "--strict" else 0)
    mark = {"": "1.1", "--fmt": "1.10e+00", "--hex": "0x1.199999999999ap+0"}["".join(digits[:1])]
    assert mark.encode() in ended.data


FIELD = st.sampled_from([
    "1", "2,5", "2.5", "-999", "NA", "", " 3 ", '"1;5"', '"a""b"', "nan", "0x1p3", "1e400", "é\\", "x\ty", "-0,0"])
DIALECTS = st.sampled_from([[], ["--decimal", ","], ["--na", "NA,-999", "--missing", "nan"], ["--only"], ["--no-header"],
                            ["--rename", "n=m"], ["--decimal", ",", "--na", "2,5", "--missing", "nan"]])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(FIELD, min_size=3, max_size=3), min_size=1, max_size=6), DIALECTS,
       st.sampled_from([[], ["--format", "json"], ["--format", "tsv"], ["--format", "csv"]]),
       st.sampled_from(["skip", "mark"]), st.booleans())
def test_dialects_in_every_reader(rows, dialect, form, policy, cut):
    header = [] if "--no-header" in dialect else ["x;n;y"]
    columns = [] if header else ["--columns", "x,n,y"]
    text = "\n".join([*header, *map(";".join, rows), ""])
    ended = same(outcomes(text.encode(), XY, "--delimiter", ";", *dialect, *columns, *form, "--on-error", policy, cut=cut))
    assert ended.code == 0
    if form == ["--format", "json"]:
        assert all(math.isfinite(r["v"]) or r["v"] for r in ended.records if not isinstance(r["v"], str))


@settings(max_examples=30, deadline=None)
@given(st.recursive(st.one_of(st.none(), st.integers(), st.text(max_size=3)), lambda x: st.lists(x, max_size=3) | st.dictionaries(
    st.text(max_size=2), x, max_size=3), max_leaves=8).map(lambda x: x if isinstance(x, list) else [x]),
       st.integers(1, 9), st.sampled_from([None, 2]))
def test_an_array_is_cut_anywhere(value, size, indent):
    text, items, found, rest = json.dumps(value, indent=indent), JsonItems(), [], ""
    for start in range(0, len(text), size):
        lines, rest = items.taken(rest + text[start:start + size], last=False)
        found += lines
    lines, rest = items.taken(rest, last=True)
    assert (items.fault, items.state, rest, items.count) == (None, "end", "", len(value))
    assert [json.loads(line) for line in found + lines] == value


# ---------------------------------------------------------------- inputs that --at fixes


def test_parquet_in_any_dialect_out(tmp_path):
    path = tmp_path / "a.parquet"
    polars.DataFrame({"x": [1.5], "n": ["a;b"], "y": [2]}).write_parquet(path)
    assert succeeds("eval", "-e", XY, "--data", path, "--delimiter", ";").out == 'x;n;y;v\n1.5;"a;b";2;3.0\n'
    assert succeeds("eval", "-e", XY, "--data", path, "--format", "tsv").out == "x\tn\ty\tv\n1.5\ta;b\t2\t3.0\n"


def test_parquet_keeps_its_types(tmp_path):
    days = [datetime.date(2024, 1, 2), None, datetime.date(1999, 12, 31)]
    noon = datetime.datetime(2024, 1, 1, 12, 0, 0, 123456)
    frame = polars.DataFrame({
        "x": [1, 2, 3], "y": polars.Series([0.5, 1.5, 0.1], dtype=polars.Float32), "day": days, "yes": [True, None, False],
        "small": polars.Series([1, None, -3], dtype=polars.Int8), "large": polars.Series([2**64 - 1, 0, 1], dtype=polars.UInt64),
        "price": polars.Series(["1.50", None, "2.00"]).cast(polars.Decimal(10, 2)), "text": ["007", "", None],
        "zone": polars.Series([noon] * 3).dt.replace_time_zone("Europe/Berlin"), "time": [datetime.time(1, 2, 3), None, None],
        "kind": polars.Series(["a", "b", "a"], dtype=polars.Categorical)})
    frame.write_parquet(tmp_path / "a.parquet")
    succeeds("eval", "-e", XY, "--data", tmp_path / "a.parquet", "-o", tmp_path / "b.parquet")
    found = polars.read_parquet(tmp_path / "b.parquet")
    assert found.drop("v").schema == frame.schema
    assert found.drop("v").equals(frame)
    frame.with_columns(list=polars.Series([["a"], ["b"], []])).write_parquet(tmp_path / "a.parquet")
    ended = adcli("eval", "-e", XY, "--data", tmp_path / "a.parquet")
    assert (ended.code, "column 'list' is of type List" in ended.err) == (2, True), ended.err


def test_a_result_has_its_own_type_where_it_has_the_name_of_a_column_that_is_left_out(tmp_path):
    frame = polars.DataFrame({"x": [1.5, 2.5], "y": [1, 2], "v": [7, 8], "status": [True, False]})
    frame.write_parquet(tmp_path / "a.parquet")
    succeeds("eval", "-e", XY, "--data", tmp_path / "a.parquet", "--only", "--status", "-o", tmp_path / "b.parquet")
    assert polars.read_parquet(tmp_path / "b.parquet").rows() == [(1.5, "smooth"), (5.0, "smooth")]

