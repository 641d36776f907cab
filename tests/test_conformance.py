"""One suite for every evaluator and every emitted language: the numbers of the reference, whichever of them computes.

Rows are back ends (`conformance.BACK_ENDS`); columns are programs: every operation of the table, programs that are drawn, those
of other people, names that a language has other uses for, texts longer than engines take, tensors, loops and matrices. A
language or an evaluator is added by one row there.
"""
from __future__ import annotations

import itertools
import math
import pathlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from adcli.codegen.rows.expand import for_machine
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import Primitive, Program
from adcli.lang.ir.special_rows import DERIVATIVES
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoint_program, evaluation_program
from adcli.lang.printing.printer import print_program
from adcli.lang.sizes.all_sizes import size_conditions
from back_ends import same, ulps
from c_tensors import Given, Point, at_random, derivatives, drawn_point, expected
from compare_corpus import cases, entries
from conformance import (
    OPERATIONS,
    BackEnd,
    Cases,
    TensorBackEnd,
    also_in_parts,
    compiled,
    every_back_end,
    every_tensor_back_end,
    every_tensor_language,
)
from laws import check_operations, exposed, near
from loop_programs import LOOPS
from multiple_precision import mpmath_arithmetic
from native_programs import long_program
from one_operation import REAL, SPECIAL, few_costly, number_of_points, orders, program
from places import DATA
from random_programs import mixed_points, sample
from session_seed import drawn, fewer, session_seed

STATIC = {"pown": [(-3,), (-1,), (0,), (1,), (2,), (7,), (65,)], "polygamma": [(0,), (1,), (2,)],
          "dpow": [*itertools.product(range(3), repeat=2)], "dxlogy": [(0,), (1,), (2,), (3,)],
          "derfcx": [(0,), (1,), (2,), (3,)],
          **{name: orders(name, (0, 1) if name.startswith("dlog") else (0, 1, 2)) for name in DERIVATIVES}}
"""The constants of operations that have some. Near 0, fourth derivatives of logarithms of Bessel functions are lost."""
FEW = [0.0, -0.0, 1.0, -2.0, 1e300, -math.inf, math.nan]
MOST = 100
COMPOSED = 12
"""Units in the last place by which a formula of calls of a library may differ from the reference's."""


def points(p: Program, at: list[dict[str, float]]) -> list[list[float]]:
    return [[point[x.name] for x in p.params] for point in at]


def results(back_end: BackEnd, asked: Cases, folder: pathlib.Path) -> Iterator[tuple[Program, dict[str, float], list[float]]]:
    """Each program with each point and its results, which have the bits of machine code where they must."""
    found = back_end.run(folder, asked)
    if back_end.bits:
        for (p, at), rows, expected in zip(asked, found, compiled(1)(folder, asked), strict=True):
            for point, ours, theirs in zip(at, rows, expected, strict=True):
                assert all(map(same, ours, theirs)), (print_program(p), point, ours, theirs)
    for (p, at), rows in zip(asked, found, strict=True):
        for point, row in zip(at, rows, strict=True) if ... not in rows else ():   # the language lacks an operation
            yield p, dict(zip([x.name for x in p.params], point, strict=True)), row


def operation(op: Primitive, static: tuple[int, ...], count: int) -> Program:
    """z = op(x0, x1, …); a truth argument is whether an input is above 0, a truth result 1 or 0."""
    constants = dict(zip(op.static, static, strict=True))
    args = [str(constants[i]) if i in constants else f"(x{i} > 0)" if op.kind(i) == "t" else f"x{i}" for i in range(count)]
    call = f"{op.spelled or op.name}({', '.join(args)})" + " ? 1 : 0" * op.truth
    return parse(f"input {', '.join(f'x{i}' for i in range(count) if i not in constants)}\nz = {call}")


def operands(op: Primitive, p: Program) -> list[list[float]]:
    """Combinations of special values, all or so many of them, and points over the domain."""
    r, number = drawn("operands", op.name), len(p.params)
    bounds = [op.domain[min(int(x.name[1:]), len(op.domain) - 1)] for x in p.params]
    special = [list(x) for x in itertools.product(SPECIAL if number < 3 else FEW, repeat=number)]
    most = min(len(special), number_of_points(op, MOST))
    return [*r.sample(special, most), *([r.uniform(*b) for b in bounds] for _ in range(number_of_points(op, 30)))]


