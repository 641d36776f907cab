"""Statements of operations on matrices: x = solve(A, b), X(t) = solve(S(t), B(t)), and such calls inside of expressions.

An operand is a tensor with as many leading subscripts as there are dimensions before its matrix. Where nothing has
subscripts, leading dimensions are taken together, point by point. A call that stands inside of an operand or of an expression
becomes a statement of its own, with the indices that it reads for subscripts.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from adcli.lang.ir import Atom, Equation, Var
from adcli.lang.ir.affine import Affine, Index, affine
from adcli.lang.ir.comprehension import Agreement, Comprehension, Range, Read, Subscript, all_fixed, identity_body
from adcli.lang.ir.elementwise import compact
from adcli.lang.ir.errors import AdError, Fix
from adcli.lang.ir.matrix import SOLVES, Boxed, MatrixOperation, compacted, reaches
from adcli.lang.ir.notation import MATRIX_CALLS
from adcli.lang.lower.comprehension import TensorStatement
from adcli.lang.lower.comprehension_body import Elements, Poisoned, Tensors, dimensions, require_dimensions, rewritten, shape_of
from adcli.lang.lower.index_conditions import limits
from adcli.lang.lower.scope import POISON, EquationScope
from adcli.lang.sizes.histories import Gappy, written_box
from adcli.lang.sizes.ranges import Access, Domain, Given, infer, outside
from adcli.lang.syntax.tree import Call, Clause, Node, TensorAssign, Token, bare, postorder

Lift = Callable[[Node], Node]
"""What stands for a call of a function of tensors inside of an operand."""
BATCH_INDICES = "tsruvw"


def is_matrix_call(scope: EquationScope, node: Node) -> bool:
    """Whether a node calls an operation on matrices; a function or a tensor of the program hides the one of its name."""
    if type(node) is not Call or node.name not in MATRIX_CALLS or shape_of(scope.env.get(node.name, POISON)):
        return False
    c = scope.context
    return not any(node.name in known for known in (c.functions, c.tensors, c.below, c.broken))


def lifted(scope: EquationScope, tensors: Tensors, statement: TensorAssign, called: Lift) -> TensorAssign:
    """The statement with the operations on matrices in its expressions as statements before it."""
    nodes = [statement.value, *[n for c in statement.clauses for n in c.nodes]]
    if not any(is_matrix_call(scope, n) for root in nodes for n in postorder(root)):
        return statement

    def change(node: Node) -> Node | None:
        return lifted_call(scope, tensors, node, statement.clauses, called, number=True) if is_matrix_call(scope, node) else None
    clauses = [Clause(c.kind, c.name, [rewritten(n, change) for n in c.nodes], c.start, c.end) for c in statement.clauses]
    s = statement
    return TensorAssign(s.target, s.subscripts, s.symbol, rewritten(s.value, change), s.same, clauses, s.start, s.end)


def lifted_call(scope: EquationScope, tensors: Tensors, node: Node, clauses: Sequence[Clause], called: Lift,
                number: bool = False) -> Node:
    """A call as a statement of its own, before the one that it stands in; what stands for it there. With `number` it must give
    a number at every point."""
    assert type(node) is Call
    key = f"#{len(scope.env)}"
    names = list(dict.fromkeys(indices_in(scope, tensors, node)))
    subscripts: list[Node] = [Token("NAME", n, node.start, node.end) for n in names]
    own = [c for c in clauses if c.kind == "range" and c.name is not None and c.name.text in names
           and all(n in tensors.sizes or n not in names for n in used_names(c))]
    target = Token("NAME", key, node.start, node.end)
    statement = TensorAssign(target, subscripts or None, "=", node, None, own, node.start, node.end)
    atom = MatrixStatement(scope, tensors, statement, called).run()
    if number and len(shape_of(atom)) > len(names):
        rest = dimensions(len(shape_of(atom)) - len(names))
        raise scope.context.fault(f"'{node.name}' gives a tensor here, with {rest}", node,
                                  f"give it a name first, X({', '.join(names)}) = {scope.context.text(node)}, "
                                  "and write its elements" if names else
                                  f"give it a name first, X = {scope.context.text(node)}, and write its elements")
    scope.env[key] = atom
    return Call(key, list(subscripts), node.start, node.end) if names else target


def lifted_in_loop(scope: EquationScope, tensors: Tensors, step: Token, s: TensorAssign, fresh: Callable[[str], str]
                   ) -> list[TensorAssign]:
    """A statement of a loop behind those for the numbers that operations on matrices give inside of its expression, each with the
    step and the indices that it reads for subscripts."""
    before: list[TensorAssign] = []
    alone = bare(s.value) if s.symbol == "=" else None

    def change(node: Node) -> Node | None:
        if type(node) is not Call or node is alone or node.name != "logdet" or not is_matrix_call(scope, node):
            return None
        names = dict.fromkeys(t.text for c in postorder(node) if type(c) is Call for a in c.args for t in postorder(a)
                              if type(t) is Token and t.type == "NAME" and t.text not in scope.env and type(bare(a)) is not Call)
        known = {*tensors.sizes, *tensors.headers, *tensors.histories, step.text}
        words = [step.text, *(n for n in names if n not in known)]
        subscripts: list[Node] = [Token("NAME", n, node.start, node.end) for n in words]
        own = [c for c in s.clauses if c.kind == "range" and c.name is not None and c.name.text in words]
        target = Token("NAME", fresh(node.name), node.start, node.end)
        before.append(TensorAssign(target, subscripts, "=", node, None, own, node.start, node.end))
        return Call(target.text, list(subscripts), node.start, node.end)
    value = rewritten(s.value, change)
    if not before:
        return [s]
    return [*before, TensorAssign(s.target, s.subscripts, s.symbol, value, s.same, s.clauses, s.start, s.end)]


def indices_in(scope: EquationScope, tensors: Tensors, node: Call) -> Iterator[str]:
    """The names in the subscripts of operands that are neither sizes nor values."""
    for n in postorder(node):
        if type(n) is Call and shape_of(scope.env.get(n.name, POISON)):
            for inner in (x for a in n.args for x in postorder(a)):
                name = inner.text if type(inner) is Token and inner.type == "NAME" else None
                if name and name not in scope.env and name not in tensors.sizes:
                    yield name


def mentions(node: Node, name: str) -> bool:
    return any(type(t) is Token and t.text == name for t in postorder(node))


def used_names(clause: Clause) -> set[str]:
    return {t.text for n in clause.nodes for t in postorder(n) if type(t) is Token and t.type == "NAME"}


@dataclass(slots=True, eq=False, repr=False)
class MatrixOperand:
    """A tensor with its leading subscripts, and the extents of the dimensions behind them."""

    node: Node
    atom: Var
    read: Read
    rest: tuple[Affine, ...]
    transposed: bool = False


class MatrixStatement(TensorStatement):
    """One statement whose whole value is a call of an operation on matrices; `called` is for calls inside of operands."""

    def __init__(self, scope: EquationScope, tensors: Tensors, statement: TensorAssign, called: Lift) -> None:
        self.scope, self.tensors, self.s, self.context, self.called = scope, tensors, statement, scope.context, called
        self.name, self.passed_over, self.computed, self.tests = statement.target.text, set[str](), {}, ()
        value = bare(statement.value)
        assert type(value) is Call
        self.call, self.nodes = value, list(statement.subscripts or ())
        self.before = scope.env.get(self.name) if self.nodes else None
        if self.before is POISON:
            raise Poisoned
        self.declared = self.declared_shape()
        self.agreements: list[Agreement] = []

    # The statement.

    def run(self) -> Atom:
        """Emit the statement; the value that the target has then."""
        op, args = self.made()
        part = isinstance(self.before, Var) and not reaches(op, op.write, op.shape)
        if part and isinstance(op, Comprehension):
            assert self.before is not None
            op, args, part = replace(op, onto=len(args)), (*args, self.before), False
        out = Var(self.target_name(), part or self.is_temp(), False, op.shape)
        self.remember(op, out)
        self.scope.equations.append(Equation((out,), op, args, (self.s.start, self.s.end)))
        return self.beside(out, op, args) if part and isinstance(op, MatrixOperation) else out

    def made(self) -> tuple[Boxed, tuple[Atom, ...]]:
        """The operation with its arguments."""
        self.check_form()
        b = self.elements()
        write = tuple([b.subscript(n, f"dimension {d} of '{self.name}'")[1] for d, n in enumerate(self.nodes)])
        operands = [self.operand(b, node) for node in self.call.args]
        ranges, guards, write = self.box(b, write, operands)
        rest = self.given_shape(operands)
        shape = self.whole_shape(write, rest, ranges)
        require_dimensions(self.context, len(shape), self.s.target)
        agreements = (*self.tensors.pending, *self.agreements)
        self.tensors.pending.clear()
        sources = tuple([o.read for o in operands])
        if self.call.name == "transpose":
            return rearranged(write, shape, sources[0], ranges, guards, agreements), tuple(b.args)
        op = MatrixOperation(name=self.call.name, ranges=ranges, guards=guards, write=write, shape=shape, sources=sources,
                             transposed=operands[0].transposed, agreements=agreements)
        return compacted(op, tuple(b.args))

    def remember(self, op: Boxed, out: Var) -> None:
        """Which elements of a tensor that a loop below goes on with are written."""
        history, box = self.tensors.histories.get(self.name), written_box(op)
        if history is not None and box is not None and history.place < len(op.write):
            before = self.tensors.written.get(self.before) if self.before is not None else Gappy(history.place)
            if before is not None:
                self.tensors.written[out] = before.also(box)

    def check_form(self) -> None:
        name, args = self.call.name, MATRIX_CALLS[self.call.name][0].count(",") + 1
        if len(self.call.args) != args:
            form = f"{name}({MATRIX_CALLS[name][0]})"
            raise self.context.fault(f"'{name}' takes {args} argument{'s' * (args > 1)}, not {len(self.call.args)}", self.call,
                                     f"it is {form}: {MATRIX_CALLS[name][1]}")
        if self.s.symbol != "=":
            indices = ", ".join(dict.fromkeys(indices_in(self.scope, self.tensors, self.call)))
            first = f"({indices})" if indices else ""
            raise self.context.fault(f"'{name}' is assigned with '=', not '{self.s.symbol}'", self.s.target,
                                     f"give it a name first, Y{first} = {self.context.text(self.call)}, and add its elements")
        for c in self.s.clauses:
            if c.kind not in ("range", "guard", "shape"):
                raise self.context.fault(f"where of '{name}' has ranges, conditions and a shape, nothing else", self.s.target)

    def target_name(self) -> str | None:
        return None if self.name.startswith("#") else self.name

    def is_temp(self) -> bool:
        return self.name.startswith("#") or self.tensors.inlined

    # MatrixOperands.

    def operand(self, b: Elements, root: Node, matrix: bool = True) -> MatrixOperand:
        node, turned = bare(root), False
        while is_matrix_call(self.scope, node) and type(node) is Call and node.name == "transpose" and len(node.args) == 1 \
                and self.call.name in SOLVES and root is self.call.args[0]:
            node, turned = bare(node.args[0]), not turned
        if is_matrix_call(self.scope, node):
            node = self.lifted(node)
        elif type(node) is Call and node.name in self.context.tensors and not shape_of(self.scope.env.get(node.name, POISON)):
            node = self.called(node)
        atom, name = self.tensor(node)
        nodes = node.args if type(node) is Call else []
        if len(nodes) > len(atom.shape):
            raise self.context.fault(f"'{name}' has {dimensions(len(atom.shape))}, not {len(nodes)}", node)
        _, subscripts = b.subscripts(name, nodes, atom.shape[:len(nodes)], node)
        self.scope.read(Token("NAME", name, node.start, node.start + len(name)))
        return MatrixOperand(root, atom, Read(b.argument(atom), subscripts), atom.shape[len(nodes):], turned)

    def lifted(self, node: Node) -> Node:
        """What stands for a call of an operation on matrices inside of an operand."""
        return lifted_call(self.scope, self.tensors, node, self.s.clauses, self.called)

    def tensor(self, node: Node) -> tuple[Var, str]:
        """The tensor that an operand names."""
        name = node.name if type(node) is Call else node.text if type(node) is Token and node.type == "NAME" else None
        atom = self.scope.env.get(name) if name is not None else None
        if atom is POISON or (type(node) is Call and name in self.context.broken):
            raise Poisoned
        if isinstance(atom, Var) and atom.shape and not atom.integer:
            assert name is not None
            return atom, name
        if isinstance(atom, Var) and atom.integer:
            raise self.context.fault(f"'{name}' is of integers, and '{self.call.name}' takes real numbers", node)
        if type(node) is Token and node.type == "NAME" and atom is None:
            raise self.context.fault(f"'{name}' is not a tensor, and '{self.call.name}' takes tensors", node,
                                     f"declare it: input {name}({'N' if node is not bare(self.call.args[0]) else 'N, N'})")
        form = "ijk"[:2 if node is bare(self.call.args[0]) else 1]
        raise self.context.fault(f"'{self.call.name}' takes tensors by name, and this is "
                                 f"{'a number' if atom is not None or type(node) is Token else 'an expression'}", node,
                                 f"give the elements a name first: C({', '.join(form)}) = ...")

    # The box of the leading indices.

    def box(self, b: Elements, write: tuple[Subscript, ...],
            operands: list[MatrixOperand]) -> tuple[tuple[Range, ...], tuple[Affine, ...], tuple[Subscript, ...]]:
        """Ranges and guards, and the leading subscripts of the result: those written, or one for each dimension that all operands
        have before their matrix."""
        matrix = operands[0]
        if not self.nodes and not b.indices and len(matrix.rest) > 2:
            return self.whole_batch(operands)
        self.check_ranks(operands)
        given = [*self.ranges_around(b), *[g for c in self.s.clauses if c.kind == "range" for g in self.given(b, c)]]
        arm, *others = self.stated_arms()
        if others:
            raise self.context.fault(f"the conditions of this '{self.call.name}' leave several pieces", self.s.target,
                                     "write a statement for each, with a range")
        guards = limits(b.affine, arm.tests)
        self.check_indices(b, write, operands, given)
        self.check_own_reads(b, write, given, guards)
        known = self.declared if self.declared is not None else shape_of(self.before) if self.before is not None else None
        writes = [] if known is None or len(known) < len(write) else [self.lead_access(write, known)]
        domain = infer(list(b.indices.values()), b.accesses, given, writes, self.context.source, write)
        domain = replace(domain, guards=(*domain.guards, *guards))
        for access in b.accesses:
            if fault := outside(access, domain, self.context.source):
                raise fault
        self.check_elements([self.all_of(a) for a in b.accesses], domain)
        subscripts = [w for w in write if isinstance(w, Affine)]
        if len(subscripts) == len(write) and not all_fixed(domain.ranges, subscripts):
            raise self.context.fault(f"two points write the same elements of '{self.name}'", self.s.target)
        self.agreements += domain.agreements
        return domain.ranges, domain.guards, write

    def check_indices(self, b: Elements, write: tuple[Subscript, ...], operands: list[MatrixOperand], given: list[Given]) -> None:
        """Every index is on the left, and is read or has a range."""
        read = {i for a in b.accesses for x in a.subscripts if x is not None for i in x.indices()}
        left = {i for w in write if isinstance(w, Affine) for i in w.indices()}
        call = self.context.text(self.call)
        for name, index in b.indices.items():
            if index not in left and all(isinstance(w, Affine) for w in write):
                at = next((o.node for o in operands if mentions(o.node, name)), self.call)
                shown = "X" if self.name.startswith("#") else self.name
                raise self.context.fault(f"index '{name}' on the right is not on the left of '='", at,
                                         f"write {shown}({', '.join(b.indices)}) = {call}")
            if index not in read and index not in {g.index for g in given}:
                node = next(n for n in self.nodes if mentions(n, name))
                kept = [self.context.text(n) for n in self.nodes if n is not node]
                target = self.name + (f"({', '.join(kept)})" if kept else "")
                single = len(self.nodes) == 1 and self.s.target.end <= node.start
                fix = Fix(self.s.target.end, self.call.start, " = ") if single and not kept else None
                raise self.context.fault(f"'{self.call.name}' reads nothing with index '{name}': subscripts select leading "
                                         "dimensions, those of the matrix are left out", node, f"write {target} = {call}", fix)

    def whole_batch(self, operands: list[MatrixOperand]) -> tuple[tuple[Range, ...], tuple[Affine, ...], tuple[Subscript, ...]]:
        lead = operands[0].rest[:-2]
        for o in operands:
            own = len(o.rest) - len(lead)
            if o.read.subscripts or own < 1 or (own > 2 or (own == 1 and o is operands[0])):
                raise self.rank_fault(o, len(lead))
        indices = [Index(BATCH_INDICES[d] if d < len(BATCH_INDICES) else f"t{d}") for d in range(len(lead))]
        here = tuple(map(affine, indices))
        for o in operands[1:]:
            for d, (x, y) in enumerate(zip(lead, o.rest, strict=False)):
                said = f"dimension {d} of {self.shown(operands[0])} has %d elements, and of {self.shown(o)} %d"
                self.agree(x, y, said, o.node)
        for o in operands:
            o.read, o.rest = Read(o.read.arg, here), o.rest[len(lead):]
        return tuple([Range(i, affine(0), n) for i, n in zip(indices, lead, strict=True)]), (), here

    def check_ranks(self, operands: list[MatrixOperand]) -> None:
        for o in operands:
            if len(o.rest) not in ((2,) if o is operands[0] else (1, 2)):
                raise self.rank_fault(o, 0)

    def rank_fault(self, o: MatrixOperand, lead: int) -> AdError:
        wanted = "a matrix" if o.node is self.call.args[0] else "a vector or a matrix"
        what, count = self.context.text(bare(o.node)), len(o.rest)
        said = f"'{self.call.name}' takes {wanted} here, and {what} has {dimensions(count)}"
        if lead:
            said = f"'{self.call.name}' takes {wanted} for each of {dimensions(lead)} before the matrix, and {what} has " \
                   f"{dimensions(count)}"
        wanted_rest = 2 if o.node is self.call.args[0] else 1
        help = None
        if count < wanted_rest and self.call.name in SOLVES:
            help = f"the matrix comes first: {self.call.name}({', '.join(map(self.context.text, reversed(self.call.args)))})"
        if count > wanted_rest:
            help = f"select with leading subscripts: X(t) = {self.call.name}({what}(t), ...)"
        return self.context.fault(said, o.node, help)

    # Shapes.

    def shown(self, o: MatrixOperand) -> str:
        text = self.context.text(bare(o.node))
        return "the matrix" if text == "..." else text

    def agree(self, left: Affine, right: Affine, message: str, at: Node) -> None:
        if left == right:
            return
        if left.number is not None and right.number is not None:
            raise self.context.fault(message % (left.number, right.number), at)
        self.agreements.append(Agreement(left, right, message, (at.start, at.end)))

    def given_shape(self, operands: list[MatrixOperand]) -> tuple[Affine, ...]:
        """What one point gives; the extents of the operands agree."""
        matrix, name = operands[0], self.call.name
        rows, columns = matrix.rest
        if name == "transpose":
            return columns, rows
        said = f"'{name}' takes a square matrix, and {self.shown(matrix)} is %d by %d"
        self.agree(rows, columns, said, matrix.node)
        if name in SOLVES:
            right = operands[1]
            said = f"{self.shown(matrix)} and {self.shown(right)} have different numbers of rows: %d and %d"
            self.agree(rows, right.rest[0], said, right.node)
            return (rows, *right.rest[1:])
        return () if name == "logdet" else (rows, rows)

    def whole_shape(self, write: tuple[Subscript, ...], rest: tuple[Affine, ...],
                    ranges: tuple[Range, ...]) -> tuple[Affine, ...]:
        """The shape of the result: the leading extents are declared, those of the value before, or what the subscripts reach."""
        before = shape_of(self.before) if isinstance(self.before, Var) else ()
        known = self.declared if self.declared is not None else before or None
        if known is not None:
            if len(known) != len(write) + len(rest):
                raise self.context.fault(f"'{self.name}' has {dimensions(len(known))}, and this gives it "
                                         f"{dimensions(len(write) + len(rest))}", self.s.target)
            for d, (old, new) in enumerate(zip(known[len(write):], rest, strict=True), len(write)):
                self.agree(new, old, f"dimension {d} of '{self.name}' has %d elements here, and had %d before", self.s.target)
            fault = outside(self.lead_access(write, known), Domain(ranges, (), ()), self.context.source, "written")
            if fault:
                raise fault
            return known
        if any(not isinstance(w, Affine) for w in write):
            raise self.context.fault(f"the shape of '{self.name}' is not known: its subscripts are read from a tensor",
                                     self.s.target, f"declare its shape: where float(N, M) {self.name}")
        domain = Domain(ranges, (), ())
        lead = self.extents(write, domain)
        fault = outside(self.lead_access(write, lead), domain, self.context.source, "written")
        if fault:
            raise fault
        return (*lead, *rest)

    def lead_access(self, write: tuple[Subscript, ...], known: tuple[Affine, ...]) -> Access:
        spans = tuple([(n.start, n.end) for n in self.nodes])
        return Access(self.name, known[:len(write)], tuple([w if isinstance(w, Affine) else None for w in write]), spans)

    # What is not the operation itself.

    def all_of(self, a: Access) -> Access:
        """An access with all that stands behind its leading subscripts."""
        shape = shape_of(self.scope.env.get(a.tensor, POISON))
        rest = (None,) * (len(shape) - len(a.subscripts))
        return Access(a.tensor, shape, (*a.subscripts, *rest), (*a.spans, *rest))

    def beside(self, fresh: Var, made: MatrixOperation, args: tuple[Atom, ...]) -> Atom:
        """What the target had before, with what the operation gave at the points of its box."""
        assert isinstance(self.before, Var)
        own = [Index("ij"[d]) for d in range(len(fresh.shape) - len(made.write))]
        here = (*made.write, *map(affine, own))
        ranges = [Range(i, affine(0), n) for i, n in zip(own, fresh.shape[len(made.write):], strict=True)]
        op, args = compact(Comprehension(ranges=(*made.ranges, *ranges), guards=made.guards, write=here, shape=fresh.shape,
                                         reduction="=", sources=(Read(len(args), here),), body=identity_body(),
                                         onto=len(args) + 1), (*args, fresh, self.before))
        out = Var(self.target_name(), self.is_temp(), False, fresh.shape)
        self.scope.equations.append(Equation((out,), op, args, (self.s.start, self.s.end)))
        return out


def rearranged(write: tuple[Subscript, ...], shape: tuple[Affine, ...], read: Read, ranges: tuple[Range, ...],
               guards: tuple[Affine, ...], agreements: tuple[Agreement, ...]) -> Comprehension:
    """transpose(A) is a comprehension: T(i, j) = A(j, i)."""
    i, j = Index("i"), Index("j")
    own = tuple([Range(x, affine(0), n) for x, n in zip((i, j), shape[len(write):], strict=True)])
    here, source = (*write, affine(i), affine(j)), Read(read.arg, (*read.subscripts, affine(j), affine(i)))
    return Comprehension(ranges=(*ranges, *own), guards=guards, write=here, shape=shape, reduction="=", sources=(source,),
                         body=identity_body(), agreements=agreements)
