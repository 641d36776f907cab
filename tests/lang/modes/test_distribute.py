"""What needs no steps stands beside its loop, and gives the same bits."""
from __future__ import annotations

from adcli.lang.evaluate import evaluate
from adcli.lang.lower.frontend import parse
from adcli.lang.modes.systems import distributed
from adcli.lang.operations.recurrence import Recurrence
from adcli.lang.passes.pipeline import adjoint_program, evaluation_program
from adcli.lang.printing.printer import print_program
from loop_programs import LOOPS, given
from session_seed import drawn

NET = """input W(N, N), U(N, K), V(M, N), h0(N), x(T, K)
h(0, n) = h0(n)
for t in 0:T {
    u(t, n) +=! U(n, k) * x(t, k)
    z(t, n) +=! W(n, m) * h(t, m)
    h(t + 1, n) = tanh(z(t, n) + u(t, n))
    y(t, m) +=! V(m, n) * h(t + 1, n)
}
output y
"""

FILTER = """input y(T), a, q, r
m(0) = 0
P(0) = 1
for t in 0:T {
    n(t) = a*m(t)
    S(t) = a**2*P(t) + q
    K(t) = S(t)/(S(t) + r)
    m(t + 1) = n(t) + K(t)*(y(t) - n(t))
    P(t + 1) = (1 - K(t))*S(t)
    l(t) = log(S(t) + r) + (y(t) - n(t))**2/(S(t) + r)
}
nll +=! l(t)
output nll
"""


def test_what_the_circle_does_not_need_is_before_or_behind_the_loop() -> None:
    program = distributed(parse(NET))
    kinds = [isinstance(e.op, Recurrence) for e in program.equations]
    assert kinds.count(True) == 1 and kinds[-1] is False
    (loop,) = [e for e in program.equations if isinstance(e.op, Recurrence)]
    assert {out.name for out in loop.outs} == {"z", "h"}
    assert "for t in 0:T {\n    z(t, n)" in print_program(program)


def test_no_bit_changes() -> None:
    for name, made in LOOPS.items():
        at = {**given(made, drawn("distributed", name)), **made.whole}
        one, other = evaluate(made.program(), at), evaluate(distributed(made.program()), at)
        assert all((one[n] == other[n]).all() for n in one), name


def test_what_no_step_writes_stays_0_beside_reductions_of_another_neutral_value() -> None:
    program = parse("input x(N), int32 T\n"
                    "for t in 1:T + 1 { low(t) min=! x(n); p(t) *=! x(n); s(t) lse=! x(n) }\noutput low, p, s\n")
    found = evaluate(distributed(program), {"x": [2.0, 3.0], "T": 1})
    assert [found[n][0] for n in ("low", "p", "s")] == [0, 0, 0]
    assert [found[n][1] for n in ("low", "p")] == [2, 6]


def test_a_sum_that_starts_from_its_first_argument_has_those_behind_it() -> None:
    program = evaluation_program(adjoint_program(parse(FILTER)))
    at = {"y": [1.0, 2.0, 3.0], "a": 0.8, "q": 0.3, "r": 0.5, "d_dnll": 1.0}
    one, other = evaluate(program, at), evaluate(distributed(program), at)
    assert one["d_dr"] == other["d_dr"] and (one["d_dy"] == other["d_dy"]).all()
