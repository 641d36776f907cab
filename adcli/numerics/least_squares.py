"""The way to the least squares: SciPy's solvers with an exact Jacobian, that of Levenberg and Marquardt where it is sparse, then
Gauss-Newton steps to the last digits.

Residuals r_i(b), i < n, are already divided by their standard uncertainties; J = ∂r_i/∂b_j. With a loss ρ the cost is
C²·½Σρ((r_i/C)²), C being `f_scale`; ψ = r·ρ' is its derivative by r, and the cost is that of least squares where ρ(z) = z.
"""
from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from adcli.lang.ir.errors import missing
from adcli.numerics.linear import LocalModel, Normal, Vector, column_lengths, dense, entries, levenberg, over
from adcli.numerics.losses import EPS, Loss, Matrix, cost

RANK = 1e-13
"""Singular values of the Jacobian with columns of length 1, relative to the largest, that are rounding of zero."""
BLOCK = 1024
"""Rows that are reduced at a time."""
TOLERANCE = 1e-12
"""Relative change of cost or parameters at which SciPy's solvers stop; the steps of Gauss and Newton go on from there."""
MOST_STEPS = 60
"""Steps of Gauss and Newton after a solver."""
OFFSET = 1e-5
"""The longest step, in residual standard deviations, from what counts as the minimum (relative offset: Bates and Watts,
Technometrics 23, 1981)."""
SMALL = 1e-9
"""Longest step relative to the parameters."""
ROUNDING = 1e-14
"""Rounding of a residual, relative to the largest value that is compared."""
CURVED = 1e-3
"""How far residuals are moved for second derivatives of the cost, relative to their scatter; and how negative the least is,
relative to that of Gauss and Newton, where a point is a saddle."""
SADDLE_STEP = 0.1
"""How far residuals are moved from a saddle, relative to their length."""
MOST_SADDLES, MOST_CURVED = 5, 100
"""Saddles that are left one after another; parameters of which second derivatives are asked for."""
BESIDE = 1e-3
"""How far beside an end lies a point that is no special one, relative to the parameters."""
BEYOND = 1e100
"""Value for a residual that is not finite, at which MINPACK takes a shorter step."""


class NotFinite(Exception):
    """Residuals, or the Jacobian at finite residuals, are not finite at a point where a solver needs them."""

    def __init__(self, at: Vector) -> None:
        super().__init__()
        self.at = at


class Residuals:
    """r and J as functions of the parameters, computed together, in a `unit` in which squares are doubles; `size` is that of the
    values compared, to which rounding is relative. The last point is remembered, and calls are counted."""

    def __init__(self, compute: Callable[[Vector], tuple[Vector, Matrix]], size: float, unit: float = 1.0) -> None:
        self.compute, self.size, self.unit = compute, size, unit
        self.evaluations = 0
        self.last: tuple[bytes, tuple[Vector, Matrix]] | None = None
        self.small: tuple[bytes, tuple[Vector, Matrix]] | None = None

    def __call__(self, b: Vector) -> tuple[Vector, Matrix]:
        key = b.tobytes()
        if self.last is None or self.last[0] != key:
            self.evaluations += 1
            self.last = key, self.compute(b)
        return self.last[1]

    def triangular(self, b: Vector) -> tuple[Vector, Matrix]:
        """r and J in as many rows as there are parameters, and one."""
        key = b.tobytes()
        if self.small is None or self.small[0] != key:
            self.small = key, triangular(*self(b))
        return self.small[1]

    def checked(self, b: Vector) -> tuple[Vector, Matrix]:
        """r and J. NotFinite where they are not."""
        r, j = self(b)
        small = map(entries, self.triangular(b))
        if not all(np.isfinite(x).all() for x in small) and not (np.isfinite(r).all() and np.isfinite(entries(j)).all()):
            raise NotFinite(b.copy())
        return r, j

    def cost(self, b: Vector, loss: Loss) -> float:
        """Twice the cost."""
        return cost(self(b)[0], loss)

    def local(self, b: Vector, loss: Loss) -> LocalModel:
        """The local model of the method of Levenberg and Marquardt."""
        return LocalModel(self.cost(b, loss), *loss.modified(*self(b)))

    def fixed(self, j: int, x: float) -> Residuals:
        """The function of the other parameters, with number j fixed."""
        def compute(b: Vector) -> tuple[Vector, Matrix]:
            r, jacobian = self(np.insert(b, j, x))
            return r, jacobian[:, np.flatnonzero(np.arange(len(b) + 1) != j)]
        return Residuals(compute, self.size, self.unit)

    def scatter(self, length: float, rows: int, free: int) -> float:
        """The size next to which a step is none."""
        return length / math.sqrt(max(rows - free, 1))

    def attempts(self, start: Start, loss: Loss) -> list[tuple[str, bool]]:
        """Methods of `solved`, each with whether it goes on from the end of the one before."""
        if not isinstance(self.checked(start.values)[1], np.ndarray):
            return [("levenberg", False)]
        plain = loss.name == "linear" and not start.bounded
        return [("trf", False), *([("lm", True), ("lm", False)] if plain else []), ("dogbox", False)]

    def downwards(self, start: Start, end: End, loss: Loss) -> Vector | None:
        """A step from a stationary point along which the cost has a negative second derivative, None where there is none."""
        return downwards(self, start, end, loss)


