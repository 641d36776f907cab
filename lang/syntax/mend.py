"""A statement that cannot be read, as it may have been meant.

The fewest changes are looked for that make it readable: spellings of other languages (`foreign`), characters that are typed in
another way, operators left out. The first of them is the fault that is reported; with a further one the whole statement is
written out.
"""
from __future__ import annotations

import re
from collections.abc import Iterator

from adcli.lang.ir.errors import AdError, Fix, Source, Span, nearest
from adcli.lang.ir.primitives import TABLE
from adcli.lang.syntax.actions import Unexpected, read_tokens
from adcli.lang.syntax.foreign import LOOP, ON_PAPER, rewritings, wrong_character
from adcli.lang.syntax.line_ends import ASSIGNING, laid_out
from adcli.lang.syntax.numbers import ForeignNumber, foreign_number
from adcli.lang.syntax.scan import HEADER_WORDS, OPERAND_END, scan
from adcli.lang.tree.nodes import Token

LONGEST, MOST_READ, MOST_CHANGES = 400, 150, 8
"""Characters of a statement that is looked at, texts that are tried for it, and changes of one."""
LONGEST_QUOTE = 40
"""Longest piece of the program that a help text quotes."""


def mended(start: int, end: int, source: Source, alone: bool) -> AdError | None:
    """Fault of the statement in a part of the source, if it can be mended. `alone`: nothing else is in the source, and
    so it may be an expression."""
    text = source.text[start:end]
    if len(text) > LONGEST or "#" in text:
        return None
    for comments in (False, True):
        if (found := fewest_changes(text, alone, comments, source.text)) is not None:
            return placed(*found, (start, end), source)
    return None


def placed(fault: AdError, changes: int, statement: str, span: Span, source: Source) -> AdError:
    """The first fault of the statement at `span`, with its own place in the source and the statement as it should be."""
    assert fault.span is not None
    first, last = fault.span
    help = fault.help if changes == 1 or "\n" in statement else f"write {statement}"
    fix = shortest(Fix(*span, statement), source.text)
    return AdError(fault.message, (span[0] + first, span[0] + max(last, first + 1)), help, source, fix=fix)


def shortest(fix: Fix, text: str) -> Fix:
    """Fix without the text that it leaves as it is at its start and end."""
    before = shared(text[fix.start:fix.end], fix.text)
    behind = shared(text[fix.start + before:fix.end][::-1], fix.text[before:][::-1])
    return Fix(fix.start + before, fix.end - behind, fix.text[before:len(fix.text) - behind], fix.certain)


