"""Elements of several tensors that one statement assigns, as a statement for each.

`(u(i), v(i)) = f(x(i))` takes the results of `f` one by one: each is a function of its own, of what the definition of `f` needs
for it. All statements are lowered before a name has its new value, so all right sides read the old ones.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from adcli.lang.ir import Atom
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.assignments import count_fault, unique
from adcli.lang.lower.inline import Template, size
from adcli.lang.lower.scope import EquationScope
from adcli.lang.syntax.tree import Call, Node, Statement, TensorAssign, Token, TupleAssign, bare, postorder


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
    if node.name in context.tensors:
        names = ", ".join(t.text for t in s.targets)
        raise context.fault(f"'{node.name}' is a function of tensors, which gives them whole", node,
                            f"write ({names}) = {node.name}(...) with the names of tensors, outside of a loop")
    if node.name == "dup" and "dup" not in context.functions:
        scope.check_count(node, 1, 1)
        scope.check_results(node, 2, wanted)
        return [node.args[0]] * 2
    template = context.functions.get(node.name)
    if template is None and node.name in TABLE:
        scope.check_results(node, 1, wanted)
    template = template or context.library_functions().get(node.name)
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
