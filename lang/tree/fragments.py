"""A long expression cut into fragments: its terms, its factors, and those of long ones among them.

The text is not parsed. What stands between two words says how deep in parentheses the next one is, and which operator is between
them; where nothing but + - * / and powers stands outside of all parentheses, the expression is cut at the loosest of these. What
is wrong with a text makes a piece of it wrong.
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from adcli.lang.tree.nodes import Joint

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
