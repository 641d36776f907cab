"""Calling native code: a row depends on nothing but itself, wherever it stands."""
from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from adcli.codegen.machine import kernel as kernels
from adcli.codegen.machine.arrays import run_arrays
from adcli.codegen.machine.workers import OPEN_MAILBOX, STATE, Mailbox, Workers
from adcli.codegen.rows.compiled import compile_program
from adcli.lang.derive.derivatives import gradient
from adcli.lang.lower.frontend import parse
from hypothesis import given
from laws import check_rows
from planted_faults import caught
from random_programs import Sample, choices, extreme, law, point


def run_in_turn(wrong: Callable[[list[list[float]], int], list[list[float]]]) -> Callable[..., list[list[float]]]:
    """kernel.run with its results spoiled."""
    right = kernels.run
    return lambda kernel, columns, rows: wrong(right(kernel, columns, rows), kernel.lanes)


def last_row_repeats(columns: list[list[float]], lanes: int) -> list[list[float]]:
    return [c[:-1] + c[-2:-1] if len(c) % lanes and len(c) > 1 else c for c in columns]


def lanes_exchanged(columns: list[list[float]], lanes: int) -> list[list[float]]:
    return [[c[1], c[0], *c[2:]] if len(c) >= lanes > 1 else c for c in columns]


def padding_shows(columns: list[list[float]], lanes: int) -> list[list[float]]:
    return [[*c[:-1], 0.0] if len(c) % lanes and len(c) > lanes else c for c in columns]


@pytest.mark.parametrize("wrong", [last_row_repeats, lanes_exchanged, padding_shows])
def test_a_wrong_lane_or_tail(wrong: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    r = random.Random(1)
    program = gradient(parse("v = exp(x)*y"))
    points = [{"x": r.uniform(-1, 1), "y": r.uniform(1, 2)} for _ in range(19)]
    check_rows(program, points)
    monkeypatch.setattr(kernels, "run", run_in_turn(wrong))
    with caught():
        check_rows(program, points)


@law(30)
@given(extreme, choices)
def test_a_row_depends_on_nothing_but_itself(written: Sample, r: random.Random) -> None:
    program = gradient(parse(written.text))
    check_rows(program, [point(r, program, 3) for _ in range(11)])


@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_without_threads_the_rows_are_computed_all_the_same(allowed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, x = compile_program(parse("v = x*x")), np.arange(100_000.0)
    left = [allowed]

    def start(thread: threading.Thread) -> None:
        if not left[0]:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        original(thread)
    original = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", start)
    [found] = run_arrays(kernel, [x], jobs=4)
    assert (found == x * x).all()
    done: list[int] = []
    Workers().share(done.append, range(20), 4)
    assert sorted(done) == list(range(20))


FORKS = """
import os, sys, threading, time, adcli
late = adcli.compile("".join(f"y{i} = sin(x*{i + 1})\\n" for i in range(300)) + "v = " + "+".join(f"y{i}" for i in range(300)))
f = adcli.compile("v = x*x")
thread = threading.Thread(target=lambda: late(x=1.0))
thread.start()
time.sleep(float(sys.argv[1]))
child = os.fork()
if not child:
    os._exit(f(x=3.0)["v"] != 9 or late(x=1.0)["v"] != late(x=1.0)["v"])
thread.join()
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("delay", [0, 0.02, 0.1])
def test_a_process_may_fork_while_a_thread_compiles(delay: float) -> None:
    """The child compiles what it calls, including what the thread was at: it hung, for a lock whose owner it does not have."""
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS, str(delay)], timeout=60, check=False)
    assert ended.returncode == 0


def refuses(*given: Any) -> None:
    if threading.current_thread() is not threading.main_thread():
        raise MemoryError


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_part_that_a_thread_could_not_do_is_no_result():
    """Without a word it would leave what was in memory before as its numbers."""
    workers, met = Workers(), threading.Barrier(2)
    with pytest.raises(MemoryError):
        workers.share(lambda part: (met.wait(), refuses()), [0, 1], 2)
    assert workers.count == 1
    done: list[int] = []
    workers.share(done.append, list(range(9)), 2)
    assert sorted(done) == list(range(9))


def test_who_leads_waits_for_those_who_have_come():
    workers, begun, done, waited = Workers(), threading.Event(), list[int](), list[int]()

    def helper(part: int, mailbox: Mailbox) -> None:
        assert mailbox in workers.mailboxes
        begun.set()
        done.append(part)

    def post(part: int, mailbox: Mailbox) -> bool:
        posted.append(part)
        return takes
    posted, takes = list[int](), True
    workers.lead(begun.wait, helper, [1], post, waited.append)
    assert waited == [1]
    busy = threading.Event()
    workers.offers.put(SimpleNamespace(help=busy.wait))   # the thread is at something else
    workers.lead(lambda: None, helper, [2], post, waited.append)
    assert waited == [1, 0] and done == [1] and posted == []
    (mailbox,) = workers.mailboxes
    mailbox.cells[STATE] = OPEN_MAILBOX   # it lingers
    workers.lead(lambda: None, helper, [3], post, waited.append)
    assert waited == [1, 0, 1] and done == [1] and posted == [3]
    takes = False   # it has just gone
    workers.lead(lambda: None, helper, [4], post, waited.append)
    assert waited == [1, 0, 1, 0] and done == [1] and posted == [3, 4]
    busy.set()
    workers.share(lambda part: None, [0, 1], 2)
    begun.clear()
    workers.lead(begun.wait, helper, [5], post, waited.append)
    assert waited == [1, 0, 1, 0, 1] and done == [1, 5] and posted == [3, 4, 5]
