"""Rows whose results are not finite: one line at the end says how many, which is the first, and why; however they are read,
computed and written."""
from __future__ import annotations

import itertools

import polars
import pytest
from command import adcli

LOG = "-e:1:5: note: log(u) at u = -1.0 is nan: domain\n"
FORMS = ["csv", "tsv", "json", "text", "parquet", "npz"]


def rows(kind: str, xs: list[float]) -> bytes:
    lines = [f'{{"x":{x}}}' for x in xs] if kind == "ndjson" else ["x", *map(str, xs)]
    return "".join(f"{line}\n" for line in lines).encode()


@pytest.mark.parametrize(("form", "kind"), [
    *itertools.product(FORMS, ["csv", "ndjson", "parquet"]), ("csv", "large"), ("npz", "large")])
def test_in_every_format(kind, form, tmp_path):
    xs = [2.0] * (90_000 if kind == "large" else 3) + [-1.0, 1.0, -3.0]
    path = tmp_path / ("a.parquet" if kind == "parquet" else "a.ndjson" if kind == "ndjson" else "a.csv")
    if kind == "parquet":
        polars.DataFrame({"x": xs}).write_parquet(path)
    else:
        path.write_bytes(rows(kind, xs))
    options = ["-o", tmp_path / f"out.{form}"] if form in ("parquet", "npz") else ["--format", form]
    for more in ([], ["--status"] if form != "npz" else ["--jobs", "2"], ["--jobs", "3"])[:3 if kind == "csv" else 2]:
        ended = adcli("eval", "-e", "v = log(x)", "--data", path, *options, *more)
        line = len(xs) - 2 + (kind in ("csv", "large"))
        assert ended.err == f"{path}:{line}: not finite, the first of 2 such rows of {len(xs)}\n{LOG}" and ended.code == 0


def test_over_several_tables_and_in_parts(tmp_path):
    for name, xs in (("a", [1.0]), ("b", [4.0, -1.0]), ("c", [-2.0, 1.0])):
        (tmp_path / f"{name}.csv").write_bytes(rows("csv", xs))
    ended = adcli("eval", "-e", "v = log(x)", "--data", tmp_path)
    assert ended.err == f"{tmp_path}/b.csv:3: not finite, the first of 2 such rows of 5\n{LOG}"
    ended = adcli("eval", "-e", "v = log(x)", "--data", tmp_path, "-o", f"{tmp_path}/out/")
    assert ended.err == (f"{tmp_path}/b.csv:3: not finite, 1 of 2 rows\n{LOG}"
                         f"{tmp_path}/c.csv:2: not finite, 1 of 2 rows\n{LOG.replace('-1.0', '-2.0')}")

