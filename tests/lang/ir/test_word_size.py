"""Whole numbers of 64 bits: what would not fit is refused before it is computed."""
from __future__ import annotations

import guarded_arrays
import numpy as np
import pytest
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.evaluate import evaluate
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from tensor_laws import NUMPY

HUGE = 9007199254740000


@pytest.mark.parametrize("line", [
    f"y(i, j) = x(i + j) * s(j) where i in 0:M, j in 0:M, {HUGE}*i + {HUGE}*j <= {HUGE}*N - {HUGE}",
    f"y +=! x(i + j) * s(j) where i in 0:M, j in 0:M, {HUGE}*i + {HUGE}*j <= {HUGE}*N - {HUGE}",
    f"y(i + j) +=! x(i + j) * s(j) where i in 0:M, j in 0:M, {HUGE}*i + {HUGE}*j <= {HUGE}*N - {HUGE}, float(N) y",
    f"y +=! x(j) where j in 0:-{HUGE}*M", f"y +=! x(j) where j in 0:{HUGE}*M, j < N",
    "y +=! x(j) where j in 0:M*M*M*M*M*M*M, j < N"])
def test_numbers_that_would_overflow_are_refused(line: str) -> None:
    """A guard whose value wraps around would let points pass that the proof has excluded."""
    program = parse(f"input x(N), s(M)\n{line}\n")
    kernel = compile_tensors(program, allocate=guarded_arrays.guarded)
    at = {"x": guarded_arrays.like(np.ones(10)), "s": guarded_arrays.like(np.ones(3000))}
    for run in (lambda: kernel(at), lambda: evaluate(program, at, NUMPY)):
        with pytest.raises(AdError, match="are too large: whole numbers have 64 bits"):
            run()


def test_numbers_just_small_enough_are_not() -> None:
    c = 10**12
    program = parse(f"input x(N), s(M)\ny +=! x(i + j) * s(j) where i in 0:M, j in 0:M, {c}*i + {c}*j <= {c}*N - {c}\n")
    assert compile_tensors(program)({"x": np.ones(10), "s": np.ones(3000)})["y"] == 55
