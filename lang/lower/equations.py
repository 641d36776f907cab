"""Equations as statements, for verbs that look for zeros: `cos(x) == x`, or `r(i) = x(i)*x(i) == 2`, is the difference of both
sides.

Elsewhere an output is a number and no truth value, so that no meaning is taken away.
"""
from __future__ import annotations

from collections import Counter

from adcli.lang.syntax.scan import scan
from adcli.lang.syntax.tree import Assign, DeclareOutputs, Node, Op, TensorAssign, Tree, bare


def as_differences(tree: Tree) -> None:
    """Rewrite each `a == b` that is the value of a tensor, or of a name that no expression reads, as `a - b`."""
    uses = Counter(t.text for t in scan(tree.source.text)[0])
    for s in tree.statements:
        if type(s) is DeclareOutputs:
            uses.subtract(t.text for t in s.names)
    for s in tree.statements:
        if type(s) is TensorAssign and s.symbol == "=":
            s.value = difference(s.value)
        elif type(s) is Assign and all(uses[t.text] <= 1 for t in s.targets):
            s.values = [difference(value) for value in s.values]


def difference(node: Node) -> Node:
    root = bare(node)
    return Op("sub", root.args, root.start, root.end) if type(root) is Op and root.name == "eq" else node
