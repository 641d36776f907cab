"""After a fault of syntax: read the text statement by statement and say what is wrong with each.

The text is cut at newlines and `;` outside brackets. A bracket that is never closed would swallow the rest, so a line
that can only be the start of a statement ends the one before it. Each piece is parsed by itself; what fails becomes one
diagnostic and a Broken statement that remembers the names it would have defined, so that lowering complains of no
name that only the fault made disappear.
"""
from __future__ import annotations

import re
from itertools import chain, count, pairwise, takewhile

from adcli.lang.ir.errors import MOST_FAULTS, AdError, Source
from adcli.lang.ir.names import listed
from adcli.lang.syntax.actions import Unexpected, read_tokens
from adcli.lang.syntax.foreign import wrong_character
from adcli.lang.syntax.line_ends import laid_out, starts_target
from adcli.lang.syntax.mend import LONGEST_QUOTE, header_word, mended, missing_operator, not_a_number
from adcli.lang.syntax.numbers import foreign_number
from adcli.lang.syntax.scan import HEADER_WORDS, LOGICAL, OPERAND_END, scan
from adcli.lang.tree.nodes import ELEMENTS, INTEGERS, Broken, Statement, Token

PAIRS = {"RPAR": "LPAR", "RBRACK": "LBRACK", "RBRACE": "LBRACE"}
OPENERS = frozenset(PAIRS.values())
DECLARATIONS = frozenset(("INPUT", "PARAM", "OUTPUT", "DEF"))
KEYWORD_KINDS = frozenset((*DECLARATIONS, "IN", "WHERE", "EXISTS"))
PROBLEM = ("OBJECTIVE", "SUBJECT")
ASSIGNS = frozenset(("EQUAL", "AUGMENT", "REDUCE"))
ALONE = "an expression by itself does nothing"
LOOP_BRACES = "a loop has its statements in braces"
LOOP_STEPS = re.compile(r" in ([^\s:]+ : [^\s:]+)(?: :)?\Z")
"""The range of the steps in the header of a loop whose ends are single names or numbers, its tokens with blanks between."""
JOINED = frozenset((*ELEMENTS, *INTEGERS, "minimize", "maximize", "minimise", "maximise"))
BLOCK_ENDS = frozenset(("end", "done", "od", "enddo", "endfor"))
"""Words of other languages in place of a brace."""
HEADER = "behind the range of a loop there may be down, until with a condition, and checkpoint"
CARRY = "an expression in parentheses may span several lines"

FOREIGN = listed("""
    if else: for a choice write c ? a : b
    for: a loop is for t in 0:T { ... }
    while: a loop that ends early is for t in 0:100 until c { ... }
    let var const: write a = ...
    return: a name assigned and never read is an output
    print: every output is printed
    function lambda: write def f(x) = ...
    import from: all functions are already there
    end: a block ends with }
""")


Unit = tuple[list[Token], list[AdError]]
"""The tokens of a statement, and the faults of its brackets."""


def recover(source: Source) -> tuple[list[Statement], list[AdError]]:
    """The statements that can be read, Broken ones for the others, and the faults."""
    tokens = scan(source.text, newlines=True)[0]
    tokens = laid_out(tokens) or tokens
    statements: list[Statement] = []
    faults: list[AdError] = []
    carried = False
    units = with_braces(with_types(cut(tokens, source)), source)
    for unit, structural in units:
        bad = {t.text: t for t in reversed(unit) if t.type == "BAD"}   # the first of each character
        found = structural + [wrong_character(t, source) for t in bad.values()]
        if found:
            found = found if found[0].message == LOOP_BRACES else foreign(unit, source, len(units) == 1) or found
        else:
            read, found = read_unit(unit, source, len(units) == 1)
            statements += read
            if found and carried and found[0].message == ALONE:
                found, carried = [], False   # the rest of an expression that the line before broke off
        carried = bool(found) and found[0].help == CARRY
        if found:
            faults += found
            statements.append(Broken(given(unit), unit[0].start, unit[-1].end))
        if len(faults) >= MOST_FAULTS:
            break
    return statements, named(faults[:MOST_FAULTS], tokens)


def named(faults: list[AdError], tokens: list[Token]) -> list[AdError]:
    """The faults, with a name for each expression that stands alone which no other one has: two results of one name are one."""
    taken = {t.text for t in tokens}
    free = (name for name in chain("fgh", (f"f{i}" for i in count(2))) if name not in taken)
    for fault in faults:
        if fault.message == ALONE:
            fault.help = (fault.help or "").replace("f =", f"{next(free)} =", 1)
    return faults


