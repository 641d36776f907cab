"""From a file to blocks of whole rows: unpacked, without a mark, cut between rows, whatever pieces the bytes come in."""
from __future__ import annotations

import gzip
import io
import itertools
import json
import os
import sys
import zlib
from unittest import mock

import pytest
from adcli.lang.ir.errors import AdError
from hypothesis import given, settings
from hypothesis import strategies as st

from adcli.tables import streams as tables
from adcli.tables.streams import BadTable, Input, JsonItems, blocks, flushed, gunzip, json_items, kind_of, without_mark

TEXT = b'x,y\n1,"a\n\nb"\n' + b"".join(b"%d,%d\n" % (i, i * i) for i in range(60))
PACKED = gzip.compress(TEXT)


def cut(data, sizes):
    """Bytes in pieces of these sizes, in turn; a size of 0 is a moment without any."""
    found, turn = [], itertools.cycle([*sizes, 1])
    while data:
        n = next(turn)
        found.append(data[:n] if n else None)
        data = data[n:]
    return found


def whole(pieces):
    return b"".join(p for p in pieces if p)


SIZES = st.lists(st.integers(0, 60), max_size=4)


@settings(max_examples=15, deadline=None)
@given(SIZES, st.sampled_from([7, 100, 1 << 20]))
def test_gzip_streams_one_after_the_other_are_one_text(sizes, most):
    with mock.patch.object(tables, "BLOCK", most):
        for data, want in ((PACKED, TEXT), (PACKED + PACKED, TEXT * 2), (PACKED + bytes(9), TEXT), (gzip.compress(b""), b""),
                           (PACKED + bytes(3) + PACKED, TEXT * 2)):
            pieces = cut(data, sizes)
            found = list(gunzip(iter(pieces), "f"))
            assert whole(found) == want
            assert found.count(None) == pieces.count(None)
            assert all(len(p) <= most for p in found if p)


def test_a_bomb_is_unpacked_a_bounded_amount_at_a_time():
    found = [len(p) for p in gunzip(iter([gzip.compress(bytes(5 << 20))]), "f")]
    assert sum(found) == 5 << 20 and max(found) <= tables.BLOCK


@pytest.mark.parametrize(("data", "said"), [
    (PACKED[:-1], "f: the gzip data ends too early"), (PACKED[:10], "f: the gzip data ends too early"),
    (b"", "f: the gzip data ends too early"),
    (PACKED[:40] + b"!" + PACKED[41:], "f: damaged gzip data"), (PACKED + b"tail", "f: damaged gzip data"),
    (PACKED[:-8] + bytes(8), "f: damaged gzip data"), (zlib.compress(TEXT), "f: damaged gzip data")], ids=range(7))
def test_damaged_gzip(data, said):
    with pytest.raises(AdError) as found:
        whole(gunzip(iter([data]), "f"))
    assert str(found.value.message) == said


@settings(max_examples=60, deadline=None)
@given(SIZES, st.sampled_from([1, 5, 50, 1 << 20]), st.sampled_from([b",", b"\t", None]),
       st.sampled_from([TEXT, TEXT[:-1], b"", b"\n", b"a", b'"open\n', b"\n\n\na\r\n", TEXT.replace(b"\n", b"\r\n")]))
def test_blocks_are_the_text_in_whole_rows(sizes, wanted, separator, text):
    pieces = cut(text, sizes)
    with mock.patch.object(tables, "BLOCK", wanted):
        found = list(blocks(iter(pieces), separator, "f"))
    assert whole(found) == (text if text.endswith(b"\n") or not text else text + b"\n")
    assert all(block is None or block.endswith(b"\n") for block in found)
    assert found.count(None) == pieces.count(None), "whoever waits says so"
    if separator == b",":
        assert all(block is None or block.count(b'"') % 2 == 0 for block in found[:-1])
    before = 0
    for block in found[:-1]:
        assert block is None or not before or len(block) >= min(wanted, 1)
        before += len(block or b"")


def test_what_is_there_is_worked_on_before_it_is_waited_for():
    """A block ends with the last whole row when nothing more can be had; else when it is long enough."""
    with mock.patch.object(tables, "BLOCK", 6):
        assert list(blocks(iter([b"1,2\n3", None, b",4\n", None, None, b"5,6"]), b",", "f")) == [
            b"1,2\n", None, b"3,4\n", None, None, b"5,6\n"]
        assert list(blocks(iter([b"1,2", b"\n", b"3,", b"4\n", b"5,6\n"]), b",", "f")) == [b"1,2\n", b"3,4\n5,6\n"]
        assert list(blocks(iter([b"1,2", None, b"\n"]), b",", "f")) == [None, b"1,2\n"]


