"""Taylor coefficients of any order: one more program, whose values are the coefficients of power series.

Along x(s) = x + s·dx every value of a program is a power series in s; `adcli.lang.derive.power_series` says how the table's
rules give its coefficients. An operation costs O(N²) equations at order N. Those whose rule leads from one function to a
next one (gamma by way of the polygammas, a power with a positive exponent by way of lower powers) have a chain of such
functions, as long as N, or as the exponent where that is a smaller constant.
"""
from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction

from adcli.lang.derive.power_series import Expansion
from adcli.lang.ir import Atom, Param, Program, Result, Var, has_tensors, shape_of, substitute
from adcli.lang.ir.build import Builder
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import Names
from adcli.lang.ir.records import paused
from adcli.lang.modes.forward import jvp_with_sweep, seeded, strip_seeds
from adcli.lang.operations.activity import inputs_to_differentiate, outputs_to_differentiate
from adcli.lang.operations.elementwise import elementwise
from adcli.lang.operations.limits import MOST_DERIVATIVES, quantity, said, too_much
from adcli.lang.operations.recurrence import with_statements
from adcli.lang.passes.pipeline import chosen_outputs, run
from adcli.lang.simplify.simplify import simplify

HIGHEST_FACTORIAL = 170
"""170! is the largest factorial that is a double."""

MOST_OPERATIONS = 3_000_000
"""Operations beyond which a program of coefficients is refused; they stand in few long lines, which takes code generation longer
than others do."""
MOST_OF_TANGENTS = 3_000
"""Operations of a program with tensors, whose coefficients are tangents of tangents."""
SAMPLE_ORDERS, LOOKED_AHEAD_FROM = (8, 16, 32), 64
"""Orders at which operations are counted, and the order from which that is worth it."""


@paused()
def taylor(program: Program, wrt: Sequence[str], of: Sequence[str] | None, order: int, scaled: bool = False) -> Program:
    """The Taylor coefficients v_0, v_1, …, v_`order` of s ↦ v(x + s·dx) at s = 0, for every result v in `of`.

    Inputs gain `dx` for every x in `wrt`. With `scaled` the results are the derivatives, k! times the coefficients.
    AdError for an unknown name, for an order that is none, and for a program that would be too large.
    """
    inputs, outputs = inputs_to_differentiate(program, wrt), outputs_to_differentiate(program, of)
    check_order(order, scaled)
    primal, names = chosen_outputs(program, outputs), Names.of(program)
    if has_tensors(program):
        return by_tangents(primal, inputs, order, scaled, names)
    refuse_long(primal, inputs, order)
    return run(primal, [lambda p: expanded(p, inputs, names, order, scaled), simplify])


def expanded(program: Program, inputs: Collection[str], names: Names, order: int, scaled: bool) -> Program:
    """The pass that makes of every value the coefficients of its power series; new inputs and results get their `names`."""
    seeds = tuple(Param(Var(n := names.fresh(f"d{p.name}")), n, seed=p.name) for p in program.params if p.name in inputs)
    b = Builder()
    expansion = Expansion(b, order, MOST_OPERATIONS)
    direction = {s.seed: s.var for s in seeds}
    for p in program.params:
        expansion.enter(p.var, direction.get(p.name))
    for e in program.equations:
        expansion.line(e)
    results = [Result(names.fresh(f"{r.name}_{k}"), expansion.result(r.atom, k, math.factorial(k) if scaled else 1))
               for r in program.results for k in range(order + 1)]
    params = strip_seeds(program) + seeds
    return substitute(replace(program, params=params, equations=tuple(b.equations), results=tuple(results)), expansion.hints)


