"""The examples of README.md and of the manual: what a terminal shows of a command, compared with what stands below it.

A command `adcli …` runs in this process, alone or as a part of a pipe; anything else runs as itself.
"""
from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from unittest import mock

from places import ROOT

from adcli.main import run

MANUAL = ROOT / "adcli" / "manual"
DOCUMENTS = [ROOT / "README.md", *sorted(MANUAL.glob("*.md"))]


def text(name: str) -> str:
    """README, or a chapter of the manual."""
    return (ROOT / "README.md" if name == "README" else MANUAL / f"{name}.md").read_text(encoding="utf-8")


def fenced(document: str, language: str) -> list[str]:
    """The blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", document, re.M | re.S)


def console_examples() -> list[tuple[str, str]]:
    """Every `$ command` of the console blocks of all documents with what stands below it. README shows some of a chapter again:
    those are one example as long as both show the same."""
    blocks = [block for path in DOCUMENTS for block in fenced(path.read_text(encoding="utf-8"), "console")]
    return list(dict.fromkeys(found for block in blocks
                              for found in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block, re.M)))


def terminal(command: str) -> str:
    """What a terminal shows of a command, standard error in front, run in the project's folder."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|")
    lexer.whitespace_split, lexer.commenters = True, ""
    words = list(lexer)
    data, said = b"", b""
    while words:
        end = words.index("|") if "|" in words else len(words)
        stage, words = words[:end], words[end + 1:]
        data, errors = in_process(stage[1:], data) if stage[0] == "adcli" else as_process(stage, data)
        said += errors
    return (said + data).decode()


def in_process(args: list[str], data: bytes) -> tuple[bytes, bytes]:
    """Standard output and standard error of the command adcli."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    given = io.TextIOWrapper(io.BytesIO(data), "utf-8")
    with (mock.patch.dict(os.environ, PATH=search_path()), contextlib.chdir(ROOT), contextlib.redirect_stdout(out),
          contextlib.redirect_stderr(err), mock.patch.object(sys, "stdin", given)):
        run(args)
        out.flush()
        err.flush()
    return out.buffer.getvalue(), err.buffer.getvalue()   # type: ignore[attr-defined]


def as_process(args: list[str], data: bytes) -> tuple[bytes, bytes]:
    done = subprocess.run(args, cwd=ROOT, input=data, capture_output=True, check=False)
    return done.stdout, done.stderr


def search_path() -> str:
    """Where a shell looks for commands, this environment's first."""
    return os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])


def shell(command: str, **environment: str) -> str:
    """What a terminal shows of a command that needs a shell, with this environment's adcli first."""
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, env={**os.environ, "PATH": search_path(), **environment},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          encoding="utf-8", check=False)
    return done.stdout


def imported(block: str) -> list[str]:
    """The packages that a session of Python imports, without ours."""
    return re.findall(r"^>>> (?:from|import) (?!adcli)(\w+)", block, re.M)


def as_shown(block: str) -> None:
    """Run a session of Python, whose answers are compared character for character."""
    example = doctest.DocTestParser().get_doctest(block, {}, "session", "session", 0)
    assert example.examples
    written: list[str] = []
    assert doctest.DocTestRunner(verbose=False).run(example, out=written.append).failed == 0, "".join(written)
