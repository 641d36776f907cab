"""Tensors that statements write element by element have the extents of all statements; what is read is written before."""
from __future__ import annotations

import json
import re

import numpy as np
import pytest
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoint_program, tangent_program
from command import adcli
from laws import check_round_trip
from row_tables import each_row
from session_seed import part

from adcli import compile

INPUTS = "input a, x(N), A(N, M)\n"
GIVEN = {"a": 1.5, "x": [1.0, 2.0, 4.0], "A": [[1.0, 2.0], [3.0, 5.0], [7.0, 11.0]]}
RIGHT = [
    ("y(0) = a; y(1) = 2*a; y(2) = 3*a", [1.5, 3, 4.5]),
    ("y(2) = a; y(0) = y(2) + 1", [2.5, 0, 1.5]),
    ("y(0) = a; y(1) = 3*a; y(0) = 4", [4, 4.5]),
    ("(y(0), y(1)) = (a, 2*a); y(2) = y(0)*y(1)", [1.5, 3, 4.5]),
    ("y(0, m) = a*A(0, m); y(1, m) = A(1, m)", [[1.5, 3], [3, 5]]),
    ("y(0, 0) = a; y(0, 1) = -a; y(1, 0) = 2; y(1, 1) = 3", [[1.5, -1.5], [2, 3]]),
    ("y(N) = a; y(0) = 7; y(N + 1) = 8; y(i + 1) = x(i) where i in 0:N - 1", [7, 1, 2, 1.5, 8]),
    ("y(0) = a; y(i) = 2*x(i) where i in 1:N", [1.5, 4, 8]),
    ("y(i) = x(i) where i in 0:3; y(i) = 2*y(i - 1) where i in 3:4", [1, 2, 4, 8]),
    ("y(0) +=! x(i); y(1) +=! 2*x(i); y(2) max=! x(i)", [7, 14, 4]),
    ("y(0, m) +=! A(n, m); y(1, m) max=! A(n, m); y(2, m) = a", [[11, 18], [7, 11], [1.5, 1.5]]),
    ("y(0) = a; y(1) = 2; y(1) += x(i)", [1.5, 9]),
    ("y(0) = a; y(1) +=! x(i) where i in 1:N; y(1) *= 2", [1.5, 12]),
    ("y(0, 0) = a; y(0, 1) = 2; for t in 0:N { y(t+1, 0) = y(t, 1); y(t+1, 1) = y(t, 0) + x(t) }",
     [[1.5, 2], [2, 2.5], [2.5, 4], [4, 6.5]]),
    ("y(i) = x(i) where i in 0:2; for t in 2:N { y(t) = y(t-1) + y(t-2) + x(t) }", [1, 2, 7]),
    ("u = [1, 2]; y(i) = u(i); for t in 2:N + 1 { y(t) = y(t-1) + y(t-2) + x(t-1) }", [1, 2, 5, 11]),
    ("y(0) +=! x(i); y(1) +=! 2*x(i); for t in 0:N { y(t+2) = y(t) + y(t+1) }", [7, 14, 21, 35, 56]),
    ("y(0) = 1; for t in 0:N { y(t+1) = y(t)*x(t) }; y(N + 1) = 9", [1, 1, 2, 8, 9]),
    ("y(0) = a; y(n + 1) = 2*x(n)", [1.5, 2, 4, 8]),
    ("y(n) = x(n); y(N) = a", [1, 2, 4, 1.5]),
    ("y(2*n) = x(n); y(2*n + 1) = -x(n)", [1, -1, 2, -2, 4, -4]),
    ("v(0) = 0; for t in 0:N { y(t, m) = x(t)*A(t, m); y(t, M) = v(t); v(t + 1) = y(t, 1) + v(t) }",
     [[1, 2, 0], [6, 10, 2], [28, 44, 12]]),
]
APART = [
    ("y(i) = x(i); y(i) = 2*y(i - 1) where i in 2:3", [1, 2, 4]),
    ("y(i) = x(i); y(i) = 2*y(i + 1) where i >= 1, i < 2", [1, 8, 4]),
    ("y(i) = x(i) where i in 0:3; y(i) = y(i - 3) + a where i in 3:6", [1, 2, 4, 2.5, 3.5, 5.5]),
    ("y(n, m) = A(n, m); y(n, m) = y(n - 1, m) where n in 2:3", [[1, 2], [3, 5], [3, 5]]),
    ("y(n, m) = A(n, m); y(n, m) = y(n, m - 1) where m in 1:2", [[1, 1], [3, 3], [7, 7]]),
    ("y(i) = x(floor(i / 2)) where i in 0:4; y(2*i) = 10*y(2*i + 1) where i in 0:2", [10, 1, 20, 2]),
    ("y(i) = x(i); y(2) +=! y(i)*a where i in 0:2, float(3) y", [0, 0, 4.5])]


