"""What is said of a package that is missing works when it is pasted."""
from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib.machinery import PathFinder

import pytest
from adcli.lang.ir import errors
from command import adcli
from places import ROOT

from adcli.solvers.interior import PACKAGES

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
OURS = ("test", "mutation", "engines")
OPTIONAL, ANY = ({re.split(r"[><=\[]", need)[0] for name, needs in EXTRAS.items() if name not in without for need in needs
                  if not need.startswith("adcli[")}
                 for without in (OURS, ("test", "mutation")))
WITH_OTHERS = {"bokeh", "distributed", "fsspec", "s3fs", "gcsfs"}
"""What is installed as dask[distributed], or as fsspec with what a kind of URL needs."""
SOURCES = [path for top in ("adcli", "lang", "codegen") for path in (ROOT / top).rglob("*.py")]


def test_the_hint_is_a_command_of_this_python():
    fault = errors.missing("a figure", "mpmath")
    assert str(fault) == f"error: a figure needs mpmath, which is not installed\nhelp: {fault.help}"
    *command, package = shlex.split(fault.help or "")
    assert command == [sys.executable, "-m", "pip", "install"]
    done = subprocess.run([*command, "--dry-run", "--no-index", package], capture_output=True, text=True, check=True)
    assert "mpmath" in done.stdout   # it is there already


@pytest.mark.parametrize("python, shown", [("/a/python", "/a/python"), ("/a b/python", "'/a b/python'"), (None, "python3")])
@pytest.mark.parametrize("pip", [True, False])
def test_an_odd_environment(python, shown, pip, monkeypatch):
    monkeypatch.setattr(sys, "executable", python)
    monkeypatch.setattr(PathFinder, "find_spec", lambda name: pip)
    want = f"{shown} -m pip install polars" if pip else f"uv pip install --python {shown} polars"
    assert errors.install("polars") == want


def test_asking_changes_nothing_for_setuptools():
    asked = "from adcli.lang.ir.errors import install; install('mpmath'); import setuptools"
    subprocess.run([sys.executable, "-c", asked], check=True, capture_output=True)


def test_every_hint_comes_from_here_and_names_a_package_that_there_is():
    named = {package for _, package in PACKAGES.values()}
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        named |= set(re.findall(r"""\b(?:missing\([^()]*|install\()["']([\w-]+)["']\)""", text))
        assert path.name == "errors.py" or "pip install" not in text, path
    assert named <= ANY and OPTIONAL - named == WITH_OTHERS


SQUARE, ROWS = ("-e", "v = x*x"), "t.csv"
NEEDED = [   # a package, a command that needs it, and what that is for
    ("scipy", ("fit", "-e", "param k = 1; v = k*x", "--y", "y", "--data", ROWS), "a fit"),
    ("scipy", ("solve", *SQUARE, "--at", "x=1"), "solve"), ("scipy", ("minimize", *SQUARE, "--at", "x=1"), "minimize"),
    ("pounce", ("minimize", *SQUARE, "--at", "x=1", "--solver", "pounce"), "--solver pounce"),
    ("cyipopt", ("minimize", *SQUARE, "--at", "x=1", "--solver", "ipopt"), "--solver ipopt"),
    ("polars", ("eval", *SQUARE, "--data", ROWS, "-o", "a.parquet"), "Parquet"),
    ("polars", ("eval", *SQUARE, "--data", ROWS, "-o", "a.npz"), "a file of arrays"),
    ("pyarrow", ("eval", *SQUARE, "--data", "t.parquet", "-o", "parts/", "--engine", "dask"), "Parquet in parts"),
    ("distributed", ("eval", *SQUARE, "--data", ROWS, "-o", "parts/", "--engine", "dask"), "--engine dask"),
    ("plotext", ("plot", *SQUARE, "--at", "x=0:1"), "a picture in characters"),
    ("matplotlib", ("plot", *SQUARE, "--at", "x=0:1", "-o", "a.svg"), "a picture in a file"),
    ("flint", ("check", *SQUARE, "--at", "x=1", "--plot", "a.csv"), "the picture of remainders"),
    ("flint", ("eval", *SQUARE, "--at", "x=1", "--enclose"), "an enclosure"),
    ("flint", ("eval", *SQUARE, "--at", "x=1", "--digits"), "counting digits"),
    ("flint", ("why", "-e", "v = sin(x)/x", "--at", "x=0", "--limit"), "why --limit"),
    ("ziglang", ("grad", *SQUARE, "--emit", "library", "-o", "a.so"), "--emit library"),
    ("pygls", ("lsp",), "the language server"),
]


@pytest.mark.parametrize(("package", "words", "what"), NEEDED)
def test_what_needs_a_package_says_so(package, words, what, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ROWS).write_text("x,y\n1,2\n2,4\n3,6\n")
    assert adcli("eval", *SQUARE, "--data", ROWS, "-o", "t.parquet").code == 0
    monkeypatch.setattr(shutil, "which", lambda name: None)
    for module in (package, *(m for m in sys.modules if m.startswith(f"{package}."))):
        monkeypatch.setitem(sys.modules, module, None)
    ended = adcli(*words)
    assert ended.code == 2 and re.match(rf"adcli: error: {re.escape(what)} needs '?[\w-]+\S*, which is not", ended.err), ended
