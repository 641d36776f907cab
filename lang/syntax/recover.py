"""After a fault of syntax: read the text statement by statement and say what is wrong with each.

The text is cut at newlines and `;` outside brackets. A bracket that is never closed would swallow the rest, so a line
that can only be the start of a statement ends the one before it. Each piece is parsed by itself; what fails becomes one
diagnostic and a Broken statement that remembers the names it would have defined, so that lowering complains of no
name that only the fault made disappear.
"""
from __future__ import annotations

from adcli.lang.ir.errors import MOST_FAULTS, AdError, Source
from adcli.lang.ir.primitives import TABLE
from adcli.lang.syntax.lalr import Unexpected, read_tokens
from adcli.lang.syntax.line_ends import laid_out, starts_target
from adcli.lang.syntax.scan import OPERAND_END, scan, wrong_character
from adcli.lang.syntax.tree import Broken, Statement, Token

PAIRS = {"RPAR": "LPAR", "RBRACK": "LBRACK", "RBRACE": "LBRACE"}
OPENERS = frozenset(PAIRS.values())
DECLARATIONS = frozenset(("INPUT", "PARAM", "OUTPUT", "DEF"))
KEYWORD_KINDS = frozenset((*DECLARATIONS, "IN", "WHERE", "EXISTS"))
ALONE = "an expression by itself does nothing"
CARRY = "an expression in parentheses may span several lines"
OPERAND_STARTS = ("NAME", "NUMBER", "LPAR")
POWERS = ("**", "^")
LONGEST_QUOTE = 40
"""Longest piece of the program that a help text quotes."""

FOREIGN = {
    "if": "for a choice write c ? a : b", "else": "for a choice write c ? a : b", "for": "there are no loops",
    "while": "there are no loops", "let": "write a = ...", "var": "write a = ...",
    "const": "write a = ...", "return": "a name assigned and never read is an output",
    "print": "every output is printed",
    "function": "write def f(x) = ...", "lambda": "write def f(x) = ...", "import": "all functions are already there",
    "from": "all functions are already there", "end": "a block ends with }",
}


def recover(source: Source) -> tuple[list[Statement], list[AdError]]:
    """The statements that can be read, Broken ones for the others, and the faults."""
    tokens = scan(source.text, newlines=True)[0]
    tokens = laid_out(tokens) or tokens
    statements: list[Statement] = []
    faults: list[AdError] = []
    carried = False
    for unit, structural in cut(tokens, source):
        bad = {t.text: t for t in reversed(unit) if t.type == "BAD"}   # the first of each character
        found = structural + [wrong_character(t, source) for t in bad.values()]
        if not found:
            read, found = read_unit(unit, source)
            statements += read
            if found and carried and found[0].message == ALONE:
                found, carried = [], False   # the rest of an expression that the line before broke off
        carried = bool(found) and found[0].help == CARRY
        if found:
            faults += found
            statements.append(Broken(given(unit), unit[0].start, unit[-1].end))
        if len(faults) >= MOST_FAULTS:
            break
    return statements, faults[:MOST_FAULTS]


def cut(tokens: list[Token], source: Source) -> list[tuple[list[Token], list[AdError]]]:
    """The statements as lists of tokens, each with the faults of its brackets."""
    units: list[tuple[list[Token], list[AdError]]] = []
    unit: list[Token] = []
    faults: list[AdError] = []
    opened: list[Token] = []

    def end() -> None:
        nonlocal unit, faults
        faults += [unclosed(t, source) for t in opened[-1:]]
        opened.clear()
        if unit:
            units.append((unit, faults))
        unit, faults = [], []

    for index, token in enumerate(tokens):
        kind, inside = token.type, bool(opened) and opened[-1].type != "LBRACE"
        if kind == "NEWLINE" and inside:
            if starts_statement(tokens, index + 1):
                end()
            continue
        if inside and not token.text and index < len(tokens) - 1:
            continue   # the separator that the scanner put before a `}`
        if kind in ("SEP", "NEWLINE"):
            if not opened or inside or block_ends(tokens, index + 1):
                end()
            elif unit[-1].type != "SEP":
                unit.append(Token("SEP", token.text, token.start, token.end))
            continue
        if kind in OPENERS:
            opened.append(token)
        elif kind in PAIRS:
            while kind == "RBRACE" and inside and opened[0].type == "LBRACE":
                faults.append(unclosed(opened.pop(), source))
                inside = opened[-1].type != "LBRACE"
            if not opened:
                faults += [never_opened(token, source)] if not faults else []
            elif opened.pop().type != PAIRS[kind]:
                faults.append(AdError(f"'{token.text}' closes a bracket of another kind", (token.start, token.end),
                                      None, source))
        unit.append(token)
    return units


