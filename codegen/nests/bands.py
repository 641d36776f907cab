"""Rows of tiles in the order of reading: what whole tiles read of their rows is copied for a band of them.

For each point of the sum the rows of a tile lie together, and the points follow one another, so that a tile reads its rows at
places that need no address to be computed. A band is copied for each group of panels, to where it stays in a cache. Where a team
shares the columns of a nest each of its threads copies the rows that all of them read: what another processor has written takes
longer to come than to be made once more.

The copying itself is done by functions that all nests of a module have in common.
"""
from __future__ import annotations

from collections.abc import Sequence

from adcli.codegen.nests.addresses import Environment
from adcli.codegen.nests.frames import FunctionWriter
from adcli.codegen.nests.index_loops import IndexLoops
from adcli.codegen.nests.nest import CONSECUTIVE, movement
from adcli.codegen.rows.instructions import vector
from adcli.lang.ir.comprehension import Read

ONCE = 1 << 62
"""The step of a loop that has one turn at most."""


def band_copied(f: IndexLoops) -> None:
    """The rows of the whole tiles of a band are copied."""
    assert f.nest.tile is not None
    low, high = f.rows_in_band()
    middle = f.whole(low, high, f.nest.rows)
    tiles = f.put(f"sdiv i64 {f.put(f'sub i64 {middle}, {low}')}, {f.nest.rows}")
    f.open_loop(f.nest.tile, low, middle, ONCE, ())
    for s in f.nest.banded:
        tiles_copied(f, s, tiles)
    f.close(f.nest.tile, [])


def tiles_copied(f: IndexLoops, s: Read, tiles: str) -> None:
    """The rows of so many tiles are copied, from the value on that the tile's index has."""
    assert f.nest.tile is not None
    rows, atom, (*outer, last) = f.nest.rows, f.nest.args[s.arg], f.nest.inner
    for index in outer:
        f.open_loop(index, *f.limits(index), 1, ())
    low, high = f.limits(last)
    f.open_loop(last, low, high, ONCE, ())
    points = f.put(f"sub i64 {high}, {low}")
    row, step = (f.coefficient(atom, s.subscripts, i) for i in (f.nest.tile, last))
    apart = f.put(f"mul i64 {f.own_band(s)[1]}, {rows}")
    places = f"ptr {f.place_in_band(s)[0]}, ptr {f.address(atom, s.subscripts, 0)[0]}, i64 {tiles}, i64 {apart}"
    if movement(s.subscripts, f.nest.tile) == CONSECUTIVE:
        f.say(f"call void @{copier_of_vectors(f.env, rows)}({places}, i64 {step}, i64 {points})")
    else:
        whole = f.put(f"and i64 {points}, -{rows}") if movement(s.subscripts, last) == CONSECUTIVE else "0"
        f.say(f"call void @{copier_of_squares(f.env, rows)}({places}, i64 {row}, i64 {step}, i64 {whole}, i64 {points})")
    for index in reversed(f.nest.inner):
        f.close(index, [])


# ---------------------------------------------------------------- functions of a module

def copier_of_vectors(env: Environment, rows: int) -> str:
    """The function for tiles whose rows lie together: all of these for a point, then for the next, `step` elements further."""
    symbol, kind = f"rows.together.{rows}", vector(env.scalar, rows)
    f = FunctionWriter({})
    f.open_loop(None, "0", "%points", 1, ())
    here = moved(f, env, "%from", [(f.frames[-1].index, "%step")])
    there = moved(f, env, "%to", [(f.frames[-1].index, str(rows))])
    f.open_loop(None, "0", "%tiles", 1, ())
    tile = f.frames[-1].index
    x = f.put(f"load {kind}, ptr {moved(f, env, here, [(tile, str(rows))])}, align {env.bytes}")
    f.say(f"store {kind} {x}, ptr {moved(f, env, there, [(tile, '%apart')])}, align {env.bytes}")
    f.close_loop([])
    f.close_loop([])
    return helper(f, env, symbol, ("tiles", "apart", "step", "points"))


def copier_of_squares(env: Environment, rows: int) -> str:
    """The function for tiles whose rows lie `row` elements apart: for the first `whole` points, which lie together, as many at a
    time as there are rows, then one by one, `step` elements further each."""
    symbol, kind = f"rows.apart.{rows}", vector(env.scalar, rows)
    f = FunctionWriter({})
    offsets = [f.place(0, f"mul i64 %row, {t}") for t in range(rows)]
    f.open_loop(None, "0", "%tiles", 1, ())
    tile = f.frames[-1].index
    here, there = moved(f, env, "%from", [(tile, f.put(f"mul i64 %row, {rows}"))]), moved(f, env, "%to", [(tile, "%apart")])
    lines = [moved(f, env, here, [(x, "1")]) for x in offsets]
    f.open_loop(None, "0", "%whole", rows, ())
    point = f.frames[-1].index
    square = [f.put(f"load {kind}, ptr {moved(f, env, line, [(point, '1')])}, align {env.bytes}") for line in lines]
    to = moved(f, env, there, [(point, str(rows))])
    for n, x in enumerate(exchanged(f, kind, square)):
        f.say(f"store {kind} {x}, ptr {moved(f, env, to, [(str(n * rows), '1')])}, align {env.bytes}")
    f.close_loop([])
    f.open_loop(None, "%whole", "%points", 1, ())
    point = f.frames[-1].index
    to, on = moved(f, env, there, [(point, str(rows))]), f.put(f"mul i64 {point}, %step")
    for t, line in enumerate(lines):
        x = f.put(f"load {env.scalar}, ptr {moved(f, env, line, [(on, '1')])}, align {env.bytes}")
        f.say(f"store {env.scalar} {x}, ptr {moved(f, env, to, [(str(t), '1')])}, align {env.bytes}")
    f.close_loop([])
    f.close_loop([])
    return helper(f, env, symbol, ("tiles", "apart", "row", "step", "whole", "points"))


def moved(f: FunctionWriter, env: Environment, at: str, steps: Sequence[tuple[str, str]]) -> str:
    """The address that so many times so many elements further."""
    for count, each in steps:
        offset = count if each == "1" else f.put(f"mul i64 {count}, {each}")
        at = f.put(f"getelementptr {env.scalar}, ptr {at}, i64 {offset}")
    return at


def exchanged(f: FunctionWriter, kind: str, rows: Sequence[str]) -> list[str]:
    """The columns of a square whose side is a power of 2: blocks beside the diagonal change places, small ones first."""
    found, n = list(rows), len(rows)
    d = 1
    while d < n:
        upper = ", ".join(f"i32 {k if not k & d else n + k - d}" for k in range(n))
        lower = ", ".join(f"i32 {k + d if not k & d else n + k}" for k in range(n))
        for t in range(n):
            if not t & d:
                x, y = found[t], found[t + d]
                found[t], found[t + d] = (f.put(f"shufflevector {kind} {x}, {kind} {y}, <{n} x i32> <{mask}>")
                                          for mask in (upper, lower))
        d *= 2
    return found


def helper(f: FunctionWriter, env: Environment, symbol: str, numbers: Sequence[str]) -> str:
    """The name of a function that copies, which the module has from now on."""
    f.say("ret void")
    params = ", ".join(["ptr %to", "ptr %from", *(f"i64 %{x}" for x in numbers)])
    env.on(1).helpers[symbol] = [f"define internal void @{symbol}({params}){env.stack} {{", *f.text(), "}", ""]
    return symbol
