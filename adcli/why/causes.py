"""The words for what made a NaN, an infinity or a zero: one sentence a cause, with the operands as the user wrote them."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from adcli.answers.cause_texts import FORMS, HOW, PARTIALS, PRODUCTS, SENTENCES, TERMS
from adcli.answers.diagnose import described, few, fixed, letter, shown, some
from adcli.lang.analyse.explain import Cause, Explainer, Question
from adcli.lang.ir import Atom, Equation, Lit, Var
from adcli.lang.ir.errors import Source
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.matrix import NoValue
from adcli.lang.operations.precision import DOUBLE, Precision
from adcli.output.numbers import number_format

LONGEST = 40
"""Characters of source text that a sentence takes in."""
MOST_READ = 6
"""Values of elements that a sentence names."""
DEEPEST = 3
"""Depth of `since` in one line."""

SELECT, DIV, ADD, CLAMP = (TABLE[n] for n in ("select", "div", "add", "clamp"))


class Words:
    """Sentences about one program at one point. Of a program with tensors it is the one of numbers, and `element_of` says which
    element a value belongs to; numbers have a `precision`, and are written by `number`."""

    def __init__(self, explainer: Explainer, element_of: Mapping[Atom, str] | None = None, precision: Precision = DOUBLE) -> None:
        self.explainer, self.element_of, self.precision = explainer, element_of or {}, precision
        self.number = number_format(None, False, precision.name)
        self.source: Source | None = explainer.program.source

    # -- pieces of text

    def of_numbers(self, text: str) -> str:
        """Text about doubles, adapted to the precision."""
        return text.replace(DOUBLE.name, self.precision.name)

    def shown(self, x: Any) -> str:
        return shown(x, self.number)

    def cut(self, text: str) -> str:
        text = " ".join(text.split())
        return text if len(text) <= LONGEST else text[:LONGEST - 1] + "…"

    def written(self, e: Equation) -> str:
        """The operation as the user wrote it."""
        if self.source is None or e.span is None:
            return described(e, "")
        text = self.cut(self.source.quoted(e.span))
        return f"the derivative of {text}" if e.group else text

    def named(self, atom: Atom, inside: Equation | None = None) -> str | None:
        """A value by its name or its text; None for a constant, which its number says, and for what has no text of its own:
        the root in rsqrt(x), which is written nowhere but stands `inside` the quotient that has this text."""
        if isinstance(atom, Lit):
            return None
        e = self.explainer.defined.get(atom)
        if e is None:
            return self.explainer.names[atom]
        if e.group or (inside is not None and e.span == inside.span and atom.temp):
            return None
        return self.written(e) if atom.temp or not atom.name else atom.name

    def operand(self, e: Equation, i: int) -> str:
        """u = x - 1 = 0.0."""
        name, x = self.named(e.args[i], e), self.shown(self.explainer.number(e.args[i]))
        return f"{letter(i)} = {name} = {x}" if name else f"{letter(i)} = {x}"

    def at(self, e: Equation) -> str:
        return "at " + ", ".join(some([self.operand(e, i) for i in few(e.args) if i not in fixed(e)], e.args))

    def partial(self, e: Equation, i: int) -> str:
        """sqrt'(u), or ∂(u / v)/∂v."""
        if len(e.args) - len(e.op.static) == 1:
            return described(e, "'")
        return f"∂({described(e, '')})/∂{letter(i)}"

    def place(self, e: Equation) -> str:
        if self.source is None or e.span is None:
            return ""
        return "{}:{}:{}".format(*self.source.where(e.span, self.element_of.get(e.outs[0], "")))

    # -- sentences

    def sentence(self, cause: Cause) -> str:
        """Sentence about a cause, without its full stop."""
        e = cause.equation
        if e is None:
            return self.without_operation(cause)
        if isinstance(e.op, NoValue):
            return self.inside(e) + self.undefined_matrix(e.op, e)
        if cause.position is None:
            said = {"operation": described(e, ""), "at": self.at(e), "result": self.shown(self.explainer.values[e.outs[0]])}
            form = "form" if cause.kind in FORMS else "result"
            return self.inside(e) + SENTENCES[form].format(**said, how=self.how(cause, e))
        return self.inside(e) + LINEAR[cause.kind](self, cause, e, cause.position)

    def inside(self, e: Equation) -> str:
        element = self.element_of.get(e.outs[0])
        return f"in {self.written(e)}, " if e.group else f"in {element}, " if element else ""

    def without_operation(self, cause: Cause) -> str:
        if cause.kind == "absent":
            return f"it does not depend on {cause.name}"
        return SENTENCES[cause.kind].format(name=cause.name, value=self.shown(cause.partial))

    def undefined_matrix(self, op: NoValue, e: Equation) -> str:
        """Sentence about the pivot or element for which an operation on matrices has no value."""
        result, blamed = self.shown(self.explainer.values[e.outs[0]]), self.shown(self.explainer.number(e.args[0]))
        operation = self.written(e).rpartition(" = ")[2]
        if op.name == "logdet" and op.pivot is None and math.isfinite(self.explainer.number(e.args[0])):
            return SENTENCES["determinant"].format(operation=operation, result=result)
        place = f"pivot {op.pivot} of its matrix" if op.pivot else f"{self.named(e.args[0], e) or 'an element'} of its matrix"
        how = "not finite" if op.pivot is None else "not positive definite" if op.name == "cholesky" else "singular matrix"
        return SENTENCES["matrix"].format(operation=operation, place=place, value=blamed, result=result, how=HOW[how])

    def numbers_read(self, e: Equation) -> list[str]:
        """Operands of an operation in an element of a tensor: elements and inputs with their values, as far as the
        sentence on it does not say them."""
        found: dict[str, str] = {}
        waiting = [a for a in e.args if isinstance(a, Var) and a in self.explainer.defined and a.temp]
        for a in waiting:
            for x in self.explainer.defined[a].args:
                if isinstance(x, Var) and x.temp:
                    waiting.append(x)
                elif isinstance(x, Var) and len(found) <= MOST_READ:
                    found[self.named(x) or ""] = f"{self.named(x)} = {self.shown(self.explainer.number(x))}"
            if len(found) > MOST_READ:
                return [*list(found.values())[:MOST_READ], "…"]
        return list(found.values())

    def way(self, question: Question) -> list[str]:
        """The elements that passed a number on, from its cause to the result, neither of which is among them."""
        names = [self.element_of.get(q.atom, "") for q in self.explainer.passed_on(question)]
        return list(dict.fromkeys(filter(None, reversed(names))))[1:-1]

    def how(self, cause: Cause, e: Equation) -> str:
        """Reason for the result of an operation of the program itself."""
        if cause.kind == "pole" and e.op is DIV:
            return HOW["division"]
        if cause.kind == "domain" and cause.because and e.op.periodic:
            return HOW["no limit"]
        return self.of_numbers(HOW["itself" if cause.kind == "cancellation" and e.args[0] is e.args[-1] else cause.kind])

    def since(self, cause: Cause, depth: int = 0) -> str:
        """The sentence for a cause with what it goes back to, on one line."""
        text = self.sentence(cause)
        if cause.equation is not None and (place := self.place(cause.equation)):
            text += f" ({place})"
        asked = [q for q in cause.because[:1] if q.sweep or q.atom in self.explainer.defined]
        if asked and depth < DEEPEST:
            inner = self.explainer.causes(asked[0])
            if inner and inner[0] != cause:
                text += SENTENCES["since"].format(cause=self.since(inner[0], depth + 1))
        return text

    def reasons(self, cause: Cause) -> Iterator[str]:
        """A line for each number that a cause has from elsewhere; inputs and constants say it themselves."""
        for question in cause.because:
            found = self.explainer.causes(question)
            if question.sweep is not None:
                x = self.shown(question.sweep.numbers.get(question.atom, 0.0))
                yield SENTENCES["because derivative"].format(sweep=question.sweep.word, value=x, cause=self.since(found[0]))
            elif question.atom in self.explainer.defined and found != (cause,):
                x = self.shown(self.explainer.number(question.atom))
                name = self.named(question.atom, cause.equation) or "that"
                yield SENTENCES["because value"].format(name=name, value=x, cause=self.since(found[0]))

    def condition(self, e: Equation) -> str:
        """The condition of a select with its outcome and its numbers."""
        atom = e.args[0]
        assert isinstance(atom, Var)
        made = self.explainer.defined[atom]
        outcome = "true" if self.explainer.values[atom] else "false"
        numbers = ", ".join(f"{name} = {self.shown(self.explainer.number(a))}" for a in made.args
                            if (name := self.named(a)) and not isinstance(a, Lit))
        return f"{self.written(made)} is {outcome}" + (f" at {numbers}" if numbers else "")


