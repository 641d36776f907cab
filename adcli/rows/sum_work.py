"""How sums come about: what each row adds, and native code that adds it to exact records.

`SumWork` sums the results of a program of scalars over columns of its inputs, `ArraySums` results that are arrays. Nothing here
knows a table or a command line.
"""
from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from adcli.codegen.machine.kernel import Kernel, pointers
from adcli.codegen.machine.memory import require_room
from adcli.codegen.rows import exact_sums
from adcli.lang.ir import Values
from adcli.lang.ir.names import Names
from adcli.rows.sums import Key, Shape, Sums, refuse_other_shapes
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
        chunk = max(LEAST_CHUNK, SCRATCH // kernel.entry.outputs)
        self.chunk = max(kernel.lanes, min(CHUNK, chunk) // kernel.lanes * kernel.lanes)
        self.constant = {name: array("d", [x]) * self.chunk for name, x in constant.items()}
        self.zeros = array("i", [0]) * self.chunk
        self.terms = max((len(q.terms) for q in self.summed), default=1)
        self.adders = {q.factors: exact_sums.adder(q.factors, keep) for q in summed}

    def nothing(self, keys: Iterable[Key] = ((),)) -> Sums:
        """The sums of no rows."""
        return Sums({q.name: () for q in self.summed}, [q.factors for q in self.summed], keys)

    def add(self, columns: Values, rows: int, weights: Any = None, keys: Iterable[Key] = ((),), numbers: Any = None) -> Sums:
        """The sums over rows. `columns` has the inputs by name, each a contiguous column of doubles (NumPy's, or array('d')), as
        are the `weights`. Where there are groups, `keys` has these, and `numbers` the position of its key for each row, in a
        column of 32-bit integers."""
        total = self.nothing(keys)
        if numbers is not None:
            numbers = np.frombuffer(numbers, np.int32)
        room = max(1, RECORDS // sum(exact_sums.record(q.factors) for q in self.summed))
        step = exact_sums.MOST_TERMS // self.terms
        step = step if len(total.index) <= room else min(step, room)
        for begin in range(0, rows, step):
            end = min(begin + step, rows)
            which, groups, local = None, np.zeros(1, np.intp), np.zeros(1, np.intp)
            if numbers is not None:
                groups, local = np.unique(numbers[begin:end], return_inverse=True)
                which = {f: (local * width).astype(np.int32) for f, width in total.widths.items()}
            records = {f: exact_sums.records(f, len(groups) * width) for f, width in total.widths.items()}
            levels = [np.frombuffer(status).astype(np.int8) for status in
                      self._run(columns, begin, end, which, weights, records)]
            for f, made in records.items():
                total.add_records(f, made, groups)
            total.add_rows(groups, local, np.concatenate(levels), (end - begin) * self.terms)
        return total

    def _run(self, columns: Values, begin: int, end: int, numbers: Mapping[int, Any] | None, weights: Any,
             records: Mapping[int, array[int]]) -> Iterator[memoryview]:
        """Add rows to records, from the `numbers` of these on where there are several; gives the status levels of some rows after
        the other."""
        kernel, lanes = self.kernel, self.kernel.lanes
        names = [p.name for p in self.signature.inputs]
        given = [(address(self.constant[n]), 0) if n in self.constant else (address(columns[n]), 8) for n in names]
        scratch = [array("d", bytes(8 * self.chunk)) for _ in range(kernel.entry.outputs)]
        into, work = [address(c) for c in scratch], kernel.workspace()
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
            places = {f: address(made) for f, made in records.items()}
            which = {f: address(self.zeros) if numbers is None else address(numbers[f]) + 4 * (start - begin) for f in records}
            for q in self.summed:
                for term in q.terms:
                    self.adders[q.factors](pointers([*(factors[i] for i in term), which[q.factors]]),
                                           pointers([places[q.factors]]), 0, count)
                places[q.factors] += 8 * exact_sums.record(q.factors)
            yield memoryview(scratch[-1])[:count]


class ArraySums:
    """Sums of results that are arrays (or numbers), by their names, element by element, after the sum of the weights, where these
    have a name. The first row says which shapes they have.

    Rows are held until there are enough to add many terms to each record while it is in the processor's cache.
    """

    def __init__(self, names: Sequence[str], weights: str | None = None, keep: bool = True) -> None:
        self.names, self.weights, self.factors = names, weights, 1 if weights is None else 2
        self.adders = {factors: exact_sums.adder(factors, keep) for factors in {1, self.factors}}
        self.shapes: dict[str, Shape] | None = None
        self.total = Sums()
        self.held: list[tuple[int, int]] = []

    def _begin(self, shapes: dict[str, Shape]) -> None:
        self.shapes = shapes
        weights = {} if self.weights is None else {self.weights: ()}
        self.total = Sums({**weights, **shapes}, [1] * len(weights) + [self.factors] * len(shapes), ())
        self.size = sum(map(math.prod, shapes.values()))
        most = max(1, min(MOST_HELD, HELD // max(1, self.size)))
        require_room("rows on their way to a sum", 8 * most * self.size)
        self.rows, self.scale = np.empty((most, self.size)), np.empty(most)

    def add(self, results: Sequence[Any], level: int, key: Key = (), weight: float | None = None) -> None:
        """Add the results of one row: arrays of doubles, or floats. OtherShapes where they have others than those before."""
        shapes = {name: np.shape(x) for name, x in zip(self.names, results, strict=True)}
        if self.shapes is None:
            self._begin(shapes)
        refuse_other_shapes(self.shapes or {}, shapes)
        row, at = self.rows[len(self.held)], 0
        for x in results:
            x = np.reshape(x, -1)
            row[at:at + len(x)] = x
            at += len(x)
        self.scale[len(self.held)] = 1.0 if weight is None else weight
        self.held.append((int(self.total.numbers([key])[0]), level))
        if len(self.held) == len(self.rows):
            self._add_held()

    def _add_held(self) -> None:
        """Add the rows that are held, some elements of all of them after the other."""
        count, found = len(self.held), np.array(self.held).reshape(-1, 2)
        groups, local = np.unique(found[:, 0], return_inverse=True)
        if self.weights is not None:
            self._add_terms(1, 0, self.scale[:count, None], [], groups, local)
        most = max(1, ELEMENTS // max(1, len(groups)))
        for at in range(0, self.size, most):
            self._add_terms(self.factors, at, self.rows[:count, at:at + most],
                            [] if self.weights is None else [self.scale[:count]], groups, local)
        self.total.add_rows(groups, local, found[:, 1], count)
        self.held.clear()

    def _add_terms(self, factors: int, start: int, terms: np.ndarray, scale: list[np.ndarray], groups: np.ndarray,
                   local: np.ndarray) -> None:
        """Add some elements of all rows, each times the scale of its row if there is one."""
        width = terms.shape[1]
        column = np.ascontiguousarray(terms)
        numbers = (local[:, None] * width + np.arange(width)).astype(np.int32)
        scales = [np.repeat(x, width) for x in scale]
        records = exact_sums.records(factors, len(groups) * width)
        self.adders[factors](pointers([*map(address, scales), address(column), address(numbers)]),
                             pointers([address(records)]), 0, numbers.size)
        self.total.add_records(factors, records, groups, start)

    def sums(self) -> Sums:
        """The sums of all rows so far."""
        if self.held:
            self._add_held()
        return self.total


def address(column: Any) -> int:
    """Where the memory of a column begins."""
    if isinstance(column, array):
        return column.buffer_info()[0]
    found: int = column.ctypes.data
    return found
