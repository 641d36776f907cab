"""Programs of one operation, and the points at which tests look at them."""
from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from adcli.lang.ir import Equation, Lit, Param, Primitive, Program, Result, Var
from adcli.lang.ir.primitives import TABLE
from session_seed import drawn, fewer, part

BESSEL = {"bessel_k", "bessel_ke", "log_bessel_k", "bessel_i", "bessel_ie", "log_bessel_i", "bessel_j", "bessel_y"}
BETA = {name for name in TABLE if "inc_beta" in name}
OTHER_FORMS = {"bessel_ie", "log_bessel_i", *(f"d{name}" for name in BESSEL - {"bessel_k"}), *BETA - {"inc_beta"}}
REAL = [p for p in TABLE.values() if not p.truth and p.name not in ("dup", "dvoigt", *OTHER_FORMS)]
"""Every row with a real value, but those whose formulas others among them and their third derivatives are."""

SPECIAL_FUNCTIONS = {"gamma", "lgamma", "digamma", "polygamma", "logaddexp", "dpow", "lbeta", "dsinc", "expint_e1"}
"""Python's own gamma functions are further from the truth than libm's, and the others cross zero: multiple precision is the
judge of these, with 4 units in the last place of the largest term that the value is summed from."""

IN_DOUBLE = {"owens_t", "voigt", "dvoigt", *BESSEL, *(f"d{name}" for name in BESSEL)}
"""Rows that are refused in single precision."""
SUMS = {"gamma_p", "gamma_q", "dgamma_p", "gamma_density", "zeta", "dzeta", "hurwitz_zeta", "dhurwitz_zeta", "owens_t",
        *IN_DOUBLE, *BETA}
"""Sums over a table, whose terms NumPy rounds otherwise."""
COSTLY = {*SUMS, "lbeta", "polygamma_gap"}
"""Rows whose formulas take longer than all others together where they are interpreted."""
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 1e-300, -1e-300, 1e300, -1e300, math.inf, -math.inf, math.nan, 2.0, -0.5]


def program(op: Primitive, static: float | Sequence[float] = 2.0, count: int | None = None) -> Program:
    """z = op(x0, x1, …); static arguments are constants, a truth argument is c < 0 for a further input c."""
    params, args, equations = [], [], []
    constants = dict(zip(op.static, static if isinstance(static, Sequence) else (static,) * len(op.static), strict=True))
    for i in range(count or op.arity):
        if i in op.static:
            args.append(Lit(float(constants[i])))
        elif op.kind(i) == "t":
            c, t = Var(f"c{i}"), Var(f"t{i}", truth=True)
            params.append(Param(c, f"c{i}"))
            equations.append(Equation((t,), TABLE["lt"], (c, Lit(0.0))))
            args.append(t)
        else:
            x = Var(f"x{i}")
            params.append(Param(x, f"x{i}"))
            args.append(x)
    z = Var("z", truth=op.truth)
    equations.append(Equation((z,), op, tuple(args)))
    return Program(tuple(params), tuple(equations), (Result("z", z),))


def orders(name: str, each: Sequence[float]) -> list[tuple[float, ...]]:
    """Constants for a row of derivatives: each for all of them alike."""
    return [(n,) * len(TABLE[name].static) for n in each]


def samples(op: Primitive, n: int = 4, seed: int = 0) -> list[dict[str, float]]:
    """Points inside the row's domain, away from kinks and steps; one or few for a costly row."""
    r = drawn("samples", op.name, seed)
    names = [p.name for p in program(op).params]
    domain = {f"{kind}{i}": bounds for i, bounds in enumerate(op.domain) for kind in "xc"}
    return [{name: r.uniform(*domain.get(name, op.domain[-1])) for name in names} for _ in range(number_of_points(op, n))]


def number_of_points(op: Primitive, usual: int) -> int:
    """At most so many points for an operation: a sixteenth for a costly one. Another run draws others."""
    return fewer(usual, 16) if op.name in COSTLY else usual


def few_costly(rows: Sequence[Primitive]) -> list[Primitive]:
    """Rows without most of the costly ones, where each of these is a text of thousands of lines. Another run has others."""
    return [*(op for op in rows if op.name not in COSTLY), *part([op for op in rows if op.name in COSTLY], 8, bit=2)]


def power_terms(x: float, y: float, m: float, n: float) -> float:
    """A bound of the size of the terms of dpow(x, y, m, n), x > 0, a polynomial in y and log(x) of which two may cancel."""
    return x ** (y - m) * (m + abs(y)) ** m * (1 + abs(math.log(x))) ** n


def special_points(op: Primitive) -> list[dict[str, float]]:
    """Every special value, and for two arguments every pair of them; for three a random choice."""
    names = [p.name for p in program(op).params]
    points = list(itertools.product(SPECIAL, repeat=len(names)))
    most = number_of_points(op, 300)
    if len(points) > most:
        points = drawn("special_points", op.name).sample(points, most)
    return [dict(zip(names, p, strict=True)) for p in points]
