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
from operator import add

from adcli.lang.ir import Atom, Equation, Lit, Var, shape_of
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
    e, op, x = at.e, at.op, at.e.outs[0]
    i, j, k = at.i, at.j, at.k
    if op.name in SOLVES:
        right, columns = at.right(), at.columns()
        parts: list[Atom] = []
        if 0 in seeds:
            r, c = (j, i) if op.transposed else (i, j)
            read = [(seeds[0], (*at.lead(0), r, c)), (x, (*op.write, j, *columns))]
            parts.append(at.made((i, *columns), read, lambda d, x: d * x, over=(j,), guards=at.triangle(i, j), shape=op.shape))
        if 1 in seeds:
            seen = (seeds[1], (*at.lead(1), i, *columns))
            if not parts:
                parts = [seeds[1] if at.alike(1) else at.made((i, *columns), [seen], lambda d: d, shape=op.shape)]
            else:
                parts = [at.made((i, *columns), [seen, (parts[0], (*op.write, i, *columns))], lambda d, s: d - s, shape=op.shape)]
        else:
            parts = [at.made((i, *columns), [(parts[0], (*op.write, i, *columns))], lambda s: -s, shape=op.shape)]
        return at.applied(op.name, op.transposed, e.args[op.sources[0].arg], at.lead(0), parts[0], right)
    (d,) = seeds.values()
    lead = at.lead(0)
    if op.name in DECOMPOSED:
        return DECOMPOSED[op.name][0](at, d)
    if op.name == "det":
        read = [(x, op.write), (at.made_by("inverse"), (*op.write, j, i)), (d, (*lead, i, j))]
        return at.made((), read, lambda x, v, d: x * v * d, over=(i, j), shape=op.shape)
    if op.name == "logdet":
        v = at.made_by("inverse")
        read = [(x, op.write), (v, (*op.write, j, i)), (d, (*lead, i, j))]
        return at.made((), read, lambda x, v, d: where_defined(x, v) * d, over=(i, j), shape=op.shape)
    if op.name == "inverse":
        t = at.made((i, j), [(d, (*lead, i, k)), (x, (*op.write, k, j))], lambda d, v: d * v, over=(k,))
        return at.made((i, j), [(x, (*op.write, i, k)), (t, (*op.write, k, j))], lambda v, t: -(v * t), over=(k,))
    assert op.name == "cholesky"
    symmetric = at.made((i, j), [(d, (*lead, i, j)), (d, (*lead, j, i))], lambda x, y: 0.5 * x + 0.5 * y)
    half = at.applied("solve_lower", False, x, op.write, symmetric)
    turned = at.made((i, j), [(half, (*op.write, j, i))], lambda x: x)
    both = at.applied("solve_lower", False, x, op.write, turned)
    phi = at.made((i, j), [(both, (*op.write, i, j)), i - j], lambda x, n: select(n > 0, x, 0.5 * x), guards=(i - j,))
    read = [(x, (*op.write, i, k)), (phi, (*op.write, k, j))]
    return at.made((i, j), read, lambda x, y: x * y, over=(k,), guards=(i - k, k - j))