class Start(NamedTuple):
    """Parameters by name, where a solver begins, and their bounds, infinite where there is none."""

    names: tuple[str, ...]
    values: Vector
    low: Vector
    high: Vector

    @property
    def bounded(self) -> bool:
        return bool(np.isfinite(self.low).any() or np.isfinite(self.high).any())


@dataclass(frozen=True, eq=False)
class End:
    """Where a solver has ended: the point; how many residuals there are, their length and scatter; R of J = QR, or J if sparse;
    which parameters are held by a bound; the step that Gauss and Newton would take from there, and how far it would move the
    residuals."""

    at: Vector
    rows: int
    length: float
    scatter: float
    triangle: Matrix
    held: Vector
    step: Vector
    moved: float
    cost: float
    solver: str
    saddle: bool = False

    @cached_property
    def lost(self) -> Vector:
        """Directions of the parameters that are not held along which no residual changes, a row each."""
        return null_space(self.triangle[:, np.flatnonzero(~self.held)])

    def converged(self, size: float) -> bool:
        """True if this is no saddle, and the step is none: next to the scatter of the residuals, next to the parameters, or next
        to rounding."""
        if self.saddle:
            return False
        tiny = bool(np.all(np.abs(self.step) <= SMALL * np.abs(self.at)))
        return self.moved <= OFFSET * self.scatter or tiny or self.moved <= ROUNDING * math.sqrt(self.rows) * size


def minimised(residuals: Residuals, start: Start, loss: Loss, most: int) -> tuple[End, Vector | None]:
    """The least cost that is found from a start, and where some solver met numbers that are not finite. NotFinite where there is
    no cost to begin with.

    The trust region method of SciPy is tried first; where its end is no minimum, or some parameter has no influence there but
    beside it, others follow, from its end and from the start, and the best end counts. From a saddle the way goes on downhill.
    """
    sparse = not isinstance(residuals.checked(start.values)[1], np.ndarray)
    ends: list[End] = []
    fault: NotFinite | None = None
    for method, again in residuals.attempts(start, loss):
        begin = ends[-1].at if again and ends else start.values
        try:
            end = polished(residuals, start, solved(residuals, start._replace(values=begin), loss, method, most), loss, method)
            ends.append(off_saddles(residuals, start, end, loss, most))
        except NotFinite as error:
            fault = fault or error
            continue
        best = min(ends, key=lambda e: e.cost)
        if best.converged(residuals.size) and (sparse or not best.lost.any() or lost_beside(residuals, start, best)):
            return best, fault.at if fault else None
    if not ends:
        assert fault is not None
        raise fault
    return min(ends, key=lambda e: e.cost), fault.at if fault else None


def lost_beside(residuals: Residuals, start: Start, end: End) -> bool:
    """True if as many directions are lost at a point beside an end: then the model has this freedom, and no solver ends it."""
    size = np.maximum(np.abs(end.at), np.abs(start.values))
    aside = BESIDE * np.cos(np.arange(len(size))) * np.where(size > 0, size, 1.0)
    try:
        residuals.checked(at := np.clip(end.at + aside, start.low, start.high))
    except NotFinite:
        return False
    return len(null_space(residuals.triangular(at)[1][:, ~end.held])) == len(end.lost)


def off_saddles(residuals: Residuals, start: Start, end: End, loss: Loss, most: int) -> End:
    """The end, if it is a minimum; where the cost is curved downwards along some direction, an end further down."""
    for _ in range(MOST_SADDLES):
        if not end.converged(residuals.size) or (down := residuals.downwards(start, end, loss)) is None:
            return end
        aside = start._replace(values=np.clip(end.at + down, start.low, start.high))
        below = solved(residuals, aside, loss, residuals.attempts(start, loss)[0][0], most)
        following = polished(residuals, start, below, loss, end.solver)
        if not following.cost < end.cost:
            return replace(end, saddle=True)
        end = following
    return replace(end, saddle=residuals.downwards(start, end, loss) is not None)


