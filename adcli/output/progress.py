"""How far a long run has come: one line on a terminal, rewritten twice a second and wiped at the end."""
from __future__ import annotations

import sys
import time
from typing import TextIO

SHOWN_AFTER = 2.0
"""Seconds before anything is shown."""
EVERY = 0.5


class Progress:
    """Shows rows, rows a second and, where the size of the input is known, the time left."""

    def __init__(self, size: int | None, stream: TextIO | None = None, shown: bool = True) -> None:
        self.size, self.stream = size, stream or sys.stderr
        self.shown = shown and self.stream.isatty()
        self.start = self.last = time.monotonic()
        self.written = False

    def update(self, rows: int, taken: int, more: str = "") -> None:
        now = time.monotonic()
        if self.shown and now - self.start >= SHOWN_AFTER and now - self.last >= EVERY:
            self.last, self.written = now, True
            self._write(line(rows, taken, self.size, now - self.start, more))

    def clear(self) -> None:
        if self.written:
            self._write("")

    def _write(self, text: str) -> None:
        """Rewrite the line. A terminal that has gone is no reason to stop."""
        try:
            self.stream.write(f"\r\x1b[K{text}")
            self.stream.flush()
        except OSError:
            self.shown = self.written = False


def line(rows: int, taken: int, size: int | None, seconds: float, more: str = "") -> str:
    """What is shown after so many seconds, `taken` of `size` bytes read, and what `more` there is to say."""
    shown = f"{rows:,} rows, {rows / seconds:,.0f} rows/s{more}"
    if not size or not taken:
        return shown
    left = round(seconds * max(size - taken, 0) / taken)
    return f"{shown}, {100 * min(taken, size) // size}%, {left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"
