"""Programs that several threads share: the bits are those of one thread, whoever comes, and nobody waits for who does not."""
from __future__ import annotations

import functools
import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np
import pytest
from adcli.codegen.loops.thread_pool import HELPS
from adcli.codegen.machine import workers
from adcli.codegen.machine.workers import Mailbox
from adcli.codegen.modules import calls, plans
from adcli.codegen.modules.calls import Move, Stretch
from adcli.codegen.modules.runtime import TensorKernel, compile_tensors
from adcli.codegen.rows.compiled import linked
from adcli.codegen.rows.jit import object_code
from adcli.lang.derive.derivatives import gradient
from adcli.lang.lower.frontend import parse
from native_tensors import assert_same_bits
from side_by_side import in_threads

import adcli

TEXT = """input x(T, B, N), W(N, N)
h(0, b, n) = 0 where b in 0:B, n in 0:N
for t in 0:T {
    z(t, b, n) +=! W(n, m) * h(t, b, m)
    s(t, b) max=! z(t, b, n)
    h(t+1, b, n) = tanh(z(t, b, n) + x(t, b, n)) + 0.1 * s(t, b)
}
output h, s
"""
BESIDE = """input A(M, K), B(K, N), v(N)
C(i, j) +=! A(i, k) * B(k, j)
s(i) max=! exp(C(i, j) * v(j))
q(i + j) +=! C(i, j) where float(M + N - 1) q
f +=! s(i)
output C, s, q, f
"""
R = np.random.default_rng(7)
AT = {"x": R.standard_normal((9, 37, 70)), "W": R.standard_normal((70, 70)) / 8}


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> TensorKernel:
    monkeypatch.setattr(plans, "WORTH_HELP", 0.0)
    monkeypatch.setattr(plans, "WORTH_THREADS", 0.0)
    return compile_tensors(parse(TEXT))


@pytest.fixture
def beside(kernel: TensorKernel) -> TensorKernel:
    """Steps that are in no loop."""
    return compile_tensors(parse(BESIDE))


def test_every_step_that_can_be_is_shared(beside: TensorKernel) -> None:
    team = beside.module.env.team
    at = {"A": R.standard_normal((37, 29)), "B": R.standard_normal((29, 83)), "v": R.standard_normal(83)}
    want = beside(at, jobs=1)
    cells = next(iter(beside.plans.values())).cells
    assert team is not None
    assert [cells[team.of(k) + plans.TO] for k in range(len(beside.module.steps))] == [37, 37, 119, 0]
    for jobs in (2, 3, 64):
        for name, found in beside(at, jobs=jobs).items():
            assert_same_bits(found, want[name], (name, jobs))


def test_few_values_of_the_outermost_index_are_not_what_is_shared(kernel: TensorKernel) -> None:
    """Three gates by two threads would take as long as two gates by one."""
    gates = compile_tensors(parse("input h(B, K), U(K, 3, J), d(B, 3, J)\nv(n, g, j) +=! h(n, k) * U(k, g, j)\n"
                                  "w(g, j, k) +=! d(n, g, j) * h(n, k)\ny(n, g, j) = v(n, g, j)**2 + d(n, g, j)\noutput v, w, y"))
    at = {"h": R.standard_normal((67, 41)), "U": R.standard_normal((41, 3, 83)), "d": R.random((67, 3, 83))}
    want = gates(at, jobs=1)
    plan = next(iter(gates.plans.values()))
    nests = [s.schedules[plan.cells[gates.module.choices + k]] for k, s in enumerate(gates.module.steps)]
    assert not any((n.range(n.shared).high - n.range(n.shared).low).number for n in nests if n.shared is not None)
    for jobs in (2, 3, 7):
        for name, found in gates(at, jobs=jobs).items():
            assert_same_bits(found, want[name], (name, jobs))


