"""What to write for functions that other languages have: a name, an expression, or a statement.

What there is stands in `counterparts`; the functions of whole tensors are those of the language (lang/prelude/tensors.ad).

Calls of functions that are expressions here: `coth(x)` is `1 / tanh(x)`.
"""
from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from typing import NamedTuple

from adcli.lang.ir import Atom, Var
from adcli.lang.ir.affine import text as affine_text
from adcli.lang.ir.errors import Fix, alike
from adcli.lang.ir.names import Names
from adcli.lang.ir.primitives import TABLE
from adcli.lang.suggest.counterparts import (
    DERIVATIVES,
    EXAMPLES,
    EXPRESSIONS,
    EXPRESSIONS_OF_TENSORS,
    NONE_HERE,
    OF_TABLES,
    OF_TENSORS,
    SYNONYMS,
    Definition,
)
from adcli.lang.syntax.chain import level
from adcli.lang.syntax.constants import CONSTANTS_ELSEWHERE, NAMED_CONSTANTS
from adcli.lang.syntax.foreign import REDUCING, inclusive, statement_apart
from adcli.lang.tree.nodes import (
    LIST,
    Assign,
    Call,
    Def,
    For,
    Node,
    Op,
    Statement,
    TensorAssign,
    Token,
    Tree,
    TupleAssign,
    bare,
    names_in,
    postorder,
    within,
)
from adcli.lang.tree.notation import (
    ATOM,
    COMPARISON,
    MATRIX_CALLS,
    OR,
    POWER,
    PRODUCT,
    SIZES_OF,
    SUM,
    TENSOR_CALLS,
    TERNARY,
    UNARY,
    enclosed,
)

FUNCTION_NAMES = "fghFGH"
"""Names that are rather those of functions than of factors."""
ALONG = "_along"
"""Behind the name of a function with a dimension to reduce over: `sum_along(A, axis, 0)` is how `sum(A, axis=0)` reads."""
LONGEST_STATEMENT = 120
"""Characters of statements that are repeated in a message."""


def instead(tree: Tree, node: Call, env: Mapping[str, Atom], declares: bool, known: Collection[str] = ()) -> Suggestion | None:
    """Help for a call that the language does not have, in a scope with these values; `declares`: inputs may be declared there;
    `known` are functions that may be meant."""
    if node.name in SIZES_OF and 1 <= len(node.args) <= 2:
        return size_of(node, env)
    found = (over_one_dimension(tree, node, env) or reduction(tree, node, env) or derivative(tree, node, env)
             or expression(tree, node, whole(tree, node), env))
    if found is None and node.name in TENSOR_CALLS and declares:
        found = declared(tree, node, env)
    if found is None and (known or any(rank(a, env) for a in node.args)):
        found = another_name(node, env, known)
    if found is None and node.name in EXAMPLES:
        return Suggestion(f"for example {EXAMPLES[node.name]}")
    if found or not known:
        return found
    return product(tree, node) or (None if node.args else without_parentheses(node))


def around(tree: Tree, node: Node) -> list[Statement]:
    """The statements that a node stands in, the outermost first."""
    return [s for outer in tree.statements for s in within(outer) if s.start <= node.start and node.end <= s.end]


def whole(tree: Tree, node: Node) -> Statement | None:
    """The statement whose value is a node and nothing else."""
    s = next(reversed(around(tree, node)), None)
    values = s.values if isinstance(s, Assign | TupleAssign) else [s.value] if isinstance(s, TensorAssign | Def) else []
    inner = bare(values[0]) if len(values) == 1 and values[0] is not None else None
    return s if inner is not None and inner.span == node.span else None


def without_parentheses(node: Call) -> Suggestion:
    """What to write for a value that is called, or a constant: `PI()`."""
    name = CONSTANTS_ELSEWHERE.get(node.name, node.name)
    return Suggestion(f"write {name}", Fix(node.start, node.end, name))


def size_of(node: Call, env: Mapping[str, Atom]) -> Suggestion:
    """The name of a size in place of a function that gives it: `len(x)`, `size(A, 1)`."""
    tensor, *rest = map(bare, node.args)
    shape = next((a.shape for a in [env.get(tensor.text)] if isinstance(a, Var)), ()) if isinstance(tensor, Token) else ()
    if not shape:
        return Suggestion("a size is a name that a declaration has, as N in input x(N)")
    kind = SIZES_OF[node.name]
    chosen = shape[:1] if kind == "first" else shape[1:2] if kind == "second" else shape
    if rest:
        place = rest[0].text if isinstance(rest[0], Token) else ""
        d = int(place) - (node.name != "shape" and place != "0") if place.isdecimal() else len(shape)
        chosen = shape[d:d + 1]
    texts = [affine_text(e) for e in chosen]
    if not chosen or (node.name in ("shape", "size", "dim") and len(chosen) > 1):
        return Suggestion(f"its sizes are {', '.join(map(affine_text, shape))}")
    product = " * ".join(e if e.isalnum() else f"({e})" for e in texts)
    return written(product if len(texts) == 1 else f"({product})", node)


