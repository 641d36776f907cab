"""Streams as processes: a reader that leaves, an interrupt, a kill, a slow writer, and memory that does not grow."""
from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest

COMMAND = [sys.executable, "-m", "adcli", "grad", "-e", "v = x*sin(y)"]
ROWS = b"".join(b"%d.25,%d.5\n" % (i, i % 7) for i in range(50_000))
FEED = "print('x,y')\nwhile True: print('1.5,2.5\\n' * 9999, end='')"
LINE = 5
"""Fields of a whole row."""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table of ten million bytes or so."""
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    path.write_bytes(b"x,y\n" + 20 * ROWS)
    return path


def started(*options, **pipes):
    return subprocess.Popen([*COMMAND, *map(str, options)], **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **pipes})


def whole(data):
    """Whether these are whole rows only."""
    return data.endswith(b"\n") and all(len(row.split(b",")) == LINE for row in data.splitlines())


def endless(process):
    """Feed rows until the process reads no more."""
    try:
        process.stdin.write(b"x,y\n")
        while True:
            process.stdin.write(ROWS)
    except BrokenPipeError:
        process.stdin = None


def test_a_reader_that_leaves_ends_the_run():
    head = subprocess.Popen(["head", "-5"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    run = started("--data", "-", stdin=subprocess.PIPE, stdout=head.stdin)
    head.stdin.close()
    endless(run)
    assert head.stdout.read().count(b"\n") == 5
    assert (run.wait(timeout=20), run.stderr.read()) == (0, b"")


def test_rows_come_out_as_they_are_sent():
    run = started("--data", "-", stdin=subprocess.PIPE)
    for sent, want in ((b"x,y\n1,0\n2,", [b"x,y,v,dv_dx,dv_dy\n", b"1,0,0.0,0.0,1.0\n"]), (b"0\n", [b"2,0,0.0,0.0,2.0\n"])):
        run.stdin.write(sent)
        run.stdin.flush()
        assert [run.stdout.readline() for _ in want] == want
    assert run.communicate(timeout=20) == (b"", b"")


@pytest.mark.parametrize("reading", [True, False], ids=["reader", "stalled reader"])
def test_an_interrupt_leaves_whole_rows(reading):
    feeder = subprocess.Popen([sys.executable, "-c", FEED], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    run = started("--data", "-", stdin=feeder.stdout)
    feeder.stdout.close()
    got = run.stdout.read(100_000 if reading else 1000)
    time.sleep(0.2)
    start = time.monotonic()
    run.send_signal(signal.SIGINT)
    if reading:
        got += run.stdout.read()
    assert run.wait(timeout=20) == 130
    assert time.monotonic() - start < 2
    got += run.stdout.read()
    assert whole(got)
    assert run.stderr.read() == b""
    feeder.kill()
    feeder.wait()


def test_an_interrupt_leaves_whole_rows_in_a_file(table, tmp_path):
    random.seed(3)
    for _ in range(2):
        with open(tmp_path / "out.csv", "wb") as out:
            run = started("--data", table, stdout=out)
            while not os.fstat(out.fileno()).st_size:
                time.sleep(0.01)
            time.sleep(random.uniform(0, 0.3))
            run.send_signal(signal.SIGINT)
            assert run.wait(timeout=20) in (0, 130)
        data = (tmp_path / "out.csv").read_bytes()
        assert whole(data)


def test_a_kill_leaves_the_old_file(table, tmp_path):
    random.seed(4)
    target = tmp_path / "out.csv"
    target.write_bytes(b"old\n")
    lines = 20 * 50_000 + 1
    for _ in range(4):
        run = started("--data", table, "-o", target)
        time.sleep(random.uniform(0, 0.7))
        run.kill()
        run.wait()
        data = target.read_bytes()
        assert data == b"old\n" or data.count(b"\n") == lines


def test_memory_does_not_grow(table, tmp_path):
    long = tmp_path / "long.csv"
    data = table.read_bytes()
    with open(long, "wb") as file:
        file.write(data)
        for _ in range(3):
            file.write(data[4:])
    peaks = [peak(table), peak(long)]
    assert peaks[1] < 1.15 * peaks[0] + 20
    assert peaks[1] < 400   # alone on its processors 200; how far threads fall behind each other is the system's affair


def peak(path):
    """MiB that a run over this table needs at most."""
    script = ("import resource, subprocess, sys\n"
              "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)\n"
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    found = subprocess.run([sys.executable, "-c", script, *COMMAND, "--data", str(path)], capture_output=True, check=True)
    return int(found.stdout) / 1024


def test_an_endless_row_is_refused():
    run = started("--data", "-", stdin=subprocess.PIPE)
    try:
        run.stdin.write(b"x,y\n\"")
        for _ in range(64):
            run.stdin.write(b"a" * (1 << 20))
    except BrokenPipeError:
        run.stdin = None
    err = run.communicate(timeout=60)[1]
    assert (run.returncode, b"a row longer than 32 MiB" in err) == (5, True), err
