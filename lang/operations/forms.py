"""Forms of operations: equal for those that compute the same, whatever indices and variables are called inside, and in whatever
order ranges and sources stand.

A comprehension has a form that does not show these: its body walked from the result, sources numbered as they are met, and
indices numbered by where they stand. Two indices that stand in the same places with the same coefficients can change
roles without a difference, so their order does not matter.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from adcli.lang.ir import Atom, Equation, Lit, Program, Var, definitions
from adcli.lang.ir.affine import Affine, Index, NewSubstitution, affine, linear, slope, substituted
from adcli.lang.operations.comprehension import BodySource, Comprehension, Read, Subscript
from adcli.lang.operations.matrix import Boxed
from adcli.lang.operations.recurrence import Recurrence, step_place

Form = tuple[tuple[object, ...], list[Atom]]
"""A hashable form, equal for equal operations, and the arguments in the order in which it names them."""


def loop_form(e: Equation[Recurrence]) -> tuple[tuple[object, ...], list[Atom], tuple[Var, ...]]:
    """The form of a recurrence, its arguments, and the results in the order in which the statements name them. Statements stand
    in their order, whatever histories and constants are called. Where a loop may end early is no part of it: that changes no
    value."""
    op = e.op
    place: dict[Atom, int] = {}
    forms, starts = [], dict(zip(op.histories, zip(e.args, e.outs, strict=False), strict=True))
    constants = dict(zip(op.constants, e.args[len(op.histories):], strict=True))
    for s in op.statements:
        shown, args = form(s)
        names = [("constant", a.bits) if isinstance(a, Lit) else place.setdefault(constants.get(a, a), len(place))
                 for a in (s.outs[0], *args)]
        forms.append((shown, step_place(s.op, op.step), *names))
    found = [starts[a] for a in place if a in starts]
    given = [starts[a][0] if a in starts else a for a in place]
    return (op.low, op.high, op.down, op.checkpoint, *forms), given, tuple(out for _, out in found)


def form(e: Equation[Boxed]) -> Form:
    """The form of an operation over a box."""
    op, args = e.op, e.args
    inside, order = terms(op, args) if isinstance(op, Comprehension) else (op.transposed, op.sources)
    by, read = numbered(op, order), (*op.write, *order)
    atoms, starts = [args[a] for s in read for a in arguments(s)], [before for before, _ in op.started(e)]
    return (op.name, op.reduction, op.shape, *box_form(op, by), len(op.write), tuple(renamed(s, by) for s in read), inside,
            len(starts)), [*atoms, *starts]


def term_form(op: Comprehension, args: Sequence[Atom]) -> tuple[tuple[object, ...], NewSubstitution]:
    """A form, equal for comprehensions with equal values at every point, whatever they make of them; and the names
    that the indices have in it."""
    op = replace(op, write=(), shape=())
    nodes, order = terms(op, args)
    by = numbered(op, order)
    return (*box_form(op, by), tuple(renamed(s, by) for s in order), nodes,
            tuple(args[a] for s in order for a in arguments(s))), by


def terms(op: Comprehension, args: Sequence[Atom]) -> tuple[tuple[object, ...], list[BodySource]]:
    """The form of a body, and its sources in the order in which it names them."""
    nodes, met = body_form(op.body, {p.var: key(s, args) for p, s in op.inputs()})
    sources = dict(zip([key(s, args) for s in op.sources], op.sources, strict=True))
    return nodes, [sources[k] for k in met]


def box_form(op: Boxed, by: NewSubstitution) -> tuple[tuple[object, ...], tuple[Affine, ...]]:
    """Ranges and guards, for indices with these names."""
    ranges = sorted(op.ranges, key=lambda r: by[r.index].terms[0][0])  # type: ignore[arg-type,return-value]
    return tuple((r.low, r.high) for r in ranges), tuple(sorted((substituted(g, by) for g in op.guards), key=repr))


def key(s: Subscript | BodySource, args: Sequence[Atom]) -> object:
    """A source up to equality within its comprehension."""
    if isinstance(s, Affine):
        return s
    return args[s.arg], tuple(key(x, args) for x in s.subscripts)


def body_form(body: Program, sources: dict[Var, object]) -> tuple[tuple[object, ...], list[object]]:
    """The operations of a body as tuples with numbers for values, and its sources in the order in which they are met."""
    made = definitions(body.equations)
    numbers: dict[object, object] = {}
    met: list[object] = []
    nodes: list[object] = []

    def leaf(a: Atom) -> object:
        if isinstance(a, Lit):
            return "constant", a.bits
        if a in sources:
            source = ("source", sources[a])
            if source not in numbers:
                numbers[source] = ("source", len(met))
                met.append(sources[a])
            return numbers[source]
        return numbers.get(a)

    root = body.results[0].atom
    stack: list[tuple[Atom, bool]] = [(root, False)]
    while stack:
        a, ready = stack.pop()
        if ready:
            assert isinstance(a, Var)
            e = made[a]
            nodes.append((e.op.name, tuple(leaf(x) for x in e.args)))
            numbers[a] = ("value", len(nodes))
        elif leaf(a) is None:
            stack.append((a, True))
            stack += [(x, False) for x in reversed(made[a].args)]
    return (*nodes, leaf(root)), met


def numbered(op: Boxed, order: Sequence[BodySource]) -> NewSubstitution:
    """For each index a name that says where it stands."""
    places = [x for s in (*op.write, *order) for x in expressions(s)]

    def place(i: Index) -> object:
        r = next(r for r in op.ranges if r.index is i)
        return ([role(x, i) for x in places], sorted(repr(role(g, i)) for g in op.guards), repr(r.low), repr(r.high))
    ranked = sorted(op.indices, key=lambda i: repr(place(i)))
    return {i: affine(f"#{n:06}") for n, i in enumerate(ranked)}


def role(x: Affine, i: Index) -> object:
    """The role of an index in an expression: its coefficient, where it has no more than that."""
    if linear(x) and (c := slope(x, i).number) is not None:
        return c
    return repr(substituted(x, {j: affine("#here" if j is i else "#else") for j in x.indices()}))


def expressions(s: Subscript | BodySource) -> Iterator[Affine]:
    if isinstance(s, Affine):
        yield s
    else:
        for x in s.subscripts:
            yield from expressions(x)


def arguments(s: Subscript | BodySource) -> Iterator[int]:
    if isinstance(s, Read):
        yield s.arg
        for x in s.subscripts:
            yield from arguments(x)


def renamed(s: Subscript | BodySource, by: NewSubstitution) -> object:
    return substituted(s, by) if isinstance(s, Affine) else ("read", tuple(renamed(x, by) for x in s.subscripts))
