"""Skipped tests that count as failures: on CI an engine that is missing is a fault of the machine, and green would hide it.

The variable names a file, whose lines are `beginning of a reason: why it may be skipped`; every other skip ends the run with 1.
"""
from __future__ import annotations

import os
import pathlib
from collections import Counter
from collections.abc import Iterable

import pytest

VARIABLE = "ADCLI_ALLOWED_SKIPS"


def refused(reasons: Iterable[str], allowed: str) -> dict[str, int]:
    """The reasons that no line allows, with the number of tests that each has skipped."""
    lines = [line for line in allowed.splitlines() if line.strip() and not line.startswith("#")]
    if unexplained := [line for line in lines if not line.partition(": ")[2].strip()]:
        raise ValueError(f"{unexplained[0]!r} has no reason")
    begins = tuple(line.partition(": ")[0] for line in lines)
    return Counter(reason for reason in reasons if not (begins and reason.startswith(begins)))


def pytest_sessionfinish(session: pytest.Session) -> None:
    path, reporter = os.environ.get(VARIABLE), session.config.pluginmanager.get_plugin("terminalreporter")
    if not path or reporter is None or hasattr(session.config, "workerinput"):
        return
    reasons = [report.longrepr[2].removeprefix("Skipped: ") for report in reporter.stats.get("skipped", ())]
    found = refused(reasons, pathlib.Path(path).read_text(encoding="utf-8"))
    for reason, count in found.items():
        reporter.write_line(f"{count} skipped, and {path} does not allow it: {reason}", red=True)
    if found and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
