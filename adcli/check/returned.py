"""Which entries the numbers are that somebody's function returns: by their names, or by how many there are.

Without names the order is that of our own programs: the outputs; the first derivatives, those of an output by all inputs
together; the second ones, of each output a whole matrix by rows, or its upper half. What a program of ours leaves out
because it is zero by construction may be left out.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations_with_replacement, product

from adcli.check.subject import EntryKey
from adcli.lang.derive.derivatives import hessian, jacobian, partial_name
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError, plural

MOST = 1 << 22
"""Numbers that one call may return."""


class Returned:
    """What a function of `primal` may return, differentiated by `wrt`; `what` it does return, where that is said."""

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
        """What numbers without names may be, and its parts. Half a Hessian alone is one where that is said: three numbers are
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
        """How many numbers there can be, for a message."""
        said: dict[str, list[str]] = {}
        for what, parts in self.possible():
            if (number := str(self.count(parts))) not in said.setdefault(what, []):
                said[what].append(number)
        return ", ".join(f"{what} {' or '.join(numbers)}" for what, numbers in said.items())


def called(key: EntryKey) -> str:
    """The usual name of an entry: v, dv_dx, d2v_dx_dy."""
    of, wrt = key
    return partial_name(of, wrt) if wrt else of
