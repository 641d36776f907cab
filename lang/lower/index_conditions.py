"""Conditions on indices: the pieces of a box where they hold, and what the ranges of the indices say of them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from adcli.lang.ir.affine import Affine, never_negative, text
from adcli.lang.ir.comprehension import Range
from adcli.lang.ir.proofs import proved
from adcli.lang.ir.ranges import Domain
from adcli.lang.lower.scope import Context
from adcli.lang.lower.subscripts import AffineReader
from adcli.lang.syntax.tree import Call, Node, Op, Token, bare, postorder

SPLITS = 64
"""Most comprehensions that the choices in one statement may make."""
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
Pieces = list[Piece] | None
"""Pieces of a box, of which no two meet; None: more than can be."""
COMPARISONS = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
"""Each comparison with the one that holds where it does not."""


def pieces_where(context: Context, root: Node, holds: bool, exact: bool = False) -> list[Piece]:
    """The pieces of a box where a condition on indices `holds`, or does not; no two of them meet. AdError where they are too
    many, or it is no such condition."""
    if not is_condition(root):
        raise context.fault("a condition of where compares indices", root, "for example where k >= i")
    found = both_ways(root, exact)[not holds]
    if found is None:
        raise context.fault(f"this condition makes more than {SPLITS} comprehensions", root)
    return found


def both_ways(root: Node, exact: bool) -> tuple[Pieces, Pieces]:
    """The pieces where a condition holds, and where it does not."""
    stack: list[tuple[Pieces, Pieces]] = []   # where it holds, where it does not
    for node in postorder(bare(root)):
        if isinstance(node, Token) or not is_logical(node):
            continue
        if node.name in COMPARISONS:
            stack.append((alternatives(node.name, node.args, exact), alternatives(COMPARISONS[node.name], node.args, exact)))
            continue
        if node.name == "not":
            yes, no = stack.pop()
            stack.append((no, yes))
            continue
        (yes, no), (more, less) = stack[-2:]   # c or d holds where c does, and where only d does
        del stack[-2:]
        if node.name == "and":
            stack.append((joint(yes, more), together(no, joint(yes, less))))
        else:
            stack.append((together(yes, joint(no, more)), joint(no, less)))
    return stack[0]


def alternatives(name: str, operands: Sequence[Node], exact: bool) -> list[Piece]:
    """A comparison as comparisons that say where indices are: two of them for !=."""
    left, right = operands
    return [[IndexTest(each, left, right, exact)] for each in (("lt", "gt") if name == "ne" else (name,))]


def joint(first: Pieces, second: Pieces) -> Pieces:
    """Where a piece of the one and a piece of the other meet."""
    if first is None or second is None or len(first) * len(second) > SPLITS:
        return None
    return [[*p, *q] for p in first for q in second]


def together(first: Pieces, second: Pieces) -> Pieces:
    """The pieces of both."""
    return None if first is None or second is None or len(first) + len(second) > SPLITS else [*first, *second]


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
