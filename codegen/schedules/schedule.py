"""A schedule: the loops of a comprehension as plain data, with which of its indices is vectorised, tiled, packed or shared.

What a loop does with a comprehension's accesses follows from how these move with its index.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from adcli.lang.ir import Atom, Var
from adcli.lang.ir.affine import Affine, Index, atoms, linear, slope
from adcli.lang.operations.comprehension import Comprehension, Range, Read, Subscript, atoms_in, fixed_indices

SHARED_EVENLY = 16
"""Values of an index beyond which it is shared, whatever stands inside of it."""
STILL, CONSECUTIVE, STRIDED, GATHERED, WILD = range(5)
"""How an access moves with an index: not at all, to the next element, by a constant number of elements, to where integers say, in
another way."""
PIECE = 256
"""Points of a sum that are done for all elements before others are: the copies of a panel fill about the first cache."""
LONG_SUM = 512
"""Points of a sum beyond which each piece has sums of its own, which are added up; a shorter one is one piece."""
BAND = 32
"""Rows that are done for all panels of a group before others are; whole tiles."""
GROUP = 1 << 15
"""Numbers in the copies that are made together, at most, unless one panel has more."""
COLUMNS = 3
"""Columns of a tile whose rows are sums along a vector: as many as windows often have, and with their rows as many accumulators
as the latency of a sum asks for."""


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


@dataclass(frozen=True, eq=False)
class Schedule:
    """Loops for a comprehension whose arguments are `args`: over `outer`, the `tile` index, the `vector` index where it is in the
    result, `inner`, and the `vector` index where it is reduced."""

    op: Comprehension
    args: tuple[Atom, ...]
    outer: tuple[Index, ...]
    inner: tuple[Index, ...]
    vector: Index | None = None
    """The index whose values are the lanes of a register."""
    tile: Index | None = None
    """The index of which `rows` values are computed together, each with `blocks` registers of the vector index."""
    rows: int = 1
    blocks: int = 1
    column: Index | None = None
    """A second index of a tile, of which it has `COLUMNS` values: point t is row t mod `rows` of column t div `rows`."""
    innermost: Index | None = None
    """An index of the result that runs inside of the reduced vector index; each of its values has accumulators in memory."""
    scatter: bool = False
    """Elements are read, combined and written at every point."""
    packed: bool = False
    """The vector index runs outside of the tile's, and what is read along it, the same for all rows, is copied first to where it
    lies together."""
    hoisted: tuple[tuple[Read, Var], ...] = ()
    """Packed reads whose copies are made once for all steps of a loop, each in a tensor of its own."""
    predicated: bool = False
    """Whole tiles are computed; guards choose what is stored and, by rows, from where to where the last index runs."""
    powers: tuple[IndexPower, ...] = ()
    windows: tuple[Window, ...] = ()
    block: StepBlock | None = None

    @cached_property
    def reduces(self) -> bool:
        """True if lanes are added up."""
        return self.vector is not None and not self.scatter and self.vector not in self.fixed

    @cached_property
    def fixed(self) -> set[Index]:
        """The indices that an element of the result fixes."""
        return fixed_indices(self.op.ranges, self.op.write)

    @property
    def columns(self) -> int:
        return 1 if self.column is None else COLUMNS

    @cached_property
    def packed_reads(self) -> list[Read]:
        """Reads that are copied."""
        moving = self.vector if self.packed else None
        return [s for _, s in self.op.reads() if moving is not None and movement(s.subscripts, moving) != STILL]

    @cached_property
    def store_guards(self) -> list[Affine]:
        """The guards that say of an element of a tile whether it is stored."""
        return [g for g in self.op.guards if self.predicated and indices(g) <= self.fixed]

    @cached_property
    def row_guards(self) -> list[Affine]:
        """The guards that limit the innermost index differently for the rows of a tile, most of whose range is common."""
        return [g for g in self.op.guards if self.predicated and not indices(g) <= self.fixed]

    @cached_property
    def pieces(self) -> Index | None:
        """The reduced index whose range is done in pieces, in turn for all elements, so that what is copied and what is read of
        other tensors for a piece stays near: as many values as make `PIECE` points. Their sums are added up where they are
        stored."""
        plain = len(self.store_guards) == len(self.op.guards)
        return self.inner[0] if self.packed and self.op.onto is None and plain else None

    @property
    def adds(self) -> bool:
        """True if several calls add to a result."""
        return self.block is not None and self.block.adds

    def limits_last(self, g: Affine) -> bool:
        """True if a guard limits the innermost index by rows, step by step, and no other that is reduced or vectorised."""
        last = self.inner[-1] if self.inner else None
        return (last is not None and slope(g, last).number in (1, -1)
                and not indices(g) & {*self.inner[:-1], *([self.vector] if self.vector else [])})

    @cached_property
    def shared(self) -> Index | None:
        """The index whose values threads can share: that of the outermost loop, if no two of them write one element; or that of
        a loop inside of those, where they are known to have too few values to be shared evenly."""
        found = None
        for index in self.order():
            if index not in self.fixed or (found is not None and index in self.apart):
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
        return self.rows if self.shared is self.tile else self.columns if self.shared is self.column else 1

    @cached_property
    def apart(self) -> set[Index]:
        """Indices whose loops others limit, or that are done in blocks of time: their ends are not known outside of the nest."""
        block = set() if self.block is None else {self.block.index}
        guarded = {i for g in self.op.guards for i in indices(g)}
        return block | guarded | {r.index for r in self.op.ranges if indices(r.low) or indices(r.high)}

    def order(self) -> Iterator[Index]:
        """The indices, the outermost loop's first."""
        yield from self.outer
        both = [i for i in (self.tile, self.column, None if self.reduces else self.vector) if i is not None]
        yield from reversed(both) if self.packed else both
        yield from self.inner
        if self.vector is not None and self.reduces:
            yield self.vector
        if self.innermost is not None:
            yield self.innermost

    @property
    def across(self) -> list[Index]:
        """The indices of which a tile has several values."""
        return [i for i in (self.tile, self.column) if i is not None]

    def outer_of(self, s: Read) -> list[Index]:
        """The outer indices that a read has."""
        found = atoms_in([s])
        return [i for i in self.outer if i in found]

    def range(self, index: Index) -> Range:
        return next(r for r in self.op.ranges if r.index is index)


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
        if isinstance(s, Read):
            found = max(found, GATHERED, movement(s.subscripts, index))
        elif not linear(s):
            return WILD
        else:
            last = d == len(subscripts) - 1 and slope(s, index).number == 1
            found = max(found, CONSECUTIVE if last and found == STILL else STRIDED)
    return found


def writes_fixed(op: Comprehension) -> bool:
    """True if an element that is written fixes every index of its subscripts."""
    fixed = fixed_indices(op.ranges, op.write)
    return all(isinstance(s, Affine) and indices(s) <= fixed for s in op.write)
