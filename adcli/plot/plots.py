"""Plots: outputs and their derivatives against one input, as panels one below the other; against two, as contours with arrows
along the gradient, and marks where the value is not smooth."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from adcli.input.points import unknown_name
from adcli.lang.ir import LEVELS, Program, Result
from adcli.lang.ir.errors import AdError, plural
from adcli.pictures.picture import SYMBOLS, Contour, Curve, Mark, Panel, Picture, PictureTable
from adcli.pictures.scales import round_numbers
from adcli.plot.breaks import (
    WORDS,
    BreakPlace,
    Evaluated,
    Found,
    crossings,
    fixed_text,
    judged,
    on_line,
    operation,
    place_notes,
    signs,
    told_apart,
)
from adcli.plot.setting import Setting, from_numbers

MOST_CURVES = 7
"""Outputs in one picture: as many as there are colours that everybody can tell apart."""
SEARCHED = 2001
"""Points between which places are looked for, at least: more than are drawn, so that seldom two lie between neighbours."""
POINTS_PER_TURN = 6
"""Points that show one rise or fall of a curve."""
ROUNDING = 1e-14
"""Of a value: a step that is no rise or fall."""
MOST_MARKS = 60
REACH = 1.1
"""How far beyond its middle 80 % a clipped axis goes, in widths of that."""


Reader = Callable[[Sequence[str], Sequence[str]], Mapping[str, Sequence[float]]]
"""Columns by name: those that must be there, and those that may."""


class Wanted(NamedTuple):
    """The content of a picture: the outputs `of` a program, with derivatives up to an order; `against` an output in place of the
    input that varies; those outputs on an axis at the `right`; and `data`, columns of the inputs that vary and of outputs."""

    of: Sequence[str] | None = None
    order: int = 1
    against: str | None = None
    right: Sequence[str] = ()
    data: Mapping[str, Sequence[float]] = MappingProxyType({})

    def with_data(self, program: Program, setting: Setting, read: Reader) -> Wanted:
        """The picture with data, of which `read` has the columns by the names of what is drawn across and of outputs. AdError
        where curves have none."""
        across = [self.against] if self.against else [r.name for r in setting.ranges]
        outputs = [r.name for r in program.results if r.name not in across and (self.of is None or r.name in self.of)]
        found = {name: x for name, x in read(across, outputs).items() if name in across or any(map(math.isfinite, x))}
        if len(setting.ranges) == 1 and not {*outputs} & {*found}:
            raise AdError(f"⟦--data⟧ has no numbers in a column with the name of an output: {', '.join(outputs)}",
                          help=f"name the column {outputs[0]}; in the shell, --rename COLUMN={outputs[0]}" if outputs else None)
        return self._replace(data=found)


def curves(setting: Setting, asked: Wanted) -> Picture:
    """The picture of outputs against one input, or against one of them."""
    (span,), order = setting.ranges, 0 if asked.against else asked.order
    of = [*dict.fromkeys([*asked.of, asked.against])] if asked.of and asked.against else asked.of
    e = Evaluated(setting.program, [span.name], setting.fixed, of, max(order, 1))
    left, right = sides(e.outputs, asked)
    across = None if asked.against is None else next(i for i, r in enumerate(e.results) if r.name == asked.against)
    grid = setting._replace(log_x=setting.log_x and across is None)
    x = grid.values(len(span))
    values, levels = e(x[None, :])
    finer = np.unique(np.concatenate([x, grid.values(SEARCHED)]))
    seen = e(finer[None, :])[0]
    places = on_line(e, finer, np.array([height(row) for row in seen]))
    kinds = {r.name: list(found_places(e, places, i)) for i, r in enumerate(e.results) if not r.wrt}
    drawn = SampledCurves(e, [*left, *right], x, values, places, kinds, across)
    panels = list[Panel]()
    for k in range(order + 1):
        made = [panel(drawn, names, k, asked.data) for names in (left, right) if names]
        logged = [replace(p, log=True, low=None, high=None) if setting.log_y and not k else p for p in made]
        panels.append(replace(logged[0], twin=logged[1] if right else None))
    notes = [*place_notes(span, kinds.values(), setting.program.source), *clipped_notes(panels), *empty_notes(panels),
             *crowded_notes(e.outputs, seen, len(x))]
    if setting.log_y and (below := sum(y <= 0 for c in panels[0].every for y in c.y)):
        notes.append(f"{plural(below, 'value')} not positive: no place on a logarithmic axis")
    table = PictureTable((span.name, *(r.name for r in e.results if len(r.wrt) <= order), "status"),
                  tuple((*row, LEVELS[level]) for *row, level in zip(
                      x.tolist(), *(values[i].tolist() for i, r in enumerate(e.results) if len(r.wrt) <= order), levels.tolist(),
                      strict=True)))
    return Picture(fixed_text(setting), asked.against or span.name, tuple(panels), notes=tuple(notes), table=table,
                   log_x=setting.log_x)


def sides(outputs: Sequence[str], asked: Wanted) -> tuple[list[str], list[str]]:
    """The outputs at the left axis and those at the right one. AdError where a name is none, or nothing is left."""
    for name in filter(None, (asked.against, *asked.right)):
        if name not in outputs:
            raise unknown_name("output", name, list(outputs))
    shown = [v for v in outputs if v != asked.against]
    left = [v for v in shown if v not in asked.right]
    if not left:
        raise AdError("⟦--right⟧ takes every output; one stays at the left" if shown else
                      f"no output is left to be drawn against {asked.against}", help="⟦--of⟧ names outputs to draw")
    if len(shown) > MOST_CURVES:
        raise AdError(f"{plural(len(shown), 'output')} are too many for one picture",
                      help=f"choose up to {MOST_CURVES}: ⟦--of {','.join(shown[:3])}⟧")
    return left, [v for v in shown if v in asked.right]


class SampledCurves(NamedTuple):
    """Outputs, by their `names` in the order of colours, at values `x` of an input; the places where they are broken, and for
    each output those that it is not smooth at; the row that is drawn `across`, None for the input."""

    e: Evaluated
    names: Sequence[str]
    x: np.ndarray
    values: np.ndarray
    places: Sequence[BreakPlace]
    kinds: Mapping[str, Sequence[Found]]
    across: int | None


def found_places(e: Evaluated, places: Sequence[BreakPlace], row: int) -> Iterator[Found]:
    """The places where an output is not smooth."""
    name = e.results[row].name
    for p in places:
        blame = p.blame(e.reached[name])
        kind = p.kind(row, [slope(e.results, name)], blame)
        if kind:
            yield Found(p, kind, blame)


def slope(results: Sequence[Result], name: str) -> int:
    """The row of the first derivative of an output."""
    return next(i for i, r in enumerate(results) if r.of == name and len(r.wrt) == 1)


def quantiles(y: np.ndarray, *parts: float) -> list[float]:
    """Quantiles of finite values, whose differences may be larger than any double."""
    return [2 * float(q) for q in np.quantile(y / 2, parts)]


def height(y: np.ndarray) -> float:
    """How high a curve is as a rule: between its 10th and 90th percentile; of a constant, its size; never 0."""
    finite = y[np.isfinite(y)]
    if not len(finite):
        return 1.0
    low, high = quantiles(finite, 0.1, 0.9)
    found = high - low
    return min(found, 1e300) or float(np.abs(finite).max()) or 1.0


def panel(drawn: SampledCurves, names: Sequence[str], order: int, data: Mapping[str, Sequence[float]]) -> Panel:
    """The axes of some outputs with their data, or of their derivatives of one order."""
    results, across = drawn.e.results, drawn.across
    rows = [i for i, r in enumerate(results) if len(r.wrt) == order and (r.of or r.name) in names]
    made, marks, upright = [], list[Mark](), set[float]()
    for i in rows:
        of = results[i].of or results[i].name
        number = drawn.names.index(of)
        made.append(Curve(derivative_name(results[i]), *broken(drawn, i), number=number))
        for found in (*drawn.kinds[of], *(() if across is None else drawn.kinds[results[across].name])):
            shown = marked(drawn, found, i, order)
            if isinstance(shown, float):
                upright.add(shown)
            else:
                marks += shown
    low, high = ends(np.concatenate([np.array(c.y) for c in made]), drawn.values[rows]) if upright else (None, None)
    if not order:
        horizontal = data.get(drawn.e.moving[0] if across is None else results[across].name, ())
        made += [Curve(f"{c.name}, data", tuple(horizontal), tuple(data[c.name]), "points", c.number)
                 for c in made if c.name in data]
    name = made[0].name if len(rows) == 1 else "values" if not order else f"derivatives of order {order}" if order > 1 else \
        "derivatives"
    return Panel(name, tuple(made), tuple(marks if len(marks) <= MOST_MARKS else ()), tuple(sorted(upright))[:MOST_MARKS],
                 low=low, high=high, share=1.0 if order else 1.5)


def marked(drawn: SampledCurves, found: Found, i: int, order: int) -> list[Mark] | float:
    """The marks of a place on a curve, or where the curve goes to infinity."""
    (place, kind, _), s, across = found, found.place.sides, drawn.across
    if kind == "overflow" or (kind == "hole" and order) or s.restless[i].any():
        return []
    x = [float(place.at[0])] * 3 if across is None else [*s.limits[across].tolist(), float(s.value[across])]
    at = float(np.nanmean(x[:2])) if np.isfinite(x[:2]).any() else x[2]
    if s.diverges[i].any() or (kind == "pole" and s.overflow[i].any()):
        return at
    if s.undefined[i].any() != s.undefined[i].all() or (order == 0 and kind == "domain"):
        end = float(np.nanmax(s.limits[i])) if np.isfinite(s.limits[i]).any() else np.nan
        return [Mark("domain", at, end)]
    if s.differ(i) or (across is not None and s.differ(across)):
        jump = [Mark("jump", each, float(y)) for each, y in zip(x, s.limits[i], strict=False)]
        return [*jump, Mark("value", x[2], float(s.value[i]))] if np.isfinite(s.value[i]) else jump
    if kind in ("kink", "singular", "hole") and order == 0:
        return [Mark(kind, at, float(np.nanmean(s.limits[i])))]
    return []


def derivative_name(r: Result) -> str:
    """v, dv/dx, d²v/dx²."""
    if not r.wrt:
        return r.name
    power = "" if len(r.wrt) == 1 else "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(c)] for c in str(len(r.wrt)))
    return f"d{power}{r.of}/d{r.wrt[0]}{power}"


def broken(drawn: SampledCurves, row: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """A curve with what it tends to on both sides of every place, and a gap between them where it is not continuous."""
    x, across = drawn.x, drawn.across
    keep, more = np.ones(len(x), bool), list[tuple[float, float, float]]()
    for p in drawn.places:
        low, high, s = float(p.low[0]), float(p.high[0]), p.sides
        keep &= ~((x >= low) & (x <= high))
        below, above = s.limits[row].tolist()
        start, end = (low, high) if across is None else s.limits[across].tolist()
        more.append((low, start, below))
        if s.cut(row) or (across is not None and s.cut(across)):   # a gap between the sides, even where they are one double
            more.append((low / 2 + high / 2, start / 2 + end / 2, np.nan))
        more.append((high, end, above))
    added = np.array(more).reshape(-1, 3)
    horizontal = x if across is None else drawn.values[across]
    order = np.argsort(np.concatenate([x[keep], added[:, 0]]), kind="stable")
    xs, ys = (np.concatenate([sampled[keep], added[:, k]])[order] for k, sampled in ((1, horizontal), (2, drawn.values[row])))
    return tuple(xs.tolist()), tuple(np.where(np.isfinite(ys), ys, np.nan).tolist())


def ends(y: np.ndarray, sampled: np.ndarray) -> tuple[float | None, float | None]:
    """The ends of an axis of curves that go to infinity: the middle 80 % of them, and a little more than that on both sides;
    None for an end that no curve goes beyond."""
    finite, seen = y[np.isfinite(y)], sampled[np.isfinite(sampled)]
    if not len(seen) or not len(finite):
        return None, None
    low, high = quantiles(seen, 0.1, 0.9)
    wide = (high - low) * REACH or 1.0
    beyond = finite.min() < low - wide, finite.max() > high + wide
    return float(low - wide) if beyond[0] else None, float(high + wide) if beyond[1] else None


def crowded_notes(names: Sequence[str], seen: np.ndarray, points: int) -> Iterator[str]:
    """A warning where a curve turns more often than points show."""
    for name, y in zip(names, seen, strict=False):
        finite = y[np.isfinite(y)]
        steps = np.diff(finite)
        slopes = np.where(np.abs(steps) > ROUNDING * np.abs(finite[1:]), np.sign(steps), 0.0)
        turns = int(np.count_nonzero(np.diff(slopes[slopes != 0])))
        if turns * POINTS_PER_TURN > points:
            yield f"{name} turns {turns} times or more, too often for {points} points: choose a shorter range"


def empty_notes(panels: Sequence[Panel]) -> Iterator[str]:
    for c in panels[0].every:
        if all(y != y for y in c.y):
            yield f"{c.name} has no value here"


def clipped_notes(panels: Sequence[Panel]) -> Iterator[str]:
    for p in (each for panel in panels for each in (panel, panel.twin) if each):
        ends = {word: end for word, end in (("below", p.low), ("above", p.high)) if end is not None}
        where = [f"{word} {text}" for word, text in zip(ends, told_apart(list(ends.values()), 3), strict=True)]
        if where:
            yield f"{p.name} {'are' if len(p.curves) > 1 else 'is'} not shown {' and '.join(where)}"


# ---------------------------------------------------------------- contours

LEVEL_COUNT = 12
ARROWS = 9
"""Arrows across and up."""
WIDE = 6.0
"""A value whose largest sizes are so many times its middle ones is drawn at levels that grow by factors."""
FACTORS = (1.0, 2.0, 5.0)


def contours(setting: Setting, asked: Wanted) -> Picture:
    """The map of one output, with arrows along its gradient unless the order of derivatives is 0, and data as points."""
    (across, up), order = setting.ranges, asked.order
    e = Evaluated(setting.program, [across.name, up.name], setting.fixed, asked.of, 1)
    if len(e.outputs) > 1:
        raise AdError("a contour map is of one output", help=f"choose one: ⟦--of {e.outputs[0]}⟧")
    if order > 1:
        raise AdError("a contour map shows first derivatives at most", help="write ⟦--derivatives 1⟧")
    x, y = (r.values(np.arange(len(r))) for r in (across, up))
    grid = np.array([np.tile(x, len(y)), np.repeat(y, len(x))])
    (z, *slopes), levels = e(grid)
    shape = len(y), len(x)
    marks, notes, bad = broken_grid(e, grid, shape, setting.program)
    values = np.where(np.isfinite(z), z, np.nan).reshape(shape)
    shown = np.where(bad, np.nan, values)
    lines = chosen(shown)
    along = {r.wrt[0]: s.reshape(shape) for r, s in zip(e.results[1:], slopes, strict=True)}
    arrows = tuple(gradient_arrows(x, y, along[across.name], along[up.name], shown)) if order else ()
    measured = asked.data.get(e.outputs[0]) or [math.nan] * len(asked.data.get(across.name, ()))
    points = [*zip(*(asked.data[name] for name in (across.name, up.name)), measured, strict=True)] if asked.data else []
    notes += [f"• {plural(len(points), 'row')} of data"] if points else []
    contour = Contour(e.outputs[0], tuple(x.tolist()), tuple(y.tolist()), tuple(tuple(row) for row in shown.tolist()),
                      tuple(lines), arrows, tuple(marks), tuple(points))
    names = across.name, up.name, *(r.name for r in e.results)
    columns = [*grid.tolist(), z.tolist(), *(s.tolist() for s in slopes)]
    table = PictureTable((*names[:3 + (len(slopes) if order else 0)], "status"),
                  tuple((*row[:3 + (len(slopes) if order else 0)], LEVELS[level])
                        for *row, level in zip(*columns, levels.tolist(), strict=True)))
    return Picture(fixed_text(setting), across.name, contour=contour, y_name=up.name,
                   notes=(*notes, *range_notes(values, x, y, across.name, up.name, e.outputs[0], bool(arrows))), table=table)


def broken_grid(e: Evaluated, grid: np.ndarray, shape: tuple[int, int],
                program: Program) -> tuple[list[Mark], list[str], np.ndarray]:
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
            across, up = float(dx[j, i]) * wide, float(dy[j, i]) * high
            size = math.hypot(across, up)
            if math.isfinite(size) and size > 0 and math.isfinite(z[j, i]):
                yield float(x[i]), float(y[j]), 0.6 / ARROWS * across / size, 0.6 / ARROWS * up / size


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
        yield f"arrows: steepest ascent of {name}, with both axes scaled to the picture"


# ---------------------------------------------------------------- any plot

def picture(program: Program, at: Mapping[str, float | tuple[float, ...]], asked: Wanted | None = None, points: int | None = None,
            remark: Callable[[object], None] = lambda note: None, *, logx: bool = False, logy: bool = False,
            read: Reader | None = None) -> Picture:
    """The picture of a program of numbers. In `at` a tuple (low, high) or (low, high, count) is a range, over which an input
    varies; inputs that are left out have their defaults, or vary over the ranges they are declared with. `read` has data."""
    asked = asked or Wanted()
    setting = from_numbers(program, at, points, remark).logarithmic(logx, logy, asked.against)
    return pictured(setting, asked.with_data(program, setting, read) if read else asked)


def pictured(setting: Setting, asked: Wanted) -> Picture:
    """The picture of a setting."""
    with np.errstate(all="ignore"):   # what overflows is infinite, and has no place in a picture
        if len(setting.ranges) == 1:
            return curves(setting, asked)
        if option := "right" if asked.right else "against" if asked.against else None:
            raise AdError(f"⟦--{option}⟧ is for curves, and {' and '.join(r.name for r in setting.ranges)} vary",
                          help="vary one input")
        return contours(setting, asked)