def block_ends(tokens: list[Token], index: int) -> bool:
    """Whether a block that is open here is never closed: the text ends, or a declaration starts and no `}` follows."""
    if index >= len(tokens) or tokens[index].type not in DECLARATIONS:
        return index >= len(tokens)
    following = next((t.type for t in tokens[index:] if t.type in ("LBRACE", "RBRACE")), "LBRACE")
    return following == "LBRACE"


def unclosed(token: Token, source: Source) -> AdError:
    other = {"(": ")", "[": "]", "{": "}"}[token.text]
    return AdError(f"'{token.text}' is never closed", (token.start, token.end), f"a '{other}' is missing", source)


def never_opened(token: Token, source: Source) -> AdError:
    other = {")": "(", "]": "[", "}": "{"}[token.text]
    return AdError(f"'{token.text}' was never opened", (token.start, token.end),
                   f"remove it, or add the missing '{other}'", source)


def starts_statement(tokens: list[Token], index: int) -> bool:
    """Whether a line here can only be a new statement, not the continuation of an expression."""
    if tokens[index].type in DECLARATIONS:
        return True
    if [t.type for t in tokens[index:index + 2]] == ["NAME", "LPAR"]:
        return starts_target(tokens, index)
    index += tokens[index].type == "LPAR"
    while tokens[index].type == "NAME" and tokens[index + 1].type == "COMMA":
        index += 2
    if tokens[index].type != "NAME":
        return False
    return tokens[index + 1 + (tokens[index + 1].type == "RPAR")].type == "EQUAL"


def given(unit: list[Token]) -> set[str]:
    """The names that a statement that cannot be read would have defined."""
    if [t.type for t in unit[:2]] == ["NAME", "LPAR"]:
        return {unit[0].text}   # an element of a tensor: the others are indices
    equals = next((i for i, t in enumerate(unit) if t.type in ("EQUAL", "AUGMENT", "REDUCE")), 1)
    return {t.text for t in (unit if unit[0].type in DECLARATIONS else unit[:equals]) if t.type == "NAME"}


def read_unit(unit: list[Token], source: Source) -> tuple[list[Statement], list[AdError]]:
    """The statement of a unit, or its faults."""
    try:
        return read_tokens([*unit, separator(unit)], source), []
    except AdError as fault:
        return [], [fault]
    except Unexpected as stop:
        index = stop.index
    if unit[0].type == "DEF" and any(t.type == "LBRACE" for t in unit):
        return [], read_block(unit, source)
    return [], [diagnose(unit, index, source)]


def separator(unit: list[Token]) -> Token:
    return Token("SEP", "", unit[-1].end, unit[-1].end)


def read_block(unit: list[Token], source: Source) -> list[AdError]:
    """The faults of a function with a block: of its head, else of each of its statements."""
    brace = next(i for i, t in enumerate(unit) if t.type == "LBRACE")
    close = next((i for i in range(len(unit) - 1, brace, -1) if unit[i].type == "RBRACE"), len(unit))
    try:
        read_tokens([*unit[:brace + 1], *unit[close:], separator(unit)], source)
    except Unexpected as stop:
        head = [*unit[:brace + 1], *unit[close:]]
        return [diagnose(head, stop.index, source)]
    except AdError as fault:
        return [fault]
    faults: list[AdError] = []
    statement: list[Token] = []
    for token in unit[brace + 1:close]:
        if token.type != "SEP":
            statement.append(token)
        elif statement:
            faults += read_unit(statement, source)[1]
            statement = []
    return faults


