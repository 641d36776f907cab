"""The cost of a schedule: about how many vector instructions it takes at some sizes."""
from __future__ import annotations

from collections.abc import Mapping
from math import prod

from adcli.codegen.schedules.schedule import CONSECUTIVE, LONG_SUM, STILL, Schedule, indices, movement
from adcli.lang.ir import shape_of
from adcli.lang.ir.affine import Affine, Index, bounds
from adcli.lang.operations.comprehension import Read
from adcli.lang.sizes.binding import number

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