@cache
def every_operation() -> tuple[dict[Program, Primitive], Cases, dict[tuple[Program, str], float]]:
    """Programs of one operation with their points, and what the reference gives there."""
    of = {operation(op, static, count): op for op in few_costly(OPERATIONS)
          for static in STATIC.get(op.name, [()]) for count in ((2, 3) if op.variadic else (op.arity,))}
    asked = [(p, operands(op, p)) for p, op in of.items()]
    wanted = {(p, repr(at)): evaluate(p, {x.name: v for x, v in zip(p.params, at, strict=True)}, FLOAT)["z"]
              for p, row in asked for at in row}
    return of, asked, wanted


@every_back_end
def test_every_operation_at_special_points_and_over_its_domain(back_end: BackEnd, tmp_path: pathlib.Path) -> None:
    """To the bit where IEEE 754 says what the result is; extrema of several arguments and compositions too."""
    of, asked, wanted = every_operation()
    for p, at, (got,) in results(back_end, asked, tmp_path):
        op, want = of[p], wanted[p, repr([*at.values()])]
        loose = op.value is not None and ulps(got, want) <= COMPOSED
        assert near(op, got, want, list(at.values())) or loose, (op.name, at, got, want)


@cache
def drawn_programs() -> list[Program]:
    """Gradients, half of them with extreme numbers."""
    r = drawn("programs for every back end")
    return [gradient(parse(sample(r, 24, extreme).text)) for extreme in (False, True) * fewer(12, 2)]


@pytest.mark.whole
@also_in_parts
def test_random_programs(back_end: BackEnd, tmp_path: pathlib.Path) -> None:
    """Programs of exact operations to the bit, as they are nested; others operation by operation, on the operands each had."""
    r, exact = drawn("points of random programs"), set()
    asked = []
    for p in drawn_programs():
        whole = p if (bits := all(e.op.truth or e.op.ulps in (0.0, 0.5) for e in for_machine(p).equations)) else exposed(p)
        exact |= {whole} if bits else set()
        asked.append((whole, points(whole, mixed_points(r, whole, 4))))
    for p, at, row in results(back_end, asked, tmp_path):
        if p in exact:
            assert all(map(same, row, evaluate(p, at, FLOAT).values())), (print_program(p), at, row)
        else:
            check_operations(p, [at], [row])


@cache
def corpus() -> tuple[Cases, dict[Any, Any]]:
    """Programs that other people wrote, differentiated, and what is known of them at their points."""
    stated, asked = dict[Any, Any](), []
    for case in itertools.islice(cases(DATA), session_seed() % 10, None, 10):   # others in the next run
        p = gradient(parse(case["program"], case["id"]), mode=("forward", "reverse")[session_seed() % 2])
        at = [[float(point["at"][x.name]) for x in p.params] for point in case["points"]]
        stated |= {(p, *x): point for x, point in zip(map(tuple, at), case["points"], strict=True)}
        asked.append((p, at))
    return asked, stated


@every_back_end
def test_the_corpus(back_end: BackEnd, tmp_path: pathlib.Path) -> None:
    """Values and gradients, against multiple precision."""
    asked, stated = corpus()
    for p, at, row in results(back_end, asked, tmp_path):
        got = {r.name: x for r, x in zip(p.results, row, strict=True)}
        known = entries(stated[(p, *at.values())], False)
        wrong = [(name, got[name], ref) for _, name, ref, allowed in known if abs(got[name] - ref) > allowed]
        assert not wrong, (print_program(p), wrong[:3])


@every_back_end
def test_a_product_and_a_sum_rounded_once(back_end: BackEnd, tmp_path: pathlib.Path) -> None:
    """Ties, cancellation, results without all their digits, the ends of the range; ties by a hair, where two roundings differ."""
    r, at = drawn("fma"), []
    for _ in range(100):
        x, scale, sign = 2.0 ** -r.randint(27, 40), 2.0 ** r.randint(-300, 300), r.choice((1, -1))
        at.append([(1 + x) * scale, sign * (1 - x), scale * r.choice((1, -1)) * (2.0 ** 53 + 2 * r.randint(0, 100))])
    for _ in range(400):
        a, b = (r.choice((1, -1)) * math.ldexp(r.getrandbits(53) | 1 << 52, r.randint(-60, 8)) for _ in "ab")
        near_product = math.nextafter(-a * b, r.choice((math.inf, -math.inf))) if r.random() < 0.5 else -a * b
        scale = r.choice((0, 0, 0, 500, -500, 900, -900))
        a, near_product = math.ldexp(a, scale), math.ldexp(near_product, scale)
        b = b if r.random() < 0.8 else math.ldexp(b, r.choice((400, -400)))
        at.append([a, b, r.choice((near_product, near_product * r.uniform(-3, 3), math.ldexp(1.0, r.randint(-1074, 1000))))])
    at += [list(x) for x in itertools.product((5e-324, -2.0 ** -1022, 0.5, 1.5, 2.0 ** 1023, 1.7976931348623157e308), repeat=3)]
    for p, point, (got,) in results(back_end, [(parse("input a, b, c\nz = fma(a, b, c)"), at)], tmp_path):
        assert same(got, want := evaluate(p, point, FLOAT)["z"]), (point, got, want)


