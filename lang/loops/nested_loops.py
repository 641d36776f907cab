"""Loops in loops: the steps of an inner loop are statements of the outer one, one after another.

    for t in 0:T {                                   for t in 0:T {
        u(0) = x(t)                                      u(t, 0) = x(t)
        for k in 0:2 { u(k + 1) = f(u(k), x(t)) }        u(t, 1) = f(u(t, 0), x(t))
        x(t + 1) = u(2)                                  u(t, 2) = f(u(t, 1), x(t))
    }                                                    x(t + 1) = u(t, 2)
                                                     }

What an inner loop assigns without the outer step is its own for each outer step. An inner loop goes over numbers, so there is no
loop left of it; derivatives are those of the statements. With `until` the statements behind the first step are choices, as those
of a loop are (`adcli.lang.expressions.desugar`).

Values of a step: names that a loop assigns without its step and that nothing else in the program mentions.

    for t in 0:T {                        for t in 0:T {
        k = f(x(t))                           k(t) = f(x(t))
        x(t + 1) = x(t) + h*k                 x(t + 1) = x(t) + h*k(t)
    }                                     }

Each is one element, or one slice, for every step. A name that is read before the loop assigns it, assigned twice, or mentioned
outside of the loop is none: what it is from one step to the next, or behind the loop, is for the program to say.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from copy import copy
from dataclasses import replace

from adcli.lang.expressions.desugar import Ending
from adcli.lang.expressions.scope import Context
from adcli.lang.ir.names import Names
from adcli.lang.loops.skewed_loops import at_once, is_over_numbers, is_over_sizes, skewed
from adcli.lang.operations.limits import quantity
from adcli.lang.operations.matrix import FORMS
from adcli.lang.statements.comprehension_body import is_integer, rewritten
from adcli.lang.syntax.scan import scan
from adcli.lang.tree.nodes import (
    Assign,
    Call,
    Clause,
    Declare,
    Def,
    For,
    Node,
    Op,
    Statement,
    TensorAssign,
    Token,
    Tree,
    TupleAssign,
    Typed,
    bare,
    names_in,
    postorder,
    targets_of,
    within,
)

AS_ONE = "one over sizes whose steps read one another is the only statement of the loop around"
MOST_STATEMENTS = 2000
"""Statements that inner loops make of one loop."""


def has_nested(tree: Tree) -> bool:
    return any(isinstance(s, For) and any(isinstance(inner, For) for inner in s.body) for outer in tree.statements
               for s in within(outer))


def unnested(context: Context, tree: Tree) -> Tree:
    """The tree without loops in loops."""
    fresh = Names(tree.names).fresh

    def block(statements: list[Statement], params: Iterable[Token] = ()) -> list[Statement]:
        taken = names_of_block(statements, params)
        found = list[Statement]()
        for k, s in enumerate(statements):
            if isinstance(s, For) and is_over_sizes(s):
                check_step(context, s.body[0], s, taken)
                found += skewed(context, s, statements[:k], fresh)
            else:
                found.append(block_of(s) if isinstance(s, Def) and s.value is None
                             else flat(context, s, taken, fresh) if isinstance(s, For) else s)
        return [s for s in found if not isinstance(s, For) or s.body]

    def block_of(function: Def) -> Def:
        return replace(function, body=block(function.body, function.params))
    return replace(tree, statements=block(tree.statements))


def names_of_block(statements: Iterable[Statement], params: Iterable[Token]) -> set[str]:
    """The names that are inputs, sizes or assigned in a block, which no inner step may have."""
    given = [*params, *(i.name for s in statements if isinstance(s, Declare) for i in s.items)]
    sizes = names_in(*(n for t in given if type(t) is Typed for n in t.extents or ()))
    return {t.text for t in [*given, *(t for s in statements for t in targets_of(s))]}.union(sizes)


def flat(context: Context, loop: For, taken: set[str], fresh: Callable[[str], str], inside: bool = False) -> For:
    """A loop, which may be `inside` of another one, with the steps of its inner loops as statements."""
    body, own = list[Statement](), set[str]()
    for s in loop.body:
        if not isinstance(s, For):
            body.append(s)
            continue
        inner = flat(context, s, taken, fresh, True)
        check_step(context, inner, loop, taken)
        made = None if is_over_numbers(inner) else at_once(loop, inner)
        if made is not None:
            own |= {t.text for each in made for t in targets_of(each)} - with_step(made, loop.step.text)
            body += made
            continue
        first, later = inner.body, inner.body
        if inner.until is not None:
            others = [n for x in loop.body if x is not s for n in values_of(x)] + ([] if loop.until is None else [loop.until])
            tokens = [t for n in others for t in postorder(n) if isinstance(t, Call | Token)]
            read = {t.name if isinstance(t, Call) else t.text for t in tokens}
            first, later = ending_early(context, inner, read, fresh)
        made = [*first, *later]
        own |= {t.text for each in made for t in targets_of(each)} - with_step(made, loop.step.text)
        for k, number in enumerate(numbers(context, inner, inside)):
            body += [changed(each, at_step(inner.step.text, number)) for each in (later if k else first)]
        if len(body) > MOST_STATEMENTS:
            said = f"a step of the outer loop has {quantity(len(body))} statements; the limit is {MOST_STATEMENTS:,}"
            raise context.fault(said, s.step, AS_ONE)
    if not own:
        return replace(loop, body=body)
    change = of_step(own, loop.step)
    until = None if loop.until is None else rewritten(loop.until, change, leading(own, loop.step))
    return replace(loop, body=[changed(s, change, own, loop) for s in body], until=until)


def ending_early(context: Context, loop: For, read: Collection[str],
                 fresh: Callable[[str], str]) -> tuple[list[Statement], list[Statement]]:
    """The statements of the first step of an inner loop with `until`, and those of the other steps. The result of an operation on
    matrices is no copy where the loop has ended, so what is `read` behind it is none."""
    ending = Ending(loop, fresh("done"), fresh, context.source)
    later = list[Statement]()
    for s in loop.body:
        subscripts = s.subscripts or () if isinstance(s, TensorAssign) else ()
        places = [d for d, n in enumerate(subscripts) if loop.step.text in names_in(n)]
        if not isinstance(s, TensorAssign) or not places:
            raise context.fault("an inner loop with until assigns elements with its step, one tensor at a time", targets_of(s)[0],
                                f"write a statement for each, {targets_of(s)[0].text}({loop.step.text}) = ...")
        value = bare(s.value)
        if type(value) is not Call or value.name not in FORMS or s.symbol != "=":
            later += ending.statement(s, places[0], True)
        elif s.target.text in read:
            said = f"'{s.target.text}' is read behind an inner loop with until, and is an operation on matrices"
            raise context.fault(said, s.target, "give its elements a name of their own in the loop, and read these")
        else:
            later.append(s)
    held = ending.condition()
    assert isinstance(held.value, Op)
    return [*loop.body, replace(held, value=held.value.args[2])], [*later, held]


def values_of(s: Statement) -> list[Node]:
    """The right sides of a statement of a loop, and the conditions under which they hold."""
    if isinstance(s, For):
        return [n for each in s.body for n in values_of(each)]
    if isinstance(s, Assign):
        return [*s.values]
    assert isinstance(s, TensorAssign | TupleAssign)
    return [*(s.values if isinstance(s, TupleAssign) else [s.value]), *(n for c in s.clauses for n in c.nodes)]


def check_step(context: Context, inner: Statement, loop: For, taken: set[str]) -> None:
    """Refuse the name of an inner step that means something else there."""
    assert isinstance(inner, For)
    step = inner.step
    if step.text == loop.step.text:
        raise context.fault(f"the step '{step.text}' is that of the loop around", step, "give the inner one another name")
    if step.text in taken:
        raise context.fault(f"'{step.text}' is a name of the program and cannot be the step of a loop too", step,
                            "choose another name for the step")
    for s in inner.body:
        for clause in s.clauses if isinstance(s, TensorAssign | TupleAssign) else ():
            check_clause(context, clause, step.text)


def check_clause(context: Context, clause: Clause, step: str) -> None:
    """Refuse a range or a name in `where` that is that of the step."""
    if clause.kind in ("range", "let") and clause.name is not None and clause.name.text == step:
        raise context.fault(f"'{step}' is the step, whose range the loop says", clause.name,
                            f"write a condition: where {step} >= 1")


def with_step(body: Iterable[Statement], step: str) -> set[str]:
    """The names that are assigned at subscripts with a step."""
    found = set[str]()
    for s in body:
        if isinstance(s, TensorAssign | TupleAssign):
            several = [s.subscripts] if isinstance(s, TensorAssign) else s.subscripts
            found |= {t.text for t, nodes in zip([s.target] if isinstance(s, TensorAssign) else s.targets, several, strict=True)
                      if step in names_in(*nodes or ())}
    return found


def numbers(context: Context, loop: For, inside: bool) -> Iterable[int]:
    """The steps of an inner loop."""
    ends = []
    for node in (loop.low, loop.high):
        end = bare(node)
        if not (type(end) is Token and end.text.isdigit()):
            name, step = context.text(node), loop.step.text
            items = [i.name for s in context.tree.statements if isinstance(s, Declare) for i in s.items]
            counts = {n.text for n in items if is_integer(n)}
            most = "" if inside or loop.down or loop.until is not None or name not in counts else \
                f", or as many as there can be: for {step} in {context.text(loop.low)}:100 until {step} + 1 >= {name}, and 100 " \
                f"for {name} behind the loop"
            raise context.fault("the range of an inner loop is not of numbers", node, f"write numbers, such as 0:10{most}; " +
                                ("loops over sizes whose steps read one another are two" if inside else AS_ONE))
        ends.append(int(end.text))
    if loop.checkpoint:
        raise context.fault("an inner loop has no checkpoint", loop.step, "write it behind the range of the outermost loop")
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


def leading(own: Iterable[str], step: Token) -> Callable[[Node], Node]:
    """Elements of tensors that are `own`, with the step as their first subscript."""
    return lambda node: (Call(node.name, [here(step, node), *node.args], node.start, node.end)
                         if type(node) is Call and node.name in own else node)


def changed(s: Statement, change: Change, own: Iterable[str] = (), loop: For | None = None) -> Statement:
    """A statement with its nodes changed; tensors that are `own` have the step of the loop as their first subscript."""
    def new(node: Node) -> Node:
        return rewritten(node, change) if loop is None else rewritten(node, change, leading(own, loop.step))

    def left(t: Token, nodes: list[Node] | None) -> list[Node] | None:
        return [*([here(loop.step, t)] if loop is not None and t.text in own else []), *map(new, nodes or ())] or None

    def clause(c: Clause) -> Clause:
        name = c.name
        if loop is not None and c.kind == "shape" and type(name) is Typed and name.text in own:
            name = Typed(name, name.element, [loop.high, *(name.extents or ())], name.close)
        return replace(c, name=name, nodes=[*map(new, c.nodes)])

    if isinstance(s, Assign):
        made = copy(s)
        made.values = [*map(new, s.values)]
        return made
    assert isinstance(s, TensorAssign | TupleAssign)
    clauses = [*map(clause, s.clauses)]
    if isinstance(s, TupleAssign):
        return replace(s, subscripts=[left(t, nodes) for t, nodes in zip(s.targets, s.subscripts, strict=True)],
                       values=[*map(new, s.values)], clauses=clauses)
    return replace(s, subscripts=left(s.target, s.subscripts), value=new(s.value), clauses=clauses,
                   same=None if s.same is None else new(s.same))


# ---------------------------------------------------------------- loop values

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