def _adjoint(at: _Points, source: int, seed: Atom) -> Atom:
    e, op, x = at.e, at.op, at.e.outs[0]
    i, j, k = at.i, at.j, at.k
    if op.name in SOLVES:
        columns = at.columns()
        matrix = e.args[op.sources[0].arg]
        adjoint = at.applied(SOLVES[op.name], not op.transposed, matrix, at.lead(0), seed, at.right())
        if source == 1:
            if at.alike(1):
                return adjoint
            return at.added(source, (i, *columns), [(adjoint, (*op.write, i, *columns))], lambda x: x)
        r, c = (j, i) if op.transposed else (i, j)
        read = [(adjoint, (*op.write, i, *columns)), (x, (*op.write, j, *columns))]
        return at.added(source, (r, c), read, lambda a, x: -(a * x), over=columns, guards=at.triangle(i, j))
    if op.name in DECOMPOSED:
        return DECOMPOSED[op.name][1](at, seed)
    if op.name == "det":
        read = [(x, op.write), (seed, op.write), (at.made_by("inverse"), (*op.write, j, i))]
        return at.added(source, (i, j), read, lambda x, s, v: s * (x * v))
    if op.name == "logdet":
        read = [(x, op.write), (seed, op.write), (at.made_by("inverse"), (*op.write, j, i))]
        return at.added(source, (i, j), read, lambda x, s, v: s * where_defined(x, v))
    if op.name == "inverse":
        t = at.made((i, j), [(x, (*op.write, k, i)), (seed, (*op.write, k, j))], lambda v, s: v * s, over=(k,))
        return at.added(source, (i, j), [(t, (*op.write, i, k)), (x, (*op.write, j, k))], lambda t, v: -(t * v), over=(k,))
    assert op.name == "cholesky"
    lower = at.made((i, j), [(x, (*op.write, k, i)), (seed, (*op.write, k, j))], lambda x, s: x * s, over=(k,),
                    guards=(k - i, i - j))
    both = at.made((i, j), [(lower, (*op.write, i, j)), (lower, (*op.write, j, i)), i - j],
                   lambda x, y, n: 0.5 * select(n >= 0, x, y))
    half = at.applied("solve_upper", True, x, op.write, both)
    turned = at.made((i, j), [(half, (*op.write, j, i))], lambda x: x)
    whole = at.applied("solve_upper", True, x, op.write, turned)
    return at.added(source, (i, j), [(whole, (*op.write, i, j)), (whole, (*op.write, j, i))], lambda x, y: 0.5 * x + 0.5 * y)


def where_defined(x: Expr, v: Expr) -> Expr:
    """A partial derivative of the logarithm x of a determinant: NaN where that is, below 0."""
    return select(x >= -math.inf, v, math.nan)


# ---------------------------------------------------------------- eigenvalues, factors, exponentials, sorting

def _eigenvalues_tangent(at: _Points, d: Atom) -> Atom:
    i, j, k, w, v = at.i, at.j, at.k, at.op.write, at.made_by("eigenvectors")
    read = [(v, (*w, k, i)), (d, (*at.lead(0), k, j)), (v, (*w, j, i))]
    return at.made((i,), read, lambda x, d, y: x * d * y, over=(k, j))


def _eigenvalues_adjoint(at: _Points, seed: Atom) -> Atom:
    i, j, k, w, v = at.i, at.j, at.k, at.op.write, at.made_by("eigenvectors")
    return at.added(0, (i, j), [(v, (*w, i, k)), (seed, (*w, k)), (v, (*w, j, k))], lambda x, s, y: x * s * y, over=(k,))


def _eigenvectors_tangent(at: _Points, d: Atom) -> Atom:
    i, j, k, w, v, lead = at.i, at.j, at.k, at.op.write, at.e.outs[0], at.lead(0)
    pushed = at.made((i, j), [(d, (*lead, i, k)), (d, (*lead, k, i)), (v, (*w, k, j))],
                     lambda x, y, v: (0.5 * x + 0.5 * y) * v, over=(k,))
    turned = at.made((i, j), [(v, (*w, k, i)), (pushed, (*w, k, j))], lambda v, p: v * p, over=(k,))
    return at.made((i, j), [(v, (*w, i, k)), (_over_gaps(at, turned), (*w, k, j))], lambda v, q: v * q, over=(k,))


