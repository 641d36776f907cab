"""Numbers that go to Parquet as they are: the file is the one that their texts make, whatever stands in the rows."""
from __future__ import annotations

import random

import polars as pl
import pytest
from command import adcli

from adcli.rows import blocks, typed_blocks
from adcli.rows.typed_blocks import plain

FIELDS = {"float": lambda r: f"{r.uniform(-9, 9):.{r.randint(1, 9)}f}", "int": lambda r: str(r.randint(-10**6, 10**6)),
          "long": lambda r: str(r.randint(10**16, 10**18 - 1)), "longer": lambda r: str(r.randint(10**17, 10**19)),
          "whole": lambda r: f"{r.randint(0, 9)}.0", "zero": lambda r: r.choice(["0", "-0", "0.0", "-0.5"]),
          "led": lambda r: r.choice(["007", "1", "00", "0"]), "exponent": lambda r: r.choice(["1e3", "2", "1.5E-2"]),
          "odd": lambda r: r.choice([".5", "1.", "+1", "2", "inf", "nan", "1_000", "0x1p3"]), "quoted": lambda r: '"1.5"',
          "spaced": lambda r: r.choice([" 1", "2 ", "3"])}
TEXTS = ["a", "", '"b,c"', "1.5", "2020.01.02", "192.168.0.1", "1-2", "-"]


def written(path, *options, stdin):
    ended = adcli("grad", "-e", "v = x*sin(y)", "--data", "-", "-o", path, *options, stdin=stdin)
    return ended.code, ended.err, pl.read_parquet(path) if path.exists() else None


def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "PIECE", 60)
    monkeypatch.setattr(blocks, "LARGE", 0)


def assert_as_text(tmp_path, monkeypatch, data, *options):
    """The same file as by way of CSV."""
    small_blocks(monkeypatch)
    found = written(tmp_path / "a.parquet", *options, stdin=data)
    possible = typed_blocks.possible
    monkeypatch.setattr(typed_blocks, "possible", lambda: False)
    want = written(tmp_path / "b.parquet", *options, stdin=data)
    monkeypatch.setattr(typed_blocks, "possible", possible)
    assert found[:2] == want[:2], (data, options)
    if want[2] is not None:
        assert found[2].schema == want[2].schema and found[2].equals(want[2], null_equal=True), (data[:300], options)


@pytest.mark.parametrize("kinds", [[k] for k in FIELDS] + [["float", k] for k in FIELDS] + [["int", k] for k in FIELDS])
def test_the_file_is_the_one_that_texts_make(kinds, tmp_path, monkeypatch):
    """In blocks of some rows, each of one kind or of several."""
    r = random.Random(str(kinds))
    for separator, options in (",", ()), ("\t", ("--status",)), (";", ("--delimiter", ";", "--only")), \
            (",", ("--on-error", "mark")):
        for more in ([], TEXTS):
            lines = []
            for kind in kinds:
                for _ in range(6):
                    row = [FIELDS[kind](r), FIELDS[r.choice(kinds)](r), *([r.choice(more)] if more else [])]
                    lines.append(separator.join(row))
            head = separator.join(["x", "y", *(["n"] if more else [])])
            data = "\n".join([head, *lines, ""]).encode()
            assert_as_text(tmp_path, monkeypatch, data, *options)


def test_blocks_are_plain_numbers_or_text(tmp_path, monkeypatch):
    calls: list[bool] = []
    made = typed_blocks.typed_block
    small_blocks(monkeypatch)
    monkeypatch.setattr(typed_blocks, "typed_block", lambda *given: calls.append((f := made(*given)) is not None) or f)
    data = b"x,y\n" + b"1,2.5\n" * 600 + b"1,2e3\n" + b"3,4.5\n" * 900
    assert written(tmp_path / "a.parquet", stdin=data)[0] == 0
    assert {*calls} == {True, False}
    found = pl.read_parquet(tmp_path / "a.parquet")
    assert found.schema["x"] == pl.Int64 and found.schema["y"] == pl.Float64 and len(found) == 1_501
    assert found["y"].to_list()[599:602] == [2.5, 2000.0, 4.5]


def test_several_tables_with_other_separators(tmp_path, monkeypatch):
    for name, text in (("a.csv", b"x,y\n1,2.5\n"), ("b.tsv", b"x\ty\n2\t3.5\n"), ("c.csv", b"x,y\n3,z\n")):
        (tmp_path / name).write_bytes(text)
    given = [x for name in ("a.csv", "b.tsv", "c.csv") for x in ("--data", tmp_path / name)]
    small_blocks(monkeypatch)
    ended = adcli("eval", "-e", "v = x*y", *given, "--on-error", "mark", "-o", tmp_path / "o.parquet")
    assert ended.code == 0, ended.err
    found = pl.read_parquet(tmp_path / "o.parquet")
    assert found["x"].to_list() == [1, 2, 3] and found["y"].to_list() == ["2.5", "3.5", "z"]
    assert found["v"].to_list()[:2] == [2.5, 7.0] and found["status"].to_list()[:2] == ["smooth", "smooth"]


@pytest.mark.parametrize(("text", "whether"), [
    (b"1,2\n", True), (b"-1,0.5\n0,-0.25\n", True), (b"10,200\n", True), (b"0\n", True), (b"-0.0\n", True),
    (b"01\n", False), (b"-01\n", False), (b"1.\n", False), (b".5\n", False), (b"-.5\n", False), (b"1-2\n", False),
    (b"-\n", False), (b"1,\n", False), (b",1\n", False), (b"1e5\n", False), (b"+1\n", False), (b"1\r\n", False),
    (b" 1\n", False), (b"-0\n", False), (b'"1"\n', False), (b"--1\n", False)])
def test_plain_numbers(text, whether):
    assert plain(text, b",") == whether
