"""Spellings of other languages and of paper for constructs of this one, asked only after a fault of syntax.

The table is `spellings.txt`, which says what its rows look like. A row proposes; `mend` makes a proposal only where the statement
reads with it, alone or together with others.

Characters beyond ASCII: which do not belong in a program and what to type instead, and names that only look different.
"""
from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from adcli.lang.ir.errors import AdError, Fix, Source, plural
from adcli.lang.ir.names import RESERVED, listed, look, words
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.primitives import TABLE as PRIMITIVES
from adcli.lang.operations.slices import ACCESS, NAME, sliced
from adcli.lang.syntax.actions import Unexpected, read_tokens
from adcli.lang.syntax.chain import level
from adcli.lang.syntax.scan import INVISIBLE, scan
from adcli.lang.tree.nodes import ELEMENTS, INTEGERS, Assign, Token
from adcli.lang.tree.notation import ATOM, OR, POWER, PRODUCT, SUM, TERNARY, UNARY, enclosed


class Spelling(NamedTuple):
    """A row of the table."""

    pattern: str
    written: str = ""
    none: str = ""
    said: str = ""
    help: str = ""


def nested(plain: str, depth: int = 5) -> str:
    """A character like `plain`, or brackets with anything inside that is closed again."""
    inner = r"[^()\[\]{}]"
    for _ in range(depth):
        inner = rf"(?:[^()\[\]{{}}]|[(\[{{]{inner}*[)\]}}])"
    return rf"(?:{plain}|[(\[{{]{inner}*[)\]}}])"


EXPRESSION = nested(r"(?:[<>=!]=|[^()\[\]{},;=])")
ANYTHING = nested(r"[^()\[\]{}]")
NUMBER = r"(?<![\w.])(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d+)?(?!\w)"
OPERAND = rf"(?:{NAME}(?: ?\({ANYTHING}*\))?|{NUMBER}|(?<![\w.])\({ANYTHING}*\))"
POWERS = rf"{OPERAND}(?:\s*(?:\*\*|\^)\s*[-+]?{OPERAND})*"
PRODUCTS = rf"{POWERS}(?:\s*[*/]\s*{POWERS})*"
SLOTS = {
    "n": NAME, "t": NAME, "v": rf"{NAME}(?:\s*,\s*{NAME})*", "k": NUMBER, "a": OPERAND, "p": rf"[-+]?{POWERS}", "m": PRODUCTS,
    "j": rf"(?:\d+(?:\.\d+)?\s?)?\\?(?:(?<=[\d\\])[^\W\d]\w*|{OPERAND})(?:\s*(?:\*\*|\^)\s*[-+]?{OPERAND})*",
    "s": rf"(?:(?<![\w.)\]])(?<![\w.)\]] )-)?{PRODUCTS}",
    "e": rf"(?=\S){EXPRESSION}+?",
    "l": rf"(?=\S){ANYTHING}+?", "c": r"[^\n]*?",
}
LEVELS = {"or": OR, "sum": SUM, "product": PRODUCT, "unary": UNARY, "power": POWER, "atom": ATOM}
DECLARED = re.compile(rf"({NAME})\s*\(([^()]*)\)")
"""A tensor in a declaration, with its extents."""
MADE = re.compile(rf"(?:\A|(?<=[;\n{{])) *({NAME})\s*\([^()]*\)\s*[-+*/a-z]*=(?!=)")
"""A tensor that a statement makes."""
ASSIGNED = re.compile(rf"({OPERAND})\s*((?:[-+*/]|min|max|lse)?=!?(?!=))\s*")
"""Target of a statement, and its assignment operator."""

