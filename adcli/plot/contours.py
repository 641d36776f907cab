"""An output against two inputs: lines of equal value, arrows along the gradient, and where the value is not smooth."""
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from adcli.lang.ir import LEVELS, Program
from adcli.lang.ir.errors import AdError
from adcli.pictures.picture import SYMBOLS, Contour, Mark, Picture, PictureTable
from adcli.pictures.scales import round_numbers
from adcli.plot.breaks import WORDS, crossings, fixed_text, judged, operation, signs, told_apart
from adcli.plot.curves import height, quantiles
from adcli.plot.evaluated import Evaluated
from adcli.plot.ranges import Setting

LEVEL_COUNT = 12
ARROWS = 15
"""Arrows across and up."""
WIDE = 6.0
"""A value whose largest sizes are so many times its middle ones is drawn at levels that grow by factors."""
FACTORS = (1.0, 2.0, 5.0)


def contours(program: Program, setting: Setting, of: Sequence[str] | None, order: int) -> Picture:
    """The map of one output `of` a program, with arrows along its gradient unless the `order` of derivatives is 0."""
    across, up = setting.ranges
    e = Evaluated(program, [across.name, up.name], setting.fixed, of, 1)
    if len(e.outputs) > 1:
        raise AdError("a contour map is of one output", help=f"choose one: ⟦--of {e.outputs[0]}⟧")
    if order > 1:
        raise AdError("a contour map shows first derivatives at most", help="write ⟦--derivatives 1⟧")
    x, y = (r.values(np.arange(len(r))) for r in (across, up))
    grid = np.array([np.tile(x, len(y)), np.repeat(y, len(x))])
    (z, *slopes), levels = e(grid)
    shape = len(y), len(x)
    marks, notes, bad = broken(e, grid, shape, program)
    values = np.where(np.isfinite(z), z, np.nan).reshape(shape)
    shown = np.where(bad, np.nan, values)
    lines = chosen(shown)
    along = {r.wrt[0]: s.reshape(shape) for r, s in zip(e.results[1:], slopes, strict=True)}
    arrows = tuple(gradient_arrows(x, y, along[across.name], along[up.name], shown)) if order else ()
    contour = Contour(e.outputs[0], tuple(x.tolist()), tuple(y.tolist()), tuple(tuple(row) for row in shown.tolist()),
                      tuple(lines), arrows, tuple(marks))
    names = across.name, up.name, *(r.name for r in e.results)
    columns = [*grid.tolist(), z.tolist(), *(s.tolist() for s in slopes)]
    table = PictureTable((*names[:3 + (len(slopes) if order else 0)], "status"),
                  tuple((*row[:3 + (len(slopes) if order else 0)], LEVELS[level])
                        for *row, level in zip(*columns, levels.tolist(), strict=True)))
    return Picture(fixed_text(setting), across.name, contour=contour, y_name=up.name,
                   notes=(*notes, *range_notes(values, x, y, across.name, up.name, e.outputs[0], bool(arrows))), table=table)


def broken(e: Evaluated, grid: np.ndarray, shape: tuple[int, int], program: Program) -> tuple[list[Mark], list[str], np.ndarray]:
    """Where the value is not smooth between neighbours of the grid: marks, notes, and the points beside which a line of
    equal value would be false."""
    codes = signs(e, grid)
    number = np.arange(grid.shape[1]).reshape(shape)
    pairs = [(number[:, :-1].ravel(), number[:, 1:].ravel()), (number[:-1].ravel(), number[1:].ravel())]
    heights = np.array([height(row) for row in e(grid)[0]])
    marks, bad, told = list[Mark](), np.zeros(grid.shape[1], bool), dict[str, dict[str, None]]()
    for one, other in pairs:
        found = list(crossings(e, grid[:, one], grid[:, other], codes[:, one], codes[:, other]))
        if not found:
            continue
        low, high = (np.array([f[k] for f in found]).T for k in (0, 1))
        which = [f[2] for f in found]
        reach = grid[:, other[which]] - grid[:, one[which]]
        for place, k in zip(judged(e, low, high, reach, [[f[3]] for f in found], heights), which, strict=True):
            blame = place.blame(e.reached[e.outputs[0]])
            kind = place.kind(0, range(1, len(e.results)), blame)
            if kind:
                marks.append(Mark(kind, float(place.at[0]), float(place.at[1])))
                told.setdefault(kind, {})[operation(blame, program.source)] = None
            if kind in ("pole", "singular", "jump") and place.sides.cut(0):
                bad[[one[k], other[k]]] = True
    notes = [f"{SYMBOLS[kind]} {WORDS[kind]}: {', '.join(filter(None, texts))}".removesuffix(": ")
             for kind, texts in told.items()]
    return list(dict.fromkeys(marks)), notes, bad.reshape(shape)


