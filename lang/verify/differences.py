"""Derivatives from values alone: central differences, extrapolated, each with an error bar.

The quotient (f(x+h) − f(x−h))/2h has an error series in h², so halving h and eliminating terms gives a tableau (L. F.
Richardson 1911; A. Neville 1934); C. J. F. Ridders (Accurate computation of F′(x) and F′(x)F″(x), 1982) takes the entry whose
neighbours differ least, and their difference as its error. To that is added what rounding of the values can do to the entry.

Steps at which a value is not finite are left out, with all that are longer.

The remainder of Taylor's theorem in multiple precision (the extra package python-flint): a test of derivatives without
differences.

What is left of f(x + hv) after the terms up to order k falls with h^(k+1) where those terms are right, and with a lower power
where one is wrong; in multiple precision no rounding hides it.

How far from a point a value goes on as it begins there: the length that steps of differences and expansions are parts of.

The size of the input is no such length: sin(1e7*x) turns over a millionth of it, and hypot(x, 1e-300) at 0 knows nothing of 1.
Steps that are longer than that length see another function, and all of them agree on a wrong answer. So values are looked at
in multiple precision from the shortest step upwards: as long as the change of the value grows about as fast as the step, nothing
has turned yet, and no comparison or rounding on the way comes out otherwise: over steps of 1e200, round(x) is a line. No rule of
differentiation has a part in it.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, NamedTuple

from adcli.lang.enclosures import precise_arithmetic
from adcli.lang.evaluate import Arithmetic, evaluate, every_value, read
from adcli.lang.ir import Equation, Point, Program
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.records import value_record

TABLEAU_COLUMNS = 6
"""Columns of the tableau: beyond, rounding only grows."""
FEWEST_STEPS = 4
"""Steps without which nothing is extrapolated."""
BAR_SAFETY = 16.0
"""An error bar is so many times the difference of neighbours in the tableau."""

APPROACH = 0.8
"""By what factor the difference between the slopes of the two sides falls at least when a step is halved."""
UNRESOLVED = "no step between rounding and the scale on which the value varies"
WITHIN = "a kink, jump, pole or edge of the domain within the step"


@value_record
class Quotient:
    """A derivative by differences, ± `bar`; `problem` says why there is none."""

    value: float = math.nan
    bar: float = math.inf
    problem: str | None = None


def extrapolated(spans: Sequence[float], above: Sequence[float], below: Sequence[float], centre: float, noise: float,
                 operations: int = 1) -> Quotient:
    """The derivative at x, where the value is `centre`, from values at x ± h for steps that halve. `spans` are the full
    widths 2h as they are; `noise` bounds the error of a value at x, and each of the `operations` may round what it changes.
    Steps at the beginning that cannot be used have a NaN among their values."""
    rows: list[QuotientRow] = []
    for width, high, low in zip(reversed(spans), reversed(above), reversed(below), strict=True):
        q = (high - low) / width
        if high - high != 0 or low - low != 0 or q - q != 0:
            break
        rounded = noise + operations * math.ulp(max(abs(high - centre), abs(low - centre)))
        rows.append(QuotientRow(q, 2 * rounded / width, abs((high - centre) - (centre - low)) / width))
    if len(rows) < FEWEST_STEPS:
        return Quotient(problem=WITHIN if len(spans) >= FEWEST_STEPS else UNRESOLVED)
    rows.reverse()
    tableau = _tableau([row.quotient for row in rows])
    for bar, i, m in sorted(_bars(tableau, rows)):
        if _borne_out(tableau[i][m], bar, tableau, rows, i):
            return Quotient(tableau[i][m], bar) if _one_slope(rows, i) else Quotient(problem=WITHIN)
    return Quotient(problem="differences do not converge")


class QuotientRow(NamedTuple):
    """A difference quotient, what rounding can do to it, and by how much the quotients of the two sides differ."""

    quotient: float
    noise: float
    sides: float


def _tableau(quotients: Sequence[float]) -> list[list[float]]:
    rows: list[list[float]] = []
    for q in quotients:
        row = [q]
        for m in range(1, min(len(rows), TABLEAU_COLUMNS) + 1):
            power = 4.0 ** m
            row.append((power * row[m - 1] - rows[-1][m - 1]) / (power - 1))
        rows.append(row)
    return rows


def _bars(tableau: Sequence[Sequence[float]], rows: Sequence[QuotientRow]) -> Iterator[tuple[float, int, int]]:
    """Error bars of the entries, from their three neighbours before them, and where each entry stands."""
    for i in range(1, len(tableau)):
        now, before = tableau[i], tableau[i - 1]
        for m in range(1, min(len(now), len(before))):
            apart = max(abs(now[m] - now[m - 1]), abs(now[m] - before[m - 1]), abs(now[m] - before[m]))
            yield BAR_SAFETY * apart + 3 * rows[i].noise, i, m


def _borne_out(value: float, bar: float, tableau: Sequence[Sequence[float]], rows: Sequence[QuotientRow], at: int) -> bool:
    """True if all shorter steps agree with an entry, as far as they go: long ones can converge to something else, as over a
    pole or many periods."""
    return all(abs(value - later[1]) <= bar + BAR_SAFETY * abs(later[1] - later[0]) + 4 * row.noise
               for later, row in zip(tableau[at + 1:], rows[at + 1:], strict=True))


def _one_slope(rows: Sequence[QuotientRow], at: int) -> bool:
    """True if the slopes of the two sides approach each other there, as they do not at a kink or a pole."""
    at = max(at, 1)
    return rows[at].sides <= APPROACH * rows[at - 1].sides + 8 * rows[at].noise


# ---------------------------------------------------------------- in multiple precision (the extra package python-flint)
# With twice the digits of an answer to spare, a difference quotient of a tiny step has all the digits one could ask for. The
# precision is raised, and the step with it, until two quotients agree to more digits than a double has, and how many of a
# double's digits are right can be counted.

WORKING_DIGITS = (50, 100, 200, 400, 800)
"""Working precisions in decimal digits; the step of each is 10 to minus 3/8 of it, times the scale of the input."""
LOST = 64.0
"""How many units in the last place a value may be wrong by in terms of the numbers it is made of."""

ExactPoint = Mapping[str, Any]
Quotients = dict[str, Any]
"""By result; while they are settled, each with the largest value it was made of."""


@dataclass(frozen=True)
class Standing:
    """Derivatives that stand, by result, each with how far its last two quotients are apart. Results that no precision
    settled are missing."""

    values: Quotients
    apart: Quotients


def settled(quotients: Callable[[Arithmetic, Any], Quotients], order: int, agreed: float, size: Point,
            enough: Mapping[str, Any], spare: int = 0) -> Standing:
    """Quotients at rising precision, until each has two that agree and that rounding has left alone.

    `quotients` gives them for an arithmetic and a step relative to the scale, each with the largest value that it was made of.
    `size` says, by result, how large the numbers are that a value is made of: a digit lost there is an error of the quotient. A
    quotient that goes to 0 never agrees with another in relative terms; it stands when no more than `enough` is left. `spare`
    digits are more than the step asks for: those of an input before its scale.
    """
    values: Quotients = {}
    apart: Quotients = {}
    before: Quotients = {}
    for digits in WORKING_DIGITS:
        exact = precise_arithmetic(digits + spare)
        h = exact.constant(10.0) ** (-3 * digits // 8) if order == 1 else exact.constant(10.0) ** (-digits // 4)
        now = quotients(exact, h)
        for name, (x, largest) in now.items() if before else ():
            noise = LOST * (size[name] + largest) * exact.constant(10.0) ** -digits / h ** order
            distance = abs(x - before[name][0]) + noise
            if name not in values and distance <= max(agreed * abs(x), enough[name]):
                values[name], apart[name] = x, distance
        if len(values) == len(now):
            break
        before = now
    return Standing(values, apart)


def derivative(program: Program, at: Point, directions: Sequence[Point], agreed: float,
               size: Point, enough: Mapping[str, Any]) -> Standing:
    """The derivative of every result along one direction, or the second derivative along two, by central differences."""
    signs = list(product((1, -1), repeat=len(directions)))

    def quotients(exact: Arithmetic, h: Any) -> Quotients:
        moved = [_moved(program, at, exact, [s * h for s in some], directions) for some in signs]
        divisor = (2 * h) ** len(directions)
        return {n: (sum((prod(some) * m[n] for some, m in zip(signs, moved, strict=True)), exact.constant(0.0)) / divisor,
                    max(abs(m[n]) for m in moved)) for n in moved[0]}
    return settled(quotients, len(directions), agreed, size, enough, max(spare_digits(at, d) for d in directions))


def spare_digits(at: Point, direction: Point) -> int:
    """The digits of the inputs before the first that a direction changes."""
    return max([0, *(int((math.frexp(at[n])[1] - math.frexp(v)[1]) * math.log10(2)) + 1 for n, v in direction.items() if v)])


def same_as_program(derivative: Program, at: Point, wanted: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    """The results named in `wanted` of a derivative program in multiple precision. Precision is raised until all are as
    wanted, each a quotient with the distance it may have, so that what cancels has digits to spare; those that never are
    come as the highest precision has them."""
    found: dict[str, Any] = {}
    for digits in WORKING_DIGITS[1:]:
        exact = precise_arithmetic(digits)
        made = evaluate(derivative, exact.point(at), exact)
        found = {n: made[n] for n in wanted}
        if all(abs(found[n] - want) <= allowed for n, (want, allowed) in wanted.items()):
            break
    return found


def _moved(program: Program, at: Point, exact: Arithmetic, steps: Sequence[Any],
           directions: Sequence[Point]) -> Quotients:
    point = exact.point(at)
    for h, direction in zip(steps, directions, strict=True):
        for n, v in direction.items():
            point[n] += h * exact.constant(v)
    return evaluate(program, point, exact)


# ---------------------------------------------------------------- Taylor remainders

REMAINDER_DIGITS = 90
RELATIVE_STEPS = (1e-10, 1e-14, 1e-18)
"""Steps relative to the scale. At the first, a slope that is wrong by one part in a million shows; the others are for
functions that are not yet smooth over it."""
SMALLEST, ROUNDED = -400, 1e-80
"""A remainder that no double could show is none, and neither is one that rounding makes of the terms."""
ORDERS = (1.5, 2.5)
"""Slopes above these are right: a remainder that has the term of its order falls with that order, 2 and 3, or faster."""


@dataclass(frozen=True)
class Remainder:
    """Remainder of a value at the step `h` after the terms of Taylor's expansion up to the first, and up to the second:
    sizes, and slopes in h (infinite where nothing is left)."""

    h: float
    sizes: tuple[float, float]
    slopes: tuple[float, float]

    @property
    def right(self) -> tuple[bool, bool]:
        return self.slopes[0] >= ORDERS[0], self.slopes[1] >= ORDERS[1]


def remainders(program: Program, derivatives: Program, at: Point, direction: Point,
               noise: Mapping[str, Any]) -> dict[str, Remainder | None]:
    """For every result of the program the remainder along a direction; None where pieces change over every step, or a
    value is not finite. `derivatives` is the tangent program with respect to the names of the direction, or the tangent
    program of that, without which nothing is known of the second remainder. A remainder up to `noise` is what this
    arithmetic makes of nothing."""
    exact = precise_arithmetic(REMAINDER_DIGITS + spare_digits(at, direction))
    terms = _terms(program, derivatives, at, direction, exact)
    centre = decided(program, every_value(program, _point(at, direction, exact.constant(0.0), exact), exact), exact)
    found: dict[str, Remainder | None] = {r.name: None for r in program.results}
    orders = len(terms) // len(found) // 2
    for size in RELATIVE_STEPS:
        h = exact.constant(size)
        runs = [every_value(program, _point(at, direction, s, exact), exact) for s in (h, h / 2)]
        if any(decided(program, run, exact) != centre for run in runs):
            continue
        for i, r in enumerate(program.results):
            known = found[r.name]
            if known is None or not all(known.right[:orders]):
                moved = [read(run, r.atom, exact) for run in runs]
                made = _remainder(moved, terms[i::len(program.results)], h, noise[r.name], exact)
                found[r.name] = known if made is None else made
        if all(x is not None and all(x.right[:orders]) for x in found.values()):
            break
    return found


def sizes(program: Program, derivatives: Program, at: Point, direction: Point,
          steps: Sequence[float]) -> dict[str, list[tuple[float, ...]]]:
    """For every result, and every step h along a direction, what is left of its value after the terms of orders 0, 1 and, where
    they are known, 2."""
    exact = precise_arithmetic(REMAINDER_DIGITS + spare_digits(at, direction))
    terms = _terms(program, derivatives, at, direction, exact)
    found: dict[str, list[tuple[float, ...]]] = {r.name: [] for r in program.results}
    for size in steps:
        h = exact.constant(size)
        moved = evaluate(program, _point(at, direction, h, exact), exact)
        for i, r in enumerate(program.results):
            value, slope, *more = terms[i::len(program.results)]
            rests = [moved[r.name] - value, moved[r.name] - value - h * slope]
            found[r.name].append(tuple(float(abs(x)) for x in (*rests, *(rests[1] - h * h * c / 2 for c in more[1:]))))
    return found


def _terms(program: Program, derivatives: Program, at: Point, direction: Point,
           exact: Arithmetic) -> list[Any]:
    """Derivatives at the point: values and slopes, or with them slopes again and curvatures, for all results."""
    along = [direction[p.name] for p in program.params if p.name in direction]
    names = [p.name for p in derivatives.params[len(program.params):]]
    seeds = dict(zip(names, along + along, strict=False))
    return list(evaluate(derivatives, {n: exact.constant(x) for n, x in {**at, **seeds}.items()}, exact).values())


def _remainder(moved: Sequence[Any], terms: Sequence[Any], h: Any, nothing: Any, exact: Arithmetic) -> Remainder | None:
    """`moved` are the values at h and h/2, `terms` the value and its derivatives: f, f′v, or f, f′v, f′v, vᵀf″v."""
    value, slope, *_, curve = (*terms, 0 * h) if len(terms) == 2 else terms
    rests = []
    for f, step in zip(moved, (h, h / 2), strict=True):
        rest = f - value - step * slope
        rests.append((abs(rest), abs(rest - step * step * curve / 2)))
    if not all(x - x == 0 for pair in rests for x in pair):
        return None
    log, constant = exact.functions["log2"], exact.constant
    nothing = max(nothing, constant(10.0) ** SMALLEST, *(abs(x) * ROUNDED for x in (*moved, value, h * slope, h * h * curve)))
    first, second = (float(log(one / half)) if one > nothing and half else float("inf")
                     for one, half in zip(*rests, strict=True))
    return Remainder(float(h), (float(rests[0][0]), float(rests[0][1])), (first, second))


def _point(at: Point, direction: Point, h: Any, exact: Arithmetic) -> dict[str, Any]:
    return {n: exact.constant(x) + h * exact.constant(direction.get(n, 0.0)) for n, x in at.items()}


# ---------------------------------------------------------------- decisions
# Which of its pieces a program is on, so that differences and expansions can keep to one.

# ---------------------------------------------------------------- local scales

DIV = TABLE["div"]


def decisions(program: Program) -> Iterator[Equation]:
    """The comparisons, the operations with pieces of their own, and the quotients, whose denominators have signs."""
    return (e for e in program.equations if e.op.truth or e.op.pieces or e.op is DIV)


def decided(program: Program, values: Mapping[Any, Any], exact: Arithmetic) -> list[object]:
    """The outcomes that decide between pieces: comparisons, steps, the order of what max or abs sees, signs of denominators."""
    found: list[object] = []
    for e in decisions(program):
        if e.op.truth or e.op.pieces == "step":
            found.append(values[e.outs[0]])
        else:
            args = [read(values, a, exact) for a in e.args]
            found += [x < y for x in args for y in (*args, 0)]
            if e.op.pieces == "sawtooth" and args[1]:
                found.append(exact.functions["floor"](2 * (args[0] - values[e.outs[0]]) / args[1]))
    return found


# ---------------------------------------------------------------- scales

ODD_PART = 1e-12
"""A part of a change by which the two sides differ, below which that may be rounding."""
RUNG, GROWTH, STEP = 32, 2.0 ** 24, 1100
"""Each step is 2 to so many times the one before, a change grows at least by such a factor, and the first step is 2 to minus
so many."""
DIGITS = 60
"""Decimal digits to spare."""
NEAR = 180
"""Where multiple precision looks first, before it goes down to that: steps from 2 to minus so many, times the input."""


def size_of(x: float, low: float | None, high: float | None) -> float:
    """The length of steps where nothing better is known: the size of an input; at 0 the width of its range, else 1."""
    if x:
        return abs(x)
    return high - low if low is not None and high is not None and 0 < high - low < math.inf else 1.0


def local_scale(program: Program, at: Point, name: str, size: Point) -> dict[str, float | None]:
    """The longest step up to which every result goes on as it begins; None where not even the shortest step shows it.
    `size` says how large the numbers are that a value is made of."""
    last = math.frexp(at[name])[1] if at[name] else -STEP
    found: dict[str, float | None] = {r.name: None for r in program.results}
    for first in dict.fromkeys((max(last - NEAR, -STEP), -STEP)):
        if None in found.values():
            deeper = _scales(program, at, name, size, range(first, max(last, 0) + 3, RUNG))
            found = {r: deeper[r] if h is None else h for r, h in found.items()}
    return found


def _scales(program: Program, at: Point, name: str, size: Point,
                 powers: range) -> dict[str, float | None]:
    digits = DIGITS + int(max(0, math.frexp(at[name])[1] - powers[0], -powers[0]) * math.log10(2))
    exact = precise_arithmetic(digits)
    point, two = exact.point(at), exact.constant(2.0)

    def seen(at: Mapping[str, Any]) -> tuple[dict[str, Any], list[object]]:
        values = every_value(program, at, exact)
        return {r.name: read(values, r.atom, exact) for r in program.results}, decided(program, values, exact)

    centre, pieces = seen(point)
    rounded = {r: exact.constant(size[r]) * exact.constant(10.0) ** (20 - digits) for r in centre}
    changes: dict[str, list[tuple[Any, Any]]] = {r: [] for r in centre}
    found: dict[str, float | None] = dict.fromkeys(centre)
    going = set(centre)
    for power in powers:
        (above, over), (below, under) = (seen({**point, name: point[name] + s * two ** power}) for s in (1, -1))
        moved = above, below
        if not over == under == pieces:
            break
        for r in sorted(going):
            changes[r].append((max(abs(m[r] - centre[r]) for m in moved), abs(moved[0][r] - moved[1][r])))
            if not _still_goes_on(changes[r], rounded[r]):
                going.discard(r)
            elif len(changes[r]) > 1:
                found[r] = math.ldexp(1.0, min(max(power, -1074), 1023))
        if not going:
            break
    return found


def _still_goes_on(changes: Sequence[tuple[Any, Any]], rounded: Any) -> bool:
    """True if the last of the changes, each with the difference of the two sides, follows from those before it: nothing from
    nothing, and a power of the step from a power."""
    now, apart = changes[-1]
    if now - now != 0 or len(changes) == 1:
        return bool(now - now == 0)
    (last, odd), least = changes[-2], GROWTH
    if not last > rounded:
        return not now > rounded
    if len(changes) > 2 and changes[-3][0] > rounded:
        least = max(least, last / changes[-3][0] * (GROWTH / 2.0 ** RUNG))
    return bool(now >= least * last and (odd <= max(rounded, ODD_PART * last) or apart >= GROWTH * odd))
