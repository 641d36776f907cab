"""What an editor is answered about a text, whatever state the text is in: places, names, changes."""
from __future__ import annotations

import pytest

pytest.importorskip("pygls")

from adcli.lang.syntax.scan import normal
from lsp_client import edited
from lsprotocol import types as lsp
from places import ROOT
from session_seed import drawn

from adcli.lsp import diagnostics, hover
from adcli.lsp.one_name import OpenText, Positions
from adcli.lsp.scopes import INDEX
from adcli.lsp.server import ANSWERS
from adcli.manual.functions import functions

URI = "file:///some/where/a.ad"
SAMPLES = sorted((ROOT / "samples").glob("*.ad"))
ODD = ("𝒳 = 2\r\n\tv = 𝒳 * tahn(x)\r\n# 😀 é\r\nw = e\u0301 + µ*v\rz = 𝒳 + w", "\ufeffv = x * tahn(y)", "", "\n", "# only this",
       "a\u2028b = 1\nv = a\x0bc\n")
"""Texts with characters beyond the BMP, letters in two parts, and line ends and blanks of every kind."""


def whole(text):
    return lsp.Range(lsp.Position(0, 0), lsp.Position(10**6, 0))


def plain(edits):
    return [{"newText": e.new_text, "range": {"start": vars_of(e.range.start), "end": vars_of(e.range.end)}} for e in edits]


def vars_of(p):
    return {"line": p.line, "character": p.character}


# ---------------------------------------------------------------- places

@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("text", ODD)
def test_every_place_of_a_program_is_a_place_of_the_text_and_back(text, encoding):
    source = normal(text, "t")
    places = Positions(text, source, encoding)
    for offset in range(len(source.text) + 1):
        assert places.offset(places.position(offset)) == offset
    before = "0 = 0"
    for offset in range(len(source.text)):   # what stands before a place in the program stands before it in the text
        at = vars_of(places.position(offset))
        marked = edited(text, [{"range": {"start": at, "end": at}, "newText": before}], encoding)
        assert normal(marked, "t").text in (source.text[:offset] + before + source.text[offset:],
                                            "\ufeff"[:0] + before + source.text if not offset else "")


@pytest.mark.parametrize("line, character", [(10**6, 0), (0, 10**6), (3, 10**6), (0, 0)])
def test_a_place_that_is_not_there_is_the_nearest_one(line, character):
    source = normal("ab = 1\ncd = 2", "t")
    offset = Positions("ab = 1\ncd = 2", source).offset(lsp.Position(line, character))
    assert offset == {(10**6, 0): 13, (0, 10**6): 6, (3, 10**6): 13, (0, 0): 0}[line, character]


# ---------------------------------------------------------------- any text

def asked(text, position):
    """A request of every kind about a place."""
    document = lsp.TextDocumentIdentifier(text.uri)
    return {
        lsp.TEXT_DOCUMENT_HOVER: lsp.HoverParams(document, position),
        lsp.TEXT_DOCUMENT_COMPLETION: lsp.CompletionParams(document, position),
        lsp.TEXT_DOCUMENT_DEFINITION: lsp.DefinitionParams(document, position),
        lsp.TEXT_DOCUMENT_FORMATTING: lsp.DocumentFormattingParams(document, lsp.FormattingOptions(4, True)),
        lsp.TEXT_DOCUMENT_CODE_ACTION: lsp.CodeActionParams(document, whole(text), lsp.CodeActionContext([])),
    }


def test_while_a_text_is_typed_every_request_is_answered():
    """Samples cut anywhere, and with a piece left out, as they are while one types: no request fails."""
    choose = drawn("typing")
    texts = [OpenText(URI, t) for t in ODD]
    for path in choose.sample(SAMPLES, 8):
        text = path.read_text(encoding="utf-8")
        body = text[text.rfind("\n\n"):].lstrip() if choose.random() < 0.5 else text
        cut = choose.randrange(len(body))
        texts.append(OpenText(URI, body[:cut] + body[cut + choose.choice((1, 5, len(body))):]))
    for text in texts:
        end = text.places.position(len(text.source.text))
        line = choose.randrange(len(text.places.lines))
        for position in (end, lsp.Position(line, choose.randrange(40))):
            requests = asked(text, position)
            assert requests.keys() == ANSWERS.keys()
            for method, params in requests.items():
                ANSWERS[method][0](text, params)
        for d in diagnostics.diagnostics(text):
            assert d.range.start.line < len(text.places.lines) and d.message


# ---------------------------------------------------------------- changes

MENDED = ["v = 2 * tahn(p)", "v = 2x", "v = ln(x)\nw = 3", "v = x²", "def f(x) = x*x", "v = x = = 2\nw = 2y",
          "v = where(x > 0, x, y)", "v = 2 * 𝒳tahn(p)\r\n\tw = 2𝒳\r\n", "input A(N)\nv = sum(A)"]


@pytest.mark.parametrize("written", MENDED)
def test_the_changes_for_faults_mend_them(written):
    text = OpenText(URI, written)
    actions = list(diagnostics.quick_fixes(text, 0, len(text.source.text)))
    for action in actions:
        changed = OpenText(URI, edited(written, plain(action.edit.changes[URI])))
        assert len(changed.faults) < len(text.faults)
        assert action.title[0].isupper() and "\n" not in action.title and action.diagnostics[0] in diagnostics.diagnostics(text)
    assert bool(actions) == any(f.fix for f in text.faults)


def test_a_change_is_proposed_in_a_long_text_too_where_it_mends():
    text = OpenText(URI, "".join(f"x{i + 1} = x{i} + 1\n" for i in range(600)) + "v = 2 * tahn(x600)\n")
    assert [a.title for a in diagnostics.quick_fixes(text, 0, len(text.source.text))] == ["Change to 'tanh'"]
    assert not list(diagnostics.quick_fixes(text, 0, 5))   # not where the fault is not


