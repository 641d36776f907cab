"""The search for schedules: which index is vectorised, which is tiled, in which order the others run, what is packed.

Elements that several points write are found in one of two ways. Where an element fixes all indices that its subscripts have
(C(i), C(i, i + k)), the other indices are reduced inside of the loops over elements, with the accumulators in registers. A sum
at a subscript such as h + kh, which windows have in reverse mode, is brought into that form: the subscript becomes an index of
its own and one of the old ones its difference with the others, kept in range by guards. What is left (elements named by
integers of a tensor, strides that no index of step 1 divides) is read, combined and written at every point.

The sizes decide which vectorised index is best, so several schedules are made, and `cost` chooses among them when they are
known.

The cost of a schedule: about how many vector instructions it takes at some sizes.
"""
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import prod

from adcli.codegen.schedules.schedule import (
    CONSECUTIVE,
    GATHERED,
    LONG_SUM,
    STILL,
    STRIDED,
    WILD,
    IndexPower,
    Schedule,
    Window,
    accesses,
    indices,
    movement,
    writes_fixed,
)
from adcli.lang.ir import Atom, Equation, Var, shape_of
from adcli.lang.ir.affine import Affine, Index, affine, bounds, linear, slope, substituted, without
from adcli.lang.ir.primitives import INDEX_POWER
from adcli.lang.operations.comprehension import Comprehension, Range, Read, Subscript, fixed_indices, replaced, whole_values
from adcli.lang.sizes.binding import number
from adcli.lang.sizes.ranges import Access, Domain, surely_inside

MOST_FORMS, MOST_SCHEDULES, MOST_TILES = 3, 3, 2
"""Forms of a comprehension that are looked at, schedules for each, and indices for the tile of the best."""
HOPELESS = 5
"""How much worse than the best one at large sizes a schedule may be."""
LEAST_EXPONENT = -4
"""From which on powers are carried from turn to turn: derivatives of t**j have so negative ones, which a select throws away."""
WIDEST = 64
"""Bytes of a register where there are twice as many registers."""
SHORT_BODY = 3
"""Operations of a body up to which registers hold nothing but accumulators, and a row of them is read as far as they go."""
LONG_BODY = 40
"""Operations of a body beyond which it is written out once or twice only."""


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
    changed = replace(op, ranges=ranges, guards=guards, write=tuple(replaced(x, {i: old}) for x in op.write),
                      sources=tuple(replaced(x, {i: old}) for x in op.sources))
    others = [(j, slope(s, j)) for j in s.indices() if j is not i]
    windows = tuple(w for w in windows if i is not w.new and i is not w.other)
    return changed, (*windows, *(Window(new, j, step, mine.high - mine.low) for j, step in others[:1]))


# ---------------------------------------------------------------- choices

def schedules(e: Equation, op: Comprehension, lanes: int, in_place: bool = False, size: int = 8) -> list[Schedule]:
    """Schedules for a comprehension with simplified body, the one that is best for large sizes first. `in_place`: elements that
    no point assigns keep what they have. Registers have `lanes` numbers of `size` bytes."""
    wide, found = lanes * size == WIDEST, list[Schedule]()
    forms = [(inside(form), windows) for form, windows in straightened(op)]
    keeps = op.reduction == "=" and (in_place or op.onto is not None) and any(indices(g) for g in op.guards)
    for form, windows in forms:
        scatter = keeps or not writes_fixed(form)
        candidates = [r.index for r in form.ranges if lanes > 1 and _vectorises(form, r.index, scatter)]
        made = [s for v in candidates for s in _tiled(form, e.args, v, scatter, wide)]
        made += _predicated(form, e.args, candidates, wide) if not scatter else []
        made += [s for rewrite in (packed, powers_innermost, with_columns) for s in map(rewrite, made) if s is not None]
        found += [replace(s, windows=windows) for s in made]
    first = forms[0][0]
    if not found or index_powers(op):   # lanes along an exponent each multiply by themselves
        found += _tiled(first, e.args, None, keeps or not writes_fixed(first), wide)
    found = [_with_powers(s) for s in found]
    return _best(found, len(forms), len(op.body.equations))


