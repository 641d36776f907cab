"""Somebody's derivatives as one more method of check: theirs against ours, within what rounding can do to either.

Nothing is known of the order of operations on their side, so the allowance is for computing the same in any order. Entries are
compared where check compares derivatives, values wherever they are finite; a NaN of theirs where ours is a number is wrong.

Which entries numbers are is known by their names, else by how many there are. Without names the order is that of our own
programs: the outputs; the first derivatives, those of an output by all inputs
together; the second ones, of each output a whole matrix by rows, or its upper half. What a program of ours leaves out
because it is zero by construction may be left out.
"""
from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement, islice, product

from adcli.check.foreign import Answer, Foreign, cut
from adcli.check.subject import Blame, Compared, Derived, EntryKey, Seen, Subject, Tally
from adcli.input.sampling import Point
from adcli.lang.analyse.rounding import ANY_ORDER
from adcli.lang.derive.derivatives import canonical, gradient, hessian, jacobian, partial_name
from adcli.lang.ir import LEVELS, SMOOTH, Program, Var
from adcli.lang.ir.errors import AdError, plural
from adcli.lang.ir.names import tensor_of
from adcli.lang.verify.culprits import Difference, WrongTerm, explains, told, wrong_term

MOST = 1 << 22
"""Numbers that one call may return."""
ALLOWED = 8.0
"""So many times our bound is allowed."""
SINGLE = 1e-5
"""Relative differences up to which single precision may be the reason."""
SMALL = 1e-12
"""Differences relative to the largest element of a derivative up to which a right formula may have lost its digits."""
LONGEST_TERM = 60
"""Characters of a term in a message."""


@dataclass(frozen=True)
class Held:
    """One entry of theirs beside ours, at a smooth point."""

    at: dict[str, float]
    theirs: float
    ours: float
    allowed: float

    @property
    def wrong(self) -> bool:
        return not abs(self.theirs - self.ours) <= self.allowed


