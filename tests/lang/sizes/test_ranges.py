"""Ranges of indices: what is inferred, why, and that no larger range would do."""
from __future__ import annotations

import itertools

import pytest
from adcli.lang.ir import Var
from adcli.lang.ir.affine import Affine, Index, affine, floor, greatest, least, text, value
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.comprehension import Comprehension, all_fixed
from adcli.lang.sizes.ranges import Access, Given, infer
from hypothesis import given, settings
from hypothesis import strategies as st
from row_tables import each_row
from tensor_texts import ACCEPTED, MAXPOOL


def found(source: str) -> list[str]:
    """The ranges of all indices of a program's comprehensions."""
    ops = [e.op for e in parse(source).equations if isinstance(e.op, Comprehension)]
    return [f"{r.index.name} {text(r.low)}:{text(r.high)}" for op in ops for r in op.ranges]


def guards(source: str) -> list[str]:
    return [text(g) for e in parse(source).equations if isinstance(e.op, Comprehension) for g in e.op.guards]


@each_row(("source", "ranges"), [
    ("input A(M, N), B(N)\nC(i) +=! A(i, j) * B(j)", ["i 0:M", "j 0:N"]),
    ("input A(M)\nC(i) = A(i + 1)", ["i 0:M - 1"]),
    ("input A(M)\nC(i) = A(i - 1)", ["i 1:M + 1"]),
    ("input A(M), B(M)\nC(i) = A(i) * B(i + 1)", ["i 0:M - 1"]),
    ("input A(M), B(N)\nC(i) = A(i) * B(i + 2)", ["i 0:min(M, N - 2)"]),
    ("input I(H), W(K)\nO(h) +=! I(h + k) * W(k)", ["h 0:H - K + 1", "k 0:K"]),
    ("input I(H), W(K)\nO(h) +=! I(2*h + k) * W(k) where h in 0:5", ["h 0:5", "k 0:K"]),
    ("input I(H), W(K)\nO(h) +=! I(2*h + 3*k) * W(k)", ["h 0:(H - 3*K) / 2 + 2", "k 0:K"]),
    ("input I(H), W(K)\nO(h) +=! I(h - k) * W(k)", ["h K - 1:H", "k 0:K"]),
    ("input A(10, 19, 10)\nC(i, j) = A(i, i + j, j)", ["i 0:10", "j 0:10"]),
    ("input A(M)\nC(i) = A(9 - i)", ["i max(-M + 10, 0):10"]),
    ("input A(M)\nC(i) = A(7 - 2*i) where i in 0:3", ["i 0:3"]),
    (MAXPOOL, ["b 0:B", "c 0:C", "i 0:H / 2", "j 0:W / 2", "kw 0:2", "kh 0:2"]),
    ("def f(float(N, M) I) -> (O) { O(i, j) = I(10 + i - j, i + j) where i in 0:10 }",
     ["i 0:10", "j max(-N + 20, 0):min(M - 9, 11)"]),
    ("input A(M)\nC(i) = A(i)\nC(i) += 1", ["i 0:M", "i 0:M"]),
    ("input A(M)\nC(i) = A(i) where i in 1:M, i in 2:4", ["i 2:min(M, 4)"]),
    ("input A(M), B(N)\nC(i) = A(i) where i in N:M, i in 2:M", ["i max(N, 2):M"]),
    ("input x\nC(i) = x where i in 8:4", ["i 8:4"]),
    ("input A(H)\nC(i) = A(2*i) where i in 0:(H + 1) / 2", ["i 0:(H + 1) / 2"]),
    ("input A(H), B(K)\nC(i) = 1 where i in 0:min(H, 2*K)", ["i 0:min(H, 2*K)"]),
    ("def f(float(N, M) A) -> (float(N, M) C) { C(i, j) = 2 }", ["i 0:N", "j 0:M"]),
    ("input A(N)\nC(i) = 2 where float(N) C", ["i 0:N"]),
    ("input A(N), B(P)\nC(i) = 2 where exists A(i)", ["i 0:N"]),
])
def test_ranges(source, ranges):
    assert found(source) == ranges


