"""What the table of primitives says of every function: form, domain, derivative, and where it is not smooth.

Nothing here is written per function. The derivative is the row's map with the seed 1, printed in the language; conditions that
single out exceptional points (a condition with one truth value all over the inside of the row's domain) are left out of it,
since the status names those points, and stand in `rule`.
"""
from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT
from adcli.lang.ir import LEVELS, Atom, Equation, Lit, Primitive, Var
from adcli.lang.ir.notation import ATOM, Piece, constant, infix
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.rounded import Meaning, meaning
from adcli.lang.ir.rule_programs import map_rule, status_rule
from adcli.lang.lower.scope import ALIASES, prelude
from adcli.lang.syntax.parse import parse
from adcli.manual.markdown import BREAK

SAMPLES = 64
"""Points inside a row's domain at which a condition that holds everywhere, or nowhere, is told from a real case."""
NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


@dataclass(frozen=True, slots=True)
class Tree:
    """An expression: an operation on others, a name, or a number."""

    head: str | float
    args: tuple[Tree, ...] = ()


TRUE, FALSE, ZERO, ONE = Tree("true"), Tree("false"), Tree(0.0), Tree(1.0)


@dataclass(frozen=True, slots=True)
class NotSmooth:
    """A status and the points that have it; `wrt` is set where only the derivative by that argument has it."""

    level: str
    where: str
    wrt: str | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """What the manual says of a function or an operator."""

    name: str
    form: str
    about: str
    arguments: tuple[str, ...]
    domain: str
    derivatives: Mapping[str, str]
    status: tuple[NotSmooth, ...] = ()
    rule: Mapping[str, str] = field(default_factory=dict)
    latex: str | None = None
    example: str = ""
    """The constant that stands in the derivative where the function wants one: n = 3."""
    operator: bool = False


def functions(wanted: str | None = None) -> list[Function]:
    """All functions in the order of the table, those of the prelude behind them, then the operators; or those of one name. A
    power has two, since a constant whole exponent has a rule of its own."""
    name = ALIASES.get(wanted, wanted) if wanted else None
    rows = [described(row) for row in TABLE.values() if name in (None, row.spelled or row.name)]
    own = [composed(known) for known in prelude() if name in (None, known)]
    return [*[f for f in rows if not f.operator], *own, *[f for f in rows if f.operator]]


def names() -> list[str]:
    """The names that `functions` knows."""
    return list(dict.fromkeys([*[row.spelled or row.name for row in TABLE.values()], *prelude(), *ALIASES]))


# ---------------------------------------------------------------- one row

def described(row: Primitive) -> Function:
    """The entry of a row of the table."""
    arguments = argument_names(row)
    name = row.spelled or row.name
    text = infix(name, [(a, ATOM) for a in arguments])[0]
    operator = row.name == "dup" or not text.startswith(f"{name}(")
    static = tuple((i, row.domain[i][0] + 1) for i in row.static)
    maps = {a: tree_of_map(row, i, static, arguments) for i, a in enumerate(arguments)
            if row.maps and row.kind(i) == "r" and i not in row.static}
    samples = sampled(row, arguments, dict(static))
    return Function(
        name, f"{text[:-1]}, …)" if row.variadic else text, row.about, arguments, row.defined,
        {a: written(brief(tree, samples)) for a, tree in maps.items()}, tuple(not_smooth(row, [Tree(a) for a in arguments])),
        {a: written(tree) for a, tree in maps.items()}, latex=row.latex, operator=operator,
        example=", ".join(f"{arguments[i]} = {constant(x)[0]}" for i, x in static))


def argument_names(row: Primitive) -> tuple[str, ...]:
    """The arguments as they are called in writing; of a row that takes any number, the first ones."""
    return tuple(row.args.removesuffix(", …").split(", "))


