"""The two modes for operations on matrices: derivatives of them are operations on matrices, and comprehensions.

After M. Giles, Collected matrix derivative results for forward and reverse mode algorithmic differentiation (2008); for
Cholesky's factor I. Murray, Differentiation of the Cholesky decomposition (2016); for Q and R S. Walter and L. Lehmann,
Algorithmic differentiation of linear algebra functions (2010); for singular values J. Townsend, Differentiating the singular
value decomposition (2016); for exponentials R. Mathias, A chain rule for matrix functions (1996). With d for tangents, ' for
adjoints and · for products of matrices, Φ what is on and below the diagonal with half of the diagonal:

    x = solve(M, b)        dx = solve(M, db - dM·x)               b' = solve(Mᵀ, x'),  M' = -b'·xᵀ
    triangular             the same, with what is read of dM and M'
    L = cholesky(M)        dL = L·Φ(L⁻¹·½(dM + dMᵀ)·L⁻ᵀ)           M' = L⁻ᵀ·½(Φ(Lᵀ·L') + Φ(Lᵀ·L')ᵀ)·L⁻¹, made symmetric
    v = logdet(M)          dv = Σ V(j,i)·dM(i,j)                  M' = v'·Vᵀ, with V = inverse(M); NaN where v is
    V = inverse(M)         dV = -V·dM·V                           M' = -Vᵀ·V'·Vᵀ
    v = det(M)             dv = v·Σ V(j,i)·dM(i,j)                M' = v·v'·Vᵀ, with V = inverse(M)
    w = eigenvalues(M)     dw(i) = Σ V(k,i)·dS(k,j)·V(j,i)        M' = V·diag(w')·Vᵀ, with S = ½(M + Mᵀ)
    V = eigenvectors(M)    dV = V·F(Vᵀ·dS·V)                      M' = V·F(Vᵀ·V')·Vᵀ, made symmetric
                           with F(X)(i,j) = X(i,j)/(w(j) - w(i)), on the diagonal 0
    Q, R                   C = Qᵀ·dM·R⁻¹, U = C and below its diagonal's transposed part added on what is above, dR = U·R,
                           dQ = dM·R⁻¹ - Q·U                      M' = (Q' + Q·S)·R⁻ᵀ, S symmetric, with R'·Rᵀ - Qᵀ·Q' on and
                                                                  above its diagonal
    s = singular_values    ds(i) = Σ U(m,i)·dM(m,j)·V(j,i)        M' = U·diag(s')·Vᵀ
    U, V                   dV = V·F(diag(s)·P + Pᵀ·diag(s)), dU = U·F(P·diag(s) + diag(s)·Pᵀ) + (1 - U·Uᵀ)·dM·V·diag(s)⁻¹
                           with P = Uᵀ·dM·V and F(X)(i,j) = X(i,j)/(s(j)² - s(i)²), on the diagonal 0
                           M' = U·diag(s)·(K + Kᵀ)·Vᵀ of V, with K = F(Vᵀ·V'), and of U, with K = F(Uᵀ·U'),
                           M' = U·(K + Kᵀ)·diag(s)·Vᵀ + (1 - U·Uᵀ)·U'·diag(s)⁻¹·Vᵀ
    E = expm(M)            dE and M': above the diagonal in expm of [M, dM; 0, M] and of [Mᵀ, E'; 0, Mᵀ]
    v = sort(x)            dv(i) = dx(p(i))                       x'(p(i)) = v'(i), with p = sort_order(x), which has none

All of it is done at every point of the box: what is computed in between has the leading subscripts of the result, and what a
contribution adds to is read with the leading subscripts of its source. An adjoint exists at a point, in all elements, where any
element of the seed does (guards.py).
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add, mul, sub

from adcli.lang.ir import Atom, Atoms, Equation, Lit, Shape, Var, shape_of
from adcli.lang.ir.affine import Affine, Index, affine
from adcli.lang.ir.build import Builder, Expr, apply
from adcli.lang.ir.primitives import TABLE, select
from adcli.lang.modes.comprehension_rules import corner
from adcli.lang.modes.guards import Guard, Term, total
from adcli.lang.operations.comprehension import Comprehension, Range, Read, Subscript, all_fixed
from adcli.lang.operations.elementwise import Element, computed, every_element
from adcli.lang.operations.matrix import (
    FORMS,
    SOLVES,
    MatrixOperation,
    compacted,
    covered_points,
    matrix_extent,
    operand_shape,
    reaches,
    trailing,
)

Subscripts = tuple[Subscript, ...]
Operand = Atom | Element
"""A tensor with the leading subscripts of the result, or with others."""


def pushed_matrix(b: Builder, e: Equation, tangents: Mapping[Atom, Term]) -> Term | None:
    """The tangent of the result; tangents that exist under one guard are pushed together."""
    op = _operation(e)
    if op.name == "sort_order":
        return None
    groups: dict[Guard, dict[int, Term]] = {}
    for k, s in op.reads():
        if e.args[s.arg] in tangents:
            term = tangents[e.args[s.arg]]
            groups.setdefault(term.guard, {})[k] = term
    terms = []
    for guard, seeds in groups.items():
        value = _tangent(_Points(b, e), {k: t.atom for k, t in seeds.items()})
        there = [(t.exists, op.sources[k].subscripts) for k, t in seeds.items()]
        exists = None if any(x is None for x, _ in there) and covered_points(op) else spread(b, e, there, op.write, op.shape)
        terms.append(Term(b, value, guard, exists))
    return total(b, terms)


def pulled_matrix(b: Builder, e: Equation, position: int, seed: Term) -> Term | None:
    """The adjoint of one argument from that of the result."""
    op = _operation(e)
    if op.name == "sort_order":
        return None
    return total(b, [pulled_matrix_at(b, e, k, seed) for k, s in op.reads() if s.arg == position])


def pulled_matrix_at(b: Builder, e: Equation, k: int, seed: Term) -> Term:
    """The adjoint of what source `k` reads."""
    op = _operation(e)
    source, exists = op.sources[k], None
    shape = shape_of(e.args[source.arg])
    value = _adjoint(_Points(b, e), k, seed.atom)
    if seed.exists is not None or not reaches(op, source.subscripts, shape):
        exists = spread(b, e, [(seed.exists, op.write)], source.subscripts, shape)
    return Term(b, value, seed.guard, exists)


# ---------------------------------------------------------------- the rules

def _tangent(at: _Points, seeds: Mapping[int, Atom]) -> Atom:
    name, x = at.op.name, at.result
    if name in SOLVES:
        return _solve_tangent(at, seeds)
    d = (seeds[0], at.lead(0))
    if name in DECOMPOSED:
        return DECOMPOSED[name][0](at, d)
    if name == "det":
        return at.product(",ji,ij->", x, at.made_by("inverse"), d)
    if name == "logdet":
        return at.made(",ji,ij->", lambda x, v, d: where_defined(x, v) * d, x, at.made_by("inverse"), d)
    if name == "inverse":
        return at.made("ik,kj->ij", lambda v, t: -(v * t), x, at.product("ik,kj->ij", d, x))
    assert name == "cholesky"
    half = at.applied("solve_lower", False, x, at.made("ij,ji->ij", halves, d, d))
    both = at.applied("solve_lower", False, x, at.product("ji->ij", half))
    phi = at.made("ij,i-j->ij", lambda x, n: select(n > 0, x, 0.5 * x), both, where="i>=j")
    return at.product("ik,kj->ij", x, phi, where="i>=k,k>=j")


def _solve_tangent(at: _Points, seeds: Mapping[int, Atom]) -> Atom:
    """The right-hand side's tangent less the product of the matrix's with the solution, solved for."""
    op, c = at.op, at.columns
    right = (seeds[1], at.lead(1)) if 1 in seeds else None
    if right is not None and 0 not in seeds:
        moved = right[0] if at.alike(1) else at.product(f"i{c}->i{c}", right, shape=op.shape)
    else:
        read = f"{'ji' if op.transposed else 'ij'},j{c}->i{c}"
        less = at.product(read, (seeds[0], at.lead(0)), at.result, where=at.triangle, shape=op.shape)
        moved = (at.made(f"i{c}->i{c}", lambda s: -s, less, shape=op.shape) if right is None else
                 at.made(f"i{c},i{c}->i{c}", sub, right, less, shape=op.shape))
    return at.applied(op.name, op.transposed, at.matrix, moved, at.lead(0))


def _adjoint(at: _Points, source: int, seed: Atom) -> Atom:
    name, x = at.op.name, at.result
    if name in SOLVES:
        c, transposed = at.columns, at.op.transposed
        adjoint = at.applied(SOLVES[name], not transposed, at.matrix, seed, at.lead(0))
        if source == 0:
            into = "ji" if transposed else "ij"
            return at.added(f"i{c},j{c}->{into}", lambda a, x: -(a * x), adjoint, x, where=at.triangle)
        return adjoint if at.alike(1) else at.added(f"i{c}->i{c}", product, adjoint, source=1)
    if name in DECOMPOSED:
        return DECOMPOSED[name][1](at, seed)
    if name == "det":
        return at.added(",,ji->ij", lambda x, s, v: s * (x * v), x, seed, at.made_by("inverse"))
    if name == "logdet":
        return at.added(",,ji->ij", lambda x, s, v: s * where_defined(x, v), x, seed, at.made_by("inverse"))
    if name == "inverse":
        return at.added("ik,jk->ij", lambda t, v: -(t * v), at.product("ki,kj->ij", x, seed), x)
    assert name == "cholesky"
    lower = at.product("ki,kj->ij", x, seed, where="k>=i,i>=j")
    both = at.made("ij,ji,i-j->ij", lambda x, y, n: 0.5 * select(n >= 0, x, y), lower, lower)
    half = at.applied("solve_upper", True, x, both)
    whole = at.applied("solve_upper", True, x, at.product("ji->ij", half))
    return at.added("ij,ji->ij", halves, whole, whole)


def product(*factors: Expr) -> Expr:
    return reduce(mul, factors)


def halves(x: Expr, y: Expr) -> Expr:
    return 0.5 * x + 0.5 * y


def where_defined(x: Expr, v: Expr) -> Expr:
    """A partial derivative of the logarithm x of a determinant: NaN where that is, below 0."""
    return select(x >= -math.inf, v, math.nan)


# ---------------------------------------------------------------- eigenvalues, factors, exponentials, sorting

def _eigenvalues_tangent(at: _Points, d: Operand) -> Atom:
    v = at.made_by("eigenvectors")
    return at.product("ki,kj,ji->i", v, d, v)


def _eigenvalues_adjoint(at: _Points, seed: Atom) -> Atom:
    v = at.made_by("eigenvectors")
    return at.added("ik,k,jk->ij", product, v, seed, v)


def _eigenvectors_tangent(at: _Points, d: Operand) -> Atom:
    v = at.result
    pushed = at.made("ik,ki,kj->ij", lambda x, y, v: halves(x, y) * v, d, d, v)
    turned = at.product("ki,kj->ij", v, pushed)
    return at.product("ik,kj->ij", v, _over_gaps(at, turned))


def _eigenvectors_adjoint(at: _Points, seed: Atom) -> Atom:
    v = at.result
    turned = at.product("ki,kj->ij", v, seed)
    whole = at.product("ik,kj->ij", v, at.product("ik,jk->ij", _over_gaps(at, turned), v))
    return at.added("ij,ji->ij", halves, whole, whole)


def _over_gaps(at: _Points, x: Atom) -> Atom:
    """The elements of a matrix divided by the distances of eigenvalues; 0 on its diagonal."""
    values = at.made_by("eigenvalues")
    return at.made("ij,j,i,i-j->ij", lambda x, to, own, n: select(n == 0, 0.0, x / select(n == 0, 1.0, to - own)),
                   x, values, values)


def _factors_tangent(at: _Points, d: Operand) -> Atom:
    q, r = at.made_by("qr_q"), at.made_by("qr_r")
    divided = at.applied("solve_lower", True, r, at.product("mi->im", d))   # the transpose of dM·R⁻¹
    inner = at.product("mi,jm->ij", q, divided)
    upper = at.made("ij,ji,j-i->ij", lambda x, y, n: select(n > 0, x + y, x), inner, inner, where="j>=i")
    if at.op.name == "qr_r":
        return at.product("ik,kj->ij", upper, r, where="k>=i,j>=k")
    along = at.product("mk,kj->mj", q, upper, where="j>=k")
    return at.made("jm,mj->mj", sub, divided, along)


def _factors_adjoint(at: _Points, seed: Atom) -> Atom:
    q, r, of_q = at.made_by("qr_q"), at.made_by("qr_r"), at.op.name == "qr_q"
    inner = (at.made("mi,mj->ij", lambda q, s: -(q * s), q, seed) if of_q else
             at.product("ik,jk->ij", seed, r, where="k>=i,k>=j"))
    both = at.made("ij,ji,j-i->ij", lambda x, y, n: select(n >= 0, x, y), inner, inner)
    whole = at.product("mk,ki->im", q, both)
    if of_q:
        whole = at.made("im,mi->im", add, whole, seed)
    return at.added("im->mi", product, at.applied("solve_upper", False, r, whole))


def _singular_values_tangent(at: _Points, d: Operand) -> Atom:
    return at.product("mi,mj,ji->i", at.made_by("svd_u"), d, at.made_by("svd_v"))


def _singular_values_adjoint(at: _Points, seed: Atom) -> Atom:
    return at.added("mk,k,jk->mj", product, at.made_by("svd_u"), seed, at.made_by("svd_v"))


def _singular_vectors_tangent(at: _Points, d: Operand) -> Atom:
    u, s, v = at.made_by("svd_u"), at.made_by("singular_values"), at.made_by("svd_v")
    along = at.product("mj,ji->mi", d, v)
    p = at.product("mi,mj->ij", u, along)
    left = at.op.name == "svd_u"
    both = at.made("ij,ji,i,j->ij", (lambda x, y, si, sj: x * sj + si * y) if left else
                   (lambda x, y, si, sj: si * x + y * sj), p, p, s, s)
    inside = _over_square_gaps(at, s, both)
    if not left:
        return at.product("ik,kj->ij", v, inside)
    # U·(F - P·diag(s)⁻¹) + dM·V·diag(s)⁻¹
    moved = at.product("mk,kj->mj", u, at.made("ij,ij,j->ij", lambda x, p, s: x - p / s, inside, p, s))
    return at.made("mj,mj,j->mj", lambda x, a, s: x + a / s, moved, along, s)


def _singular_vectors_adjoint(at: _Points, seed: Atom) -> Atom:
    u, s, v = at.made_by("svd_u"), at.made_by("singular_values"), at.made_by("svd_v")
    left = at.op.name == "svd_u"
    turned = at.product("mi,mj->ij" if left else "ki,kj->ij", at.result, seed)
    gaps = _over_square_gaps(at, s, turned)
    inside = at.made("ij,ji,ij,i,j->ij", (lambda x, y, t, si, sj: (x + y) * sj - t / sj) if left else
                     (lambda x, y, t, si, sj: si * (x + y)), gaps, gaps, turned, s, s)
    half = at.product("mk,kj->mj", u, inside)
    if left:
        half = at.made("mj,mj,j->mj", lambda h, d, s: h + d / s, half, seed, s)
    return at.added("mj,ij->mi", product, half, v)


def _over_square_gaps(at: _Points, s: Atom, x: Atom) -> Atom:
    """The elements of a matrix divided by differences of squares of singular values; 0 on its diagonal."""
    return at.made("ij,j,i,i-j->ij", lambda x, to, own, n:
                   select(n == 0, 0.0, x / select(n == 0, 1.0, (to - own) * (to + own))), x, s, s)


def _exponential_tangent(at: _Points, d: Operand) -> Atom:
    return at.product("->ij", at.block_exponential(d, False))


def _exponential_adjoint(at: _Points, seed: Atom) -> Atom:
    return at.added("->ij", product, at.block_exponential(seed, True))


def _sorted_tangent(at: _Points, d: Operand) -> Atom:
    tensor, lead = at.element(d)
    return at.product("->i", (tensor, (*lead, *at.order())))


def _sorted_adjoint(at: _Points, seed: Atom) -> Atom:
    place = at.order()
    return at.comprehension((*at.lead(0), *place), shape_of(at.matrix), "i", ["i"], product, (seed,), "")


DECOMPOSED: dict[str, tuple[Callable[[_Points, Operand], Atom], Callable[[_Points, Atom], Atom]]] = {
    "eigenvalues": (_eigenvalues_tangent, _eigenvalues_adjoint), "eigenvectors": (_eigenvectors_tangent, _eigenvectors_adjoint),
    **dict.fromkeys(("qr_q", "qr_r"), (_factors_tangent, _factors_adjoint)),
    "singular_values": (_singular_values_tangent, _singular_values_adjoint),
    **dict.fromkeys(("svd_u", "svd_v"), (_singular_vectors_tangent, _singular_vectors_adjoint)),
    "expm": (_exponential_tangent, _exponential_adjoint), "sort": (_sorted_tangent, _sorted_adjoint)}
"""The tangent and the adjoint of operations that read nothing else."""


# ---------------------------------------------------------------- what rules are written with

class _Points:
    """Comprehensions and operations at every point of an operation's box, in Einstein's notation: each letter is an index, a
    letter for each dimension of an operand, and what the result lacks is summed over. `i`, `j`, `k` are rows and columns of
    square matrices, `m` the rows of others, `c` the columns of a right-hand side.

    An operand is a tensor with the leading subscripts of the result, or one with its own; `i-j` among the operands stands for
    that number."""

    def __init__(self, b: Builder, e: Equation) -> None:
        self.b, self.e, self.op = b, e, _operation(e)
        self.result, self.matrix = e.outs[0], e.args[self.op.sources[0].arg]
        self.size = matrix_extent(e)
        self.letters: dict[str, Affine] = {x: affine(Index({"m": "r", "c": "m"}.get(x, x))) for x in "ijkmc"}
        self.extents: dict[str, Affine] = {**dict.fromkeys("ijk", self.size), "m": operand_shape(e)[0]}
        self.more: Atoms = ()
        rest = trailing(e)
        self.columns = "c" if self.op.name in SOLVES and len(rest) == 2 else ""
        if self.columns:
            self.extents["c"] = rest[1]
        self.triangle = {"solve_lower": "i>=j", "solve_upper": "j>=i"}.get(self.op.name, "")

    def lead(self, source: int) -> Subscripts:
        return self.op.sources[source].subscripts

    def alike(self, source: int) -> bool:
        """Whether source and result have one shape and are read and written with one and the same leading subscripts, which reach
        all of it."""
        s = self.op.sources[source]
        return s.subscripts == self.op.write and shape_of(self.e.args[s.arg]) == self.op.shape and covered_points(self.op)

    def made_by(self, name: str) -> Atom:
        """Another operation on the same matrix, or this one's result."""
        if name == self.op.name:
            return self.e.outs[0]
        given, made = FORMS[name]
        extents = dict(zip(given, operand_shape(self.e), strict=True))
        shape = (*self.op.shape[:len(self.op.write)], *[extents[n] for n in made])
        return self.emitted(replace(self.op, name=name, shape=shape, agreements=()), self.e.args)

    def order(self) -> tuple[Read, ...]:
        """The subscript that reads the place of element `i` of a sorted vector."""
        i, args = self.letters["i"], len(self.e.args)
        places, write = self.made_by("sort_order"), (*self.op.write, i)
        op = Comprehension(ranges=(*self.op.ranges, self.along("i")), guards=self.op.guards, write=write, shape=self.op.shape)
        made = computed(self.b, op, lambda p: apply(TABLE["floor"], p + 0.5), [(places, write)], self.e.args)
        self.more = (whole_numbers(self.b, made),)
        return (Read(args, write),)

    def along(self, letter: str) -> Range:
        index = self.letters[letter].index
        assert index is not None
        return Range(index, affine(0), self.extents[letter])

    def block_exponential(self, above: Operand, turned: bool) -> Operand:
        """What is above the diagonal in the exponential of a block matrix: twice the matrix, or its transpose, on the diagonal,
        and another matrix above it."""
        n, zero, write, i, j = self.size, affine(0), self.op.write, self.letters["i"], self.letters["j"]
        shape = (*self.op.shape[:len(write)], n * 2, n * 2)
        own, read = (self.matrix, self.lead(0)), "ji" if turned else "ij"
        parts = [self.comprehension((*write, i + down, j + right), shape, "ij", [letters], product, (matrix,), "")
                 for matrix, letters, down, right in ((own, read, zero, zero), (own, read, n, n), (above, "ij", zero, n))]
        inner, here = every_element(shape)
        block = computed(self.b, Comprehension(ranges=inner, write=here, shape=shape), lambda x, y, z: x + y + z,
                         [(p, here) for p in parts]).atom
        op = MatrixOperation(name="expm", ranges=self.op.ranges, guards=self.op.guards, write=write, shape=shape,
                             sources=(Read(len(self.e.args), write),))
        return self.emitted(op, (*self.e.args, block)), (*write, i, j + n)

    def applied(self, name: str, transposed: bool, matrix: Atom, right: Atom, lead: Subscripts | None = None) -> Atom:
        """A solve at every point; matrix, right-hand side and result have the leading subscripts of the operation."""
        args, write = (*self.e.args, matrix, right), self.op.write
        sources = Read(len(args) - 2, write if lead is None else lead), Read(len(args) - 1, write)
        op = MatrixOperation(name=name, ranges=self.op.ranges, guards=self.op.guards, write=write, shape=shape_of(right),
                             sources=sources, transposed=transposed)
        return self.emitted(op, args)

    def emitted(self, op: MatrixOperation, args: Atoms) -> Atom:
        op, args = compacted(op, args)
        return self.b.emit(op, *args, shape=op.shape)

    def product(self, subscripts: str, *operands: Operand, where: str = "", shape: Shape | None = None) -> Atom:
        return self.made(subscripts, product, *operands, where=where, shape=shape)

    def made(self, subscripts: str, body: Callable[..., Expr], *operands: Operand, where: str = "",
             shape: Shape | None = None) -> Atom:
        """A comprehension that writes at the leading subscripts of the result."""
        read, own = subscripts.split("->")
        shape = shape or (*self.op.shape[:len(self.op.write)], *[self.extents[x] for x in own])
        return self.comprehension((*self.op.write, *self.at(own)), shape, own, read.split(","), body, operands, where)

    def added(self, subscripts: str, body: Callable[..., Expr], *operands: Operand, where: str = "", source: int = 0) -> Atom:
        """A comprehension that adds up where a source reads."""
        (read, own), s = subscripts.split("->"), self.op.sources[source]
        return self.comprehension((*s.subscripts, *self.at(own)), shape_of(self.e.args[s.arg]), own, read.split(","), body,
                                  operands, where)

    def at(self, letters: str) -> tuple[Affine, ...]:
        return tuple([self.letters[x] for x in letters])

    def element(self, operand: Operand) -> Element:
        return operand if isinstance(operand, tuple) else (operand, self.op.write)

    def comprehension(self, write: Subscripts, shape: Shape, own: str, read: Sequence[str], body: Callable[..., Expr],
                      operands: Sequence[Operand], where: str) -> Atom:
        """A comprehension over its `own` letters and those that are `read`, under conditions such as `i>=j`."""
        given, sources = iter(operands), list[Element | Affine]()
        for letters in read:
            if "-" in letters:
                sources.append(self.difference(*letters.split("-")))
            else:
                tensor, lead = self.element(next(given))
                sources.append((tensor, (*lead, *self.at(letters))))
        over = dict.fromkeys([*own, *sorted("".join(x for x in read if "-" not in x))])
        guards = [self.difference(*each.split(">=")) for each in where.split(",") if each]
        ranges = (*self.op.ranges, *map(self.along, over))
        op = Comprehension(ranges=ranges, guards=(*self.op.guards, *guards), write=write, shape=shape,
                           reduction="=" if all_fixed(ranges, write) else "+")
        return computed(self.b, op, body, sources, (*self.e.args, *self.more)).atom

    def difference(self, one: str, other: str) -> Affine:
        return self.letters[one] - self.letters[other]


