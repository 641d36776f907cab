"""HTML for notebooks: whatever a text holds, it is shown and does nothing."""
from __future__ import annotations

import pytest
from markup import tables, visible
from session_seed import drawn

from adcli.output import html

TEXTS = (
    "<script>alert(1)</script>", "a & b", '" onload="x', "'", "$x$", "x̄ × ȳ", "</td></table>", "&lt;", "]]>", "<!--",
    "é\u202e\x1b[31m")


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_shown_as_it_is(text):
    r = drawn("html", text)
    rows = [[text, r.choice(TEXTS)], [r.choice(TEXTS), text]]
    page = html.document([html.paragraph(text), html.preformatted(text), html.table(text, ("a", text), [rows, []], "<>")])
    shown = html.visible(text)
    (table,) = tables(page)
    assert (table.caption, table.headings) == (shown, ["a", shown])
    assert table.rows == [[*map(html.visible, row)] for row in rows]
    assert visible(html.document([html.paragraph(text)])).strip() == shown
    assert "mathjax_ignore" in page   # a dollar sign begins no formula


def test_a_heading_stands_above_several_columns():
    (table,) = tables(html.table("t", ("left", "right"), [[["a", "b", "c", "d"], ["", "b", "", "d"]]], "<<<<", 2))
    assert (table.columns, table.scopes) == (4, {"colgroup", "row"})
    assert table.rows == [["a", "b", "c", "d"], ["", "b", "", "d"]]
