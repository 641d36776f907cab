"""Statements of operations on matrices: x = solve(A, b), X(t) = solve(S(t), B(t)), and such calls inside of expressions.

An operand is a tensor with as many leading subscripts as there are dimensions before its matrix. Where nothing has
subscripts, leading dimensions are taken together, point by point. A call that stands inside of an operand or of an expression
becomes a statement of its own, with the indices that it reads for subscripts.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from adcli.lang.expressions.scope import POISON, EquationScope
from adcli.lang.ir import Atom, Var
from adcli.lang.ir.affine import Affine, Index, affine
from adcli.lang.ir.errors import AdError, Fix
from adcli.lang.ir.records import plain_record
from adcli.lang.operations.comprehension import Agreement, Comprehension, Range, Read, Subscript, identity_body
from adcli.lang.operations.elementwise import compact
from adcli.lang.operations.matrix import FORMS, NUMBERS, SEARCH, SOLVES, Boxed, MatrixOperation, compacted, reaches
from adcli.lang.sizes.ranges import Access, Domain, Given
from adcli.lang.statements.comprehension import TensorStatement
from adcli.lang.statements.comprehension_body import Elements, Poisoned, dimensions, require_dimensions, rewritten, shape_of
from adcli.lang.statements.index_conditions import limits
from adcli.lang.tree.nodes import Call, Clause, Node, TensorAssign, Token, bare, names_in, postorder
from adcli.lang.tree.notation import MATRIX_CALLS

BATCH_INDICES = "tsruvw"


def is_matrix_call(scope: EquationScope, node: Node) -> bool:
    """Whether a node calls an operation on matrices; a function or a tensor of the program hides the one of its name."""
    if type(node) is not Call or node.name not in MATRIX_CALLS or shape_of(scope.env.get(node.name, POISON)):
        return False
    c = scope.context
    return not any(node.name in known for known in (c.functions, c.tensors, c.below, c.broken))


def finds_places(scope: EquationScope, node: Node) -> bool:
    """True if a node calls an operation whose result is a whole number."""
    return type(node) is Call and node.name == SEARCH and is_matrix_call(scope, node)


def apart(scope: EquationScope, node: Call, clauses: Sequence[Clause], key: str,
          steps: Sequence[str] = ()) -> tuple[TensorAssign, Node]:
    """A call as a statement of its own, with the indices that it reads for subscripts, and what stands for its value."""
    tensors = scope.tensors
    known = {*tensors.sizes, *tensors.headers, *tensors.histories, *steps, *scope.env}
    names = [*steps, *dict.fromkeys(n for c in postorder(node) if type(c) is Call for a in c.args if type(bare(a)) is not Call
                                    for n in names_in(a) if n not in known)]
    subscripts: list[Node] = [Token("NAME", n, node.start, node.end) for n in names]
    own = [c for c in clauses if c.kind == "range" and c.name is not None and c.name.text in names
           and all(n in tensors.sizes or n not in names for n in names_in(*c.nodes))]
    target = Token("NAME", key, node.start, node.end)
    standing = Call(key, list(subscripts), node.start, node.end) if names else target
    return TensorAssign(target, subscripts or None, "=", node, None, own, node.start, node.end), standing


def with_determinants(scope: EquationScope, s: TensorAssign, steps: Sequence[str], name: Callable[[int], str]
                      ) -> list[TensorAssign]:
    """A statement after those for the determinants in its expressions, whose targets are called `name` of their place."""
    before: list[TensorAssign] = []
    alone = bare(s.value) if s.symbol == "=" and steps else None

    def change(node: Node) -> Node | None:
        if type(node) is not Call or node is alone or not is_matrix_call(scope, node) or (steps and node.name not in NUMBERS):
            return None
        if node.name not in NUMBERS:
            raise scope.context.fault(f"'{node.name}' gives a tensor here", node,
                                      f"give it a name first, X = {scope.context.text(node)}, and write its elements")
        made, standing = apart(scope, node, s.clauses, name(len(before)), steps)
        before.append(made)
        return standing
    if not any(is_matrix_call(scope, n) for root in (s.value, *(n for c in s.clauses for n in c.nodes)) for n in postorder(root)):
        return [s]
    clauses = [replace(c, nodes=[rewritten(n, change) for n in c.nodes]) for c in s.clauses]
    changed = replace(s, value=rewritten(s.value, change), clauses=clauses)
    return [*before, changed]


@plain_record
class MatrixOperand:
    """A tensor with its leading subscripts, and the extents of the dimensions behind them."""

    node: Node
    atom: Atom
    read: Read
    rest: tuple[Affine, ...]
    transposed: bool = False


class MatrixStatement(TensorStatement):
    """One statement whose whole value is a call of an operation on matrices."""

    def __init__(self, scope: EquationScope, statement: TensorAssign) -> None:
        value = bare(statement.value)
        assert type(value) is Call
        self.call, self.nodes = value, list(statement.subscripts or ())
        super().__init__(scope, statement)
        self.agreements: list[Agreement] = []

    @property
    def rank(self) -> int:
        """The number of dimensions of the first operand."""
        return len(FORMS[self.call.name][0])

    def existing(self) -> Atom | None:
        """The value of the target, where a part of it is assigned."""
        atom = self.scope.env.get(self.name) if self.nodes else None
        if atom is POISON:
            raise Poisoned
        return atom

    def holds_whole_numbers(self) -> bool:
        return finds_places(self.scope, self.call)

    def run(self) -> Atom:
        """Emit the statement; the value that the target has then."""
        op, args = self.made()
        if isinstance(op, Comprehension):
            return self.emitted(op, [*args], "=", self.before, True)
        if not isinstance(self.before, Var) or reaches(op, op.write, op.shape):
            return self.emitted(op, [*args], "=", None, True)
        fresh = self.equation(op, args, False, self.whole)
        own = by_elements(op, Read(len(args), op.write), turned=False)
        copied, given = compact(own, (*args, fresh))
        return self.emitted(copied, [*given], "=", self.before, True)

    def made(self) -> tuple[Boxed, tuple[Atom, ...]]:
        """The operation with its arguments."""
        self.check_form()
        b = self.elements()
        write = tuple([b.subscript(n, f"dimension {d} of '{self.name}'")[1] for d, n in enumerate(self.nodes)])
        operands = [self.operand(b, node) for node in self.call.args]
        if not self.nodes and not b.indices and len(operands[0].rest) > self.rank:
            write = self.whole_batch(b, operands)
        self.check_ranks(operands)
        self.rest = self.given_shape(operands)
        domain = self.box(b, write, operands)
        shape = self.shape(write, domain)
        require_dimensions(self.context, len(shape), self.s.target)
        for d, (old, new) in enumerate(zip(shape[len(write):], self.rest, strict=True), len(write)):
            self.agree(new, old, f"dimension {d} of '{self.name}' has %d elements here, and had %d before", self.s.target)
        agreements = (*self.tensors.pending, *self.agreements, *domain.agreements)
        self.tensors.pending.clear()
        sources = tuple([o.read for o in operands])
        op = MatrixOperation(name=self.call.name, ranges=domain.ranges, guards=domain.guards, write=write, shape=shape,
                             sources=sources, transposed=operands[0].transposed, agreements=agreements)
        if self.call.name == "transpose":
            return by_elements(op, sources[0], turned=True), tuple(b.args)
        return compacted(op, tuple(b.args))

    def check_form(self) -> None:
        name, args = self.call.name, MATRIX_CALLS[self.call.name][0].count(",") + 1
        if len(self.call.args) != args:
            form = f"{name}({MATRIX_CALLS[name][0]})"
            raise self.context.fault(f"'{name}' takes {args} argument{'s' * (args > 1)}, not {len(self.call.args)}", self.call,
                                     f"it is {form}: {MATRIX_CALLS[name][1]}")
        if self.s.symbol != "=":
            indices = ", ".join(names_in(*apart(self.scope, self.call, (), "")[0].subscripts or ()))
            first = f"({indices})" if indices else ""
            raise self.context.fault(f"'{name}' is assigned with '=', not '{self.s.symbol}'", self.s.target,
                                     f"give it a name first, Y{first} = {self.context.text(self.call)}, and add its elements")
        for c in self.s.clauses:
            if c.kind not in ("range", "guard", "shape"):
                raise self.context.fault(f"where of '{name}' has ranges, conditions and a shape, nothing else", self.s.target)

    # Operands.

    def operand(self, b: Elements, root: Node) -> MatrixOperand:
        node, turned = bare(root), False
        while is_matrix_call(self.scope, node) and type(node) is Call and node.name == "transpose" and len(node.args) == 1 \
                and self.call.name in SOLVES and root is self.call.args[0]:
            node, turned = bare(node.args[0]), not turned
        if is_matrix_call(self.scope, node):
            node = self.lifted(node)
        elif type(node) is Call and node.name in self.context.tensors and not shape_of(self.scope.env.get(node.name, POISON)):
            node = self.scope.called(node)
        elif self.call.name == SEARCH and root is self.call.args[-1] and not self.has_elements(node):
            return MatrixOperand(root, atom := self.scope.value(node), Read(b.argument(atom), ()), ())
        atom, name = self.tensor(node)
        nodes = node.args if type(node) is Call else []
        if len(nodes) > len(atom.shape):
            raise self.context.fault(f"'{name}' has {dimensions(len(atom.shape))}, not {len(nodes)}", node)
        rest = (None,) * (len(atom.shape) - len(nodes))
        _, subscripts = b.subscripts(name, nodes, atom.shape[:len(nodes)], node)
        lead = b.accesses.pop()
        spans = (*lead.spans, *((node.span,) * len(rest)))
        b.accesses.append(Access(name, atom.shape, (*lead.subscripts, *rest), spans))
        self.scope.read(Token("NAME", name, node.start, node.start + len(name)))
        return MatrixOperand(root, atom, Read(b.argument(atom), subscripts), atom.shape[len(nodes):], turned)

    def has_elements(self, root: Node) -> bool:
        """True if an expression reads tensors."""
        names = {*names_in(root), *(n.name for n in postorder(root) if type(n) is Call)}
        return any(shape_of(self.scope.env.get(name, POISON)) for name in names)

    def lifted(self, node: Node) -> Node:
        """What stands for a call of an operation on matrices inside of an operand."""
        assert type(node) is Call
        made, standing = apart(self.scope, node, self.s.clauses, f"#{len(self.scope.env)}")
        self.scope.env[made.target.text] = MatrixStatement(self.scope, made).run()
        return standing

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
                                     f"declare it: input {name}({self.needed_extents(node)})")
        form = "ijk"[:self.rank if node is bare(self.call.args[0]) else 1]
        raise self.context.fault(f"'{self.call.name}' takes tensors by name, and this is "
                                 f"{'a number' if atom is not None or type(node) is Token else 'an expression'}", node,
                                 f"give the elements a name first: C({', '.join(form)}) = ...")

    def needed_extents(self, node: Node) -> str:
        """The extents that an operand is declared with."""
        return ", ".join(FORMS[self.call.name][0].upper()) if node is bare(self.call.args[0]) else "N"

    # The box of the leading indices.

    def box(self, b: Elements, write: tuple[Subscript, ...], operands: list[MatrixOperand]) -> Domain:
        """The domain of the leading indices."""
        given = [*self.ranges_around(b), *[g for c in self.s.clauses if c.kind == "range" for g in self.given(b, c)]]
        arm, *others = self.stated_arms()
        if others:
            raise self.context.fault(f"the conditions of this '{self.call.name}' leave several pieces", self.s.target,
                                     "write a statement for each, with a range")
        guards = limits(b.affine, arm.tests)
        self.check_indices(b, write, operands, given)
        self.check_own_reads(b, write, given, guards)
        domain = self.domain(b, write, given)
        domain = replace(domain, guards=(*domain.guards, *guards))
        self.check_inside(b, domain)
        self.check_written(write, domain)
        return domain

    def check_indices(self, b: Elements, write: tuple[Subscript, ...], operands: list[MatrixOperand], given: list[Given]) -> None:
        """Every index is on the left, and is read or has a range."""
        read = {i for a in b.accesses for x in a.subscripts if x is not None for i in x.indices()}
        left = {i for w in write if isinstance(w, Affine) for i in w.indices()}
        call = self.context.text(self.call)
        for name, index in b.indices.items():
            if index not in left and all(isinstance(w, Affine) for w in write):
                at = next((o.node for o in operands if name in names_in(o.node)), self.call)
                shown = "X" if self.name.startswith("#") else self.name
                raise self.context.fault(f"index '{name}' on the right is not on the left of '='", at,
                                         f"write {shown}({', '.join(b.indices)}) = {call}")
            if index not in read and index not in {g.index for g in given}:
                node = next(n for n in self.nodes if name in names_in(n))
                kept = [self.context.text(n) for n in self.nodes if n is not node]
                target = self.name + (f"({', '.join(kept)})" if kept else "")
                single = len(self.nodes) == 1 and self.s.target.end <= node.start
                fix = Fix(self.s.target.end, self.call.start, " = ") if single and not kept else None
                raise self.context.fault(f"'{self.call.name}' reads nothing with index '{name}': subscripts select leading "
                                         "dimensions, those of the matrix are left out", node, f"write {target} = {call}", fix)

    def whole_batch(self, b: Elements, operands: list[MatrixOperand]) -> tuple[Affine, ...]:
        """An index for each dimension that all operands have before their matrix; the subscripts of the result."""
        count = len(operands[0].rest) - self.rank
        for o in operands:
            own = len(o.rest) - count
            if o.read.subscripts or own not in self.ranks(o is operands[0]):
                raise self.rank_fault(o, count)
        names = [BATCH_INDICES[d] if d < len(BATCH_INDICES) else f"t{d}" for d in range(count)]
        b.indices = {name: Index(name) for name in names}
        here = tuple(map(affine, b.indices.values()))
        for k, o in enumerate(operands):
            span = o.node.start, o.node.end
            b.accesses[k] = Access(self.shown(o), o.rest[:count], here, (span,) * count)
            o.read, o.rest = Read(o.read.arg, here), o.rest[count:]
        return here

    def check_ranks(self, operands: list[MatrixOperand]) -> None:
        for o in operands:
            if len(o.rest) not in self.ranks(o is operands[0]):
                raise self.rank_fault(o, 0)

    def ranks(self, first: bool) -> tuple[int, ...]:
        """The numbers of dimensions that an operand may have."""
        return (self.rank,) if first else (0,) if self.call.name == SEARCH else (1, 2)

    def rank_fault(self, o: MatrixOperand, lead: int) -> AdError:
        first = "a matrix" if self.rank == 2 else "a vector"
        wanted = first if o.node is self.call.args[0] else "a number" if self.call.name == SEARCH else "a vector or a matrix"
        what, count = self.context.text(bare(o.node)), len(o.rest)
        said = f"'{self.call.name}' takes {wanted} here, and {what} has {dimensions(count)}"
        if lead:
            said = f"'{self.call.name}' takes {wanted} for each of {dimensions(lead)} before the matrix, and {what} has " \
                   f"{dimensions(count)}"
        wanted_rest = self.rank if o.node is self.call.args[0] else min(self.ranks(False))
        help = None
        if count < wanted_rest and self.call.name in SOLVES:
            help = f"the matrix comes first: {self.call.name}({', '.join(map(self.context.text, reversed(self.call.args)))})"
        if self.call.name == "transpose" and count == 1:
            return self.context.fault(said, o.node, f"write {what}, which is its own transpose", Fix(*self.call.span, what))
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
        self.agreements.append(Agreement(left, right, message, at.span))

    def given_shape(self, operands: list[MatrixOperand]) -> tuple[Affine, ...]:
        """What one point gives; the extents of the operands agree."""
        matrix, name = operands[0], self.call.name
        given, made = FORMS[name]
        extents = dict(zip(given, matrix.rest, strict=True))
        if given == "nn":
            rows, columns = matrix.rest
            self.agree(rows, columns, f"'{name}' takes a square matrix, and {self.shown(matrix)} is %d by %d", matrix.node)
        if name in SOLVES:
            right = operands[1]
            said = f"{self.shown(matrix)} and {self.shown(right)} have different numbers of rows: %d and %d"
            rows = matrix.rest[0]
            self.agree(rows, right.rest[0], said, right.node)
            return (rows, *right.rest[1:])
        return tuple([extents[n] for n in made])


def by_elements(op: MatrixOperation, read: Read, turned: bool) -> Comprehension:
    """The comprehension that fills what an operation gives with the elements of a read, those of its matrices `turned` or not."""
    own = [Index("ij"[d]) for d in range(len(op.shape) - len(op.write))]
    ranges = [Range(i, affine(0), n) for i, n in zip(own, op.shape[len(op.write):], strict=True)]
    inner = tuple(map(affine, own))
    source = Read(read.arg, (*read.subscripts, *(inner[::-1] if turned else inner)))
    return Comprehension(ranges=(*op.ranges, *ranges), guards=op.guards, write=(*op.write, *inner), shape=op.shape, reduction="=",
                         sources=(source,), body=identity_body(), agreements=op.agreements if turned else ())
