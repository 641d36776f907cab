"""Characters beyond ASCII: which do not belong in a program and what to type instead, and names that only look different."""
from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator

from adcli.lang.ir.errors import AdError, Fix, Source
from adcli.lang.ir.names import RESERVED, listed, look
from adcli.lang.ir.primitives import TABLE
from adcli.lang.syntax.scan import INVISIBLE
from adcli.lang.tree.nodes import ELEMENTS, INTEGERS, Token

TYPE_INSTEAD = listed("""
    − – — ‐ ‑ ‒: -
    × · ⋅ ∗ •: *
    ÷ ∕ ⁄: /
    ≤: <=
    ≥: >=
    ≠: !=
    ⇒: ->
    √: sqrt(...)
    ∞: inf
    ∧: and
    ∨: or
    ¬: not
    ²: **2
    ³: **3
    ⁴: **4
    ½: 0.5
    ¼: 0.25
    ¾: 0.75
""")
QUOTATION_MARKS = "\"'`´“”„‟‘’‚‛«»"
MEANT = listed(r"""
    %: for a remainder write mod(x, y), or fmod(x, y) for one with the sign of x
    \: a line goes on inside parentheses
    &: write and
    |: write or
    ~: write not
    @: write a product with *
    $: a name is made of letters, digits and _
    .: a decimal point needs a digit beside it
    ±: a spread goes to a point: adcli propagate --at x=2±0.1
    ²: write **2
    ³: write **3
    ⁴: write **4
""")
COMPARED_BEFORE, COMPARED = re.compile(r"[=!]=\s*(?:\w+)?\Z"), re.compile(rf"[^\n{QUOTATION_MARKS}]*[{QUOTATION_MARKS}]\s*[=!]=")
WORDS_ARE_NUMBERS = "a program compares numbers: give each word a number, and compare with that"
WORDS = frozenset((*RESERVED, *TABLE, *ELEMENTS, *INTEGERS))
"""Words of derivatives and other texts of ours, which a user's name must not look like."""
DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that change the direction of writing, so that a text is not what it looks like."""


def wrong_character(token: Token, source: Source) -> AdError:
    """The error for a BAD token: which character it is, and what to type."""
    c = token.text
    help, typed = typed_instead(c)
    if c in QUOTATION_MARKS and (COMPARED_BEFORE.search(source.text[:token.start]) or COMPARED.match(source.text, token.end)):
        help = WORDS_ARE_NUMBERS
    fix = None if typed is None else Fix(token.start, token.end, typed)
    return AdError(misplaced(c), token.span, help, source, fix=fix)


def misplaced(c: str) -> str:
    """Message about a character that belongs nowhere."""
    code = f"U+{ord(c):04X} {unicodedata.name(c, '')}".rstrip()
    if not c.isprintable() or re.match(INVISIBLE, c):
        return f"the invisible character {code} does not belong here"
    return f"'{c}' does not belong here" if c.isascii() else f"'{c}' ({code}) does not belong here"


def typed_instead(c: str) -> tuple[str | None, str | None]:
    """Help for a character that belongs nowhere, and what is typed instead of it."""
    plain = unicodedata.normalize("NFKC", c)
    if c in MEANT:
        return MEANT[c], None
    if c in TYPE_INSTEAD:
        return f"type {TYPE_INSTEAD[c]}", TYPE_INSTEAD[c]
    if c in QUOTATION_MARKS:
        return "there are no strings in a program; remove the quote", None
    if unicodedata.category(c) == "Zs" or plain == " ":
        return "type an ordinary space", " "
    if not c.isprintable() or re.match(INVISIBLE, c):
        return "remove it", ""
    return (f"type {plain}", plain) if plain != c and plain.isascii() and plain.isprintable() else (None, None)


def suspicious(names: set[str], comments: list[Token], source: Source) -> Iterator[AdError]:
    """Deceptions in a text: changes of the direction of writing in comments, and names that only their code points tell apart."""
    for comment in comments:
        for found in DIRECTIONS.finditer(comment.text):
            at = comment.start + found.start()
            yield AdError(misplaced(found[0]), (at, at + 1), "remove it", source, fix=Fix(at, at + 1, ""))
    alike = defaultdict(list)
    for name in sorted(names | WORDS):
        alike[look(name)].append(name)
    for plain, several in alike.items():
        if len(several) > 1:
            places = [re.search(rf"(?<!\w){re.escape(n)}(?!\w)", source.text) for n in several]
            span = next((p.span() for p, n in zip(places, several, strict=True) if p and n != plain), None)
            listed = " and ".join(f"'{n}' ({code_points(n)})" for n in several)
            help = f"write {plain} for all of them, or choose another name" if plain in names else "choose another name"
            yield AdError(f"these names look alike: {listed}", span, help, source)


def code_points(name: str) -> str:
    """`U+00B5`, the characters beyond ASCII of a name; of one that has none, its own."""
    return " ".join(f"U+{ord(c):04X}" for c in name if not c.isascii()) or " ".join(f"U+{ord(c):04X}" for c in name[:4])
