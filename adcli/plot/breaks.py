"""Where curves are broken: the places between sampled points where a value or a derivative is not continuous, and the words for
them.

Candidates come from the program (`adcli.plot.breaks`), each by bisection to the last digit; what one is, is
seen at 10⁻², 10⁻³, 10⁻⁴ and 10⁻⁵ of the spacing to either side, and right beside it. Differences of a regular function fall
there by ten at each step, those of √x by √10; those of log x do not fall, those of 1/x rise, and those of sin(1/x) do neither.
Evaluated is a program with its derivatives as functions of arrays: curves, the status, and the indicators of special places.

Where a program may be no smooth function of an input, as numbers whose signs tell.

The table says of each operation where it is not smooth, as conditions such as x == 0 or x == y, and whether it is a step.
Exact equality is met at single points, which samples miss. So for every comparison in a condition there is the difference of its
sides here, and for every step its value: where one of them changes its sign or its value between two points, there is a place
between them that bisection finds. A difference that only touches 0, such as the x**2 in 1/x**2, has a least size there.

What is found so is a candidate: a condition in an arm that is not taken changes nothing. Whoever looks there sees whether a
value or a derivative does.
"""
from __future__ import annotations

import math
import sys
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adcli.codegen.machine.arrays import run_arrays
from adcli.lang.derive.derivatives import gradient
from adcli.lang.ir import POLE, Atom, Equation, Program, Result
from adcli.lang.ir.build import Builder, apply
from adcli.lang.ir.errors import AdError, Source, plural, visible
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.activity import active_values, needed_values, outputs_to_differentiate, with_outputs
from adcli.lang.passes.status import with_status
from adcli.lang.simplify.simplify import simplify
from adcli.output.wrap import few
from adcli.pictures.picture import SYMBOLS
from adcli.task.native import compiled

if TYPE_CHECKING:
    from adcli.input.points import GridRange
    from adcli.plot.setting import Setting


Points = np.ndarray
"""Values of the inputs that vary: a row for each, a column for each point."""


class Evaluated:
    """The outputs `of` a program, and their derivatives up to an order with respect to the inputs that vary."""

    def __init__(self, program: Program, moving: Sequence[str], fixed: Mapping[str, float], of: Sequence[str] | None,
                 order: int) -> None:
        self.moving, self.fixed, self.order = list(moving), fixed, order
        self.primal = simplify(with_outputs(program, outputs_to_differentiate(program, of)))
        derived = gradient(self.primal, self.moving, None, "forward", order) if order else self.primal
        self.results = derived.results
        self.outputs = [r.name for r in self.primal.results]
        if not self.outputs:
            raise AdError("there is nothing to plot: no output has an element")
        self.kernel = compiled(with_status(derived, self.primal, self.moving))

    def __call__(self, points: Points) -> tuple[np.ndarray, np.ndarray]:
        """The results, a row for each, and the status, at every point."""
        *rows, levels = self.run(self.kernel, points)
        return np.array(rows), levels.astype(np.int64)

    @cached_property
    def _told(self) -> tuple[Any, list[Telltale]]:
        program, known = quantities(self.primal, self.moving)
        return compiled(program) if known else None, known

    @property
    def quantities(self) -> list[Telltale]:
        """Indicators of special places."""
        return self._told[1]

    def told(self, points: Points) -> np.ndarray:
        """The quantities at every point, a row for each."""
        kernel, _ = self._told
        return np.array(self.run(kernel, points)) if kernel else np.empty((0, points.shape[1]))

    @cached_property
    def reached(self) -> dict[str, set[Atom]]:
        """For each output the values that it depends on."""
        return {name: needed_values(self.primal, [name]) for name in self.outputs}

    def run(self, kernel: Any, points: Points) -> list[np.ndarray]:
        count = points.shape[1]
        varying = dict(zip(self.moving, points, strict=True))
        columns = [np.ascontiguousarray(varying[p.name]) if p.name in varying else np.full(count, self.fixed[p.name])
                   for p in self.primal.params]
        return run_arrays(kernel, columns, count)


