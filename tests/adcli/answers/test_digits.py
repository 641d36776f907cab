"""--digits and --enclose without the package that they need."""
from __future__ import annotations

import sys

import pytest
from command import adcli


@pytest.mark.parametrize("option", ["--digits", "--enclose"])
def test_without_python_flint_its_installation_is_named(option, monkeypatch):
    monkeypatch.setitem(sys.modules, "flint", None)
    ended = adcli("eval", "-e", "x", "--at", "x=1", option)
    assert ended.code == 2 and ended.err.endswith(f"help: {sys.executable} -m pip install python-flint\n")
