"""What the table of primitives says of every function, in words: form, domain, derivative, and where it is not smooth.

Nothing here is written per function. The derivative is the row's map with the seed 1, printed in the language; conditions that
single out exceptional points (a condition with one truth value all over the inside of the row's domain) are left out of it,
since the status names those points, and stand in `rule`. The domain is found by evaluating the function along each argument.
"""
from __future__ import annotations

import inspect
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
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

SAMPLES = 64
"""Points inside a row's domain at which a condition that holds everywhere, or nowhere, is told from a real case."""
GRID = [k / 8 for k in range(-64, 65)]
"""Where a function is tried out for its domain."""
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
    arguments: tuple[str, ...]
    domain: str
    derivatives: Mapping[str, str]
    status: tuple[NotSmooth, ...] = ()
    rule: Mapping[str, str] = field(default_factory=dict)
    definition: str | None = None
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
    if row.variadic:
        text = f"{text[:-1]}, …)"
    static = tuple((i, row.domain[i][0] + 1) for i in row.static)
    maps = {a: tree_of_map(row, i, static, arguments) for i, a in enumerate(arguments)
            if row.maps and row.kind(i) == "r" and i not in row.static}
    samples = sampled(row, arguments, dict(static))
    return Function(
        name, text, arguments, domain(row, arguments, dict(static)) if row.outs == 1 else "",
        {a: written(brief(tree, samples)) for a, tree in maps.items()}, tuple(not_smooth(row, arguments)),
        {a: written(tree) for a, tree in maps.items()}, example=", ".join(f"{arguments[i]} = {constant(x)[0]}" for i, x in static),
        operator=operator)


def argument_names(row: Primitive) -> tuple[str, ...]:
    """The arguments as the row itself calls them, in its maps or its status."""
    found: Sequence[str] = ()
    for function, before in [*[(m, 2) for m in row.maps if m], *[(s.condition, 1) for s in row.status]]:
        kinds = inspect.signature(function).parameters.values()
        found = [p.name for p in kinds if p.kind is p.POSITIONAL_OR_KEYWORD][before:]
        if len(found) == row.arity and not row.variadic:
            return tuple(found)
    return ("x", "y", "z")[:row.arity]


def tree_of_map(row: Primitive, position: int, static: tuple[tuple[int, float], ...], arguments: Sequence[str]) -> Tree:
    """The partial derivative by one argument, as the row has it."""
    rule = map_rule(row, position, static, row.arity)
    if rule is None:
        return ZERO
    known = known_names(row, rule.args, rule.z, arguments) | {rule.t: ONE}
    value = tree_of(rule.equations, rule.value, known)
    if rule.condition is None:
        return value
    return Tree("select", (tree_of(rule.equations, rule.condition, known), value, ZERO))


def not_smooth(row: Primitive, arguments: Sequence[str]) -> Iterator[NotSmooth]:
    for number, entry in enumerate(row.status):
        rule = status_rule(row, number, (), row.arity)
        where = tree_of(rule.equations, rule.value, known_names(row, rule.args, rule.z, arguments))
        yield NotSmooth(LEVELS[entry.level], written(where), None if entry.needs is None else arguments[entry.needs])


def known_names(row: Primitive, args: Sequence[Atom], z: Var, arguments: Sequence[str]) -> dict[Atom, Tree]:
    """The arguments by name, and the result as the call of them that it is."""
    named = [Tree(a) for a in arguments]
    return {**dict(zip(args, named, strict=True)), z: Tree(row.spelled or row.name, tuple(named))}


def composed(name: str) -> Function:
    """The entry of a function of the prelude, which is another name for an expression."""
    arguments = tuple(p.name or "x" for p in prelude()[name].params)
    form = f"{name}({', '.join(arguments)})"
    derived = gradient(parse(f"v = {form}\n"))
    known: dict[Atom, Tree] = {p.var: Tree(p.name) for p in derived.params}
    value, *partials = [tree_of(derived.equations, r.atom, known) for r in derived.results]
    inside = [dict.fromkeys(arguments, x) for x in (0.3, 0.7, 1.1, 2.3)]
    limits = [along(lambda x, a=a: valued(value, {**inside[0], a: x}), a) for a in arguments]  # type: ignore[misc]
    return Function(name, form, arguments, ", ".join(filter(None, limits)),
                    {a: written(brief(d, inside)) for a, d in zip(arguments, partials, strict=True)}, definition=written(value))


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


# ---------------------------------------------------------------- domains

def sampled(row: Primitive, arguments: Sequence[str], static: Mapping[int, float]) -> list[dict[str, float]]:
    """Points inside the domain of a row, the same in every run."""
    r = random.Random(0)
    return [{a: k % 2 if row.kind(i) == "t" else static.get(i, r.uniform(*row.domain[min(i, len(row.domain) - 1)]))
             for i, a in enumerate(arguments)} for k in range(SAMPLES)]


def domain(row: Primitive, arguments: Sequence[str], static: Mapping[int, float]) -> str:
    """Where the value is a number, as conditions on the arguments; empty where it is one everywhere."""
    inside = [static.get(i, low + 0.6180339887 * (high - low)) for i, (low, high) in enumerate(row.domain)]

    def value(i: int) -> Callable[[float], float]:
        def at(x: float) -> float:
            args = [*inside[:i], x, *inside[i + 1:]]
            return float(FLOAT.apply(row, args, tuple([Lit(v) for v in args])))
        return at

    limits = [along(value(i), a) for i, a in enumerate(arguments) if i not in static and "t" not in row.signature]
    whole = [f"{arguments[i]} a whole constant" for i in static]
    return ", ".join(filter(None, [*whole, *limits]))


def along(value: Callable[[float], float], name: str) -> str:
    """The interval of one argument in which the value is a number. Single points that have none are poles, which the status
    names."""
    there = [not math.isnan(value(x)) for x in GRID]
    inside = [i for i in range(1, len(GRID)) if there[i] and there[i - 1]]
    if not inside:
        return ""
    first, last = inside[0] - 1, inside[-1]
    low = bound(value, GRID[first], GRID[first - 1]) if first > 1 else None
    high = bound(value, GRID[last], GRID[last + 1]) if last < len(GRID) - 2 else None

    def end(x: float | None) -> tuple[str, str]:
        return ("", "") if x is None else (constant(x)[0], "<=" if math.isfinite(value(x)) else "<")

    (low_text, above), (high_text, below) = end(low), end(high)
    if low_text and high_text:
        return f"{low_text} {above} {name} {below} {high_text}"
    if low_text:
        return f"{name} {above.replace('<', '>')} {low_text}"
    return f"{name} {below} {high_text}" if high_text else ""


def bound(value: Callable[[float], float], inside: float, outside: float) -> float:
    """The last number between the two at which the value is a number, as far as bisection settles it."""
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if math.isnan(value(middle)) else (middle, outside)
    return round(inside, 12)


# ---------------------------------------------------------------- in a table

def rows(f: Function) -> Iterator[tuple[str, str, str, str]]:
    """The lines of a table about a function: one for each partial derivative, and for each status."""
    alone = len(f.derivatives) == 1
    example = f" for {f.example}" if f.example else ""
    partials = [f"`{text if alone else f'{x}: {text}'}{example}`" for x, text in f.derivatives.items()]
    places = [f"`{s.level}{f' by {s.wrt}' if s.wrt else ''}: {s.where}`" for s in f.status]
    return zip_longest([f"`{f.form}`"], [f.domain and f"`{f.domain}`"], partials, places, fillvalue="")
