"""Progress on a terminal, and none elsewhere."""
from __future__ import annotations

import io

import pytest

from adcli.output.streams import Progress, line


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("rows", "taken", "size", "seconds", "want"), [
    (3_000_000, 50, 200, 2.0, "3,000,000 rows, 1,500,000 rows/s, 25%, 0:00:06 left"),
    (10, 50, None, 2.0, "10 rows, 5 rows/s"), (10, 0, 200, 4.0, "10 rows, 2 rows/s"), (10, 5, 0, 4.0, "10 rows, 2 rows/s"),
    (10, 1, 3600 * 12 + 61, 1.0, "10 rows, 10 rows/s, 0%, 12:01:00 left"),
    (10, 300, 200, 1.0, "10 rows, 10 rows/s, 100%, 0:00:00 left"), (10, 199, 200, 1.0, "10 rows, 10 rows/s, 99%, 0:00:00 left"),
    (1, 1, 60, 1.0, "1 rows, 1 rows/s, 1%, 0:00:59 left"), (1, 1, 61, 1.0, "1 rows, 1 rows/s, 1%, 0:01:00 left"),
    (1, 1, 3600, 1.0, "1 rows, 1 rows/s, 0%, 0:59:59 left"), (1, 1, 3601, 1.0, "1 rows, 1 rows/s, 0%, 1:00:00 left")])
def test_a_line_says_how_far_it_is(rows, taken, size, seconds, want):
    assert line(rows, taken, size, seconds) == want


@pytest.mark.parametrize(("terminal", "shown"), [(True, True), (True, False), (False, True)])
def test_it_is_shown_after_two_seconds_and_twice_a_second_on_a_terminal(terminal, shown, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("adcli.output.streams.time.monotonic", lambda: now[0])
    stream = Terminal() if terminal else io.StringIO()
    progress = Progress(100, stream, shown)
    at = []
    for now[0] in (101.0, 101.9, 102.0, 102.1, 102.4, 102.5, 102.9, 103.5):
        before = len(stream.getvalue())
        progress.update(10, 50)
        at += [now[0]] * (len(stream.getvalue()) > before)
    progress.clear()
    if not (terminal and shown):
        assert (stream.getvalue(), at) == ("", [])
        return
    assert at == [102.0, 102.5, 103.5]
    assert stream.getvalue() == "".join(f"\r\x1b[K{line(10, 50, 100, t - 100)}" for t in at) + "\r\x1b[K"


def test_what_was_not_shown_is_not_wiped(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    progress = Progress(None)
    progress.clear()
    assert stream.getvalue() == ""
    monkeypatch.setattr("adcli.output.streams.time.monotonic", lambda: progress.start + 5)
    progress.update(10, 0)
    assert stream.getvalue() == "\r\x1b[K10 rows, 2 rows/s"
