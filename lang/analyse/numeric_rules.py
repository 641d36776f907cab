"""The rules of one operation at given numbers: what its maps contribute there, and which status conditions it meets."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from adcli.lang.evaluate import FLOAT, Arithmetic, ValuesAt, read
from adcli.lang.ir import Equation, Status, Var
from adcli.lang.ir.build import many
from adcli.lang.operations.rule_programs import Rule, map_rule, read_by, shared_rule, statics, status_rule, told

ARGUMENTS_KEPT = 16
"""Arguments up to which rules that are as long as their number are kept."""
_status, _shared = lru_cache(maxsize=4096)(status_rule), lru_cache(maxsize=4096)(shared_rule)
_map = lru_cache(maxsize=4096)(map_rule)


def rule_of(e: Equation, position: int) -> Rule | None:
    """The map of one argument of an operation; None where it is zero by construction."""
    if many(e.op, len(e.args)):
        return _map(e.op, 0, (), e.op.arity + 1)   # the same for each of many, however many
    return _map(e.op, position, told(e), len(e.args))


def shared_of(e: Equation, out: Any, args: list[Any], numbers: Arithmetic = FLOAT) -> Any:
    """Common part of the maps of an operation at these values; None where they have none."""
    rule = (_shared if len(args) <= ARGUMENTS_KEPT else shared_rule)(e.op, len(args))
    return None if rule is None else run(rule, None, out, args, numbers)


def run(rule: Rule, seed: Any, out: Any, args: Sequence[Any], numbers: Arithmetic = FLOAT) -> Any:
    """The value of a rule at the seed, the result and its arguments; None where its condition fails."""
    return outcome(rule, every_number(rule, seed, out, args, numbers), numbers)


def outcome(rule: Rule, values: Mapping[Var, Any], numbers: Arithmetic = FLOAT) -> Any:
    """Value of a rule from those of everything in it; None where its condition fails."""
    if rule.condition is not None and not read(values, rule.condition, numbers):
        return None
    return read(values, rule.value, numbers)


def every_number(rule: Rule, seed: Any, out: Any, args: Sequence[Any], numbers: Arithmetic = FLOAT) -> dict[Var, Any]:
    """The value of everything in a rule."""
    values: dict[Var, Any] = {rule.t: seed, rule.z: out}
    values.update((a, x) for a, x in zip(rule.args, args, strict=True) if isinstance(a, Var))
    for e in rule.equations:
        values[e.outs[0]] = numbers.apply(e.op, [read(values, a, numbers) for a in e.args], e.args)
    return values


def arguments(e: Equation, values: ValuesAt) -> list[Any]:
    """The values of the arguments of an operation."""
    return [read(values, a, values.arithmetic) for a in e.args]


def by_rule(e: Equation, position: int, seed: Any, out: Any, args: list[Any], numbers: Arithmetic = FLOAT) -> Any:
    """Image of a seed under the row's map of one argument, from the values of the operation; None where that is zero by
    construction."""
    rule = rule_of(e, position)
    if rule is None:
        return None
    return run(rule, seed, out, read_by(e.op, position, args, lambda: shared_of(e, out, args, numbers)), numbers)


def contribution(e: Equation, position: int, values: ValuesAt, seed: float) -> float | None:
    """Contribution by the rule, from the values of a program."""
    found: float | None = by_rule(e, position, seed, values[e.outs[0]], arguments(e, values), values.arithmetic)
    return found


def met(e: Equation, values: ValuesAt) -> Iterator[Status]:
    """The entries of the row's `status` that hold at these values."""
    return (status for status, holds in outcomes(e, values) if holds)


def outcomes(e: Equation, values: ValuesAt) -> Iterator[tuple[Status, Any]]:
    """The entries of the row's `status`, and whether each holds at these values: None where intervals leave it open."""
    args = arguments(e, values)
    for number, status in enumerate(e.op.status):
        rule = (_status if len(args) <= ARGUMENTS_KEPT else status_rule)(e.op, number, statics(e), len(args))
        yield status, run(rule, 0.0, values[e.outs[0]], args, values.arithmetic)
