"""Notes on a fit: parameters that are not determined, numbers that are not finite, kinks, and what `why` says of them."""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from adcli.fit.fit import Fit, Fitted, NullDirection
from adcli.lang.ir import has_tensors
from adcli.lang.ir.errors import plural
from adcli.lang.ir.names import tensor_of
from adcli.numerics.linear import entries, finite_rows
from adcli.output.layout import Row
from adcli.output.wrap import few
from adcli.solvers.explain_failure import point_text
from adcli.task.tasks import Task

ROUGH_ROWS = 20
"""Rows that are asked for what is not smooth there."""
MOST_TOLD = 20
"""Parameters at bounds, or in a sentence, that are named."""
FEW_FREE = 3
"""Parameters for each direction that is free, from which on the freedom is one of all together."""
ASKED_ROWS = 5
"""Rows in which `why` is asked for a parameter without influence."""


def point(fit: Fit, b: np.ndarray, row: int) -> dict[str, Any]:
    """All inputs of the program in a row, or the whole tensors."""
    found: dict[str, Any] = fit.model.point(b, row)
    return found


def worst_row(fit: Fit, b: np.ndarray) -> int:
    """The first row of which something is not finite; 0 where there are none."""
    found = fit.model(b)
    bad = np.flatnonzero(~(np.isfinite(found.values) & finite_rows(found.jacobian)))
    return fit.model.row_of(int(bad[0])) if len(bad) else 0


def not_finite_at(fit: Fit, b: np.ndarray) -> str:
    """That something is not finite at these parameters."""
    where = "the start" if np.array_equal(b, fit.start.values) else "a point on the way"
    what = "derivatives of the output are" if np.isfinite(fit.model(b).values).all() else "the output is"
    bad = worst_row(fit, b)
    if only_loss(fit, b):
        assert fit.objective is not None
        bad = fit.objective.bad_row(b)
        what = "the loss, or a derivative of it, is" if bad >= 0 else "a prior, or a derivative of it, is"
    row = "" if fit.places is None or bad < 0 else f"{fit.places.named(bad)}: "
    return f"{row}{what} not finite at {where}, {point_text(fit.start.names, b)}"


def only_loss(fit: Fit, b: np.ndarray) -> bool:
    """True if outputs and their derivatives are finite, and what is minimised is not."""
    found = fit.model(b)
    return fit.objective is not None and bool(np.isfinite(found.values).all() and np.isfinite(entries(found.jacobian)).all())


def explained(fit: Fit, b: np.ndarray) -> list[str]:
    """Explanation of numbers that are not finite."""
    return [] if only_loss(fit, b) else [*fit.model.explained(b, worst_row(fit, b))]


def notes(fit: Fit, task: Task, found: Fitted) -> Iterator[str]:
    """Notes that a reader of the answer needs."""
    for name, bound in list(found.held.items())[:MOST_TOLD]:
        yield f"note: {name} is held by its bound {bound!r}: it has no uncertainty, and the others are those with it fixed"
    if len(found.held) > MOST_TOLD:
        yield f"note: {len(found.held) - MOST_TOLD} more are held by their bounds"
    groups = connected(found.undetermined)
    if free := [d for directions in groups if is_gauge(directions) for d in directions]:
        yield f"note: {gauge_of(free)}"
    for directions in groups:
        if is_gauge(directions):
            continue
        yield f"note: {said_of(directions)}"
        if len(directions[0].moves) == 1:
            yield from no_influence(fit, task, found.values, directions[0].moves)
    if left := len(found.names) - len(found.reported):
        yield f"note: the standard uncertainties of {plural(left, 'parameter')} are left out"
    if found.dof == 0 and not found.absolute:
        yield "note: as many parameters as residuals: there are no degrees of freedom, and no uncertainties"
    if not found.converged:
        yield f"note: not converged after {plural(found.evaluations, 'evaluation')}: the best numbers on the way"
        b = found.stopped_at if found.stopped_at is not None else beyond(fit, found)
        if b is not None:
            yield f"note: {not_finite_at(fit, b)}"
            yield from explained(fit, b)


def no_influence(fit: Fit, task: Task, b: np.ndarray, names: Collection[str]) -> Sequence[str]:
    """Explanation by `why` that holds for parameters without influence in most rows: it is asked in some of them, as a row may
    have a reason of its own."""
    if fit.places is None:
        return []
    from adcli.why.command import remarks_on_zeros
    count = len(fit.places.rows)
    told: dict[Sequence[object], list[tuple[int, list[str]]]] = {}
    for row in np.unique(np.linspace(0, count - 1, min(count, ASKED_ROWS)).astype(int)).tolist():
        causes, texts = remarks_on_zeros(
            task.primal, fit.model.names, point(fit, b, row), {tensor_of(n) for n in names})
        told.setdefault(causes, []).append((row, texts))
    row, texts = max(told.values(), key=len)[0]
    return texts and [f"in {fit.places.named(row)}:", *texts]


