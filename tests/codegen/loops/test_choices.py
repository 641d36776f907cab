"""Functions of a library that only an arm of a choice needs are called where some number takes that arm."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from adcli.codegen.machine import veclib
from adcli.codegen.modules.module import emit
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.lower.frontend import parse
from session_seed import drawn

SIGNS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "both": lambda x: x, "none": np.abs, "all": lambda x: -np.abs(x), "a few": lambda x: np.where(x < 2, np.abs(x), np.nan)}


@pytest.mark.parametrize("text", [
    "q(i, j) = x(i, j) < 0 ? log(-x(i, j)) + exp(x(i, j)) / y(i) : x(i, j)",
    "q(i, j) = x(i, j) < 0 ? (x(j, i) < 0 ? exp(y(j)) : sin(x(i, j)) * y(j)) : log(x(i, j) / y(i))",
    "q(i) +=! x(i, j) < 0 ? exp(x(i, j)) : x(i, j)*(x(i, j) > 1 ? log(x(i, j)) : 2 + y(j))",
    "q(i, j) = y(i) < 0 ? exp(x(i, j)) : y(j) < 0 ? sin(x(i, j)) : 1",
    "p(i) = y(i) < 0 ? exp(y(i)) : log(y(i)); q(i) = y(i) < 0 ? p(i)*exp(y(i)) : cos(p(i))"])
def test_bits_are_those_of_both_arms(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = parse(f"input x(N, N), y(N)\n{text}\noutput q")
    rng = np.random.default_rng(drawn(text).randrange(1 << 32))
    x, y = rng.standard_normal((37, 37)), rng.standard_normal(37)
    called = compile_tensors(program)
    monkeypatch.setattr("adcli.codegen.loops.bodies.arms", lambda body: {})
    whole = compile_tensors(program)
    for signed in SIGNS.values():
        given = {"x": signed(x), "y": signed(y)}
        got, wanted = (kernel(dict(given))["q"] for kernel in (called, whole))
        assert np.array_equal(got, wanted, equal_nan=True)


def test_where_it_is_done() -> None:
    """In loops over registers, for what the library has."""
    def branches(value: str, lanes: int = 4) -> int:
        return emit(parse(f"input x(N)\nq(i) = {value}\noutput q"), lanes, veclib.host()).text.count("either.")
    assert branches("x(i) < 0 ? exp(x(i)) : x(i)") > 0
    assert branches("x(i) < 0 ? x(i)*x(i) : x(i)") == branches("(x(i) < 0 ? exp(x(i)) : x(i)) + exp(x(i))") == 0
    assert branches("x(i) < 0 ? exp(x(i)) : x(i)", 1) == 0
