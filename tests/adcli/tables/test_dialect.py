"""What the options say of a table: how it is written down, and what they cannot say together."""
from __future__ import annotations

import pytest
from adcli.lang.ir.errors import AdError
from command import adcli

from adcli.rows import sample_columns, stream
from adcli.tables.dialect import Dialect, delimiter, renamed


@pytest.mark.parametrize(("text", "found"), [
    (None, None), (";", b";"), (",", b","), ("tab", b"\t"), (r"\t", b"\t"), ("\t", b"\t"), ("comma", b","), ("semicolon", b";"),
    ("pipe", b"|"),
    ("space", b" "), (" ", b" "), ("~", b"~"), ("'", b"'"), ("", 0), ("ab", 0), ("x", 0), ("_", 0), ("7", 0), (".", 0), ("-", 0),
    ("+", 0), ('"', 0),
    ("\n", 0), ("\0", 0), ("\x7f", 0), ("é", 0), ("–", 0)])
def test_a_delimiter(text, found):
    if found != 0:
        assert delimiter(text, False) == found
        return
    with pytest.raises(AdError) as fault:
        delimiter(text, False)
    assert (str(fault.value.message), fault.value.help) == (f"--delimiter '{text}' is not a delimiter",
                                                            "write one character: --delimiter ';', '|' or tab")


@pytest.mark.parametrize(("pairs", "found"), [
    ((), {}), (("a=b",), {"a": "b"}), ((" a = b ", "c=d"), {"a": "b", "c": "d"}), (("a=b=c",), {"a=b": "c"}),
    (("x=y", "y=x"), {"x": "y", "y": "x"}),
    (("e\u0301=x",), {"é": "x"}), (("a",), "--rename 'a' is not OLD=NEW"), (("=a",), "--rename '=a' is not OLD=NEW"),
    (("a= ",), "--rename 'a= ' is not OLD=NEW"), (("a=b,c=d", "my, col=x"), {"a": "b", "c": "d", "my, col": "x"}),
    (("a=b, c d=e ",), {"a": "b", "c d": "e"}), (("a=b,c",), {"a": "b,c"}),
    (("a=b,c=b",), "--rename: two columns would be called 'b'"),
    (("a=b", "a=c"), "--rename: 'a' is renamed twice"), (("a=c", "b=c"), "--rename: two columns would be called 'c'")])
def test_new_names(pairs, found):
    if isinstance(found, dict):
        assert renamed(pairs) == found
        return
    with pytest.raises(AdError) as fault:
        renamed(pairs)
    assert str(fault.value.message) == found and fault.value.help == ("write --rename 'my column=x'" if "OLD" in found else None)


@pytest.mark.parametrize(("text", "empty"),
                         [(b"", 1), (b" \t", 1), (b"NA", 1), (b" NA\t", 1), (b"na", 0), (b"\x0b", 0), (b"NAN", 0), (b"0", 0)])
def test_what_is_empty(text, empty):
    assert Dialect("csv", b",", empty=frozenset({b"NA"})).is_empty(text) == bool(empty)


@pytest.mark.parametrize("count", [stream.Reporter.MOST - 1, stream.Reporter.MOST, stream.Reporter.MOST + 1])
def test_bad_rows_are_told_up_to_a_number_and_counted_beyond(count):
    ended = adcli("eval", "-e", "v = x*y", "--on-error", "skip", stdin=b"x,y\n1,2\n" + b"z,1\n" * count)
    lines = ended.err.splitlines()
    assert len(lines) == min(count, stream.Reporter.MOST) + 1
    assert lines[0] == "<stdin>:3: column 'x': 'z' is not a number"
    assert lines[-1] == f"<stdin>: {count} of {count + 1} rows bad, skipped"


@pytest.mark.parametrize(("text", "dialect", "want"), [
    ("x,y\n1,2\n3,4\n", Dialect("csv", b","), [2.0, 4.0]), ('x,"a\nb",y\n1,2,3\n', Dialect("csv", b","), [3.0]),
    ("\nx,y\n1,2\n", Dialect("csv", b","), [2.0]),
    ("y\n", Dialect("csv", b","), []), ("1,2\n", Dialect("csv", b",", columns=("x", "y")), [2.0]),
    ('{"y":1}\n{"y":2}\n', Dialect("ndjson", None), [1.0, 2.0]),
    ("x,z\n1,2\n", Dialect("csv", b","), "f:1: no column 'y'"), ("", Dialect("csv", b","), "f:1: the table is empty"),
    ("\n \n", Dialect("csv", b","), "f:1: the table is empty"),
    ('x,"a\nb",y\n1,2,3\n\n1,2,z\n', Dialect("csv", b","), "f:5: column 'y': 'z' is not a number"),
    ("y\n1\n2\nz\n", Dialect("csv", b","), "f:4: column 'y': 'z' is not a number"),
    ("\n\ny\nz\n", Dialect("csv", b","), "f:4: column 'y': 'z' is not a number"),
    ("1,2\n3\n", Dialect("csv", b",", columns=("x", "y")), "f:2: 1 field, header has 2"),
    ('{"y":1}\n\n{"x":2}\n', Dialect("ndjson", None), "f:3: no 'y'"),
    ("x,y\n1,\n", Dialect("csv", b",", nan=True), [float("nan")])])
def test_a_column_of_numbers(text, dialect, want):
    table = sample_columns.SampleTable("f", text.encode(), dialect, True)
    if isinstance(want, list):
        assert repr(table.column("y")) == repr(want)
        return
    with pytest.raises(AdError) as fault:
        table.column("y")
    assert str(fault.value.message) == want