def _best(found: list[Schedule], forms: int, length: int) -> list[Schedule]:
    """Those that may be best at some sizes."""
    costs = {s: per_point(s) for s in found}
    found = sorted(found, key=lambda s: costs[s] + (0.5 if s.reduces else 0))
    best, most = found[0], MOST_SCHEDULES if length < LONG_BODY else 1
    most += sum(s.tile is not best.tile for s in found if (s.vector, costs[s]) == (best.vector, costs[best]))
    return [s for s in found if costs[s] < HOPELESS * costs[best]][:most + forms - 1]


def inside(op: Comprehension) -> Comprehension:
    """The comprehension with guards that say what is known of its points: that they write elements there are. Where the guards
    leave no point for an element, loops over elements could else come to one that does not exist."""
    if not op.guards:
        return op
    whole = {affine(r.index): r.high for r in op.ranges if r.low == affine(0)}
    ends = [(s, extent - 1 - s) for s, extent in zip(op.write, op.shape, strict=True)
            if isinstance(s, Affine) and whole.get(s) != extent]
    return replace(op, guards=(*op.guards, *(g for pair in ends for g in pair)))


def _vectorises(op: Comprehension, v: Index, scatter: bool) -> bool:
    """True if the lanes of a register can be values of an index."""
    if movement(op.write, v) not in ((STILL, CONSECUTIVE) if writes_fixed(op) and not scatter else (CONSECUTIVE, GATHERED)):
        return False
    if any(movement(access, v) == WILD for access in accesses(op)):
        return False
    if movement(op.write, v) == GATHERED and v is not op.ranges[-1].index:   # points write in their order
        return False
    if op.reduction == "*" and v not in fixed_indices(op.ranges, op.write):   # one lane could underflow and another overflow
        return False
    values = [s for s in (*op.sources, *op.guards) if isinstance(s, Affine)]
    guarded = any(v in indices(g) for g in op.guards)
    plain = all(v not in indices(x) or (linear(x) and slope(x, v).number is not None) for x in values)
    return plain and not (guarded and _gathers(op))


def _tiled(op: Comprehension, args: tuple[Atom, ...], v: Index | None, scatter: bool, wide: bool) -> list[Schedule]:
    """The schedules with vector index `v`, one for each of the indices that do as well for a tile."""
    order = [r.index for r in op.ranges]
    if scatter:
        return [Schedule(op, args, tuple(i for i in order if i is not v), (), v, scatter=True)]
    fixed = fixed_indices(op.ranges, op.write)
    written = [i for s in op.write for i in order if i in indices(s)]
    elements = [i for i in dict.fromkeys(written) if i is not v]
    inner = tuple(i for i in order if i not in fixed and i is not v)
    reduces = v is not None and v not in fixed
    tiles = list[Index | None](_tiles(op, elements, v, () if reduces else inner) if inner or reduces else ())
    found = list[Schedule]()
    for tile in (tiles or [None])[:MOST_TILES]:
        rows, blocks = _shape(op, tile, reduces, bool(inner), wide, v)
        tile = tile if rows > 1 else None
        if not found or tile is not found[-1].tile:
            found.append(Schedule(op, args, tuple(i for i in elements if i is not tile), inner, v, tile, rows, blocks))
    return found


def _predicated(op: Comprehension, args: tuple[Atom, ...], candidates: Sequence[Index], wide: bool) -> list[Schedule]:
    """Schedules whose guards say which elements are stored, and from where to where the innermost index runs, where all reads
    are inside of their tensors whatever those say."""
    fixed = fixed_indices(op.ranges, op.write)
    plain = all(indices(g) and linear(g) and all(slope(g, i).number is not None for i in g.indices()) for g in op.guards)
    if not op.guards or not plain or not reads_inside(op, args):
        return []
    made = [_tiled(replace(op, guards=()), args, v, False, wide)[0] for v in candidates if v in fixed]
    found = [replace(s, op=op, predicated=True) for s in made if s.tile is not None]
    return [s for s in found if all(map(s.limits_last, s.row_guards))]


