"""What adcli says when something is wrong: exact texts and exit codes."""
from __future__ import annotations

import os
import re

import click
import pytest
from command import adcli
from session_seed import fixed, half

from adcli.command.usage import WholeNumber
from adcli.main import VERBS, cli

PROGRAM = "v = x * sin(y)\n"
@pytest.fixture
def folder(tmp_path, monkeypatch):
    files = {
        "f.ad": PROGRAM, "untidy.ad": "v=x", "empty": "", "binary": b"\x00\x01\xff", "utf16": "v = x".encode("utf-16"),
        "latin1": b"\xe9 = x", "wrong.ad": "v = tahn(x)\nw = 2x\n", "range.ad": "input x in [0, 1]\nv = x*x\n",
        "broken.json": '[\n{"x": }]', "lines.json": '{"x": 1, "y": 2}\n\n{"x"; 1}\n', "twice.json": '{"x": 1, "x": 2}',
        "text.json": '[{"x": 1, "y": 2}, {"x": 1, "y": "two"}]', "large.json": '{"x": 1e999, "y": 1}', "list.json": "[1, 2]",
        "deep.json": "[" * 200_000,
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_no_arguments_show_the_help():
    ended = adcli()
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith("Usage: adcli [OPTIONS] COMMAND")


def test_an_expression_that_is_not_utf8():
    assert adcli("eval", "-e", os.fsdecode(b"x\xff")) == (
        3, "", "-e: error: not UTF-8: byte 0xff at byte offset 1\nhelp: save it as UTF-8\n", b"")


def test_a_defect_is_told_from_a_fault(monkeypatch):
    def broken(*args: object) -> None:
        raise AssertionError("two and two")
    monkeypatch.setattr("adcli.answers.results.checked", broken)
    ended = adcli("eval", "-e", "x", "--at", "x=1")
    assert ended.code == 70
    assert ended.err.startswith("adcli 0.1.0: internal error: AssertionError: two and two\nhelp: this is a defect of adcli")
    monkeypatch.setenv("ADCLI_TRACEBACK", "1")
    assert "Traceback" in adcli("eval", "-e", "x", "--at", "x=1").err


def test_memory_is_a_clean_fault(monkeypatch):
    def large(*args: object) -> None:
        raise MemoryError
    monkeypatch.setattr("adcli.answers.results.checked", large)
    assert adcli("eval", "-e", "x", "--at", "x=1")[:3] == (2, "", "adcli: error: not enough memory for this program\n")


PROGRAMS = [
    "f.ad", "-e x*y", "-e v=sqrt(x) -e w=x/y", "-e log(x", "-e #", "-e ;", "-e 1", "-", "none.ad", "f.ad f.ad",
    "-e x>0?x:y", "-e v=g(x)", "wrong.ad", "binary",
]
PARTS = [
    "x=1", "y=2", "x=0:1:3", "y=", "x", "==", "x=1e400", "y=nan", "x=-inf", "@text.json", "@f.ad", "@", "x=1/0",
    "x=pi", "y=2**1000", "x=0:0:0", "x=1:2:3:4", "x=a:b:c", "é=1", "x=0x1p3", "x=0x", "x=++1", "x=1;", "x=1#",
    "x=[1]", "x=sin(1)", "x=1<2", "x=1?2:3", "x={1}", "x=dup(1)", "x=input", "x=inf:nan:2",
]
OPTIONS = [
    "--format json", "--format csv", "--fmt %.3e", "--fmt %99999f", "--fmt %999.9f", "--hex", "--status",
    "--strict", "-q", "-o r", "-o none/r", "--emit text", "--emit llvm", "--emit asm", "--emit object",
    "--style anf", "--lanes 4", "--wrt x", "--wrt ,", "--of f", "--of v,w", "--mode forward", "--order 2",
    "--order x", "--tangent x=1", "--tangent x=nan", "--tangent x=1:2:3", "--cotangent f=1", "--stage dup",
    "--check", "--no-cache", "--help", "--", "-z", "",
]


@pytest.mark.parametrize("seed", half(range(4)))
def test_no_command_line_is_a_defect(folder, seed):
    """Whatever stands on the command line, it is done or refused, and never with a traceback."""
    r, codes = fixed("test_no_command_line_is_a_defect", seed), set()
    for _ in range(120):
        words = [r.choice(["eval", "grad", "jvp", "vjp", "show", "fmt"]), *r.choice(PROGRAMS).split(" ")]
        words += ["--at", ",".join(r.choices(PARTS, k=2)) if r.random() < 0.5 else "x=1,y=2"]
        words += " ".join(r.choices(OPTIONS, k=2)).split(" ")
        ended = adcli(*words, stdin=b"v = x*y")
        codes.add(ended.code)
        assert ended.code in (0, 2, 3, 4), (words, ended)
        assert "Traceback" not in ended.err
    assert {0, 2, 3} <= codes


@pytest.mark.parametrize("text, number", [
    ("1e6", 10**6), ("1.5e2", 150), ("2.50e1", 25), ("100", 100), ("1_000", 1000), ("1E+2", 100), ("auto", "auto"),
    ("1.25e1", None),
    ("1e-2", None), ("1e99", None), ("1", None), ("2.5", None), ("many", None), ("", None)])
def test_a_whole_number_may_have_an_exponent(text, number):
    kind = WholeNumber(2, 10**7, ("auto",))
    if number is not None:
        assert kind.convert(text, None, None) == number
        return
    with pytest.raises(click.BadParameter):
        kind.convert(text, None, None)



def test_every_option_has_help_in_sentences():
    context = cli.make_context("adcli", [], resilient_parsing=True)
    for verb in VERBS:
        for p in cli.get_command(context, verb).params:
            if isinstance(p, click.Option):
                assert re.fullmatch(r"\S.*\.", p.help or "", re.DOTALL), (verb, p.name, p.help)
