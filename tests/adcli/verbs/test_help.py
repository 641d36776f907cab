"""adcli help: chapters on a terminal of any width, in a pager, and how topics are found."""
from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from command import adcli, succeeds
from documents import shell, text
from places import ROOT
from session_seed import each_choice

from adcli.main import VERBS
from adcli.manual import TOPICS, chapter, samples
from adcli.manual.markdown import Code, render
from adcli.manual.pages import pictures
from adcli.manual.search import places


@pytest.mark.parametrize(("topic", "width"), [("", 40), *each_choice([*TOPICS, ""], [40, 80, 120])])
def test_a_topic_fits_the_width(topic, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    shown = succeeds("help", *[topic] * bool(topic)).out
    if topic in VERBS:   # below the chapter are the verb's options, which take at least 50 characters
        shown = shown.partition("Usage: ")[0]
    blocks = chapter(topic) if topic else ()
    code = {f"    {line}".rstrip() for block in blocks if isinstance(block, Code) for line in block.lines}
    for line in shown.splitlines():
        words = max(map(len, line.split()), default=0)
        assert len(line) <= width or line in code or len(line) - words <= 6, line
    assert not re.search(r"[\x00\x1b]", shown)


def test_all_words_of_a_chapter_are_shown():
    for topic in TOPICS:
        shown = re.sub(r"[`\s]", "", render(chapter(topic), 80))
        for line in text(topic).splitlines():
            if not line.startswith(("#", "|", "<", "```")):
                assert re.sub(r"[`\s]|^- ", "", line) in shown, (topic, line)


def test_topics_are_found_however_they_are_typed():
    (want,) = {succeeds("help", *words).out for words in
               (["exit-codes"], ["exit codes"], ["exit", "codes"], ["Exit_Codes"])}
    assert want.startswith("exit-codes: what the exit code says\n")


def test_the_help_of_a_verb():
    """All options; `--help` shows twelve of them and how many more there are, and a chapter of the same name stands in front."""
    whole, short = succeeds("help", "grad").out, succeeds("grad", "--help").out
    assert whole == succeeds("grad", "--help-all").out
    every, few = (len(re.findall(r"^  --?\w", text.partition("\nProgram:")[2], re.M)) for text in (whole, short))
    assert few == 12
    assert f"{every - few} more options: adcli grad --help-all" in short
    assert "--mode" in whole and "more options" not in whole + succeeds("cache", "--help").out
    both = succeeds("help", "explore").out
    assert both.startswith("explore: ") and both.endswith(succeeds("explore", "--help-all").out)


@pytest.mark.parametrize("words, places", [
    ("constraints", ["adcli help solvers", "subject to", "`--subject-to`, an option of minimize"]),
    ("bounds", ["adcli help digits", "adcli help fits"]), ("correlation", ["adcli help uncertainty", "`--correlation`"]),
    ("csv", ["adcli help rows", "`--data`"]), ("confidence", ["adcli help uncertainty", "adcli help fits"]),
    ("ERROR bars", ["adcli help fits"]), ("tensor", ["adcli help tensors"]), ("atan2", ["adcli functions atan2"]),
    ("cholesky", ["adcli functions cholesky", "adcli help tensors"]), ("gradient", ["adcli help grad "])])
def test_a_word_leads_to_where_it_stands(words, places, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    found = succeeds("help", *words.split()).out
    assert all(place in found for place in places), found


FIRST = {
    "bounds": "guide-minimum", "enclosure": "digits",
    "arrays": "tensors", "cmake": "guide-firmware", "constraints": "guide-minimum", "contour": "pictures", "duckdb": "engines",
    "embedded": "guide-firmware", "environment variables": "environment", "error bars": "uncertainty", "excel": "rows",
    "exit code": "exit-codes", "gpu": "engines", "hessian": "matrices", "infinity": "diagnosis",
    "kalman filter": "guide-network", "loop": "guide-network", "microcontroller": "guide-firmware",
    "minimise": "guide-minimum", "minimize": "guide-minimum", "monte carlo": "uncertainty", "neural network": "guide-network",
    "notebook": "notebooks", "optimization": "guide-minimum", "parquet": "rows", "precision": "precision",
    "root finding": "guide-minimum", "second derivative": "matrices", "sparse": "matrices", "sympy": "sources",
    "threads": "environment", "uncertainty": "uncertainty", "wasm": "libraries"}
"""Words of users, and the chapter that comes first for each."""


def test_the_best_chapter_comes_first() -> None:
    found = {words: places(words)[0][0][len("`adcli help "):-1] for words in FIRST}
    assert found == FIRST


@pytest.mark.parametrize("words, begins", [
    ("start here", "start: "), ("how do I plot", "Usage: adcli plot"), ("exit codes", "exit-codes: ")])
def test_what_is_the_name_of_a_chapter_or_a_verb_is_shown(words: str, begins: str) -> None:
    assert succeeds("help", *words.split()).out.startswith(begins)


def test_the_list_of_topics_and_a_wrong_one():
    listed = succeeds("help").out
    assert all(f"\n  {topic} " in listed for topic in TOPICS)
    assert all(re.search(rf"\b{verb}\b", listed) for verb in VERBS)
    ended = adcli("help", "tensros")
    assert (ended.code, ended.out, ended.err) == (2, "", "adcli: error: no topic 'tensros'\nhelp: did you mean 'tensors'?\n")


def test_the_samples_are_listed_with_their_whole_first_sentence(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    listed = succeeds("help", "samples").out
    for path in samples():
        assert re.search(rf"^  {path.name} +\S.*$", listed, re.M), path.name
    assert str(samples()[0].parent) in re.sub(r"\s", "", listed)
    assert "…" not in listed
    assert len(samples()) == len(re.findall(r"^  \S+\.ad ", listed, re.M)) == len(list((ROOT / "samples").glob("*.ad")))


def test_topics_are_completed():
    assert shell('COMP_LINE="adcli help ex" _ADCLI_COMPLETE=bash_complete adcli') == "plain,plore\nplain,it-codes\n"
    (setup,) = re.findall(r'eval "\$\((.+)\)"', text("environment"))
    assert shell(setup).startswith("_adcli_completion() {")


def on_a_terminal(*args: str, **environment: str) -> str:
    """What the command writes where standard input and output are a terminal."""
    parent, child = pty.openpty()
    process = subprocess.Popen([sys.executable, "-m", "adcli", *args], stdin=child, stdout=child, stderr=child, cwd=ROOT,
                               env={**os.environ, "COLUMNS": "80", "TERM": "xterm", **environment})
    os.close(child)
    parts = []
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:   # how Linux says that nobody writes any more
            break
        if not part:
            break
        parts.append(part)
    assert process.wait() == 0
    os.close(parent)
    return b"".join(parts).decode().replace("\r\n", "\n")


def test_on_a_terminal_it_is_styled_and_goes_through_the_pager(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    plain = succeeds("help", "rows").out
    seen = tmp_path / "seen"
    shown = on_a_terminal("help", "rows", PAGER=f"tee {seen}")
    assert "\x1b[1mrows: " in shown
    assert seen.read_text(encoding="utf-8") == shown
    assert on_a_terminal("help", "rows", PAGER="cat", NO_COLOR="1") == plain


@pytest.mark.parametrize("environment", [{"PAGER": "no-such-pager -R"}, {"PAGER": " "}, {"TERM": "dumb", "PAGER": "false"}])
def test_without_a_pager_that_can_show_it_the_text_is_printed(environment, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert on_a_terminal("help", "rows", **{"NO_COLOR": "1", **environment}) == succeeds("help", "rows").out


def test_nothing_of_the_manual_is_imported_by_other_verbs():
    script = "import sys; from adcli.main import run; run(sys.argv[1:]); print([m for m in sys.modules if 'adcli.manual' in m])"
    for args in (["--help"], ["grad", "-e", "x", "--at", "x=1"], ["grad", "--help"]):
        done = subprocess.run([sys.executable, "-c", script, *args], capture_output=True, text=True, check=True, cwd=ROOT)
        assert done.stdout.splitlines()[-1] == "[]"


class Links(HTMLParser):
    """Tags that are open, anchors and links of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open, self.anchors, self.links = [], {""}, []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open += [tag] * (tag not in ("meta", "link", "input", "br", "img", "source"))
        self.anchors.add(dict(attrs).get("id"))
        self.links += [value for name, value in attrs if name in ("href", "src", "srcset")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("drawn", [False, pytest.param(True, marks=pytest.mark.engine)])
def test_the_manual_as_pages(drawn, tmp_path, monkeypatch):
    """Well formed, every link and every picture is there, nothing is loaded from elsewhere, the search knows every section."""
    if drawn:   # the light ones: the dark would take as long again
        monkeypatch.setattr("adcli.manual.pages.pictures", lambda command, folder: pictures(command, folder)[:1])
    else:
        monkeypatch.setattr("adcli.pictures.picture.find_spec", lambda name: None)
    ended = adcli("help", "--html", str(tmp_path / "pages"))
    pages = {path.name: Links(path.read_text(encoding="utf-8")) for path in (tmp_path / "pages").glob("*.html")}
    *notes, count = ended.err.splitlines()
    assert (ended.code, ended.out, count) == (0, "", f"{len(pages)} pages: {tmp_path / 'pages' / 'index.html'}")
    assert not notes if drawn else notes[0].startswith("note: the pages have no pictures: a picture in a file needs matplotlib")
    assert {*pages} == {"index.html", *(f"{topic}.html" for topic in TOPICS), *(f"verb-{verb}.html" for verb in VERBS)}
    for page in pages.values():
        for target in (link for link in page.links if drawn or not link.endswith(".svg")):
            name, _, anchor = target.partition("#")
            assert (target.startswith("https://") or ((tmp_path / "pages" / name).is_file() and
                    (not name.endswith(".html") or anchor in pages[name].anchors)) or target == "#text"), target
    listed = (tmp_path / "pages" / "index.js").read_text(encoding="utf-8")
    for page, _, anchor, _ in json.loads(listed.removeprefix("const SECTIONS = ").removesuffix(";\n")):
        assert anchor in pages[f"{page}.html"].anchors, (page, anchor)
    assert adcli("help", "fits", "--html", str(tmp_path)).code == 2
