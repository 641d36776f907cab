"""Conditions on indices: the pieces of a box where they hold, what ranges say of them, and the reads that depend on them.

Choices by conditions on indices whose arms read outside of their tensors elsewhere, as in `i - 1 >= 0 ? A(i - 1) : 0`: a
statement becomes one comprehension for each arm.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from adcli.lang.expressions.scope import Context
from adcli.lang.expressions.subscripts import LONGEST, AffineReader
from adcli.lang.ir.affine import Affine, Index, atoms, never_negative
from adcli.lang.ir.errors import AdError, Span
from adcli.lang.ir.records import plain_record
from adcli.lang.sizes.all_sizes import in_doubt
from adcli.lang.sizes.condition_dnf import COMPARISONS, EVERYWHERE, SPLITS, UNKNOWN, EitherWay, Where, under
from adcli.lang.sizes.proofs import proved
from adcli.lang.sizes.ranges import Access, Domain
from adcli.lang.statements.comprehension_body import Elements, rewritten, size_of
from adcli.lang.tree.nodes import Call, Node, Op, Token, bare, names_in, postorder

MANY = 16
"""Comparisons beyond which nothing is proved from all of them together."""


class IndexTest(NamedTuple):
    """A comparison of indices; `exact` where quotients are not rounded, as in a value: in where N / 2 is the floor."""

    name: str
    left: Node
    right: Node
    exact: bool


Piece = list[IndexTest]
"""Part of a box: the points where all of these hold."""

T = TypeVar("T")


def pieces_where(context: Context, root: Node, holds: bool, exact: bool = False) -> list[Piece]:
    """The pieces of a box where a condition on indices `holds`, or does not; no two of them meet. AdError where they are too
    many, or it is no such condition."""
    if not is_condition(root):
        raise context.fault("a condition of where compares indices", root, "for example where k >= i")
    found = both_ways(root, exact)[not holds]
    if found is None:
        raise context.fault(f"this condition makes more than {SPLITS} comprehensions", root)
    return [[*piece] for piece in found]


def both_ways(root: Node, exact: bool) -> EitherWay[IndexTest]:
    """The pieces where a condition holds, and where it does not."""
    return sides_of(root, lambda node: EitherWay(*(alternatives(name, node.args, exact)
                                                   for name in (node.name, COMPARISONS[node.name]))))


def sides_of(root: Node, compared: Callable[[Op | Call], EitherWay[T]]) -> EitherWay[T]:
    """The pieces of a condition, of which `compared` has those of its comparisons."""
    stack: list[EitherWay[T]] = []
    for node in logical(root):
        if node.name in COMPARISONS:
            stack.append(compared(node))
        elif node.name == "not":
            stack.append(stack.pop().negated())
        else:
            other = stack.pop()
            stack.append(stack.pop().also(other) if node.name == "and" else stack.pop().either(other))
    return stack[0]


def alternatives(name: str, operands: Sequence[Node], exact: bool) -> list[Piece]:
    """A comparison as comparisons that say where indices are: two of them for !=."""
    left, right = operands
    return [[IndexTest(each, left, right, exact)] for each in (("lt", "gt") if name == "ne" else (name,))]


def limits(reader: AffineReader, tests: Sequence[IndexTest]) -> list[Affine]:
    """What must not be negative for comparisons of indices to hold."""
    found: list[Affine] = []
    for name, *nodes, exact in tests:
        (left, by), (right, its) = (reader.ratio(n, "a condition of where", exact) for n in nodes)
        left, right = left * its, right * by
        strict = 1 if name in ("lt", "gt") else 0
        up, down = left - right - strict, right - left - strict
        if name == "eq":
            found += [g for g in (up, down) if not never_negative(g)] or [up]
        else:
            found.append(up if name in ("gt", "ge") else down)
    return found


def is_condition(root: Node) -> bool:
    """Whether an expression is made of comparisons, by and, or and not."""
    stack = [root]
    while stack:
        node = bare(stack.pop())
        if not isinstance(node, Op | Call) or not is_logical(node):
            return False
        if node.name not in COMPARISONS:
            stack += node.args
    return True


def logical(root: Node) -> list[Op | Call]:
    """The operations that a condition is made of, down to its comparisons, operands before what is made of them. What they
    compare may have conditions of its own, which are no part of it."""
    found: list[Op | Call] = []
    stack = [root]
    while stack:
        node = bare(stack.pop())
        if isinstance(node, Op | Call) and is_logical(node):
            found.append(node)
            stack += node.args if node.name not in COMPARISONS else []
    return found[::-1]


def is_logical(node: Node) -> bool:
    """Whether an operation compares, or is and, or or not."""
    return isinstance(node, Op | Call) and (node.name in COMPARISONS or node.name in ("and", "or", "not")) and \
        len(node.args) == (1 if node.name == "not" else 2)


def decided(reader: AffineReader, domain: Domain, root: Node, exact: bool = False) -> str | None:
    """Whether a condition always holds in a box, or never; None where that depends on the point or is not known."""
    for word, pieces in zip(("never", "always"), both_ways(root, exact), strict=True):
        if pieces is not None and all(nowhere(domain, limits(reader, piece)) for piece in pieces):
            return word
    return None


def nowhere(domain: Domain, found: Sequence[Affine]) -> bool:
    """Whether it is proved that nothing of a box has all of these not negative."""
    found = list(dict.fromkeys(found))
    if len(found) > MANY:   # each by itself: proofs from many take long
        return any(domain.never_negative(-g - 1) for g in found)
    return any(proved(-g - 1, [*domain.known(), *found]) for g in found)


# ---------------------------------------------------------------- reads under conditions

Spans = tuple[Span | None, ...]


def is_choice(node: Node) -> bool:
    """True for a select."""
    return isinstance(node, Op | Call) and node.name == "select" and len(node.args) == 3


class GuardedCall(NamedTuple):
    """A call that is evaluated where one of the pieces of `where` is, as far as places say: if the conditions of `path` hold, or
    do not."""

    call: Call
    where: Where
    path: tuple[tuple[Node, bool], ...]

    def condition(self) -> Node:
        """All of its path as one condition."""
        found: list[Node] = [node if holds else Op("not", [node], node.start, node.end) for node, holds in self.path]
        whole = found[0]
        for node in found[1:]:
            whole = Op("and", [whole, node], node.start, node.end)
        return whole


class PlaceComparisons:
    """What comparisons say of the places of a statement whose indices are known."""

    def __init__(self, b: Elements) -> None:
        self.b = b
        self.known: dict[int, bool] = {}

    def size(self, name: str) -> Affine | None:
        """The size that a name is."""
        return size_of(self.b.scope, name)

    def of_places(self, node: Op | Call) -> bool:
        """Whether a comparison is one of expressions of indices and sizes that a subscript could be."""
        if id(node) not in self.known:
            self.known[id(node)] = self.reads_places(node)
        return self.known[id(node)]

    def reads_places(self, node: Op | Call) -> bool:
        b = self.b
        if any(b.tensor(n) is not None or (type(n) is Token and n.type == "NAME" and n.text not in b.indices
                                           and self.size(n.text) is None) for n in postorder(node)):
            return False
        try:
            limits(b.affine, alternatives("le", node.args, True)[0])
        except AdError:
            return False
        return True

    def sides(self, root: Node) -> EitherWay[Affine]:
        """Where a condition holds and where it does not, as far as places say."""
        return sides_of(root, self.compared) if is_condition(root) else UNKNOWN

    def compared(self, node: Op | Call) -> EitherWay[Affine]:
        if not self.of_places(node):
            return UNKNOWN
        return EitherWay(*([limits(self.b.affine, piece) for piece in alternatives(name, node.args, True)]
                           for name in (node.name, COMPARISONS[node.name])))

    def guarded(self, roots: Iterable[Node]) -> dict[Spans, GuardedCall]:
        """The calls under conditions, by the places of their arguments: in an arm of a choice, or behind `and` and `or`."""
        found: dict[Spans, GuardedCall] = {}
        stack: list[tuple[Node, Where, tuple[tuple[Node, bool], ...]]] = [(root, EVERYWHERE, ()) for root in roots]
        while stack:
            node, where, path = stack.pop()
            node = bare(node)
            if isinstance(node, Token) or not isinstance(node, Op | Call):
                continue
            if type(node) is Call and path:
                found[tuple([a.span for a in node.args])] = GuardedCall(node, where, path)
            outcomes = outcomes_of(node)
            stack += [(a, where, path) for a in node.args[:len(node.args) - len(outcomes)]]
            if outcomes:
                first, *others = node.args
                sides = self.sides(first)
                stack += [(a, under(where, sides.holds if holds else sides.fails), (*path, (first, holds)))
                          for a, holds in zip(others, outcomes, strict=True)]
        return found


def outcomes_of(node: Op | Call) -> Sequence[bool]:
    """The values of the first operand for which the others are evaluated; empty where they always are."""
    if is_choice(node):
        return True, False
    return (node.name == "and",) if node.name in ("and", "or") and len(node.args) == 2 else ()


# ---------------------------------------------------------------- choices by indices

@plain_record
class Arm:
    """A comprehension to be made: a statement with one arm of each choice that had to be taken apart.

    `lets` are the values that `where` names. `domain` is that of the statement, where that was taken apart: its ranges keep
    what all arms read inside of the tensors.
    """

    value: Node
    lets: dict[str, Node]
    tests: list[IndexTest]
    domain: Domain | None = None
    checked: bool = False
    """Whether reads that conditions are to keep inside are looked at as the program runs."""

    def roots(self) -> list[Node]:
        """All of its expressions."""
        return [*self.lets.values(), self.value]

    def with_values(self, new: dict[int, Node], tests: Iterable[IndexTest], domain: Domain) -> Arm:
        """The arm where more holds, and parts of its expressions, by their identity, are others."""
        def changed(root: Node) -> Node:
            return rewritten(root, lambda node: changed(new[id(node)]) if id(node) in new else None)
        lets = {name: changed(node) for name, node in self.lets.items()}
        return replace(self, value=changed(self.value), lets=lets, tests=[*self.tests, *tests], domain=domain)


def conditions_in(arm: Arm) -> list[Op | Call]:
    """The operations in an arm that ask for an operand only if a condition holds."""
    return [n for root in arm.roots() for n in postorder(root) if isinstance(n, Op | Call) and outcomes_of(n)]


class IndexChoices:
    """The choices in one arm of a statement, whose reads, ranges and guards are known."""

    def __init__(self, arm: Arm, choices: Sequence[Op | Call], b: Elements, domain: Domain, guards: Sequence[Affine]) -> None:
        self.arm, self.b, self.domain = arm, b, domain
        comparisons = PlaceComparisons(b)
        self.guarded = comparisons.guarded(arm.roots())
        self.size, found = comparisons.size, [(n, of_places(n.args[0], comparisons)) for n in choices if is_choice(n)]
        self.parts = [(n, part) for n, part in found if part is not None]
        """The choices whose conditions say something of places, with the first part that speaks of nothing else."""
        self.choices = [n for n, part in self.parts if part is bare(n.args[0])]
        """Those whose conditions speak of nothing else."""
        self.points = replace(domain, guards=(*domain.guards, *guards))
        open_ = {a.spans: {x for end in in_doubt(a, self.points) for x in atoms(end)} | self.computed(a) for a in b.accesses}
        self.doubts: dict[tuple[Span | None, ...], set[Index | str]] = {spans: found for spans, found in open_.items() if found}
        """The reads that may be outside of their tensors, with the indices and sizes that this depends on."""

    def computed(self, access: Access) -> set[Index | str]:
        """The indices that computed subscripts are made of."""
        made = [self.b.whole[span] for x, span in zip(access.subscripts, access.spans, strict=False)
                if x is None and span in self.b.whole]
        return {self.b.indices[name] for _, lows in made for name, _ in lows}

    def split(self) -> list[Arm] | None:
        """The arm as two and more, where an arm of a choice reads outside of a tensor unless the condition holds."""
        for node, part in self.parts if self.doubts else ():
            told = self.told_by(names_in(part))
            unsafe = {spans for spans, doubt in self.doubts.items() if not told.isdisjoint(doubt)}
            reading = {i for root in self.arm.roots() for i in holders(root, unsafe)}
            if any(id(bare(a)) in reading for a in node.args):
                pieces = [(value, piece) for holds in (True, False) for value in [outcome(node, part, holds)]
                          for piece in pieces_where(self.b.context, part, holds, True)]
                there = [p for p in pieces if not nowhere(self.points, limits(self.b.affine, p[1]))]
                return [self.piece(node, *p) for p in there or pieces[:1]]
        return None

    def piece(self, node: Op | Call, value: Node, tests: Piece) -> Arm:
        """The arm on a piece of its points, with what is left there of a choice, and of others that have one outcome there."""
        new: dict[int, Node] = {id(node): value}
        left = replace(self.points, guards=(*self.points.guards, *limits(self.b.affine, tests)))
        for other in self.choices:
            if other is not node and (word := decided(self.b.affine, left, other.args[0], True)):
                new[id(other)] = other.args[1 if word == "always" else 2]
        return self.arm.with_values(new, tests, self.domain)

    def checked(self, assigned: Collection[str]) -> Arm | None:
        """The arm with subscripts that conditions are to keep inside, in a way that places do not tell, as whole numbers that the
        conditions choose: each is looked at where it is used. Loops cannot compute those of values that they have `assigned`."""
        new: dict[int, Node] = {}
        length: dict[int, int] = {}   # of the calls that are made so
        reads = [(under, a) for a in self.b.accesses if (under := self.guarded.get(a.spans)) and under.call.name not in assigned]
        for under, a in sorted(reads, key=lambda t: len(t[0].path)):
            call, condition, args = under.call, under.condition(), list(under.call.args)
            for d, (x, extent, node) in enumerate(zip(a.subscripts, a.extents, call.args, strict=True)):
                if x is None or in_doubt(Access(a.tensor, (extent,), (x,)), self.points):
                    args[d] = Op("select", [condition, node, Token("NUMBER", "0", node.start, node.end)], node.start, node.end)
            length[id(call)] = sum(length.get(id(n), 1) for x in args for n in postorder(x))
            if args != call.args and length[id(call)] <= LONGEST and not {*assigned} & all_names(condition):
                new[id(call)] = Call(call.name, args, call.start, call.end)
        return replace(self.arm.with_values(new, (), self.domain), checked=True) if new else None

    def told_by(self, names: Collection[str]) -> set[Index | str]:
        """The indices and sizes of which a condition with these names tells something: its own, and those in their ranges."""
        own = {self.b.indices[n] for n in names if n in self.b.indices}
        ends = [end for r in self.domain.ranges if r.index in own for end in (r.low, r.high)]
        sizes = [size for n in names if (size := self.size(n)) is not None]
        return own | {x for end in (*ends, *sizes) for x in atoms(end)}


def all_names(root: Node) -> set[str]:
    """All names in an expression, those of what is called, too."""
    return {n.text if isinstance(n, Token) else n.name for n in postorder(root)}


def holders(root: Node, wanted: Collection[tuple[Span | None, ...]]) -> set[int]:
    """The identities of the calls whose arguments stand at wanted places, and of all operations that one of them stands in."""
    found: set[int] = set()
    for n in postorder(root):
        if not isinstance(n, Token) and (any(id(bare(a)) in found for a in n.args) or (
                type(n) is Call and tuple([x.span for x in n.args]) in wanted)):
            found.add(id(n))
    return found


def of_places(condition: Node, comparisons: PlaceComparisons) -> Node | None:
    """The first of the largest parts of a condition that compare nothing but places, as `i < N` of `i < N and s > 0`."""
    plain: dict[int, bool] = {}
    for n in logical(condition):
        plain[id(n)] = comparisons.of_places(n) if n.name in COMPARISONS else all(plain.get(id(bare(a)), False) for a in n.args)
    stack = [bare(condition)]
    while stack:
        node = stack.pop()
        if plain.get(id(node), False):
            return node
        if isinstance(node, Op | Call) and is_logical(node) and node.name not in COMPARISONS:
            stack += [bare(a) for a in reversed(node.args)]
    return None


def outcome(choice: Op | Call, part: Node, holds: bool) -> Node:
    """What a choice comes to where a part of its condition holds, or does not."""
    known: dict[int, Node | bool] = {id(part): holds}
    condition = bare(choice.args[0])
    for n in logical(condition):
        if id(n) in known or n.name in COMPARISONS:
            continue
        args = [known.get(id(bare(a)), a) for a in n.args]
        if n.name == "not":
            known[id(n)] = not args[0] if isinstance(args[0], bool) else replaced_operands(n, args)
        elif any(isinstance(a, bool) and a == (n.name == "or") for a in args):
            known[id(n)] = n.name == "or"
        else:
            left = [a for a in args if not isinstance(a, bool)]
            known[id(n)] = n.name == "and" if not left else left[0] if len(left) == 1 else replaced_operands(n, left)
    found = known.get(id(condition), condition)
    if isinstance(found, bool):
        return choice.args[1 if found else 2]
    return type(choice)(choice.name, [found, *choice.args[1:]], choice.start, choice.end)


def replaced_operands(node: Op | Call, args: Sequence[Node | bool]) -> Node:
    """The operation on other operands."""
    return type(node)(node.name, [a for a in args if not isinstance(a, bool)], node.start, node.end)
