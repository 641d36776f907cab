"""An exception out of a signal's handler, as Ctrl-C raises in a notebook: nothing is written any more when it is raised, nothing
has crashed, and the next call gives what it gave."""
from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest
from adcli.codegen.machine.interrupts import apart, despite_interrupts
from session_seed import part

HEAD = """
import random, signal, sys, time
import numpy as np, adcli
class Timeout(Exception): pass
def alarm(*_): raise Timeout
def steps(rounds, again, run, same):
    "Interrupt runs at random times, once or until they give way."
    r, heard = random.Random(7), 0
    full = 1.0
    for _ in range(6):
        start = time.perf_counter(); run(); full = min(full, time.perf_counter() - start)
    signal.signal(signal.SIGALRM, alarm)
    for k in range(20 * rounds):
        if heard == rounds: break
        try:
            signal.setitimer(signal.ITIMER_REAL, r.uniform(1e-6, full), again if k % 2 else 0)
            run()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Timeout:
            heard += 1
            while True:
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                    break
                except Timeout: pass
        held = [np.full(200_000, 7.0) for _ in range(8)]   # where results were
        time.sleep(0.003)
        assert all((x == 7.0).all() for x in held), "memory that is not theirs has been written"
        del held
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert same(), "another result than before"
    print(heard)
"""
ROWS = """
f = adcli.compile("v = exp(sin(x))*cos(x)/(1+x**2) + log(2+sin(x*y))*atan(x-y)", precision=PRECISION).grad()
x = np.linspace(0, 1, 400_000, dtype=np.float32 if PRECISION == "single" else float)
want = f(x=x, y=x, jobs=1)
run = lambda: f(x=x, y=x, jobs=JOBS)
steps(30, 0.002, run, lambda: all(np.array_equal(a, want[n]) for n, a in run().items()))
"""
TENSORS = """
f = adcli.compile(TEXT, checkpoint=True).grad()
A, x = np.ones((120, 120)) / 120 + np.eye(120), np.ones(120)
want = f(A=A, x=x, jobs=1)
run = lambda: f(A=A, x=x, jobs=3)
steps(30, 0.002, run, lambda: all(np.array_equal(a, want[n]) for n, a in run().items()))
"""
COMPILES = """
n = 0
def run():
    global n
    n += 1
    text = "".join(f"y{k} = sin(x*{k + 1000*n}.5)*exp(x/{k + 1})\\n" for k in range(80))
    return adcli.compile(text + "v = " + "+".join(f"y{k}" for k in range(80)))(x=1.0)["v"]
steps(30, 0.02, run, lambda: run() is not None)
"""
LOOP = "input A(N, N), x(N)\\nh(0, i) = x(i)\\n" \
       "for t in 0:20 {\\nz(t, i) +=! A(i, k)*h(t, k)\\nh(t + 1, i) = tanh(z(t, i))\\n}\\ns +=! h(20, i)\\noutput s"
MATRICES = "input A(N, N), x(N)\\ny = solve(A, x)\\nB = inverse(A)\\ns +=! y(i)**2 + B(i, i)\\noutput s"


SCRIPTS = {
    "rows": ROWS.replace("PRECISION", "'double'").replace("JOBS", "3"),
    "one thread": ROWS.replace("PRECISION", "'double'").replace("JOBS", "1"),
    "single": ROWS.replace("PRECISION", "'single'").replace("JOBS", "3"),
    "tensors": TENSORS.replace("TEXT", f"'{LOOP}'"), "matrices": TENSORS.replace("TEXT", f"'{MATRICES}'"), "compile": COMPILES}


@pytest.mark.parametrize("name", part([*SCRIPTS], 3))
def test_an_interrupt_at_any_time(name: str) -> None:
    ended = subprocess.run([sys.executable, "-c", HEAD + SCRIPTS[name]], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "ctypes" not in ended.stderr   # an exception in what compiled code calls would be lost
    assert int(ended.stdout) == 30


EXIT = """
import threading, time, numpy as np, adcli
f = adcli.compile("v = exp(sin(x))*cos(x)/(1+x**2)").grad()
x = np.linspace(0, 1, 1_000_000)
def work():
    while True: f(x=x, jobs=3)
threading.Thread(target=work, daemon=True).start()
time.sleep(DELAY)
"""


@pytest.mark.parametrize("delay", [0.02, 0.2])
def test_a_process_may_end_while_a_thread_of_its_own_computes(delay: float) -> None:
    ended = subprocess.run([sys.executable, "-c", EXIT.replace("DELAY", str(delay))], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_end_is_waited_for_whatever_is_raised_meanwhile() -> None:
    done: list[int] = []

    def end() -> None:
        done.append(len(done))
        if len(done) < 5:
            raise KeyboardInterrupt(len(done))
    with pytest.raises(KeyboardInterrupt, match="4"):
        despite_interrupts(end)
    despite_interrupts(end)
    assert done == [0, 1, 2, 3, 4, 5]


def test_what_is_done_apart_is_done_in_another_thread_than_the_main_one() -> None:
    main = threading.get_ident()
    assert apart(threading.get_ident) != main
    with pytest.raises(ZeroDivisionError):
        apart(lambda: 1 // 0)
    found: list[bool] = []
    other = threading.Thread(target=lambda: found.append(apart(threading.get_ident) == threading.get_ident()))
    other.start()
    other.join()
    assert found == [True]


def test_without_a_thread_it_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    from adcli.codegen.machine import interrupts

    def refused(*_: object) -> None:
        raise RuntimeError("can't start new thread")
    for start in (refused, lambda *_: None):
        monkeypatch.setattr(interrupts, "start_new_thread", start)
        assert apart(threading.get_ident) == threading.get_ident()
        with pytest.raises(ZeroDivisionError):   # for which nobody waits
            apart(lambda: 1 // 0)


def test_an_interrupt_waits_for_what_is_done_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    from adcli.codegen.machine import interrupts
    ended, hastened = list[int](), list[int]()

    class Interrupted(interrupts._ApartWork[None]):
        def wait(self) -> None:
            if not hastened:
                raise KeyboardInterrupt
            super().wait()
    monkeypatch.setattr(interrupts, "_ApartWork", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        apart(lambda: (time.sleep(0.2), ended.append(1)), lambda: hastened.append(1))
    assert ended == hastened == [1]
