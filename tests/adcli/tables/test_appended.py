"""A row on its way out: the parts it is made of, in every kind of table."""
from __future__ import annotations

import csv
import io
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adcli.input.fields import Fault
from adcli.tables import appended
from adcli.tables.dialect import Dialect
from adcli.tables.reader import Table, unquoted


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text('a,;"\t\r\n é', max_size=6), min_size=1, max_size=4), st.sampled_from([",", ";", "\t"]))
def test_fields_are_quoted_where_they_need_it_and_found_again(fields, separator):
    row = separator.encode().join(appended.quoted(f.encode(), separator.encode()) for f in fields)
    found = appended.raw_fields(row, separator.encode())
    assert separator.encode().join(found) == row
    assert [unquoted(f, 1).decode() for f in found] == fields
    if row:
        assert next(csv.reader(io.StringIO(row.decode(), newline=""), delimiter=separator)) == fields


@pytest.mark.parametrize(("field", "separator", "want"), [
    (b"a", b",", b"a"), (b"", b",", b""), (b"a b", b",", b"a b"), (b"a;b", b",", b"a;b"), (b"a;b", b";", b'"a;b"'),
    (b"a,b", b";", b'"a,b"'),
    (b"a\tb", b",", b'"a\tb"'), (b"a\rb", b",", b'"a\rb"'), (b"a\nb", b",", b'"a\nb"'), (b'a"b', b",", b'"a""b"'),
    (b"'a'", b",", b"'a'")])
def test_what_is_quoted(field, separator, want):
    assert appended.quoted(field, separator) == want


FINITE = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(st.none() | st.booleans() | st.integers() | FINITE | st.text(max_size=3),
                      lambda x: st.lists(x, max_size=2) | st.dictionaries(st.text(max_size=2), x, max_size=2), max_leaves=4)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=4), st.sampled_from(["", " ", "\t\n\r "]), st.booleans())
def test_members_as_they_are_written(found, blank, ascii):
    texts = [(json.dumps(k, ensure_ascii=ascii), json.dumps(v, ensure_ascii=ascii)) for k, v in found.items()]
    between = f"{blank},{blank}".join(f"{k}{blank}:{blank}{v}" for k, v in texts)
    try:
        row = f"{blank}{{{blank}{between}{blank}}}{blank}".encode()
    except UnicodeEncodeError:   # half of a surrogate pair
        return
    assert appended.slices(row) == [(k, v) for k, (_, v) in zip(found, texts, strict=True)]


@pytest.mark.parametrize(("row", "want"), [
    (b"{}", b"{"), (b" { }\r", b" { "), (b'{"x":1}', b'{"x":1,'), (b'{"x":1 } \t\r', b'{"x":1 ,'), (b'{"x":{}}', b'{"x":{},')])
def test_an_object_is_opened(row, want):
    assert appended.opened(row) == want
    assert json.loads(appended.opened(row) + b'"v":2}')["v"] == 2


@pytest.mark.parametrize(("separator", "row", "want"), [
    (b",", b"1,2", b"1,2"), (b",", b"1", b"1,"), (b",", b"", b","), (b",", b"1,2,3", b"1,2"), (b",", b'"1,2"', b'"1,2",'),
    (b",", b'"1,2', b'"""1,2",'),
    (b";", b"1", b"1;"), (b";", b'"1', b'"""1";'), (b",", b'1,"a"b,3', b'"1,""a""b,3",'),
    (None, b'{"x":1}', b'{"x":1}'), (None, b'{"x":', b"{}"), (None, b"[1]", b"{}"), (None, b'{"v":1}', b"{}"),
    (None, b"\xff", b"{}"), (None, b"[" * 99_999, b"{}"), (None, b'{"x":NaN}', b"{}")])
def test_a_bad_row_is_made_one_that_results_can_follow(separator, row, want):
    table = Table(Dialect("csv" if separator else "ndjson", separator, columns=("x", "y") if separator else None), [])
    if separator:
        table.take_first(separator.join([b"a", b"b"]))
    table.new = ("v",)
    assert appended.repaired(table, row) == want
    if separator:
        assert len(table.fields(want)) == 2
    else:
        table.new = ()
        assert appended.repaired(table, row) == b"{}", "nothing is appended: nothing is worth keeping"


@pytest.mark.parametrize(("x", "shown", "want"), [
    (0.5, "0.5", "0.5"), (0.5, "0x1.0p-1", '"0x1.0p-1"'), (0.5, "+0.5", "0.5"), (0.5, " 0.5", "0.5"), (1e300, "1e+300", "1e+300"),
    (0.5, "1.", "1.0"),
    (math.nan, "nan", '"NaN"'), (math.inf, "inf", '"Infinity"'), (-math.inf, "-inf", '"-Infinity"')])
def test_a_result_as_json(x, shown, want):
    assert appended.json_text(x, shown) == want


def test_half_of_a_pair_is_no_text():
    assert appended.encoded("é") == "é".encode()
    with pytest.raises(Fault) as found:
        appended.encoded("\ud800")
    assert (found.value.reason, found.value.help) == ("a string holds half of a surrogate pair, which no text can",
                                                      "write JSON: --format json")
