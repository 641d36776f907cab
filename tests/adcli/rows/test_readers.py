"""Which blocks the fast readers read, that they read what the careful one reads, and what it says of a table that is wrong."""
from __future__ import annotations

import math
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


def test_a_quoted_tab_between_tabs_is_escaped_in_json():
    """Tabs that separate are no characters of a field, others are."""
    ended = same(outcomes(b'x\ty\tn\n1\t2\ta\n3\t4\t"\t"\n', "v = x*y", "--format", "json", "--input-format", "tsv"))
    assert [row["n"] for row in ended.records] == ["a", "\t"]


@pytest.mark.parametrize("form", ["tsv", "parquet", "json"])
def test_a_return_in_a_field_is_kept_in_every_format(form, tmp_path):
    found = outcomes(b"n,x,y\r\na\rb,1,2\r\nw\r,3,4\r\n", "v = x*y", "--format", form, *(
        ["-o", tmp_path / "o.parquet"] if form == "parquet" else []), verb="eval")
    ended = same(found)
    assert ended.out == {"tsv": 'n\tx\ty\tv\n"a\rb"\t1\t2\t2.0\n"w\r"\t3\t4\t12.0\n', "parquet": "",
                         "json": '{"n":"a\\rb","x":1,"y":2,"v":2.0}\n{"n":"w\\r","x":3,"y":4,"v":12.0}\n'}[form]
    if form == "parquet":
        assert polars.read_parquet(tmp_path / "o.parquet")["n"].to_list() == ["a\rb", "w\r"]


@pytest.mark.parametrize(("rows", "want"), [
    (b"a long name\tx\ty\nn\t2\t3\n", "a long name\tx\ty\tv\nn\t2\t3\t6.0\n"),
    (b'\n          {"x":2,"y":3}\n', '          {"x":2,"y":3,"v":6.0}\n'),
    (b'\n          [{"x":2,"y":3}]', '{"x":2,"y":3,"v":6.0}\n')])
def test_what_a_table_is_does_not_depend_on_how_much_of_it_has_come(rows, want):
    for cut in (False, True):
        assert same(outcomes(rows, "v = x*y", verb="eval", cut=cut)).out == want


# ---------------------------------------------------------------- what is said

@pytest.mark.parametrize(("how", "said", "help"), [
    ({"first": b"x\0,y"}, "not a table of text", "write CSV, TSV or JSON in UTF-8, Parquet or .npz"),
    ({"first": b"a,b", "dialect": Dialect("csv", b",", columns=())}, None, None),
    ({"first": b"1", "dialect": Dialect("csv", b",", columns=())}, "no column 'y'", "the columns are x"),
    ({"first": b"1,2,3", "dialect": Dialect("csv", b",", columns=())}, "3 columns, but 2 inputs: x, y",
     "name the columns: --columns id,x,y"),
    ({"first": b"1,2", "dialect": Dialect("csv", b",", columns=("x",))}, "2 columns, but --columns names 1", None),
    ({"first": b"a,b,c,d,e,f,g,h,i,j,k,y"}, "no column 'x'", "the columns are a, b, c, d, e, f, g, h, i, j, …"),
    ({"first": b"a,b,c,d,e,f,g,h,i,j"}, "no column 'x'", "the columns are a, b, c, d, e, f, g, h, i, j"),
    ({"first": b"x;y"}, "no column 'x'", "add --delimiter ';'"), ({"first": b"x |y"}, "no column 'x'", "add --delimiter '|'"),
    ({"first": b"x\ty"}, "no column 'x'", "add --input-format tsv"),
    ({"first": b"x,y", "dialect": Dialect("tsv", b"\t")}, "no column 'x'", "add --delimiter ','"),
    ({"first": b" 1.5 ,-2e3"}, "no column 'x'", "add --no-header if the first row is data"),
    ({"first": b"xx,y"}, "no column 'x'", "did you mean 'xx'?"),
    ({"first": b"x,x,y"}, "column 'x' occurs 2 times", None), ({"first": b"x,n,n,y"}, None, None),
    ({"first": b"x,n,n,y", "utf8": True}, "column 'n' occurs 2 times", None),
    ({"first": b"x,y,\xff"}, None, None),
    ({"first": b"x,y,\xff", "utf8": True}, "the header is not UTF-8", "iconv -f LATIN1 -t UTF-8 FILE | adcli … --data -"),
    ({"first": b"x,y,k", "fixed": ("k",)}, "the table has 'k', which --at fixes", "leave out --at k=…, or --rename k=other"),
    ({"first": b"x,y,v", "new": ("v",)}, "the table already has a column 'v'",
     "a result of this name is appended: --rename v=other, or --only"),
    ({"first": b"a,y", "dialect": Dialect("csv", b",", renamed={"a": "x"})}, None, None),
    ({"first": b"ab,y", "dialect": Dialect("csv", b",", renamed={"a": "x"})}, "no column 'a', which --rename names",
     "did you mean 'ab'?"),
    ({"first": b"long,y", "dialect": Dialect("csv", b",", renamed={"a": "x"})}, "no column 'a', which --rename names",
     "the columns are long, y"),
    ({"first": b"a,x,y", "dialect": Dialect("csv", b",", renamed={"a": "x"})}, "column 'x' occurs 2 times", None),
])
def test_a_header_that_is_wrong(how, said, help):
    if said is None:
        made(**how)
        return
    with pytest.raises(Fault) as found:
        made(**how)
    assert (found.value.reason, found.value.help) == (said, help)


OBJECTS = Dialect("ndjson", None)
NA = Dialect("ndjson", None, empty=frozenset({b"NA", b"-999"}))
MISSING = "--missing nan reads missing values as nan"


