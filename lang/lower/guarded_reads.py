"""Under which conditions on places the reads of a statement are done: those of the choices that they are arms of."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from adcli.lang.ir.affine import Affine
from adcli.lang.ir.errors import AdError, Span
from adcli.lang.lower.comprehension_body import Elements, size_of
from adcli.lang.lower.index_conditions import alternatives, is_condition, limits, sides_of
from adcli.lang.sizes.condition_dnf import COMPARISONS, EVERYWHERE, UNKNOWN, EitherWay, Where, under
from adcli.lang.syntax.tree import Call, Node, Op, Token, bare, postorder

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
                found[tuple([(a.start, a.end) for a in node.args])] = GuardedCall(node, where, path)
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
