"""What to write for functions that other languages have: a name, an expression, or statements.

What there is stands in `counterparts`. In a message the names of its statements are exchanged: `x` and `y` become the tensors
that the call is given, `v` the name that its value gets, `N` the number of elements of `x`, and every other name one that the
program does not use; a tensor that the program does not have is declared. So a message is right when it is pasted.
"""
from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence

from adcli.lang.ir import Atom, Var
from adcli.lang.ir.affine import Affine
from adcli.lang.ir.affine import text as affine_text
from adcli.lang.ir.errors import Fix, alike
from adcli.lang.ir.names import Names
from adcli.lang.ir.notation import ATOM, MATRIX_CALLS, PRODUCT, SIZES_OF, TERNARY, enclosed
from adcli.lang.ir.primitives import TABLE
from adcli.lang.suggest.counterparts import (
    DERIVATIVES,
    MADE,
    NONE_HERE,
    NORMS,
    OF_A_MATRIX,
    OF_MATRICES,
    STATEMENTS,
    SYNONYMS,
)
from adcli.lang.suggest.definitions import Suggestion, expression, quoted, rank, tensors_of, with_other_arguments, written
from adcli.lang.syntax.chain import level
from adcli.lang.syntax.constants import CONSTANTS_ELSEWHERE, NAMED_CONSTANTS
from adcli.lang.syntax.foreign import REDUCING, inclusive, statement_apart
from adcli.lang.tree.nodes import (
    LIST,
    Assign,
    Call,
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
    bare,
    names_in,
    postorder,
    within,
)

FUNCTION_NAMES = "fghFGH"
"""Names that are rather those of functions than of factors."""
SIZES = {"i": "N", "j": "M", "k": "K"}
"""What a tensor is declared with where the table has an index."""
ALONG = "_along"
"""Behind the name of a function with a dimension to reduce over, as `over_one_dimension` reads it."""
UNKNOWN = "?"
"""The name of what a fault elsewhere leaves without a meaning."""
LONGEST_STATEMENT = 120
"""Characters of statements that are repeated in a message."""


class Site:
    """A call that the language does not have, where it stands: the values there, and the statements around it. Inputs may be
    declared where `declares`."""

    def __init__(self, tree: Tree, node: Node, env: Mapping[str, Atom], declares: bool = False) -> None:
        self.tree, self.node, self.env, self.declares, self.text = tree, node, env, declares, tree.source.text
        self.around = [s for outer in tree.statements for s in within(outer) if s.start <= node.start and node.end <= s.end]
        self.outer = self.around[0] if self.around and not isinstance(self.around[0], Def) else None

    @property
    def whole(self) -> Statement | None:
        """The statement whose value is the call and nothing else."""
        s = self.around[-1] if self.around else None
        values = s.values if isinstance(s, Assign | TupleAssign) else [s.value] if isinstance(s, TensorAssign | Def) else []
        inner = bare(values[0]) if len(values) == 1 and values[0] is not None else None
        return s if inner is not None and inner.span == self.node.span else None

    def at(self, node: Node) -> Site:
        """Another call in the same place."""
        return Site(self.tree, node, self.env, self.declares)

    def fresh(self, name: str) -> str:
        return Names(self.tree.names).fresh(name)

    def rank(self, node: Node) -> int | None:
        return rank(node, self.env)

    def quoted(self, node: Node) -> str:
        """The text of an argument that is short enough to be repeated; else empty."""
        return quoted(self.tree, node) or ""

    def before(self, text: str, standing: str) -> Suggestion:
        """Statements before the outermost one, in which something stands for the call."""
        assert self.outer is not None
        mended = f"{text}; {self.text[self.outer.start:self.node.start]}{standing}"
        behind = self.text[self.node.end:self.outer.end]
        short = len(mended + behind) <= LONGEST_STATEMENT and "\n" not in mended + behind
        return Suggestion(f"write {mended}{behind}" if short else f"give it a name first: {text}",
                          Fix(self.outer.start, self.node.end, mended))

    def assigned(self, reduced: str) -> Suggestion:
        """The statement with a reduction as what it assigns, or before it under a name."""
        fix = statement_apart(self.text[:self.around[-1].end], self.node.start, self.node.end, reduced, self.text)
        return Suggestion(f"write {fix.text}", fix)


