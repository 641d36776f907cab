"""The conditions under which values of a program matter.

A value that only one arm of a `select` reads has no part in any result where the other arm is taken. There it may be anything, so
that what computes it may assume the condition.
"""
from __future__ import annotations

from adcli.lang.ir import Atom, Program
from adcli.lang.ir.primitives import TABLE

SELECT = TABLE["select"]
Context = frozenset[tuple[Atom, bool]]
"""Conditions, each with its truth, that hold wherever a value matters."""
ALWAYS: Context = frozenset()
DEEPEST = 8
"""Conditions of a context at most, so that time and memory are linear in chains of choices."""


def contexts(program: Program) -> dict[Atom, Context]:
    """The context of every value that a result needs, in one pass backwards."""
    found: dict[Atom, Context] = {r.atom: ALWAYS for r in program.results}
    for e in reversed(program.equations):
        there = [found[o] for o in e.outs if o in found]
        if not there:
            continue
        whole = there[0].intersection(*there[1:])
        under = [whole] * len(e.args)
        if e.op is SELECT and len(whole) < DEEPEST:
            under[1:] = [whole | {(e.args[0], True)}, whole | {(e.args[0], False)}]
        for a, context in zip(e.args, under, strict=True):
            found[a] = found[a] & context if a in found else context
    return found
