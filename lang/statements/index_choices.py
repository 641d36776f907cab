"""Choices by conditions on indices whose arms read outside of their tensors elsewhere, as in `i - 1 >= 0 ? A(i - 1) : 0`: a
statement becomes one comprehension for each arm."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from adcli.lang.expressions.subscripts import LONGEST
from adcli.lang.ir.affine import Affine, Index, atoms
from adcli.lang.ir.errors import Span
from adcli.lang.ir.records import plain_record
from adcli.lang.sizes.all_sizes import in_doubt
from adcli.lang.sizes.condition_dnf import COMPARISONS
from adcli.lang.sizes.ranges import Access, Domain
from adcli.lang.statements.comprehension_body import Elements, rewritten
from adcli.lang.statements.index_conditions import (
    IndexTest,
    Piece,
    PlaceComparisons,
    decided,
    is_choice,
    is_logical,
    limits,
    logical,
    nowhere,
    outcomes_of,
    pieces_where,
)
from adcli.lang.tree.nodes import Call, Node, Op, Token, bare, names_in, postorder


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
        return Arm(changed(self.value), lets, [*self.tests, *tests], domain)


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
