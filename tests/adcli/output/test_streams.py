"""Files that results are written to: whole, with the permissions they had."""
from __future__ import annotations

import os
import pathlib

import pytest
from command import succeeds
from places import WORKED

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


def test_a_new_file_has_the_usual_permissions():
    before = os.umask(0o027)
    try:
        succeeds("eval", "-e", "1", "-o", "new")
    finally:
        os.umask(before)
    assert pathlib.Path("new").stat().st_mode & 0o777 == 0o640
