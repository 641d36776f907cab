"""Colour: who asked for it, and that nothing is said by it alone."""
from __future__ import annotations

import re

import pytest
from command import adcli, succeeds
from places import ROOT
from terminals import on_terminal

from adcli.output import colour

WRONG = ("eval", "-e", "v = 2*tahn(x)")
SHOWN = ("show", ROOT / "samples" / "matrix_vector.ad")
DRAWN = ("plot", "-e", "x", "--at", "x=0:1:2", "--derivatives", "0")


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)


@pytest.mark.parametrize("environment, on_a_terminal, in_a_pipe", [
    ({}, True, False),
    ({"NO_COLOR": "1"}, False, False), ({"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, False, False),
    ({"CLICOLOR": "0"}, False, False), ({"CLICOLOR": "1"}, True, False),
    ({"CLICOLOR_FORCE": "1"}, True, True), ({"CLICOLOR_FORCE": "0"}, True, False),
    ({"CLICOLOR_FORCE": "1", "CLICOLOR": "0"}, True, True),
    ({"FORCE_COLOR": "3"}, True, True), ({"TERM": "dumb"}, False, False), ({"TERM": "dumb", "CLICOLOR_FORCE": "1"}, True, True),
])
def test_who_asks_for_colour(environment, on_a_terminal, in_a_pipe, monkeypatch):
    given = {"NO_COLOR": "", **environment}
    for args in (WRONG, SHOWN, DRAWN):
        assert ("\x1b[" in on_terminal(80, *args, **given)) == on_a_terminal
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    said = [adcli(*WRONG).err, adcli(*SHOWN).out, adcli(*DRAWN).out, adcli("help", "exit-codes").out]
    assert ["\x1b[" in text for text in said] == [in_a_pipe] * 4


def test_without_colour_it_is_the_same_text():
    for args in (WRONG, SHOWN):
        shown = on_terminal(200, *args, NO_COLOR="")
        assert plain(shown) == on_terminal(200, *args) == adcli(*args).err + adcli(*args).out


def test_a_message():
    assert on_terminal(80, *WRONG, NO_COLOR="") == (
        "\x1b[1m-e:1:7:\x1b[0m \x1b[1;31merror:\x1b[0m unknown function 'tahn'\n    v = 2*tahn(x)\n"
        "          \x1b[1;31m^^^^\x1b[0m\n"
        "\x1b[1;32mhelp:\x1b[0m did you mean 'tanh'?\n")
    assert colour.message("no message: of ours") == "no message: of ours"


def test_a_terminal_obeys_nothing_of_a_listing(tmp_path):
    """But colours of ours, behind which everything is plain again."""
    path = tmp_path / "f.ad"
    path.write_text("# \x1b[31m red \x9b2J\nv = x\n", encoding="utf-8")
    shown = on_terminal(80, "fmt", path, NO_COLOR="")
    assert shown == "\x1b[32m# \\x1b[31m red \\x9b2J\x1b[0m\nv = x\n"


@pytest.mark.parametrize("verb", ["show", "fmt"])
def test_a_file_is_never_coloured(verb, tmp_path, monkeypatch):
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    out = tmp_path / "out.ad"
    succeeds(verb, SHOWN[1], "-o", out)
    assert b"\x1b" not in out.read_bytes()