def reads_inside(op: Comprehension, args: tuple[Atom, ...], but: Collection[Atom] = ()) -> bool:
    """True if every read, but those of some tensors, is inside of its tensor at all points of the ranges, whatever the sizes
    are."""
    box = Domain(op.ranges, (), ())
    def inside(s: Read) -> bool:
        return surely_inside(Access("", shape_of(args[s.arg]), tuple([x for x in s.subscripts if isinstance(x, Affine)])), box)
    return not _gathers(op) and all(args[s.arg] in but or inside(s) for _, s in op.reads())


def _gathers(op: Comprehension) -> bool:
    """True if any subscript is read."""
    return any(isinstance(s, Read) for access in accesses(op) for s in access)


def gathered(op: Comprehension, v: Index) -> bool:
    """True if the lanes of a register of `v` gather."""
    return any(movement(access, v) == GATHERED for access in accesses(op))


def powers_innermost(s: Schedule) -> Schedule | None:
    """The schedule with the index of a power innermost, where the power's base moves along the vector that is reduced."""
    candidates = {i for _, exponent, _ in index_powers(s.op) for i in exponent.indices()} & {*s.outer, s.tile}
    last = next((i for i in candidates if i is not None), None)
    if last is None or not s.reduces or s.inner or s.op.guards:
        return None
    r = s.range(last)
    if any(last in indices(x) for other in s.op.ranges for x in (other.low, other.high)) or indices(r.low) or indices(r.high):
        return None
    outer = tuple(i for i in (*s.outer, s.tile) if i is not None and i is not last)
    blocks = 1 if len(s.op.body.equations) > LONG_BODY // 4 else 4
    return replace(s, outer=outer, tile=None, rows=1, blocks=blocks, innermost=last)


def index_powers(op: Comprehension) -> list[tuple[Equation, Affine, set[Index]]]:
    """The powers of a body with exponents made of indices: each with its exponent and the indices that its base moves with."""
    moves: dict[Atom, set[Index]] = {}
    for p, s in op.inputs():
        moves[p.var] = indices(s)
    found = []
    whole = whole_values(op.body, op.sources) if any(e.op is INDEX_POWER for e in op.body.equations) else {}
    for e in op.body.equations:
        moves[e.outs[0]] = set[Index]().union(*[moves[a] for a in e.args if isinstance(a, Var)])
        if e.op is INDEX_POWER and e.args[1] in whole:
            found.append((e, whole[e.args[1]], moves.get(e.args[0], set())))
    return found


def _with_powers(s: Schedule) -> Schedule:
    """The schedule with its powers, each with the loop that carries it on."""
    return replace(s, powers=tuple(IndexPower(e.outs[0], x, *_carrier(s, x, moves)) for e, x, moves in index_powers(s.op)))


def _carrier(s: Schedule, exponent: Affine, moves: set[Index]) -> tuple[Index | None, int]:
    """The index along which a power can be carried on, and the least exponent."""
    order = list(s.order())
    mine = [i for i in order if i in indices(exponent)]
    if not mine or not linear(exponent) or slope(exponent, mine[-1]).number != 1 or {s.vector, s.tile} & {*mine}:
        return None, 0
    if any(order.index(i) >= order.index(mine[-1]) for i in moves):
        return None, 0
    low = exponent
    for i in mine:
        if (slope(exponent, i).number or 0) <= 0:
            return None, 0
        low = substituted(low, {i: s.range(i).low})
    least = low.number
    return (mine[-1], least) if least is not None and least >= LEAST_EXPONENT else (None, 0)


def packed(s: Schedule) -> Schedule | None:
    """The schedule with copies of what is read along the vector, where that is possible and there is something."""
    found = replace(s, packed=True)
    inside = [{i for x in r.subscripts for i in indices(x)} for r in found.packed_reads]
    free = s.tile is not None and s.vector is not None and not s.reduces and not gathered(s.op, s.vector)
    return found if free and inside and all(s.tile not in x and x.issuperset(s.inner) for x in inside) else None


