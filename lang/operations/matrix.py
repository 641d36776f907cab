"""The fourth kind of operation: one from a fixed list on matrices, at every point of a box.

    X(t) = solve(S(t), B(t))

It looks like a comprehension whose points compute a whole matrix operation: `ranges` is the box of the leading indices, `write`
the leading subscripts of the result, and a source reads with leading subscripts; the trailing dimensions, the matrix or the
vector, are left out everywhere. A point writes all elements that stand behind its leading subscripts; elements that none writes
are 0. With no leading subscripts the box has one point.

The list, with M the matrix (`transposed`: its transpose), n rows and n columns, and b a vector of n elements or n rows, S the
symmetric part of M, x a vector and q a number:

    solve(M, b)          x with M·x = b
    solve_lower(M, b)    the same with what M has on and below its diagonal; all above is not read
    solve_upper(M, b)    the same with what M has on and above its diagonal
    cholesky(M)          L with L·Lᵀ = ½·(M + Mᵀ), above its diagonal 0
    logdet(M)            the logarithm of the determinant, a number: -inf where that is 0, NaN where it is below
    inverse(M)           V with M·V = 1
    det(M)               the determinant, a number
    eigenvalues(M)       w, the eigenvalues of S, ascending
    eigenvectors(M)      V with S·V = V·diag(w) and Vᵀ·V = 1; in each column the first element of at least half of the greatest
                         absolute value is positive
    qr_q(M), qr_r(M)     Q and R with M = Q·R, Qᵀ·Q = 1, R upper triangular with a diagonal that is not negative; M has at least
                         as many rows as columns
    singular_values(M)   s, the square roots of the eigenvalues of Mᵀ·M, descending; M has at least as many rows as columns
    svd_u(M), svd_v(M)   U and V with M = U·diag(s)·Vᵀ, Uᵀ·U = Vᵀ·V = 1; V has the signs of eigenvectors
    expm(M)              the exponential 1 + M + M·M/2 + …
    sort(x)              the elements in ascending order, NaN behind all others
    sort_order(x)        p with x(p(i)) = sort(x)(i), real numbers that are whole; equal elements keep their order
    search(x, q)         the number of elements of an ascending x that are at most q, a whole number, by bisection: k elements of
                         n ≥ 1 are looked at by the middle one, ⌈k/2⌉, and ⌊k/2⌋ are left; 0 where q is NaN

What is not defined is NaN in all elements: for a singular matrix (a pivot that is 0, or a number on the diagonal of a triangular
one), one that is not positive definite, or one with an element that is no finite number. `transpose` is no member: it is a
comprehension.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import ClassVar, TypeVar

from adcli.lang.ir import Atom, Atoms, Equation, Param, Primitive, Shape, Var, shape_of
from adcli.lang.ir.affine import Affine, Index, atoms
from adcli.lang.ir.records import named_record
from adcli.lang.operations.comprehension import Agreement, Comprehension, Range, Read, Subscript, nested_reads

FORMS = {**dict.fromkeys(("solve", "solve_lower", "solve_upper", "cholesky", "inverse", "eigenvectors", "expm"), ("nn", "nn")),
         **dict.fromkeys(("logdet", "det"), ("nn", "")), "eigenvalues": ("nn", "n"), "singular_values": ("mn", "n"),
         **dict.fromkeys(("qr_q", "svd_u"), ("mn", "mn")), **dict.fromkeys(("qr_r", "svd_v"), ("mn", "nn")),
         **dict.fromkeys(("sort", "sort_order"), ("n", "n")), "search": ("n", ""), "transpose": ("mn", "nm")}
"""The extents of the first operand and of the result; that of a solve has the dimensions of its right-hand side."""
DETERMINANTS = ("logdet", "det")
FACTORING = ("solve", "inverse", *DETERMINANTS)
"""The operations that begin with Gauss's elimination."""
TINY_ROWS = 4
"""Rows, at most, of a matrix that is eliminated without loops. A system with a larger one transposed is solved with the factor of
the matrix itself."""
NUMBERS = frozenset(name for name, (_, made) in FORMS.items() if not made)
FACTORED = ("eigenvalues", "eigenvectors", "qr_q", "qr_r", "singular_values", "svd_u", "svd_v", "expm", "sort", "sort_order")
"""The operations that NumPy computes at every size, but for exponentials of small matrices."""
SEARCH = "search"
"""The operation whose second operand is a number, and whose result is a whole number."""
SOLVES = {"solve": "solve", "solve_lower": "solve_upper", "solve_upper": "solve_lower"}
"""The operations with a right-hand side, each with the one that solves with the transpose of its matrix."""