def declared(tree: Tree, node: Call, env: Mapping[str, Atom]) -> Suggestion | None:
    """`sum(x)` of a name that is no tensor, after a declaration of it."""
    args, outer = [bare(a) for a in node.args], around(tree, node)
    letters = TENSOR_CALLS[node.name][0].split(", ")
    new = {a.text: "(N, N)" if letter.isupper() else "(N)" for a, letter in zip(args, letters, strict=False)
           if isinstance(a, Token) and not rank(a, env)}
    if not new or len(args) != len(letters) or any(len(re.findall(rf"\b{name}\b", tree.source.text)) > 1 for name in new):
        return None
    text = f"input {', '.join(name + extents for name, extents in new.items())}; "
    at = outer[0].start
    return Suggestion(f"write {text}{tree.source.text[at:outer[0].end]}", Fix(at, at, text))


def named_first(tree: Tree, node: Node, elements: str = "") -> Suggestion | None:
    """A call that gives a tensor as a statement before the one that it stands in, with the name it then has, or its elements."""
    outer, text = next(iter(around(tree, node)), None), tree.source.text
    if outer is None or isinstance(outer, For | Def):
        return None
    name = Names(tree.names).fresh("C")
    made = f"{name} = {text[node.start:node.end]}"
    mended, behind = f"{made}; {text[outer.start:node.start]}{name}{elements}", text[node.end:outer.end]
    short = len(mended + behind) <= LONGEST_STATEMENT and "\n" not in mended + behind
    return Suggestion(f"write {mended}{behind}" if short else f"give it a name first: {made}", Fix(outer.start, node.end, mended))


def for_every_element(tree: Tree, token: Token, env: Mapping[str, Atom]) -> Suggestion | None:
    """The statement about elements that an assignment with a whole tensor in it was meant as."""
    statement = next(reversed(around(tree, token)), None)
    if not isinstance(statement, Assign) or not len(statement.targets) == len(statement.values) == 1:
        return None
    value, text = statement.values[0], tree.source.text
    for n in postorder(value):
        if isinstance(n, Op) and n.name == "mul" and {rank(a, env) for a in n.args} == {1, 2}:
            return written(f"matmul({', '.join(text[a.start:a.end] for a in n.args)})", n)
        if gives_tensor(n):
            return named_first(tree, n)
    if not (dimensions := rank(value, env)) or not (made := quoted(tree, value)):
        return None
    subscripts = ", ".join([i for i in "ijklmnpqr" if i not in env][:dimensions])
    return written(f"{statement.targets[0].text}({subscripts}) = {by_elements(made, value, env, subscripts)}", statement)


def gives_tensor(node: Node) -> bool:
    """Test for a call of a function that most often gives a tensor."""
    return type(node) is Call and (node.name in MATRIX_CALLS or node.name in TENSOR_CALLS)


def by_elements(text: str, node: Node, env: Mapping[str, Atom], subscripts: str) -> str:
    """The text of a node with subscripts behind its tensors."""
    for n in [n for n in postorder(node) if isinstance(n, Token) and rank(n, env)][::-1]:
        at = n.end - node.start
        text = f"{text[:at]}({subscripts}){text[at:]}"
    return text


def another_name(node: Call, env: Mapping[str, Atom], known: Collection[str]) -> Suggestion | None:
    """The function that a foreign name stands for, else one that a mistyped name may stand for."""
    plain = unicodedata.normalize("NFKC", node.name)
    synonyms = {**SYNONYMS, **(OF_TENSORS if any(rank(a, env) or gives_tensor(bare(a)) for a in node.args) else {})}
    small = plain.casefold()
    certain = next((n for n in (plain, small) if (n in known and n in TABLE) or (n == plain and n in known)), None) or \
        synonyms.get(plain) or synonyms.get(small)
    if certain is None and (found := with_other_arguments(node)):
        return found
    if certain is None and small in NONE_HERE:
        return Suggestion("it has no counterpart here: `adcli functions` lists the functions there are")
    none = plain.endswith(ALONG) or len(plain) == 1 or plain in NAMED_CONSTANTS or plain in EXAMPLES
    name = certain or (None if none else alike(plain, list(known)))
    if name is None or name == node.name:
        return None
    help = f"did you mean '{name}'?" if name in known else f"write {name}"
    return Suggestion(help, Fix(node.start, node.start + len(node.name), name, certain is not None))


