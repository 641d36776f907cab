"""Which reader a program needs."""
from __future__ import annotations

import pytest
from command import adcli

from adcli.readers.front import READERS, SourceReader, foreign

TWO = "import math\n\n\ndef helper(x):\n    return x * x\n\n\ndef f(x, k=2.0):\n    y = helper(x) * k\n    return y\n"


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(TWO)
    (tmp_path / "model.txt").write_text(TWO)
    (tmp_path / "odd:f.py").write_text("def g(x):\n    return 3 * x\n")


@pytest.mark.parametrize(("word", "language", "found"), [
    ("model.py:f", None, ("model.py", "f", "python")), ("model.py", None, ("model.py", None, "python")),
    ("model.txt:f", "python", ("model.txt", "f", "python")), ("model.txt", None, None), ("model.ad:f", None, None),
    ("-", "python", ("-", None, "python")), ("-:f", "python", ("-", "f", "python")),
    ("odd:f.py", None, ("odd:f.py", None, "python"))])
def test_a_word_names_a_file_a_function_and_a_language(model, word, language, found):
    assert foreign(word, language) == found


CASES = [(("grad", "model.py:f", "--at", "x=3"), "y = 18.0\ndy_dx = 12.0\n"),
         (("eval", "model.py", "--at", "x=3,k=1"), "y = 9.0\n"),
         (("grad", "model.txt:f", "--from", "python", "--at", "x=3", "--wrt", "k"), "y = 18.0\ndy_dk = 9.0\n"),
         (("eval", "odd:f.py", "--at", "x=1"), "g = 3.0\n"),
         (("show", "model.py:f"), "input x\nparam k = 2\ndef helper(x) = x * x\ny = helper(x) * k\noutput y\n")]


@pytest.mark.parametrize(("words", "written"), CASES)
def test_a_verb_takes_a_function_of_a_file(model, words, written):
    assert adcli(*words).out == written


def test_standard_input_is_read(model):
    assert adcli("eval", "-", "--from", "python", "--at", "x=3", stdin=TWO.encode()).out == "y = 18.0\n"
    assert "write adcli show --from python - < FILE" in adcli("show", "--from", "python", "-e", "v = x").err


def test_a_text_is_read_once(model, monkeypatch, tmp_path):
    """The program and its places are kept for the same text and the same whole numbers of the point."""
    monkeypatch.setenv("ADCLI_CACHE_DIR", str(tmp_path / "cache"))
    at = ("why", "model.py:f", "--of", "y", "--at")
    told = adcli(*at, "x=1.5e160")
    assert "model.py:5" in told.out and adcli("eval", "model.py:f", "--at", "x=0.25").out
    monkeypatch.setitem(READERS, "python", SourceReader((".py",), "readers.no_such_file"))
    assert adcli(*at, "x=1.5e160") == told and adcli("eval", "model.py:f", "--at", "x=0.5").out == "y = 0.5\n"
    for changed in (["--at", "x=3"], ["--at", "x=0.5", "--no-cache"]):
        assert adcli("eval", "model.py:f", *changed).code == 2