NEAR = (1e-2, 1e-3, 1e-4, 1e-5)
"""Distances of the looks to either side, in spacings."""
BISECTIONS = 120
GOLDEN = 0.6180339887498949
TOUCHED = 1e-9
"""A difference that falls to this part of its size at a spacing's distance touches 0."""
GROWS = 0.9
"""Ratio of differences from which on they do not fall."""
VISIBLE, CERTAIN = 1e-3, 1e-6
"""Parts of the height of a curve: what is seen of a divergence, and a difference that is no rounding."""
ENORMOUS = 1e5
"""Heights of a curve that only what diverges rises by."""
MOST_BRACKETS = 4000
UNDEFINED = 1e300
"""A stand-in for NaN among signs."""


@dataclass(frozen=True, eq=False)
class Sides:
    """All results on both sides of a place, a row for each: the `limits` from below and above, NaN where there is none;
    whether they `diverge`, find no rest (`restless`), are `undefined` or `overflow` there; the last `steps` to the limits; the
    value at the place itself, and the heights of the curves."""

    limits: np.ndarray
    diverges: np.ndarray
    restless: np.ndarray
    undefined: np.ndarray
    overflow: np.ndarray
    steps: np.ndarray
    value: np.ndarray
    heights: np.ndarray

    def differ(self, row: int) -> bool:
        """True where the two limits of a result differ."""
        low, high = self.limits[row]
        return bool(abs(low - high) > 0.05 * self.steps[row].sum() + CERTAIN * self.heights[row])

    def cut(self, row: int) -> bool:
        """True where no line may be drawn through the place."""
        return bool(np.isnan(self.limits[row]).any() or self.differ(row))


@dataclass(frozen=True, eq=False)
class BreakPlace:
    """A candidate: the last points on its two sides, the point itself, and the operations that may be to blame."""

    low: np.ndarray
    high: np.ndarray
    at: np.ndarray
    blamed: tuple[Telltale, ...]
    sides: Sides

    def blame(self, reached: Container[Atom]) -> Telltale | None:
        """The worst operation among those that reach a result."""
        found = [q for q in self.blamed if q.equation.outs[0] in reached]
        return max(found, key=lambda q: min(q.level, POLE), default=None)

    def kind(self, value: int, slopes: Sequence[int], blame: Telltale | None) -> str | None:
        """The kind of a result there, from its row and those of its first derivatives; None where it is smooth."""
        s = self.sides
        if blame is None and s.overflow[value].any():
            return "overflow"
        if s.diverges[value].any():
            return "pole" if blame is not None and blame.level >= POLE else "singular"
        if blame is not None and blame.level >= POLE and s.overflow[value].any():
            return "pole"   # as of exp(1/x), which is infinite before it is near
        if s.undefined[value].any():
            return None if s.undefined[value].all() else "domain"
        if s.differ(value):
            return "jump"
        if np.isnan(s.value[value]):
            return "hole"   # as 0/0, which rounding spoils the derivatives of
        if s.restless[value].any() or any(s.diverges[row].any() for row in slopes):
            return "singular"
        if any(s.differ(row) for row in slopes if not s.undefined[row].any()):
            return "kink"
        return None


# ---------------------------------------------------------------- candidates

def signs(e: Evaluated, points: Points) -> np.ndarray:
    """A row for each quantity: its sign, or its value where it is a step; then whether each output is finite."""
    told = e.told(points)
    steps = np.array([q.step for q in e.quantities], bool)
    found = np.where(steps[:, None], told, np.sign(told)) if len(told) else told
    found = np.where(np.isnan(found), UNDEFINED, found)
    values, _ = e(points)
    return np.vstack([found, np.isfinite(values[:len(e.outputs)])])


