"""--digits: the counts beside the results in every format, and what they do not go with."""
from __future__ import annotations

import sys

from command import adcli

# ---------------------------------------------------------------- what is printed


def test_without_python_flint_its_installation_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "flint", None)
    ended = adcli("eval", "-e", "x", "--at", "x=1", "--digits")
    assert ended.code == 2 and ended.err.endswith(f"help: {sys.executable} -m pip install python-flint\n")

