"""Programs in terms of what a machine has: compositions written out, copies removed, n-ary folds made binary.

A row of the table that has a `value` and neither an instruction nor a libm symbol is replaced by that composition,
applied to the actual arguments, until none is left; a target may bring `definitions` of its own for rows it has no good
spelling of, and keep those that it writes as functions. The Var that the equation defined is the one that its composition
defines, so names survive.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from adcli.lang.ir import Atom, Equation, Primitive, Program, Var, operations
from adcli.lang.ir.build import Builder, Expr
from adcli.lang.ir.table_sum import TableSum
from adcli.lang.passes.pipeline import run
from adcli.lang.passes.zero_seeds import drop_zero_seeds
from adcli.lang.simplify.simplify import simplify

Definitions = Mapping[str, Callable[..., Expr]]
Substitution = dict[Atom, Atom]


def for_machine(program: Program) -> Program:
    """The program as code is made from it: zero seeds gated, compositions written out, simplified."""
    return run(program, [drop_zero_seeds, lambda p: expand(p, loops=True), simplify])


def expand(program: Program, definitions: Definitions | None = None,
           kept: Callable[[Equation], bool] = lambda e: False, loops: bool = False) -> Program:
    """The program with only rows that have an instruction or a libm symbol, of fixed arity and without `dup`. Compositions
    that are `kept` stay as they are; sums over tables are written out unless there are `loops`.

    Time is linear in the number of equations that come out.
    """
    definitions = definitions or {}
    used = operations(program)
    fixed = {op for op in used if not rewritten(op, definitions, loops)}
    if fixed == used:
        return program
    env: Substitution = {}
    done: list[Equation] = []
    stands_for = env.keys()
    for line in program.equations:
        if line.op in fixed and stands_for.isdisjoint(line.args):
            done.append(line)   # as most of a long program
            continue
        pending = [line]
        while pending:
            e = in_terms_of(pending.pop(), env)
            parts = None if e.op in fixed or kept(e) else rewrite(e, env, definitions, loops)
            if parts is None:
                done.append(e)
            else:
                pending.extend(reversed(parts))
    return replace(program, equations=tuple(done), results=tuple([r.with_atom(read(r.atom, env)) for r in program.results]))


def in_terms_of(e: Equation, env: Substitution) -> Equation:
    """The equation in terms of what its Vars stand for."""
    if env.keys().isdisjoint(e.args) and env.keys().isdisjoint(e.outs):
        return e
    return e.substituted({a: read(a, env) for a in (*e.outs, *e.args) if a in env})


def composed(op: Primitive, loops: bool) -> bool:
    """True if an operation is replaced by its definition by others."""
    return not loops if isinstance(op, TableSum) else op.llvm is None and op.libm is None


def rewritten(op: Primitive, definitions: Definitions, loops: bool) -> bool:
    """True if some equations of an operation are rewritten."""
    return composed(op, loops) or op.many is not None or op.name in definitions


def rewrite(e: Equation, env: Substitution, definitions: Definitions, loops: bool) -> list[Equation] | None:
    """The equations that stand for `e`, or None where it stays as it is."""
    value = definitions.get(e.op.name)
    if value is None and composed(e.op, loops):
        value = e.op.value
    if value is not None:
        return inlined(e, value, env)
    if e.op.name == "dup":
        env.update((out, e.args[0]) for out in e.outs)
        return []
    if e.op.variadic and len(e.args) > 2:
        return folded(e)
    return None


def inlined(e: Equation, value: Callable[..., Expr], env: Substitution) -> list[Equation]:
    """The composition `value` on the arguments of `e`, defining the result of `e`."""
    builder, (out,) = Builder(), e.outs
    builder.span, builder.group = e.span, e.group
    atom = value(*[builder.expr(a) for a in e.args]).atom
    fresh = isinstance(atom, Var) and any(atom in part.outs for part in builder.equations)
    if fresh and isinstance(atom, Var):
        env[atom] = out
    else:
        env[out] = atom
    return builder.equations


def folded(e: Equation) -> list[Equation]:
    """An n-ary operation as a chain of binary ones, from the left."""
    builder = Builder()
    builder.span, builder.group = e.span, e.group
    left = e.args[0]
    for right in e.args[1:-1]:
        left = builder.emit(e.op, left, right)
    return [*builder.equations, e.with_args((left, e.args[-1]))]


def read(atom: Atom, env: Substitution) -> Atom:
    """The replacement of `atom`; at most one step a nested composition."""
    while atom in env:
        atom = env[atom]
    return atom
