"""The rewrites of --fast-math in statements on tensors and loops: sums of products by fused operations, and divisions by
what is the same for several dividends as products with its reciprocal.

    y(i) = (a(i)*b(i) + c(i))/s        r = 1/s      y(i) = fma(a(i), b(i), c(i))*r

Both are written here, before anything is known of loops and registers. LLVM, licensed to do the same, would do it in one loop and
not in the one for what that leaves over, and so results would depend on the number of threads. An expression becomes the same
whatever else its statement computes, so a value that is computed twice, to be compared with itself, has the same bits.
"""
from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from adcli.lang.ir import Atom, Equation, Lit, Primitive, Program, Var
from adcli.lang.ir.affine import Index
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.comprehension import Comprehension, atoms_in, whole_values
from adcli.lang.operations.precision import Precision
from adcli.lang.operations.recurrence import Recurrence

MUL, ADD, SUB, DIV, NEG = (TABLE[name] for name in ("mul", "add", "sub", "div", "neg"))
FUSED = replace(TABLE["fma"], llvm="llvm.fmuladd")
"""a·b + c, rounded once where the processor has an operation for that."""


def with_fast_math(program: Program, precision: Precision) -> Program:
    """The program with what the option allows. What is computed once, or is to be a whole number, stays as it is."""
    return replace(program, equations=tuple([_with_bodies(e, precision) for e in program.equations]))


def _with_bodies(e: Equation, precision: Precision) -> Equation:
    """An operation on tensors, or a loop of such, with its bodies so."""
    op = e.op
    if isinstance(op, Recurrence):
        return replace(e, op=replace(op, statements=tuple([_with_bodies(s, precision) for s in op.statements])))
    if not isinstance(op, Comprehension) or e.outs[0].whole:
        return e
    indices: dict[Atom, frozenset[Index]] = {}
    for p, s in op.inputs():
        indices[p.var] = frozenset(op.indices).intersection(atoms_in([s]))
    body = _FastMathBody(precision, indices, whole_values(op.body, op.sources))
    for x in op.body.equations:
        body.add(x)
    return replace(e, op=replace(op, body=replace(op.body, equations=tuple(body.equations))))


class _FastMathBody:
    """The equations of a body, as they are added. `indices` says of its sources which indices they depend on; what is `whole` is
    exact as it is."""

    def __init__(self, precision: Precision, indices: Mapping[Atom, frozenset[Index]], whole: Collection[Atom]) -> None:
        self.precision, self.indices, self.whole = precision, dict(indices), whole
        self.equations: list[Equation] = []
        self.products: dict[Atom, tuple[Atom, Atom]] = {}
        self.reciprocals: dict[Var, Var] = {}

    def add(self, e: Equation) -> None:
        """An equation, behind what it reads."""
        self.indices.update(dict.fromkeys(e.outs, self.of(*e.args)))
        if e.outs[0] not in self.whole:
            e = self.quotient(e) if e.op is DIV else self.sum(e) if e.op in (ADD, SUB) else e
        if e.op is MUL:
            self.products[e.outs[0]] = e.args[0], e.args[1]
        self.equations.append(e)

    def of(self, *atoms: Atom) -> frozenset[Index]:
        """The indices that any of these depends on."""
        return frozenset[Index]().union(*[self.indices.get(a, ()) for a in atoms])

    def sum(self, e: Equation) -> Equation:
        """A sum or difference, fused with its first operand that is a product."""
        x, y = e.args
        if x in self.products:
            a, b = self.products[x]
            return replace(e, op=FUSED, args=(a, b, self.negative(y) if e.op is SUB else y))
        if y in self.products:
            a, b = self.products[y]
            return replace(e, op=FUSED, args=(self.negative(a) if e.op is SUB else a, b, x))
        return e

    def negative(self, a: Atom) -> Atom:
        return Lit(-a.value) if isinstance(a, Lit) else self.made(NEG, a)

    def quotient(self, e: Equation) -> Equation:
        """A division, as a product where its divisor depends on fewer indices than the quotient, or has a reciprocal."""
        x, y = e.args
        if isinstance(y, Lit):
            inverse = self.precision.rounded(1 / y.value) if y.value else 0.0
            return replace(e, op=MUL, args=(x, Lit(inverse))) if self.precision.smallest <= abs(inverse) else e
        if self.of(y) == self.of(x, y):
            return e
        if y not in self.reciprocals:
            self.reciprocals[y] = self.made(DIV, Lit(1.0), y)
        return replace(e, op=MUL, args=(x, self.reciprocals[y]))

    def made(self, op: Primitive, *args: Atom) -> Var:
        """The value of one more operation."""
        out = Var(None, True)
        self.indices[out] = self.of(*args)
        self.equations.append(Equation((out,), op, args))
        return out