def instead(tree: Tree, node: Call, env: Mapping[str, Atom], declares: bool, known: Collection[str] = ()) -> Suggestion | None:
    """Help for a call that the language does not have, in a scope with these values; `declares`: inputs may be declared there;
    `known` are functions that may be meant."""
    if node.name == "norm" and len(node.args) == 2 and rank(node.args[0], env) and (order := quoted(tree, node.args[1])) in NORMS:
        node = Call(NORMS[order or ""], node.args[:1], node.start, node.end)
    site = Site(tree, node, env, declares)
    if node.name in SIZES_OF and 1 <= len(node.args) <= 2:
        return size_of(node, env)
    if len(node.args) > 1 and (found := over_one_dimension(site, node)):
        return found
    found = (by_solving(node) or of_an_argument(site, node) or reduction(site, node)
             or expression(tree, node, site.whole, env) or statements(site, node))
    if found or not known or (node.name in STATEMENTS.keys() | MADE.keys() and node.name not in DERIVATIVES):
        examples = (STATEMENTS | MADE).get(node.name)
        return found or (Suggestion(f"for example {examples[0]}") if examples else None)
    return (another_name(node, env, known) or derivative(tree, node) or product(tree, node)
            or (None if node.args else without_parentheses(node)))


def counted_from_the_end(tree: Tree, node: Call, tensor: Var) -> Suggestion | None:
    """What to write for `x(end - 1)`."""
    texts = [quoted(tree, a) or "" for a in node.args]
    new = [re.sub(r"\bend\b", f"{affine_text(n)} - 1", t) for t, n in zip(texts, tensor.shape, strict=False)]
    return written(f"{node.name}({', '.join(new)})", node) if new != texts else None


def without_parentheses(node: Call) -> Suggestion:
    """What to write for a value that is called, or a constant: `PI()`."""
    name = CONSTANTS_ELSEWHERE.get(node.name, node.name)
    return Suggestion(f"write {name}", Fix(node.start, node.end, name))


def size_of(node: Call, env: Mapping[str, Atom]) -> Suggestion:
    """The name of a size in place of a function that gives it: `len(x)`, `size(A, 1)`."""
    tensor, *rest = map(bare, node.args)
    shape = next((a.shape for a in [env.get(tensor.text)] if isinstance(a, Var)), ()) if isinstance(tensor, Token) else ()
    if not shape:
        return Suggestion(f"a size is a name that a declaration has, as N in input {tensor.text}(N)"
                          if isinstance(tensor, Token) and tensor.type == "NAME" else "a size is a name that a declaration has")
    kind = SIZES_OF[node.name]
    chosen = shape[:1] if kind == "first" else shape[1:2] if kind == "second" else shape
    if rest:
        place = rest[0].text if isinstance(rest[0], Token) else ""
        d = int(place) - (node.name != "shape" and place != "0") if place.isdecimal() else len(shape)
        chosen = shape[d:d + 1]
    if node.name in ("shape", "size", "dim") and len(chosen) > 1:
        return Suggestion(f"its sizes are {', '.join(map(affine_text, chosen))}")
    if not chosen:
        return Suggestion(f"its sizes are {', '.join(map(affine_text, shape))}")
    return written(product_of(chosen), node)


def of_an_argument(site: Site, node: Node) -> Suggestion | None:
    """What to write for a function of tensors in an argument: `sum((x - mean(x))**2)`, `matmul(x, inverse(A))`."""
    for n in (n for n in postorder(node) if type(n) is Call):
        if n.name in MADE and (found := made(site.at(n), n)):
            return found
        if n is node:
            continue
        if n.name in STATEMENTS and all(site.rank(untransposed(a, site.env)[0]) for a in n.args):
            return statements(site.at(n), n, inside=True)
        if len(n.args) > 1 and (found := over_one_dimension(site.at(n), n, alone=False)):
            return found
        if n.name in MATRIX_CALLS.keys() - {"logdet", "transpose"}:
            return named_first(site.tree, n)
        if n.name in OF_MATRICES | OF_A_MATRIX and any(site.rank(a) for a in n.args):
            return another_name(n, site.env, [*MATRIX_CALLS])
    return None


def named_first(tree: Tree, node: Node, elements: str = "") -> Suggestion | None:
    """A call that gives a tensor as a statement before the one that it stands in, with the name it then has, or its elements."""
    site = Site(tree, node, {})
    if site.outer is None or isinstance(site.outer, For):
        return None
    name = site.fresh("C")
    return site.before(f"{name} = {site.text[node.start:node.end]}", name + elements)


