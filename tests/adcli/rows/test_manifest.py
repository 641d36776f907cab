"""In what a run in parts differs from an earlier one, and what is read of one that was cut off."""
from __future__ import annotations

import json

import pytest

from adcli.rows.manifest import difference, journal_lines, line, manifest_lines, other_sources, spelled

HEAD = {"manifest": 1, "adcli": "1.2", "code": "aa", "verb": "grad", "program": "bb", "--fmt": "%.3g", "--only": True,
        "--at": ["k=3"], "direction": [], "request": "r", "sources": [{"source": "a.csv", "size": 3, "stamp": 1}]}


@pytest.mark.parametrize(("change", "said"), [
    ({}, None),
    ({"adcli": "1.3"}, "with adcli 1.2, and this is 1.3"),
    ({"verb": "eval"}, "with grad, and this is eval"),
    ({"code": "cc"}, "with another code of adcli"),
    ({"program": "cc"}, "with another program"),
    ({"request": "s"}, "with another request"),
    ({"direction": ["dx=1"]}, "with another direction"),
    ({"--fmt": "%.6g"}, "with --fmt %.3g, not with --fmt %.6g"),
    ({"--fmt": None}, "with --fmt %.3g, not without --fmt"),
    ({"--only": False}, "with --only, not without --only"),
    ({"--at": ["k=3", "n=4"]}, "with --at k=3, not with --at k=3, n=4"),
    ({"--status": True}, "without --status, not with --status"),
    ({"sources": [{"source": "a.csv", "size": 4, "stamp": 2}]}, "with another a.csv: it has changed since"),
    # of several differences the one that explains the others
    ({"--fmt": "%.6g", "program": "cc", "verb": "eval", "code": "cc", "adcli": "1.3"}, "with adcli 1.2, and this is 1.3"),
    ({"--fmt": "%.6g", "program": "cc", "verb": "eval", "code": "cc"}, "with another code of adcli"),
    ({"--fmt": "%.6g", "program": "cc", "verb": "eval"}, "with grad, and this is eval"),
    ({"--fmt": "%.6g", "program": "cc"}, "with another program"),
    ({"--only": False, "--fmt": "%.6g"}, "with --fmt %.3g, not with --fmt %.6g")])
def test_what_differs_is_said(change, said):
    assert difference(HEAD, {**HEAD, **change}) == said


def test_an_option_that_only_one_of_them_has():
    less = {name: value for name, value in HEAD.items() if name != "--fmt"}
    assert difference(less, HEAD) == "without --fmt, not with --fmt %.3g"
    assert difference(HEAD, less) == "with --fmt %.3g, not without --fmt"
    assert difference({**HEAD, "--new": None}, HEAD) is None   # as if it were not there


@pytest.mark.parametrize(("value", "said"), [
    (None, "without --o"), (False, "without --o"), (True, "with --o"), ("x", "with --o x"), (0, "with --o 0"),
    (["a", "b"], "with --o a, b"), ([], "with --o "), ("x\ny", "with --o x y")])
def test_what_was_said_of_an_option(value, said):
    assert spelled("--o", value).replace("\\n", " ") == said


def test_a_long_value_is_cut():
    assert len(spelled("--o", "x" * 10_000)) < 150


def files(*names):
    return [{"source": name, "size": 1} for name in names]


@pytest.mark.parametrize(("old", "new", "said"), [
    (files("a", "b"), files("a"), "with b, which is not in --data now"),
    (files("a"), files("a", "b"), "without b"),
    (files(), files("a"), "without a"),
    (files("a"), files(), "with a, which is not in --data now"),
    (files("a", "b"), files("b", "a"), "with the files in another order"),
    (files("a", "b"), files("a", "c"), "without c"),
    (files("a", "b", "c"), files("a", "c"), "with b, which is not in --data now"),
    (files("a", "a"), files("a"), "with the files in another order"),
    (files("a"), [{"source": "a", "size": 2}], "with another a: it has changed since")])
def test_files_that_differ(old, new, said):
    assert other_sources(old, new) == said
    assert difference({**HEAD, "sources": old}, {**HEAD, "sources": new}) == said


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
