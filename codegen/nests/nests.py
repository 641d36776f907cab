"""How a comprehension becomes loops: which index is vectorised, which is tiled, in which order the others run.

Elements that several points write are found in one of two ways. Where an element fixes all indices that its subscripts have
(C(i), C(i, i + k)), the other indices are reduced inside of the loops over elements, with the accumulators in registers. A sum
at a subscript such as h + kh, which windows have in reverse mode, is brought into that form: the subscript becomes an index of
its own and one of the old ones its difference with the others, kept in range by guards. What is left (elements named by
integers of a tensor, strides that no index of step 1 divides) is read, combined and written at every point.

The sizes decide which vectorised index is best, so several nests are made, and `cost` chooses among them when they are known.
"""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from adcli.lang.ir import Atom, Equation, Var, shape_of
from adcli.lang.ir.affine import Affine, Index, affine, atoms, bounds, linear, slope, substituted, without
from adcli.lang.ir.comprehension import Comprehension, Range, Read, Subscript, atoms_in, fixed_indices, whole_values
from adcli.lang.ir.primitives import INDEX_POWER
from adcli.lang.ir.ranges import Access, Domain, surely_inside
from adcli.lang.ir.sizes import number

MOST_FORMS, MOST_NESTS, MOST_TILES = 3, 3, 2
"""Forms of a comprehension that are looked at, nests for each, and indices for the tile of the best."""
ALONE = 3.0
"""How much longer a row takes that is in no whole tile."""
ALONE_IN_ROW = 0.5
"""How much longer a register takes that is alone in the rows of a tile, where others read copies."""
SHARED_EVENLY = 16
"""Values of an index beyond which it is shared, whatever stands inside of it."""
HOPELESS = 5
"""How much worse than the best one at large sizes a nest may be."""
STILL, CONSECUTIVE, STRIDED, WILD = range(4)
"""How an access moves with an index: not at all, to the next element, by a constant number of elements, in another way."""
COSTS = (0.3, 1.0, 8.0)
OPERATION, CALL = 0.3, 8.0
"""What an operation of a body costs that is an instruction, and one that is a call."""
COPIED = 2.0
TRANSPOSED = 6.0
"""What copying the rows of a tile takes for a point of the sum, beside fetching them; and where each lies along the sum."""
LONGER_TEXT = 1.4e5
"""What the copies of rows must be worth in a run: the text of a nest is twice as long by them, and takes as long to compile."""
IN_ORDER = 0.5
"""What a point of the sum takes less where the rows of a tile lie together: no address is computed."""
ACROSS = 6.0
"""What adding up the lanes of a register costs, in vector instructions."""
SCRATCH = 1 << 17
"""Numbers in copies that are made; they lie on the stack."""
PIECE = 256
"""Points of a sum that are done for all elements before others are: the copies of a panel, and of the rows of a tile, fill about
the first cache."""
LONG_SUM = 512
"""Points of a sum beyond which each piece has sums of its own, which are added up. A shorter one is one piece where no rows are
copied; else each piece goes on with the sums of the piece before. What is read along a vector for more points takes twice as
long, if it is not copied to one place."""
BAND, BAND_IN_PLACE, SHORTEST_BAND = 128, 32, 16
"""Rows that are done for all panels of a group before others are: at most where they are copied, and where they are not, and at
least; whole tiles."""
POINTS_OF_A_ROW = 4
"""Points of a sum for each row of a band: where few make a panel's elements, those of the next panel, which stand beside them in
memory, are written as soon as these."""
GROUP = 1 << 15
"""Numbers in the copies that are made together, at most, unless one panel has more."""
GROUP_OF_BANDS = 1 << 17
"""The same where rows are copied, too, for each group again."""
FIRST_CACHE, SECOND_CACHE = 1 << 12, 1 << 17
"""Numbers over which what is read along a vector may spread that the next tiles of rows find in a cache again."""
FROM_SECOND, FROM_AFAR = 0.25, 6.0
"""What a register of it takes longer from the second cache, and from behind that, in vector instructions."""
LEAST_EXPONENT = -4
"""From which on powers are carried from turn to turn: derivatives of t**j have so negative ones, which a select throws away."""
WIDEST = 64
"""Bytes of a register where there are twice as many registers."""
MOST_FACTORS = 10_000
"""Factors beyond which hardly any product still changes: it is 0 or infinite."""
COLUMNS = 3
"""Columns of a tile whose rows are sums along a vector: as many as windows often have, and with their rows as many accumulators
as the latency of a sum asks for."""
SHORT_BODY = 3
"""Operations of a body up to which registers hold nothing but accumulators, and a row of them is read as far as they go."""
LONG_BODY = 40
"""Operations of a body beyond which it is written out once or twice only."""


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
class CommonRows:
    """Copies of what is banded that are made once for all parts of a team: each read has a tensor, of all whole tiles. They are
    there where the cell of the name `ready` is not 0."""

    places: tuple[tuple[Read, Var], ...]
    ready: str


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
    read along it, the same for all rows, is copied first to where it lies together; and so is what is `banded`, whose rows lie
    together at each of many places, for a band of rows. The copies of what is `kept` are made outside of the nest, each in a
    tensor of its own. With `last` that index of the result runs innermost of all, inside of the reduced vector index, and each
    of its values has accumulators in memory. Guards that are `late` say of an element whether it is stored: whole tiles are
    computed wherever it is for any of their elements. Those that are `by_rows` limit the innermost index differently for the
    rows of a tile, which have most of its range in common. With `beside` a tile has `columns` values of that index, too: number
    t of its points is row t mod `rows` of column t div `rows`.
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
    banded: tuple[Read, ...] = ()
    common: CommonRows | None = None
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
    def goes_on(self) -> bool:
        """Whether pieces of a short sum go on with what pieces before have left. Where several calls add to a result none can."""
        return bool(self.banded) and not self.adds

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
            registers = -(-lengths[self.vector] // lanes) if self.vector is not None else 1
            if self.banded and registers % self.blocks == 1:
                total *= 1 + ALONE_IN_ROW / registers
            banding = sum(self.banding(s, lengths, sizes, lanes) for s in self.banded)
            total *= self.per_point + banding / (self.rows * self.blocks) + copied / max(1, lengths[self.tile])
            return total + (LONGER_TEXT if self.banded else 0)
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

    def banding(self, s: Read, lengths: Mapping[Index, int], sizes: Mapping[str, int], lanes: int) -> float:
        """What copying the rows of a tile for each group of panels takes longer than reading them where they lie for each panel,
        for a point of the sum. A row that lies alone comes from as far as all that lies between the first and the last: it is
        on a page of its own, and where that is a multiple of a large power of two in the way of others in the caches."""
        width = lanes * self.blocks
        panels = max(1, -(-lengths[self.vector] // width)) if self.vector is not None else 1
        points = min(PIECE, max(1, prod(lengths[i] for i in self.inner)))
        together = max(1, GROUP_OF_BANDS // len(self.packed) // width // points)
        far = self.far(s, lengths, sizes)
        last = self.inner[-1]
        whole = movement(s.subscripts, last) == CONSECUTIVE and lengths[last] >= self.rows
        copied = TRANSPOSED if whole else 2.0 * self.rows   # each element by itself
        if self.tile is not None and movement(s.subscripts, self.tile) == CONSECUTIVE:
            copied = COPIED
        return -(-panels // together) / panels * (far + copied) - far - IN_ORDER

    def ends(self, x: Affine, sizes: Mapping[str, int]) -> tuple[int, int]:
        """The least and the greatest value of a sum of multiples of indices, or near them."""
        low, high = bounds(x, {i: (self.range(i).low, self.range(i).high - 1) for i in x.indices()})
        return (number(low, sizes), number(high, sizes)) if not (indices(low) | indices(high)) else (0, 64)

    def scratch(self, sizes: Mapping[str, int], lanes: int) -> int:
        """Numbers in the copies."""
        lengths = {r.index: max(0, number(r.high, sizes) - number(r.low, sizes)) for r in self.op.ranges if r.index in self.inner}
        if (i := self.pieces) is not None:
            others = prod(n for j, n in lengths.items() if j is not i)
            lengths[i] = min(lengths[i], max(1, (PIECE if self.goes_on else LONG_SUM) // max(1, others)))
        each = lanes * self.blocks * (len(self.packed) - len(self.kept)) + BAND * len(self.banded)
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


# ---------------------------------------------------------------- sums at a subscript

def straightened(op: Comprehension) -> list[tuple[Comprehension, tuple[Window, ...]]]:
    """The comprehension with every subscript of the write that is a sum of indices as an index of its own, for each choice of
    those that give way; as it is, where it has none or fractions would come."""
    done: list[tuple[Comprehension, tuple[Window, ...]]] = []
    left: list[tuple[Comprehension, tuple[Window, ...]]] = [(op, ())]
    while left:
        now, windows = left.pop(0)
        choices = [] if op.reduction == "=" or any(isinstance(s, Read) for s in now.write) else _sums(now)
        if not choices or len(left) + len(done) >= MOST_FORMS:
            done.append((now, windows))
        else:
            left += [_straightened(now, s, i, windows) for s, i in choices]
    return done


def _sums(op: Comprehension) -> list[tuple[Affine, Index]]:
    """A subscript of the write that is a sum of indices that an element does not fix, with each that can give way."""
    fixed = fixed_indices(op.ranges, op.write)
    for s in op.write:
        if isinstance(s, Affine) and linear(s) and not indices(s) <= fixed:
            return [(s, i) for i in s.indices() if i not in fixed and slope(s, i).number in (1, -1)]
    return []


def _straightened(op: Comprehension, s: Affine, i: Index,
                  windows: tuple[Window, ...]) -> tuple[Comprehension, tuple[Window, ...]]:
    """Index `i` gives way to a new one, whose value is that of the subscript `s` and runs over all elements."""
    new, c = Index(i.name), 1 if slope(s, i).number == 1 else -1
    old = (affine(new) - without(s, i)) * c
    extent = op.shape[op.write.index(s)]
    mine = next(r for r in op.ranges if r.index is i)
    ranges = tuple(Range(new, affine(0), extent) if r is mine else r for r in op.ranges)
    guards = (*(substituted(g, {i: old}) for g in op.guards), old - mine.low, mine.high - 1 - old)
    changed = replace(op, ranges=ranges, guards=guards, write=tuple(_with(x, i, old) for x in op.write),
                      sources=tuple(_with(x, i, old) for x in op.sources))
    others = [(j, slope(s, j)) for j in s.indices() if j is not i]
    windows = tuple(w for w in windows if i is not w.new and i is not w.other)
    return changed, (*windows, *(Window(new, j, step, mine.high - mine.low) for j, step in others[:1]))


def _with(s: Subscript, i: Index, by: Affine) -> Subscript:
    if isinstance(s, Read):
        return replace(s, subscripts=tuple(_with(x, i, by) for x in s.subscripts))
    return substituted(s, {i: by})


# ---------------------------------------------------------------- choices

def nests(e: Equation, op: Comprehension, lanes: int, in_place: bool = False, size: int = 8) -> list[Nest]:
    """Nests for a comprehension with simplified body, the one that is best for large sizes first. `in_place`: elements that no
    point assigns keep what they have. Registers have `lanes` numbers of `size` bytes."""
    wide = lanes * size == WIDEST
    found: list[Nest] = []
    forms = [(inside(form), windows) for form, windows in straightened(op)]
    keeps = op.reduction == "=" and (in_place or op.onto is not None) and any(indices(g) for g in op.guards)
    for form, windows in forms:
        gathers = _gathers(form)
        scatter = keeps or not writes_fixed(form)
        candidates = [r.index for r in form.ranges if _vectorises(form, r.index, gathers, scatter)] if lanes > 1 else []
        made = [_nest(form, e.args, v, scatter, wide, k) for v in candidates for k in range(MOST_TILES)]
        made = [n for k, n in enumerate(made) if not k % MOST_TILES or n.tile is not made[k - 1].tile]
        made += _with_tile_guards(form, e.args, candidates, wide) if not scatter else []
        made += [n for changed in (_packed, _with_last, _with_columns) for n in map(changed, made) if n is not None]
        found += [replace(n, windows=windows) for n in made]
    if found and index_powers(op):   # lanes along an exponent each multiply by themselves
        found.append(_nest(forms[0][0], e.args, None, keeps or not writes_fixed(forms[0][0]), wide))
    found = [_with_powers(n) for n in found]
    found.sort(key=lambda n: n.per_point + (0.5 if n.reduces else 0))
    most = MOST_NESTS if len(op.body.equations) < LONG_BODY else 1
    if found:
        best = found[0]
        most += sum(n.tile is not best.tile for n in found if (n.vector, n.per_point) == (best.vector, best.per_point))
    found = [n for n in found if n.per_point < HOPELESS * found[0].per_point][:most + len(forms) - 1]
    found += [n for n in (_banded(n, wide) for n in found) if n is not None]
    return found or [_with_powers(_nest(forms[0][0], e.args, None, keeps or not writes_fixed(forms[0][0]), wide))]


def inside(op: Comprehension) -> Comprehension:
    """The comprehension with guards that say what is known of its points: that they write elements there are. Where the guards
    leave no point for an element, loops over elements could else come to one that does not exist."""
    if not op.guards:
        return op
    whole = {affine(r.index): r.high for r in op.ranges if r.low == affine(0)}
    ends = [(s, extent - 1 - s) for s, extent in zip(op.write, op.shape, strict=True)
            if isinstance(s, Affine) and whole.get(s) != extent]
    return replace(op, guards=(*op.guards, *(g for pair in ends for g in pair)))


def _vectorises(op: Comprehension, v: Index, gathers: bool, scatter: bool) -> bool:
    """Whether the lanes of a register can be values of an index."""
    if movement(op.write, v) not in ((STILL, CONSECUTIVE) if writes_fixed(op) and not scatter else (CONSECUTIVE,)):
        return False
    if any(movement(access, v) == WILD for access in accesses(op)):
        return False
    if op.reduction == "*" and v not in fixed_indices(op.ranges, op.write):   # one lane could underflow and another overflow
        return False
    values = [s for s in (*op.sources, *op.guards) if isinstance(s, Affine)]
    guarded = any(v in indices(g) for g in op.guards)
    plain = all(v not in indices(x) or (linear(x) and slope(x, v).number is not None) for x in values)
    return plain and not (gathers and guarded)


def _nest(op: Comprehension, args: tuple[Atom, ...], v: Index | None, scatter: bool, wide: bool, choice: int = 0) -> Nest:
    """The nest with vector index `v`; `choice` is among the indices that do as well for a tile."""
    order = [r.index for r in op.ranges]
    if scatter:
        outer = tuple(i for i in order if i is not v)
        return Nest(op, args, outer, (), v, scatter=True, per_point=_per_point(op, v, scatter))
    fixed = fixed_indices(op.ranges, op.write)
    written = [i for s in op.write for i in order if i in indices(s)]
    elements = [i for i in dict.fromkeys(written) if i is not v]
    inner = tuple(i for i in order if i not in fixed and i is not v)
    reduces = v is not None and v not in fixed
    tiles = _tiles(op, elements, v, () if reduces else inner) if inner or reduces else []
    tile = tiles[min(choice, len(tiles) - 1)] if tiles else None
    masked = v is not None and any(v in indices(g) for g in op.guards)
    rows, blocks = _shape(op, tile, reduces, bool(inner), masked, wide, v)
    tile = tile if rows > 1 else None
    return Nest(op, args, tuple(i for i in elements if i is not tile), inner, v, tile, rows, blocks, reduces, False,
                _per_point(op, v, scatter, tile, rows, blocks) + (1.0 if masked else 0))


def _with_tile_guards(op: Comprehension, args: tuple[Atom, ...], candidates: Sequence[Index], wide: bool) -> list[Nest]:
    """Nests whose guards say which elements are stored, and from where to where the innermost index runs, where all reads are
    inside of their tensors whatever those say."""
    fixed = fixed_indices(op.ranges, op.write)
    plain = all(indices(g) and linear(g) and all(slope(g, i).number is not None for i in g.indices()) for g in op.guards)
    if not op.guards or not plain or not reads_inside(op, args):
        return []
    late = tuple([g for g in op.guards if indices(g) <= fixed])
    by_rows = tuple([g for g in op.guards if g not in late])
    made = [_nest(replace(op, guards=()), args, v, False, wide) for v in candidates if v in fixed]
    tiled = [n for n in made if n.tile is not None and all(map(n.limits_last, by_rows))]
    return [replace(n, op=op, late=late, by_rows=by_rows) for n in tiled]


def reads_inside(op: Comprehension, args: tuple[Atom, ...], but: Collection[Atom] = ()) -> bool:
    """Whether every read, but those of some tensors, is inside of its tensor at all points of the ranges, whatever the sizes
    are."""
    box = Domain(op.ranges, (), ())
    def inside(s: Read) -> bool:
        return surely_inside(Access("", shape_of(args[s.arg]), tuple([x for x in s.subscripts if isinstance(x, Affine)])), box)
    return not _gathers(op) and all(args[s.arg] in but or inside(s) for _, s in op.reads())


def _gathers(op: Comprehension) -> bool:
    """Whether any subscript is read."""
    return any(isinstance(s, Read) for access in accesses(op) for s in access)


def _with_last(nest: Nest) -> Nest | None:
    """The nest with the index of a power innermost, where the power's base moves along the vector that is reduced."""
    candidates = {i for _, exponent, _ in index_powers(nest.op) for i in exponent.indices()} & {*nest.outer, nest.tile}
    last = next((i for i in candidates if i is not None), None)
    if last is None or not nest.reduces or nest.inner or nest.op.guards:
        return None
    r = nest.range(last)
    if any(last in indices(x) for other in nest.op.ranges for x in (other.low, other.high)) or indices(r.low) or indices(r.high):
        return None
    outer = tuple(i for i in (*nest.outer, nest.tile) if i is not None and i is not last)
    blocks = 1 if len(nest.op.body.equations) > LONG_BODY // 4 else 4
    return replace(nest, outer=outer, tile=None, rows=1, blocks=blocks, last=last,
                   per_point=_per_point(nest.op, nest.vector, False, None, 1, blocks) + 1)


def index_powers(op: Comprehension) -> list[tuple[Equation, Affine, set[Index]]]:
    """The powers of a body with exponents made of indices: each with its exponent and the indices that its base moves with."""
    moves: dict[Atom, set[Index]] = {}
    for p, s in zip(op.body.params, op.sources, strict=True):
        moves[p.var] = indices(s)
    found = []
    whole = whole_values(op.body, op.sources) if any(e.op is INDEX_POWER for e in op.body.equations) else {}
    for e in op.body.equations:
        moves[e.outs[0]] = set[Index]().union(*[moves[a] for a in e.args if isinstance(a, Var)])
        if e.op is INDEX_POWER and e.args[1] in whole:
            found.append((e, whole[e.args[1]], moves.get(e.args[0], set())))
    return found


def _with_powers(nest: Nest) -> Nest:
    """The nest with its powers, and what those cost that no loop carries on."""
    powers = tuple(IndexPower(e.outs[0], x, *_carrier(nest, x, moves)) for e, x, moves in index_powers(nest.op))
    return replace(nest, powers=powers, per_point=nest.per_point + CALL * sum(p.along is None for p in powers))


def _carrier(nest: Nest, exponent: Affine, moves: set[Index]) -> tuple[Index | None, int]:
    """The index along which a power can be carried on, and the least exponent."""
    order = list(nest.order())
    mine = [i for i in order if i in indices(exponent)]
    if not mine or not linear(exponent) or slope(exponent, mine[-1]).number != 1 or {nest.vector, nest.tile} & {*mine}:
        return None, 0
    if any(order.index(i) >= order.index(mine[-1]) for i in moves):
        return None, 0
    low = exponent
    for i in mine:
        if (slope(exponent, i).number or 0) <= 0:
            return None, 0
        low = substituted(low, {i: nest.range(i).low})
    least = low.number
    return (mine[-1], least) if least is not None and least >= LEAST_EXPONENT else (None, 0)


def _packed(nest: Nest) -> Nest | None:
    """The nest with copies of what is read along the vector, where that is possible and there is something."""
    if nest.tile is None or nest.vector is None or nest.reduces:
        return None
    reads = [s for _, s in nest.op.reads() if movement(s.subscripts, nest.vector) != STILL]
    inside = [{i for x in s.subscripts for i in indices(x)} for s in reads]
    if not reads or any(nest.tile in found or not found.issuperset(nest.inner) for found in inside):
        return None
    per_point = nest.per_point - sum(COSTS[movement(s.subscripts, nest.vector)] - COSTS[CONSECUTIVE] for s in reads) / nest.rows
    return replace(nest, packed=tuple(reads), per_point=per_point)


def _banded(nest: Nest, wide: bool) -> Nest | None:
    """The nest with copies of the rows, too: what a tile reads lies in the order of reading, no address is computed, and
    registers are free for one more accumulator in each row."""
    def differs(s: Read) -> bool:
        value, how = nest.args[s.arg], partial(movement, s.subscripts)
        return (isinstance(value, Var) and not value.integer and not value.truth and nest.tile is not None
                and nest.vector is not None and how(nest.tile) in (CONSECUTIVE, STRIDED) and how(nest.vector) == STILL
                and all(how(i) != WILD for i in nest.inner))
    rows = tuple(s for _, s in nest.op.reads() if differs(s))
    if not rows or not nest.packed or nest.op.guards:
        return None
    blocks = nest.blocks + 1 if wide and nest.blocks == 2 and len(nest.op.body.equations) <= SHORT_BODY else nest.blocks
    less = [_per_point(nest.op, nest.vector, False, nest.tile, nest.rows, n) for n in (nest.blocks, blocks)]
    return replace(nest, banded=rows, blocks=blocks, per_point=nest.per_point + less[1] - less[0])


def _with_columns(nest: Nest) -> Nest | None:
    """The nest with tiles of rows and columns where the vector is reduced: what is read along it is the same for all rows, or for
    all columns."""
    if not nest.reduces or nest.vector is None or nest.tile is None or nest.blocks == 1 or nest.op.guards:
        return None
    moves = {s.subscripts: movement(s.subscripts, nest.vector) for _, s in nest.op.reads()}
    along = [s for s, how in moves.items() if how != STILL]
    free = [i for i in nest.outer if all(STILL in (movement(s, i), movement(s, nest.tile)) for s in along)
            and any(movement(s, i) == STILL for s in along)]
    plain = all(isinstance(s, Affine) and linear(s) for access in accesses(nest.op) for s in access)
    if not free or not plain or STRIDED in moves.values():
        return None
    made = replace(nest, outer=tuple(i for i in nest.outer if i is not free[-1]), blocks=1, beside=free[-1], columns=COLUMNS)
    return replace(made, per_point=_per_point(nest.op, nest.vector, False, nest.tile, nest.rows, 1, free[-1], COLUMNS))


def _per_point(op: Comprehension, v: Index | None, scatter: bool, tile: Index | None = None, rows: int = 1,
               blocks: int = 1, beside: Index | None = None, columns: int = 1) -> float:
    """About how many instructions a register of points takes; what a tile's rows, columns or blocks share is loaded once for
    them."""
    total = 0.25 + (1.5 if scatter else 0)
    for _, s in op.reads():
        moves = STILL if v is None else movement(s.subscripts, v)
        again = blocks if moves == STILL else 1
        if moves != STILL:
            for i, many in ((tile, rows), (beside, columns)):
                again *= many if i is not None and movement(s.subscripts, i) == STILL else 1
        total += COSTS[moves] / again
    return total + sum(OPERATION if x.op.llvm else CALL for x in op.body.equations)


def _tiles(op: Comprehension, elements: list[Index], v: Index | None, inner: Sequence[Index]) -> list[Index]:
    """The indices of the result whose values share most of what is read along the vector. Those that share nothing, while an
    `inner` index goes along a later dimension, would be as many more places to read from in turn."""
    inside = {i for access in accesses(op) for s in access if isinstance(s, Read) or not linear(s) for i in indices(s)}
    inside |= {i for x in op.sources if isinstance(x, Affine) and not linear(x) for i in indices(x)}
    free = [i for i in elements if i not in inside and not any(i in indices(g) for g in op.guards)]
    reads = [s.subscripts for _, s in op.reads() if v is not None and movement(s.subscripts, v) != STILL]
    shared = {i: sum(movement(s, i) == STILL for s in reads) for i in free}
    most = max(shared.values(), default=0)
    return [i for i in free if shared[i] == most and (most or not any(goes_inside(s, i, inner) for s in reads))]


def goes_inside(subscripts: tuple[Subscript, ...], i: Index, inner: Sequence[Index]) -> bool:
    """Whether an inner index has a dimension behind that of an index."""
    place = max([d for d, s in enumerate(subscripts) if i in indices(s)], default=len(subscripts))
    return any(not indices(s).isdisjoint(inner) for s in subscripts[place + 1:])


def _shape(op: Comprehension, tile: Index | None, reduces: bool, inner: bool, masked: bool, wide: bool,
           v: Index | None) -> tuple[int, int]:
    """Rows and blocks of a tile: as many accumulators as registers hold and the latency of a sum asks for."""
    length = len(op.body.equations)
    if v is None or length > LONG_BODY or any(not x.op.llvm for x in op.body.equations):
        return 1, 1
    few = length > LONG_BODY // 4
    if not inner and not reduces:
        return 1, 1 if few or masked else 2
    many = 2 if wide else 1
    if tile is None:
        return 1, 1 if masked else 2 if few else 4 if reduces or length > SHORT_BODY else 8 * many
    if few or masked:
        return 4 * many if not few else 4 if length <= LONG_BODY // 2 else 2, 1
    return (4, 2) if reduces else (4 * many, 2)