def with_columns(s: Schedule) -> Schedule | None:
    """The schedule with tiles of rows and columns where the vector is reduced: what is read along it is the same for all rows, or
    for all columns."""
    if not s.reduces or s.vector is None or s.tile is None or s.blocks == 1 or s.op.guards:
        return None
    moves = {r.subscripts: movement(r.subscripts, s.vector) for _, r in s.op.reads()}
    along = [x for x, how in moves.items() if how != STILL]
    free = [i for i in s.outer if all(STILL in (movement(x, i), movement(x, s.tile)) for x in along)
            and any(movement(x, i) == STILL for x in along)]
    plain = all(isinstance(x, Affine) and linear(x) for access in accesses(s.op) for x in access)
    if not free or not plain or STRIDED in moves.values():
        return None
    return replace(s, outer=tuple(i for i in s.outer if i is not free[-1]), blocks=1, column=free[-1])


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
    """True if an inner index has a dimension behind that of an index."""
    place = max([d for d, s in enumerate(subscripts) if i in indices(s)], default=len(subscripts))
    return any(not indices(s).isdisjoint(inner) for s in subscripts[place + 1:])


def _shape(op: Comprehension, tile: Index | None, reduces: bool, inner: bool, wide: bool,
           v: Index | None) -> tuple[int, int]:
    """Rows and blocks of a tile: as many accumulators as registers hold and the latency of a sum asks for."""
    length, masked = len(op.body.equations), v is not None and any(v in indices(g) for g in op.guards)
    if v is None or length > LONG_BODY or any(not x.op.llvm for x in op.body.equations):
        return 1, 1
    few = length > LONG_BODY // 4 or (v is not None and gathered(op, v))
    if not inner and not reduces:
        return 1, 1 if few or masked else 2
    many = 2 if wide else 1
    if tile is None:
        return 1, 1 if masked else 2 if few else 4 if reduces or length > SHORT_BODY else 8 * many
    if few or masked:
        return 4 * many if not few else 4 if length <= LONG_BODY // 2 else 2, 1
    return (4, 2) if reduces else (4 * many, 2)


# ---------------------------------------------------------------- cost

REMAINDER_ROW = 3.0
"""Cost factor of a row that is in no whole tile."""
COSTS = (0.3, 1.0, 8.0, 16.0)
"""Cost of an access that stands still, goes to the next element, goes by a constant number of elements, or gathers."""
OPERATION, CALL = 0.3, 8.0
"""Cost of an operation of a body that is an instruction, and of one that is a call."""
ACROSS = 6.0
"""Cost of adding up the lanes of a register."""
SCRATCH = 1 << 17
"""Largest number of elements in copies, which lie on the stack."""
FAR_POINTS = 2
"""Cost factor of a sum of more than `LONG_SUM` points whose reads along a vector are not packed."""
FIRST_CACHE, SECOND_CACHE = 1 << 12, 1 << 17
"""Numbers over which what is read along a vector may spread that the next tiles of rows find in a cache again."""
FROM_SECOND, FROM_AFAR = 0.25, 6.0
"""Cost of a register of it from the second cache, and from behind that."""
MOST_FACTORS = 10_000
"""Factors beyond which hardly any product still changes: it is 0 or infinite."""


def per_point(s: Schedule) -> float:
    """The cost of a register of points; what a tile's rows, columns or blocks share is loaded once for them."""
    total, v = 0.25 + (1.5 if s.scatter else 0), s.vector
    for _, r in s.op.reads():
        moves = STILL if v is None else movement(r.subscripts, v)
        again = s.blocks if moves == STILL else 1
        if moves != STILL:
            for i, many in ((s.tile, s.rows), (s.column, s.columns)):
                again *= many if i is not None and movement(r.subscripts, i) == STILL else 1
        total += COSTS[moves] / again
    total += sum(OPERATION if x.op.llvm else CALL for x in s.op.body.equations)
    masked = v is not None and not s.scatter and not s.predicated and any(v in indices(g) for g in s.op.guards)
    total += 1.0 if masked or s.innermost is not None else 0.0
    if s.packed:
        total -= sum(COSTS[movement(r.subscripts, v)] - COSTS[CONSECUTIVE] for r in s.packed_reads if v is not None) / s.rows
    return total + CALL * sum(p.along is None for p in s.powers)


