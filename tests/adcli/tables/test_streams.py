"""The three readers of tables give the same bytes, messages and exit codes: row by row, the plain one, and native
code.

The careful reader is the definition; the others may only be faster. Tables are drawn from what breaks readers: quotes, odd
spaces, numbers that are none or too large, rows of the wrong length, CRLF, byte order marks, and cuts in odd places.
"""
from __future__ import annotations

import math
import struct
from unittest import mock

import pytest
from command import adcli
from hypothesis import given, settings
from hypothesis import strategies as st
from readers import READERS, outcomes, reader, same
from session_seed import drawn

from adcli.input.fields import Fault, field_number
from adcli.rows import blocks
from adcli.rows.blocks import fast_tables
from adcli.tables.dialect import Dialect
from adcli.tables.reader import Table
from adcli.tables.streams import cut, end_of_rows

PROGRAM = "v = x*y + sqrt(x)"
ODD = ["", " ", "1_000", "1__0", "_1", "0x1p3", "0x1.8", "1e999", "-1e999", "1e-999", "0x1p9999", "nan", "NaN", "-nan", "inf",
       "-Inf", "+Infinity", "infinit", "1e", "e1", ".", "-", "+.5", "5.", "١", "²", "1\x0b", "\x0c1", "1\x00", "\x1c1", "\xa01",
       "true", "null", "1d5", "1,5", "#1", "1.7976931348623159e308", "4.9e-324", "2.4703282292062327e-324", "9007199254740993",
       "0" * 400 + "1", "1" + "0" * 308, "1" + "0" * 309, "0." + "0" * 330 + "1e330", "12345678901234567890.12345678901234567890",
       "1 2", "\t7 ", "--1", "1e+5", "1E-5", "00012", "-0", "0x", "1f", "1e5.5", "é", "\x01", "'1'", "1\r2"]
NUMBERS = st.one_of(st.floats(allow_nan=False, allow_infinity=False).map(repr), st.integers(-10**20, 10**20).map(str),
                    st.text("0123456789.eE+-_ ", max_size=12))
FIELDS = st.one_of(NUMBERS, NUMBERS, st.sampled_from(ODD), st.text("ab1.é\"\t ,;\r", max_size=5))


def written(field):
    return '"' + field.replace('"', '""') + '"' if any(c in field for c in '",\n\r') else field


ROWS = st.one_of(
    st.tuples(NUMBERS, FIELDS, NUMBERS).map(lambda r: ",".join(map(written, r))),
    st.lists(FIELDS, max_size=5).map(lambda r: ",".join(map(written, r))),
    st.text('1a,"\n', max_size=12), st.just(""))
TABLES = st.tuples(st.sampled_from(["", "\ufeff", "\n", "\r\n"]), st.lists(ROWS, max_size=8), st.sampled_from(["\n", "\r\n"]),
                   st.booleans())


@settings(max_examples=40, deadline=None)
@given(TABLES, st.sampled_from(["stop", "skip", "mark"]), st.sampled_from(["error", "nan"]), st.booleans(), st.booleans())
def test_csv(table, policy, missing, status, cut):
    start, rows, end, last = table
    text = start + end.join(["x,n,y", *rows]) + (end if last else "")
    options = ["--on-error", policy, "--missing", missing, *(["--status"] if status else [])]
    same(outcomes(text.encode(), PROGRAM, *options, cut=cut))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(FIELDS, FIELDS), max_size=6), st.booleans())
def test_numbers_in_plain_tables(rows, crlf):
    """Rows of the right length without quotes reach the fast readers with any field at all."""
    lines = ["y\tx", *[f"{x}\t{y}".replace('"', "'") for x, y in rows if "\t" not in x + y and "\r" not in x + y], ""]
    same(outcomes(("\r\n" if crlf else "\n").join(lines).encode(), PROGRAM, "--on-error", "mark", "--missing", "nan"))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.text('ab,"\n', max_size=5), st.floats(0, 9), st.booleans(), st.text('a,"', max_size=3)), max_size=6),
       st.booleans())
def test_quoted_tables(rows, strays):
    """Rows of the right length where names and numbers are quoted; or with quotes where none belong."""
    lines = ["n,x,y,m"]
    for name, x, quoted, other in rows:
        field = other if strays and "," not in other else written(other)
        lines.append(f'{written(name)},{written(repr(x)) if not quoted else chr(34) + repr(x) + chr(34)},1,{field}')
    data = "\n".join([*lines, ""]).encode()
    same(outcomes(data, PROGRAM, "--on-error", "mark"))


def test_native_code_reads_quoted_tables():
    table = Table(Dialect("csv", b","), [])
    table.take_first(b"a,b")
    data = b'"x, ""y""",1\nz,"2"\n"",""\n'
    assert fast_tables(True).read(table, data).rows() == data.splitlines()
    for odd in (b'a"b,1\n', b'"a"b,1\n', b'"a,1\n', b'"a\nb",1\n', b'a,1\n"",2"\n', b' "a",1\n', b'"a" ,1\n', b'a,b,c\nd\n'):
        found, want = fast_tables(True).read(table, odd), table.careful(odd)
        assert (found is None) == bool(want.faults or len(want.texts) != want.lines), odd
        assert found is None or found.rows() == want.texts


VALUES = st.one_of(st.none(), st.booleans(), st.floats().map(lambda x: x if math.isfinite(x) else str(x)), st.text(max_size=3),
                   st.integers(-10**400, 10**400))
JSON = st.recursive(VALUES, lambda inner: st.lists(inner, max_size=2), max_leaves=3)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.one_of(st.dictionaries(st.sampled_from(["x", "y", "z", "v"]), JSON), JSON,
                          st.fixed_dictionaries({"x": st.floats(0, 9), "y": st.integers(0, 9)})), max_size=6),
       st.sampled_from(["stop", "skip", "mark"]), st.booleans())
