"""One-sided limits of values and derivatives at a point along one input: a computation, not a proof.

The program is evaluated in interval arithmetic (`lang/analyse/enclosure.py`) at distances from the point below every double,
2**-1200 to 2**-2700, or at such large numbers for a limit at infinity; precision rises until each value is known to 70 bits. So
the values are certain, and that they go on in the same way is assumed: they have a limit where all agree to 60 bits, 0 or an
infinity where they fall or grow like a power of the distance, or grow like a power of its logarithm. Anything slower, such as
1/log(x), is not settled. Distances have irregular digits, so that no period of the function hides between them.

`Contradictions` are numbers that a program cannot have at a point: near neither its value in multiple precision nor any limit. A
rewritten program may be the same function everywhere but there: sin(x)/x is 1 at 0, but floor(sin(x)/x) has the limit 0.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

from adcli.lang.analyse.enclosure import available, blamed_operation, have_intervals, precision
from adcli.lang.analyse.findings import Finding
from adcli.lang.analyse.right_digits import decimal
from adcli.lang.derive.derivatives import gradient
from adcli.lang.enclosures import precise_arithmetic
from adcli.lang.evaluate import Arithmetic, evaluate, every_value, read
from adcli.lang.ir import Point, Program, Var
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.rounded import meant
from adcli.lang.operations.activity import with_outputs
from adcli.lang.simplify.simplify import prune, simplify

DEPTHS = (1200, 1800, 2700)
"""Distances are 2 to minus so many, times the size of the input: beyond all constants that a program can have."""
IRREGULAR = (7, 3, 2)
"""At each depth distances are multiplied by the square roots of these numbers."""
BITS = ((1, 128), (4, 256), (10, 512))
"""Working precisions tried in turn: so many times the depth, and so many bits more."""
REACHED = 4000
"""Exponentials are computed of numbers up to 2 to this power."""
KNOWN_BITS, AGREEING_BITS = 70, 60
"""Relative accuracy in bits of a value, and that to which values agree that have one limit."""
BELOW_DOUBLES = 1100
"""Numbers smaller than 2 to minus so many are 0 as doubles."""
LEAST_POWER = 0.03
"""The slowest power of the distance by which values are seen to fall to 0 or to grow."""
LASTING = 0.9
"""The least change of that power from depth to depth."""
LEAST_LOGARITHMS, STEADY = 0.4, 0.02
"""The least power of the logarithm that is seen to grow, and the relative change of that power from depth to depth."""
TURNS = 3
"""Values that turn back so often, from one distance to the next, oscillate."""
SHOWN, MOST_SHOWN = 3, 10_000
"""Digits of values that have no limit, and the largest exponent."""
LONGEST_PROGRAM = 20_000
"""Operations of the longest program whose limits are looked for."""
MOST_LIMITS = 60
"""Limits that are looked for at one point."""
MULTIPLES_OF_PI = {m: Fraction(k, 2 ** e) for k in (1, 3, 5, 7) for m, e in [math.frexp(k * math.pi)]}
"""The doubles from ½ to 1 that one gets for simple multiples of π, and for these times any power of 2, which rounds nothing."""
CONTRADICTION_DIGITS = 400
LONGEST_CONTRADICTED = 500
"""Operations of the longest program whose limits are worth looking for here."""
MOST_DIRECTIONS = 6
NEAR = 1e-6
"""Relative difference up to which a number and a limit are the same, and the root of the absolute one."""
UNKNOWN = "it is not settled: digits cancel, or numbers are out of reach"
NOW_AND_THEN = "it has no value at some distances"
RIGHT, LEFT = 1, -1
ONE_SIDED_KINDS = frozenset({"kink", "step", "comparison", "not the winner", "hinge", "underflow", "cancellation", "convention"})
"""Kinds of zeros whose one-sided limits say more than the zero does."""


@dataclass(frozen=True)
class Side:
    """The limit from one side, or the reason why there is none to tell."""

    value: float | None
    reason: str = ""


@dataclass(frozen=True)
class Limits:
    """The limits of a result as one input goes to its value at the point; None for a side that does not exist."""

    name: str
    wrt: str
    at: float
    right: Side | None
    left: Side | None

    @property
    def sides(self) -> dict[str, Side]:
        return {word: side for word, side in (("right", self.right), ("left", self.left)) if side is not None}

    @property
    def known(self) -> dict[str, float]:
        """The sides with a limit."""
        return {word: side.value for word, side in self.sides.items() if side.value is not None}

    @property
    def text(self) -> str:
        """In one sentence."""
        to = f"as {self.wrt} → {self.at!r}"
        known = self.known
        if not known:
            reasons = dict.fromkeys(s.reason for s in self.sides.values())
            return f"none found for {self.name} {to}: {'; '.join(reasons)}"
        first, *others = known.values()
        if len(self.sides) == 1:
            return f"{self.name} → {first!r} {to}"
        if others and same(first, *others):
            return f"{self.name} → {first!r} {to}, from either side"
        if others:
            return f"{self.name} → {first!r} {to} from the right and {others[0]!r} from the left: the sides differ"
        word, = known
        other, = (w for w in self.sides if w != word)
        return f"{self.name} → {first!r} {to} from the {word}; on the {other} {self.sides[other].reason}"

    def record(self, written: Callable[[float], object]) -> dict[str, Any]:
        """As an object of plain values."""
        found: dict[str, Any] = {"result": self.name, "wrt": self.wrt}
        for word, side in self.sides.items():
            found[word] = {"reason": side.reason} if side.value is None else written(side.value)
        return found


def same(x: float, y: float) -> bool:
    return x == y or math.isclose(x, y, rel_tol=1e-12)


# ---------------------------------------------------------------- which limits

def limits_of(primal: Program, at: Point, wrt: Sequence[str], groups: Sequence[Sequence[Finding]],
              order: int, chosen: Collection[tuple[str | None, tuple[str, ...]]] = ()) -> list[list[Limits]]:
    """The limits of all findings for which they are of interest: NaN, infinities, zeros of a kink or a step, and derivatives
    `chosen` by convention, of which output and along which inputs. A value is followed along each of the inputs in `wrt`, a
    derivative first along those it was taken with respect to."""
    wanted = [[f for f in group if (f.of, f.wrt) in chosen or worth(f)] for group in groups]
    if not any(wanted):
        return [[] for _ in groups]
    if (count := sum(len(f.wrt) or len(wrt) for group in wanted for f in group)) > MOST_LIMITS:
        raise AdError(f"⟦--limit⟧: {count} limits asked for, at most {MOST_LIMITS} per point",
                      help="name fewer results with ⟦--of⟧ and ⟦--wrt⟧")
    values = simplify(primal)
    derived = gradient(primal, wrt, None, "reverse", order) if any(f.wrt for group in wanted for f in group) else values
    return [[each for f in group for each in along(derived if f.wrt else values, f, at, wrt)] for group in wanted]


def along(program: Program, f: Finding, at: Point, wrt: Sequence[str]) -> list[Limits]:
    """The limits of one finding. Where its own directions have none because all of the line is undefined, the other inputs
    are tried too; what has none is told only where nothing else has one."""
    found: list[Limits] = []
    name = next(r.name for r in program.results if (r.of, r.wrt) == (f.of, f.wrt)) if f.wrt else f.of or f.name
    for directions in (f.wrt or wrt, [x for x in wrt if x not in f.wrt] if f.wrt else []):
        if not any(each.known for each in found):
            found += [limits(program, name, at, x) for x in dict.fromkeys(directions) if at[x] == at[x]]
    return [each for each in found if each.known] or found[:1]


def worth(f: Finding) -> bool:
    return f.value != 0 or any(c.kind in ONE_SIDED_KINDS for c in f.causes)


def limits(program: Program, result: str, at: Point, x: str) -> Limits:
    """Both one-sided limits of a result along the input x; at an infinity there is one side. AdError where the program is too
    long or python-flint is missing."""
    available("why ⟦--limit⟧")
    program = prune(with_outputs(program, [result]))
    if len(program.equations) > LONGEST_PROGRAM:
        raise AdError(f"⟦--limit⟧: {result} takes {len(program.equations)} operations, at most {LONGEST_PROGRAM} are allowed",
                      help="name fewer results with ⟦--of⟧ and ⟦--wrt⟧")
    right = None if at[x] == math.inf else one_side(program, at, x, RIGHT)
    left = None if at[x] == -math.inf else one_side(program, at, x, LEFT)
    return Limits(result, x, at[x], right, left)


# ---------------------------------------------------------------- values beside the point

@dataclass(frozen=True)
class NearbyValue:
    """The value at one distance, as an exact number, as an infinity, or None where it is not known; why it is no number."""

    number: Any | None
    reason: str = ""


def one_side(program: Program, at: Point, x: str, side: int) -> Side:
    samples = [sample(program, at, x, side, depth, square) for depth in DEPTHS for square in IRREGULAR]
    with precision(2 * KNOWN_BITS):
        return judged(samples)


def sample(program: Program, at: Point, x: str, side: int, depth: int, square: int) -> NearbyValue:
    """The result at one distance, at rising precision until it is known well enough."""
    for times, more in BITS:
        with precision(times * depth + more):
            arithmetic = exact_literals()
            point = arithmetic.point(at)
            point[x] = beside(at[x], point[x], side, depth, square)
            values = every_value(program, point, arithmetic)
            found = read(values, program.results[0].atom, arithmetic)
            if found.valueless:
                return NearbyValue(infinite(found), without_value(program, values, found))
            if (number := known(found)) is not None:
                return NearbyValue(number)
    return NearbyValue(None, UNKNOWN)


def exact_literals() -> Arithmetic:
    """Intervals with exponentials of all numbers beside the point, in which a constant is the decimal that one writes for it, or
    that multiple of π; equal ones are one object, so that comparisons between them are decided."""
    from adcli.lang.enclosures.interval_arithmetic import constant, decorated, exponentials, interval_arithmetic
    from adcli.lang.enclosures.intervals import arb, enclosed, fmpq
    made: dict[float, Any] = {}

    def literal(x: float) -> Any:
        m, e = math.frexp(abs(x))
        if m in MULTIPLES_OF_PI:
            p, q = MULTIPLES_OF_PI[m].as_integer_ratio()
            return enclosed(arb.pi() * fmpq(p, q) * arb(2) ** e * (1 if x > 0 else -1))
        return enclosed(arb(fmpq(*Fraction(repr(x)).as_integer_ratio()))) if math.isfinite(x) else constant(x)

    def remembered(x: float) -> Any:
        if x not in made:
            made[x] = literal(x)
        return made[x]
    far = {name: decorated(name, f) for name, f in exponentials(arb(2) ** REACHED).items()}
    functions = {**interval_arithmetic().functions, **far}
    return Arithmetic(functions, lambda x: meant(x, functions, remembered))


def beside(x: float, exact: Any, side: int, depth: int, square: int) -> Any:
    """x + s or x − s at a small distance s; ∓1/s for an infinite x."""
    from adcli.lang.enclosures.intervals import add, arb, point_of
    distance = arb(square).sqrt().mid() * arb(2) ** -depth
    if math.isinf(x):
        return point_of(-side * (1 / distance).mid())
    return add(exact, point_of(side * distance * arb(2) ** math.frexp(x)[1]))


def known(z: Any) -> Any | None:
    """A value from its bounds: the middle where they are narrow, the larger one where both are 0 as doubles, or else None."""
    from adcli.lang.enclosures.intervals import arb
    if not z.bounded or not z.decoration:
        return None
    if (ball := z.ball()).rel_accuracy_bits() >= KNOWN_BITS:
        return ball.mid()
    largest = max(z.lo, z.hi, key=abs)
    return largest if abs(largest) < arb(2) ** -BELOW_DOUBLES else None


def infinite(z: Any) -> Any | None:
    """The infinity of a pole that is hit at every distance."""
    from adcli.lang.enclosures.intervals import EITHER, EMPTY
    return None if z is EITHER or z is EMPTY else z.lo


def without_value(program: Program, values: Mapping[Var, Any], found: Any) -> str:
    """Why a result is no number: the first operation on the way that has no value."""
    blamed = blamed_operation(program, values, [found])
    if blamed is None or values[blamed.outs[0]].infinite:
        return "it is infinite, of either sign"
    place = ""
    if program.source is not None and blamed.span is not None:
        place = " at {}:{}:{}".format(*program.source.where(blamed.span))
    return f"it is nan: {blamed.op.spelled or blamed.op.name}{place} has no value"


# ---------------------------------------------------------------- judgement

def judged(samples: Sequence[NearbyValue]) -> Side:
    """The limit that values at smaller and smaller distances show."""
    numbers: list[Any] = [s.number for s in samples]
    if None in numbers:
        reasons = {s.reason for s in samples}
        return Side(None, UNKNOWN if UNKNOWN in reasons else reasons.pop() if len(reasons) == 1 else NOW_AND_THEN)
    last = numbers[-1]
    sizes = [max(map(abs, numbers[i:i + len(IRREGULAR)])) for i in range(0, len(numbers), len(IRREGULAR))]
    if agreed(numbers) and (not last.is_finite() or math.isfinite(float(last))):
        return Side(float(last))
    if falls(sizes):
        return Side(0.0)
    if grows(numbers, sizes):
        return Side(math.copysign(math.inf, last))
    return Side(None, unsettled(numbers, sizes))


def agreed(numbers: Sequence[Any]) -> bool:
    from adcli.lang.enclosures.intervals import arb
    last = numbers[-1]
    return all(t == last or abs(t - last) <= abs(last) * arb(2) ** -AGREEING_BITS for t in numbers)


def falls(sizes: Sequence[Any]) -> bool:
    """True if the greatest values at each depth fall to 0 like a power of the distance, or are 0 as doubles."""
    from adcli.lang.enclosures.intervals import arb
    if all(t < arb(2) ** -BELOW_DOUBLES for t in sizes):
        return True
    return 0 not in sizes and sizes[-1] < arb(2) ** -AGREEING_BITS and like_a_power(
        [(-rise, deeper) for rise, deeper, _ in rises(sizes)])


def grows(numbers: Sequence[Any], sizes: Sequence[Any]) -> bool:
    """True if values grow from each distance to the next: like a power of the distance, or steadily like one of its logarithm."""
    if not (all(0 < t < u for t, u in pairwise(numbers)) or all(0 > t > u for t, u in pairwise(numbers))):
        return False
    if like_a_power([(rise, deeper) for rise, deeper, _ in rises(sizes)]):
        return True
    first, last = (rise / times for rise, _, times in rises(sizes))
    return bool(first > LEAST_LOGARITHMS and abs(last - first) < STEADY * first)


def like_a_power(steps: Sequence[tuple[Any, int]]) -> bool:
    """True if it goes on as fast as it begins; what slows down may turn back."""
    powers = [rise / deeper for rise, deeper in steps]
    return all(p > LEAST_POWER for p in powers) and all(q > LASTING * p for p, q in pairwise(powers))


def rises(sizes: Sequence[Any]) -> list[tuple[Any, int, float]]:
    """By what power of two sizes rise from depth to depth, how much deeper that is, and by what power of two as a factor."""
    from adcli.lang.enclosures.intervals import arb
    logs = [t.log() / arb.const_log2() for t in sizes]
    return [(b - a, n - m, math.log2(n / m)) for (a, b), (m, n) in zip(pairwise(logs), pairwise(DEPTHS), strict=True)]


def unsettled(numbers: Sequence[Any], sizes: Sequence[Any]) -> str:
    """Behaviour of values that show no limit."""
    rising = [t < u for t, u in pairwise(numbers) if t != u]
    if sum(a != b for a, b in pairwise(rising)) >= TURNS:
        if 0 not in sizes and all(rise > LEAST_POWER * deeper for rise, deeper, _ in rises(sizes)):
            return "it oscillates, more and more widely"
        return f"it oscillates, here from {shown(min(numbers))} to {shown(max(numbers))}"
    if agreed(numbers):
        return "it is finite, but beyond the range of doubles"
    return (f"it is not settled: {shown(numbers[0])} at a distance of 2**-{DEPTHS[0]},"
            f" {shown(numbers[-1])} at 2**-{DEPTHS[-1]}")


def shown(t: Any) -> str:
    """A number in a few digits, or how far out it is."""
    from adcli.lang.enclosures.intervals import arb
    if t != 0 and not arb(10) ** -MOST_SHOWN < abs(t) < arb(10) ** MOST_SHOWN:
        return f"{'-' * (t < 0)}1e{'+' if abs(t) > 1 else '-'}{MOST_SHOWN} or {'more' if abs(t) > 1 else 'less'}"
    return decimal(t, SHOWN)


# ---------------------------------------------------------------- what contradicts a limit

class Contradictions:
    """Knowledge of the values and derivatives of a program at a point."""

    def __init__(self, primal: Program, at: Point, wrt: Sequence[str]) -> None:
        self.primal, self.at, self.wrt = primal, at, wrt

    @cached_property
    def derived(self) -> Program:
        return gradient(self.primal, self.wrt, None, "reverse")

    @cached_property
    def values(self) -> Program:
        return simplify(self.primal)

    def contradicted(self, f: Finding, x: float) -> bool:
        """True if a number cannot be what `f` is about: with a limit along some input it would agree."""
        if not have_intervals():
            return False
        program = self.derived if f.wrt else self.values
        exact = self.exactly(program, f.name)
        if exact is not None:
            return not near(x, exact, exact)
        if len(program.equations) > LONGEST_CONTRADICTED:
            return False
        found = list(self.between(program, f))
        return bool(found) and not any(near(x, *each) for each in found)

    def exactly(self, program: Program, result: str) -> float | None:
        """The value at the point, where multiple precision has one; a 0 may be all that cancellation left."""
        numbers = precise_arithmetic(CONTRADICTION_DIGITS)
        at = {name: numbers.constant(y) for name, y in self.at.items()}
        x = float(evaluate(with_outputs(program, [result]), at, numbers)[result])
        return x if x and math.isfinite(x) else None

    def between(self, program: Program, f: Finding) -> Iterator[tuple[float, float]]:
        """The smaller and the larger one-sided limit along each input that has any."""
        for name in (f.wrt or tuple(self.wrt))[:MOST_DIRECTIONS]:
            if self.at[name] == self.at[name]:
                known = limits(program, f.name, self.at, name).known.values()
                if known:
                    yield min(known), max(known)


def near(x: float, low: float, high: float) -> bool:
    """True if a number is between two that are finite, or as good as one of them."""
    if math.isfinite(high - low) and low <= x <= high:
        return True
    return any(math.isclose(x, y, rel_tol=NEAR, abs_tol=NEAR ** 2) for y in (low, high))
