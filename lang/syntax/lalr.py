"""Tokens to statements: an LALR parser over the kept tables, which folds each rule as soon as it is complete.

lark has made the tables (`adcli.lang.syntax.grammar`); the callback of a rule (`adcli.lang.syntax.actions`) builds its part of
the source tree at once, and nothing recurses.
"""
from __future__ import annotations

from typing import Any

from adcli.lang.ir.errors import AdError, Source
from adcli.lang.syntax.actions import Actions
from adcli.lang.syntax.chain import Chained
from adcli.lang.syntax.scan import scan
from adcli.lang.syntax.tables import END, RULES, STATES
from adcli.lang.tree.nodes import Assign, Statement, Token

NOWHERE = -1 - len(RULES)
ACTIONS = Actions()
RULE_CALLBACKS = [(symbol, length, getattr(ACTIONS, callback)) for symbol, length, callback in RULES]
"""The rules of the grammar with what they do."""


class Unexpected(Exception):
    """The token at `index` cannot follow the ones before it."""

    def __init__(self, index: int) -> None:
        self.index = index


def read_tokens(tokens: list[Token], source: Source) -> list[Statement]:
    """Statements of the tokens of a source. Raises Unexpected where they are no statements, AdError where a callback objects."""
    try:
        return statements(tokens)
    except AdError as fault:
        fault.source = source
        if isinstance(fault, Chained):
            fault.quote(source.text)
        raise


def statements(tokens: list[Token]) -> list[Statement]:
    """Statements that the grammar's tables make of tokens."""
    states: list[int] = [0]
    values: list[Any] = []
    for index, token in enumerate((*tokens, Token("$END", "", 0, 0))):
        kind = token.type
        while (what := STATES[states[-1]].get(kind, NOWHERE)) < 0:
            if what == NOWHERE:
                raise Unexpected(max(0, min(index, len(tokens) - 1)))
            symbol, length, callback = RULE_CALLBACKS[~what]
            cut = len(values) - length
            parts = values[cut:]
            del values[cut:], states[cut + 1:]
            values.append(callback(parts))
            states.append(STATES[states[-1]][symbol])
            if states[-1] == END:
                return values[0]
        values.append(token)
        states.append(what)
    raise AssertionError("the tables accept no end")


def read_line(text: str, start: int) -> Assign:
    """The assignment that starts there, which a KnownLine is."""
    made = statements(scan(text, start=start, one=True)[0])[0]
    assert type(made) is Assign
    return made