@every_back_end
def test_constants(back_end: BackEnd, tmp_path: pathlib.Path) -> None:
    texts = ["nan", "inf", "-inf", "0.0", "-0.0", "5e-324", "-1.7976931348623157e308", "1e22", "0.1", "-2"]
    p = parse("input x\n" + "\n".join(f"c{i} = x > {i} ? {text} : x" for i, text in enumerate(texts)))
    for _, at, row in results(back_end, [(p, [[20.0], [-20.0]])], tmp_path):
        assert all(map(same, row, map(float, texts) if at["x"] > 0 else [-20.0] * len(texts))), (at, row)


@every_back_end
def test_functions_far_from_1(back_end: BackEnd, tmp_path: pathlib.Path) -> None:
    """Functions of the mathematics library, and those written out, where arguments are large or small."""
    mp, r, of = mpmath_arithmetic(60), drawn("functions far from 1"), {}
    sizes = (lambda: r.uniform(-4, 4), lambda: r.uniform(-200, 200), lambda: r.choice((1, -1)) * 2.0 ** r.uniform(-300, 300))
    for op in few_costly(REAL):
        if op.ulps and op.ulps > 0.5 and not op.static:
            of[program(op)] = op
    asked = [(p, [[r.choice(sizes)() for _ in p.params] for _ in range(30)]) for p in of]
    for p, at, (got,) in results(back_end, asked, tmp_path):
        op, want = of[p], evaluate(p, {k: mp.constant(x) for k, x in at.items()}, mp)["z"]
        if math.isfinite(float(want)) and abs(float(want)) > 1e-300:
            unit = math.ulp(max(abs(float(want)), *((1.0, abs(next(iter(at.values())))) if op.absolute else (0.0,))))
            assert abs(got - want) <= op.ulps * unit, (op.name, at, got, float(want))
        else:
            reference = evaluate(p, at, FLOAT)["z"]
            assert same(got, reference) or abs(got - reference) <= 1e-290, (op.name, at, got, reference)


NAMES = ["var", "lambda", "y1", "Math", "np", "x_", "inputs", "f_1", "arguments", "eval", "await", "None", "NaN", "undefined",
         "_max", "α", "x̂", "größe", "a·b", "π_1", "_u", "__proto__", "constructor", "Δt", "ﬁ", "变量", "round",
         "pow", "shape", "let", "tuple", "int", "double", "in_", "outs", "work", "work_1", "f0", "f0_max", "f0_part0", "return",
         "I", "NAN", "EOF", "linux", "__x", "main", "signgam", "template", "stdin"]


@also_in_parts
def test_names_that_the_language_has_other_uses_for(back_end: BackEnd, tmp_path: pathlib.Path) -> None:
    p = parse(f"input {', '.join(NAMES)}\nf = max({', '.join(NAMES)}) ** round(var)\n__proto = {NAMES[0]} * 2\noutput f, __proto")
    ((_, _, row),) = results(back_end, [(p, [[float(i + 1) for i in range(len(NAMES))]])], tmp_path)
    assert row == [float(len(NAMES)), 2.0]


@also_in_parts
def test_long_programs(back_end: BackEnd, tmp_path: pathlib.Path) -> None:
    """Linear in their length, and no deeper than engines take: sums, choices and signs in one another. Values, conditions too,
    pass from part to part. One reads nothing."""
    deep = "x" + " + 1" * 600
    nested = "".join(f"x > {k} ? " for k in range(300)) + "x" + "".join(f" : {k}" for k in range(300))
    chain = "\n".join([*(f"a{k + 1} = sin(a{k}) + {k}" for k in range(1500)), "a0_ = a0"])
    texts = [f"input x, a0\nu = {deep}\nw = {nested}\nm = {'-(' * 400}x{')' * 400}\n{chain}\noutput u, w, m, a1500",
             "a = 1\nb = 2\n" + "\n".join(f"c{i} = sin({i})" for i in range(40))]
    r, programs = drawn("long"), [*map(parse, texts), *(long_program(n, n) for n in (12, 60, 500))]
    asked = [(p, [[r.uniform(-2, 2) for _ in p.params] for _ in range(3 if p.params else 1)]) for p in programs]
    for p, at, row in results(back_end, asked, tmp_path):
        assert row == pytest.approx(list(evaluate(p, at, FLOAT).values()), rel=1e-9, nan_ok=True), (len(p.equations), at)


