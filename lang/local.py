"""One operation looked at closely: what its row of the table says at given numbers.

The linear maps and the status conditions of a row are IR; here they are built once for a row and run on floats. So what an
explanation says of an operation is what both modes of differentiation do with it, and no rule is written twice.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from lang.build import Builder, When
from lang.evaluate import FLOAT, read
from lang.ir import Atom, Equation, Lit, Primitive, Status, Var

Values = Mapping[Var, Any]


class Rule(NamedTuple):
    """A map or a condition as equations over `seed`, `out` and `args`; where `condition` fails, nothing is contributed."""

    seed: Var
    out: Var
    args: tuple[Atom, ...]
    equations: tuple[Equation, ...]
    condition: Atom | None
    value: Atom

    def run(self, seed: float, out: Any, args: list[Any]) -> Any:
        """The value at these numbers; None where it is zero by construction."""
        env: dict[Var, Any] = {self.seed: seed, self.out: out}
        env.update((a, x) for a, x in zip(self.args, args, strict=True) if isinstance(a, Var))
        for e in self.equations:
            env[e.outs[0]] = FLOAT.apply(e.op, [read(env, a, FLOAT) for a in e.args], e.args)
        if self.condition is not None and not read(env, self.condition, FLOAT):
            return None
        return read(env, self.value, FLOAT)


def contribution(e: Equation, position: int, values: Values, seed: float) -> float | None:
    """What the row's map makes of a seed at one argument; None where that is zero by construction."""
    rule = _map(e.op, position, _statics(e), len(e.args))
    if rule is None:
        return None
    found: float | None = rule.run(seed, values[e.outs[0]], [read(values, a, FLOAT) for a in e.args])
    return found


def met(e: Equation, values: Values) -> Iterator[Status]:
    """The entries of the row's `status` that hold at these values."""
    args = [read(values, a, FLOAT) for a in e.args]
    for number, status in enumerate(e.op.status):
        if _condition(e.op, number, _statics(e), len(e.args)).run(0.0, values[e.outs[0]], args):
            yield status


def _statics(e: Equation) -> tuple[tuple[int, float], ...]:
    """The arguments that the row wants as constants."""
    return tuple((i, a.value) for i in e.op.static if isinstance(a := e.args[i], Lit))


def _arguments(op: Primitive, static: tuple[tuple[int, float], ...], count: int) -> tuple[Atom, ...]:
    constant = {i: Lit(x) for i, x in static}
    return tuple(constant.get(i) or Var(truth=op.kind(i) == "t") for i in range(count))


@cache
def _map(op: Primitive, position: int, static: tuple[tuple[int, float], ...], count: int) -> Rule | None:
    rule = op.map(position)
    if rule is None:
        return None
    b, seed, out, args = Builder(), Var(), Var(truth=op.truth), _arguments(op, static, count)
    exprs = [b.expr(a) for a in args]
    mapped = rule(b.expr(seed), b.expr(out), *([exprs[position]] if op.variadic else []), *exprs)
    if mapped is None:
        return None
    condition, value = (mapped.condition.atom, mapped.value) if isinstance(mapped, When) else (None, mapped)
    return Rule(seed, out, args, tuple(b.equations), condition, value.atom)


@cache
def _condition(op: Primitive, number: int, static: tuple[tuple[int, float], ...], count: int) -> Rule:
    b, seed, out, args = Builder(), Var(), Var(truth=op.truth), _arguments(op, static, count)
    value = op.status[number].condition(b.expr(out), *[b.expr(a) for a in args])
    return Rule(seed, out, args, tuple(b.equations), None, value.atom)
