"""A session with the server as an editor has it: a process of its own, and every byte that it writes belongs to a message."""
from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("pygls")

from command import adcli
from lsp_client import ADCLI, PATIENCE, Client, RequestFailure, edited

SPACED, UNTITLED = "file:///some/a%20folder/w.ad", "untitled:Untitled-1"
CANCELLED = -32800
LONG = "input x0 in [0, 1]\n" + "".join(f"x{i + 1} = sin(x{i}) * {i}.5 + y\n" for i in range(2_000))

NOISY = """
import os, sys
from adcli.lsp import hover, server
definition = hover.definition
def noisy(text, params):
    print("printed"); os.write(1, b"written"); os.system("echo from a process")
    return definition(text, params)
server.ANSWERS["textDocument/definition"] = noisy, None
def defect(text, params):
    raise ZeroDivisionError("planted")
server.ANSWERS["textDocument/hover"] = defect, None
sys.exit(server.serve())
"""


@pytest.fixture(scope="module")
def client():
    """A client that is gone in the end without a word: the server ends with its input."""
    made = Client()
    yield made
    made.process.stdin.close()
    assert made.process.wait(60) == 0
    assert made.process.stderr.read() == b""


def test_faults_come_with_the_change_that_mends_them(client):
    text = "v = 2 * tahn(p)\r\n\tw = 𝒳 + 2𝒳\r\n"
    found = client.open(SPACED, text)
    assert [(d["message"].splitlines()[0], d["range"]["start"], d["range"]["end"]["character"]) for d in found] == [
        ("unknown function 'tahn'", {"line": 0, "character": 8}, 12),
        ("an operator is missing before '𝒳'", {"line": 1, "character": 11}, 13)]
    actions = client.about("codeAction", SPACED, range=found[1]["range"], context={"diagnostics": found[1:]})
    assert [a["title"] for a in actions] == ["Write 2*𝒳"]
    changed = edited(text, actions[0]["edit"]["changes"][SPACED])
    assert changed == "v = 2 * tahn(p)\r\n\tw = 𝒳 + 2*𝒳\r\n"
    client.change(SPACED, changed.replace("tahn", "tanh"), 2)
    assert client.diagnostics(SPACED, 2) == []
    client.close(SPACED)
    assert client.diagnostics(SPACED, None) == []


def test_two_texts_are_apart_and_a_closed_one_is_forgotten(client):
    assert client.open(SPACED, "v = x * y\n") == [] and len(client.open(UNTITLED, "v = x +\n")) == 1
    assert "input" in client.at("hover", SPACED, 0, 4)["contents"]["value"]
    prelude = client.at("definition", SPACED, 0, 8)   # of y, an input that nothing declares: where it is first read
    assert prelude["range"]["start"] == {"line": 0, "character": 8}
    client.close(UNTITLED)
    assert client.diagnostics(UNTITLED, None) == [] and client.at("hover", UNTITLED, 0, 0) is None
    client.change(SPACED, "v = rsqrt(x)", 2)
    assert client.at("definition", SPACED, 0, 5)["uri"].endswith("/prelude/elementary.ad")
    client.change(SPACED, "input x(N); v = norm(x)", 3)
    assert client.at("definition", SPACED, 0, 17)["uri"].endswith("/prelude/tensors.ad")


def test_a_long_text_is_read_when_typing_pauses_and_others_are_answered_meanwhile(client):
    uri = "file:///long.ad"
    assert client.open(uri, LONG) == [] and client.open(UNTITLED, "v = x * y\n") == []
    client.versions(uri)
    for version in range(2, 12):
        client.change(uri, f"{LONG}w = {version} +", version)
        assert client.at("hover", UNTITLED, 0, 0)["contents"]["value"].startswith("**v** · output")
    document = {"textDocument": {"uri": uri}}
    hover = client.ask("textDocument/hover", {**document, "position": {"line": 3, "character": 1}})
    cancelled = client.ask("textDocument/formatting", {**document, "options": {"tabSize": 4, "insertSpaces": True}})
    client.notify("$/cancelRequest", {"id": cancelled})
    with pytest.raises(RequestFailure, match=str(CANCELLED)):
        client.answer(cancelled)
    assert client.answer(hover)["contents"]["value"].startswith("**x3** · value")
    assert [d["range"]["start"]["line"] for d in client.diagnostics(uri, 11)] == [2_001]
    assert client.versions(uri) == [11]   # of the others nothing was said


def test_only_messages_are_on_standard_output_and_a_defect_ends_one_request():
    client = Client(["utf-32"], [sys.executable, "-c", NOISY])
    assert client.capabilities["positionEncoding"] == "utf-32" and client.open(UNTITLED, "𝒳 = 1; v = 𝒳 * x") == []
    assert client.at("definition", UNTITLED, 0, 11)["range"]["end"]["character"] == 1
    with pytest.raises(RequestFailure, match="ZeroDivisionError: planted"):
        client.at("hover", UNTITLED, 0, 11)
    assert client.at("definition", UNTITLED, 0, 11) is not None
    code, errors = client.end(shutdown=False)   # which the protocol calls a failure
    assert code == 1 and not any("broken" in m for m in client.told)
    assert [w for w in ("printed", "written", "from a process", "planted") if w not in errors] == []


def test_what_the_command_says(monkeypatch):
    assert "textDocument/hover" in adcli("lsp", "--capabilities").out.splitlines()
    with monkeypatch.context() as terminal:
        terminal.setattr("adcli.lsp.command.sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
        ended = adcli("lsp", "--stdio")
    assert ended.code == 2 and "talks to an editor, not to a terminal" in ended.err
    monkeypatch.setattr("adcli.lsp.command.find_spec", lambda name: None)
    ended = adcli("lsp")
    said = "adcli: error: the language server needs pygls, which is not installed\nhelp: "
    assert ended.code == 2 and ended.err.startswith(said)
    assert ended.err.endswith("install pygls\n") or "install --python" in ended.err
    monkeypatch.setattr("adcli.lsp.command.find_spec", lambda name: name if name == "pygls" else None)
    assert "needs pygls 2 or later\nhelp: " in adcli("lsp").err


def test_a_client_that_reads_no_more_is_no_defect():
    pipe = subprocess.PIPE
    process = subprocess.Popen(ADCLI, stdin=pipe, stdout=pipe, stderr=pipe)
    process.stdout.close()
    asked = b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", ' \
            b'"params": {"processId": null, "rootUri": null, "capabilities": {}}}'
    assert process.communicate(b"Content-Length: %d\r\n\r\n%s" % (len(asked), asked), timeout=PATIENCE)[1] == b""
    assert process.returncode == 0
