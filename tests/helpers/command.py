"""The command in this process: what a run of adcli prints and how it ends, without the cost of starting Python."""
from __future__ import annotations

import contextlib
import io
import json
import pathlib
import re
import shlex
import subprocess
import sys
from typing import Any, NamedTuple
from unittest import mock

from adcli.main import run


class Ended(NamedTuple):
    """A finished run: exit code, standard output (also as bytes), standard error."""

    code: int
    out: str
    err: str
    data: bytes

    @property
    def records(self) -> list[Any]:
        """The output as JSON lines, which must be plain RFC 8259."""
        return [json.loads(line, parse_constant=refuse) for line in self.out.splitlines()]


def refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def adcli(*args: object, stdin: bytes = b"") -> Ended:
    """Run one command."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    given = io.TextIOWrapper(io.BytesIO(stdin), "utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), mock.patch.object(sys, "stdin", given):
        code = run([str(a) for a in args])
    out.flush()
    err.flush()
    data = out.buffer.getvalue()
    return Ended(code, data.decode("utf-8", "replace"), err.buffer.getvalue().decode(), data)


def succeeds(*args: object, stdin: bytes = b"") -> Ended:
    """Run one command that must end well and say nothing beside its results."""
    ended = adcli(*args, stdin=stdin)
    assert (ended.code, ended.err) == (0, ""), ended
    return ended


def pipe(line: str, folder: pathlib.Path) -> str:
    """What a line of a shell prints that is commands with `|` between them, run in a folder: each must end well."""
    data = b""
    for part in line.split(" | "):
        name, *args = shlex.split(part)
        if name == "adcli":
            with contextlib.chdir(folder):
                ended = adcli(*args, stdin=data)
            assert ended.code == 0, f"{part}\n{ended.err}"
            data = ended.data
        else:
            data = subprocess.run([name, *args], cwd=folder, input=data, capture_output=True, check=True).stdout
    return data.decode()


def numbers(text: str) -> dict[str, float]:
    """The assignments in a text that is a result."""
    return {name: float(x) for name, x in re.findall(r"^(\w+) = (\S+)", text, re.M)}
