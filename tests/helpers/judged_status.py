"""Which operation has a wrong status: what its row says of smoothness, beside the values of the operation alone.

At operands of an operation one argument at a time is moved to both sides by two steps, in multiple precision, the second step far
shorter than the first. Values that do not come together are a jump, slopes of the two sides that do not are a kink, and
slopes that grow as the step shrinks are singular. What neither grows, nor stays, nor vanishes over so many powers of ten is not
judged, nor is a point on the edge of where the operation is defined.

The status of a program is the worst of its operations, so each is looked at for itself: abs(x)*x is smooth at 0, and abs is not.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from random import Random
from typing import Any, NamedTuple

from adcli.lang.analyse.numeric_sweeps import run
from adcli.lang.enclosures import precise_arithmetic
from adcli.lang.evaluate import FLOAT
from adcli.lang.ir import DOMAIN, JUMP, KINK, SINGULAR, SMOOTH, Equation, Lit, Primitive, Var
from adcli.lang.operations.rule_programs import Rule, Statics, statics, status_rule

STEP, SHORTER = -30, -30
"""The first step is 10 to this power, times the square of the smallest operand over the largest (1 is one of them; fmod(x, y)
goes through so short a length of y from jump to jump). The second is 10 to that power times the first, and where slopes
beside the point are asked for, their step is as much shorter again."""
SPARE_DIGITS = 60
DIGITS, MOST_DIGITS = 200, 1000
"""Working precision comes in multiples of so many digits, up to the most."""
ROUNDED_DIGITS = 15
"""Digits at the end of a value that rounding may have spoilt."""
SAME, GROWN = 1e-8, 1e-3
"""How much a limit changes at most from step to step, and how much more something is at least that grows."""
SPECIAL_VALUES = (-1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
"""Operands at which operations are rarely smooth: zeros, ties, whole numbers and halves, and the ends of domains."""
MOST_SPECIAL = 40
"""Special operands looked at for an operation of many arguments."""

SPEED = 1.3
"""How fast the first argument is moved where all are; each of the others is faster by 1 than the one before."""

NOTHING, NUMBER, GROWTH = range(3)
"""Limits as the step shrinks: 0, a number other than 0, or none since it grows without end."""

Operands = tuple[Any, ...]


class Operation(NamedTuple):
    """A row with its constants and the number of its arguments."""

    op: Primitive
    static: Statics
    arguments: int

    @classmethod
    def of(cls, e: Equation) -> Operation:
        return cls(e.op, statics(e), len(e.args))

    @property
    def moved(self) -> list[int]:
        """The arguments that vary, of real numbers."""
        fixed = {i for i, _ in self.static}
        return [i for i in range(self.arguments) if i not in fixed and self.op.kind(i) == "r" and not self.whole(i)]

    def whole(self, i: int) -> bool:
        """True if an argument is a number of factors, which does not vary."""
        return self.op.factored and self.op.maps[i] is None

    def rules(self) -> list[Rule]:
        """The conditions of its status."""
        return [status_rule(self.op, k, self.static, self.arguments) for k in range(len(self.op.status))]


class Judged(NamedTuple):
    """The level that a row claims at operands, and the level that values show when argument `position` is moved (None: any)."""

    claimed: int
    shown: int
    position: int | None = None

    @property
    def wrong(self) -> bool:
        return self.claimed != self.shown


def judge(operation: Operation, operands: Operands, rules: Sequence[Rule]) -> Judged | None:
    """Comparison of the row's status at finite operands with what values show; None where they do not tell."""
    if not all(map(math.isfinite, operands)):
        return None
    met = [s for s, rule in zip(operation.op.status, rules, strict=True) if _holds(operation, rule, operands)]
    shown = shown_levels(operation, operands)
    for i, level in zip(operation.moved, shown, strict=True):
        claimed = max((s.level for s in met if s.needs in (None, i)), default=SMOOTH)
        if level is not None and min(claimed, SINGULAR) < level:
            return Judged(claimed, level, i)
    claimed = max((s.level for s in met), default=SMOOTH)
    worst = max((level for level in shown if level is not None), default=None)
    if worst is None:
        return None
    if min(claimed, SINGULAR) <= worst:
        return Judged(claimed, claimed)
    if None in shown or claimed == DOMAIN:
        return None
    steep = steep_nearby(operation, operands)
    if steep is None or (steep and claimed < SINGULAR):
        return None
    return Judged(claimed, claimed if steep else worst)


