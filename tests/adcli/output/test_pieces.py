"""What is written is written whole: points to a stream, rows to files and pipes, files that appear at once or not at all."""
from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import threading
from pathlib import Path
from unittest import mock

import pytest
from adcli.lang.ir.errors import AdError

from adcli.output import streams
from adcli.output.replacing import UNFINISHED, WRITING
from adcli.output.standard import NamedFile

pytestmark = pytest.mark.usefixtures("empty_folder")




class Watched(io.BytesIO):
    """A stream that remembers its pieces."""

    def __init__(self):
        super().__init__()
        self.pieces = []

    def write(self, data):
        self.pieces.append(bytes(data))
        return super().write(data)


@pytest.mark.parametrize("sizes",
                         [[], [0], [1], [4095, 1], [4096, 1], [4095, 2], [5000], [1, 5000, 1], [2048, 2048, 2048], [1000] * 9,
                          [9] * 999])
def test_points_are_written_a_few_at_a_time(sizes):
    """A piece is whole points, as many as fit."""
    points = [("é" * (n // 2) + "e" * (n % 2)) for n in sizes]
    stream = Watched()
    streams.write_points(stream, iter(points))
    assert stream.getvalue() == "".join(points).encode()
    found = [len(p) for p in stream.pieces]
    want, held = [], []
    for n in sizes:
        if sum(held) and sum(held) + n > streams.ATOMIC:
            want.append(sum(held))
            held = []
        held.append(n)
    assert found == [*want, sum(held)]


ROWS = b"".join(b"%d,%s\n" % (i, b"x" * (i % 97)) for i in range(6000))


def drained(descriptor):
    """What a reader of a pipe gets, and the reader."""
    found = []

    def read():
        while piece := os.read(descriptor, 1 << 16):
            found.append(piece)
    thread = threading.Thread(target=read)
    thread.start()
    return found, thread


@pytest.mark.parametrize("data", [b"", b"a\n", b"no line end", ROWS, ROWS + b"y" * 200_000 + b"\n" + ROWS, b"z" * 200_000],
                         ids=lambda d: str(len(d)))
def test_rows_are_written_in_whole_lines(data, monkeypatch):
    """To a file, to a pipe, to memory; a step ends with a line, and is no longer than it has to be."""
    monkeypatch.setattr(streams, "BYTES_AT_ONCE", 10_000)
    steps = []

    class WatchedFile(NamedFile):
        def write(self, view):
            steps.append((WRITING.locked(), bytes(view)))
            return super().write(view)
    memory = io.BytesIO()
    streams.write_rows(memory, data)
    assert memory.getvalue() == data and not steps
    with io.BufferedWriter(WatchedFile("rows", "w", "rows")) as file:
        file.write(b"before\n")   # what the stream holds goes first
        file.flush()
        steps.clear()
        streams.write_rows(file, data)
    assert Path("rows").read_bytes() == b"before\n" + data
    check(steps, data, 10_000)
    steps.clear()
    out, into = os.pipe()
    found, reader = drained(out)
    with io.BufferedWriter(WatchedFile(into, "w", "pipe")) as pipe:
        streams.write_rows(pipe, data)
    reader.join()
    os.close(out)
    assert b"".join(found) == data
    check(steps, data, 1 << 16)


def check(steps, data, most):
    for i, (locked, piece) in enumerate(steps):
        assert locked, "a sudden end waits for a piece"
        assert piece.endswith(b"\n") or i == len(steps) - 1
        assert len(piece) <= most or piece.count(b"\n") <= 1
    assert not steps or len(steps) <= 2 + 2 * len(data) // streams.ATOMIC


def test_a_pipe_is_given_what_it_certainly_takes():
    out, into = os.pipe()
    whole = streams.room(into)
    assert whole >= streams.ATOMIC and os.write(into, bytes(whole)) == whole
    os.read(out, whole - 1)
    assert streams.room(into) == streams.ATOMIC, "what is held may lie anywhere"
    os.read(out, 1)
    assert streams.room(into) == whole
    os.close(out)
    os.close(into)
    with open("file", "wb") as file:
        assert streams.room(file.fileno()) == streams.ATOMIC


# ---------------------------------------------------------------- files

def names():
    return sorted(os.listdir())


@pytest.fixture(params=["nameless", "named"])
def files(request, monkeypatch):
    """Systems with files that have no name yet, and without."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE")
    return request.param


def test_a_file_appears_when_it_is_whole(files):
    for old in (None, b"old"):
        with streams.destination("f") as out:
            out.write(b"new")
            out.flush()
            assert len(names()) == (files == "named") + (old is not None)
            assert all(n == "f" or (n.startswith(".f.") and n.endswith(".part")) for n in names())
            assert len(UNFINISHED) == 1
        assert (Path("f").read_bytes(), names(), UNFINISHED) == (b"new", ["f"], set())
        Path("f").write_bytes(b"old")


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_the_old_file_and_nothing_else(files, fault):
    Path("f").write_bytes(b"old")
    with pytest.raises(fault), streams.destination("f") as out:
        out.write(b"new")
        raise fault
    assert (Path("f").read_bytes(), names(), UNFINISHED) == (b"old", ["f"], set())


def test_a_sudden_end_leaves_nothing(files):
    with pytest.raises(FileNotFoundError), streams.destination("f") as out:
        out.write(b"new")
        streams.discard_unfinished()
        assert names() == []
        WRITING.release()
        if files == "nameless":
            raise FileNotFoundError
    assert names() == []


def test_what_a_process_of_the_same_number_left_is_replaced(files):
    with pytest.MonkeyPatch.context() as system:
        system.delattr(os, "O_TMPFILE", raising=False)
        with streams.destination("f"):
            (last,) = names()
    number = int(last.rpartition("-")[2].removesuffix(".part"))
    Path(f".f.{os.getpid()}-{number + 1}.part").write_bytes(b"left")
    with streams.destination("f") as out:
        out.write(b"new")
    assert (Path("f").read_bytes(), names()) == (b"new", ["f"])


def test_permissions_and_links_are_kept(files):
    Path("real").write_bytes(b"old")
    Path("real").chmod(0o604)
    Path("link").symlink_to("real")
    with streams.destination("link") as out:
        out.write(b"new")
    assert (Path("real").read_bytes(), Path("link").is_symlink(), stat.S_IMODE(os.stat("real").st_mode)) == (b"new", True, 0o604)


def test_long_names_and_odd_ones(files):
    for name in ("n" * 255, "é" * 127, "a\nb", os.fsdecode(b"\xff\xfe")):
        with streams.destination(name) as out:
            out.write(b"new")
        assert names() == [name]
        os.unlink(name)


def test_faults_name_the_file_that_was_asked_for(files):
    with pytest.raises(AdError, match="-o needs a file name") as found, streams.destination(""):
        pass
    assert found.value.help == "write -o FILE"
    with pytest.raises(FileNotFoundError) as missing, streams.destination("none/f"):
        pass
    assert missing.value.filename == "none/f" and missing.value.errno == errno.ENOENT
    Path("f").write_bytes(b"old")
    with mock.patch.object(os, "access", lambda *_: False), pytest.raises(PermissionError) as refused, streams.destination("f"):
        pass
    assert (refused.value.filename, refused.value.errno, Path("f").read_bytes()) == ("f", errno.EACCES, b"old")


def test_a_pipe_is_written_directly():
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    with streams.destination("pipe") as out:
        out.write(b"new")
    assert os.read(reader, 9) == b"new"
    os.close(reader)


def test_what_is_packed_has_no_file_number():
    with streams.packed_destination("f.csv.gz") as out:
        with pytest.raises(io.UnsupportedOperation):
            out.fileno()
        streams.write_rows(out, b"x\n1\n")
    assert gzip.decompress(Path("f.csv.gz").read_bytes()) == b"x\n1\n"
    with streams.packed_destination("f.csv") as out:
        assert out.fileno() > 2


@pytest.mark.parametrize("there", [None, "closed", "open"])
def test_a_message_is_said_where_somebody_listens(there, monkeypatch):
    stream = io.StringIO()
    stream.write = stream.write if there == "open" else mock.Mock(side_effect=OSError)
    monkeypatch.setattr(streams.sys, "stderr", stream if there else None)
    streams.say("that")
    assert stream.getvalue() == ("that\n" if there == "open" else "")
