"""Blocks in threads: in order, and where there are no threads all the same."""
import threading
from concurrent.futures import Future

import pytest
from adcli.codegen.machine import memory
from command import adcli, succeeds

from adcli.answers import overlap
from adcli.answers.overlap import overlapped

ROWS = ("x,y\n" + "".join(f"{i},{i}.5\n" for i in range(50_000))).encode()


@pytest.fixture(params=[0, 1, 3])
def few_threads(request, monkeypatch):
    """A system that starts no more than so many."""
    left, start = [request.param], threading.Thread.start

    def refused(thread):
        if not left[0]:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        start(thread)
    monkeypatch.setattr(threading.Thread, "start", refused)


def test_results_leave_in_order(few_threads):
    blocks = [None if i % 7 == 0 else i for i in range(100)]
    assert list(overlapped(lambda i: i * i, iter(blocks), 4)) == [i * i for i in blocks if i is not None]


def test_rows_and_samples_need_no_threads(few_threads):
    rows = succeeds("grad", "-e", "x*y", "--jobs", 4, stdin=ROWS).out.splitlines()
    assert len(rows) == 50_001 and rows[-1] == "49999,49999.5,2499925000.5,49999.5,49999.0"
    assert "mc_u_f" in adcli("propagate", "-e", "x*y", "--at", "x=1±0.1,y=2±0.1", "--monte-carlo", 10_000, "--jobs", 4).out


@pytest.mark.parametrize(("free", "found"), [(2 * memory.THREAD_BYTES, 2), (2 * memory.THREAD_BYTES - 1, 1)])
def test_a_limit_on_memory_lets_one_thread_work(free, found, monkeypatch):
    """But those that are asked for are started."""
    monkeypatch.setattr(memory, "left", lambda limit: free)
    monkeypatch.setattr(overlap, "processors", lambda: 2)
    assert overlap.threads(None) == found and overlap.threads(3) == 3


def test_a_fault_of_the_work_is_its_own(few_threads):
    with pytest.raises(ZeroDivisionError):
        list(overlapped(lambda i: 1 // i, iter([1, 0]), 2))


def test_a_thread_that_ends_without_a_word_is_not_waited_for(monkeypatch):
    """As where there is no memory left to say that there is none."""
    def dies(*given):
        raise MemoryError
    monkeypatch.setattr(overlap, "LOOK", 0.01)
    monkeypatch.setattr(Future, "set_exception", dies)
    with pytest.raises(MemoryError):
        list(overlapped(dies, iter([1, 2]), 2))
