"""Expressions to equations.

A `Scope` is where expressions are lowered: the program itself or a function's body. It maps names to atoms, checks
kinds and argument counts, and emits one equation an operation, operands left to right and depth first, on an explicit
stack. Copies and constants emit nothing; a sign directly before a constant is part of the constant, and nothing else
is folded here.
"""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from adcli.lang.expressions.inline import POW, CallSite, Name, Template, expand, is_order, size, specialised
from adcli.lang.ir import Atom, Atoms, Equation, Lit, Primitive, Shape, Var
from adcli.lang.ir.errors import AdError, Fix, Note, Source, Span, plural
from adcli.lang.ir.names import Names
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.records import plain_record
from adcli.lang.ir.special_functions import DERIVED
from adcli.lang.ir.special_rows import DERIVATIVES
from adcli.lang.operations.limits import LIMIT, Allowance, quantity
from adcli.lang.syntax.constants import NAMED_CONSTANTS, number
from adcli.lang.tree.nodes import (
    LIST,
    Assign,
    Call,
    Declare,
    Def,
    For,
    Node,
    Op,
    TensorAssign,
    Token,
    Tree,
    TupleAssign,
    bare,
    names_in,
    postorder,
    targets_of,
    temporaries,
)
from adcli.lang.tree.notation import ALIASES, MATRIX_CALLS, TENSOR_CALLS

if TYPE_CHECKING:   # only for programs with tensors
    from adcli.lang.ir.affine import Affine
    from adcli.lang.operations.comprehension import Agreement
    from adcli.lang.sizes.histories import Gappy, WrittenElements

HIDDEN = ("pown", "dup")
"""Rows that are no functions of the language."""

TRUTHS = {"true": "1 == 1", "True": "1 == 1", "TRUE": "1 == 1", "false": "1 != 1", "False": "1 != 1", "FALSE": "1 != 1"}
"""Constants of other languages."""

POISON = Var("?")
"""The value of a name whose own statement has a fault; whatever is done with it is no further fault."""


@plain_record
class CallShapes:
    """What a call makes of a function: its sizes, what must agree, the shapes of all that it assigns, and the spans of the
    statements that write a tensor anew, of whose elements before none stays."""

    sizes: Mapping[str, Affine]
    agreements: Sequence[Agreement]
    shapes: Mapping[str, Shape]
    anew: Collection[Span | None]


DryRun = tuple[Mapping[str, Atom], Collection[Span | None]]
"""All that a function of tensors assigns, and the spans of statements that write a tensor anew."""


@plain_record
class Context:
    """What all scopes of a program share. `library` gives the functions that need no definition and are no operations;
    `of_library`: the text is the library's own."""

    tree: Tree
    library: Callable[[], Mapping[str, Template]]
    of_library: bool = False
    fresh: Callable[[], str] = field(init=False)
    functions: dict[str, Template] = field(default_factory=dict)
    tensors: dict[str, Def] = field(default_factory=dict)
    choices: Mapping[str, Sequence[Def]] = field(default_factory=dict)   # of functions of tensors that the text does not define
    below: dict[str, Def] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    notes: list[Note] = field(default_factory=list)
    remarked: set[tuple[str, Span | None]] = field(default_factory=set)
    allowance: Allowance = field(default_factory=Allowance)   # of the program
    checks: Allowance = field(default_factory=Allowance)      # of definitions, which are checked whether they are called or not
    sizes: dict[str, int] = field(default_factory=dict)  # of functions of tensors, unfolded
    checked: dict[tuple[object, ...], DryRun] = field(default_factory=dict)   # of functions of tensors, by their arguments
    local_names: Names | None = None   # for what a call of a function assigns

    def __post_init__(self) -> None:
        self.fresh = temporaries(self.tree)

    @property
    def source(self) -> Source:
        return self.tree.source

    def local_name(self, hint: str) -> str:
        """A name that the text has not, for what a call of a function assigns."""
        if self.local_names is None:
            self.local_names = Names(self.tree.names)
        return self.local_names.fresh(hint)

    def fault(self, message: str, at: Node, help: str | None = None, fix: Fix | None = None) -> AdError:
        return AdError(message, at.span, help, self.source, fix=fix)

    def too_long(self, operations: int, node: Call, spent: int) -> AdError:
        """What is said of a call for which too little is left; `operations` are those of the function unfolded, and as many are
        `spent`."""
        what = f"'{node.name}' makes" if operations > LIMIT else "the functions called up to here make"
        count = operations + (0 if operations > LIMIT else spent)
        return self.fault(f"unfolded, {what} {quantity(count)} operations; the limit of a program is {LIMIT:,}", node,
                          "every call copies the function: give its result a name and use that instead of calling again")

    def note(self, said: str, at: Token | Span | None) -> None:
        """Add a note, once: a statement may be looked at several times."""
        span = at.span if isinstance(at, Token) else at
        if (said, span) not in self.remarked:
            self.remarked.add((said, span))
            self.notes.append(Note(said, span, self.source))

    def text(self, node: Node, most: int = 40) -> str:
        text = self.source.text[node.start:node.end]
        return text if len(text) <= most and "\n" not in text else "..."


