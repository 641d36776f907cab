"""The part that mutates programs and data: a small run of it, and that it notices a defect."""
from __future__ import annotations

import mutations
import pytest
from session_seed import drawn

COUNT = 50


def test_mutated_programs_and_data_are_answered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    r = drawn("mutations")
    for _ in range(COUNT):
        data, args, _ = mutations.attempt(r)
        assert mutations.replay(data, tuple(args)) is None, (args, data)


def test_a_defect_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that fails with a traceback, ends the process' work or says nothing is a finding."""
    def broken(args: list[str]) -> int:
        raise SystemExit(0)
    assert mutations.replay(b"v = x", ("fmt", "-")) is None
    for stand_in in (broken, lambda args: 70, lambda args: 3):
        monkeypatch.setattr(mutations.main, "run", stand_in)
        assert mutations.replay(b"v = x", ("fmt", "-")) is not None


@pytest.mark.parametrize("said, code, wrong", [
    ("adcli: error: no\n", 2, None), ("", 2, "without a word"), ("", 0, None), ("Traceback (most", 2, "exit 2"),
    ("x.py:3: RuntimeWarning: overflow\n", 0, "a warning of Python"), ("adcli: no '\x1b[31m'\n", 2, "control character"),
    ("adcli: error: not enough memory for this program\n", 2, "all the memory"), ("a defect\n", 70, "exit 70")])
def test_what_an_answer_must_not_be(said, code, wrong):
    found = mutations.wrong(mutations.Answer(code, "", said, 0.1))
    assert found is None if wrong is None else wrong in found


def test_an_answer_that_takes_too_long_is_none():
    assert mutations.wrong(mutations.Answer(0, "v = 1\n", "", mutations.LIMIT + 1)) is not None


def test_every_option_of_every_verb_is_given():
    """But those that say where results go, that end the command, or that the attempt sets itself."""
    r = drawn("options")
    for verb in sorted(set(mutations.VERBS)):
        given = {word.partition("=")[0] for _ in range(40) for word in mutations.options(r, verb, often=1)}
        assert given == {p.opts[-1] for p in mutations.parameters(verb)}, verb


def test_the_input_is_a_file_where_the_command_names_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ("eval", "-e", "2*x", "--data=input.csv")
    assert mutations.replay(b"x\n1\n2\n", command) is None
    assert (tmp_path / "input.csv").read_bytes() == b"x\n1\n2\n"
    assert mutations.answer(command).result == "x,f\n1,2.0\n2,4.0\n"