def _holds(operation: Operation, rule: Rule, operands: Operands) -> bool:
    out = FLOAT.apply(operation.op, list(operands), _atoms(operation))
    return bool(run(rule, 0.0, out, list(operands)))


def special_operands(operation: Operation, rules: Sequence[Rule]) -> list[Operands]:
    """Operands at which an operation may not be smooth, drawn where there are too many: special values and the constants of
    its status conditions, in all combinations."""
    named = [a.value for rule in rules for e in rule.equations for a in e.args if isinstance(a, Lit) and math.isfinite(a.value)]
    values = tuple(sorted({*SPECIAL_VALUES, *named}))
    constants = dict(operation.static)
    choices = [(constants[i],) if i in constants else values if i in operation.moved else
               (-1.0, 0.0, 1.0, 2.0) if operation.whole(i) else (False, True)
               for i in range(operation.arguments)]
    if math.prod(map(len, choices)) <= MOST_SPECIAL:
        return list(product(*choices))
    draw = Random(operation.op.name)
    drawn = {tuple(draw.choice(c) for c in choices): None for _ in range(MOST_SPECIAL)}
    return [*dict.fromkeys([*ties(operation, [draw.choice(c) for c in choices]), *drawn])]


def ties(operation: Operation, operands: Sequence[Any]) -> Iterator[Operands]:
    """Operands with two of those that vary made equal, and with one of them 0."""
    for i in operation.moved:
        for x in [0.0, *[operands[k] for k in operation.moved if k != i]]:
            yield (*operands[:i], x, *operands[i + 1:])


# ---------------------------------------------------------------- what values show

@lru_cache(maxsize=16_384)
def shown_levels(operation: Operation, operands: Operands) -> tuple[int | None, ...]:
    """For every argument that varies how smooth the operation is along it: smooth, kink, jump or singular (poles too); None where
    that is not told."""
    beside = Beside.of(operation, operands)
    return tuple([beside and beside.level_along(i) for i in operation.moved])


@lru_cache(maxsize=1024)
def steep_nearby(operation: Operation, operands: Operands) -> bool | None:
    """True if slopes grow without end as the point is approached; None where that is not told."""
    beside = Beside.of(operation, operands)
    return beside and beside.steep()