@plain_record
class Tensors:
    """What a scope knows of tensors besides its values: sizes by name, shapes declared for results and which of them hold whole
    numbers, functions of tensors.

    `pending` are agreements of extents that the next comprehension takes along; `inlined`: its names are those of a function that
    is called. `histories` are the tensors that loops of the block assign, with all elements that statements of it write one by
    one or step by step, and `written` says of their values which are written so far; `headers` are the names in the ranges of
    loops, which are sizes, with what finds them.
    """

    sizes: dict[str, Affine] = field(default_factory=dict)
    declared: dict[str, Shape] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)
    pending: list[Agreement] = field(default_factory=list)
    histories: dict[str, WrittenElements] = field(default_factory=dict)
    written: dict[Atom, Gappy] = field(default_factory=dict)
    headers: Mapping[str, Callable[[Token], Affine]] = field(default_factory=dict)
    inlined: bool = False


class Scope(ABC):
    """Names and equations of a program or of a function's body."""

    declares = False
    """Whether inputs may be declared here."""
    definition: Def | None = None
    """The function whose body this is."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.env: MutableMapping[str, Atom] = {}
        self.numbers: dict[str, Lit] = {}   # of this expression, by their texts
        self.written: set[Atom] = set()     # constants that stand in the text of this expression

    # What the two kinds of scope do differently.

    def unbound(self, token: Token) -> Atom:
        """The value of a name that has none yet and is no constant."""
        if token.text in self.context.broken:
            return POISON
        name = self.definition.name.text if self.definition else ""
        raise self.context.fault(f"function '{name}' has no parameter '{token.text}'", token,
                                 "a function sees only its parameters; pass the value as one")

    @abstractmethod
    def emit(self, op: Primitive, args: Atoms, span: Span, names: tuple[str | None, ...]) -> tuple[Var, ...]:
        """The results of an operation."""

    @abstractmethod
    def inline(self, template: Template, args: list[Atom], node: Call, names: list[str | None]) -> list[Atom]:
        """The results of a function in the place of its call."""

    def kind(self, atom: Atom, wanted: str) -> bool:
        """Whether an atom is of the kind wanted, 'r' or 't'."""
        return atom is POISON or (type(atom) is Var and atom.truth) == (wanted == "t")

    # Expressions.

    def value(self, root: Node, name: str | None = None) -> Atom:
        """Emit an expression; `name` goes to the equation that makes its value, if one does."""
        top, positive = bare(root), False
        while type(top) is Op and top.name == "pos":
            top, positive = bare(top.args[0]), True
        stack: list[Atom] = []
        for node in postorder(top):
            if type(node) is Token:
                stack.append(self.leaf(node))
                continue
            assert not isinstance(node, Token)
            split = len(stack) - len(node.args)
            args = stack[split:]
            del stack[split:]
            stack.append(self.apply(node, args, name if node is top else None))
        if positive:
            self.require("r", stack[0], top)
        self.numbers.clear()
        self.written.clear()
        return stack[0]

    def leaf(self, token: Token) -> Atom:
        if token.type != "NUMBER":
            return self.read(token)
        if token.text not in self.numbers:   # a long expression has the same few again and again
            self.numbers[token.text] = self.literal(number(token, self.context.source))
        return self.numbers[token.text]

    def literal(self, value: float) -> Lit:
        lit = Lit(value)
        self.written.add(lit)
        return lit

    def read(self, token: Token) -> Atom:
        atom = self.env.get(token.text)
        if atom is not None:
            return atom
        if token.text in NAMED_CONSTANTS:
            return self.literal(NAMED_CONSTANTS[token.text])
        return self.unbound(token)

    def apply(self, node: Op | Call, args: list[Atom], name: str | None) -> Atom:
        if type(node) is Call:
            atom = self.call(node, args, [name])[0]
            return Lit(atom.value) if type(atom) is Lit else atom   # a result is no constant of the text: -f(2) negates
        if node.name == "pos":
            self.require("r", args[0], node.args[0])
            return args[0]
        if node.name == "neg" and args[0] in self.written:
            return self.literal(-args[0].value)  # type: ignore[union-attr]  # `written` holds Lits
        if node.name == "rem":
            raise self.remainder(node)
        return self.operation(TABLE[node.name], node, args, name)

    def operation(self, row: Primitive, node: Op | Call, args: list[Atom], name: str | None) -> Var:
        """One equation, its arguments checked."""
        signature, last = row.signature, row.arity - 1
        for i, atom in enumerate(args):
            wanted = signature[i if i < last else last]
            if not self.kind(atom, wanted):
                raise self.mismatch(wanted, node.args[i])
        given = tuple(args)
        return self.emit(self.row_for(row, given, node), given, node.span, (name,))[0]

    def row_for(self, row: Primitive, args: Atoms, node: Op | Call) -> Primitive:
        if row is POW or row.static:
            place = node.args[next((i for i in row.static if not is_order(row, i, args[i])), 0)]
            return specialised(row, args, place.span, self.context.source)
        return row

    def require(self, wanted: str, atom: Atom, node: Node) -> None:
        if not self.kind(atom, wanted):
            raise self.mismatch(wanted, node)

    def mismatch(self, wanted: str, node: Node) -> AdError:
        text = self.context.text(bare(node))
        if wanted == "r":
            return self.context.fault("a truth value used as a number", node, f"write {text} ? 1 : 0")
        if text in TRUTHS:
            return self.context.fault(f"there is no constant '{text}'", node, f"write {TRUTHS[text]}",
                                      Fix(node.start, node.end, TRUTHS[text]))
        return self.context.fault("a number used as a truth value", node, f"compare it, for example {text} != 0")

    def remainder(self, node: Op | Call) -> AdError:
        """`%` is an operator of tensor comprehensions only; of numbers it is a function."""
        from adcli.lang.syntax.foreign import wrong_character  # only after a fault
        at = self.context.source.text.find("%", node.args[0].end)
        fault = wrong_character(Token("BAD", "%", at, at + 1), self.context.source)
        text = f"mod({', '.join(self.context.source.text[a.start:a.end] for a in node.args)})"
        fault.help, fault.fix = f"write {text}", Fix(node.start, node.end, text)
        return fault

    # Calls.

    def call(self, node: Call, args: list[Atom], names: list[str | None]) -> list[Atom]:
        """The results of a call, one for each of `names`."""
        context = self.context
        template = context.functions.get(node.name)
        if template is None:
            if node.name in context.broken or self.env.get(node.name) is POISON:   # a tensor, but for its fault
                return [POISON] * len(names)
            if node.name in context.below:
                raise self.too_early(node)
            row = TABLE.get(ALIASES.get(node.name, node.name))
            if row is not None and row.name not in HIDDEN:
                return [self.row_call(row, node, args, names)]
            if node.name == "dup":
                inner = ", ".join(context.text(a) for a in node.args)
                raise context.fault("'dup' gives two results", node, f"write (a, b) = dup({inner}) as a statement")
            template = context.library().get(node.name)
        if template is None:
            raise self.unknown(node)
        self.check_count(node, len(template.params), len(template.params))
        for i, truth in enumerate(template.truth):
            self.require("t" if truth else "r", args[i], node.args[i])
        self.check_results(node, len(template.results), len(names))
        return self.inline(template, args, node, names)

    def row_call(self, row: Primitive, node: Call, args: list[Atom], names: list[str | None]) -> Var:
        self.check_count(node, row.arity, None if row.variadic else row.arity)
        self.check_results(node, 1, len(names))
        return self.operation(row, node, args, names[0])

    def check_count(self, node: Call, least: int, most: int | None) -> None:
        given = len(node.args)
        if given < least or (most is not None and given > most):
            wanted = plural(least, "argument") + ("" if most is not None else " or more")
            raise self.context.fault(f"'{node.name}' takes {wanted}, not {given}", node, *self.instead(node))

    def check_results(self, node: Call, given: int, wanted: int) -> None:
        if given != wanted:
            names = ", ".join("abcdefghij"[:given]) if given <= 10 else "..."
            help = f"write ({names}) = {self.context.text(node)}" if given > 1 else None
            raise self.context.fault(f"'{node.name}' gives {plural(given, 'result')}, {wanted} wanted here", node, help)

    def too_early(self, node: Call) -> AdError:
        if self.definition and node.name == self.definition.name.text:
            return self.context.fault(f"function '{node.name}' calls itself", node_name(node), "recursion is not possible")
        if node.name in self.context.tensors:
            return self.context.fault(f"'{node.name}' is a function of tensors and cannot stand in this expression",
                                      node_name(node), f"give its result a name first: C = {node.name}(...)")
        return self.context.fault(f"function '{node.name}' is called above its definition", node_name(node),
                                  "move its def up; a function may call only functions defined above it")

    def unknown(self, node: Call) -> AdError:
        if node.name == LIST:
            return self.context.fault("a list of elements is a statement of its own", node,
                                      "write k = [1, -2, 1], and k where you need it")
        name = node.name
        if name in value_names(self.context.tree) or name in self.env:
            what = "a value" if name in assigned_names(self.context.tree) else "an input"
            if not node.args:
                from adcli.lang.suggest.suggestions import without_parentheses  # only after a fault
                return self.context.fault(f"'{name}' is {what}, not a function", node, *without_parentheses(node))
            inner = self.context.text(Token("", "", node.start + len(name), node.end))
            return self.context.fault(f"'{name}' is {what}, not a function", node_name(node),
                                      f"write {name}*{inner if inner != '...' else '(...)'}",
                                      Fix(node.start + len(name), node.start + len(name), "*"))
        if name in TENSOR_CALLS:
            help, fix = self.instead(node)
            args, about = TENSOR_CALLS[name]
            tensors = name in self.context.choices
            said = f"'{name}' is not defined for these arguments" if tensors else f"unknown function '{name}'"
            raise self.context.fault(said, node_name(node), help or f"it is {name}({args}): {about}", fix)
        if name in MATRIX_CALLS:
            help, fix = self.instead(node)
            return self.context.fault(f"'{name}' takes tensors by name", node_name(node),
                                      help or f"declare them, for example input A(N, N), and write X = {name}(...)", fix)
        known = [n for n in (*TABLE, *ALIASES, *MATRIX_CALLS, *TENSOR_CALLS, *self.context.functions, *self.context.library())
                 if n not in (*HIDDEN, *DERIVED, *DERIVATIVES) and "#" not in n]
        return self.context.fault(f"unknown function '{name}'", node_name(node), *self.instead(node, known))

    def instead(self, node: Call, known: Collection[str] = ()) -> tuple[str | None, Fix | None]:
        """What to write for a call that the language does not have, in words and as a change; `known` are functions that may be
        meant."""
        from adcli.lang.suggest.suggestions import instead  # only after a fault
        return instead(self.context.tree, node, self.values(), self.declares, known) or (None, None)

    def values(self) -> Mapping[str, Atom]:
        """The values that the text has here, by name."""
        return self.env

    def has_meaning(self, name: str) -> bool:
        """Whether a name is that of a value or a function here."""
        return name in self.values() or self.is_function(name)

    def is_function(self, name: str) -> bool:
        """Whether a call may have this name, or only a fault elsewhere is why it has no meaning."""
        c = self.context
        return (any(name in known for known in (TABLE, ALIASES, c.functions, c.below, c.broken)) or name in c.library()
                or self.env.get(name) is POISON)


def node_name(node: Call) -> Token:
    """The name of the function that a call calls."""
    return Token("NAME", node.name, node.start, node.start + len(node.name))


def assigned_names(tree: Tree) -> set[str]:
    targets = {t.text for s in tree.statements if type(s) is Assign for t in s.targets}
    return targets | {t.text for s in tree.statements if type(s) in (TensorAssign, TupleAssign, For) for t in targets_of(s)}


def value_names(tree: Tree) -> set[str]:
    """Every name that the program's own statements use as a value; for diagnostics."""
    names = assigned_names(tree)
    for statement in tree.statements:
        if type(statement) is Assign:
            names |= {*names_in(*statement.values)}
        elif type(statement) is Declare:
            names |= {item.name.text for item in statement.items}
    return names