def cost(s: Schedule, sizes: Mapping[str, int], lanes: int, steps: int = 1) -> float:
    """The cost at each of so many steps of a loop."""
    lengths = lengths_of(s, sizes)
    for w in s.windows:
        reach = number(w.length, sizes) + (lanes - 1 if w.new is s.vector else 0)
        lengths[w.other] = min(lengths[w.other], -(-reach // max(1, abs(number(w.step, sizes)))))
    total = elements = 1.0
    for index, n in lengths.items():
        together = s.rows if index is s.tile else s.columns if index is s.column else 1
        total *= -(-n // lanes) if index is s.vector else n + (REMAINDER_ROW - 1) * (n % together)
        elements *= 1 if index in s.inner or index is s.vector else n
    point = per_point(s)
    if s.packed and s.tile is not None:
        return total * (point + packing(s, lengths, sizes, steps)) if scratch(s, sizes, lanes) <= SCRATCH else float("inf")
    for p in s.powers:
        if p.along is None:
            total *= 1 + min(MOST_FACTORS, max(abs(x) for x in ends(s, p.exponent, sizes)))
    if s.tile is not None and not s.reduces:
        point *= FAR_POINTS if prod(lengths[i] for i in s.inner) > LONG_SUM else 1
        point += sum(far(s, r, lengths, sizes) for _, r in s.op.reads() if s.vector is not None
                     and movement(r.subscripts, s.vector) != STILL and movement(r.subscripts, s.tile) == STILL) / s.rows
    return total * point + (elements * ACROSS if s.reduces else 0)


def lengths_of(s: Schedule, sizes: Mapping[str, int]) -> dict[Index, int]:
    return {r.index: max(0, number(r.high, sizes) - number(r.low, sizes)) for r in s.op.ranges}


def packing(s: Schedule, lengths: Mapping[Index, int], sizes: Mapping[str, int], steps: int) -> float:
    """The cost of copies for a register of points."""
    assert s.tile is not None and s.vector is not None
    times = {r: 1 / steps for r, _ in s.hoisted}
    copied = sum((COSTS[movement(r.subscripts, s.vector)] + 1 + far(s, r, lengths, sizes)) * times.get(r, 1)
                 for r in s.packed_reads)
    return copied / max(1, lengths[s.tile])


def far(s: Schedule, r: Read, lengths: Mapping[Index, int], sizes: Mapping[str, int]) -> float:
    """Extra cost of a register of a read that comes from a cache, if all that the loops inside of those over `outer` read comes
    again for each tile: by how many numbers may lie from the first to the last."""
    stride, spread = 1, 0
    for x, extent in reversed(list(zip(r.subscripts, shape_of(s.args[r.arg]), strict=True))):
        steps = sum(lengths[i] - 1 for i in indices(x) - {*s.outer})
        length = number(extent, sizes)
        stride, spread = stride * length, spread + stride * min(length, steps)
    return 0.0 if spread < FIRST_CACHE else FROM_SECOND if spread < SECOND_CACHE else FROM_AFAR


def ends(s: Schedule, x: Affine, sizes: Mapping[str, int]) -> tuple[int, int]:
    """The least and the greatest value of a sum of multiples of indices, or near them."""
    low, high = bounds(x, {i: (s.range(i).low, s.range(i).high - 1) for i in x.indices()})
    return (number(low, sizes), number(high, sizes)) if not (indices(low) | indices(high)) else (0, 64)


def scratch(s: Schedule, sizes: Mapping[str, int], lanes: int) -> int:
    """Numbers in the copies."""
    lengths = {i: n for i, n in lengths_of(s, sizes).items() if i in s.inner}
    if (i := s.pieces) is not None:
        others = prod(n for j, n in lengths.items() if j is not i)
        lengths[i] = min(lengths[i], max(1, LONG_SUM // max(1, others)))
    return lanes * s.blocks * (len(s.packed_reads) - len(s.hoisted)) * prod(lengths.values())