@pytest.mark.parametrize(("text", "dialect", "want", "help"), [
    ('{"x":1,"y":2.5}', OBJECTS, [1.0, 2.5], None), ('{"x":1e-3,"y":"NaN"}', OBJECTS, [0.001, math.nan], None),
    ('{"x":"Infinity","y":"-Infinity","z":{}}', OBJECTS, [math.inf, -math.inf], None), ('{"x":1}', OBJECTS, "no 'y'", MISSING),
    ('{"x":1,"yy":2}', OBJECTS, "no 'y'", "did you mean 'yy'?"), ('{"x":1,"y":null,"yy":1}', OBJECTS, "'y' is null", MISSING),
    ('{"x":1,"y":"nan"}', OBJECTS, "'y': '\"nan\"' is not a number", None),
    ('{"x":1,"y":true}', OBJECTS, "'y': 'true' is not a number", None),
    ('{"x":1,"y":["é"]}', OBJECTS, "'y': '[\"é\"]' is not a number", None),
    ('{"x":1,"y":1e999}', OBJECTS, "'y' is too large for a double", None),
    ('{"x":1,"y":-999}', NA, "'y' is null", MISSING), ('{"x":1,"y":-999.0}', NA, "'y' is null", MISSING),
    ('{"x":1,"y":"NA"}', NA, "'y' is null", MISSING),
    ('{"x":1,"y":NaN}', OBJECTS, 'not JSON: write "NaN", in quotes', None),
    ("[1]", OBJECTS, "not a JSON object", 'write one object per line: {"x": 2}'),
    ('{"x":1,', OBJECTS, "not JSON: Expecting property name enclosed in double quotes",
     "--input-format json reads objects written over lines"),
    ("nonsense", OBJECTS, "not JSON: Expecting value", None), ('{"x" 1}', OBJECTS, "not JSON: Expecting ':' delimiter", None),
    ("[" * 100_000, OBJECTS, "not JSON: nested too deeply", None), ('{"x":1,"y":2,"v":3}', OBJECTS, "the object already has 'v'",
     "a result of this name is appended: --rename v=other, or --only"),
    ('{"x":1,"y":2,"k":3}', OBJECTS, "the object has 'k', which --at fixes",
     "leave out --at k=…, or --rename k=other"),
    ('{"a":1,"x":2,"y":3}', Dialect("ndjson", None, renamed={"a": "x"}), "--rename: two members would be called 'x'", None),
    ('{"a":1,"b":2,"x":3}', Dialect("ndjson", None, renamed={"b": "y", "a": "x"}), "--rename: two members would be called 'x'",
     None),
    ('{"x":1,"y":2}', Dialect("ndjson", None, renamed={"x": "y", "y": "x"}), [2.0, 1.0], None),
], ids=lambda x: repr(x)[:28])
def test_an_object(text, dialect, want, help):
    table = Table(dialect, [Param(Var("x"), "x"), Param(Var("y"), "y")], ("k",))
    table.new = ("v",)
    rows = table.careful(text.encode() + b"\n")
    if isinstance(want, list):
        assert (repr([c[0] for c in rows.columns]), rows.faults) == (repr(want), {})
    else:
        assert (rows.faults[0].reason, rows.faults[0].help) == (want, help)


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


@pytest.mark.parametrize(("rows", "options", "said"), [
    ("0,1\n1,1\n", [], ""), ("0.5,1\n2,1\n-3,1\n", [], "-e: note: x = 2.0 is outside its range [0.0, 1.0]\n"),
    ("1,1\n-1e-300,1\n", [], "-e: note: x = -1e-300 is outside its range [0.0, 1.0]\n"),
    ("0,9\n7,8\n", ["--at", "y=2", "--rename", "y=z"], "-e: note: x = 7.0 is outside its range [0.0, 1.0]\n"),
    (",1\n0,1\n", ["--missing", "nan"], "-e: note: x = nan is outside its range [0.0, 1.0]\n"),
    ("7,z\n8,1\n", ["--on-error", "mark"], "-e: note: x = 8.0 is outside its range [0.0, 1.0]\n"),
    ("0,1\n", ["--at", "k=9"], "-e: note: k = 9.0 is outside its range [2.0, 3.0]\n")])
def test_every_reader_watches_ranges(rows, options, said):
    """The first value outside is said once, bad rows aside."""
    for cut in (False, True):
        ended = same(outcomes(f"x,y\n{rows}".encode(), "input x in [0, 1], y, k in [2, 3] = 2.5\nv = x*y*k", *options,
                              verb="eval", cut=cut))
        assert ended.code == 0 and said in ended.err and bool(ended.err) == bool(said), ended.err
        assert ended.err.count("outside") <= 1


@pytest.mark.parametrize(("rows", "options", "said"), [
    ("1,1\n0,2\n", [], ":3: not smooth or not finite, 1 of 2 rows"),
    ("1,1\n\n0,2\n-1,0\n", [], ":4: not smooth or not finite, the first of 2 such rows of 3"),
    ("1,1\n1,inf\n", [], ":3: not smooth or not finite, 1 of 2 rows"),
    ("z,1\n1,1\n0,1\n", ["--on-error", "skip"], ":4: not smooth or not finite, 1 of 2 rows"),
    ("z,1\n1,1\n0,1\n", ["--on-error", "mark"], ":4: not smooth or not finite, the first of 2 such rows of 3"),
    ('"1",1\n"4",1e300\n', [], None), ("1,1\n4,1e300\n", [], None)])
def test_every_reader_names_the_first_rough_row(rows, options, said):
    for cut in (False, True):
        ended = same(outcomes(f"x,y\n{rows}".encode(), "v = sqrt(x)*y", "--strict", *options, cut=cut))
        assert (ended.code, said is None or f"<stdin>{said}\n" in ended.err) == (4 if said else 0, True), ended.err