def by_tangents(primal: Program, inputs: Collection[str], order: int, scaled: bool, names: Names) -> Program:
    """The coefficients of a program with tensors, as tangents of tangents along one direction, divided by k!. Each order takes
    about twice the operations of the one before."""
    seeds = tuple(seeded(names.fresh(f"d{p.name}"), p.var, p.name) for p in primal.params if p.name in inputs)
    program, newest = replace(primal, params=(*strip_seeds(primal), *seeds)), primal.results
    for _ in range(order):
        program = run(once_more(program, inputs, seeds, newest), [simplify])
        if (count := lines(program)) > MOST_OF_TANGENTS:
            raise too_much(f"the coefficients up to order {quantity(order)} take more than", count, "operations",
                           "ask for a lower order", MOST_OF_TANGENTS)
        newest = program.results[-len(newest):]
    return run(program, [lambda p: divided(p, primal, order, scaled, names), simplify])


def lines(program: Program) -> int:
    """Operations of a program, those of every element and of a step counted once."""
    return sum(1 + len(e.op.inner()) for e in with_statements(program.equations))


def once_more(program: Program, inputs: Collection[str], seeds: tuple[Param, ...], of: tuple[Result, ...]) -> Program:
    """The tangents of the results `of` beside them, along the same seeds, which have none themselves."""
    plain = replace(program, params=tuple(p for p in program.params if p not in seeds))
    moved, sweep = jvp_with_sweep(plain, inputs, [r.name for r in of])
    same: dict[Atom, Atom] = {new.var: old.var for new, old in zip(sweep.seeds, seeds, strict=True)}
    return replace(substitute(moved, same), params=program.params)


def divided(program: Program, primal: Program, order: int, scaled: bool, names: Names) -> Program:
    """The derivatives of all orders, which are the results of a program, as coefficients by output."""
    b, count, results = Builder(), len(primal.results), []
    b.equations.extend(program.equations)
    for i, r in enumerate(primal.results):
        for k in range(order + 1):
            value, factorial = program.results[k * count + i].atom, 1.0 if scaled else float(math.factorial(k))
            if factorial != 1:
                tensor = shape_of(value)
                value = (elementwise(b, lambda x, n=factorial: x / n, value) if tensor else b.expr(value) / factorial).atom
            results.append(Result(names.fresh(f"{r.name}_{k}"), value))
    return replace(program, equations=tuple(b.equations), results=tuple(results))


def refuse_long(program: Program, inputs: Collection[str], order: int) -> None:
    """AdError where the coefficients would be too many, or take too many operations. These grow as a polynomial of the order, of
    degree 2 for most rows, so what they will come to is told from three low orders."""
    help = "ask for a lower order"
    if (count := (order + 1) * len(program.results)) > MOST_DERIVATIVES:
        raise too_much(f"order {quantity(order)} gives", count, "coefficients", help, MOST_DERIVATIVES)
    if order > LOOKED_AHEAD_FROM:
        low, middle, high = (len(expanded(program, inputs, Names.of(program), n, False).equations) for n in SAMPLE_ORDERS)
        if (count := extrapolated(low, middle, high, order)) > MOST_OPERATIONS:
            what = f"the coefficients up to order {quantity(order)} take about"
            raise too_much(what, count, "operations", help, MOST_OPERATIONS)


def extrapolated(low: int, middle: int, high: int, order: int) -> int:
    """The value at `order` of the polynomial of degree 2 that has these three at `SAMPLE_ORDERS`."""
    a, b, c = SAMPLE_ORDERS
    first, second = Fraction(middle - low, b - a), Fraction(high - middle, c - b)
    bend = (second - first) / (c - a)
    return math.floor(low + first * (order - a) + bend * (order - a) * (order - b))


def check_order(order: int, scaled: bool) -> None:
    if not isinstance(order, int) or order < 0:
        raise AdError(f"order must be a whole number of at least 0, not {said(order)}", help="order 2 gives v_0, v_1 and v_2")
    if scaled and order > HIGHEST_FACTORIAL:
        raise AdError(f"{said(order)}! is too large for a double",
                      help="ask for the coefficients, which are not multiplied by it")
