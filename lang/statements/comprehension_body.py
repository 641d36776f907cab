"""The body of a comprehension: an expression whose reads of tensors become the inputs of a scalar program."""
from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import isfinite

from adcli.lang.expressions.assignments import check_name
from adcli.lang.expressions.scope import POISON, Context, EquationScope, node_name
from adcli.lang.expressions.subscripts import LONGEST, TOO_LARGE, AffineReader
from adcli.lang.ir import Atom, Equation, Lit, Param, Primitive, Shape, Var
from adcli.lang.ir.affine import Affine, Index, affine, floor, greatest, least, remainder, weight
from adcli.lang.ir.errors import AdError, Fix, Span, plural
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.comprehension import MOST_DIMENSIONS, BodySource, Read, Subscript
from adcli.lang.sizes.ranges import Access
from adcli.lang.syntax.constants import NAMED_CONSTANTS, number
from adcli.lang.tree.nodes import (
    ELEMENTS,
    INTEGERS,
    Call,
    Node,
    Op,
    Parens,
    TensorAssign,
    Token,
    Typed,
    bare,
    names_of,
    postorder,
)
from adcli.lang.tree.notation import AFFINE_OPERATIONS

MOST_NESTED_GATHERS = 30
"""Most tensors of integers that one subscript goes through."""
NO_RECURRENCE = "a recurrence is a loop: h(0) = ...; for t in 0:T { h(t + 1) = ... h(t) ... }"
LONGEST_EXTENT = 300
"""Numbers and names in one extent. Those of functions that call each other could double with each call."""


ROUNDING = frozenset(("floor", "ceil", "round", "trunc", "sign"))
KEEP_WHOLE = frozenset(("add", "sub", "mul", "neg", "abs", "min", "max", "fmin", "fmax", "clamp", "fmod", "fdim", "relu",
                        "square", "copysign", "select", "fma"))
"""Operations that give whole numbers, and those that do where their operands are whole."""
BENDING = frozenset(("min", "max", "abs", "sign", "clamp", "select", "pow", "square"))
"""Operations that make of indices what is no sum of multiples of them."""
Computed = dict[tuple[int, int], tuple[Var, tuple[tuple[str, Affine], ...]]]
"""The subscripts of a statement that are computed, by where they stand: the tensor, and for each index the value that has the
first element."""


class Poisoned(Exception):
    """A value is used whose own statement has a fault; that is no further fault."""


def rewritten(root: Node, change: Callable[[Node], Node | None], after: Callable[[Node], Node] = lambda node: node) -> Node:
    """The expression with nodes replaced by what `change` makes of them; where it gives None, their operands are visited, and
    `after` says what becomes of the node with the new ones."""
    done: list[Node] = []
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            assert isinstance(node, Op | Call)
            split = len(done) - len(node.args)
            done[split:] = [after(type(node)(node.name, done[split:], node.start, node.end))]
            continue
        node = bare(node)
        new = change(node)
        if new is not None or isinstance(node, Token | Parens):
            done.append(new or node)
        else:
            stack.append((node, True))
            stack += [(a, False) for a in reversed(node.args)]
    return done[0]


