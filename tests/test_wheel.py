"""The package as it is installed: everything in it, and nothing of it confused with a stranger's files of the same names."""
from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest
from places import ROOT

from adcli.manual import TOPICS

pytestmark = pytest.mark.xdist_group("wheel")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> pathlib.Path:
    """A wheel of a copy of the project, so that nothing is left in it; without the network where what builds it is there."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for folder in ("adcli", "lang", "codegen", "samples"):
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / file, source)
    there = ["--no-build-isolation"] if importlib.util.find_spec("setuptools.command.bdist_wheel") else []
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", *there, "-w", str(out), str(source)], check=True)
    (made,) = out.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> pathlib.Path:
    """A folder with the wheel in it, as `pip install --target` leaves it."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(folder), str(wheel)],
                   check=True)
    return folder


def python(installed: pathlib.Path, cwd: pathlib.Path, script: str, *args: str) -> str:
    """Run a script that finds the installed package in front of everything, in a folder of its own."""
    first = f"import sys; sys.path.insert(0, {str(installed)!r}); sys.argv = ['adcli', *sys.argv[1:]]\n"
    done = subprocess.run([sys.executable, "-I", "-c", first + script, *args], cwd=cwd, capture_output=True, text=True,
                          encoding="utf-8", check=True, env={**os.environ, "COLUMNS": "80"})
    return done.stdout


def test_the_wheel_has_everything_that_is_read_at_run_time(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"adcli/manual/{topic}.md" for topic in TOPICS} <= names
    assert {f"adcli/samples/{p.name}" for p in (ROOT / "samples").iterdir() if p.suffix in (".ad", ".json")} <= names
    assert {"adcli/py.typed", "adcli/lang/syntax/grammar.lark", "adcli/lang/lower/prelude.ad"} <= names
    sources = {f"{'' if folder == 'adcli' else 'adcli/'}{p.relative_to(ROOT)}" for folder in ("adcli", "lang", "codegen")
               for p in (ROOT / folder).rglob("*.py")}
    assert sources == {name for name in names if name.endswith(".py")}
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"adcli"}


def test_it_works_beside_strangers_of_the_same_names(installed, tmp_path):
    """A folder `lang` and a file codegen.py of a user's own are neither taken for ours nor hidden by ours."""
    (tmp_path / "lang").mkdir()
    (tmp_path / "lang" / "__init__.py").write_text("here = 'a stranger'\n", encoding="utf-8")
    (tmp_path / "codegen.py").write_text("here = 'a stranger'\n", encoding="utf-8")
    shown = python(installed, tmp_path, "sys.path.insert(0, '')\nimport lang, codegen, adcli\n"
                   "print(adcli.__file__, lang.here, codegen.here, adcli.compile('v=x*y').grad()(x=2.0, y=3.0))")
    assert shown == f"{installed / 'adcli' / '__init__.py'} a stranger a stranger {{'v': 6.0, 'dv_dx': 3.0, 'dv_dy': 2.0}}\n"


def test_the_command_and_its_manual(installed, tmp_path):
    main = "from adcli.main import main; main()"
    assert python(installed, tmp_path, main, "grad", "-e", "v = x*y", "--at", "x=2,y=3") == "v = 6.0\ndv_dx = 3.0\ndv_dy = 2.0\n"
    assert python(installed, tmp_path, main, "help", "tensors").startswith("tensors: ")
    folder = installed / "adcli" / "samples"
    assert str(folder) in python(installed, tmp_path, main, "help", "samples")
    assert python(installed, tmp_path, main, "grad", str(folder / "worked.ad"), "--at", "x=2,y=5").startswith("v = 3920.6\n")
