"""The proof for all sizes says of every choice of sizes what the proof for numbers says."""
from __future__ import annotations

import itertools

import pytest
from adcli.lang.ir import Program
from adcli.lang.ir.affine import affine
from adcli.lang.ir.all_sizes import SizeConditions, size_conditions
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.sizes import bound_names, number, prove
from adcli.lang.ir.step_order import prove_steps
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoint_program
from random_comprehensions import sample
from session_seed import drawn


def holds(conditions: SizeConditions, sizes: dict[str, int]) -> bool:
    return all(min(number(x, sizes) for x in c.then) >= 0 or any(number(x, sizes) < 0 for x in c.given)
               for c in conditions.conditions)


def refused(program: Program, sizes: dict[str, int]) -> bool:
    try:
        prove(program, sizes)
        prove_steps(program, sizes)
    except AdError:
        return True
    return any(number(x, sizes) < 0 for p in program.params for x in p.var.shape)


def test_both_proofs_agree() -> None:
    r = drawn("test_both_proofs_agree")
    for k in range(60):
        program = sample(r).program()
        program = adjoint_program(program) if k % 3 == 0 else program
        conditions = size_conditions(program)
        for _ in range(6):
            sizes = {n: r.choice((0, 1, 2, 3, 4, 7)) for n in sorted(bound_names(program.params))}
            if refused(program, sizes):
                assert not holds(conditions, sizes) or conditions.loose, sizes
            else:
                assert holds(conditions, sizes), sizes


EDGES = """input u0(N), int32 T
u(0, i) = u0(i)
for t in 0:T {
    u(t+1, i) = u(t, i) + u(t, i-1) + u(t, i+1) where i in 1:N-1
    u(t+1, 0) = u(t, 0)
    u(t+1, N-1) = 2*u(t, N-1)
}
"""
TRIANGLE = """input x(N), int32 T
h(0, i) = x(i)
for t in 0:T { h(t+1, i) = h(t, t)*h(t, i) + h(t, i) }
"""


@pytest.mark.parametrize("text, wrong", [(EDGES, [(1, 1), (1, 3)]), (TRIANGLE, [(1, 3), (2, 3)])])
def test_the_order_of_loops_is_asked_of_sizes(text: str, wrong: list[tuple[int, int]]) -> None:
    """One cell has two edges."""
    program = parse(text)
    conditions = size_conditions(program)
    for n, t in itertools.product((1, 2, 4), (0, 1, 3)):
        sizes = {"N": n, "T": t}
        assert refused(program, sizes) == ((n, t) in wrong) == (not holds(conditions, sizes)), sizes


@pytest.mark.parametrize("text, left", [
    ("input A(M, N), B(N)\nC(i) +=! A(i, j) * B(j)", []),
    ("input x(N)\ny(i) = x(i + 1) - x(i)", ["the extents of y(N - 1)"]),
    ("input x(N)\ny(i) max=! x(2*i + k) where k in 0:2", []),
    ("input x(N), y(M)\nz(i) = x(i) + y(i) where i in 0:N", ["subscript i of y"]),
    ("input x(N), l(N, N)\ny(i) +=! l(i, j) * x(i - j) where j in 0:i", []),
    ("input x(N), y(N)\nz = x(0) + y(1)", ["subscript 0 of x", "subscript 1 of y"])])
def test_what_is_left_to_ask(text: str, left: list[str]) -> None:
    found = size_conditions(parse(text))
    assert [c.why for c in found.conditions] == left
    assert not found.loose


def test_numbers_stay_so_small_that_no_sum_overflows() -> None:
    conditions = size_conditions(parse("input A(M, N)\ny(i) = A(0, 0) * (100 * i) where i in 0:M"))
    assert conditions.divisor >= 100
    assert [tuple(map(str, shape)) for shape in conditions.products] == [tuple(map(str, (affine("M"), affine("N"))))]


def test_every_number_of_elements_is_bounded() -> None:
    """A cube of a size is not bounded by its square."""
    conditions = size_conditions(parse("input A(N, N), B(M, N)\nC(i, j, k) = A(i, j) * A(j, k)\nD(i, j) = B(j, i)"))
    n, m = affine("N"), affine("M")
    assert conditions.products == [(n, n), (m, n), (n, n, n)]
