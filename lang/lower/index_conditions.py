"""Conditions on indices: the pieces of a box where they hold, and what the ranges of the indices say of them."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from adcli.lang.ir.affine import Affine, never_negative, text
from adcli.lang.ir.comprehension import Range
from adcli.lang.lower.scope import Context
from adcli.lang.lower.subscripts import AffineReader
from adcli.lang.sizes.condition_dnf import COMPARISONS, SPLITS, EitherWay
from adcli.lang.sizes.proofs import proved
from adcli.lang.sizes.ranges import Domain
from adcli.lang.syntax.tree import Call, Node, Op, bare

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


def runs(r: Range) -> str:
    return f"index '{r.index.name}' runs over {text(r.low)}:{text(r.high)}"