CONSTANTS = listed("""
    e E: exp(1)
    PI: pi
    tau: (2*pi)
    Inf infty INFINITY: inf
    NaN NAN: nan
    cdot times ast: *
    div: /
    le leq: <=
    ge geq: >=
    ne neq: !=
    left right:
    land: and
    lor: or
    lnot: not
    LN2: log(2)
    LN10: log(10)
    LOG2E: (1 / log(2))
    LOG10E: (1 / log(10))
    SQRT2: sqrt(2)
    SQRT1_2: sqrt(0.5)
""")
"""Names here of members of modules and LaTeX commands that are no functions."""
ON_PAPER = words("ln lg arcsin arccos arctan tg cot sec csc coth sech csch sgn")
"""Functions besides those of the table that paper writes without parentheses."""
REDUCING = listed("""
    sum Sum Σ ∑: +=!
    prod Prod ∏: *=!
    max maximum: max=!
    min minimum: min=!
""")
"""Assignment operators of reductions."""
KINDS = {"+=!": "sum", "*=!": "product", "max=!": "maximum", "min=!": "minimum"}
LOOP = "a loop is for t in 0:T { ... }"
PARTS = {"NAME": NAME, "LOOP": LOOP, "REDUCING": "|".join(REDUCING),
         "FUNCTIONS": "|".join(sorted({*PRIMITIVES, *ON_PAPER}, key=len, reverse=True)),
         "INVERTED": "|".join(name for name in PRIMITIVES if f"a{name}" in PRIMITIVES)}
"""Parts of patterns and texts by their names; among them the functions that have an inverse here."""
KEYS = {"there is no": "none", "said": "said", "help": "help"}


def with_parts(text: str) -> str:
    return re.sub("<([A-Z_]+)>", lambda m: PARTS[m[1]], text)


@cache
def spellings() -> list[list[Spelling]]:
    """The rows of statements and expressions, of reductions, and of comments; parts of patterns go to `PARTS`."""
    found: list[list[Spelling]] = []
    for line in Path(__file__).with_name("spellings.txt").read_text(encoding="utf-8").splitlines():
        text = re.sub('^"(.*)"$', r"\1", line.strip())   # with its blanks
        key, said = text.partition(": ")[::2]
        if line.startswith("§"):
            found.append([])
        elif part := re.fullmatch("([A-Z_]+) = (.*)", line):
            PARTS[part[1]] = with_parts(part[2])
        elif line.startswith(" "):
            more = {KEYS[key]: with_parts(said)} if key in KEYS else {"written": text}
            found[-1][-1] = found[-1][-1]._replace(**more)
        elif line and not line.startswith("#"):
            found[-1].append(Spelling(text))
    return found


def patterns(rows: list[Spelling]) -> list[tuple[re.Pattern[str], Spelling]]:
    """The rows with their patterns compiled; the slots are groups, named by their kinds and numbers."""
    return [(compiled(row.pattern), row) for row in rows]


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(with_slots(with_parts(pattern)), re.DOTALL)


def with_slots(pattern: str) -> str:
    """A pattern as a regular expression."""
    kinds = iter(range(len(pattern)))
    return re.sub(r"(?<!P)<([a-z])>", lambda m: f"(?P<{m[1]}{next(kinds)}>{SLOTS[m[1]]})", pattern.replace(" ", r"\s*"))


class Piece(str):
    """Content of a slot, formatted for the place it is written to."""

    def __format__(self, place: str) -> str:
        if place == "plain":
            return unicodedata.normalize("NFKC", self).replace("\N{MINUS SIGN}", "-")
        if place == "constant":
            return CONSTANTS.get(self, self)
        if place == "verb":
            return f"{self.lower()}imize"
        if place == "counted":   # from 1, to the last
            low, _, high = self.partition(":")
            return f"{int(low) - 1 if low.strip().isdecimal() else f'{low.strip()} - 1'}:{high.strip()}"
        if place == "inclusive":
            low, _, high = re.sub(r"\s*(?:\.\.|[,:])\s*", "\n", self, count=1).rpartition("\n")
            return inclusive(low or "0", high)
        return enclosed((str(self), self.level()), LEVELS.get(place, TERNARY))


    def level(self) -> int:
        """The level of its loosest operator; the loosest of all where it cannot be read."""
        try:
            statement = read_tokens(scan("f = " + self)[0], Source("", ""))[0]
        except (AdError, Unexpected):
            return ATOM if self.isalnum() else TERNARY
        return level(statement.values[0]) if isinstance(statement, Assign) else TERNARY


