"""The two sweeps of differentiation carried out on numbers at one point, with every contribution kept.

`forward.py` and `reverse.py` write a sweep down as a program; here it is run, on the same rows and in the same order, so the
totals are theirs to the bit, and one can ask of every tangent or adjoint what it was made of. Since the point is known, so is
every condition: a derivative exists or it does not. That is what the guards of the derivative programs come to at this
point. `Derivative.absent` says why one is zero by construction, and `Sweep.blocked` names the operations where its paths end.

The rules of one operation at given numbers: what its maps contribute there, and which status conditions it meets.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from adcli.lang.evaluate import FLOAT, Arithmetic, ValuesAt, read
from adcli.lang.ir import Atom, Equation, Program, Status, Var
from adcli.lang.ir.build import many
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.rule_programs import Rule, map_rule, read_by, shared_rule, statics, status_rule, told

DUP = TABLE["dup"]
ArgumentUse = tuple[Equation, int]
"""An operation and the position of one of its arguments."""
ENDS_KEPT = 4
"""Ends of paths that are remembered for one value."""
NO_SEED, ARM, STEP = "zero seed", "arm not taken", "flat step"
"""Why a derivative is zero by construction."""


class Derivative(NamedTuple):
    """A tangent or an adjoint; where it is zero by construction, `absent` says why."""

    value: float
    absent: str = ""


class Contribution(NamedTuple):
    """Contribution of the number of `source` through one argument of an operation, and the derivative that receives it `before`
    and `after`."""

    equation: Equation
    position: int
    source: Atom
    derivative: Derivative
    before: Derivative | None
    after: Derivative

    @property
    def value(self) -> float:
        return self.derivative.value


class Sweep:
    """The tangents (adjoints, in a reverse sweep) of a program at a point.

    `derivatives` has them all, `numbers` those that exist, with the `parts` each is the sum of. `lines` has the contributions of
    every equation in the order of the sweep, `kept` the numbers in their rules where somebody wants to show them, and `sown` the
    seeds one after another, each with the derivative that received it before and after.
    """

    def __init__(self, forward: bool, seeds: Iterable[tuple[Atom, float]], values: ValuesAt, lines: int,
                 keep: bool = False) -> None:
        self.forward, self.values = forward, values
        self.derivatives: dict[Atom, Derivative] = {}
        self.numbers: dict[Atom, float] = {}
        self.parts: dict[Atom, list[Contribution]] = {}
        self.blocked: dict[Atom, tuple[ArgumentUse, ...]] = {}
        self.of_many: dict[Equation, tuple[list[Any], Any]] = {}
        self.lines: list[list[Contribution]] = [[] for _ in range(lines)]
        self.kept: dict[ArgumentUse, Mapping[Var, Any]] | None = {} if keep else None
        self.seeds = list(seeds)
        self.sown = [(d := seed(number), self.derivatives.get(atom), self.receive(atom, d)) for atom, number in self.seeds]

    @property
    def word(self) -> str:
        return "tangent" if self.forward else "adjoint"

    def receive(self, target: Atom, derivative: Derivative) -> Derivative:
        """Add to the derivative of `target`; returns the sum."""
        before = self.derivatives.get(target)
        after = self.derivatives[target] = derivative if before is None else self.plus(derivative, before)
        if not after.absent:
            self.numbers[target] = after.value
        return after

    def carry(self, line: int, use: ArgumentUse, source: Atom, targets: Sequence[Atom], active: bool = True) -> None:
        """Take the derivative of `source` through one argument of an operation to the `targets`, which are two where the
        operation copies."""
        given = self.derivatives.get(source)
        made = self.mapped(use, given) if active and given is not None else None
        for target in targets:
            if made is not None:
                part = Contribution(*use, source, made, self.derivatives.get(target), self.receive(target, made))
                if target is targets[0]:
                    self.lines[line].append(part)
                if not made.absent:
                    self.parts.setdefault(target, []).append(part)
            if source not in self.numbers:
                self.block(target, self.blocked.get(source, ()))
            elif made is None or made.absent:
                self.block(target, (use,))

    def mapped(self, use: ArgumentUse, given: Derivative) -> Derivative | None:
        """Image of a derivative under the rule of an operation; None where it has nothing for that argument."""
        e, position = use
        rule = rule_of(e, position)
        if rule is None:
            return None
        arithmetic = self.values.arithmetic
        numbers = every_number(rule, given.value, self.values[e.outs[0]], self.operands(use), arithmetic)
        if self.kept is not None:
            self.kept[use] = numbers
        value = outcome(rule, numbers, arithmetic)
        if value is None:
            return Derivative(0.0, STEP if e.op.pieces == "step" else ARM)
        return Derivative(0.0, given.absent) if given.absent else Derivative(value)

    def operands(self, use: ArgumentUse) -> Sequence[Any]:
        """The values that a map reads; what the maps of an operation of many arguments have in common is worked out once."""
        e, position = use
        if not many(e.op, len(e.args)):
            return arguments(e, self.values)
        if e not in self.of_many:
            args = arguments(e, self.values)
            self.of_many[e] = args, shared_of(e, self.values[e.outs[0]], args, self.values.arithmetic)
        args, shared = self.of_many[e]
        return read_by(e.op, position, args, lambda: shared)

    def plus(self, x: Derivative, y: Derivative) -> Derivative:
        """The sum of what exists."""
        if x.absent or y.absent:
            return y if x.absent else x
        return Derivative(self.values.arithmetic.functions["add"](x.value, y.value))

    def block(self, target: Atom, uses: tuple[ArgumentUse, ...]) -> None:
        known = self.blocked.get(target, ())
        if known is not uses and len(known) < ENDS_KEPT:
            self.blocked[target] = (*known, *[u for u in uses if u not in known])[:ENDS_KEPT]


def seed(number: float) -> Derivative:
    """A tangent or cotangent that is given: an exact zero drops what it would have caused (SEMANTICS, the zero rule)."""
    return Derivative(number, "" if number != 0 else NO_SEED)


def forward_sweep(program: Program, values: ValuesAt, seeds: Iterable[tuple[Atom, float]], keep: bool = False) -> Sweep:
    """The tangents, from those of some inputs."""
    sweep = Sweep(True, seeds, values, len(program.equations), keep)
    for line, e in enumerate(program.equations):
        for i, a in enumerate(e.args):
            if a in sweep.derivatives or a in sweep.blocked:
                sweep.carry(line, (e, i), a, e.outs)
    return sweep


def reverse_sweep(program: Program, values: ValuesAt, seeds: Iterable[tuple[Atom, float]], depends: Collection[Atom],
                  active: Collection[Atom], keep: bool = False) -> Sweep:
    """The adjoints, from those of some results, for the values in `depends`; those not in `active` can only be reached by
    truth values. Of an argument that occurs twice the last occurrence comes first, as its copies do in `reverse.py`."""
    sweep = Sweep(False, seeds, values, len(program.equations), keep)
    for line in reversed(range(len(program.equations))):
        e = program.equations[line]
        out = joined(sweep, e.outs) if e.op is DUP else e.outs[0]
        if out not in sweep.derivatives and out not in sweep.blocked:
            continue
        places: dict[Atom, list[int]] = {}
        for i, a in enumerate(e.args):
            if a in depends:
                places.setdefault(a, []).insert(0, i)
        for a, positions in places.items():
            for i in positions:
                sweep.carry(line, (e, i), out, (a,), a in active)
    return sweep


def joined(sweep: Sweep, copies: Sequence[Var]) -> Var:
    """A copy of a value that has the adjoints of all copies as its own, with their parts: their sum is the one that the value
    receives."""
    first, *others = [c for c in copies if c in sweep.derivatives] or copies
    out = Var(first.name)
    for c in (first, *others):
        if c in sweep.derivatives:
            sweep.receive(out, sweep.derivatives[c])
            sweep.parts.setdefault(out, []).extend(sweep.parts.get(c, ()))
        sweep.block(out, sweep.blocked.get(c, ()))
    return out


def dependent(program: Program, wrt: Collection[str]) -> set[Atom]:
    """The values that depend on an input in `wrt`, also those that do so through a truth value only."""
    found: set[Atom] = {p.var for p in program.params if p.name in wrt}
    for e in program.equations:
        if not found.isdisjoint(e.args):
            found.update(e.outs)
    return found


# ---------------------------------------------------------------- rules on numbers

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
