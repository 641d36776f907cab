"""Which blocks the fast readers read, that they read what the careful one reads, and what it says of a table that is wrong."""
from __future__ import annotations

import re

import numpy as np
import polars
import pytest
from adcli.codegen.machine.kernel import NoExecutableMemory
from adcli.lang.ir import Param, Var
from command import adcli
from readers import outcomes, same

from adcli.input.fields import Fault
from adcli.rows import blocks
from adcli.rows.blocks import fast_tables
from adcli.tables import native as tables_native
from adcli.tables.dialect import Dialect
from adcli.tables.native import NativeTables
from adcli.tables.reader import Table, members


def made(dialect=None, inputs="xy", first=b"x,n,y", fixed=(), utf8=False, new=()):
    """A table whose inputs of capital letters have a default."""
    table = Table(dialect or Dialect("csv", b","),
                  [Param(Var(c.lower()), c.lower(), default=7.5 if c.isupper() else None) for c in inputs], fixed)
    table.utf8, table.new = utf8, new
    table.take_first(first)
    return table


COMMA = Dialect("csv", b";", comma=True)
EMPTY = Dialect("csv", b",", empty=frozenset({b"NA", b"-999", b"2,5"}), nan=True)
STRICT = Dialect("csv", b",", empty=frozenset({b"NA", b"-999"}))

BLOCKS = [
    # block; further arguments of `made`
    (b"1,a,2\n", {}), (b"1,a,2\r\n3,,-4.5e-3\r\n", {}), (b"1,a,2\n 3\t,b , 4 \n", {}), (b"1,,2\n", {}),
    (b"0x1p3,a,2\n", {}), (b"1_000,a,2\n", {}), (b"nan,a,2\n", {}), (b"1,a,inf\n", {}),
    (b"1,_,2\n", {}),
    (b'"1",a,2\n', {}), (b'1,"a,""b""",2\n', {}), (b'1,"a\nb",2\n', {}), (b'1,a"b,2\n', {}),
    (b'1,"a"b,2\n', {}),
    (b"1,a\n", {}), (b"1,a,2,3\n", {}), (b"1,a,2,3\n1,2\n", {}), (b"1,a,b\n", {}),
    (b"1,a,1e999\n", {}),
    (b"1e308,a,2\n1e308,a,2\n", {}), (b"1,a,2\n\n3,b,4\n", {}), (b"\n1,a,2\n", {}), (b"1,a\r,2\n", {}),
    (b"1,a\x01,2\n", {}), (b"1,a\x1c,2\n", {}), (b"1,,\n", {}), (b"1,\xff,2\n", {}),
    (b"1,\xff,2\n", {"utf8": True}), ("1,é,2\n".encode(), {"utf8": True}), (b"1,\xc3\xa9,2\n", {}),
    (b"1,a,2\n", {"inputs": "xyZ"}), (b"1,a,2\n", {"inputs": "y"}), (b"1,a,2\n", {"inputs": "Z"}),
    (b"1,a,2\n", {"inputs": ""}),
    (b"1,5;a;2\n", {"dialect": COMMA, "first": b"x;n;y"}), (b"1.5;a;2\n", {"dialect": COMMA, "first": b"x;n;y"}),
    (b"1,5;a.b;-2e-1\n", {"dialect": COMMA, "first": b"x;n;y"}),
    (b"1,a,2\n", {"dialect": EMPTY}), (b"NA,a,2\n", {"dialect": EMPTY}), (b"-999,a,2\n", {"dialect": EMPTY}),
    (b"-999.0,a,2\n", {"dialect": EMPTY}), (b" -999 ,a,2\n", {"dialect": EMPTY}),
    (b",a,2\n", {"dialect": EMPTY}),
    (b"1,-999,2\n", {"dialect": EMPTY}), (b"-999,a,2\n", {"dialect": STRICT}),
    (b"1,NA,2\n", {"dialect": STRICT}),
    (b"1\n2\n", {"inputs": "x", "first": b"x"}), (b"1\n\n2\n", {"inputs": "x", "first": b"x"}),
    (b"1\ta\t2\n", {"dialect": Dialect("tsv", b"\t"), "first": b"x\tn\ty"}),
    (b"1 \ta,\t2\n", {"dialect": Dialect("tsv", b"\t"), "first": b"x\tn\ty"}),
]


@pytest.mark.parametrize(("block", "how"), BLOCKS, ids=lambda x: repr(x)[:24])
def test_native_code_reads_blocks_without_a_bad_row(block, how):
    table = made(**how)
    want, native = table.careful(block), fast_tables(True).read(table, block)
    assert (native is not None) == (not want.faults and len(want.texts) == want.lines), "each line is a row, and none is bad"
    if native is not None:
        assert (native.rows(), repr([c.tolist() for c in native.columns])) == (want.texts, repr(want.columns))