def _plain(w: Words, c: Cause, e: Equation, i: int) -> str:
    """The partial derivative at its operands, and a remark."""
    x = "0.0" if c.partial is None or c.partial == 0 else w.shown(c.partial)
    return SENTENCES["partial"].format(partial=w.partial(e, i), at=w.at(e), value=x, end=PARTIALS[c.kind])


def _meets(w: Words, c: Cause, e: Equation, i: int) -> str:
    return SENTENCES["meets"].format(partial=w.partial(e, i), at=w.at(e), value=w.shown(c.partial), sweep=c.sweep,
                                     seed=w.shown(c.seed), how=w.of_numbers(HOW[c.kind]))


def _product(w: Words, c: Cause, e: Equation, i: int) -> str:
    said = {"partial": w.partial(e, i), "at": w.at(e), "value": "0.0" if c.partial == 0 else w.shown(c.partial)}
    if c.partial == 0 or (c.partial is not None and math.isinf(c.partial)):
        return SENTENCES["extreme"].format(**said, how=w.of_numbers(HOW["overflow" if c.partial else "underflow"]))
    return SENTENCES["product"].format(**said, sweep=c.sweep, seed=w.shown(c.seed), end=w.of_numbers(PRODUCTS[c.kind]))


def _undefined(w: Words, c: Cause, e: Equation, i: int) -> str:
    return (_product if c.partial is not None and math.isfinite(c.partial) else _plain)(w, c, e, i)


