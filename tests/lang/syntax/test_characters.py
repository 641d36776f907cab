"""Names are compared composed; what cannot be seen or told apart is an error that names its code points."""
from __future__ import annotations

import sys

import pytest
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import composed
from adcli.lang.lower.frontend import parse
from adcli.lang.printing.printer import print_program


def names(text: str) -> list[str]:
    return [p.name for p in parse(text).params]


@pytest.mark.parametrize(("text", "inputs"), [
    ("v = e\u0301*\u00e9", ["\u00e9"]), ("v = \u00b5*\u03bc", ["\u03bc"]), ("v = \u2126*\u03a9", ["\u03a9"]),
    ("v = \u212b + A\u030a + \u00c5", ["\u00c5"]),
])
def test_one_name_however_it_is_typed(text: str, inputs: list[str]) -> None:
    assert names(text) == inputs
    assert composed(print_program(parse(text))) == print_program(parse(text))


@pytest.mark.parametrize(("one", "other", "code_points"), [
    ("x", "\U0001d465", "'x' (U+0078) and '\U0001d465' (U+1D465)"),
    ("fi", "\ufb01", "'fi' (U+0066 U+0069) and '\ufb01' (U+FB01)"),
    ("s", "\u017f", "'s' (U+0073) and '\u017f' (U+017F)"), ("\u03b8", "\u03d1", "'\u03b8' (U+03B8) and '\u03d1' (U+03D1)"),
])
def test_names_that_look_alike(one: str, other: str, code_points: str) -> None:
    assert names(f"v = 2*{one}") == [one] and names(f"v = 2*{other}") == [other]
    with pytest.raises(AdError) as fault:
        parse(f"a = {one}\nv = a*{other}")
    assert fault.value.message == f"these names look alike: {code_points}" and fault.value.line == (1 if one > other else 2)


def test_what_is_not_drawn_is_in_no_name() -> None:
    hidden = [*range(0x180b, 0x1810), *range(0x200b, 0x2010), *range(0x202a, 0x202f), *range(0x2060, 0x2070),
              *range(0xfe00, 0xfe10),
              0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x3164, 0xfeff, 0xffa0, 0xe0001, 0xe0100, 0xe01ef]
    for code in hidden:
        with pytest.raises(AdError, match=rf"the invisible character U\+{code:04X}") as fault:
            parse(f"v = x{chr(code)}*y")
        assert fault.value.fix is not None and names(fault.value.fix.applied(f"v = x{chr(code)}*y")) == ["x", "y"]


@pytest.mark.parametrize("code", [0x202a, 0x202e, 0x2066, 0x2069, 0x200f, 0x61c])
def test_direction_of_writing(code: int) -> None:
    with pytest.raises(AdError, match=f"U\\+{code:04X}"):
        parse(f"v = x  # {chr(code)}\n")


def test_all_identifiers_are_scanned() -> None:
    """A sample of the letters of Unicode in names: accepted and printed composed, or refused with a place."""
    for code in range(0x80, sys.maxunicode, 397):
        if ("a" + chr(code)).isidentifier():
            try:
                [name] = names(f"v = 2*a{chr(code)}")
            except AdError as fault:
                assert fault.span is not None
                continue
            assert name == composed("a" + chr(code))