def test_the_last_whole_row_is_found_wherever_the_text_ends():
    rows = [b"1,2\n", b'"a\n\n",""\n', b"\n", b'1,"a""\n,"\r\n', b'"b"c,"d"\n', b'a"b,3\n', b'"1",2\n', b"3,4\n"]
    ends = list(itertools.accumulate(map(len, rows), initial=0))
    text = b"".join(rows)
    for separator in (b",", b";", b"|"):
        turned = text.replace(b",", separator)
        for n in range(len(text) + 1):
            if b'"' in text[:n]:
                assert tables.end_of_rows(turned[:n], separator) == max(e for e in ends if e <= n)
    assert [tables.end_of_rows(text[:n], None) for n in (0, 3, 4, 9)] == [0, 0, 4, 8], "every line is a row"
    assert tables.end_of_rows(b"1,2\n3,4", b",") == 4
    assert list(blocks(iter([b'"1",2\n"3', None, b'",4\n"', None, b'5\n",6\n']), b",", "f")) == [
        b'"1",2\n', None, b'"3",4\n', None, b'"5\n",6\n']


def test_a_row_has_an_end():
    with mock.patch.object(tables, "LONGEST_ROW", 2 << 20):
        row = b"a" * (2 << 20)
        assert whole(blocks(iter([row, b"\n"]), b",", "f")) == row + b"\n"
        with pytest.raises(BadTable) as found:
            list(blocks(iter([b"x\n", row, row]), b",", "f"))
    assert str(found.value) == "f: a row longer than 2 MiB\nhelp: is a quote not closed?"


@settings(max_examples=30, deadline=None)
@given(SIZES,
       st.sampled_from([b"", b"x", b"x,y\n1,2\n", b"\xef\xbb\xbf", b"\xef\xbb\xbfx,y\n", b"\xef\xbbx",
                        b"\xef\xbb\xbf\xef\xbb\xbfx"]))
def test_a_mark_in_front_is_left_out(sizes, text):
    pieces = cut(text, sizes)
    found = list(without_mark(iter(pieces), "f"))
    assert whole(found) == text.removeprefix(b"\xef\xbb\xbf")
    assert found.count(None) == pieces.count(None)


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-be", "utf-32", "utf-32-be"])
def test_wide_characters_are_refused(coding):
    name = coding[:6].upper()
    for sizes in ([1], [50]):
        with pytest.raises(AdError) as found:
            list(without_mark(iter(cut("\ufeffx,y\n".encode(coding), sizes)), "f"))
        assert (str(found.value.message), found.value.help) == (f"f: this is {name}",
                                                                f"iconv -f {name} -t UTF-8 FILE | adcli … --data -")


@pytest.mark.parametrize(("path", "asked", "start", "kind"), [
    ("a.csv", None, b"{", "csv"), ("A.TSV", None, b"", "tsv"), ("a.tab", None, b"", "tsv"), ("a.ndjson", None, b"", "ndjson"),
    ("a.jsonl", None, b"", "ndjson"), ("a.json", None, b"{", "json"), ("a.pq", None, b"x", "parquet"),
    ("a.parquet", None, b"x", "parquet"),
    ("a.tsv.gz", None, b"\x1f\x8b", "tsv"), ("a.json.zst", None, b"", "json"), ("a.gz", None, b"x\ty\n", "tsv"),
    ("a.csv", "tsv", b"", "tsv"),
    ("-", None, b"x,y\n", "csv"), ("-", None, b"x\ty\n", "tsv"), ("-", None, b"x\ty,z\n", "csv"),
    ("-", None, b"x\ty\tz,a\n", "tsv"),
    ("-", None, b"x\n1\t2\n", "csv"), ("-", None, b"", "csv"), ("-", None, b'{"x":1}', "ndjson"),
    ("-", None, b' \n{"x":1}', "ndjson"),
    ("-", None, b"[1]", "json"), ("-", None, b"\xef\xbb\xbf [1]", "json"), ("-", None, b"PAR1", "parquet"),
    ("-", None, b" PAR1", "csv"),
    ("a.b/c", None, b"x\ty", "tsv"), ("a.csv.b", None, b"x\ty", "tsv")])
def test_the_kind_of_a_table(path, asked, start, kind):
    assert kind_of(path, asked, start) == kind


# ---------------------------------------------------------------- where bytes come from

