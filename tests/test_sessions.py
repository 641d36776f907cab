"""What commands print, in full: sessions under `tests/sessions`, to be read by people.

A file has sessions under headings; a session has commands, each with what it prints and how it ends. What is printed today is
written by `pytest tests/test_sessions.py -n0 --rewrite-programs`; what that changes is for the eye, in the commit.

    ## heading           a new folder, with the programs and arrays of `tensor_cases`
    < name               a file of that folder, its lines behind `| `, or as bytes of Python in one line
    $ grad f.ad < name   a command, and its standard input; a line break in a word is ␤
    results              standard output
    ! notes              standard error
    = 4                  the exit code, where it is not 0
    > name               a file that the command wrote, with its lines
"""
from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest
from command import adcli
from places import ROOT
from tensor_cases import folder

__all__ = ["folder"]

FILES = sorted((ROOT / "tests" / "sessions").glob("*.txt"))
HEADING, BREAK = "## ", "␤"
MARKS = (HEADING, "$ ", "! ", "= ", "< ", "> ", "| ")
LONGEST = 60
"""Lines of a file that are shown."""
COUNTS = re.compile(r"^# SLSQP: .*", re.M)
"""What depends on the processor, by how its BLAS adds up: … stands for it."""


def sessions(path: Path) -> dict[str, str]:
    """The texts of the sessions of a file by their headings."""
    parts = re.split(rf"^{HEADING}(.*)\n", path.read_text(encoding="utf-8"), flags=re.M)
    assert len(set(parts[1::2])) == len(parts) // 2, "two sessions have one heading"
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def there() -> dict[str, bytes]:
    files = (path for path in sorted(Path().rglob("*")) if path.is_file() and "samples" not in path.parts)
    return {path.as_posix(): path.read_bytes() for path in files}


def shown(data: str, mark: str = "") -> str:
    """Lines of output, which are no marks of a session."""
    lines = data.removesuffix("\n").split("\n") if data else []
    return "".join(f"{mark}{chr(92) * (not mark and line.startswith(MARKS))}{line}\n" for line in lines)


def carried_out(line: str) -> str:
    """A command with what it prints, how it ends, and the files that it writes."""
    words, before = [word.replace(BREAK, "\n") for word in shlex.split(line)], there()
    given = b""
    if words[-2:-1] == ["<"]:
        given = Path(words.pop()).read_bytes()
        words.pop()
    ended = adcli(*words, stdin=given)
    out = COUNTS.sub("# SLSQP: …", shown(ended.out))
    said = f"$ {line}\n{out}{shown(ended.err, '! ')}" + f"= {ended.code}\n" * bool(ended.code)
    for name, data in there().items():
        if data != before.get(name):
            text = data.decode()
            said += f"> {name}\n" + (shown(text, "| ") if text.count("\n") <= LONGEST else f"{text.count(chr(10))} lines\n")
    return said


def today(session: str) -> str:
    """A session as it goes today."""
    said = ""
    for part in re.split(r"^(?=[$<] )", session, flags=re.M)[1:]:
        head, _, rest = part.partition("\n")
        if head.startswith("$ "):
            said += carried_out(head[2:])
            continue
        _, name, *content = head.split(" ", 2)
        lines = [line[2:] for line in rest.splitlines()]
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(ast.literal_eval(content[0]) if content else ("\n".join(lines) + "\n").encode())
        said += part
    return said


@pytest.mark.whole
@pytest.mark.parametrize(("path", "heading"), [(path, heading) for path in FILES for heading in sessions(path)],
                         ids=lambda x: x.stem if isinstance(x, Path) else x)
def test_a_session_goes_as_it_is_written(path: Path, heading: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    written = sessions(path)
    said = today(written[heading])
    if request.config.getoption("--rewrite-programs"):
        written[heading] = said
        path.write_text("".join(f"{HEADING}{name}\n{text}" for name, text in written.items()), encoding="utf-8")
    assert said == written[heading]
