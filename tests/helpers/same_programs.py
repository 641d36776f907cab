"""When two programs are the same: whatever their variables are called inside, and the indices of their comprehensions, and in
whatever order ranges and sources stand."""
from __future__ import annotations

from adcli.lang.ir import Atom, Lit, Program, Var
from adcli.lang.operations.forms import form, loop_form
from adcli.lang.operations.matrix import Boxed
from adcli.lang.operations.recurrence import Recurrence


def equal(p: Program, q: Program) -> bool:
    """Whether two programs are the same program, whatever their variables are called inside.

    The order of equations that do not depend on each other is no part of a program: both are compared as data-flow
    graphs, walked from the results, which must match node for node. Names, defaults, ranges and the order of inputs
    and outputs count.
    """
    def interface(program: Program) -> list[object]:
        inputs = [(a.name, a.default, a.low, a.high, a.active, a.var.shape, a.var.integer, a.constraint) for a in program.params]
        return [*inputs, *(r.name for r in program.results)]

    if interface(p) != interface(q) or len(p.equations) != len(q.equations):
        return False
    left = {out: (e, i) for e in p.equations for i, out in enumerate(e.outs)}
    right = {out: (e, i) for e in q.equations for i, out in enumerate(e.outs)}
    match: dict[Var, Var] = {a.var: b.var for a, b in zip(p.params, q.params, strict=True)}
    taken: dict[Var, Var] = {b: a for a, b in match.items()}
    stack: list[tuple[Atom, Atom]] = [(a.atom, b.atom) for a, b in zip(p.results, q.results, strict=True)]
    while stack:
        a, b = stack.pop()
        if isinstance(a, Lit) or isinstance(b, Lit):
            if not (isinstance(a, Lit) and isinstance(b, Lit) and a.bits == b.bits):
                return False
        elif a in match or b in taken:
            if match.get(a) is not b or taken.get(b) is not a:
                return False
        else:
            (e, i), (f, j) = left[a], right[b]
            given, wanted = list(e.args), list(f.args)
            made, expected = e.outs, f.outs
            if e.op is not f.op and isinstance(e.op, Boxed) and isinstance(f.op, Boxed):
                (one, given), (other, wanted) = form(e), form(f)
                if one != other:
                    return False
            elif isinstance(e.op, Recurrence) and isinstance(f.op, Recurrence):
                (one, given, made), (other, wanted, expected) = loop_form(e), loop_form(f)
                if one != other or made.index(e.outs[i]) != expected.index(f.outs[j]):
                    return False
            elif e.op is not f.op or i != j:
                return False
            if len(given) != len(wanted):
                return False
            for x, y in zip(made, expected, strict=True):
                match[x], taken[y] = y, x
            stack.extend(zip(given, wanted, strict=True))
    return True