@pytest.mark.parametrize("data", [b"", b"x", TEXT, PACKED], ids=len)
def test_a_file_is_read_whole_and_its_progress_known(data, tmp_path):
    path = tmp_path / "f"
    path.write_bytes(data)
    with mock.patch.object(tables, "PIECE", 10):
        source = Input(str(path))
        assert (source.name, source.size, source.head, source.taken) == (str(path), len(data), data[:10], len(data[:10]))
        assert whole(source.pieces()) == (TEXT if data == PACKED else data)
    assert source.taken == len(data)
    assert not source.file.closed
    source.close()
    assert source.file.closed


def test_standard_input_is_read_as_it_comes_and_stays_open(monkeypatch):
    out, into = os.pipe()
    for byte in b"x,y":   # enough to see how it is packed, however it comes
        os.write(into, bytes([byte]))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(os.fdopen(out, "rb")))
    os.write(into, b"\n")
    source = Input("-")
    assert (source.name, source.size, source.head) == ("<stdin>", None, b"x,y\n")
    pieces = source.pieces()
    assert next(pieces) == b"x,y\n"
    assert next(pieces) is None
    os.write(into, b"1,")
    assert next(p for p in pieces if p) == b"1,"
    os.close(into)
    assert whole(pieces) == b"" and source.taken == 6
    source.close()
    assert not sys.stdin.buffer.closed


# ---------------------------------------------------------------- JSON over lines

ITEMS = [{"x": 1}, [1, "]"], "a\u2028\n", -1.5e3, None, True, {"é": {"y": []}}, 12]


@settings(max_examples=40, deadline=None)
@given(SIZES, st.sampled_from([None, 1]), st.sampled_from(["array", "lines", "touching"]))
def test_items_are_lines_of_their_own(sizes, indent, form):
    texts = [json.dumps(item, indent=indent, ensure_ascii=False) for item in ITEMS]
    text = f" [{' , '.join(texts)}] \n" if form == "array" else ("\n" if form == "lines" else " ").join(texts)
    pieces = cut(text.encode(), sizes)
    found = list(json_items(iter(pieces), "f"))
    assert [json.loads(line) for line in whole(found).splitlines()] == ITEMS
    assert found.count(None) == pieces.count(None)


@pytest.mark.parametrize(("text", "lines", "said"), [
    ("[]", 0, None), (" [ ] ", 0, None), ("", 0, None), ("[1,2]", 2, None), ("1 2", 2, None), ("{}{}", 2, None), ("12", 1, None),
    ("[1", 1, "item 2: not JSON: the array is not closed"), ("[", 0, "item 1: not JSON: the array is not closed"),
    ("[1,", 1, "item 2: not JSON: the array is not closed"), ("[,]", 0, "item 1: not JSON: Expecting value"),
    ("[1,,2]", 1, "item 2: not JSON: Expecting value"), ("[1,]", 1, "item 2: not JSON: Expecting value"),
    ("[1 2]", 1, "item 2: not JSON: Expecting ',' delimiter"), ("[1]2", 1, "item 2: not JSON: text after the array"),
    ("[1]]", 1, "item 2: not JSON: text after the array"), ("]", 0, "item 1: not JSON: Expecting value"),
    ("1,2", 1, "item 2: not JSON: Expecting value"),
    ("{} nonsense", 1, "item 2: not JSON: Expecting value"), ('["open', 0, "item 1: not JSON: Unterminated string starting at"),
    ("[" * 100_000, 0, "item 1: not JSON: nested too deeply"), ('{"x":1', 0, "item 1: not JSON: Expecting ',' delimiter"),
    ('[{"x" 1}]', 0, "item 1: not JSON: Expecting ':' delimiter")], ids=lambda x: repr(x)[:20])
def test_what_is_no_json(text, lines, said):
    """What was read goes its way first, and is waited for, before the fault is said."""
    found = []
    try:
        for piece in flushed(json_items(iter([text.encode()]), "f")):
            found.append(piece)
    except BadTable as fault:
        assert str(fault) == f"f: {said}"
        assert found[-1] is None
    else:
        assert said is None
    assert whole(found).count(b"\n") == lines


def test_a_number_may_go_on_and_an_endless_item_does_not():
    items = JsonItems()
    assert items.taken("[12", False) == ([], "12")
    assert items.taken("123]", True) == (["123\n"], "")
    assert (items.fault, items.count) == (None, 1)
    with mock.patch.object(tables, "LONGEST_ROW", 10):
        endless = JsonItems()
        endless.taken('["' + "a" * 9, False)
        assert endless.fault is None
        endless.taken('"' + "a" * 10, False)
        assert endless.fault == "Unterminated string starting at"
