"""The statements that a sum over an index is meant as which only the right side has: `h(j) = tanh(W(j, i)*x(i))`.

Where an index stands twice in a product, the product is summed (Einstein's convention), and what is done with the sum comes
after it: under a name of its own where the product stands inside a function, a denominator or beside a term without the index.
Where it stands once, the sum may be of the whole or of the argument, and both are told.
"""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from adcli.lang.ir.errors import AdError, Fix, Source
from adcli.lang.ir.names import Names
from adcli.lang.lower.definitions import Suggestion
from adcli.lang.syntax.parse import parse_tree
from adcli.lang.syntax.tree import Assign, Call, For, Node, Op, TensorAssign, Token, Tree, bare, postorder, within

TO_REDUCE = "a sum over it is a statement of its own, a +=! ..., and what is done with the sum is written with its name"
LONGEST = 200
"""Characters of statements that are offered."""
ASSIGNED = "f = "
"""Prefix of a value that is read alone."""


def offered_sum(tree: Tree, at: int, missing: Collection[str], tensors: Collection[str]) -> Suggestion | None:
    """What to write for the statement at a place of the text whose target lacks these indices."""
    around = [s for outer in tree.statements for s in within(outer) if s.start <= at < s.end]
    statement = around[-1] if around else None
    if not isinstance(statement, TensorAssign | Assign) or "\n" in tree.source.text[statement.start:statement.end]:
        return None
    if isinstance(statement, Assign) and len(statement.targets) != 1:
        return None
    steps = [s.step.text for s in around if isinstance(s, For)]
    parts = parts_of(statement, tree.source.text, steps, missing, tensors)
    if parts is None:
        return None
    texts = [text for inside in (False, True) if (text := parts.written(Names(tree.names), inside))]
    texts = list(dict.fromkeys(texts))
    free = parts.free()
    if free and isinstance(statement, Assign):
        others = tuple(i for i in parts.missing if i not in free)
        elements = replace(parts, subscripts=f"({', '.join(free)})", left=(*parts.left, *free), missing=others)
        texts += [text] if (text := elements.written(Names(tree.names), False)) else []
    if not texts or max(map(len, texts)) > LONGEST:
        return None
    other = ", or with *=!, min=!, max=! or lse=!" if free and not texts[1:] else ""
    fix = None if texts[1:] else Fix(statement.start, statement.end, texts[0], not free)
    return Suggestion(f"write {' or '.join(texts)}{other}", fix)


def parts_of(s: TensorAssign | Assign, text: str, steps: list[str], missing: Collection[str],
             tensors: Collection[str]) -> Parts | None:
    """The parts of a statement; None where more than ranges stands behind it."""
    value = s.value if isinstance(s, TensorAssign) else s.values[0]
    clauses = s.clauses if isinstance(s, TensorAssign) else []
    if any(c.kind != "range" for c in clauses) or (isinstance(s, TensorAssign) and s.same):
        return None
    target = s.target if isinstance(s, TensorAssign) else s.targets[0]
    subscripts = (s.subscripts if isinstance(s, TensorAssign) else None) or []
    names = [n.text for each in subscripts for n in postorder(each) if isinstance(n, Token) and n.type == "NAME"]
    written = f"({', '.join(text[n.start:n.end] for n in subscripts)})" if subscripts else ""
    return Parts(target.text, written, tuple(dict.fromkeys([*steps, *names])), tuple(steps), tuple(missing),
                 text[value.start:value.end], tuple((c.name.text, text[c.start:c.end]) for c in clauses if c.name),
                 frozenset(tensors))


@dataclass(frozen=True)
class Parts:
    """A statement with a sum in it: its target and subscripts, the indices in these, the steps of the loops around it, the
    indices that it lacks, its value, the ranges behind `where`, and the names of tensors."""

    target: str
    subscripts: str
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

    def free(self) -> list[str]:
        """The missing indices that no product has twice: an element of the result may be meant."""
        root = self.tree()
        return [i for i in self.missing if not contracted(root, i)]

    def written(self, names: Names, inside: bool) -> str | None:
        """The statements, with the sums over indices that no product has twice of the whole or `inside` of a function."""
        parts, before = self, list[str]()
        while parts.missing:
            root = parts.tree()
            found = {i: parts.summed(root, i, 2 if contracted(root, i) else 1 if inside else 0) for i in parts.missing}
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
        ranges = self.where({*self.left, *parts.missing})
        return "; ".join([*before, f"{parts.target}{parts.subscripts} {sign} {parts.value}{ranges}"])

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

    def summed(self, node: Node, index: str, depth: int) -> list[Node]:
        """The parts of an expression that are summed over an index: as far out as all that is done with the sum is linear, but
        inside of `depth` functions at the most, 2 standing for any number."""
        node = bare(node)
        if not isinstance(node, Op | Call) or node.name in self.tensors:
            return [node]
        parts = [a for a in node.args if has(a, index)]
        if isinstance(node, Op) and node.name in ("add", "sub"):
            terms = flat(node)
            if all(has(t, index) for t in terms):
                return [node]
            return [n for t in terms if has(t, index) for n in self.summed(t, index, depth)]
        if len(parts) != 1:
            return [node] if parts else []
        inner = bare(parts[0])
        if isinstance(node, Op) and (node.name in ("neg", "pos", "mul") or (node.name == "div" and parts[0] is node.args[0])):
            found = self.summed(inner, index, depth)
            return [node] if found == [inner] else found
        if not depth:
            return [node]
        return self.summed(inner, index, 2) if depth == 2 else [inner]


def has(node: Node, index: str) -> bool:
    return any(isinstance(n, Token) and n.text == index for n in postorder(node))


def contracted(node: Node, index: str) -> bool:
    """Whether a product has an index in both factors, or a quotient in both parts."""
    return any(isinstance(n, Op) and n.name in ("mul", "div") and all(has(a, index) for a in n.args) for n in postorder(node))


def flat(node: Node) -> list[Node]:
    """The terms of a sum."""
    node = bare(node)
    return [t for a in node.args for t in flat(a)] if isinstance(node, Op) and node.name in ("add", "sub") else [node]