def tree_of_map(row: Primitive, position: int, static: tuple[tuple[int, float], ...], arguments: Sequence[str]) -> Tree:
    """The partial derivative by one argument, as the row has it."""
    rule = map_rule(row, position, static, row.arity)
    if rule is None:
        return ZERO
    known = known_names(row, rule.args, rule.z, [Tree(a) for a in arguments]) | {rule.t: ONE}
    value = tree_of(rule.equations, rule.value, known)
    if rule.condition is None:
        return value
    return Tree("select", (tree_of(rule.equations, rule.condition, known), value, ZERO))


def not_smooth(row: Primitive, arguments: Sequence[Tree]) -> Iterator[NotSmooth]:
    for number, entry in enumerate(row.status):
        rule = status_rule(row, number, (), row.arity)
        where = tree_of(rule.equations, rule.value, known_names(row, rule.args, rule.z, arguments))
        yield NotSmooth(LEVELS[entry.level], written(where), None if entry.needs is None else written(arguments[entry.needs]))


def known_names(row: Primitive, args: Sequence[Atom], z: Var, arguments: Sequence[Tree]) -> dict[Atom, Tree]:
    """What the arguments are, and the result as the call of them that it is."""
    return {**dict(zip(args, arguments, strict=True)), z: Tree(row.spelled or row.name, tuple(arguments))}


def composed(name: str) -> Function:
    """The entry of a function of the prelude, which is another name for an expression."""
    arguments = tuple(p.name or "x" for p in prelude()[name].params)
    form = f"{name}({', '.join(arguments)})"
    program = parse(f"v = {form}\n")
    derived = gradient(program)
    known: dict[Atom, Tree] = {p.var: Tree(p.name) for p in derived.params}
    value, *partials = [tree_of(derived.equations, r.atom, known) for r in derived.results]
    inside = [dict.fromkeys(arguments, x) for x in (0.3, 0.7, 1.1, 2.3)]
    known = {p.var: Tree(p.name) for p in program.params}
    calls = [(e.op, [tree_of(program.equations, a, known) for a in e.args]) for e in program.equations]
    domain = " and ".join(where for op, args in calls if (where := defined(op, args)))
    return Function(name, form, written(value), arguments, domain,
                    {a: written(brief(d, inside)) for a, d in zip(arguments, partials, strict=True)},
                    tuple(s for op, args in calls for s in not_smooth(op, args)))


def defined(row: Primitive, arguments: Sequence[Tree]) -> str:
    """The domain of a row in terms of these arguments."""
    shown = dict(zip(argument_names(row), map(written, arguments), strict=True))
    return re.sub("|".join(rf"\b{a}\b" for a in shown), lambda found: shown[found[0]], row.defined)


# ---------------------------------------------------------------- expressions

def tree_of(equations: Sequence[Equation], atom: Atom, known: Mapping[Atom, Tree]) -> Tree:
    """The value of an atom as one expression."""
    trees = dict(known)

    def tree(a: Atom) -> Tree:
        return tree_of_constant(meaning(a.value)) if isinstance(a, Lit) else trees[a]

    for e in equations:
        made = Tree(e.op.spelled or e.op.name, tuple([tree(a) for a in e.args]))
        trees.update(dict.fromkeys(e.outs, tidy(made)))
    return tree(atom)


def tree_of_constant(meant: Meaning) -> Tree:
    """A constant as what it means: log(2), where the double is only near it."""
    return Tree(meant) if isinstance(meant, float) else Tree(meant[0], tuple([tree_of_constant(a) for a in meant[1:]]))


