"""Where a NaN, an infinity or an exact zero came from: the operation that made it, in the primal, adjoint or tangent sweep.

The program is evaluated once and each sweep is run on numbers (`lang/analyse/numeric_sweeps.py`). From a value in question
one goes back for as long as it is merely passed on, to the operation that made it; what made its operands so is a question
of the same kind, asked only when somebody wants to know (`Cause.because`). Every step goes back in the program and is taken
once, so all explanations together take time linear in the program and in the number of values asked about.

Of a number that is 0 in doubles one operation is computed again at the same operands in multiple precision (python-flint, an
extra): a root or stationary point is 0 there too, and of underflow and rounding some digits are left.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from adcli.lang.analyse.numeric_sweeps import (
    Contribution,
    Sweep,
    arguments,
    by_rule,
    contribution,
    dependent,
    forward_sweep,
    met,
    reverse_sweep,
)
from adcli.lang.enclosures import precise_arithmetic
from adcli.lang.evaluate import FLOAT, MOST_EXPONENT_BITS, Arithmetic, ValuesAt, every_value, read
from adcli.lang.ir import KINK, POLE, SINGULAR, Atom, Equation, Lit, Point, Program, Result, Var, definitions
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.activity import active_values
from adcli.lang.operations.matrix import NoValue

ZERO_DIGITS = 400
ZERO, UNDERFLOW, ROUNDING, UNVERIFIED = "zero", "underflow", "rounding", "unverified"
"""Kinds of zeros: exact; smaller than any other number; lost to rounding; one or the other of these, where that is not known."""
SELECT, ADD, SUB, MUL, DIV, FMA, CLAMP, FDIM = (
    TABLE[n] for n in ("select", "add", "sub", "mul", "div", "fma", "clamp", "fdim"))
PRODUCTS = {MUL, FMA}
EXTREMA = ("largest", "smallest")
"""Kinds of pieces (the table's column) of which one operand wins."""
ZERO_OF_VALUE = {ZERO: "root", UNDERFLOW: "underflow", ROUNDING: "rounding", UNVERIFIED: "unverified"}
ZERO_OF_PARTIAL = {ZERO: "stationary", UNDERFLOW: "underflow", ROUNDING: "tail", UNVERIFIED: "unverified"}
"""The kind of cause for a value or a partial derivative that is 0 though no operand makes it so."""


@dataclass(frozen=True)
class Question:
    """Question why a value, or a tangent or adjoint of `sweep`, is what it is."""

    atom: Atom
    sweep: Sweep | None = None


@dataclass(frozen=True)
class Cause:
    """Cause of a NaN, an infinity or a zero: a word for it, the operation, and in which sweep.

    Kinds. Of a NaN: input, domain, 0·inf, inf-inf, 0/0, inf/inf, undefined (by the table of conventions),
    pivot (of an operation on matrices). Of an infinity: input,
    constant, pole, singular, overflow. Of a zero: input, constant, underflow, rounding, cancellation, root (of the
    operation itself, as log at 1), tail, kink, zero factor, stationary, step, comparison, not taken, not the winner, hinge,
    absent, unverified (a root or underflow, for want of python-flint). Of any number: convention, at a level named by `name`.
    `position` is the argument whose partial derivative is meant, None in the primal sweep; `seed` the number that reached the
    operation in the sweep, `partial` the operation's own partial derivative. `because` asks on.
    """

    kind: str
    equation: Equation | None = None
    position: int | None = None
    name: str | None = None
    sweep: str = "primal"
    seed: float | None = field(default=None, compare=False)
    partial: float | None = field(default=None, compare=False)
    because: tuple[Question, ...] = field(default=(), compare=False)
    others: int = field(default=0, compare=False)


def kind_of(x: float) -> str:
    return "nan" if x != x else "zero" if x == 0 else "inf" if math.isinf(x) else "number"


def alike(c: Cause, d: Cause) -> bool:
    """True if two causes are one: the same, or both arguments of a square."""
    if c == d or c.equation is None or c.position is None or d.position is None:
        return c == d
    return c.kind == d.kind and c.equation is d.equation and c.equation.args[c.position] is c.equation.args[d.position]


class ValuesExplained:
    """A program at a point, and a step back from each of its values."""

    def __init__(self, program: Program, at: Point, arithmetic: Arithmetic) -> None:
        self.program, self.at = program, at
        self.values = every_value(program, at, arithmetic)
        self.defined = definitions(program.equations)
        self.names = {p.var: p.name for p in program.params}

    @cached_property
    def users(self) -> dict[Atom, list[Equation]]:
        """The equations that use each value."""
        found: dict[Atom, list[Equation]] = {}
        for e in self.program.equations:
            for a in dict.fromkeys(e.args):
                found.setdefault(a, []).append(e)
        return found

    @cached_property
    def given(self) -> set[Atom]:
        """The values that are 0 because inputs and constants are, and not by underflow or cancellation."""
        found: set[Atom] = {x for x in self.names if self.values[x] == 0}

        def is_given(a: Atom) -> bool:
            return a in found or (isinstance(a, Lit) and a.value == 0)

        for e in self.program.equations:
            if not e.op.truth and self.values[e.outs[0]] == 0:
                zeros = [is_given(a) for a in e.args if self.number(a) == 0]
                if len(zeros) > 1 and all(zeros) if e.op in (ADD, SUB) else any(zeros):
                    found.update(e.outs)
        return found

    def number(self, atom: Atom) -> Any:
        return read(self.values, atom, self.values.arithmetic)

    def primal(self, atom: Atom) -> Question | Cause:
        """One step back from a value: what passed it on, or the cause."""
        if isinstance(atom, Lit):
            return Cause("constant", partial=atom.value)
        e = self.defined.get(atom)
        if e is None:
            return Cause("input", name=self.names[atom], partial=self.values[atom])
        x = self.values[atom]
        if e.op is SELECT:
            return Question(e.args[1] if self.number(e.args[0]) else e.args[2])
        if isinstance(e.op, NoValue) and (blamed := self.number(e.args[0])) == blamed:
            return Cause("pivot", e, because=() if kind_of(blamed) == "number" else (Question(e.args[0]),))
        return {"nan": self.primal_nan, "inf": self.primal_inf, "zero": self.primal_zero}[kind_of(x)](e)

    def real_args(self, e: Equation) -> list[Atom]:
        return [a for i, a in enumerate(e.args) if e.op.kind(i) == "r"]

    def primal_nan(self, e: Equation) -> Question | Cause:
        args = self.real_args(e)
        numbers = [self.number(a) for a in args]
        for a, x in zip(args, numbers, strict=True):
            if x != x:
                return Question(a)
        infinite = tuple(Question(a) for a, x in zip(args, numbers, strict=True) if math.isinf(x))
        zero = tuple(Question(a) for a, x in zip(args, numbers, strict=True) if x == 0)
        if e.op in PRODUCTS and infinite and zero:
            return Cause("0·inf", e, because=zero[:1] + infinite[:1])
        if e.op is DIV:
            return Cause("0/0" if zero else "inf/inf", e, because=zero or infinite)
        if e.op in (ADD, SUB, FMA) and infinite:
            return Cause("inf-inf", e, because=infinite)
        return Cause("domain", e, because=infinite)

    def primal_inf(self, e: Equation) -> Question | Cause:
        args = self.real_args(e)
        numbers = [self.number(a) for a in args]
        zero = tuple(Question(a) for a, x in zip(args, numbers, strict=True) if x == 0)
        if e.op is DIV and numbers[1] == 0:
            return Cause("pole", e, because=(Question(args[1]),))
        for a, x in zip(args, numbers, strict=True):
            if math.isinf(x):
                return Question(a)
        level = max((s.level for s in met(e, self.values)), default=0)
        if level in (SINGULAR, POLE):
            return Cause("pole" if level == POLE else "singular", e, because=zero[:1])
        return Cause("overflow", e)

    def primal_zero(self, e: Equation) -> Question | Cause:
        args = self.real_args(e)
        numbers = [self.number(a) for a in args]
        zero = [a for a, x in zip(args, numbers, strict=True) if x == 0]
        if e.op in (ADD, SUB) and len(zero) < 2:
            return Cause("cancellation", e)
        if e.op is FMA:
            return Cause("cancellation", e) if numbers[2] != 0 else Question(zero[0]) if len(zero) > 1 else Cause("underflow", e)
        if e.op.pieces in ("hinge", "step"):
            if zero and e.op is not FDIM and (zero[0] is args[0] or e.op is CLAMP):
                return Question(zero[0])
            return Cause(e.op.pieces, e)
        if zero and self.follows_zero(e, args, zero[0]):
            made = [a for a in zero if (a in self.given or isinstance(a, Lit)) == (e.op is MUL)]
            return Question(made[0] if made and e.op in (ADD, SUB, MUL) else zero[0])
        infinite = tuple(Question(a) for a, x in zip(args, numbers, strict=True) if math.isinf(x))
        if infinite:
            return Cause("tail", e, because=infinite)
        return Cause(ZERO_OF_VALUE[nature(e, self.values)], e, because=tuple(Question(a) for a in zero[:1]))

    def follows_zero(self, e: Equation, args: list[Atom], zero: Atom) -> bool:
        """True if the result is 0 because this argument, the first zero, is: a sine, a product, a winner of max or min."""
        return e.op.vanishes and (zero is args[0] or e.op.commutes)


class Explainer(ValuesExplained):
    """A program at a point, and the answers to questions about its values and derivatives."""

    def __init__(self, program: Program, at: Point, wrt: Sequence[str], arithmetic: Arithmetic = FLOAT) -> None:
        super().__init__(program, at, arithmetic)
        self.wrt = list(wrt)
        self.depends, self.active = dependent(program, wrt), active_values(program, wrt)
        self.answered: dict[tuple[Sweep | None, Atom], tuple[Cause, ...]] = {}

    # -- questions

    def derivatives(self, results: Sequence[Result], forward: bool,
                    wrt: Sequence[str] | None = None) -> Iterator[tuple[Result, str, float, Question]]:
        """Every first partial derivative of the results, and the question why it is what it is."""
        wrt = self.wrt if wrt is None else wrt
        if forward:
            for x in wrt:
                var = self.program.param(x).var
                sweep = forward_sweep(self.program, self.values, [(var, 1.0)])
                yield from ((r, x, sweep.numbers.get(r.atom, 0.0), Question(r.atom, sweep)) for r in results)
        else:
            for r in results:
                sweep = reverse_sweep(self.program, self.values, [(r.atom, 1.0)], self.depends, self.active)
                for x in wrt:
                    atom = self.program.param(x).var
                    yield r, x, sweep.numbers.get(atom, 0.0), Question(atom, sweep)

    def causes(self, question: Question) -> tuple[Cause, ...]:
        """Causes of a value; several where a zero has several reasons of equal weight."""
        path, answer = [], None
        asked: Question | None = question
        while asked is not None:
            key = (asked.sweep, asked.atom)
            if key in self.answered:
                answer = self.answered[key]
                break
            path.append(key)
            step = self.back(asked)
            if isinstance(step, Question):
                asked = step
            else:
                answer = step if isinstance(step, tuple) else (step,)
                break
        assert answer is not None
        self.answered.update(dict.fromkeys(path, answer))
        return answer

    def back(self, question: Question) -> Question | Cause | tuple[Cause, ...]:
        """One step back: what passed a value on, or the cause."""
        return self.linear(question.atom, question.sweep) if question.sweep else self.primal(question.atom)

    def passed_on(self, question: Question) -> Iterator[Question]:
        """The question and those it goes back to, before the causes."""
        step: Question | Cause | tuple[Cause, ...] = question
        while isinstance(step, Question):
            yield step
            step = self.back(step)

    # -- the tangent or adjoint sweep

    def linear(self, atom: Atom, sweep: Sweep) -> Question | Cause | tuple[Cause, ...]:
        """One step back from a tangent or adjoint."""
        if atom not in sweep.numbers:
            return self.absent(atom, sweep)
        x, parts = sweep.numbers[atom], sweep.parts.get(atom, [])
        if not parts:   # the seed itself
            return Cause("constant", partial=x)
        if x != x:
            return self.linear_nan(sweep, parts)
        if math.isinf(x):
            guilty = [p for p in parts if math.isinf(p.value)]
            return self.part_inf(sweep, guilty[0]) if guilty else self.cause("overflow", sweep, parts[-1])
        return self.linear_zero(sweep, parts)

    def cause(self, kind: str, sweep: Sweep, p: Contribution, because: tuple[Question, ...] = (), others: int = 0) -> Cause:
        partial = contribution(p.equation, p.position, self.values, 1.0)
        return Cause(kind, p.equation, p.position, None, sweep.word, sweep.numbers[p.source], partial, because, others)

    def linear_nan(self, sweep: Sweep, parts: list[Contribution]) -> Question | Cause:
        guilty = [p for p in parts if p.value != p.value]
        if not guilty:
            infinite = [p for p in parts if math.isinf(p.value)]
            return self.cause("inf-inf", sweep, infinite[0], self.product_inf(sweep, infinite[0]), len(infinite) - 1)
        p = guilty[0]
        e, seed = p.equation, sweep.numbers[p.source]
        if seed != seed:
            return Question(p.source, sweep)
        partial = contribution(e, p.position, self.values, 1.0)
        assert partial is not None
        if partial != partial:
            missing = [a for a in (*e.args, e.outs[0]) if self.number(a) != self.number(a)]
            return Question(missing[0]) if missing else self.cause("undefined", sweep, p)
        if seed == 0 and math.isinf(partial):
            return self.cause("0·inf", sweep, p, (Question(p.source, sweep), *self.operand_inf(e, p.position)))
        if math.isinf(seed) and partial == 0:
            return self.cause("inf·0", sweep, p, (Question(p.source, sweep), *self.operand_zero(e, p.position)))
        return self.cause("undefined", sweep, p, (Question(p.source, sweep),) if math.isinf(seed) else ())

    def product_inf(self, sweep: Sweep, p: Contribution) -> tuple[Question, ...]:
        """Where the infinity of a contribution comes from."""
        if math.isinf(sweep.numbers[p.source]):
            return (Question(p.source, sweep),)
        return self.operand_inf(p.equation, p.position)

    def part_inf(self, sweep: Sweep, p: Contribution) -> Question | Cause:
        e = p.equation
        if math.isinf(sweep.numbers[p.source]):
            return Question(p.source, sweep)
        partial = contribution(e, p.position, self.values, 1.0)
        assert partial is not None
        level = max((s.level for s in met(e, self.values)), default=0)
        if level in (SINGULAR, POLE):
            return self.cause("pole" if level == POLE else "singular", sweep, p, self.operand_zero(e, p.position))
        if math.isinf(partial):
            infinite = [a for a in (*e.args, e.outs[0]) if math.isinf(self.number(a))]
            if infinite:
                return Question(infinite[0])
            if any(self.number(a) == 0 for a in self.real_args(e)):
                return self.cause("singular", sweep, p, self.operand_zero(e, p.position))
        return self.cause("overflow", sweep, p)

    def operand_inf(self, e: Equation, position: int) -> tuple[Question, ...]:
        """The operand that makes a partial derivative infinite: an infinite one, else one that is zero."""
        return self.first(e, position, math.isinf) or self.operand_zero(e, position)

    def operand_zero(self, e: Equation, position: int) -> tuple[Question, ...]:
        return self.first(e, position, lambda x: x == 0)

    def first(self, e: Equation, position: int, holds: Any) -> tuple[Question, ...]:
        order = [a for i, a in enumerate(e.args) if i != position and i not in e.op.static] + [e.args[position]]
        if e.op is DIV:
            order = [e.args[1], e.args[0]]
        return tuple(Question(a) for a in order if not isinstance(self.number(a), bool) and holds(self.number(a)))[:1]

    def linear_zero(self, sweep: Sweep, parts: list[Contribution]) -> Question | Cause | tuple[Cause, ...]:
        if any(p.value != 0 for p in parts):
            return self.cause("cancellation", sweep, parts[0], (), len(parts) - 1)
        if len(parts) == 1:
            return self.part_zero(sweep, parts[0])
        found: list[Cause] = []
        for p in parts[:8]:
            step = self.part_zero(sweep, p)
            known = self.answered.get((step.sweep, step.atom)) if isinstance(step, Question) else (step,)
            found += [c for c in known or self.walked(step) if not any(alike(c, d) for d in found)]
        return tuple(found[:4])

    def walked(self, step: Question | Cause) -> tuple[Cause, ...]:
        """The causes behind a zero that has several parts, following the first part of each: no recursion."""
        while isinstance(step, Question):
            key = (step.sweep, step.atom)
            if key in self.answered:
                return self.answered[key]
            if step.sweep and (parts := step.sweep.parts.get(step.atom)) and len(parts) > 1 and all(p.value == 0 for p in parts):
                step = self.part_zero(step.sweep, parts[0])
                continue
            onward = self.linear(step.atom, step.sweep) if step.sweep else self.primal(step.atom)
            if isinstance(onward, tuple):
                return onward
            step = onward
        return (step,)

    def part_zero(self, sweep: Sweep, p: Contribution) -> Question | Cause:
        e = p.equation
        seed = sweep.numbers[p.source]
        partial = contribution(e, p.position, self.values, 1.0)
        if seed == 0:
            return Question(p.source, sweep)
        if partial != 0:
            return self.cause("underflow", sweep, p)
        if any(s.level == KINK for s in met(e, self.values)):
            return self.cause("kink", sweep, p)
        others = self.operand_zero(e, p.position)
        if e.op.factored and others and (others[0].atom is not e.args[p.position] or e.op is MUL):
            return self.cause("zero factor", sweep, p, others)
        if infinite := self.first(e, p.position, math.isinf):
            return self.cause("tail", sweep, p, infinite)
        return self.cause(ZERO_OF_PARTIAL[nature(e, self.values, p.position)], sweep, p, others)

    # -- zero by construction

    def absent(self, atom: Atom, sweep: Sweep) -> tuple[Cause, ...]:
        """Why nothing of a derivative exists: where the paths from input to output end."""
        found = [Cause(self.ending(e, i), e, i, None, sweep.word) for e, i in sweep.blocked.get(atom, ())]
        if found:
            return tuple(found)
        x = sweep.seeds[0][0] if sweep.forward else atom
        name = self.names.get(x) if isinstance(x, Var) else None
        return (Cause("absent", name=name),)

    def ending(self, e: Equation, position: int) -> str:
        if e.op.pieces not in EXTREMA and any(s.level == KINK for s in met(e, self.values)):
            return "kink"
        if e.op is SELECT and position:
            return "not taken"
        if e.op.truth or e.op is SELECT:
            return "comparison"
        if e.op.pieces in EXTREMA:
            return "not the winner"
        return "hinge" if e.op.pieces == "hinge" else "step"


# ---------------------------------------------------------------- zeros of doubles that are none

def nature(e: Equation, values: ValuesAt, position: int | None = None) -> str:
    """Kind of the 0 of an operation, or of its partial derivative with respect to an argument; operands are finite."""
    args = arguments(e, values)
    far = any(abs(a) >= 2.0 ** MOST_EXPONENT_BITS for a in args)   # an exponential there is infinite even there
    try:
        x = exactly(e, args, position)
    except ModuleNotFoundError:
        return UNVERIFIED
    if x is None or x != x:
        return UNVERIFIED
    if x == 0 and not (e.op.saturates and (far or position is not None)):   # what levels off never reaches its limit
        return ZERO
    return UNDERFLOW if abs(x) < values.arithmetic.least else ROUNDING


def exactly(e: Equation, args: list[Any], position: int | None) -> Any:
    """An operation, or its partial derivative, in multiple precision; None where that is not known."""
    numbers = precise_arithmetic(ZERO_DIGITS)
    exact = [x if isinstance(x, bool) else numbers.constant(x) for x in args]
    z = numbers.apply(e.op, exact, e.args)
    if position is None:
        return z
    return by_rule(e, position, numbers.constant(1.0), z, exact, numbers)