class Beside(NamedTuple):
    """An operation at a point and beside it, in multiple precision."""

    operation: Operation
    here: tuple[Any, ...]
    numbers: Any
    steps: tuple[Any, Any]
    rounding: Any

    @classmethod
    def of(cls, operation: Operation, operands: Operands) -> Beside | None:
        """None where that takes too many digits."""
        sizes = [1.0, *[abs(operands[i]) for i in operation.moved if operands[i]]]
        least, largest = min(sizes), max(sizes)
        powers = 2 * (math.log10(largest) - math.log10(least)) - STEP - 2 * SHORTER + SPARE_DIGITS
        digits = DIGITS * math.ceil(powers / DIGITS)
        if digits > MOST_DIGITS:
            return None
        exact = precise_arithmetic(digits)
        ten = exact.constant(10.0)
        first = exact.constant(least) ** 2 / exact.constant(largest) * ten ** STEP
        here = tuple([x if operation.op.kind(i) == "t" else exact.constant(x) for i, x in enumerate(operands)])
        return cls(operation, here, exact, (first, first * ten ** SHORTER), ten ** (ROUNDED_DIGITS - digits))

    def value(self, moves: Mapping[int, Any]) -> Any:
        """The value where arguments are moved; a truth value as 0 or 1."""
        args = [x + moves[i] if i in moves else x for i, x in enumerate(self.here)]
        found = self.numbers.apply(self.operation.op, args, _atoms(self.operation))
        return self.numbers.constant(float(found)) if isinstance(found, bool) else found

    def rounded(self, *values: Any) -> Any:
        """Bound of the rounding of values that are made of these and the operands."""
        return self.rounding * max(map(abs, (*values, *[self.here[i] for i in self.operation.moved])))

    def level_along(self, i: int) -> int | None:
        """How smooth the value is along one argument."""
        here, (h, k) = self.value({}), self.steps
        sides = [(sign, self.value({i: sign * h}), self.value({i: sign * k})) for sign in (1, -1)]
        sides = [side for side in sides if _finite(side[1]) and _finite(side[2])]
        if not _finite(here):
            grows = any(tendency(far, near, self.rounded(far, near)) == GROWTH for _, far, near in sides)
            return SINGULAR if grows else None
        if not sides:
            return None
        noise = self.rounded(here, *[x for side in sides for x in side[1:]])
        changes = [tendency(far - here, near - here, noise) for _, far, near in sides]
        if GROWTH in changes or NUMBER in changes or None in changes:
            return SINGULAR if GROWTH in changes else JUMP if NUMBER in changes else None
        slopes = [((far - here) / (sign * h), (near - here) / (sign * k)) for sign, far, near in sides]
        found = [tendency(far, near, noise / h, noise / k) for far, near in slopes]
        if GROWTH in found:
            return SINGULAR
        if None in found or len(sides) == 1:
            return None
        (above, above_near), (below, below_near) = slopes
        apart = tendency(above - below, above_near - below_near, 2 * noise / h, 2 * noise / k)
        return {NOTHING: SMOOTH, NUMBER: KINK}.get(apart) if apart is not None else None

    def steep(self) -> bool | None:
        """True if the slope along any argument grows without end, as the point is approached along an argument, or along all at
        once, at speeds that keep no tie."""
        moved, told = self.operation.moved, True
        ways = [{i: sign} for i in moved for sign in (1, -1)] + [{i: sign * (i + SPEED) for i in moved} for sign in (1, -1)]
        short = self.steps[1] / self.steps[0]
        for way in ways:
            for i in moved:
                slopes, noises = [], []
                for h in self.steps:
                    moves = {k: sign * h for k, sign in way.items()}
                    one, other = self.value(moves), self.value({**moves, i: moves.get(i, 0) + h * short})
                    slopes.append((other - one) / (h * short))
                    noises.append(self.rounded(one, other) / (h * short))
                if all(map(_finite, slopes)):
                    found = tendency(slopes[0], slopes[1], noises[0], noises[1])
                    if found == GROWTH:
                        return True
                    told = told and found is not None
        return False if told else None


def tendency(far: Any, near: Any, noise: Any, noise_near: Any = None) -> int | None:
    """Kind of limit, from sizes at a step and at a far shorter one, each with what rounding can do to it; None
    where that is not told."""
    far, near = abs(far), abs(near)
    if near <= (noise if noise_near is None else noise_near):
        return NOTHING
    if far <= noise:
        return None
    ratio = near / far
    if ratio <= SAME or abs(ratio - 1) <= SAME:
        return NOTHING if ratio <= SAME else NUMBER
    return GROWTH if ratio >= 1 + GROWN else None


def _finite(x: Any) -> bool:
    return bool(x - x == 0)


def _atoms(operation: Operation) -> tuple[Lit | Var, ...]:
    constants = dict(operation.static)
    return tuple([Lit(constants[i]) if i in constants else PLACE for i in range(operation.arguments)])


PLACE = Var()
