"""Tensors among scalar statements, and functions of tensors.

In a scalar statement an element of a tensor, `A(0, 1)`, and the value of a size are comprehensions without indices whose
value the statement uses like any other. A function of tensors is lowered at each call with the shapes of its arguments:
its size names become the extents they have there.
"""
from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from adcli.lang.expressions.assignments import assignment, check_name
from adcli.lang.expressions.desugar import apart, check_apart, written_out
from adcli.lang.expressions.scope import POISON, CallingScope, CallShapes, Context, DryRun, EquationScope, node_name
from adcli.lang.expressions.subscripts import check_elements
from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Result, Shape, Var
from adcli.lang.ir.affine import Affine, affine
from adcli.lang.ir.errors import AdError, Span
from adcli.lang.ir.names import Names
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.function_calls import UnfoldedCalls
from adcli.lang.lower.loops import Loop, planned
from adcli.lang.lower.tensor_library import definition_for, takes_numbers
from adcli.lang.operations.comprehension import Agreement, BodySource, Comprehension, Read
from adcli.lang.operations.limits import OF_A_STATEMENT, Allowance
from adcli.lang.operations.matrix import Boxed
from adcli.lang.sizes.ranges import Domain, outside
from adcli.lang.statements.comprehension import TensorStatement
from adcli.lang.statements.comprehension_body import (
    NO_RECURRENCE,
    Poisoned,
    counted,
    dimensions,
    extents,
    is_integer,
    rewritten,
    shape_of,
    size_of,
)
from adcli.lang.statements.matrix_statement import MatrixStatement, is_matrix_call, with_determinants
from adcli.lang.tree.nodes import (
    Assign,
    Call,
    Def,
    For,
    Node,
    Op,
    Statement,
    TensorAssign,
    Token,
    TupleAssign,
    Typed,
    bare,
    names_in,
    postorder,
    targets_of,
)


