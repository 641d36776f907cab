"""Tensors that are written out, element by element."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.lang.evaluate import evaluate
from adcli.lang.ir.check import check
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.syntax.format import format_tree
from adcli.lang.syntax.parse import parse_tree
from adcli.lang.syntax.source import normal
from session_seed import drawn
from source_laws import check_source
from tensor_laws import NUMPY, direction

KERNEL = "input u(N), a\nk = [1, -2, a]\nR = [[a, 0], [sin(a), 1]]\nd(i) +=! u(i + j) * k(j)\nv(i, n) = d(i)**2 * R(n, 0)"


def test_lists_are_tensors_of_their_elements_in_every_law() -> None:
    r = drawn("lists")

    def reference(u: np.ndarray, a: float) -> np.ndarray:
        d = u[:-2] - 2*u[1:-1] + a*u[2:]
        return d[:, None]**2 * np.array([a, np.sin(a)])
    check_source(KERNEL, {"u": direction(r, (6,)), "a": 0.75}, reference, r)


def test_lists_nest_and_stay_as_they_are_written() -> None:
    text = "k = [[[1, 2], [3, 4]], [[5, 6], [7, -8.5]]]\n"
    assert evaluate(check(parse(f"{text}output k")), {}, NUMPY)["k"].tolist() == [[[1, 2], [3, 4]], [[5, 6], [7, -8.5]]]
    whole = parse("input x(N)\nint32 rows = [2, 0]\ny(i) = x(rows(i))")
    assert evaluate(check(whole), {"x": np.arange(3.0)}, NUMPY)["y"].tolist() == [2, 0]
    inside = parse("def f(float(N) x) -> (y) { k = [1, 2]; y(i) +=! x(i + j) * k(j) }\n")
    assert evaluate(check(inside), {"x": np.arange(3.0)}, NUMPY)["y"].tolist() == [2, 5]
    names = parse("i = 2*x\nj = 3\nk = [i, j]\nv = k(0) + k(1)")
    assert evaluate(check(names), {"x": 2.0}, NUMPY)["v"] == 7


@pytest.mark.parametrize(("text", "said"), [
    ("k = [1, [2, 3]]", "a row among numbers"), ("k = [[1, 2], [3]]", "rows of 1 element and 2 elements"),
    ("v = sin([1, 2])", "a list of elements is a statement of its own"), ("(a, b) = [1, 2]", "a statement of its own"),
    ("for t in 0:3 { h(t) = [1, 2] }", "a statement of its own"), ("k = []", "an expression is missing"),
    ("int32 k = [0, 2.5]", "'k' holds whole numbers"), (f"k = [{', '.join('1' * 300)}]", "at most 256 elements"),
])
def test_what_is_no_tensor_is_said(text: str, said: str) -> None:
    with pytest.raises(AdError, match=said):
        parse(text)


def test_the_formatter_keeps_lists() -> None:
    assert format_tree(parse_tree(normal("k=[1,-2 ,\n  1]\nR = [[a,0],[ 1,2]]", "t"))) == "k = [1, -2, 1]\nR = [[a, 0], [1, 2]]\n"