# ---------------------------------------------------------------- tensors

MATRICES = """input A(N, N), b(N), S(T, N, N), c(T, N), B(N, K), int32 k(M)
L = cholesky(A)
x = solve(transpose(A), b)
X = solve(A, B)
V = inverse(A)
h(0, i) = b(i)
for t in 0:T { g(t) = solve(S(t), h(t)); d(t) = logdet(S(t)); h(t+1, i) = tanh(g(t, i)) + c(t, i) + d(t) }
w = solve_lower(A, x)
u = solve_upper(S, c)
z(m) = logdet(S(k(m)))
output x, X, L, V, h, w, u, z
"""
SEARCHES = """input xs(N), ys(N), x(M), A(T, N)
y(i) = interp(x(i), xs, ys)
n(t, i) = search(A(t), x(i))
h(0) = x(0)
for t in 0:T { h(t+1) = h(t)/2 + interp(h(t), xs, ys) }
output y, n, h
"""
ENDING = """input a, b
x(0) = a; x(1) = 3 + b
for k in 1:60 until abs(x(k+1) - x(k)) < 1e-6 { x(k+1) = x(k) - (x(k)**2 - 2)*(x(k) - x(k-1))/(x(k)**2 - x(k-1)**2) }
v(60, i) = i + a where i in 0:3
for k in 0:60 down until v(k, 0) < b { v(k, i) = v(k+1, i)/2 }
y = x(60); z = x(59) + x(58)
s +=! v(0, i)
output y, z, s
"""
AWKWARD = """input range(len, bool), min(len), int32 IndexError(len)
int(0) = min(0)
for reversed in 0:len { int(reversed+1) = tanh(int(reversed))*range(reversed, 0) }
__proto__(RangeError) +=! range(IndexError(RangeError), ArrayBuffer)*min(RangeError)**(RangeError - 1)
max +=! int(RangeError)*__proto__(RangeError) where RangeError in 0:len
odd(i) = min(i) where i in 0:len, i % 2 == 1
back(len - 1 - i) = i % 3 == 0 ? nan : min(i) > 0 ? inf : -inf where i in 0:len, i % 3 > 0
output max, int, __proto__, odd, back
"""
"""Names of what modules call, powers of indices, points that guards leave, and constants that are not finite."""


_known: dict[tuple[int, int], tuple[Program, Any, list[float] | None]] = {}


def known(program: Program, at: Given) -> list[float] | None:
    """What the reference gives, which does not depend on the back end."""
    key = id(program), id(at)
    if key not in _known:
        _known[key] = program, at, expected(program, at)   # which keeps both of these alive
    return _known[key][2]


def alike(back_end: TensorBackEnd, programs: list[Program], points: list[list[Point]], folder: pathlib.Path) -> None:
    """The results are those of the reference, or none where it refuses the point."""
    numbers = 0
    for p, row, found in zip(programs, points, back_end.run(folder, programs, points), strict=True):
        said = print_program(p, "nested", [])
        for (at, sizes), got in zip(row, found, strict=True):
            if got is ... or (back_end.nested and any(0 in np.shape(x)[:-1] for x in at.values())):
                continue
            want = known(p, at)
            if want is None:
                assert not got or size_conditions(p).loose, (said, sizes, at)
                continue
            assert got is not None, (said, sizes, at)
            scale = max((abs(x) for x in want if abs(x) < 1e300), default=0.0)
            np.testing.assert_allclose(got, want, 1e-10, 1e-10 * max(1.0, scale), err_msg=said)
            numbers += len(want)
    assert numbers


@cache
def tensor_programs() -> tuple[list[Program], list[list[Point]]]:
    """Programs of other people and of the tests, differentiated in some way, at sizes that fit and at others."""
    r = drawn("tensors")
    loops = r.sample(sorted(LOOPS.values(), key=lambda made: made.text), 2)
    texts = [*(made.text for made in loops), loops[0].text.replace(" {", " checkpoint {"), MATRICES, SEARCHES, AWKWARD]
    made = [*derivatives(r, 6), *(adjoint_program(parse(text)) for text in texts), parse(ENDING)]
    programs = [evaluation_program(p) for p in made]
    choices = ((2,), (3,), (5,), (0, 1), (0, 1, 2, 3))
    return programs, [[drawn_point(r, p, sizes) for sizes in choices] for p in programs]


