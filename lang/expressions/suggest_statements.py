"""Statements that a faulty one was meant as: a loop, or a sum.

A loop stands for a statement that reads what it makes itself, `h(t) = a*h(t-1) + x(t)`. A sum stands for an index that only the
right side has, `h(j) = tanh(W(j, i)*x(i))`: where it stands twice in a product, the product is summed (Einstein's convention),
under a name of its own where it stands inside a function, a denominator or beside a term without the index.
"""
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from adcli.lang.expressions.scope import Context
from adcli.lang.expressions.subscripts import AffineReader
from adcli.lang.ir import Atom, Var
from adcli.lang.ir.affine import Index, affine
from adcli.lang.ir.errors import AdError, Fix, Source
from adcli.lang.ir.names import Names
from adcli.lang.suggest.suggestions import Suggestion
from adcli.lang.syntax.parse import parse_tree
from adcli.lang.tree.nodes import (
    Assign,
    Call,
    Clause,
    For,
    Node,
    Op,
    TensorAssign,
    Token,
    Tree,
    bare,
    names_in,
    postorder,
    within,
)

TO_REDUCE = "a sum over it is a statement of its own, a +=! ..., and what is done with the sum is written with its name"
MOST_STARTS = 4
"""Elements before the loop that are written out."""
LONGEST = 200
"""Characters of statements that are suggested."""
ASSIGNED = "f = "
"""Prefix of a value that is read alone."""
Ends = Mapping[str, tuple[str, str]]


# ---------------------------------------------------------------- loops

def suggested_loop(context: Context, s: TensorAssign, own: Sequence[Call], ends: Ends, exists: bool) -> tuple[str, bool] | None:
    """The loop for a statement whose reads of its own tensor are at constant lags, and whether it starts from zeros that the text
    does not give; `ends` are the ranges of indices without these reads. With `exists` the tensor has values before."""
    found = own_lags(context, s, own)
    if found is None or not (s.symbol == "=" or s.symbol.endswith("!")):
        return None
    (place, step, offset, lags), down = found, max(found[3]) > 0
    range_ = next((c for c in s.clauses if c.kind == "range" and c.name and c.name.text == step), None)
    low, high = [one_line(context, n) for n in range_.nodes] if range_ else ends.get(step, ("0", "N"))
    chosen = isinstance(value := bare(s.value), Op) and value.name == "select"   # by the step: it says the start itself
    if low.isdigit() and not down and not chosen:
        low = str(max(int(low), -min(lags) - offset))
    count = 0 if exists or chosen else max(map(abs, lags))
    texts = [one_line(context, n) for n in s.subscripts or ()]
    others = ", ".join(f"{n} in {a}:{b}" for n, (a, b) in ends.items() if n in texts and n != texts[place])

    def element(at: str) -> str:
        return f"{s.target.text}({', '.join([*texts[:place], at, *texts[place + 1:]])})"
    starts = [f"{element(plus(high if down else low, offset + k))} = 0{' where ' * bool(others)}{others}"
              for k in (range(count) if down else range(-count, 0))]
    clauses = ", ".join(one_line(context, c) for c in s.clauses if c is not range_)
    body = f"{element(texts[place])} {s.symbol} {one_line(context, s.value)}{' where ' * bool(clauses)}{clauses}"
    loop = f"for {step} in {low}:{high}{' down' * down} {{ {body} }}"
    return ("; ".join([*starts, loop]), bool(starts)) if count <= MOST_STARTS else None


def own_lags(context: Context, s: TensorAssign, own: Sequence[Call]) -> tuple[int, str, int, list[int]] | None:
    """The dimension of the step, its index, how far from it the statement writes, and how far from there it reads."""
    indices: dict[str, Index] = {}
    reader = AffineReader(context, lambda token: affine(indices.setdefault(token.text, Index(token.text))))
    try:
        write = [reader.read(n, "") for n in s.subscripts or ()]
        reads = [[reader.read(n, "") for n in call.args] for call in own]
    except AdError:
        return None
    for d, w in enumerate(write):
        lags = [n for r in reads if (n := (r[d] - w).number)]
        step = next((i for i in w.indices() if (w - affine(i)).number is not None), None)
        alone = not any(step in v.indices() for k, v in enumerate(write) if k != d)
        if step is not None and alone and lags and len(lags) == len(reads) and (max(lags) < 0 or min(lags) > 0):
            return d, step.name, (w - affine(step)).constant, lags
    return None


def one_line(context: Context, node: Node | Clause) -> str:
    return " ".join(context.source.text[node.start:node.end].split())


def plus(text: str, number: int) -> str:
    """An end of a range plus a number."""
    if text.isdigit():
        return str(int(text) + number)
    return text if not number else f"{text} {'+' if number > 0 else '-'} {abs(number)}"


# ---------------------------------------------------------------- sums