def made(site: Site, node: Call) -> Suggestion | None:
    """The statement that makes the tensor of a call, as all that is assigned, or before the statement that the call stands in."""
    args = [a for arg in node.args for a in (arg.args if type(arg) is Call and arg.name == LIST else [arg])]
    tensor = bare(args[0]) if args else None
    first = [tensor.text] if isinstance(tensor, Token) and site.rank(tensor) == 1 else []
    texts = [enclosed((text, level(bare(a))), ATOM) for a in args[len(first):] if (text := site.quoted(bare(a)))]
    form = next((f for f in MADE[node.name] if ("x" in f) == bool(first)
                 and len({*re.findall("[NMK]", f)}) == len(texts) == len(args) - len(first)), None)
    if form is None or site.outer is None or isinstance(site.outer, For):
        return None
    sizes = names_in(*args)
    known = {item.name.text for s in site.tree.statements if isinstance(s, Declare) for item in s.items}
    known |= {affine_text(x) for atom in site.env.values() if isinstance(atom, Var) for x in atom.shape}
    new = [n for n in dict.fromkeys(sizes) if n not in known]
    whole = target_of(site.whole, form)
    meant = {"v": whole or site.fresh("C"), "x": "".join(first), **dict(zip("NMK", texts, strict=False))}
    text = f"input int32 {', '.join(new)}; " * bool(new) + re.sub(r"\b[vxNMK]\b", lambda m: meant[m[0]], form)
    return written(text, site.outer) if whole else site.before(text, meant["v"])


def by_solving(node: Call) -> Suggestion | None:
    """`inverse(A) @ b` is solve(A, b)."""
    first, *rest = [bare(a) for a in node.args] or [node]
    if node.name not in ("dot", "matmul") or len(rest) != 1 or type(first) is not Call or first.name != "inverse":
        return None
    names = [a.text for a in map(bare, (*first.args, *rest)) if isinstance(a, Token)]
    return written(f"solve({', '.join(names)})", node) if len(names) == 2 else None


def untransposed(node: Node, env: Mapping[str, Atom]) -> tuple[Node, bool]:
    """The tensor in transpose(tensor), and whether its two subscripts change places; a vector is as it is."""
    inner = bare(node)
    if type(inner) is Call and inner.name == "transpose" and len(inner.args) == 1 and isinstance(bare(inner.args[0]), Token):
        dimensions = rank(inner.args[0], env)
        if dimensions in (1, 2):
            return bare(inner.args[0]), dimensions == 2
    return node, False


def for_every_element(tree: Tree, token: Token, env: Mapping[str, Atom]) -> Suggestion | None:
    """The statement about elements that an assignment with a whole tensor in it was meant as."""
    site = Site(tree, token, env)
    whole = site.around[-1] if site.around else None
    if not isinstance(whole, Assign) or not len(whole.targets) == len(whole.values) == 1:
        return None
    value = whole.values[0]
    if first := of_an_argument(site, value):
        return first
    for n in postorder(value):
        if isinstance(n, Op) and n.name == "mul" and {site.rank(a) for a in n.args} == {1, 2}:
            return written(f"matmul({', '.join(site.text[a.start:a.end] for a in n.args)})", n)
    if not (dimensions := site.rank(value)) or not site.quoted(value):
        return None
    subscripts = ", ".join([i for i in "ijklmnpqr" if i not in env][:dimensions])
    return written(f"{whole.targets[0].text}({subscripts}) = {by_elements(site, value, subscripts)}", whole)


def another_name(node: Call, env: Mapping[str, Atom], known: Collection[str]) -> Suggestion | None:
    """The function that a foreign name stands for, else one that a mistyped name may stand for."""
    plain = unicodedata.normalize("NFKC", node.name)
    synonyms = {**SYNONYMS, **OF_MATRICES, **(OF_A_MATRIX if any(rank(a, env) for a in node.args) else {})}
    small = plain.casefold()
    certain = next((n for n in (plain, small) if (n in known and n in TABLE) or (n == plain and n in known)), None) or \
        synonyms.get(plain) or synonyms.get(small)
    if certain is None and (found := with_other_arguments(node)):
        return found
    if certain is None and small in NONE_HERE:
        return Suggestion("it has no counterpart here: `adcli functions` lists the functions there are")
    none = plain.endswith(ALONG) or len(plain) == 1 or plain in NAMED_CONSTANTS
    name = certain or (None if none else alike(plain, list(known)))
    if name is None:
        return None
    help = f"did you mean '{name}'?" if name in known else f"write {name}"
    return Suggestion(help, Fix(node.start, node.start + len(node.name), name, certain is not None))


