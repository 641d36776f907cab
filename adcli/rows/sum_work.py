"""How sums come about: what each row adds, and native code that adds it to exact records.

`SumWork` sums the results of a program of scalars over columns of its inputs, `ArraySums` results that are arrays. Nothing here
knows a table or a command line.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from adcli.codegen.machine.arrays import addresses, compute, of_doubles
from adcli.codegen.machine.kernel import Kernel, pointers
from adcli.codegen.machine.memory import require_room
from adcli.codegen.rows import exact_sums
from adcli.lang.ir import LEVELS, Values
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


class SumNames(NamedTuple):
    """Names of the columns of a sum: the groups by, the number of rows, the weights (None: there are none), and the number
    of rows of each status level."""

    groups: tuple[str, ...]
    rows: str
    weights: str | None
    levels: tuple[str, ...]


def free_names(results: Iterable[str], groups: tuple[str, ...], weighted: bool) -> SumNames:
    """Names that the results and the groups leave free."""
    free = Names([*results, *groups])
    return SumNames(groups, free.fresh("rows"), free.fresh("weights") if weighted else None,
                    tuple(free.fresh(f"rows_{level}") for level in LEVELS))


# ---------------------------------------------------------------- how it is summed

class SumWork:
    """From columns of inputs to Sums. `constant` are the inputs that have one value for all rows; `keep` says whether code may be
    kept in the compile cache. Several threads may use one at once."""

    def __init__(self, kernel: Kernel, signature: Signature, constant: Mapping[str, float], summed: Sequence[Quantity],
                 keep: bool = True) -> None:
        self.kernel, self.signature, self.summed = of_doubles(kernel), signature, tuple(summed)
        chunk = max(LEAST_CHUNK, SCRATCH // kernel.entry.outputs)
        self.chunk = max(kernel.lanes, min(CHUNK, chunk) // kernel.lanes * kernel.lanes)
        self.constant = {name: np.full(self.chunk, x) for name, x in constant.items()}
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
        room = max(1, RECORDS // sum(exact_sums.record(q.factors) for q in self.summed))
        step = exact_sums.MOST_TERMS // self.terms
        step = step if len(total.index) <= room else min(step, room)
        for begin in range(0, rows, step):
            end = min(begin + step, rows)
            which, groups, local = None, np.zeros(1, np.intp), np.zeros(1, np.intp)
            if numbers is not None:
                groups, local = np.unique(np.asarray(numbers)[begin:end], return_inverse=True)
                which = {f: (local * width).astype(np.int32) for f, width in total.widths.items()}
            records = {f: no_records(f, len(groups), width) for f, width in total.widths.items()}
            levels = [*self._run(columns, begin, end, which, weights, records)]
            for f, made in records.items():
                total.add_records(f, made, groups)
            total.add_rows(groups, local, np.concatenate(levels), (end - begin) * self.terms)
        return total

    def _run(self, columns: Values, begin: int, end: int, numbers: Mapping[int, np.ndarray] | None, weights: Any,
             records: Mapping[int, np.ndarray]) -> Iterator[np.ndarray]:
        """Add rows to records, by the `numbers` of these where there are several; gives the status levels of some rows after the
        other."""
        known = {name: np.asarray(column) for name, column in columns.items()}
        scratch = [np.empty(self.chunk) for _ in range(self.kernel.entry.outputs)]
        zeros = np.zeros(self.chunk, np.int32)
        for start in range(begin, end, self.chunk):
            count = min(self.chunk, end - start)
            here, first = slice(start, start + count), slice(start - begin, start - begin + count)
            found = [column[:count] for column in scratch]
            compute(self.kernel, [self.constant[p.name][:count] if p.name in self.constant else known[p.name][here]
                                  for p in self.signature.inputs], found, count, 1, new=True)
            factors = dict(enumerate(found))
            if weights is not None:
                factors[WEIGHT] = np.asarray(weights)[here]
            done = dict.fromkeys(records, 0)
            for q in self.summed:
                f = q.factors
                which = zeros[:count] if numbers is None else numbers[f][first]
                for term in q.terms:
                    add_products(self.adders[f], [factors[i] for i in term], which, records[f][0, done[f]:])
                done[f] += 1
            yield found[-1].astype(np.int8)


def no_records(factors: int, groups: int, width: int) -> np.ndarray:
    """Records of sums of so many factors, as many for each group, to which nothing has been added."""
    return np.full((groups, width, exact_sums.record(factors)), exact_sums.BIAS, np.int64)


def add_products(add: Kernel, factors: Sequence[np.ndarray], numbers: np.ndarray, records: np.ndarray) -> None:
    """Add the product of the factors in each row to a record, by the numbers of these from the first one on."""
    add(pointers(addresses([*factors, numbers])), pointers(addresses([records])), 0, len(numbers))


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
        numbers = (local[:, None] * width + np.arange(width)).astype(np.int32)
        records = no_records(factors, len(groups), width)
        add_products(self.adders[factors], [*(np.repeat(x, width) for x in scale), terms.ravel()],
                     numbers.ravel(), records)
        self.total.add_records(factors, records, groups, start)

    def sums(self) -> Sums:
        """The sums of all rows so far."""
        if self.held:
            self._add_held()
        return self.total
