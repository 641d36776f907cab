"""The grammar of TextMate in the engines that read it, token by token against the scanner."""
from __future__ import annotations

import json
import random
import re
import subprocess
import unicodedata

import pytest
from adcli.lang.syntax.scan import letters
from engines import program
from places import HELPERS
from texts_to_colour import AWKWARD, FILES, corpus

from adcli.editors.command import grammar, scope
from adcli.editors.kinds import tokens

PACKAGES = ("vscode-textmate@9", "vscode-oniguruma@2", "shiki@3")
ENDS = re.compile(r"\r\n|\n|\r")


def test_a_name_has_the_letters_of_the_scanner():
    """But for a few: those that NFKC makes of something that is no letter, and digits of a few scripts."""
    everything = [chr(i) for i in (*range(128, 0xd800), *range(0xe000, 0x30000))]
    first, further = (set(found) for found in letters("".join(everything)))
    categories = {c: unicodedata.category(c) for c in everything}
    mine = {c for c, k in categories.items() if k[0] == "L" or k == "Nl"}
    assert len(mine ^ first) < 40 and not {c for c in mine ^ first if c in "äßμπφαβ中あ한"}
    assert len(({c for c, k in categories.items() if k in ("Mn", "Mc", "Nd", "Pc")} | mine) ^ further) < 80


def test_every_rule_has_a_scope_and_every_reference_a_rule():
    text = json.dumps(grammar())
    assert {f"#{name}" for name in grammar()["repository"]} == set(re.findall(r'"include": "(.*?)"', text))
    scopes = set(re.findall(r'"name": "([\w.-]+)"', text)) - {"adcli"}
    assert all(name.endswith(".adcli") for name in scopes) and len(scopes) > 15


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the engines."""
    program("node")
    made = tmp_path_factory.mktemp("node")
    done = subprocess.run([program("npm"), "install", "--no-audit", "--no-fund", "--prefix", made, *PACKAGES],
                          capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"npm brought no {', '.join(PACKAGES)}: {done.stderr.strip().splitlines()[-1]}")
    (made / "grammar.json").write_text(json.dumps(grammar()), encoding="utf-8")
    return made


def by_engine(folder, script, given):
    done = subprocess.run([program("node"), HELPERS / script, folder, folder / "grammar.json"], input=json.dumps(given),
                          capture_output=True, text=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def places(text, lines):
    """The tokens of an engine with their places in the text: it counts in UTF-16 units of a line."""
    start = 0
    for line, found in zip(ENDS.split(text), lines, strict=True):
        units = [i for i, c in enumerate(line) for _ in range(1 + (ord(c) > 0xffff))] + [len(line)] * 2
        for a, b, scopes in found:
            if scopes:
                yield start + units[a], start + units[b], scopes[-1]
        start += len(line)
        start += len(match[0]) if (match := ENDS.match(text, start)) else 0


def typed(texts):
    """Texts as far as somebody has typed them, and texts of which he has lost a piece."""
    r = random.Random(7)
    for text in texts:
        a, b = sorted(r.choices(range(len(text) + 1), k=2))
        yield text[:a]
        yield text[:a] + text[b:]


@pytest.mark.engine
def test_the_engine_of_vs_code_finds_the_tokens_of_the_scanner(folder):
    whole = [f"{text}\n" for text in (*FILES, *AWKWARD, *corpus())]
    texts = [*whole, *(f"{text}\n" for text in typed(whole))]
    found = by_engine(folder, "textmate.mjs", [ENDS.split(text) for text in texts])
    for text, lines in zip(texts, found, strict=True):
        assert list(places(text, lines)) == [(a, b, scope(kind)) for a, b, kind in tokens(text)], text


@pytest.mark.engine
def test_shiki_colours_by_them(folder):
    """It takes the same grammar in JavaScript's own regular expressions or in Oniguruma: tokens of one kind have one colour."""
    (lines,) = by_engine(folder, "shiki.mjs", ["input x = 2\nv = sin(x) + 2.5 # comment\nC(i) +=! A(i) where i in 0:N"])
    colours = {text.strip(): colour for line in lines for text, colour in line}
    assert "".join(text for text, _ in lines[1]) == "v = sin(x) + 2.5 # comment"
    assert colours["2.5"] == colours["2"] and colours["input"] == colours["where"]
    assert len({colours[text] for text in ("# comment", "input", "sin", "2.5")}) >= 3
