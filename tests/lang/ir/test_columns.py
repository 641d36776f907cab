"""The columns of the table of primitives: every row keeps what its columns promise."""
from __future__ import annotations

import ctypes
import itertools
import math
import random
import re

import numpy as np
import pytest
from adcli.codegen.machine.kernel import run
from adcli.codegen.rows.compiled import compile_program
from adcli.codegen.rows.expand import for_machine
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate, numpy_arithmetic
from adcli.lang.ir import JUMP, Primitive
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.rule_programs import map_rule
from back_ends import same
from multiple_precision import mpmath_arithmetic
from one_operation import COSTLY, REAL, SPECIAL, number_of_points, program, samples
from row_tables import each_row
from session_seed import drawn

NUMPY = numpy_arithmetic()
MP = mpmath_arithmetic(60)
UNARY = [op for op in REAL if op.signature == "r>r"]
SEVERAL = [op for op in REAL if op.arity > 1 and not op.static and "t" not in op.signature]
rows = each_row("op", TABLE.values(), ids=lambda op: op.name)
real = each_row("op", REAL, ids=lambda op: op.name)
unary = each_row("op", UNARY, ids=lambda op: op.name)
several = each_row("op", SEVERAL, ids=lambda op: op.name)


def value(op: Primitive, *args: float) -> float:
    return FLOAT.apply(op, list(args), ())


def partials(op: Primitive, *args: float) -> list[float]:
    """The partial derivatives with respect to the arguments that are no constants."""
    p = program(op)
    found = evaluate(gradient(p), dict(zip([x.name for x in p.params], args, strict=True)), FLOAT)
    return [found[f"dz_d{x.name}"] for x in p.params]


# ---------------------------------------------------------------- words

@rows
def test_every_row_says_what_it_is(op):
    assert 3 <= len(op.about) <= 60 and not op.about.endswith(".")
    names = op.args.split(", ")
    assert names[-1] == "…" if op.variadic else len(names) == op.arity
    assert len(set(names)) == len(names)


@rows
def test_forms_of_mathematics_have_a_place_for_every_operand(op):
    for form in filter(None, (op.latex, op.unicode)):
        places = re.findall(r"#(\d)", form)
        assert not places or sorted(map(int, places)) == list(range(1, op.arity + 1))


@each_row("op", [op for op in REAL if not op.variadic and "t" not in op.signature], ids=lambda op: op.name)
def test_a_value_is_a_number_exactly_where_the_row_says(op):
    names = op.args.split(", ")
    whole = {names[i] for i in op.static}
    condition = parse(f"v = {op.defined} ? 1 : 0") if op.defined else None
    numbers = [x for x in SPECIAL if math.isfinite(x)]
    points = list(itertools.product(*[range(4) if n in whole else numbers for n in names]))
    most = number_of_points(op, 500) if op.name in COSTLY else len(points)
    for args in drawn("defined", op.name).sample(points, most) if most < len(points) else points:
        at = dict(zip(names, map(float, args), strict=True))
        inside = condition is None or evaluate(condition, {p.name: at[p.name] for p in condition.params}, FLOAT)["v"] == 1
        atoms = program(op, static=[args[i] for i in op.static]).equations[-1].args
        got = FLOAT.apply(op, list(map(float, args)), atoms)
        assert not math.isnan(got) if inside else not math.isfinite(got), (args, got)


# ---------------------------------------------------------------- machines

OPERATORS = {"<", "<=", ">", ">=", "==", "!=", "&&", "||", "!", "?:", "+", "-", "*", "/"}
C99 = frozenset((
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh", "erf", "erfc",
    "exp", "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax", "fmin", "fmod", "hypot", "lgamma", "log", "log10",
    "log1p", "log2", "pow", "round", "sin", "sinh", "sqrt", "tan", "tanh", "tgamma", "trunc"))


@rows
def test_the_spelling_in_c_agrees_with_what_a_machine_has(op):
    assert op.c is None or op.c in OPERATORS | C99
    if op.libm:
        assert op.c == op.libm
    if op.c in OPERATORS:
        assert op.llvm and not op.llvm.startswith("llvm.")
    if op.c is None:
        assert op.value or op.name in ("dup", "max", "min")


@each_row("op", [op for op in REAL if op.c in C99], ids=lambda op: op.name)
def test_c_computes_what_the_row_means(op):
    function = getattr(ctypes.CDLL("libm.so.6"), op.c)
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * op.arity
    drawn = [tuple(at.values()) for at in samples(op, 50)]
    special = list(itertools.product(SPECIAL, repeat=op.arity)) if op.arity < 3 else []
    for args in drawn + special:
        got, want = function(*args), value(op, *args)
        allowed = 10 * math.ulp(max(abs(want), 1.0 if op.absolute else 0.0)) if math.isfinite(want) else 0.0
        assert got == want or (got != got and want != want) or abs(got - want) <= allowed, (args, got, want)


