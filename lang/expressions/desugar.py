"""Statements rewritten as plain ones: tensors that are written out, several targets, and loops that end early.

`k = [1, -2, 1]` is a choice among the elements by the place of each. `(u(i), v(i)) = f(x(i))` takes the results of `f` one by
one: each is a function of its own, of what the definition of `f` needs for it; all statements are lowered before a name has its
new value, so all right sides read the old ones. `for t in 0:N until c { x(t + 1) = e }` is the loop

    for t in 0:N { x(t + 1) = done(t) > 0.5 ? x(t) : e; done(t + 1) = done(t) > 0.5 ? 1 : c ? 1 : 0 }

where `done` is 1 behind the step at which c held first, so later steps copy. (It is compared with what it never is, since there
would be a jump.) What a step does not carry has no element to copy in the first one, which gets a statement of its own; a
reduction or an operation on matrices is computed first and then chosen.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from math import prod

from adcli.lang.expressions.assignments import count_fault, unique
from adcli.lang.expressions.inline import Template, size
from adcli.lang.expressions.scope import EquationScope
from adcli.lang.ir import Atom
from adcli.lang.ir.errors import AdError, Source, plural
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.records import value_record
from adcli.lang.operations.comprehension import MOST_DIMENSIONS
from adcli.lang.tree.nodes import (
    LIST,
    Assign,
    Call,
    Clause,
    For,
    Node,
    Op,
    Statement,
    TensorAssign,
    Token,
    TupleAssign,
    bare,
    postorder,
)

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


# ---------------------------------------------------------------- several targets

def flat(statements: Iterable[Statement]) -> Iterator[Statement]:
    """The statements, with one for each target where they have several; its value may then be that of all."""
    for s in statements:
        if isinstance(s, TupleAssign):
            yield from s.parts([s.values[0]] * len(s.targets))
        else:
            yield s


def apart(scope: EquationScope, s: TupleAssign) -> list[TensorAssign]:
    """A statement for each target."""
    whole = {t.text for t, subscripts in zip(s.targets, s.subscripts, strict=True) if subscripts is None}
    unique(scope.context, [t for t in s.targets if t.text in whole and t.text != "_"], "target")
    seen: set[str] = set()
    for token, subscripts in zip(s.targets, s.subscripts, strict=True):
        element = f"{token.text}({', '.join(map(scope.context.text, subscripts or ()))})"
        if subscripts is not None and element in seen:
            raise scope.context.fault(f"target '{element}' is named twice", token)
        seen.add(element)
    for token, subscripts in zip(s.targets, s.subscripts, strict=True):
        if token.text == "_" and subscripts is not None:
            raise scope.context.fault("'_' is a value that is not wanted and has no elements", token, "write _ alone")
    return s.parts(s.values if len(s.values) == len(s.targets) else results(scope, s))


def check_apart(scope: EquationScope, s: TupleAssign, token: Token) -> None:
    """AdError where elements of one tensor are assigned together and a right side reads that tensor."""
    for node in (n for value in s.values for n in postorder(value)):
        if (type(node) is Call and node.name == token.text) or (type(node) is Token and node.text == token.text):
            names = ", ".join(f"{t.text}_{i}" for i, t in enumerate(s.targets))
            raise scope.context.fault(f"several elements of '{token.text}' are assigned, and the right side reads it", node,
                                      f"name the values first, ({names}) = ..., and assign each element by itself")


def results(scope: EquationScope, s: TupleAssign) -> list[Node]:
    """The results of a call, each as a call."""
    node, context, wanted = bare(s.values[0]), scope.context, len(s.targets)
    if len(s.values) != 1 or type(node) is not Call or node.name in scope.env:
        raise count_fault(context, s)
    if node.name == "dup" and "dup" not in context.functions:
        scope.check_count(node, 1, 1)
        scope.check_results(node, 2, wanted)
        return [node.args[0]] * 2
    template = context.functions.get(node.name)
    if template is None and node.name in TABLE:
        scope.check_results(node, 1, wanted)
    template = template or context.library().get(node.name)
    if template is None:   # what is wrong with the call is found where it is lowered
        return [node] * wanted
    scope.check_count(node, len(template.params), len(template.params))
    scope.check_results(node, len(template.results), wanted)
    calls: list[Node] = []
    for k in range(wanted):
        name = f"{node.name}#{k}"
        if name not in context.functions:
            context.functions[name] = only(template, k)
        calls.append(Call(name, node.args, node.start, node.end))
    return calls


def only(template: Template, k: int) -> Template:
    """The function that gives one of the results."""
    needed: set[Atom] = {template.results[k][1]}
    body = []
    for step in reversed(template.body):
        if not needed.isdisjoint(step.outs):
            body.append(step)
            needed.update(step.args)
    body.reverse()
    return replace(template, body=tuple(body), results=(template.results[k],), truths=(template.truths[k],), size=size(body))


# ---------------------------------------------------------------- loops that end early

@value_record
class Ending:
    """What a loop with `until` is rewritten with: the name of the history that says where it has ended, and one that gives names
    for others."""

    loop: For
    done: str
    fresh: Callable[[str], str]
    source: Source

    def statement(self, s: TensorAssign, place: int, carried: bool, inner: int | None = None) -> Iterator[TensorAssign]:
        """The statements for one: subscript `place` has the step; `carried` where the step before the first has an element. Of an
        operation on matrices `inner` is how many dimensions of its result have no subscripts. What has been assigned is a copy
        then, to which nothing is added."""
        if s.symbol == "+=":
            yield replace(s, value=Op("select", [self.ended(self.here(s)), Token("NUMBER", "0", s.start, s.start), s.value],
                                      s.value.start, s.value.end))
            return
        if s.symbol != "=" or inner is not None:
            s, made = self.chosen(s), replace(s, target=self.named(s.target, self.fresh(s.target.text)))
            yield made
            s.subscripts = [*(s.subscripts or []), *[self.named(s.target, self.fresh("ij"[d])) for d in range(inner or 0)]]
            s.value = Call(made.target.text, list(s.subscripts), s.value.start, s.value.end)
        subscripts = list(s.subscripts or [])
        step, span = self.here(s), s.target.span
        back = Op("add" if self.loop.down else "sub", [subscripts[place], Token("NUMBER", "1", *span)], *span)
        last = Call(s.target.text, [back if d == place else n for d, n in enumerate(subscripts)], *span)
        chosen = replace(s, value=Op("select", [self.ended(step), last, s.value], s.value.start, s.value.end))
        if carried:
            yield chosen
            return
        first: Node = Op("sub", [self.loop.high, Token("NUMBER", "1", *span)], *span) if self.loop.down else self.loop.low
        compares = ("ge", "lt") if self.loop.down else ("le", "gt")
        for made, compare in zip((s, chosen), compares, strict=True):
            guard = Clause("guard", None, [Op(compare, [step, first], *span)], *span)
            yield replace(made, clauses=[*s.clauses, guard])

    def here(self, s: TensorAssign) -> Token:
        return self.named(s.target, self.loop.step.text)

    def chosen(self, s: TensorAssign) -> TensorAssign:
        """The statement that takes what a reduction has made: an element for each on its left."""
        if not all(type(n) in (Token, Op) for n in s.subscripts or ()):
            raise AdError("a loop with until cannot reduce into subscripts that are read", s.target.span,
                          "give the sum an index of its own first", self.source)
        return replace(s, symbol="=", clauses=[], same=None)

    def condition(self) -> TensorAssign:
        """The statement that says where the loop has ended."""
        until, step = self.loop.until, self.loop.step
        assert until is not None
        span = until.start, until.end
        one, here = Token("NUMBER", "1", *span), Token("NAME", step.text, *span)
        held = Op("select", [until, one, Token("NUMBER", "0", *span)], *span)
        value = Op("select", [self.ended(here), one, held], *span)
        behind: Node = here if self.loop.down else Op("add", [here, one], *span)
        return TensorAssign(Token("NAME", self.done, *span), [behind], "=", value, None, [], *span)

    def ended(self, step: Token) -> Op:
        """Whether the loop had ended before a step."""
        span = step.start, step.end
        at: Node = Op("add", [step, Token("NUMBER", "1", *span)], *span) if self.loop.down else step
        return Op("gt", [Call(self.done, [at], *span), Token("NUMBER", "0.5", *span)], *span)

    def named(self, token: Token, name: str) -> Token:
        return Token("NAME", name, token.start, token.end)
