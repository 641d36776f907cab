"""Calls of functions of tensors that depend on indices or on the step of a loop, unfolded into statements.

`k(t) = f(y(t), p)` becomes the statements of `f`: a parameter is the slice that is given for it, so a read `x(i)` of it reads
`y(t, i)`; the result is the slice on the left, and every other name gets a fresh one with the indices that it depends on as its
first subscripts. An argument that is an expression is computed first, element by element. A call that depends on neither index
nor step is made once, as any call is. Shapes are those of a dry run of the function with arguments of the shapes given.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adcli.lang.ir import Atom, Var
from adcli.lang.lower.function_body import FunctionBody
from adcli.lang.operations.matrix import FORMS, SOLVES
from adcli.lang.statements.comprehension_body import dimensions, is_integer, rewritten
from adcli.lang.statements.matrix_statement import is_matrix_call
from adcli.lang.statements.slices import Shape, Slice, Slices
from adcli.lang.tree.nodes import (
    Call,
    Node,
    Op,
    Parens,
    Statement,
    TensorAssign,
    Token,
    TupleAssign,
    Typed,
    bare,
    names_in,
    names_of,
    postorder,
)


class UnfoldedCalls(Slices):
    """The calls in statements of one scope, or of a loop in it with this step, unfolded into `done`."""

    def add(self, s: Statement) -> None:
        """A statement after those that its calls are."""
        outer, outer_names, outer_reads = self.clauses, self.index_names, self.reads
        self.find_indices(s)
        s = self.within_reads(self.without_lets(s))
        self.clauses = s.clauses if isinstance(s, TensorAssign | TupleAssign) else ()
        if isinstance(s, TensorAssign) and s.symbol == "=" and self.is_call(s.value) and s.subscripts is not None:
            self.assign([s.target], [s.subscripts], bare(s.value), s)
        elif isinstance(s, TupleAssign) and len(s.values) == 1 and self.is_call(s.values[0]):
            self.assign(s.targets, s.subscripts, bare(s.values[0]), s)
        elif isinstance(s, TensorAssign):
            self.done.append(self.filled_statement(replace(s, value=self.hoisted(s.value))))
        elif isinstance(s, TupleAssign):
            self.done.append(self.filled_parts(replace(s, values=[self.hoisted(v) for v in s.values])))
        else:
            self.done.append(s)
        self.clauses, self.index_names, self.reads = outer, outer_names, outer_reads

    def within_reads(self, s: Statement) -> Statement:
        """A statement with calls, for the indices for which its slices are there: a call of 0 need not give 0."""
        values = [s.value] if isinstance(s, TensorAssign) else s.values if isinstance(s, TupleAssign) else []
        nodes = [n for v in values for n in postorder(v)]
        if not any(map(self.is_call, nodes)) or any(type(n) is Op and n.name == "select" for n in nodes):
            return s
        shifted = [n for n in self.reads if any(type(bare(a)) is Op for a in n.args)
                   and all(is_affine(i) for a in n.args for i in postorder(a)) and {*names_in(*n.args)}.isdisjoint(self.steps)]
        found = self.ranges_of(self.index_names, shifted, nodes[0])
        return replace(s, clauses=[*s.clauses, *found]) if isinstance(s, TensorAssign | TupleAssign) and found else s

    def without_lets(self, s: Statement) -> Statement:
        """A statement with calls, with the values in the place of names that `where` gives."""
        if not isinstance(s, TensorAssign) or not any(map(self.is_call, postorder(s.value))):
            return s
        value = s.value
        for c in reversed([c for c in s.clauses if c.kind == "let" and c.name is not None and c.name.text != s.target.text]):
            value = rewritten(value, lambda n, let=c: let.nodes[0] if type(n) is Token and n.text == let.name.text else None)  # type: ignore[misc]
        return replace(s, value=value)

    def hoisted(self, root: Node) -> Node:
        """An expression with what stands for its calls, the innermost of which come first."""
        if not any(map(self.is_call, postorder(root))):
            return root
        return rewritten(root, lambda n: None, lambda n: self.value_of(n) if self.is_call(n) else n)

    def condition(self, root: Node) -> Node:
        """The condition on which a loop ends, with what stands for its calls. AdError where one of them gives a tensor."""
        value = self.hoisted(root)
        for n in postorder(value):
            if isinstance(n, Token | Call) and self.is_result(n):
                text = self.context.text(n)
                raise self.context.fault(f"'{text}' is a tensor, and a loop ends by a condition on scalars", n,
                                         f"write a number of it, for example norm({text})")
        return value

    def value_of(self, node: Node) -> Node:
        """Replacement of a call by its value: a name, an element or a slice."""
        assert type(node) is Call
        if not self.varies(node):
            return self.scope.called(node)
        return self.unfolded(node, [None])[0].at((), node)

    def assign(self, targets: Sequence[Token], subscripts: Sequence[list[Node] | None], node: Node, s: Statement) -> None:
        """Assign the results of a call to slices: they are written there in a loop, and copied there else."""
        assert type(node) is Call and isinstance(s, TensorAssign | TupleAssign)
        args = Call(node.name, [self.hoisted(a) for a in node.args], node.start, node.end)
        wanted = [Slice(t.text, nodes or []) if t.text != "_" else None for t, nodes in zip(targets, subscripts, strict=True)]
        self.check_indices(targets, wanted, args)
        plain = not any(c.kind in ("shape", "let") for c in s.clauses)
        direct = [to if to is not None and plain and type(t) is not Typed and self.may_be_written(to, node) else None
                  for t, to in zip(targets, wanted, strict=True)]
        known = [None if to is None else self.rest(to.at((), node), quiet=True) for to in wanted]
        results = self.unfolded(args, direct)
        for token, to, own, before, found in zip(targets, wanted, direct, known, results, strict=True):
            if to is not None:
                shape = self.rest(found.at((), node)) or ()
                self.check_shape(to, before, shape, node)
                self.made.setdefault(to.name, (len(to.subscripts), shape))
                if own is None:
                    more = self.fresh_indices(len(shape), node)
                    left, right = [*to.subscripts, *more], found.at(more, node)
                    self.done.append(TensorAssign(token, left or None, "=", right, None, list(s.clauses), s.start, s.end))

    def may_be_written(self, to: Slice, node: Call) -> bool:
        """True if a function may write its result, and read it, where it is wanted: in a loop, or in a tensor that is new."""
        new = bool(self.steps) or (to.name not in self.scope.env and to.name not in self.scope.tensors.histories)
        return new and self.indices(node) <= {*names_in(*to.subscripts)}

    def check_indices(self, targets: Sequence[Token], wanted: Sequence[Slice | None], node: Call) -> None:
        """The subscripts on the left are those of the call; the elements of its result follow them."""
        own, context = self.indices(node), self.context
        for to in wanted:
            extra = self.indices(*to.subscripts) - own - {*self.steps} if to is not None else None
            if to is not None and extra:
                indices = ", ".join([*self.steps, *sorted(own - {*self.steps})])
                lefts = [t.text + (f"({indices})" if indices and t.text != "_" else "") for t in targets]
                left = f"({', '.join(lefts)})" if lefts[1:] else lefts[0]
                at = next(n for n in to.subscripts if extra & {*names_in(n)})
                said = f"index '{min(extra)}' is not in the call of '{node.name}', whose result has indices of its own"
                raise context.fault(said, at, f"write {left} = {context.text(node)} for all elements")

    def check_shape(self, to: Slice, known: Shape | None, shape: Shape, node: Call) -> None:
        """The slice on the left, where that has a shape already, has that of the result."""
        if known is not None and len(known) != len(shape):
            raise self.context.fault(f"'{node.name}' gives {dimensions(len(shape))}, and '{to.name}' has "
                                     f"{dimensions(len(known))} after {len(to.subscripts)}", node)
        for d, (old, new) in enumerate(zip(known or shape, shape, strict=True)):
            self.agree(old, new, f"dimension {d + len(to.subscripts)} of '{to.name}' has %d elements, and '{node.name}' gives %d",
                       node)

    def unfolded(self, node: Call, targets: Sequence[Slice | None]) -> list[Slice]:
        """The results of a call, each in the slice that is wanted for it."""
        scope, count = self.scope, len(node.args)
        choices = [d for d in self.context.choices.get(node.name, ()) if len(d.params) == count]
        known = choices[0] if choices else self.context.tensors[node.name]
        if len(known.params) != len(node.args):
            scope.called_definition(node, [])
        pairs = [self.argument(p, a) for p, a in zip(known.params, node.args, strict=True)]
        definition = scope.called_definition(node, [atom for _, atom in pairs])
        scope.check_results(node, len(definition.results), len(targets))
        found = scope.call_shapes(definition, node, [atom for _, atom in pairs])
        scope.tensors.pending += found.agreements
        given = {p.text: value for p, (value, _) in zip(definition.params, pairs, strict=True)}
        wanted = {t.text: to for t, to in zip(definition.results, targets, strict=True) if to is not None}
        body = FunctionBody(self, self.add, definition, found, given, wanted)
        body.unfold()
        return [body.slices[t.text] for t in definition.results]

    def argument(self, param: Token, root: Node) -> tuple[Slice | Node, Atom]:
        """The argument that a parameter stands for, and a value of its shape for the dry run."""
        scope = self.scope
        scope.check_calls(root, self.has_meaning)
        node = bare(rewritten(root, lambda n: None, self.operation))
        for token in names_of(node):   # an input that is read here first
            if not self.has_meaning(token.text) and not self.indices(token):
                scope.leaf(token)
        name = node.name if type(node) is Call else getattr(node, "text", "")
        atom = scope.env.get(name)
        whole = isinstance(atom, Var) and (atom.integer or atom.whole)
        if is_integer(param) and not (isinstance(atom, Var) and atom.shape):
            if type(node) is Token and node.type == "NUMBER":
                return node, scope.leaf(node)
            return Parens(node, node.start, node.end), atom if whole and atom is not None else Var(f"#{name}", True, integer=True)
        if isinstance(node, Token | Call) and (shape := self.rest(node)) is not None:
            value = Slice(name, node.args if type(node) is Call else [])
            return (value if shape else node), Var(None, True, False, shape, whole, False)
        shape = self.shape_of_value(node)
        if not isinstance(node, Token):
            node = self.computed(param, node, shape)
        return (Slice(node.name, node.args) if shape and type(node) is Call else node), Var(None, True, False, shape)

    def operation(self, node: Node) -> Node:
        """Replacement of an operation on matrices in an argument by a name for its value."""
        if type(node) is not Call or not is_matrix_call(self.scope, node):
            return node
        shapes = [self.shape_of_value(a) for a in node.args]
        made = Slice(self.context.local_name(node.name), self.prefix(self.indices(node), node))
        given, result = FORMS[node.name]
        extents = dict(zip(given, shapes[0] if shapes else (), strict=False))
        shape = shapes[-1] if node.name in SOLVES else tuple([extents[n] for n in result if n in extents])
        self.made[made.name] = len(made.subscripts), shape
        return self.assigned_to(made, (), node)

    def computed(self, param: Token, node: Node, shape: Shape) -> Node:
        """An argument under a name of its own."""
        made = Slice(self.context.local_name(param.text), self.prefix(self.indices(node), node))
        self.made[made.name] = len(made.subscripts), shape
        more = self.fresh_indices(len(shape), node)
        return self.assigned_to(made, more, self.filled(node, more))

    def assigned_to(self, made: Slice, more: Sequence[Node], value: Node) -> Node:
        """The slice that a statement assigns a value to."""
        target = Token("NAME", made.name, value.start, value.end)
        left, clauses = [*made.subscripts, *more] or None, self.conditions(made.subscripts)
        read = {n for c in postorder(value) if type(c) is Call and self.is_tensor(c.name) for n in names_in(*c.args)} | {
            c.name.text for c in clauses if c.name is not None}
        clauses += self.ranges_of(self.indices(*made.subscripts) - read - {*self.steps}, self.reads, value)
        self.done.append(TensorAssign(target, left, "=", value, None, clauses, value.start, value.end))
        return made.at((), value)


def is_affine(node: Node) -> bool:
    """Test a part of a subscript for what sums of indices with factors are made of."""
    return type(node) is not Call and (type(node) is not Op or node.name in ("add", "sub", "mul", "neg", "pos"))
