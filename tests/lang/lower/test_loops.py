"""What loops mean: the recurrence that a text becomes, and the text that it becomes again."""
from __future__ import annotations

import re

import numpy as np
import pytest
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Program, Var
from adcli.lang.ir.affine import text
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.recurrence import Recurrence, step_place
from adcli.lang.passes.pipeline import adjoints, tangents
from adcli.lang.printing.printer import STYLES, print_program
from random_loops import plain, random_loop
from row_tables import each_row
from same_programs import equal
from session_seed import drawn
from well_formed import check

import adcli

NET = """input h0(N), W(N, N), x(T, N)
h(0, n) = h0(n)
for t in 0:T {
    z(t, n) +=! W(n, m) * h(t, m)
    h(t + 1, n) = tanh(z(t, n) + x(t, n))
}
output h
"""
ADJOINT = """input h(T + 1, N), W(N, N), d_dh(T + 1, N)
seen = d_dh
for t in 0:T down {
    u(t, n) = seen(t + 1, n) * (1 - h(t + 1, n)**2)
    seen(t, m) += W(n, m) * u(t, n)
}
d_dW(n, m) +=! u(t, n) * h(t, m)
d_dh0(n) = seen(0, n)
output d_dW, d_dh0
"""
PRINTED = [NET, ADJOINT, """input v0, x0, k, dt, int32 T
v(0) = v0
x(0) = x0
for t in 1:T {
    a(t) = -k * x(t - 1)
    v(t) = v(t - 1) + dt * a(t)
    x(t) = x(t - 1) + dt * v(t)
}
output x
""", """def f(float(T) x, float a) -> (h, y) {
    h(0) = a
    h(1) = 2 * a
    for t in 2:T {
        h(t) = 0.5 * h(t - 1) - h(t - 2) + x(t)
    }
    y +=! h(i)
}
""", """input int32 T, a
h(T) = a
for t in 0:T down {
    h(t) = 0.5 * h(t + 1)
}
y = h(0)
output y
""", """input a, int32 K, int32 T
p(0) = a
for t in 0:K checkpoint {
    p(t + 1) = p(t) * 2
}
for t in K:T {
    p(t + 1) = p(t) * 3
}
output p
""", """input x(T, S)
f(0, s) = x(0, s) where float(T, S) f, 1 >= s
f(0, s) = 0 where s >= 2
for t in 1:T {
    f(t, s) = f(t - 1, s) + x(t, s)
}
y = f(T - 1, S - 1)
output y
""", """input x(N), int32 T
u(0, i) = x(i)
for t in 0:T {
    u(t + 1, i) = u(t, i - 1) + u(t, i + 1)
    u(t + 1, 0) = u(t, 0)
    u(t + 1, N - 1) = u(t, N - 1)
}
y(i) = u(T, i)
output y
""", """input b, c(T)
h(T + 3) = b where float(T + 4) h
for t in 2:T + 2 down {
    h(t + 1) = h(t + 2) * b
}
q = 0
for t in 1:T + 1 down {
    q(t) = c(t - 3) where t >= 3
    q(t) = cos(h(T - t + 3)) where 2 >= t
}
output h, q
""", """input x(N), int32 T
h(k, t) = x(k) where float(N, T + 1) h, 0 >= k
for t in 0:T {
    h(k, t + 1) = 2 * h(k, t)
}
y(k) = h(k, T)
output y
"""]
"""Programs as they are printed."""


def loops(program: Program) -> list[Recurrence]:
    return [e.op for e in program.equations if isinstance(e.op, Recurrence)]


def shapes(program: Program) -> dict[str, tuple[str, ...]]:
    return {r.name: tuple(map(text, r.atom.shape)) for r in program.results if isinstance(r.atom, Var)}


@each_row("printed", PRINTED)
def test_a_loop_is_printed_as_it_is_written(printed):
    program = parse(printed)
    assert print_program(program) == printed
    for style in STYLES:
        assert print_program(parse(print_program(program, style)), style) == print_program(program, style)


def test_the_statements_of_a_loop_have_the_step_first_and_histories_start_from_what_was_there():
    program = parse(NET)
    (op,), (start, loop) = loops(program), program.equations
    assert [v.name for v in op.histories] == ["z", "h"] and [v.name for v in op.constants] == ["W", "x"]
    assert loop.args[0].value == 0 and loop.args[1] is start.outs[0]
    assert all(s.op.ranges[0].index is op.step for s in op.statements)
    assert [step_place(s.op, op.step) for s in op.statements] == [(0, 0), (0, 1)]
    assert shapes(program) == {"h": ("T + 1", "N")}


def test_words_of_a_header_are_names_elsewhere():
    program = parse("for = 2; down = 3; until = x; checkpoint = down; y = for*until + checkpoint")
    assert [r.name for r in program.results] == ["y"]
    assert shapes(parse("for t in 0:down down { until(t) = down*t }")) == {"until": ("down",)}


# ---------------------------------------------------------------- values

def newton(a: float, steps: int) -> list[float]:
    x, ended = [1.0], False
    for _ in range(steps):
        x.append(x[-1] if ended else (x[-1] + a / x[-1]) / 2)
        ended |= abs(x[-1] - x[-2]) < 1e-3
    return x