def diagnose(unit: list[Token], index: int, source: Source) -> AdError:
    """What is wrong with a statement whose token `index` cannot follow the ones before it."""
    def fault(message: str, help: str | None = None, at: Token | None = None) -> AdError:
        at = at or token
        return AdError(message, (at.start, max(at.end, at.start + 1)), help, source)

    def quoted(first: int, last: int) -> str:
        text = source.text[unit[first].start:unit[last].end]
        return text if len(text) <= LONGEST_QUOTE and "\n" not in text else "..."

    kinds = {t.type for t in unit}
    if unit[0].type not in KEYWORD_KINDS and not kinds & {"EQUAL", "AUGMENT"} and unit[0].text not in FOREIGN:
        expression = as_expression(unit, source)
        if isinstance(expression, AdError):
            return expression
        if expression is None:
            span = (unit[0].start, unit[-1].end)
            return AdError(ALONE, span,
                           f"give it a name: f = {quoted(0, len(unit) - 1)}", source)
        index = expression
    token = unit[index] if index < len(unit) else separator(unit)
    before = unit[index - 1] if index else None
    foreign = next((t for t in (unit[0], before, token) if t and t.type == "NAME" and t.text in FOREIGN), None)
    if foreign and (foreign is not unit[0] or index <= 1):
        return fault(f"'{foreign.text}' is not a word of this language", FOREIGN[foreign.text], foreign)
    if token.type == "AUGMENT":
        name = quoted(0, index - 1)
        return fault(f"there is no '{token.text}'", f"write {name} = {name} {token.text[:-1]} ...")
    if before and before.text == token.text == "/" and index >= 2:
        return floor_division(unit, index, source)
    if token.type == "COLON" and [t.type for t in unit[index + 1:index + 2]] == ["EQUAL"]:
        return fault("there is no ':='", "write =")
    keyword = next((t for t in (token, before) if t and t.type in KEYWORD_KINDS), None)
    if keyword and (keyword is token or token.type in ("EQUAL", "COMMA", "OP", "SIGN", "RPAR")):
        return fault(f"'{keyword.text}' is a keyword and cannot be a name", "choose another name", keyword)
    if before is None:
        comment = [t.text for t in unit[:2]] == ["/", "/"]
        return fault(f"a statement cannot start with '{token.text}'",
                     "a comment starts with #" if comment else "a statement is name = expression")
    if token.type == "EQUAL":
        if index == 1 and before.type == "NUMBER":
            return fault("a number cannot be assigned to", None, before)
        return fault("'=' inside an expression", "write == to compare, and one assignment a line")
    if before.type in OPERAND_END and token.type in ("NAME", "NUMBER", "LPAR", "NOT"):
        return missing_operator(unit, index, source)
    if token.type in ("SEP", "RBRACE", "RPAR", "COMMA", "RBRACK") and before.type not in OPERAND_END:
        return missing(before, token, source)
    if before.type in ("EQUAL", "LPAR", "COMMA", "QUERY", "COLON") and token.type in ("OP", "QUERY", "COLON", "EQUAL"):
        return missing(before, token, source)
    if token.type == "SEP":
        return fault("this statement is not complete", "a statement is name = expression", before)
    if token.type == "COMMA":
        return fault("unexpected ','", "several values go to several names: (a, b) = (x, y)")
    if token.type in ("LBRACE", "ARROW"):
        return fault(f"unexpected '{token.text}'", "a function is def f(x) = ... or def f(x) -> (u, v) { ... }")
    if token.type == "LBRACK" and before.type == "NAME":
        return fault("unexpected '['", f"write elements and extents with parentheses: {before.text}(i)")
    return fault(f"unexpected '{token.text}'")


def as_expression(unit: list[Token], source: Source) -> int | AdError | None:
    """How a statement that has no `=` reads as an expression: None if it is one, else its fault."""
    at = unit[0].start
    try:
        read_tokens([Token("NAME", "f", at, at), Token("EQUAL", "=", at, at), *unit, separator(unit)], source)
    except AdError as fault:
        return fault
    except Unexpected as stop:
        return max(0, stop.index - 2)
    return None


def missing(before: Token, token: Token, source: Source) -> AdError:
    """An operand is wanted after `before`."""
    span = (before.start, before.end)
    what = "a name" if before.type in (*DECLARATIONS, "ARROW") else "an expression"
    if before.type == "LPAR" and token.type == "RPAR":
        return AdError("nothing between the parentheses", (before.start, token.end), None, source)
    carry = token.type == "SEP" and before.type in ("OP", "SIGN", "EQUAL", "NOT", "QUERY", "COLON")
    return AdError(f"{what} is missing after '{before.text}'", span,
                   CARRY if carry else None, source)


