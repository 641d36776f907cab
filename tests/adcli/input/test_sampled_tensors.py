"""Points of programs with tensors that are drawn: sizes that fit, subscripts inside, the same for the same seed."""
from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse

from adcli.input.sampled_tensors import draw

FITTING = {
    "extents that agree": "input W(B, P), x(X)\nh(i) = x(i) + x(i + 2)\ny(b) +=! W(b, p) * h(p)",
    "a stencil": "input x(N)\ny(i) = x(i) + x(i + 5)",
    "a gather": "input A(K, N)\nparam int32 k(M)\ny(m) +=! A(k(m), n)",
    "a size that is an input": "input x\nparam int32 n\ns +=! x**i where i in 0:n",
    "a range": "input x(N) in [2, 3]\ny(i) = log(x(i) - 1)",
}


@pytest.mark.parametrize("text", FITTING.values(), ids=FITTING)
def test_drawn_points_fit(text: str) -> None:
    program = parse(text)
    for at in islice(draw(program, 3), 6):
        found = evaluate(program, at, numpy_arithmetic())
        assert all(np.isfinite(found[r.name]).all() and np.size(found[r.name]) for r in program.results)
    first, again, other = (next(draw(program, seed)) for seed in (3, 3, 4))
    assert str(first) == str(again) != str(other)


def test_square_matrices_are_sometimes_positive_definite() -> None:
    program = parse("input A(N, N)\nL = cholesky(A)\ny +=! L(i, i)")
    found = [evaluate(program, at, numpy_arithmetic())["y"] for at in islice(draw(program, 0), 20)]
    assert np.isfinite(found).sum() > 3


def test_sizes_that_no_program_fits_are_said() -> None:
    with pytest.raises(AdError, match="no small sizes"):
        next(draw(parse("input x(N)\ny(i) = x(i) + x(i + 50)"), 0))
