"""The part of native code tries every kind, and notices a machine that is wrong."""
from __future__ import annotations

import laws
import native
import pytest


@pytest.mark.parametrize("kind", native.ATTEMPTS)
def test_each_kind_looks_at_operations(kind, monkeypatch):
    monkeypatch.setattr(native, "POINTS", 40)
    seeds = ["1", "2"]
    assert [native.replay(b"", (kind, seed)) for seed in seeds] == [None] * 2
    assert sum(native.ATTEMPTS[kind](native.random.Random(int(seed))) for seed in seeds) > 0


def test_a_wrong_operation_is_noticed(monkeypatch):
    right = laws.native
    monkeypatch.setattr(native, "POINTS", 40)
    monkeypatch.setattr(laws, "native", lambda program, points: [[x + 1.0 for x in column] for column in right(program, points)])
    for kind in ("row of the table", "program"):
        assert "AssertionError in check_operations" in native.replay(b"", (kind, "1"))


def test_a_row_that_depends_on_others_is_noticed(monkeypatch):
    call = native.Function.__call__

    def shifted(self, at, **more):
        found = call(self, at, **more)
        alone = all(isinstance(x, float) for x in at.values())
        return found if alone else {n: native.np.asarray(x) * 2 + 1 for n, x in found.items()}
    monkeypatch.setattr(native.Function, "__call__", shifted)
    assert "AssertionError in rows: a row among others" in native.replay(b"", ("rows", "1"))


def test_columns_are_at_every_alignment_and_have_their_values():
    columns = [native.column(native.random.Random(i), 9) for i in range(1000)]
    assert {c.ctypes.data % 64 for c in columns} >= set(range(0, 64, 8)) and any(c.ctypes.data % 8 for c in columns)
    assert {c.strides[0] for c in columns} >= {-8, 8, 16, 40}