@named_record
class MatrixOperation(Primitive):
    """See the module; `name` is one of the list. `sources` are the matrix and, where there is one, the right-hand side. `shape`
    is the full shape of the result. A subscript may go through integers, as in a comprehension, which has the same
    `ranges`, `guards`, `write`, `shape`, `agreements` and `reads`; `onto` and `reduction` say how it writes."""

    tensors: ClassVar[bool] = True
    signature: str = ">r"
    ranges: tuple[Range, ...] = ()
    guards: tuple[Affine, ...] = ()
    write: tuple[Subscript, ...] = ()
    shape: Shape
    sources: tuple[Read, ...]
    transposed: bool = False
    agreements: tuple[Agreement, ...] = ()

    @property
    def indices(self) -> tuple[Index, ...]:
        return tuple(r.index for r in self.ranges)

    @property
    def singular(self) -> bool:
        return True

    def reads(self) -> Iterator[tuple[int, Read]]:
        """The sources, with their positions."""
        return enumerate(self.sources)

    def kind(self, position: int) -> str:
        return "r"


@named_record
class NoValue(Primitive):
    """An operation on matrices at a matrix that it is not defined for, as an operation on all numbers that it reads, of which
    the first is to blame: pivot number `pivot`, counted from 1, or with None an element that is not finite."""

    pivot: int | None


def no_value(op: MatrixOperation, pivot: int | None, count: int, result: float) -> NoValue:
    """The operation on so many numbers; its partial derivatives are NaN."""
    return NoValue(name=op.name, signature="r" * count + ">r", maps=tuple([lambda t, z, *x: t * math.nan] * count),
                   value=lambda *x: x[0] * 0 + result, pivot=pivot)


Boxed = Comprehension | MatrixOperation
"""An operation at every point of a box of indices."""
BoxedOp = TypeVar("BoxedOp", Comprehension, MatrixOperation)


def reaches(op: Boxed, subscripts: tuple[Subscript, ...], shape: Shape) -> bool:
    """Whether leading subscripts reach every leading element of a shape, if no range is empty: each is 0 where there is one
    element, or an index of its own that runs through the whole extent."""
    by, seen = {r.index: r for r in op.ranges}, set()
    for s, extent in zip(subscripts, shape, strict=False):
        if isinstance(s, Affine) and s.number == 0 and extent.number == 1:
            continue
        r = by.get(s.index) if isinstance(s, Affine) and s.index is not None else None
        if r is None or r.index in seen or r.low.number != 0 or r.high != extent:
            return False
        seen.add(r.index)
    return not op.guards


def covered_points(op: MatrixOperation) -> bool:
    """Whether the points of the box write every element of the result."""
    return reaches(op, op.write, op.shape)


def matrix_extent(e: Equation[MatrixOperation]) -> Affine:
    """The number of rows, and of columns, of the matrix."""
    matrix = e.args[e.op.sources[0].arg]
    assert isinstance(matrix, Var), "a matrix is a tensor"
    return matrix.shape[-1]


def operand_shape(e: Equation[MatrixOperation]) -> Shape:
    """The extents of the matrix, or of the vector in its place."""
    read = e.op.sources[0]
    return shape_of(e.args[read.arg])[len(read.subscripts):]


def trailing(e: Equation[MatrixOperation]) -> Shape:
    """The extents of what one point gives: () for a number."""
    return e.op.shape[len(e.op.write):]


def compacted(op: MatrixOperation, args: Atoms) -> tuple[MatrixOperation, Atoms]:
    """The operation and its arguments without those that it does not use."""
    needed = sorted({s.arg for s in nested_reads((*op.sources, *op.write))})
    if len(needed) == len(args):
        return op, args
    return renumbered(op, {old: new for new, old in enumerate(needed)}), tuple([args[i] for i in needed])


def renumbered(op: MatrixOperation, place: Mapping[int, int]) -> MatrixOperation:
    """The operation with its arguments in other places."""
    def moved(s: Subscript) -> Subscript:
        return Read(place[s.arg], tuple(map(moved, s.subscripts))) if isinstance(s, Read) else s
    sources = tuple([Read(place[s.arg], tuple(map(moved, s.subscripts))) for s in op.sources])
    return replace(op, sources=sources, write=tuple(map(moved, op.write)))


def bound_names(params: Iterable[Param]) -> set[str]:
    """The names of sizes that inputs bind: those in their extents, and integers that are inputs."""
    shaped = {a for p in params for x in p.var.shape for a in atoms(x) if isinstance(a, str)}
    return shaped | {p.name for p in params if p.var.integer and not p.var.shape}


def accesses(e: Equation, op: Boxed) -> Iterator[tuple[Atom, tuple[Subscript, ...]]]:
    """Every tensor that a comprehension reads or writes, with the subscripts, those inside of subscripts too."""
    yield from elements_read(e, op)
    yield e.outs[0], op.write


def elements_read(e: Equation, op: Boxed) -> Iterator[tuple[Atom, tuple[Subscript, ...]]]:
    """Every tensor that a comprehension reads, with the subscripts, those inside of subscripts too."""
    stack = [(e.args[r.arg], r.subscripts) for r in (*[s for s in op.write if isinstance(s, Read)], *[r for _, r in op.reads()])]
    while stack:
        atom, subscripts = stack.pop()
        yield atom, subscripts
        stack += [(e.args[s.arg], s.subscripts) for s in subscripts if isinstance(s, Read)]