def _eigenvectors_adjoint(at: _Points, seed: Atom) -> Atom:
    i, j, k, w, v = at.i, at.j, at.k, at.op.write, at.e.outs[0]
    turned = at.made((i, j), [(v, (*w, k, i)), (seed, (*w, k, j))], lambda v, s: v * s, over=(k,))
    half = at.made((i, j), [(_over_gaps(at, turned), (*w, i, k)), (v, (*w, j, k))], lambda q, v: q * v, over=(k,))
    whole = at.made((i, j), [(v, (*w, i, k)), (half, (*w, k, j))], lambda v, h: v * h, over=(k,))
    return at.added(0, (i, j), [(whole, (*w, i, j)), (whole, (*w, j, i))], lambda x, y: 0.5 * x + 0.5 * y)


def _over_gaps(at: _Points, x: Atom) -> Atom:
    """The elements of a matrix divided by the distances of eigenvalues; 0 on its diagonal."""
    i, j, w, values = at.i, at.j, at.op.write, at.made_by("eigenvalues")
    return at.made((i, j), [(x, (*w, i, j)), (values, (*w, j)), (values, (*w, i)), i - j],
                   lambda x, to, own, n: select(n == 0, 0.0, x / select(n == 0, 1.0, to - own)))


def _factors_tangent(at: _Points, d: Atom) -> Atom:
    i, j, k, m, w = at.i, at.j, at.k, at.row, at.op.write
    q, r = at.made_by("qr_q"), at.made_by("qr_r")
    turned = at.made((i, m), [(d, (*at.lead(0), m, i))], lambda d: d)
    divided = at.applied("solve_lower", True, r, w, turned)   # the transpose of dM·R⁻¹
    inner = at.made((i, j), [(q, (*w, m, i)), (divided, (*w, j, m))], lambda q, d: q * d, over=(m,))
    upper = at.made((i, j), [(inner, (*w, i, j)), (inner, (*w, j, i)), j - i], lambda x, y, n: select(n > 0, x + y, x),
                    guards=(j - i,))
    if at.op.name == "qr_r":
        return at.made((i, j), [(upper, (*w, i, k)), (r, (*w, k, j))], lambda u, r: u * r, over=(k,), guards=(k - i, j - k))
    along = at.made((m, j), [(q, (*w, m, k)), (upper, (*w, k, j))], lambda q, u: q * u, over=(k,), guards=(j - k,))
    return at.made((m, j), [(divided, (*w, j, m)), (along, (*w, m, j))], lambda x, y: x - y)


def _factors_adjoint(at: _Points, seed: Atom) -> Atom:
    i, j, k, m, w = at.i, at.j, at.k, at.row, at.op.write
    q, r, of_q = at.made_by("qr_q"), at.made_by("qr_r"), at.op.name == "qr_q"
    if of_q:
        inner = at.made((i, j), [(q, (*w, m, i)), (seed, (*w, m, j))], lambda q, s: -(q * s), over=(m,))
    else:
        inner = at.made((i, j), [(seed, (*w, i, k)), (r, (*w, j, k))], lambda s, r: s * r, over=(k,), guards=(k - i, k - j))
    both = at.made((i, j), [(inner, (*w, i, j)), (inner, (*w, j, i)), j - i], lambda x, y, n: select(n >= 0, x, y))
    whole = at.made((i, m), [(q, (*w, m, k)), (both, (*w, k, i))], lambda q, s: q * s, over=(k,))
    if of_q:
        whole = at.made((i, m), [(whole, (*w, i, m)), (seed, (*w, m, i))], lambda x, s: x + s)
    divided = at.applied("solve_upper", False, r, w, whole)
    return at.added(0, (m, i), [(divided, (*w, i, m))], lambda x: x)


def _singular_values_tangent(at: _Points, d: Atom) -> Atom:
    i, j, m, w = at.i, at.j, at.row, at.op.write
    read = [(at.made_by("svd_u"), (*w, m, i)), (d, (*at.lead(0), m, j)), (at.made_by("svd_v"), (*w, j, i))]
    return at.made((i,), read, lambda u, d, v: u * d * v, over=(m, j))


