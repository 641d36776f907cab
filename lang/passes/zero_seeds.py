"""The zero rule for seeds given at run time: an exact zero in a tangent or cotangent drops what it would have caused.

A derivative program is linear in its seeds, or a polynomial in them where it gives Taylor coefficients. Just before code is
made, this pass gives every value that depends on a seed the condition under which that is not zero by construction, and lets
it into a sum or a result only under that condition; 0·∞ from a direction the user did not ask for then never becomes NaN.
Derivative programs as text stay plain, since they are to be differentiated again, where a gate on a seed would be wrong.
"""
from __future__ import annotations

from collections.abc import Iterable

from adcli.lang.ir import Atom, Equation, Lit, Primitive, Program, Result, Var
from adcli.lang.ir.build import Builder, Expr, apply
from adcli.lang.ir.comprehension import Comprehension
from adcli.lang.ir.elementwise import has_tensors
from adcli.lang.ir.primitives import TABLE
from adcli.lang.passes.guards import NOTHING
from adcli.lang.passes.simplify import prune

ADD, SUB, MUL, SELECT, DUP = TABLE["add"], TABLE["sub"], TABLE["mul"], TABLE["select"], TABLE["dup"]
AND, OR = TABLE["and"], TABLE["or"]
LINEAR = {TABLE[name] for name in ("neg", "mul", "div", "dup")}
Present = dict[Atom, Var]
"""For a value that depends on seeds, the truth value that says that it does not come from zero seeds alone."""
Joined = dict[tuple[Primitive, Var, Var], Var]
"""Two such truth values taken together: a sum is there with one of its terms, a product with both factors."""


def drop_zero_seeds(program: Program) -> Program:
    """The program for evaluation, with every seed-dependent value let in only where a seed of it is not zero."""
    if not any(p.seed for p in program.params):
        return program
    b = Builder()
    present: Present = {p.var: _truth(b.expr(p.var) != 0) for p in program.params if p.seed and not p.var.shape}
    if has_tensors(program):
        _gate_tensors(b, program, present)
    else:
        _gate(b, program.equations, present)
    results = tuple(Result(r.name, _absent(b, r.atom, present, 0.0), r.of, r.wrt) for r in program.results)
    gated = Program(program.params, tuple(b.equations), results, program.source, program.notes)
    return prune(gated) if has_tensors(program) else gated


def gate_body(b: Builder, body: Program, present: Present) -> Atom:
    """Append the equations of a body with every seed-dependent value let in only where it is present; returns the result."""
    _gate(b, body.equations, present)
    return _absent(b, body.results[0].atom, present, 0.0)


def _gate_tensors(b: Builder, program: Program, present: Present) -> None:
    """The equations of a program with tensors: scalars as ever, comprehensions by elements."""
    from adcli.lang.passes.tensor_seeds import gated
    flags: dict[Atom, Atom] = {p.var: p.var for p in program.params if p.seed and p.var.shape}
    for e in program.equations:
        if isinstance(e.op, Comprehension):
            b.span, b.group = e.span, 0
            flags.update({a: apply(SELECT, b.expr(present[a]), 1.0, 0.0).atom for a in e.args if a in present and a not in flags})
            gated(b, e, flags)
            out = e.outs[0]
            if out in flags and not out.shape:
                present[out] = _truth(b.expr(flags[out]) != 0)
        elif e.op is DUP and e.args[0] in flags:
            b.equations.append(e)
            flags.update(dict.fromkeys(e.outs, flags[e.args[0]]))
        else:
            _gate(b, (e,), present)


def _gate(b: Builder, equations: Iterable[Equation], present: Present) -> None:
    """Append scalar equations, gated, and enter which of their values are present."""
    joined: Joined = {}
    for e in equations:
        b.span, b.group = e.span, 0
        source, here = e, [present[a] for a in e.args if a in present]
        if e.op in (ADD, SUB, SELECT) and here:
            e = _gated(b, e, present)
        elif here and e.op not in LINEAR:
            e = Equation(e.outs, e.op, tuple(_absent(b, a, present, 0.0) for a in e.args), e.span)
            here = []
        b.equations.append(e)
        if here and not e.op.truth:
            whole = _chosen(b, source, present) if e.op is SELECT else here[0]
            for other in here[1:] if e.op is not SELECT else ():
                whole = _joined(b, AND if e.op is MUL else OR, whole, other, joined)
            present.update(dict.fromkeys(e.outs, whole))


def _gated(b: Builder, e: Equation, present: Present) -> Equation:
    """A sum, difference or choice whose terms come from different seeds."""
    first, second = e.args[-2:]
    if present.get(first) is present.get(second) or (e.op is SELECT and (isinstance(first, Lit) or isinstance(second, Lit))):
        return e
    left = _absent(b, first, present, NOTHING)
    right = _absent(b, second, present, NOTHING if e.op is ADD else 0.0)
    return Equation(e.outs, e.op, (*e.args[:-2], left, right), e.span)


def _absent(b: Builder, atom: Atom, present: Present, otherwise: float) -> Atom:
    if atom not in present:
        return atom
    return apply(SELECT, b.expr(present[atom]), b.expr(atom), otherwise).atom


def _joined(b: Builder, op: Primitive, one: Var, other: Var, joined: Joined) -> Var:
    if one is other:
        return one
    key = (op, one, other)
    if key not in joined:
        joined[key] = _truth(apply(op, b.expr(one), b.expr(other)))
    return joined[key]


def _chosen(b: Builder, e: Equation, present: Present) -> Var:
    """Whether a seed of the arm taken is not zero; an arm without seeds is what stands for nothing."""
    condition, first, second = e.args
    one, other, taken = present.get(first), present.get(second), b.expr(condition)
    if one is not None and other is not None:
        return one if one is other else _truth((taken & b.expr(one)) | (~taken & b.expr(other)))
    return _truth(taken & b.expr(one)) if one is not None else _truth(~taken & b.expr(present[second]))


def _truth(condition: Expr) -> Var:
    assert isinstance(condition.atom, Var)
    return condition.atom