def derivative(tree: Tree, node: Call) -> Suggestion | None:
    """`diff(x**2, x)`, and `d/dx(x**2)`."""
    text = tree.source.text
    before = re.search(r"(?<!\w)[d∂]\s*/\s*\Z", text[:node.start])
    quotient = before is not None and node.name[0] in "d∂" and len(node.args) == 1
    if not (quotient or node.name in DERIVATIVES) or not node.args or not (formula := quoted(tree, node.args[0])):
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


def reduction(site: Site, node: Call) -> Suggestion | None:
    """`C(i) = 2*sum(A(i, j))` as a comprehension, with a name where the sum is not all that is assigned; and what has an index
    and its range beside what is reduced: `sum(x(i), i, 0, n)`, `sum(i, n, x(i))`."""
    if node.name not in REDUCING:
        return of_elements(site, node)
    args = [a for arg in node.args for a in (arg.args if type(arg) is Call and arg.name == LIST else [arg])]
    if len(args) > 1 and isinstance(bare(args[0]), Token):
        args = [args[-1], *args[:-1]]
    value, *rest = [site.quoted(a) for a in args] or [""]
    if not value or not site.around or isinstance(bare(args[0]), Token) or site.rank(args[0]):
        return None
    if not rest and not any(type(n) is Call for n in postorder(args[0])):
        return None
    if rest:
        index, *bounds = rest
        if not re.search(rf"\b{re.escape(index)}\b", value) or not index.isidentifier() or len(bounds) > 2 or "" in bounds:
            return None
        if bounds and bounds != ["0"]:   # which is where a sum starts in Python
            value += f" where {index} in {inclusive(*bounds) if bounds[1:] else f'0:{bounds[0]}'}"
    return site.assigned(f"{REDUCING[node.name]} {value}")


def over_one_dimension(site: Site, node: Call, alone: bool = True) -> Suggestion | None:
    """`sum_along(A, axis, 0)`, which is how `sum(A, axis=0)` reads, the same with dims, which are counted from 1, and
    `sum(A, 1)`, which is counted from 0 or from 1: both are told. The call may be `alone` in its statement."""
    rest = [site.text[a.start:a.end] for a in node.args[1:]]
    if not rest[:-1] and (node.name in TABLE or node.name == "norm"):   # max(A, 0) and norm(x, 1) mean something else
        return None
    name = node.name.removesuffix(ALONG)
    if name in ("cumsum", "cumprod") and site.rank(node.args[0]) == 1 and rest[-1] in ("0", "-1"):   # which has one dimension
        return written(f"{name}({site.text[node.args[0].start:node.args[0].end]})", node)
    form, dimensions = STATEMENTS.get(name, ("",))[0], site.rank(node.args[0])
    first = {"axis": (0,), "dim": (0,), "dims": (1,), "": (0, 1)}.get("".join(rest[:-1]))
    if "x(i)" not in form or not dimensions or dimensions > 4 or first is None or not re.fullmatch(r"-?\d", rest[-1]):
        return None
    number = int(rest[-1])
    places = [dimensions + number] if number < 0 else [number - f for f in first]
    found = [said for d in places if 0 <= d < dimensions and (said := reduced_along(site, node, form, d, alone))]
    if len(found) == 1:
        return found[0]
    both = " or ".join(said.help.removeprefix("write ") for said in found)
    return Suggestion(f"name the dimension by its index: {both}") if found else None


