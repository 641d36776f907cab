"""Sums over the rows of a table of constants, such as the nodes of a quadrature: an operation on numbers that is a loop in code.

Formulas of special functions are made of them (`lang/formulas`), so they stand in programs that are written out for a machine
only, and are never differentiated. Where a target has no loop for them, `value` is the sum written out.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from adcli.lang.ir import Atom, Lit, Param, Primitive, Program, Result, Var
from adcli.lang.ir.build import Builder, Expr, apply

Table = Sequence[Sequence[float]]
Term = Callable[..., Expr]


class TableSum(Primitive):
    """The sum of `term`, a function of the columns of a row and of the arguments, from the first row of `table` to the last."""

    def __init__(self, name: str, table: Table, term: Term, count: int) -> None:
        super().__init__(name, "r" * count + ">r", libm="table_sum", value=self.written_out)
        self.table, self.written_term = table, term

    def written_out(self, *args: Expr) -> Expr:
        """The sum without a loop."""
        builder = args[0].builder
        total = builder.expr(Lit(0.0))
        for row in self.table:
            total = total + self.written_term(*[builder.expr(Lit(x)) for x in row], *args)
        return total

    @cached_property
    def term(self) -> Program:
        """The term as a program whose first inputs are the columns."""
        builder = Builder()
        names = [*(f"c{i}" for i in range(len(self.table[0]))), *(f"x{i}" for i in range(self.arity))]
        atoms: list[Atom] = [Var(name) for name in names]
        value = self.written_term(*map(builder.expr, atoms))
        params = tuple(Param(a, name) for a, name in zip(atoms, names, strict=True) if isinstance(a, Var))
        return Program(params, tuple(builder.equations), (Result("z", value.atom),))


_sums: dict[str, tuple[TableSum, list[int]]] = {}
"""Each sum, and which of the arguments given its term has."""


def table_sum(name: str, table: Table, term: Term, *args: Expr) -> Expr:
    """The sum of `term` over a table for these arguments, of which it need not have all. A name is that of one sum."""
    if name not in _sums:
        columns, count = len(table[0]), len(args)
        program = TableSum(name, table, term, count).term
        read = {r.atom for r in program.results}
        for e in reversed(program.equations):
            read.update(e.args if not read.isdisjoint(e.outs) else ())
        used = [k for k in range(count) if program.params[columns + k].var in read]

        def of_used(*given: Expr) -> Expr:
            inner = [given[0].builder.expr(Lit(0.0))] * count
            for k, x in zip(used, given[columns:], strict=True):
                inner[k] = x
            return term(*given[:columns], *inner)
        _sums[name] = TableSum(name, table, of_used, len(used)), used
    found, used = _sums[name]
    return apply(found, *[args[k] for k in used])