class TensorScope(CallingScope):
    """The program's own statements, or a function of tensors: a scope that may hold tensors."""

    def __init__(self, context: Context, allowance: Allowance | None = None) -> None:
        super().__init__(context, allowance)
        self.read_wholly: set[str] = set()   # what the last loop assigns and itself reads every element of
        self.for_until: set[str] = set()     # what only the condition of the last loop reads
        self.shaped = False   # whether any name is a tensor or a size: until then all is scalar

    def compute(self, statement: TensorAssign) -> Atom:
        self.shaped = True
        if statement.subscripts is None and statement.symbol == "=" and not statement.clauses:
            alone = Assign([statement.target], [statement.value], statement.start, statement.end)
            statement = written_out(self, alone) or statement
        try:
            statement = self.reduced_before(statement)
            if is_matrix_call(self, bare(statement.value)) and statement.subscripts is not None:
                return MatrixStatement(self, statement).run()
            *before, statement = with_determinants(self, statement, (), lambda k: f"#{len(self.env) + k}")
            for s in before:
                self.env[s.target.text] = MatrixStatement(self, s).run()
            return TensorStatement(self, statement).run()
        except Poisoned:
            return POISON

    def reduced_before(self, statement: TensorAssign) -> TensorAssign:
        """Where a tensor is made element by element, `h(1, n) +=! e` starts the elements that it names from zero, and the others
        stay: it is reduced under a name of its own, and assigned then."""
        name, nodes = statement.target.text, statement.subscripts or []
        history = self.tensors.histories.get(name)
        if history is None or name not in self.env or not statement.symbol.endswith("!") or statement.symbol.startswith("arg"):
            return statement
        kept = [n for d, n in enumerate(nodes) if not (history.along[d:d + 1] and self.is_one(n))]
        if len(kept) == len(nodes):
            return statement
        start, end = statement.start, statement.end
        own = Token("NAME", Names({*self.context.tree.names, *self.env}).fresh(name), start, end)
        self.env[own.text] = self.compute(TensorAssign(own, kept or None, statement.symbol, statement.value, statement.same,
                                                       statement.clauses, start, end))
        ranges = [c for c in statement.clauses if c.kind == "range" and c.name is not None and c.name.text in names_in(*kept)]
        value = Call(own.text, kept, start, end) if kept else own
        return TensorAssign(statement.target, nodes, "=", value, None, ranges, start, end)

    def is_one(self, node: Node) -> bool:
        """Whether a subscript names one element: it is made of sizes and numbers."""
        return all(size_of(self, n) is not None for n in names_in(node))

    def compute_all(self, statement: TupleAssign) -> list[tuple[TensorAssign, Atom]]:
        """What each of several targets gets."""
        self.shaped = True
        done: list[tuple[TensorAssign, Atom]] = []
        try:
            for part in apart(self, statement):
                name = part.target.text
                if (before := next((atom for other, atom in reversed(done) if other.target.text == name), None)) is not None:
                    check_apart(self, statement, part.target)
                    self.env[name] = before
                done.append((part, self.compute(part)))
            return done
        except AdError as fault:
            if fault.fix and fault.fix.start == statement.start:   # a loop for one of them
                fault.fix, fault.help = None, NO_RECURRENCE
            raise

    def matrix_call(self, node: Call, name: str | None) -> Atom:
        """The value of a call of an operation on matrices that stands where a value of this name does."""
        target = Token("NAME", name or f"#{len(self.env)}", node.start, node.end)
        statement = TensorAssign(target, None, "=", node, None, [], node.start, node.end)
        try:
            return MatrixStatement(self, statement).run()
        except Poisoned:
            return POISON

    def plan(self, statements: Sequence[Statement]) -> None:
        """Look ahead for what the statements of a block write."""
        if any(type(s) in (For, TensorAssign, TupleAssign) for s in statements):
            self.tensors.histories = planned(self, statements)
        if any(type(s) is For for s in statements):
            self.shaped = True
            names = [n for s in statements if isinstance(s, For) for n in names_in(s.low, s.high)]
            self.tensors.headers = dict.fromkeys(names, self.size_of_step)

    def looped(self, statement: For) -> dict[str, Atom]:
        """Emit a loop; the values of the names that it assigns."""
        self.shaped = True
        try:
            body: list[Statement] = []
            fresh = Names(self.context.tree.names).fresh
            statement = self.with_calls(statement)
            for s in statement.body:
                for part in apart(self, s) if isinstance(s, TupleAssign) else [s]:
                    body += with_determinants(self, part, [statement.step.text], lambda _: fresh("logdet")) \
                        if isinstance(part, TensorAssign) else [part]
            loop = Loop(self, replace(statement, body=body), self.for_until)
            found = loop.run()
            self.read_wholly = loop.read
            return found
        except Poisoned:
            return dict.fromkeys((t.text for t in statement.targets), POISON)

    def with_calls(self, loop: For) -> For:
        """The loop with its calls of functions of tensors unfolded."""
        def shapes_so_far(done: list[Statement]) -> dict[str, Shape]:
            first = replace(loop, body=done, until=None)
            self.tensors.histories |= calls.histories(planned(self, [first]))
            return self.shapes_in_loop(first)
        calls = UnfoldedCalls(self, [loop.step.text], frozenset(t.text for t in loop.targets), shapes_so_far)
        for s in loop.body:
            calls.add(s)
        count = len(calls.done)
        until = None if loop.until is None else calls.condition(loop.until)
        self.for_until = {t.text for s in calls.done[count:] for t in targets_of(s)}
        unfolded = replace(loop, body=calls.done, until=until)
        if calls.made:
            self.tensors.histories |= calls.histories(planned(self, [unfolded]))
        return unfolded

    def shapes_in_loop(self, loop: For) -> dict[str, Shape]:
        """The shapes of what the first statements of a loop assign."""
        body: list[Statement] = [part for s in loop.body for part in (apart(self, s) if isinstance(s, TupleAssign) else [s])]
        return Loop(self, replace(loop, body=body)).found_shapes()

    @abstractmethod
    def new_size(self, token: Token) -> None:
        """Make a size of a name that has no meaning."""

    def size_of_step(self, token: Token) -> Affine:
        if token.text in self.tensors.sizes:
            return self.tensors.sizes[token.text]
        if token.text not in self.env:
            self.new_size(token)
        count = size_of(self, token.text)
        if count is None:
            raise self.context.fault(f"the range of the loop depends on the value of '{token.text}'", token,
                                     f"a size is a whole number that is known before: input int32 {token.text}")
        self.read(token)
        return count

    def given(self, s: Statement) -> list[tuple[Token, Atom]]:
        """Emit a statement that assigns; what its targets get."""
        if isinstance(s, TensorAssign | TupleAssign):
            return self.with_calls_before(s)
        return self.given_alone(s)

    def with_calls_before(self, s: TensorAssign | TupleAssign) -> list[tuple[Token, Atom]]:
        """Emit a statement behind those that its calls are."""
        own, calls = {t.text for t in targets_of(s)}, UnfoldedCalls(self)
        try:
            calls.add(s)
        except Poisoned:
            return [(t, POISON) for t in targets_of(s)]
        if len(calls.done) == 1:
            return self.given_alone(calls.done[0])
        return self.given_together(calls, own)

    def given_together(self, calls: UnfoldedCalls, own: Collection[str] = ()) -> list[tuple[Token, Atom]]:
        """Emit statements that calls are unfolded into; what the targets get that are the text's `own`."""
        found = dict[str, tuple[Token, Atom]]()
        self.tensors.histories |= calls.histories(planned(self, calls.done))
        inlined = self.tensors.inlined
        for each in calls.done:
            self.tensors.inlined = inlined or not any(t.text in own for t in targets_of(each))
            for token, atom in self.given_alone(each):
                self.env[token.text] = atom
                if token.text in own:
                    found[token.text] = token, atom
        self.tensors.inlined = inlined
        return [*found.values()]

    def given_alone(self, s: Statement) -> list[tuple[Token, Atom]]:
        if isinstance(s, TensorAssign):
            return [(s.target, self.compute(s))]
        if isinstance(s, TupleAssign):
            return [(part.target, atom) for part, atom in self.compute_all(s)]
        if isinstance(s, For):
            values = self.looped(s)
            return [(token, values[token.text]) for token in s.targets]
        assert isinstance(s, Assign)
        if (whole := written_out(self, s)) is not None:
            return [(s.targets[0], self.compute(whole))]
        return self.tensor_results(s) or assignment(self, self.scalars(s))

    def scalars(self, statement: Assign) -> Assign:
        """The statement with elements of tensors and sizes as values of their own."""
        if not self.shaped:
            return statement
        alone = len(statement.values) == len(statement.targets)
        values = [self.scalar(v, t.text if alone and t.text != "_" else None)
                  for v, t in zip(statement.values, statement.targets, strict=False)]
        return Assign(statement.targets, values, statement.start, statement.end)

    def scalar(self, root: Node, name: str | None = None) -> Node:
        """A value, which has this name where it is an element."""
        node = bare(root)
        whole = node if type(node) is Token else None
        if type(node) is Call and (node.name == "dup" or node.name in self.context.tensors):
            return node
        if is_matrix_call(self, node) and type(node) is Call:
            return self.matrix_value(node, name)
        return rewritten(node, lambda n: self.change(n, n is whole, name if n is node else None))

    def change(self, node: Node, whole: bool, name: str | None = None) -> Node | None:
        if type(node) is Token and node.type == "NAME":
            return self.name(node, whole)
        if type(node) is Op and node.name == "pow":
            self.refuse_power(node)
        if type(node) is not Call:
            return None
        if node.name in self.context.broken:
            return self.held(POISON, node)
        if isinstance(atom := self.env.get(node.name), Var) and atom.shape:
            return self.held(self.element(node, atom, name), node)
        if is_matrix_call(self, node):
            return self.matrix_value(node, name)
        if node.name in self.context.tensors:
            return self.number(self.tensor_call(node, [None])[0], node)
        if not self.is_function(node.name):
            raise self.unknown(node)
        row = TABLE.get(node.name) if node.name not in self.context.functions else None
        if row is not None and row.variadic:   # max(x) of a tensor
            self.check_count(node, row.arity, None)
        return None

    def refuse_power(self, node: Op) -> None:
        """A whole matrix to the power -1 is no power of its elements."""
        base = bare(node.args[0])
        atom = self.env.get(base.text) if type(base) is Token else None
        written = self.context.source.text[node.args[1].start:node.args[1].end].replace(" ", "")
        if type(base) is Token and atom is not None and len(shape_of(atom)) > 1 and written in ("-1", "(-1)"):
            raise self.context.fault(f"'{base.text}' is a tensor, whose powers are those of its elements", node,
                                     f"the inverse of a matrix is inverse({base.text}); solve(A, b) needs none")

    def matrix_value(self, node: Call, name: str | None) -> Token:
        return self.number(self.matrix_call(node, name), node)

    def number(self, atom: Atom, node: Call) -> Token:
        """A token for what a call gives, which must be a number."""
        if shape_of(atom):
            from adcli.lang.suggest.suggestions import named_first  # only after a fault
            help = f"give it a name first, C = {node.name}(...), and write its elements"
            said = named_first(self.context.tree, node) or (help, None)
            raise self.context.fault(f"'{node.name}' gives a tensor here", node, *said)
        return self.held(atom, node)

    def name(self, token: Token, whole: bool) -> Node | None:
        atom = self.env.get(token.text)
        if atom is not None:
            if shape_of(atom) and not whole:
                from adcli.lang.suggest.suggestions import for_every_element  # only after a fault
                subscripts = ", ".join("ijklmn"[:len(shape_of(atom))])
                help = f"write a tensor by its elements: C({subscripts}) = {token.text}({subscripts}) ..."
                said = for_every_element(self.context.tree, token, self.env) or (help, None)
                raise self.context.fault(f"'{token.text}' is a tensor", token, *said)
            if whole or not isinstance(atom, Var) or not atom.integer:
                return None
            self.read(token)
            return self.converted(token, Read(0, ()), [atom])   # a whole number lies in memory as one
        if token.text not in self.tensors.sizes:
            return None
        return self.converted(token, self.tensors.sizes[token.text], [])

    def converted(self, token: Token, source: BodySource, args: list[Atom]) -> Token:
        """A token for the real number that a size or a whole number is."""
        key = f"#{token.text}"
        if key not in self.env:
            self.env[key] = self.single(source, args, token.span)
        return Token("NAME", key, token.start, token.end)

    def held(self, atom: Atom, node: Node) -> Token:
        """A token for a value that has no name."""
        key = f"#{len(self.env)}"
        self.env[key] = atom
        return Token("NAME", key, node.start, node.end)

    def element(self, node: Call, tensor: Var, name: str | None = None) -> Var:
        """One element of a tensor."""
        at = node.start, node.end
        b = TensorStatement(self, TensorAssign(Token("NAME", "", *at), None, "=", node, None, [], *at)).elements()
        _, subscripts = b.subscripts(node.name, node.args, tensor.shape, node)
        if b.indices:
            from adcli.lang.expressions.suggest_statements import suggested_sum  # only after a fault
            raise self.context.fault(f"index '{next(iter(b.indices))}' on the right is not on the left of '='", node,
                                     *suggested_sum(self.context.tree, node.start, self.env, self.tensors.sizes))
        self.read(node_name(node))
        for access in b.accesses:
            check_elements(self.context, self.tensors.written, self.env.get(access.tensor), access, (), ())
            if fault := outside(access, Domain((), (), ()), self.context.source):
                raise fault
        return self.single(Read(b.argument(tensor), subscripts), b.args, at, name)

    def single(self, source: BodySource, args: list[Atom], span: Span, name: str | None = None) -> Var:
        """The comprehension without indices whose value is a source."""
        x, out = Var("x0"), Var(name, name is None)
        body = Program((Param(x, "x0"),), (), (Result("z", x),))
        op = Comprehension(sources=(source,), body=body)
        self.equations.append(Equation((out,), op, tuple(args), span))
        return out

    # Functions of tensors.

    def tensor_results(self, statement: Assign) -> list[tuple[Token, Atom]] | None:
        """What the targets of a statement get, where it calls a function of tensors or duplicates a tensor."""
        node = bare(statement.values[0])
        if len(statement.values) != 1 or type(node) is not Call:
            return None
        names = [None if t.text == "_" else t.text for t in statement.targets]
        if node.name in self.context.broken:
            return [(t, POISON) for t in statement.targets]
        if node.name in self.context.below and node.name not in self.context.functions and node.name not in self.context.tensors \
                and not shape_of(self.env.get(node.name, POISON)):
            raise self.too_early(node)
        if node.name in self.context.tensors:
            return list(zip(statement.targets, self.tensor_call(node, names), strict=True))
        if is_matrix_call(self, node):
            self.check_results(node, 1, len(names))
            check_name(self.context, statement.targets[0])
            return [(statement.targets[0], self.matrix_call(node, names[0]))]
        inner = bare(node.args[0]) if len(node.args) == 1 else None
        if node.name != "dup" or type(inner) is not Token or not shape_of(self.env.get(inner.text, POISON)):
            return None
        self.check_count(node, 1, 1)
        self.check_results(node, 2, len(names))
        atom = self.read(inner)
        assert isinstance(atom, Var)
        outs = tuple(Var(n, n is None, False, atom.shape, atom.integer, atom.whole) for n in names)
        self.equations.append(Equation(outs, TABLE["dup"], (atom,), node.span))
        return list(zip(statement.targets, outs, strict=True))

    def tensor_call(self, node: Call, names: Sequence[str | None]) -> list[Atom]:
        args = [self.argument(a, node) for a in node.args]
        if any(a is POISON for a in args):
            return [POISON] * len(names)
        definition = self.called_definition(node, args)
        self.check_results(node, len(definition.results), len(names))
        return self.called_with(definition, node, args, names)

    def called_definition(self, node: Call, args: Sequence[Atom]) -> Def:
        choices = self.context.choices.get(node.name)
        if choices is None:
            definition = self.context.tensors[node.name]
            self.check_count(node, len(definition.params), len(definition.params))
            return definition
        found = definition_for(choices, [len(shape_of(a)) for a in args], node)
        if found is None:
            raise self.unknown(node)
        return found

    def called_with(self, definition: Def, node: Call, args: list[Atom], names: Sequence[str | None]) -> list[Atom]:
        """The results of a call: the function is lowered with the shapes of the arguments. Its size is known before."""
        if not self.allowance.allows(operations := self.context.sizes[definition.name.text]):
            raise self.context.too_long(operations, node, self.allowance.spent)
        named = {t.text: n for t, n in zip(definition.results, names, strict=True)}
        function = TensorFunction(self.context, definition, self.equations, named)
        try:
            function.lower_call(node, args)
        except AdError as fault:
            raise self.in_call(fault, node) from None
        return function.results()

    def check_calls(self, root: Node, has_meaning: Callable[[str], bool]) -> None:
        for n in postorder(root):
            if type(n) is Call and not (has_meaning(n.name) or self.is_function(n.name) or n.name in self.context.tensors
                                        or is_matrix_call(self, n)):
                raise self.unknown(n)

    def call_shapes(self, definition: Def, node: Call, args: list[Atom]) -> CallShapes:
        if not self.allowance.allows(operations := self.context.sizes[definition.name.text]):
            raise self.context.too_long(operations, node, self.allowance.spent)
        function = TensorDefinition(self.context, definition, [], {}, self.allowance)
        function.take(node, args)
        agreements = list(function.tensors.pending)
        found, anew = function.dry_run(node, args)
        return CallShapes(function.tensors.sizes, agreements, {name: shape_of(atom) for name, atom in found.items()}, anew)

    def in_call(self, fault: AdError, node: Call) -> AdError:
        """A fault that stands in a definition and comes of the arguments of a call says which call."""
        if fault.span is not None and not node.start <= fault.span[0] < node.end:
            line = self.context.source.where(node.span)[1]
            fault.message += f" (in the call {self.context.text(node, 40)} in line {line})"
        return fault

    def argument(self, node: Node, call: Call) -> Atom:
        self.check_calls(node, self.has_meaning)
        inner = bare(rewritten(node, lambda n: None, self.called))
        if type(inner) is Token and inner.type == "NAME" and shape_of(self.env.get(inner.text, POISON)):
            return self.read(inner)
        if type(inner) is Token and isinstance(atom := self.env.get(inner.text), Var) and (atom.integer or atom.whole):
            return self.read(inner)
        calls = UnfoldedCalls(self)
        try:
            shape = calls.shape_of_value(inner)
        except Poisoned:
            return POISON
        if not shape and call.name in self.context.choices and not any(map(takes_numbers, self.context.choices[call.name])):
            raise self.unknown(call)
        if not shape:
            return self.value(self.scalar(inner))
        start, end = node.start, node.end
        calls.find_indices(TensorAssign(Token("NAME", "", start, end), None, "=", inner, None, [], start, end))
        if calls.index_names:
            name = min(calls.index_names)
            raise self.context.fault(f"index '{name}' is not on the left, where the result has one value for each", node,
                                     f"write v({name}) = ..., or give '{name}' a value: input int32 {name}")
        made = calls.computed(Token("NAME", "a", node.start, node.end), inner, shape)
        self.given_together(calls)
        assert isinstance(made, Token)
        return self.env[made.text]

    def called(self, node: Node) -> Node:
        """What a call of a function of tensors gives, as a value that has no name; the innermost calls come first."""
        if is_matrix_call(self, node) and type(node) is Call:
            return self.held(self.matrix_call(node, None), node)
        if type(node) is not Call or node.name not in self.context.tensors or shape_of(self.env.get(node.name, POISON)):
            return node
        return self.held(self.tensor_call(node, [None])[0], node)


