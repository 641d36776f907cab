"""Methods to check derivatives that know no rule, or know them in another way: each looks at a subject at points.

Everything is measured against one allowance: the running error bound of the derivative program
(adcli.lang.analyse.rounding), which says how far rounding can have carried each entry at this very point. An entry that
cancellation has left few digits is so allowed to have few, and one that has all its digits is held to them. Nothing is
compared where the status of the program is not smooth with methods that assume it; forward and reverse mode are defined to
agree there too.

Steps are parts of the size of an input. Where differences or expansions over them disagree with a derivative, they are taken
again as parts of the length over which the value goes on as it begins, and what that length cannot be found for is not compared.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from adcli.answers.diagnose import described
from adcli.check.subject import EntryKey, Seen, Subject, Tally, evaluated, tamed
from adcli.codegen.rows.expand import expand
from adcli.codegen.rows.native_arithmetic import NATIVE
from adcli.lang.analyse.rounding import NEAR, Bounded, Rounding
from adcli.lang.enclosures import precise_arithmetic
from adcli.lang.ir.errors import install
from adcli.lang.operations.precision import DOUBLE, Precision
from adcli.lang.verify.differences import UNRESOLVED

if TYPE_CHECKING:
    from adcli.lang.verify.differences import Remainder

MARGIN = 2.0
"""The error bound is of first order; so many times it is allowed."""
POINTS, PRECISE = 500_000, 80_000
"""Operations to evaluate: by the reference evaluator at all points, and in multiple precision."""
EXACTLY = 1e-15
"""Relative difference of what knows no rounding."""
TINY = 1e-25
"""A part of a number that is too small to show in a double."""
BELOW_ROUNDING = 1e-60
"""Size of a rounding error in multiple precision, relative to one in doubles."""

Settled = tuple[Any, Any]
"""A derivative in multiple precision, and its error bar."""


def modes(subject: Subject, seen: Sequence[Seen]) -> list[Tally]:
    """Forward mode against reverse mode, in the reference evaluator and native."""
    tally = Tally("forward against reverse")
    for s in seen:
        for k in subject.entries():
            (x, ex), (y, ey) = s.forward[k], s.reverse[k]
            allowed = MARGIN * (ex + ey)
            tally.compare(subject.name(k), s.at, x, y, allowed, len(k[1]))
            tally.compare(subject.name(k), s.at, s.native[1][k], s.native[0][k], allowed, len(k[1]))
    return [tally]


def evaluators(subject: Subject, seen: Sequence[Seen]) -> list[Tally]:
    """Native code against the reference evaluator, values too. That has the functions of native code, operation by operation,
    so these are compared with those of Python as well: one comparison where they are farther apart than the table allows."""
    tally = Tally("native against reference")
    for s in seen:
        for e, got, expected, allowed in s.strange:
            tally.compare(described(e, ""), s.at, got, expected, allowed)
        for native, reference in zip(s.native, (s.reverse, s.forward), strict=True):
            for k, (x, bound) in reference.items():
                tally.compare(subject.name(k), s.at, native[k], x, 2 * MARGIN * bound, len(k[1]))
    return [tally]


def other_precision(subject: Subject, seen: Sequence[Seen]) -> list[Tally]:
    """Native code in another precision against the reference evaluator in doubles. Where nothing overflows it has numbers."""
    precision = subject.precision
    if precision is DOUBLE:
        return []
    tally = Tally(in_precision(precision))
    for s, native, bounded, doubles in subject.in_precision(seen):
        sure = subject.whole and all(bound < math.inf for _, bound in bounded.values())
        for k, (_, bound) in bounded.items():
            x, near = doubles[k]
            allowed = MARGIN * (2 * bound + near)
            compare = tally.require if sure and precision.holds(abs(x) + allowed) else tally.compare
            compare(subject.name(k), s.at, native[k], x, allowed, len(k[1]))
            tally.count_digits(native[k], x, precision)
    return [tally]


# ---------------------------------------------------------------- differences in multiple precision

def precise(subject: Subject, seen: Sequence[Seen]) -> list[Tally]:
    """Differences of the value in multiple precision, against both modes as native code gives them, and against the
    reverse program in multiple precision: that is free of rounding and has the rules alone. Where no path leads from an input
    to an output the derivative is 0."""
    tally = Tally("multiple precision")
    if not has_precision():
        tally.note = f"not run: {install('python-flint')}"
        return [tally]
    smooth = list(subject.smooth(seen, tally))
    ruled = [id(s) for s in subject.sampled(smooth, evaluated(subject.reverse.machine), PRECISE, Tally(""), "points")]
    every = list(dict.fromkeys(k[1] for k in subject.entries()))
    moved = [(s, wrt) for s in smooth for wrt in every if subject.reached(wrt)]
    jobs = subject.sampled(moved, 8 * evaluated(subject.machine), PRECISE, tally, "columns")
    zero = precise_arithmetic(30).constant(0.0)
    for s in smooth:
        known: dict[EntryKey, Settled] = {(n, wrt): (zero, zero) for wrt in every
                                          for n in subject.some_of if n not in subject.reached(wrt)}
        by_differences(subject, s, [wrt for at, wrt in jobs if at is s], known, tally, id(s) in ruled)
        for key, settled in known.items():
            for got, exact, allowed in against_native(s, key, settled):
                tally.compare(subject.name(key), s.at, got, exact, allowed, len(key[1]))
                tally.count_digits(got, settled[0])
        for key, compared in by_rules(subject, s, known).items() if id(s) in ruled else ():
            tally.compare(subject.name(key), s.at, *compared, len(key[1]))
    return [tally]


def by_differences(subject: Subject, s: Seen, wrts: Sequence[tuple[str, ...]], known: dict[EntryKey, Settled], tally: Tally,
                   ruled: bool) -> None:
    """Add the derivatives by some inputs at a point to those `known`, by steps in the scale of the value where steps in the size
    of the inputs are not settled or disagree."""
    def wrong(key: EntryKey) -> bool:
        return key not in found or any(abs(got - x) > allowed for got, x, allowed in against_native(s, key, found[key]))
    found = {k: q for wrt in wrts for k, q in quotients(subject, s, wrt, local=False).items()}
    doubtful = {(n, wrt) for wrt in wrts for n in subject.reached(wrt) if wrong((n, wrt))}
    if ruled:
        doubtful |= {k for k, (got, want, allowed) in by_rules(subject, s, found).items() if not abs(got - want) <= allowed}
    for wrt in dict.fromkeys(wrt for wrt in wrts if any(k[1] == wrt for k in doubtful)):
        again = quotients(subject, s, wrt, local=True)
        for key in [(n, wrt) for n in sorted(subject.reached(wrt)) if (n, wrt) in doubtful]:
            found.pop(key, None)
            if not subject.shown(s, key[0], wrt):
                tally.skip(UNRESOLVED)
            elif key in again:
                found[key] = again[key]
            else:
                tally.skip("no precision settles it")
    known.update(found)


def quotients(subject: Subject, s: Seen, wrt: tuple[str, ...], local: bool) -> dict[EntryKey, Settled]:
    """The derivatives of all outputs by some inputs that multiple precision settles."""
    from adcli.lang.verify.differences import derivative
    exact, sizes = precise_arithmetic(30).constant, subject.sizes(s)
    lengths = [subject.length(s, x, local) for x in wrt]
    enough = {n: nothing_left(s.reverse[n, wrt], sizes[n], [exact(h) for h in lengths]) for n in subject.some_of}
    moves = [{x: h} for x, h in zip(wrt, lengths, strict=True)]
    standing = derivative(subject.chosen, s.at, moves, subject.agreed, sizes, enough)
    found = {}
    for name in sorted(subject.reached(wrt) & standing.values.keys()):
        want, apart = standing.values[name], standing.apart[name]
        want = want if abs(want) > apart else 0 * want
        for h in lengths:
            want, apart = want / h, apart / h
        found[name, wrt] = want, apart
    return found


def against_native(s: Seen, key: EntryKey, settled: Settled) -> list[tuple[float, float, float]]:
    """An entry as native code has it in both modes, as it should be, and the difference that is allowed."""
    exact, error = map(float, settled)
    return [(native[key], exact, MARGIN * bound + 2 * math.ulp(exact) + error)
            for native, (_, bound) in zip(s.native, (s.reverse[key], s.forward[key]), strict=True)]


def by_rules(subject: Subject, s: Seen, known: dict[EntryKey, Settled]) -> dict[EntryKey, tuple[float, float, float]]:
    """The entries `known` from the derivative program itself in multiple precision, where nothing is lost by rounding, as they
    should be, and the difference that is allowed."""
    from adcli.lang.verify.differences import same_as_program
    wanted = {subject.name(k): (want, EXACTLY * abs(want) + apart + BELOW_ROUNDING * tamed(s.reverse[k]))
              for k, (want, apart) in known.items()}
    found = same_as_program(subject.reverse.program, s.at, wanted)
    return {k: (float(found[n]), *map(float, wanted[n])) for k in known for n in [subject.name(k)]}  # type: ignore[misc]


def nothing_left(bounded: Bounded, size: float, lengths: Sequence[Any]) -> Any:
    """Distance from 0 up to which an entry counts as 0, times the scales of its inputs: its rounding error; where nothing was
    rounded, a small part of it, or of the value it is the derivative of, whose terms have this size."""
    got, bound = bounded
    if bound < math.inf and (got or bound):
        return math.prod((max(bound, TINY * abs(got)), *lengths))
    return TINY * size


def directions(subject: Subject) -> dict[str, float]:
    """A random direction, in parts of a length in each input."""
    return {x: subject.random.choice((-1, 1)) * subject.random.uniform(0.5, 1) for x in subject.wrt}


# ---------------------------------------------------------------- the remainders of expansions

def taylor(subject: Subject, seen: Sequence[Seen]) -> list[Tally]:
    """The slopes of the remainders of Taylor's expansion along a random direction."""
    tallies = [Tally("Taylor remainder, gradient"), Tally("Taylor remainder, Hessian")]
    if not has_precision() or not subject.wrt:
        for t in tallies:
            t.note = f"not run: {install('python-flint')}" if subject.wrt else None
        return tallies
    twice = subject.tangents_twice
    orders = 1 if twice is None else 2
    cost = 4 * evaluated(expand(twice or subject.tangents))
    for s in subject.sampled(list(subject.smooth(seen, tallies[0])), cost, PRECISE, tallies[0], "points"):
        way = directions(subject)
        rests = expansions(subject, s, way, local=False)
        doubtful = [n for n, rest in rests.items() if rest is None or not all(rest.right[:orders])]
        again = expansions(subject, s, way, local=True) if doubtful else {}
        for name, rest in {**rests, **{n: again[n] for n in doubtful}}.items():
            if rest is None or (name in doubtful and not subject.shown(s, name, subject.some_wrt)):
                tallies[0].skip("pieces change over every step" if rest is None else UNRESOLVED)
                continue
            for t, order in zip(tallies[:orders], (0, 1), strict=False):
                t.enter_slope(name, s.at, rest.slopes[order], order + 2, rest.right[order])
    tallies[1].skipped, tallies[1].note = tallies[0].skipped, tallies[0].note if twice else "not run: the program is too long"
    return tallies


def expansions(subject: Subject, s: Seen, way: dict[str, float], local: bool) -> dict[str, Remainder | None]:
    """Taylor remainders of every output along a direction."""
    from adcli.lang.verify.differences import remainders
    machine = expand(subject.primal)
    rounding = Rounding(machine, s.at, NEAR, arithmetic=NATIVE)
    noise = {r.name: BELOW_ROUNDING * tamed(rounding.of(r.atom)) for r in machine.results}
    direction = {x: part * subject.length(s, x, local) for x, part in way.items()}
    return remainders(subject.primal, subject.tangents_twice or subject.tangents, s.at, direction, noise)


METHODS: tuple[Callable[[Subject, Sequence[Seen]], list[Tally]], ...] = (
    modes, evaluators, other_precision, precise, taylor)


def has_precision() -> bool:
    """Test for an installed mpmath."""
    return find_spec("flint") is not None


def in_precision(precision: Precision) -> str:
    """The name of the method that looks at code in a precision; none for doubles, which all methods look at."""
    return "" if precision is DOUBLE else f"{precision.name} precision against double"