def reduced_along(site: Site, node: Call, form: str, place: int, alone: bool) -> Suggestion | None:
    """The statements of a form, with dimension `place` of the argument as what is reduced and an element for all others."""
    names, inner, whole = Names(site.tree.names), bare(node.args[0]), site.whole if alone else None
    shape = tensors_of(inner, site.env)[0].shape
    indices = [i if i not in site.env else names.fresh(i) for i in "ijkl"[:len(shape)]]
    kept = ", ".join(i for d, i in enumerate(indices) if d != place)
    target = target_of(whole, "v") or names.fresh("v")
    element = f"({kept})" if kept else ""
    text = by_elements(site, inner, ", ".join(indices))
    operand = text if isinstance(inner, Token) or re.search(r"=! x\(i\)(?=;|$)", form) else f"({text})"
    words = {n: name + element for n, name in {"v": target, "s": names.fresh("s"), "t": names.fresh("t")}.items()}
    words |= {"x(i)": operand, "v(i)": f"{target}({', '.join(indices)})", "N": product_of(shape[place:place + 1])}
    text = re.sub(r"x\(i\)|v\(i\)|\b[vstN]\b", lambda m: words[m[0]], form)
    if target_of(whole, "v") and whole is not None:
        return written(text, whole)
    if site.outer is None or isinstance(site.outer, For):
        return None
    standing = target if isinstance(site.outer, Assign) else words["v(i)"] if "v(i)" in form else target + element
    return site.before(text, standing)


def of_elements(site: Site, node: Call) -> Suggestion | None:
    """`v = mean(x(i)**2) + 1`: a function of the table whose argument has indices, as the statement that reduces them."""
    form = re.fullmatch(r"v (\S+=!) (x\(i\)[^;]*)", STATEMENTS.get(node.name, ("",))[0])
    if form is None or not site.around or len(node.args) != 1 or not (inner := site.quoted(node.args[0])):
        return None
    kept = [a.text for a in getattr(site.around[-1], "subscripts", None) or () if isinstance(a, Token)]
    extents: dict[str, Affine] = {}
    for n in [n for n in postorder(node.args[0]) if type(n) is Call]:
        tensor = site.env.get(n.name)
        for a, extent in zip(n.args, tensor.shape if isinstance(tensor, Var) else (), strict=False):
            if not isinstance(a, Token):   # which elements there are is said by a range
                return None
            if a.type == "NAME" and a.text not in kept:
                extents.setdefault(a.text, extent)
    if not extents:
        return None
    operand = enclosed((inner, level(bare(node.args[0]))), PRODUCT if "/" in form[2] else TERNARY)
    text = re.sub(r"x\(i\)|\bN\b", lambda m: product_of([*extents.values()]) if m[0] == "N" else operand, form[2])
    return site.assigned(f"{form[1]} {text}")


def statements(site: Site, node: Call, inside: bool = False) -> Suggestion | None:
    """The statements that a function of tensors is, which stands in a statement or `inside` of another function's argument."""
    operands = [untransposed(a, site.env) for a in node.args]
    args, ranks = [a for a, _ in operands], [site.rank(a) for a, _ in operands]
    form = form_for(node.name, ranks)
    for letter, (_, turned) in zip("xy", operands, strict=False):
        form = re.sub(rf"\b{letter}\((\w), (\w)\)", rf"{letter}(\2, \1)", form) if form and turned else form
    unknown = [a for a, r in zip(args, ranks, strict=True) if r is None]
    if form is None or (unknown and (not site.declares or node.name in DERIVATIVES)):
        return None
    if any(tensor_in(n, site.env) for a in unknown for n in postorder(a)):
        return None
    whole = None if inside else site.whole
    target, text = instance(site, form, args, ranks, target_of(whole, form))
    if target_of(whole, form) and whole is not None:
        return written(text, whole)
    if site.outer is None:
        return Suggestion(f"give it a name first: {text}")
    own = [site.text[n.start:n.end] for n in site.outer.subscripts or ()] if isinstance(site.outer, TensorAssign) else []
    made = re.search(rf"\b{target}\(([^()]*)\)", text) if subscripts(form, "v") else None
    count = len(subscripts(form, "v"))
    element = "" if inside or isinstance(site.outer, Assign) or not made else ", ".join(own) if len(own) == count else made[1]
    return site.before(text, target + f"({element})" * bool(element))