@each_row("definition", [d for d in ACCEPTED if "sizes" in d], ids=lambda d: d["id"])
def test_shapes_of_results_are_those_that_were_unrolled(definition):
    results = parse(definition["text"]).results
    got = {r.name: [value(x, definition["sizes"]) for x in r.atom.shape] for r in results if isinstance(r.atom, Var)}
    assert got == definition["shapes"]


def test_a_triangle_is_a_box_with_guards():
    source = "input L(M, K), U(K, M)\nLU(m1, m2) +=! L(m1, k) * U(k, m2) where k in m1:M, k in 0:m2+1"
    assert found(source) == ["m1 0:M", "m2 0:M", "k 0:M"]
    assert guards(source) == ["k - m1", "m2 - k"]
    assert found("input A(M, N)\nC(i) +=! A(i, j) where j in i:N") == ["i 0:M", "j 0:N"]
    assert found("input A(M, N)\nC(i) +=! A(i, j) where j in i + 2:2*i + 4") == ["i 0:M", "j 2:2*M + 2"]
    assert found("input x(N)\nC(i) +=! x(j) where i in 0:N, j in max(i - 2, 0):min(i + 3, N, 9)") == ["i 0:N", "j 0:min(N, 9)"]
    assert guards("input x(N)\nC(i) +=! x(j) where i in 0:N, j in max(i - 2, 0):min(i + 3, N)") == ["j - i + 2", "i - j + 2"]
    assert guards("input A(M, N)\nC(i) +=! A(i, j) where i > j, i == 2*j") == ["i - j - 1", "i - 2*j", "2*j - i"]
    assert guards("input A(M, N)\nC(i) +=! A(i, j) where j > i, i >= 0, 2*j > i") == ["j - i - 1"]


def test_an_index_that_stands_alone_twice_says_that_extents_agree():
    (op,) = [e.op for e in parse("input A(M, K), B(L, N)\nC(i, j) +=! A(i, k) * B(k, j)").equations]
    assert isinstance(op, Comprehension)
    (agreement,) = op.agreements
    assert {text(agreement.left), text(agreement.right)} == {"K", "L"}
    assert agreement.message % (3, 4) == ("index 'k' runs over dimension 1 of A, which has 3 elements, and over dimension 0 "
                                          "of B, which has 4")


@each_row(("source", "message", "help"), [
    ("input A(M)\nC(i, j) = A(i + j)",
     "the range of index 'i' is ambiguous: i + j in dimension 0 of A (extent M) leaves it open together with 'j'",
     "where i in 0:M"),
    ("input A(M), int32 K\nC(i, j) = A(i*K + j)", "the range of index 'i' is ambiguous: j + i*K in dimension 0 of A (extent M) "
     "leaves it open together with 'j'", "where i in 0:3, j in 0:K"),
    ("input x(N), w(3)\ny(p) +=! w(i)*x(p + i - 1) where p in 0:N, exists x(p + i - 1)",
     "index 'i', 'p': subscript i + p - 1 of x goes down to -1",
     "write where i + p >= 1, i + p - 1 < N"),
    ("input A(M)\nC(i, m) = A(i)", "index 'm' is in no read, so it has no range", "where m in 0:3"),
    ("input A(M)\nC(i) = A(max(i - 1, 0))", "index 'i' is in no read, so it has no range", "where i in 0:3"),
    ("input A(M)\nC(i, j) = A(0) where i in 0:j, j in 0:i", "the range of index 'i' depends on 'j', which has no range", ""),
    ("input A(M), n\nC(i) = A(i) where i in 0:n", "the range of index 'i' depends on the value of 'n'", "input int32 n"),
    ("input A(M), n\nz = 2*n\nC(i) = A(i) where i in 0:z", "the range of index 'i' depends on the value of 'z'", "other indices"),
    ("input A(M)\nC(i) = A(i) where i in 0:x", "the range of index 'i' depends on 'x', which has no range", "input int32 x"),
])
def test_ranges_that_stay_open(source, message, help):
    with pytest.raises(AdError) as caught:
        parse(source)
    fault = caught.value
    assert fault.message == message and fault.span is not None and (fault.help or "").endswith(help)
    if help.startswith("where"):
        parse(f"{source} {help}")


