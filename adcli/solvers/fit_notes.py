"""What is said of a fit beside its numbers: what is not determined, not finite, not smooth, and what `why` says of that."""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from adcli.lang.ir.errors import plural
from adcli.output.layout import Row
from adcli.solvers import because
from adcli.solvers.fit import Fitted
from adcli.solvers.fit_data import packed
from adcli.solvers.fit_model import Fit
from adcli.task.tasks import Task

ROUGH_ROWS = 20
"""Rows that are asked for what is not smooth there."""


def point(fit: Fit, b: np.ndarray, row: int) -> dict[str, Any]:
    """All inputs of the program in a row, or the whole tensors."""
    inputs = fit.model.inputs if fit.places is None else {n: float(c[row]) for n, c in fit.model.columns.items()}
    return {**inputs, **packed(fit.begins, b)}


def worst_row(fit: Fit, b: np.ndarray) -> int:
    """The first row of which something is not finite; 0 where there are none."""
    found = fit.model(b)
    bad = np.flatnonzero(~(np.isfinite(found.values) & np.isfinite(found.jacobian).all(axis=1)))
    return int(bad[0]) % len(fit.places.rows) if len(bad) and fit.places is not None else 0


def not_finite_at(fit: Fit, b: np.ndarray) -> str:
    """That something is not finite at these parameters."""
    at = ", ".join(f"{n} = {x:.6g}" for n, x in zip(fit.start.names, b[:6], strict=False))
    where = "the start" if np.array_equal(b, fit.start.values) else "a point on the way"
    what = "derivatives of the output are" if np.isfinite(fit.model(b).values).all() else "the output is"
    row = "" if fit.places is None else f"{fit.places.named(worst_row(fit, b))}: "
    return f"{row}{what} not finite at {where}, {at}{', …' if len(b) > 6 else ''}"


def explained(fit: Fit, task: Task, b: np.ndarray) -> list[str]:
    """What made numbers that are not finite."""
    at = point(fit, b, worst_row(fit, b))
    if fit.places is not None:
        return because.not_finite(task.primal, list(fit.begins), at)
    from adcli.answers.diagnose import note
    level = int(fit.model(b).levels[0])
    return [str(note(task, Row(at, [], level)))] if level > 0 else []


def notes(fit: Fit, task: Task, found: Fitted) -> Iterator[str]:
    """What a reader of the answer must know."""
    for name, bound in found.held.items():
        yield f"note: {name} is held by its bound {bound!r}: it has no uncertainty, and the others are those with it fixed"
    for direction in found.undetermined:
        yield f"note: {direction.text}"
        if len(direction.moves) == 1:
            yield from because.no_influence(task.primal, list(fit.begins), point(fit, found.values, 0), direction.moves)
    if found.undetermined and fit.places is not None:
        for name in constant_columns(fit):
            yield f"note: column '{name}' has the same number in every row"
    if found.dof == 0 and not found.absolute:
        yield "note: as many parameters as residuals: there are no degrees of freedom, and no uncertainties"
    if not found.converged:
        yield f"note: not converged after {plural(found.evaluations, 'evaluation')}: the best numbers on the way"
        if found.stopped_at is not None:
            yield f"note: {not_finite_at(fit, found.stopped_at)}"
            yield from explained(fit, task, found.stopped_at)


def not_smooth(fit: Fit, task: Task, found: Fitted) -> Iterator[str]:
    """Where the outputs are not smooth in the parameters, so that there may be no minimum, and uncertainties mean little."""
    levels = fit.model(found.values).levels
    rough = np.flatnonzero(levels).tolist()
    if fit.places is not None:
        rough = [i for i in rough[:ROUGH_ROWS] if depends(task, fit.begins, point(fit, found.values, i))]
    if rough:
        from adcli.answers.diagnose import note
        where = "" if fit.places is None else f": {fit.places.named(rough[0])}"
        yield f"note: the output is not smooth in the parameters at the solution{where}"
        yield str(note(task, Row(point(fit, found.values, rough[0]), [], int(levels[rough[0]]))))


def depends(task: Task, names: Collection[str], at: Mapping[str, float]) -> bool:
    """Whether an operation that is not smooth at a point has an operand that depends on these inputs."""
    from adcli.answers.diagnose import level_of, taken
    from adcli.lang.evaluate import FLOAT, every_value
    from adcli.lang.ir.activity import active_values
    active, values = active_values(task.primal, names), every_value(task.primal, at, FLOAT)
    return any(not active.isdisjoint(e.args) and level_of(e, values) > 0 for e in taken(task.primal, values))


def constant_columns(fit: Fit) -> list[str]:
    """Inputs that come from the table and are the same in every row."""
    return [name for name, c in fit.model.columns.items() if name in fit.model.varying and np.ptp(c) == 0]
