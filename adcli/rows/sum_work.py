"""How sums come about: what each row adds, and native code that adds it to an exact state.

`SumWork` sums the results of a program of scalars over columns of its inputs, `ArraySums` results that are arrays. Nothing here
knows a table or a command line.

Exact sums of many groups, in arrays: a million groups are a few arrays, not millions of objects.

The limbs of all groups that have the same weight (see `adcli.codegen.rows.exact_sums`) stand in an array of their own, which is
made when the first of them is not 0. So a group takes as many words as its numbers span, and adding the groups of a block is a
few additions of arrays.
"""
from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adcli.codegen.machine.kernel import Kernel, pointers
from adcli.codegen.machine.memory import require_room
from adcli.codegen.rows import exact_sums
from adcli.lang.ir import LEVELS, Values
from adcli.lang.ir.names import Names
from adcli.rows.sums import ExactSum, Group, Key, Sums
from adcli.task.request import Signature

CHUNK = 1 << 14
"""Rows that are computed into scratch columns before they are added: few enough for the processor's cache."""
SCRATCH = 1 << 18
"""Doubles of scratch columns; programs with many results have shorter chunks, but none that are hardly worth a call."""
LEAST_CHUNK = 256
RECORDS = 1 << 20
"""Words of 64 bits that the limbs of all sums take, at most: rows of more groups are added in parts."""

HELD, MOST_HELD, ELEMENTS = 1 << 22, 1 << 12, 1 << 10
"""Doubles, and rows, of results that are held until they are added; and elements whose records the cache has room for."""


# ---------------------------------------------------------------- what is summed

Product = tuple[int, ...]
"""Factors of a term: positions of results; WEIGHT for the weight of the row."""
WEIGHT = -1


class Quantity(NamedTuple):
    """A sum: its name, the products that each row adds to it, all of as many factors, and where it stands in JSON if it is no
    result of its own."""

    name: str
    terms: tuple[Product, ...]
    path: tuple[str, ...] = ()

    @property
    def factors(self) -> int:
        return len(self.terms[0])


def quantities(signature: Signature, gauss_newton: bool = False, weights: str | None = None,
               taken: Iterable[str] = ()) -> tuple[Quantity, ...]:
    """The sums over the results of a derivative: each result; with `gauss_newton` also products of the outputs r and their
    first derivatives J (rᵀr, Jᵀr, and JᵀJ on and above the diagonal), by names that are not `taken`; with weights, each times the
    weight of its row, and the weights alone first, by a name given."""
    scale: Product = () if weights is None else (WEIGHT,)
    found = [] if weights is None else [Quantity(weights, (scale,))]
    found += [Quantity(c.name, ((*scale, i),)) for i, c in enumerate(signature.results)]
    if gauss_newton:
        names = Names([*(c.name for c in signature.results), *(q.name for q in found), *taken])
        found += [Quantity(names.fresh("_".join(path)), tuple((*scale, *t) for t in terms), path)
                  for path, terms in _squares(signature) if terms]
    return tuple(found)


def _squares(signature: Signature) -> Iterable[tuple[tuple[str, ...], list[Product]]]:
    """The products of residuals and their derivatives; what is zero by construction has no term."""
    outputs = {name: i for i, name in enumerate(signature.outputs)}
    first = {(c.of, *c.wrt): i for i, c in enumerate(signature.results) if len(c.wrt) == 1}
    yield ("rtr",), [(i, i) for i in outputs.values()]
    for a in signature.wrt:
        yield ("jtr", a), [(first[r, a], i) for r, i in outputs.items() if (r, a) in first]
    for k, a in enumerate(signature.wrt):
        for b in signature.wrt[k:]:
            yield ("jtj", a, b), [(first[r, a], first[r, b]) for r in outputs if (r, a) in first and (r, b) in first]


# ---------------------------------------------------------------- how it is summed

