"""Makes `lang/syntax/tables.py` from `lang/syntax/grammar.lark`: run `python -m adcli.lang.syntax.grammar` after a change of the
grammar.

lark finds the LALR tables and refuses a grammar with conflicts. That takes longer than all other work of a short run, and
so does importing it; the tables are therefore kept as a module, and lark is needed only here and in the test that
compares the two.
"""
from __future__ import annotations

from pathlib import Path
from typing import Any

GRAMMAR, TABLES = (Path(__file__).with_name(name) for name in ("grammar.lark", "tables.py"))

TABLES_HEADER = '''"""The LALR tables of `grammar.lark`. Made by `python -m adcli.lang.syntax.grammar`; not to be edited.

A state says for each symbol what to do next: a number n >= 0 is the state to go to, ~n is rule n to reduce by. A rule is
the symbol it makes, the number of its parts, and its callback in `adcli.lang.syntax.actions.Actions`. State 0 is the first.
"""
'''


def made() -> str:
    """The text of `tables.py` as the grammar demands it."""
    states, start, end, rules = lark_tables(GRAMMAR.read_text(encoding="utf-8"))
    number = numbering(states, start)
    rule = {r: i for i, r in enumerate(sorted(rules, key=str))}
    lines = ["RULES = ("]
    lines += [f"    ({r.origin.name.value!r}, {len(r.expansion)}, {(r.alias or r.origin.name.value)!r})," for r in rule]
    lines += [")", "", f"END = {number[end]}", '"""The state that is reached when all has been read."""', "",
              "STATES: tuple[dict[str, int], ...] = ("]
    for state in number:
        lines += wrapped({str(symbol): number[what] if isinstance(what, int) else ~rule[what]
                          for symbol, (_, what) in sorted(states[state].items())})
    return TABLES_HEADER + "\n".join([*lines, ")"]) + "\n"


def lark_tables(text: str) -> tuple[dict[int, Any], int, int, list[Any]]:
    """Tables that lark makes of the grammar: its states, the first and the last of them, and the rules."""
    from lark import Lark
    from lark.lexer import Lexer

    class Fed(Lexer):
        """lark's lexer is not used: tokens are fed to the parser."""

        def __init__(self, conf: object) -> None:
            pass

        def lex(self, lexer_state: object, parser_state: object = None) -> Any:
            return iter(())

    lark: Any = Lark(text, parser="lalr", lexer=Fed, maybe_placeholders=False)
    table = lark.parser.parser.parser.parse_table
    return table.states, table.start_states["start"], table.end_states["start"], list(lark.rules)


def numbering(states: dict[int, Any], start: int) -> dict[int, int]:
    """The states in the order in which they are reached; lark's own numbers differ from run to run."""
    number, queue = {start: 0}, [start]
    for state in queue:
        for _, (_, what) in sorted(states[state].items()):
            if isinstance(what, int) and what not in number:
                number[what] = len(number)
                queue.append(what)
    return number


def wrapped(row: dict[str, int]) -> list[str]:
    """A state as lines of a readable width."""
    lines, line = [], "    {"
    for symbol, what in row.items():
        item = f"{symbol!r}: {what}, "
        if len(line) + len(item) > 116:
            lines.append(line.rstrip())
            line = "     "
        line += item
    return [*lines, line.rstrip(", ") + "},"]


if __name__ == "__main__":
    TABLES.write_text(made(), encoding="utf-8")
