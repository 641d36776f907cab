"""Reads that conditions keep inside of their tensors: by places, by values, by both; and what is said where they do not."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from adcli.lang.evaluate import evaluate
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoint_program
from adcli.lang.printing.printer import print_program
from command import adcli
from row_tables import each_row
from session_seed import half
from tensor_laws import NUMPY
from well_formed import check

X, K, G = [2.0, 3.0, 5.0, 7.0], [-1.0, 1.0, 0.0, 2.0], [-1, 2, 0, 4]
AT = {"x": np.array(X), "k": np.array(K), "g": np.array(G)}
Element = Callable[[int], float]

GUARDED: list[tuple[str, Element]] = [
    ("i % 2 == 1 ? x(i - 1) : x(i)", lambda i: X[i - 1] if i % 2 == 1 else X[i]),
    ("i % 2 == 0 ? -x(i + 1) : x(i - 1)", lambda i: -X[i + 1] if i % 2 == 0 else X[i - 1]),
    ("i % 3 != 0 ? x(i - 1) : x(i)", lambda i: X[i - 1] if i % 3 else X[i]),
    ("(i + 1) % 2 == 0 ? x(i - 1) : x(i)", lambda i: X[i - 1] if i % 2 else X[i]),
    ("i*i > 0 ? x(i - 1) : x(i)", lambda i: X[i - 1] if i else X[i]),
    ("i*(N - 1 - i) > 0 ? x(i - 1) + x(i + 1) : x(i)", lambda i: X[i - 1] + X[i + 1] if 0 < i < 3 else X[i]),
    ("(2*i + 1) % 3 == 0 ? x(2*i) : x(i)", lambda i: X[2 * i] if i == 1 else X[i]),
    ("N - i != 4 ? x(i - 1) : x(i) where i in 0:N", lambda i: X[i - 1] if i else X[i]),
    ("floor(i/2) > 0 ? x(i - 2) : x(i)", lambda i: X[i - 2] if i > 1 else X[i]),
    ("sqrt(i) >= 1 ? x(i - 1) : x(i)", lambda i: X[i - 1] if i else X[i]),
    ("k(i) > 0 ? x(i - 1) : x(i)", lambda i: X[i - 1] if K[i] > 0 else X[i]),
    ("!(k(i) <= 0) && i > 0 ? x(i - 1) : x(i)", lambda i: X[i - 1] if K[i] > 0 else X[i]),
    ("k(i) <= 0 || i % 4 == 0 ? x(i) : x(i - 1)", lambda i: X[i - 1] if K[i] > 0 else X[i]),
    ("k(i) > 0 ? (i % 2 == 1 ? x(i - 1) : 1) : i == 0 ? x(i + 1) : x(i - 1)",
     lambda i: (X[i - 1] if i % 2 else 1.0) if K[i] > 0 else X[i + 1] if i == 0 else X[i - 1]),
    ("k(i) > 0 ? x(i - 1)*x(i - 1) : k(i) < 0 ? x(i + 3) : x(i - 2)",
     lambda i: X[i - 1] ** 2 if K[i] > 0 else X[i + 3] if K[i] < 0 else X[i - 2]),
    ("i > 0 && x(i - 1) > 2.5 ? x(i) : 0", lambda i: X[i] * (i > 0 and X[i - 1] > 2.5)),
    ("i == 0 || x(i - 1) > 2.5 ? x(i) : 0", lambda i: X[i] * (i == 0 or X[i - 1] > 2.5)),
    ("k(i) > 0 && x(i - 1) > 2.5 ? x(i - 1) : 0", lambda i: X[i - 1] if K[i] > 0 and X[i - 1] > 2.5 else 0.0),
    ("g(i) >= 0 && g(i) < N ? x(g(i)) : 0", lambda i: X[G[i]] if 0 <= G[i] < 4 else 0.0),
    ("g(i) > 0 && g(i) % 2 == 0 ? x(g(i) - 1) : x(i)", lambda i: X[G[i] - 1] if G[i] > 0 and G[i] % 2 == 0 else X[i]),
    ("c ? x(i - 1) : x(i) where c = k(i) > 0", lambda i: X[i - 1] if K[i] > 0 else X[i]),
    ("c ? x(i - 1) : x(i) where c = i % 2 == 1", lambda i: X[i - 1] if i % 2 else X[i]),
    ("k(i) > 0 ? x(max(i, 1) - 1) : x(min(i, N - 1))", lambda i: X[i - 1] if K[i] > 0 else X[i]),
    ("k(i) > 0 ? x(i - 1) : x(i) where i % 2 == 1", lambda i: (X[i - 1] if K[i] > 0 else X[i]) if i % 2 else 0.0),
]


def program_of(value: str, output: str = "y(i) =") -> str:
    return f"input x(N), k(N), int32 g(N)\n{output} {value}\n"


@each_row(("value", "element"), half(GUARDED))
def test_a_read_is_done_only_where_its_conditions_hold(value: str, element: Element) -> None:
    """In the evaluator, in native code, in a sum, in both modes; and in texts that are read back."""
    expected = [element(i) for i in range(4)]
    program = check(parse(program_of(value)))
    np.testing.assert_array_equal(evaluate(program, AT, NUMPY)["y"], expected)
    total = check(parse(program_of(value, "s +=!")))
    assert evaluate(total, AT, NUMPY)["s"] == sum(expected)
    at = f"x={X},k={K},g={G}".replace(" ", "")
    answer = adcli("grad", "-e", program_of(value, "s +=!"), "--at", at, "--wrt", "x", "--mode", "reverse")
    forward = adcli("grad", "-e", program_of(value, "s +=!"), "--at", at, "--wrt", "x", "--mode", "forward")
    assert answer.out == forward.out
    assert answer.out.startswith(f"s = {sum(expected)}\n")
    for one in (program, adjoint_program(total)):
        assert print_program(again := check(parse(print_program(one)))) == print_program(one)
        assert print_program(check(parse(print_program(again)))) == print_program(one)


@pytest.mark.parametrize(("value", "said"), [
    ("k(i) < 0 ? x(i - 1) : x(i)", "= -1 is out of range for dimension 0 of 'x', which has 4 elements"),
    ("k(i) > 1 ? x(i + 1) : x(i)", "= 4 is out of range for dimension 0 of 'x', which has 4 elements"),
    ("i*i < 4 ? x(i - 1) : x(i)", "= -1 is out of range for dimension 0 of 'x', which has 4 elements"),
    ("g(i) < 5 ? x(g(i)) : x(i)", "= -1 is out of range for dimension 0 of 'x', which has 4 elements"),
    ("i % 2 == 0 ? x(i - 1) : x(i)", "subscript i - 1 of dimension 0 of 'x' is -1 at i = 0, and the extent there is 4"),
])
def test_what_no_condition_keeps_inside_is_an_error(value: str, said: str) -> None:
    """Never a read outside of a tensor, and no element that is silently left out."""
    for text in (program_of(value), program_of(value, "s +=!")):
        with pytest.raises(AdError) as fault:
            evaluate(parse(text), AT, NUMPY)
        assert said in fault.value.message
        for verb in (("eval",), ("grad", "--mode", "forward"), ("grad", "--mode", "reverse")):
            if verb == ("eval",) or "s +=!" in text:
                ended = adcli(*verb, "-e", text, "--at", f"x={X},k={K},g={G}".replace(" ", ""))
                assert said in ended.err and ended.code == 2


def rotated(x: list[float], a: list[float]) -> list[float]:
    """Rotary embedding: pairs of neighbours turn by an angle."""
    return [x[i] * np.cos(a[i // 2]) + (-x[i + 1] if i % 2 == 0 else x[i - 1]) * np.sin(a[i // 2]) for i in range(len(x))]


def test_rotary_embeddings_come_out_right() -> None:
    source = """input x(D), a(H)
