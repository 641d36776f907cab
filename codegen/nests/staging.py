"""Staging: what depends on known inputs alone as a program of its own, whose results are inputs of the rest.

Data of a fit or of a log density are the same in every call, and so are functions of them, as lgamma(y(i) + 1) in a likelihood of
counts. No bit of a result changes: the value of a function stands where it was computed, but never that of a whole statement,
whose last operation may be part of its sum.
"""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from adcli.codegen.nests.cse_across_statements import (
    ElementRead,
    function_values,
    is_computed,
    made_tensor,
    result_of,
    with_reads,
)
from adcli.lang.ir import Equation, Param, Program, Result, Var
from adcli.lang.ir.affine import atoms
from adcli.lang.ir.names import Names
from adcli.lang.operations.matrix import Boxed, bound_names


def staged(program: Program, known: Collection[str]) -> tuple[Program, Program]:
    """The program of values of the known inputs, and the rest, whose further inputs have the names of its results."""
    params = tuple([p for p in program.params if p.name in known])
    early, sizes = {p.var for p in params}, bound_names(params)
    first, later = list[Equation](), list[Equation]()
    for e in program.equations:
        read = {a for a in e.args if isinstance(a, Var)}
        if read and read <= early and sizes_of(e) <= sizes and not any(out.whole for out in e.outs):
            early.update(e.outs)
            first.append(e)
        else:
            later.append(e)
    reads: dict[int, dict[int, list[ElementRead]]] = {}
    for x in sorted(function_values(replace(program, equations=tuple(later))), key=lambda x: -len(x.key)):
        mine, e = reads.setdefault(x.place[0], {}).setdefault(x.place[1], []), x.equation
        if x.value is not result_of(e) and x.reads <= early and sizes_of(e) <= sizes and is_computed(x, mine):
            tensor, there = made_tensor(x, ())
            first.append(tensor)
            mine.append(ElementRead(x, there))
    equations = tuple([with_reads(e, reads[k]) if k in reads else e for k, e in enumerate(later)])
    used = {a for e in equations for a in e.args} | {r.atom for r in program.results}
    names = Names.of(program)
    made = [(out, names.fresh("known")) for e in first for out in e.outs if out in used]
    results = tuple([Result(name, out) for out, name in made])
    inputs = [Param(out, name, active=False) for out, name in made]
    return (replace(program, params=params, equations=tuple(first), results=results, problem=None),
            replace(program, params=(*program.params, *inputs), equations=equations))


def sizes_of(e: Equation) -> set[str]:
    """The sizes that an operation asks for, but for those of what it reads; a loop's are never known."""
    if not e.op.tensors:
        return set()
    if not isinstance(e.op, Boxed):
        return {""}
    ends = [x for r in e.op.ranges for x in (r.low, r.high)]
    return {a for x in (*ends, *e.op.guards, *e.op.shape) for a in atoms(x) if isinstance(a, str)}