@each_row(("text", "want"), RIGHT + APART)
def test_extents_and_values_are_those_of_all_statements(text, want):
    program = parse(f"{INPUTS}{text}\noutput y")
    given = {p.name: np.array(GIVEN[p.name]) if p.var.shape else GIVEN[p.name] for p in program.params}
    assert np.asarray(evaluate(program, given, FLOAT)["y"], float).tolist() == np.array(want, float).tolist()
    assert compile(f"{INPUTS}{text}\noutput y")(**given)["y"].tolist() == np.array(want, float).tolist()
    for each in (program, tangent_program(program), adjoint_program(program)):
        check_round_trip(each)
    assert not [n for n in program.notes if "never used" in n.message]


@each_row("text", part([t for t, _ in RIGHT + APART], 4))
def test_check_finds_nothing_wrong_with_the_derivatives(text):
    names = [p.name for p in parse(f"{INPUTS}{text}\noutput y").params]
    at = ",".join(f"{n}={json.dumps(GIVEN[n]).replace(' ', '')}" for n in names)
    ended = adcli("check", "-e", f"{INPUTS}{text}\noutput y", "--at", at)
    assert ended.code == 0, ended.out


def test_a_loop_beyond_its_tensor_is_told_where_that_is_made_longer():
    text = "input r0(K), x(N)\nr(q) = r0(q){}\nfor p in 2:N+1 {{ r(p) = r(p-1) + r(p-2) + x(p-2) }}\noutput r"
    at = {"r0": np.array([1.0, 2.0]), "x": np.array([1.0, 2.0, 3.0])}
    with pytest.raises(AdError) as raised:
        compile(text.format(""))(**at)
    said = "declare a larger one there: where float(max(K, N + 1)) r"
    assert (raised.value.help or "").endswith(said)
    mended = text.format(" where float(max(K, N + 1)) r")
    assert compile(mended)(**at)["r"].tolist() == [1, 2, 4, 8]


def test_a_step_beyond_what_is_read_is_told_in_the_header():
    with pytest.raises(AdError) as raised:
        compile("input x(N), int32 T\nh(0) = 1\nfor t in 0:T { h(t+1) = h(t)*x(t) }\noutput h")(x=np.ones(2), T=4)
    assert raised.value.help == "with t from 0 to 3; write for t in 0:N"


BROKEN = ["def f(x) = x*y\ninput x(N)\nv(i) = f(x(i))", "def f(x) = x*y\ninput x(N)\nh(0) = 1\nfor t in 0:N { h(t+1) = f(h(t)) }"]
BROKEN += [f"def f(float(N) x) -> (y) {{ y(i) = y*x(i) }}\n{text}" for text in (
    "input x(N)\nv(i) = 2*f(x)", "input x(N)\nv = 2*f(x)\nw = v + 1", "input x(N)\nv = f(x)\nz(i) = v(i)",
    "def g(float(N) x) -> (y) { y(i) = f(x)*x(i) }\ninput x(N)\nv = g(x)",
    "input x(N), A(N, N)\nv = solve(A, f(x))\nw = logdet(A)*f(x)",
    "input x(N)\nh(0) = 1\nfor t in 0:N { h(t+1) = h(t)*f(x) }")]


@each_row("text", BROKEN)
def test_a_function_with_a_fault_is_no_further_fault_where_it_is_called(text):
    with pytest.raises(AdError) as raised:
        parse(text)
    assert raised.value.line == 1 and not raised.value.more, str(raised.value)


@pytest.mark.parametrize(("value", "said"), [
    ("1 + f(x)", "'f(x)' is a tensor, and 'h' has no dimensions after 2"),
    ("x(i)*f(h(t))", "'f(h(t))' is a tensor, and 'h' has no dimensions after 2")])
def test_an_element_is_no_slice_that_a_function_gives(value, said):
    text = "def f(float(N) x) -> (y) {{ y(i) = 2*x(i) }}\ninput x(N), int32 T\nh(0, i) = x(i)\nfor t in 0:T {{ h(t+1, i) = {} }}"
    with pytest.raises(AdError, match=re.escape(said)):
        parse(text.format(value))


def test_a_loop_beyond_the_shape_of_a_first_statement_is_told_a_larger_one():
    text = "input u(N), int32 T\nw(0, i) = u(2*i - i){}\nfor t in 0:T {{ w(t+1, i+1) = w(t, i) where i in 0:N }}\noutput w"
    with pytest.raises(AdError) as raised:
        parse(text.format(""))
    said = raised.value.help or ""
    assert said.endswith("declare a larger one there: where float(T + 1, N + 1) w")
    assert compile(text.format(" " + said[said.index("where"):]))(u=np.ones(2), T=2)["w"].shape == (3, 3)
