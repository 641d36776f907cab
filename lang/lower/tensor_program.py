"""The statements of a program that has tensors."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adcli.lang.expressions.assignments import check_name, check_signature
from adcli.lang.expressions.scope import Context
from adcli.lang.ir import Atom, Param, Program, Result, Var
from adcli.lang.ir.errors import AdError, Fix
from adcli.lang.ir.problem import SideCondition
from adcli.lang.lower.program import MainScope
from adcli.lang.lower.tensor_library import named_in
from adcli.lang.lower.tensor_scope import TensorDefinition, TensorFunction, TensorScope, declared
from adcli.lang.operations.limits import OF_A_STATEMENT
from adcli.lang.simplify.sum_order import contracted
from adcli.lang.statements.comprehension_body import counted
from adcli.lang.syntax.chain import level
from adcli.lang.tree.nodes import (
    Assign,
    Call,
    Clause,
    Def,
    For,
    Item,
    KnownLine,
    Node,
    Relation,
    Statement,
    TensorAssign,
    Token,
    TupleAssign,
    Typed,
    postorder,
    targets_of,
    within,
)
from adcli.lang.tree.notation import ATOM, PRODUCT, enclosed


class MainTensors(MainScope, TensorScope):
    """The program's own statements, those of tensors and loops among them."""

    def __init__(self, context: Context, lines: Sequence[Statement | KnownLine] = ()) -> None:
        super().__init__(context, lines)
        context.choices = named_in(context.tree)
        context.tensors |= {name: choices[0] for name, choices in context.choices.items()}
        context.sizes |= {name: max(unfolded(context, d) for d in choices) for name, choices in context.choices.items()}

    @property
    def plain(self) -> bool:
        return not self.shaped and not self.context.tensors

    def program(self) -> Program | None:
        self.plan(self.tree.statements)
        return super().program()

    def function(self) -> Program | None:
        """The program that a single function of tensors is."""
        definition, source = self.tree.statements[0], self.tree.source
        assert isinstance(definition, Def)
        function = TensorFunction(self.context, definition, self.equations, {})
        try:
            check_signature(self.context, definition)
            params = function.program()
            for token in definition.results:
                self.check_real(token, function.env[token.text])
        except AdError as fault:
            self.faults.append(fault)
            return None
        results = tuple(Result(t.text, function.env[t.text]) for t in definition.results)
        return Program(tuple(params), tuple(self.equations), results, replace(source, definition=definition.name.text),
                       tuple(self.context.notes))

    def finished(self, program: Program) -> Program:
        return contracted(program)

    def statement(self, statement: Statement) -> None:
        if not isinstance(statement, TensorAssign | TupleAssign | For):
            super().statement(statement)
            return
        self.check_targets(statement)
        before = [self.env.get(token.text) for token in targets_of(statement)]
        for token, atom in self.given(statement):
            if not isinstance(statement, For) and (not isinstance(statement, TensorAssign) or self.goes_on(statement, before[0])):
                self.unread.pop(token.text, None)   # what it starts from is read
            self.bind(token, atom)
            if isinstance(statement, For) and token.text in self.read_wholly:
                del self.unread[token.text]

    def goes_on(self, s: TensorAssign, before: Atom | None) -> bool:
        """Whether a statement, which is emitted, goes on from the value that its target had."""
        return not s.symbol.endswith("!") or bool(self.equations and before in self.equations[-1].args)

    def check_targets(self, s: TensorAssign | TupleAssign | For) -> None:
        for token in targets_of(s):
            check_name(self.context, token)
            self.check_target(token)
            if token.text not in self.env and (isinstance(s, TupleAssign) or (isinstance(s, TensorAssign) and s.subscripts)):
                self.note_hidden(token)
        if isinstance(s, TensorAssign) and s.subscripts is None and s.symbol in ("+=", "*=") and not (s.clauses or self.shaped):
            raise self.augmented(s)

    def assigned_values(self, statement: Assign) -> list[tuple[Token, Atom]]:
        return self.given(statement)

    def conditions(self, r: Relation, clauses: Sequence[Clause]) -> list[SideCondition]:
        from adcli.lang.lower.condition_elements import ConditionElements  # only for programs that state a problem
        return super().conditions(r, clauses) if self.plain else ConditionElements(self, r, clauses).conditions()

    def new_size(self, token: Token) -> None:
        """A size that no input carries is an input itself."""
        check_name(self.context, token)
        self.check_no_function(token)
        var = Var(token.text, integer=True)
        self.found[token.text] = Param(var, token.text)
        self.env[token.text] = var

    def augmented(self, statement: TensorAssign) -> AdError:
        """`x += 1`, where x is a number."""
        name, symbol = statement.target.text, statement.symbol
        at = self.context.source.text.index(symbol, statement.target.end)
        value = self.context.text(statement.value)
        help = f"write {name} = {name} {symbol[0]} {value}"
        fault = AdError(f"there is no '{symbol}'", (at, at + 2), help, self.context.source)
        if value != "...":
            text = f"{name} {symbol[0]} {enclosed((value, level(statement.value)), PRODUCT if symbol == '+=' else ATOM)}"
            fault.help, fault.fix = f"write {name} = {text}", Fix(statement.start, statement.end, f"{name} = {text}")
        return fault

    # Names.

    def check_target(self, token: Token) -> None:
        if token.text in self.tensors.sizes:
            raise self.context.fault(f"'{token.text}' is a size and cannot be assigned", token, "choose another name")
        super().check_target(token)

    def declare(self, item: Item, active: bool) -> None:
        name = item.name.text
        if name in self.tensors.sizes and name not in self.context.below:
            raise self.context.fault(f"'{name}' is a size and cannot be an input too", item.name,
                                     "choose another name for one of them")
        super().declare(item, active)

    def declared_input(self, token: Token) -> Var:
        if type(token) is not Typed:
            return Var(token.text)
        self.shaped = True
        self.note_hidden(token)
        var = declared(self, token)
        for node in token.extents or ():
            for inner in postorder(node):
                known = type(inner) is Token and (inner.text in self.env or inner.text == token.text) and inner.type == "NAME"
                if known and isinstance(inner, Token) and counted(self.env, inner.text) is None:
                    raise self.context.fault(f"'{inner.text}' is an input or a value and cannot be a size too", inner,
                                             "choose another name for one of them")
        return var

    def define(self, definition: Def) -> None:
        token, context = definition.name, self.context
        name = token.text
        if name in context.tensors:
            raise context.fault(f"function '{name}' is defined twice", token)
        if not definition.tensors or name in context.functions or name in self.declared or name in self.found:
            super().define(definition)
            return
        if definition.value is not None:   # of one line
            alone = Assign([token], [definition.value], definition.value.start, definition.end)
            definition = replace(definition, results=[token], body=[alone], value=None)
        check_signature(context, definition)
        TensorDefinition(context, definition, [], {}, context.checks).program()
        self.note_hidden(token)
        context.tensors[name], context.sizes[name] = definition, unfolded(context, definition)


def unfolded(context: Context, definition: Def) -> int:
    """The operations that a call of a function of tensors makes, counted on its text; a call is copied for each result."""
    count = 0
    for s in (s for outer in definition.body for s in within(outer) if not isinstance(s, For)):
        copies = len(s.targets) if isinstance(s, TupleAssign) and len(s.values) == 1 else 1
        called = [n.name for root in expressions(s) for n in postorder(root) if type(n) is Call]
        templates = [context.functions.get(name) for name in called]
        sizes = [t.size if t else context.sizes.get(name, 0) for t, name in zip(templates, called, strict=True)]
        count += OF_A_STATEMENT + copies * sum(sizes)
    return count


def expressions(s: Statement) -> list[Node]:
    """The expressions of a statement that assigns."""
    if not isinstance(s, TensorAssign | TupleAssign):
        return s.values if isinstance(s, Assign) else []
    values, subscripts = ([s.value], s.subscripts or []) if isinstance(s, TensorAssign) else \
        (s.values, [n for nodes in s.subscripts for n in nodes or ()])
    return [*values, *subscripts, *(n for c in s.clauses for n in c.nodes)]