def test_ndjson(rows, policy, cut):
    import json
    text = "\n".join(['{"x":1,"y":2}', *map(json.dumps, rows)])
    same(outcomes(text.encode(), PROGRAM, "--on-error", policy, cut=cut))


@pytest.mark.parametrize("data", [
    b"", b"\n", b"x,n,y", b"x,n,y\n", b"\xef\xbb\xbfx,n,y\n1,2,3", b"x,n,y\n1,\xff,3\n", b"x,n,y\n1,\xff,b\n",
    b"x,n,y\n1,\x00,3\n", b'x,n,y\n1,"open,3\n4,5,6\n', b'x,n,y\n1,"a"b,3\n4,5,6\n', b'x,n,y\n1,"a""b\nc",3\n4,5,z\n',
    b"x,y,x\n1,2,3\n", b"x,v,y\n1,2,3\n",
    b"X,n,y\n1,2,3\n", b'"x","n","y"\n1,2,3\n', b" x ,n,y\n1,2,3\n", b"x\n1\n", b"x,n,y\n1,2,3\n\n\n4,5,6\n", b"x,n,y\r1,2,3\r",
    b"x,n,y\n" + b"1," + b"a" * 100_000 + b",2\n", b"\xff\xfex\x00,\x00y\x00\n\x00", b"x,n,y\n1,2\n3\n1,2,3,4,5\n",
    b'x,n,y\n1,",\n",2\n"1","","2"\n',
], ids=lambda data: repr(data[:24]))
def test_awkward_tables(data):
    policy, short = drawn("awkward", data).choice((("stop", False), ("skip", True), ("mark", False), ("mark", True)))
    same(outcomes(data, PROGRAM, "--on-error", policy, cut=short))


def test_cuts_change_nothing():
    data = b'n,x,y\n"a,\n""b""",1,2\nc,3,4\r\n\nd,5,"6"\ne,7,8'
    with reader("careful"):
        whole = adcli("grad", "-e", PROGRAM, "--data", "-", stdin=data)
    for name in READERS:
        with reader(name, cut=True):
            assert adcli("grad", "-e", PROGRAM, "--data", "-", stdin=data) == whole


def test_native_code_writes_what_repr_writes():
    random = drawn("numbers")
    values = [struct.unpack("<d", random.randbytes(8))[0] for _ in range(15_000)]
    values += [random.uniform(-2, 2) * 10**random.randint(-6, 18) for _ in range(15_000)]
    values += [s * math.ldexp(m, e) for e in range(-1074, 1020) for m in (1, 1.5, 1 + 2**-52) for s in (1, -1)]
    for e in range(-320, 308):
        x = float(f"1e{e}")
        values += [x, math.nextafter(x, 0), math.nextafter(x, math.inf), float(f"9.5e{e}"), float(f"123456789e{e - 8}")]
    values += [0.0, -0.0, math.nan, math.inf, -math.inf, *map(float, range(-1000, 1000)), 2.0**53, 2.0**53 + 2]
    assert fast_tables(True).number_texts(values) == list(map(repr, values))


@settings(max_examples=150, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["", " ", "\t"]))
def test_a_number_reads_back(x, space):
    assert field_number((space + repr(x) + space).encode()).hex() == x.hex()
    assert field_number(x.hex().encode()).hex() == x.hex()


@pytest.mark.parametrize("text", ["", "1_", "_1", "1__0", "1e999", "0x1p9999", "1\x0b", "\xa01", "²", "pi", "1,5", "0x",
                                  "infi", "1e1_0"])
def test_no_number(text):
    with pytest.raises(Fault):
        field_number(text.encode())


@settings(max_examples=100, deadline=None)
@given(st.text('ab,"\n\r', max_size=30))
def test_rows_end_where_they_are_split(text):
    """Cutting at the end of the last whole row splits no row."""
    data = text.encode() + b"\n"
    end = end_of_rows(data, b",")
    table = Table(Dialect("csv", b","), [])
    whole = [row for row, _ in table.split(data)]
    parts = [row for part in (data[:end], data[end:]) if part for row, _ in table.split(part)]
    assert parts == whole


@given(st.lists(st.sampled_from([b"1", b"12,3", b'"a\nb",4', b"x" * 50, b""]), min_size=1), st.integers(1, 60), st.booleans())
def test_blocks_are_cut_at_the_ends_of_rows_and_lose_nothing(rows, most, lines):
    text, separator = b"".join(row + b"\n" for row in rows), None if lines else b","
    found = list(cut(text, separator, most))
    assert b"".join(found) == text and all(found)
    assert all(end_of_rows(block, separator) == len(block) for block in found)
    assert max(map(len, found)) <= 2 * max(most, 51)


def test_programs_of_many_results_have_blocks_of_fewer_rows(tmp_path):
    """The bytes are the same, and no block has more results than memory should hold."""
    program, table = "\n".join(f"v{i} = x*{i}.5" for i in range(200)), tmp_path / "t.csv"
    table.write_text("x\n" + "".join(f"{i}\n" for i in range(1000, 4000)))
    run, seen = blocks.run, []

    def counted(kernel, columns, rows):
        seen.append(rows)
        return run(kernel, columns, rows)
    found = []
    for few in (200, 1):
        with mock.patch.object(blocks, "FEW_RESULTS", few), mock.patch.object(blocks, "fast_tables", lambda keep: None), \
                mock.patch.object(blocks, "run", counted):
            found.append(adcli("eval", "-e", program, "--data", str(table)))
    assert found[0].code == 0 and found[0].out == found[1].out
    assert seen[0] == sum(seen[1:]) == 3000 and max(seen[1:]) < 3000