def cut(tokens: list[Token], source: Source) -> list[Unit]:
    """The statements as lists of tokens, each with the faults of its brackets."""
    units: list[Unit] = []
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
        comma = kind == "SEP" and token.text == ";" and inside and index + 2 < len(tokens)
        if comma and not starts_statement(tokens, index + 1):
            unit.append(token)   # as some spell the comma
            continue
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
                faults.append(AdError(f"'{token.text}' closes a bracket of another kind", token.span,
                                      None, source))
        unit.append(token)
    end()   # a statement that the end breaks off behind an operator
    return units


def with_types(units: list[Unit]) -> list[Unit]:
    """The units, with a type or an objective that stands alone joined to the assignment after it: `double v = x`,
    `minimize f +=! x(i)`."""
    joined: list[Unit] = []
    for unit, faults in units:
        before = joined[-1][0] if joined else []
        if before and before[-1].text.lower() in JOINED and all(t.type == "NAME" for t in before):
            unit, faults = before + unit, joined.pop()[1] + faults
        joined.append((unit, faults))
    return joined


def with_braces(units: list[Unit], source: Source) -> list[Unit]:
    """The units, with the statements of a loop that is written without braces joined to its head, which has the fault: those up
    to a word that ends blocks elsewhere, else those that stand further to the right."""
    joined: list[Unit] = []
    while units:
        (unit, faults), *units = units
        if begins_loop(unit) and not any(t.type == "LBRACE" for t in unit):
            message, help, at = header_fault(unit, 0) or (LOOP_BRACES, "", unit[0])
            faults = [AdError(message, at.span, help, source)]
            body = [] if unit[-1].text in BLOCK_ENDS else loop_body([each for each, _ in units], column(unit[0], source), source)
            unit, units = [*unit, *chain.from_iterable(body)], units[len(body):]
        joined.append((unit, faults))
    return joined


def loop_body(following: list[list[Token]], left: int, source: Source) -> list[list[Token]]:
    """The statements of a loop that has no braces and begins in a column."""
    ends = next((k for k, each in enumerate(following) if each[-1].text in BLOCK_ENDS or begins_loop(each)), None)
    if ends is None or begins_loop(following[ends]):
        ends = sum(1 for _ in takewhile(lambda each: column(each[0], source) > left, following))
        return following[:ends + (ends < len(following) and following[ends][0].text in BLOCK_ENDS)]
    return following[:ends + 1]


def begins_loop(unit: list[Token]) -> bool:
    """Test for a unit that begins as a loop, its head in parentheses or not."""
    return unit[0].type == "FOR" or (unit[0].text == "for" and any(t.type == "IN" for t in unit))


def column(token: Token, source: Source) -> int:
    return token.start - source.text.rfind("\n", 0, token.start)


def block_ends(tokens: list[Token], index: int) -> bool:
    """Test for an open block that is never closed: the text ends, or a declaration starts and no `}` follows."""
    if index >= len(tokens) or tokens[index].type not in DECLARATIONS:
        return index >= len(tokens)
    following = next((t.type for t in tokens[index:] if t.type in ("LBRACE", "RBRACE")), "LBRACE")
    return following == "LBRACE"


def unclosed(token: Token, source: Source) -> AdError:
    other = {"(": ")", "[": "]", "{": "}"}[token.text]
    return AdError(f"'{token.text}' is never closed", token.span, f"a '{other}' is missing", source)


def never_opened(token: Token, source: Source) -> AdError:
    other = {")": "(", "]": "[", "}": "{"}[token.text]
    return AdError(f"'{token.text}' was never opened", token.span,
                   f"remove it, or add the missing '{other}'", source)


def starts_statement(tokens: list[Token], index: int) -> bool:
    """Test for a line that can only be a new statement, not the continuation of an expression."""
    if tokens[index].type in (*DECLARATIONS, *PROBLEM, "FOR"):
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
    if unit[0].type == "FOR":
        return {t.text for before, t in pairwise(unit) if t.type == "NAME" and before.type in ("LBRACE", "SEP")}
    if [t.type for t in unit[:2]] == ["NAME", "LPAR"]:
        return {unit[0].text}   # an element of a tensor: the others are indices
    equals = next((i for i, t in enumerate(unit) if t.type in ("EQUAL", "AUGMENT", "REDUCE")), 1)
    return {t.text for t in (unit if unit[0].type in DECLARATIONS else unit[:equals]) if t.type == "NAME"}


def foreign(unit: list[Token], source: Source, alone: bool) -> list[AdError]:
    """Fault of a unit that can be mended; none where it cannot."""
    fault = mended(unit[0].start, unit[-1].end, source, alone)
    return [] if fault is None else [fault]


