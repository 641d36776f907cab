"""Texts and tables as Markdown and LaTeX have them: what traces and uncertainty budgets for a report are made of."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from adcli.codegen.documents.notation import SPECIAL


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table of GitHub-flavoured Markdown."""
    yield f"| {' | '.join(head)} |\n|{':---|' * len(head)}\n"
    for row in rows:
        yield f"| {' | '.join(map(markdown_text, row))} |\n"


def markdown_text(text: str) -> str:
    """A text that Markdown shows as it is."""
    return re.sub(r"([\\|*_<`\[\]~])", r"\\\1", text)


def latex_text(text: str) -> str:
    """A sentence with numbers in LaTeX, for pdflatex as well as newer engines."""
    escaped = "".join(SPECIAL.get(c, c) for c in text)
    for sign, command in (("±", r"$\pm$"), ("∞", r"$\infty$"), ("~", r"\textasciitilde{}"), ("^", r"\textasciicircum{}")):
        escaped = escaped.replace(sign, command)
    return escaped


def booktabs(layout: str, head: Sequence[str], sections: Iterable[Sequence[Sequence[str]]]) -> Iterator[str]:
    """A tabular of LaTeX with the rules of booktabs, one above each section; cells are LaTeX already."""
    yield f"\\begin{{tabular}}{{{layout}}}\n\\toprule\n{' & '.join(head)} \\\\\n"
    for section in filter(None, sections):
        yield "\\midrule\n"
        yield from (" & ".join(row) + " \\\\\n" for row in section)
    yield "\\bottomrule\n\\end{tabular}\n"


def latex_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A tabular of texts, whose first column is one of words."""
    cells = [[*map(latex_text, row)] for row in (head, *rows)]
    yield from booktabs("l" + "r" * (len(head) - 1), cells[0], [cells[1:]])


class ReportMarkup(NamedTuple):
    """How a report has tables of texts, and sentences below them."""

    table: Callable[[Sequence[str], Iterable[Sequence[str]]], Iterator[str]]
    sentence: Callable[[str], str]


MARKUPS = {"markdown": ReportMarkup(markdown_table, lambda text: f"- {markdown_text(text)}\n"),
           "latex": ReportMarkup(latex_table, lambda text: f"\n{latex_text(text)}\n")}
