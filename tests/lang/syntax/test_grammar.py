"""The kept LALR tables are those of the grammar, and the parser that reads them stops where lark's stops."""

import pytest
from adcli.lang.ir.errors import AdError
from adcli.lang.syntax import grammar
from adcli.lang.syntax.actions import Unexpected, statements
from adcli.lang.syntax.scan import scan
from adcli.lang.tree.nodes import Token
from lark import Lark, UnexpectedToken
from lark.lexer import Lexer
from session_seed import drawn

WORDS = ["x", "y", "2", "1.5", "+", "-", "*", "/", "**", "(", ")", ",", "=", "\n", ";", "?", ":", "<", "and", "or", "not", "!",
         "def", "f", "->", "{", "}", "input", "param", "output", "in", "[", "]", "x = y\n", "f(x)", "(a, b) = dup x\n",
         "a, b = (x, y)\n"]


def test_the_tables_are_those_of_the_grammar():
    assert grammar.TABLES.read_text(encoding="utf-8") == grammar.made()


class Nothing(Lexer):
    def __init__(self, conf):
        pass

    def lex(self, lexer_state, parser_state=None):
        return iter(())


@pytest.fixture(scope="module")
def lark():
    return Lark(grammar.GRAMMAR.read_text(encoding="utf-8"), parser="lalr", lexer=Nothing, maybe_placeholders=False)


def stop_of_lark(lark: Lark, tokens: list[Token]) -> int | None:
    feed, index = lark.parse_interactive().parser_state.feed_token, 0
    try:
        for index, token in enumerate(tokens):  # noqa: B007
            feed(token)
        feed(Token("$END", "", 0, 0), True)
    except UnexpectedToken:
        return index
    return None


def stop_here(tokens: list[Token]) -> int | None:
    try:
        statements(tokens)
    except Unexpected as stop:
        return stop.index
    return None


def test_random_texts_stop_where_lark_stops(lark):
    chance, stops = drawn("test_random_texts_stop_where_lark_stops"), set()
    for _ in range(3000):
        text = " ".join(chance.choices(WORDS, k=chance.randint(1, 14)))
        tokens, _, _ = scan(text)
        try:
            here = stop_here(tokens)
        except AdError:   # a callback's own complaint, which lark's tables know nothing of
            continue
        assert here == stop_of_lark(lark, tokens), text
        stops.add(here)
    assert None in stops and len(stops) > 8