def read_unit(unit: list[Token], source: Source, alone: bool = False) -> tuple[list[Statement], list[AdError]]:
    """The statement of a unit, or its faults. `alone`: it is the whole text."""
    try:
        return read_tokens([*unit, separator(unit)], source), []
    except AdError as fault:
        return [], foreign(unit, source, alone) or [fault]
    except Unexpected as stop:
        index = stop.index
    if unit[0].type in ("DEF", "FOR") and any(t.type == "LBRACE" for t in unit):
        return [], read_block(unit, source, alone)
    return [], foreign(unit, source, alone) or [diagnose(unit, index, source)]


def separator(unit: list[Token]) -> Token:
    return Token("SEP", "", unit[-1].end, unit[-1].end)


def read_block(unit: list[Token], source: Source, alone: bool) -> list[AdError]:
    """The faults of a function with a block, or of a loop: of its head, else of each of its statements."""
    brace = next(i for i, t in enumerate(unit) if t.type == "LBRACE")
    close = next((i for i in range(len(unit) - 1, brace, -1) if unit[i].type == "RBRACE"), len(unit))
    one = Token("NAME", "_", 0, 0)   # a loop has statements
    fill = [one, Token("EQUAL", "=", 0, 0), one, Token("SEP", "", 0, 0)] if unit[0].type == "FOR" else []
    head = [*unit[:brace + 1], *fill, *unit[close:]]
    try:
        read_tokens([*head, separator(unit)], source)
    except Unexpected as stop:
        return foreign(unit, source, alone) or [diagnose(head, stop.index, source)]
    except AdError as fault:
        return [fault]
    faults: list[AdError] = []
    statement: list[Token] = []
    depth = 0
    for token in unit[brace + 1:close]:
        depth += (token.type == "LBRACE") - (token.type == "RBRACE")
        if token.type != "SEP" or depth:
            statement.append(token)
        elif statement:
            faults += read_unit(statement, source)[1]
            statement = []
    return faults


def diagnose(unit: list[Token], index: int, source: Source) -> AdError:
    """Fault of a statement whose token `index` cannot follow the ones before it."""
    if unit[0].type not in (*KEYWORD_KINDS, *PROBLEM) and not {t.type for t in unit} & ASSIGNS and unit[0].text not in FOREIGN:
        expression = as_expression(unit, source)
        if isinstance(expression, AdError):
            return expression
        if expression is None:
            span = (unit[0].start, unit[-1].end)
            return AdError(ALONE, span, f"give it a name: f = {quoted(unit, source)}", source)
        index = expression
    return Diagnosis(unit, index, source).fault()


def quoted(unit: list[Token], source: Source) -> str:
    text = source.text[unit[0].start:unit[-1].end]
    return text if len(text) <= LONGEST_QUOTE and "\n" not in text else "..."


Said = tuple[str, str | None] | tuple[str, str | None, Token] | AdError | None
"""Message, help and place of a fault, or the fault itself."""


