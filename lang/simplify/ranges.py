"""Ranges of values for all inputs, as far as operations have them: exp(y) is not negative and never −0, x·x + 1 is at least 1.

What rules do for numbers that a value cannot be is needless then. Bounds hold in double and in single precision and whatever
mathematics library computes: of functions only signs are claimed, ends near zero or the largest numbers are taken for these, and
what is not strictly apart by more than rounding is not said to be. NaN is always possible. A declared range says nothing here: a
program may be evaluated outside of it.

Then the conditions under which values of a program matter. A value that only one arm of a `select` reads has no part in any
result where the other arm is taken. There it may be anything, so that what computes it may assume the condition.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from adcli.lang.ir import Atom, Equation, Lit, Program
from adcli.lang.ir.primitives import TABLE

INF = math.inf
SMALLEST, LARGEST, ROUNDING = 1e-30, 1e30, 1e-5


class ValueRange(NamedTuple):
    """The bounds of a value that is not NaN, and whether it can be −0."""

    low: float = -INF
    high: float = INF
    minus: bool = True

    @property
    def natural(self) -> bool:
        """Neither negative nor −0."""
        return self.low >= 0 and not self.minus


ANYTHING, NATURAL = ValueRange(), ValueRange(0.0, INF, False)
Values = Mapping[Atom, ValueRange]


def bounded(low: float, high: float, minus: bool) -> ValueRange:
    """A range whose ends hold in single precision too."""
    if not low <= high:   # NaN
        return ANYTHING
    minus = (minus and low <= 0 <= high) or -SMALLEST < high < 0
    low = -INF if low < -LARGEST else 0.0 if 0 < low < SMALLEST else low
    return ValueRange(low, INF if high > LARGEST else 0.0 if -SMALLEST < high < 0 else high, minus)


def of_literal(a: Lit) -> ValueRange:
    return bounded(a.value, a.value, math.copysign(1, a.value) < 0)


def added(x: ValueRange, y: ValueRange) -> ValueRange:
    return bounded(x.low + y.low, x.high + y.high, x.minus and y.minus)


def negated(x: ValueRange) -> ValueRange:
    return bounded(-x.high, -x.low, True)


def multiplied(x: ValueRange, y: ValueRange) -> ValueRange:
    corners = [0.0 if a == 0 or b == 0 else a * b for a, b in product(x[:2], y[:2])]
    return bounded(min(corners), max(corners), not (x.natural and y.natural))


def divided(x: ValueRange, y: ValueRange) -> ValueRange:
    if not (x.natural and y.natural):
        return ANYTHING
    return bounded(x.low / y.high if 0 < y.high < INF else 0.0, INF if y.low == 0 or x.high == INF else x.high / y.low, False)


def rooted(x: ValueRange) -> ValueRange:
    return bounded(math.sqrt(max(x.low, 0.0)), math.sqrt(max(x.high, 0.0)), x.minus)


def squared(x: ValueRange) -> ValueRange:
    least = max(x.low, -x.high, 0.0)
    return bounded(least * least, max(x.low * x.low, x.high * x.high), False)


def hull(*xs: ValueRange) -> ValueRange:
    return ValueRange(min(x.low for x in xs), max(x.high for x in xs), any(x.minus for x in xs))


def largest(*xs: ValueRange) -> ValueRange:
    return ValueRange(max(x.low for x in xs), max(x.high for x in xs), any(x.minus for x in xs))


OF_ARGUMENTS: Mapping[str, Callable[..., ValueRange]] = {
    "add": added, "sub": lambda x, y: bounded(x.low - y.high, x.high - y.low, x.minus), "neg": negated, "mul": multiplied,
    "div": divided, "fma": lambda x, y, z: added(multiplied(x, y), z), "sqrt": rooted, "max": largest,
    "min": lambda *xs: negated(largest(*map(negated, xs)))._replace(minus=any(x.minus for x in xs)),
    "select": lambda c, x, y: hull(x, y), "pow": lambda x, y: NATURAL if x.natural else ANYTHING,
    "abs": lambda x: bounded(max(x.low, -x.high, 0.0), max(-x.low, x.high), False), "dup": lambda x: x,
    **dict.fromkeys(("exp", "exp2", "cosh", "hypot", "sigmoid"), lambda *xs: NATURAL)}
"""The range of an operation's result by those of its arguments."""


def of_result(e: Equation, args: Sequence[ValueRange]) -> ValueRange:
    if e.op is TABLE["mul"] and e.args[0] is e.args[1]:
        return squared(args[0])
    if e.op is TABLE["pown"] and isinstance(n := e.args[1], Lit):
        return NATURAL if n.value % 2 == 0 or args[0].natural else ANYTHING
    return OF_ARGUMENTS.get(e.op.name, lambda *xs: ANYTHING)(*args)