MATH = frozenset((
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "cos", "cosh", "exp", "expm1", "floor",
    "hypot", "log", "log10", "log1p", "log2", "max", "min", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"))
"""Functions of JavaScript that mean what ours do; `Math.round` and `Math.pow` do not."""


@rows
def test_the_spelling_in_javascript_is_an_operator_or_a_function_of_math(op):
    assert op.js is None or op.js in OPERATORS - {"==", "!="} | {"===", "!==", "%"} or op.js.removeprefix("Math.") in MATH
    assert op.js is not None or op.value or op.libm or op.name in ("dup", "fma", "round", "copysign")


@each_row("op", [op for op in REAL if op.python and op.python.startswith("np.")], ids=lambda op: op.name)
def test_numpy_computes_what_the_row_means(op):
    functions = getattr(np, op.python.removeprefix("np.")), NUMPY.functions[op.name]
    points = [tuple(at.values()) for at in samples(op, 20)] + list(itertools.product(SPECIAL, repeat=op.arity))[:300]
    with np.errstate(all="ignore"):
        for args in points:
            args = (args[0] > 0, *args[1:]) if op.kind(0) == "t" else args
            want = value(op, *args)
            allowed = 10 * math.ulp(want) if math.isfinite(want) and op.ulps else 0.0
            for got in (float(function(*args)) for function in functions):
                assert same(got, want) or abs(got - want) <= allowed, (args, got, want)


@real
def test_units_in_the_last_place(op):
    if op.ulps is None:
        assert op.value
        return
    p, kernel = program(op), compile_program(for_machine(program(op)))
    at = samples(op, 100, seed=3)
    native = run(kernel, [[point[x.name] for point in at] for x in p.params])[0]
    for point, computed in zip(at, native, strict=True):
        want = evaluate(p, {k: MP.constant(x) for k, x in point.items()}, MP)["z"]
        bound = op.ulps * math.ulp(float(want)) if op.ulps else 0.0
        if op.absolute:
            bound += op.ulps * 2.0 ** -52 * max(1.0, abs(next(iter(point.values()))))
        for got in (evaluate(p, point, FLOAT)["z"], computed):
            assert abs(got - want) <= bound * (1 + 1e-9), (point, got, float(want))


def test_truth_has_no_units():
    assert all(op.ulps is None for op in TABLE.values() if op.truth)


# ---------------------------------------------------------------- shapes of functions

@unary
def test_steps_are_those_whose_rule_says_so(op):
    """The rule of a step function: zero by construction, NaN at NaN."""
    rule = map_rule(op, 0, (), 1)
    first = rule.equations[0] if rule and rule.condition else None
    flat = first is not None and first.outs[0] is rule.condition and first.op is TABLE["ne"] and first.args == rule.args * 2
    assert flat == (op.pieces == "step")


@real
def test_pieces(op):
    kinks = {s.level for s in op.status}
    for at in samples(op, 20):
        args = list(at.values())
        match op.pieces:
            case "largest":
                assert value(op, *args) == max(args)
            case "smallest":
                assert value(op, *args) == min(args)
            case "sign":
                assert abs(value(op, *args)) == abs(args[0])
            case "sawtooth":
                assert JUMP in kinks and partials(op, *args)[0] == 1
            case "hinge":
                far = [value(op, x, *args[1:]) for x in (-1e9, -1e10)]
                assert far[0] == far[1] and 1 in kinks
            case _:
                assert op.pieces in (None, "step")


@real
def test_an_operation_that_jumps_says_how(op):
    jumps = {s.level for s in op.status} >= {JUMP}
    assert jumps <= (op.pieces in ("step", "sign", "sawtooth") or op.name in ("pow", "atan2"))


@each_row("op", [op for op in REAL if "t" not in op.signature and not op.static], ids=lambda op: op.name)
def test_what_vanishes(op):
    others = [[abs(x) for x in list(at.values())[1:]] for at in samples(op, 10)]
    first = all(value(op, 0.0, *rest) == 0 for rest in others)
    together = value(op, *[0.0] * op.arity) == 0
    assert op.vanishes == (first or together)


@unary
def test_what_saturates(op):
    if op.pieces or op.name == "stop":
        return
    slopes = [abs(partials(op, x)[0]) for x in (1e300, -1e300)]
    assert op.saturates == any(s < 1e-3 for s in slopes) or op.periodic, slopes


@each_row("op", [TABLE[n] for n in ("atan2", "logaddexp")], ids=lambda op: op.name)
def test_what_saturates_in_its_first_argument(op):
    assert op.saturates and any(abs(partials(op, x, 1.0)[0]) < 1e-3 for x in (1e300, -1e300))


@unary
def test_what_is_periodic(op):
    assert op.periodic == (not op.defined and math.isnan(value(op, math.inf)))
    for x in (0.3, -1.1) if op.periodic else ():
        assert value(op, x) == pytest.approx(value(op, x + 2 * math.pi), abs=1e-12)


@several
def test_what_has_a_factor(op):
    """A derivative with respect to one argument is 0 where another one is."""
    if op.pieces:
        return
    r = random.Random(op.name)

    def zero(i: int, k: int) -> bool:
        at = [[r.uniform(*op.domain[min(j, len(op.domain) - 1)]) if j != k else 0.0 for j in range(op.arity)] for _ in range(5)]
        return all(partials(op, *args)[i] == 0 for args in at)
    assert op.factored == any(zero(i, k) for i, k in itertools.permutations(range(op.arity), 2))
