"""Long texts to source trees, statements of one shape read once.

A long program says the same few things with other names and other numbers: `t7 = 0.5*(t1 + t4)`, 100,000 times. Every line is cut
at its names and numbers; what stands between them, with the kinds of the words, is its key. When a key comes for the second
time, a model of these lines, in which all names and numbers are different, goes through scanner and parser as any text does; if
one assignment of one value is what they make of it, this and all later lines of the key are ShapedLines of that Shape. That is
right because nothing but keywords depends on how a name is spelled: the names of the functions that are called are part of the
key, and a line with a keyword is read by itself, as is everything else that is no such line.

Nothing is said of faults here: a text that has one is read again as a whole by `adcli.lang.syntax.parse`.
"""
from __future__ import annotations

import re
from sys import intern
from typing import Any

from adcli.lang.ir.errors import AdError, Source
from adcli.lang.syntax.lalr import Unexpected, statements
from adcli.lang.syntax.scan import KEYWORDS, letters, scan
from adcli.lang.syntax.tree import Assign, Shape, ShapedLine, Statement, Token, Tree

MOST_KEYS = 10_000
"""Keys that are remembered: a text of ever new shapes is not kept a second time."""

WORD = r"""
(?<![A-Za-z0-9_.{rest}])(
  (?!m(?:in|ax)=[^=]|argm(?:in|ax)=!)[A-Za-z_{starts}][A-Za-z0-9_{rest}]*+(?![ \t\f\v]*\()
| 0[xX](?:[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*\.?(?:[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*)?
         |\.[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*)(?:[pP][-+]?[0-9]+)?
| (?:[0-9]+(?:_[0-9]+)*\.?(?:[0-9]+(?:_[0-9]+)*)?|\.[0-9]+(?:_[0-9]+)*)(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?
)"""
"""NAME and NUMBER of the scanner, without the names of functions that are called."""
GOES_ON = re.compile(r"[\w.]")
"""What, behind a name or a number, makes it none."""

Key = tuple[Any, ...]
"""What stands around the words of a line, then for each word whether it is a name."""


def by_shape(source: Source) -> tuple[Tree, list[Statement | ShapedLine]] | None:
    """The statements of a text, and the tree of those among them that are no ShapedLines, without comments. None where only a
    reading of the whole text can say what it means, or what is wrong with it."""
    reader = Reader(source.text)
    try:
        statements = reader.read()
    except (AdError, Unexpected):
        return None
    names = set(filter(str.isidentifier, reader.names))
    if not source.text.isascii():
        from adcli.lang.syntax.characters import suspicious  # most programs have no need of it
        if any(suspicious(names, reader.comments, source)):
            return None
    others = [s for s in statements if not isinstance(s, ShapedLine)]
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

    def read(self) -> list[Statement | ShapedLine]:
        text, read = self.text, list[Statement | ShapedLine]()
        start, size = 0, len(text)
        while start < size:
            end = text.find("\n", start)
            if end < 0:
                end = size
            code, _, comment = text[start:end].partition("#")
            if not comment.isascii():
                self.comments.append(Token("COMMENT", comment, end - len(comment), end))
            code = code.rstrip(" \t")
            if not code:
                start = end + 1
            elif line := self.line(code, start):
                read.append(line)
                start = end + 1
            else:
                tokens = self.tokens(start)
                read += statements(tokens)
                start = tokens[-1].end
        return read

    def line(self, code: str, start: int) -> ShapedLine | None:
        """The ShapedLine that a text is which begins where a statement may; None where it is to be read by itself."""
        if "[" in code:
            return None
        parts = self.split(code)
        words = [*map(intern, parts[1::2])]
        key: Key = (*parts[::2], *map(str.isidentifier, words))
        shape = self.known.get(key)
        if shape is None and key not in self.known:
            if key in self.once:
                shape = self.known[key] = shape_of(key, len(words))
            elif len(self.once) < MOST_KEYS:
                self.once.add(key)
        if shape is None or not KEYWORDS.keys().isdisjoint(words):
            return None
        self.names.update(words)
        return ShapedLine(shape, words, start)

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


def shape_of(key: Key, count: int) -> Shape | None:
    """The Shape of the lines with a key of `count` words, if they have one: the words of its model differ, and its numbers are no
    integers."""
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
