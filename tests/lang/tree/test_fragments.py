"""Long lines are cut where their operators are loosest, and nowhere where the text does not say so."""
from __future__ import annotations

import pytest
from adcli.lang.ir.errors import Source
from adcli.lang.syntax.shapes import by_shape
from adcli.lang.tree.nodes import LongLine


def cut(line: str) -> list[str] | None:
    """The pieces of a line and what joins them."""
    text = f"w = 1\n{line}\n"
    read = by_shape(Source("t", text))
    found = read[1][1] if read else None
    if not isinstance(found, LongLine):
        return None
    return [f"{s[0]} {text[s[1]:s[2]]}" if isinstance(s, tuple) else " ".join(s.words[1:]) for s in found.steps]


def test_long_lines_are_cut_at_their_loosest_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("syntax.shapes", "tree.fragments"):
        monkeypatch.setattr(f"adcli.lang.{module}.FEW", 1)
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