OBJECTS = [
    # block, read by native code; further arguments
    (b'{"x":1,"y":2}\n{"x":-0,"y":2e5}\r\n', 1, {}), (b'{ "x" : 1 , "n":"\xc3\xa9, }" ,"y":2.50 } \n', 1, {}),
    (b'{"x":1,"y":1e400}\n', 0, {}),
    (b'{"x":1,"y":2}\n{"y":1,"x":2}\n', 0, {}), (b'{"x":1,"y":2}\n{"x":1,"y":"NaN"}\n', 0, {}), (b'{"x":1,"y":2}\n\n', 0, {}),
    (b'{"x":1,"y":null}\n', 0, {}), (b'{"x":1,"y":null}\n', 0, {"nan": True}), (b'{"x":1}\n{"x":2}\n', 1, {"nan": True}),
    (b'{"x":1}\n', 0, {}), (b'{"x":1,"y":2,"x":3}\n', 0, {}), (b'{"x":1,"y":2,"n":[1]}\n', 0, {}),
    (b'{"x":1,"y":2,"n":"\\n"}\n', 0, {}),
    (b'{"x":1,"y":2,"n":"\xff"}\n', 0, {}), (b'{"x":1,"y":20000000000000000000001}\n', 1, {}),
    (b'{"a":1,"y":2}\n', 1, {"renamed": {"a": "x"}}),
    (b'{"a":1,"x":1,"y":2}\n', 0, {"renamed": {"a": "x"}}), (b'{"x":1,"y":-999}\n', 0, {"empty": frozenset([b"-999"])}),
    (b"{}\n", 0, {}), (b'{"x":1,"y":2}{"x":1,"y":2}\n', 0, {}), (b'{"x":1{"y":2}\n', 0, {}), (b'{"x":01,"y":2}\n', 0, {}),
    (b"[1]\n", 0, {}), (b"null\n", 0, {})]


@pytest.mark.parametrize(("block", "native", "how"), OBJECTS, ids=lambda x: repr(x)[:24])
def test_native_code_reads_objects_that_are_alike(block, native, how):
    table = Table(Dialect("ndjson", None, **how), [Param(Var("x"), "x"), Param(Var("y"), "y"), Param(Var("z"), "z", default=7.5)])
    found, want = fast_tables(True).read(table, block), table.careful(block)
    assert (found is not None) == bool(native)
    if found is not None:
        assert (found.rows(), repr([c.tolist() for c in found.columns])) == (want.texts, repr(want.columns)) and not want.faults


@pytest.mark.parametrize("fault", [NoExecutableMemory(), MemoryError(), ImportError()], ids=repr)
def test_tables_are_read_where_there_is_no_native_code(fault, monkeypatch):
    def refused(keep):
        raise fault
    monkeypatch.setattr(blocks, "LARGE", 0)
    rows = b"x,y\n1,2\n3,4e-5\n"
    native = adcli("grad", "-e", "v = x*y", "--data", "-", stdin=rows)
    assert type(fast_tables(True)) is NativeTables
    monkeypatch.setattr(tables_native, "reader", refused)
    assert fast_tables(True) is None
    assert adcli("grad", "-e", "v = x*y", "--data", "-", stdin=rows) == native


def test_rows_to_start_from():
    table = made()
    table.start = lambda row: b"<" + row
    rows = table.careful(b"1,a,2\n3,b,4\n")
    assert rows.texts == [b"<1,a,2", b"<3,b,4"]
    assert rows.only([1], 1).texts == [b"<3,b,4"] and rows.only([1], 1).columns == [[3.0], [4.0]]


def test_bad_rows_have_their_line_and_no_number():
    rows = made().careful(b'1,a,2\n\n3,b\n5,"\n",x\r\n7,c,8\n')
    assert rows.texts == [b"1,a,2", b"3,b", b'5,"\n",x', b"7,c,8"]
    assert repr(rows.columns) == "[[1.0, nan, nan, 7.0], [2.0, nan, nan, 8.0]]"
    assert ({i: f.reason for i, f in rows.faults.items()}, rows.places, rows.lines) == (
        {1: "2 fields, header has 3", 2: "column 'y': 'x' is not a number"}, {0: 0, 1: 2, 2: 3, 3: 5}, 6)


def test_a_return_in_a_field_is_kept_in_parquet(tmp_path):
    same(outcomes(b"n,x,y\r\na\rb,1,2\r\nw\r,3,4\r\n", "v = x*y", "-o", tmp_path / "o.parquet", verb="eval"))
    assert polars.read_parquet(tmp_path / "o.parquet")["n"].to_list() == ["a\rb", "w\r"]


# ---------------------------------------------------------------- what is said

OBJECTS = Dialect("ndjson", None)
MISSING = "--missing nan reads missing values as nan"


def test_the_members_of_the_first_object_are_the_columns():
    table = Table(OBJECTS, [Param(Var("x"), "x"), Param(Var("y"), "y", default=7.0)])
    table.take_object(b'{"x":1,"n":2}')
    assert table.names == ["x", "n"]
    rows = table.careful(b'{"x":1}\n{"n":3,"x":2}\n{"x":1,"m":1}\n{"x":1,"n":1,"x":2}\n')
    assert repr(rows.columns) == "[[1.0, 2.0, nan, nan], [7.0, 7.0, nan, nan]]"
    assert [(f.reason, f.help) for f in rows.faults.values()] == [
        ("the first object has no 'm', so there is no column for it",
         "write JSON, --format json, or --only results; or give the first object every member"),
        ("'x' is given twice", None)]
    assert list(members("{\"e\u0301\": 1}".encode())) == ["é"], "names are composed"
    assert members(b'{"x":1,"x":2}') == {"x": 2.0}
    with pytest.raises(Fault, match=re.escape("the object is not UTF-8")):
        members(b'{"\xff":1}')


def test_a_missing_value_is_nan_where_that_is_said():
    for dialect, block in ((Dialect("csv", b",", nan=True), b",a,1\n \t,b,2\n"), (EMPTY, b"NA,a,1\n -999\t,b,2\n")):
        rows = made(dialect).careful(block)
        assert np.isnan(rows.columns[0]).all() and rows.faults == {}
    rows = made().careful(b" ,a,1\n")
    assert (rows.faults[0].reason, rows.faults[0].help) == ("column 'x' is empty", MISSING)
