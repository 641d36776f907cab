"""What is said of a fit beside its numbers: what is not determined, not finite, not smooth, and what `why` says of that."""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from adcli.lang.ir import has_tensors
from adcli.lang.ir.errors import plural
from adcli.output.layout import Row
from adcli.solvers import because
from adcli.solvers.fit import Fitted
from adcli.solvers.fit_data import packed
from adcli.solvers.fit_minimum import EPS
from adcli.solvers.fit_model import Fit
from adcli.solvers.fit_undetermined import connected, said_of
from adcli.task.tasks import Task

ROUGH_ROWS = 20
"""Rows that are asked for what is not smooth there."""
ASKED_ROWS = 5
"""Rows in which `why` is asked for a parameter without influence."""


def point(fit: Fit, b: np.ndarray, row: int) -> dict[str, Any]:
    """All inputs of the program in a row, or the whole tensors."""
    return {**fit.model.inputs_at(row), **packed(fit.begins, b)}


def worst_row(fit: Fit, b: np.ndarray) -> int:
    """The first row of which something is not finite; 0 where there are none."""
    found = fit.model(b)
    bad = np.flatnonzero(~(np.isfinite(found.values) & np.isfinite(found.jacobian).all(axis=1)))
    return fit.model.row_of(int(bad[0])) if len(bad) else 0


def not_finite_at(fit: Fit, b: np.ndarray) -> str:
    """That something is not finite at these parameters."""
    at = ", ".join(f"{n} = {x:.6g}" for n, x in zip(fit.start.names, b[:6], strict=False))
    where = "the start" if np.array_equal(b, fit.start.values) else "a point on the way"
    what = "derivatives of the output are" if np.isfinite(fit.model(b).values).all() else "the output is"
    row = "" if fit.places is None else f"{fit.places.named(worst_row(fit, b))}: "
    return f"{row}{what} not finite at {where}, {at}{', …' if len(b) > 6 else ''}"


def explained(fit: Fit, task: Task, b: np.ndarray) -> list[str]:
    """What made numbers that are not finite."""
    row = worst_row(fit, b)
    at = point(fit, b, row)
    if not has_tensors(task.primal):
        return because.not_finite(task.primal, list(fit.begins), at)
    from adcli.answers.diagnose import note
    from adcli.answers.watch import not_finite
    values, matrices, level = fit.model.results(b, row)
    bad = [*not_finite(task.signature.outputs, values)]
    bad = bad or [*not_finite([c.name for c in task.signature.derived], [*matrices.values()])]
    return [*bad, *([str(note(task, Row(at, [], level)))] if level > 0 else [])]


def notes(fit: Fit, task: Task, found: Fitted) -> Iterator[str]:
    """What a reader of the answer must know."""
    for name, bound in found.held.items():
        yield f"note: {name} is held by its bound {bound!r}: it has no uncertainty, and the others are those with it fixed"
    for directions in connected(found.undetermined):
        yield f"note: {said_of(directions)}"
        if len(directions[0].moves) == 1:
            yield from no_influence(fit, task, found.values, directions[0].moves)
    for name in faint(fit, found):
        yield f"note: {name} has all but lost its influence on the way: its own size moves residuals by less than rounding does"
    if found.undetermined and not has_tensors(task.primal):
        for name in constant_columns(fit):
            yield f"note: column '{name}' has the same number in every row"
    if found.dof == 0 and not found.absolute:
        yield "note: as many parameters as residuals: there are no degrees of freedom, and no uncertainties"
    if not found.converged:
        yield f"note: not converged after {plural(found.evaluations, 'evaluation')}: the best numbers on the way"
        b = found.stopped_at if found.stopped_at is not None else beyond(fit, found)
        if b is not None:
            yield f"note: {not_finite_at(fit, b)}"
            yield from explained(fit, task, b)


def no_influence(fit: Fit, task: Task, b: np.ndarray, names: Collection[str]) -> Sequence[str]:
    """What `why` says of parameters without influence in most rows: it is asked in some of them, as a row may have a reason of
    its own."""
    if fit.places is None or has_tensors(task.primal):
        return []
    count = len(fit.places.rows)
    told: dict[Sequence[object], list[tuple[int, list[str]]]] = {}
    for row in np.unique(np.linspace(0, count - 1, min(count, ASKED_ROWS)).astype(int)).tolist():
        causes, texts = because.no_influence(task.primal, list(fit.begins), point(fit, b, row), names)
        told.setdefault(causes, []).append((row, texts))
    row, texts = max(told.values(), key=len)[0]
    return texts and [f"in {fit.places.named(row)}:", *texts]


def faint(fit: Fit, found: Fitted) -> list[str]:
    """Parameters that are determined, but by numbers near rounding: their own size, here or at the start, moves no residual, and
    it was not so at the start."""
    with np.errstate(all="ignore"):
        begun, here = fit.model(fit.start.values), fit.model(found.values)
        size = max(np.max(np.abs(x * fit.factor), initial=0.0) for x in (fit.observed, here.values))
        before, now = (np.abs(x.jacobian * fit.factor[:, None]).max(axis=0, initial=0.0) for x in (begun, here))
        own = np.maximum(np.abs(found.values), np.abs(fit.start.values))
        few = np.isfinite(found.uncertainties) & (now < EPS * before) & (now * own < EPS * size)
    return [n for n, lost in zip(found.names, few, strict=True) if lost]


def beyond(fit: Fit, found: Fitted) -> np.ndarray | None:
    """Where the next step leads, if something is not finite there."""
    if found.next is None or not np.isfinite(found.next).all():
        return None
    there = fit.model(found.next)
    return None if np.isfinite(there.values).all() and np.isfinite(there.jacobian).all() else found.next


def not_smooth(fit: Fit, task: Task, found: Fitted) -> Iterator[str]:
    """Where the outputs are not smooth in the parameters, so that there may be no minimum, and uncertainties mean little."""
    levels = fit.model(found.values).levels
    rough = np.flatnonzero(levels).tolist()
    if not has_tensors(task.primal):
        rough = [i for i in rough[:ROUGH_ROWS] if depends(task, fit.begins, point(fit, found.values, i))]
    if rough:
        from adcli.answers.diagnose import note
        where = "" if fit.places is None else f": {fit.places.named(rough[0])}"
        yield f"note: the output is not smooth in the parameters at the solution{where}"
        yield str(note(task, Row(point(fit, found.values, rough[0]), [], int(levels[rough[0]]))))


def depends(task: Task, names: Collection[str], at: Mapping[str, float]) -> bool:
    """Whether an operation that is not smooth at a point has an operand that depends on these inputs."""
    from adcli.answers.diagnose import levels
    from adcli.lang.evaluate import FLOAT, every_value
    from adcli.lang.passes.status import activity
    known, values = activity(task.primal, names), every_value(task.primal, at, FLOAT)
    return any(level > 0 and not known.active.isdisjoint(e.args) for e, level in levels(task.primal, values, known))


def constant_columns(fit: Fit) -> list[str]:
    """Inputs that come from the table and are the same in every row."""
    return [name for name, c in fit.model.columns.items() if name in fit.model.varying and np.ptp(c) == 0]
