"""Where a tensor is not zero, where that is known without its values.

Derivatives carry tensors that say which elements exist: i1(t, u) = 1 where t >= u, read as i1(t, u) != 0 ? … : 0. What such a
tensor says are conditions on subscripts. Where they follow from ranges and guards, the question has one answer; where they do
not, and everything of a body is under it, they become guards; so the tensor is read by nobody. No bit of a result changes: a
point that is left out would have added 0, or have written 0 where there is 0.

A support is a tuple of conditions: an element is not zero just where all of them hold. A condition is an expression of `PLACES`,
which has an index for each dimension, that is not negative; or a number c ? 1 : 0 that is not zero. A tensor that is zero nowhere
if such a number is not, as what comes from one seed, need not be read either: the number is, or one that is 0 for some sizes too.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from adcli.lang.ir import Atom, Atoms, Equation, Lit, Shape, Var, definitions, shape_of
from adcli.lang.ir.affine import Affine, Index, NewSubstitution, affine, atoms, substituted
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.comprehension import Comprehension, Ends, Read, all_fixed, ends_of, implied, in_ranges, needed_guards
from adcli.lang.operations.elementwise import every_element
from adcli.lang.operations.recurrence import Recurrence, whole_statements, without_onto

NE, AND, SELECT = TABLE["ne"], TABLE["and"], TABLE["select"]
PLACES = tuple([Index(f"d{k}") for k in range(32)])
"""The indices of a support: the places of an element in each dimension."""
Support = tuple[Affine | Var, ...]
Supports = Mapping[Atom, Support]
NOWHERE: Support = (affine(-1),)
Limited = Callable[[Var, tuple[Affine, ...]], Var]
"""A number that is 0 where another is, and for the sizes for which any of some expressions is negative."""


def follows(x: Affine | Var, ends: Ends, guards: Iterable[Affine | Var]) -> bool:
    """Whether a condition holds at every point of a box where a guard holds, or anywhere in it."""
    if isinstance(x, Var):
        return any(x is g for g in guards)
    return implied(x, ends, [g for g in guards if isinstance(g, Affine)])


def split(conditions: Support) -> tuple[tuple[Affine, ...], tuple[Var, ...]]:
    """The conditions that are about places, and the numbers."""
    return tuple([c for c in conditions if isinstance(c, Affine)]), tuple([c for c in conditions if isinstance(c, Var)])


# ---------------------------------------------------------------- what is known of a tensor

def support_of(op: Comprehension, args: Atoms, known: Supports) -> Support | None:
    """The support of what a comprehension makes; None where it is not known. What has one that is known is nowhere negative."""
    value = op.body.results[0].atom
    if len(op.shape) > len(PLACES) or op.reduction not in ("=", "+"):
        return None
    if op.onto is not None:
        before = known.get(args[op.onto])
        return cleared(written(op), before, op.shape) if op.reduction == "=" and is_zero(value) and before is not None else None
    conditions = NOWHERE if is_zero(value) else where_positive(op, args, known)
    if conditions is None:
        return None
    guards, numbers = split(conditions)
    places = within(written(replace(op, guards=(*op.guards, *guards))), op.shape)
    return None if places is None else (*places, *dict.fromkeys(numbers))


def where_positive(op: Comprehension, args: Atoms, known: Supports) -> Support | None:
    """The conditions under which the value of a body is more than 0, where it is 0 otherwise; None where that is not known."""
    ends, found = ends_of(op.ranges), dict[Atom, Support]()

    def of(a: Atom) -> Support | None:
        return () if isinstance(a, Lit) and a.value > 0 else found.get(a)
    for p, s in op.inputs():
        if isinstance(s, Read) and (there := at(s, args, known)) is not None:
            found[p.var] = there
    for e in op.body.equations:
        parts = [of(a) for a in e.args]
        match e.op.name, parts:
            case "ne" | "gt", [x, _] if x is not None and is_zero(e.args[1]):
                found[e.outs[0]] = x
            case "select", [c, x, _] if c is not None and x is not None and is_zero(e.args[2]):
                found[e.outs[0]] = (*c, *x)
            case "and", [x, y] if x is not None and y is not None:
                found[e.outs[0]] = (*x, *y)
            case "add" | "or", [x, y] if x is not None and y is not None:
                whole = next((z for z in (x, y) if all(follows(c, ends, each) for each in (x, y) for c in z)), None)
                if whole is not None:
                    found[e.outs[0]] = whole
    return of(op.body.results[0].atom)


def at(s: Read, args: Atoms, known: Supports) -> Support | None:
    """The conditions under which an element that is read is not zero; None where they are not known."""
    conditions = known.get(args[s.arg])
    by: NewSubstitution = {p: x for p, x in zip(PLACES, s.subscripts, strict=False) if isinstance(x, Affine)}
    if conditions is None or len(by) < len(s.subscripts):
        return None
    return tuple([substituted(c, by) if isinstance(c, Affine) else c for c in conditions])


def written(op: Comprehension) -> tuple[Affine, ...] | None:
    """Which elements a comprehension writes: its ranges and guards, said of the places of an element; None where its subscripts
    do not give them."""
    by: NewSubstitution = {}
    conditions: list[Affine] = []
    for place, s in zip(PLACES, op.write, strict=False):
        if not isinstance(s, Affine):
            return None
        found = [i for i in atoms(s) if isinstance(i, Index)]
        if not found:
            conditions += [affine(place) - s, s - affine(place)]
            continue
        i, sign = found[0], s.coefficient(found[0])
        rest = s - affine(i) * sign
        if len(found) > 1 or i in by or sign not in (1, -1) or i in atoms(rest):
            return None
        by[i] = (affine(place) - rest) * sign
    conditions += in_ranges(op.ranges)
    left: list[Affine] | None = [*conditions, *op.guards]
    for i in op.indices:
        if i not in by and left is not None:
            left = without_index(left, i)
    return None if left is None else tuple([substituted(c, by) for c in left])


def without_index(conditions: Iterable[Affine], i: Index) -> list[Affine] | None:
    """The projection of conditions without an index: every lower bound is at most every upper one. That
    is exact for coefficients 1 and -1; None for others."""
    lows, highs, rest = list[Affine](), list[Affine](), list[Affine]()
    for c in conditions:
        if i not in atoms(c):
            rest.append(c)
        elif c.coefficient(i) in (1, -1) and i not in atoms(left := c - affine(i) * c.coefficient(i)):
            (lows if c.coefficient(i) == 1 else highs).append(left)
        else:
            return None
    return rest + [low + high for low in lows for high in highs]


def within(conditions: tuple[Affine, ...] | None, shape: Shape) -> tuple[Affine, ...] | None:
    """Conditions without those that hold for every element of a shape; an element that is asked about is there, so that none of
    the extents is 0."""
    if conditions is None:
        return None
    ends, there = any_element(shape)
    return tuple(dict.fromkeys([c for c in conditions if not follows(c, ends, there)]))


def any_element(shape: Shape) -> tuple[Ends, list[Affine]]:
    """The ends of the places of an element of a shape, and what is not negative where there is one."""
    ranges, _ = every_element(shape)
    return (ends_of(replace(r, index=p) for r, p in zip(ranges, PLACES, strict=False)), [r.high - 1 for r in ranges])


def cleared(zeros: tuple[Affine, ...] | None, before: Support, shape: Shape) -> Support | None:
    """The support that is left where elements become zero: known if one condition says which."""
    zeros = within(zeros, shape)
    guards, numbers = split(before)
    left = within((*guards, -zeros[0] - 1), shape) if zeros is not None and len(zeros) == 1 else None
    return None if left is None else (*left, *numbers)


# ---------------------------------------------------------------- what reads it

def decided(op: Comprehension, args: Atoms, known: Supports) -> dict[Atom, Atom]:
    """The parameters of a body that are only asked whether they are zero, and are so nowhere or everywhere: 1 or 0 for them."""
    found: dict[Atom, Atom] = {}
    ends = ends_of(op.ranges)
    for p, conditions in asked(op, args, known).items():
        if all(follows(c, ends, op.guards) for c in conditions):
            found[p] = Lit(1.0)
        elif any(follows(-c - 1, ends, op.guards) for c in conditions if isinstance(c, Affine)):
            found[p] = Lit(0.0)
    return found


def by_number(op: Comprehension, args: Atoms, known: Supports, limited: Limited
              ) -> tuple[Comprehension, Atoms]:
    """The comprehension with a number in place of what is only asked whether it is zero, and is so at all points or at none."""
    ends, sources, questions = ends_of(op.ranges), list(op.sources), asked(op, args, known)
    for k, (p, s) in enumerate(op.inputs()):
        places, numbers = split(questions.get(p.var, ()))
        left = tuple(dict.fromkeys([c for c in places if not follows(c, ends, op.guards)]))
        if len(numbers) == 1 and isinstance(s, Read) and args[s.arg] is not numbers[0] and not any(c.indices() for c in left):
            sources[k], args = Read(len(args), ()), (*args, limited(numbers[0], left))
    return replace(op, sources=tuple(sources)), args


def guarded(op: Comprehension, args: Atoms, known: Supports) -> tuple[Comprehension, dict[Atom, Atom]]:
    """The comprehension with what its whole body is under as guards, and the parameters that are not zero then."""
    if op.onto is not None or not (op.reduction == "+" or (op.reduction == "=" and all_fixed(op.ranges, op.write))):
        return op, {}
    questions = asked(op, args, known)
    met = [p for p in conjuncts(op) if p in questions]
    if not met:
        return op, {}
    needed, whole = list(op.guards), dict[Atom, Atom]()
    for p in met:
        places, numbers = split(questions[p])
        needed += [c for c in places if not numbers or c.indices()]
        if not numbers:
            whole[p] = Lit(1.0)
    op = replace(op, guards=tuple(dict.fromkeys(needed)))
    return replace(op, guards=needed_guards(op.guards, op.ranges)), whole


def asked(op: Comprehension, args: Atoms, known: Supports) -> dict[Atom, Support]:
    """The parameters of a body that are only compared with 0, whose support is known, with its conditions at the point."""
    if known.keys().isdisjoint(args):
        return {}
    found: dict[Atom, Support] = {}
    for p, s in op.inputs():
        if isinstance(s, Read) and (there := at(s, args, known)) is not None:
            found[p.var] = there
    for e in op.body.equations:
        if not (e.op is NE and is_zero(e.args[1])):
            for a in e.args:
                found.pop(a, None)
    found.pop(op.body.results[0].atom, None)
    return found


def conjuncts(op: Comprehension) -> list[Atom]:
    """The parameters that are not zero wherever the value of a body is not the constant 0."""
    made = definitions(op.body.equations)
    found: list[Atom] = []
    value = made.get(op.body.results[0].atom)
    while value is not None and value.op is SELECT and is_zero(value.args[2]):
        stack: list[Atom] = [value.args[0]]
        while stack:
            e = made.get(stack.pop())
            if e is not None and e.op is AND:
                stack += e.args
            elif e is not None and e.op is NE and is_zero(e.args[1]):
                found.append(e.args[0])
        value = made.get(value.args[1])
    return found


def is_zero(a: Atom) -> bool:
    return isinstance(a, Lit) and a.value == 0 and math.copysign(1, a.value) == 1


# ---------------------------------------------------------------- where histories of loops are not zero
# Where histories of loops are not zero, where that is known without their values.
#
#     i(T) = n
#     for t in 0:T down {
#         i(t) += i(t + 1) != 0 ? 1 : 0
#         j(t) += i(t + 1) != 0 ? 1 : 0
#     }
#
# Nothing in i and j is zero unless n is. It is shown by induction: what is claimed of all elements of all histories is true if
# it follows, for each element, from what is claimed of those that its statements read; for a statement is true of the final
# histories, and an element is written before it is read, so no element depends on itself. What is claimed first is that nothing
# is zero; claims that do not follow give way to smaller ones until all do.

def histories_supports(e: Equation[Recurrence], known: Supports) -> dict[Atom, Support]:
    """The supports of the results of a recurrence that are known, where all that it is made of comes from one number."""
    numbers = {n: None for a in e.args if a in known for n in split(known[a])[1]}
    if len(numbers) != 1:
        return {}
    starts: dict[Atom, Atom] = dict(zip(e.outs, e.args, strict=False))
    writers: dict[Atom, list[Equation]] = {out: [] for out in starts}
    for s in whole_statements(e):
        writers[s.outs[0]].append(s)
    sizes: dict[Affine | Var, None] = dict.fromkeys(
        [c for a in e.args for c in split(known.get(a, ()))[0] if c.number is None and not c.indices()])
    runs = tuple([c for c in (e.op.high - e.op.low - 1,) if not c.indices()])
    claims: dict[Atom, Support] = dict.fromkeys(starts, (*sizes, *numbers))
    tried, settled = dict.fromkeys(claims, 0), False
    while not settled:
        settled = True
        for out, claim in [*claims.items()]:
            pieces = pieces_of(starts[out], writers[out], {**known, **claims}, runs)
            if is_union(claim, pieces, shape_of(out)):
                continue
            del claims[out]
            smaller: list[Support] = [(*dict.fromkeys([*sizes, *runs]), *numbers), *pieces] if pieces else []
            if tried[out] < len(smaller):
                claims[out] = smaller[tried[out]]
            tried[out], settled = tried[out] + 1, False
    return claims


def pieces_of(start: Atom, writers: Sequence[Equation], known: Mapping[Atom, Support], runs: Sequence[Affine]) -> list[Support]:
    """The supports of what a history starts from and of what each statement gives it, none of which takes away from another; none
    where they are not known. The loop `runs` where these are not negative."""
    begins = known.get(start, NOWHERE if is_zero(start) else None)
    if begins is None:
        return []
    pieces = [begins]
    for s in writers:
        added = without_onto(s)
        piece = support_of(added.op, added.args, known) if isinstance(added.op, Comprehension) else None
        if piece is None or (added is s and begins != NOWHERE and split(piece)[0] != written_by(s)):
            return []
        pieces.append(tuple(dict.fromkeys([*runs, *piece])))
    return [piece for piece in pieces if not any(c.number is not None and c.number < 0 for c in split(piece)[0])]


def written_by(s: Equation) -> tuple[Affine, ...] | None:
    """Which elements of its history a statement writes; None where that is not known."""
    return within(written(s.op), shape_of(s.outs[0])) if isinstance(s.op, Comprehension) else None


def is_union(claim: Support, pieces: Sequence[Support], shape: Shape) -> bool:
    """Whether a support is all of some others and nothing more."""
    ends, there = any_element(shape)
    region, numbers = split(claim)

    def implied(conditions: Support, *by: Affine) -> bool:
        return all(follows(c, ends, (*by, *there)) for c in split(conditions)[0])

    def beside(c: Affine) -> bool:
        elsewhere = -c - 1
        return implied((c,), *region) or any(
            implied(other, elsewhere, *region, *[elsewhere + r for r in region]) for other in pieces)
    return (all(split(piece)[1] == numbers and implied(region, *split(piece)[0]) for piece in pieces)
            and any(all(map(beside, split(piece)[0])) for piece in pieces))
