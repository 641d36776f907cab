"""Dask as an engine: the same bits as without it, whoever is killed; and what ends in a message instead of a wait."""
from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from command import adcli
from engines import package
from session_seed import drawn

pytestmark = pytest.mark.engine
PROGRAM = ("grad", "-e", "v = x*sin(y)")
PARTS = 12
PLANTED = """
import os, time
import adcli.rows.parts as parts


def planted(job, part, done=parts.done):
    {}
    return done(job, part)


if not hasattr(parts, "planted"):   # Dask may load this more than once
    parts.planted = parts.done = planted
"""
"""A module that workers load, which puts something before the work on every part."""
SLOW = PLANTED.format("time.sleep(0.3)")
POISON = PLANTED.format("""if part.piece.source.endswith("3.csv"):
        os._exit(1)
    if part.piece.source.endswith("5.csv"):
        raise OSError(28, "No space left on device")""")
NONE = "import sys; sys.modules['adcli.rows.parts'] = None"
OTHER = PLANTED.format("parts.own_content = lambda: 'another'")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A folder with tables, what is made of each without an engine, and a cache."""
    package("distributed")
    at = tmp_path_factory.mktemp("parts")
    draw = drawn("dask")
    (at / "in").mkdir()
    for i in range(PARTS):
        rows = [f"{draw.uniform(-9, 9)!r},{draw.uniform(-9, 9)!r}\n" for _ in range(20_000)]
        (at / f"in/{i}.csv").write_text("".join(["x,y\n", *rows]), encoding="utf-8")
    assert start(at, "-o", "want/").wait() == 0
    return at


def start(at, *options, preload=None, **settings):
    """The command, running."""
    env = {**os.environ, "ADCLI_CACHE_DIR": str(at / "cache")}
    if preload is not None:
        (at / "preload.py").write_text(preload, encoding="utf-8")
        env["DASK_DISTRIBUTED__WORKER__PRELOAD"] = str(at / "preload.py")
    return subprocess.Popen([sys.executable, "-m", "adcli", *PROGRAM, "--data", "in", *map(str, options)], cwd=at, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, **settings)


def ended(run):
    try:
        out, err = run.communicate(timeout=180)
    except subprocess.TimeoutExpired:
        run.kill()
        raise
    assert out == ""
    return run.returncode, err


def held(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def below(process):
    """The processes that a process has started, and those that these have."""
    parents = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            text = (entry / "stat").read_text()
            parents[int(entry.name)] = int(text.rpartition(")")[2].split()[1])
    found, more = set(), {process}
    while more:
        more = {pid for pid, parent in parents.items() if parent in more} - found
        found |= more
    return found


def workers(process):
    """Those of them that work."""
    return sorted(pid for pid in below(process) if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text())


def alive(pids):
    return {pid for pid in pids if os.path.exists(f"/proc/{pid}") and " Z " not in Path(f"/proc/{pid}/stat").read_text()}


def until(true, seconds=120):
    """Wait for something; what it is."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, "in vain"
        time.sleep(0.02)
    return found


def count(folder):
    """The parts that are done."""
    with suppress(OSError):
        return (folder / ".manifest.ndjson").read_bytes().count(b"\n") - 1
    return 0


def test_a_worker_that_is_killed_twice_is_nothing_but_lost_time(tables):
    run = start(tables, "-o", "killed/", "--engine", "dask", "--jobs", 2, "-q", preload=SLOW)
    for done in (1, 4):
        until(lambda done=done: count(tables / "killed") >= done and workers(run.pid))
        os.kill(workers(run.pid)[0], signal.SIGKILL)
    assert ended(run) == (0, "")
    assert held(tables / "killed") == held(tables / "want")


def test_a_sum_has_the_same_bits_whoever_is_killed(tables):
    sums = ("--sum", "--gauss-newton", "--hex", "-q")
    alone = start(tables, *sums)
    want = alone.communicate()[0]
    run = start(tables, *sums, "-o", "sum.txt", "--engine", "dask", "--jobs", 2, preload=SLOW)
    for done in (1, 4):
        until(lambda done=done: count(tables / "sum.txt.parts") >= done and workers(run.pid))
        os.kill(workers(run.pid)[0], signal.SIGKILL)
    assert ended(run) == (0, "")
    assert (tables / "sum.txt").read_text() == want
    assert want.startswith(f"rows = {PARTS * 20_000}\n")


