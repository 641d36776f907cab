"""A nest: loops for a comprehension, what each of them is for, and about how long they take.

What a loop does with a comprehension's accesses follows from how these move with its index.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from adcli.lang.ir import Atom, Var, shape_of
from adcli.lang.ir.affine import Affine, Index, atoms, bounds, linear, slope
from adcli.lang.ir.comprehension import Comprehension, Range, Read, Subscript, atoms_in, fixed_indices
from adcli.lang.sizes.binding import number

ALONE = 3.0
"""How much longer a row takes that is in no whole tile."""
SHARED_EVENLY = 16
"""Values of an index beyond which it is shared, whatever stands inside of it."""
STILL, CONSECUTIVE, STRIDED, WILD = range(4)
"""How an access moves with an index: not at all, to the next element, by a constant number of elements, in another way."""
COSTS = (0.3, 1.0, 8.0)
ACROSS = 6.0
"""What adding up the lanes of a register costs, in vector instructions."""
SCRATCH = 1 << 17
"""Numbers in copies that are made; they lie on the stack."""
PIECE = 256
"""Points of a sum that are done for all elements before others are: the copies of a panel fill about the first
cache."""
LONG_SUM = 512
"""Points of a sum beyond which each piece has sums of its own, which are added up; a shorter one is one piece. What is read
along a vector for more points takes twice as long, if it is not copied to one place."""
BAND = 32
"""Rows that are done for all panels of a group before others are; whole tiles."""
GROUP = 1 << 15
"""Numbers in the copies that are made together, at most, unless one panel has more."""
FIRST_CACHE, SECOND_CACHE = 1 << 12, 1 << 17
"""Numbers over which what is read along a vector may spread that the next tiles of rows find in a cache again."""
FROM_SECOND, FROM_AFAR = 0.25, 6.0
"""What a register of it takes longer from the second cache, and from behind that, in vector instructions."""
MOST_FACTORS = 10_000
"""Factors beyond which hardly any product still changes: it is 0 or infinite."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """For each value of index `new`, index `other`, which moves by `step`, has about `length` / |`step`| values by guards."""

    new: Index
    other: Index
    step: Affine
    length: Affine


@dataclass(frozen=True, slots=True, eq=False)
class StepBlock:
    """Only some values of an index are done, which cells of `env` say; with `adds` what they come to is added to what is there,
    but for the first block."""

    index: Index
    adds: bool
    names: tuple[str, str, str]
    """The sizes that are the first value, the one behind the last, and 0 for the first block."""


@dataclass(frozen=True, slots=True, eq=False)
class IndexPower:
    """A power of a body with the value `result`, whose `exponent` is made of indices. It takes one multiplication where the
    exponent grows by 1 from turn to turn of the loop `along` an index, from `least` or more on; else as many as the exponent."""

    result: Var
    exponent: Affine
    along: Index | None
    least: int


@dataclass(frozen=True, slots=True, eq=False)
class Nest:
    """Loops for a comprehension whose arguments are `args`.

    The loops are over `outer`, the `tile` index, the `vector` index where it is in the result, `inner`, and the `vector` index
    where it is reduced. In a tile `rows` values of the tile index and `blocks` registers of the vector index are computed
    together. With `scatter` there are no accumulators. With `packed` the vector index runs outside of the tile's, and what is
    read along it, the same for all rows, is copied first to where it lies together. The copies of what is `kept` are made outside
    of the nest, each in a tensor of its own. With `last` that index of the result runs innermost of all, inside of the reduced
    vector index, and each of its values has accumulators in memory. Guards that are `late` say of an element whether it is
    stored: whole tiles are computed wherever it is for any of their elements. Those that are `by_rows` limit the innermost index
    differently for the rows of a tile, which have most of its range in common. With `beside` a tile has `columns` values of that
    index, too: number t of its points is row t mod `rows` of column t div `rows`.
    """

    op: Comprehension
    args: tuple[Atom, ...]
    outer: tuple[Index, ...]
    inner: tuple[Index, ...]
    vector: Index | None = None
    tile: Index | None = None
    rows: int = 1
    blocks: int = 1
    reduces: bool = False
    scatter: bool = False
    per_point: float = 1.0
    packed: tuple[Read, ...] = ()
    kept: tuple[tuple[Read, Var], ...] = ()
    windows: tuple[Window, ...] = ()
    powers: tuple[IndexPower, ...] = ()
    last: Index | None = None
    late: tuple[Affine, ...] = ()
    by_rows: tuple[Affine, ...] = ()
    block: StepBlock | None = None
    beside: Index | None = None
    columns: int = 1

    @property
    def pieces(self) -> Index | None:
        """The reduced index whose range is done in pieces, in turn for all elements, so that what is copied and what is read of
        other tensors for a piece stays near: as many values as make `PIECE` points. Their sums are added up where they are
        stored."""
        return self.inner[0] if self.packed and self.op.onto is None and len(self.late) == len(self.op.guards) else None

    @property
    def adds(self) -> bool:
        """Whether several calls add to a result."""
        return self.block is not None and self.block.adds

    def limits_last(self, g: Affine) -> bool:
        """Whether a guard limits the innermost index by rows, step by step, and no other that is reduced or vectorised."""
        last = self.inner[-1] if self.inner else None
        return (last is not None and slope(g, last).number in (1, -1)
                and not indices(g) & {*self.inner[:-1], *([self.vector] if self.vector else [])})

    @property
    def shared(self) -> Index | None:
        """The index whose values threads can share: that of the outermost loop, if no two of them write one element; or that of
        a loop inside of those, where they are known to have too few values to be shared evenly."""
        fixed, found = fixed_indices(self.op.ranges, self.op.write), None
        for index in self.order():
            if index not in fixed or (found is not None and index in self.apart):
                break
            found = found or index
            few = (self.range(index).high - self.range(index).low).number
            if few is None or few >= SHARED_EVENLY:
                return index
        return found

    def whole(self, lanes: int) -> int:
        """How many values of that index a tile has; of one that is nearly as quick with fewer registers, a register."""
        if self.shared is self.vector and not self.reduces:
            return lanes * (self.blocks if self.packed else 1)
        return self.rows if self.shared is self.tile else self.columns if self.shared is self.beside else 1

    @property
    def apart(self) -> set[Index]:
        """Indices whose loops others limit, or that are done in blocks of time: their ends are not known outside of the nest."""
        block = set() if self.block is None else {self.block.index}
        guarded = {i for g in self.op.guards for i in indices(g)}
        return block | guarded | {r.index for r in self.op.ranges if indices(r.low) or indices(r.high)}

    def order(self) -> Iterator[Index]:
        """The indices, the outermost loop's first."""
        yield from self.outer
        both = [i for i in (self.tile, self.beside, None if self.reduces else self.vector) if i is not None]
        yield from reversed(both) if self.packed else both
        yield from self.inner
        if self.vector is not None and self.reduces:
            yield self.vector
        if self.last is not None:
            yield self.last

    @property
    def across(self) -> list[Index]:
        """The indices of which a tile has several values."""
        return [i for i in (self.tile, self.beside) if i is not None]

    def outer_of(self, s: Read) -> list[Index]:
        """The outer indices that a read has."""
        found = atoms_in([s])
        return [i for i in self.outer if i in found]

    def range(self, index: Index) -> Range:
        return next(r for r in self.op.ranges if r.index is index)

    def cost(self, sizes: Mapping[str, int], lanes: int, steps: int = 1) -> float:
        """About how many vector instructions the nest takes at each of so many steps of a loop."""
        lengths = {r.index: max(0, number(r.high, sizes) - number(r.low, sizes)) for r in self.op.ranges}
        for w in self.windows:
            reach = number(w.length, sizes) + (lanes - 1 if w.new is self.vector else 0)
            lengths[w.other] = min(lengths[w.other], -(-reach // max(1, abs(number(w.step, sizes)))))
        total = elements = 1.0
        for index, n in lengths.items():
            together = self.rows if index is self.tile else self.columns if index is self.beside else 1
            total *= -(-n // lanes) if index is self.vector else n + (ALONE - 1) * (n % together)
            elements *= 1 if index in self.inner or index is self.vector else n
        if self.packed and self.tile is not None:
            if self.scratch(sizes, lanes) > SCRATCH:
                return float("inf")
            times = {s: 1 / steps for s, _ in self.kept}
            copied = sum((COSTS[movement(s.subscripts, self.vector)] + 1 + self.far(s, lengths, sizes)) * times.get(s, 1)
                         for s in self.packed if self.vector is not None)
            return total * (self.per_point + copied / max(1, lengths[self.tile]))
        for p in self.powers:
            if p.along is None:
                total *= 1 + min(MOST_FACTORS, max(abs(x) for x in self.ends(p.exponent, sizes)))
        per_point = self.per_point
        if self.tile is not None and not self.reduces:
            per_point *= 2 if prod(lengths[i] for i in self.inner) > LONG_SUM else 1
            per_point += sum(self.far(s, lengths, sizes) for s in self.shared_by_rows) / self.rows
        return total * per_point + (elements * ACROSS if self.reduces else 0)

    @property
    def shared_by_rows(self) -> list[Read]:
        """What is read along the vector, the same for all rows of a tile."""
        return [s for _, s in self.op.reads() if self.vector is not None and self.tile is not None
                and movement(s.subscripts, self.vector) != STILL and movement(s.subscripts, self.tile) == STILL]

    def far(self, s: Read, lengths: Mapping[Index, int], sizes: Mapping[str, int]) -> float:
        """What a register of a read takes longer that comes from a cache, if all that the loops inside of those over `outer` read
        comes again for each tile: by how many numbers may lie from the first to the last."""
        stride, spread = 1, 0
        for x, extent in reversed(list(zip(s.subscripts, shape_of(self.args[s.arg]), strict=True))):
            steps = sum(lengths[i] - 1 for i in indices(x) - {*self.outer})
            length = number(extent, sizes)
            stride, spread = stride * length, spread + stride * min(length, steps)
        return 0.0 if spread < FIRST_CACHE else FROM_SECOND if spread < SECOND_CACHE else FROM_AFAR

    def ends(self, x: Affine, sizes: Mapping[str, int]) -> tuple[int, int]:
        """The least and the greatest value of a sum of multiples of indices, or near them."""
        low, high = bounds(x, {i: (self.range(i).low, self.range(i).high - 1) for i in x.indices()})
        return (number(low, sizes), number(high, sizes)) if not (indices(low) | indices(high)) else (0, 64)

    def scratch(self, sizes: Mapping[str, int], lanes: int) -> int:
        """Numbers in the copies."""
        lengths = {r.index: max(0, number(r.high, sizes) - number(r.low, sizes)) for r in self.op.ranges if r.index in self.inner}
        if (i := self.pieces) is not None:
            others = prod(n for j, n in lengths.items() if j is not i)
            lengths[i] = min(lengths[i], max(1, LONG_SUM // max(1, others)))
        each = lanes * self.blocks * (len(self.packed) - len(self.kept))
        return each * prod(lengths.values())


# ---------------------------------------------------------------- accesses

def accesses(op: Comprehension) -> Iterator[tuple[Subscript, ...]]:
    """The subscripts of every access, those inside of subscripts too."""
    stack = [op.write, *(s.subscripts for _, s in op.reads())]
    while stack:
        subscripts = stack.pop()
        yield subscripts
        stack += [s.subscripts for s in subscripts if isinstance(s, Read)]


def indices(s: Subscript) -> set[Index]:
    """Every index in a subscript."""
    found: set[Index] = set()
    stack = [s]
    while stack:
        x = stack.pop()
        if isinstance(x, Read):
            stack.extend(x.subscripts)
        else:
            found |= {a for a in atoms(x) if isinstance(a, Index)}
    return found


def movement(subscripts: tuple[Subscript, ...], index: Index) -> int:
    """How an access moves with an index."""
    found = STILL
    for d, s in enumerate(subscripts):
        if index not in indices(s):
            continue
        if isinstance(s, Read) or not linear(s):
            return WILD
        last = d == len(subscripts) - 1 and slope(s, index).number == 1
        found = CONSECUTIVE if last and found == STILL else STRIDED
    return found


def writes_fixed(op: Comprehension) -> bool:
    """Whether an element that is written fixes every index of its subscripts."""
    fixed = fixed_indices(op.ranges, op.write)
    return all(isinstance(s, Affine) and indices(s) <= fixed for s in op.write)