def _singular_values_adjoint(at: _Points, seed: Atom) -> Atom:
    j, k, m, w = at.j, at.k, at.row, at.op.write
    read = [(at.made_by("svd_u"), (*w, m, k)), (seed, (*w, k)), (at.made_by("svd_v"), (*w, j, k))]
    return at.added(0, (m, j), read, lambda u, s, v: u * s * v, over=(k,))


def _singular_vectors_tangent(at: _Points, d: Atom) -> Atom:
    i, j, k, m, w = at.i, at.j, at.k, at.row, at.op.write
    u, s, v = at.made_by("svd_u"), at.made_by("singular_values"), at.made_by("svd_v")
    along = at.made((m, i), [(d, (*at.lead(0), m, j)), (v, (*w, j, i))], lambda d, v: d * v, over=(j,))
    p = at.made((i, j), [(u, (*w, m, i)), (along, (*w, m, j))], lambda u, a: u * a, over=(m,))
    left = at.op.name == "svd_u"
    both = at.made((i, j), [(p, (*w, i, j)), (p, (*w, j, i)), (s, (*w, i)), (s, (*w, j))],
                   (lambda x, y, si, sj: x * sj + si * y) if left else (lambda x, y, si, sj: si * x + y * sj))
    inside = _over_square_gaps(at, s, both)
    if not left:
        return at.made((i, j), [(v, (*w, i, k)), (inside, (*w, k, j))], lambda v, x: v * x, over=(k,))
    # U·(F - P·diag(s)⁻¹) + dM·V·diag(s)⁻¹
    inside = at.made((i, j), [(inside, (*w, i, j)), (p, (*w, i, j)), (s, (*w, j))], lambda x, p, s: x - p / s)
    moved = at.made((m, j), [(u, (*w, m, k)), (inside, (*w, k, j))], lambda u, x: u * x, over=(k,))
    return at.made((m, j), [(moved, (*w, m, j)), (along, (*w, m, j)), (s, (*w, j))], lambda x, a, s: x + a / s)


def _singular_vectors_adjoint(at: _Points, seed: Atom) -> Atom:
    i, j, k, m, w = at.i, at.j, at.k, at.row, at.op.write
    u, s, v = at.made_by("svd_u"), at.made_by("singular_values"), at.made_by("svd_v")
    left = at.op.name == "svd_u"
    row = m if left else k
    turned = at.made((i, j), [(at.e.outs[0], (*w, row, i)), (seed, (*w, row, j))], lambda x, s: x * s, over=(row,))
    gaps = _over_square_gaps(at, s, turned)
    read = [(gaps, (*w, i, j)), (gaps, (*w, j, i)), (turned, (*w, i, j)), (s, (*w, i)), (s, (*w, j))]
    inside = at.made((i, j), read, (lambda x, y, t, si, sj: (x + y) * sj - t / sj) if left else
                     (lambda x, y, t, si, sj: si * (x + y)))
    half = at.made((m, j), [(u, (*w, m, k)), (inside, (*w, k, j))], lambda u, x: u * x, over=(k,))
    if left:
        half = at.made((m, j), [(half, (*w, m, j)), (seed, (*w, m, j)), (s, (*w, j))], lambda h, d, s: h + d / s)
    return at.added(0, (m, i), [(half, (*w, m, j)), (v, (*w, i, j))], lambda h, v: h * v, over=(j,))


def _over_square_gaps(at: _Points, s: Atom, x: Atom) -> Atom:
    """The elements of a matrix divided by differences of squares of singular values; 0 on its diagonal."""
    i, j, w = at.i, at.j, at.op.write
    return at.made((i, j), [(x, (*w, i, j)), (s, (*w, j)), (s, (*w, i)), i - j],
                   lambda x, to, own, n: select(n == 0, 0.0, x / select(n == 0, 1.0, (to - own) * (to + own))))


