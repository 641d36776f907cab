"""Calls of functions that are expressions here: `coth(x)` is `1 / tanh(x)`."""
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from adcli.lang.ir import Atom, Var
from adcli.lang.ir.errors import Fix
from adcli.lang.ir.primitives import TABLE
from adcli.lang.suggest.counterparts import EXPRESSIONS, EXPRESSIONS_OF_TENSORS, OF_TABLES, Definition
from adcli.lang.syntax.chain import level
from adcli.lang.tree.nodes import Call, Node, Op, Statement, Token, Tree, bare, names_in, postorder
from adcli.lang.tree.notation import ATOM, COMPARISON, OR, POWER, PRODUCT, SUM, TENSOR_CALLS, TERNARY, UNARY, enclosed

LONGEST_QUOTE = 40
"""Characters of an argument that are repeated in a message."""


class Suggestion(NamedTuple):
    """What to write instead, and the change that does it where that is known."""

    help: str
    fix: Fix | None = None


def written(text: str, instead_of: Call | Op | Statement) -> Suggestion:
    return Suggestion(f"write {text}", Fix(instead_of.start, instead_of.end, text))


def expression(tree: Tree, node: Call, whole: Statement | None, env: Mapping[str, Atom]) -> Suggestion | None:
    """The expression that a call is, in parentheses where it stands inside another one."""
    tensors = any(rank(a, env) for a in node.args)
    form = definition(tree, node, *((EXPRESSIONS_OF_TENSORS,) if tensors else ()), OF_TABLES, EXPRESSIONS)
    if form is None or (node.name in TENSOR_CALLS and tensors and form in EXPRESSIONS.get((node.name, len(node.args)), ())):
        return None
    args = [Argument(text, level(bare(a)), truth(bare(a), env)) for a in node.args if (text := quoted(tree, bare(a)))]
    short = len(args) == len(node.args)   # else too long to be repeated
    bodies = [placed(body, dict(zip(form.params, args if short else map(Argument, form.params), strict=True)))
              for body, _ in form.choices]
    alone = whole is not None or re.fullmatch(r"\w+\((?:[^()]|\([^()]*\))*\)", form.choices[0][0])
    bodies = bodies if alone else [f"({body})" for body in bodies]
    said = " or ".join(f"{body} ({remark})" if remark else body for body, (_, remark) in zip(bodies, form.choices, strict=True))
    certain = said == bodies[0]
    return Suggestion(f"write {said}", Fix(node.start, node.end, bodies[0], certain) if short and bodies[1:] == [] else None)


def definition(tree: Tree, node: Call, *tables: Mapping[tuple[str, int], list[Definition]]) -> Definition | None:
    """The first definition of the tables that a call fits."""
    args = [quoted(tree, bare(a)) or "" for a in node.args]
    named = (d for table in tables for name in (node.name, node.name.lower()) for d in table.get((name, len(args)), ()))
    return next((d for d in named if all(map(fits, d.params, args))), None)


def with_other_arguments(node: Call) -> Suggestion | None:
    """A function that is an expression here for another number of arguments."""
    for name in (node.name, node.name.lower()):
        for (each, _), (form, *_) in EXPRESSIONS.items():
            if each == name:
                params = ", ".join(p.lstrip("#") for p in form.params)
                return Suggestion(f"{name}({params}) is {form.choices[0][0]} here")
    return None


def fits(param: str, text: str) -> bool:
    """Whether an argument is what a parameter of a definition asks for."""
    return text[:1].isdigit() if param[0] == "#" else text == param or not (param[0].isdigit() or param[0].isupper())


LEFT = {"+": PRODUCT, "-": PRODUCT, "*": UNARY, "/": UNARY, "**": UNARY, "<": SUM, ">": SUM, "=": SUM, "?": OR}
RIGHT = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "**": ATOM, "<": SUM, ">": SUM, "=": SUM, "!": SUM, "?": OR, ":": OR}
"""Binding levels that the operators before and after an operand need."""
BESIDE = re.compile(r"\*\*|\S|\Z")


def placed(body: str, args: Mapping[str, Argument]) -> str:
    """An expression with arguments in place of the names of its parameters."""
    def operand(found: re.Match[str]) -> str:
        arg = args[found[0]]
        before, after = (BESIDE.findall(side)[0] for side in (body[:found.start()][::-1], body[found.end():]))
        if found[0] == "c":
            return enclosed(arg[:2], OR) if arg.truth else f"{enclosed(arg[:2], SUM)} != 0"
        sign = before == "-" and not re.search(r"[\w)] *-\s*\Z", body[:found.start()])
        return enclosed(arg[:2], max(POWER if sign else LEFT.get(before, TERNARY), RIGHT.get(after, TERNARY)))

    names = "|".join(re.escape(name.lstrip("#")) for name in args if name.lstrip("#")[0].isalpha())
    args = {name.lstrip("#"): arg for name, arg in args.items()}
    return re.sub(rf"(?<![\w.])(?:{names})(?!\w| ?\()", operand, body)


class Argument(NamedTuple):
    """A text, its level, and whether it is a truth value."""

    text: str
    level: int = ATOM
    truth: bool = False


def truth(node: Node, env: Mapping[str, Atom]) -> bool:
    """Whether an argument is a truth value, as far as its text tells."""
    if isinstance(node, Token):
        atom = env.get(node.text)
        return isinstance(atom, Var) and atom.truth
    if isinstance(node, Call):
        return node.name in TABLE and TABLE[node.name].truth
    return isinstance(node, Op) and OR <= level(node) <= COMPARISON


def quoted(tree: Tree, node: Node) -> str | None:
    """The text of an argument that is short enough to be repeated."""
    found = tree.source.text[node.start:node.end]
    return found if len(found) <= LONGEST_QUOTE and "\n" not in found else None


def rank(node: Node, env: Mapping[str, Atom]) -> int | None:
    """The number of dimensions of a tensor, or of those that an expression is of, element by element; None where it is none."""
    ranks = {len(t.shape) for t in tensors_of(node, env)}
    return ranks.pop() if len(ranks) == 1 else None


def tensors_of(node: Node, env: Mapping[str, Atom]) -> list[Var]:
    """The tensors of an expression that is taken element by element; none where it is no such expression."""
    atoms = [env.get(n) for n in names_in(node)]
    by_elements = all(n.name in TABLE for n in postorder(node) if type(n) is Call)
    return [a for a in atoms if isinstance(a, Var) and a.shape] if by_elements else []