def instance(site: Site, form: str, args: list[Node], ranks: list[int | None], target: str | None) -> tuple[str, str]:
    """The name of the value of a form, and its statements with names of the program; what they need is declared."""
    names = Names(site.tree.names)
    meant, expressions = {"v": target or names.fresh("v")}, {}
    for letter, arg, dimensions in zip("xy", args, ranks, strict=False):
        inner = bare(arg)
        alone = inner.text if isinstance(inner, Token) else only_name(inner) if dimensions is None else None
        named = alone and (dimensions is not None or only_here(site.tree, alone, inner))
        meant[letter] = alone if alone and named else names.fresh(letter)
        if not isinstance(inner, Token) and (dimensions is not None or named):
            expressions[meant[letter]] = inner
    used = {*site.env, *meant.values()}
    meant |= {i: names.fresh(i) if i in used else i for i in SIZES}
    meant |= {c: names.fresh(c) for c in sorted({*re.findall(r"\b[a-z]\b", form)} - meant.keys())}
    sizes = {i: names.fresh(n) for i, n in SIZES.items()}
    declared = [f"{meant[letter]}({', '.join(sizes.get(i, sizes['i']) for i in subscripts(form, letter))})"
                for letter, dimensions in zip("xy", ranks, strict=False) if dimensions is None]
    meant["N"] = product_of(tensors_of(args[0], site.env)[0].shape) if ranks[0] is not None else sizes["i"]
    text = re.sub(r"\b[a-zN]\b", lambda m: meant[m[0]], form)
    for name, inner in expressions.items():
        text = re.sub(rf"(?:(?<==! ){name}\(([^()]*)\)(?=;|\Z))|\b{name}\(([^()]*)\)",
                      lambda m, inner=inner, name=name: by_elements(site, inner, m[1], m[2], name), text)   # type: ignore[misc]
    return meant["v"], (f"input {', '.join(declared)}; " if declared else "") + text


def tensor_in(node: Node, env: Mapping[str, Atom]) -> bool:
    """Whether a node is a tensor, or an element of one, or may be one, but for a fault elsewhere."""
    atom = env.get(node.text if isinstance(node, Token) else node.name if type(node) is Call else "")
    return isinstance(atom, Var) and (bool(atom.shape) or atom.name == UNKNOWN)


def product_of(extents: Sequence[Affine]) -> str:
    """Extents multiplied, as an operand."""
    texts = [affine_text(e) for e in extents]
    product = " * ".join(e if e.isalnum() else f"({e})" for e in texts)
    return product if len(texts) == 1 else f"({product})"


def by_elements(site: Site, node: Node, alone: str | None, subscripts: str | None = None, name: str = "") -> str:
    """The text of an expression with subscripts behind its tensors, and what has this `name`, `alone` or as an operand."""
    text = site.text[node.start:node.end]
    for token in [n for n in postorder(node) if isinstance(n, Token) and (n.text == name or site.rank(n))][::-1]:
        at = token.end - node.start
        text = f"{text[:at]}({alone or subscripts}){text[at:]}"
    return text if alone else enclosed((text, level(node)), ATOM)


def only_name(node: Node) -> str | None:
    """The name in an expression that has one."""
    names = {n for n in names_in(node) if n not in NAMED_CONSTANTS}
    return names.pop() if len(names) == 1 else None


def only_here(tree: Tree, name: str, node: Node) -> bool:
    """Whether a name occurs in an argument only, so that a tensor may have it."""
    text = tree.source.text
    return len(re.findall(rf"\b{name}\b", text)) == len(re.findall(rf"\b{name}\b", text[node.start:node.end]))


def form_for(name: str, ranks: list[int | None]) -> str | None:
    """The statements of the table that fit tensors with these numbers of dimensions; None stands for any."""
    for form in STATEMENTS.get(name, ()):
        wanted = [len(subscripts(form, letter)) for letter in "xy" if subscripts(form, letter)]
        if len(wanted) == len(ranks) and all(r in (None, w) for r, w in zip(ranks, wanted, strict=True)):
            return form
    general = STATEMENTS.get(name, ("",))[0]
    if len(ranks) == 1 and ranks[0] in (2, 3) and "j" not in re.findall(r"\b[a-z]\b", general):
        return general.replace("(i)", f"({', '.join('ijk'[:ranks[0]])})") or None
    return None


def subscripts(form: str, letter: str) -> list[str]:
    found = re.search(rf"\b{letter}\(([^)]*)\)", form)
    return found[1].split(", ") if found else []


def target_of(whole: Statement | None, form: str) -> str | None:
    """The name that the value of a whole statement gets, where the statements of the table give it the same subscripts."""
    if isinstance(whole, TensorAssign) and whole.symbol == "=" and len(whole.subscripts or ()) == len(subscripts(form, "v")):
        return whole.target.text
    return whole.targets[0].text if isinstance(whole, Assign) and len(whole.targets) == 1 else None
