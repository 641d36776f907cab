"""The zero rule for seeds given at run time: an exact zero in a tangent or cotangent drops what it would have caused.

A derivative program is linear in its seeds, or a polynomial in them where it gives Taylor coefficients. Just before code is
made, this pass gives every value that depends on a seed the condition under which that is not zero by construction, and lets
it into a sum or a result only under that condition; 0·∞ from a direction the user did not ask for then never becomes NaN.
Derivative programs as text stay plain, since they are to be differentiated again, where a gate on a seed would be wrong.

For a scalar the condition is a truth value. For a tensor it is a tensor of its own, not zero where an element exists: the seed
itself, then, along lines that move elements, one computed beside the value, and behind a sum the number of terms that exist.
Only bodies that can be infinite at finite values look at it; what none looks at is dropped. A plain product with an element
that is infinite itself is none of them: a test in each would make products of matrices slower by a third.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib import import_module

from adcli.lang.ir import Atom, Equation, Lit, Primitive, Program, Var
from adcli.lang.ir.build import Builder, apply
from adcli.lang.ir.primitives import TABLE
from adcli.lang.modes.guards import ABSENT_TERM
from adcli.lang.simplify.simplify import prune

ADD, SUB, MUL, SELECT, DUP = TABLE["add"], TABLE["sub"], TABLE["mul"], TABLE["select"], TABLE["dup"]
AND, OR = TABLE["and"], TABLE["or"]
of_tensors = cache(lambda: import_module(f"{__name__}_tensors"))
"""The part for operations on tensors, which programs of scalars never load."""
LINEAR_ROWS = {TABLE[name] for name in ("neg", "mul", "div")}
Present = dict[Atom, Var]
"""For a scalar that depends on seeds, the truth value that says that it does not come from zero seeds alone."""
Flags = dict[Atom, Atom]
"""For a tensor, or what comprehensions made of one, a value of the same shape that is not zero where the element exists."""


def drop_zero_seeds(program: Program) -> Program:
    """The program for evaluation, with every seed-dependent value let in only where a seed of it is not zero."""
    seeds = [p.var for p in program.params if p.seed]
    if not seeds:
        return program
    b = Builder()
    gate = Gate(b, {x: (b.expr(x) != 0).var for x in seeds if not x.shape}, {x: x for x in seeds if x.shape})
    gate.lines(program.equations)
    results = tuple([r.with_atom(gate.or_else(r.atom, 0.0)) for r in program.results])
    return prune(replace(program, equations=tuple(b.equations), results=results))


class Gate:
    """The lines of a program or of a body, with what depends on seeds let in only where it is there."""

    def __init__(self, b: Builder, present: Present, flags: Flags) -> None:
        self.b, self.present, self.flags = b, present, flags
        self.joined: dict[tuple[Primitive, Var, Var], Var] = {}

    def lines(self, equations: Iterable[Equation]) -> None:
        for e in equations:
            self.b.span, self.b.group = e.span, 0
            if e.op.tensors:
                of_tensors().enter(self, e)
            elif e.op is DUP:
                self.copy(e)
            else:
                self.row(e)

    def or_else(self, atom: Atom, otherwise: float) -> Atom:
        """The value where it is there, else a constant; a tensor as it is, since its elements have been seen to."""
        if atom not in self.present:
            return atom
        return apply(SELECT, self.b.expr(self.present[atom]), self.b.expr(atom), otherwise).atom

    def copy(self, e: Equation) -> None:
        self.b.equations.append(e)
        if e.args[0] in self.present:
            self.present.update(dict.fromkeys(e.outs, self.present[e.args[0]]))
        if e.args[0] in self.flags:
            self.flags.update(dict.fromkeys(e.outs, self.flags[e.args[0]]))

    def row(self, e: Equation) -> None:
        """A row of the table; what is linear in seeds stays, and its result is there when they are."""
        here, gated = [self.present[a] for a in e.args if a in self.present], e
        if here and e.op in (ADD, SUB, SELECT):
            gated = self.sum(e)
        elif here and e.op not in LINEAR_ROWS:
            gated, here = Equation(e.outs, e.op, tuple(self.or_else(a, 0.0) for a in e.args), e.span), []
        self.b.equations.append(gated)
        if here and not e.op.truth:
            whole = _chosen(self.b, e, self.present) if e.op is SELECT else here[0]
            for other in here[1:] if e.op is not SELECT else ():
                whole = self.join(AND if e.op is MUL else OR, whole, other)
            self.present.update(dict.fromkeys(e.outs, whole))

    def sum(self, e: Equation) -> Equation:
        """A sum, difference or choice whose terms come from different seeds."""
        first, second = e.args[-2:]
        plain = e.op is SELECT and (isinstance(first, Lit) or isinstance(second, Lit))
        if plain or self.present.get(first) is self.present.get(second):
            return e
        left, right = self.or_else(first, ABSENT_TERM), self.or_else(second, ABSENT_TERM if e.op is ADD else 0.0)
        return Equation(e.outs, e.op, (*e.args[:-2], left, right), e.span)

    def join(self, op: Primitive, one: Var, other: Var) -> Var:
        """Two conditions as one: a sum is there with one of its terms, a product with both factors."""
        if one is other:
            return one
        key = (op, one, other)
        if key not in self.joined:
            self.joined[key] = apply(op, self.b.expr(one), self.b.expr(other)).var
        return self.joined[key]


def _chosen(b: Builder, e: Equation, present: Present) -> Var:
    """Whether a seed of the arm taken is not zero; an arm without seeds is what stands for nothing."""
    condition, first, second = e.args
    one, other, taken = present.get(first), present.get(second), b.expr(condition)
    if one is not None and other is not None:
        return one if one is other else ((taken & b.expr(one)) | (~taken & b.expr(other))).var
    return (taken & b.expr(one)).var if one is not None else (~taken & b.expr(present[second])).var
