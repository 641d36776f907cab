"""Long sums are cut into boxes: nothing is lost or summed twice wherever the cuts are, and rounding errors stay small."""
from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from adcli.codegen.loops import index_loops
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.evaluate import comprehensions as evaluated
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.ir.affine import text as text_of
from adcli.lang.lower.frontend import parse
from comprehension_samples import Sample
from native_tensors import everywhere
from random_comprehensions import sample
from session_seed import drawn, half

TEXTS = [
    "input x(N)\ns +=! x(i)",
    "input A(M, N), x(N), y(M)\nz(i) = y(i)\nz(i) += A(i, j) * x(j)\noutput z",
    "input A(M, N), x(M)\nz(j) +=! A(i, j) * x(i)",
    "input A(M, K), B(K, N)\nC(i, j) +=! A(i, k) * B(k, j)",
    "input A(L, M, N)\ns +=! A(l, m, n)\nt(m) +=! A(l, m, n)\nu(n) +=! A(l, m, n)",
    "input A(M, N)\ns(i) +=! A(i, j) where j >= i\nt +=! A(i, j) where i >= j, i in 1:M, j in 2:N",
    "input x(N), w(K)\ny(i) +=! w(k) * x(i + k)\nz(i + k) +=! w(k) * x(i)",
    "input x(N), t(M)\ny(i) +=! x(j) * t(i)**j",
    "input A(M, N), x(T, N), h0(M)\nh(0, i) = h0(i)\nfor t in 0:T { h(t + 1, i) +=! A(i, j) * x(t, j) * h(t, i) }",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_sum_has_every_point_once_wherever_it_is_cut(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of whole numbers sums are exact in any order, so the bits are those of the reference, whose blocks are cut too."""
    r, program = drawn(text), parse(text)
    box = r.choice((1, 3))
    monkeypatch.setattr(index_loops, "BOX", box)
    monkeypatch.setattr(evaluated, "BLOCK", box)
    for longest in half((40, 7, 3)):
        sizes = {name: r.randint(1, longest) for name in "KLMN"} | {"K": r.randint(1, 3)}
        sizes["T"] = r.randint(1, 3)   # numbers of more steps are beyond those that are exact
        sizes["N"] = max(sizes["N"], sizes["K"])   # a window fits into what it slides over
        at = {}
        for p in program.params:
            shape = [sizes[text_of(x)] for x in p.var.shape]
            at[p.name] = np.array([float(r.randint(-3, 3)) for _ in range(int(np.prod(shape)))]).reshape(shape)
        at |= {"t": np.ones(np.shape(at["t"]))} if "t" in at else {}
        everywhere(program, at, evaluate(program, at, numpy_arithmetic()), exact=True)


@pytest.mark.parametrize("number", half(range(12)))
def test_random_programs_are_the_same_wherever_they_are_cut(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_loops, "BOX", 2)
    s: Sample = sample(drawn(f"boxes {number}"))
    program = s.program()
    everywhere(program, s.values, evaluate(program, s.values, numpy_arithmetic()))


@pytest.mark.parametrize(("text", "shapes", "count"), [
    ("input x(N)\ns +=! x(i)", {"x": (3_000_000,)}, 3_000_000),
    ("input x(N), y(N)\ns +=! x(i) * y(i)", {"x": (1_000_000,), "y": None}, 1_000_000),
    ("input x(M, N)\ns(j) +=! x(i, j)", {"x": (300_000, 3)}, 300_000),
    ("input x(L, M, N)\ns +=! x(l, m, n)", {"x": (500, 600, 5)}, 1_500_000)])
def test_equal_terms_that_are_many_lose_no_digits(text: str, shapes: dict[str, tuple[int, ...] | None], count: int) -> None:
    """Terms that are all the same are the worst there are: each addition errs to the same side."""
    for term in half((0.1, 1 / 3)):
        at = {name: np.full(shape, term) if shape else np.ones(shapes["x"]) for name, shape in shapes.items()}
        want, program = Fraction(term) * count, parse(text)
        kernel = compile_tensors(program)
        got, again = kernel(at, jobs=1)["s"], kernel(at, jobs=2)["s"]
        assert np.array_equal(got, again)
        assert all(abs(Fraction(float(x)) / want - 1) < 6e-14 for x in np.ravel(got))


def test_the_reference_loses_none_either() -> None:
    got = evaluate(parse("input x(M, N)\ns(j) +=! x(i, j)"), {"x": np.full((200_000, 2), 0.1)}, numpy_arithmetic())["s"]
    assert all(abs(Fraction(float(x)) / (Fraction(0.1) * 200_000) - 1) < 6e-14 for x in got)
