"""The comparison of models with JAX: that both sides compute the same numbers; how fast they are is no matter for a test."""
from __future__ import annotations

import numpy as np
import pytest

import adcli

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("name", ["solve 2 in loops", "logdet 4 in batches", "segment sums"])
def test_both_sides_agree(name):
    bench = pytest.importorskip("bench_models")
    row = bench.ROWS[name]
    (line, agree), = bench.measured(name, row, row.least, 0, ("gradient",))
    assert agree < 1e-12
    ours, theirs, ratio, _ = map(float, line.split()[-4:])
    assert ratio == pytest.approx(ours / theirs, abs=0.01, rel=0.1)


def test_every_model_is_a_program_of_what_is_drawn():
    bench = pytest.importorskip("bench_models")
    for row in {row.text: row for row in bench.ROWS.values()}.values():
        f = adcli.compile(row.text)
        assert set(f.inputs) == set(row.draw(np.random.default_rng(0), row.least)) and set(row.wrt) <= set(f.inputs)
