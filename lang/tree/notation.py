"""How operations and numbers are spelled: operators with their precedence, prefix calls, constants.

A piece of text travels with its level, so that parentheses appear exactly where `grammar.lark` needs them. Both printers
(of programs and of source trees) write through these functions.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

TERNARY, OR, AND, NOT, COMPARISON, SUM, PRODUCT, UNARY, POWER, ATOM = range(10)

INFIX: dict[str, tuple[str, int]] = {
    "or": ("or", OR), "and": ("and", AND),
    "lt": ("<", COMPARISON), "le": ("<=", COMPARISON), "gt": (">", COMPARISON), "ge": (">=", COMPARISON),
    "eq": ("==", COMPARISON), "ne": ("!=", COMPARISON),
    "add": ("+", SUM), "sub": ("-", SUM), "mul": ("*", PRODUCT), "div": ("/", PRODUCT), "pow": ("**", POWER),
}
"""Binary operators by the prefix name of their operation."""

ALIASES = {"negate": "neg"}
"""Other names of operations."""


def calls(table: str) -> dict[str, tuple[str, str]]:
    """A table of lines such as `det(A): determinant`: arguments and what a function is by its name."""
    lines = [line.strip().partition("): ") for line in table.strip().splitlines()]
    return {name: (args, about) for call, _, about in lines for name, _, args in [call.partition("(")]}


MATRIX_CALLS = calls("""
    solve(A, b): x with A·x = b
    solve_lower(L, b): x with L·x = b, L lower triangular
    solve_upper(U, b): x with U·x = b, U upper triangular
    cholesky(A): L with L·Lᵀ = A, L lower triangular
    logdet(A): log of the determinant
    inverse(A): inverse matrix
    det(A): determinant
    eigenvalues(A): eigenvalues of the symmetric part of a matrix, from the least on
    eigenvectors(A): eigenvectors of the symmetric part of a matrix, in the columns
    qr_q(A): Q with A = Q·R, its columns orthonormal, for at least as many rows as columns
    qr_r(A): R with A = Q·R, upper triangular, with a positive diagonal
    singular_values(A): singular values of a matrix with at least as many rows as columns, from the greatest on
    svd_u(A): left singular vectors of a matrix, in the columns
    svd_v(A): right singular vectors of a matrix, in the columns
    expm(A): exponential of a matrix
    sort(x): elements of a vector, from the least on
    sort_order(x): places of the elements of a vector from the least on, as real numbers
    search(xs, x): number of elements of an ascending vector that are at most x
    transpose(A): rows as columns
""")
"""The operations on matrices that a program may call (`adcli.lang.operations.matrix`): arguments and a line for each. The
first is a matrix, or the vector x."""
TENSOR_CALLS = calls("""
    trace(A): sum of the diagonal of a matrix
    norm(x): Euclidean norm of a vector, Frobenius norm of a matrix
    dot(x, y): sum of the products of the elements of two vectors
    outer(x, y): products of the elements of two vectors, a matrix
    matmul(A, B): product of two matrices, a matrix and a vector, or two vectors
    diag(x): matrix with a vector on its diagonal; diag(A) is the diagonal of a square matrix
    kron(A, B): Kronecker product of two matrices
    cumsum(x): sums of the first elements of a vector
    cumprod(x): products of the first elements of a vector
    diff(x): differences of the elements of a vector, each from the one before
    convolve(x, y): convolution of two vectors, with all elements
    trapezoid(y, x): integral of a table of values y at x, by trapezoids
    sum(x): sum of the elements of a vector, a matrix or a tensor with three dimensions
    prod(x): product of the elements of a vector or a matrix
    amax(x): greatest element of a vector or a matrix
    amin(x): least element of a vector or a matrix
    argmax(x): place of the greatest element of a vector
    argmin(x): place of the least element of a vector
    mean(x): mean of the elements of a vector or a matrix
    var(x): mean square deviation from the mean, divided by the number of elements
    std(x): root of the mean square deviation from the mean
    logsumexp(x): log of the sum of the exponentials of a vector or a matrix
    softmax(x): exponentials of a vector, divided by their sum
    log_softmax(x): logarithms of the softmax of a vector
    argsort(x): places of the elements of a vector from the least on, whole numbers
    eigh(A): eigenvalues and eigenvectors of the symmetric part of a matrix: (w, V) = eigh(A)
    qr(A): factors of a matrix: (Q, R) = qr(A)
    svd(A): singular values and vectors: (U, s, V) = svd(A), A = U·diag(s)·Vᵀ
    knots_around(x, xs): knots on both sides of x, and how far it is between them: (k, l, t) = knots_around(x, xs)
    interp(x, xs, ys): linear interpolation of a table, constant outside; interp(x, y, xs, ys, Z) in a matrix
    hermite(x, xs, ys, slopes): cubic interpolation of a table of values and slopes
    pchip(x, xs, ys): monotone cubic interpolation of a table
    pchip_slopes(xs, ys): slopes of monotone cubic interpolation at the knots of a table
    natural_spline(x, xs, ys): cubic spline through a table, whose second derivative is 0 at the ends
    natural_slopes(xs, ys): slopes of the natural cubic spline at the knots of a table
    cubics(x, xs, ys, slopes, flat): cubic interpolation; flat is 1 where second derivatives are continuous, else 0
    pinv(A): pseudoinverse of a matrix of independent columns
    lstsq(A, b): x with the least norm of A·x - b, for a matrix of independent columns
    dirichlet_lpdf(theta, alpha): log density of the Dirichlet distribution
    multi_normal_cholesky_lpdf(y, mu, L): log density of the normal distribution with the covariance L·Lᵀ
    lkj_corr_lpdf(R, eta): log density of correlation matrices of Lewandowski, Kurowicka and Joe
    lkj_corr_cholesky_lpdf(L, eta): that of their Cholesky factors
