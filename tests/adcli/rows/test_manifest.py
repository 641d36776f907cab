"""In what a run in parts differs from an earlier one, and what is read of one that was cut off."""
from __future__ import annotations

import json

import pytest

from adcli.rows.manifest import difference, journal_lines, line, manifest_lines

HEAD = {"manifest": 1, "adcli": "1.2", "code": "aa", "verb": "grad", "program": "bb", "--fmt": "%.3g", "--only": True,
        "--at": ["k=3"], "direction": [], "request": "r", "sources": [{"source": "a.csv", "size": 3, "stamp": 1}]}


@pytest.mark.parametrize(("change", "said"), [
    ({}, None), ({"adcli": "1.3"}, "another adcli"), ({"code": "cc"}, "another adcli"), ({"verb": "eval"}, "another verb"),
    ({"program": "cc"}, "another program"), ({"--fmt": "%.6g"}, "another --fmt"), ({"--fmt": None}, "another --fmt"),
    ({"--status": True}, "another --status"), ({"sources": []}, "other files"), ({"--new": None}, None),
    # of several differences the one that explains the others
    ({"--fmt": "%.6g", "program": "cc", "verb": "eval", "code": "cc"}, "another adcli"),
    ({"--fmt": "%.6g", "program": "cc", "verb": "eval"}, "another verb"),
    ({"--fmt": "%.6g", "program": "cc"}, "another program")])
def test_what_differs_is_said(change, said):
    assert difference(HEAD, {**HEAD, **change}) == said


@pytest.mark.parametrize("entry", [{"part": 0}, {"part": 1, "file": "ü\udcff\n.csv", "rows": 3}])
def test_a_line_comes_back(entry):
    whole = line(entry)
    assert whole.endswith(b"\n") and whole.count(b"\n") == 1
    assert journal_lines(whole) == [entry] and journal_lines(whole[:-1]) == []


def test_a_journal_ends_at_its_first_line_that_is_not_whole():
    lines = [line({"part": k}) for k in range(3)]
    assert journal_lines(b"".join(lines)) == [{"part": 0}, {"part": 1}, {"part": 2}]
    for cut in range(len(lines[2])):
        assert journal_lines(b"".join(lines[:2]) + lines[2][:cut]) == [{"part": 0}, {"part": 1}]
    assert journal_lines(lines[0] + b"{\n" + lines[2]) == [{"part": 0}]
    assert journal_lines(b"") == []


def test_a_manifest_is_its_head_and_its_parts():
    assert manifest_lines(json.dumps({"a": 1, "parts": [{"part": 0}, {"part": 1}]}).encode()) == [
        {"a": 1}, {"part": 0}, {"part": 1}]
    for broken in (b"", b"{", b"[]", b"3", b'{"a": 1}', b'{"parts": 3}', b"\xff"):
        assert manifest_lines(broken) == []
