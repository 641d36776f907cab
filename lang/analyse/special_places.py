"""Where a program may be no smooth function of an input, as numbers whose signs tell.

The table says of each operation where it is not smooth, as conditions such as x == 0 or x == y, and whether it is a step.
Exact equality is met at single points, which samples miss. So for every comparison in a condition there is the difference of its
sides here, and for every step its value: where one of them changes its sign or its value between two points, there is a place
between them that bisection finds. A difference that only touches 0, such as the x**2 in 1/x**2, has a least size there.

What is found so is a candidate: a condition in an arm that is not taken changes nothing. Whoever looks there sees whether a
value or a derivative does.
"""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from adcli.lang.ir import POLE, Equation, Program, Result
from adcli.lang.ir.build import Builder, apply
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.activity import active_values
from adcli.lang.simplify.simplify import simplify

ROUND, COS, TAN, SUB = (TABLE[name] for name in ("round", "cos", "tan", "sub"))


class Telltale(NamedTuple):
    """A number that tells of the places of one operation: their `level`, and whether its value is a `step` or its sign counts."""

    equation: Equation
    level: int
    step: bool


def quantities(program: Program, wrt: Collection[str]) -> tuple[Program, list[Telltale]]:
    """A program of scalars whose results are the quantities of the operations that depend on the inputs `wrt`, and what each
    is."""
    b, active, found = Builder(), active_values(program, wrt), list[Telltale]()
    results: list[Result] = []

    def tell(e: Equation, level: int, atom: object, step: bool) -> None:
        results.append(Result(f"q{len(results)}", atom))  # type: ignore[arg-type]  # an atom
        found.append(Telltale(e, level, step))

    for e in program.equations:
        b.equations.append(e)
        if active.isdisjoint(e.args):
            continue
        args, out = [b.expr(a) for a in e.args], b.expr(e.outs[0])
        worst = max((s.level for s in e.op.status), default=POLE)
        if e.op.pieces == "step":
            tell(e, worst, out.atom, True)
        elif e.op.pieces == "sawtooth":
            tell(e, worst, apply(ROUND, (args[0] - out) / args[1]).atom, True)
        elif e.op is TAN:   # infinite at points that are no doubles, so its row has no condition
            tell(e, POLE, apply(COS, *args).atom, False)
        else:
            for status in e.op.status:
                start = len(b.equations)
                status.condition(out, *args)
                for inner in b.equations[start:]:
                    if inner.op.truth and not any(getattr(a, "truth", False) for a in inner.args):
                        tell(e, status.level, b.emit(SUB, *inner.args), False)
                    elif inner.op.pieces == "step":
                        tell(e, status.level, inner.outs[0], True)
    return simplify(replace(program, equations=tuple(b.equations), results=tuple(results))), found
