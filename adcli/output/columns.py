"""Text in columns, each as wide as its longest cell."""
from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], sides: str, gap: str = "  ") -> list[str]:
    """A line for each row; `sides` has `<` for a column of words and `>` for one of numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [gap.join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)).rstrip()
            for row in rows]


def commented(lines: Sequence[str], comments: Sequence[str]) -> list[str]:
    """Lines of a program with comments behind them, which begin in one column; an empty one is none."""
    width = max(map(len, lines), default=0)
    return [f"{line:{width}}   # {comment}" if comment else line for line, comment in zip(lines, comments, strict=True)]