def crossings(e: Evaluated, starts: Points, ends: Points, before: np.ndarray, after: np.ndarray,
              ) -> Iterator[tuple[np.ndarray, np.ndarray, int, int]]:
    """Points on both sides of every change between starts and ends, whose `signs` are known: low, high, the number of the
    bracket, and the row."""
    rows, which = np.nonzero(before != after)
    keep = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_BRACKETS)).astype(int))
    rows, which = rows[keep], which[keep]
    if not len(rows):
        return
    low, high, left = starts[:, which].copy(), ends[:, which].copy(), before[rows, which]
    least = 1e-22 * np.abs(high / 2 - low / 2).max(axis=0)
    places = np.arange(len(rows))
    for _ in range(BISECTIONS):
        middle = low / 2 + high / 2
        if (((middle == low) | (middle == high)).all(axis=0) | (np.abs(high / 2 - low / 2).max(axis=0) <= least)).all():
            break
        same = signs(e, middle)[rows, places] == left
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    for i in range(len(rows)):
        yield low[:, i], high[:, i], int(which[i]), int(rows[i])


def touches(e: Evaluated, points: Points, codes: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, int, int]]:
    """The places on a line where a quantity reaches 0 and turns back."""
    steps = np.array([q.step for q in e.quantities], bool)
    size = np.abs(e.told(points))
    if size.shape[1] < 3 or not len(size):
        return
    dips = (size[:, 1:-1] < size[:, :-2]) & (size[:, 1:-1] <= size[:, 2:]) & ~steps[:, None]
    same = (codes[:len(size), :-2] == codes[:len(size), 1:-1]) & (codes[:len(size), 1:-1] == codes[:len(size), 2:])
    rows, which = np.nonzero(dips & same)
    rows, which = rows[:MOST_BRACKETS], which[:MOST_BRACKETS]
    if not len(rows):
        return
    places = np.arange(len(rows))
    low, high = points[:, which], points[:, which + 2]
    ends = np.minimum(size[rows, which], size[rows, which + 2])
    for _ in range(BISECTIONS):
        a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        left = np.abs(e.told(a)[rows, places]) <= np.abs(e.told(b)[rows, places])
        low, high = np.where(left, low, a), np.where(left, b, high)
    least = np.abs(e.told(low / 2 + high / 2)[rows, places])
    for i in np.flatnonzero(least <= TOUCHED * ends):
        yield low[:, i], high[:, i], int(which[i]) + 1, int(rows[i])


# ---------------------------------------------------------------- what they are

def on_line(e: Evaluated, x: np.ndarray, heights: np.ndarray) -> list[BreakPlace]:
    """The candidates among samples of one input in ascending order, one place each. `heights` are those of the results."""
    points = x[None, :]
    codes = signs(e, points)
    found = [*crossings(e, points[:, :-1], points[:, 1:], codes[:, :-1], codes[:, 1:]), *touches(e, points, codes)]
    spacing = float(x[-1] / (len(x) - 1) - x[0] / (len(x) - 1))   # the width may be larger than any double
    merged: list[tuple[np.ndarray, np.ndarray, list[int]]] = []
    for low, high, _, row in sorted(found, key=lambda f: (float(f[0][0]), float(f[1][0]))):
        if merged and low[0] <= merged[-1][1][0] + 1e-9 * spacing:
            first = merged[-1]
            merged[-1] = first[0], np.maximum(high, first[1]), [*first[2], row]
        else:
            merged.append((low, high, [row]))
    if not merged:
        return []
    low, high = (np.array([m[k] for m in merged]).T for k in (0, 1))
    apart = np.diff(low[0], prepend=-np.inf), np.diff(low[0], append=np.inf)
    reach = np.minimum(np.minimum(*apart), spacing)[None, :]
    return judged(e, low, high, np.ones_like(low) * reach, [m[2] for m in merged], heights)


