"""Choices by conditions on indices whose arms read outside of their tensors elsewhere, as in `i - 1 >= 0 ? A(i - 1) : 0`: a
statement becomes one comprehension for each arm."""
from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from adcli.lang.ir.affine import Affine, Index, atoms
from adcli.lang.ir.all_sizes import proved
from adcli.lang.ir.errors import AdError, Span
from adcli.lang.ir.ranges import Access, Domain, ends_in_doubt
from adcli.lang.lower.comprehension_body import Elements, rewritten
from adcli.lang.lower.index_conditions import (
    IndexTest,
    Piece,
    decided,
    has_equality,
    inside,
    is_condition,
    limits,
    nowhere,
    pieces_where,
    runs,
)
from adcli.lang.syntax.tree import Call, Node, Op, Token, bare, postorder


@dataclass(slots=True, eq=False, repr=False)
class Arm:
    """A comprehension to be made: a statement with one arm of each choice that had to be taken apart."""

    value: Node
    tests: list[IndexTest]


def choices_of(root: Node) -> list[Op | Call]:
    """The choices in an expression whose conditions compare."""
    return [n for n in postorder(root) if isinstance(n, Op | Call) and n.name == "select" and len(n.args) == 3
            and is_condition(n.args[0])]


class IndexChoices:
    """The choices in one arm of a statement, whose reads, ranges and guards are known."""

    def __init__(self, arm: Arm, choices: Sequence[Op | Call], b: Elements, domain: Domain, guards: Sequence[Affine]) -> None:
        self.arm, self.choices, self.b, self.domain = arm, choices, b, domain
        self.guards = list(guards)
        open_ = {a.spans: self.in_doubt(a) for a in b.accesses}
        self.doubts = {spans: {x for end in ends for x in atoms(end)} for spans, ends in open_.items() if ends}
        """The reads that may be outside of their tensors, with the indices and sizes that this depends on."""

    def in_doubt(self, a: Access, more: Sequence[Affine] = ()) -> list[Affine]:
        """What must not be negative for a read to be inside of its tensor and is not proved, `more` not being negative either."""
        known = [*inside(self.domain), *self.guards, *more]
        return [end for end in ends_in_doubt(a, self.domain) if not proved(end, known)]

    def split(self) -> list[Arm] | None:
        """The arm as two and more, where an arm of a choice reads outside of a tensor unless the condition holds."""
        for node in self.choices if self.doubts else ():
            names = self.names(node)
            told = self.told_by(names)
            unsafe = {spans for spans, doubt in self.doubts.items() if not told.isdisjoint(doubt)}
            reading = holders(self.arm.value, unsafe)
            if not any(id(bare(a)) in reading for a in node.args[1:]):
                continue
            gathered = any(self.b.tensor(n) is not None for n in postorder(node.args[0]))
            if gathered or not self.compares_places(names):
                continue
            left = {holds: self.possible(pieces_where(self.b.context, node.args[0], holds)) for holds in (True, False)}
            if has_equality(node.args[0]) and not any(
                    self.safer(node.args[1 if holds else 2], left[holds], unsafe) for holds in left):
                continue
            return [Arm(swapped(self.arm.value, node, node.args[1 if holds else 2]), [*self.arm.tests, *piece])
                    for holds in left for piece in left[holds]]
        return None

    def names(self, node: Op | Call) -> set[str]:
        """The names in the condition of a choice."""
        return {t.text for t in postorder(node.args[0]) if type(t) is Token and t.type == "NAME"}

    def compares_places(self, names: Collection[str]) -> bool:
        """Whether these are names of indices and sizes only."""
        return all(n in self.b.indices or n in self.b.tensors.sizes for n in names)

    def told_by(self, names: Collection[str]) -> set[Index | str]:
        """The indices and sizes of which a condition with these names tells something: its own, and those in their ranges."""
        own = {self.b.indices[n] for n in names if n in self.b.indices}
        ends = [end for r in self.domain.ranges if r.index in own for end in (r.low, r.high)]
        sizes = [self.b.tensors.sizes[n] for n in names if n in self.b.tensors.sizes]
        return own | {x for end in (*ends, *sizes) for x in atoms(end)}

    def possible(self, pieces: list[Piece]) -> list[Piece]:
        """The pieces that may have points; one, though it has none, where there is only one."""
        if len(pieces) == 1:
            return pieces
        return [piece for piece in pieces if not nowhere(self.domain, [*self.guards, *limits(self.b.affine, piece)])]

    def safer(self, value: Node, pieces: list[Piece], unsafe: set[tuple[Span | None, ...]]) -> bool:
        """Whether a read of a value that may be outside of its tensor is so at one end less on each of these pieces."""
        places = {tuple([(x.start, x.end) for x in n.args]) for n in postorder(value) if type(n) is Call} & unsafe
        reads = [a for a in self.b.accesses if a.spans in places]
        before = sum(len(self.in_doubt(a)) for a in reads)
        return bool(pieces) and all(sum(len(self.in_doubt(a, limits(self.b.affine, p))) for a in reads) < before for p in pieces)

    def remark_decided(self, stated: Collection[Index]) -> None:
        """A note on every condition that the reads themselves decide: i >= 1 ? A(i - 1) : 0 is meant for i = 0 too."""
        b = self.b
        for node in self.choices:
            names = self.names(node)
            indices = [b.indices[n] for n in sorted(names) if n in b.indices and b.indices[n] not in stated]
            if not indices or not self.compares_places(names):
                continue
            try:
                word = decided(b.affine, self.domain, node.args[0])
            except AdError:
                continue
            r = next(r for r in self.domain.ranges if r.index is indices[0])
            if word:
                b.context.remark(f"this condition {word} holds: {runs(r)}, which keeps every read inside its tensor; state a "
                                 "range in where for more", (node.args[0].start, node.args[0].end))


def swapped(root: Node, old: Node, new: Node) -> Node:
    return rewritten(root, lambda node: new if node is old else None)


def holders(root: Node, wanted: Collection[tuple[Span | None, ...]]) -> set[int]:
    """The identities of the calls whose arguments stand at wanted places, and of all operations that one of them stands in."""
    found: set[int] = set()
    for n in postorder(root):
        if not isinstance(n, Token) and (any(id(bare(a)) in found for a in n.args) or (
                type(n) is Call and tuple([(x.start, x.end) for x in n.args]) in wanted)):
            found.add(id(n))
    return found