class Diagnosis:
    """Faults that a statement may have whose token `index` cannot follow the ones before it."""

    def __init__(self, unit: list[Token], index: int, source: Source) -> None:
        self.unit, self.index, self.source = unit, index, source
        self.token = unit[index] if index < len(unit) else separator(unit)
        self.before = unit[index - 1] if index else separator(unit[:1])

    def fault(self) -> AdError:
        looks = self.word, self.header, self.target, self.keyword, self.equation, self.start, self.operand, self.other
        said = next(found for look in looks if (found := look()) is not None)
        if isinstance(said, AdError):
            return said
        message, help, at = (*said, self.token)[:3]
        return AdError(message, (at.start, max(at.end, at.start + 1)), help, self.source)

    def word(self) -> Said:
        first, near = self.unit[0], (self.unit[0], self.before, self.token)
        found = next((t for t in near if t.type == "NAME" and t.text in FOREIGN), None)
        if found is None or (found is first and self.index > 1):
            return None
        return f"'{found.text}' is not a word of this language", FOREIGN[found.text], found

    def header(self) -> Said:
        return header_fault(self.unit, self.index) if self.unit[0].type == "FOR" else None

    def target(self) -> Said:
        text = self.token.text
        if self.token.type in ("AUGMENT", "REDUCE") and self.unit[0].type == "LPAR":
            return f"'{text}' has one target", "write a statement for each target"
        if self.token.type != "AUGMENT" or not self.index:
            return None
        name = quoted(self.unit[:self.index], self.source)
        return f"there is no '{text}'", f"write {name} = {name} {text[:-1]} ..."

    def keyword(self) -> Said:
        names = self.token.text in LOGICAL and name_wanted(self.unit, self.index)
        follows = self.token.type in ("EQUAL", "COMMA", "OP", "SIGN", "RPAR")
        found = self.token if names or self.token.type in KEYWORD_KINDS else self.before
        if not names and (found.type not in KEYWORD_KINDS or (found is self.before and not follows)):
            return None
        return f"'{found.text}' is a keyword and cannot be a name", "choose another name", found

    def equation(self) -> Said:
        sign = next((i for i, t in enumerate(self.unit) if t.type == "EQUAL" and i > self.index), 0)
        left, right = self.unit[:sign], self.unit[sign + 1:]
        if not left or not right or any(as_expression(side, self.source) is not None for side in (left, right)):
            return None
        one, other = quoted(left, self.source), quoted(right, self.source)
        help = f"name the value: v = {one}; for an equation to solve write {one} == {other}"
        return "'=' assigns to a name", help, self.unit[sign]

    def start(self) -> Said:
        if not self.index:
            comment = [t.text for t in self.unit[:2]] == ["/", "/"]
            return (f"a statement cannot start with '{self.token.text}'",
                    "a comment starts with #" if comment else "a statement is name = expression")
        if self.token.type != "EQUAL":
            return None
        if self.index == 1 and self.before.type == "NUMBER":
            return "a number cannot be assigned to", None, self.before
        if self.unit[0].type == "OUTPUT":
            statement = quoted(self.unit[1:], self.source)
            return "'output' names values", f"write {statement}; output {quoted(self.unit[1:self.index], self.source)}"
        return "'=' inside an expression", "write == to compare, and one assignment a line"

    def operand(self) -> Said:
        token, before = self.token, self.before
        ended = before.type in OPERAND_END
        if ended and (token.type in ("NAME", "NUMBER", "LPAR") or token.text == "not"):
            return missing_operator(self.unit, self.index, self.source)
        closes = not ended and token.type in ("SEP", "RBRACE", "RPAR", "COMMA", "RBRACK")
        wanted = before.type in ("EQUAL", "LPAR", "COMMA", "QUERY", "COLON", "OP", "COMPARE")
        if closes or (wanted and token.type in ("OP", "COMPARE", "QUERY", "COLON", "EQUAL")):
            return missing(before, token, self.source)
        return ("this statement is not complete", "a statement is name = expression", before) if token.type == "SEP" else None

    def other(self) -> Said:
        token, before, help = self.token, self.before, None
        if token.type == "COMMA":
            if before.type == "NUMBER" and (number := foreign_number(self.source.text, before.start)):
                return not_a_number(number), number.help, before
            help = "several values go to several names: (a, b) = (x, y)"
        if token.type in ("LBRACE", "ARROW"):
            help = "a function is def f(x) = ... or def f(x) -> (u, v) { ... }"
        if token.type == "LBRACK" and before.type == "NAME":
            help = f"write elements and extents with parentheses: {before.text}(i)"
        return f"unexpected '{token.text}'", help


def header_fault(unit: list[Token], index: int) -> tuple[str, str, Token] | None:
    """Fault of the header of a loop: message, help and place."""
    brace = next((i for i, t in enumerate(unit) if t.type == "LBRACE"), None)
    if brace is None:
        step = unit[1].text if len(unit) > 1 and unit[1].type == "NAME" else "t"
        steps = LOOP_STEPS.search(" ".join(t.text for t in unit))
        return LOOP_BRACES, f"write for {step} in {steps[1].replace(' ', '') if steps else '0:T'} {{ ... }}", unit[0]
    token, before = unit[index], unit[index - 1]
    message = f"unexpected '{token.text}'"
    if index < brace and token.type == "NAME" and before.type in OPERAND_END:
        return message, header_word(token) or HEADER, token
    if index > brace and before.type == "RBRACE":
        return message, HEADER if token.text in HEADER_WORDS else "start a new line behind the }", token
    return None


def name_wanted(unit: list[Token], index: int) -> bool:
    """Test for a token in the place of a name: in a declaration, on the left of an assignment, after `where`."""
    before = unit[index - 1] if index else None
    if before and before.type in OPERAND_END:
        return False
    assigns = [i for i, t in enumerate(unit) if t.type in ASSIGNS]
    declares = unit[0].type in DECLARATIONS
    return (before is not None and before.type == "WHERE") or (not any(i < index for i in assigns) and bool(declares or assigns))


def as_expression(unit: list[Token], source: Source) -> int | AdError | None:
    """Fault of a statement without `=`, read as an expression; None if it is one."""
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
    span = before.span
    what = "a name" if before.type in (*DECLARATIONS, "ARROW") else "an expression"
    if before.type == "LPAR" and token.type == "RPAR":
        return AdError("nothing between the parentheses", (before.start, token.end), None, source)
    carry = token.type == "SEP" and before.type in ("OP", "SIGN", "EQUAL", "NOT", "QUERY", "COLON")
    return AdError(f"{what} is missing after '{before.text}'", span,
                   CARRY if carry else None, source)
