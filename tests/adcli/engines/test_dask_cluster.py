"""Dask as an engine: the same bits as without it, whoever is killed; and what ends in a message instead of a wait."""
from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from unittest import mock

import numpy as np
import polars as pl
import pytest
from command import adcli, succeeds
from engines import package
from session_seed import drawn

from adcli.engines.dask_cluster import client_of

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


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A folder with tables, what is made of each without an engine, and a cache."""
    package("distributed")
    at = tmp_path_factory.mktemp("parts")
    draw = drawn("dask")
    vectors = [{"x": [draw.uniform(-9, 9) for _ in range(5)]} for _ in range(300)]
    for i in range(3):
        pl.DataFrame(vectors[100 * i:100 * (i + 1)]).write_parquet(at / f"vectors-{i}.parquet", row_group_size=40)
    np.save(at / "w.npy", np.array([[draw.uniform(-9, 9) for _ in range(5)] for _ in range(4)]))
    (at / "in").mkdir()
    for i in range(PARTS):
        rows = [f"{draw.uniform(-9, 9)!r},{draw.uniform(-9, 9)!r}\n" for _ in range(20_000)]
        (at / f"in/{i}.csv").write_text("".join(["x,y\n", *rows]), encoding="utf-8")
    assert start(at, "-o", "want/").wait() == 0
    return at


def start(at, *options, preload=None, program=(*PROGRAM, "--data", "in"), **settings):
    """The command, running."""
    env = {**os.environ, "ADCLI_CACHE_DIR": str(at / "cache")}
    if preload is not None:
        (at / "preload.py").write_text(preload, encoding="utf-8")
        env["DASK_DISTRIBUTED__WORKER__PRELOAD"] = str(at / "preload.py")
    return subprocess.Popen([sys.executable, "-m", "adcli", *program, *map(str, options)], cwd=at, text=True,
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
    found = []
    for pid in sorted(below(process)):
        with suppress(OSError):   # it has ended
            if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text():
                found.append(pid)
    return found


def reachable(pids):
    """The addresses at which processes listen, as the kernel writes them."""
    held = set()
    for pid in pids:
        with suppress(OSError):
            held |= {os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()}
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return {line[1].partition(":")[0] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in held}


def alive(pids):
    found = set()
    for pid in pids:
        with suppress(OSError):   # it has ended
            if " Z " not in Path(f"/proc/{pid}/stat").read_text():
                found.add(pid)
    return found


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
        found = until(lambda done=done: count(tables / "killed") >= done and workers(run.pid))
        os.kill(found[0], signal.SIGKILL)
    assert ended(run) == (0, "")
    assert held(tables / "killed") == held(tables / "want")


def test_a_driver_that_is_killed_leaves_no_process_and_is_gone_on_with(tables):
    out = tables / "resumed"
    for done, said in ((1, ()), (5, ("-q",))):
        run = start(tables, "-o", "resumed/", "--engine", "dask", "--jobs", 2, "--resume", *said, preload=SLOW)
        until(lambda done=done: count(out) >= done)
        others = below(run.pid)
        assert others
        assert reachable({run.pid, *others}) == {"0100007F"}   # 127.0.0.1
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


def test_processes_of_our_own_cluster_log_nothing():
    """Not even before the first part: a worker whose neighbour dies says so while it starts."""
    package("distributed")
    with client_of(None, 1, False) as client:
        level = client.submit(lambda: __import__("logging").getLogger("distributed.batched").getEffectiveLevel()).result()
    assert level == logging.CRITICAL


@pytest.fixture(scope="module")
def cluster():
    """A cluster of one worker that is running, for all tests that leave it alive: its address, and a client of it."""
    distributed = package("distributed")
    with (mock.patch.dict("os.environ", {"ADCLI_CACHE_DIR": os.devnull}),   # the worker compiles, once
          distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as found,
          distributed.Client(found, set_as_default=False) as client):
        yield found.scheduler_address, client


def test_a_running_cluster(cluster, tables):
    address, _ = cluster
    (tables / "bad.csv").write_text("x,y\n1,2\nfour,5\n", encoding="utf-8")
    runs = [start(tables, *options, "--engine", f"dask={address}", "-q")
            for options in (("-o", "there/"), ("--data", "bad.csv", "-o", "bad/"))]
    assert ended(runs[0]) == (0, "")
    code, err = ended(runs[1])
    assert held(tables / "there") == held(tables / "want")
    assert (code, err.splitlines()[0]) == (5, "bad.csv:3: column 'x': 'four' is not a number")


def test_a_network_and_its_gradient_have_the_same_bits(cluster, tables, monkeypatch):
    address, _ = cluster
    program = ("grad", "-e", "input W(M, N), x(N); y(i) +=! W(i, j) * x(j); e +=! y(i)**2; output e",
               "--data", "vectors-*.parquet", "--at", "W=@w.npy", "-q")
    sums = ("--sum", "--wrt", "W", "--hex")
    runs = [start(tables, *options, "--engine", f"dask={address}", program=program)
            for options in ((*sums, "-o", "sum.txt"), ("-o", "rows/"))]
    monkeypatch.chdir(tables)
    want = succeeds(*program, *sums).out
    succeeds(*program, "-o", "rows.parquet")
    assert [ended(run) for run in runs] == [(0, "")] * 2
    assert Path("sum.txt").read_text() == want
    assert pl.read_parquet("rows/*.parquet").equals(pl.read_parquet("rows.parquet"))


# what becomes of the worker; what is said of it
UNFIT = [
    ("sys.modules['adcli.rows.parts'] = None",
     "cannot load adcli there: import of adcli.rows.parts halted; None in sys.modules\n"
     "help: install adcli 0.1.0 for all workers\n"),
    ("parts.own_content = lambda: 'another'", "the workers run another adcli than this one, 0.1.0\n"
                                              "help: install the same version for this command and all workers\n")]


PARTS_ANEW = "sys.modules.pop('adcli.rows.parts'); importlib.import_module('adcli.rows.parts')"


def on(client, code):
    """Run a text in the worker, which does not have this file."""
    client.run(exec, "import importlib, sys, time\nparts = importlib.import_module('adcli.rows.parts')\n" + code, {})


def worker(client):
    """The process of the worker; None where none answers."""
    with suppress(OSError, ValueError):   # CommClosedError is an OSError
        (pid,) = client.run(os.getpid).values()
        return pid
    return None


@pytest.mark.parametrize(("harm", "said"), UNFIT, ids=("none", "another"))
def test_an_adcli_on_the_workers_that_does_not_fit(harm, said, cluster, tables):
    address, client = cluster
    on(client, harm)
    try:
        code, err = ended(start(tables, "-o", "other/", "--engine", f"dask={address}", "-q"))
    finally:
        client.run(exec, f"import importlib, sys\n{PARTS_ANEW}", {})
    assert (code, err) == (2, f"adcli: error: {address}: {said}")


def test_a_sum_has_the_same_bits_whoever_is_killed(cluster, tables, monkeypatch):
    address, client = cluster
    monkeypatch.chdir(tables)
    sums = ("--sum", "--gauss-newton", "--hex", "-q")
    run = start(tables, *sums, "-o", "killed.txt", "--engine", f"dask={address}")
    for done in (1, 4):
        on(client, "parts.done = lambda *a, done=parts.done: time.sleep(0.3) or done(*a)")
        until(lambda done=done: count(tables / "killed.txt.parts") >= done)
        pid = worker(client)
        os.kill(pid, signal.SIGKILL)
        until(lambda pid=pid: worker(client) not in (None, pid))
    assert ended(run) == (0, "")
    want = succeeds(*PROGRAM, "--data", "in", *sums).out
    assert Path("killed.txt").read_text() == want
    assert want.startswith(f"rows = {PARTS * 20_000}\n")


def test_dask_logs_nothing_into_our_answers(tables):
    code = ("import logging; from adcli.engines.dask_cluster import _quiet_loggers; _quiet_loggers()\n"
            "for name in ('distributed', 'distributed.client', 'distributed.worker', 'tornado.application', 'asyncio'):\n"
            "    logging.getLogger(name).error('said')")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("", "")


def test_a_cluster_that_is_not_there(tables, monkeypatch):
    from adcli.engines import dask_cluster
    monkeypatch.setattr(dask_cluster, "CONNECT", 2)
    monkeypatch.chdir(tables)
    with socket.create_server(("127.0.0.1", 0)) as mute:   # it takes the call and says nothing
        for where in ("tcp://127.0.0.1:1", f"tcp://127.0.0.1:{mute.getsockname()[1]}", "nowhere://x"):
            run = adcli(*PROGRAM, "--data", "in", "-o", "nobody/", "--engine", f"dask={where}")
            assert (run.code, run.err.startswith(f"adcli: error: --engine dask={where}: ")) == (2, True), run
    assert not os.path.exists("nobody")


def test_without_dask_there_is_a_command_that_installs_it(tables, monkeypatch):
    from adcli.engines import dask_cluster
    monkeypatch.setattr(dask_cluster, "find_spec", lambda name: None)
    monkeypatch.chdir(tables)

    run = adcli(*PROGRAM, "--data", "in", "-o", "none/", "--engine", "dask")
    assert (run.code, "pip install 'dask[distributed]'" in run.err or "pip install" in run.err) == (2, True), run
