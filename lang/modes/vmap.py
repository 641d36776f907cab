"""Many sweeps at once: the lines of a sweep whose seed is one tensor, for every seed that is 1 in one element and else 0.

The directions are the elements of the seed, so every value that depends on it gets their indices in front of its own:
`d(i) +=! A(i, j) * s(j)` becomes `d(k, i) +=! A(i, j) * e(k, j)` with the unit tensor e. A comprehension gets ranges more, a
recurrence histories with dimensions more, an operation on matrices a larger box, so the result is a program like any other.

Most of a unit tensor is never made. A value v(k…, i…) that is w(i…) where k… = at(i…) and else zero by construction is kept as w
and `at` (`OneDirection`); a sum that reads it at j… has a term at k… = at(j…) only, so that index is put in the place of the
direction: `d(j, i) = A(i, j)`. This needs that what is read is linear in the seeds, which is looked at line by line (`_linear`).
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from adcli.lang.ir import Atom, Atoms, Equation, Lit, Param, Program, Shape, Var, shape_of
from adcli.lang.ir.affine import Affine, Index, NewSubstitution, affine, substituted
from adcli.lang.ir.build import Builder
from adcli.lang.ir.primitives import TABLE, select
from adcli.lang.operations.comprehension import (
    BodySource,
    Comprehension,
    Range,
    Read,
    Subscript,
    all_fixed,
    body_of,
    constant_body,
    covers,
    identity_body,
)
from adcli.lang.operations.elementwise import compact, computed, every_element, filled
from adcli.lang.operations.matrix import Boxed, MatrixOperation
from adcli.lang.operations.recurrence import Recurrence
from adcli.lang.simplify.simplify import simplify
from adcli.lang.simplify.simplify_tensors import read_form

DUP, NEG, SUB = TABLE["dup"], TABLE["neg"], TABLE["sub"]
Subscripts = tuple[Subscript, ...]


@dataclass(frozen=True, eq=False)
class OneDirection:
    """A value of every direction that is `value` at `here`, the indices of its own dimensions, where the direction is `at`,
    and zero by construction in all others. In a `partial` one elements are zero for which `at` is no direction."""

    value: Atom
    here: tuple[Index, ...]
    at: tuple[Affine, ...]
    partial: bool = False

    def direction(self, subscripts: Subscripts) -> Subscripts | None:
        """The direction that has something at these subscripts; None where that is no subscript."""
        place = dict(zip(self.here, subscripts, strict=True))
        by: NewSubstitution = {i: s for i, s in place.items() if isinstance(s, Affine)}
        found: list[Subscript] = []
        for x in self.at:
            if x.index is not None:
                found.append(place[x.index])
            elif by.keys() >= {*x.indices()}:
                found.append(substituted(x, by))
            else:
                return None
        return tuple(found)


class Directions:
    """Lines of sweeps under way to lines of all their directions, appended to `b`. `seeds` are the values, defined nowhere, that
    stand for the seeds of the sweeps."""

    def __init__(self, b: Builder, seeds: Iterable[Var]) -> None:
        self.b = b
        self.extents: dict[Atom, Shape] = {}      # of the directions of every value that has some
        self.single: dict[Atom, OneDirection] = {}
        self.whole: dict[Atom, Var] = {}          # values with all their directions
        self.behind: dict[Atom, Var] = {}         # those that results have with the directions behind
        self.truths: dict[Atom, Equation] = {}    # of single truth values, which stand in the lines that need them
        for seed in seeds:
            _, here = every_element(seed.shape)
            self.extents[seed] = seed.shape
            self.single[seed] = OneDirection(Lit(1.0), tuple([x.index for x in here if x.index]), here)

    def lines(self, equations: Iterable[Equation]) -> None:
        for e in equations:
            found = next((self.extents[a] for a in e.args if a in self.extents), None)
            if found is None:
                self.b.equations.append(e)
                continue
            self.b.span, self.b.group = e.span, e.group
            self.line(e, found)
            self.extents.update(dict.fromkeys(e.outs, found))

    def line(self, e: Equation, extents: Shape) -> None:
        if e.op is DUP:
            for table in (self.single, self.whole):
                if e.args[0] in table:
                    table.update(dict.fromkeys(e.outs, table[e.args[0]]))   # type: ignore[arg-type]
        elif isinstance(e.op, Recurrence):
            self.recurrence(e, e.op, extents)
        elif isinstance(e.op, Comprehension):
            if not self.by_term(e, e.op, extents):
                self.made(self.in_all(e, e.op, extents), e.outs[0])
        elif isinstance(e.op, MatrixOperation):
            self.made(self.in_all(e, e.op, extents), e.outs[0])
        elif e.op.truth:
            self.truths[e.outs[0]] = e
        else:
            self.row(e, extents)

    def made(self, e: Equation, old: Var) -> None:
        """Append the line that makes a value with all its directions."""
        self.b.equations.append(e)
        self.whole[old] = e.outs[0]

    def all_of(self, atom: Atom) -> Atom:
        """A value with all its directions, made here where it was kept as less."""
        if atom not in self.whole and atom in self.single:
            kept, shape = self.single[atom], shape_of(atom)
            ranges = tuple([Range(i, affine(0), n) for i, n in zip(kept.here, shape, strict=True)])
            write = (*kept.at, *map(affine, kept.here))
            self.whole[atom] = self.written(kept, ranges, write, (*self.extents[atom], *shape), atom)
        return self.whole.get(atom, atom)

    def written(self, kept: OneDirection, ranges: tuple[Range, ...], write: Subscripts, shape: Shape, like: Atom) -> Var:
        """A line that writes what is kept where it belongs."""
        constant = isinstance(kept.value, Lit)
        read = () if constant else (Read(0, tuple(map(affine, kept.here))),)
        body = constant_body(kept.value.value) if isinstance(kept.value, Lit) else identity_body()
        guards = inside(kept.at, self.extents[like]) if kept.partial else ()
        op = Comprehension(ranges=ranges, guards=guards, write=write, shape=shape, sources=read, body=body)
        out = renamed(like, shape)
        self.b.define(out, op, () if constant else (kept.value,))
        return out

    # -- a line for all directions

    def in_all(self, e: Equation, op: Boxed, extents: Shape, behind: int = 0) -> Equation:
        """An operation at every point of its box and in every direction; their ranges stand behind so many others."""
        lead, here = directions(extents)
        args: list[Atom] = [self.all_of(a) for a in e.args]
        turned = {i for i, a in enumerate(e.args) if a in self.extents}
        sources: list[BodySource] = [
            Read(s.arg, (*here, *s.subscripts)) if isinstance(s, Read) and s.arg in turned else s for s in op.sources]
        shape = (*extents, *op.shape)
        ranges = (*op.ranges[:behind], *lead, *op.ranges[behind:])
        whole: Boxed = replace(op, ranges=ranges, write=(*here, *op.write), shape=shape, sources=tuple(sources))  # type: ignore[arg-type]
        if isinstance(whole, Comprehension) and whole.onto is not None and whole.onto not in turned:
            args.append(self.tiled(e.args[whole.onto], extents, op.shape))
            whole, given = compact(replace(whole, onto=len(args) - 1), tuple(args))
            args = [*given]
        return e.with_op(whole, args, (renamed(e.outs[0], shape),))

    def tiled(self, atom: Atom, extents: Shape, shape: Shape) -> Atom:
        """A value that is the same in all directions, or one number for all elements, with these dimensions."""
        if isinstance(atom, Lit):
            return filled(self.b, (*extents, *shape), atom.value)
        (lead, here), (inner, own) = directions(extents), every_element(shape)
        at = (*(here if atom in self.extents else ()), *(own if atom.shape else ()))
        op = Comprehension(ranges=(*lead, *inner), write=(*here, *own), shape=(*extents, *shape))
        return computed(self.b, op, lambda x: x, [(self.all_of(atom), at)]).atom

    def row(self, e: Equation, extents: Shape) -> None:
        """An operation on numbers: a comprehension over the directions."""
        lead, here = directions(extents)
        inner, params, sources, args = Builder(), list[Param](), list[BodySource](), list[Atom]()
        names: dict[Atom, Atom] = {}

        def operand(a: Atom) -> Atom:
            if isinstance(a, Lit) or a in names:
                return names.get(a, a)
            if a in self.truths:
                t = self.truths[a]
                names[a] = inner.emit(t.op, *[operand(x) for x in t.args])
                return names[a]
            x = Var(f"x{len(params)}")
            params.append(Param(x, f"x{len(params)}"))
            sources.append(Read(len(args), here if a in self.extents else ()))
            args.append(select(self.b.expr(a), 1, 0).atom if a.truth else self.all_of(a))
            names[a] = (inner.expr(x) != 0).var if a.truth else x
            return names[a]
        value = inner.emit(e.op, *[operand(a) for a in e.args])
        op = Comprehension(ranges=lead, write=here, shape=extents, sources=tuple(sources),
                           body=body_of(value, params, inner.equations))
        self.made(e.with_op(op, args, (renamed(e.outs[0], extents),)), e.outs[0])

    def recurrence(self, e: Equation, op: Recurrence, extents: Shape) -> None:
        """A recurrence: histories that depend on a seed have the directions in front."""
        count = len(op.histories)
        turned: set[Atom] = {x for x, a in zip((*op.histories, *op.constants), e.args, strict=True) if a in self.extents}
        before = -1
        while len(turned) > before:
            before = len(turned)
            turned.update(s.outs[0] for s in op.statements if not turned.isdisjoint(s.args))
        inner: dict[Atom, Var] = {x: renamed(x, (*extents, *x.shape)) for x in (*op.histories, *op.constants) if x in turned}
        self.whole.update(inner)
        self.extents.update(dict.fromkeys(inner, extents))
        statements = []
        for s in op.statements:
            if s.outs[0] in turned:
                one = self.in_all(s, s.op, extents, behind=1)
                s = s.with_op(one.op, one.args, (inner[s.outs[0]],))
            statements.append(s)
        starts = [self.begun(a, extents, h) if h in turned else a for h, a in zip(op.histories, e.args, strict=False)]
        outs = tuple([renamed(o, (*extents, *o.shape)) if h in turned else o for h, o in zip(op.histories, e.outs, strict=True)])
        loop = replace(op, histories=tuple([inner.get(h, h) for h in op.histories]),
                       constants=tuple([inner.get(c, c) for c in op.constants]), statements=tuple(statements))
        args = (*starts, *map(self.all_of, e.args[count:]))
        self.b.equations.append(e.with_op(loop, args, outs))
        self.whole.update({o: n for o, n in zip(e.outs, outs, strict=True) if o is not n})

    def begun(self, start: Atom, extents: Shape, history: Var) -> Atom:
        if isinstance(start, Lit) or (start in self.extents and shape_of(start)):
            return self.all_of(start)
        return self.tiled(start, extents, history.shape)

    # -- a line for the directions that have something

    def by_term(self, e: Equation, op: Comprehension, extents: Shape) -> bool:
        """A sum as one line for each way in which seeds are read; false where it is not linear in them, or is none."""
        assigned = op.reduction == "=" and op.onto is None and all_fixed(op.ranges, op.write)
        if not assigned and op.reduction != "+":
            return False
        keys: dict[int, Subscripts | None] = {}
        ways: dict[object, Subscripts] = {}   # the first of those that are the same
        for k, s in op.reads():
            a = e.args[s.arg]
            if a in self.extents:
                keys[k] = None
                if a in self.single:
                    kept = self.single[a]
                    way = kept.direction(s.subscripts)
                    if way is None or (kept.partial and not all(isinstance(x, Affine) for x in way)):
                        return False
                    keys[k] = ways.setdefault(tuple([read_form(x, e.args) for x in way]), way)
        distinct = list(dict.fromkeys(keys.values()))
        if distinct == [None] or not distinct:
            return False
        terms = [_part(op.body, [op.body.params[k].var for k in keys], [op.body.params[k].var for k in keys if keys[k] != key])
                 for key in distinct]
        if any(t is None for t in terms) or _part(op.body, (every := [op.body.params[k].var for k in keys]), every) != ():
            return False
        lines = [self.term(e, op, keys, key, t, extents) for key, t in zip(distinct, terms, strict=True) if t]
        self.summed(e, op, lines, extents)
        return True

    def term(self, e: Equation, op: Comprehension, keys: Mapping[int, Subscripts | None], key: Subscripts | None,
             part: tuple[Program, ...], extents: Shape) -> tuple[Comprehension, Atoms]:
        """The term of the seeds that are read in one way."""
        (body,), sources, args = part, list(op.sources), list(e.args)
        ranges, lead = ((), key) if key is not None else directions(extents)
        known: dict[Atom, Atom] = {}
        guards = dict.fromkeys(op.guards)
        for k in (k for k, way in keys.items() if way == key):
            s, a = op.sources[k], e.args[op.sources[k].arg]   # type: ignore[union-attr]
            assert isinstance(s, Read)
            value = self.all_of(a) if key is None else self.single[a].value
            if key is not None and self.single[a].partial:
                guards.update(dict.fromkeys(inside(key, extents)))
            if isinstance(value, Lit):
                known[body.params[k].var] = value
            sources[k] = Read(len(args), (*lead, *s.subscripts) if key is None else s.subscripts)
            args.append(value)
        op = replace(op, ranges=(*ranges, *op.ranges), write=(*lead, *op.write), shape=(*extents, *op.shape), onto=None,
                     guards=tuple(guards), sources=tuple(sources), body=simplify(body, known))
        return compact(op, tuple(args))

    def summed(self, e: Equation, op: Comprehension, lines: Sequence[tuple[Comprehension, Atoms]],
               extents: Shape) -> None:
        """The terms as lines that add to one another; one alone is kept as less where it can be."""
        old, shape = e.outs[0], (*extents, *op.shape)
        if len(lines) == 1 and op.onto is None and (kept := self.kept(old, op, *lines[0], len(extents))):
            self.single[old] = kept
            return
        before = op.start(e)
        if before is not None:
            before = self.all_of(before) if before in self.extents else self.tiled(before, extents, op.shape)
        for line, args in lines:
            if before is None:
                line = replace(line, reduction="=" if all_fixed(line.ranges, line.write) else "+")
            else:
                line, args = replace(line, reduction="+", onto=len(args)), (*args, before)
            before = renamed(old, shape)
            self.b.equations.append(e.with_op(line, args, (before,)))
        assert isinstance(before, Var)
        self.whole[old] = before

    def kept(self, old: Var, op: Comprehension, line: Comprehension, args: Atoms, count: int) -> OneDirection | None:
        """The one term as a value without directions, where its own subscripts say the direction."""
        here = [s.index for s in op.write if isinstance(s, Affine)]
        at = [s for s in line.write[:count] if isinstance(s, Affine)]
        plain = len(here) == len(op.write) and None not in here and len({*here}) == len(here) == len(op.ranges)
        if not plain or len(at) < count or not {i for x in at for i in x.indices()} <= {*here}:
            return None
        value = line.body.results[0].atom
        small = replace(line, ranges=op.ranges, write=op.write, shape=op.shape, reduction="=")
        whole = covers(small)
        if not isinstance(value, Lit) or not whole:
            value = renamed(old, op.shape)
            self.b.define(value, small, args)
        return OneDirection(value, tuple([i for i in here if i is not None]), tuple(at), not whole)

    # -- results

    def result(self, atom: Atom, extents: Shape, behind: bool) -> Atom:
        """A value with all directions, whose dimensions stand in front of its own or `behind` them."""
        shape = shape_of(atom)
        if atom not in self.extents:
            return filled(self.b, (*shape, *extents) if behind else (*extents, *shape), 0.0)
        if not behind or not shape:
            return self.all_of(atom)
        if atom in self.single and atom not in self.whole:
            kept = self.single[atom]
            ranges = tuple([Range(i, affine(0), n) for i, n in zip(kept.here, shape, strict=True)])
            return self.written(kept, ranges, (*map(affine, kept.here), *kept.at), (*shape, *extents), atom)
        if atom not in self.behind:   # two results may have the same
            self.behind[atom] = turned(self.b, self.whole[atom], len(extents))
        return self.behind[atom]


def turned(b: Builder, whole: Var, count: int) -> Var:
    """A value with its leading dimensions behind the others: written so where it is made, if nothing else reads it."""
    shape = (*whole.shape[count:], *whole.shape[:count])
    at = next(i for i, e in enumerate(b.equations) if whole in e.outs)
    made, out = b.equations[at], renamed(whole, shape)
    if isinstance(made.op, Comprehension) and made.op.onto is None and all(whole not in e.args for e in b.equations):
        op = replace(made.op, write=(*made.op.write[count:], *made.op.write[:count]), shape=shape)
        b.equations[at] = made.with_op(op, made.args, (out,))
        return out
    ranges, here = every_element(shape)
    read = Read(0, (*here[-count:], *here[:-count]))
    op = Comprehension(ranges=ranges, write=here, shape=shape, sources=(read,), body=identity_body())
    b.equations.append(made.with_op(op, (whole,), (out,)))
    return out


def directions(extents: Shape) -> tuple[tuple[Range, ...], tuple[Affine, ...]]:
    """Ranges over all directions, and the subscripts of one."""
    indices = [Index("k") for _ in extents]
    return tuple([Range(i, affine(0), n) for i, n in zip(indices, extents, strict=True)]), tuple(map(affine, indices))


def inside(at: Iterable[Subscript], extents: Shape) -> tuple[Affine, ...]:
    """Guards that say that these are subscripts of a direction."""
    return tuple([g for x, n in zip(at, extents, strict=True) if isinstance(x, Affine) for g in (x, n - 1 - x)])


def renamed(like: Atom, shape: Shape) -> Var:
    """A value with the name of another one and its own shape."""
    assert isinstance(like, Var)
    return Var(like.name, like.temp, like.truth, shape)


# ---------------------------------------------------------------- linear bodies

def _part(body: Program, seeds: Collection[Atom], zero: Collection[Atom]) -> tuple[Program, ...] | None:
    """The body where some of its seeds are zero by construction: () where it is so itself, None where it is not linear in the
    seeds, as far as that shows."""
    seeded, absent, b = {*seeds}, {*zero}, Builder()
    env: dict[Atom, Atom] = {}
    for e in body.equations:
        if seeded.isdisjoint(e.args):
            b.equations.append(e)
            continue
        out = e.outs[0]
        found = _linear(e, [env.get(a, a) for a in e.args], seeded, absent, b)
        if found is None:
            return None
        seeded.add(out)
        if found in absent:
            absent.add(out)
        elif found is not out:
            env[out] = found
    value = env.get(body.results[0].atom, body.results[0].atom)
    if value in absent:
        return ()
    if value not in seeded and body.results[0].atom not in seeded:
        return None
    return (body_of(value, body.params, b.equations),)


def _linear(e: Equation, x: Sequence[Atom], seeded: Collection[Atom], absent: set[Atom], b: Builder) -> Atom | None:
    """The value of a line that depends on seeds, with these arguments; one of `absent` where it is zero by construction, None
    where it is not linear in them."""
    gone, both = [a in absent for a in x], all(map(seeded.__contains__, e.args))
    match e.op.name:
        case "neg" | "and":
            pass
        case "mul" if not both:
            pass
        case "div" if e.args[1] not in seeded:
            pass
        case "ne" if isinstance(e.args[1], Lit) and e.args[1].value == 0:
            pass
        case "add" | "sub" | "or" if both:
            if gone[0] != gone[1]:
                return x[gone[0]] if gone[1] or e.op is not SUB else b.emit(NEG, x[1])
            gone = gone[:1]
        case "select":
            return _chosen(e, x, seeded, absent, b)
        case _:
            return None
    if any(gone):
        absent.add(e.outs[0])
    else:
        b.equations.append(e.with_args(x))
    return e.outs[0]


def _chosen(e: Equation, x: Sequence[Atom], seeded: Collection[Atom], absent: set[Atom], b: Builder) -> Atom | None:
    """A choice whose condition, or whose arms, depend on seeds; one of `absent` where it is zero by construction."""
    condition, *arms = x
    nothing = [a in absent or (isinstance(a, Lit) and a.value == 0) for a in arms]
    linear = [n or a in seeded for n, a in zip(nothing, e.args[1:], strict=True)]
    if e.args[0] in seeded:   # a product of seeds too, unless those of the condition are absent where those of the arm are
        if not nothing[1] or (e.args[1] in seeded and (condition in absent) != nothing[0]):
            return None
    elif not all(linear):
        return None
    if condition in absent or all(nothing):
        absent.add(e.outs[0])
        return e.outs[0]
    first, second = [Lit(0.0) if n else a for n, a in zip(nothing, arms, strict=True)]
    return b.emit(e.op, condition, first, second)
