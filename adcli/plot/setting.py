"""The inputs of a plot that vary, and those that are fixed: one range for curves, two for contours."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from adcli.input.points import GridRange, checked, combined, complete, names_in, ranks, typed, unknown_name, within
from adcli.lang.ir import Equation, Param, Program, has_tensors
from adcli.lang.ir.errors import AdError
from adcli.lang.operations.matrix import MatrixOperation
from adcli.lang.operations.recurrence import Recurrence
from adcli.output.numbers import shortest

POINTS = (401, 101)
"""Values of each input that varies, where one does and where two do: a screen shows no more."""
MOST_POINTS = (100_000, 400)
HIGHEST = 4
"""Order of the derivatives that are drawn, at most."""


class Setting(NamedTuple):
    """The inputs that vary, in the order of the axes, a value for every other, and the program of numbers that is drawn."""

    program: Program
    ranges: tuple[GridRange, ...]
    fixed: Mapping[str, float]
    log_x: bool = False
    log_y: bool = False

    def logarithmic(self, x: bool, y: bool, against: str | None = None) -> Setting:
        """The setting with logarithmic axes, of which an output `against` may be one. AdError where that is not possible."""
        if (x or y) and len(self.ranges) > 1:
            raise AdError("contours have linear axes", help="vary one input for ⟦--logx⟧ and ⟦--logy⟧")
        low, high = sorted(self.ranges[0].ends)
        if x and low <= 0 and against is None:
            raise AdError(f"a logarithmic axis has positive numbers, and {self.ranges[0].name} begins at {shortest(low)}",
                          help=f"write ⟦--at {self.ranges[0].name}={shortest(max(high, 1.0) / 1000)}:{shortest(max(high, 1.0))}⟧")
        return self._replace(log_x=x, log_y=y)

    def values(self, count: int) -> np.ndarray:
        """As many values of the input that varies, at equal distances on the axis."""
        (span,) = self.ranges
        if self.log_x:
            return np.geomspace(*span.ends, count)
        return span.upwards(count).values(np.arange(count))


def from_text(program: Program, specs: Sequence[str], points: int | None, remark: Callable[[object], None]) -> Setting:
    """The setting that --at gives. An input without a value varies over the range that it is declared with."""
    params = program.params
    specs = [*specs, *declared(params, specs)]
    grids = checked(params, specs, remark, uncounted=True)
    if len(grids.grids) > 1:
        raise AdError("⟦--at⟧ gives several points; a plot has one setting",
                      help=f"write one ⟦--at⟧, with a range: ⟦--at {example(params)}⟧")
    (grid,) = grids.grids
    if any(len(axis) != 1 for axis in grid if not isinstance(axis, GridRange)):
        raise AdError("a file of several points is no range", help=f"write a range: ⟦--at {example(params)}⟧")
    ranges = [axis for axis in grid if isinstance(axis, GridRange) and axis.name not in grids.spare]
    (point,) = combined([[axis[0]] for axis in grid])
    given = complete(params, {n: x for n, x in point.items() if n not in grids.spare})
    ends = [{**given, **{r.name: r[end % len(r)][r.name] for r in ranges}} for end in (0, -1)]
    list(within(params, ends, remark, program.source))   # a range leaves what is declared at one of its ends
    return setting(program, given, ranges, points)


def from_numbers(program: Program, at: Mapping[str, float | tuple[float, ...]], points: int | None,
                 remark: Callable[[object], None] = lambda note: None) -> Setting:
    """The setting from Python: a tuple (low, high) or (low, high, count) is a range."""
    for name in at:
        if name not in {p.name for p in program.params}:
            raise unknown_name("input", name, [p.name for p in program.params])
    text = [f"{name}={':'.join(map(repr_of, x))}" if isinstance(x, tuple) else f"{name}={repr_of(x)}" for name, x in at.items()]
    return from_text(program, [",".join(text)], points, remark)


def of_numbers(program: Program, given: Mapping[str, Any]) -> tuple[Program, Mapping[str, float]]:
    """The program and its point; where it has tensors or loops, those of its elements. AdError where what is written out at a
    point is not what holds along a curve: pivots of matrices, and the steps of a loop that ends at `until`."""
    if not has_tensors(program):
        return program, given
    if any(map(decided, program.equations)):
        number = next((p.name for p in program.params if not (p.var.shape or p.var.integer)), None)
        help = f"adcli grad --at {number}=-3:3:401,… --format json gives the numbers of a curve" if number else None
        raise AdError("plot finds kinks, jumps and poles among operations on numbers; pivots of matrices, and the steps of"
                      " a loop with 'until', change along a curve", help=help)
    from adcli.input.arrays import fitting
    from adcli.task.shapes import written_out
    whole = written_out(program, fitting(program, typed(program.params, ranks(program.params), dict(given))), "plot")
    return whole.program, whole.at


def decided(e: Equation) -> bool:
    """True where the numbers of a point decide which operations an equation is."""
    if isinstance(e.op, Recurrence):
        return e.op.until is not None or any(map(decided, e.op.statements))
    return isinstance(e.op, MatrixOperation)


def repr_of(x: float) -> str:
    """A number as --at has it."""
    return str(x) if isinstance(x, int) else shortest(x)


def declared(params: Sequence[Param], specs: Sequence[str]) -> list[str]:
    """Ranges for the inputs that have neither a value nor a default, where all of them are declared with one."""
    named = {*chain.from_iterable(map(names_in, specs))}
    if any(name.startswith("@") for name in named):   # of a file, whose names are not known yet
        return []
    open_ = [p for p in params if p.default is None and p.name not in named]
    ranges = [f"{p.name}={shortest(p.low)}:{shortest(p.high)}" for p in open_ if p.low is not None and p.high is not None]
    if len(ranges) < len(open_):
        known = [p.name for p in params]
        for name in sorted(named.difference(known)):
            raise unknown_name("input", name, known)
        lacking = [p.name for p in open_ if p.low is None or p.high is None]
        raise AdError(f"no value for {', '.join(lacking)}", help=f"give a range or a value: ⟦--at {example(params, lacking)}⟧")
    return [",".join(ranges)] if ranges else []


def example(params: Sequence[Param], lacking: Sequence[str] = ()) -> str:
    """A setting that can be pasted: the first number varies, the other inputs that need it have a value, a tensor that of a
    file."""
    numbers = [p for p in params if not (p.var.shape or p.var.integer)]
    open_ = [p for p in params if p.name in lacking] or [p for p in params if p.default is None] or numbers[:1]
    first = next((p for p in open_ if p in numbers), None)
    return ",".join(f"{p.name}=-3:3" if p is first else f"{p.name}=@{p.name}.npy" if p.var.shape else f"{p.name}=1"
                    for p in open_) or "x=-3:3"


def setting(program: Program, given: Mapping[str, float], ranges: Sequence[GridRange], points: int | None) -> Setting:
    """The setting with these ranges. AdError where there is nothing to draw, or too much."""
    if not 1 <= len(ranges) <= 2:
        what = "nothing varies" if not ranges else f"{', '.join(r.name for r in ranges)} vary, and a picture has two axes"
        any_number = any(not (p.var.shape or p.var.integer) for p in program.params)
        help = "a number varies: add one to the inputs, as t in x(i) + t" if not ranges and not any_number else \
            f"give one input a range: ⟦--at {example(program.params)}⟧" if not ranges else \
            f"give all but two a value: ⟦--at {','.join(f'{r.name}=1' for r in ranges[2:])}⟧"
        raise AdError(f"{what} in this plot" if not ranges else what, help=help)
    for r in ranges:
        if r.ends[0] == r.ends[1]:
            raise AdError(f"{r.name} varies from {shortest(r.ends[0])} to itself", help=f"write ⟦--at {r.name}=-3:3⟧")
    most, usual = MOST_POINTS[len(ranges) - 1], POINTS[len(ranges) - 1]
    counts = [len(r) if r.counted else points or usual for r in ranges]
    if max(counts) > most:
        raise AdError(f"{max(counts):,} points are more than a picture shows", help=f"write ⟦--points {usual}⟧")
    numbers, fixed = of_numbers(program, given)
    return Setting(numbers, tuple(r.upwards(max(n, 2)) for r, n in zip(ranges, counts, strict=True)), fixed)
