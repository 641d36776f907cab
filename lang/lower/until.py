"""Loops that end early, as statements that say so.

`for t in 0:N until c { x(t + 1) = e }` is the loop

    for t in 0:N { x(t + 1) = done(t) > 0.5 ? x(t) : e; done(t + 1) = done(t) > 0.5 ? 1 : c ? 1 : 0 }

where `done` is 1 behind the step at which c held first, so later steps copy. (It is compared with what it never is, since there
would be a jump.) What a step does not carry has no element to copy in the first one, which gets a statement of its own; a
reduction or an operation on matrices is computed first and then chosen.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from adcli.lang.ir.errors import AdError, Source
from adcli.lang.ir.records import value_record
from adcli.lang.syntax.tree import Call, Clause, For, Node, Op, TensorAssign, Token


@value_record
class Ending:
    """What a loop with `until` is rewritten with: the name of the history that says where it has ended, and one that gives names
    for others."""

    loop: For
    done: str
    fresh: Callable[[str], str]
    source: Source

    def statement(self, s: TensorAssign, place: int, carried: bool, inner: int | None = None) -> Iterator[TensorAssign]:
        """The statements for one: subscript `place` has the step; `carried` where the step before the first has an element. Of an
        operation on matrices `inner` is how many dimensions of its result have no subscripts."""
        if s.symbol == "+=":
            raise AdError("a loop with until cannot add to elements", (s.target.start, s.target.end),
                          "write the sum as an element of its own: +=!, or = with the element of the step before", self.source)
        if s.symbol != "=" or inner is not None:
            s, made = self.chosen(s), replace(s, target=self.named(s.target, self.fresh(s.target.text)))
            yield made
            s.subscripts = [*(s.subscripts or []), *[self.named(s.target, self.fresh("ij"[d])) for d in range(inner or 0)]]
            s.value = Call(made.target.text, list(s.subscripts), s.value.start, s.value.end)
        subscripts = list(s.subscripts or [])
        step, span = Token("NAME", self.loop.step.text, s.target.start, s.target.end), (s.target.start, s.target.end)
        back = Op("add" if self.loop.down else "sub", [subscripts[place], Token("NUMBER", "1", *span)], *span)
        last = Call(s.target.text, [back if d == place else n for d, n in enumerate(subscripts)], *span)
        chosen = replace(s, value=Op("select", [self.ended(step), last, s.value], s.value.start, s.value.end))
        if carried:
            yield chosen
            return
        first: Node = Op("sub", [self.loop.high, Token("NUMBER", "1", *span)], *span) if self.loop.down else self.loop.low
        compares = ("ge", "lt") if self.loop.down else ("le", "gt")
        for made, compare in zip((s, chosen), compares, strict=True):
            guard = Clause("guard", None, [Op(compare, [step, first], *span)], *span)
            yield replace(made, clauses=[*s.clauses, guard])

    def chosen(self, s: TensorAssign) -> TensorAssign:
        """The statement that takes what a reduction has made: an element for each on its left."""
        if not all(type(n) in (Token, Op) for n in s.subscripts or ()):
            raise AdError("a loop with until cannot reduce into subscripts that are read", (s.target.start, s.target.end),
                          "give the sum an index of its own first", self.source)
        return replace(s, symbol="=", clauses=[], same=None)

    def condition(self) -> TensorAssign:
        """The statement that says where the loop has ended."""
        until, step = self.loop.until, self.loop.step
        assert until is not None
        span = until.start, until.end
        one, here = Token("NUMBER", "1", *span), Token("NAME", step.text, *span)
        held = Op("select", [until, one, Token("NUMBER", "0", *span)], *span)
        value = Op("select", [self.ended(here), one, held], *span)
        behind: Node = here if self.loop.down else Op("add", [here, one], *span)
        return TensorAssign(Token("NAME", self.done, *span), [behind], "=", value, None, [], *span)

    def ended(self, step: Token) -> Op:
        """Whether the loop had ended before a step."""
        span = step.start, step.end
        at: Node = Op("add", [step, Token("NUMBER", "1", *span)], *span) if self.loop.down else step
        return Op("gt", [Call(self.done, [at], *span), Token("NUMBER", "0.5", *span)], *span)

    def named(self, token: Token, name: str) -> Token:
        return Token("NAME", name, token.start, token.end)