def fixed_point(a: float, steps: int) -> list[float]:
    """A loop that runs down; z is not carried, and keeps its last value."""
    x, z, ended = {steps: 1.0}, dict[int, float](), False
    for t in reversed(range(steps)):
        z[t] = z[t + 1] if ended else 2 * x[t + 1] + a
        x[t] = x[t + 1] if ended else z[t] * a
        ended |= x[t] > 10
    return [x[t] for t in range(steps + 1)] + [z[t] for t in range(steps)]


def sums(a: float, steps: int) -> list[float]:
    s, y = [a], []
    for t in range(steps):
        y.append(y[-1] if t and s[-1] > 20 else sum(s[-1] * b for b in (1.0, 0.5, 0.25)))
        s.append(s[-1] if s[-1] > 20 else y[-1] + 1)
    return s + y


def solved(a: float, steps: int) -> list[float]:
    """A loop with an operation on matrices, whose last value stays."""
    x, z = [1.0], []
    for t in range(steps):
        z.append(z[-1] if t and x[-1] > 20 else a * x[-1] / 2)
        x.append(x[-1] if x[-1] > 20 else 3 * z[-1])
    return x + z


UNTIL = [
    ("x(0) = 1\nfor t in 0:T until abs(x(t+1) - x(t)) < 1e-3 { x(t+1) = (x(t) + a/x(t))/2 }\n", ["x"], newton),
    ("x(T) = 1\nfor t in 0:T down until x(t) > 10 { z(t) = 2*x(t+1) + a\n x(t) = z(t)*a }\noutput x, z", ["x", "z"], fixed_point),
    ("b = [1, 0.5, 0.25]\ns(0) = a\nfor t in 0:T until s(t+1) > 20 { y(t) +=! s(t)*b(i); s(t+1) = y(t) + 1 }\noutput s, y",
     ["s", "y"], sums),
    ("M = [[2]]\nx(0) = 1\nfor t in 0:T until x(t+1) > 20 { c(t, i) = a*x(t) where i in 0:1\n z(t) = solve(M, c(t))\n"
     "x(t+1) = 3*z(t, 0) }\ny(t) = z(t, 0)\noutput x, y", ["x", "y"], solved),
]


@each_row(("source", "names", "expected"), UNTIL)
@each_row("steps", [0, 1, 2, 30])
def test_steps_behind_the_one_that_ends_a_loop_copy(source, names, expected, steps):
    source = source.replace("b = [1, 0.5, 0.25]\n", "input b(3), int32 T, a\n").replace("M =", "input int32 T, a\nM =")
    program = check(parse(source))
    given = {"a": 1.7, "T": steps, "b": np.array([1, 0.5, 0.25])}
    values = evaluate(program, {p.name: given[p.name] for p in program.params})
    assert [float(v) for name in names for v in values[name]] == expected(1.7, steps)


# ---------------------------------------------------------------- random loops

def test_a_loop_without_steps_keeps_the_boundary():
    program = parse("input a\nh(0) = a\nfor t in 0:0 { h(t + 1) = a * h(t) }\nv = h(0) * h(0)")
    assert parse(print_program(program)) and evaluate(gradient(program), {"a": 3.0})["dv_da"] == 6


def test_random_loops_and_their_derivatives_are_printed_as_they_are_read():
    r, ended, ran_down = drawn("loops"), 0, 0
    for _ in range(5):
        source = random_loop(r)
        program = check(parse(source))
        ended, ran_down = ended + ("until" in source), ran_down + (" down" in source)
        derived = r.choice((tangents, adjoints))(program)
        for p in (program, derived):
            for style in STYLES:
                text = print_program(p, style)
                again = check(parse(text))
                assert style == "prefix" or print_program(again, style) == text
            assert equal(p, again) or any(op.until is not None for op in loops(p))


def test_random_loops_have_the_values_of_plain_python():
    """Every statement of the text, run as Python, step by step."""
    r = drawn("loops in Python")
    for _ in range(6):
        source = random_loop(r)
        steps, size = r.randint(1, 4), r.randint(1, 3)
        rng = np.random.default_rng(r.randrange(10**6))
        given = {n: rng.uniform(0.1, 0.9, s) for n, s in (("c", steps), ("x", (steps, size)), ("W", (size, size)), ("u", size))}
        given.update(a=0.4, b=0.7)
        program = parse(source)
        want = plain(source, {**given, "T": steps, "N": size})
        got = evaluate(program, given)
        for result in program.results:
            np.testing.assert_allclose(np.asarray(got[result.name], float), want[result.name], rtol=1e-12, atol=1e-14)


