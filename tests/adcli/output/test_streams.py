"""Files that results are written to: whole, with the permissions they had."""
from __future__ import annotations

import errno
import os
import pathlib
import threading

import pytest
from command import adcli, succeeds
from places import WORKED

from adcli.output import streams

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


def test_a_replaced_file_keeps_its_permissions_and_its_links():
    real, link = pathlib.Path("real"), pathlib.Path("link")
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    succeeds("eval", "-e", "1", "-o", link)
    assert link.is_symlink()
    assert real.read_text() == "f = 1.0\n"
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir()) == ["link", "real"]


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
    monkeypatch.setattr(streams, "_writing", threading.Lock())   # which is not let go again
    with streams.temporary_folder() as folder:
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
