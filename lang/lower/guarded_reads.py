"""Under which conditions on places the reads of a statement are done: those of the choices that they are arms of."""
from __future__ import annotations

from collections.abc import Iterable

from adcli.lang.ir.affine import Affine
from adcli.lang.ir.errors import AdError, Span
from adcli.lang.ir.pieces import COMPARISONS, EVERYWHERE, UNKNOWN, EitherWay, Where, joint, known_where
from adcli.lang.lower.comprehension_body import Elements, counted
from adcli.lang.lower.index_conditions import alternatives, is_condition, limits, sides_of
from adcli.lang.syntax.tree import Call, Node, Op, Token, bare, postorder

Spans = tuple[Span | None, ...]


def is_choice(node: Node) -> bool:
    """Whether a node chooses by comparisons."""
    return isinstance(node, Op | Call) and node.name == "select" and len(node.args) == 3 and is_condition(node.args[0])


class PlaceComparisons:
    """What comparisons say of the places of a statement whose indices are known."""

    def __init__(self, b: Elements) -> None:
        self.b = b
        self.known: dict[int, bool] = {}

    def size(self, name: str) -> Affine | None:
        """The size that a name is."""
        known = self.b.tensors.sizes.get(name)
        return counted(self.b.scope.env, name) if known is None else known

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
        return sides_of(root, self.compared)

    def compared(self, node: Op | Call) -> EitherWay[Affine]:
        if not self.of_places(node):
            return UNKNOWN
        return EitherWay(*([limits(self.b.affine, piece) for piece in alternatives(name, node.args, True)]
                           for name in (node.name, COMPARISONS[node.name])))

    def conditions_of_reads(self, roots: Iterable[Node]) -> dict[Spans, Where]:
        """Under which conditions the calls in expressions stand that stand under one, by the places of their arguments."""
        found: dict[Spans, Where] = {}
        stack: list[tuple[Node, Where]] = [(root, EVERYWHERE) for root in roots]
        while stack:
            node, where = stack.pop()
            node = bare(node)
            if isinstance(node, Token) or not isinstance(node, Op | Call):
                continue
            if type(node) is Call and where != EVERYWHERE:
                found[tuple([(a.start, a.end) for a in node.args])] = where
            if not is_choice(node):
                stack += [(a, where) for a in node.args]
                continue
            condition, *arms = node.args
            stack.append((condition, where))
            for arm, pieces in zip(arms, self.sides(condition), strict=True):
                under = joint(where, pieces)
                stack.append((arm, where if under is None else known_where(under)))
        return found
