"""Columns with types in Parquet: the same file however blocks are read, whatever stands in the rows."""
from __future__ import annotations

import polars as pl
import pytest
from command import adcli
from readers import reader
from session_seed import drawn, half

from adcli.rows import blocks

FIELDS = {"float": lambda r: f"{r.uniform(-9, 9):.{r.randint(1, 9)}f}", "int": lambda r: str(r.randint(-10**6, 10**6)),
          "long": lambda r: str(r.randint(10**16, 10**18 - 1)), "longer": lambda r: str(r.randint(10**17, 10**19)),
          "whole": lambda r: f"{r.randint(0, 9)}.0", "zero": lambda r: r.choice(["0", "-0", "0.0", "-0.5"]),
          "led": lambda r: r.choice(["007", "1", "00", "0"]), "exponent": lambda r: r.choice(["1e3", "2", "1.5E-2"]),
          "odd": lambda r: r.choice([".5", "1.", "+1", "2", "inf", "nan"]), "quoted": lambda r: '"1.5"',
          "spaced": lambda r: r.choice([" 1", "2 ", "3"])}
TEXTS = ["a", "", '"b,c"', "1.5", "2020.01.02", "192.168.0.1", "1-2", "-", '"q""r"', "é"]

WAYS = [",", "\t", ";", ","]


def written(path, *options, stdin):
    ended = adcli("grad", "-e", "v = x*sin(y)", "--data", "-", "-o", path, *options, stdin=stdin)
    return ended.code, ended.err, pl.read_parquet(path) if path.exists() else None


@pytest.mark.parametrize("kinds", half([*([k] for k in FIELDS), *([first, k] for first in ("float", "int") for k in FIELDS)]))
def test_the_file_is_the_same_however_it_is_read(kinds, tmp_path, monkeypatch):
    """In blocks of some rows, each of one kind or of several."""
    r = drawn("typed columns", *kinds)
    monkeypatch.setattr(blocks, "PIECE", 60)
    for separator, *options in r.sample(WAYS, 1):
        more = r.choice(([], TEXTS))
        lines = []
        for kind in kinds:
            for _ in range(6):
                row = [FIELDS[kind](r), FIELDS[r.choice(kinds)](r), *([r.choice(more)] if more else [])]
                lines.append(separator.join(row))
        head = separator.join(["x", "y", *(["n"] if more else [])])
        data = "\n".join([head, *lines, ""]).encode()
        found = []
        for name in ("native", "careful"):
            with reader(name):
                found.append(written(tmp_path / f"{name}.parquet", *options, stdin=data))
        (code, said, one), (_, _, other) = found
        assert found[1][:2] == (code, said), (data, options)
        assert one is other is None or (one.schema == other.schema and one.equals(other)), (data[:300], options)


@pytest.mark.parametrize(("fields", "kind", "values"), [
    (["1", "2"], pl.Int64, [1, 2]), (["1", "2.5"], pl.Float64, [1.0, 2.5]), (["+1", "1e3"], pl.Float64, [1.0, 1000.0]),
    (["007", "1"], pl.Float64, [7.0, 1.0]), (["1", "z", "2"], pl.Int64, [1, None, 2]), (["1", ""], pl.Int64, [1, None]),
    (["nan", "1"], pl.Float64, [float("nan"), 1.0]), (["12345678901234567", "z"], pl.Int64, [12345678901234567, None])])
def test_an_input_is_a_column_of_numbers(fields, kind, values, tmp_path):
    """What is none in a bad row is null; the status says what it was."""
    data = "x,y,n\n" + "".join(f"{x},2,{x}.\n" for x in fields)
    code, _, found = written(tmp_path / "a.parquet", "--on-error", "mark", stdin=data.encode())
    assert code in (0, 3) and found.schema["x"] == kind and found.schema["n"] == pl.String
    assert found["x"].equals(pl.Series("x", values, dtype=kind), null_equal=True)
    assert ["z" in s for s in found["status"].to_list()] == [x == "z" for x in fields]


def test_several_tables_with_other_separators(tmp_path):
    for name, text in (("a.csv", b"x,y\n1,2.5\n"), ("b.tsv", b"x\ty\n2\t3.5\n"), ("c.csv", b"x,y\n3,z\n")):
        (tmp_path / name).write_bytes(text)
    given = [x for name in ("a.csv", "b.tsv", "c.csv") for x in ("--data", tmp_path / name)]
    ended = adcli("eval", "-e", "v = x*y", *given, "--on-error", "mark", "-o", tmp_path / "o.parquet")
    assert ended.code == 0, ended.err
    found = pl.read_parquet(tmp_path / "o.parquet")
    assert found["x"].to_list() == [1, 2, 3] and found["y"].to_list() == [2.5, 3.5, None]
    assert found["v"].to_list()[:2] == [2.5, 7.0] and found["status"].to_list()[:2] == ["smooth", "smooth"]