@dataclass
class Against:
    """The method, and what it remembers for a report. `what` says which entries they return, where that is said."""

    foreign: Foreign
    what: str | None = None
    tally: Tally = field(init=False)
    held: dict[EntryKey, list[Held]] = field(default_factory=dict)
    singles: bool = True
    replies: Iterator[Answer] = field(default_factory=lambda: iter(()))

    def __post_init__(self) -> None:
        self.tally = Tally(f"against {self.foreign.title}")

    def ask(self, primal: Program, wrt: Sequence[str], points: Sequence[Point], arrays: bool) -> None:
        """Ask for all points."""
        most = MOST if arrays else Returned(primal, wrt, self.what).longest
        self.replies = iter(self.foreign.answers([p.name for p in primal.params], points, most, arrays))

    def pass_over(self) -> None:
        """Leave out a point that is too large to be looked at element by element."""
        next(self.replies, None)
        self.tally.skip("too large for single elements")

    def run(self, subject: Subject, seen: Sequence[Seen]) -> None:
        """Compare their next answers, which are those at the points seen."""
        self.subject = subject
        answers = list(islice(self.replies, len(seen)))
        if missing := len(seen) - sum(not a.everywhere for a in answers):
            self.tally.skip("no answer", missing)
        theirs = list(self.understood(Returned(subject.primal, subject.wrt, self.what), zip(seen, answers, strict=False)))
        order = max((len(wrt) for _, found in theirs for _, wrt in found), default=0)
        ours = self.ours(order)
        for s, found in theirs:
            self.compare(s, found, ours)

    def understood(self, returned: Returned,
                   answers: Iterable[tuple[Seen, Answer]]) -> Iterator[tuple[Seen, dict[EntryKey, float]]]:
        """The answers that are entries; what is wrong with others is a finding."""
        count: int | None = None
        for s, answer in answers:
            if answer.wrong is not None:
                self.tally.find(answer.wrong, {} if answer.everywhere else s.at)
                continue
            if count is not None and len(answer.numbers) != count:
                self.tally.find(f"returns {plural(len(answer.numbers), 'number')} here, and {count} elsewhere", s.at)
                continue
            keys = self.entries(returned, answer)
            if isinstance(keys, str):
                self.tally.find(keys, {})
                return
            count = len(answer.numbers)
            if (unread := next((answer.unread[i] for i in keys if i in answer.unread), None)) is not None:
                self.tally.find(unread, s.at)
                continue
            yield s, {keys[i]: x for i, x in enumerate(answer.numbers) if i in keys}

    def entries(self, returned: Returned, answer: Answer) -> Mapping[int, EntryKey] | str:
        """The entry of each number, or what is wrong with their names or their count."""
        if answer.names is not None:
            found = returned.by_name(answer.names)
            some = ", ".join(called(key) for part in ("values", "first") for key in returned.entries[part]()[:3])
            said = f" but {', '.join(answer.names[:6])}" if answer.names else ""
            return found or f"names none of the entries {some}, …{said}"
        keys = returned.by_count(len(answer.numbers))
        if keys is None:
            return f"returns {len(answer.numbers)} numbers; expected are {returned.counts()}"
        return dict(enumerate(keys))

    # ---------------------------------------------------------------- comparison

    def ours(self, order: int) -> Derived:
        """Our derivatives, up to those of this order if there are not too many."""
        for most in range(max(order, 1), 0, -1):
            with suppress(AdError):
                return Derived.of(gradient(self.subject.primal, self.subject.wrt, order=most), hold=ANY_ORDER)
        return replace(self.subject.reverse, hold=ANY_ORDER)

    def compare(self, s: Seen, theirs: Mapping[EntryKey, float], derived: Derived) -> None:
        """Enter the numbers of a point."""
        ours, position = derived.bounded(s.at, self.subject.precision), {x: i for i, x in enumerate(self.subject.wrt)}
        for key, got in theirs.items():
            mine = key[0], canonical(key[1], position)
            if mine not in ours:
                self.tally.skip("too many derivatives")
                continue
            if key[1] and s.level != SMOOTH:
                self.tally.skip(f"{LEVELS[s.level]} at the point")
                continue
            (expected, bound), name = ours[mine], called(key)
            allowed = ALLOWED * (bound + self.subject.precision.ulp(expected))
            if not math.isfinite(expected):
                self.tally.skip("not finite")
                continue
            self.tally.require(name, s.at, got, expected, allowed, len(key[1]))
            if allowed < math.inf:
                self.held.setdefault(key, []).append(Held(s.at, got, expected, allowed))
                self.count_digits(got, expected)

    def count_digits(self, got: float, expected: float) -> None:
        """The digits that all entries have, and whether all numbers are of single precision."""
        self.singles = self.singles and is_single(got)
        if not math.isfinite(got):
            self.tally.digits = 0.0
        self.tally.count_digits(got, expected, self.subject.precision)

    # ---------------------------------------------------------------- what is wrong

    @property
    def points(self) -> int:
        """At how many points entries are compared."""
        return max(map(len, self.held.values()), default=0)

    def wrong(self) -> list[tuple[str, int, int]]:
        """The entries that are wrong: their names, at how many points, and of how many."""
        found = [(called(key), sum(h.wrong for h in held), len(held)) for key, held in self.held.items()]
        return [entry for entry in found if entry[1]]

    def explanation(self, worst: Compared) -> Blame | None:
        """Explanation of the worst entry, or of all elements of its derivative, that holds at every point; None without one."""
        if (whole := tensor_of(worst.name)) != worst.name and (found := self.of_all_elements(whole)):
            return found
        key = next((k for k in self.held if called(k) == worst.name), None)
        if key is None or not math.isfinite(worst.got):
            return None
        if self.singles and worst.relative(abs(worst.got - worst.expected)) < SINGLE:
            return Blame(f"its numbers are of single precision: {self.tally.digits:.1f} digits agree;"
                              " --precision single allows for that")
        return self.of_a_term(key)

    def of_a_term(self, key: EntryKey) -> Blame | None:
        """The part of the formula that explains an entry."""
        of, wrt = key
        primal = self.subject.primal
        if len(wrt) == 2:
            program = gradient(primal, [wrt[0]], [of], "forward")
            result = next(r for r in program.results if r.wrt)
        else:
            program, result = primal, next(r for r in primal.results if r.name == of)
        coarse = SINGLE if self.singles else 0.0
        cases = [Difference(h.at, h.theirs - h.ours, h.allowed + coarse * abs(h.ours)) for h in self.held[key]
                 if h.at.keys() == {p.name for p in primal.params}]   # tensors may have other shapes elsewhere
        cases.sort(key=lambda c: abs(c.difference) <= c.tolerance)
        with suppress(ArithmeticError):
            found = wrong_term(program, result, wrt[-1] if wrt else None, cases)
            return None if found is None else self.words(key, found)
        return None

    def words(self, key: EntryKey, found: WrongTerm) -> Blame:
        """Message about a wrong part of the formula, quoted from the source."""
        source, name = self.subject.primal.source, called(key)
        place = found.computed or found.used
        span, operation = (None, None) if place is None else (place.span, place.op.spelled or place.op.name)
        if found.used is None:
            return Blame(f"{name} {told(found.factor)} at every point", span, operation)
        text = found.part.name if isinstance(found.part, Var) and found.computed is None else \
            " ".join(source.quoted(span).split()) if source and span else None
        if text is None:
            return Blame(f"what {name} gets from this part {told(found.factor)}", span, operation)
        term = cut(text, LONGEST_TERM)
        part = f"{name} comes from '{term}' alone, and that" if found.whole else f"in {name}, the part that comes from '{term}'"
        return Blame(f"{part} {told(found.factor)}", span, operation)

    def of_all_elements(self, name: str) -> Blame | None:
        """The factor by which a derivative is wrong in all elements at every point."""
        held = [h for key, entries in self.held.items() if tensor_of(called(key)) == name for h in entries]
        lost = SMALL * max(abs(h.ours) for h in held)
        factor = explains([h.ours for h in held], [Difference(h.at, h.theirs - h.ours, h.allowed + lost) for h in held])
        return None if factor is None else Blame(f"{name} {told(factor)} in all elements at every point")


