"""Guards that cannot hold are dropped: no bit changes, at no point, and what is known of values is so."""
from __future__ import annotations

import math
from itertools import product

from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate, every_value
from adcli.lang.ir import Program, Var
from adcli.lang.lower.frontend import parse
from adcli.lang.modes.forward import jvp
from adcli.lang.passes.pipeline import run
from adcli.lang.printing.printer import print_program
from adcli.lang.simplify.ranges import Ranges
from adcli.lang.simplify.simplify import simplify
from back_ends import bits
from random_programs import mixed_points, sample
from row_tables import each_row
from session_seed import drawn

POINTS = (0.0, -0.0, 5e-324, -1e-300, 0.5, -0.5, 1.0, -1.0, 3.0, -20.0, 800.0, -800.0, 1e300, math.inf, -math.inf, math.nan)


@each_row("formula, derivatives", [
    ("log(1 + x**2)", "(x + x) * (1 / i2)"), ("sqrt(x**4 + 0.5)", None), ("log(exp(x) + exp(-x))", None),
    ("x > 0 ? log(x) : 0", "i1 ? 1 / x : 0"), ("x > 0 ? log(x)*sqrt(x) : x", "i1 ? 1 / x * i3 + i2 * (0.5 / i3) : 1"),
    ("x >= 0 ? sqrt(x) : y", None), ("x < 2 ? log(2 - x) : 1", None), ("abs(x*x + 1)*y", "x * x + 1; d_dx1 + d_dx1"),
    ("max(x*x, -1)*y", "x * x; d_dx1 + d_dx1"), ("min(-1, exp(x)) + abs(x*x)", None), ("(1 + x*x)**y", None), ("exp(x)**y", None),
    ("log1p(cosh(x))", "sinh(x) * (1 / (1 + i1))"), ("log(x)", "x < 0 ? f : 1 / (x + 0)"), ("sqrt(x*y)", None),
    ("log(x*y) + abs(x)*log(abs(x))", None), ("x > y ? log(x) : log(y)", None), ("log(max(x, 0.5))", None)])
def test_guards_go_and_bits_stay(formula, derivatives):
    whole = parse(f"f = {formula}")
    exact, short = jvp(whole, [p.name for p in whole.params]), gradient(whole)
    program = run(exact, [simplify])
    for values in product(POINTS, repeat=len(whole.params)):
        at = dict(zip([p.name for p in whole.params], values, strict=True))
        for seed in whole.params:
            seeds = {f"d{p.name}": float(p is seed) for p in whole.params}
            want, got = (evaluate(p, {**at, **seeds}) for p in (exact, program))
            assert {k: bits(v) for k, v in want.items()} == {k: bits(v) for k, v in got.items()}, (at, seed.name)
    if derivatives:
        lines = [line.partition(" = ")[2] for line in print_program(short).splitlines() if line.startswith("df_d")]
        assert "; ".join(lines) == derivatives


def test_ranges_hold_what_programs_compute():
    r, bound = drawn("ranges"), 0
    for _ in range(60):
        program = parse(sample(r, 12, True).text)
        ranges = Ranges(program.equations)
        for at in mixed_points(r, program, 4):
            values = every_value(program, at, FLOAT)
            for out in (o for e in program.equations for o in e.outs if not o.truth):
                bound += holds(ranges, out, values[out], program)
    assert bound > 100


def holds(ranges: Ranges, out: Var, x: float, program: Program) -> bool:
    """Check that a value is in its range; true where that says something."""
    low, high, minus = ranges.of(out)
    if x == x:
        assert low <= x <= high and (minus or x != 0 or math.copysign(1, x) > 0), (out, x, print_program(program))
    return low > -math.inf or high < math.inf