def judged(e: Evaluated, low: Points, high: Points, reach: np.ndarray, rows: Sequence[Sequence[int]],
           heights: np.ndarray) -> list[BreakPlace]:
    """All results at places, seen at distances up to `reach`, which are vectors."""
    at = np.array([[plain(a, b) for a, b in zip(*pair, strict=True)] for pair in zip(low, high, strict=True)])
    sides: list[tuple[np.ndarray, ...]] = []
    for side, edge in ((-1, low), (1, high)):
        looks = [e(edge + side * d * reach)[0] for d in NEAR]
        sides.append(tendency(looks, e(edge)[0], heights[:, None]))
    value = e(at)[0]
    known = e.quantities
    return [BreakPlace(low[:, i], high[:, i], at[:, i], tuple(known[k] for k in dict.fromkeys(row) if k < len(known)),
                       at_both([c[:, i] for c in sides[0]], [c[:, i] for c in sides[1]], value[:, i], heights))
            for i, row in enumerate(rows)]


def at_both(below: Sequence[np.ndarray], above: Sequence[np.ndarray], value: np.ndarray, heights: np.ndarray) -> Sides:
    """Both sides of one place, together."""
    limits, diverges, restless, undefined, overflow, steps = (np.array(pair).T for pair in zip(below, above, strict=True))
    return Sides(limits, diverges, restless, undefined, overflow, steps, value, heights)


def tendency(looks: Sequence[np.ndarray], beside: np.ndarray, heights: np.ndarray) -> tuple[np.ndarray, ...]:
    """Limits of results along samples that come nearer tenfold: the columns of `Sides` for one side."""
    last = looks[-1]
    with np.errstate(all="ignore"):
        first, second, third = (b - a for a, b in pairwise(looks))
        before, ratio = second / first, third / second
        falls = (ratio > 0) & (ratio < GROWS) & (np.abs(before / ratio - 1) < 0.5)
        seen = np.abs(third) > VISIBLE * heights
        enormous = ~(np.abs(beside - looks[0]) <= ENORMOUS * heights) & ~np.isnan(beside)
        limit = last + np.where(falls, third * ratio / (1 - ratio), 0.0)
    undefined, overflow = ~np.isfinite(last), np.isinf(beside) | np.isinf(last)
    grows = seen & (before > GROWS) & (ratio > GROWS)
    diverges = (grows | enormous) & ~undefined
    restless = seen & ~falls & ~diverges & ~undefined
    return np.where(diverges | restless | undefined, np.nan, limit), diverges, restless, undefined, overflow, np.abs(third)


def plain(low: float, high: float) -> float:
    """The number with the fewest digits between two neighbours, or as good as between them."""
    if low <= 0 <= high:
        return 0.0
    middle = float(low / 2 + high / 2)
    near = max(float(high - low), 4 * float(np.spacing(abs(middle))))
    return next((x for k in range(1, 17) if abs((x := float(f"{middle:.{k}g}")) - middle) <= near), middle)


# ---------------------------------------------------------------- words for places

LONGEST = 40
"""Characters of the text of an operation."""
MOST_NAMED = 6
"""Places that are named one by one."""
CROWDED = 100
"""Places from which on two of them may have lain between neighbours of the search, and only one was seen."""
WORDS = {"kink": "kink", "jump": "jump", "pole": "pole", "singular": "singular", "domain": "edge of the domain",
         "hole": "no value", "overflow": "too large for a double"}


def fixed_text(setting: Setting) -> str:
    """The inputs that do not vary, as --at has them."""
    ranged = {r.name for r in setting.ranges}
    return few((f"{n} = {x:.6g}" for n, x in setting.fixed.items() if n not in ranged), MOST_NAMED)


class Found(NamedTuple):
    """A place where an output is not smooth, what it is there, and the operation to blame."""

    place: BreakPlace
    kind: str
    blame: Telltale | None


