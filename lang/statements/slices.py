"""Slices of tensors, `y(t)` of a matrix: what they are in a scope, and statements about them as statements about elements."""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain, count

from adcli.lang.expressions.scope import POISON, CallingScope, Context
from adcli.lang.ir.affine import Affine, affine
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.records import plain_record
from adcli.lang.operations.comprehension import MOST_DIMENSIONS, Agreement
from adcli.lang.sizes.histories import WrittenElements
from adcli.lang.statements.comprehension_body import Poisoned, dimensions, rewritten, shape_of, size_of
from adcli.lang.statements.matrix_statement import is_matrix_call
from adcli.lang.syntax.constants import NAMED_CONSTANTS
from adcli.lang.tree.nodes import (
    Call,
    Clause,
    Node,
    Parens,
    Statement,
    TensorAssign,
    Token,
    TupleAssign,
    bare,
    names_in,
    postorder,
)

Shape = tuple[Affine, ...]


@plain_record
class Slice:
    """A tensor with its first subscripts."""

    name: str
    subscripts: list[Node]

    def at(self, more: Iterable[Node], place: Node) -> Node:
        """The read of an element, or of a smaller slice."""
        nodes = [*self.subscripts, *more]
        return Call(self.name, nodes, place.start, place.end) if nodes else Token("NAME", self.name, place.start, place.end)


def words(*roots: Node) -> set[str]:
    """The names in expressions, those of what has subscripts or arguments among them."""
    found = [n for root in roots for n in postorder(root)]
    return {n.name if isinstance(n, Call) else n.text for n in found if isinstance(n, Call | Token)}