def _exponential_tangent(at: _Points, d: Atom) -> Atom:
    made = at.block_exponential((at.e.args[at.op.sources[0].arg], at.lead(0)), (d, at.lead(0)), False)
    return at.made((at.i, at.j), [(made, (*at.op.write, at.i, at.j + matrix_extent(at.e)))], lambda x: x)


def _exponential_adjoint(at: _Points, seed: Atom) -> Atom:
    made = at.block_exponential((at.e.args[at.op.sources[0].arg], at.lead(0)), (seed, at.op.write), True)
    return at.added(0, (at.i, at.j), [(made, (*at.op.write, at.i, at.j + matrix_extent(at.e)))], lambda x: x)


def _sorted_tangent(at: _Points, d: Atom) -> Atom:
    return at.made((at.i,), [(d, (*at.lead(0), *at.order()))], lambda d: d)


def _sorted_adjoint(at: _Points, seed: Atom) -> Atom:
    return at.added(0, at.order(), [(seed, (*at.op.write, at.i))], lambda s: s, over=(at.i,))


DECOMPOSED: dict[str, tuple[Callable[[_Points, Atom], Atom], Callable[[_Points, Atom], Atom]]] = {
    "eigenvalues": (_eigenvalues_tangent, _eigenvalues_adjoint), "eigenvectors": (_eigenvectors_tangent, _eigenvectors_adjoint),
    **dict.fromkeys(("qr_q", "qr_r"), (_factors_tangent, _factors_adjoint)),
    "singular_values": (_singular_values_tangent, _singular_values_adjoint),
    **dict.fromkeys(("svd_u", "svd_v"), (_singular_vectors_tangent, _singular_vectors_adjoint)),
    "expm": (_exponential_tangent, _exponential_adjoint), "sort": (_sorted_tangent, _sorted_adjoint)}
"""The tangent and the adjoint of operations that read nothing else."""


# ---------------------------------------------------------------- what rules are written with