class Elements(EquationScope):
    """The body of one comprehension: reads of tensors, indices and sizes are its inputs."""

    def __init__(self, scope: EquationScope, statement: TensorAssign) -> None:
        super().__init__(scope.context, scope.allowance)
        self.scope, self.tensors, self.statement = scope, scope.tensors, statement
        self.indices: dict[str, Index] = {}
        self.lets: dict[str, Node] = {}
        self.args: list[Atom] = []
        self.sources: list[BodySource] = []
        self.params: list[Param] = []
        self.inputs: dict[object, Var] = {}
        self.accesses: list[Access] = []
        self.passed_over: Collection[str] = ()   # tensors whose reads say nothing about ranges
        self.depth = 0
        self.whole: Computed = {}
        self.compute: Callable[[Node, str], tuple[Var, tuple[tuple[str, Affine], ...]]] = self.no_computed
        self.affine = AffineReader(self.context, self.extent_or_index, scope=scope)
        self.bounds = AffineReader(self.context, self.extent_or_index, bound=True, scope=scope)

    # Names.

    def extent_or_index(self, token: Token) -> Affine:
        name = token.text
        if (size := size_of(self.scope, name)) is not None:
            if name not in self.tensors.sizes:
                self.scope.read(token)
            return size
        if name not in self.indices:
            if name in self.tensors.headers:
                return self.tensors.headers[name](token)
            if name in self.lets:
                raise self.context.fault(f"'{name}' is a value, not an index", token,
                                         "a name given in where cannot be a subscript")
            if name in self.scope.env:
                kind = "a tensor" if shape_of(self.scope.env[name]) else "a value"
                raise self.context.fault(f"'{name}' is {kind} and cannot be an index too", token,
                                         "choose another name for the index")
            check_name(self.context, token)
            self.indices[name] = Index(name)
        return affine(self.indices[name])

    def read(self, token: Token) -> Atom:
        name = token.text
        if name in self.env:
            return self.env[name]
        if name in self.lets:
            raise self.context.fault(f"'{name}' is used before its own value is given in where", token)
        for known in (self.indices, self.tensors.sizes):
            if name in known:
                return self.input(affine(known[name]), affine(known[name]))
        return self.outer(token)

    def outer(self, token: Token) -> Atom:
        atom = self.scope.read(token)
        if atom is POISON:
            raise Poisoned
        if isinstance(atom, Lit):
            return self.literal(atom.value)
        if atom.shape:
            subscripts = ", ".join(list(dict.fromkeys([*self.indices, *"ijklmnpq"]))[:len(atom.shape)])
            known = not self.indices or len(atom.shape) <= len(self.indices)
            raise self.context.fault(f"'{token.text}' is a tensor", token, f"write an element of it: {token.text}({subscripts})",
                                     Fix(token.end, token.end, f"({subscripts})") if known else None)
        return self.input(("scalar", atom), Read(self.argument(atom), ()))

    def input(self, key: object, source: BodySource) -> Var:
        """The input of the body that a source feeds; one for each source."""
        if key not in self.inputs:
            var = Var(f"x{len(self.sources)}")
            self.inputs[key] = var
            self.sources.append(source)
            self.params.append(Param(var, var.name or ""))
        return self.inputs[key]

    def argument(self, atom: Atom) -> int:
        self.args.append(atom)
        return len(self.args) - 1

    # Accesses.

    def tensor(self, node: Node) -> Var | None:
        """The tensor that a call is a read of."""
        if type(node) is not Call:
            return None
        atom = self.scope.env.get(node.name)
        if atom is POISON:
            raise Poisoned
        return atom if isinstance(atom, Var) and atom.shape else None

    def replaced(self, root: Node) -> Node:
        """The expression with its reads of tensors replaced by inputs of the body."""
        return rewritten(root, self.change)

    def change(self, node: Node) -> Node | None:
        if type(node) is Call and node.name in self.passed_over:
            for d, n in enumerate(node.args):
                self.subscript(n, f"dimension {d} of '{node.name}'")
            return Token("NUMBER", "0", node.start, node.end)
        if type(node) is Token and shape_of(self.scope.env.get(node.text, POISON)) and node.text not in self.lets:
            self.outer(node)
        tensor = self.tensor(node)
        if tensor is None:
            c = self.context
            if type(node) is Call and node.name in c.broken:
                raise Poisoned
            if type(node) is Call and (node.name in c.tensors or (node.name in c.below and node.name not in c.functions)):
                raise self.scope.too_early(node)
            if type(node) is Call and not self.is_function(node.name):
                raise self.unknown(node)
            return None
        assert type(node) is Call
        key, subscripts = self.subscripts(node.name, node.args, tensor.shape, node)
        atom = self.scope.read(node_name(node))
        key = (atom, key)
        known = self.inputs.get(key)
        var = known or self.input(key, Read(self.argument(atom), subscripts))
        name = f"#{var.name}"
        self.env[name] = var
        return Token("NAME", name, node.start, node.end)

    def subscripts(self, name: str, nodes: Sequence[Node], extents: tuple[Affine, ...],
                   at: Node) -> tuple[object, tuple[Subscript, ...]]:
        """The subscripts of an access, which is recorded, and a key that equal subscripts share."""
        if len(nodes) != len(extents):
            element = f"an element of it is {name}({', '.join('ijklmn'[:len(extents)])})" if extents else None
            raise self.context.fault(f"'{name}' has {dimensions(len(extents))}, not {len(nodes)}", at, element)
        found = [self.subscript(n, f"dimension {d} of '{name}'") for d, n in enumerate(nodes)]
        spans = tuple(n.span for n in nodes)
        subscripts = tuple(s for _, s in found)
        self.accesses.append(Access(name, extents, tuple(s if isinstance(s, Affine) else None for s in subscripts), spans))
        return tuple(k for k, _ in found), subscripts

    def subscript(self, node: Node, what: str) -> tuple[object, Subscript]:
        """An affine subscript, or a gather: an element of a tensor of integers."""
        self.depth += 1
        if self.depth > MOST_NESTED_GATHERS:
            raise self.context.fault(f"{what}: subscripts are read from subscripts more than {MOST_NESTED_GATHERS} deep", node)
        try:
            return self.affine_or_gather(bare(self.with_lets(node)), what)
        finally:
            self.depth -= 1

    def with_lets(self, root: Node) -> Node:
        """A subscript with the values in the place of names that `where` gives, whose own names are given before."""
        for name, value in reversed(self.lets.items()):
            tokens = [*postorder(root)]
            if len(tokens) > LONGEST:
                raise self.context.fault("the values in this subscript make it too long", root,
                                         "give it a statement of its own before: int32 k(i) = ..., and write k(i) here")
            if any(type(t) is Token and t.text == name for t in tokens):
                root = rewritten(root, lambda n, of=name, by=value: by if type(n) is Token and n.text == of else None)  # type: ignore[misc]
        return root

    def is_no_size(self, token: Token) -> bool:
        return token.text not in self.tensors.sizes and token.text not in self.tensors.headers

    def affine_or_gather(self, node: Node, what: str) -> tuple[object, Subscript]:
        while type(node) is Call and node.name in INTEGERS and len(node.args) == 1:
            node = bare(node.args[0])
        tensor = self.tensor(node)
        if type(node) is Token and node.type == "NAME" and self.is_no_size(node):
            atom = self.scope.env.get(node.text)
            if isinstance(atom, Var) and (atom.integer or atom.whole) and not atom.shape:
                self.scope.read(node)
                return ("gather", atom), Read(self.argument(atom), ())
        if tensor is None:
            if self.is_computed(node):
                return self.computed(node, what)
            expression = self.affine.read(node, what)
            return expression, expression
        assert type(node) is Call
        if not tensor.integer and not tensor.whole:
            text = self.context.text(node)
            raise self.context.fault(f"{what} is read from '{node.name}', which is not a tensor of integers", node,
                                     f"declare it as one: int32 {node.name}({', '.join('N' for _ in tensor.shape)})"
                                     if self.is_input(tensor) else f"write floor({text}), round({text}) or another whole number")
        key, subscripts = self.subscripts(node.name, node.args, tensor.shape, node)
        self.scope.read(node_name(node))
        return ("gather", tensor, key), Read(self.argument(tensor), subscripts)

    def no_computed(self, node: Node, what: str) -> tuple[Var, tuple[tuple[str, Affine], ...]]:
        raise self.context.fault(f"{what} is computed here: {self.context.text(node)}", node,
                                 "give it a statement of its own before: int32 k(i) = ..., and write k(i) here")

    def is_computed(self, root: Node) -> bool:
        """Whether a subscript has a value in it: an element of a tensor, a whole number, a number that is rounded, or what is no
        sum of multiples of indices, as the least of several is none."""
        def has_value(node: Node) -> bool:
            if type(node) is not Token or node.text in self.lets:
                return False
            atom = self.scope.env.get(node.text)
            return atom is not None and not shape_of(atom) and counted(self.scope.env, node.text) is None
        for node in postorder(root):
            if type(node) is Token:
                atom = self.scope.env.get(node.text) if node.text not in self.lets else None
                found = isinstance(atom, Var) and atom.whole and not atom.shape
            else:
                rounds = type(node) is Call and node.name in (*ROUNDING, *INTEGERS)
                found = self.tensor(node) is not None or self.bends(node) or (rounds and any(map(has_value, postorder(node))))
            if found:
                return True
        return False

    def bends(self, node: Node) -> bool:
        """Whether an operation on indices gives what is no sum of multiples of them: a product or a quotient of two, a choice."""
        if not isinstance(node, Op | Call) or (node.name != "select" and not self.unknown_names(node)):
            return False
        if node.name == "mul":
            return all(map(self.unknown_names, node.args))
        if node.name in ("div", "rem"):
            by = node.args[-1]
            return bool(self.unknown_names(by)) or (node.name == "div" and any(
                self.is_no_size(t) and counted(self.scope.env, t.text) is None for t in names_of(by)))
        return node.name in BENDING

    def unknown_names(self, node: Node) -> list[Token]:
        """The names in a subscript that have no value, and are no size."""
        known = (NAMED_CONSTANTS, self.scope.env, self.tensors.sizes, self.lets)
        return [t for t in names_of(node) if not any(t.text in names for names in known)]

    def is_input(self, atom: Atom) -> bool:
        return not any(atom in e.outs for e in self.scope.equations)

    def computed(self, node: Node, what: str) -> tuple[object, Subscript]:
        """A subscript that is a value, in a tensor of its own that has whole numbers: it is read where the expression stands."""
        key = node.start, node.end
        if key not in self.whole:
            self.whole[key] = self.compute(node, what)
        atom, lows = self.whole[key]
        for token in self.unknown_names(node):
            self.extent_or_index(token)
        count = len(self.sources)
        self.replaced(node)   # what it reads bounds the indices here
        del self.sources[count:], self.params[count:]
        self.inputs = {k: v for k, v in self.inputs.items() if any(v is p.var for p in self.params)}
        subscripts = tuple(affine(self.indices[name]) - low for name, low in lows)
        return ("gather", atom), Read(self.argument(atom), subscripts)

    # Expressions of indices and sizes.

    def folded(self, root: Node) -> Node:
        """The expression with each sum of multiples of indices and sizes as one input: exact, as subscripts are."""
        sums: dict[int, Affine] = {}
        for node in postorder(root):
            found = self.sum_of(node, sums) if isinstance(node, Op | Call) else self.leaf_sum(node)
            if found is not None:
                sums[id(node)] = found

        def change(node: Node) -> Node | None:
            expression = sums.get(id(node))
            if expression is None or expression.number is not None or type(node) is Token:
                return None
            var = self.input(expression, expression)
            self.env[f"#{var.name}"] = var
            return Token("NAME", f"#{var.name}", node.start, node.end)
        return rewritten(root, change)

    def leaf_sum(self, token: Token) -> Affine | None:
        name = token.text
        if token.type == "NUMBER":
            value = number(token, self.context.source)
            return affine(int(value)) if value == int(value) and abs(value) < TOO_LARGE else None
        if name in self.env or name in self.lets:
            return None
        return affine(self.indices[name]) if name in self.indices else self.tensors.sizes.get(name)

    def sum_of(self, node: Op | Call, sums: dict[int, Affine]) -> Affine | None:
        if node.name in self.context.functions:
            return None
        if node.name in ("floor", "min", "max"):
            return self.of_sizes(node, sums)
        if node.name == "rem" and type(node) is Op:
            whole, by = [sums.get(id(bare(a))) for a in node.args]
            return None if whole is None or by is None or by.indices() or (by.number or 1) <= 0 else remainder(whole, by)
        if AFFINE_OPERATIONS.get(node.name) != len(node.args):
            return None
        args = [sums.get(id(bare(a))) for a in node.args]
        if any(a is None for a in args) or (node.name == "mul" and all(a is not None and a.number is None for a in args)):
            return None
        found = self.affine.applied(node, [a for a in args if a is not None], node, "an expression of indices")
        return found if all(abs(c) < TOO_LARGE for c in (found.constant, *(c for _, c in found.terms))) else None

    def of_sizes(self, node: Op | Call, sums: dict[int, Affine]) -> Affine | None:
        """floor(N / 2), min(M, N) or max(M, N): extents as they are written in values."""
        inner = bare(node.args[0]) if node.args else None
        if node.name == "floor":
            nodes = inner.args if isinstance(inner, Op | Call) and inner.name == "div" and len(node.args) == 1 else []
        else:
            nodes = node.args
        args = [x for a in nodes if (x := sums.get(id(bare(a)))) is not None and (node.name == "floor" or not x.indices())]
        if len(args) < max(len(nodes), 2) or sum(map(weight, args)) > LONGEST_EXTENT:
            return None
        if node.name != "floor":
            return (least if node.name == "min" else greatest)(*args)
        return None if args[1].indices() or ((n := args[1].number) is not None and n <= 0) else floor(args[0], args[1])

    # What differs from scalar statements in expressions.

    def emit(self, op: Primitive, args: tuple[Atom, ...], span: Span, names: tuple[str | None, ...]) -> tuple[Var, ...]:
        outs = tuple([Var(n, True, op.truth) for n in names])
        self.equations.append(Equation(outs, op, args, span))
        return outs

    def apply(self, node: Op | Call, args: list[Atom], name: str | None) -> Atom:
        if node.name == "rem" and type(node) is Op:
            return self.operation(TABLE["fmod"], node, args, name)
        return super().apply(node, args, name)

    def call(self, node: Call, args: list[Atom], names: list[str | None]) -> list[Atom]:
        if node.name in (*ELEMENTS, *INTEGERS) and node.name not in self.context.functions:
            self.check_count(node, 1, 1)
            self.require("r", args[0], node.args[0])
            return args if node.name in ELEMENTS else [self.operation(TABLE["trunc"], node, args, names[0])]
        return super().call(node, args, names)

    def is_function(self, name: str) -> bool:
        return name in ELEMENTS or name in INTEGERS or super().is_function(name)

    def values(self) -> Mapping[str, Atom]:
        return self.scope.env

    def unknown(self, node: Call) -> AdError:
        if node.name == "nextafter":
            return self.context.fault("'nextafter' is not available: it has no derivative", node)
        if node.name == self.statement.target.text:
            said = f"'{node.name}' has no elements before this statement, which cannot read those that it makes"
            return self.context.fault(said, node, NO_RECURRENCE)
        fault = super().unknown(node)
        extents = ", ".join("MNPQRS"[:len(node.args)])
        definition = self.scope.definition
        parameter = definition is not None and node.name in [p.text for p in definition.params]
        fault.help = f"declare the parameter as a tensor: float({extents}) {node.name}" if parameter else \
            fault.help or f"declare a tensor: input {node.name}({extents})"
        return fault


