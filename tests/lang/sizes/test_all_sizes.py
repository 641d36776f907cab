"""The proof for all sizes says of every choice of sizes what the proof for numbers says."""
from __future__ import annotations

import itertools
from collections.abc import Iterator
from math import prod

import pytest
from adcli.lang.ir import Program
from adcli.lang.ir.affine import Affine, Index, affine, atoms, nested, text, value
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.operations.matrix import bound_names
from adcli.lang.passes.pipeline import adjoint_program
from adcli.lang.sizes.all_sizes import SizeConditions, size_conditions
from adcli.lang.sizes.binding import number
from adcli.lang.sizes.in_bounds import expressions, prove, prove_steps
from random_comprehensions import sample
from row_tables import each_row
from session_seed import drawn


def holds(conditions: SizeConditions, sizes: dict[str, int]) -> bool:
    return all(any(number(x, sizes) < 0 for x in c.given) or min(number(x, sizes) for x in c.then) >= 0
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


GROUPS = "input int32 G, x(C), w(C/G)\ny(g) +=! w(c) * x(g*(C/G) + c) where g in 0:G"
HOPS = "input int32 H, x(N), w(K)\ny(f) +=! w(k) * x(H*f + k) where f in 0:(N - K)/H + 1"
CHANNELS = "input int32 G, x(C), w(K)\ny(k) +=! w(k) * x(floor(k/(K/G))*(C/G) + c) where c in 0:C/G"


@pytest.mark.parametrize("text", [GROUPS, HOPS, CHANNELS])
def test_quotients_by_sizes_are_asked_of_sizes(text: str) -> None:
    program = parse(text)
    conditions, names = size_conditions(program), sorted(bound_names(program.params))
    for some in itertools.product((0, 1, 2, 3, 4, 6), repeat=len(names)):
        sizes = dict(zip(names, some, strict=True))
        fit = all(value(x, sizes) >= 1 for x in conditions.positive) and holds(conditions, sizes)
        assert conditions.positive and fit == (not refused(program, sizes)), sizes


@each_row("text, left", [
    ("input A(M, N), B(N)\nC(i) +=! A(i, j) * B(j)", []),
    ("input x(N)\ny(i) = x(i + 1) - x(i)", ["the extents of y(N - 1)"]),
    ("input x(N)\ny(i) max=! x(2*i + k) where k in 0:2", []),
    ("input x(N), y(M)\nz(i) = x(i) + y(i) where i in 0:N", ["subscript i of y"]),
    ("input x(N), l(N, N)\ny(i) +=! l(i, j) * x(i - j) where j in 0:i", []),
    ("input x(N), y(N)\nz = x(0) + y(1)", ["subscript 0 of x", "subscript 1 of y"]),
    ("input A(M, N)\ny(i) = A(floor(i/N), i % N) where i in 0:M*N", ["a quotient is by N"]),
    (GROUPS, []), (HOPS, ["the extents of y((N - K) / H + 1)"])])
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


POINTS = [dict(zip("NMK", at, strict=True)) for at in itertools.product((1, 2, 5, 64), repeat=3)]


def sums_of(x: Affine, at: dict[Index | str, int]) -> Iterator[int]:
    """The values that code computes for an expression: of every term, of every sum of the first ones, and of what is inside."""
    for each in nested(x):
        whole = each.constant
        yield abs(whole)
        for a, c in each.terms:
            yield abs(value(Affine(((a, c),)), at))
            whole += value(Affine(((a, c),)), at)
            yield abs(whole)


@each_row("text", [
    "input A(M, N)\ny(i) = A(0, 0) * (100 * i) where i in 0:M",
    "input x(N), int32 M, int32 K\ny(i) = x(7*M + 3*K + i - 40) where i in 0:N",
    "input x(N), int32 M, int32 K\ny(i, j) = x(i*M + j*K) where i in 0:N, j in 0:K",
    "input x(N), int32 M, int32 K\ny(i) = x(floor((9*i + 5*M) / 2)) where i in 0:N",
    "input x(N), int32 M, int32 K\ny(i) = x((11*i + M) % (3*K + 1)) where i in 0:N",
    "input x(N), int32 M, int32 K\ny(i) = x(i) where i in max(0, 2*M - 3*N):min(N, 5*K)",
    "input x(N), int32 M, int32 K\ny(i*M*K + j) +=! x(i) where j in 0:M*K",
    "input x(N), int32 M, int32 K\ny(i*(M + K)) +=! x(i)",
    "input x(N), int32 M, int32 K\ny(i) = x(i + 6*(M*K) - 2*(K*N)) where i in 0:N",
    "input x(N), int32 M, int32 K\ny(i) = x(i*i) where i in 0:floor(N/3), i*M <= K*N",
])
def test_what_is_bounded_bounds_every_number_that_is_computed(text: str) -> None:
    """No sum is more than the divisor times the largest size or product: so with these at most a word over the divisor it is a
    word. The products of sizes that subscripts have are among those that are asked for."""
    program = parse(text)
    conditions = size_conditions(program)
    for at in POINTS:
        largest = max(1, *at.values(), *(prod(number(x, at) for x in factors) for factors in conditions.products))
        for e in program.equations:
            op = e.op
            assert isinstance(op, Comprehension)
            ends = [(number(r.low, at), number(r.high, at) - 1) for r in op.ranges]
            for point in itertools.product(*({low, high} if low <= high else () for low, high in ends)):
                known: dict[Index | str, int] = {**at, **dict(zip(op.indices, point, strict=True))}
                for x in expressions(op):
                    assert max(sums_of(x, known)) <= conditions.divisor * largest, (text, at, str(x))


@each_row("source, divisor, products", [
    ("input x(N)\ny(i) = x(i)", 8, []),
    ("input x(N)\ny(i) = x(i) * (20*i + 3)", 43, []),   # an index counts twice: its range ends behind the last value
    ("input x(N)\ny(i) = x(i) * (-20*i - 3)", 43, []),
    ("input x(N)\ny(i) = x(i) * (5*floor((9*i + 2*N) / 2))", 95, []),   # N goes out of the floor
    ("input x(N), int32 M\ny(i) = x(i % (7*M + 5)) where i in 0:N", 14, []),
    ("input x(N), int32 M\ny(i) = x(i) where i in 0:min(N, 30*M + 1)", 32, []),
    ("input x(N), int32 M\ny(i) = x(i) where i in 2:N - 9", 11, []),
    ("input x(N), int32 M\ny(i*M) +=! x(i)", 8, [{"N", "M"}]),
    ("input x(N), int32 M\ny(i) = x(i) * x(M*N - 1 - i)", 8, [{"M", "N"}]),
    ("input x(N), int32 M, int32 K\ny(i*M*K + j) +=! x(i) where j in 0:M*K", 8, [{"K", "M"}, {"K", "M", "N"}, {"M", "N"}]),
])
def test_how_far_numbers_reach(source: str, divisor: int, products: list[set[str]]) -> None:
    """Every number in an expression counts, in floors, remainders and extrema, too; every product of sizes is bounded."""
    found = size_conditions(parse(source))
    assert found.divisor == divisor
    asked = [{a for x in factors for a in atoms(x) if isinstance(a, str)} for factors in found.products]
    assert {frozenset(p) for p in asked} == {frozenset(p) for p in products}


def test_a_subscript_that_only_guards_keep_inside_is_loose_or_proved() -> None:
    proved = size_conditions(parse("input x(N)\ny(i) = x(i - 1) where i in 0:N, i >= 1"))
    assert (proved.loose, proved.conditions) == (set(), [])
    program = parse("input x(N), z(M)\ny(i) +=! x(i + M) * z(j) where i in 0:N, i % 2 == 0")
    assert {(text(s), text(extent)) for _, s, extent in size_conditions(program).loose} == {("i + M", "N")}


def test_what_empty_ranges_do_not_ask() -> None:
    """A subscript is asked for only where there is a point that has it."""
    found = size_conditions(parse("input x(N), z(M)\ns +=! x(M)*z(i)"))
    [condition] = [c for c in found.conditions if c.why == "subscript M of x"]
    assert ([text(x) for x in condition.then], [text(x) for x in condition.given]) == (["N - M - 1"], ["M - 1"])
    assert [holds(found, {"N": n, "M": m}) for n, m in ((0, 0), (3, 2), (2, 2))] == [True, True, False]


def test_a_remainder_is_by_a_positive_size() -> None:
    found = size_conditions(parse("input x(N), int32 M\ny(i) = x(i % M) where i in 0:N"))
    assert [([text(x) for x in c.then], c.why, [text(g) for g in c.given]) for c in found.conditions if "remainder" in c.why] == [
        (["M - 1"], "a remainder is by M", ["N - 1"])]


@pytest.mark.parametrize("bounds, factor", [
    ("0:30*K + 5", "30*K + 5"), ("-7*K:4", "7*K + 4"), ("K - 9:K + 2", "2*K + 11"), ("0:2*(9*K/2)", "18*K"),
    ("0:min(3*K, 5*M + 2)", "3*K + 5*M + 2"), ("0:3*(K % (2*M))", "6*M"),
])
def test_a_product_with_an_index_is_bounded_by_its_largest_value(bounds: str, factor: str) -> None:
    """In size: a range may begin far below 0, and a quotient is less than what it is of."""
    source = f"input x(N), int32 M, int32 K\ny +=! x(i*M) where i in {bounds}"
    assert [tuple(map(text, each)) for each in size_conditions(parse(source)).products if len(each) == 2] == [(factor, "M")]


def test_extents_of_inputs_are_measured() -> None:
    assert size_conditions(parse("input A(100*N + 7), x(N)\ny(i) = x(i)")).divisor == 107
    assert [tuple(map(text, x)) for x in size_conditions(parse("input A(M*N), B(M), x(N)\ny(i) = x(i)")).products] == [("M", "N")]
