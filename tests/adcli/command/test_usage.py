"""What adcli says when something is wrong: exact texts and exit codes."""
from __future__ import annotations

import os

import click
import pytest
from command import adcli

from adcli.command.usage import WholeNumber


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
