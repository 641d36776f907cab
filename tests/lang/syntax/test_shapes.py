"""Lines of one shape are found where they are of one shape, and nowhere else; long lines are cut where their operators are
loosest."""
from __future__ import annotations

import pytest
from adcli.lang.ir.errors import Source
from adcli.lang.syntax.shapes import by_shape
from adcli.lang.tree.nodes import Assign, LongLine, ShapedLine
from row_tables import each_row

ALIKE = [
    ("v = a*b + 2", "v = x_1*_y + 0x1.8p-2", ["v", "x_1", "_y", "0x1.8p-2"]),
    ("t = sin(a)", "max =  sin(a)", None),   # blanks count
    ("t = sin(a)", "max = sin(in1)", ["max", "in1"]),
    ("t = sin(a)", "t = cos(a)", None),   # so do the names of functions
    ("t = exp2(a)", "t = exp2(1_000.5e-3)", None),   # and whether a word is a number
    ("t = exp2(3.)", "t = exp2(1_000.5e-3)", ["t", "1_000.5e-3"]),
    ("t = a  # one", "u = b # two", ["u", "b"]),
    ("t = a < 2 ? -a : a", "u = b < .5 ? -c : d", ["u", "b", ".5", "c", "d"]),
    ("t = a", "in = b", None),   # keywords
    ("t = a - b", "t = a and b", None),
    ("t = a*b", "t = not*b", None),
    ("t = and(a, b)", "t = and(c, d)", ["t", "c", "d"]),   # no keyword where it is called
    ("max=3", "max=4", None),   # `max=` is one token to the scanner's eyes, and no target of a line that has a shape
    ("C(i) = a", "C(i) = b", None),
    ("a, b = dup(x)", "c, d = dup(x)", None),
    ("input x", "input y", None),
    ("α = β*π  # größer", "a·b = Δt*x̂", ["a·b", "Δt", "x̂"]),
    ("β1 = 2*sin(β)", "β2 = 3*sin(β2)", ["β2", "3", "β2"]),
    ("t = a; u = b", "t = a; u = c", None),
    ("t = 2a", "t = 3a", None),
    ("t = 1._5", "t = 2._5", None),   # with another number before it `_5` would go on
    ("t = a +", "t = b +", None),
    ("t = f(a,", "t = f(b,", None),
]
"""A line, another one, and the words of the second if they are of one shape."""


@each_row(("first", "second", "words"), ALIKE)
def test_which_lines_are_of_one_shape(first: str, second: str, words: list[str] | None) -> None:
    read = by_shape(Source("t", f"{first}\n{first}\n{second}\n"))
    lines = [s for s in read[1] if isinstance(s, ShapedLine)] if read else []
    found = [s.words for s in lines if s.start == 2 * len(first) + 2]
    assert found == ([words] if words else [])


def test_the_first_line_of_a_shape_and_what_has_none_are_read_as_ever() -> None:
    text = "def f(x) -> (y) {\n  y = x*2\n  y = y*2\n}\nv = 1 + (a\n  * b)\n\nw = c*d   # d\nu = d*w\n"
    read = by_shape(Source("t", text))
    assert read is not None
    tree, statements = read
    assert [type(s).__name__ for s in statements] == ["Def", "Assign", "Assign", "ShapedLine"]
    assert tree.statements == statements[:3]
    assert isinstance(statements[2], Assign) and text[statements[2].start:statements[2].end] == "w = c*d"
    assert tree.names >= {"a", "b", "c", "d", "v", "w", "u", "f", "x", "y"}


FOR_THE_WHOLE = ["v = 2 x\n", "v = (a\n", "def f(x) -> (y) {\n y = x\n", "v = x  # \u202e\n", "µ = ∞\n", "v = x + x\u200b\n",
                 "v = a + ａ\n", "}\n", "v = x $ y\n"]


@each_row("text", FOR_THE_WHOLE)
def test_what_only_the_whole_text_can_say_is_left_to_it(text: str) -> None:
    assert by_shape(Source("t", text)) is None


def test_as_many_shapes_as_lines_are_not_all_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adcli.lang.syntax.shapes.MOST_KEYS", 3)
    read = by_shape(Source("t", "".join(f"v = {'-' * k}x\nw = {'-' * k}y\n" for k in range(6))))
    assert read is not None and [type(s) for s in read[1]] == [Assign, ShapedLine] * 3 + [Assign] * 6


def cut(line: str) -> list[str] | None:
    """The pieces of a line and what joins them."""
    text = f"w = 1\n{line}\n"
    read = by_shape(Source("t", text))
    found = read[1][1] if read else None
    if not isinstance(found, LongLine):
        return None
    return [f"{s[0]} {text[s[1]:s[2]]}" if isinstance(s, tuple) else " ".join(s.words[1:]) for s in found.steps]


def test_long_lines_are_cut_at_their_loosest_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adcli.lang.syntax.shapes.FEW", 1)
    assert cut("  v = a + b -c  # sum") == ["a", "b", "add a + b", "c", "sub a + b -c"]
    assert cut("v = ( a*b* ( c*d) )") == ["a", "b", "mul a*b", "c", "d", "mul c*d", "mul a*b* ( c*d)"]
    assert cut("v = f(a, b) + f(c, d) + f(2, e)") is None   # as many words are of one shape as are not
    assert cut("v = -f(a, b)- -f(c, d)+ -f(e, f)") == ["a b", "c d", "sub -f(a, b)- -f(c, d)", "e f",
                                                       "add -f(a, b)- -f(c, d)+ -f(e, f)"]
    assert cut("v = a < b + c + d + e + f") is None   # a comparison is looser
    assert cut("v = (a < b) + (c < d) + (e < f)") == ["a b", "c d", "add (a < b) + (c < d)", "e f",
                                                      "add (a < b) + (c < d) + (e < f)"]
    for other in ("v = a + b + c +", "v = a + f() + c + d", "v = a + b) + (c + d", "v = a + b + c, d", "v = a ? b + c : d + e",
                  "v += a + b + c + d", "v(i) = a + b + c + d", "v = a + b + in + d", "v == a + b + c + d", "v = a + b + 2c + d",
                  "v, w = a + b + c + d", "v = a + b + c + d; w = a"):
        assert cut(other) is None, other