def test_a_driver_that_is_killed_leaves_no_process_and_is_gone_on_with(tables):
    out = tables / "resumed"
    for done in (1, 5):
        run = start(tables, "-o", "resumed/", "--engine", "dask", "--jobs", 2, "--resume", "-q", preload=SLOW)
        until(lambda done=done: count(out) >= done)
        others = below(run.pid)
        assert others
        run.kill()
        run.communicate()
        until(lambda others=others: not alive(others), 60)
    assert count(out) < PARTS
    assert ended(start(tables, "-o", "resumed/", "--resume", "-q")) == (0, "")
    assert held(out) == held(tables / "want")


def test_an_interrupt_ends_all_processes(tables):
    run = start(tables, "-o", "interrupted/", "--engine", "dask", "--jobs", 2, "-q", preload=SLOW, start_new_session=True)
    until(lambda: count(tables / "interrupted") >= 1)
    others = below(run.pid)
    os.killpg(run.pid, signal.SIGINT)   # as a terminal does
    assert ended(run) == (130, "")
    until(lambda: not alive(others), 60)


def test_a_part_that_kills_its_workers_is_named_and_the_rest_is_done(tables):
    run = start(tables, "-o", "poisoned/", "--engine", "dask", "--jobs", 2, "--retries", 1, preload=POISON)
    code, err = ended(run)
    said = [line for line in err.splitlines() if not line.startswith("dashboard: ")]
    assert code == 5
    assert said == ["in/3.csv: its worker died, in 2 attempts",
                    "in/5.csv: OSError: [Errno 28] No space left on device, in 2 attempts",
                    f"poisoned/: 2 parts of {PARTS} failed, the rest is done; --resume tries them again"]
    assert count(tables / "poisoned") == PARTS - 2
    assert ended(start(tables, "-o", "poisoned/", "--resume", "-q")) == (0, "")
    assert held(tables / "poisoned") == held(tables / "want")


@contextmanager
def cluster():
    """A cluster of one worker that is running."""
    distributed = package("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as found:
        yield found.scheduler_address


def test_a_running_cluster(tables, monkeypatch):
    monkeypatch.setenv("ADCLI_CACHE_DIR", os.devnull)   # the worker compiles, once
    with cluster() as address:
        assert ended(start(tables, "-o", "there/", "--engine", f"dask={address}", "-q")) == (0, "")
        (tables / "bad.csv").write_text("x,y\n1,2\nfour,5\n", encoding="utf-8")
        code, err = ended(start(tables, "--data", "bad.csv", "-o", "bad/", "--engine", f"dask={address}", "-q"))
    assert held(tables / "there") == held(tables / "want")
    assert (code, err.splitlines()[0]) == (5, "bad.csv:3: column 'x': 'four' is not a number")


def test_no_adcli_on_the_workers(tables):
    code, err = ended(start(tables, "-o", "other/", "--engine", "dask", "--jobs", 1, "-q", preload=NONE))
    assert (code, err) == (2, "adcli: error: the workers of this machine: cannot load adcli there: import of adcli.rows.parts"
                              " halted; None in sys.modules\nhelp: install adcli 0.1.0 for all workers\n")


def test_another_adcli_on_the_workers(tables):
    code, err = ended(start(tables, "-o", "other/", "--engine", "dask", "--jobs", 1, "-q", preload=OTHER))
    assert (code, err) == (2, "adcli: error: the workers of this machine: the workers run another adcli than this one, 0.1.0\n"
                              "help: install the same version for this command and all workers\n")


def test_a_cluster_that_is_not_there(tables):
    with socket.create_server(("127.0.0.1", 0)) as mute:   # it takes the call and says nothing
        places = ("tcp://127.0.0.1:1", f"tcp://127.0.0.1:{mute.getsockname()[1]}", "nowhere://x")
        runs = [start(tables, "-o", f"nobody{i}/", "--engine", f"dask={where}") for i, where in enumerate(places)]
        for where, run in zip(places, runs, strict=True):
            code, err = ended(run)
            assert (code, err.startswith(f"adcli: error: --engine dask={where}: ")) == (2, True), err
    assert not list(tables.glob("nobody*"))


def test_without_dask_there_is_a_command_that_installs_it(tables, monkeypatch):
    from adcli.engines import dask_cluster
    monkeypatch.setattr(dask_cluster, "find_spec", lambda name: None)
    monkeypatch.chdir(tables)

    run = adcli(*PROGRAM, "--data", "in", "-o", "none/", "--engine", "dask")
    assert (run.code, "pip install 'dask[distributed]'" in run.err or "pip install" in run.err) == (2, True), run
