"""Which derivatives of a loop are a loop, which stand beside it, and how they are written."""
from __future__ import annotations

from adcli.lang.ir.affine import Index, affine
from adcli.lang.lower.frontend import parse
from adcli.lang.modes.systems import apart, covers_a_step
from adcli.lang.operations.comprehension import Comprehension, Range, constant_body
from adcli.lang.passes.pipeline import adjoint_program, tangent_program
from adcli.lang.printing.printer import print_program
from loop_programs import LOOPS

ADJOINT = """for t in 0:T down {
    d_dx(t, n) = d_dh_1(t + 1, n) * sech2(z(t, n) + x(t, n))
    d_dh_1(t, m) += W(n, m) * d_dx(t, n)
}
d_dW(n, m) +=! d_dx(t, n) * h(t, m) where t in 0:T
d_dh0(n) = d_dh_1(0, n)
"""
TANGENT = """for t in 0:T {
    dz(t, n) +=! dW(n, m) * h(t, m) + W(n, m) * dh(t, m)
    dh(t + 1, n) = (dz(t, n) + dx(t, n)) * sech2(z(t, n) + x(t, n))
}
"""


def test_the_adjoint_of_a_recurrent_net_is_a_loop_and_sums_behind_it() -> None:
    assert ADJOINT in print_program(adjoint_program(LOOPS["recurrent net"].program()))


def test_its_tangent_is_a_loop_that_needs_nothing_before() -> None:
    assert TANGENT in print_program(tangent_program(LOOPS["recurrent net"].program()))


def test_no_flag_is_left_where_every_derivative_that_is_read_exists() -> None:
    program = parse("""input a, x(T)
h(0) = a
for t in 0:T { c(t) = 1 + h(t)**2; h(t+1) = x(t)/c(t) }
y = h(T)
output y
""")
    for derived in (adjoint_program(program), tangent_program(program)):
        assert "!= 0" not in print_program(derived)


def test_two_loops_stay_apart_where_no_circle_joins_them() -> None:
    text = print_program(adjoint_program(parse("""input a, b, int32 T
h(0) = a
k(0) = b
for t in 0:T { h(t+1) = sin(h(t)); k(t+1) = cos(k(t)) }
y = h(T) + k(T)
output y
""")))
    assert text.count("down {") == 2


def test_the_step_stands_in_one_subscript_of_a_write() -> None:
    t, shape = Index("t"), (affine("T"), affine("T"))
    steps = Range(t, affine(0), affine("T"))
    here = (affine(t), affine(t))
    op = Comprehension(ranges=(steps,), write=here, shape=shape, reduction="=", sources=(), body=constant_body(1))
    alone = apart(op, t, 0)
    assert [s.indices() for s in alone.write] == [[t], [alone.ranges[1].index]] and len(alone.guards) == 2
    assert not covers_a_step(op, t, 0) and apart(alone, t, 0) is alone
