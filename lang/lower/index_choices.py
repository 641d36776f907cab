"""Choices by conditions on indices whose arms read outside of their tensors elsewhere, as in `i - 1 >= 0 ? A(i - 1) : 0`: a
statement becomes one comprehension for each arm."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from adcli.lang.ir.affine import Affine, Index, atoms
from adcli.lang.ir.all_sizes import in_doubt
from adcli.lang.ir.errors import AdError, Span
from adcli.lang.ir.ranges import Domain
from adcli.lang.lower.comprehension_body import Elements, counted, rewritten
from adcli.lang.lower.index_conditions import (
    IndexTest,
    Piece,
    decided,
    is_condition,
    limits,
    nowhere,
    pieces_where,
    runs,
)
from adcli.lang.syntax.tree import Call, Node, Op, Token, bare, postorder


@dataclass(slots=True, eq=False, repr=False)
class Arm:
    """A comprehension to be made: a statement with one arm of each choice that had to be taken apart.

    `lets` are the values that `where` names. `domain` is that of the statement, where that was taken apart: its ranges keep
    what all arms read inside of the tensors.
    """

    value: Node
    lets: dict[str, Node]
    tests: list[IndexTest]
    domain: Domain | None = None

    def roots(self) -> list[Node]:
        """All of its expressions."""
        return [*self.lets.values(), self.value]

    def with_values(self, new: dict[int, Node], tests: Iterable[IndexTest], domain: Domain) -> Arm:
        """The arm where more holds, and parts of its expressions, by their identity, are others."""
        def changed(root: Node) -> Node:
            return rewritten(root, lambda node: changed(new[id(node)]) if id(node) in new else None)
        lets = {name: changed(node) for name, node in self.lets.items()}
        return Arm(changed(self.value), lets, [*self.tests, *tests], domain)


def choices_of(arm: Arm) -> list[Op | Call]:
    """The choices in an arm whose conditions compare."""
    return [n for root in arm.roots() for n in postorder(root) if isinstance(n, Op | Call) and n.name == "select"
            and len(n.args) == 3 and is_condition(n.args[0])]


class IndexChoices:
    """The choices in one arm of a statement, whose reads, ranges and guards are known."""

    def __init__(self, arm: Arm, choices: Sequence[Op | Call], b: Elements, domain: Domain, guards: Sequence[Affine]) -> None:
        self.arm, self.b, self.domain = arm, b, domain
        self.choices = [n for n in choices if self.compares_places(n)]
        self.points = replace(domain, guards=(*domain.guards, *guards))
        open_ = {a.spans: in_doubt(a, self.points) for a in b.accesses}
        self.doubts = {spans: {x for end in ends for x in atoms(end)} for spans, ends in open_.items() if ends}
        """The reads that may be outside of their tensors, with the indices and sizes that this depends on."""

    def compares_places(self, node: Op | Call) -> bool:
        """Whether the condition of a choice compares expressions of indices and sizes that a subscript could be."""
        b = self.b
        if not all(n in b.indices or self.size(n) is not None for n in self.names(node)) or any(
                b.tensor(n) is not None for n in postorder(node.args[0])):
            return False
        try:
            for piece in pieces_where(b.context, node.args[0], True, True):
                limits(b.affine, piece)
        except AdError:
            return False
        return True

    def size(self, name: str) -> Affine | None:
        """The size that a name is."""
        known = self.b.tensors.sizes.get(name)
        return counted(self.b.scope.env, name) if known is None else known

    def split(self) -> list[Arm] | None:
        """The arm as two and more, where an arm of a choice reads outside of a tensor unless the condition holds."""
        for node in self.choices if self.doubts else ():
            told = self.told_by(self.names(node))
            unsafe = {spans for spans, doubt in self.doubts.items() if not told.isdisjoint(doubt)}
            reading = {i for root in self.arm.roots() for i in holders(root, unsafe)}
            if any(id(bare(a)) in reading for a in node.args[1:]):
                pieces = [(value, piece) for value, holds in ((node.args[1], True), (node.args[2], False))
                          for piece in pieces_where(self.b.context, node.args[0], holds, True)]
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

    def names(self, node: Op | Call) -> set[str]:
        """The names in the condition of a choice."""
        return {t.text for t in postorder(node.args[0]) if type(t) is Token and t.type == "NAME"}

    def told_by(self, names: Collection[str]) -> set[Index | str]:
        """The indices and sizes of which a condition with these names tells something: its own, and those in their ranges."""
        own = {self.b.indices[n] for n in names if n in self.b.indices}
        ends = [end for r in self.domain.ranges if r.index in own for end in (r.low, r.high)]
        sizes = [size for n in names if (size := self.size(n)) is not None]
        return own | {x for end in (*ends, *sizes) for x in atoms(end)}

    def remark_decided(self, stated: Collection[Index]) -> None:
        """A note on every condition that the reads themselves decide: i >= 1 ? A(i - 1) : 0 is meant for i = 0 too."""
        b = self.b
        for node in self.choices:
            indices = [b.indices[n] for n in sorted(self.names(node)) if n in b.indices and b.indices[n] not in stated]
            word = decided(b.affine, self.domain, node.args[0], True) if indices else None
            if word:
                r = next(r for r in self.domain.ranges if r.index is indices[0])
                b.context.remark(f"this condition {word} holds: {runs(r)}, which keeps every read inside its tensor; state a "
                                 "range in where for more", (node.args[0].start, node.args[0].end))


def holders(root: Node, wanted: Collection[tuple[Span | None, ...]]) -> set[int]:
    """The identities of the calls whose arguments stand at wanted places, and of all operations that one of them stands in."""
    found: set[int] = set()
    for n in postorder(root):
        if not isinstance(n, Token) and (any(id(bare(a)) in found for a in n.args) or (
                type(n) is Call and tuple([(x.start, x.end) for x in n.args]) in wanted)):
            found.add(id(n))
    return found