def missing_operator(unit: list[Token], index: int, source: Source) -> AdError:
    """Two operands side by side, as in `2x`; the help writes the product out."""
    first, last = operand_before(unit, index - 1), operand_after(unit, index)
    left, right = (source.text[a.start:b.end] for a, b in ((unit[first], unit[index - 1]), (unit[index], unit[last])))
    token = unit[index]
    if unit[index - 1].text == "dup":
        return AdError("'dup' gives two results", (unit[index - 1].start, unit[index - 1].end),
                       f"write (a, b) = dup({right})", source)
    if unit[index - 1].type == "NAME" and token.type in ("NAME", "NUMBER") and left in TABLE:
        return AdError(f"'{left}' needs parentheses around its argument", (unit[index - 1].start, token.end),
                       f"write {left}({right})", source)
    if unit[index - 1].type == "NUMBER" and unit[index - 1].end == token.start and is_number_like(left, token.text):
        return AdError(f"'{left}{token.text}' is not a number", (unit[index - 1].start, token.end),
                       "numbers look like 2, 2.5, .5, 1e-3, 0x1.8p-2, 1_000", source)
    both = f"write {left}*{right}"
    short = len(both) <= LONGEST_QUOTE + 6 and "\n" not in both
    shown = source.text[token.start:token.end]
    return AdError(f"an operator is missing before '{shown}'", (token.start, token.end),
                   both if short else "write a product with *", source)


def floor_division(unit: list[Token], index: int, source: Source) -> AdError:
    """`x // y`, or what was meant as a comment: then no operand follows, or several do."""
    span = unit[index - 1].start, unit[index].end
    first, last = factors_before(unit, index - 2), power_after(unit, index + 1)
    if last is None or (last + 1 < len(unit) and unit[last + 1].type in OPERAND_STARTS):
        return AdError("there is no '//'", span, "a comment starts with #", source)
    left, right = (source.text[unit[a].start:unit[b].end] for a, b in ((first, index - 2), (index + 1, last)))
    return AdError("there is no '//'", span, f"write floor({left} / {right})", source)


def power_after(unit: list[Token], index: int) -> int | None:
    """Where the operand that starts at `index`, with its sign and its exponents, ends; None where none starts."""
    while index < len(unit) and unit[index].type == "SIGN":
        index += 1
    if index >= len(unit) or unit[index].type not in OPERAND_STARTS:
        return None
    last = operand_after(unit, index)
    further = power_after(unit, last + 2) if last + 1 < len(unit) and unit[last + 1].text in POWERS else None
    return last if further is None else further


def factors_before(unit: list[Token], index: int) -> int:
    """Where the product that ends at `index` starts."""
    at = operand_before(unit, index)
    while at >= 2 and unit[at - 1].text in (*POWERS, "*", "/", "%"):
        at = operand_before(unit, at - 2)
    return at - 1 if at >= 2 and unit[at - 1].type == "SIGN" and unit[at - 2].type not in OPERAND_END else at


def is_number_like(number: str, rest: str) -> bool:
    """Whether a number and what stands directly behind it look like one number gone wrong."""
    return rest[0] == "_" or rest in ("e", "E") or number[:2] in ("0x", "0X") or (number == "0" and rest[0] in "xXbBoO")


def operand_before(unit: list[Token], index: int) -> int:
    """Where the operand that ends at `index` starts."""
    depth, at = 0, index
    while at > 0:
        depth += (unit[at].type == "RPAR") - (unit[at].type == "LPAR")
        if depth <= 0:
            break
        at -= 1
    if unit[at].type == "LPAR" and at and unit[at - 1].type == "NAME":
        return at - 1
    return at


def operand_after(unit: list[Token], index: int) -> int:
    """Where the operand that starts at `index` ends."""
    at = index + (unit[index].type == "NAME" and index + 1 < len(unit) and unit[index + 1].type == "LPAR")
    depth = 0
    while at < len(unit):
        depth += (unit[at].type == "LPAR") - (unit[at].type == "RPAR")
        if depth <= 0:
            break
        at += 1
    return min(at, len(unit) - 1)

