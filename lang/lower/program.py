"""Source tree to Program: statements, inputs, outputs and functions.

Reassignment becomes a new variable, user functions are inlined, a name read before it is assigned is an input and,
unless `output` says otherwise, a name whose last value is never read is an output. A statement with a fault does not
stop the others: its targets are poisoned and the faults are reported together.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from adcli.lang.expressions.assignments import assignment, check_name, check_signature, check_wanted
from adcli.lang.expressions.inline import Template, expand
from adcli.lang.expressions.scope import POISON, Context, FunctionScope
from adcli.lang.expressions.stated_problem import ProblemScope, stated_problem
from adcli.lang.ir import Atom, Param, Program, Result, Var
from adcli.lang.ir.errors import MOST_FAULTS, AdError, Fix, nearest
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.problem import StatedProblem
from adcli.lang.syntax.actions import read_line
from adcli.lang.syntax.constants import CONSTANTS_ELSEWHERE, NAMED_CONSTANTS, evaluated
from adcli.lang.tree.nodes import (
    Assign,
    Broken,
    Declare,
    DeclareOutputs,
    Def,
    For,
    Item,
    KnownLine,
    Objective,
    Statement,
    SubjectTo,
    TensorAssign,
    Token,
    Tree,
    TupleAssign,
    targets_of,
)
from adcli.lang.tree.notation import CONSTRAINTS, MATRIX_CALLS, OF_MATRICES

if TYPE_CHECKING:
    from adcli.lang.expressions.line_templates import Recipes


def functions(tree: Tree, library: Callable[[], Mapping[str, Template]]) -> dict[str, Template]:
    """The functions that a text of the library defines."""
    context = Context(tree, library, of_library=True)
    for statement in tree.statements:
        assert isinstance(statement, Def)
        context.functions[statement.name.text] = lower_function(context, statement)
    return context.functions


def is_function(tree: Tree) -> bool:
    """Whether the whole text is one function with a block, which then is the program."""
    return len(tree.statements) == 1 and isinstance(tree.statements[0], Def) and tree.statements[0].value is None


def lower_function(context: Context, definition: Def) -> Template:
    """The template of a definition."""
    name = definition.name
    check_signature(context, definition)
    scope = FunctionScope(context, definition)
    if definition.value is not None:
        return scope.template([(name.text, scope.value(definition.value))])
    assigned: set[str] = set()
    for statement in definition.body:
        assert isinstance(statement, Assign)
        for token, atom in assignment(scope, statement):
            scope.env[token.text] = atom
            assigned.add(token.text)
    for token in definition.results:
        if token.text not in assigned:
            raise context.fault(f"result '{token.text}' of function '{name.text}' is never assigned", token)
    return scope.template([(t.text, scope.env[t.text]) for t in definition.results])


class MainScope(ProblemScope):
    """The program's own statements, all of them of numbers."""

    declares = True

    def __init__(self, context: Context, lines: Sequence[Statement | KnownLine] = ()) -> None:
        super().__init__(context)
        self.tree = tree = context.tree
        self.lines = lines
        self.faults: list[AdError] = []
        self.declared: dict[str, Param] = {}
        self.found: dict[str, Param] = {}
        self.assigned: set[str] = set()
        self.unread: dict[str, Token] = {}   # last values not read so far, in order of their assignment
        self.outputs = [t for s in tree.statements if isinstance(s, DeclareOutputs) for t in s.names]
        self.output_names = {t.text for t in self.outputs}
        for statement in tree.statements:
            if isinstance(statement, Def):
                self.context.below.setdefault(statement.name.text, statement)
            elif isinstance(statement, Broken):
                self.context.broken |= statement.names

    @property
    def plain(self) -> bool:
        """Whether nothing so far is a tensor, a size, or a function of tensors."""
        return True

    def program(self) -> Program | None:
        if self.lines:
            self.by_lines()
        for statement in self.tree.statements if not self.lines else ():
            try:
                self.statement(statement)
            except AdError as fault:
                self.fail(statement, fault)
            if len(self.faults) >= MOST_FAULTS:
                return None
        problem = self.problem()
        results = self.results(problem)
        if self.faults:
            return None
        self.note_foreign()
        params = (*self.declared.values(), *self.found.values())
        return Program(params, tuple(self.equations), tuple(results), self.tree.source, tuple(self.context.notes), problem)

    def problem(self) -> StatedProblem | None:
        statements = [s for s in self.tree.statements if isinstance(s, Objective | SubjectTo)]
        return stated_problem(self, statements) if statements else None

    def by_lines(self) -> None:
        from adcli.lang.expressions.line_templates import Recipes  # only for long texts
        recipes = Recipes(self, self.unread)
        for line in self.lines:
            if isinstance(line, KnownLine):
                self.line(line, recipes)
            else:
                self.statement(line)
                if type(line) is Def:   # whose name an operation may have in what was lowered so far
                    recipes.known.clear()

    def function(self) -> Program | None:
        """The program that a single function with a block is."""
        definition = self.tree.statements[0]
        assert isinstance(definition, Def)
        try:
            template = lower_function(self.context, definition)
            for token, truth in zip(definition.params, template.truth, strict=True):
                if truth:
                    raise self.context.fault(f"input '{token.text}' is used as a truth value", token,
                                             "an input is a number")
            params = [Var(t.text) for t in definition.params]
            names = [(n, False) for n, _ in template.results]
            span = definition.span
            atoms = expand(template, list(params), list(names), span, self.equations, self.context.fresh,
                           self.tree.source)
            for token, atom in zip(definition.results, atoms, strict=True):
                self.check_real(token, atom)
        except AdError as fault:
            self.faults.append(fault)
            return None
        results = [Result(n, a) for (n, _), a in zip(template.results, atoms, strict=True)]
        return Program(tuple(Param(v, v.name or "") for v in params), tuple(self.equations), tuple(results),
                       self.tree.source, tuple(self.context.notes))

    def fail(self, statement: Statement, fault: AdError) -> None:
        """Record a fault; what the statement would have defined is no further fault."""
        self.faults.append(fault)
        if isinstance(statement, Assign | TensorAssign | TupleAssign | For):
            for token in targets_of(statement):
                self.unread.pop(token.text, None)
                self.assigned.add(token.text)
                self.env[token.text] = POISON
        elif isinstance(statement, Declare):
            for item in statement.items:
                self.env.setdefault(item.name.text, POISON)
        elif isinstance(statement, Def):
            self.context.broken.add(statement.name.text)

    def statement(self, statement: Statement) -> None:
        if type(statement) is Assign:
            for token in statement.targets:
                self.check_target(token)
            for token, atom in self.assigned_values(statement):
                self.bind(token, atom)
        elif isinstance(statement, Declare):
            for item in statement.items:
                self.declare(item, statement.keyword == "input")
        elif isinstance(statement, Def):
            self.define(statement)
        elif isinstance(statement, Broken):
            for name in statement.names:
                self.env[name] = POISON
                self.unread.pop(name, None)

    def assigned_values(self, statement: Assign) -> list[tuple[Token, Atom]]:
        return assignment(self, statement)

    def line(self, line: KnownLine, recipes: Recipes) -> None:
        """An assignment that is known by its shape: lowered as its like are where that is possible, else by itself."""
        atom = recipes.value(line) if self.plain else None
        if atom is None:
            self.statement(read_line(self.tree.source.text, line.start))
            return
        token = Token("NAME", line.words[0], line.start, line.start + len(line.words[0]))
        check_name(self.context, token)
        self.check_target(token)
        self.bind(token, atom)

    def finished(self, program: Program) -> Program:
        return program

    # Names.

    def read(self, token: Token) -> Atom:
        self.unread.pop(token.text, None)
        return super().read(token)

    def unbound(self, token: Token) -> Atom:
        if token.text in self.context.broken:
            return POISON
        self.check_no_function(token)
        var = Var(token.text)
        self.found[token.text] = Param(var, token.text)
        self.env[token.text] = var
        return var

    def check_no_function(self, token: Token) -> None:
        if token.text in self.context.below or token.text in self.context.functions:
            raise self.context.fault(f"'{token.text}' is a function and cannot be an input too", token,
                                     f"call it, {token.text}(...), or choose another name")

    def check_target(self, token: Token) -> None:
        if token.text in self.declared and token.text not in self.output_names:
            raise self.context.fault(f"'{token.text}' is an input and cannot be assigned", token,
                                     f"choose another name, or declare it as an output too: output {token.text}")

    def bind(self, token: Token, atom: Atom) -> None:
        name = token.text
        if name in NAMED_CONSTANTS and name not in self.env:
            self.context.note(f"'{name}' hides the constant of that name", token)
        before = self.unread.pop(name, None)
        if before is not None:
            self.context.note(f"the value assigned to '{name}' here is never used", before)
        self.env[name] = atom
        self.assigned.add(name)
        if name != "_":   # a value that is not wanted; it can be read, but is no output
            self.unread[name] = token

    def note_foreign(self) -> None:
        """Say which inputs may have been meant otherwise: a constant of another language, or a product."""
        suspects = [n for n in self.found if n in CONSTANTS_ELSEWHERE or not n.isascii()]
        if suspects:
            from adcli.lang.suggest.fixes import notes  # only where there are some
            self.context.notes += notes(self.with_names(suspects), suspects)

    def with_names(self, names: list[str]) -> Tree:
        """The tree, with those KnownLines that have one of these names."""
        tree, there = self.tree, set(names)
        read = [read_line(tree.source.text, s.start) if isinstance(s, KnownLine) else s for s in self.lines
                if not isinstance(s, KnownLine) or not there.isdisjoint(s.words)]
        return replace(tree, statements=read) if self.lines else tree

    # Declarations.

    def declare(self, item: Item, active: bool) -> None:
        token, context = item.name, self.context
        name = token.text
        check_name(context, token)
        self.check_no_function(token)
        if name in self.declared:
            raise context.fault(f"input '{name}' is declared twice", token, "remove one of the two declarations")
        if name in self.found or name in self.assigned:
            what = "read" if name in self.found else "assigned"
            raise context.fault(f"'{name}' is declared after it was {what}", token,
                                "declare inputs above their first use")
        if name in NAMED_CONSTANTS:
            context.note(f"'{name}' hides the constant of that name", token)
        source = context.source
        default, low, high = (None if n is None else evaluated(n, source) for n in (item.default, item.low, item.high))
        if low is not None and high is not None and item.low is not None and item.high is not None:
            if not low <= high:
                raise AdError(f"the range of '{name}' is empty", (item.low.start, item.high.end),
                              "write [smallest, largest]", source)
            outside = default is not None and not math.isnan(default) and not low <= default <= high
            if outside and item.default is not None:
                raise context.fault(f"the default of '{name}' is outside its range", item.default)
        var, word = self.declared_input(token), item.constraint
        if word is not None and word.text not in CONSTRAINTS:
            raise context.fault(f"no constraint '{word.text}'", word,
                                nearest(word.text, CONSTRAINTS) or f"write in [low, high], in {', in '.join(CONSTRAINTS)}")
        square = word is not None and word.text in OF_MATRICES
        if word is not None and (var.integer or len(var.shape) < 1 + square or (square and var.shape[-1] != var.shape[-2])):
            what, shape = ("square matrix", "K, K") if square else ("vector", "K")
            raise context.fault(f"'{name}' is no {what} of doubles, as in {word.text}, where {CONSTRAINTS[word.text]}", word,
                                f"write input {name}({shape}) in {word.text}")
        self.declared[name] = Param(var, name, default, low, high, active, constraint=word.text if word is not None else None)
        self.env[name] = var

    def declared_input(self, token: Token) -> Var:
        return Var(token.text)

    def define(self, definition: Def) -> None:
        token, context = definition.name, self.context
        name = token.text
        if name in context.functions:
            raise context.fault(f"function '{name}' is defined twice", token)
        if name in self.declared or name in self.found:
            raise context.fault(f"'{name}' is an input and cannot be a function too", token, "choose another name")
        template = lower_function(context, definition)
        self.note_hidden(token, name in TABLE and name != "pown")
        context.functions[name] = template

    def note_hidden(self, token: Token, hides: bool = False) -> None:
        """A note where a function or a tensor hides a function of the language."""
        if hides or token.text in MATRIX_CALLS:
            self.context.note(f"'{token.text}' hides the function of that name", token)

    # Outputs.

    def results(self, problem: StatedProblem | None) -> list[Result]:
        tokens = self.outputs or list(self.unread.values())
        if problem and problem.objective and problem.objective not in [t.text for t in tokens]:
            tokens = [*tokens, Token("NAME", problem.objective, 0, 0)]
        results: list[Result] = []
        seen: set[str] = set()
        for token in tokens:
            try:
                if token.text in seen:
                    raise self.context.fault(f"output '{token.text}' is named twice", token)
                seen.add(token.text)
                check_wanted(self.context, token)
                results.append(Result(token.text, self.output(token)))
            except AdError as fault:
                self.faults.append(fault)
        if not tokens and not self.faults and not (problem and self.tree.source.equations):
            self.faults.append(self.no_output())
        return results

    def output(self, token: Token) -> Atom:
        name = token.text
        if name not in self.assigned and self.env.get(name) is not POISON and name not in self.context.broken:
            if name in self.declared or name in self.found:
                raise self.context.fault(f"output '{name}' is an input and is never assigned", token)
            raise self.context.fault(f"output '{name}' is never assigned", token)
        atom = self.env.get(name, POISON)
        self.check_real(token, atom)
        return atom

    def check_real(self, token: Token, atom: Atom) -> None:
        if type(atom) is Var and atom.truth:
            value = next((s.values[0] for s in reversed(self.tree.statements)
                          if isinstance(s, Assign) and [t.text for t in s.targets] == [token.text]), None)
            text = "c" if value is None else self.context.text(value)
            fix = None if value is None or text == "..." else Fix(value.start, value.end, f"{text} ? 1 : 0")
            raise self.context.fault(f"output '{token.text}' is a truth value", token,
                                     f"an output is a number: write {text} ? 1 : 0", fix)

    def no_output(self) -> AdError:
        source = self.tree.source
        if not self.tree.statements:
            return AdError("the program is empty", None, "a program is a list of assignments, for example: v = x*y",
                           source)
        definition = next(iter(self.context.functions), None)
        if definition is not None and all(isinstance(s, Def) for s in self.tree.statements):
            names = ", ".join(p.name or "" for p in self.context.functions[definition].params)
            call = f"v = {definition}({names})"
            end, between = len(source.text.rstrip()), "\n" if "#" in source.text else "; "
            return AdError("the program only defines functions", None, f"call one: {call}", source,
                           fix=Fix(end, len(source.text), f"{between}{call}"))
        return AdError("the program has no output", None, "an output is a name assigned and never read: v = x*y", source)
