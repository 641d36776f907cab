"""What is offered for a sum over an index that only the right side has means what the statement means (Einstein's convention)."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from adcli.lang.evaluate import evaluate
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from row_tables import each_row
from tensor_laws import NUMPY


@pytest.mark.parametrize("value, offered", [
    ("sum(x(i) for i in range(N))", "v +=! x(i) where i in 0:N"),
    ("2*sum(x(i) for i in range(N))", "s +=! x(i) where i in 0:N; v = 2*s"),
    ("sum(x(i) for i in range(N)) + 1", "s +=! x(i) where i in 0:N; v = s + 1")])
def test_a_reduction_of_another_language_is_a_statement_of_its_own(value: str, offered: str) -> None:
    text = f"input x(N)\nv = {value}"
    with pytest.raises(AdError) as caught:
        parse(text)
    assert caught.value.help == f"write {offered}"
    assert caught.value.fix is not None and caught.value.fix.applied(text) == f"input x(N)\n{offered}"


N = 3
r = np.random.default_rng(1)
POINT = {"W": r.uniform(0.1, 0.9, (N, N)), "V": r.uniform(0.1, 0.9, (N, N)), "x": r.uniform(0.2, 1, N), "y": r.uniform(0.2, 1, N),
         "b": r.uniform(0.5, 1, N)}
DECLARED = "input W(N, N), V(N, N), x(N), y(N), b(N)\n"

CERTAIN: list[tuple[str, Callable[..., Any]]] = [
    ("h(j) = W(j, i)*x(i)", lambda W, V, x, y, b: W @ x), ("h(j) = 2*W(j, i)*x(i)/b(j)", lambda W, V, x, y, b: 2 * W @ x / b),
    ("h(j) = -W(j, i)*x(i)", lambda W, V, x, y, b: -W @ x), ("h(j) = (x(i) + 1)*W(j, i)", lambda W, V, x, y, b: W @ (x + 1)),
    ("h(j) = tanh(W(j, i)*x(i))", lambda W, V, x, y, b: np.tanh(W @ x)),
    ("h(j) = tanh(W(j, i)*x(i) + b(j))", lambda W, V, x, y, b: np.tanh(W @ x + b)),
    ("h(j) = W(j, i)*x(i) + b(j)", lambda W, V, x, y, b: W @ x + b), ("h(j) = 1 - W(j, i)*x(i)", lambda W, V, x, y, b: 1 - W @ x),
    ("h(j) = b(j) - W(j, i)*x(i) - V(j, k)*y(k)", lambda W, V, x, y, b: b - W @ x - V @ y),
    ("h(j) = W(j, i)*x(i) + V(j, i)*y(i)", lambda W, V, x, y, b: W @ x + V @ y),
    ("h(j) = b(j)/(W(j, i)*x(i))", lambda W, V, x, y, b: b / (W @ x)), ("h(j) = (W(j, i)*x(i))**2",
     lambda W, V, x, y, b: (W @ x)**2),
    ("h(j) = 2**(W(j, i)*x(i))", lambda W, V, x, y, b: 2**(W @ x)), ("h(j) = exp(-W(j, i)*x(i))",
     lambda W, V, x, y, b: np.exp(-W @ x)),
    ("h(j) = max(W(j, i)*x(i), 0.8)", lambda W, V, x, y, b: np.maximum(W @ x, 0.8)),
    ("h(j) = min(b(j), W(j, i)*x(i))", lambda W, V, x, y, b: np.minimum(b, W @ x)),
    ("h(j) = W(j, i)*x(i) > 0.8 ? b(j) : 0", lambda W, V, x, y, b: np.where(W @ x > 0.8, b, 0)),
    ("h(j) = b(j)*sqrt(exp(W(j, i)*x(i)))", lambda W, V, x, y, b: b * np.sqrt(np.exp(W @ x))),
    ("h(k) = V(k, j)*tanh(W(j, i)*x(i))", lambda W, V, x, y, b: V @ np.tanh(W @ x)),
    ("h(k) = tanh(V(k, j)*tanh(W(j, i)*x(i) + b(j)) + b(k))", lambda W, V, x, y, b: np.tanh(V @ np.tanh(W @ x + b) + b)),
    ("h(j) = x(i)*tanh(W(j, i)*y(i))", lambda W, V, x, y, b: np.tanh(W * y) @ x),
    ("h = x(i)*W(i, j)*y(j)", lambda W, V, x, y, b: x @ W @ y), ("h = 3 + x(i)*y(i)", lambda W, V, x, y, b: 3 + x @ y),
    ("h = sqrt(x(i)*x(i))", lambda W, V, x, y, b: np.sqrt(x @ x)), ("h = x(i)*y(i)/(x(k)*x(k))",
     lambda W, V, x, y, b: x @ y / (x @ x)),
    ("h(j) = tanh(W(j, i)*x(i)) where i in 0:2", lambda W, V, x, y, b: np.tanh(W[:, :2] @ x[:2])),
    ("h(0, j) = x(j); for t in 0:2 { h(t + 1, j) = tanh(W(j, i)*h(t, i) + b(j)) }",
     lambda W, V, x, y, b: np.array([x, h := np.tanh(W @ x + b), np.tanh(W @ h + b)])),
]
GUESSED = [
    ("h(j) = exp(W(j, i))", "h(j) +=! exp(W(j, i))"), ("h = x(i)**2", "h +=! x(i)**2"),
    ("h(i) = sqrt((x(i) - y(j))**2)", "h(i) +=! sqrt((x(i) - y(j))**2)"),
    ("h = b(0) + exp(x(i))", "a +=! exp(x(i)); h = b(0) + a"),
    ("h = tanh(W(j, i)*x(i))", "a(j) +=! W(j, i)*x(i); h +=! tanh(a(j))"),
    ("h = max(x(i), y(i))", "h +=! max(x(i), y(i))"),
]


@each_row(("text", "value"), CERTAIN)
def test_what_is_offered_is_the_contraction(text: str, value: Callable[..., Any]) -> None:
    with pytest.raises(AdError) as fault:
        parse(DECLARED + text)
    assert fault.value.fix is not None and fault.value.fix.certain, str(fault.value)
    program = parse(fault.value.fix.applied(DECLARED + text))
    found = evaluate(program, {p.name: POINT[p.name] for p in program.params}, NUMPY)["h"]
    np.testing.assert_allclose(found, value(**POINT), rtol=1e-13)


@pytest.mark.parametrize(("text", "guess"), GUESSED, ids=[text for text, _ in GUESSED])
def test_where_no_product_says_what_is_summed_it_is_a_guess(text: str, guess: str) -> None:
    with pytest.raises(AdError) as fault:
        parse(DECLARED + text)
    assert fault.value.fix is not None and fault.value.fix.text == guess and not fault.value.fix.certain
    assert (fault.value.help or "").startswith(f"write {guess}, or with *=!")
    parse(DECLARED + guess)


def test_a_formula_with_its_argument_is_told_as_a_function() -> None:
    with pytest.raises(AdError) as fault:
        parse("f(x) = x^2")
    assert fault.value.message == "f(x) = ... defines a vector f with index x"
    assert fault.value.help == "write def f(x) = x^2; v = f(x)"
