"""The two readers of tables, row by row and native code, each alone, and blocks that end in odd places."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from unittest import mock

from command import Ended, adcli

from adcli.rows import blocks

READERS = ("careful", "native")


@contextlib.contextmanager
def reader(name: str, cut: bool = False) -> Iterator[None]:
    """adcli with this reader alone, and with blocks that end wherever they can."""
    with contextlib.ExitStack() as patches:
        fast = blocks.fast_tables(True) if name == "native" else None
        patches.enter_context(mock.patch.object(blocks, "fast_tables", lambda keep: fast))
        patches.enter_context(mock.patch.object(blocks, "LARGE", 0))
        if cut:
            patches.enter_context(mock.patch("adcli.tables.streams.BLOCK", 24))
            patches.enter_context(mock.patch("adcli.tables.streams.PIECE", 7))
        yield


def outcomes(data: bytes, program: str, *options: object, verb: str = "grad", cut: bool = False) -> dict[str, Ended]:
    """What each reader makes of a table."""
    found = {}
    for name in READERS:
        with reader(name, cut):
            found[name] = adcli(verb, "-e", program, "--data", "-", *options, stdin=data)
    return found


def same(found: dict[str, Ended]) -> Ended:
    """The one outcome; exit codes are those of good and bad tables, of --strict and of options."""
    for name in READERS:
        assert found[name] == found["careful"], name
    assert found["careful"].code in (0, 2, 4, 5), found["careful"]
    return found["careful"]
