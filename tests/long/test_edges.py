"""The part of constants, empty tensors and sizes of 1 notices verbs that fail and languages that differ; it tries all of them."""
from __future__ import annotations

import random
from collections import Counter

import edges
import numpy as np
import pytest
from mutations import Answer
from session_seed import drawn

EMPTY = "input a(N), b(M)\ny(i) = a(2)*b(i)\n"


def test_programs_points_and_commands_are_of_all_kinds():
    r, kinds, verbs = drawn("edges"), Counter[str](), set[str]()
    for _ in range(400):
        source = edges.text(r)
        at = edges.drawn(r, source)
        if at is not None:
            verbs.add(edges.command(r, source, at)[0])
            kinds.update(f"{np.size(x)} elements" for x in at.values() if np.ndim(x))
            kinds.update(word for word in ("0/0", "for ", "solve(", "k(i)", " max=! ") if word in source)
    assert verbs == {*edges.VERBS}
    assert all(kinds[k] > 4 for k in ("0 elements", "1 elements", "0/0", "for ", "solve(", "k(i)", " max=! ")), kinds


@pytest.mark.parametrize("language", ["native", "Python"])
def test_a_language_that_reads_where_no_point_is_is_noticed(language, monkeypatch):
    monkeypatch.setattr(edges.c_tensors, "DERIVATIVES", [lambda p: p])
    assert [edges.by_language(EMPTY, language, random.Random(k)) for k in range(20)] == [None] * 20
    monkeypatch.setattr(edges, "by_native", lambda p, at: None)
    monkeypatch.setattr(edges, "by_script", lambda p, at, sizes, language: None)
    assert any("refuses" in (edges.by_language(EMPTY, language, random.Random(k)) or "") for k in range(20))


def test_a_verb_that_fails_is_noticed(monkeypatch):
    failed = Answer(70, "", "adcli 0.1.0: internal error: KeyError: 'r1'", 0.0)
    monkeypatch.setattr(edges.mutations, "answer", lambda args, data: failed)
    assert "KeyError" in edges.replay(b"", ("eval", "-e", "y = 1"))
