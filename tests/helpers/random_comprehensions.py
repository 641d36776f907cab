"""Random programs of comprehensions, as the data of tests/helpers/comprehension_samples.py.

Ranks 0 to 4, strides, offsets, diagonals, windows, negative steps, broadcasts, all reductions, indices as values, several
statements, values a result starts from, guards, gathers and scatters occur, mixed with statements on scalars.
"""
from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import numpy as np
from comprehension_samples import Access, Line, Sample, Scalar, Statement

ONE_ARGUMENT = ("sin", "tanh", "neg", "relu")
TWO_ARGUMENTS = ("add", "sub", "mul", "mul", "max", "min")


class Author:
    """Writes a sample; what exists already may be read again, overwritten or added to."""

    def __init__(self, r: random.Random, rank: int = 4, longest: int = 3) -> None:
        self.r, self.rank, self.longest = r, rank, longest
        self.sample = Sample({n: r.randint(1, longest) for n in "MNKL"})
        if r.randrange(25) == 0:
            self.sample.sizes[r.choice("MNKL")] = 0

    def write(self) -> Sample:
        sample = self.sample
        for _ in range(self.r.choice((1, 1, 2, 3))):
            if self.r.randrange(5) == 0:
                self.scalar()
            else:
                self.statement()
        made = [s.out for s in sample.statements]
        sample.results = [*dict.fromkeys([*self.r.sample(made, self.r.randint(0, len(made) - 1)), made[-1]])]
        bound = {x.terms[0][0] for name in sample.values for x in sample.shapes[name]}
        for size in [n for n in sample.sizes if n not in bound]:
            self.input((Line(((size, 1),)),))
        return sample

    def scalar(self) -> None:
        scalars = [n for n, shape in self.sample.shapes.items() if not shape] or [self.input(())]
        args = [self.r.choice(scalars) for _ in range(self.r.randint(1, 2))]
        out = f"s{len(self.sample.statements)}"
        self.sample.statements.append(Scalar(out, ("add", 0, self.operation(len(args), 2)), tuple(args)))
        self.sample.shapes[out] = ()

    def statement(self) -> None:
        r = self.r
        box = self.box(r.choice((0, 1, 1, 2, 2, 2, 3, 3, 4)))
        reduction = r.choice(("=", "+", "+", "+", "*", "min", "max", "lse"))
        sources = tuple(self.source(box) for _ in range(r.choice((0, 1, 1, 2, 2, 3))))
        body = self.operation(len(sources), r.randint(0, 3)) if sources else 1.5
        write, shape = self.target(box, reduction)
        guards = (self.guard(box),) if box and r.randrange(3) == 0 else ()
        out = f"T{len(self.sample.statements)}"
        onto = self.start(shape) if reduction in ("=", "+", "min", "max") and r.randrange(3) == 0 else None
        self.sample.shapes[out] = shape
        self.sample.statements.append(Statement(out, tuple(box), guards, write, shape, reduction, sources, body, onto))

    def start(self, shape: tuple[Line, ...]) -> str:
        """A value of a shape: a tensor there is, or one made for it."""
        extents = tuple(x.at(self.sample.sizes) for x in shape)
        fitting = [n for n in self.sample.shapes if n not in self.sample.integers and self.sample.extents(n) == extents]
        return self.r.choice(fitting) if fitting else self.input(self.named(extents))

    def box(self, count: int) -> list[tuple[str, Line, Line]]:
        return [(i, *self.range()) for i in self.r.sample("ijkl", count)]

    def range(self) -> tuple[Line, Line]:
        kind = self.r.randrange(8)
        size = Line(((self.r.choice("MNKL"), 1),))
        if kind == 0:
            low = self.r.randint(-1, 2)
            return Line((), low), Line((), low + self.r.randint(1, self.longest))
        if kind == 1:
            low = self.r.randint(-1, 2)
            return Line((), low), size.plus(Line((), low))
        return Line(), size

    def line(self, box: list[tuple[str, Line, Line]]) -> tuple[Line, Line]:
        """A subscript that is never negative, and the extent that it needs."""
        r = self.r
        chosen = r.sample(box, min(len(box), r.choice((0, 1, 1, 1, 1, 2))))
        whole, low, high = Line(), Line(), Line()
        for i, first, end in chosen:
            c = r.choice((1, 1, 1, 1, 2, 3, -1, -2))
            last = end.plus(Line((), -1))
            whole = whole.plus(Line(((i, c),)))
            low, high = low.plus(first if c > 0 else last, c), high.plus(last if c > 0 else first, c)
        offset = Line((), r.choice((0, 0, 0, 1)))
        return whole.plus(low, -1).plus(offset), high.plus(low, -1).plus(offset).plus(Line((), 1 + r.choice((0, 0, 0, 1))))

    def source(self, box: list[tuple[str, Line, Line]]) -> Access | Line:
        r = self.r
        if box and r.randrange(8) == 0:
            i = r.choice(box)[0]
            return Line(((i, r.choice((1, -2))), (r.choice("MNKL"), r.choice((0, 1)))), r.randint(-1, 1)).plus(Line())
        old = [n for n, shape in self.sample.shapes.items() if n not in self.sample.integers]
        if old and r.randrange(3) == 0:
            name = r.choice(old)
            found = [self.fitted(box, n) for n in self.sample.extents(name)]
            if all(x is not None for x in found):
                return Access(name, tuple(found))
        lines = [self.line(box) for _ in range(r.choice((0, 1, 1, 2, 2, 3, self.rank)))]
        extents = tuple(max(0, need.at(self.sample.sizes)) for _, need in lines)
        subscripts: list[Any] = [x for x, _ in lines]
        if subscripts and r.randrange(6) == 0:
            d = r.randrange(len(subscripts))
            subscripts[d] = self.gathered(box, extents[d]) or subscripts[d]
        return Access(self.input(self.named(extents)), tuple(subscripts))

    def fitted(self, box: list[tuple[str, Line, Line]], extent: int) -> Line | None:
        """A subscript inside of an extent, for an existing tensor."""
        for _ in range(4):
            line, need = self.line(box)
            if need.at(self.sample.sizes) <= extent:
                return line
        return Line((), self.r.randrange(extent)) if extent else None

    def gathered(self, box: list[tuple[str, Line, Line]], extent: int) -> Access | None:
        """A subscript that is an element of a tensor of integers."""
        if not extent:
            return None
        lines = [self.line(box) for _ in range(self.r.choice((1, 1, 2)))]
        extents = tuple(max(0, need.at(self.sample.sizes)) for _, need in lines)
        name = self.input(self.named(extents), extent)
        return Access(name, tuple(x for x, _ in lines))

    def target(self, box: list[tuple[str, Line, Line]], reduction: str) -> tuple[tuple[Any, ...], tuple[Line, ...]]:
        r = self.r
        if reduction == "=":
            order = r.sample(box, len(box))
            lines = []
            for at, each in enumerate(order):
                line, need = self.line([each])
                while not line.terms or each[0] not in dict(line.terms):
                    line, need = self.line([each])
                if at and r.randrange(5) == 0:
                    i, first, end = order[at - 1]
                    line = line.plus(Line(((i, 1),))).plus(first, -1)
                    need = need.plus(end).plus(first, -1).plus(Line((), -1))
                lines.append((line, need))
            if r.randrange(6) == 0:
                lines.insert(r.randint(0, len(lines)), (Line(), Line((), r.randint(1, 2))))
        else:
            chosen = r.sample(box, r.randint(0, len(box)))
            lines = [self.line([each]) if r.randrange(4) else self.line(box) for each in chosen]
        write: list[Any] = [x for x, _ in lines]
        shape = tuple(need if need.at(self.sample.sizes) >= 0 else Line((), 0) for _, need in lines)
        if write and reduction != "=" and r.randrange(8) == 0:
            d = r.randrange(len(write))
            write[d] = self.gathered(box, shape[d].at(self.sample.sizes)) or write[d]
        return tuple(write), shape

    def guard(self, box: list[tuple[str, Line, Line]]) -> Line:
        terms = tuple((i, self.r.choice((1, 1, -1, 2))) for i, _, _ in self.r.sample(box, self.r.randint(1, min(2, len(box)))))
        return Line(terms, self.r.randint(-1, 2))

    def named(self, extents: tuple[int, ...]) -> tuple[Line, ...]:
        """Extents as names of sizes: one there is, of that value, or a new one."""
        sizes, found = self.sample.sizes, []
        for n in extents:
            known = [s for s, value in sizes.items() if value == n]
            name = self.r.choice(known) if known and self.r.randrange(3) else f"S{len(sizes)}"
            sizes[name] = n
            found.append(Line(((name, 1),)))
        return tuple(found)

    def input(self, shape: tuple[Line, ...], below: int | None = None) -> str:
        sample = self.sample
        name = f"{'I' if below else 'A' if shape else 'a'}{len(sample.shapes)}"
        sample.shapes[name] = shape
        extents = sample.extents(name)
        if below:
            sample.integers.add(name)
            sample.values[name] = np.array([self.r.randrange(below) for _ in range(math.prod(extents))], int).reshape(extents)
        else:
            drawn = np.array([round(self.r.uniform(-1.5, 1.5), 6) for _ in range(math.prod(extents))]).reshape(extents)
            sample.values[name] = drawn if shape else float(drawn)
        return name

    def operation(self, inputs: int, depth: int) -> Any:
        r = self.r
        if depth == 0 or r.randrange(6) == 0:
            return r.randrange(inputs) if r.randrange(6) else round(r.uniform(-2, 2), 2)
        kind = r.randrange(8)
        part = [self.operation(inputs, depth - 1) for _ in range(4)]
        if kind < 4:
            return (r.choice(TWO_ARGUMENTS), part[0], part[1])
        if kind < 6:
            return (r.choice(ONE_ARGUMENT), part[0])
        if kind == 6:
            return ("div", part[0], ("sqrt", ("add", 1.0, ("mul", part[1], part[1]))))
        return ("where", part[0], part[1], part[2], part[3])


def sample(r: random.Random, **bounds: int) -> Sample:
    """A random program whose values are all finite; `rank` and `longest` bound ranks of inputs and lengths of ranges."""
    while True:
        made = Author(r, **bounds).write()
        if _finite(made):
            return made


def _finite(made: Sample) -> bool:
    everything = replace(made, results=[s.out for s in made.statements])
    try:
        return all(np.isfinite(np.asarray(x, float)).all() for x in everything.meaning().values())
    except (ValueError, ArithmeticError):        # the sine of an infinity, an exponential too large
        return False


@st.composite
def tensor_samples(draw: st.DrawFn, **bounds: int) -> Sample:
    """By a seed and not by choices of hypothesis, which likes 0 best, where much is not differentiable."""
    return sample(random.Random(draw(st.integers(0, 2**32))), **bounds)
