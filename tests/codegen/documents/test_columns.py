"""Texts are as wide as a terminal shows them."""
import pytest
from adcli.codegen.documents.columns import padded, width


@pytest.mark.parametrize(("text", "columns"), [
    ("", 0), ("v = x", 5), ("v̇₁ ≤ √x", 7), ("x̄", 1), ("日本", 4), ("é", 1), ("│─┼", 3), ("α²", 2)])
def test_what_a_terminal_shows(text, columns):
    assert width(text) == columns


def test_a_text_is_filled_up_on_one_side():
    assert padded("v̇", 3) == "v̇  "
    assert padded("日", 3, ">") == " 日"
    assert padded("long", 2) == "long"
