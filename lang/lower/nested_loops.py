"""Loops in loops: the steps of an inner loop are statements of the outer one, one after another.

    for t in 0:T {                                   for t in 0:T {
        u(0) = x(t)                                      u(t, 0) = x(t)
        for k in 0:2 { u(k + 1) = f(u(k), x(t)) }        u(t, 1) = f(u(t, 0), x(t))
        x(t + 1) = u(2)                                  u(t, 2) = f(u(t, 1), x(t))
    }                                                    x(t + 1) = u(t, 2)
                                                     }

What an inner loop assigns without the outer step is its own for each outer step. An inner loop goes over numbers, so there is no
loop left of it; derivatives are those of the statements.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace

from adcli.lang.expressions.scope import Context
from adcli.lang.ir.limits import quantity
from adcli.lang.statements.comprehension_body import rewritten
from adcli.lang.tree.nodes import (
    Assign,
    Call,
    Def,
    For,
    Node,
    Statement,
    TensorAssign,
    Token,
    Tree,
    TupleAssign,
    bare,
    names_in,
    targets_of,
    within,
)

AS_ONE = "loops over sizes go as one: a(i*M + j) = A(i, j), then for k in 0:N*M"
MOST_STATEMENTS = 2000
"""Statements that inner loops make of one loop."""


def has_nested(tree: Tree) -> bool:
    return any(isinstance(s, For) and any(isinstance(inner, For) for inner in s.body) for outer in tree.statements
               for s in within(outer))


def unnested(context: Context, tree: Tree) -> Tree:
    """The tree without loops in loops."""
    def statement(s: Statement) -> Statement:
        if isinstance(s, Def) and s.value is None:
            return replace(s, body=[statement(inner) for inner in s.body])
        return flat(context, s) if isinstance(s, For) else s
    return replace(tree, statements=[statement(s) for s in tree.statements])


def flat(context: Context, loop: For) -> For:
    """A loop with the steps of its inner loops as statements."""
    body, own = list[Statement](), set[str]()
    for s in loop.body:
        if not isinstance(s, For):
            body.append(s)
            continue
        inner = flat(context, s)
        if s.step.text == loop.step.text:
            raise context.fault(f"the step '{s.step.text}' is that of the loop around", s.step, "give the inner one another name")
        own |= {t.text for each in inner.body for t in targets_of(each)} - with_step(inner.body, loop.step.text)
        for number in numbers(context, inner):
            body += [changed(each, at_step(inner.step.text, number)) for each in inner.body]
        if len(body) > MOST_STATEMENTS:
            said = f"a step of the outer loop has {quantity(len(body))} statements; the limit is {MOST_STATEMENTS:,}"
            raise context.fault(said, s.step, AS_ONE)
    return replace(loop, body=[changed(s, of_step(own, loop.step), own, loop.step) for s in body] if own else body)


def with_step(body: Iterable[Statement], step: str) -> set[str]:
    """The names that are assigned at subscripts with a step."""
    found = set[str]()
    for s in body:
        if isinstance(s, TensorAssign | TupleAssign):
            several = [s.subscripts] if isinstance(s, TensorAssign) else s.subscripts
            found |= {t.text for t, nodes in zip([s.target] if isinstance(s, TensorAssign) else s.targets, several, strict=True)
                      if step in names_in(*nodes or ())}
    return found


def numbers(context: Context, loop: For) -> Iterable[int]:
    """The steps of an inner loop."""
    ends = []
    for node in (loop.low, loop.high):
        end = bare(node)
        if not (type(end) is Token and end.text.isdigit()):
            raise context.fault("the range of an inner loop is not of numbers", node, f"write numbers, such as 0:10; {AS_ONE}")
        ends.append(int(end.text))
    if loop.until is not None:
        raise context.fault("an inner loop does not end early", loop.until, "write the number of steps, without until")
    return range(*ends)[::-1] if loop.down else range(*ends)


def here(token: Token, at: Node) -> Token:
    """A name, in the place of something else."""
    return Token(token.type, token.text, at.start, at.end)


Change = Callable[[Node], Node | None]


def at_step(step: str, number: int) -> Change:
    """A number in the place of a step."""
    return lambda node: (Token("NUMBER", str(number), node.start, node.end)
                         if type(node) is Token and node.type == "NAME" and node.text == step else None)


def of_step(own: set[str], step: Token) -> Change:
    """The slice of a tensor as a whole that a step has."""
    return lambda node: (Call(node.text, [here(step, node)], node.start, node.end)
                         if type(node) is Token and node.type == "NAME" and node.text in own else None)


def changed(s: Statement, change: Change, own: Iterable[str] = (), step: Token | None = None) -> Statement:
    """A statement with its nodes changed; tensors that are `own` have the step as their first subscript."""
    def lead(name: str, at: Node) -> list[Node]:
        return [here(step, at)] if step is not None and name in own else []

    def after(node: Node) -> Node:
        return Call(node.name, [*lead(node.name, node), *node.args], node.start, node.end) if type(node) is Call else node

    def new(node: Node) -> Node:
        return rewritten(node, change, after)

    def left(t: Token, nodes: list[Node] | None) -> list[Node] | None:
        return [*lead(t.text, t), *map(new, nodes or ())] or None

    if isinstance(s, Assign):
        made = copy(s)
        made.values = [*map(new, s.values)]
        return made
    assert isinstance(s, TensorAssign | TupleAssign)
    clauses = [replace(c, nodes=[*map(new, c.nodes)]) for c in s.clauses]
    if isinstance(s, TupleAssign):
        return replace(s, subscripts=[left(t, nodes) for t, nodes in zip(s.targets, s.subscripts, strict=True)],
                       values=[*map(new, s.values)], clauses=clauses)
    return replace(s, subscripts=left(s.target, s.subscripts), value=new(s.value), clauses=clauses,
                   same=None if s.same is None else new(s.same))
