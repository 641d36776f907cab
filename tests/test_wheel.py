"""The package as it is installed: everything in it, and nothing of it confused with a stranger's files of the same names."""
from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import click
from places import ROOT

import adcli
from adcli.manual import TOPICS


def wheel(folder: pathlib.Path) -> pathlib.Path:
    """A wheel of a copy of the project, so that nothing is left in it; without the network where what builds it is there."""
    source, out = folder / "source", folder / "wheel"
    source.mkdir()
    for name in ("adcli", "lang", "codegen", "samples"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / file, source)
    there = ["--no-build-isolation"] if importlib.util.find_spec("setuptools.command.bdist_wheel") else []
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", *there, "-w", str(out), str(source)], check=True)
    (made,) = out.glob("*.whl")
    return made


def environment(made: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """A fresh environment with the wheel installed in it. The packages that it needs are found where this one has them."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", str(made)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "needed.pth").write_text(str(pathlib.Path(click.__file__).parents[1]) + "\n", encoding="utf-8")
    return folder


def run(environment: pathlib.Path, cwd: pathlib.Path, program: str, *args: str) -> str:
    """What a program of the environment prints, run in a folder."""
    done = subprocess.run([environment / "bin" / program, *args], cwd=cwd, capture_output=True, text=True, encoding="utf-8",
                          env={**os.environ, "COLUMNS": "80"})
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_package_as_it_is_installed(tmp_path):
    """In one test: each of the workers would build the wheel."""
    made = wheel(tmp_path)
    check_everything_is_there(made)
    fresh = environment(made, tmp_path / "environment")
    check_neither_is_taken_for_the_other(fresh, strangers(tmp_path / "strangers"))
    check_the_command_and_its_manual(fresh, tmp_path / "strangers")


def check_everything_is_there(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"adcli/manual/{topic}.md" for topic in TOPICS} <= names
    assert {f"adcli/samples/{p.name}" for p in (ROOT / "samples").iterdir() if p.suffix in (".ad", ".json")} <= names
    texts = {f"adcli/{p.relative_to(ROOT)}" for p in (ROOT / "lang" / "prelude").glob("*.ad")}
    assert {"adcli/py.typed", "adcli/lang/syntax/grammar.lark", *texts} <= names
    assert {p.relative_to(ROOT).as_posix() for p in (ROOT / "adcli").rglob("*.js")} <= names
    (points,) = (name for name in names if name.endswith("/entry_points.txt"))
    assert "[pygments.lexers]\nadcli = adcli.editors.lexer:AdcliLexer\n" in zipfile.ZipFile(wheel).read(points).decode()
    page = [p for p in (ROOT / "adcli" / "explore").rglob("*") if p.suffix in (".js", ".css", ".html")]
    assert {p.relative_to(ROOT).as_posix() for p in page} <= names and page
    assert {"adcli/codegen/scripts/interpreter.js"} <= names
    sources = {f"{'' if folder == 'adcli' else 'adcli/'}{p.relative_to(ROOT)}"
               for folder in ("adcli", "lang", "codegen", "samples") for p in (ROOT / folder).rglob("*.py")}
    assert sources == {name for name in names if name.endswith(".py")}
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"adcli"}


def strangers(tmp_path: pathlib.Path) -> pathlib.Path:
    """A project with a package `lang`, a module `codegen` and a folder of samples of its own."""
    (tmp_path / "lang").mkdir(parents=True)
    (tmp_path / "lang" / "__init__.py").write_text("here = 'a stranger'\n", encoding="utf-8")
    (tmp_path / "codegen.py").write_text("here = 'a stranger'\n", encoding="utf-8")
    (tmp_path / "samples").mkdir()
    return tmp_path


def check_neither_is_taken_for_the_other(environment, strangers):
    shown = run(environment, strangers, "python", "-c", "import lang, codegen, adcli\n"
                "print(adcli.__file__, lang.here, codegen.here, adcli.compile('v=x*y').grad()(x=2.0, y=3.0))")
    file, rest = shown.split(" ", 1)
    assert pathlib.Path(file).is_relative_to(environment)
    assert rest == "a stranger a stranger {'v': 6.0, 'dv_dx': 3.0, 'dv_dy': 2.0}\n"


def check_the_command_and_its_manual(environment, strangers):
    shown = run(environment, strangers, "adcli", "grad", "-e", "v = x*y", "--at", "x=2,y=3")
    assert shown == "v = 6.0\ndv_dx = 3.0\ndv_dy = 2.0\n"
    assert run(environment, strangers, "python", "-m", "adcli", "--version") == f"adcli, version {adcli.__version__}\n"
    assert run(environment, strangers, "adcli", "help", "tensors").startswith("tensors: ")
    (folder,) = environment.glob("lib/python*/site-packages/adcli/samples")
    assert str(folder) in run(environment, strangers, "adcli", "help", "samples")
    assert run(environment, strangers, "adcli", "grad", str(folder / "worked.ad"), "--at", "x=2,y=5").startswith("v = 3920.6\n")
