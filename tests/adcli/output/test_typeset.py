"""Sentences and tables in Markdown and LaTeX."""
from __future__ import annotations

import re

import pytest

from adcli.output.typeset import booktabs, latex_text, markdown_table, markdown_text


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