def rewritings(text: str, comments: bool, source: str = "") -> Iterator[AdError]:
    """Faults that the rows of a table find in the text of a statement, each with its fix."""
    rows, _, of_comments = spellings()
    if not comments:
        yield from reductions(text, source)
        yield from slices(text, source)
        yield from summed_products(text)
    tensors = {*shapes_in(source), *MADE.findall(source)}
    for pattern, row in patterns(of_comments if comments else rows):
        found = pattern.search(text)
        if found is None or any(slot[0] == "t" and found[slot] not in tensors for slot in found.groupdict()):
            continue
        pieces = [Piece(g.strip()) for g in found.groups() if g is not None]
        end = found.end()
        start = found.start() + len(found[0]) - len(found[0].lstrip())
        written = row.written.format(*pieces)
        help = row.help.format(*pieces) or f"write {written.strip()}"
        word = re.match(r"[^\W\d]\w+(?=\s|\()", found[0]) if row.pattern.startswith("<START>") else None
        what = row.said or none(row.none.format(*pieces) or (word or found)[0].strip())
        yield AdError(what, (start, end), help,
                      fix=Fix(start, end, fitted(written, text[:start], text[start:end], text[end:])))


def reductions(text: str, source: str) -> Iterator[AdError]:
    """Rewriting of a sum over an index: the statement, where it is all that is assigned, or one with a name before it."""
    for pattern, row in patterns(spellings()[1]):
        found = pattern.search(text)
        if found is None:
            continue
        first, *pieces = [Piece(g.strip()) for g in found.groups() if g is not None]
        if "counted" in row.written and re.search(rf"(?<!\()\b{pieces[0]}\b|\b{pieces[0]}\b(?!\))", pieces[1]):
            continue   # an index that is a number too
        fix = statement_apart(text, found.start(), found.end(), f"{REDUCING[first]} {row.written.format(first, *pieces)}", source)
        yield AdError(f"a {KINDS[REDUCING[first]]} over an index is a statement of its own", (found.start(), found.end()),
                      f"write {fix.text}", fix=fix)


def summed_products(text: str) -> Iterator[AdError]:
    """Rewriting of `y = einsum('ij,j->i', A, x)`: the product of the elements, and the sum over the other indices."""
    found = compiled(r"<START>(<NAME>)(?: \([^()]*\))? = (?:\w+\.)*einsum \( ['\"] ([a-zA-Z, ]+?)(-> [a-zA-Z]*)? ['\"] , "
                     r"<v> \)<END>").search(text)
    if found is None:
        return
    target, terms, to, names = found.groups()
    indices, tensors = [t.strip() for t in terms.split(",")], re.split(r"\s*,\s*", names)
    once = sorted(i for i in {*terms} - {*", "} if terms.count(i) == 1)
    kept = [*to.removeprefix("->").strip()] if to is not None else once
    said = "" if len(indices) == len(tensors) else \
        f", and this one has {plural(len(indices), 'term')} for {plural(len(tensors), 'tensor')}"
    left = f"{target}({', '.join(kept)})" if kept else target
    right = " * ".join(f"{tensor}({', '.join(i)})" if i else tensor for tensor, i in zip(tensors, indices, strict=False))
    written = f"{left} {'=' if {*kept} == {*terms} - {*', '} else '+=!'} {right}"
    yield AdError(f"there is no 'einsum'{said}", found.span(), f"write {written}", fix=Fix(0, len(text), written))