def suggested_sum(tree: Tree, at: int, env: Mapping[str, Atom], sizes: Collection[str]) -> Suggestion:
    """What to write for the statement at a place of the text with an index that only its right side has; a guess where no product
    says what is summed."""
    around = [s for outer in tree.statements for s in within(outer) if s.start <= at < s.end]
    s = around[-1] if around else None
    if isinstance(s, Assign) and len(s.targets) == 1:
        s = TensorAssign(s.targets[0], None, "=", s.values[0], None, [], s.start, s.end)
    if not isinstance(s, TensorAssign):
        return Suggestion(TO_REDUCE)
    reads = [(n, a) for n in postorder(s.value) if type(n) is Call and isinstance(a := env.get(n.name), Var) and a.shape]
    steps = tuple([o.step.text for o in around if isinstance(o, For)])
    left = [*steps, *names_in(*s.subscripts or ())]
    used = names_in(*[a for n, _ in reads for a in n.args])
    missing = tuple(i for i in dict.fromkeys(used) if i not in env and i not in sizes and i not in left)
    if "end" in missing:
        return Suggestion("the last element of a vector x(N) is x(N - 1)")
    text = tree.source.text
    if "\n" in text[s.start:s.end] or s.same or any(c.kind != "range" for c in s.clauses):
        return Suggestion(TO_REDUCE)
    end = (s.subscripts or [s.target])[-1].end + bool(s.subscripts)
    parts = Parts(text[s.target.start:end], tuple(dict.fromkeys(left)), steps, missing,
                  text[s.value.start:s.value.end], tuple((c.name.text, text[c.start:c.end]) for c in s.clauses if c.name),
                  frozenset(n.name for n, _ in reads))
    written, certain = parts.written(Names(tree.names)), all(contracted(s.value, i) for i in missing)
    if not written or len(written) > LONGEST:
        return Suggestion(TO_REDUCE)
    each = f"; for one value each, {' and '.join(map(repr, missing))} on the left too" * (not s.subscripts)
    other = "" if certain else f", or with *=!, min=!, max=! or lse=!{each}"
    return Suggestion(f"write {written}{other}", Fix(s.start, s.end, written, certain))


@dataclass(frozen=True)
class Parts:
    """A statement with a sum in it: its target, the indices there, the steps of the loops around it, the indices that it lacks,
    its value, the ranges behind `where`, and the names of tensors."""

    target: str
    left: tuple[str, ...]
    steps: tuple[str, ...]
    missing: tuple[str, ...]
    value: str
    ranges: tuple[tuple[str, str], ...]
    tensors: frozenset[str]

    def tree(self) -> Node:
        statement = parse_tree(Source("", ASSIGNED + self.value)).statements[0]
        assert isinstance(statement, Assign)
        return bare(statement.values[0])

    def written(self, names: Names) -> str | None:
        """The statements that make one sum after another, the innermost first."""
        parts, before = self, list[str]()
        while parts.missing:
            root = parts.tree()
            found = {i: parts.summed(root, i, contracted(root, i)) for i in parts.missing}
            i = min(found, key=lambda each: sum(n.end - n.start for n in found[each]))
            if not found[i]:
                return None
            if found[i] == [root]:
                break
            try:
                texts, parts = parts.without([j for j in found if found[j] == found[i]], found[i], names)
            except AdError:
                return None
            before += texts
        sign = "+=!" if parts.missing else "="
        return "; ".join([*before, f"{parts.target} {sign} {parts.value}{parts.where({*self.left, *parts.missing})}"])

    def without(self, indices: list[str], terms: list[Node], names: Names) -> tuple[list[str], Parts]:
        """The sums of terms over indices under names of their own, and the statement with these names."""
        value, made, new = self.value, list[str](), list[str]()
        for term in sorted(terms, key=lambda n: -n.start):
            words = {n.text for n in postorder(term) if isinstance(n, Token)}
            kept = [j for j in (*self.left, *self.missing) if j not in indices and (j in words or j in self.steps)]
            new.append(names.fresh("a"))
            element = f"{new[-1]}({', '.join(kept)})" if kept else new[-1]
            start, end = term.start - len(ASSIGNED), term.end - len(ASSIGNED)
            made.append(f"{element} +=! {value[start:end]}{self.where({*kept, *indices})}")
            value = value[:start] + element + value[end:]
        missing = tuple(i for i in self.missing if i not in indices)
        return made[::-1], replace(self, missing=missing, value=value, tensors=self.tensors | {*new})

    def where(self, indices: Collection[str]) -> str:
        """The ranges of some indices."""
        ranges = [text for name, text in self.ranges if name in indices]
        return f" where {', '.join(ranges)}" if ranges else ""

    def summed(self, node: Node, index: str, inside: bool) -> list[Node]:
        """The parts of an expression that are summed over an index: as far out as all that is done with the sum is linear, and
        `inside` of functions."""
        node = bare(node)
        if not isinstance(node, Op | Call) or node.name in self.tensors:
            return [node]
        parts = [a for a in node.args if has(a, index)]
        if isinstance(node, Op) and node.name in ("add", "sub"):
            terms = flat(node)
            if all(has(t, index) for t in terms):
                return [node]
            return [n for t in terms if has(t, index) for n in self.summed(t, index, inside)]
        if len(parts) != 1:
            return [node] if parts else []
        if isinstance(node, Op) and (node.name in ("neg", "pos", "mul") or (node.name == "div" and parts[0] is node.args[0])):
            found = self.summed(parts[0], index, inside)
            return [node] if found == [bare(parts[0])] else found
        return self.summed(parts[0], index, True) if inside else [node]


def has(node: Node, index: str) -> bool:
    return any(isinstance(n, Token) and n.text == index for n in postorder(node))


def contracted(node: Node, index: str) -> bool:
    """Whether a product has an index in both factors, or a quotient in both parts."""
    return any(isinstance(n, Op) and n.name in ("mul", "div") and all(has(a, index) for a in n.args) for n in postorder(node))


def flat(node: Node) -> list[Node]:
    """The terms of a sum."""
    node = bare(node)
    return [t for a in node.args for t in flat(a)] if isinstance(node, Op) and node.name in ("add", "sub") else [node]