def beyond(fit: Fit, found: Fitted) -> np.ndarray | None:
    """Where the next step leads, if something is not finite there."""
    if found.next is None or not np.isfinite(found.next).all():
        return None
    there = fit.model(found.next)
    return None if np.isfinite(there.values).all() and np.isfinite(entries(there.jacobian)).all() else found.next


def not_smooth(fit: Fit, task: Task, found: Fitted) -> Iterator[str]:
    """Where the outputs are not smooth in the parameters, so that there may be no minimum, and uncertainties mean little."""
    levels = fit.model.levels(found.values)
    rough = np.flatnonzero(levels).tolist()
    if not has_tensors(task.primal):
        rough = [i for i in rough[:ROUGH_ROWS] if depends(task, fit.model.names, point(fit, found.values, i))]
    if rough:
        from adcli.answers.diagnose import note
        where = "" if fit.places is None else f": {fit.places.named(rough[0])}"
        yield f"note: the output is not smooth in the parameters at the solution{where}"
        yield str(note(task, Row(point(fit, found.values, rough[0]), [], int(levels[rough[0]]))))


def depends(task: Task, names: Collection[str], at: Mapping[str, float]) -> bool:
    """True if an operation that is not smooth at a point has an operand that depends on these inputs."""
    from adcli.answers.diagnose import levels
    from adcli.lang.evaluate import FLOAT, every_value
    from adcli.lang.passes.status import activity
    known, values = activity(task.primal, names), every_value(task.primal, at, FLOAT)
    return any(level > 0 and not known.active.isdisjoint(e.args) for e, level in levels(task.primal, values, known))


# ---------------------------------------------------------------- parameters that data do not determine

def connected(directions: Sequence[NullDirection]) -> list[list[NullDirection]]:
    """Directions, those together that move a parameter in common, if only by way of others."""
    found: list[list[NullDirection]] = []
    for d in directions:
        same = [group for group in found if any(not d.moves.keys().isdisjoint(other.moves) for other in group)]
        found = [group for group in found if group not in same] + [[*(other for group in same for other in group), d]]
    return found


def is_gauge(directions: Sequence[NullDirection]) -> bool:
    """True if few directions move many elements of tensors: the model depends on these relative to one another only, as pictures
    do not tell where a scene and its cameras are in space."""
    moved = {name for d in directions for name in d.moves}
    return len(moved) >= FEW_FREE * len(directions) and all(name.endswith(")") for name in moved)


def gauge_of(directions: Sequence[NullDirection]) -> str:
    """Sentence on the freedom of many elements together."""
    moved = {name for d in directions for name in d.moves}
    tensors = dict.fromkeys(name.partition("(")[0] for name in directions[0].names if name in moved)
    many = f"{len(moved):,} elements of {', '.join(tensors)}"
    return (f"gauge freedom: {many} can be moved together in {plural(len(directions), 'direction')} without a change of any"
            " residual; they are determined up to that, and have no standard uncertainties")


def said_of(directions: Sequence[NullDirection]) -> str:
    """Sentence on directions that are connected: parameters that can only be had together, with the one sum of
    them that the data determine, or with the moves that change nothing where there are several such sums."""
    moved = {name for d in directions for name in d.moves}
    names = [name for name in directions[0].names if name in moved]
    if len(names) == 1:
        return f"{names[0]} has no influence: no residual changes with it here"
    together = f"{', '.join(names[:-1])} and {names[-1]} can only be had together"
    if len(names) > MOST_TOLD:
        return (f"{len(names):,} parameters, {few(names)}, can only be had together:"
                f" {plural(len(directions), 'direction')} are free")
    if len(names) == len(directions) + 1:
        alone = "neither alone" if len(names) == 2 else "none alone"
        return f"{together}: here the data determine {determined(directions, names)}, and {alone}"
    moves = [", ".join(f"{x} by {m:.6g}" for x, m in d.moves.items()) for d in directions]
    if len(moves) == 1:
        return f"{together}: moving {moves[0]} changes no residual"
    return f"{together}: neither moving {', nor moving '.join(moves)} changes a residual"


def determined(directions: Sequence[NullDirection], names: Sequence[str]) -> str:
    """The one sum of parameters that none of the directions changes, that of the first parameter with the factor 1."""
    moves = np.array([[d.moves.get(name, 0.0) for name in names] for d in directions])
    lengths = np.abs(moves).max(axis=0)
    factors = np.linalg.svd(moves / lengths)[2][-1] / lengths
    terms = zip(names, (factors / factors[0]).tolist(), strict=True)
    return next(terms)[0] + "".join(f" {'-' if x < 0 else '+'} {factor(abs(x))}{name}" for name, x in terms)


def factor(x: float) -> str:
    text = f"{x:.6g}"
    return "" if text == "1" else f"{text}*"
