"""Lines of one shape to equations: lowered once, and then repeated.

The model of a Shape is lowered as the body of a function of its words would be (`FunctionScope`). What comes of it is kept as
steps over a list of values: first those of the words, then what the steps make. A line to which that does not apply (a truth
value where others have a number, a constant by its name) is lowered by itself.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import itemgetter

from adcli.lang.expressions.inline import POW, Template, specialised
from adcli.lang.expressions.scope import Context, EquationScope, FunctionScope
from adcli.lang.ir import Atom, Atoms, Equation, Lit, Primitive, Var
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.records import value_record
from adcli.lang.syntax.constants import NAMED_CONSTANTS, number
from adcli.lang.tree.nodes import Call, Def, KnownLine, LongLine, Shape, ShapedLine, Token, names_of

Place = tuple[int, int]
"""Where something stands in a line: how many words come before it, and what is to be added to their length."""
Step = tuple[Primitive | Template, bool, Callable[[Sequence[Atom]], Atoms], Place, Place]
"""An operation or a call, whether its result is a truth value, the arguments among the values, and the span."""

NUMBER, MINUS = "", "-"
"""What stands before a word that is a number: its sign is a part of it."""
KINDS = {"r": False, "t": True, None: None}
"""Whether the name is that of a truth value, by the letter of signatures."""


@value_record
class Recipe:
    """How lines of a shape become equations. `words` says of each word behind the target what it must be: the sign of a number,
    or whether a name must stand for a truth value (None: for either)."""

    words: tuple[str | bool | None, ...]
    steps: tuple[Step, ...]


class Recipes:
    """Lines being lowered in a scope as their like are; `unread` are the names in it that have not been read."""

    def __init__(self, scope: EquationScope, unread: dict[str, Token]) -> None:
        self.scope, self.unread = scope, unread
        self.known: dict[Shape, Recipe | None] = {}
        self.literals: dict[str, Lit] = {}   # by their texts

    def value(self, line: KnownLine) -> Atom | None:
        """The value of a line, whose equations go to the scope; None, and no equations, where it is to be lowered by itself."""
        target = line.words[0] if line.words[0] != "_" else None
        if isinstance(line, LongLine):
            return self.joined(line, target)
        assert isinstance(line, ShapedLine)
        known = self.read(line)
        return self.lower(line, known[0], known[1], target) if known else None

    def joined(self, line: LongLine, target: str | None) -> Atom | None:
        """The value of a line of pieces."""
        pieces = [step for step in line.steps if isinstance(step, ShapedLine)]
        known = [found for piece in pieces if (found := self.read(piece)) and not is_truth(*found)]
        if len(known) < len(pieces):
            return None
        there, stack, last = iter(known), list[Atom](), line.steps[-1]
        for step in line.steps:
            if isinstance(step, ShapedLine):
                how, values = next(there)
                stack.append(self.lower(step, how, values, None))
                continue
            right, left = stack.pop(), stack.pop()
            stack += self.scope.emit(TABLE[step[0]], (left, right), step[1:], (target if step is last else None,))
        return stack[0]

    def read(self, line: ShapedLine) -> tuple[Recipe, list[Atom]] | None:
        """How a line is lowered, and the values of its words; None where it is to be lowered by itself."""
        if line.shape not in self.known:
            self.known[line.shape] = recipe(self.scope.context, line.shape)
        how = self.known[line.shape]
        values = how and self.leaves(line.words, how.words)
        return (how, values) if how and values else None

    def lower(self, line: ShapedLine, how: Recipe, values: list[Atom], target: str | None) -> Atom:
        """The value that comes of the `values` of the words of a line."""
        if not how.steps:
            return values[0]
        scope, last, words = self.scope, how.steps[-1], line.words
        equations, fresh = scope.equations, scope.context.fresh
        before = list(accumulate(map(len, words), initial=line.start))
        for step in how.steps:
            op, truth, arguments, (first, start), (behind, end) = step
            args, span = arguments(values), (before[first] + start, before[behind] + end)
            name = target if step is last else None
            if isinstance(op, Template):
                values += scope.inline(op, list(args), Call(op.name, [], *span), [name])
                continue
            row = specialised(op, args, span, scope.context.source) if op is POW or op.static else op
            out = Var(fresh(), True, truth) if name is None else Var(name, False, truth)
            equations.append(Equation((out,), row, args, span))
            values.append(out)
        return values[-1]

    def leaves(self, words: list[str], kinds: tuple[str | bool | None, ...]) -> list[Atom] | None:
        """The values of the words behind the target, where all are of the kinds wanted."""
        values: list[Atom] = []
        env, read, literals = self.scope.env, self.unread.pop, self.literals
        for word, wanted in zip(words[1:], kinds, strict=True):
            if type(wanted) is str:
                values.append(literals.get(wanted + word) or self.constant(wanted, word))
                continue
            atom = env.get(word)
            if atom is None:
                if word in NAMED_CONSTANTS:
                    return None
                atom = self.scope.unbound(Token("NAME", word, 0, 0))
            if wanted is not None and (type(atom) is Var and atom.truth) is not wanted:
                return None
            read(word, None)
            values.append(atom)
        return values

    def constant(self, sign: str, digits: str) -> Lit:
        """The constant that a number in a line is, made once."""
        value = number(Token("NUMBER", digits, 0, 0), self.scope.context.source)
        return self.literals.setdefault(sign + digits, Lit(-value if sign else value))


def recipe(context: Context, shape: Shape) -> Recipe | None:
    """How lines of a shape are lowered, where they can be together."""
    value, word_at = shape.model.values[0], {start: k for k, (start, _) in enumerate(shape.words)}
    names = names_of(value)
    scope = FunctionScope(context, Def(shape.model.targets[0], names, [], [], None, 0, 0, 0))
    try:
        result = scope.value(value)
    except AdError:
        return None
    made = [v for step in scope.body for v in step.outs]
    constants = [a for a in (result, *(a for step in scope.body for a in step.args)) if type(a) is Lit]
    words: list[str | bool | None] = [NUMBER] * len(shape.words)
    place: dict[Atom, int] = {}   # of an atom among the values
    for token, param in zip(names, scope.params, strict=True):
        place[param] = word_at[token.start] - 1
        words[word_at[token.start]] = KINDS[scope.kinds[param]]
    for lit in constants:   # whose value says which word it is
        place[lit] = int(abs(lit.value)) - 1
        words[int(abs(lit.value))] = NUMBER if lit.value > 0 else MINUS
    place.update((v, len(shape.words) - 1 + k) for k, v in enumerate(made))
    steps: list[Step] = []
    for step in scope.body:
        (out,), (start, end) = step.outs, step.span or (0, 0)
        op = step.op if isinstance(step, Equation) else step.template
        steps.append((op, out.truth, picked([place[a] for a in step.args]), shape.place(start), shape.place(end)))
    return Recipe(tuple(words[1:]), tuple(steps))


def is_truth(how: Recipe, values: list[Atom]) -> bool:
    """Whether what comes of these values is a truth value."""
    return how.steps[-1][1] if how.steps else type(values[0]) is Var and values[0].truth


def picked(places: list[int]) -> Callable[[Sequence[Atom]], Atoms]:
    """What takes the values at some places."""
    if len(places) > 1:
        return itemgetter(*places)
    first = places[0] if places else 0
    return (lambda values: (values[first],)) if places else lambda values: ()
