"""Packages that adcli does without until something needs one of them: what is said then."""
from __future__ import annotations

import shlex
import sys
from importlib.machinery import PathFinder

from adcli.lang.ir.errors import AdError


def missing(what: str, package: str) -> AdError:
    """The error where something needs a package that is not there."""
    return AdError(f"{what} needs {package}, which is not installed", help=install(package))


def install(package: str) -> str:
    """The command that puts a package beside this adcli, in whatever folder it is typed.

    It names the package and not an extra of adcli: `adcli[digits]` would be looked up in a registry, where a clone is not,
    and `.[digits]` works in the folder of the clone alone.
    """
    python = shlex.quote(sys.executable or "python3")
    pip = PathFinder.find_spec("pip")   # asked too, setuptools' finder would take it for an import and change distutils
    return f"{python} -m pip install {package}" if pip else f"uv pip install --python {python} {package}"