def downwards(residuals: Residuals, start: Start, end: End, loss: Loss) -> Vector | None:
    """A step from a stationary point along which the cost has a negative second derivative, None where there is none.

    The second derivatives are differences of the gradient along the columns of D, in which JᵀJ is the unit matrix. The Hessian of
    least squares is that plus Σ r ∂²r, so its eigenvalues are 1 where residuals are small.
    """
    free = np.flatnonzero(~end.held)
    if not 0 < len(free) <= MOST_CURVED:
        return None
    triangle = dense(end.triangle[:, free])
    lengths = column_lengths(triangle)
    root = inverse_root(triangle / lengths)
    d = np.zeros((len(end.at), root.shape[1]))
    d[free] = root / lengths[:, None]
    step = max(CURVED * end.length / math.sqrt(end.rows), SMALL * residuals.size)

    def slope(b: Vector) -> Vector:
        r, j = residuals(b)
        found: Vector = d.T @ (j.T @ loss.influence(r)[0])
        return found

    here, curvature = slope(end.at), np.eye(d.shape[1])
    for k, along in enumerate(d.T):
        for sign in (step, -step):
            b = end.at + sign * along
            if np.all((start.low <= b) & (b <= start.high)) and np.isfinite(there := slope(b)).all():
                curvature[k] = (there - here) / sign
                break
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
    if not len(values) or values[0] > -CURVED:
        return None
    found: Vector = d @ vectors[:, 0] * SADDLE_STEP * end.length
    return found


def solved(residuals: Residuals, start: Start, loss: Loss, method: str, most: int) -> Vector:
    """Where a method ends: one of SciPy, or that for sparse Jacobians."""
    try:
        from scipy.optimize import least_squares
    except ImportError:
        raise missing("a fit", "scipy") from None
    if method == "levenberg":
        return levenberg(lambda b: residuals.local(b, loss), start.values, start.low, start.high, most)
    # The tolerance of the gradient is absolute in trf and dogbox, which a fit of small numbers would meet at once.
    options: dict[str, Any] = {"gtol": EPS} if method == "lm" else {
        "gtol": None, "bounds": (start.low, start.high), "loss": loss.name, "f_scale": loss.scale}
    few = residuals.triangular if loss.name == "linear" else residuals

    def fun(b: Vector) -> Vector:
        r = few(b)[0]
        return np.nan_to_num(r, nan=BEYOND, posinf=BEYOND, neginf=-BEYOND) if method == "lm" else r

    def jac(b: Vector) -> Matrix:
        residuals.checked(b)
        return few(b)[1]

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found: Vector = least_squares(fun, start.values, jac, method=method, x_scale="jac",
                                          ftol=TOLERANCE, xtol=TOLERANCE, max_nfev=most, **options).x
        except (np.linalg.LinAlgError, ValueError):   # numbers so large that products of them are not finite
            return start.values
    return found


def polished(residuals: Residuals, start: Start, at: Vector, loss: Loss, solver: str) -> End:
    """From near a minimum by full steps of Gauss and Newton, as long as these become shorter; parameters stay within bounds."""
    end, length = ended(residuals, start, at, loss, solver), math.inf
    least = 0.0 if isinstance(end.triangle, np.ndarray) else TOLERANCE * end.length
    for _ in range(MOST_STEPS):
        if not least < end.moved < length or not np.isfinite(end.step).all():
            break
        new = np.clip(end.at + end.step, start.low, start.high)
        if np.array_equal(new, end.at):
            break
        try:
            following = ended(residuals, start, new, loss, solver)
        except NotFinite:
            break
        if not following.cost <= end.cost + SMALL * abs(end.cost) + (EPS * residuals.size) * (EPS * residuals.size):
            break
        end, length = following, end.moved
    return end