class TensorFunction(TensorScope):
    """A function of tensors being lowered, as the program or for one call; `named` are the names its results get there."""

    definition: Def

    def __init__(self, context: Context, definition: Def, equations: list[Equation], named: dict[str, str | None],
                 allowance: Allowance | None = None) -> None:
        super().__init__(context, allowance)
        self.definition, self.equations, self.named, self.shaped = definition, equations, named, True
        self.start = len(equations)

    def new_size(self, token: Token) -> None:
        if token.text not in self.context.broken:
            raise self.context.fault(f"function '{self.definition.name.text}' has no size '{token.text}'", token,
                                     f"add a parameter for it: int32 {token.text}")
        self.env[token.text] = POISON

    def program(self) -> list[Param]:
        """Lower it as a program; the parameters are the inputs."""
        params = []
        for token in self.definition.params:
            var = declared(self, token)
            self.bind(token, var)
            params.append(Param(var, token.text))
        self.statements()
        return params

    def lower_call(self, node: Call, args: list[Atom]) -> None:
        """Lower it for a call with these arguments."""
        self.take(node, args)
        self.statements()

    def take(self, node: Call, args: list[Atom]) -> None:
        """Give its parameters and sizes the values that they have in a call."""
        self.tensors.inlined = True
        pairs = list(zip(self.definition.params, args, node.args, strict=True))
        for token, atom, at in pairs:
            self.check_argument(token, atom, at)
            self.bind(token, atom)
        for token, atom, _ in pairs:
            self.bind_sizes(token, atom)
        for token, atom, at in pairs:
            self.agree(token, atom, at)

    def bind(self, token: Token, atom: Atom) -> None:
        if token.text in self.tensors.sizes:
            raise self.context.fault(f"'{token.text}' is a size and a parameter", token, "choose another name for one of them")
        if is_integer(token) and isinstance(atom, Lit) and atom.integer is not None:   # a whole number that the call says
            self.tensors.sizes[token.text] = affine(atom.integer)
        else:
            self.env[token.text] = atom

    def check_argument(self, token: Token, atom: Atom, at: Node) -> None:
        wanted = len(token.extents or ()) if type(token) is Typed else 0
        given = len(shape_of(atom))
        if wanted != given:
            raise self.context.fault(f"parameter '{token.text}' of '{self.definition.name.text}' has {dimensions(wanted)}, "
                                     f"and this argument has {dimensions(given)}", at)
        integer = atom.integer or atom.whole if isinstance(atom, Var) else is_integer(token) and atom.integer is not None
        if integer != is_integer(token):
            kind = "a whole number" if not wanted else "a tensor of integers"
            what = f"is {kind}" if is_integer(token) else f"is not {kind}"
            raise self.context.fault(f"parameter '{token.text}' of '{self.definition.name.text}' {what}", at,
                                     None if wanted or not is_integer(token) else "write the number, or a name declared as int32")

    def bind_sizes(self, token: Token, atom: Atom) -> None:
        for node, extent in zip((token.extents or ()) if type(token) is Typed else (), shape_of(atom), strict=True):
            node = bare(node)
            if type(node) is Token and node.type == "NAME":
                if counted(self.env, node.text) is not None:
                    continue
                if node.text in self.env:
                    raise self.context.fault(f"'{node.text}' is a size and a parameter", node,
                                             "choose another name for one of them")
                self.tensors.sizes.setdefault(node.text, extent)

    def agree(self, token: Token, atom: Atom, at: Node) -> None:
        """The extents given are those declared."""
        if type(token) is not Typed:
            return
        declared_extents = extents(self, token)
        for d, (wanted, given) in enumerate(zip(declared_extents, shape_of(atom), strict=True)):
            if wanted != given:
                said = f"dimension {d} of '{token.text}' in '{self.definition.name.text}' has %d elements, not %d"
                if wanted.number is not None and given.number is not None:
                    raise self.context.fault(said % (given.number, wanted.number), at)
                self.tensors.pending.append(Agreement(given, wanted, said, at.span))

    def statements(self) -> None:
        definition, context = self.definition, self.context
        results = {t.text for t in definition.results}
        inputs = {t.text for t in definition.params} - results   # a parameter that is a result starts with what is given
        assigned = set[str]()
        self.declare_results()
        if not definition.body:
            raise context.fault(f"function '{definition.name.text}' has no statements", definition.name,
                                "assign each result, for example C(i) +=! A(i, j) * B(j)")
        self.plan(definition.body)
        for s in definition.body:
            for token in targets_of(s):
                check_name(context, token)
                if token.text in inputs or token.text in self.tensors.sizes:
                    what = "an input" if token.text in inputs else "a size"
                    raise context.fault(f"'{token.text}' is {what} and cannot be assigned", token, "choose another name")
                assigned.add(token.text)
            self.allowance.spend(OF_A_STATEMENT)
            for token, atom in self.given(s):
                self.env[token.text] = atom
        for token in definition.results:
            if token.text not in assigned:
                raise context.fault(f"result '{token.text}' of function '{definition.name.text}' is never assigned", token)

    def declare_results(self) -> None:
        for token in self.definition.results:
            if is_integer(token):
                self.tensors.whole.add(token.text)
            if type(token) is Typed and token.extents is not None:
                self.tensors.declared[token.text] = extents(self, token)

    def results(self) -> list[Atom]:
        """The results, under the names they have where the function is called."""
        atoms = [self.env[t.text] for t in self.definition.results]
        made = self.places({a for a in atoms if isinstance(a, Var)})
        for i, (token, atom) in enumerate(zip(self.definition.results, atoms, strict=True)):
            name = self.named.get(token.text)
            if name is not None and isinstance(atom, Var) and atom in made and atoms.index(atom) == i:
                e = self.equations[made[atom]]
                out = Var(name, False, atom.truth, atom.shape, False, atom.whole)
                if len(e.outs) == 1:
                    renamed(self.equations, made[atom], atom, out)
                    atoms = [out if a is atom else a for a in atoms]
        return atoms

    def places(self, wanted: set[Var]) -> dict[Atom, int]:
        """Where the equations of this call define values, the last ones first: a result seldom stands far before the end."""
        found: dict[Atom, int] = {}
        for i in range(len(self.equations) - 1, self.start - 1, -1):
            if len(found) == len(wanted):
                break
            if (out := self.equations[i].outs[0]) in wanted:
                found[out] = i
        return found


