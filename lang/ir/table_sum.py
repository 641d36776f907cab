"""Sums over the rows of a table of constants, such as the nodes of a quadrature: an operation on numbers that is a loop in code.

Formulas of special functions are made of them (`lang/formulas`), so they stand in programs that are written out for a machine
only, and are never differentiated. Where a target has no loop for them, `value` is the sum written out.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from adcli.lang.ir import Atom, Lit, Param, Primitive, Program, Result, Var
from adcli.lang.ir.build import Builder, Expr, apply
from adcli.lang.ir.errors import AdError

Table = Sequence[Sequence[float]]
Term = Callable[..., Expr]


class TableSum(Primitive):
    """The sum of `term`, a program whose first inputs are the columns of a row, from the first row of `table` to the last. A sum
    that `cancels` is of functions, which it names, that have few digits in single precision."""

    def __init__(self, name: str, table: Table, term: Program, cancels: str) -> None:
        super().__init__(name, "r" * (len(term.params) - len(table[0])) + ">r", libm="table_sum", value=self.written_out)
        self.table, self.term, self.cancels = table, term, cancels

    def written_out(self, *args: Expr) -> Expr:
        """The sum without a loop."""
        builder = args[0].builder
        total = builder.expr(Lit(0.0))
        for row in self.table:
            given: list[Atom] = [*map(Lit, row), *(x.atom for x in args)]
            env: dict[Atom, Atom] = {p.var: a for p, a in zip(self.term.params, given, strict=True)}
            for e in self.term.equations:
                env[e.outs[0]] = builder.emit(e.op, *[env.get(a, a) for a in e.args])
            total = total + builder.expr(env[self.term.results[0].atom])
        return total

    def require_digits(self, precision: str) -> None:
        """AdError where it has none in a precision."""
        if self.cancels and precision != "double":
            raise AdError(f"{self.cancels} of {precision} precision would have few digits",
                          help="use double precision, the default")


_sums: dict[str, tuple[TableSum, list[int]]] = {}
"""Each sum, and which of the arguments given its term reads."""


def table_sum(name: str, table: Table, term: Term, *args: Expr, cancels: str = "") -> Expr:
    """The sum of `term`, a function of the columns of a row and of these arguments, over a table. A name is that of one sum."""
    if name not in _sums:
        _sums[name] = made(name, table, term, len(args), cancels)
    found, used = _sums[name]
    return apply(found, *[args[k] for k in used])


def made(name: str, table: Table, term: Term, count: int, cancels: str) -> tuple[TableSum, list[int]]:
    """A sum, and which of `count` arguments its term reads."""
    builder, columns = Builder(), len(table[0])
    inputs = [*(Var(f"c{j}") for j in range(columns)), *(Var(f"x{k}") for k in range(count))]
    result = term(*map(builder.expr, inputs)).atom
    read: set[Atom] = {result}
    for e in reversed(builder.equations):
        read.update(e.args if not read.isdisjoint(e.outs) else ())
    used = [k for k in range(count) if inputs[columns + k] in read]
    params = tuple(Param(inputs[k], name) for k, name in [*((j, f"c{j}") for j in range(columns)),
                                                          *((columns + k, f"x{n}") for n, k in enumerate(used))])
    equations = tuple(e for e in builder.equations if not read.isdisjoint(e.outs))
    return TableSum(name, table, Program(params, equations, (Result("z", result),)), cancels), used
