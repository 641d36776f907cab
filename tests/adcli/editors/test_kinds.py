"""What every token is to a reader."""
from __future__ import annotations

import pytest
from adcli.lang.syntax.scan import HEADER_WORDS, KEYWORDS, TERMINALS, scan
from texts_to_colour import AWKWARD, FILES

from adcli.editors.kinds import KINDS, OF_TERMINAL, keywords, tokens, words
from adcli.manual.functions import names


def test_the_table_has_every_token_of_the_scanner():
    assert set(OF_TERMINAL) == set(TERMINALS) | {*KEYWORDS.values(), *HEADER_WORDS.values(), "TO", "COMPARE"}
    assert sorted(KEYWORDS) == sorted(word for kind in KINDS.values() for word in keywords(kind))
    assert {*names()} == {w for row in words() if row.kind.name == "function" for w in row.words}


@pytest.mark.parametrize("text", [*FILES, *AWKWARD])
def test_every_token_and_comment_has_a_kind(text):
    found, comments, _ = scan(text)
    assert [(a, b) for a, b, _ in tokens(text)] == sorted(
        (t.start, t.end) for t in (*found, *comments) if text[t.start:t.end].strip("\r\n"))


@pytest.mark.parametrize("line, kinds", [
    ("input x = 2 in [0, pi]", "declaration name assignment number clause bracket number comma constant bracket"),
    ("v = sin(x) + sin # s", "name assignment function bracket name bracket operator name comment"),
    ("def sq(x) = x**2", "definition defined bracket name bracket assignment name operator number"),
    ("C(i) +=! A(i) where i in 0:N", "name bracket name bracket reduction name bracket name bracket clause name clause number "
                                     "operator name"),
    ("where = max=3", "name assignment name assignment number"),
    ("m max= 3; n min=! 4", "name augmented number end name reduction number"),
    ("b = not (x < 1 and y) ? or(a, b) : -c",
     "name assignment logical bracket name operator number logical name bracket operator "
     "function bracket name comma name bracket operator operator name"),
    ("input float(N) A, int32 k, float", "declaration type bracket name bracket name comma type name comma name"),
    ("(a, _) = dup x", "bracket name comma name bracket assignment function name"),
    ("subject to x <= y; minimize x", "problem problem name operator name end problem name"),
    ("x = 2 § y", "name assignment number wrong name"),
])
def test_the_kinds_of_a_line(line, kinds):
    assert " ".join(kind.name for _, _, kind in tokens(line)) == kinds
