"""Progress on a terminal, and none elsewhere."""
from __future__ import annotations

import io

from adcli.output.progress import Progress, line


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress(monkeypatch):
    assert line(3_000_000, 50, 200, 2.0) == "3,000,000 rows, 1,500,000 rows/s, 25%, 0:00:06 left"
    assert line(10, 50, None, 2.0) == "10 rows, 5 rows/s"
    now = [0.0]
    monkeypatch.setattr("adcli.output.progress.time.monotonic", lambda: now[0])
    for shown in (Terminal(), io.StringIO()):
        now[0] = 0.0
        progress = Progress(100, shown)
        for now[0] in (1.0, 2.5, 2.6, 3.5):
            progress.update(10, 50)
        progress.clear()
        assert shown.getvalue().count("rows/s") == (2 if shown.isatty() else 0)
        assert shown.getvalue().endswith("\r\x1b[K" if shown.isatty() else "")