AS_IT_RUNS = [   # what sizes and values decide, and the error or the value of v
    ("y(0) = 1\nfor t in 1:4 { y(t) = 0; y(t) += y(t - s) where s in 0:t }\nv = y(3)", "y(t - s) is read before the loop"),
    ("input int32 m\ny(0) = 1\nfor t in 1:4 { y(t) = t >= m ? 2*y(t - m) : 3 }\nv = y(3)", 6),
    ("input int32 m\ny(0) = 1\nfor t in 1:4 { y(t) = 2*y(t + m - 2) }\nv = y(3)", "y(t + m - 2) is read before the loop"),
    ("y(0) = 1\nfor t in 1:6 { y(t) = 2*y(floor(t/2)) }\nv = y(5)", 8),
    ("y(0) = 1\nfor t in 1:4 { y(t) = y(0) + t }\nv = y(3)", 4),
    ("input x(N)\nh(0) = 0\nfor t in 0:3 { int32 k(t) = floor(h(t)); h(t + 1) = x(k(t)) }\nv = h(3)", 3.5),
    ("input x(N)\nh(0) = 0\nfor t in 0:3 until h(t + 1) > 1 { int32 k(t) = floor(h(t)); h(t + 1) = x(k(t)) }\nv = h(3)", 1.5),
    ("input x(N)\nh(0) = 2\nfor t in 0:3 { int32 k(t) = floor(h(t)); h(t + 1) = x(k(t)) }\nv = h(3)", "k(1) = 3 is out of range"),
    ("x(0) = 8\nfor k in 0:9 until x(k + 1) - x(k) > -2 { x(k + 1) = 0.5*x(k); x(k + 1) += 1 }\nv = x(9)", 3.5),
    ("x(0) = 8\nfor k in 0:9 until x(k + 1) < 0 { x(k + 1) += 1 }\nv = x(9)", "adds only to elements that the same step assigns"),
    ("input x(N)\nint32 k(i) = i where i in 0:3\nv +=! x(k(i)) > 2 and i >= 1 ? x(k(i)) : 1", 7),
    ("input x(N)\nint32 c(0) = 0\nfor t in 0:N { int32 c(t + 1) = c(t) + (x(t) > 2 ? 1 : 0) }\nv = x(c(N))", 3.5),
]


@each_row(("source", "meant"), AS_IT_RUNS)
def test_what_a_loop_reads_is_behind_and_there_for_the_values_given(source: str, meant: str | float) -> None:
    def run() -> dict[str, float]:
        f, given = adcli.compile(source), {"x": [1.5, 2.5, 3.5], "m": 2}
        return f({name: given[name] for name in f.inputs})
    if isinstance(meant, str):
        with pytest.raises(adcli.AdError, match=re.escape(meant)):
            run()
    else:
        assert run()["v"] == meant


REDUCED = [   # a reduction with guarded reads in a loop, and what it is without one
    ("max=!", "i + k >= 1 && i + k <= N ? x(i + k - 1) : 2*x(1)", "k in 0:3"),
    ("min=!", "i + k >= 1 && i + k <= N ? x(i + k - 1) : 2*x(1)", "k in 0:3, k >= i"),
    ("*=!", "i + k >= 1 && i + k <= N ? x(i + k - 1) : x(0)", "k in 0:3"),
    ("*=!", "i >= 1 ? x(i - 1) - k : x(0)", "k in 0:3, k != 1"),
    ("lse=!", "i + k >= 1 ? (i + k <= N ? x(i + k - 1) : x(1)) : x(0)", "k in 0:3"),
    ("lse=!", "k >= 1 ? x(k - 1) : x(2)", "k in 0:N + 1, k < i or k > i"),
]


@each_row(("symbol", "value", "where"), REDUCED)
@each_row("derived", [tangents, adjoints])
def test_a_reduction_with_guarded_reads_is_in_a_loop_what_it_is_without_one(symbol, value, where, derived):
    """Derivatives are shared by all elements that are equal, and exact for products with several zeros."""
    alone = parse(f"input x(N), u(N)\ny(i) {symbol} {value} where i in 0:N, {where}\nv +=! y(i)*u(i)\noutput v")
    loop = f"for t in 2:4 {{ y(t, i) {symbol} {value} where i in 0:N, {where} }}"
    program = derived(parse(f"input x(N), u(N)\n{loop}\nv +=! y(3, i)*u(i)\noutput v"))
    for x in ([2.0, 1.0, 2.0], [0.0, 0.0, 1.0], [-1.0, 3.0, 0.5]):
        given = {"x": x, "u": [1.0, 0.5, -2.0], "dx": [1.0, 0.25, -1.0], "du": [0.5, 1.0, 2.0], "d_dv": 1.0}
        given = {p.name: np.array(given[p.name]) for p in program.params}
        got, want = evaluate(program, given), evaluate(derived(alone), given)
        for name in want:
            np.testing.assert_allclose(got[name], want[name], rtol=1e-15, err_msg=name)


def test_every_loop_of_a_program_can_be_checkpointed_and_its_derivative_is_too():
    """The word is in the texts, which read back equal."""
    text = "h(0) = a\nfor t in 0:T { h(t+1) = sin(h(t)) }\ny = h(T)"
    wanted = parse(text.replace(" {", " checkpoint {"))
    assert equal(parse(text, checkpoint=True), wanted) and not wanted.notes
    printed = print_program(gradient(wanted, ["a"]))
    assert printed.count("checkpoint") == printed.count("for t in") == 2
    assert print_program(parse(printed)) == printed
