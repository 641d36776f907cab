"""Why there is no answer, or a suspicious one: what `why` says of numbers that are not finite and of inputs without influence,
and where an operation is not smooth."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from adcli.answers import diagnose
from adcli.answers.evaluation import evaluate
from adcli.lang.ir.errors import Note
from adcli.numerics.linear import dense
from adcli.output.layout import Row
from adcli.output.wrap import few
from adcli.solvers.vector_function import VectorFunction

MOST_NAMED = 4
"""Variables of a direction that are named."""
NEAR, HALVINGS = 1e-4, 60
"""How far to either side of a point a kink is looked for, and in how many steps."""


def failure(function: VectorFunction, x: np.ndarray | None, on_the_way: bool) -> Iterator[str]:
    """Explanation of numbers at a point that are not finite, with the point."""
    if x is None:
        return
    from adcli.why.command import remarks_on_numbers  # start-up: only failures ask
    if said := remarks_on_numbers(function.program, function.names, function.point(x)):
        yield f"note: at {point_text(function.components, x)}" + " on the way" * on_the_way
        yield from said


def status(function: VectorFunction, at: Mapping[str, Any]) -> tuple[int, Note | None]:
    """The level of status at a point, and the note on the operation that is not smooth."""
    row = next(iter(evaluate(function.watched, [dict(at)])))
    return row.level, diagnose.note(function.watched, Row(row.at, row.results, row.level)) if row.level > 0 else None


def near_kink(function: VectorFunction, x: np.ndarray) -> Note | None:
    """The note on a kink at which a solver came to a halt: where the gradient is another to either side of the point, the place
    between is found by halving."""
    def gradient(at: np.ndarray) -> np.ndarray:
        return np.ravel(dense(function.jac(at)[[0]]))

    own = gradient(x)
    low, high = (x + side * NEAR * np.maximum(np.abs(x), 1.0) * own / max(float(np.max(np.abs(own))), 1e-300) for side in (-1, 1))
    below, above = gradient(low), gradient(high)
    if not float(np.max(np.abs(above - below))) > 0.5 * float(np.max(np.abs(own))):
        return None
    for _ in range(HALVINGS):
        middle = low + (high - low) / 2
        between = gradient(middle)
        if float(np.max(np.abs(between - below))) > float(np.max(np.abs(above - between))):
            high, above = middle, between
        else:
            low, below = middle, between
    for at in (low, high):
        level, note = status(function, function.point(at))
        if level > 0 and note is not None:
            return Note(f"near {point_text(function.components, at)}: {note.message}", note.span, note.source)
    return None


# ---------------------------------------------------------------- points and directions in words

def point_text(names: Sequence[str], x: np.ndarray) -> str:
    return few(f"{name} = {v:.6g}" for name, v in zip(names, x, strict=True))


def leading(names: Sequence[str], direction: np.ndarray) -> str:
    """A direction by its largest components, each with its name."""
    chosen = [i for i in np.argsort(-np.abs(direction), kind="stable") if abs(direction[i]) > 1e-6]
    text = ", ".join(f"{names[i]} {direction[i]:+.3g}" for i in sorted(chosen[:MOST_NAMED]))
    return text + (", …" if len(chosen) > MOST_NAMED else "")
