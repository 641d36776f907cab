"""Values of a step: names that a loop assigns without its step and that nothing else in the program mentions.

    for t in 0:T {                        for t in 0:T {
        k = f(x(t))                           k(t) = f(x(t))
        x(t + 1) = x(t) + h*k                 x(t + 1) = x(t) + h*k(t)
    }                                     }

Each is one element, or one slice, for every step. A name that is read before the loop assigns it, assigned twice, or mentioned
outside of the loop is none: what it is from one step to the next, or behind the loop, is for the program to say.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from adcli.lang.loops.nested_loops import changed, leading, of_step
from adcli.lang.statements.comprehension_body import rewritten
from adcli.lang.syntax.scan import scan
from adcli.lang.tree.nodes import (
    Assign,
    Def,
    For,
    Node,
    Statement,
    TensorAssign,
    Token,
    Tree,
    TupleAssign,
    names_in,
    targets_of,
    within,
)

Places = dict[str, list[int]]
"""Where each name of a block stands in the text; a block is a function, or the program without its functions."""


def with_steps(tree: Tree) -> Tree:
    """The tree with the step of its loop as the first subscript of every value of a step."""
    if not any(isinstance(s, For) for outer in tree.statements for s in within(outer)):
        return tree
    tokens = [t for t in scan(tree.source.text)[0] if t.type == "NAME"]
    functions = [s for s in tree.statements if isinstance(s, Def)]

    def new(s: Statement, places: Places) -> Statement:
        return loop_with_steps(replace(s, body=[new(each, places) for each in s.body]), places) if isinstance(s, For) else s

    def block(s: Def) -> Def:
        if s.value is not None:
            return s
        places = places_of(t for t in tokens if s.start <= t.start < s.end)
        return replace(s, body=[new(each, places) for each in s.body])
    main = places_of(t for t in tokens if not any(s.start <= t.start < s.end for s in functions))
    return replace(tree, statements=[block(s) if isinstance(s, Def) else new(s, main) for s in tree.statements])


def places_of(names: Iterable[Token]) -> Places:
    found: Places = {}
    for token in names:
        found.setdefault(token.text, []).append(token.start)
    return found


def loop_with_steps(loop: For, places: Places) -> For:
    """A loop of whose inner loops each has its steps."""
    own = values_of_a_step(loop, places)
    return replace(loop_in(loop, own, loop), low=loop.low, high=loop.high) if own else loop


def loop_in(s: For, own: set[str], loop: For) -> For:
    """A loop in another one, or that itself, whose values of a step are elements."""
    def new(node: Node) -> Node:
        return rewritten(node, of_step(own, loop.step), leading(own, loop.step))
    return replace(s, low=new(s.low), high=new(s.high), until=None if s.until is None else new(s.until),
                   body=[statement_in(inner, own, loop) for inner in s.body])


def statement_in(s: Statement, own: set[str], loop: For) -> Statement:
    """A statement of a loop, or of a loop in it, whose values of a step are elements."""
    if isinstance(s, For):
        return loop_in(s, own, loop)
    if isinstance(s, Assign) and any(t.text in own for t in s.targets):
        several = len(s.targets) > 1 or len(s.values) > 1
        s = (TupleAssign(s.targets, [None] * len(s.targets), s.values, [], s.start, s.end) if several else
             TensorAssign(s.targets[0], None, "=", s.values[0], None, [], s.start, s.end))
    return changed(s, of_step(own, loop.step), own, loop)


def assigned(s: Statement, step: str) -> list[Token]:
    """The names that a statement gives new values to, as a whole or at subscripts without the step."""
    if isinstance(s, Assign):
        return [t for t in s.targets if type(t) is Token]
    if isinstance(s, TensorAssign):
        several = [(s.target, s.subscripts)] if s.symbol == "=" or s.symbol.endswith("!") else []
    else:
        assert isinstance(s, TupleAssign)
        several = [*zip(s.targets, s.subscripts, strict=True)]
    return [t for t, nodes in several if t.text != "_" and step not in names_in(*nodes or ())]


def values_of_a_step(loop: For, places: Places) -> set[str]:
    """The names that are mentioned in the loop only, and read only behind the first statement that assigns them: one of the
    whole, or some of its elements."""
    found, ends = dict[str, list[Token]](), dict[str, int]()
    first = loop.brace if loop.until is None else loop.until.start   # `until` is read behind the statements
    everywhere = Counter(t.text for each in loop.body for s in within(each) if not isinstance(s, For) for t in targets_of(s))
    for s in loop.body:
        for t in () if isinstance(s, For) else assigned(s, loop.step.text):
            found.setdefault(t.text, []).append(t)
            ends.setdefault(t.text, s.end)
            if isinstance(s, Assign) or (isinstance(s, TensorAssign) and not s.subscripts):
                everywhere[t.text] += len(found[t.text]) - 1   # a second value of the whole
    return {name for name, targets in found.items() if len(targets) == everywhere[name]
            and first <= places[name][0] and places[name][-1] < loop.end and len(places[name]) > len(targets)
            and all(at >= ends[name] or at < loop.brace for at in {*places[name]} - {t.start for t in targets})}
