"""What loops mean: the recurrence that a text becomes, and the text that it becomes again."""
from __future__ import annotations

import pytest
from adcli.lang.ir import Program, Var
from adcli.lang.ir.affine import text
from adcli.lang.ir.recurrence import Recurrence, step_place
from adcli.lang.lower.frontend import parse
from adcli.lang.syntax.printer import STYLES, print_program

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
"""]
"""Programs as they are printed."""


def loops(program: Program) -> list[Recurrence]:
    return [e.op for e in program.equations if isinstance(e.op, Recurrence)]


def shapes(program: Program) -> dict[str, tuple[str, ...]]:
    return {r.name: tuple(map(text, r.atom.shape)) for r in program.results if isinstance(r.atom, Var)}


@pytest.mark.parametrize("printed", PRINTED)
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