@plain_record
class Slices:
    """The slices in statements of one scope, or of a loop in it with this step; `done` are statements before them.

    `made` has the names that this assigns, with the number of their leading subscripts and the shape behind these. `assigned` are
    the names that the loop assigns, `shapes_in_loop` finds the shapes of those that its first statements assign.
    """

    scope: CallingScope
    steps: Sequence[str] = ()
    assigned: frozenset[str] = frozenset()
    shapes_in_loop: Callable[[list[Statement]], dict[str, Shape]] = lambda done: {}
    known: dict[str, Shape] = field(default_factory=dict)
    made: dict[str, tuple[int, Shape]] = field(default_factory=dict)
    done: list[Statement] = field(default_factory=list)
    clauses: Sequence[Clause] = ()
    index_names: set[str] = field(default_factory=set)   # of the statement
    reads: Sequence[Call] = ()   # of tensors, in the statement

    @property
    def context(self) -> Context:
        return self.scope.context

    def is_call(self, root: Node) -> bool:
        node = bare(root)
        return type(node) is Call and node.name in self.context.tensors and not shape_of(self.scope.env.get(node.name, POISON))

    def varies(self, node: Node) -> bool:
        """True if a value depends on an index, the step or a name that the loop assigns."""
        used = words(node)
        return bool(self.indices(node)) or not used.isdisjoint({*self.assigned, *self.made})

    def rest(self, node: Node, quiet: bool = False) -> Shape | None:
        """The extents behind the subscripts of a tensor; None for what is none, or is not known."""
        name = node.name if type(node) is Call else node.text if type(node) is Token and node.type == "NAME" else ""
        given = len(node.args) if type(node) is Call else 0
        atom = self.scope.env.get(name)
        if atom is POISON:
            raise Poisoned
        if name in self.made and given >= self.made[name][0]:
            lead, shape = self.made[name]
            return shape[given - lead:]
        if shape := shape_of(atom) if atom is not None else ():
            if given > len(shape) and not quiet:
                raise self.context.fault(f"'{name}' has {dimensions(len(shape))}, not {given}", node)
            return shape[given:]
        if name in self.assigned and not quiet:
            if name not in self.known:
                self.known |= self.shapes_in_loop(self.done)
            if name not in self.known:
                help = f"give it a value before the loop, {name}(0, ...) = ..., or in the loop above this line"
                raise self.context.fault(f"'{name}' is read before anything has written it", node, help)
        return self.known[name][given:] if name in self.known else None

    def shape_of_value(self, root: Node) -> Shape:
        """The shape of an expression that is taken element by element. AdError where its slices differ."""
        node = bare(root)
        own = self.rest(node) if isinstance(node, Token | Call) else None
        if own is not None or isinstance(node, Token | Parens):
            return own or ()
        shapes = [(shape, a) for a in node.args if (shape := self.shape_of_value(a))]
        for other, at in shapes[1:]:
            first = shapes[0][0]
            if len(other) != len(first):
                said = f"slices of {dimensions(len(first))} and of {dimensions(len(other))} in one expression"
                raise self.context.fault(said, at)
            for d, (left, right) in enumerate(zip(first, other, strict=True)):
                self.agree(left, right, f"dimension {d} of the slices in this expression has %d elements, and %d here", at)
        return shapes[0][0] if shapes else ()

    def agree(self, left: Affine, right: Affine, said: str, at: Node) -> None:
        if left.number is not None and right.number is not None and left != right:
            raise self.context.fault(said % (left.number, right.number), at)
        if left != right:
            self.scope.tensors.pending.append(Agreement(left, right, said, at.span))

    def filled(self, root: Node, more: Sequence[Node]) -> Node:
        """An expression of slices, of their elements."""
        def change(node: Node) -> Node | None:
            if not isinstance(node, Token | Call) or not self.rest(node):
                return node if type(node) is Call and self.rest(node) is not None else None
            name, own = (node.name, node.args) if type(node) is Call else (getattr(node, "text", ""), [])
            return Call(name, [*own, *more], node.start, node.end)
        return rewritten(root, change)

    def is_result(self, node: Token | Call) -> bool:
        """True if a node stands for a call that gives a tensor."""
        name = node.name if type(node) is Call else getattr(node, "text", "")
        return (name.startswith("#") or name in self.made) and bool(self.rest(node))

    def filled_statement(self, s: TensorAssign) -> TensorAssign:
        """A statement about slices, `y(t + 1) = y(t) + h * k(t)`, as one about their elements. The left side must have the shape
        already, or be one slice that another becomes."""
        nodes, value = s.subscripts or [], bare(s.value)
        if any(is_matrix_call(self.scope, n) for n in postorder(value)):
            return s
        known = self.rest(Call(s.target.text, nodes, s.target.start, s.target.end), quiet=True)
        begins = bool(nodes) and known is None and s.symbol == "=" and self.indices(*nodes) <= {*self.steps} \
            and (not self.steps or (isinstance(value, Token | Call) and bool(self.rest(value, quiet=True))))
        called = [n for n in postorder(value) if isinstance(n, Token | Call) and self.is_result(n)]
        unclear = bool(self.indices(*nodes) - {*self.steps}) and not all(map(self.varies, called))   # x(i)*f(y): f(y)(i), or all?
        follows = bool(nodes and called) and known is None and self.varies(value) and not unclear
        shape = self.shape_of_value(value) if known or begins or follows else ()
        if not shape and called:
            raise self.no_dimensions(s, called[0])
        if not shape:
            return s
        if known is not None:
            self.check_value(s, known, shape)
        self.made.setdefault(s.target.text, (len(nodes), shape))
        more = self.fresh_indices(len(shape), s.value)
        return replace(s, subscripts=[*nodes, *more], value=self.filled(s.value, more))

    def no_dimensions(self, s: TensorAssign, call: Token | Call) -> AdError:
        """Fault of a statement whose left side has no subscripts for a result that is a tensor."""
        from adcli.lang.suggest.suggestions import named_first  # only after a fault
        text, nodes = self.context.text, s.subscripts or []
        whole = len(self.rest(call) or ()) == len(nodes)
        said = named_first(self.context.tree, call, f"({', '.join(map(text, nodes))})") if whole else None
        return self.context.fault(f"'{text(call)}' is a tensor, and '{s.target.text}' has no dimensions"
                                  f"{f' after {len(nodes)}' if nodes else ''}", call,
                                  *(said or ("give it a name first, and write its elements", None)))

    def filled_parts(self, s: TupleAssign) -> TupleAssign:
        if len(s.values) != len(s.targets):
            return s
        own = [TensorAssign(t, nodes, "=", v, None, s.clauses, s.start, s.end)
               for t, nodes, v in zip(s.targets, s.subscripts, s.values, strict=True)]
        filled = [self.filled_statement(part) for part in own]
        return replace(s, subscripts=[part.subscripts for part in filled], values=[part.value for part in filled])

    def check_value(self, s: TensorAssign, known: Shape, shape: Shape) -> None:
        name, count = s.target.text, len(s.subscripts or ())
        if len(known) != len(shape):
            said = f"a value of {dimensions(len(shape))}, and '{name}' has {dimensions(len(known))} after {count}"
            raise self.context.fault(said, s.value)
        for d, (old, new) in enumerate(zip(known, shape, strict=True), count):
            self.agree(old, new, f"dimension {d} of '{name}' has %d elements, and this value %d", s.value)

    def indices(self, *nodes: Node) -> set[str]:
        """The indices and steps in subscripts and values."""
        return {n for n in names_in(*nodes) if n in self.steps or n in self.index_names}

    def find_indices(self, s: Statement) -> None:
        """Find the reads and the indices of a statement: names in subscripts and ranges that mean nothing else."""
        self.reads, self.index_names = (), set()
        if not isinstance(s, TensorAssign | TupleAssign):
            return
        values, left = ([s.value], s.subscripts or []) if isinstance(s, TensorAssign) else \
            (s.values, [n for nodes in s.subscripts for n in nodes or ()])
        roots = (*values, *(n for c in s.clauses for n in c.nodes))
        self.reads = [n for v in roots for n in postorder(v) if type(n) is Call and self.is_tensor(n.name)]
        ranges = [c.name.text for c in s.clauses if c.kind == "range" and c.name is not None]
        used = (*names_in(*left, *(a for n in self.reads for a in n.args)), *ranges)
        self.index_names = {n for n in used if not self.has_meaning(n)}

    def ranges_of(self, names: Collection[str], reads: Iterable[Node], at: Node) -> list[Clause]:
        """Clauses by which indices have the ranges that they have in reads of elements or slices."""
        found = []
        for n in reads:
            if type(n) is Call and not {*names}.isdisjoint(names_in(*n.args)):
                zeros = [Token("NUMBER", "0", at.start, at.end) for _ in self.rest(n) or ()]
                found.append(Clause("exists", None, [Call(n.name, [*n.args, *zeros], at.start, at.end)], at.start, at.end))
        return found

    def is_tensor(self, name: str) -> bool:
        return bool(shape_of(self.scope.env.get(name, POISON))) or name in self.made or name in self.assigned

    def has_meaning(self, name: str) -> bool:
        """True for the name of a value or a size."""
        scope = self.scope
        return name in scope.env or name in scope.tensors.headers or name in self.made or name in self.assigned \
            or name in NAMED_CONSTANTS or size_of(scope, name) is not None

    def free_name(self, name: str, used: Collection[str]) -> str:
        """A name for an index."""
        taken = {*used, *self.steps, *self.index_names}
        choices = chain((name, *"ijklmnpq"), (f"{name}{k}" for k in count(1)))
        return next(n for n in choices if n not in taken and not self.has_meaning(n))

    def prefix(self, indices: Iterable[str], place: Node) -> list[Node]:
        """The first subscripts of a name that depends on indices; in a loop its step is always one."""
        others = sorted({*indices} - {*self.steps})
        return [Token("NAME", n, place.start, place.end) for n in (*self.steps, *others)]

    def fresh_indices(self, count: int, root: Node) -> list[Node]:
        """Indices for the elements of a slice, which the expression does not have."""
        used = names_in(root)
        for _ in range(count):
            used.append(self.free_name("i", used))
        return [Token("NAME", n, root.start, root.end) for n in used[len(used) - count:]]

    def conditions(self, subscripts: Sequence[Node]) -> list[Clause]:
        """The ranges and conditions of the statement that calls, as far as they are about these subscripts."""
        own = {*names_in(*subscripts)}
        return [c for c in self.clauses if c.kind in ("range", "guard", "exists") and (c.name is None or c.name.text in own)
                and self.indices(*c.nodes) <= own]

    def histories(self, planned: Mapping[str, WrittenElements]) -> dict[str, WrittenElements]:
        """The elements written of the names made, whose shapes are known beforehand."""
        found = {}
        for name, (lead, shape) in self.made.items():
            if name not in self.scope.env:
                found[name] = planned.get(name) or self.scope.tensors.histories.get(name) or WrittenElements(MOST_DIMENSIONS)
                for d, extent in enumerate(shape, lead):
                    found[name] = found[name].also(d, (affine(0), extent))
        return found