def test_the_time_of_all_shared_steps_decides() -> None:
    one = parse("input x(N)\ny(i) = exp(x(i))")
    many = parse("input x(N)\n" + "\n".join(f"y{k}(i) = exp({k} * x(i))" for k in range(40)))
    assert [compile_tensors(p).plan(((n,),)).idle_window for p, n in ((one, 2_000), (one, 200_000), (many, 50_000), (many, 50))] \
        == [0.0, plans.LINGERED, math.inf, 0.0]
    assert [plans.idle_window(x, 1e7, 1) for x in (1e5, 1e6, 1e7)] == [0.0, 0.0, math.inf]
    assert [plans.idle_window(x, x, 1) for x in (1e5, 1e6, 1e7)] == [0.0, plans.LINGERED, math.inf]
    assert [plans.idle_window(x, x, 40) for x in (1e6, 1e7)] == [0.0, math.inf]


@pytest.mark.parametrize("called", ["kernel", "function"])
def test_a_short_run_has_a_team_where_it_follows_another_at_once(called: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So soon that a helper of that one still lingers; else waking one takes longer than it helps. So do calls of a Function that
    has been made a builtin."""
    now, teams = [100.0], list[int]()
    share = calls.PlannedCode.share
    monkeypatch.setattr(calls, "monotonic", lambda: now[0])
    monkeypatch.setattr(calls.PlannedCode, "ended", -math.inf)
    monkeypatch.setattr(calls.PlannedCode, "share", lambda self, *rest: teams.append(rest[-1]) or share(self, *rest))
    text, at = "input A(N, N), B(N, N)\nC(i, j) +=! A(i, k) * B(k, j)", dict.fromkeys("AB", R.standard_normal((150, 150)))
    if called == "kernel":
        run = functools.partial(compile_tensors(parse(text)), at)
    else:
        run = functools.partial(adcli.compile(text), at)
        for _ in range(15):
            now[0] += 1.0
            run()
        assert not teams
    want, shared = run(jobs=1)["C"], list[list[int]]()
    for later in (1.0, 0.0, 0.5 * plans.LINGERED, 2 * plans.LINGERED, 0.1 * plans.LINGERED):
        now[0] += later
        teams.clear()
        assert_same_bits(run(jobs=2)["C"], want, later)
        shared.append([*teams])
    assert shared == [[], [2], [2], [], [2]]


@pytest.mark.parametrize("jobs", [2, 3, 7])
def test_threads_change_no_bit(kernel: TensorKernel, jobs: int) -> None:
    want = kernel(AT, jobs=1)
    assert next(iter(kernel.plans.values())).idle_window
    for _ in range(20):
        for name, found in kernel(AT, jobs=jobs).items():
            assert_same_bits(found, want[name], name)


def test_a_team_of_which_nobody_comes_but_the_first_does_all(kernel: TensorKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    want = kernel(AT, jobs=1)
    for late in (False, True):
        def one_after_another(leader, helper, parts, post, wait, late=late):   # type: ignore[no-untyped-def]
            leader()
            for part in reversed(parts) if late else ():
                helper(part, Mailbox())
            wait(len(parts) if late else 0)
        monkeypatch.setattr(calls, "lead", one_after_another)
        assert_same_bits(kernel(AT, jobs=3)["h"], want["h"], "h")


class Refusing:
    """A function that has no memory for helpers."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.function, self.refused = function, 0

    def __call__(self, env: object, role: Sequence[int] | None, *more: object) -> None:
        if role is not None and role[0] == HELPS:
            self.refused += 1
            raise MemoryError
        self.function(env, role, *more)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_nobody_waits_for_a_helper_that_has_failed(kernel: TensorKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    want, refusing = kernel(AT, jobs=1), Refusing(kernel.kernel.function)
    monkeypatch.setattr(kernel, "kernel", SimpleNamespace(function=refusing))
    monkeypatch.setattr(workers, "_workers", workers.Workers())   # of whom nobody lingers
    for _ in range(200):
        assert_same_bits(kernel(AT, jobs=3)["h"], want["h"], "h")
        if refusing.refused:
            return
    raise AssertionError("no helper has come")


def test_a_thread_that_lingers_helps_with_runs_of_any_code(kernel: TensorKernel, beside: TensorKernel,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of code that is gone right after its run, and while several threads lead."""
    at = {"A": R.standard_normal((37, 29)), "B": R.standard_normal((29, 83)), "v": R.standard_normal(83)}
    runs = [(kernel, AT, kernel(AT, jobs=1)), (beside, at, beside(at, jobs=1))]
    taken, give = list[int](), Mailbox.give

    def counted(mailbox: Mailbox, run: int, *more: object) -> None:
        taken.append(run)
        give(mailbox, run, *more)   # type: ignore[arg-type]
    monkeypatch.setattr(Mailbox, "give", counted)

    def often(_: int = 0) -> None:
        for turn in range(60):
            code, given, want = runs[turn % 2]
            passing = code if turn % 5 else TensorKernel(code.module, linked(object_code(code.module.text), code.module.entry))
            for name, found in passing(given, jobs=2 + turn % 2).items():
                assert_same_bits(found, want[name], name)
    often()
    for _ in range(20):
        if len(taken) > 50 and len(set(taken)) > 2:   # code that is gone leaves its place to other code
            break
        often()
    else:
        raise AssertionError("nobody has lingered")
    in_threads(often, 3)


def test_a_process_ends_while_a_thread_lingers() -> None:
    script = ("import adcli, numpy\nf = adcli.compile('input x(N)\\ny(i) = exp(x(i))*sin(x(i))\\nz(i) = tanh(y(i))')\n"
              "f(x=numpy.ones(400_000), jobs=2)\n")
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
        assert (ended.returncode, ended.stderr) == (0, b"")


def test_calls_from_several_threads_have_a_team_each(kernel: TensorKernel) -> None:
    want = kernel(AT, jobs=1)["h"]
    for each in in_threads(lambda _: kernel(AT, jobs=2)["h"], 4):
        assert_same_bits(each, want, "h")


@pytest.fixture
def blocks(kernel: TensorKernel) -> TensorKernel:
    """A gradient whose steps of time are done in blocks, with what is arranged between them."""
    text = TEXT.replace("0:T {", "0:T checkpoint {").replace("output h, s", "y +=! h(T, b, n)\noutput y")
    return compile_tensors(gradient(parse(text)))


@pytest.mark.parametrize("jobs", [2, 3])
def test_a_team_is_called_once_for_all_stretches(blocks: TensorKernel, jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    want, called = blocks(AT, jobs=1), list[int]()
    (plan,) = blocks.plans.values()
    kinds = [type(a) for a in plan.actions]
    assert plan.idle_window and kinds.count(Stretch) > 2 and Move in kinds
    monkeypatch.setattr(calls, "lead", lambda *given, lead=calls.lead: (called.append(1 + len(given[2])), lead(*given)))
    for turn in range(1, 6):
        for name, found in blocks(AT, jobs=jobs).items():
            assert_same_bits(found, want[name], name)
        assert called == [jobs] * turn


def test_nobody_waits_for_a_leader_who_has_failed(blocks: TensorKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    def arrange(*_: object) -> None:
        raise MemoryError
    monkeypatch.setattr(blocks, "arrange", arrange)
    with pytest.raises(MemoryError):
        blocks(AT, jobs=3)


def test_a_large_product_of_no_whole_tiles_stays_in_its_memory() -> None:
    """Copies of what tiles read are as large as sizes make them; what they damage is seen in earlier results and later calls."""
    f = adcli.compile("input A(M, K), B(K, N)\nC(i, j) +=! A(i, k)*B(k, j)\n")
    r = np.random.default_rng(0)
    at = {"A": r.normal(size=(1700, 500)), "B": r.normal(size=(500, 1703))}
    first, right = f(at, jobs=2)["C"], at["A"] @ at["B"]
    for jobs in (1, 3):
        again = f(at, jobs=jobs)["C"]
        assert np.array_equal(again, first)
    np.testing.assert_allclose(first, right, rtol=1e-9, atol=1e-10)