def is_whole(atom: Atom, params: Sequence[Param], sources: Sequence[BodySource], equations: Sequence[Equation],
             args: Sequence[Atom]) -> bool:
    """Whether the value of a body is a whole number, or NaN or infinite, by how it is made."""
    def whole(a: Atom) -> bool:
        return a in found or (isinstance(a, Lit) and (a.integer is not None or not isfinite(a.value)))
    found: set[Atom] = set()
    for p, s in zip(params, sources, strict=True):
        read = args[s.arg] if isinstance(s, Read) else None
        if read is None or (whole(read) if isinstance(read, Lit) else read.integer or read.whole):
            found.add(p.var)
    for e in equations:
        values = e.args[1:] if e.op.name == "select" else e.args
        if e.op.name in ROUNDING or (e.op.name in KEEP_WHOLE and all(map(whole, values))):
            found.update(e.outs)
    return whole(atom)


def is_integer(token: Token) -> bool:
    return type(token) is Typed and token.element is not None and token.element.text in INTEGERS


def shape_of(atom: Atom) -> tuple[Affine, ...]:
    return atom.shape if isinstance(atom, Var) else ()


def dimensions(count: int) -> str:
    return plural(count, "dimension") if count else "no dimensions"


def counted(env: Mapping[str, Atom], name: str) -> Affine | None:
    """The size that an integer is, which is an input: it has the input's name, and its value when the program is called."""
    atom = env.get(name)
    return affine(atom.name) if isinstance(atom, Var) and atom.integer and not atom.shape and atom.name else None


