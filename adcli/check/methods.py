"""The derivatives of a program against methods that know no rule, or know them in another way.

Everything is measured against one allowance: the running error bound of the derivative program
(adcli.lang.analyse.rounding), which says how far rounding can have carried each entry at this very point. An entry that
cancellation has left few digits is so allowed to have few, and one that has all its digits is held to them. Nothing is
compared where the status of the program is not smooth with methods that assume it; forward and reverse mode are defined to
agree there too.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from adcli.answers.diagnose import described, named
from adcli.check.subject import MARGIN, EntryKey, Seen, Subject, evaluated, spread, tamed
from adcli.check.tally import Tally
from adcli.codegen.rows.expand import expand, for_machine
from adcli.codegen.rows.native_arithmetic import NATIVE
from adcli.input.sampling import Point
from adcli.lang.analyse.differences import UNRESOLVED, Quotient, extrapolated, masked, stencil, steps
from adcli.lang.analyse.rounding import LEAST_DOUBLE, ULP, Bounded, Rounding
from adcli.lang.evaluate import FLOAT, every_value, read
from adcli.lang.evaluate.complex import SMALLEST_STEP, complex_step, continues, step
from adcli.lang.ir import Equation, Program
from adcli.lang.ir.extras import install
from adcli.lang.ir.precision import DOUBLE, Precision
from adcli.lang.passes.pipeline import tangents

if TYPE_CHECKING:
    from adcli.check.against import Against
    from adcli.lang.analyse.wrong_rules import Culprit
    from adcli.lang.analyse.wrong_status import Judged, Operands, Operation

POINTS, ROWS, COMPLEX, PRECISE = 500_000, 4_000_000, 500_000, 80_000
"""Operations to evaluate: by the reference evaluator at all points, native for differences, with complex numbers, and in
multiple precision."""
OPERATIONS, OPERANDS = 500, 600
"""Different operations whose status is looked at, and how often at all points together beside special operands."""
MOST_ARGUMENTS = 6
"""Arguments of an operation whose status is looked at: ties of them all take the cube of their number, and max, min and hypot of
more do with each what they do with these."""
OVERHEAD = 200
"""What a point costs beside, in operations."""
EXACTLY = 1e-15
"""Relative difference of what knows no rounding."""
RESOLVED_PART = 1e-3
"""An error bar wider than this part of an entry says nothing about it."""
TINY = 1e-25
"""A part of a number that is too small to show in a double."""
BELOW_ROUNDING = 1e-60
"""What multiple precision makes of a rounding error in doubles."""
LONG_STEP = 2.0 ** 60
"""A step so many times as long as the complex step is about a part of the scale of the function."""
COMPLEX_MARGIN = 8.0
"""Complex products and quotients round more often than those of real numbers."""


def underflows(program: Program, at: Point, x: str, h: float, name: str, derivative: float) -> bool:
    """Whether a complex step gives 0 only since it is so short: a long one gives about the derivative."""
    long, _ = complex_step(program, at, x, h * LONG_STEP)[name]
    return abs(long - derivative) <= abs(derivative) / 2


@dataclass
class Check(Subject):
    """The methods. `agreed` is the relative difference up to which multiple precision takes an entry for settled; `against` has
    somebody else's derivatives."""

    agreed: float = 1e-19
    against: Against | None = None
    tallies: list[Tally] = field(default_factory=list)
    looked_at: int = 0
    misjudged: list[tuple[Equation, Operands, Judged]] = field(default_factory=list)
    too_large = False

    def run(self, points: Sequence[Point]) -> None:
        """Look at the points with every method; the figures are in `tallies`."""
        cost = evaluated(self.forward.machine) + evaluated(self.reverse.machine)
        points = list(points) if self.everything else spread(points, max(1, POINTS // (cost + OVERHEAD)))
        self.looked_at = len(points)
        seen = list(self.see(points))
        theirs = [] if self.against is None else self.against.run(self, seen)   # first, since there may be nothing to call
        for method in (self.modes, self.evaluators, self.in_singles, self.differences, self.complex_steps, self.precise,
                       self.products, self.statuses, self.taylor):
            self.tallies += method(seen)
        self.tallies += theirs

    @property
    def failed(self) -> bool:
        return any(t.failed for t in self.tallies)

    @property
    def agrees(self) -> bool:
        """Whether something was compared, by every method that was asked for, and nothing failed."""
        return agreeing(self)

    def modes(self, seen: Iterable[Seen]) -> list[Tally]:
        """Forward mode against reverse mode, in the reference evaluator and native."""
        tally = Tally("forward against reverse")
        for s in seen:
            for k in self.entries():
                (x, ex), (y, ey) = s.forward[k], s.reverse[k]
                allowed = MARGIN * (ex + ey)
                tally.compare(self.name(k), s.at, x, y, allowed, len(k[1]))
                tally.compare(self.name(k), s.at, s.native[1][k], s.native[0][k], allowed, len(k[1]))
        return [tally]

    def evaluators(self, seen: Iterable[Seen]) -> list[Tally]:
        """Native code against the reference evaluator, values too. That has the functions of native code, operation by operation,
        so these are compared with those of Python as well: one comparison where they are farther apart than the table allows."""
        tally = Tally("native against reference")
        for s in seen:
            for e, got, expected, allowed in s.strange:
                tally.compare(described(e, ""), s.at, got, expected, allowed)
            for native, reference in zip(s.native, (s.reverse, s.forward), strict=True):
                for k, (x, bound) in reference.items():
                    tally.compare(self.name(k), s.at, native[k], x, 2 * MARGIN * bound, len(k[1]))
        return [tally]

    def in_singles(self, seen: Sequence[Seen]) -> list[Tally]:
        """Native code in another precision against the reference evaluator in doubles. Where nothing overflows it has numbers."""
        if self.precision is DOUBLE:
            return []
        tally = Tally(in_precision(self.precision))
        for s, found in zip(seen, self.natively_in([s.at for s in seen], self.precision), strict=True):
            for native, reference, derived in zip(found, (s.reverse, s.forward), (self.reverse, self.forward), strict=True):
                bounded = derived.bounded(s.at, self.precision)
                sure = self.whole and all(bound < math.inf for _, bound in bounded.values())
                for k, (_, bound) in bounded.items():
                    x, near = reference[k]
                    allowed = MARGIN * (2 * bound + near)
                    compare = tally.require if sure and self.precision.holds(abs(x) + allowed) else tally.compare
                    compare(self.name(k), s.at, native[k], x, allowed, len(k[1]))
                    tally.count_digits(native[k], x, self.precision)
        return [tally]

    # ---------------------------------------------------------------- differences and the complex step

    def differences(self, seen: Iterable[Seen]) -> list[Tally]:
        """Reverse mode against extrapolated differences of the value."""
        tally = Tally("differences of the value")
        jobs, cost = self.columns(self.smooth(seen, tally)), evaluated(self.machine) + 10 * OVERHEAD
        for s, x in self.sampled(jobs, cost, ROWS, tally):
            for k, quotient in self.quotients(s, x).items():
                settle(tally, self.name(k), s.at, s.reverse[k], quotient)
        return [tally]

    def quotients(self, s: Seen, x: str) -> dict[EntryKey, Quotient]:
        """Differences of every output with respect to one input."""
        scales = self.scales(s, x)
        known = [h for h in scales.values() if h is not None] or [self.length(s, x)]
        pairs = steps(s.at[x], max(known), min(known))
        *columns, sides = self.back([*stencil(s.at, x, pairs), s.at])
        spans = [a - b for a, b in pairs]
        found: dict[EntryKey, Quotient] = {}
        for r, column in zip(self.chosen.results, columns, strict=False):
            if scales[r.name] is None:
                found[r.name, (x,)] = Quotient(problem=UNRESOLVED)
                continue
            if r.name not in self.reached(x) and not any(y - column[-1] for y in column):
                found[r.name, (x,)] = Quotient(0.0, 0.0)
                continue
            kept = masked(column[:-1], sides[:-1], sides[-1])
            short = [k for k, span in enumerate(spans) if span <= 2 * (scales[r.name] or 0.0)]
            noise = MARGIN * s.values[r.name][1]
            found[r.name, (x,)] = extrapolated([spans[k] for k in short], [kept[2 * k] for k in short],
                                               [kept[2 * k + 1] for k in short], column[-1], noise, len(self.machine.equations))
        return found

    def complex_steps(self, seen: Iterable[Seen]) -> list[Tally]:
        """Reverse mode against the complex step. That goes through the program as the machine has it, compositions written out;
        what cancels there is told by the tangents of that program."""
        tally = Tally("complex step")
        if obstacle := continues(self.machine):
            tally.note = f"not applicable: {obstacle}"
            return [tally]
        ahead = for_machine(tangents(self.machine, self.wrt))
        own, outputs = len(self.machine.params), len(self.machine.results)
        cost = 2 * evaluated(self.machine) + evaluated(ahead)
        for s, x in self.sampled(self.columns(self.smooth(seen, tally)), cost, COMPLEX, tally):
            h = step(self.length(s, x))
            if h is None:
                tally.skip("no step of the right size", len(self.some_of))
                continue
            # tangents as short as the shorter step: they underflow where the imaginary parts do
            rounding = Rounding(ahead, {**s.at, **{p.name: h / 4 * (p.seed == x) for p in ahead.params[own:]}}, arithmetic=NATIVE)
            lost = {r.name: rounding.of(t.atom)[1] * 4 / h for r, t in zip(ahead.results, ahead.results[outputs:], strict=False)}
            found, again = (complex_step(self.machine, s.at, x, size) for size in (h, h / 4))
            for name in self.some_of:
                key = name, (x,)
                (want, near), (other, nearer), (value, bound) = found[name], again[name], s.values[name]
                if not self.shown(s, name, [x]) or abs(nearer - value) > abs(near - value) / 8 + COMPLEX_MARGIN * bound:
                    tally.skip(UNRESOLVED)
                    continue
                derivative = s.reverse[key][0]
                if 0 < abs(want * h) < SMALLEST_STEP or (want == 0 != derivative and (
                        abs(derivative) <= COMPLEX_MARGIN * lost[name]
                        or underflows(self.machine, s.at, x, h, name, derivative))):
                    tally.skip("no step of the right size")
                    continue
                apart = 2 * abs(want - other) + len(self.machine.equations) * LEAST_DOUBLE / h
                allowed = COMPLEX_MARGIN * (s.forward[key][1] + s.reverse[key][1] + lost[name] + math.ulp(want))
                tally.compare(self.name(key), s.at, derivative, want if abs(want) > apart else 0.0, allowed + apart)
        return [tally]

    # ---------------------------------------------------------------- multiple precision

    def precise(self, seen: Iterable[Seen]) -> list[Tally]:
        """Differences of the value in multiple precision, against both modes as native code gives them, and against the
        reverse program in multiple precision: that is free of rounding and has the rules alone. Where no path leads from an input
        to an output the derivative is 0."""
        tally, rules = Tally("multiple precision"), Tally("program in multiple precision")
        if find_spec("mpmath") is None:
            tally.note = rules.note = f"not run: {install('mpmath')}"
            return [tally, rules]
        from adcli.lang.analyse.precise_differences import derivative
        from adcli.lang.evaluate import mpmath_arithmetic
        exact = mpmath_arithmetic(30).constant
        smooth = list(self.smooth(seen, tally))
        jobs = [(s, k[1]) for s in smooth for k in {k[1]: k for k in self.entries()}.values()]
        stand: dict[int, tuple[Seen, dict[EntryKey, tuple[Any, Any]]]] = {}
        reached = {wrt: set.intersection(*map(self.reached, wrt)) for _, wrt in jobs}
        for s, wrt in jobs:
            for name in self.some_of:
                if name not in reached[wrt]:
                    stand.setdefault(id(s), (s, {}))[1][name, wrt] = exact(0.0), exact(0.0)
                    self.count_digits(tally, (name, wrt), s, exact(0.0), exact(0.0))
        for s, wrt in self.sampled([(s, wrt) for s, wrt in jobs if reached[wrt]], 8 * evaluated(self.machine), PRECISE, tally):
            lengths = [self.length(s, x) for x in wrt]
            moves = [{x: h} for x, h in zip(wrt, lengths, strict=True)]
            size = {n: tamed(s.values[n]) / ULP for n in self.some_of}
            enough = {n: nothing_left(s.reverse[n, wrt], size[n], [exact(h) for h in lengths]) for n in self.some_of}
            standing = derivative(self.chosen, s.at, moves, self.agreed, size, enough)
            for name in sorted(reached[wrt]):
                if not self.shown(s, name, wrt):
                    tally.skip(UNRESOLVED)
                elif name in standing.values:
                    want, apart = standing.values[name], standing.apart[name]
                    want = want if abs(want) > apart else 0 * want
                    for length in lengths:
                        want, apart = want / length, apart / length
                    stand.setdefault(id(s), (s, {}))[1][name, wrt] = want, apart
                    self.count_digits(tally, (name, wrt), s, want, apart)
                else:
                    tally.skip("no precision settles it")
        for s, known in self.sampled(list(stand.values()), evaluated(self.reverse.machine), PRECISE, rules, "points"):
            self.rules_alone(rules, s, known)
        return [tally, rules]

    def rules_alone(self, tally: Tally, s: Seen, known: dict[EntryKey, tuple[Any, Any]]) -> None:
        """The derivative program itself in multiple precision, where nothing is lost by rounding."""
        from adcli.lang.analyse.precise_differences import same_as_program
        orders = {self.name(k): len(k[1]) for k in known}
        wanted = {self.name(k): (want, EXACTLY * abs(want) + apart + BELOW_ROUNDING * tamed(s.reverse[k]))
                  for k, (want, apart) in known.items()}
        for name, got in same_as_program(self.reverse.program, s.at, wanted).items():
            want, allowed = wanted[name]
            tally.compare(name, s.at, float(got), float(want), float(allowed), orders[name])

    def count_digits(self, tally: Tally, key: EntryKey, s: Seen, want: Any, apart: Any) -> None:
        """Compare an entry with its precise value, and count the digits it has."""
        exact, error = float(want), float(apart)
        for native, (_, bound) in zip(s.native, (s.reverse[key], s.forward[key]), strict=True):
            got = native[key]
            tally.compare(self.name(key), s.at, got, exact, MARGIN * bound + 2 * math.ulp(exact) + error, len(key[1]))
            tally.count_digits(got, want)

    # ---------------------------------------------------------------- the whole Jacobian at once

    def products(self, seen: Iterable[Seen]) -> list[Tally]:
        """⟨w, Jv⟩ against ⟨Jᵀw, v⟩ for random v and w, with the programs of jvp and vjp."""
        tally = Tally("dot products ⟨w, Jv⟩, ⟨Jᵀw, v⟩")
        ahead, back = map(for_machine, (self.tangents, self.adjoints))
        own, outputs = len(self.primal.params), len(self.primal.results)
        for s in self.sampled(list(seen), evaluated(ahead) + evaluated(back), POINTS, tally, "points"):
            v, w = self.direction(s), {r.name: self.random.uniform(-1, 1) for r in self.primal.results}
            found = []
            for program, seeds, weights in ((ahead, v, w), (back, w, v)):
                given = {p.name: seeds[p.seed] for p in program.params[own:] if p.seed}
                rounding = Rounding(program, {**s.at, **given}, arithmetic=NATIVE)
                terms = [rounding.of(r.atom) for r in program.results[outputs:]]
                order = [weights[r.name] for r in self.primal.results] if weights is w else \
                    [weights[p.name] for p in self.primal.params if p.name in weights]
                found.append(inner(terms, order))
            (left, a), (right, b) = found
            tally.compare("⟨w, Jv⟩", s.at, left, right, MARGIN * (a + b))
        return [tally]

    # ---------------------------------------------------------------- where operations are not smooth

    def statuses(self, seen: Iterable[Seen]) -> list[Tally]:
        """What the row of each operation says of its smoothness, against values on both sides: at the operands that it has at the
        points, at zeros and ties of them, and at special ones. One comparison for each operation, the first that disagrees."""
        tally = Tally("status of operations", derivatives=False)
        if find_spec("mpmath") is None:
            tally.note = f"not run: {install('mpmath')}"
            return [tally]
        from adcli.lang.analyse.wrong_status import judge, special_operands, ties
        used = self.operations([s.at for s in seen])
        for operation, met in self.sampled(list(used.items()), 1, OPERATIONS, tally, "operations"):
            rules = operation.rules()
            drawn = spread([(e, x) for x, e in met.items()], max(1, OPERANDS // len(used)))
            first, operands = drawn[0]
            places = [*drawn, *((first, x) for x in (*ties(operation, operands), *special_operands(operation, rules)))]
            judged = [(e, x, found) for e, x in places if (found := judge(operation, x, rules)) is not None]
            if not judged:
                tally.skip("not told by values on both sides")
                continue
            e, x, found = next((j for j in judged if j[2].wrong), judged[0])
            self.misjudged += [(e, x, found)] * found.wrong
            tally.compare(f"status of {described(e, '')}", named(x), found.claimed, found.shown, 0.0)
        return [tally]

    def operations(self, points: Iterable[Point]) -> dict[Operation, dict[Operands, Equation]]:
        """The different operations of real numbers, with the operands that they have at the points, and where."""
        from adcli.lang.analyse.wrong_status import Operation
        used: dict[Operation, dict[Operands, Equation]] = {}
        for at in points:
            values = every_value(self.chosen, at, NATIVE)
            for whole in self.chosen.equations:
                e = whole.with_args(whole.args[:MOST_ARGUMENTS]) if whole.op.variadic else whole
                operation = Operation.of(e)
                if operation.moved and e.op.outs == 1:
                    used.setdefault(operation, {}).setdefault(tuple([read(values, a, FLOAT) for a in e.args]), e)
        return used

    # ---------------------------------------------------------------- the remainders of expansions

    def taylor(self, seen: Iterable[Seen]) -> list[Tally]:
        """The slopes of the remainders of Taylor's expansion along a random direction."""
        tallies = [Tally("Taylor remainder, gradient"), Tally("Taylor remainder, Hessian")]
        if find_spec("mpmath") is None or not self.wrt:
            for t in tallies:
                t.note = f"not run: {install('mpmath')}" if self.wrt else None
            return tallies
        from adcli.lang.analyse.taylor_remainder import remainders
        twice = self.tangents_twice
        short, derivatives = twice is not None, twice or self.tangents
        machine = expand(self.primal)
        cost = 4 * evaluated(expand(derivatives))
        for s in self.sampled(list(self.smooth(seen, tallies[0])), cost, PRECISE, tallies[0], "points"):
            rounding = Rounding(machine, s.at, near=True, arithmetic=NATIVE)
            noise = {r.name: BELOW_ROUNDING * tamed(rounding.of(r.atom)) for r in machine.results}
            for name, rest in remainders(self.primal, derivatives, s.at, self.direction(s), noise).items():
                if rest is None or not self.shown(s, name, self.some_wrt):
                    tallies[0].skip("pieces change over every step" if rest is None else UNRESOLVED)
                    continue
                for t, order in zip(tallies, (0, 1)[:1 + short], strict=False):
                    t.enter_slope(name, s.at, rest.slopes[order], order + 2, rest.right[order])
        tallies[1].skipped, tallies[1].note = tallies[0].skipped, tallies[0].note if short else "not run: the program is too long"
        return tallies

    # ---------------------------------------------------------------- where a fault comes from

    def culprit(self, at: Point) -> Culprit | None:
        """The operation whose rule is wrong at a point; None where none is, or without multiple precision."""
        if find_spec("mpmath") is None:
            return None
        from adcli.lang.analyse.wrong_rules import culprit
        return culprit(self.primal, at, self.wrt)


def unanswered(check: Any) -> Tally | None:
    """A method that was asked for and could compare nothing: somebody else's derivatives, or code of another precision."""
    asked = [t for t in check.tallies if t.method == in_precision(check.precision)]
    asked += [] if check.against is None else [check.against.tally]
    return next((t for t in asked if not t.compared), None)


def agreeing(check: Any) -> bool:
    """Whether something was compared, by every method that was asked for, and nothing failed."""
    return not check.failed and any(t.compared for t in check.tallies) and unanswered(check) is None


def in_precision(precision: Precision) -> str:
    """The name of the method that looks at code in a precision; none for doubles, which all methods look at."""
    return "" if precision is DOUBLE else f"{precision.name} precision against double"


def settle(tally: Tally, name: str, at: Point, derivative: Bounded, quotient: Quotient) -> None:
    """Compare a derivative with a difference quotient where its error bar leaves anything to compare."""
    got, bound = derivative
    if quotient.problem:
        tally.skip(quotient.problem)
        return
    wide = quotient.bar > RESOLVED_PART * max(abs(got), abs(quotient.value))
    if wide and got and abs(got - quotient.value) <= quotient.bar:
        tally.skip("error bar too wide")
        return
    tally.compare(name, at, got, quotient.value, quotient.bar + MARGIN * bound)


def nothing_left(bounded: Bounded, size: float, lengths: Sequence[Any]) -> Any:
    """How far from 0 an entry may be that counts as 0, times the scales of its inputs: as far as its rounding can have carried
    it; where nothing was rounded, a small part of it, or of the value it is the derivative of, whose terms have this size."""
    got, bound = bounded
    if bound < math.inf and (got or bound):
        return math.prod((max(bound, TINY * abs(got)), *lengths))
    return TINY * size


def inner(terms: Sequence[Bounded], weights: Sequence[float]) -> Bounded:
    """An inner product with its error bound."""
    products = [x * w for (x, _), w in zip(terms, weights, strict=True)]
    try:
        total = math.fsum(products) if all(map(math.isfinite, products)) else math.nan
    except OverflowError:
        total = math.nan
    bound = sum(abs(w) * (e + 2 * math.ulp(x)) + math.ulp(x * w) for (x, e), w in zip(terms, weights, strict=True))
    return total, bound
