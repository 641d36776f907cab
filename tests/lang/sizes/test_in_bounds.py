"""Sizes as numbers: binding, shapes, memory, and the proof that every subscript stays inside its tensor."""
from __future__ import annotations

import itertools
import random

import pytest
from adcli.lang.evaluate.comprehensions import bound
from adcli.lang.ir import Param, Program, Var
from adcli.lang.ir.affine import Affine, Index, affine, floor, greatest, least, product, substituted, value
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.comprehension import Agreement, Read
from adcli.lang.passes.pipeline import adjoints
from adcli.lang.sizes.binding import bind, memory, shapes
from adcli.lang.sizes.in_bounds import interval, prove
from comprehension_samples import Sample, convolution, line, stated, with_op, written
from hypothesis import given
from hypothesis import strategies as st
from random_comprehensions import tensor_samples
from random_programs import law

MUL = ("mul", 0, 1)


# ---------------------------------------------------------------- binding

def test_sizes_come_from_the_shapes_of_the_inputs() -> None:
    program = convolution().program()
    sizes = bind(program, {"I": (7,), "W": (3,)})
    assert sizes == {"H": 7, "K": 3}
    assert [shapes(program, sizes)[v] for v in (program.params[0].var, program.equations[0].outs[0])] == [(7,), (5,)]
    assert memory(program, sizes) == 8 * (7 + 3 + 5)
    prove(program, sizes)


def test_extents_that_are_expressions_are_checked_and_solved() -> None:
    n = affine("N")
    params = tuple(Param(Var(name, shape=(x,)), name) for name, x in (("A", n), ("B", n * 2 + 1), ("C", affine(3))))
    program = Program(params, (), ())
    assert bind(program, {"A": (2,), "B": (5,), "C": (3,)}) == {"N": 2}
    assert bind(Program(params[1:], (), ()), {"B": (5,), "C": (3,)}) == {"N": 2}
    for given_, message in (({"A": (2,), "B": (6,), "C": (3,)}, r"'B' has 6 elements along dimension 0, where 2\*N \+ 1 is 5"),
                            ({"A": (2,), "B": (5,), "C": (4,)}, "'C' has 4 elements along dimension 0, where the program has 3")):
        with pytest.raises(AdError, match=message):
            bind(program, given_)
    with pytest.raises(AdError, match=r"'B' has 6 elements along dimension 0, which cannot be 2\*N \+ 1"):
        bind(Program(params[1:2], (), ()), {"B": (6,)})
    both = Program((Param(Var("D", shape=(n + affine("M"),)), "D"),), (), ())
    with pytest.raises(AdError, match=r"the sizes in M \+ N, dimension 0 of 'D', follow from no input"):
        bind(both, {"D": (6,)})


@pytest.mark.parametrize(("given_", "message"), [
    ({"A": (2, 3), "B": (4,)}, "'B' has 4 elements along dimension 0, and 'A' has 3 along dimension 1: both are N"),
    ({"A": (2, 3), "B": (3, 1)}, "'B' has 1 dimension, and the value given has 2"),
    ({"A": (6,), "B": (3,)}, "'A' has 2 dimensions, and the value given has 1"),
    ({"A": (2, 3)}, "no value for 'B'")])
def test_shapes_that_do_not_fit_name_the_tensor_and_both_numbers(given_: dict[str, tuple[int, ...]], message: str) -> None:
    made = written({"A": ("M, N", [[1.0]]), "B": ("N", [1.0])},
                   stated("C(i)", "+", "A(i, j); B(j)", MUL, "i:M j:N", "M"), results="C")
    with pytest.raises(AdError) as fault:
        bind(made.program(), given_)
    assert fault.value.message == message


def test_a_kernel_larger_than_the_image() -> None:
    program = convolution(2, 4).program()
    with pytest.raises(AdError, match=r"'O' would have -1 elements along dimension 0, where its extent is H - K \+ 1"):
        prove(program, {"H": 2, "K": 4})


# ---------------------------------------------------------------- the proof

def test_a_subscript_outside_names_everything() -> None:
    program = convolution().program()
    [e] = program.equations
    h, k = e.op.indices
    wrong = with_op(program, sources=(Read(0, (affine(h) + affine(k) + 1,)), e.op.sources[1]))
    with pytest.raises(AdError) as fault:
        prove(wrong, {"H": 7, "K": 3})
    assert fault.value.message == "subscript h + k + 1 of dimension 0 of 'I' runs from 1 to 7, and the extent there is 7"
    assert fault.value.help == "with h from 0 to 4, k from 0 to 2; write where h in 0:H - K" and fault.value.column == 1
    with pytest.raises(AdError, match="subscript h - 1 of dimension 0 of 'O' runs from -1 to 3, and the extent there is 5"):
        prove(with_op(program, write=(affine(h) - 1,)), {"H": 7, "K": 3})