class FunctionScope(Scope):
    """The body of a `def`: sees its parameters and nothing else; makes a Template."""

    def __init__(self, context: Context, definition: Def) -> None:
        super().__init__(context)
        self.definition = definition
        self.body: list[Equation | CallSite] = []
        self.params = tuple(Var(p.text, True) for p in definition.params)
        self.kinds: dict[Atom, str | None] = dict.fromkeys(self.params)
        self.env.update((p.text, v) for p, v in zip(definition.params, self.params, strict=True))

    def kind(self, atom: Atom, wanted: str) -> bool:
        """A parameter is of the kind that its first use wants."""
        if atom not in self.kinds:
            return super().kind(atom, wanted)
        if self.kinds[atom] is None:
            self.kinds[atom] = wanted
        return self.kinds[atom] == wanted

    def row_for(self, row: Primitive, args: Atoms, node: Op | Call) -> Primitive:
        """A parameter may turn out to be a constant where the function is called."""
        return row if any(args[i] in self.kinds for i in row.static) else super().row_for(row, args, node)

    def emit(self, op: Primitive, args: Atoms, span: Span, names: tuple[str | None, ...]) -> tuple[Var, ...]:
        outs = tuple([Var(name, True, op.truth) for name in names])
        self.body.append(Equation(outs, op, args, span))
        return outs

    def inline(self, template: Template, args: list[Atom], node: Call, names: list[str | None]) -> list[Atom]:
        outs = tuple(Var(name, True, truth) for name, truth in zip(names, template.truths, strict=True))
        self.body.append(CallSite(template, tuple(args), outs, node.span))
        return list(outs)

    def template(self, results: list[tuple[str, Atom]]) -> Template:
        truths = tuple(not self.kind(a, "r") if a in self.kinds else type(a) is Var and a.truth for _, a in results)
        truth = tuple(self.kinds[v] == "t" for v in self.params)
        assert self.definition is not None
        return Template(self.definition.name.text, self.params, truth, tuple(self.body), tuple(results), truths,
                        size(self.body), self.context.of_library)


