"""Derivatives of one program by every order of the two modes, and by Taylor coefficients; and the limits that they should be."""
from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from adcli.lang.derive.derivatives import extend, start
from adcli.lang.derive.taylor import taylor
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import Program
from adcli.lang.modes.forward import jvp
from adcli.lang.modes.reverse import duplicate, vjp
from adcli.lang.passes.pipeline import chosen_outputs, run
from adcli.lang.passes.status import with_status
from adcli.lang.simplify.simplify import simplify
from back_ends import MODES
from multiple_precision import mpmath_arithmetic

Point = Mapping[str, float]
EXACT = mpmath_arithmetic(150)
FAR, NEAR = 1e-30, 1e-36
"""Two distances from a point; what is the same at both is a limit."""
SPEEDS = (1.0, 1.37, 0.71, 1.91)
LARGE, HUGE = 1e6, 1e308


def by_modes(program: Program, wrt: Sequence[str], output: str, modes: Sequence[str]) -> Program:
    """An output and all its derivatives up to an order, each order by its own mode."""
    under_way, newest = start(program, list(wrt), [output], "auto", None), [output]
    for mode in modes:
        under_way.mode = mode
        newest = extend(under_way, newest, zeros=True)
    return under_way.program


class Orders:
    """A program of scalars by all orders of modes up to `order`, its first output with the status at points."""

    def __init__(self, program: Program, order: int, wrt: Sequence[str] | None = None) -> None:
        self.program, self.order = program, order
        self.wrt = [p.name for p in program.params if p.active] if wrt is None else list(wrt)
        self.output = program.results[0].name
        self.plain = by_modes(program, self.wrt, self.output, ("forward",) * order)
        self.whole: dict[tuple[str, ...], Program] = {}

    def at(self, point: Point) -> dict[tuple[str, ...], dict[str, float]]:
        """The results at a point by all orders of modes."""
        return {modes: self.by(modes, point) for modes in itertools.product(MODES, repeat=self.order)}

    def by(self, modes: tuple[str, ...], point: Point) -> dict[str, float]:
        """The results at a point by one order of modes, derived when it is first asked for; the level of the status is called
        status."""
        if modes not in self.whole:
            derived = self.plain if "reverse" not in modes else by_modes(self.program, self.wrt, self.output, modes)
            self.whole[modes] = with_status(derived, self.program, self.wrt)
        program = self.whole[modes]
        got = evaluate(program, point, FLOAT)
        return {**got, "status": got[program.results[-1].name]}

    def forward(self, point: Point) -> dict[str, float]:
        return self.by(("forward",) * self.order, point)

    def disagreements(self, point: Point) -> Iterator[str]:
        """What differs between the orders of modes, and from Taylor coefficients along each input, short of overflow."""
        found = self.at(point)
        first = found[("forward",) * self.order]
        for modes, got in found.items():
            for name, x in got.items():
                if not alike(x, first[name]):
                    yield f"{name} at {point}: {first[name]} forward, {x} {' over '.join(reversed(modes))}"
        for x in self.wrt:
            series = along(self, x)
            got = evaluate(series, {**point, **{p.name: 1.0 for p in series.params if p.seed}}, FLOAT)
            for k in range(1, self.order + 1):
                [partial] = [r.name for r in self.plain.results if r.wrt == (x,) * k]
                coefficient = got[series.results[k].name]
                if not alike(coefficient, first[partial]):
                    yield f"{partial} at {point}: {first[partial]}, {coefficient} by taylor"

    def wrong_limits(self, point: Point, got: Mapping[str, float], limits: Mapping[str, float]) -> Iterator[str]:
        """Derivatives that are not what those beside the point tend to; none is looked at that tends to nothing."""
        for name, x in got.items():
            limit = limits.get(name)
            if limit is not None and not alike(x, limit):
                yield f"{name} at {point}: {x}, and beside it {limit}"

    def limits(self, point: Point) -> dict[str, float]:
        """What derivatives tend to along all directions at once: a number, an infinity, or NaN outside of the domain."""
        sides: dict[str, list[tuple[Any, Any]]] = {r.name: [] for r in self.plain.results}
        for signs in itertools.product((1, -1), repeat=len(self.wrt)):
            two = [evaluate(self.plain, self.beside(point, signs, distance), EXACT) for distance in (FAR, NEAR)]
            for name, pairs in sides.items():
                pairs.append((two[0][name], two[1][name]))
        return {name: limit for name, pairs in sides.items() if (limit := common([limit_of(*p) for p in pairs])) is not None}

    def beside(self, point: Point, signs: Sequence[int], distance: float) -> dict[str, Any]:
        moves = {x: sign * speed for x, sign, speed in zip(self.wrt, signs, SPEEDS, strict=False)}
        size = {x: EXACT.constant(max(abs(v), 1.0) * distance) for x, v in point.items()}
        return {x: EXACT.constant(v) + size[x] * EXACT.constant(moves.get(x, 0)) for x, v in point.items()}


@cache
def along(orders: Orders, x: str) -> Program:
    return taylor(orders.program, [x], [orders.output], orders.order, scaled=True)


def alike(x: float, y: float) -> bool:
    """The same within rounding, with what an operation of large numbers can lose."""
    if x != x or y != y:
        return x != x and y != y
    return x == y or abs(x - y) <= 1e-9 * max(abs(x), abs(y)) or (abs(x - y) < 1e-12 and math.isfinite(x - y))


def limit_of(far: Any, near: Any) -> float | str:
    """What values at two distances tend to; "nothing" where that is not told, "outside" where they are no numbers."""
    if far - far != 0 or near - near != 0:
        return "outside"
    if abs(far - near) <= 1e-12 * max(1, abs(near)):
        return float(near) if abs(near) > 1e-25 else 0.0
    if abs(near) > LARGE and abs(near) > 1.01 * abs(far) and (near > 0) == (far > 0):
        return math.copysign(math.inf, near)
    return 0.0 if abs(near) < 1e-5 and abs(near) < 0.9 * abs(far) else "nothing"


def common(limits: Sequence[float | str]) -> float | None:
    """The limit that all sides have, of those on which there is the function; None where they have none."""
    inside = [x for x in limits if x != "outside"]
    if not inside or "nothing" in inside:
        return None
    first = inside[0]
    assert isinstance(first, float)
    return first if all(isinstance(x, float) and alike(x, first) for x in inside) else None


# ---------------------------------------------------------------- inside of tensors

def of_elements(program: Program, output: str, steps: Sequence[tuple[str, str]]) -> Program:
    """The derivative of a tensor whose element i depends on element i of the inputs alone, by one input and mode a step: with all
    seeds 1 it is that of every element."""
    newest = output
    for mode, x in steps:
        sweep = [lambda p, x=x, of=newest: jvp(p, [x], [of])] if mode == "forward" else [
            duplicate, lambda p, x=x, of=newest: vjp(p, [x], [of])]
        program = run(program, [*sweep, simplify])
        newest = program.results[-1].name
    return chosen_outputs(program, [newest])


def elements(program: Program, columns: Mapping[str, Sequence[float]]) -> list[float]:
    """The elements of the one result."""
    rows = len(next(iter(columns.values())))
    at = {p.name: np.array(columns[p.name] if p.name in columns else [1.0] * rows) for p in program.params}
    [found] = evaluate(program, at, FLOAT).values()
    return [float(x) for x in np.broadcast_to(found, (rows,))]
