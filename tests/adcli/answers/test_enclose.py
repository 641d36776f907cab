"""--enclose: the bounds as programs, tables and JSON, and what is said of boxes that are wrong."""
from __future__ import annotations

import sys

from command import adcli

# ---------------------------------------------------------------- what is printed


def test_without_python_flint_its_installation_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "flint", None)
    ended = adcli("eval", "-e", "x", "--at", "x=1", "--enclose")
    assert ended.code == 2 and ended.err.endswith(f"help: {sys.executable} -m pip install python-flint\n")