class _Points:
    """Comprehensions and operations at every point of an operation's box; `i`, `j`, `k` are rows and columns of its matrix."""

    def __init__(self, b: Builder, e: Equation) -> None:
        self.b, self.e, self.op = b, e, _operation(e)
        n = matrix_extent(e)
        made = [Index(x) for x in "ijk"]
        self.i, self.j, self.k = map(affine, made)
        self.extents: dict[Index, Affine] = dict.fromkeys(made, n)
        rows = Index("r")
        self.row, self.extents[rows] = affine(rows), operand_shape(e)[0]
        self.more: tuple[Atom, ...] = ()
        self.column = Index("m")
        rest = trailing(e)
        if self.op.name in SOLVES and len(rest) == 2:
            self.extents[self.column] = rest[1]

    def lead(self, source: int) -> Subscripts:
        return self.op.sources[source].subscripts

    def columns(self) -> tuple[Affine, ...]:
        """The index of the columns on the right, where there are some."""
        return (affine(self.column),) if self.column in self.extents else ()

    def right(self) -> Subscripts:
        return self.op.write

    def triangle(self, i: Affine, j: Affine) -> tuple[Affine, ...]:
        """Guards of the elements i, j that a triangular solve reads of its matrix."""
        return {"solve_lower": (i - j,), "solve_upper": (j - i,)}.get(self.op.name, ())

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
        """The place of element `i` of a sorted vector, for subscripts of `made` and `added`: an integer that is read."""
        places, write, args = self.made_by("sort_order"), (*self.op.write, self.i), len(self.e.args)
        op = Comprehension(ranges=(*self.op.ranges, self.along(self.i)), guards=self.op.guards, write=write, shape=self.op.shape)
        made = computed(self.b, op, lambda p: apply(TABLE["floor"], p + 0.5), [(places, write)], self.e.args)
        self.more = (whole_numbers(self.b, made),)
        return (Read(args, write),)

    def along(self, x: Affine) -> Range:
        assert x.index is not None
        return Range(x.index, affine(0), self.extents[x.index])

    def block_exponential(self, own: Element, above: Element, turned: bool) -> Atom:
        """The exponential of a block matrix: twice a matrix, or its transpose, on the diagonal, and another matrix above it."""
        n = matrix_extent(self.e)
        shape = (*self.op.shape[:len(self.op.write)], n * 2, n * 2)

        def part(element: Element, turned: bool, down: Affine, right: Affine) -> Atom:
            here = (self.j, self.i) if turned else (self.i, self.j)
            return self.comprehension((*self.op.write, self.i + down, self.j + right), shape, (self.i, self.j),
                                      [(element[0], (*element[1], *here))], lambda x: x, ())
        zero = affine(0)
        parts = [part(own, turned, zero, zero), part(own, turned, n, n), part(above, False, zero, n)]
        inner, here = every_element(shape)
        block = computed(self.b, Comprehension(ranges=inner, write=here, shape=shape), lambda x, y, z: x + y + z,
                         [(p, here) for p in parts]).atom
        op = MatrixOperation(name="expm", ranges=self.op.ranges, guards=self.op.guards, write=self.op.write, shape=shape,
                             sources=(Read(len(self.e.args), self.op.write),))
        return self.emitted(op, (*self.e.args, block))

    def applied(self, name: str, transposed: bool, matrix: Atom, lead: Subscripts, right: Atom,
                right_lead: Subscripts | None = None) -> Atom:
        """A solve at every point; its result has the leading subscripts of the operation, and its right-hand side too."""
        args = (*self.e.args, matrix, right)
        sources = (Read(len(args) - 2, lead), Read(len(args) - 1, self.op.write if right_lead is None else right_lead))
        op = MatrixOperation(name=name, ranges=self.op.ranges, guards=self.op.guards, write=self.op.write, shape=shape_of(right),
                             sources=sources, transposed=transposed)
        return self.emitted(op, args)

    def emitted(self, op: MatrixOperation, args: tuple[Atom, ...]) -> Atom:
        op, args = compacted(op, args)
        return self.b.emit(op, *args, shape=op.shape)

    def made(self, own: Sequence[Affine], read: Sequence[Element | Affine], body: Callable[..., Expr],
             over: Sequence[Affine] = (), guards: tuple[Affine, ...] = (), shape: tuple[Affine, ...] | None = None) -> Atom:
        """A comprehension that writes at the leading subscripts of the result, and sums over the indices in `over`."""
        lead = self.op.shape[:len(self.op.write)]
        shape = shape if shape is not None else (*lead, *[self.extents[x.index] for x in own if x.index is not None])
        return self.comprehension((*self.op.write, *own), shape, (*own, *over), read, body, guards)

    def added(self, source: int, own: Sequence[Subscript], read: Sequence[Element | Affine], body: Callable[..., Expr],
              over: Sequence[Affine] = (), guards: tuple[Affine, ...] = ()) -> Atom:
        """A comprehension that adds up where a source reads."""
        s = self.op.sources[source]
        plain = [x for x in own if isinstance(x, Affine)]
        return self.comprehension((*s.subscripts, *own), shape_of(self.e.args[s.arg]), (*plain, *over), read, body, guards)

    def comprehension(self, write: Subscripts, shape: tuple[Affine, ...], over: Sequence[Affine],
                      read: Sequence[Element | Affine], body: Callable[..., Expr], guards: tuple[Affine, ...]) -> Atom:
        indices = [x.index for x in over if x.index is not None]
        ranges = (*self.op.ranges, *[Range(i, affine(0), self.extents[i]) for i in indices])
        op = Comprehension(ranges=ranges, guards=(*self.op.guards, *guards), write=write, shape=shape,
                           reduction="=" if all_fixed(ranges, write) else "+")
        return computed(self.b, op, body, read, (*self.e.args, *self.more)).atom


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
            shape: tuple[Affine, ...]) -> Atom:
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
