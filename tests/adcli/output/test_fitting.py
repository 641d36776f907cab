"""What the product prints fits a terminal of any width, says the same there, and is never fitted off a terminal."""
from __future__ import annotations

import re

import pytest
from command import adcli
from places import ROOT
from session_seed import drawn, half
from terminals import on_terminal

from adcli.output.wrap import fitted, folded, table, width

WIDTHS = (40, 60, 80, 120)
SAMPLES = ROOT / "samples"
AT = "s=0,k=105,r=0.03,v=0.2,t=0.5"
REPORTS = {
    "functions": ("functions",),
    "function": ("functions", "atan2"),
    "check": ("check", "-e", "v = x*sin(y) + erfc(x)", "--at", "x=2,y=5"),
    "why": ("why", SAMPLES / "black_scholes.ad", "--at", AT),
    "trace": ("trace", "-e", "y = log(x1) + x1*x2 - sin(x2)", "--at", "x1=2,x2=5", "--tangent", "x1=1", "--cotangent", "y=1"),
    "trace long": ("trace", SAMPLES / "black_scholes.ad", "--at", AT, "--cotangent", "c=1"),
    "propagate": ("propagate", "-e", "v = x*y", "--at", "x=2±0.1,y=5±0.2", "--second-order"),
    "fit": ("fit", SAMPLES / "adsorption.ad", "--data", SAMPLES / "adsorption.csv", "--y", "y"),
    "pattern": ("jacobian", SAMPLES / "two_link_arm.ad", "--pattern"),
    "explain": ("grad", SAMPLES / "black_scholes.ad", "--explain"),
    "explain beside": ("grad", SAMPLES / "black_scholes.ad", "--explain", "--at", AT),
}


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def unbreakable(line: str) -> bool:
    """Whether a line is one word, such as a path; a statement, which stays a program; a message, of which a terminal knows the
    place; or a help that is there to be copied."""
    kept = ("help: ", "param ", "v = ", "u_v = ", "c = ", "dc_d")
    return " " not in line.strip() or ": note: " in line or line.startswith(kept)


@pytest.mark.parametrize("name", half([*REPORTS]))
def test_a_report_fits_and_says_the_same(name):
    args = REPORTS[name]
    off = adcli(*args)
    columns = drawn("widths", name).choice(WIDTHS)
    shown = on_terminal(columns, *args)
    assert [line for line in shown.split("\n") if width(line) > columns and not unbreakable(line)] == []
    assert words(off.out) - words(shown) <= ({"meaning", "smooth"} if name == "functions" else set()), columns   # its headings


@pytest.mark.parametrize("name", half([name for name in REPORTS if name not in ("explain beside", "functions")]))
def test_a_wide_terminal_shows_what_a_pipe_gets(name):
    assert adcli(*REPORTS[name]).out in on_terminal(1000, *REPORTS[name])


def test_both_sides_of_a_trace_go_below_each_other():
    args = (*REPORTS["trace"], "--names", "textbook")
    wide, narrow, least = (on_terminal(columns, *args) for columns in (120, 80, 40))
    assert " │ " in wide and " │ " not in narrow
    assert narrow.index("Forward primal trace") < narrow.index("Forward tangent trace") < narrow.index("Reverse adjoint trace")
    assert "v₁  = ln v₋₁   = ln 2                  = 0.693147\n" in narrow
    assert "v₁ = ln v₋₁\n   = ln 2\n   = 0.693147\n" in least


def test_a_fit_on_a_narrow_terminal_is_a_program_still(tmp_path):
    shown = on_terminal(40, *REPORTS["fit"])
    (tmp_path / "f.ad").write_text(shown + "v = b1 + b2\n", encoding="utf-8")
    assert adcli("eval", tmp_path / "f.ad").code == 0


TABLE = [("method", "count", ""), ("complex step", "7", "not applicable: erfc"), ("x", "1,000", "")]


@pytest.mark.parametrize("columns, lines", [
    (None, ["method        count", "complex step      7  not applicable: erfc", "x             1,000"]),
    (41, ["method        count", "complex step      7  not applicable: erfc", "x             1,000"]),
    (40, ["method        count", "complex step      7", "    not applicable: erfc", "x             1,000"]),
    (18, ["method: complex", "  step", "  count 7, not", "    applicable:", "    erfc", "method: x", "  count 1,000"]),
])
def test_a_table_in_so_many_columns(columns, lines):
    assert table(TABLE, "<><", columns) == lines


@pytest.mark.parametrize("line, columns, lines", [
    ("  a bb  ccc", 6, ["  a bb", "    ccc"]),
    ("unbreakable", 4, ["unbreakable"]),
    ("値 値 値", 5, ["値 値", "  値"]),
    ("", 5, [""]),
])
def test_a_line_of_words_is_folded(line, columns, lines):
    assert folded(line, columns) == lines


CODE = "v = sin(x) + 2*cos(y) + 3*tan(z) + 2*cos(y) + 3*tan(z) + 2*tahn(y) + 3*tan(z)+ 2*cos(y)"


@pytest.mark.parametrize("columns", range(24, 110, 7))
def test_carets_stay_under_what_they_point_at(columns):
    said = adcli("eval", "-e", CODE).err
    shown = fitted(said, columns)
    source, carets = re.search(r"\n(    .*)\n(    +\^+)\n", shown).groups()
    assert source[carets.index("^"):carets.index("^") + carets.count("^")] == "tahn"
    assert max(len(source), len(carets)) <= columns or columns >= len(CODE) + 4
    assert shown.endswith("help: did you mean 'tanh'?\n")
    assert on_terminal(columns, "eval", "-e", CODE).split("\n")[1] == source


@pytest.mark.parametrize("letter", ["漢", "e̱", "𝛼"])   # of two columns, of one and a mark of none, of one
def test_carets_stand_by_columns_and_not_by_characters(letter):
    columns = drawn("carets", letter).choice(WIDTHS)
    shown = on_terminal(columns, "eval", "-e", f"v = {f'{letter}*' * 30}tahn({letter})")
    source, carets = re.search(r"\n(    .*)\n(    +\^+)\n", shown).groups()
    assert width(source[:source.index("tahn")]) == carets.index("^")
    assert carets.count("^") == len("tahn") and width(source) <= columns


def test_a_program_keeps_its_statements():
    text = "param b = 238.94212917886168   # a comment of words\n# another comment of several words\nv = 2\n"
    assert fitted(text, 20, program=True) == (
        "param b = 238.94212917886168\n    # a comment of\n    #   words\n# another comment of\n#   several words\nv = 2\n")
    assert fitted(text, None) == text
