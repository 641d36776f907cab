"""Notes on inputs whose names mean something else elsewhere."""
from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from adcli.lang.ir.errors import Note
from adcli.lang.syntax.constants import CONSTANTS_ELSEWHERE
from adcli.lang.tree.nodes import Assign, Def, Node, Op, TensorAssign, Token, Tree, TupleAssign, bare, postorder, within

DOT = "\N{MIDDLE DOT}"
MAYBE_INPUTS = ("e", "E")
"""Constants whose names inputs often have: noted only as the base of a power."""


def notes(tree: Tree, names: Sequence[str]) -> list[Note]:
    """What may have been meant by inputs with these names, each said once."""
    found = []
    uses = first_uses(tree, names)
    for name in names:
        if name not in uses:
            continue
        token, power = uses[name]
        if DOT in name:
            said = f"'{name}' is one name, with a middle dot in it; for a product write {name.replace(DOT, '*')}"
        elif name in MAYBE_INPUTS and power is not None:
            exponent = tree.source.text[power.start:power.end].strip("()")
            said = f"'{name}' is an input here; for the exponential function write exp({short(exponent)})"
        elif name in CONSTANTS_ELSEWHERE and name not in MAYBE_INPUTS:
            said = f"'{name}' is an input here; the constant is {CONSTANTS_ELSEWHERE[name]}"
        else:
            continue
        found.append(Note(said, token.span, tree.source))
    return found


def short(text: str) -> str:
    return text if len(text) <= 40 and "\n" not in text else "..."


def first_uses(tree: Tree, names: Collection[str]) -> dict[str, tuple[Token, Node | None]]:
    """Where each name is first raised to something, and to what; else where it is first read. One walk for all of them."""
    wanted, read, raised = {*names}, dict[str, tuple[Token, Node | None]](), dict[str, tuple[Token, Node | None]]()
    for root in expressions(tree):
        for node in postorder(root):
            if type(node) is Token and node.text in wanted:
                read.setdefault(node.text, (node, None))
            elif type(node) is Op and node.name == "pow" and type(base := bare(node.args[0])) is Token and base.text in wanted:
                raised.setdefault(base.text, (base, node.args[1]))
    return {**read, **raised}


def expressions(tree: Tree) -> Iterator[Node]:
    """The expressions of the program's own statements."""
    for s in (s for outer in tree.statements if not isinstance(outer, Def) for s in within(outer)):
        if isinstance(s, Assign | TupleAssign):
            yield from s.values
        elif isinstance(s, TensorAssign):
            yield s.value