class SumWork:
    """From columns of inputs to Sums. `constant` are the inputs that have one value for all rows; `keep` says whether code may be
    kept in the compile cache. Several threads may use one at once."""

    def __init__(self, kernel: Kernel, signature: Signature, constant: Mapping[str, float], summed: Sequence[Quantity],
                 keep: bool = True) -> None:
        if kernel.entry.code != "d":
            from adcli.codegen.machine.arrays import of_doubles
            kernel = of_doubles(kernel)
        self.kernel, self.signature, self.summed = kernel, signature, tuple(summed)
        self.names, self.factors = tuple(q.name for q in summed), tuple(q.factors for q in summed)
        chunk = max(LEAST_CHUNK, SCRATCH // kernel.entry.outputs)
        self.chunk = max(kernel.lanes, min(CHUNK, chunk) // kernel.lanes * kernel.lanes)
        self.constant = {name: array("d", [x]) * self.chunk for name, x in constant.items()}
        self.zeros = array("i", [0]) * self.chunk
        self.most = exact_sums.MOST_TERMS // max((len(q.terms) for q in self.summed), default=1)
        self.adders = {q.factors: exact_sums.adder(q.factors, keep) for q in summed}

    def add_columns(self, columns: Values, rows: int, weights: Any = None) -> Sums:
        """The sums over rows. `columns` has the inputs by name, each a contiguous column of doubles (NumPy's, or array('d')), as
        are the `weights`."""
        total = Sums(self.names)
        for begin in range(0, rows, self.most):
            end, levels = min(begin + self.most, rows), [0] * len(LEVELS)
            records = self._records(1)
            for status in self._run(columns, begin, end, None, weights, records):
                count_levels(levels, status)
            total.merge(Sums(self.names, {(): Group(end - begin, levels, [
                ExactSum.of(whole, exact_sums.UNIT * q.factors, specials) for q, made in zip(self.summed, records, strict=True)
                for whole, specials in exact_sums.taken(made, q.factors)])}))
        return total

    def add_groups(self, columns: Values, rows: int, keys: Sequence[Key], numbers: Any,
                   weights: Any = None) -> GroupedSums:
        """The sums over the rows of each group, by their `keys`. `numbers` has the position of its key for each row, in a column
        of 32-bit integers."""
        import numpy as np

        numbers = np.frombuffer(numbers, np.int32) if isinstance(numbers, array) else numbers
        total = GroupedSums(self.names, self.factors, keys)
        room = max(1, RECORDS // sum(exact_sums.record(q.factors) for q in self.summed))
        step = self.most if len(keys) <= room else min(self.most, room)
        for begin in range(0, rows, step):
            end = min(begin + step, rows)
            there, local = np.unique(numbers[begin:end], return_inverse=True)
            records = self._records(len(there))
            levels = [np.frombuffer(status).astype(np.int8) for status in
                      self._run(columns, begin, end, local.astype(np.int32), weights, records)]
            total.add_levels(numbers[begin:end], np.concatenate(levels))
            for k, (q, made) in enumerate(zip(self.summed, records, strict=True)):
                total.add_records(k, made, there, (end - begin) * len(q.terms))
        return total

    def _records(self, groups: int) -> list[array[int]]:
        return [exact_sums.records(q.factors, groups) for q in self.summed]

    def _run(self, columns: Values, begin: int, end: int, numbers: Any, weights: Any,
             records: Sequence[array[int]]) -> Iterator[memoryview]:
        """Add rows to records, by the `numbers` of these where there are several; gives the status levels of some rows after the
        other."""
        kernel, lanes = self.kernel, self.kernel.lanes
        names = [p.name for p in self.signature.inputs]
        given = [(address(self.constant[n]), 0) if n in self.constant else (address(columns[n]), 8) for n in names]
        scratch = [array("d", bytes(8 * self.chunk)) for _ in range(kernel.entry.outputs)]
        into, work = [address(c) for c in scratch], kernel.workspace()
        which = (address(self.zeros), 0) if numbers is None else (address(numbers) - 4 * begin, 4)
        weight = 0 if weights is None else address(weights)
        for start in range(begin, end, self.chunk):
            count = min(self.chunk, end - start)
            whole = count - count % lanes
            kernel(pointers([at + step * start for at, step in given]), pointers(into), 0, whole, work)
            if whole < count:
                rest = [self.constant[n][:1] if n in self.constant else
                        array("d", memoryview(columns[n])[start + whole:start + count].tolist()) for n in names]
                padded = [c + c[-1:] * (lanes - len(c)) for c in rest]
                kernel(pointers([address(c) for c in padded]), pointers([at + 8 * whole for at in into]), 0, lanes, work)
            factors = {WEIGHT: weight + 8 * start, **dict(enumerate(into))}
            for q, made in zip(self.summed, records, strict=True):
                for term in q.terms:
                    self.adders[q.factors](pointers([*(factors[i] for i in term), which[0] + which[1] * start]),
                                           pointers([address(made)]), 0, count)
            yield memoryview(scratch[-1])[:count]


class ArraySums:
    """Sums of results that are arrays (or numbers), element by element: `shapes` has the shape of each result by its name. In the
    Sums every element has a sum of its own, in row-major order, the weights (where there are some) first.

    Rows are held until there are enough to add many terms to each record while it is in the processor's cache.
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], weights: str | None = None, keep: bool = True) -> None:
        import numpy as np
        self.shapes, self.weighted = dict(shapes), weights is not None
        self.sizes = [math.prod(shape) for shape in shapes.values()]
        self.size, self.factors = sum(self.sizes), 1 if weights is None else 2
        self.names = (*([] if weights is None else [weights]),
                      *(name for name, size in zip(shapes, self.sizes, strict=True) for _ in range(size)))
        self.add = exact_sums.adder(self.factors, keep)
        most = max(1, min(MOST_HELD, HELD // max(1, self.size)))
        require_room("rows on their way to a sum", 8 * most * self.size)
        self.rows = np.empty((most, self.size))
        self.held: list[tuple[Key, float]] = []
        self.records: dict[Key, array[int]] = {}
        self.levels: dict[Key, list[int]] = {}
        self.weights: dict[Key, ExactSum] = {}
        self.done = Sums(self.names)

    def add_arrays(self, results: Sequence[Any], level: int, key: Key = (), weight: float | None = None) -> None:
        """Add the results of one row: arrays of doubles, or floats."""
        import numpy as np
        if key not in self.records:
            size = 8 * exact_sums.record(self.factors) * self.size
            require_room("the exact sum of these results", size * (1 + len(self.records)), "name the results to add with --of")
            self.records[key] = exact_sums.records(self.factors, self.size)
            self.levels[key], self.weights[key] = [0] * len(LEVELS), ExactSum()
        self.levels[key][level] += 1
        if weight is not None:
            self.weights[key] += ExactSum.term(weight)
        row, at = self.rows[len(self.held)], 0
        for x, size in zip(results, self.sizes, strict=True):
            row[at:at + size] = np.reshape(x, -1)
            at += size
        self.held.append((key, 1.0 if weight is None else weight))
        if len(self.held) == len(self.rows):
            self._add_held()

    def _add_held(self) -> None:
        """Add the rows that are held, those of a group at a time, some elements of all of them after the other."""
        import numpy as np
        groups: dict[Key, list[int]] = {}
        for i, (key, _) in enumerate(self.held):
            groups.setdefault(key, []).append(i)
        for key, rows in groups.items():
            if sum(self.levels[key]) >= exact_sums.MOST_TERMS:
                self._fold()
            scale = np.array([self.held[i][1] for i in rows])
            begin = address(self.records[key])
            for at in range(0, self.size, ELEMENTS):
                width = min(ELEMENTS, self.size - at)
                column = np.ascontiguousarray(self.rows[rows, at:at + width])
                numbers = np.tile(np.arange(width, dtype=np.int32), len(rows))
                scales = [np.repeat(scale, width)] if self.weighted else []
                self.add(pointers([*map(address, scales), address(column), address(numbers)]),
                         pointers([begin + 8 * exact_sums.record(self.factors) * at]), 0, len(numbers))
        self.held.clear()

    def _fold(self) -> None:
        """Take the sums out of the records, which begin anew."""
        self.done.merge(self._taken())
        for key in self.records:
            self.records[key] = exact_sums.records(self.factors, self.size)
            self.levels[key], self.weights[key] = [0] * len(LEVELS), ExactSum()

    def sums(self) -> Sums:
        """The sums of all rows so far."""
        self._add_held()
        self._fold()
        return self.done

    def _taken(self) -> Sums:
        found = Sums(self.names)
        for key, records in self.records.items():
            each = [ExactSum.of(whole, exact_sums.UNIT * self.factors, specials)
                    for whole, specials in exact_sums.taken(records, self.factors)]
            weights = [self.weights[key]] if self.weighted else []
            found.groups[key] = Group(sum(self.levels[key]), list(self.levels[key]), [*weights, *each])
        return found


def count_levels(levels: list[int], status: memoryview) -> None:
    """Count rows by their status levels."""
    if status.cast("B") == bytes(status.nbytes):   # as in most tables
        levels[0] += len(status)
        return
    for level, count in Counter(status.tolist()).items():
        levels[int(level)] += count


def address(column: Any) -> int:
    """Where the memory of a column begins."""
    if isinstance(column, array):
        return column.buffer_info()[0]
    found: int = column.ctypes.data
    return found


# ---------------------------------------------------------------- grouped sums

FEW = 1 << 14
"""Groups that always have room."""
KEY_BYTES = 300
"""Bytes that a group takes for its texts, about."""
STEP = 1 << 12
"""Groups whose sums are put together at a time."""
CARRY = 32
"""Bits of a limb that are its own."""


class GroupedSums:
    """`Sums` for many groups: sums by `names`, each of products of so many `factors`, and the groups in the order in which
    they were first seen."""

    def __init__(self, names: tuple[str, ...], factors: Sequence[int], keys: Sequence[Key] = ()) -> None:
        self.names, self.factors = names, tuple(factors)
        self.index = {key: n for n, key in enumerate(keys)}
        self.capacity = max(64, len(keys))
        self.levels = np.zeros((self.capacity, len(LEVELS)), np.int64)
        self.limbs: dict[tuple[int, int], np.ndarray] = {}
        self.terms = 0

    # ------------------------------------------------------------ what is added

    def add_records(self, which: int, records: array[int], numbers: np.ndarray, terms: int) -> None:
        """Add records, each of at most so many terms, to sum `which` of the groups with these numbers, which all differ."""
        found = np.frombuffer(records, np.int64).reshape(len(numbers), -1)
        for word in np.flatnonzero((found != exact_sums.BIAS).any(axis=0)).tolist():
            self._limb(which, word)[numbers] += found[:, word] - exact_sums.BIAS
        self._count(terms)

    def add_levels(self, numbers: np.ndarray, levels: np.ndarray) -> None:
        """Count rows: the number of its group and its status level for each."""
        places = numbers.astype(np.int64) * len(LEVELS) + levels
        self.levels += np.bincount(places, minlength=self.levels.size).reshape(self.levels.shape)

    def merge(self, other: GroupedSums) -> None:
        """Add the rows of others, which come after these."""
        if (self.names, self.factors) != (other.names, other.factors):
            raise ValueError("sums of different things")
        index, count = self.index, len(other.index)
        numbers = np.array([index.setdefault(key, len(index)) for key in other.index], np.int64)
        self._grow()
        self.levels[numbers] += other.levels[:count]
        for place, limb in other.limbs.items():
            self._limb(*place)[numbers] += limb[:count]
        self._count(other.terms)

    def _limb(self, which: int, word: int) -> np.ndarray:
        """Word `word` of the records of sum `which`, for all groups."""
        if (which, word) not in self.limbs:
            self._require(8 * self.capacity)
            self.limbs[which, word] = np.zeros(self.capacity, np.int64)
        return self.limbs[which, word]

    def _grow(self) -> None:
        """Have room for all groups, and for as many again."""
        old = self.capacity
        if len(self.index) <= old:
            return
        self.capacity = 2 * len(self.index)
        self._require((self.capacity - old) * (KEY_BYTES + 8 * (len(LEVELS) + len(self.limbs))))
        self.levels = np.pad(self.levels, ((0, self.capacity - old), (0, 0)))
        for place in self.limbs:
            self.limbs[place] = np.pad(self.limbs[place], (0, self.capacity - old))

    def _require(self, size: int) -> None:
        if self.capacity > FEW:
            require_room(f"sums of {len(self.index):,} groups", size, "group by columns of fewer different texts")

    def _count(self, terms: int) -> None:
        """Carry from limb to limb before one can overflow: until then each moves by less than 2^33 a term."""
        self.terms += terms
        if self.terms < exact_sums.MOST_TERMS:
            return
        for which, factors in enumerate(self.factors):
            for word in range(exact_sums.limbs(factors) - 1):
                if (which, word) in self.limbs:
                    limb = self.limbs[which, word]
                    carried = (limb + (1 << CARRY - 1)) >> CARRY   # what stays is small, of either sign
                    if carried.any():
                        limb -= carried << CARRY
                        self._limb(which, word + 1)[:] += carried
        self.terms = 1

    # ------------------------------------------------------------ what there is

    @property
    def rows(self) -> int:
        return int(self.levels.sum())

    def rough(self, smooth: bool) -> bool:
        """True if a row is not finite, or not `smooth` where all must be."""
        return any(word >= exact_sums.limbs(self.factors[which]) for which, word in self.limbs) or \
            (smooth and bool(self.levels[:, 1:].any()))

    def items(self) -> Iterator[tuple[Key, Group]]:
        """Each group that has rows, with its key."""
        keys = iter(self.index)
        for begin in range(0, len(self.index), STEP):
            end = min(begin + STEP, len(self.index))
            each = zip(*(self._sums(which, begin, end) for which in range(len(self.names))), strict=True)
            for key, levels, sums in zip(islice(keys, end - begin), self.levels[begin:end].tolist(), each, strict=True):
                if rows := sum(levels):
                    yield key, Group(rows, levels, list(sums))

    def _sums(self, which: int, begin: int, end: int) -> list[ExactSum]:
        """One sum of some groups."""
        words = exact_sums.limbs(factors := self.factors[which])
        used = sorted(word for k, word in self.limbs if k == which)
        whole, low = [0] * (end - begin), words
        for word in reversed([word for word in used if word < words]):
            up, low = CARRY * (low - word), word
            whole = [(n << up) + more for n, more in zip(whole, self.limbs[which, word][begin:end].tolist(), strict=True)]
        exponent = CARRY * low + exact_sums.UNIT * factors
        if not used or used[-1] < words:
            return [ExactSum.of(n, exponent) for n in whole]
        zeros = np.zeros(end, np.int64)
        nan, up, down = (self.limbs.get((which, words + k), zeros)[begin:end].tolist() for k in range(3))
        return [ExactSum.of(n, exponent, specials) for n, specials in zip(whole, zip(nan, up, down, strict=True), strict=True)]

    def sums(self) -> Sums:
        """The sums as objects."""
        return Sums(self.names, dict(self.items()))

    def packed(self) -> dict[str, Any]:
        """See `Sums.packed`."""
        return self.sums().packed()


AnySums: TypeAlias = Sums | GroupedSums