def ended(residuals: Residuals, start: Start, at: Vector, loss: Loss, solver: str) -> End:
    """All there is to know of a point, which is moved onto bounds that it all but touches."""
    near = SMALL * np.abs(at)
    at = np.where(at - start.low <= near, start.low, np.where(start.high - at <= near, start.high, at))
    plain, jacobian = residuals.checked(at)
    small = residuals.triangular(at)
    r, j = small if loss.name == "linear" else triangular(*loss.modified(plain, jacobian))
    slope = j.T @ r
    held = ((at == start.low) & (slope > 0)) | ((at == start.high) & (slope < 0))
    step = step_within(j, r, at, start, held)
    moved = float(np.linalg.norm(small[1] @ step))
    rows, length = len(plain), float(np.linalg.norm(plain))
    scatter = residuals.scatter(length, rows, int((~held).sum()))
    return End(at, rows, length, scatter, small[1], held, step, moved, residuals.cost(at, loss), solver)


def step_within(j: Matrix, r: Vector, at: Vector, start: Start, held: Vector) -> Vector:
    """The step of Gauss and Newton for the parameters that are not held; one that it would take beyond a bound goes to the bound,
    and the others have the step that is best then."""
    step, free = np.zeros_like(at), ~held
    while free.any():
        step[free] = shortest_solution(j[:, free], -(r + j[:, ~free] @ step[~free]))
        room = np.where(step < 0, start.low, start.high) - at
        share = np.full(len(at), math.inf)
        np.divide(room, step, out=share, where=free & (step != 0))
        if not (first := share.min()) < 1:
            break
        reached = share == first
        step[reached], free = room[reached], free & ~reached
    return step


# ---------------------------------------------------------------- singular values of Jacobians with columns of length 1

def triangular(r: Vector, j: Matrix) -> tuple[Vector, Matrix]:
    """Qᵀr and QᵀJ for the Q of [J r] = QR: few rows, with the lengths and products of the many, which are all that the method of
    least squares asks for. Many rows are taken a block at a time, as far as they lie in the cache."""
    if not isinstance(j, np.ndarray):
        return r, j
    a = np.column_stack([j, r])
    rows, columns = a.shape
    whole = rows // BLOCK
    if whole > 1 and columns < BLOCK // 4:
        blocks: Matrix = np.linalg.qr(a[:whole * BLOCK].reshape(whole, BLOCK, columns), mode="r")
        a = np.concatenate([blocks.reshape(-1, columns), a[whole * BLOCK:]])
    found: Matrix = np.linalg.qr(a, mode="r")
    return found[:, -1], found[:, :-1]


def shortest_solution(j: Matrix, r: Vector) -> Vector:
    """The least squares solution of j x = r with columns of j scaled to length 1, the shortest where there are many."""
    lengths = column_lengths(j)
    if not isinstance(j, np.ndarray):
        return Normal(of_length_one(j, lengths)).least_squares(r) / lengths
    u, s, vt = np.linalg.svd(j / lengths, full_matrices=False)
    kept = s > RANK * s[0] if len(s) else s > 0
    return (vt[kept].T @ ((u[:, kept].T @ r) / s[kept])) / lengths


def inverse_root(j: Matrix) -> Matrix:
    """R of RRᵀ = (JᵀJ)⁻¹, without the directions that are not determined."""
    _, s, vt = np.linalg.svd(j, full_matrices=False)
    kept = s > RANK * s[0] if len(s) else s > 0
    return vt[kept].T / s[kept]


def of_length_one(j: Matrix, lengths: Vector) -> Matrix:
    """A sparse matrix with its columns divided by their lengths."""
    return over(j, np.ones(j.shape[0]), lengths)


def null_space(j: Matrix) -> Matrix:
    """Directions along which nothing changes, one a row, each with as few components as may be and the first of them 1; what is
    zero but for rounding is zero."""
    p = j.shape[1]
    if p == 0:
        return np.zeros((0, 0))
    lengths = column_lengths(j)
    if isinstance(j, np.ndarray):
        _, s, vt = np.linalg.svd(j / lengths, full_matrices=j.shape[0] < p)
        found = vt[int((s > RANK * s[0]).sum()) if s[0] > 0 else 0:]
    else:
        found = Normal(of_length_one(j, lengths)).lost()
    basis = reduced(found)
    basis[np.abs(basis) < 1e-6] = 0.0
    basis /= lengths
    return np.array([d / d[np.flatnonzero(d)[0]] for d in basis]).reshape(len(basis), p)


def reduced(rows: Matrix) -> Matrix:
    """The reduced row echelon form of independent rows, the largest element of a row as its pivot."""
    rows = rows.copy()
    for i in range(len(rows)):
        pivot = int(np.argmax(np.abs(rows[i])))
        rows[i] /= rows[i, pivot]
        for k in range(len(rows)):
            if k != i:
                rows[k] -= rows[k, pivot] * rows[i]
    for row in rows:
        row /= np.abs(row).max()
    return rows
