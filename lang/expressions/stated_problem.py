"""`minimize`, `maximize` and `subject to`: what they compare becomes values of the program, and the record of a problem says how.

They are read after all other statements, wherever they stand, so that names have their last values. They change no output: a
value that only a condition reads stays one.
"""
from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Sequence

from adcli.lang.expressions.scope import EquationScope
from adcli.lang.ir import Atom, Lit, Param, shape_of
from adcli.lang.ir.errors import AdError, nearest
from adcli.lang.ir.names import Names
from adcli.lang.ir.problem import SideCondition, StatedProblem
from adcli.lang.syntax.actions import CONDITION
from adcli.lang.syntax.constants import NAMED_CONSTANTS
from adcli.lang.tree.nodes import Assign, Clause, Node, Objective, Relation, Statement, SubjectTo, Token, bare, names_of


class ProblemScope(EquationScope):
    """A scope that a problem is stated in: the program's own statements, of numbers or of tensors."""

    declared: dict[str, Param]
    assigned: set[str]
    unread: dict[str, Token]

    @abstractmethod
    def assigned_values(self, statement: Assign) -> list[tuple[Token, Atom]]:
        """Emit an assignment; what its targets get."""

    @abstractmethod
    def bind(self, token: Token, atom: Atom) -> None:
        """Give a name a value."""

    @abstractmethod
    def fail(self, statement: Statement, fault: AdError) -> None:
        """Record a fault."""

    def conditions(self, r: Relation, clauses: Sequence[Clause]) -> list[SideCondition]:
        """The conditions that a relation is: one, or one a comparison where they hold for other elements."""
        if clauses:
            raise self.context.fault("a where belongs to elements", clauses[0].nodes[0], "conditions on scalars have no indices")
        check_known(self, r.parts, [])
        return [condition(self, r, [value(self, n) for n in r.parts], [text_of(self, n) for n in r.parts])]


def stated_problem(scope: ProblemScope, statements: Sequence[Objective | SubjectTo]) -> StatedProblem:
    """The problem that statements say; faults go to the scope."""
    first: Objective | None = None
    name, conditions, unread = None, list[SideCondition](), dict(scope.unread)
    compared = [t.text for s in statements if isinstance(s, SubjectTo) for r in s.relations for t in names_of(*r.parts)]
    for s in statements:
        try:
            if isinstance(s, SubjectTo):
                for relation in s.relations:
                    for sign in relation.signs:
                        note_strict(scope, sign)
                    conditions += scope.conditions(relation, s.clauses)
                continue
            if first is not None:
                raise scope.context.fault("a second objective", s.word, "a problem has one: minimize a sum of both")
            first, (name, token) = s, objective(scope, s, compared)
            if token is not None:
                unread[name] = token
        except AdError as fault:
            scope.fail(s, fault)
    scope.unread = unread
    return StatedProblem(name, first is not None and first.word.text == "maximize", tuple(conditions))


def objective(scope: ProblemScope, s: Objective, compared: Collection[str]) -> tuple[str, Token | None]:
    """The output that is the objective, with its token where this makes it. It may be an input that is `compared` elsewhere."""
    node, context, token = bare(s.value), scope.context, None
    is_name = type(node) is Token and node.type == "NAME"
    check_known(scope, [node], [] if scope.declared else compared, certain=is_name)
    if type(node) is Token and is_name and (node.text in scope.assigned or node.text in context.broken):
        name = node.text
    else:
        name = Names({*context.tree.names, *scope.env}).fresh("objective")
        token = Token("NAME", name, s.value.start, s.value.end)
        for _, atom in scope.assigned_values(Assign([token], [s.value], s.start, s.end)):
            scope.bind(token, atom)
    if shape_of(scope.env.get(name, Lit(0.0))):
        raise context.fault("the objective is a tensor", s.value, f"write f +=! {context.text(node)}(i), and {s.word.text} f")
    return name, token


def note_strict(scope: ProblemScope, sign: Token) -> None:
    if sign.text in ("<", ">"):
        scope.context.note(f"'{sign.text}' means '{sign.text}=' in a condition: what is least may lie at the bound", sign)


def condition(scope: ProblemScope, r: Relation, parts: Sequence[Atom], texts: Sequence[str],
              first: tuple[str, ...] = ()) -> SideCondition:
    """A condition that some values can meet. AdError where none can, or all do."""
    numbers = [a.value for a in parts if isinstance(a, Lit)]
    source, span = scope.context.source, (r.parts[0].start, r.parts[-1].end)
    said = source.text[slice(*span)]
    if any(map(math.isnan, numbers)):
        raise AdError(f"'{said}': a bound is nan", span, "write a number, or inf where there is no bound", source)
    if len(numbers) == len(parts):
        raise AdError(f"'{said}' is of numbers alone", span, CONDITION, source)
    if any(never(a, sign.text, b) for a, sign, b in zip(parts, r.signs, parts[1:], strict=False)):
        raise AdError(f"'{said}' holds nowhere", span, "inf is a bound above, and -inf one below, where there is none", source)
    low, high = numbers[::-1] if r.signs[0].text[0] == ">" and len(numbers) == 2 else [*numbers, 0.0, 0.0][:2]
    if len(parts) == 3 and len(numbers) == 2 and low > high and parts[1] not in numbers:
        raise AdError(f"'{said}' holds nowhere: {low!r} is more than {high!r}", span, "write the lower bound first", source)
    signs = tuple(f"{source.text[a.end:b.start]}" for a, b in zip(r.parts, r.parts[1:], strict=False))
    return SideCondition(tuple(parts), signs, tuple(texts), first)


def never(left: Atom, sign: str, right: Atom) -> bool:
    """True for an infinite bound that no number meets."""
    least, most = (right, left) if sign[0] == ">" else (left, right)
    ends = [a.value if isinstance(a, Lit) else 0.0 for a in (least, most)]
    return ends[0] == math.inf or ends[1] == -math.inf or (sign == "==" and math.inf in map(abs, ends))


def value(scope: ProblemScope, node: Node) -> Atom:
    """The value of a part of a condition."""
    ((_, atom),) = scope.assigned_values(Assign([Token("NAME", "_", node.start, node.end)], [node], node.start, node.end))
    if getattr(atom, "truth", False):
        raise scope.context.fault(f"'{scope.context.text(node)}' is a truth value", node,
                                  f"a condition compares numbers: write ({scope.context.text(node)} ? 1 : 0)")
    return atom


def check_known(scope: ProblemScope, roots: Sequence[Node], indices: Collection[str], certain: bool = False) -> None:
    """AdError for a name without a value, where inputs are declared. Elsewhere it is an input, as in any statement."""
    known = {*scope.env, *scope.tensors.sizes, *indices}
    for token in names_of(*roots) if scope.declared or certain else ():
        if token.text not in known and token.text not in NAMED_CONSTANTS and token.text not in scope.context.broken:
            raise scope.context.fault(f"no value '{token.text}' in the program", token, nearest(token.text, sorted(known))
                                      or f"assign it: {token.text} = ..., or declare it: input {token.text}")


def text_of(scope: ProblemScope, node: Node) -> str:
    return " ".join(scope.context.source.text[node.start:node.end].split())