class TensorDefinition(TensorFunction):
    """A function of tensors whose definition is checked, with sizes for extents; nothing is kept of it.

    A call of another one gives values of the right shapes. They are found once for each shape of arguments, so checking costs
    what the text costs, however deep functions call functions.
    """

    def called_with(self, definition: Def, node: Call, args: list[Atom], names: Sequence[str | None]) -> list[Atom]:
        function = TensorDefinition(self.context, definition, [], {}, self.allowance)
        function.take(node, args)
        known, _ = function.dry_run(node, args)
        return [Var(n, True, a.truth, a.shape, a.integer, a.whole) if isinstance(a, Var) else a
                for a, n in zip([known[t.text] for t in definition.results], names, strict=True)]

    def dry_run(self, node: Call, args: list[Atom]) -> DryRun:
        """Lower it for a call whose arguments are taken."""
        key, definition = (self.definition.name.text, tuple(map(kind, args))), self.definition
        if key not in self.context.checked:
            if not self.allowance.allows(OF_A_STATEMENT * len(definition.body)):
                raise self.context.too_long(OF_A_STATEMENT * len(definition.body), node, self.allowance.spent)
            try:
                self.statements()
            except AdError as fault:
                raise self.in_call(fault, node) from None
            first = {e.span: e for e in reversed(self.equations)}
            anew = [span for span, e in first.items() if isinstance(e.op, Boxed) and e.op.onto is None]
            self.context.checked[key] = dict(self.env), frozenset(anew)
        return self.context.checked[key]


def kind(atom: Atom) -> tuple[object, ...]:
    """What of an argument decides how a function is lowered: its shape, and what an integer or a constant is."""
    if isinstance(atom, Lit):
        return (atom.bits,)
    return (atom.shape, atom.truth, atom.integer and not atom.shape and atom)


def renamed(equations: list[Equation], start: int, old: Var, new: Var) -> None:
    """Give a value another name, from the equation that makes it on."""
    for i in range(start, len(equations)):
        equations[i] = equations[i].substituted({old: new})


def declared(scope: EquationScope, token: Token) -> Var:
    """The input that a declaration makes; names in its extents become sizes."""
    if type(token) is not Typed:
        return Var(token.text)
    return Var(token.text, False, False, extents(scope, token, new=True), is_integer(token))