def slices(text: str, source: str) -> Iterator[AdError]:
    """Rewriting of `y = x[1:] - x[:-1]`, and of a reduction of a slice."""
    first = ACCESS.search(text)
    if first is None:
        return
    reduced = compiled(r"<OVER> <l> \)").search(text)
    assigned = compiled("<START><n> = <l><END>").search(text)
    value = reduced[2] if reduced and reduced.start() < first.start() < reduced.end() else assigned[2] if assigned else text
    found = sliced(value, shapes_in(source), set(re.findall(NAME, source)))
    if found is None:
        return
    if reduced and value == reduced[2]:
        fix = statement_apart(text, reduced.start(), reduced.end(), f"{REDUCING[reduced[1]]} {found.text}{found.ranges}", source)
    else:
        target = f"{assigned[1] if assigned else 'f'}({found.indices})"
        fix = Fix(0, len(text), f"{target} = {found.text}{found.ranges}")
    yield AdError(f"there is no '{first[0]}'", first.span(), f"write {fix.text}", fix=fix)


def shapes_in(source: str) -> dict[str, list[str]]:
    """The extents of the tensors that a source declares."""
    declared = DECLARED.findall(";".join(re.findall(r"\b(?:input|param)\b([^;\n]*)", source)))
    return {name: re.split(r"\s*,\s*", shape.strip()) for name, shape in declared}


def statement_apart(text: str, begin: int, end: int, reduced: str, source: str) -> Fix:
    """The statement in whose value a reduction stands from `begin` to `end`, which `reduced` says as it is assigned: the
    reduction as the statement, where that is all of it, or under a name in one before it."""
    start = max(text.rfind(mark, 0, begin) for mark in ";{\n") + 1
    start += len(text[start:]) - len(text[start:].lstrip())
    assigned = ASSIGNED.match(text[start:begin])
    target, sign = assigned.groups() if assigned else ("f", "=")
    before, behind = text[start + (assigned.end() if assigned else 0):begin], text[end:]
    if assigned and sign == "=" and not before and not behind.strip():
        return Fix(start, len(text), f"{target} {reduced}")
    name = element_for(target, behind, reduced, text + source)
    if stated := re.match(r"(?:minimize|maximize|subject to) ", text[start:begin]):
        return Fix(start, len(text), f"{name} {reduced}; {stated[0]}{text[start + stated.end():begin]}{name}{behind}")
    return Fix(start, len(text), f"{name} {reduced}; {target} {sign} {before}{name}{behind}")


def element_for(target: str, behind: str, reduced: str, text: str) -> str:
    """A name that a text does not have, with those indices of the statement that what it reduces depends on."""
    read = re.findall(NAME, reduced)
    indices = [*re.findall(NAME, target.partition("(")[2]), *re.findall(rf"({NAME}) in\b", behind)]
    subscripts = ", ".join(dict.fromkeys(i for i in indices if i in read))
    name = next(n for n in chain("srq", (f"s{i}" for i in count(1))) if not re.search(rf"\b{n}\b", text))
    return f"{name}({subscripts})" if subscripts else name


def inclusive(low: str, high: str) -> str:
    """A range whose end is behind the last value. What goes from 0 to a size N, which is no element, was meant to end before."""
    before = re.fullmatch(r"(.+?)\s*-\s*1", high)
    if before or (low == "0" and high.isidentifier()):
        return f"{low}:{before[1] if before else high}"
    return f"{low}:{int(high) + 1 if high.isdecimal() else f'{high} + 1'}"


def none(what: str) -> str:
    """There is no such thing."""
    if len(what) == 1 and not what.isascii():
        return misplaced(what)
    what = what if len(what) <= LONGEST_QUOTE and "\n" not in what else re.split(r"\s", what)[0][:LONGEST_QUOTE]
    return f"'{what}' is not a word of this language" if what.isidentifier() else f"there is no '{what}'"


LONGEST_QUOTE = 24


def fitted(written: str, before: str, found: str, after: str) -> str:
    """Replacement text, with the operator or blank that it needs beside its neighbours."""
    if before[-1:].isalnum() and (written[:1].isalnum() or written[:1] == "(" != found[:1]):
        written = f" {written}" if written.startswith(("and", "or", "not")) or found.startswith("\\") else f"*{written}"
    return f"{written} " if written[-1:].isalnum() and after[:1].isalnum() else written


# ---------------------------------------------------------------- characters

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