def derivative(tree: Tree, node: Call, env: Mapping[str, Atom]) -> Suggestion | None:
    """`diff(x**2, x)`, and `d/dx(x**2)`."""
    text = tree.source.text
    before = re.search(r"(?<!\w)[d∂]\s*/\s*\Z", text[:node.start])
    quotient = before is not None and node.name[0] in "d∂" and len(node.args) == 1
    if not (quotient or node.name in DERIVATIVES) or any(rank(a, env) for a in node.args) \
            or not node.args or not (formula := quoted(tree, node.args[0])) or (node.name in TENSOR_CALLS and not node.args[1:]):
        return None
    wrt = node.name[1:] if quotient else next((t for a in node.args[1:2] if (t := quoted(tree, a)) and t.isidentifier()), None)
    start = before.start() if quotient and before else node.start
    by = f" --wrt {wrt}" if wrt else ""
    return Suggestion(f"write {formula}; adcli grad{by} differentiates the program", Fix(start, node.end, f"({formula})"))


def product(tree: Tree, node: Call) -> Suggestion | None:
    """`x(y + 1)`, where x is no function."""
    factor = len(node.name) <= 2 and node.name not in FUNCTION_NAMES
    if not factor or len(node.args) != 1 or isinstance(bare(node.args[0]), Token) or not (inner := quoted(tree, node.args[0])):
        return None
    at = node.start + len(node.name)
    return Suggestion(f"for a product write {node.name}*({inner})", Fix(at, at, "*"))


def reduction(tree: Tree, node: Call, env: Mapping[str, Atom]) -> Suggestion | None:
    """`C(i) = 2*sum(A(i, j))` as a comprehension, with a name where the sum is not all that is assigned; and what has an index
    and its range beside what is reduced: `sum(x(i), i, 0, n)`, `sum(i, n, x(i))`."""
    if node.name not in REDUCING:
        return None
    args = [a for arg in node.args for a in (arg.args if type(arg) is Call and arg.name == LIST else [arg])]
    if len(args) > 1 and isinstance(bare(args[0]), Token):
        args = [args[-1], *args[:-1]]
    value, *rest = [quoted(tree, a) for a in args] or [""]
    if not value or not (outer := around(tree, node)) or isinstance(bare(args[0]), Token) or rank(args[0], env):
        return None
    if not rest and not any(type(n) is Call for n in postorder(args[0])):
        return None
    if rest:
        index, *bounds = [each or "" for each in rest]
        if not re.search(rf"\b{re.escape(index)}\b", value) or not index.isidentifier() or len(bounds) > 2 or "" in bounds:
            return None
        if bounds and bounds != ["0"]:   # which is where a sum starts in Python
            value += f" where {index} in {inclusive(*bounds) if bounds[1:] else f'0:{bounds[0]}'}"
    text = tree.source.text
    fix = statement_apart(text[:outer[-1].end], node.start, node.end, f"{REDUCING[node.name]} {value}", text)
    return Suggestion(f"write {fix.text}", fix)


def over_one_dimension(tree: Tree, node: Call, env: Mapping[str, Atom]) -> Suggestion | None:
    """`sum(A, axis=0)`: the statement that sums over one dimension, which its index names. Dims are counted from 1."""
    name, *rest = node.name.removesuffix(ALONG), *(tree.source.text[a.start:a.end] for a in node.args[1:])
    tensor, first = (bare(node.args[0]) if node.args else node), {"axis": 0, "dim": 0, "dims": 1}.get(rest[0] if rest else "")
    dimensions, text = rank(tensor, env), quoted(tree, tensor)
    if name not in REDUCING or first is None or not dimensions or not text or not re.fullmatch(r"-?\d", rest[-1]):
        return None
    place, indices = int(rest[-1]) - first, [i for i in "ijklmnpqr" if i not in env][:dimensions]
    kept = ", ".join(i for d, i in enumerate(indices) if d != place % dimensions)
    statement, elements = whole(tree, node), by_elements(text, tensor, env, ", ".join(indices))
    made = f"{f'({kept})' * bool(kept)} {REDUCING[name]} {elements}"
    if not isinstance(statement, Assign):
        return Suggestion(f"name the dimension by its index, in a statement of its own: s{made}")
    return written(f"{statement.targets[0].text}{made}", statement)


# ---------------------------------------------------------------- definitions

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
