"""Tensors that are written out, `k = [1, -2, 1]` or `[[a, b], [c, d]]`: a choice among the elements by the place of each."""
from __future__ import annotations

from math import prod

from adcli.lang.ir.comprehension import MOST_DIMENSIONS
from adcli.lang.ir.errors import plural
from adcli.lang.lower.scope import EquationScope
from adcli.lang.syntax.tree import LIST, Assign, Call, Clause, Node, Op, TensorAssign, Token, bare, postorder

MOST_ELEMENTS = 256
"""Of a tensor that is written out: each of its elements is a choice among all of them."""
INDICES = "ijklmn"


def written_out(scope: EquationScope, s: Assign) -> TensorAssign | None:
    """The statement over all elements that a list stands for, where a statement assigns one."""
    root = bare(s.values[0])
    if len(s.targets) != 1 or len(s.values) != 1 or type(root) is not Call or root.name != LIST:
        return None
    rows, shape = list[Node]([root]), list[int]()
    while rows and all(is_list(node) for node in rows):
        counts = {len(node.args) for node in rows if isinstance(node, Call)}
        if len(counts) > 1:
            raise scope.context.fault(f"rows of {' and '.join(plural(n, 'element') for n in sorted(counts))}", root,
                                      "every row of a tensor has as many elements")
        shape.append(counts.pop())
        rows = [bare(a) for node in rows if isinstance(node, Call) for a in node.args]
    if any(map(is_list, rows)):
        row = next(filter(is_list, rows))
        raise scope.context.fault("a row among numbers", row, "every row of a tensor has as many elements")
    if len(shape) > MOST_DIMENSIONS or prod(shape) > MOST_ELEMENTS:
        raise scope.context.fault(f"a tensor that is written out has at most {MOST_ELEMENTS} elements", root,
                                  f"make it an input: input {s.targets[0].text}({', '.join(map(str, shape))})")
    used = {t.text for t in postorder(root) if type(t) is Token}
    free = (n for n in (*INDICES, *(f"i{k}" for k in range(1, 1000)))
            if n not in used and n not in scope.env and n not in scope.tensors.sizes and n != s.targets[0].text)
    names = [next(free) for _ in shape]

    def word(kind: str, text: str) -> Token:
        return Token(kind, text, root.start, root.end)
    for name, n in zip(reversed(names), reversed(shape), strict=True):
        chosen: list[Node] = []
        for first in range(0, len(rows), n):
            value: Node = rows[first + n - 1]
            for k in range(n - 2, -1, -1):
                here = Op("eq", [word("NAME", name), word("NUMBER", str(k))], root.start, root.end)
                value = Op("select", [here, rows[first + k], value], root.start, root.end)
            chosen.append(value)
        rows = chosen
    ranges = [Clause("range", word("NAME", i), [word("NUMBER", "0"), word("NUMBER", str(n))], root.start, root.end)
              for i, n in zip(names, shape, strict=True)]
    return TensorAssign(s.targets[0], [word("NAME", i) for i in names], "=", rows[0], None, ranges, s.start, s.end)


def is_list(node: Node) -> bool:
    return type(node) is Call and node.name == LIST
