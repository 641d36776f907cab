"""Long texts to source trees, statements of one shape read once.

A long program says the same few things with other names and other numbers: `t7 = 0.5*(t1 + t4)`, 100,000 times. Every line is cut
at its names and numbers; what stands between them, with the kinds of the words, is its key. When a key comes for the second
time, a model of these lines, in which all names and numbers are different, goes through scanner and parser as any text does; if
one assignment of one value is what they make of it, this and all later lines of the key are ShapedLines of that Shape. That is
right because nothing but keywords depends on how a name is spelled: the names of the functions that are called are part of the
key, and a line with a keyword is read by itself, as is everything else that is no such line.

So it is with the terms and factors of a long line (`adcli.lang.syntax.shapes`): each is a ShapedLine that assigns to nothing.

Nothing is said of faults here: a text that has one is read again as a whole by `adcli.lang.syntax.parse`.

A long expression cut into fragments: its terms, its factors, and those of long ones among them.

The text is not parsed. What stands between two words says how deep in parentheses the next one is, and which operator is between
them; where nothing but + - * / and powers stands outside of all parentheses, the expression is cut at the loosest of these. What
is wrong with a text makes a piece of it wrong.
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from sys import intern
from typing import Any, NamedTuple

from adcli.lang.ir.errors import AdError, Source
from adcli.lang.syntax.actions import Unexpected, statements
from adcli.lang.syntax.scan import DECIMAL, HEXADECIMAL, KEYWORDS, letters, scan
from adcli.lang.tree.nodes import Assign, Joint, KnownLine, LongLine, Shape, ShapedLine, Statement, Token, Tree

MOST_KEYS = 10_000
"""Keys that are remembered: a text of ever new shapes is not kept a second time."""

WORD = r"""
(?<![A-Za-z0-9_.{rest}])(
  (?!m(?:in|ax)=[^=]|argm(?:in|ax)=!)[A-Za-z_{starts}][A-Za-z0-9_{rest}]*+(?![ \t\f\v]*\()
| (?:NUMBER)
)""".replace("NUMBER", f"{HEXADECIMAL}|{DECIMAL}".replace("{", "{{").replace("}", "}}"))
"""NAME and NUMBER of the scanner, without the names of functions that are called."""
GOES_ON = re.compile(r"[\w.]")
"""Characters after a name or a number that make it none."""

Key = tuple[Any, ...]
"""Texts around the words of a line, then for each word whether it is a name."""


def by_shape(source: Source) -> tuple[Tree, list[Statement | KnownLine]] | None:
    """The statements of a text, and the tree of those among them that are no KnownLines, without comments. None where only a
    reading of the whole text can say what it means, or what is wrong with it."""
    reader = Reader(source.text)
    try:
        statements = reader.read()
    except (AdError, Unexpected):
        return None
    names = set(filter(str.isidentifier, reader.names))
    if not source.text.isascii():
        from adcli.lang.syntax.foreign import suspicious  # most programs have no need of it
        if any(suspicious(names, reader.comments, source)):
            return None
    others = [s for s in statements if not isinstance(s, KnownLine)]
    return Tree(source, others, [], names), statements


class Reader:
    """A text being read statement by statement. `known` has the shapes by their keys, None where lines of a key are read one by
    one; `once` are the keys that have come one time."""

    def __init__(self, text: str) -> None:
        self.text, self.names = text, set[str]()
        self.comments: list[Token] = []   # those at least that have characters beyond ASCII
        starts, rest = letters(text)
        self.split = re.compile(WORD.format(starts=starts, rest=rest), re.VERBOSE).split
        self.known: dict[Key, Shape | None] = {}
        self.once: set[Key] = set()

    def read(self) -> list[Statement | KnownLine]:
        text, read = self.text, list[Statement | KnownLine]()
        start, size = 0, len(text)
        while start < size:
            end = text.find("\n", start)
            if end < 0:
                end = size
            code, _, comment = text[start:end].partition("#")
            if not comment.isascii():
                self.comments.append(Token("COMMENT", comment, end - len(comment), end))
            code = code.rstrip(" \t")
            bare = code.lstrip(BLANKS)
            if not bare:
                start = end + 1
            elif line := self.line(bare, start + len(code) - len(bare)):
                read.append(line)
                start = end + 1
            else:
                tokens = self.tokens(start)
                read += statements(tokens)
                start = tokens[-1].end
        return read

    def line(self, code: str, start: int) -> KnownLine | None:
        """Line that begins where an assignment may; None where it is to be read by itself."""
        if "[" in code:
            return None
        parts = self.split(code)
        words = [*map(intern, parts[1::2])]
        key: Key = (*parts[::2], *map(str.isidentifier, words))
        shape = self.known.get(key)
        if shape is None and key not in self.known:
            if key in self.once:
                shape = self.known[key] = shape_of(key)
            elif len(self.once) < MOST_KEYS:
                self.once.add(key)
        if (shape is None and len(words) <= FEW) or not KEYWORDS.keys().isdisjoint(words):
            return None
        line = self.long(parts, words, start) if shape is None else ShapedLine(shape, words, start)
        if line is not None:
            self.names.update(words)
        return line

    def long(self, parts: list[str], words: list[str], start: int) -> LongLine | None:
        """A line as its pieces, where most of them are of a shape that others have."""
        cut = LineCut(parts, start)
        kinds = [*map(str.isidentifier, words)]
        keys: list[Key] = [("", "=" + p.head, *parts[2 * p.first + 2:2 * p.end:2], p.tail, True, *kinds[p.first:p.end])
                           for p in cut.steps if isinstance(p, LinePiece)]
        different = dict.fromkeys(keys)
        if not keys or 2 * sum(words_of(key) - 1 for key in different) > len(words) - 1:
            return None
        for key in different:
            if key not in self.known:
                self.known[key] = shape_of(key)
        shapes = [found for key in keys if (found := self.known[key])]
        if len(shapes) < len(keys):
            return None
        shape = iter(shapes)
        steps = [ShapedLine(next(shape), ["", *words[s.first:s.end]], cut.start(s) - 1) if isinstance(s, LinePiece) else s
                 for s in cut.steps]
        return LongLine(steps, words, start)

    def tokens(self, start: int) -> list[Token]:
        """The tokens of the statement that starts there, which may be a block."""
        tokens: list[Token] = []
        depth = 0
        while depth > 0 or not tokens:
            more, comments, names = scan(self.text, start=start, one=True)
            kinds = [t.type for t in more]
            depth += kinds.count("LBRACE") - kinds.count("RBRACE")
            self.names |= names
            self.comments += comments
            tokens += more
            start = more[-1].end
            if start >= len(self.text):
                break
        return tokens


def words_of(key: Key) -> int:
    """Number of words of a key."""
    return len(key) // 2


def shape_of(key: Key) -> Shape | None:
    """The Shape of the lines with a key, if they have one: the words of its model differ, and its numbers are no integers."""
    count = words_of(key)
    gaps, kinds = key[:count + 1], key[count + 1:]
    if any(GOES_ON.match(gap) for gap in gaps[1:]):
        return None
    text, places = gaps[0], []
    for k, (kind, gap) in enumerate(zip(kinds, gaps[1:], strict=True)):
        word = f"_{k}" if kind else f"{k}.5"
        places.append((len(text), len(text) + len(word)))
        text += word + gap
    try:
        made = statements(scan(text)[0])
    except (AdError, Unexpected):
        return None
    if len(made) != 1 or type(made[0]) is not Assign or [t.start for t in made[0].targets] != [places[0][0]]:
        return None
    return Shape(made[0], places)


# ---------------------------------------------------------------- fragments

FEW = 16
"""Words of a piece that is not cut again."""
MOST_LEVELS = 8
"""Depth of cutting; each level looks through the pieces once."""

BLANKS = " \t\f\v"
OPENS = rf"((?:[-+({BLANKS}]|\w+[{BLANKS}]*\()*)"
FIRST = re.compile(rf"[{BLANKS}]*={OPENS}")
BETWEEN = re.compile(rf"([){BLANKS}]*)(\*\*|[-+*/^]){OPENS}")
NAMES = {"+": "add", "-": "sub", "*": "mul", "/": "div"}


class WordGap(NamedTuple):
    """Text between two words: how many parentheses more are open behind it, and where fewest are. Where it is an operator,
    what closes `before` and opens `behind` it."""

    change: int
    lowest: int
    operator: str
    before: str
    behind: str


class LinePiece(NamedTuple):
    """Some words that are an operand, with what stands before the first of them and behind the last one."""

    first: int
    end: int
    head: str
    tail: str


def gap(text: str) -> WordGap:
    depths = list(accumulate([(c == "(") - (c == ")") for c in text], initial=0))
    found = BETWEEN.fullmatch(text)
    before, operator, behind = found.groups() if found else ("", "", "")
    return WordGap(depths[-1], min(depths), operator, before.rstrip(BLANKS), behind.lstrip(BLANKS))


class LineCut:
    """The pieces of an assignment in the order of evaluation, with what joins them. `parts` are its text cut at the words, which
    are every other one; it begins at `start`."""

    def __init__(self, parts: Sequence[str], start: int) -> None:
        self.ends = list(accumulate(map(len, parts), initial=start))[2::2]   # of the words
        self.lengths = list(map(len, parts[1::2]))
        known = {text: gap(text) for text in set(parts[2:-1:2])}
        self.gaps = [known[text] for text in parts[2:-1:2]]   # behind each word but the last
        self.steps: list[LinePiece | Joint] = []
        first = FIRST.fullmatch(parts[2])
        if first:
            self.cut(LinePiece(1, len(self.lengths), first[1].lstrip(BLANKS), parts[-1]), MOST_LEVELS)

    def start(self, piece: LinePiece) -> int:
        return self.ends[piece.first] - self.lengths[piece.first] - len(piece.head)

    def cut(self, piece: LinePiece, levels: int) -> None:
        """Append the steps of a piece, which is one of them if it is short or there is nothing to cut it at."""
        first, end, head, tail = piece
        outside = self.outside(piece) if levels and end - first > FEW else None
        if outside == [] and head.startswith("(") and tail.endswith(")"):
            self.cut(LinePiece(first, end, head[1:].lstrip(BLANKS), tail[:-1].rstrip(BLANKS)), levels - 1)
            return
        at = (outside and [k for k in outside if self.gaps[k - 1].operator in "+-"]) or \
            [k for k in outside or () if self.gaps[k - 1].operator in "*/"]
        if not at:
            self.steps.append(piece)
            return
        start = self.start(piece)
        for i, j in zip((first, *at), (*at, end), strict=True):
            last = tail if j == end else self.gaps[j - 1].before
            self.cut(LinePiece(i, j, head if i == first else self.gaps[i - 1].behind, last), levels - 1)
            if i > first:
                self.steps.append((NAMES[self.gaps[i - 1].operator], start, self.ends[j - 1] + len(last)))

    def outside(self, piece: LinePiece) -> list[int] | None:
        """The words before which an operator stands outside of all parentheses; None where something else does."""
        depth, found = piece.head.count("("), []
        for k in range(piece.first + 1, piece.end):
            change, lowest, operator, _, _ = self.gaps[k - 1]
            if depth + lowest <= 0:
                if depth + lowest < 0 or not operator:
                    return None
                found.append(k)
            depth += change
        return found