def whole_numbers(b: Builder, made: Expr) -> Var:
    """The result of the last equation, as whole numbers, which subscripts may read."""
    whole = Var(None, True, shape=shape_of(made.atom), whole=True)
    b.equations[-1] = replace(b.equations[-1], outs=(whole,))
    return whole


def _operation(e: Equation[MatrixOperation]) -> MatrixOperation:
    return e.op


def made_by(b: Builder, e: Equation[MatrixOperation], name: str) -> Atom:
    """Another operation on the matrices of one."""
    return _Points(b, e).made_by(name)


def matrices(b: Builder, e: Equation) -> Atom:
    """The matrices that an operation works on: one for each point of the box, with zeros where guards leave points out."""
    op = _operation(e)
    here, extents = corner(op.ranges)
    ranges, own = every_element(operand_shape(e))
    s = op.sources[0]
    copy = Comprehension(ranges=(*op.ranges, *ranges), guards=op.guards, write=(*here, *own),
                         shape=(*extents, *[r.high for r in ranges]))
    return computed(b, copy, lambda x: x, [(e.args[s.arg], (*s.subscripts, *(own[::-1] if op.transposed else own)))], e.args).atom


# ---------------------------------------------------------------- what exists

def spread(b: Builder, e: Equation, there: Sequence[tuple[Atom | None, Subscripts]], write: Subscripts,
            shape: Shape) -> Atom:
    """Not 0 in all elements behind the leading subscripts `write` where any of these tensors has an element that exists behind
    its own subscripts at that point; None among them exists everywhere."""
    op = _operation(e)
    lead = op.shape[:len(op.write)]
    counts: list[Atom] = []
    for tensor, subscripts in there:
        if tensor is None:
            counts.append(Lit(1.0))
            continue
        inner, here = every_element(shape_of(tensor)[len(subscripts):])
        count = Comprehension(ranges=(*op.ranges, *inner), guards=op.guards, write=op.write, shape=lead, reduction="+")
        counts.append(computed(b, count, lambda x: x, [(tensor, (*subscripts, *here))], e.args).atom)
    behind, own = every_element(shape[len(write):])
    ranges, where = (*op.ranges, *behind), (*write, *own)
    spread = Comprehension(ranges=ranges, guards=op.guards, write=where, shape=shape,
                           reduction="=" if all_fixed(ranges, where) else "+")
    read = [(c, () if isinstance(c, Lit) else op.write) for c in counts]
    return computed(b, spread, lambda *x: reduce(add, x), read, e.args).atom
