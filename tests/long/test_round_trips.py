"""The part of texts looks at tensors and at every stage, and notices a text that says another program."""
from __future__ import annotations

import laws
import round_trips

PROGRAM = b"def f(a) = a*a\nv = f(x) > 1 ? sin(x) : y\n"
TENSORS = b"input A(M, N), b(N)\nc(i) +=! A(i, j)*b(j)\n"


def test_these_read_back():
    assert [round_trips.replay(data, ()) for data in (PROGRAM, TENSORS, b"v = ", b"\xff\x00")] == [None] * 4
    assert len(round_trips.stages(round_trips.program(PROGRAM))) > 4


def test_a_text_that_says_another_program_is_noticed(monkeypatch):
    printed = laws.print_program
    monkeypatch.setattr(laws, "print_program", lambda program, style="nested": printed(program, style).replace("sin", "cos"))
    assert "AssertionError of check_round_trip" in round_trips.replay(PROGRAM, ())


def test_a_pickle_that_says_another_program_is_noticed(monkeypatch):
    monkeypatch.setattr(round_trips.pickle, "loads", lambda data: round_trips.adcli.compile("v = x"))
    assert "pickled and back" in round_trips.replay(PROGRAM, ())
