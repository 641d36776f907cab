"""The kinds of pictures, and the packages that draw them."""
from __future__ import annotations

import os
from importlib.util import find_spec
from threading import Lock

from adcli.lang.ir.errors import AdError
from adcli.lang.ir.extras import missing

FILES = ("svg", "png", "pdf")
FORMATS = ("text", "csv", *FILES)
one_at_a_time = Lock()
"""Held while plotext or matplotlib draws: both keep what they draw with in one place for all threads."""


def unlocked() -> None:
    """In a process that was forked while another thread was drawing."""
    global one_at_a_time
    one_at_a_time = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=unlocked)


def require_package(form: str) -> None:
    """AdError where what draws a kind of picture is not installed. Asked before the work, not after it."""
    if form not in FORMATS:
        raise AdError(f"no kind of picture '{form}'", help=f"the kinds are {', '.join(FORMATS)}")
    if form == "text" and find_spec("plotext") is None:
        raise missing("a picture in characters", "plotext")
    if form in FILES and find_spec("matplotlib") is None:
        raise missing("a picture in a file", "matplotlib")