def tidy(tree: Tree) -> Tree:
    """Without factors of 1 and the sums with 0 that only turn −0 into 0, and with negations moved into comparisons."""
    match tree:
        case Tree("mul", (Tree(1.0), x)) | Tree("mul", (x, Tree(1.0))) | Tree("add", (x, Tree(0.0))):
            return x
        case Tree("dup", (x,)) | Tree("neg", (Tree("neg", (x,)),)) | Tree("not", (Tree("not", (x,)),)):
            return x
        case Tree("neg", (Tree(float(x)),)):
            return Tree(-x)
        case Tree("not", (Tree("and" | "or" as head, (x, y)),)):
            return Tree("or" if head == "and" else "and", (tidy(Tree("not", (x,))), tidy(Tree("not", (y,)))))
        case Tree("not", (Tree(str(head), args),)) if head in NEGATED:
            return Tree(NEGATED[head], args)
    return tree


def brief(tree: Tree, samples: Sequence[Mapping[str, float]]) -> Tree:
    """The expression without the cases that no sample is in."""
    if tree.args and (tree.head in NEGATED or tree.head in ("and", "or", "not")):
        seen = {bool(valued(tree, at)) for at in samples}
        if len(seen) == 1:
            return TRUE if seen == {True} else FALSE
    if tree.head == "select":
        return choice(tree, samples)
    made = tidy(Tree(tree.head, tuple([brief(a, samples) for a in tree.args])))
    match made:
        case Tree("and", (Tree("true"), x)) | Tree("and", (x, Tree("true"))):
            return x
        case Tree("or", (Tree("false"), x)) | Tree("or", (x, Tree("false"))):
            return x
    return made


def choice(tree: Tree, samples: Sequence[Mapping[str, float]]) -> Tree:
    """A choice of two expressions, each brief for the samples that choose it; the one of them if all do."""
    condition, *arms = tree.args
    chosen: list[list[Mapping[str, float]]] = [[], []]
    for at in samples:
        chosen[0 if valued(condition, at) else 1].append(at)
    if not all(chosen):
        return brief(arms[0 if chosen[0] else 1], samples)
    made = [brief(arm, at) for arm, at in zip(arms, chosen, strict=True)]
    shown = brief(condition, samples)
    return Tree("select", (shown.args[0], made[1], made[0]) if shown.head == "not" else (shown, *made))


def written(tree: Tree) -> str:
    """The expression in the language."""
    return piece(tree)[0]


def piece(tree: Tree) -> Piece:
    if isinstance(tree.head, float):
        return constant(tree.head)
    return infix(tree.head, [piece(a) for a in tree.args]) if tree.args else (tree.head, ATOM)


def valued(tree: Tree, at: Mapping[str, float]) -> Any:
    """The value of an expression at a point."""
    if isinstance(tree.head, float):
        return tree.head
    if not tree.args:
        return at[tree.head]
    values = [valued(a, at) for a in tree.args]
    atoms: tuple[Atom, ...] = tuple([Lit(float(v)) for v in values])
    return FLOAT.apply(TABLE[tree.head], values, atoms)


def sampled(row: Primitive, arguments: Sequence[str], static: Mapping[int, float]) -> list[dict[str, float]]:
    """Points inside the domain of a row, the same in every run."""
    r = random.Random(0)
    return [{a: k % 2 if row.kind(i) == "t" else static.get(i, r.uniform(*row.domain[min(i, len(row.domain) - 1)]))
             for i, a in enumerate(arguments)} for k in range(SAMPLES)]


# ---------------------------------------------------------------- in a table

def row_of(f: Function) -> tuple[str, str, str, str]:
    """The row of a table about a function, with a line for each partial derivative and each status."""
    alone = len(f.derivatives) == 1
    example = f" for {f.example}" if f.example else ""
    partials = [f"`{text if alone else f'{x}: {text}'}{example}`" for x, text in f.derivatives.items()]
    places = [f"`{s.level}{f' by {s.wrt}' if s.wrt else ''}: {s.where}`" for s in f.status]
    return f"`{f.form}`", meaning_of(f), BREAK.join(partials), BREAK.join(places)


def meaning_of(f: Function) -> str:
    """What a function is, and for which arguments if not for all."""
    return f"{f.about}, for {f.domain}" if f.domain else f.about
