"""Conditions on tensors, element by element: `p(i) <= pmax(i)` for every i, or `low <= x <= high` of whole tensors."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from adcli.lang.expressions.scope import node_name
from adcli.lang.expressions.stated_problem import ProblemScope, check_known, condition, value
from adcli.lang.ir import Atom, Lit, shape_of
from adcli.lang.ir.affine import affine, shape_text, text
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import Names
from adcli.lang.ir.problem import SideCondition
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.operations.elementwise import NAMES
from adcli.lang.statements.comprehension import TensorStatement
from adcli.lang.statements.comprehension_body import Poisoned, rewritten
from adcli.lang.statements.matrix_statement import is_matrix_call
from adcli.lang.syntax.constants import NAMED_CONSTANTS
from adcli.lang.tree.nodes import Call, Clause, Node, Op, Relation, TensorAssign, Token, bare, names_of, postorder

NUMBER = Lit(0.0)
BOX = "write the condition for a box of indices: where i in 0:n"


class AllElements(TensorStatement):
    """The elements of one side of a condition, from the first that there is on: there are no others, which would be 0."""

    first: tuple[str, ...] = ()

    def remark_gaps(self, *box: object) -> None:
        pass

    def together(self, made: list[tuple[Comprehension, list[Atom]]]) -> list[tuple[Comprehension, list[Atom]]]:
        (op, args), *more = made
        if more or op.guards or any(r.low.indices() or r.high.indices() for r in op.ranges):
            raise self.context.fault("a condition that holds for some elements only", self.s.target, BOX)
        ends = {r.index: r for r in op.ranges}
        ranges = [ends[i] for w in op.write for i in w.indices()]   # type: ignore[union-attr]  # the target's own indices
        self.first = tuple(text(r.low) for r in ranges)
        write, shape = tuple(affine(r.index) - r.low for r in ranges), tuple(r.high - r.low for r in ranges)
        return [(replace(op, write=write, shape=shape), args)]


class ConditionElements:
    """A relation in a program with tensors. `names` run over its elements: names in subscripts that have no value, or new ones
    where tensors are `whole`, without subscripts."""

    def __init__(self, scope: ProblemScope, r: Relation, clauses: Sequence[Clause]) -> None:
        self.scope, self.r, self.clauses, self.context = scope, r, clauses, scope.context
        if other := next((c for c in clauses if c.kind not in ("range", "let")), None):
            text = self.context.source.text[other.start:other.end]
            raise self.context.fault("a condition that holds for some elements only", Token("", "", other.start, other.end),
                                     f"{BOX}; a further condition is a statement: subject to {text}")
        given = [c.name.text for c in clauses if c.name is not None]
        indices = dict.fromkeys([*(n for part in r.parts for n in self.subscript_names(part)),
                                 *(c.name.text for c in clauses if c.kind == "range" and c.name is not None)])
        check_known(scope, [*r.parts, *(n for c in clauses for n in c.nodes)], [*indices, *given])
        self.whole = {t.start: shape_of(scope.env[t.text]) for n in r.parts for t in self.whole_tensors(n)}
        if self.whole and indices:
            t = next(t for n in r.parts for t in self.whole_tensors(n))
            raise self.context.fault(f"'{t.text}' is a tensor", t, f"write its element: {t.text}({', '.join(indices)})")
        fresh = Names({*self.context.tree.names, *scope.env, *scope.tensors.sizes}).fresh
        self.names = list(indices) or [fresh(NAMES[d]) for d in range(max(map(len, self.whole.values()), default=0))]

    def subscript_names(self, root: Node) -> Iterator[str]:
        """The names in subscripts that have no value."""
        known = (NAMED_CONSTANTS, self.scope.env, self.scope.tensors.sizes, self.scope.tensors.headers)
        for node in postorder(root):
            if type(node) is Call and shape_of(self.scope.env.get(node.name, NUMBER)):
                yield from (t.text for t in names_of(*node.args) if not any(t.text in names for names in known))

    def whole_tensors(self, root: Node) -> Iterator[Token]:
        """The tensors without subscripts, but for those that a function of tensors takes."""
        stack = [root]
        while stack:
            node = bare(stack.pop())
            if isinstance(node, Token):
                yield from [node] if shape_of(self.scope.env.get(node.text, NUMBER)) else []
            elif isinstance(node, Op) or (isinstance(node, Call) and not self.takes_tensors(node)):
                stack += reversed(node.args)

    def takes_tensors(self, node: Call) -> bool:
        """Test for subscripts of a tensor, and for the call of a function of tensors."""
        return node.name in self.scope.env or node.name in self.context.tensors or is_matrix_call(self.scope, node)

    def lacks_range(self, n: Node) -> bool:
        """Test a side for an index that only another side has in a subscript: `x(i) <= i`, `x(i) <= A(i, j)`."""
        known = {*self.subscript_names(n), *(c.name.text for c in self.clauses if c.kind == "range" and c.name is not None)}
        return not self.whole and not {t.text for t in names_of(n)}.isdisjoint(self.names) and not known.issuperset(self.names)

    def conditions(self) -> list[SideCondition]:
        """One where the sides have the same elements, else one a comparison, of the difference of its sides."""
        try:
            start, parts = len(self.scope.equations), self.r.parts
            if any(map(self.lacks_range, parts)):
                pairs = [Relation(parts[k:k + 2], [sign]) for k, sign in enumerate(self.r.signs)]
                return [self.difference(0)] if len(pairs) == 1 else \
                    [c for pair in pairs for c in ConditionElements(self.scope, pair, self.clauses).conditions()]
            sides = [self.side(n) for n in parts]
            tensors = [(n, atom, first) for n, (atom, first) in zip(parts, sides, strict=True) if shape_of(atom)]
            plain = self.whole and all(type(bare(n)) is Token for n, _, _ in tensors)   # sizes may turn out to be equal
            if plain or len({(shape_of(atom), first) for _, atom, first in tensors}) <= 1:
                first = tensors[0][2] if tensors else ()
                return [condition(self.scope, self.r, [a for a, _ in sides], [self.text(n, a) for n, a in zip(
                    parts, [a for a, _ in sides], strict=True)], first)]
            if len({len(shape_of(atom)) for _, atom, _ in tensors}) > 1:
                raise self.different(parts[0].start, parts[-1].end)
            del self.scope.equations[start:]
            return [self.difference(k) for k in range(len(parts) - 1)]
        except Poisoned:
            return []

    def side(self, n: Node) -> tuple[Atom, tuple[str, ...]]:
        """The value of a side, and where its elements start."""
        root = bare(n)
        if type(root) is Token and root.start in self.whole:
            return self.scope.read(root), ("0",) * len(self.whole[root.start])
        if type(root) is Call and not self.clauses and self.names == [a.text if type(a) is Token else "" for a in root.args]:
            atom = self.scope.read(node_name(root))
            if len(shape_of(atom)) == len(root.args):
                return atom, ("0",) * len(root.args)
        written = self.subscripted(n)
        if {t.text for t in names_of(written)}.isdisjoint(self.names):
            atom = value(self.scope, n)
            return atom, ("0",) * len(shape_of(atom))
        return self.elements(written)

    def subscripted(self, n: Node) -> Node:
        """A side with subscripts at its whole tensors, which must have the same number of dimensions."""
        own = {len(shape) for at, shape in self.whole.items() if n.start <= at < n.end}
        if len(own) > 1:
            raise self.different(n.start, n.end)
        subscripts: list[Node] = [Token("NAME", name, n.start, n.end) for name in self.names[:max(own, default=0)]]
        return rewritten(n, lambda node: Call(node.text, subscripts, node.start, node.end)
                         if isinstance(node, Token) and node.start in self.whole else None)

    def elements(self, n: Node) -> tuple[Atom, tuple[str, ...]]:
        names = self.names if not self.whole else [name for name in self.names if name in {t.text for t in names_of(n)}]
        target = Token("NAME", f"#{len(self.scope.env)}", n.start, n.end)
        subscripts: list[Node] = [Token("NAME", name, n.start, n.end) for name in names]
        made = AllElements(self.scope, TensorAssign(target, subscripts, "=", n, None, [*self.clauses], n.start, n.end))
        return made.run(), made.first

    def difference(self, k: int) -> SideCondition:
        left, right = map(self.subscripted, self.r.parts[k:k + 2])
        atom, first = self.elements(Op("sub", [left, right], left.start, right.end))
        pair = Relation([left, right], [self.r.signs[k]])
        return condition(self.scope, pair, [atom, Lit(0.0)], [self.text(n, atom) for n in self.r.parts[k:k + 2]], first)

    def text(self, n: Node, atom: Atom) -> str:
        """A side as written, with {0}, {1}, … for the subscripts of an element."""
        source, places = self.context.source.text, {name: f"{{{d}}}" for d, name in enumerate(self.names)}
        subscripts = f"({', '.join(f'{{{d}}}' for d in range(len(shape_of(atom))))})"
        said, at = "", n.start
        for t in sorted(names_of(n), key=lambda t: t.start):
            end = t.end if t.start in self.whole else t.start
            new = subscripts if t.start in self.whole else places.get(t.text, t.text)
            said, at = said + source[at:end] + new, t.end
        said += source[at:n.end]
        return " ".join(said.split()) + (subscripts if shape_of(atom) and said == source[n.start:n.end] else "")

    def different(self, start: int, end: int) -> AdError:
        """Fault of tensors in the source between two places that are not of one shape."""
        shapes = ", ".join(dict.fromkeys(t.text + shape_text(self.whole[t.start]) for n in self.r.parts
                                         for t in self.whole_tensors(n) if start <= t.start < end))
        return AdError(f"tensors of different shapes, {shapes}", (start, end), "declare them with the same sizes",
                       self.context.source)