def is_single(x: float) -> bool:
    """Test for a number of single precision."""
    try:
        return bool(struct.unpack("f", struct.pack("f", x))[0] == x)
    except OverflowError:
        return False


# ---------------------------------------------------------------- which entries numbers are

class Returned:
    """Possible results of a function of `primal`, differentiated by `wrt`; `what` it returns, where that is said."""

    def __init__(self, primal: Program, wrt: Sequence[str], what: str | None) -> None:
        self.primal, self.wrt, self.what = primal, list(wrt), what
        self.of = [r.name for r in primal.results]
        n, m = len(self.wrt), len(self.of)
        self.sizes = {"values": m, "first": m * n, "half": m * n * (n + 1) // 2, "whole": m * n * n}
        self.entries: dict[str, Callable[[], list[EntryKey]]] = {
            "values": lambda: [(v, ()) for v in self.of],
            "first": lambda: [(v, (x,)) for v in self.of for x in self.wrt],
            "half": lambda: [(v, pair) for v in self.of for pair in combinations_with_replacement(self.wrt, 2)],
            "whole": lambda: [(v, (x, y)) for v in self.of for x, y in product(self.wrt, repeat=2)]}

    @property
    def longest(self) -> int:
        """The most numbers that can be returned."""
        return min(MOST, sum(self.sizes[part] for part in ("values", "first", "whole")))

    def possible(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Readings of numbers without names, with their parts. Half a Hessian alone is one where that is said: three numbers are
        rather a value and two derivatives."""
        every: list[tuple[str, tuple[str, ...]]] = [
            ("value", ("values",)), ("gradient", ("first",)), ("hessian", ("whole",)), ("all", ("values", "first")),
            ("all", ("values", "first", "half")), ("all", ("values", "first", "whole"))]
        if self.what == "hessian":
            every.append(("hessian", ("half",)))
        yield from ((what, parts) for what, parts in every if self.what in (None, what))

    def count(self, parts: Sequence[str]) -> int:
        return sum(self.sizes[part] for part in parts)

    def by_count(self, count: int) -> list[EntryKey] | None:
        """The entries that so many numbers are, None where they cannot be any. AdError where they can be several."""
        fitting = {what: parts for what, parts in self.possible() if self.count(parts) == count}
        if len(fitting) > 1:
            *others, last = (f"the {what}" for what in fitting)
            raise AdError(f"{plural(count, 'number')} can be {', '.join(others)} or {last}",
                          help=f"say which: ⟦--returns {list(fitting)[1]}⟧")
        if fitting:
            (parts,) = fitting.values()
            return [key for part in parts for key in self.entries[part]()]
        return self.without_zeros(count) if self.what in (None, "all") else None

    def without_zeros(self, count: int) -> list[EntryKey] | None:
        """The entries of a program of ours that leaves out zeros, where it has so many."""
        for derive in (jacobian, hessian)[:1 + (len(self.of) == 1)]:
            results = derive(self.primal, self.wrt).results
            if len(results) == count:
                return [(r.of or r.name, r.wrt) for r in results]
        return None

    def by_name(self, names: Sequence[str]) -> dict[int, EntryKey]:
        """The entries that columns are, by their places; other columns are no entries."""
        parts = ["values", "first", *(["whole"] if any(name.startswith("d2") for name in names) else [])]
        keys = {called(key): key for part in parts for key in self.entries[part]()}
        return {i: keys[name] for i, name in enumerate(names) if name in keys}

    def counts(self) -> str:
        """Possible counts of numbers, for a message."""
        said: dict[str, list[str]] = {}
        for what, parts in self.possible():
            if (number := str(self.count(parts))) not in said.setdefault(what, []):
                said[what].append(number)
        return ", ".join(f"{what} {' or '.join(numbers)}" for what, numbers in said.items())


def called(key: EntryKey) -> str:
    """The usual name of an entry: v, dv_dx, d2v_dx_dy."""
    of, wrt = key
    return partial_name(of, wrt) if wrt else of
