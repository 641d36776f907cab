"""Results as HTML for notebooks: tables and texts in the colours of the page, dark or light, without scripts, all escaped.

A table has a caption, and headings that belong to their columns and rows, so that it can be listened to. Notebooks set formulas
between dollar signs, and adcli has none: the outermost element says so.
"""
from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape

from adcli.lang.ir.errors import visible

SIDES = {"<": "left", ">": "right"}
RULE = '<tbody style="border-top: thin solid">\n'
NO_FORMULAS = "tex2jax_ignore mathjax_ignore"
"""The classes of an element in which MathJax looks for no formula."""


def written(text: str) -> str:
    """A text that shows as it is."""
    return escape(visible(text))


def document(parts: Iterable[str]) -> str:
    """Parts one below another."""
    return f'<div class="adcli {NO_FORMULAS}">\n{"".join(parts)}</div>'


def paragraph(text: str) -> str:
    return f"<p>{written(text)}</p>\n"


def emphasized(text: str) -> str:
    """A paragraph that is looked for first."""
    return f"<p><strong>{written(text)}</strong></p>\n"


def preformatted(text: str) -> str:
    """Lines as they are, in columns; a long one is scrolled."""
    return f'<pre style="overflow-x: auto">{written(text)}</pre>\n'


def image(svg: bytes, caption: str) -> str:
    """A drawing of its own, whose names meet no others of the page; `caption` says in words what it shows."""
    data = b64encode(svg).decode()
    return f'<img style="max-width: 100%" alt="{written(caption)}" src="data:image/svg+xml;base64,{data}">\n'


def table(caption: str, head: Sequence[str], sections: Iterable[Sequence[Sequence[str]]], sides: str, span: int = 1) -> str:
    """A table; the first cell of a row is its heading, and between sections, of which empty ones are left out, is a rule. `sides`
    has `<` for a column of words and `>` for one of numbers, `span` says how many columns each heading stands above."""
    wide = f'colspan="{span}" scope="colgroup"' if span > 1 else 'scope="col"'
    starts = [aligned(side, span > 1 and i > 0 and i % span == 0) for i, side in enumerate(sides)]
    titles = "".join(f"<th {wide}{starts[i * span]}{written(title)}</th>" for i, title in enumerate(head))
    bodies = RULE.join(f"{''.join(row(cells, starts) for cells in section)}</tbody>\n" for section in sections if section)
    return (f'<div style="overflow-x: auto"><table style="white-space: nowrap">\n'
            f'<caption style="text-align: left">{written(caption)}</caption>\n'
            f"<thead><tr>{titles}</tr></thead>\n<tbody>\n{bodies or '</tbody>'}</table></div>\n")


def row(cells: Sequence[str], starts: Sequence[str]) -> str:
    """A row; one that goes on with the row above has no heading of its own."""
    first, *rest = (f"{start}{written(text)}" for text, start in zip(cells, starts, strict=True))
    heading = f'<th scope="row"{first}</th>' if cells[0] else f"<td{first}</td>"
    return f"<tr>{heading}{''.join(f'<td{cell}</td>' for cell in rest)}</tr>\n"


def aligned(side: str, apart: bool = False) -> str:
    """The end of the tag of a cell; where a group of columns begins, it stands `apart` from the one before."""
    return f' style="text-align: {SIDES[side]}{"; padding-left: 2.5em" if apart else ""}">'
