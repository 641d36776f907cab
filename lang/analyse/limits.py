"""Limits of values and derivatives at a point, along one input and from either side.

The program of the value or derivative is carried out on expansions in the distance s from the point
(`lang/evaluate/asymptotic_arithmetic.py`): x is x₀ + s or x₀ − s, or ±1/s at an infinity; every other input stays. The first
term of the result is the limit, and a removable 0·∞ or 0/0 is gone. What oscillates is kept between bounds, whose common limit
is its own. What neither decides is said to be undecided; nothing is extrapolated or guessed.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adcli.lang.analyse.findings import Finding
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import every_value, read
from adcli.lang.evaluate.asymptotic import (
    MOST_PRODUCTS,
    AsymptoticSeries,
    Between,
    Beyond,
    Calculus,
    Expansion,
    Lost,
    nearby,
)
from adcli.lang.evaluate.asymptotic_arithmetic import CONSTANT_NAN, Expansions, literal
from adcli.lang.evaluate.exact_reals import Undecided, number
from adcli.lang.evaluate.growth import SMALL
from adcli.lang.ir import Equation, Program, Result, Var
from adcli.lang.ir.activity import with_outputs
from adcli.lang.ir.errors import AdError
from adcli.lang.passes.simplify import prune, simplify

TERMS_KEPT = (6, 12, 24)
"""Terms that are kept, tried in turn: more are needed the more of them cancel."""
LONGEST_PROGRAM = 20_000
"""Operations of the longest program whose limits are looked for."""
NEARLY = 1e-9
"""An exponent nearer to 0 than this is meant to be 0: it comes from constants such as 1/3 that are no doubles."""
MOST_LIMITS = 60
"""Limits that are looked for at one point."""
RIGHT, LEFT = 1, -1
ONE_SIDED_KINDS = frozenset({"kink", "step", "comparison", "not the winner", "hinge", "underflow", "cancellation", "convention"})
"""Kinds of zeros whose one-sided limits say more than the zero does."""


@dataclass(frozen=True)
class Side:
    """The limit from one side, or the reason why there is none to tell; `undefined` where the value is NaN there."""

    value: float | None
    reason: str = ""
    undefined: bool = False


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
    def known(self) -> dict[str, Side]:
        """The sides with a limit."""
        return {word: side for word, side in self.sides.items() if side.value is not None}

    @property
    def text(self) -> str:
        """In one sentence."""
        to = f"as {self.wrt} → {self.at!r}"
        known = self.known
        if not known:
            reasons = dict.fromkeys(s.reason for s in self.sides.values())
            return f"none found for {self.name} {to}: {'; '.join(reasons)}"
        values = [s.value for s in known.values() if s.value is not None]
        if len(known) == 2 and same(*values):
            return f"{self.name} → {values[0]!r} {to}, from either side"
        if len(self.sides) == 1:
            return f"{self.name} → {values[0]!r} {to}"
        if len(known) == 2:
            return f"{self.name} → {values[0]!r} {to} from the right and {values[1]!r} from the left: the sides differ"
        (word,), (value,) = known, values
        other, = (w for w in self.sides if w != word)
        return f"{self.name} → {value!r} {to} from the {word}; on the {other} {self.sides[other].reason}"

    def record(self, written: Callable[[float], object]) -> dict[str, Any]:
        """As an object of plain values."""
        found: dict[str, Any] = {"result": self.name, "wrt": self.wrt}
        for word, side in self.sides.items():
            found[word] = {"reason": side.reason} if side.value is None else written(side.value)
        return found


def same(x: float, y: float) -> bool:
    """Whether two limits are one: coefficients are exact, only their constants are rounded."""
    return x == y or math.isclose(x, y, rel_tol=1e-12)


def limits_of(primal: Program, at: Mapping[str, float], wrt: Sequence[str], groups: Sequence[Sequence[Finding]],
              order: int, chosen: Collection[tuple[str | None, tuple[str, ...]]] = ()) -> list[list[Limits]]:
    """The limits of all findings for which they are of interest: NaN, infinities, zeros of a kink or a step, and derivatives
    `chosen` by convention, of which output and along which inputs. A value is followed along each of the inputs in `wrt`, a
    derivative first along those it was taken with respect to."""
    wanted = [[f for f in group if (f.of, f.wrt) in chosen or worth(f)] for group in groups]
    if not any(wanted):
        return [[] for _ in groups]
    if (count := sum(len(f.wrt) or len(wrt) for group in wanted for f in group)) > MOST_LIMITS:
        raise AdError(f"--limit: {count} limits asked for, at most {MOST_LIMITS} per point",
                      help="name fewer results with --of and --wrt")
    values = simplify(primal)
    derived = gradient(primal, wrt, None, "reverse", order) if any(f.wrt for group in wanted for f in group) else values
    found: list[list[Limits]] = []
    for group in wanted:
        found.append([each for f in group for each in along(derived if f.wrt else values, f, at, wrt)])
    return found


def along(program: Program, f: Finding, at: Mapping[str, float], wrt: Sequence[str]) -> list[Limits]:
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


def limits(program: Program, result: str, at: Mapping[str, float], x: str, terms: Sequence[int] = TERMS_KEPT) -> Limits:
    """Both one-sided limits of a result along the input x; at an infinity there is one side. Of expansions so many `terms` are
    kept, tried in turn. AdError where the program is too long."""
    program = prune(with_outputs(program, [result]))
    if len(program.equations) > LONGEST_PROGRAM:
        raise AdError(f"--limit: {result} takes {len(program.equations)} operations, at most {LONGEST_PROGRAM} are allowed",
                      help="name fewer results with --of and --wrt")
    right = None if at[x] == math.inf else one_side(program, at, x, RIGHT, terms)
    left = None if at[x] == -math.inf else one_side(program, at, x, LEFT, terms)
    return Limits(result, x, at[x], right, left)


def one_side(program: Program, at: Mapping[str, float], x: str, side: int, terms: Sequence[int]) -> Side:
    found = Side(None)
    for keep in terms:
        expansions = Expansions(keep)
        point: dict[str, Expansion] = {name: literal(y) for name, y in at.items()}
        point[x] = approach(at[x], side)
        values = every_value(program, point, expansions.arithmetic)
        result: Result = program.results[0]
        found, enough = judged(program, values, read(values, result.atom, expansions.arithmetic))
        if enough or expansions.c.work > MOST_PRODUCTS:
            break
    return found


def approach(x: float, side: int) -> AsymptoticSeries:
    """x + s or x − s; 1/s or −1/s for an infinite x."""
    if math.isinf(x):
        return AsymptoticSeries(((SMALL ** Fraction(-1), number(-side)),))
    here = literal(x)
    assert isinstance(here, AsymptoticSeries) and here.constant is not None
    return nearby(here.constant, number(side))


def judged(program: Program, values: Mapping[Var, Expansion], found: Expansion) -> tuple[Side, bool]:
    """What a result says of the limit, and whether more terms could not say more."""
    try:
        if isinstance(found, AsymptoticSeries):
            return Side(limit(found)), True
        if isinstance(found, Between):
            return squeezed(program, values, found)
    except Undecided as reason:
        return Side(None, f"undecided: {reason}"), True
    except Lost:
        return Side(None, "undecided: the known terms cancel"), False
    if found.constant is not None and found.constant == found.constant:
        return Side(found.constant), True
    if found.constant is not None:
        return Side(None, f"it is nan, {blamed(program, values, found)}", undefined=True), True
    return Side(None, f"undecided, {blamed(program, values, found)}"), False


def limit(f: AsymptoticSeries) -> float:
    """The limit of a series. Lost where it is hidden in what the series leaves out."""
    if f.terms:
        m, c = f.lead
        if any(0 < abs(a) < NEARLY for a in m.powers):
            raise Undecided("an exponent is 0 but for the rounding of a constant")
        return 0.0 if m.growth < 0 else float(c) if m.growth == 0 else c.sign * math.inf
    if f.settled:
        return 0.0
    raise Lost


def squeezed(program: Program, values: Mapping[Var, Expansion], f: Between) -> tuple[Side, bool]:
    """The limit of what lies between two bounds: theirs, if they have the same one; none, if those differ between which it
    goes to and fro."""
    first, last = limit(f.lower), limit(f.upper)
    if first == last and (math.isinf(first) or limit(Calculus(2).sub(f.upper, f.lower)) == 0):
        return Side(first), True
    span = "" if math.isinf(first) and math.isinf(last) else f"[{first!r}, {last!r}]"
    if f.low is not None and f.high is not None and limit(f.low) < limit(f.high):
        within = f" within {span}" if span else ""
        return Side(None, f"it oscillates without end{within}, as {source(program, values)} does"), True
    return Side(None, f"undecided: if there is a limit, it is within {span}" if span else "undecided: its bounds differ"), False


def source(program: Program, values: Mapping[Var, Expansion]) -> str:
    """The first operation whose value oscillates."""
    for e in program.equations:
        if isinstance(z := values[e.outs[0]], Between) and z.low is not None:
            return f"{e.op.spelled or e.op.name}(u){place(program, e)}"
    raise AssertionError("something began to oscillate")


def blamed(program: Program, values: Mapping[Var, Expansion], found: Beyond) -> str:
    """The reason with the place where the expansion ended: the first operation without one whose operands all have one."""
    for e in program.equations:
        z = values[e.outs[0]]
        if isinstance(z, Beyond) and found.reason in (z.reason, CONSTANT_NAN) and not any(
                isinstance(a, Var) and isinstance(values[a], Beyond) for a in e.args):
            return z.reason + place(program, e)
    return found.reason


def place(program: Program, e: Equation) -> str:
    if program.source is None or e.span is None:
        return ""
    line, column = program.source.place(e.span[0])
    return f" at {program.source.name}:{line}:{column}"