@cache
def comprehensions() -> tuple[list[Program], list[list[Point]]]:
    """Ranks, strides, windows, diagonals, guards, gathers, scatters, every reduction: values and derivatives."""
    r = drawn("comprehensions")
    made = [*at_random(r, 10)]
    return [p for p, _ in made], [[at, *(drawn_point(r, p, (1, 2, 3)) for _ in range(3))] for p, at in made]


@pytest.mark.whole
@every_tensor_back_end
@pytest.mark.parametrize("made", [tensor_programs, comprehensions], ids=["tensors, loops and matrices", "random comprehensions"])
def test_programs_with_tensors(made: Callable[[], tuple[list[Program], list[list[Point]]]], back_end: TensorBackEnd,
                               tmp_path: pathlib.Path) -> None:
    alike(back_end, *made(), tmp_path)


@every_tensor_language
def test_nothing_is_read_where_no_point_is(back_end: TensorBackEnd, tmp_path: pathlib.Path) -> None:
    texts = ["y(i) = x(2)*z(i)", "y(i) +=! x(i)*z(2) where i in 0:N", "y(j) +=! x(2*i)*z(j) where i in 0:3",
             "s +=! x(N - 1)*z(i)", "y(i) = x(5)*z(i) where i in 0:M, i >= 5",
             "s max=! x(5)*z(i) where i in 0:M, i >= 5", "y(j) +=! x(k(i))*z(j)",
             "y(i) = z(i) + x(1) where i in 1:M", "y(2) +=! z(i)*x(0) where float(M) y"]
    programs = [parse(f"input x(N), z(M), int32 k(K)\n{text}") for text in texts]
    every = [{"N": n, "M": m, "K": k} for n in (0, 1, 3, 6) for m in (0, 1, 3) for k in (0, 1)]
    row: list[Point] = [({"x": np.arange(s["N"]) + 0.5, "z": np.arange(s["M"]) - 1.0, "k": np.full(s["K"], 2)}, s) for s in every]
    alike(back_end, programs, [row]*len(programs), tmp_path)


FITTING = {   # program: sizes, values, and whether they fit
    "input T(R, D), int32 I(B)\nO(b, d) = T(I(b), d)": [
        ({"R": 2, "D": 1, "B": 2}, {"T": [[1], [2]], "I": [1, 0]}, True),
        ({"R": 2, "D": 1, "B": 2}, {"T": [[1], [2]], "I": [1, 2]}, False),
        ({"R": 2, "D": 1, "B": 2}, {"T": [[1], [2]], "I": [-1, 0]}, False),
        ({"R": 0, "D": 1, "B": 0}, {"T": np.ones((0, 1)), "I": []}, True),
        ({"R": 0, "D": 1, "B": 1}, {"T": np.ones((0, 1)), "I": [0]}, False)],
    "input x(N), w(K)\ny(i) +=! x(i + k) * w(k)": [
        ({"N": 3, "K": 2}, {"x": [1, 2, 3], "w": [1, 1]}, True), ({"N": 1, "K": 3}, {"x": [1], "w": [1, 1, 1]}, False)],
    "input x(N), y(M)\nz(i) = x(i) * y(i) where i in 0:N": [
        ({"N": 2, "M": 3}, {"x": [1, 2], "y": [1, 1, 1]}, True), ({"N": 3, "M": 2}, {"x": [1, 2, 3], "y": [1, 1]}, False)],
    "input x(N), int32 n\nz(i) = x(i) where i in 0:n": [
        ({"N": 2}, {"x": [1, 2], "n": 2}, True), ({"N": 2}, {"x": [1, 2], "n": 3}, False),
        ({"N": 2}, {"x": [1, 2], "n": -1}, False)],
}


@every_tensor_back_end
def test_what_does_not_fit_is_refused(back_end: TensorBackEnd, tmp_path: pathlib.Path) -> None:
    programs = [parse(text) for text in FITTING]
    points = [[({name: np.array(x) for name, x in at.items()}, sizes) for sizes, at, _ in rows] for rows in FITTING.values()]
    for p, row, fits, found in zip(programs, points, FITTING.values(), back_end.run(tmp_path, programs, points), strict=True):
        for (at, _), (*_, fit), got in zip(row, fits, found, strict=True):
            assert not got or (fit and got == expected(p, at)), (print_program(p), at, got)
