"""A check that is asked for: a program of any rank under its methods, at points, and what all of them have found.

A program of scalars is one subject for all points. One with tensors, or with values that `stop` holds, is written out at each
point, and looked at along random directions where that comes to too many operations.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from adcli.check.methods import METHODS, POINTS, has_precision, in_precision
from adcli.check.subject import NO_DIGIT, EntryKey, Subject, Tally, evaluated, joined, spread
from adcli.input import sampling
from adcli.input.points import Point
from adcli.input.settings import Options
from adcli.lang.ir import Primitive, Program
from adcli.lang.ir.errors import AdError, plural, worded
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.activity import inputs_to_differentiate, outputs_to_differentiate, with_outputs
from adcli.lang.operations.precision import DOUBLE, PRECISIONS, Precision
from adcli.lang.simplify.simplify import simplify
from adcli.task.rules import require_fit

if TYPE_CHECKING:
    from adcli.check.against import Against
    from adcli.check.directions import DirectionalCheck
    from adcli.check.elements import TensorDerivatives
    from adcli.lang.verify.culprits import Culprit

OVERHEAD = 200
"""Further cost of a point, in operations."""
AT_ALL_POINTS = 8_000
"""Operations of the programs that are written out at all points together, and entries that are looked at there; one point is
looked at in any case."""


def of_scalars(program: Program) -> bool:
    """Test for a program of operations on scalars alone."""
    plain = all(type(e.op) is Primitive for e in program.equations)
    return plain and not any(p.var.shape or p.var.integer for p in program.params)


@dataclass
class Check:
    """Check of a program at points: `agreed` is the relative difference up to which multiple precision takes an entry for
    settled, `against` has somebody else's derivatives."""

    primal: Program
    wrt: list[str]
    seed: int = 0
    everything: bool = False
    precision: Precision = DOUBLE
    agreed: float = 1e-19
    against: Against | None = None

    def __post_init__(self) -> None:
        self.holds = any(e.op is TABLE["stop"] for e in self.primal.equations)
        self.scalars = of_scalars(self.primal) and not self.holds
        self.subjects: list[Subject] = []
        self.large: list[DirectionalCheck] = []
        self.tallies: list[Tally] = []
        self.looked_at = 0

    @cached_property
    def subject(self) -> Subject:
        """The program of scalars, for all points."""
        return Subject(self.primal, self.wrt, self.seed, self.everything, self.precision, self.agreed)

    @cached_property
    def derivatives(self) -> TensorDerivatives:
        """The program of tensors, for all points."""
        from adcli.check.elements import TensorDerivatives  # start-up: scalars do without arrays
        return TensorDerivatives(simplify(self.primal), self.wrt, self.precision)

    # ---------------------------------------------------------------- points

    def draw(self, seed: int) -> Iterator[Point]:
        """Points without end."""
        if of_scalars(self.primal):
            return sampling.draw(self.primal.params, seed)
        from adcli.input import sampled_tensors
        return sampled_tensors.draw(self.derivatives.primal, seed)

    def finite(self, points: Sequence[Point]) -> list[list[bool]]:
        """For every point, which of its inputs and outputs are finite in all elements."""
        return self.subject.finite(points) if self.scalars else [self.derivatives.finite(at) for at in points]

    def run(self, points: Sequence[Point]) -> None:
        """Look at the points with every method, as many as there is time for; the figures are in `tallies`."""
        if self.scalars:
            cost = evaluated(self.subject.forward.machine) + evaluated(self.subject.reverse.machine)
            points = list(points) if self.everything else spread(points, max(1, POINTS // (cost + OVERHEAD)))
        if self.against is not None:   # first, since there may be nothing to call
            self.against.ask(self.primal, self.wrt, points, arrays=not of_scalars(self.primal))
        self.looked_at = len(points)
        found = self.look(self.subject, points) if self.scalars else self.one_by_one(points)
        methods = dict.fromkeys(t.method for t in found)
        self.tallies = [joined([t for t in found if t.method == name]) for name in methods]
        self.tallies += [] if self.against is None else [self.against.tally]

    def one_by_one(self, points: Sequence[Point]) -> list[Tally]:
        """The figures of points that are written out each."""
        found, left = list[Tally](), AT_ALL_POINTS
        for k, at in enumerate(points):
            tallies, effort = self.at_point(at, self.seed + k)
            found += tallies
            left -= effort
            if left < 0 and not self.everything:
                self.looked_at = k + 1
                break
        return found

    def at_point(self, at: Point, seed: int) -> tuple[list[Tally], int]:
        """Figures of all methods at a point, and their cost: of single elements, or along directions where the point is too
        large for that."""
        from adcli.check import elements
        from adcli.lang.evaluate.recording import TooLong, length
        operations = length(self.derivatives.primal, at)
        try:
            if operations > elements.MOST_WRITTEN:   # of the program alone
                raise TooLong
            subject = elements.ElementSubject(self.derivatives, at, seed, self.everything, self.agreed)
        except TooLong:
            self.large.append(self.along_directions(at, seed, operations))
            if self.against is not None:
                self.against.pass_over()
            return self.large[-1].run(), operations
        return [self.measured(t, at, seed, operations) for t in self.look(subject, [subject.at], at)], subject.effort

    def look(self, subject: Subject, points: Sequence[Point], given: Point | None = None) -> list[Tally]:
        """The figures of all methods; without multiple precision, differences along directions too."""
        self.subjects.append(subject)
        seen = subject.see(points)
        if self.against is not None:
            self.against.run(subject, seen)
        found = [t for method in METHODS for t in method(subject, seen)]
        if not has_precision():
            found += [self.along_directions(given or at, self.seed + k).differences() for k, at in enumerate(points)]
        return found

    def along_directions(self, at: Point, seed: int, operations: int = 0) -> DirectionalCheck:
        """The methods along random directions at a point."""
        from adcli.check.directions import DirectionalCheck
        return DirectionalCheck(self.derivatives, at, seed, operations)

    def measured(self, tally: Tally, at: Point, seed: int, operations: int) -> Tally:
        """The figures of a method; where bounds of rounding leave no digit to code of the precision, what it does is measured, as
        of large points."""
        if tally.method != in_precision(self.precision) or tally.compared or not tally.skipped[NO_DIGIT]:
            return tally
        (found,) = self.along_directions(at, seed, operations).in_singles()
        found.note = f"along random directions: {NO_DIGIT} in single elements" if found.compared else None
        return found if found.compared else tally

    # ---------------------------------------------------------------- what was found

    @property
    def too_large(self) -> bool:
        """Presence of a point too large for single elements."""
        return bool(self.large)

    @property
    def whole(self) -> bool:
        """Coverage of every entry."""
        return not self.large and all(s.whole for s in self.subjects)

    def entries(self, order: int) -> list[EntryKey]:
        """The entries that are looked at, of all points."""
        return [key for s in self.subjects for key in s.entries(order)]

    def coverage(self) -> str:
        """Entries looked at, in words."""
        if self.large:
            most = max(d.effort for d in self.large)
            return f"along random directions, every output by every input; {most:,} operations are too many for single elements"
        first, second = (len(self.entries(order)) for order in (1, 2))
        points = f" at {plural(len(self.subjects), 'point')}" if len(self.subjects) > 1 else ""
        if self.whole:
            return (f"{first} first and {second} second derivatives" if second else plural(first, "first derivative")) + points
        every = sum(len(s.primal.results) * len(s.wrt) for s in self.subjects)
        return f"{first:,} of {every:,} first derivatives{points}, drawn by seed {self.seed}; " + worded(
            "⟦--all⟧ looks at every one, and remainders use all")

    @property
    def failed(self) -> bool:
        return any(t.failed for t in self.tallies)

    @property
    def agrees(self) -> bool:
        """Success: a comparison by every method that was asked for, and no failure."""
        return not self.failed and any(t.compared for t in self.tallies) and self.unanswered is None

    @property
    def unanswered(self) -> Tally | None:
        """A method that was asked for and could compare nothing: somebody else's derivatives, or code of another precision."""
        asked = [t for t in self.tallies if t.method == in_precision(self.precision)]
        asked += [] if self.against is None else [self.against.tally]
        return next((t for t in asked if not t.compared), None)

    def culprit(self, at: Point) -> Culprit | None:
        """The operation whose rule is wrong at a point; None where none is, or without multiple precision."""
        subject = next((s for s in self.subjects if any(seen.at == at for seen in s.seen)), None)
        if subject is None or not has_precision():
            return None
        from adcli.lang.verify.culprits import culprit
        return culprit(subject.primal, at, subject.wrt)


# ---------------------------------------------------------------- a check that is asked for

MOST_POINTS = 100_000
"""Points in one run."""
SAMPLES = 10
"""Points that are drawn where nothing else is said."""
TIME_LIMIT, MOST_SECONDS = 60, 86_400
"""Seconds for somebody's function."""
RETURNS = ("value", "gradient", "hessian", "all")
"""Contents of a result of somebody's function: the outputs, their first or second derivatives alone, or one after another."""


@dataclass(frozen=True, kw_only=True)
class CheckOptions(Options):
    """Options of check."""

    samples: int
    seed: int
    digits: int
    against: str | None
    symbol: str | None
    returns: str | None
    time_limit: int
    everything: bool
    precision: str | None


def run(check: Check, points: Sequence[Point], remark: Callable[[str], object]) -> None:
    """Look at points, in numbers of the check's precision."""
    from adcli.answers.evaluation import rounded_point
    source = check.primal.source
    if check.holds and source is not None and "stop" in source.text:   # else it is norm that has one
        remark("what stop holds is kept at its value at each point: derivatives are compared for that")
    check.run([rounded_point(at, check.precision) for at in points])


def check_of(primal: Program, inputs: list[str], options: CheckOptions) -> Check:
    """The check that options ask for."""
    return Check(primal, inputs, options.seed, options.everything, PRECISIONS[options.precision or "double"],
                 10.0 ** -options.digits, others(primal, options))


def differentiated(program: Program, outputs: list[str] | None, inputs: list[str] | None) -> tuple[Program, list[str]]:
    """The program with the outputs asked for, and the inputs to differentiate by. AdError where there are none."""
    primal = with_outputs(program, outputs_to_differentiate(program, outputs))
    inputs = inputs_to_differentiate(primal, inputs)
    if not inputs:
        raise AdError("no input to differentiate with respect to",
                      help=f"differentiate by a param: ⟦--wrt {primal.params[0].name}⟧" if primal.params else None)
    return primal, inputs


def others(primal: Program, options: CheckOptions) -> Against | None:
    """Somebody's derivatives, where there are any to compare with."""
    require_fit(options, "check")
    if options.against is None:
        return None
    from adcli.check.against import Against
    from adcli.check.foreign import foreign
    from adcli.task.emit import default_symbol
    names = [default_symbol(primal.source, verb) for verb in ("grad", "hessian", "jacobian", "eval")]
    asked = foreign(options.against, names, options.symbol, options.time_limit)
    if not of_scalars(primal) and asked.kind != "python":
        raise AdError("of a program with tensors or loops, ⟦--against⟧ asks a Python function",
                      help="write ⟦--against model.py:grad⟧: it takes the inputs by their names, as numbers and NumPy arrays")
    if of_scalars(primal) and any(e.op is TABLE["stop"] for e in primal.equations):
        raise AdError("⟦--against⟧ cannot be used with a program that has stop", help="give what stop holds as an input: param k")
    return Against(asked, options.returns)


def usable_points(check: Check, at: list[Point]) -> tuple[list[Point], dict[str, Any]]:
    """The points at which something can be looked at: inputs are numbers, and so is a value."""
    outputs = len(check.primal.results)
    good = [p for p, finite in zip(at, check.finite(at), strict=True) if all(finite[:-outputs]) and any(finite[-outputs:])]
    return good, {"how": "given", "usable": len(good), "unusable": len(at) - len(good), "seed": None}


def drawn_points(check: Check, count: int, seed: int) -> tuple[list[Point], dict[str, Any]]:
    """Drawn points at which all values are finite. AdError where none is found."""
    from adcli.input.sampling import usable
    points, failed = usable(check.draw(seed), count, lambda batch: all_finite(check, batch))
    if not points:
        raise AdError(f"none of the {failed} points drawn has finite values", help="give a point with ⟦--at⟧, or declare ranges:"
                      f" input {check.primal.params[0].name} in [1, 2]")
    return points, {"how": "drawn", "usable": len(points), "unusable": failed, "seed": seed}


def all_finite(check: Check, at: Sequence[Point]) -> list[bool]:
    """At which drawn points all is finite; it is not where drawn whole numbers are no subscripts or sizes that fit."""
    try:
        return [all(finite) for finite in check.finite(at)]
    except AdError:
        return [all_finite(check, [p])[0] for p in at] if len(at) > 1 else [False]