def test_a_change_that_is_certain_is_preferred_and_a_guess_is_not():
    for written, preferred in (("v = coth(x)", True), ("v = ln(x)", True), ("v = tahn(x)", False), ("v = hypt(x, y)", False)):
        text = OpenText(URI, written)
        assert [a.is_preferred for a in diagnostics.quick_fixes(text, 0, len(written))] == [preferred]


def test_formatting_is_that_of_fmt_with_the_line_ends_of_the_text():
    for ends in ("\n", "\r\n"):
        written = f"v=x*(sin (y)){ends}{ends}# kept{ends}w = v + 1{ends}u=2*w"
        text = OpenText(URI, written)
        made = edited(written, plain(diagnostics.formatting(text, None)))
        assert made == ends.join(["v = x * sin(y)", "", "# kept", "w = v + 1", "u = 2 * w", ""])
    assert diagnostics.formatting(OpenText(URI, "v = 2x"), None) is None
    for blank in "\v\f\x1c\x1d\x1e\x85\u2028\u2029":   # which end a line for Python, and none of a program or of an editor
        written = f"# a{blank}b\nv=x\nw =  v\n"
        made = edited(written, plain(diagnostics.formatting(OpenText(URI, written), None)))
        assert made == f"# a{blank}b\nv = x\nw = v\n"
    assert diagnostics.formatting(OpenText(URI, "v = x + 1\n"), None) == []


# ---------------------------------------------------------------- what is said

@pytest.mark.parametrize("comment, shown", [
    ("a*b*c", r"a\*b\*c"), ("_q_ of <b>", r"\_q\_ of \<b\>"), ("sum x_i, y_1", "sum x_i, y_1"), ("v__", r"v_\_"),
    (r"a\b", r"a\\b"), ("the title\n# -----", "the title\n\\-----"),
    ("[1](2) `z` $k$ ~~w~~ &amp;", r"\[1\](2) \`z\` \$k\$ \~\~w\~\~ \&amp;")])
def test_names_and_comments_are_no_markdown(comment, shown):
    assert said(f"# {comment}\ninput __v = 1\nw = x\n", "__v").startswith(r"**\__v** · input · number")
    assert said(f"# {comment}\nv = x\n", "v = x").endswith(f"\n\n{shown}")


def said(text, needle, nth=0):
    offset = -1
    for _ in range(nth + 1):
        offset = text.index(needle, offset + 1)
    opened = OpenText(URI, text)
    found = hover.hover(opened, lsp.HoverParams(lsp.TextDocumentIdentifier(URI), opened.places.position(offset)))
    return None if found is None else found.contents.value


PROGRAM = """# the scale of all
param k = 3 in [1, 4]
input x in [0, 1]
def sq(a) = a * a  # its square
s = sin(k * x)
v = sq(s) + 2
"""
HOVERS = [   # what the pointer is on, which of them, and lines that are shown
    ("k", 1, ["**k** · input · number", "default `3`, in `[1, 4]`", "dv_dk = i3 + i3", "the scale of all"]),
    ("s =", 0, ["**s** · value · number", "dv_ds = s + s",
                "between `-0.756803` and `1` for `k` in `[1, 4]`, `x` in `[0, 1]` (proved)"]),
    ("v =", 0, ["**v** · output · number"]),
    ("sq(s", 0, ["def sq(a) = a * a", "dsq_da = a + a", "its square"]),
    ("sin", 0, ["**sin(x)** · sine", "cos(x)"]),
    ("a * a", 0, ["**a** · parameter · number"]),
]


@pytest.mark.parametrize("needle, nth, lines", HOVERS)
def test_what_is_said_of_a_name(needle, nth, lines):
    shown = said(PROGRAM, needle, nth)
    assert [line for line in lines if line not in shown.splitlines()] == []


def test_what_is_said_of_tensors_and_of_nothing():
    text = "input A(N, M), b(M)\nC(i) +=! A(i, j) * b(j)\nv +=! C(i)\n"
    assert "**C** · value · tensor (N)" in said(text, "C(i)") and "j in 0:M" in said(text, "j)")
    assert "**A** · input · tensor (N, M)" in said(text, "A(i")
    assert said(text, "=! A") is None and "**N** · size" in said(text, "N")


def labels(marked):
    opened = OpenText(URI, marked.replace("|", ""))
    params = lsp.CompletionParams(lsp.TextDocumentIdentifier(URI), opened.places.position(marked.index("|")))
    return [i.label for i in hover.completion(opened, params).items]


def test_completion_offers_what_has_a_meaning_here():
    here = labels("abc = 1\ndef own(p) = p\nv = a|\nlater = 2")
    assert here[:2] == ["abc", "own"] and {"sin", "square", "pi", "input", "where", "norm"} <= {*here} and "later" not in here
    assert {f.name for f in functions() if not f.operator} <= {*here}
    assert "neg" not in here and here.count("v") == 0
    assert {"a", "b", "c"} <= {*labels("x = 1\ndef f(a, b) -> (u) { c = a; u = | }")[:4]}
    assert labels("v = x  # a comment |") == []
    item = hover.resolved(next(i for i in hover.completion(OpenText(URI, ""), lsp.CompletionParams(
        lsp.TextDocumentIdentifier(URI), lsp.Position(0, 0))).items if i.label == "atan2"))
    assert "by x" in item.documentation.value


def test_an_index_has_no_meaning_behind_its_statement():
    text = OpenText(URI, "input A(N)\nC(i) = A(i)\nv = i + C(0)\n")
    assert [n.kind for n in text.names.all() if n.name == "i"] == [INDEX, INDEX, "input"]
