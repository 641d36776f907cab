"""Single precision on rows: all rows of the table with their derivatives, every width, every kind of code."""
from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest
from adcli.codegen.machine import veclib
from adcli.codegen.machine.arrays import of_doubles, run_arrays
from adcli.codegen.machine.kernel import Kernel, run
from adcli.codegen.rows import jit, tiers
from adcli.codegen.rows.compiled import Interpreted, compile_program
from adcli.codegen.rows.expand import expand, for_machine
from adcli.codegen.rows.instructions import DEFINITIONS, Instructions
from adcli.codegen.rows.llvm import Numbers
from adcli.codegen.rows.long_kernel import LongKernel
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate, rounded_arithmetic
from adcli.lang.ir import Atom, Param, Primitive, Program, Result, Var, substitute
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.precision import SINGLE
from back_ends import bits
from multiple_precision import mpmath_arithmetic
from native_programs import everything, long_program
from one_operation import IN_DOUBLE, few_costly, program, samples
from one_operation import REAL as EVERY
from session_seed import drawn

LANES = veclib.lanes(4)
SPECIAL = [SINGLE.rounded(x) for x in
           (0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.0, 2.0 ** -149, -1e-30, 1e30, math.inf, -math.inf, math.nan)]
REAL = few_costly([op for op in EVERY if op.name not in IN_DOUBLE])
EXACT = [op for op in REAL if op.ulps in (0.0, 0.5) and op.name not in ("fmod", "stop")]
"""Operations of which IEEE 754 says every bit."""
ULPS, NEAR = 40, 1 / 16
"""What a derivative to second order may be off by, in ulps of its value or of NEAR, whichever is larger."""
MP = mpmath_arithmetic(40)


def together(programs: dict[str, Program]) -> Program:
    """Programs side by side, on the same inputs."""
    shared: dict[str, Param] = {}
    equations, results = [], []
    for name, each in programs.items():
        for p in each.params:
            shared.setdefault(p.name, Param(Var(p.name), p.name))
        env: dict[Atom, Atom] = {p.var: shared[p.name].var for p in each.params}
        moved = substitute(each, env)
        equations += moved.equations
        results += [Result(f"{name} {r.name}", r.atom) for r in moved.results]
    return Program(tuple(shared.values()), tuple(equations), tuple(results))


def derivatives() -> dict[str, Program]:
    """Every row with a real value to second order, in both modes."""
    return {f"{op.name} {mode}": gradient(program(op), mode=mode, order=2) for op in REAL for mode in ("forward", "reverse")}


@cache
def compiled(lanes: int) -> Kernel:
    return compile_program(for_machine(together(derivatives())), lanes, precision="single")


def at_points(kernel: Kernel, whole: Program, points: list[dict[str, float]]) -> list[dict[str, float]]:
    columns = run(kernel, [[p.get(x.name, 0.5) for p in points] for x in whole.params], len(points))
    return [dict(zip([r.name for r in whole.results], row, strict=True)) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("lanes", [1, LANES])
def test_values_and_derivatives_to_second_order_against_multiple_precision(lanes: int) -> None:
    made = derivatives()
    whole = together(made)
    points = [(op, {name: SINGLE.rounded(x) for name, x in at.items()}) for op in REAL for at in samples(op, 2)]
    for (op, at), found in zip(points, at_points(compiled(lanes), whole, [at for _, at in points]), strict=True):
        for mode in ("forward", "reverse"):
            name = f"{op.name} {mode}"
            exact = {k: MP.constant(x) for k, x in at.items()}
            for kind, want in evaluate(made[name], exact, MP).items():
                allowed = ULPS * 2.0 ** -23 * max(abs(want), NEAR)
                assert abs(found[f"{name} {kind}"] - want) <= allowed, (name, kind, at, found[f"{name} {kind}"], float(want))


def test_special_values_give_what_doubles_give() -> None:
    """Where it is no number, infinite or zero; the least numbers overflow and underflow elsewhere than the least doubles do."""
    whole = together(derivatives())
    names = [p.name for p in whole.params]
    usual = [x for x in SPECIAL if not 0 < abs(x) < 1e-6 and not 1e6 < abs(x) < math.inf]
    points = [dict(zip(names, at, strict=True)) for at in
              drawn("special singles").sample(list(itertools.product(usual, repeat=len(names))), 60)]
    double = compile_program(for_machine(whole))
    for at, got, want in zip(points, at_points(compiled(LANES), whole, points), at_points(double, whole, points), strict=True):
        for name, w in want.items():
            x, w = got[name], SINGLE.rounded(w)
            same = bits(x) == bits(w) or math.isclose(x, w, rel_tol=1e-4, abs_tol=1e-5)
            assert same, (name, at, x, w)


@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in EXACT])
def test_what_is_rounded_once_is_that_of_the_evaluator(op: Primitive) -> None:
    """Python's floats rounded to single; on every special value, and on random ones."""
    one, r = program(op), drawn("singles", op.name)
    points = list(itertools.product(SPECIAL, repeat=len(one.params)))
    points = (r.sample(points, 100) if len(points) > 200 else points) + [
        tuple(SINGLE.rounded(r.uniform(-4, 4)) for _ in one.params) for _ in range(50)]
    columns = [list(c) for c in zip(*points, strict=True)]
    (got,), (want,) = (run(k, columns) for k in (compile_program(for_machine(one), precision="single"), Interpreted(one, SINGLE)))
    assert list(map(bits, got)) == list(map(bits, want))