def _terms(w: Words, c: Cause, e: Equation, i: int) -> str:
    return SENTENCES["terms"].format(count=c.others + 1, sweep=c.sweep, partial=w.partial(e, i), at=w.at(e), end=TERMS[c.kind])


def _factor(w: Words, c: Cause, e: Equation, i: int) -> str:
    zero = next((a for k, a in enumerate(e.args) if k != i and w.explainer.number(a) == 0), e.args[i])
    x = w.shown(w.explainer.number(zero))
    if e.group:
        return f"one factor of {w.partial(e, i)} is {x}"
    name = "the constant" if isinstance(zero, Lit) else f"{w.named(zero)} ="
    return f"{name} {x} is a factor of the derivative of {w.written(e)}"


def _flat(w: Words, c: Cause, e: Equation, i: int) -> str:
    if c.kind == "tail":
        why = "its limit there" if c.because else "saturation, flat to the last digit"
    else:
        why = "a stationary point" if len(e.args) - len(e.op.static) == 1 else "zero at these operands"
    return f"{w.partial(e, i)} {w.at(e)} is 0.0: {why}"


def _not_taken(w: Words, c: Cause, e: Equation, i: int) -> str:
    arm = w.named(e.args[i])
    return f"{f'the arm {arm}' if arm else 'one arm'} is not taken: {w.condition(e)}"


def _comparison(w: Words, c: Cause, e: Equation, i: int) -> str:
    if e.op is SELECT:
        return f"only a condition depends on it ({w.condition(e)}), and a condition has derivative 0"
    return f"only a comparison depends on it, {w.written(e)}, which has derivative 0"


def _loser(w: Words, c: Cause, e: Equation, i: int) -> str:
    if math.isnan(w.explainer.number(e.args[i])):
        return f"{described(e, '')} {w.at(e)} ignores the nan of {letter(i)}"
    return f"{letter(i)} of {described(e, '')} is not the {e.op.pieces} {w.at(e)}"


def _hinge(w: Words, c: Cause, e: Equation, i: int) -> str:
    flat = "its flat side"
    if e.op is CLAMP:
        flat = "outside its bounds" if i == 0 else "this bound is not the one reached"
    return f"{described(e, '')} {w.at(e)}: {flat}, where the derivative with respect to {letter(i)} is 0"


def _convention(w: Words, c: Cause, e: Equation, i: int) -> str:
    return f"{w.written(e)} {w.at(e)} is at a {c.name}, so this number is a convention"


LINEAR: dict[str, Callable[[Words, Cause, Equation, int], str]] = {
    "0·inf": _meets, "inf·0": _meets, "undefined": _undefined, "zero factor": _factor, "stationary": _flat, "tail": _flat,
    "comparison": _comparison, "not taken": _not_taken, "not the winner": _loser, "hinge": _hinge, "convention": _convention,
    **dict.fromkeys(("singular", "pole", "kink", "step", "unverified"), _plain),
    **dict.fromkeys(("overflow", "underflow"), _product), **dict.fromkeys(TERMS, _terms),
}
"""The sentence for each kind of cause in a tangent or adjoint sweep."""