class Ranges:
    """The ranges of the values of some equations, which may grow; each is found once, when it is first asked for. Values are NaN
    for some inputs, unless all are `numbers`."""

    def __init__(self, equations: Sequence[Equation], numbers: bool = False) -> None:
        self.equations, self.read, self.numbers = equations, 0, numbers
        self.made: dict[Atom, Equation] = {}
        self.found: dict[Atom, ValueRange] = {}

    def maker(self, a: Atom) -> Equation | None:
        """The row of the table that makes a value."""
        for e in self.equations[self.read:]:
            self.made.update({} if e.op.tensors else dict.fromkeys(e.outs, e))
        self.read = len(self.equations)
        return self.made.get(a)

    def of(self, a: Atom) -> ValueRange:
        """The range of a value."""
        waiting = [a]
        while waiting:
            last = waiting[-1]
            e = None if isinstance(last, Lit) else self.maker(last)
            unknown = [x for x in e.args if x not in self.found] if e is not None else []
            if unknown and last not in self.found:
                waiting += unknown
                continue
            waiting.pop()
            self.found.setdefault(last, of_literal(last) if isinstance(last, Lit) else ANYTHING if e is None
                                  else of_result(e, [self.found[x] for x in e.args]))
        return self.found[a]

    def under(self, a: Atom, context: Iterable[tuple[Atom, bool]]) -> ValueRange:
        """The range of a value where conditions have the truth that they have in a context, by what it is computed from too."""
        e = self.maker(a)
        if not context or e is None:
            return self.limited(a, self.of(a), context)
        return self.limited(a, of_result(e, [self.limited(x, self.of(x), context) for x in e.args]), context)

    def limited(self, a: Atom, x: ValueRange, context: Iterable[tuple[Atom, bool]]) -> ValueRange:
        """A range where conditions about its value have a truth."""
        for condition, truth in context:
            e = self.maker(condition)
            if e is not None and a in e.args and e.op.name in LIMITS:
                x = limited(x, e.op.name, e.args[0] is a, self.of(e.args[1 if e.args[0] is a else 0]), truth)
        return x

    def truth(self, e: Equation, context: Iterable[tuple[Atom, bool]] = (), strictly: bool = True) -> bool | None:
        """The truth of a comparison, if it has one for all inputs; unless `strictly`, also where operands may be
        equal."""
        if e.op.name not in ("lt", "gt", "le", "ge", "eq"):
            return None
        x, y = (self.under(a, context) for a in e.args)
        less = apart(x, y) or (e.op.name == "gt" and not strictly and x.high <= y.low)
        if not less and not apart(y, x) and not (e.op.name == "lt" and not strictly and y.high <= x.low):
            return None
        holds = e.op.name in (("lt", "le") if less else ("gt", "ge"))
        return holds if self.numbers or not holds else None


def apart(x: ValueRange, y: ValueRange) -> bool:
    """Test for numbers that are below others by more than rounding."""
    return x.high + ROUNDING * abs(x.high) < y.low - ROUNDING * abs(y.low)


LIMITS = ("lt", "gt", "le", "ge")


def limited(x: ValueRange, name: str, left: bool, y: ValueRange, truth: bool) -> ValueRange:
    """A range where a comparison with a value in y is true, or false though neither is NaN."""
    below = ((name[0] == "l") == left) == truth
    strict = (name[1] == "t") == truth
    low, high = (x.low, min(x.high, y.high)) if below else (max(x.low, y.low), x.high)
    zero = low <= 0 <= high and not (strict and (y.high <= 0 if below else y.low >= 0))
    return ValueRange(low, high, x.minus and zero)


# ---------------------------------------------------------------- contexts

SELECT = TABLE["select"]
Context = frozenset[tuple[Atom, bool]]
"""Conditions, each with its truth, that hold wherever a value matters."""
ALWAYS: Context = frozenset()
DEEPEST = 8
"""Conditions of a context at most, so that time and memory are linear in chains of choices."""


def contexts(program: Program) -> dict[Atom, Context]:
    """The context of every value that a result needs, in one pass backwards."""
    found: dict[Atom, Context] = {r.atom: ALWAYS for r in program.results}
    for e in reversed(program.equations):
        there = [found[o] for o in e.outs if o in found]
        if not there:
            continue
        whole = there[0].intersection(*there[1:])
        under = [whole] * len(e.args)
        if e.op is SELECT and len(whole) < DEEPEST:
            under[1:] = [whole | {(e.args[0], True)}, whole | {(e.args[0], False)}]
        for a, context in zip(e.args, under, strict=True):
            found[a] = found[a] & context if a in found else context
    return found
