"""The rules of operations on tensors: comprehensions, operations on matrices, and loops.

Forward and reverse mode ask here where an operation is no row of the table, so a program of numbers loads none of this.
"""
from __future__ import annotations

from collections.abc import Collection, Mapping

from adcli.lang.ir import Atom, Equation
from adcli.lang.ir.build import Builder
from adcli.lang.ir.comprehension import Comprehension
from adcli.lang.ir.recurrence import Recurrence
from adcli.lang.passes.comprehension_rules import PullBack, PushForward, pulled, pushed
from adcli.lang.passes.guards import Term
from adcli.lang.passes.matrix_rules import pulled_matrix, pushed_matrix
from adcli.lang.passes.recurrence_rules import Named, pulled_recurrence, pushed_recurrence


def tangents_of(b: Builder, e: Equation, tangents: Mapping[Atom, Term], push_forward: PushForward, hint: Named
                ) -> dict[Atom, Term]:
    """The tangents of what an operation on tensors gives."""
    if isinstance(e.op, Recurrence):
        return pushed_recurrence(b, e, tangents, push_forward, hint)
    start, out = len(b.equations), e.outs[0]
    term = pushed(b, e, tangents, push_forward) if isinstance(e.op, Comprehension) else pushed_matrix(b, e, tangents)
    return {} if term is None else {out: term.named(b, hint(out), start)}


def adjoint_of(b: Builder, e: Equation, position: int, seed: Term, pull_back: PullBack) -> Term | None:
    """The adjoint of one argument from that of the one result."""
    if isinstance(e.op, Comprehension):
        return pulled(b, e, position, seed, pull_back)
    return pulled_matrix(b, e, position, seed)


def adjoints_of_loop(b: Builder, e: Equation, adjoints: Mapping[Atom, Term], positions: Collection[int], pull_back: PullBack,
                     hint: Named) -> dict[int, Term] | None:
    """The adjoints of arguments of a loop from those of its results; None where the operation is no loop."""
    if not isinstance(e.op, Recurrence):
        return None
    return pulled_recurrence(b, e, adjoints, positions, pull_back, hint)
