"""How the solution of equations depends on the other inputs, as a program: the implicit function theorem.

Of r(x, p) = 0 with as many equations as unknowns, dx/dp = −(∂r/∂x)⁻¹ ∂r/∂p. The elements of all equations are rows of a
matrix and those of all unknowns its columns, in order and row-major; those of the other inputs are columns on the right.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from adcli.lang.derive.derivatives import jacobian
from adcli.lang.ir import Atom, Lit, Program, Result
from adcli.lang.ir.affine import Affine, affine, product, text
from adcli.lang.ir.build import Builder
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import Names
from adcli.lang.operations.comprehension import Comprehension, Read, identity_body
from adcli.lang.operations.elementwise import Shape, computed, elementwise, emit, every_element, filled, shape_of
from adcli.lang.operations.matrix import MatrixOperation
from adcli.lang.simplify.simplify import simplify


@dataclass(frozen=True, slots=True)
class StackedPart:
    """A tensor or number among others that lie one behind the other: its place `at`, and the elements that it has."""

    name: str
    shape: Shape
    at: Affine

    @property
    def count(self) -> Affine:
        whole = affine(1)
        for extent in self.shape:
            whole = product(whole, extent)
        return whole

    def place(self, subscripts: Sequence[Affine]) -> Affine:
        """Where an element is."""
        whole = affine(0)
        for s, extent in zip(subscripts, self.shape, strict=True):
            whole = product(whole, extent) + s
        return self.at + whole


def parts(shapes: Iterable[tuple[str, Shape]]) -> tuple[list[StackedPart], Affine]:
    """Tensors and numbers one behind the other, and how many elements they have."""
    found: list[StackedPart] = []
    end = affine(0)
    for name, shape in shapes:
        found.append(StackedPart(name, shape, end))
        end = end + found[-1].count
    return found, end


def sensitivities(program: Program, unknowns: Sequence[str], constants: Collection[str] = ()) -> Program:
    """The outputs, which are zero at a solution, and for each unknown x and each other input p that is no constant the derivative
    dx_dp of the solution, with the dimensions of x and then those of p. AdError where there are not as many equations as
    unknowns, whatever the sizes are, or no other inputs."""
    rows, count = parts((r.name, shape_of(r.atom)) for r in program.results)
    columns, width = parts((p.name, p.var.shape) for p in program.params if p.name in unknowns)
    others, depth = parts((p.name, p.var.shape) for p in program.params
                          if p.name not in (*unknowns, *constants) and not p.var.integer)
    if count != width:
        raise AdError(f"sensitivities need as many equations as unknowns, and there are {text(count)} and {text(width)}",
                      help="name the unknowns with ⟦--wrt⟧, and the equations with ⟦--of⟧ or ⟦--equation⟧")
    if not others:
        raise AdError("there is no input beside the unknowns that the solution could depend on",
                      help="name the unknowns with ⟦--wrt⟧")
    whole = jacobian(program, [x.name for x in (*columns, *others)], zeros=True)
    known = {(r.of, r.wrt[0]): r.atom for r in whole.results if r.wrt}
    b, names = Builder(), Names.of(whole)
    b.equations.extend(whole.equations)
    if count.number == 1 and not rows[0].shape and not columns[0].shape:
        made = divided(b, known, rows[0], columns[0], others)
    else:
        matrix = stacked(b, known, rows, columns, (count, width))
        right = stacked(b, known, rows, others, (count, depth))
        op = MatrixOperation(name="solve", shape=(count, depth), sources=(Read(0, ()), Read(1, ())))
        solved = b.emit(op, matrix, right, shape=op.shape)
        made = {(x.name, p.name): element(b, solved, x, p) for x in columns for p in others}
    results = [Result(names.fresh(f"d{x}_d{p}"), atom) for (x, p), atom in made.items()]
    return simplify(replace(whole, equations=tuple(b.equations), results=(*whole.results[:len(rows)], *results)))


def divided(b: Builder, known: Mapping[tuple[str | None, str], Atom], row: StackedPart, x: StackedPart,
            others: Sequence[StackedPart]) -> dict[tuple[str, str], Atom]:
    """The derivatives of one unknown number: quotients."""
    below, made = known[row.name, x.name], {}
    for p in others:
        above = known[row.name, p.name]
        made[x.name, p.name] = (elementwise(b, lambda u, v: -(u / v), above, below) if p.shape
                                else -(b.expr(above) / b.expr(below))).atom
    return made


def stacked(b: Builder, known: Mapping[tuple[str | None, str], Atom], rows: Sequence[StackedPart], columns: Sequence[StackedPart],
            shape: Shape) -> Atom:
    """The matrix of the derivatives of all equations by some inputs."""
    if len(rows) == len(columns) == len(rows[0].shape) == len(columns[0].shape) == 1:
        return known[rows[0].name, columns[0].name]
    whole: Atom | None = None
    for row in rows:
        for column in columns:
            value = known[row.name, column.name]
            if isinstance(value, Lit) and value.value == 0:
                continue
            ranges, here = every_element((*row.shape, *column.shape))
            rank = len(row.shape)
            write = row.place(here[:rank]), column.place(here[rank:])
            op = Comprehension(ranges=ranges, write=write, shape=shape, sources=(Read(0, here),), body=identity_body(),
                               onto=None if whole is None else 1)
            whole = emit(b, op, (value,) if whole is None else (value, whole)).atom
    return filled(b, shape, 0.0) if whole is None else whole


def element(b: Builder, solved: Atom, x: StackedPart, p: StackedPart) -> Atom:
    """The derivatives of one unknown by one input, of those of all by all."""
    ranges, here = every_element((*x.shape, *p.shape))
    op = Comprehension(ranges=ranges, write=here, shape=(*x.shape, *p.shape))
    at = x.place(here[:len(x.shape)]), p.place(here[len(x.shape):])
    return computed(b, op, lambda x: -x, [(solved, at)]).atom
