"""The client in the extension of VS Code, in a session with the server: every provider gives what the editor expects of it."""
from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from lsp_client import edited
from places import ROOT

from adcli.editors.vscode import files

pytestmark = [pytest.mark.engine, pytest.mark.skipif(shutil.which("node") is None, reason="needs node")]

RIGHT, WRONG = "input x in [0, 1]\ns=sin(k*x)\nv = 2 * tanh(s)\n", "input x in [0, 1]\ns = sin(k*x)\nv = 2 * tahn(s)\n"


def session(text, folder):
    for name, content in files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    done = subprocess.run(["node", ROOT / "tests" / "helpers" / "fake_vscode.js", folder, text], capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0 and done.stdout, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    pytest.importorskip("pygls")
    return session(RIGHT, tmp_path_factory.mktemp("right"))


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    pytest.importorskip("pygls")
    return session(WRONG, tmp_path_factory.mktemp("wrong"))


def test_faults_and_their_changes(right, wrong):
    assert right["diagnostics"] == [["file:///a%20b/w.ad", []]] and right["actions"] == [] and right["shown"] == wrong["shown"] == []
    ((_, (fault,)),) = wrong["diagnostics"]
    assert (fault["severity"], fault["range"]["start"]) == (0, {"line": 2, "character": 8})   # 0 is Error there
    (action,) = wrong["actions"]
    assert edited(WRONG, action["edit"]["edits"]) == WRONG.replace("tahn", "tanh") and action["title"] == "Change to 'tanh'"


def test_what_is_shown_and_changed(right, wrong):
    assert "dv_ds" in right["hover"]["contents"]["value"] and wrong["hover"]["contents"]["value"] == "**s** · value"
    assert edited(RIGHT, right["rename"]["edits"]) == RIGHT.replace("s=", "speed=").replace("(s)", "(speed)")
    assert right["refused"].startswith("'k' is an input already") and right["prepared"]["placeholder"] == "s"
    assert edited(RIGHT, right["formatting"]) == RIGHT.replace("s=sin(k*x)", "s = sin(k * x)") and wrong["formatting"] is None
    assert right["definition"]["range"]["start"] == {"line": 1, "character": 0}
    assert len(right["references"]) == len(right["highlights"]) == 2 and [h["kind"] for h in right["highlights"]] == [2, 1]


def test_completion_signatures_outline_and_words(right):
    assert {"x", "s", "k", "tanh", "pi", "where"} <= {*right["completion"]} and "sech2" in right["resolved"]["documentation"]["value"]
    assert right["signature"]["signatures"][0]["label"] == "sin(x)"
    assert [s[:2] for s in right["symbols"]] == [["x", "input"], ["s", "value"], ["k", "input"], ["v", "output"]]
    assert len(right["tokens"]) % 5 == 0 and len(right["tokens"]) > 50
