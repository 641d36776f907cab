"""A renamed program is the same program: only the name is another, at all of its places and nowhere else."""
from __future__ import annotations

from dataclasses import replace

import pytest
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import RESERVED
from adcli.lang.lower.frontend import parse, read_through
from adcli.lang.syntax.source import normal
from places import ROOT
from same_programs import equal
from session_seed import drawn, half

from adcli.lsp.navigation import fixes_of
from adcli.lsp.occurrences import CONSTANT, KNOWN, SIZE, occurrences

TEXTS = [p.read_text(encoding="utf-8") for p in half([*sorted((ROOT / "samples").glob("*.ad")),
                                                      *sorted((ROOT / "tests" / "programs").glob("*.ad"))])]


def applied(text, fixes):
    for fix in reversed(fixes):
        text = fix.applied(text)
    return text


def same(changed, new, old, program):
    """Whether a program is the one before, or has only that name of its interface changed."""
    params = tuple(replace(p, name=old) if p.name == new else p for p in changed.params)
    results = tuple(replace(r, name=old) if r.name == new else r for r in changed.results)
    return equal(changed, program) or equal(replace(changed, params=params, results=results), program)


def test_a_renamed_program_is_the_same():
    """Every name to a fresh one and back; and to every other name of the text: that is refused, or the program is the same."""
    tried = 0
    for text in TEXTS:
        source = normal(text, "t")
        tree, program, _ = read_through(source)
        if program is None:
            continue
        choose = drawn("rename", text)
        own = [m for m in occurrences(tree).meanings() if m.kind not in (KNOWN, CONSTANT) and m.name not in RESERVED]
        names = sorted({m.name for m in own})
        for meaning in choose.sample(own, min(3, len(own))):
            at = choose.choice(meaning.places)
            changed = applied(source.text, fixes_of(tree, at, "fresh_1"))
            again = read_through(normal(changed, "t"))[0]
            back = next(m for m in occurrences(again).meanings() if m.name == "fresh_1")
            assert applied(changed, fixes_of(again, back.places[0], meaning.name)) == source.text
            if meaning.kind != SIZE:
                assert same(parse(changed), "fresh_1", meaning.name, program)
            other = choose.choice(names)
            try:
                moved = applied(source.text, fixes_of(tree, at, other))
            except AdError:
                continue
            if meaning.kind != SIZE:   # two scopes may well have the same name
                assert same(parse(moved), other, meaning.name, program), (text, meaning.name, other)
            tried += 1
    assert tried   # some names may be the same


REFUSED = [   # a text, the name to be changed (its first place), the new one, and what is said
    ("v = x * y", "x", "y", "'y' is an input already"),
    ("v = x * y", "x", "v", "'v' is a value already"),
    ("v = x * y", "x", "2x", "'2x' is not a name"),
    ("v = x * y", "x", "a b", "'a b' is not a name"),
    ("v = x * y", "x", "", "'' is not a name"),
    ("v = x * y", "x", "a-b", "'a-b' is not a name"),
    ("v = x * y", "x", "output", "'output' is a word of the language and cannot be a name"),
    ("v = x * y", "x", "inf", "'inf' is a word of the language and cannot be a name"),
    ("v = sin(x)", "sin", "s", "'sin' is a function of the language and cannot be renamed"),
    ("v = pi * x", "pi", "p", "'pi' is a constant of the language and cannot be renamed"),
    ("(a, _) = (x, y)", "_", "b", "'_' is a value that is not wanted, and has no name"),
    ("def f(a) = sin(a)\nv = f(x)", "f", "sin", "'sin' is a function of the language that the program uses"),
    ("def f(a) = a\ndef g(a) = a\nv = f(g(x))", "f", "g", "'g' is a function already"),
    ("input A(N)\nC(i) = A(i) + t", "i", "t", "'t' is an input already"),
    ("input A(N)\nC(i) = A(i)", "i", "N", "'N' is a size already"),
    ("v = x * (2\nw = v", "w", "u", "line 1 cannot be read, so it is not known which names are in it"),
    ("v = x", "x", "ｖ", "with that name the program is wrong: "),   # looks like v
]


@pytest.mark.parametrize("text, name, new, said", REFUSED)
def test_a_name_that_cannot_be_given(text, name, new, said):
    tree = read_through(normal(text, "t"))[0]
    at = next(o for o in occurrences(tree).places if o.meaning.name == name)
    with pytest.raises(AdError) as refused:
        fixes_of(tree, at, new)
    assert refused.value.message.startswith(said)


def test_the_same_name_changes_nothing_and_letters_are_composed():
    tree = read_through(normal("v = e\u0301 * 2", "t"))[0]
    at = occurrences(tree).places[1]
    assert fixes_of(tree, at, " e\u0301 ") == []
    assert [f.text for f in fixes_of(tree, at, "o\u0302")] == ["\u00f4"]
