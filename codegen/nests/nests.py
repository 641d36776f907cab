"""How a comprehension becomes loops: which index is vectorised, which is tiled, in which order the others run.

Elements that several points write are found in one of two ways. Where an element fixes all indices that its subscripts have
(C(i), C(i, i + k)), the other indices are reduced inside of the loops over elements, with the accumulators in registers. A sum
at a subscript such as h + kh, which windows have in reverse mode, is brought into that form: the subscript becomes an index of
its own and one of the old ones its difference with the others, kept in range by guards. What is left (elements named by
integers of a tensor, strides that no index of step 1 divides) is read, combined and written at every point.

The sizes decide which vectorised index is best, so several nests are made, and `cost` chooses among them when they are known.
"""
from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from adcli.codegen.nests.nest import (
    CONSECUTIVE,
    COSTS,
    STILL,
    STRIDED,
    WILD,
    IndexPower,
    Nest,
    Window,
    accesses,
    indices,
    movement,
    writes_fixed,
)
from adcli.lang.ir import Atom, Equation, Var, shape_of
from adcli.lang.ir.affine import Affine, Index, affine, linear, slope, substituted, without
from adcli.lang.ir.comprehension import Comprehension, Range, Read, Subscript, fixed_indices, whole_values
from adcli.lang.ir.primitives import INDEX_POWER
from adcli.lang.sizes.ranges import Access, Domain, surely_inside

MOST_FORMS, MOST_NESTS, MOST_TILES = 3, 3, 2
"""Forms of a comprehension that are looked at, nests for each, and indices for the tile of the best."""
HOPELESS = 5
"""How much worse than the best one at large sizes a nest may be."""
OPERATION, CALL = 0.3, 8.0
"""What an operation of a body costs that is an instruction, and one that is a call."""
LEAST_EXPONENT = -4
"""From which on powers are carried from turn to turn: derivatives of t**j have so negative ones, which a select throws away."""
WIDEST = 64
"""Bytes of a register where there are twice as many registers."""
COLUMNS = 3
"""Columns of a tile whose rows are sums along a vector: as many as windows often have, and with their rows as many accumulators
as the latency of a sum asks for."""
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