class EquationScope(Scope):
    """The program itself, as far as its expressions go: equations with names, calls unfolded at the cost of an allowance."""

    def __init__(self, context: Context, allowance: Allowance | None = None) -> None:
        super().__init__(context)
        self.equations: list[Equation] = []
        self.allowance = allowance or context.allowance
        self.tensors = Tensors()

    def emit(self, op: Primitive, args: Atoms, span: Span, names: tuple[str | None, ...]) -> tuple[Var, ...]:
        fresh = self.context.fresh
        outs = tuple([Var(fresh(), True, op.truth) if n is None else Var(n, False, op.truth) for n in names])
        self.equations.append(Equation(outs, op, args, span))
        return outs

    def called(self, node: Node) -> Node:
        """What stands for a call of a function of tensors."""
        return node

    def unfold(self, operations: int, node: Call) -> None:
        """Take the operations of a call from the allowance. AdError where they are too many."""
        if not self.allowance.allows(operations):
            raise self.context.too_long(operations, node, self.allowance.spent)
        self.allowance.spend(operations)

    def inline(self, template: Template, args: list[Atom], node: Call, names: list[str | None]) -> list[Atom]:
        self.unfold(template.size, node)
        wanted: list[Name] = [None if n is None else (n, False) for n in names]
        return expand(template, args, wanted, node.span, self.equations, self.context.fresh,
                      self.context.source)


class CallingScope(EquationScope):
    """A scope whose statements may be loops and call functions of tensors."""

    @abstractmethod
    def size_of_step(self, token: Token) -> Affine:
        """A size in the range of a loop; a name that has no meaning yet becomes one."""

    @abstractmethod
    def called_definition(self, node: Call, args: Sequence[Atom]) -> Def:
        """The function of tensors that a call with these arguments calls. AdError where there is none."""

    @abstractmethod
    def check_calls(self, root: Node, has_meaning: Callable[[str], bool]) -> None:
        """AdError at the first call in an argument that is none of a function or a tensor."""

    @abstractmethod
    def call_shapes(self, definition: Def, node: Call, args: list[Atom]) -> CallShapes:
        """The shapes that a function of tensors makes of arguments of these shapes, without its equations."""