def test_products_and_sums_rounded_once_are_numpys() -> None:
    """The evaluator itself, against float32 of NumPy, and against longer numbers for the fused operation."""
    r, known = np.random.default_rng(drawn("numpy").getrandbits(32)), rounded_arithmetic(SINGLE)
    for x, y, z in (r.normal(size=(500, 3)) * 2.0 ** r.integers(-20, 20, (500, 3))).astype(np.float32):
        a, b, c = float(x), float(y), float(z)
        for name, want in (("add", x + y), ("mul", x * y), ("div", x / y), ("sqrt", np.sqrt(np.abs(x)))):
            assert known.functions[name](*((abs(a),) if name == "sqrt" else (a, b))) == float(want)
        assert known.functions["fma"](a, b, c) == float(np.float32(np.longdouble(a) * b + c))


def test_every_kind_of_code_has_the_same_bits() -> None:
    program = long_program(200)
    columns = [[SINGLE.rounded(drawn("kinds", i, k).uniform(-2, 2)) for k in range(37)] for i in range(5)]
    want = run(compile_program(program, precision="single"), columns)
    long = LongKernel(expand(program, DEFINITIONS), LANES, veclib.host(), Numbers(precision=SINGLE))
    kernels = [tiers.native(program, "tape", precision="single"), jit.link(jit.object_codes(long.texts, 0), long.entry)]
    for kernel in kernels:
        assert [list(map(bits, c)) for c in run(kernel, columns)] == [list(map(bits, c)) for c in want]
    few = [c[:3] for c in columns]
    assert [list(map(bits, c)) for c in run(kernels[0], few)] == [list(map(bits, c[:3])) for c in want]


def test_columns_of_doubles_and_of_singles() -> None:
    kernel = compile_program(everything(), precision="single")
    assert (kernel.entry.code, kernel.entry.size, kernel.lanes) == ("f", 4, LANES)
    for rows in (0, 1, LANES, 5 * LANES + 3):
        x = np.linspace(0.1, 0.9, rows)
        found = run_arrays(kernel, [x.astype(np.float32)])
        assert {c.dtype for c in found} == {np.dtype(np.float32)}
        wide = run_arrays(of_doubles(kernel), [x])
        assert [c.tobytes() for c in wide] == [c.astype(np.float64).tobytes() for c in found]
    with pytest.raises(ValueError, match="array of float32"):
        run_arrays(kernel, [np.zeros(4)])


@pytest.mark.parametrize(("lanes", "symbol"), [(4, "_ZGVbN4v_sinf"), (8, "_ZGVdN8v_sinf"), (16, "_ZGVeN16v_sinf"), (2, None)])
def test_the_vector_library_in_single_precision(lanes: int, symbol: str | None) -> None:
    every = veclib.Library("every", lambda symbol: True)
    assert every.symbol("sinf", 1, lanes, 4) == symbol
    called = Instructions(lanes, every, precision=SINGLE).template(TABLE["sin"])
    assert f"@{symbol or 'lanes.sinf'}(<{lanes} x float>" in called


def test_a_constant_is_rounded_once() -> None:
    assert Instructions(1, veclib.NO_LIBRARY, precision=SINGLE).constant(0.1) == "0x3FB99999A0000000"
