"""Names, sentences and tables in Markdown and LaTeX."""
from __future__ import annotations

import re
import unicodedata

import pytest

from adcli.output.typeset import CAPITALS, LETTERS, booktabs, latex_names, latex_text, markdown_table, markdown_text


def test_names_in_latex_are_told_apart():
    names = ["x", "x_max", "alpha2", "α", "alpha", "long_one_here", "x1", "x_1"]
    found = dict(zip(names, latex_names(names), strict=True))
    assert found["x"] == ("x", "")
    assert found["x_max"] == ("x", r"\text{max}")
    assert found["alpha2"] == (r"\alpha", "2")
    assert found["α"] != found["alpha"]
    assert found["x1"] != found["x_1"]
    assert len(set(found.values())) == len(names)


@pytest.mark.parametrize(("name", "base", "index"), [
    ("x", "x", ""), ("x1", "x", "1"), ("x_1", "x", "1"), ("x_max", "x", r"\text{max}"), ("x_i", "x", "i"),
    ("x_Δ", "x", r"\text{Δ}"),
    ("long", r"\mathit{long}", ""), ("long_2", r"\mathit{long}", "2"), ("long_one_here", r"\mathit{long\_one\_here}", ""),
    ("_", r"\mathit{\_}", ""), ("_x", r"\mathit{\_x}", ""), ("x_", r"\mathit{x\_}", ""), ("x1y", r"\mathit{x1y}", ""),
    ("x12", "x", "12"),
    ("alpha", r"\alpha", ""), ("alpha_0", r"\alpha", "0"), ("α", r"\alpha", ""), ("ω2", r"\omega", "2"), ("Δ", r"\Delta", ""),
    ("Α", r"\text{\itshape Α}", ""), ("ά", r"\text{\itshape ά}", ""), ("é", r"\text{\itshape é}", ""),
    ("größe", r"\text{\itshape größe}", ""),
    ("Alpha", r"\mathit{Alpha}", ""), ("x_alpha", "x", r"\text{alpha}"), ("T_α", "T", r"\text{α}"),
    ("ς", r"\text{\itshape ς}", ""), ("ж", r"\text{\itshape ж}", "")])
def test_a_name_in_latex(name, base, index):
    assert latex_names([name]) == [(base, index)]


def test_every_greek_letter_is_its_command_spelled_out_and_as_itself():
    commands = [*LETTERS, *CAPITALS]
    assert latex_names(commands) == [(f"\\{name}", "") for name in commands]
    words = [f"GREEK {'SMALL' if name.islower() else 'CAPITAL'} LETTER {name.upper()}" for name in commands]
    signs = [unicodedata.lookup(word.replace("LAMBDA", "LAMDA")) for word in words]
    assert latex_names(signs) == [(f"\\{name}", "") for name in commands]


def test_names_that_would_look_the_same_are_spelled_out():
    assert latex_names(["x1", "x_1", "x2"]) == [(r"\mathit{x1}", ""), (r"\mathit{x\_1}", ""), ("x", "2")]
    assert latex_names(["α", "alpha", "β"]) == [(r"\text{\itshape α}", ""), (r"\mathit{alpha}", ""), (r"\beta", "")]


def test_markdown_has_no_mark_of_its_own():
    marks = "\\|*_<`[]~"
    assert markdown_text(f"a{marks}b") == "a" + "".join(f"\\{c}" for c in marks) + "b"
    assert markdown_text("plain (1.5) + 2 > x") == "plain (1.5) + 2 > x"
    assert "".join(markdown_table(["a", "b"], [["1", "x*y"]])) == "| a | b |\n|:---|:---|\n| 1 | x\\*y |\n"


@pytest.mark.parametrize("text, want", [("∞ - 1", r"$\infty$ - 1"),
    ("1.0 ± 0.1 (10 %)", r"1.0 $\pm$ 0.1 (10 \%)"),
    ("a_b & c#1 $2 {x}", r"a\_b \& c\#1 \$2 \{x\}"), ("~^", r"\textasciitilde{}\textasciicircum{}")])
def test_a_sentence_in_latex_has_no_command_of_its_own(text, want):
    assert latex_text(text) == want


def test_a_table_of_markdown_shows_every_cell_as_it_is():
    text = "".join(markdown_table(["a", "b"], [["x|y", "*1*"], ["_u_", ""]]))
    lines = text.splitlines()
    assert lines[:2] == ["| a | b |", "|:---|:---|"]
    assert all(len(re.split(r"(?<!\\)\|", line)) == 4 for line in lines)


def test_a_tabular_has_a_rule_above_each_section_that_has_rows():
    text = "".join(booktabs("lr", ["a", "b"], [[["1", "2"]], [], [["3", "4"]]]))
    assert text == ("\\begin{tabular}{lr}\n\\toprule\na & b \\\\\n\\midrule\n1 & 2 \\\\\n\\midrule\n3 & 4 \\\\\n"
                    "\\bottomrule\n\\end{tabular}\n")