def place_notes(span: GridRange, found: Iterable[Sequence[Found]], source: Source | None) -> Iterator[str]:
    """A line for each kind of place, with the operations that make it."""
    places: dict[tuple[str, str], set[float]] = {}
    for each in found:
        for f in each:
            places.setdefault((f.kind, operation(f.blame, source)), set()).add(float(f.place.at[0]))
    lines: dict[tuple[str, tuple[float, ...]], list[str]] = {}
    for (kind, text), at in places.items():
        lines.setdefault((kind, tuple(sorted(at))), []).append(text)
    for (kind, spots), texts in lines.items():
        text = ", ".join(filter(None, texts))
        yield f"{SYMBOLS[kind]} {WORDS[kind]} {where(span, spots)}{f': {text}' if text else ''}"


def where(span: GridRange, at: Sequence[float]) -> str:
    """At x = 1, 2; of many, how many there are and how far they reach. Six digits of the range are told."""
    largest, wide = max(map(abs, span.ends)), min(abs(span.ends[1] - span.ends[0]), sys.float_info.max)
    digits = min(6 + max(0, math.floor(math.log10(largest / wide))), 17)
    x, words = span.name, [f"{value:.{digits}g}" for value in at]
    if len(at) > MOST_NAMED:
        more = " or more" if len(at) > CROWDED else ""
        return f"at {plural(len(at), 'place')}{more} from {x} = {words[0]} to {words[-1]}"
    return f"at {x} = {', '.join(words)}"


def told_apart(numbers: Sequence[float], least: int = 6) -> list[str]:
    """Numbers with so many digits, or as many as tell different ones apart."""
    several = len(set(numbers))
    texts = ([f"{x + 0.0:.{digits}g}" for x in numbers] for digits in range(least, 18))
    return next(words for words in texts if len(set(words)) == several)


def operation(blame: Telltale | None, source: Source | None) -> str:
    """The operation to blame as it was written."""
    if blame is None or source is None or blame.equation.span is None:
        return ""
    text = visible(" ".join(source.quoted(blame.equation.span).split()))
    return text if len(text) <= LONGEST else text[:LONGEST - 1] + "…"


# ---------------------------------------------------------------- special places

ROUND, COS, TAN, SUB = (TABLE[name] for name in ("round", "cos", "tan", "sub"))


class Telltale(NamedTuple):
    """A number that tells of the places of one operation: their `level`, and whether its value is a `step` or its sign counts."""

    equation: Equation
    level: int
    step: bool


def quantities(program: Program, wrt: Collection[str]) -> tuple[Program, list[Telltale]]:
    """A program of scalars whose results are the quantities of the operations that depend on the inputs `wrt`, and what each
    is."""
    b, active, found = Builder(), active_values(program, wrt), list[Telltale]()
    results: list[Result] = []

    def tell(e: Equation, level: int, atom: object, step: bool) -> None:
        results.append(Result(f"q{len(results)}", atom))  # type: ignore[arg-type]  # an atom
        found.append(Telltale(e, level, step))

    for e in program.equations:
        b.equations.append(e)
        if active.isdisjoint(e.args):
            continue
        args, out = [b.expr(a) for a in e.args], b.expr(e.outs[0])
        worst = max((s.level for s in e.op.status), default=POLE)
        if e.op.pieces == "step":
            tell(e, worst, out.atom, True)
        elif e.op.pieces == "sawtooth":
            tell(e, worst, apply(ROUND, (args[0] - out) / args[1]).atom, True)
        elif e.op is TAN:   # infinite at points that are no doubles, so its row has no condition
            tell(e, POLE, apply(COS, *args).atom, False)
        else:
            for status in e.op.status:
                start = len(b.equations)
                status.condition(out, *args)
                for inner in b.equations[start:]:
                    if inner.op.truth and not any(getattr(a, "truth", False) for a in inner.args):
                        tell(e, status.level, b.emit(SUB, *inner.args), False)
                    elif inner.op.pieces == "step":
                        tell(e, status.level, inner.outs[0], True)
    return simplify(replace(program, equations=tuple(b.equations), results=tuple(results))), found
