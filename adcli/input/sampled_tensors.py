"""Points of programs with tensors where no one names any: small sizes that fit, integers that subscripts may be, and elements as
numbers are drawn.

Sizes are found by trying: a program says of given ones whether everything stays inside of its tensors. Integers that are
subscripts are drawn up to the extent that they go into. In every other point square matrices are symmetric with a heavy diagonal,
as covariances are.
"""
from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import cycle

import numpy as np

from adcli.input.constraints import OF_ANY
from adcli.input.points import Point
from adcli.input.sampling import SPREADS, drawn_number
from adcli.lang.ir import Atom, Param, Program, Var
from adcli.lang.ir.affine import Affine, atoms
from adcli.lang.ir.errors import AdError
from adcli.lang.operations.comprehension import Read
from adcli.lang.operations.matrix import accesses, bound_names
from adcli.lang.operations.recurrence import boxed
from adcli.lang.sizes.binding import Sizes, bind, counts, number
from adcli.lang.sizes.in_bounds import prove, prove_steps

LARGEST = (3, 4, 6, 9, 14)
"""Sizes are drawn up to these, the smallest first."""
SMALL, MOSTLY = (2, 3), 0.6
"""But most of them between these."""
GROWING = 40
"""After so many points that were of no use they start from the next, for subscripts that are computed."""
TRIES, DIFFERENT = 100, 3
"""Trials for each bound of the sizes, and fitting ones that are kept."""
SUBSCRIPTS = 3
"""Below this integers are drawn of which it does not show what they are subscripts of."""


def draw(program: Program, seed: int) -> Iterator[Point]:
    """Points without end, the same for the same seed. AdError where no small sizes fit."""
    r = random.Random(f"adcli {seed}")
    fitting = FittingSizes(program, r)
    for k, (spread, negative) in enumerate(cycle(SPREADS)):
        sizes = fitting.from_level(min(k // GROWING, len(LARGEST) - 1))
        limits, heavy = subscript_limits(program, sizes), r.random() < 0.5
        yield {p.name: drawn(r, p, sizes, limits, spread, negative, heavy) for p in program.params}


class FittingSizes:
    """Small sizes for which everything stays inside of its tensors; integers that are sizes too."""

    def __init__(self, program: Program, r: random.Random) -> None:
        self.program, self.r = program, r
        self.names = sorted(bound_names(p for p in program.params if p.var.shape) | {p.name for p in counts(program)})
        self.equal = [(a.left, a.right) for e in boxed(program.equations) for a in e.op.agreements]
        self.found: dict[int, list[Sizes]] = {}

    def from_level(self, level: int) -> Sizes:
        """Some that are drawn up to this bound, or the next that has any; `DIFFERENT` for each bound."""
        for k in range(level, len(LARGEST)):
            known = self.found.setdefault(k, [])
            if len(known) < DIFFERENT and (sizes := self.search(LARGEST[k])) is not None:
                known.append(sizes)
                return sizes
            if known:
                return self.r.choice(known)
        raise AdError("no small sizes are found that fit this program", help="give a point: ⟦--at A=@A.npy⟧")

    def search(self, largest: int) -> Sizes | None:
        """Sizes up to a bound, most of them small."""
        for _ in range(TRIES if self.names else 1):
            sizes = {name: self.r.randint(*(SMALL if self.r.random() < MOSTLY else (1, largest))) for name in self.names}
            with suppress(AdError):
                self.make_equal(sizes, largest)
                require_fitting(self.program, sizes)
                return self.smaller(sizes)
        return None

    def smaller(self, sizes: Sizes) -> Sizes:
        """The sizes with those small that can be, one by one."""
        for name in [name for name, n in sizes.items() if n > SMALL[1]]:
            with suppress(AdError):
                less = {**sizes, name: self.r.randint(*SMALL)}
                require_fitting(self.program, less)
                sizes = less
        return sizes

    def make_equal(self, sizes: Sizes, largest: int) -> None:
        """Change sizes so that extents agree that have to, one after another."""
        for left, right in self.equal:
            names = [a for a in (*atoms(left), *atoms(right)) if isinstance(a, str) and a in sizes]
            self.r.shuffle(names)
            for name in names:
                if number(left, sizes) == number(right, sizes):
                    break
                tried = [{**sizes, name: n} for n in range(1, largest + 1)]
                fitting = [some[name] for some in tried if number(left, some) == number(right, some)]
                sizes[name] = self.r.choice(fitting) if fitting else sizes[name]


def require_fitting(program: Program, sizes: Sizes) -> None:
    """AdError where something does not stay inside of its tensors, or an extent is negative."""
    shapes = {p.name: tuple([number(x, sizes) for x in p.var.shape]) for p in program.params}
    results = (x for r in program.results if isinstance(r.atom, Var) for x in r.atom.shape)
    if any(n < 1 for shape in shapes.values() for n in shape) or any(number(x, sizes) < 1 for x in results):
        raise AdError("an extent is not above 0")
    found = bind(program, shapes, {name: sizes.get(name, 1) for name in (p.name for p in program.params if p.var.integer)})
    prove(program, found)
    prove_steps(program, found)


def subscript_limits(program: Program, sizes: Sizes) -> dict[Atom, int]:
    """For integers that are inputs, the least extent that they are subscripts of."""
    found: dict[Atom, int] = {}
    for e in boxed(program.equations):
        for atom, subscripts in accesses(e, e.op):
            extents: tuple[Affine, ...] = atom.shape if isinstance(atom, Var) else ()
            for s, extent in zip(subscripts, extents, strict=False):
                if isinstance(s, Read):
                    of = e.args[s.arg]
                    found[of] = min(found.get(of, 1 << 30), number(extent, sizes))
    return found


def drawn(r: random.Random, p: Param, sizes: Sizes, limits: Mapping[Atom, int], spread: float, negative: float,
          heavy: bool) -> object:
    """One input."""
    shape = tuple([number(x, sizes) for x in p.var.shape])
    if shape and p.default is not None:   # a table of the program, or numbers about those that it begins with
        return np.array([drawn_number(r, replace(p, default=x), spread, negative) for x in p.default]) if p.active and (
            not p.var.integer) else p.default
    if p.var.integer:
        low, high = (0, limits.get(p.var, SUBSCRIPTS) - 1) if p.low is None or p.high is None else (int(p.low), int(p.high))
        if p.name in sizes:
            return np.int64(sizes[p.name])
        return np.array([r.randint(low, max(low, high)) for _ in range(int(np.prod(shape)))], np.int64).reshape(shape)[()]
    if not shape:
        return drawn_number(r, p, spread, negative)
    found = np.array([drawn_number(r, p, spread, negative) for _ in range(int(np.prod(shape)))]).reshape(shape)
    if heavy and p.low is None and len(shape) > 1 and shape[-1] == shape[-2]:
        found = (found + np.swapaxes(found, -1, -2)) / 2 + shape[-1] * np.eye(shape[-1]) * np.abs(found).max()
    return OF_ANY[p.constraint](found) if p.constraint else found
