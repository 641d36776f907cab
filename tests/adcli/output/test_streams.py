"""Files that results are written to: whole, with the permissions they had."""
from __future__ import annotations

import errno
import io
import os
import pathlib
import threading

import pytest
from command import adcli, succeeds
from places import WORKED

from adcli.output import streams
from adcli.output.streams import shown, write_rows

pytestmark = pytest.mark.usefixtures("empty_folder")

FORMATS = ("text", "json", "csv")


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_has_what_standard_output_has(form):
    line = ["grad", WORKED, "--at", "x=0:1:3,y=2", "--format", form]
    shown = succeeds(*line).data
    for name in ("r", "-"):
        ended = succeeds(*line, "-o", name)
        assert ended.data == (b"" if name == "r" else shown)
    assert pathlib.Path("r").read_bytes() == shown


def test_a_link_that_the_system_does_not_follow_is_not_followed(monkeypatch):
    """Linux follows none that a stranger put into /tmp (`fs.protected_symlinks`): it may lead to any file of the user's."""
    real, link = pathlib.Path("real"), pathlib.Path("link")
    real.write_text("precious")
    link.symlink_to(real)
    look = os.stat

    def refuse(path, **options):
        if path == "link":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return look(path, **options)
    monkeypatch.setattr(os, "stat", refuse)
    ended = adcli("eval", "-e", "1", "-o", link)
    assert (ended.code, ended.err) == (2, "adcli: error: link: Permission denied\n")
    assert real.read_text() == "precious"


def test_a_sudden_end_removes_temporary_folders(monkeypatch):
    monkeypatch.setattr(streams, "WRITING", threading.Lock())   # which is not let go again
    with streams.temporary_folder(None) as folder:
        assert os.stat(folder).st_mode & 0o777 == 0o700
        pathlib.Path(folder, "rows").write_text("x")
        streams.discard_unfinished()
        assert not os.path.exists(folder)


def test_a_new_file_has_the_usual_permissions():
    before = os.umask(0o027)
    try:
        succeeds("eval", "-e", "1", "-o", "new")
    finally:
        os.umask(before)
    assert pathlib.Path("new").stat().st_mode & 0o777 == 0o640


class Terminal(io.BytesIO):
    def isatty(self):
        return True


def test_a_terminal_is_shown_what_it_would_obey_and_a_pipe_gets_the_bytes():
    hostile = "c,é\x1b[31m\x9b1m\u202e\t\r\n".encode() + b"\xff\n"
    for stream, wanted in ((io.BytesIO(), hostile), (Terminal(), "c,é\\x1b[31m\\x9b1m\\u202e\t\r\n\\xff\n".encode())):
        write_rows(shown(stream), hostile)
        assert stream.getvalue() == wanted


@pytest.mark.parametrize("line", [
    ["eval", "-e", "x", "--at", "\x1b[1m=1"], ["\x1b[1m"], ["eval", "no\x1b[1m"], ["eval", "-e", "x", "--data", "no\x1b[1m.csv"],
    ["eval", "-e", "x", "--data", "t.csv"], ["eval", "-e", "x", "--at", "@t.json"],
    ["eval", "-e", "x", "--at", "x=1", "-o", "\x1b[1m/r"],
    ["eval", "-e", "x", "--at", "x=1", "--fmt", "\x1b[1m"], ["help", "\x1b[1m"], ["eval", "-e", "x", "--\x1b[1m"]])
def test_messages_are_visible(line):
    pathlib.Path("t.csv").write_text("y\x1b[1m\n1\n")
    pathlib.Path("t.json").write_text('{"x\\u001b[1m": 1}')
    ended = adcli(*line)
    assert ended.code in (2, 5)
    assert "[1m" in ended.err and "\x1b" not in ended.err
