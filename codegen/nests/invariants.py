"""Invariants leave their loops: functions and quotients of numbers that a statement would compute at every point."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from adcli.codegen.nests.cse_across_statements import calls, cone
from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Var
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.comprehension import Comprehension, Read
from adcli.lang.operations.elementwise import compact
from adcli.lang.simplify.simplify import identity


def invariants_outside(program: Program, some: Callable[[Equation], object] = bool) -> Program:
    """The program with such values of some statements as equations of numbers before the first that has them."""
    found, known = list[Equation](), dict[object, Var]()
    for e in program.equations:
        if isinstance(e.op, Comprehension) and e.op.ranges and some(e):
            e = _without_invariants(e, found, known)
        found.append(e)
    return replace(program, equations=tuple(found))


def _without_invariants(e: Equation[Comprehension], found: list[Equation], known: dict[object, Var]) -> Equation:
    """The statement with numbers in place of them, whose equations are appended."""
    op = e.op
    values: dict[Atom, Atom] = {p.var: e.args[s.arg] for p, s in op.inputs() if isinstance(s, Read) and _number(e.args[s.arg])}
    moved = dict[Atom, None]()
    for x in op.body.equations:
        if all(isinstance(a, Lit) or a in values or a in moved for a in x.args):
            moved |= dict.fromkeys(x.outs)
    kept = [x for x in op.body.equations if x.outs[0] not in moved]
    edge = {a for x in kept for a in x.args}   # no result: its last operation may be part of a sum
    outside = [v for v in moved if v in edge and isinstance(v, Var) and not v.truth and any(map(_long, cone(op.body, v)))]
    if not outside:
        return e
    for x in [x for v in outside for x in cone(op.body, v)]:
        args = tuple([values.get(a, a) for a in x.args])
        key = (x.op, *[identity(a) if isinstance(a, Lit) else a for a in args])
        if key not in known:
            known[key] = out = Var(None, True, x.outs[0].truth)
            found.append(Equation((out,), x.op, args, e.span, e.group))
        values[x.outs[0]] = known[key]
    reads = tuple([Read(len(e.args) + k, ()) for k, _ in enumerate(outside)])
    params = tuple([replace(p, name=f"x{n}") for n, p in enumerate([*op.body.params, *(Param(v, "") for v in outside)])])
    equations = tuple([x for x in op.body.equations if x.outs[0] not in outside])
    op = replace(op, sources=(*op.sources, *reads), body=replace(op.body, params=params, equations=equations))
    return Equation(e.outs, *compact(op, (*e.args, *(values[v] for v in outside))), e.span, e.group)


def _number(a: Atom) -> bool:
    return isinstance(a, Lit) or not (a.shape or a.integer)


def _long(x: Equation) -> bool:
    """True for an operation that takes longer than keeping its value."""
    return x.op is TABLE["div"] or calls(x) > 0
