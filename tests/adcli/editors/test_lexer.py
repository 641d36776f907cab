"""The lexer of Pygments: its tokens are those of the scanner, and no character is lost."""
from __future__ import annotations

import importlib
import tomllib

import pytest
from places import ROOT
from pygments.formatters import HtmlFormatter
from pygments.token import Error, Whitespace, string_to_tokentype
from texts_to_colour import AWKWARD, FILES

from adcli.editors.kinds import tokens
from adcli.editors.lexer import AdcliLexer


@pytest.mark.parametrize("text", [*FILES, *AWKWARD])
def test_tokens_are_those_of_the_scanner(text):
    found = list(AdcliLexer().get_tokens_unprocessed(text))
    assert "".join(value for _, _, value in found) == text
    assert [(at, at + len(value), kind) for at, kind, value in found if kind is not Whitespace] == [
        (start, end, string_to_tokentype(kind.pygments)) for start, end, kind in tokens(text)]
    if text in FILES:
        whole = list(AdcliLexer(stripnl=False).get_tokens(text))
        assert Error not in {kind for kind, _ in whole} and "".join(value for _, value in whole) == text


def test_every_kind_has_a_style():
    """Pygments knows the types of the table: none is without a class in its pages."""
    page = HtmlFormatter().get_style_defs()
    assert all(f".{short} " in page for short in ("c1", "kd", "k", "ow", "kc", "nb", "kt", "nf", "err"))


def test_pygments_finds_it():
    """By the entry point of the package, its alias and the ending; no other lexer has these."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (path,) = project["entry-points"]["pygments.lexers"].values()
    module, _, name = path.partition(":")
    assert getattr(importlib.import_module(module), name) is AdcliLexer
    from pygments.lexers._mapping import LEXERS
    assert not any("adcli" in row[2] or "*.ad" in row[3] for row in LEXERS.values())