@settings(max_examples=300, deadline=None)
@given(st.integers(-3, 3).filter(bool), st.integers(-2, 2), st.integers(-4, 6), st.integers(1, 9), st.integers(1, 5))
def test_the_range_is_the_largest_that_keeps_the_read_inside(a, b, c, extent, other):
    """a·i + b·k + c in a dimension, k from 0 to `other`: brute force over i."""
    i, k = Index("i"), Index("k")
    x = affine(i) * a + affine(k) * b + c
    domain = infer([i, k], [Access("A", (affine("E"),), (x,)), Access("B", (affine("K"),), (affine(k),))])
    sizes = {"E": extent, "K": other}
    r = next(r for r in domain.ranges if r.index is i)
    fits = [n for n in range(-60, 60) if all(0 <= a * n + b * m + c < extent for m in range(other))]
    assert list(range(value(r.low, sizes), value(r.high, sizes))) == fits


@settings(max_examples=200, deadline=None)
@given(st.permutations(range(4)), st.integers(-2, 2), st.integers(1, 2))
def test_the_order_of_reads_makes_no_difference(order, offset, stride):
    i, k = Index("i"), Index("k")
    reads = [Access("A", (affine("M"),), (affine(i),)), Access("B", (affine("N"),), (affine(i) * stride + offset + affine(k),)),
             Access("C", (affine("P"), affine("Q")), (affine(i), affine(k))), Access("D", (affine("R"),), (affine(i) + 1,))]
    one, other = (infer([i, k], [reads[n] for n in o]) for o in (range(4), order))
    assert [(r.low, r.high) for r in one.ranges] == [(r.low, r.high) for r in other.ranges]
    assert {frozenset((a.left, a.right)) for a in one.agreements} == {frozenset((a.left, a.right)) for a in other.agreements}


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(st.integers(-3, 4), min_size=2, max_size=2), min_size=1, max_size=2), st.integers(1, 4),
       st.integers(1, 4))
def test_what_counts_as_one_element_a_point_is_so(coefficients, m, n):
    """`all_fixed` may be too strict and is never wrong."""
    i, k = Index("i"), Index("k")
    write = [affine(i) * a + affine(k) * b for a, b in coefficients]
    domain = infer([i, k], [], [Given(i, affine(0), affine(m)), Given(k, affine(0), affine(n))])
    points = [tuple(a * x + b * y for a, b in coefficients) for x, y in itertools.product(range(m), range(n))]
    if all_fixed(domain.ranges, write):
        assert len(set(points)) == len(points)
    elif all(0 in pair for pair in coefficients):
        assert any(all(pair[d] == 0 for pair in coefficients) for d in (0, 1))


def test_an_index_with_one_value_leaves_room_in_whatever_order_indices_are_seen() -> None:
    """The order of a set is that of addresses: it must not decide which program is right."""
    for _ in range(20):
        i, k, p = Index("i"), Index("k"), affine("P")
        given_ = [Given(i, affine(0), affine("N")), Given(k, greatest(p, affine(0)), least(p + 1, p*2 + 1))]
        for order in ([i, k], [k, i]):
            assert all_fixed(infer(order, [], given_).ranges, [affine(i) + affine(k) - p])


def test_strides_that_leave_room_give_every_point_its_element():
    assert found("input A(N)\nC(2*i + k) = A(i) where k in 0:2") == ["i 0:N", "k 0:2"]
    with pytest.raises(AdError, match="two points write the same element"):
        parse("input A(N)\nC(2*i + k) = A(i) where k in 0:3")


def test_texts_of_extents_mean_what_they_say():
    h, w = affine("H"), affine("W")
    assert text(floor(h + 1, 2) * 3 - w) == "3*((H + 1) / 2) - W"
    assert text(least(h, w - 1) + greatest(h, w)) == "min(H, W - 1) + max(H, W)"
    assert floor(h * 4 + w + 5, 2) == h * 2 + floor(w + 1, 2) + 2
    assert Affine((), 3).number == 3

