"""The extension of VS Code in a stand-in for VS Code, with the real language server: what it makes of the answers."""
from __future__ import annotations

import json
import subprocess

import pytest
from engines import package, program
from places import HELPERS

from adcli.editors.command import files, manifest

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def extension(tmp_path_factory):
    folder = tmp_path_factory.mktemp("extension")
    for name, text in files().items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "extension.js"


def session(extension, *command):
    done = subprocess.run([program("node"), HELPERS / "vscode.cjs", extension, *command], capture_output=True, text=True,
                          encoding="utf-8", timeout=180)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_without_a_server_it_says_why(extension, tmp_path):
    assert session(extension) == {"providers": [], "messages": []}
    gone = session(extension, tmp_path / "gone")
    assert gone["providers"] == [] and "there is no program" in gone["messages"][0]
    script = tmp_path / "adcli"
    script.write_text("#!/bin/sh\necho 'adcli: error: no pygls' >&2\nexit 2\n", encoding="utf-8")
    script.chmod(0o755)
    assert session(extension, script)["messages"] == ["adcli's language server does not run: adcli: error: no pygls"]


@pytest.fixture(scope="module")
def seen(extension):
    package("pygls")
    (setting,) = manifest()["contributes"]["configuration"]["properties"].values()
    return session(extension, *setting["default"])


def places(found):
    return [(r["range"]["start"]["line"], r["range"]["start"]["character"], r["range"]["end"]["character"]) for r in found]


def test_faults_and_their_fixes(seen):
    (uri, (fault,)), = seen["faults"]   # of the one text that is a program
    assert (uri, places([fault])) == ("file:///a%20b/f.ad", [(2, 6, 10)])
    assert fault["severity"] == 0 and fault["message"].startswith("unknown function 'tahn'")
    (fix,) = seen["actions"]
    ((_, edits),) = fix["edit"]["all"]
    assert not fix["isPreferred"] and fix["kind"]["value"] == "quickfix" and fix["diagnostics"] == [fault]
    line = "v = x*tahn(y)"
    for edit in edits:
        (_, start, end), = places([edit])
        line = line[:start] + edit["newText"] + line[end:]
    assert line == "v = x*tanh(y)"


def test_what_is_under_the_pointer(seen):
    assert "hyperbolic tangent" in seen["hover"]["contents"][0]["value"]
    assert places(seen["definition"]) == [(2, 0, 1)]


def test_formatting(seen):
    assert "".join(e["newText"] for e in seen["formatting"])


def test_completion(seen):
    assert "hyperbolic tangent" in seen["completion"]["documentation"]["value"] and seen["messages"] == []