def shared(one: str, other: str) -> int:
    """The characters with which both texts start."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def fewest_changes(text: str, alone: bool, comments: bool, whole: str) -> tuple[AdError, int, str] | None:
    """The first fault of a statement in a source, how many changes it takes, and the text that then reads."""
    tried = {text}
    waiting: list[tuple[AdError | None, int, str]] = [(None, 0, text)]
    for first, changes, statement in waiting:
        for fault in proposals(statement, alone, comments, whole):
            assert fault.fix is not None
            changed = fault.fix.applied(statement)
            if changed in tried:
                continue
            tried.add(changed)
            if reads(changed, alone):
                return first or fault, changes + 1, changed
            if changes + 1 < MOST_CHANGES and len(changed) <= 2 * LONGEST:
                waiting.append((first or fault, changes + 1, changed))
            if len(tried) > MOST_READ:
                return None
    return None


def reads(text: str, alone: bool) -> bool:
    """Test for a text that is a statement, or an expression where it may be one."""
    tokens, _, _ = scan(text)
    return any(stop(form) is None for form in (tokens, laid_out(tokens), [*NAMED, *tokens] if alone else None) if form)


NAMED = (Token("NAME", "f", 0, 0), Token("EQUAL", "=", 0, 0))
"""Tokens that make an expression a statement."""


def stop(tokens: list[Token]) -> int | None:
    """The token that cannot be read; None where all of them can."""
    try:
        read_tokens(tokens, Source("", ""))
    except Unexpected as stopped:
        return stopped.index
    except AdError:
        return 0
    return None


def proposals(text: str, alone: bool, comments: bool, whole: str) -> Iterator[AdError]:
    """The first of each kind of fault in a statement, with its fix."""
    yield from numbers_elsewhere(text, whole)
    yield from rewritings(text, False, whole)
    tokens, _, _ = scan(text)
    source = Source("", text)
    wrong = (wrong_character(t, source) for t in tokens if t.type == "BAD")
    yield from (fault for fault in wrong if fault.fix is not None)
    named = tokens if not alone or any(t.type in ASSIGNING for t in tokens) else [*NAMED, *tokens]
    index = stop(named)
    if index and named[index - 1].type in OPERAND_END and named[index].type in ("NAME", "NUMBER", "LPAR"):
        fault = missing_operator(named, index, source, whole)
        if fault.fix is not None:
            yield fault
    if comments:
        yield from rewritings(text, True)


def numbers_elsewhere(text: str, whole: str) -> Iterator[AdError]:
    """The first number that another language writes so, where it is certain which it is."""
    for at in NUMBER_START.finditer(text):
        found = foreign_number(text, at.start())
        if found and found.certain and not is_product(found.text, whole):
            span = (at.start(), at.start() + len(found.text))
            yield AdError(not_a_number(found), span, found.help, fix=Fix(*span, found.choices[0]))
            return


NUMBER_START = re.compile(r"(?<![\w.])(?=\.?\d)")


def is_product(number: str, text: str) -> bool:
    """Test for a number whose letters are a name elsewhere in the text: 1.5L with a length L."""
    return any(re.search(rf"(?<![\w.]){word}(?!\w)", text) for word in re.findall(r"[^\W\d_]\w*", number))


def not_a_number(found: ForeignNumber) -> str:
    return f"'{found.text}' is not a number: {found.reason}"


# ---------------------------------------------------------------- an operator left out

INTERPOLANTS = {"CubicSpline": "natural_spline", "PchipInterpolator": "pchip", "interp1d": "interp"}
"""Functions of SciPy that give functions of x, and what has x as its first argument here."""
OF_MATRICES = ("solve", "inverse", "inv", "cholesky", "transpose", "softmax", "cumsum", "cumprod")
"""Functions that give tensors."""


def missing_operator(unit: list[Token], index: int, source: Source, whole: str = "") -> AdError:
    """Two operands side by side, as in `2x`; the help writes the product out. `whole` is the text that the source is part of."""
    first, last = operand_before(unit, index - 1), operand_after(unit, index)
    left, right = (source.text[a.start:b.end] for a, b in ((unit[first], unit[index - 1]), (unit[index], unit[last])))
    token = unit[index]
    if unit[index - 1].text == "dup":
        return AdError("'dup' gives two results", unit[index - 1].span,
                       f"write (a, b) = dup({right})", source)
    if unit[index - 1].type == "NAME" and token.type in ("NAME", "NUMBER") and (left in TABLE or left in ON_PAPER):
        return without_parentheses(unit, index, source)
    if (of := re.fullmatch(r"(?:\w+\.)*(\w+)\((.*)\)", left, re.DOTALL)) and of[1] in INTERPOLANTS and right[0] == "(":
        return AdError(f"'{of[1]}' makes no function here", (unit[first].start, unit[last].end),
                       f"write {INTERPOLANTS[of[1]]}({right[1:-1]}, {of[2]})", source)
    number = foreign_number(source.text, unit[index - 1].start) if unit[index - 1].type == "NUMBER" else None
    if number and not is_product(number.text, whole or source.text):
        span = (unit[index - 1].start, unit[index - 1].start + len(number.text))
        help = number.help if number.choices else f"for a product write {left}*{token.text}"
        return AdError(not_a_number(number), span, help, source, fix=Fix(*span, number.choices[0]) if number.certain else None)
    if unit[index - 1].type == "NUMBER" and unit[index - 1].end == token.start and is_number_like(left, token):
        return AdError(f"'{left}{token.text}' is not a number", (unit[index - 1].start, token.end),
                       "numbers look like 2, 2.5, .5, 1e-3, 0x1.8p-2, 1_000", source)
    if first == 0 and unit[0].type == token.type == "NAME" and unit[index + 1:] and unit[index + 1].text == "in":
        return AdError(f"a loop begins with 'for', not with '{left}'", unit[index - 1].span,
                       f"write for {token.text} in", source, fix=Fix(unit[first].start, unit[index - 1].end, "for"))
    if first and unit[first - 1].text == "/" and unit[index - 1].end == token.start:   # 1/2x
        over = source.text[unit[operand_before(unit, first - 2)].start:unit[first - 2].end]
        return AdError(f"an operator is missing before '{source.text[token.start:token.end]}'", token.span,
                       f"write {over}/({left}*{right}) or {over}/{left}*{right}", source)
    if is_subscripted(unit, first, index, last, whole or source.text):
        name = next(x for x in ("B", "C", "D", "made") if x not in {t.text for t in unit})
        made = re.sub(r"^inv(?=\()", "inverse", left)
        return AdError("only names have subscripts", (token.start, unit[last].end),
                       f"write {name} = {made} as a statement of its own, and {name}{right} here", source)
    if first == 0 and unit[0].type == "NAME" and token.type == "NUMBER" and unit[-1].type == "COLON":
        return AdError(f"there is no '{left}'", unit[0].span, LOOP, source)
    both = f"write {left}*{right}"
    short = len(both) <= LONGEST_QUOTE + 6 and "\n" not in both
    shown = source.text[token.start:token.end]
    apart = unit[index - 1].end < token.start
    words = token.type == "NAME" and left not in ("pi", "Pi", "π") and (   # any words
        unit[index - 1].type == "NAME" or (apart and unit[index - 1].type == "RPAR")
        or (unit[0].type == "FOR" and apart and header_word(token) is not None))
    return AdError(f"an operator is missing before '{shown}'", token.span,
                   both if short else "write a product with *", source,
                   fix=None if words else Fix(unit[index - 1].end, token.start, "*"))


def is_subscripted(unit: list[Token], first: int, index: int, last: int, text: str) -> bool:
    """True where parentheses behind what a function gives are no factor: several subscripts, or behind a tensor."""
    if unit[index].type != "LPAR" or unit[index - 1].type != "RPAR":
        return False
    depth, several = 0, False
    for token in unit[index:last + 1]:
        depth += (token.type == "LPAR") - (token.type == "RPAR")
        several |= depth == 1 and token.text == ","
    name = unit[first].text
    by_elements = rf"\bdef\s+{re.escape(name)}\s*\([^={{}}]*->\s*\(\s*(\w+)\b[^}}]*\b\1\s*\("   # -> (d) { d(i) = ...
    return several or name in OF_MATRICES or re.search(by_elements, text) is not None


def without_parentheses(unit: list[Token], index: int, source: Source) -> AdError:
    """`sin 2x^2`: the argument goes on over powers and factors that have no operator before them, up to the next function. Where
    `*` or `/` follows, it is not certain where it ends."""
    name, last = unit[index - 1], operand_after(unit, index)
    argument = source.text[unit[index].start:unit[last].end]
    while last + 2 < len(unit):
        token, power = unit[last + 1], unit[last + 1].text in ("**", "^")
        word = token.type in ("NAME", "NUMBER") and token.text not in TABLE and token.text not in ON_PAPER
        if not (power or word or (token.type == "LPAR" and token.start == unit[last].end)):
            break
        last = operand_after(unit, last + 1 + power)
        argument += "*" * (not power) + source.text[token.start:unit[last].end]
    span, message = (name.start, unit[last].end), f"'{name.text}' needs parentheses around its argument"
    written = f"{name.text}({argument})"
    if last + 2 < len(unit) and unit[last + 1].text in ("*", "/"):
        more = source.text[unit[last].end:unit[operand_after(unit, last + 2)].end]
        return AdError(message, span, f"write {written}{more} or {name.text}({argument}{more})", source)
    return AdError(message, span, f"write {written}", source, fix=Fix(*span, written))


LOOP_WORDS = {**dict.fromkeys(("reverse", "reversed", "downto", "backwards"), "down"),
              **dict.fromkeys(("step", "by"), "2*t in place of t where you need every second one: an index goes by ones")}
"""Words of other languages behind the range of a loop."""


def header_word(token: Token) -> str | None:
    """Correction of a word after the range of a loop."""
    return nearest(token.text, HEADER_WORDS, LOOP_WORDS)


def is_number_like(number: str, token: Token) -> bool:
    """Test for a number that, with the token directly after it, looks like one number gone wrong."""
    rest = token.text
    if token.type == "NUMBER":
        return True
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