def chosen(z: np.ndarray) -> list[float]:
    """Round levels over the middle 96 % of the values; where the large are far larger than most, levels that grow by factors."""
    finite = z[np.isfinite(z)]
    if not len(finite) or finite.min() == finite.max():
        return []
    low, middle, high = quantiles(finite, 0.02, 0.5, 0.98)
    if low >= 0 and high > WIDE * middle > 0:
        least = max(*quantiles(finite, 0.01), high * 1e-6)
        powers = range(math.floor(math.log10(least)), math.ceil(math.log10(high)) + 1)
        steps = FACTORS if len(powers) <= 6 else (1.0,)
        return [v for k in powers for f in steps if least <= (v := f * 10.0 ** k) <= high]
    return round_numbers(*((low, high) if low < high else (float(finite.min()), float(finite.max()))), LEVEL_COUNT)


def gradient_arrows(x: np.ndarray, y: np.ndarray, dx: np.ndarray, dy: np.ndarray, z: np.ndarray,
                    ) -> Iterator[tuple[float, float, float, float]]:
    """Arrows of one length on a coarser grid, which point where the value grows fastest as the picture shows it: in parts of the
    two ranges, since these may be of different units."""
    wide, high = (float(axis[-1] / 2 - axis[0] / 2) for axis in (x, y))
    for j in middles(len(y)):
        for i in middles(len(x)):
            across, up = together((float(dx[j, i]), wide), (float(dy[j, i]), high))
            size = math.hypot(across, up)
            if math.isfinite(size) and size > 0 and math.isfinite(z[j, i]):
                yield float(x[i]), float(y[j]), 0.6 / ARROWS * across / size, 0.6 / ARROWS * up / size


def together(*pairs: tuple[float, float]) -> list[float]:
    """The product of each pair, all divided by one power of two, so that the largest is a double."""
    parts = [(math.frexp(a), math.frexp(b)) for a, b in pairs]
    top = max((m[1] + n[1] for m, n in parts if m[0] and n[0]), default=0)
    return [math.ldexp(m[0] * n[0], m[1] + n[1] - top) for m, n in parts]


def middles(count: int) -> list[int]:
    """About as many places as there are arrows, evenly, none at the edges."""
    n = min(ARROWS, count)
    return [round((k + 0.5) * (count - 1) / n) for k in range(n)]


def range_notes(z: np.ndarray, x: np.ndarray, y: np.ndarray, across: str, up: str, name: str, arrows: bool) -> Iterator[str]:
    """The least and the greatest value on the grid, and what arrows mean."""
    if not np.isfinite(z).any():
        yield f"{name} has no value here"
        return
    places = [divmod(int(at), len(x)) for at in (np.nanargmin(z), np.nanargmax(z))]
    values, columns, rows = (told_apart([float(v) for v in found]) for found in (
        [z[place] for place in places], [x[i] for _, i in places], [y[j] for j, _ in places]))
    for k, word in enumerate(("least", "greatest")):
        yield f"{word} on the grid: {name} = {values[k]} at {across} = {columns[k]}, {up} = {rows[k]}"
    if arrows:
        yield f"arrows point where {name} grows fastest, in parts of the two ranges"
