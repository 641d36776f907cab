"""Guaranteed bounds of the results of a Program, at a point or over a box, by interval arithmetic (python-flint, an extra).

The results meant are those of exact arithmetic on the program as it stands: literals are the doubles they denote, constants
folded or rounded on the way keep what they stand for (`adcli.lang.ir.rounded`), and all operations are exact. At a point the
working precision is raised until the bounds are as narrow as doubles can say, or the last precision is reached.

Over a box one evaluation gives bounds that are too wide, because it forgets which values belong together. Each piece of the
box is therefore bounded three ways and the bounds met: by the program itself; by the mean value form f(m) + f′(X)(X − m),
where the result is decorated as continuous; and, where all partial derivatives keep their signs, by two corners (R. E. Moore,
R. B. Kearfott, M. J. Cloud, Introduction to Interval Analysis, 2009, chapters 6 and 11). The piece that holds the worst end of
the worst result is bisected, where that promises most, until the work allowed is done. The values at midpoints and corners bound
the true range from inside, so how much too wide the result may be is known. Bounds are of the values where all operations have
one; the decoration of a result (IEEE Std 1788-2015) is the worst of its pieces, and says whether that is everywhere.
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import ValuesAt, every_value, read
from adcli.lang.ir import Equation, Lit, Program, Result
from adcli.lang.ir.errors import AdError, missing

FloatBounds = tuple[float, float]
InputBox = Mapping[str, FloatBounds]

POINT_PRECISIONS = (128, 400, 1300, 4000)
"""Working precisions in bits at a point: the last is beyond the range of doubles."""
LONG_AT_A_POINT = 50_000
"""Equations from which on the higher half of them would take too long."""
BOX_PRECISION = 80
"""Working precision over a box."""
MOST_OPERATIONS = 120_000
"""Operations that the bisection of a box may take, of which slow ones count as many."""
MOST_SUB_BOXES = 1000
UNBOUNDED_TRIES = 40
"""Bisections for the sake of an infinite bound, which may be the truth."""
WIDE_ENOUGH = 1.001
"""Bounds wider than the inner ones by this factor at most need no more work."""
Culprit = tuple[Equation, list[FloatBounds | bool | None], str]
"""An operation, what it works on, and what is wrong with it."""


@dataclass
class Enclosure:
    """Bounds and a decoration for every result in order: "com", "dac", "def" or "trv".

    `inner`, over a box, is a range that each result certainly spans, None where none is known. `undefined` is where it
    certainly has no value: "everywhere", "somewhere", or "" where nothing is known of that. `culprit` is the operation that is to
    blame for an infinite bound or for "trv", or one that no precision decides. `conventions` says in words
    which results are conventions or may be, "" of all others. `pieces` are what a box was divided into.
    """

    bounds: list[FloatBounds]
    decorations: list[str]
    undefined: list[str]
    inner: list[FloatBounds | None] = field(default_factory=list)
    culprit: Culprit | None = None
    conventions: Sequence[str] = ()
    pieces: Sequence[InputBox] = ()


def available(what: str = "an enclosure") -> None:
    """AdError where python-flint is missing, which `what` needs."""
    if not have_intervals():
        raise missing(what, "python-flint")


def have_intervals() -> bool:
    try:
        import flint  # noqa: F401  # only whether it is there
    except ModuleNotFoundError:
        return False
    return True


@contextmanager
def precision(bits: int) -> Iterator[None]:
    from flint import ctx
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def enclose(program: Program, box: InputBox, most: int = MOST_OPERATIONS) -> Enclosure:
    """Bounds of all results over a box, which gives every input an interval of finite ends; a point where all are thin. The
    bisection of a box takes so many operations at `most`."""
    available()
    return enclose_point(program, box) if all(lo == hi for lo, hi in box.values()) else enclose_box(program, box, most)


# ---------------------------------------------------------------- at a point

def enclose_point(program: Program, at: InputBox) -> Enclosure:
    """Bounds at a point, at rising precision."""
    found, values = sharpened(program, at, lambda found: all(map(settled, found)))
    known = as_enclosure(found)
    known.culprit = _culprit(program, values, found)
    return known


def sharpened(program: Program, at: InputBox, enough: Callable[[list[Any]], bool]) -> tuple[list[Any], dict[Any, Any]]:
    """Intervals of the results at a point, at rising precision until they are good enough, each met with what was known
    before; and every value on the way."""
    found: list[Any] = []
    values: dict[Any, Any] = {}
    for bits in precisions(program, at):
        with precision(bits):
            values = interval_values(program, at)
            now = results(program, values)
            found = list(map(_better, now, found or now))
        if enough(found):
            break
    return found, values


def precisions(program: Program, box: InputBox) -> Sequence[int]:
    """The working precisions to be tried in turn."""
    if any(lo < hi for lo, hi in box.values()):
        return (BOX_PRECISION,)
    return POINT_PRECISIONS if len(program.equations) <= LONG_AT_A_POINT else POINT_PRECISIONS[:2]


def as_enclosure(found: Sequence[Any]) -> Enclosure:
    """Enclosure from an interval for each result."""
    bounds = [_wide(x) for x in found]
    return Enclosure(bounds, [_standing(x.decoration, b) for x, b in zip(found, bounds, strict=True)],
                     ["everywhere" if x.valueless else "" for x in found])


def _standing(decoration: int, bounds: FloatBounds) -> str:
    """A decoration by its name; what is bounded, but not for doubles, is not common."""
    from adcli.lang.enclosures.intervals import CONTINUOUS, DECORATIONS
    return DECORATIONS[decoration if _finite(bounds) else min(decoration, CONTINUOUS)]


def _finite(bounds: FloatBounds) -> bool:
    return all(map(math.isfinite, bounds))


def interval_values(program: Program, box: InputBox) -> ValuesAt:
    """The interval of every value of the program."""
    from adcli.lang.enclosures.interval_arithmetic import interval_arithmetic
    return every_value(program, {name: _interval(*ends) for name, ends in box.items()}, interval_arithmetic())


def operations(program: Program) -> int:
    """The number of operations, where one that takes as long as many counts as these."""
    from adcli.lang.enclosures.special_intervals import SLOW
    return sum(SLOW.get(e.op.name, 1) for e in program.equations)


def results(program: Program, values: Mapping[Any, Any]) -> list[Any]:
    from adcli.lang.enclosures.interval_arithmetic import interval_arithmetic
    return [read(values, r.atom, interval_arithmetic()) for r in program.results]


def _interval(lo: float, hi: float) -> Any:
    from adcli.lang.enclosures.interval_arithmetic import constant
    from adcli.lang.enclosures.intervals import Interval, arb
    return Interval(arb(lo), arb(hi)) if lo < hi else constant(lo)


def _better(now: Any, before: Any) -> Any:
    from adcli.lang.enclosures.intervals import meet
    return meet(now, before)


def settled(x: Any) -> bool:
    """True if a higher precision could tell no more that doubles can say."""
    return bool(x.valueless or (x.decoration and narrow(x)))


def narrow(x: Any) -> bool:
    """True if bounds are as narrow as doubles can say."""
    if not x.bounded:
        return False
    width = x.hi - x.lo
    size = abs(x.lo) if abs(x.lo) > abs(x.hi) else abs(x.hi)
    return bool(width <= size * 2.0 ** -60 or width < 5e-324)


def _wide(x: Any) -> FloatBounds:
    return (-math.inf, math.inf) if x.valueless else _outward(x)


def _outward(x: Any) -> FloatBounds:
    """The bounds as doubles, rounded outwards; the wrong way round where there is no value."""
    return (math.inf, -math.inf) if x.valueless else (down(x.lo), up(x.hi))


def down(end: Any) -> float:
    """The largest double that is not above an exact number."""
    from adcli.lang.enclosures.intervals import arb
    x = float(end)
    while arb(x) > end:
        x = math.nextafter(x, -math.inf)
    return x


def up(end: Any) -> float:
    """The smallest double that is not below an exact number."""
    from adcli.lang.enclosures.intervals import arb
    x = float(end)
    while arb(x) < end:
        x = math.nextafter(x, math.inf)
    return x + 0.0                                               # no negative zero


def _culprit(program: Program, values: Mapping[Any, Any], found: Sequence[Any]) -> Culprit | None:
    """The operation to blame for results that are not all that they could be, what it works on, and what is wrong with it."""
    e = blamed_operation(program, values, found)
    if e is None:
        return None
    from adcli.lang.enclosures.interval_arithmetic import interval_arithmetic
    args = [read(values, a, interval_arithmetic()) for a in e.args]
    return e, [a if a is None or isinstance(a, bool) else _wide(a) for a in args], _reason(values[e.outs[0]])


def blamed_operation(program: Program, values: Mapping[Any, Any], found: Sequence[Any]) -> Equation | None:
    """The first operation to blame on the way to a result that is not all that it could be: for what is unbounded or has no
    value somewhere, or else for what is wide, a comparison that is not decided."""
    needed = {r.atom for r, x in zip(program.results, found, strict=True) if not _sound(x)}
    undecided = not needed
    if undecided:
        needed = {r.atom for r, x in zip(program.results, found, strict=True) if not narrow(x)}
    blamed = None
    for e in reversed(program.equations):
        if needed.isdisjoint(e.outs):
            continue
        taken = e.args
        if e.op.name == "select" and (c := values.get(e.args[0])) is not None:
            taken = (e.args[0], e.args[1 if c else 2])
        needed.update(a for a in taken if not isinstance(a, Lit))
        out = values[e.outs[0]]
        if out is None if undecided else out is not None and not isinstance(out, bool) and not _sound(out):
            blamed = e
    return blamed


def _sound(x: Any) -> bool:
    """True if it is bounded and defined."""
    return bool(x.decoration and x.bounded)


def _reason(out: Any) -> str:
    if out is None:
        return "cannot be decided"
    if out.valueless:
        return "there is no value"
    return "not defined everywhere" if out.bounded else "no bound is known"


# ---------------------------------------------------------------- over a box

@dataclass
class SubBox:
    """A part of the box: the interval and the bounds of every result on it, and how far each input moves each, at most."""

    box: dict[str, FloatBounds]
    found: list[Any]
    bounds: list[FloatBounds]
    reach: list[list[float]]


class Bisection:
    """The pieces of a box, and the values found inside it."""

    def __init__(self, program: Program, box: InputBox, most: int = MOST_OPERATIONS) -> None:
        self.program, self.box, self.most = program, dict(box), most
        self.moving = [name for name, (lo, hi) in box.items() if lo < hi]
        self.slopes = self._slopes()
        self.operations, self.slope_operations = (0 if p is None else operations(p) for p in (program, self.slopes))
        self.inner: list[FloatBounds | None] = [None] * len(program.results)
        self.gaps = [False] * len(program.results)
        """True if a result certainly has no value at some point."""
        self.tries: Counter[tuple[int, int]] = Counter()
        self.work = 0
        self.values: dict[Any, Any] = {}

    def _slopes(self) -> Program | None:
        """All partial derivatives of all results with respect to what moves; None where there are too many."""
        p = self.program
        if len(p.equations) * len(self.moving) > self.most // 10:
            return None
        bare = replace(p, results=tuple(Result(f"r{i}", r.atom) for i, r in enumerate(p.results)))
        try:
            derived = gradient(bare, self.moving)
        except AdError:                                          # a derivative that is not known, of polygamma
            return None
        return derived if len(derived.equations) <= self.most // 10 else None

    def piece(self, box: dict[str, FloatBounds]) -> SubBox:
        from adcli.lang.enclosures.intervals import CONTINUOUS
        values = interval_values(self.program, box)
        if not self.values:
            self.values = values
        found = results(self.program, values)
        self.work += self.operations
        middle = {n: (m, m) if (m := _middle(lo, hi)) is not None else (lo, lo) for n, (lo, hi) in box.items()}
        centre = self.sample(middle)
        slopes = self._partials(box)
        reach = [[0.0] * len(self.moving) for _ in found]
        for i, x in enumerate(found):
            partials = slopes[i] if slopes is not None else []
            reach[i] = [_reach(s, *box[n]) for s, n in zip(partials, self.moving, strict=False)]
            if partials and x.decoration >= CONTINUOUS:
                found[i] = self._sharper(x, centre[i], partials, box, middle, i)
        return SubBox(box, found, [_outward(x) for x in found], reach)

    def _partials(self, box: InputBox) -> list[list[Any]] | None:
        """The partial derivatives of each result on a piece."""
        if self.slopes is None:
            return None
        values = interval_values(self.slopes, box)
        self.work += self.slope_operations
        by_name = dict(zip([r.name for r in self.slopes.results], results(self.slopes, values), strict=True))
        table = {(r.of, r.wrt[0]): by_name[r.name] for r in self.slopes.results if r.wrt}
        return [[table[f"r{i}", n] for n in self.moving] for i in range(len(self.program.results))]

    def _sharper(self, x: Any, centre: Any, partials: Sequence[Any], box: InputBox, middle: InputBox, i: int) -> Any:
        """The bounds of result i met with its mean value form, and with its corners where it is monotone."""
        from adcli.lang.enclosures.intervals import Interval, add, meet, mul, sub
        if not all(map(_sound, partials)) or not _sound(centre):
            return x
        form = centre
        for s, n in zip(partials, self.moving, strict=True):
            form = add(form, mul(s, sub(_interval(*box[n]), _interval(*middle[n]))))
        x = meet(x, form)
        if all(s.lo >= 0 or s.hi <= 0 for s in partials):
            rising = {n: bool(s.lo >= 0) for s, n in zip(partials, self.moving, strict=True)}
            least, most = (self.sample(corner(box, rising, top))[i] for top in (False, True))
            if _sound(least) and _sound(most):
                x = meet(x, Interval(least.lo, most.hi))
        return x

    def sample(self, at: InputBox) -> list[Any]:
        """The results at a point of the box, which the inner bounds take in."""
        found = results(self.program, interval_values(self.program, at))
        self.work += self.operations
        for i, x in enumerate(found):
            self.gaps[i] |= x.valueless
            if _sound(x):
                lo, hi = up(x.hi), down(x.lo)               # the value is at most lo, and at least hi
                if math.isfinite(lo) and math.isfinite(hi):
                    known = self.inner[i] or (lo, hi)
                    self.inner[i] = min(known[0], lo), max(known[1], hi)
        return found

    def run(self) -> Enclosure:
        """Bisect until the bounds are good or the work is done."""
        pieces = [self.piece(self.box)]
        for top in (False, True):
            self.sample(corner(self.box, dict.fromkeys(self.moving, True), top))
        cost = max(1, self.work)
        while self.work + 2 * cost <= self.most and len(pieces) < MOST_SUB_BOXES:
            chosen = self._worst(pieces)
            if chosen is None:
                break
            k, i = chosen
            name = self._direction(pieces[k], i)
            if name is None:
                break
            old = pieces.pop(k)
            lo, hi = old.box[name]
            middle = _middle(lo, hi)
            assert middle is not None, "the input chosen can be divided"
            pieces += [self.piece({**old.box, name: half}) for half in ((lo, middle), (middle, hi))]
        return self._joined(pieces)

    def _joined(self, pieces: Sequence[SubBox]) -> Enclosure:
        """Enclosure that holds on all pieces. Continuous on each of two closed pieces is continuous on both together."""
        found = [[p.found[i] for p in pieces] for i in range(len(self.inner))]
        ends = [(min(p.bounds[i][0] for p in pieces), max(p.bounds[i][1] for p in pieces)) for i in range(len(self.inner))]
        bounds = [(lo, hi) if lo <= hi else (-math.inf, math.inf) for lo, hi in ends]
        decorations = [min(x.decoration for x in xs) for xs in found]
        undefined = ["everywhere" if all(x.valueless for x in xs) else "somewhere" if gap or any(x.valueless for x in xs) else ""
                     for xs, gap in zip(found, self.gaps, strict=True)]
        fine = all(decorations) and all(map(_finite, bounds))
        culprit = None if fine else _culprit(self.program, self.values, results(self.program, self.values))
        inner = [range_ if range_ and range_[0] <= range_[1] else None for range_ in self.inner]
        return Enclosure(bounds, list(map(_standing, decorations, bounds)), undefined, inner, culprit,
                         pieces=[p.box for p in pieces])

    def _worst(self, pieces: Sequence[SubBox]) -> tuple[int, int] | None:
        """The piece to bisect and the result for whose sake; None where all results are good."""
        worst, chosen = WIDE_ENOUGH - 1, None
        for i, inner in enumerate(self.inner):
            for end in (0, 1):
                ends = [p.bounds[i][end] for p in pieces]
                extreme = max(ends) if end else min(ends)
                gap = _excess(extreme, inner, end)
                if gap == math.inf and self.tries[i, end] >= UNBOUNDED_TRIES:
                    continue
                if gap > worst:
                    worst, chosen, by = gap, (ends.index(extreme), i), (i, end)
        if worst == math.inf:
            self.tries[by] += 1
        return chosen

    def _direction(self, piece: SubBox, i: int) -> str | None:
        """The input to bisect along: the one that moves the result most (maximal smear), or the one least divided yet."""
        able = [(j, n) for j, n in enumerate(self.moving) if _middle(*piece.box[n]) is not None]
        if not able:
            return None

        def share(n: str) -> float:
            (lo, hi), (first, last) = piece.box[n], self.box[n]
            return (hi - lo) / (last - first)

        smears = piece.reach[i]
        if smears and all(map(math.isfinite, smears)) and max(smears[j] for j, _ in able) > 0:
            return max(able, key=lambda jn: smears[jn[0]])[1]
        return max((n for _, n in able), key=share)


def enclose_box(program: Program, box: InputBox, most: int = MOST_OPERATIONS) -> Enclosure:
    """Bounds over a box."""
    with precision(BOX_PRECISION):
        return Bisection(program, box, most).run()


def _excess(end: float, inner: FloatBounds | None, top: int) -> float:
    """How far a bound is beyond the inner one, as a part of the inner range."""
    if end == (-math.inf if top else math.inf):                  # no value anywhere
        return 0.0
    if inner is None or math.isinf(end):
        return math.inf
    excess = abs(end - inner[top])
    return 0.0 if excess <= 2 * math.ulp(end) else excess / max(inner[1] - inner[0], 2.0 ** -50 * abs(end), 5e-324)


def corner(box: InputBox, rising: Mapping[str, bool], top: bool) -> dict[str, FloatBounds]:
    """The corner where a monotone result is greatest (`top`) or least."""
    return {n: ((hi, hi) if rising[n] is top else (lo, lo)) if n in rising else (lo, hi) for n, (lo, hi) in box.items()}


def _middle(lo: float, hi: float) -> float | None:
    """The double in the middle; None where there is none between."""
    m = lo + (hi - lo) / 2 if math.isfinite(hi - lo) else lo / 2 + hi / 2
    return m if lo < m < hi else None


def _reach(slope: Any, lo: float, hi: float) -> float:
    """How far an input moves a result at most."""
    if not _sound(slope):
        return math.inf
    return max(-down(slope.lo), up(slope.hi)) * (hi - lo)