r(i) = i % 2 == 0 ? -x(i + 1) : x(i - 1)
y(i) = x(i)*cos(a(floor(i/2))) + r(i)*sin(a(floor(i/2))) where i in 0:D
"""
    x, a = [1.0, 2.0, -3.0, 0.5], [0.3, 1.1]
    found = evaluate(check(parse(source)), {"x": np.array(x), "a": np.array(a)}, NUMPY)["y"]
    np.testing.assert_allclose(found, rotated(x, a), rtol=1e-15)
    assert not parse(source).notes
    step: Any = 1e-6
    adjoint = evaluate(adjoint_program(parse(source)), {"x": np.array(x), "a": np.array(a), "d_dy": np.ones(4)}, NUMPY)
    for k in range(4):
        up, down = [sum(rotated([v + s * (j == k) for j, v in enumerate(x)], a)) for s in (step, -step)]
        assert adjoint["d_dx"][k] == pytest.approx((up - down) / (2 * step), abs=1e-8)


@each_row(("statement", "said"), [
    ("y(i) = x(i - 1)", "'y' stays 0 below 1"), ("y(i) = x(i + 1) - x(i - 2)", "'y' stays 0 below 2"),
    ("y(i) max=! x(i - 1)*k(j)", "'y' stays -inf below 1"), ("y(i) = x(i + 1) where float(N) y", "'y' stays 0 from N - 1 on"),
    ("y(i) = x(i - 1) where i in 1:N", ""), ("y(i) = x(i - 1) where i >= 1", ""), ("y(i) = x(i + 1)", ""),
    ("y(i) = x(i - 1)\ny(0) = 5", ""), ("y(2*i) = x(i)", ""),
])
def test_elements_that_an_inferred_range_leaves_out_are_told(statement: str, said: str) -> None:
    notes = [n.message for n in parse(f"input x(N), k(M)\n{statement}").notes if "stays" in n.message]
    assert [n.partition(" in dimension")[0] for n in notes] == [said] * bool(said)


@pytest.mark.parametrize(("loop", "expected"), [
    ("h(t + 1) = t % 2 == 1 ? h(t - 1) : h(t) + x(t)", [1, 3, 1, 6, 1]),
    ("h(t + 1) = t % 3 != 0 ? x(t - 1) : h(t) + x(t)", [1, 3, 2, 3, 10]),
    ("h(t + 1) = k(t) > 0 ? h(t) + x(t - 1) : h(t)", [1, 1, 3, 3, 8]),
    ("h(t + 1) = t*t > 3 ? h(t)*x(t - 2) : h(t)", [1, 1, 1, 2, 6]),
])
def test_reads_in_loops_are_done_only_where_their_conditions_hold(loop: str, expected: list[float]) -> None:
    source = f"input x(N), k(N), int32 T\nh(0) = 1\nfor t in 0:T {{ {loop} }}\ns +=! h(t)\noutput h, s"
    found = evaluate(check(parse(source)), {"x": AT["x"], "k": AT["k"], "T": 4}, NUMPY)
    np.testing.assert_array_equal(found["h"], expected)
    answers = [adcli("grad", "-e", source, "--at", f"x={X},k={K},T=4".replace(" ", ""), "--of", "s", "--wrt", "x", "--mode", mode)
               for mode in ("forward", "reverse")]
    assert answers[0].out == answers[1].out
    assert answers[0].code == 0


def test_a_condition_on_what_a_loop_assigns_keeps_no_read_inside() -> None:
    """It is refused with what helps: there is nothing ahead of the loop that could be looked at."""
    source = "input x(N), int32 T\nh(0) = 1\nfor t in 0:T { h(t + 1) = h(t) > 2 ? x(t - 1) : h(t) + x(t) }\n"
    with pytest.raises(AdError, match="subscript t - 1 of x goes down to -1") as fault:
        parse(source)
    assert fault.value.help and fault.value.help.endswith("by max or min, as in x(max(t - 1, 0))")
    inside = source.replace("x(t - 1)", "x(max(t - 1, 0))")
    assert evaluate(parse(inside), {"x": AT["x"], "T": 4}, NUMPY)["h"].tolist() == [1, 3, 2, 7, 5]