""")
"""The functions of whole tensors that need no definition (`adcli.lang.lower.tensor_library`): arguments and a line for each."""
SIZES_OF = {**dict.fromkeys(("len", "nrow", "nrows", "NROW", "rows", "height"), "first"),
            **dict.fromkeys(("ncol", "ncols", "NCOL", "cols", "columns", "width"), "second"),
            **dict.fromkeys(("length", "numel", "size", "shape", "dim", "numelements"), "all")}
"""Functions that give a size of a tensor, and of what dimensions; `size(x, d)` counts dimensions from 1, `shape(x, d)` from 0."""
CONSTRAINTS = {"simplex": "no element is negative and their sum is 1", "ordered": "each element is larger than the one before",
               "cholesky_factor_corr": "rows have length 1, the diagonal is positive, and above it are zeros"}
"""Constraints that a declaration can put on vectors of the last dimension: `input p(K) in simplex`; and of matrices."""
OF_MATRICES = frozenset({"cholesky_factor_corr"})
AFFINE_OPERATIONS = {"add": 2, "sub": 2, "mul": 2, "neg": 1, "pos": 1, "negate": 1}
"""Operations that make sums of multiples, with their number of operands."""

INDENT = "    "
"""Of what stands inside a block or goes on from the line above."""

Piece = tuple[str, int]
"""Text and the level of its outermost operator."""


def number(value: float) -> str:
    """The shortest text that reads back to the same double; integers without a point where that is exact."""
    if math.isnan(value):
        return "nan"
    if value.is_integer() and abs(value) < 1e15 and not (value == 0 and math.copysign(1, value) < 0):
        return str(int(value))
    return repr(value)


def constant(value: float) -> Piece:
    text = number(value)
    return text, UNARY if text.startswith("-") else ATOM


def enclosed(piece: Piece, least: int) -> str:
    """The piece, in parentheses where its level is below `least`."""
    return piece[0] if piece[1] >= least else f"({piece[0]})"


def is_constant(piece: Piece) -> bool:
    """Whether a piece is a constant, which a minus in front would change into another constant."""
    text = piece[0].lstrip("-")
    return piece[1] in (ATOM, UNARY) and (text[0].isdigit() or text in ("inf", "nan"))


def call(name: str, parts: Sequence[Piece]) -> Piece:
    return f"{name}({', '.join(p[0] for p in parts)})", ATOM


def infix(name: str, parts: Sequence[Piece]) -> Piece:
    """The operation as the language's operators write it, or as a call where there is no operator for it."""
    if name == "select":
        return f"{enclosed(parts[0], OR)} ? {enclosed(parts[1], OR)} : {enclosed(parts[2], TERNARY)}", TERNARY
    if name == "neg" and not is_constant(parts[0]):
        return f"-{enclosed(parts[0], POWER)}", UNARY
    if name == "not":
        return f"not {enclosed(parts[0], NOT)}", NOT
    if name in INFIX and len(parts) == 2:
        symbol, level = INFIX[name]
        left = {POWER: ATOM, COMPARISON: SUM}.get(level, level)
        right = {POWER: UNARY}.get(level, level + 1)
        return f"{enclosed(parts[0], left)} {symbol} {enclosed(parts[1], right)}".replace(" ** ", "**"), level
    return call(name, parts)
