"""What -o does to a file that is there: who owns it, who knows it by another name, and who may write to it, stays as it was; and
what a fault says of it."""
from __future__ import annotations

import errno
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest
from command import adcli, succeeds
from places import ROOT

pytestmark = pytest.mark.usefixtures("empty_folder")
LINE = ("eval", "-e", "v = x", "--at", "x=1")
WRITTEN = "v = 1.0\n"


def test_a_file_with_two_names_keeps_both():
    real, other = pathlib.Path("real"), pathlib.Path("other")
    real.write_text("something longer than what is written\n")
    other.hardlink_to(real)
    succeeds(*LINE, "-o", "other")
    assert real.read_text() == other.read_text() == WRITTEN
    assert real.samefile(other)
    assert sorted(os.listdir()) == ["other", "real"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_file_keeps_its_owner():
    pathlib.Path("r").write_text("old")
    os.chown("r", 1234, 4321)
    os.chmod("r", 0o604)
    succeeds(*LINE, "-o", "r")
    found = os.stat("r")
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (1234, 4321, 0o604)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root becomes somebody else")
def test_what_another_user_may_do(monkeypatch):
    """A file that may be written to in a folder that may not, and the other way round."""
    with tempfile.TemporaryDirectory() as folder:   # that of the test is below one that only its owner may enter
        os.chmod(folder, 0o755)
        monkeypatch.chdir(folder)
        another_user_writes()
        monkeypatch.undo()


def another_user_writes():
    for name, mode in (("mine", 0o666), ("theirs", 0o644)):
        pathlib.Path(name).write_text("old\n" * 100)
        os.chmod(name, mode)
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(54321)
        os.setuid(54321)
        code = 70
        try:
            good, bad = adcli(*LINE, "-o", "mine"), adcli(*LINE, "-o", "theirs")
            said = bad.err == "adcli: error: theirs: Permission denied\n"
            code = 0 if (good.code, bad.code, said) == (0, 2, True) else 1
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pathlib.Path("mine").read_text() == WRITTEN
    assert pathlib.Path("theirs").read_text() == "old\n" * 100


def test_an_open_file_by_its_number_is_written_to_where_it_stands():
    with open("log", "wb") as log:
        log.write(b"before\n")
        log.flush()
        os.symlink(f"/proc/self/fd/{log.fileno()}", "link")
        for name in (f"/dev/fd/{log.fileno()}", "link"):
            succeeds(*LINE, "-o", name)
        log.write(b"after\n")
    assert pathlib.Path("log").read_text() == f"before\n{WRITTEN}{WRITTEN}after\n"
    assert os.path.islink("link")


@pytest.mark.parametrize("name, reason", [
    ("folder", "Is a directory"), ("new/", "Is a directory"), ("no/r", "No such file or directory"),
    ("loop", "Too many levels of symbolic links"), ("file/r", "Not a directory"), ("/dev/full", "No space left on device"),
    ("/dev/fd/999", "Bad file descriptor"), ("x" * 300, "File name too long")])
def test_a_fault_names_the_file_as_the_user_does(name, reason):
    os.mkdir("folder")
    os.symlink("loop", "loop")
    pathlib.Path("file").write_text("old")
    ended = adcli(*LINE, "-o", name)
    assert (ended.code, ended.out, ended.err) == (2, "", f"adcli: error: {name}: {reason}\n")
    assert sorted(os.listdir()) == ["file", "folder", "loop"]


def test_a_disk_that_is_full_leaves_the_old_file_in_every_format():
    """A limit on the size of files stands for the disk; the name is the user's, of a file with one name or two."""
    script = ("import resource, sys; sys.path.insert(0, sys.argv[1])\n"
              "sys.dont_write_bytecode = True\n"   # Python keeps the half that fits
              "from adcli.main import run\n"
              "import os, adcli.answers.bulk, polars, adcli.output.frames, adcli.codegen.rows.jit, adcli.task.derive\n"
              "for name in sys.argv[2:]:\n"
              "    child = os.fork()\n"
              "    if not child:\n"
              "        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
              "        os._exit(run(['eval', '-e', 'v = x', '--at', 'x=0:1:5000', '-o', name]))\n"
              "    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n")
    names = [f"r.{suffix}" for suffix in ("csv", "npz", "parquet")]
    names.append("two.csv")
    for name in names:
        pathlib.Path(name).write_text("old")
    os.link("two.csv", "two")
    ended = subprocess.run([sys.executable, "-c", script, str(ROOT), *names], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["2"] * len(names)
    assert ended.stderr.splitlines() == [f"adcli: error: {name}: File too large" for name in names]
    assert sorted(os.listdir()) == sorted([*names, "two"])
    assert {pathlib.Path(name).read_text() for name in names} == {"old"}


@pytest.mark.parametrize("there", [False, True])
def test_a_name_that_cannot_be_taken_is_written_over_or_refused(there, monkeypatch):
    """As where a file is mounted, or a system refuses for a reason of its own; the reason is said, not that there is no file."""
    def busy(*paths):
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), *paths)
    monkeypatch.setattr(os, "replace", busy)
    if there:
        pathlib.Path("r").write_text("something longer than what is written\n")
        succeeds(*LINE, "-o", "r")
        assert pathlib.Path("r").read_text() == WRITTEN
    else:
        ended = adcli(*LINE, "-o", "r")
        assert (ended.code, ended.err) == (2, "adcli: error: r: Device or resource busy\n")
    assert os.listdir() == ["r"] * there