@pytest.mark.parametrize(("statement", "ranges"), [
    ("y(i) +=! w(k)*x(i + k)*x(i)", "i in 0:N - K + 1"), ("y(i) +=! w(k)*x(i - k)*x(i)", "i in K - 1:N"),
    ("z +=! w(k)*x(i + k)*x(i)", "i in 0:N - K + 1"), ("y(i) +=! w(k)*x(N - 1 - i - k)*x(i)", "i in 0:N - K + 1"),
    ("A(k, i) = w(k)*x(i - k)*x(i)", "i in K - 1:N"),
])
def test_the_range_that_keeps_a_subscript_inside_is_offered(statement: str, ranges: str) -> None:
    text, sizes = f"input x(N), w(K)\n{statement}", {"N": 7, "K": 3}
    with pytest.raises(AdError) as fault:
        prove(parse(text), sizes)
    assert (fault.value.help or "").partition("; write ")[2] == f"where {ranges}"
    prove(parse(f"{text} where {ranges}"), sizes)


def test_extents_that_must_agree() -> None:
    program = with_op(convolution().program(), agreements=(Agreement(affine("H"), affine("K") * 2, "%d is not %d"),))
    prove(program, {"H": 6, "K": 3})
    with pytest.raises(AdError, match="7 is not 6"):
        prove(program, {"H": 7, "K": 3})
    with pytest.raises(AdError, match="7 is not 6"):
        prove(Program(program.params, adjoints(program).equations[1:2], ()), {"H": 7, "K": 3})


def test_guards_count() -> None:
    """A(k − i − 1) over i < k: inside because of the guard, outside without it."""
    made = written({"A": ("N", [1.0] * 5)}, stated("s", "+", "A(k - i - 1)", 0, "i:N k:N", guards="k - i - 1"), results="s")
    program = made.program()
    prove(program, {"N": 5})
    with pytest.raises(AdError, match="subscript k - i - 1 of dimension 0 of 'A' runs from -5 to 3"):
        prove(with_op(program, guards=()), {"N": 5})
    prove(with_op(program, guards=()), {"N": 0})


def test_a_start_of_another_shape() -> None:
    made = written({"A": ("N", [1.0] * 5), "B": ("M", [1.0] * 4)},
                   stated("s(i)", "+", "A(i)", 0, "i:3", "N", onto="B"), results="s")
    with pytest.raises(AdError, match=r"'s' has shape \(5,\) here, and what it starts from \(4,\)"):
        prove(made.program(), {"N": 5, "M": 4})


@law(195)
@given(tensor_samples())
def test_programs_at_random_are_proved_and_so_are_their_adjoints(made: Sample) -> None:
    for program in (made.program(), adjoints(made.program())):
        sizes = bind(program, {p.name: made.extents(p.name if p.name in made.shapes else p.name[3:]) for p in program.params})
        prove(program, sizes)
        assert all(sizes[n] == made.sizes[n] for n in sizes)


@law(195)
@given(st.integers(0, 2**32))
def test_a_proof_never_passes_what_is_outside(seed: int) -> None:
    """Against all points of the box, with subscripts and guards that may be anything; where no guard is, exactly."""
    r = random.Random(seed)
    n = 4
    made = written({"A": ("N", [0.0] * n)}, stated("s", "+", "A(0)", 0, "i:1:N j:N"), results="s")
    original = made.program()
    [e] = original.equations
    i, j = e.op.indices

    def some() -> Affine:
        whole = affine(i) * r.randint(-2, 2) + affine(j) * r.randint(-2, 2) + r.randint(-2, 4) + affine("N") * r.randint(-1, 1)
        return r.choice((whole, whole, floor(whole, 2), least(whole, affine("N") - 1), greatest(whole, affine(0)),
                         product(affine("N") - 3, whole)))

    s, guards = some(), tuple(some() for _ in range(r.choice((0, 1, 1, 2))))
    program = with_op(original, sources=(Read(0, (s,)),), guards=guards)
    points = [{"N": n, i: x, j: y} for x, y in itertools.product(range(1, n), range(n))]
    inside = all(0 <= value(s, at) < n for at in points if all(value(g, at) >= 0 for g in guards))
    try:
        prove(program, {"N": n})
        assert inside
    except AdError:
        plain = all(isinstance(a, Index | str) for a, _ in s.terms)
        assert not inside or guards or not plain


def test_intervals_of_what_inference_makes() -> None:
    i = Index("i")
    box, sizes = {i: (-3, 5)}, {"N": 4}
    for x, want in ((floor(affine(i), 2), (-2, 2)), (least(affine(i), affine("N")), (-3, 4)),
                    (greatest(affine(i), affine("N")), (4, 5)), (product(affine("N"), affine(i)), (-12, 20)),
                    (affine(i) * -2 + affine("N"), (-6, 10))):
        assert interval(x, box, sizes) == want
        assert min(value(x, {"N": 4, i: at}) for at in range(-3, 6)) == want[0]


def test_names_of_samples_read_back() -> None:
    assert line("2*i + kh - N - 1").terms == (("i", 2), ("kh", 1), ("N", -1)) and line("2*i + kh - N - 1").constant == -1
    made = convolution()
    program = made.program()
    assert bound(program, {p.var: made.values[p.name] for p in program.params}) == {"H": 7, "K": 3}
    assert substituted(affine("H") * 2, {"H": affine("K") + 1}) == affine("K") * 2 + 2
