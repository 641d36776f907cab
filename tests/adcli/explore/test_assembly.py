"""The page as one file: what it may load and run, that no program gets out of its data, and that its modules fit together."""
from __future__ import annotations

import base64
import hashlib
import json
import math
import random
import re
import shutil
import subprocess
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from adcli.lang.ir.errors import Source
from command import succeeds
from places import ROOT
from session_seed import drawn

from adcli.explore.command import EXPORT, FOLDER, IMPORT, SCRIPTS, page
from adcli.explore.data import document

WORKED = ROOT / "samples" / "worked.ad"
FORBIDDEN = re.compile(r"https?:|//\w+\.|@import|url\((?!#)|(inner|outer)HTML|insertAdjacent|\.write\(|\beval\b|Function\(")
"""What loads something, or makes markup or code of a text."""
EVIL = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> \u2028\u2029 ]]> &lt; ${} $title"


class Elements(HTMLParser):
    """The elements of a page as a browser finds them: tag, attributes, text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.open = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), []))
        self.open = True

    def handle_endtag(self, tag: str) -> None:
        self.open = False

    def handle_data(self, data: str) -> None:
        if self.open:
            self.found[-1][2].append(data)

    def named(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attrs, "".join(text)) for name, attrs, text in self.found if name == tag]

    @property
    def data(self) -> Any:
        (text,) = [text for attrs, text in self.named("script") if attrs.get("type") == "application/json"]
        return json.loads(text)


def made(text: str, name: str) -> str:
    return page(name, *document(Source(name, text)))


TAME = made(WORKED.read_text(encoding="utf-8"), "worked.ad")


def test_the_policy_lets_run_what_is_there_and_nothing_else():
    elements = Elements(TAME)
    (policy,) = [str(a["content"]) for a, _ in elements.named("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    allowed = dict(part.split(" ", 1) for part in policy.split("; "))
    scripts = [text for attrs, text in elements.named("script") if "type" not in attrs]
    (style,) = [text for _, text in elements.named("style")]

    def hashes(texts: list[str]) -> list[str]:
        return [f"'sha256-{base64.b64encode(hashlib.sha256(t.encode()).digest()).decode()}'" for t in texts]

    assert allowed == {"default-src": "'none'", "script-src": " ".join(hashes(scripts)), "style-src": hashes([style])[0],
                       "img-src": "data:", "base-uri": "'none'", "form-action": "'none'"}
    assert len(scripts) == 2 and all(scripts)


def test_nothing_is_loaded_and_no_attribute_is_code():
    elements = Elements(TAME)
    for tag, attrs, _ in elements.found:
        assert "src" not in attrs and "style" not in attrs and not any(name.startswith("on") for name in attrs), tag
        assert (attrs.get("href") or "#").startswith(("#", "data:,")), tag
    for path in FOLDER.iterdir():
        text = path.read_text(encoding="utf-8")
        assert not FORBIDDEN.search(text), path.name
        assert path.suffix == ".css" or max(map(len, text.splitlines())) <= 130, path.name


@pytest.mark.parametrize("name", ["<script>alert(0)</script>.ad", "a' onload='x.ad", "]]>.ad", "$document.ad"])
def test_a_hostile_program_stays_in_its_data(name):
    """Comments and names of files may hold anything; names of values are letters, but of any script."""
    text = f"# {EVIL}\n__proto__ = 2 * x\nконстанта = x + __proto__\nv = константа * x  # {EVIL}\n"
    evil = Elements(made(text, name))
    assert [tag for tag, _, _ in evil.found] == [tag for tag, _, _ in Elements(TAME).found]
    assert [attrs.keys() for _, attrs, _ in evil.found] == [attrs.keys() for _, attrs, _ in Elements(TAME).found]
    assert "\n".join(line["text"] for line in evil.data["panes"][0]["lines"]).startswith(f"# {EVIL[:30]}")
    assert evil.data["source"] == text and evil.named("title")[0][1] == name


def test_the_scripts_depend_on_nothing_but_the_operations():
    """So that what is allowed to run never is what a stranger wrote."""
    other = Elements(made(WORKED.read_text(encoding="utf-8").replace("x", "evil").replace("y", "evil_too"), "other.ad"))
    first, second = ([text for attrs, text in page.named("script") if "type" not in attrs] for page in (other, Elements(TAME)))
    assert first == second


def test_every_module_imports_what_an_earlier_one_exports():
    exported: dict[str, set[str]] = {}
    for name in SCRIPTS:
        text = (FOLDER / f"{name}.js").read_text(encoding="utf-8")
        for names, source in re.findall(r"^import \{([^}]*)\} from \"\./(\w+)\.js\";$", text, re.M):
            assert set(names.split(", ")) <= exported[source], (name, source)
            for used in names.split(", "):
                assert len(re.findall(rf"\b{used}\b", text)) > 1, (name, used)
        assert all(IMPORT.fullmatch(f"{line}\n") for line in text.splitlines() if line.startswith("import ")), name
        assert len(re.findall(r"^export ", text, re.M)) == len(EXPORT.findall(text)), name
        exported[name] = {word for _, word in EXPORT.findall(text)}
    every = [word for words in exported.values() for word in words]
    assert len(every) == len(set(every))
    assert {path.stem for path in FOLDER.glob("*.js")} == set(SCRIPTS)


# ---------------------------------------------------------------- modules that need no browser

@pytest.fixture(scope="module")
def modules(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("modules")
    for name in SCRIPTS:
        shutil.copy(FOLDER / f"{name}.js", folder)
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    return folder


def run(folder: Path, script: str, given: Any) -> Any:
    (folder / "run.js").write_text(script, encoding="utf-8")
    done = subprocess.run([str(shutil.which("node")), "run.js"], cwd=folder, input=json.dumps(given), capture_output=True,
                          encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


READ = 'import {readFileSync} from "node:fs";\nconst given = JSON.parse(readFileSync(0, "utf8"));\n'
node = pytest.mark.skipif(shutil.which("node") is None, reason="no node")


def doubles(r: random.Random) -> list[float]:
    """Numbers of every size, and many that lie half-way between two texts of 6 digits."""
    some = [math.ldexp(r.uniform(-1, 1), r.randrange(-1070, 1024)) for _ in range(500)] + [r.uniform(-20, 20) for _ in range(200)]
    halves = [r.choice([-1, 1]) * (r.randrange(10**5, 10**6) + 0.5) / 2**k for k in (0, 0, 1, 2, 3) for _ in range(60)]
    return [*some, *halves, 0.0, -0.0, 5e-324, 1.7976931348623157e308, 999999.5, 9999995.0, 1e-5, 0.0001, 123456.0, 1e6, 1000.125]


@node
def test_numbers_are_written_as_printf_does(modules):
    numbers = doubles(drawn("numbers of a page"))
    script = READ + ('import {number, parsed, near} from "./numbers.js";\n'
                     'const texts = given.map(x => number(Number(x))), back = given.map(x => parsed(x) === Number(x));\n'
                     'console.log(JSON.stringify({texts, back,'
                     ' odd: [number(NaN), number(Infinity), number(-Infinity), number(true)],'
                     ' wrong: ["", "1e", "x", "1,5", "--1", "0x10", "1e5e5", "Infinit"].map(parsed).filter(x => x !== undefined),'
                     ' near: [near(101, 100), near(98.9, 100), near(-100, 100), near(0, 0), near(1e-3, 0), near(NaN, NaN),'
                     ' near(1, NaN), near(Infinity, Infinity), near(-Infinity, Infinity)]}));')
    found = run(modules, script, [repr(x) for x in numbers])
    assert found["texts"] == [f"{x:.6g}" for x in numbers]
    assert all(found["back"]) and found["wrong"] == []
    assert found["odd"] == ["nan", "inf", "-inf", "true"]
    assert found["near"] == [True, False, False, True, False, True, False, True, False]


@node
def test_a_state_survives_an_address(modules):
    """Also where names of inputs mean something in an address, and numbers are not finite."""
    names = ["x", "step", "at", "ä_β", "__proto__"]
    script = READ + ('import {read, written} from "./state.js";\n'
                     'const inputs = given.names.map(name => ({name, shape: []}));\n'
                     'const seeds = {forward: given.names, reverse: ["v&=,#"]};\n'
                     'const at = [NaN, -0, Infinity, 1.2345678901234567e-300, -7], state = {at, mode: "reverse", forward: "at",'
                     ' reverse: "v&=,#", step: 12, predict: true, shown: false, style: "anf", notation: "plain"};\n'
                     'const back = read("#" + written(state, inputs), inputs, seeds);\n'
                     'const same = at.every((x, i) => Object.is(x, back.at[i]));\n'
                     'const junk = ["", "#", "#&&=", "#at=%E0%A4%A,x=zzz&step=-1&step=1e9&reverse=nope&predict", "#at=y=1"]'
                     '.map(text => read(text, inputs, seeds));\n'
                     'console.log(JSON.stringify({same, back, junk}));')
    found = run(modules, script, {"names": names})
    assert found["same"]
    assert {k: v for k, v in found["back"].items() if k != "at"} == {
        "mode": "reverse", "reverse": "v&=,#", "step": 12, "predict": True, "shown": False, "style": "anf", "notation": "plain"}
    assert all(set(change) <= {"at", "predict", "shown"} for change in found["junk"])


# ---------------------------------------------------------------- the command

def test_a_page_begins_at_the_point_that_is_given(tmp_path):
    assert [x["start"] for x in Elements(succeeds("explore", WORKED, "--at", "x=2,y=5").out).data["inputs"]] == [2.0, 5.0]
    succeeds("explore", WORKED, "-o", tmp_path / "w.html", "--of", "v", "--wrt", "y")
    data = Elements((tmp_path / "w.html").read_text(encoding="utf-8")).data
    assert [x["differentiated"] for x in data["inputs"]] == [False, True]
    name = unicodedata.normalize("NFC", "größe.ad")
    (tmp_path / name).write_text("größe = x", encoding="utf-8")
    assert f"<title>{name}</title>" in succeeds("explore", tmp_path / name).out
