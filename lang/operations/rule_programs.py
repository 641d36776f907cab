"""The rules of the table written out: what a row's map or status condition emits, one row at a time.

For whoever looks at a single operation: runs its rule on numbers (`adcli.lang.analyse.numeric_sweeps`), counts it
(`adcli.lang.derive.cost`), or asks which arguments it depends on (`adcli.lang.sparsity.sparsity`). No rule is written a second
time, so what is said of an operation is what both modes of differentiation do with it. A rule is that of an operation with a
number of arguments and with constants where the row wants them; everything else is a variable. It takes time and memory in
proportion to its equations; whoever asks often keeps what he needs of it.

Rows such as `max` take any number of arguments. The map of one of many reads that argument and what the maps have in common,
whatever the number: see `read_by` and `shared_rule`.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

from adcli.lang.ir import Atom, Atoms, Equation, Lit, Primitive, Var
from adcli.lang.ir.build import Builder, Expr, When, many

T = TypeVar("T")

Statics = tuple[tuple[int, float], ...]
"""The positions and values of the arguments that a row wants as constants."""


class Rule(NamedTuple):
    """A map or a status condition: `value` in terms of the seed `t`, the result `z` and `args`, which are those of the operation
    or, for a map, what `read_by` says. A map contributes nothing where `condition` fails; None always holds."""

    t: Var
    z: Var
    args: Atoms
    equations: tuple[Equation, ...]
    value: Atom
    condition: Atom | None = None


def statics(e: Equation) -> Statics:
    """The constants of an operation that its row wants as such."""
    return tuple([(i, a.value) for i in e.op.static if isinstance(a := e.args[i], Lit)])


def told(e: Equation) -> Statics:
    """These, and the constants that its maps look at."""
    return tuple([(i, a.value) for i in (*e.op.static, *e.op.telling) if isinstance(a := e.args[i], Lit)])


FORGET: list[Callable[[], None]] = []
"""Functions that clear the caches by operation, for tests that change a row."""


def by_operation(known: Callable[[Primitive, Statics, int], T]) -> Callable[[Equation], T]:
    """Cache a property of equations by operation, constants and number of arguments."""
    found = cache(known)
    plain: dict[Primitive, T] = {}   # of operations that are the same in every equation, as most are
    FORGET.extend((found.cache_clear, plain.clear))

    def of(e: Equation) -> T:
        op = e.op
        value = plain.get(op)
        if value is None:
            value = found(op, told(e), len(e.args))
            if not op.static and not op.telling and not op.variadic:
                plain[op] = value
        return value
    return of


def map_rule(op: Primitive, position: int, static: Statics, count: int) -> Rule | None:
    """The map of one of `count` arguments; None where it is zero by construction."""
    written = op.map(position)
    if written is None:
        return None
    several = many(op, count)
    b, t, z, args = _start(op, static, count if several is None else 1 if several.shared is None else 2)
    mapped = (several.map if several else written)(b.expr(t), b.expr(z), *[b.expr(a) for a in args])
    if mapped is None:
        return None
    if isinstance(mapped, When):
        return Rule(t, z, args, tuple(b.equations), mapped.value.atom, mapped.condition.atom)
    return Rule(t, z, args, tuple(b.equations), mapped.atom)


def shared_rule(op: Primitive, count: int) -> Rule | None:
    """The common part of the maps of an operation, computed once; None where there is nothing."""
    several = many(op, count)
    if several is None or several.shared is None:
        return None
    b, t, z, args = _start(op, (), count)
    value: Expr = several.shared(b.expr(z), *[b.expr(a) for a in args])
    return Rule(t, z, args, tuple(b.equations), value.atom)


def read_by(op: Primitive, position: int, args: Sequence[T], shared: Callable[[], T | None]) -> Sequence[T]:
    """The values of the `args` of a map's rule: all arguments of the operation, or of many the one with what is `shared`."""
    if many(op, len(args)) is None:
        return args
    common = shared()
    return (args[position],) if common is None else (args[position], common)


def status_rule(op: Primitive, number: int, static: Statics, count: int) -> Rule:
    """The condition of entry `number` in the row's `status`."""
    b, t, z, args = _start(op, static, count)
    met: Expr = op.status[number].condition(b.expr(z), *[b.expr(a) for a in args])
    return Rule(t, z, args, tuple(b.equations), met.atom)


def _start(op: Primitive, static: Statics, count: int) -> tuple[Builder, Var, Var, Atoms]:
    constants = {i: Lit(x) for i, x in static}
    args = tuple([constants.get(i) or Var(f"x{i}", truth=op.kind(i) == "t") for i in range(count)])
    return Builder(), Var("t"), Var("z", truth=op.truth), args
