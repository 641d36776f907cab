"""Which part of a program computes the values and which their derivatives.

A derivative is a result that was taken with respect to inputs (dv_dx), that depends on a seed, or that is called the tangent of
another result (dv) or the adjoint of an input (d_dx). What other results need is the value; all else is there for derivatives.
"""
from __future__ import annotations

from typing import NamedTuple

from adcli.lang.ir import Program, Var
from adcli.lang.ir.recurrence import Recurrence


class Derivatives(NamedTuple):
    """What of a program is there for derivatives: values that nothing else needs, seeds among them, and names of results."""

    values: set[Var]
    results: set[str]


def derivatives(program: Program) -> Derivatives:
    """The derivatives of a program, in time linear in its length."""
    seeds = {p.var for p in program.params if p.seed}
    moved = set(seeds)
    for e in program.equations:
        if not moved.isdisjoint(e.args):
            moved.update(e.outs)
    marked = {f"d{r.name}" for r in program.results} | {f"d_d{p.name}" for p in program.params}
    results = {r.name for r in program.results if r.wrt or r.name in marked or r.atom in moved}
    needed = {r.atom for r in program.results if r.name not in results}
    for e in reversed(program.equations):
        if not needed.isdisjoint(e.outs):
            needed.update(e.args)
            if isinstance(e.op, Recurrence):   # whose statements are written together
                needed.update(e.outs)
    return Derivatives(seeds | {out for e in program.equations for out in e.outs if out not in needed}, results)