def require_dimensions(context: Context, count: int, at: Token) -> None:
    if count > MOST_DIMENSIONS:
        raise context.fault(f"'{at.text}' has {count} dimensions; the most is {MOST_DIMENSIONS}", at)


def size_of(scope: EquationScope, name: str) -> Affine | None:
    """The size that a name is."""
    known = scope.tensors.sizes.get(name)
    return counted(scope.env, name) if known is None else known


def extents(scope: EquationScope, typed: Typed, new: bool = False) -> Shape:
    """The extents of a declaration in a scope; with `new`, names that are no sizes yet become sizes."""
    context = scope.context

    def size(token: Token) -> Affine:
        found = size_of(scope, token.text)
        if found is None:
            if not new:
                raise context.fault(f"'{token.text}' is not a size of an input", token)
            check_name(context, token)
            found = scope.tensors.sizes[token.text] = affine(token.text)
        return found
    require_dimensions(context, len(typed.extents or ()), typed)
    reader = AffineReader(context, size, bound=True)
    shape = tuple(reader.read(n, f"dimension {d} of '{typed.text}'") for d, n in enumerate(typed.extents or ()))
    for node, extent in zip(typed.extents or (), shape, strict=True):
        if extent.number is not None and extent.number < 0:
            raise context.fault(f"an extent of '{typed.text}' is negative", node)
    return shape
