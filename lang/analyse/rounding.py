"""How far rounding can have carried every value of a program: a running error bound beside the evaluation.

Each operation adds the rounding of its own result to what the errors of its operands do to it: Wilkinson's running error
analysis (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed. 2002, section 3.3). What an operand's
error does is found by moving the operand that far, so no derivative rule has a part in it and a check of the rules can rely
on it. A comparison whose operands are closer than their errors is undecided, and a select on it can be off by the whole
difference of its arms. The bound holds for native code as for the reference: a function may be off by its `ulps` (a column of
the table of primitives) in either.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from adcli.lang.enclosures import precise_arithmetic
from adcli.lang.evaluate import FLOAT, Arithmetic
from adcli.lang.ir import Atom, Equation, Lit, Point, Program, Var
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.rounded import Meaning, Rounded, meaning, meant
from adcli.lang.operations.precision import DOUBLE, Precision

ULP = 2.0 ** -52
LEAST_MOVE = 2.0 ** -22
"""An operand is moved by this part of itself at least; a smaller error counts in proportion."""
SHORTER = 2.0 ** -8
"""By how much each move is shorter than the one before."""
JUMPING = ("step", "sawtooth")
"""Kinds of pieces (the table's column) between which an operation jumps: operands are moved by their errors and no further."""
COMPOSED = 8.0
"""Units of the last place by which a constant that a composition of operations gives may be off."""
TURNING = (None, "sawtooth")
"""Kinds of pieces of functions that may turn or jump back within an error."""
TURNS = (0.618, 1.618, 4.236, 8.0)
"""Moves at which that is looked for, in errors; no period fits all of them."""
LEAST_DOUBLE = 5e-324

HERE, NEAR, ANY_ORDER = range(3)
"""Where error bounds hold: at the point; near it, too; for whoever computes the same in another order of operations."""

Bounded = tuple[float, float]
NO_ERRORS: Point = {}


class Rounding:
    """The values of a program in doubles at a point, and for each a bound of its absolute error (infinite: none is known).

    `program` must be written in operations that a machine has (adcli.codegen.rows.expand), so that every rounding is seen. A
    sum that is exact at the point counts so, unless the bounds are to `hold` NEAR the point as well. In ANY_ORDER inputs may be
    rounded, and a sum costs a rounding of its larger operand. `errors` are those that inputs come with. In another `precision`
    they are for whoever computes in that one: the values are those of doubles all the same, in an `arithmetic`.
    """

    def __init__(self, program: Program, at: Point, hold: int = HERE, errors: Point = NO_ERRORS,
                 precision: Precision = DOUBLE, arithmetic: Arithmetic = FLOAT) -> None:
        self.arithmetic = arithmetic
        self.near, self.any_order, self.precision = hold == NEAR, hold == ANY_ORDER, precision
        self.ulp = math.ulp if precision is DOUBLE else precision.ulp   # asked at every operation
        self.values: dict[Var, Any] = {}
        self.errors: dict[Var, float] = {}
        self.undecided: set[Atom] = set()
        self.strange: list[tuple[Equation, float, float, float]] = []
        """Functions of another arithmetic than Python's that are too far from it: the two values, and what is allowed."""
        for p in program.params:
            given = at.get(p.name, p.default)
            assert given is not None, f"no value for {p.name}"
            self.values[p.var], self.errors[p.var] = given, errors.get(p.name, self.ulp(given) if self.any_order else 0.0)
        for e in program.equations:
            self._step(e)

    def of(self, atom: Atom) -> Bounded:
        """The value of an atom and the bound of its error."""
        return (atom.value, self.literal(atom.value)) if isinstance(atom, Lit) else (self.values[atom], self.errors[atom])

    def literal(self, value: float) -> float:
        """The error of a constant. Others may not have folded it, and round every operation in it."""
        if type(value) is Rounded and (self.any_order or self.precision is not DOUBLE):
            return literal_error(value) + unfolded_error(value, value.meaning, self.precision)
        return literal_error(value) + (0.0 if self.precision is DOUBLE else abs(self.precision.nearest(value) - value))

    def _step(self, e: Equation) -> None:
        values = self.values
        args = [a.value if isinstance(a, Lit) else values[a] for a in e.args]
        errors = [self.literal(a.value) if isinstance(a, Lit) else self.errors.get(a, 0.0) for a in e.args]
        out = self.arithmetic.apply(e.op, args, e.args)
        values[e.outs[0]] = out
        if e.op.truth:
            if any(a in self.undecided for a in e.args) or (any(errors) and not apart(args, errors)):
                self.undecided.add(e.outs[0])
            return
        if out - out != 0 or (self.precision is not DOUBLE and not self.precision.holds(out)):
            self.errors[e.outs[0]] = math.inf
            return
        if e.op.libm and self.arithmetic is not FLOAT:
            plain = float(FLOAT.apply(e.op, args, e.args))
            allowed = 2 * (e.op.ulps or 0.0) * math.ulp(max(1.0, *map(abs, args)) if e.op.absolute else plain)
            if not abs(out - plain) <= allowed:
                self.strange.append((e, out, plain, allowed))
        bound = self._carried(e, args, errors, out)
        self.errors[e.outs[0]] = bound if bound == bound else math.inf

    def _carried(self, e: Equation, args: list[Any], errors: list[float], out: float) -> float:
        match e.op.name:
            case "add" | "sub":
                if self.any_order:
                    return errors[0] + errors[1] + self.ulp(max(abs(args[0]), abs(args[1]), abs(out)))
                if self.near or self.precision is not DOUBLE:
                    return errors[0] + errors[1] + self.ulp(out)
                return errors[0] + errors[1] + abs(rounded_off(args[0], args[1] if e.op.name == "add" else -args[1], out))
            case "mul":
                return abs(args[0]) * errors[1] + abs(args[1]) * errors[0] + errors[0] * errors[1] + self.ulp(out)
            case "div":
                nearest = abs(args[1]) - errors[1]
                return (errors[0] + abs(out) * errors[1]) / nearest + self.ulp(out) if nearest > 0 else math.inf
            case "neg":
                return errors[0]
            case "select":
                if e.args[0] in self.undecided:
                    return max(errors[1:]) + abs(args[1] - args[2])
                return errors[1 if args[0] else 2]
        ulps = e.op.ulps
        if e.op.name == "powi":   # the product of a whole number of factors, by which 1 is divided for a negative one
            if args[1] < 0 and not self.precision.holds(float(self.arithmetic.apply(e.op, [args[0], -args[1]], e.args))):
                return math.inf
            ulps, errors = max(1.0, abs(args[1])), [errors[0], 0.0]
        assert ulps is not None, f"{e.op.name} is not an operation of a machine"
        own = ulps * (self.ulp(out) if ulps else 0.0)
        if e.op.absolute:
            own += ulps * self.ulp(1.0) * max(1.0, abs(args[0]))
        function, total = moved(e, args, self.arithmetic), own
        for i, error in enumerate(errors):
            if error:
                total += carried(lambda x, i=i: function(i, x), args[i], error, out, e.op.pieces, own)  # type: ignore[misc]
        return total


def literal_error(value: float) -> float:
    """How far a constant is from the number it was rounded from (adcli.lang.ir.rounded)."""
    return meaning_error(value, meaning(value)) if type(value) is Rounded else 0.0


@cache
def meaning_error(value: float, what: Meaning) -> float:
    """Error of a double against its meaning; without python-flint an estimate of what rounding each operation did."""
    try:
        exact = precise_arithmetic(40)
    except ModuleNotFoundError:
        return 4 * math.ulp(value)
    return float(abs(meant(what, exact.functions, exact.constant) - value)) + LEAST_DOUBLE


@cache
def unfolded_error(value: float, what: Meaning, precision: Precision) -> float:
    """How far from a constant what it means may be where every operation is carried out in a precision."""
    equations: list[Equation] = []

    def atom(part: Meaning) -> Atom:
        if not isinstance(part, tuple):
            return Lit(part)
        op, args = TABLE[part[0]], tuple([atom(x) for x in part[1:]])
        equations.append(Equation((Var(temp=True),), op, args))
        return equations[-1].outs[0]

    found = atom(what)
    if any(e.op.ulps is None for e in equations):   # compositions, of which nothing is known
        return sum(e.op.ulps or COMPOSED for e in equations) * precision.ulp(value)
    carried_out, error = Rounding(Program((), tuple(equations), ()), {}, ANY_ORDER, precision=precision).of(found)
    return abs(carried_out - value) + error


def moved(e: Equation, args: Sequence[Any], arithmetic: Arithmetic) -> Callable[[int, float], float]:
    """The operation with one operand replaced."""
    def function(i: int, x: float) -> float:
        changed = [*args]
        changed[i] = x
        return float(arithmetic.apply(e.op, changed, e.args))
    return function


def rounded_off(x: float, y: float, total: float) -> float:
    """Exact rounding error of the sum of x and y (D. E. Knuth, The Art of Computer Programming 2, section 4.2.2)."""
    part = total - x
    return (x - (total - part)) + (y - part)


def carried(function: Callable[[float], float], x: float, error: float, out: float, pieces: str | None, own: float) -> float:
    """Bound of the effect of an error of x on function(x) = out, whose own rounding is `own`: the steepest that the function
    rises or falls over moves from a part of x down to the error, since over a long one a function may have turned many times.
    Infinite where it turns or jumps back within the error, and what it is between cannot be seen, and where it ends within
    it."""
    reach = error if pieces in JUMPING else max(error, LEAST_MOVE * abs(x))
    most = -1.0
    if not reach < math.inf or (pieces in TURNING and turns(function, x, error, out, own)):
        return math.inf
    while True:
        up, down = abs(function(x + reach) - out), abs(function(x - reach) - out)
        if up + down < math.inf:
            change = max(up, down)
            most = max(most, (change if most < 0 else max(0.0, change - 2 * own)) * (error / reach))
        if reach <= error:
            return most if most >= 0 else math.inf
        reach = max(error, reach * SHORTER)


def turns(function: Callable[[float], float], x: float, error: float, out: float, own: float) -> bool:
    """True if a function is far from a straight line over an error of its operand."""
    for times in TURNS:
        move = times * max(error, math.ulp(x))
        up, down = function(x + move) - out, function(x - move) - out
        if abs(up + down) > 0.125 * max(abs(up), abs(down)) + 8 * own and max(abs(up), abs(down)) < math.inf:
            return True
    return False


def apart(args: Sequence[float], errors: Sequence[float]) -> bool:
    """True if two numbers stay on their sides of each other."""
    gap = abs(args[0] - args[1])
    return gap > errors[0] + errors[1] or not gap < math.inf
