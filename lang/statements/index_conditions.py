"""Conditions on indices: the pieces of a box where they hold, what ranges say of them, and the reads that depend on them."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from adcli.lang.expressions.scope import Context
from adcli.lang.expressions.subscripts import AffineReader
from adcli.lang.ir.affine import Affine, never_negative
from adcli.lang.ir.errors import AdError, Span
from adcli.lang.sizes.condition_dnf import COMPARISONS, EVERYWHERE, SPLITS, UNKNOWN, EitherWay, Where, under
from adcli.lang.sizes.proofs import proved
from adcli.lang.sizes.ranges import Domain
from adcli.lang.statements.comprehension_body import Elements, size_of
from adcli.lang.tree.nodes import Call, Node, Op, Token, bare, postorder

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
