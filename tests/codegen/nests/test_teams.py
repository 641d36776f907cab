"""Loops that several threads share: the bits are those of one thread, whoever comes, and nobody waits for who does not."""
from __future__ import annotations

import threading

import numpy as np
import pytest
from adcli.codegen.nests import runtime
from adcli.codegen.nests.runtime import TensorKernel, compile_tensors
from adcli.lang.lower.frontend import parse
from native_tensors import assert_same_bits

TEXT = """input x(T, B, N), W(N, N)
h(0, b, n) = 0 where b in 0:B, n in 0:N
for t in 0:T {
    z(t, b, n) +=! W(n, m) * h(t, b, m)
    s(t, b) max=! z(t, b, n)
    h(t+1, b, n) = tanh(z(t, b, n) + x(t, b, n)) + 0.1 * s(t, b)
}
output h, s
"""
R = np.random.default_rng(7)
AT = {"x": R.standard_normal((9, 37, 70)), "W": R.standard_normal((70, 70)) / 8}


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> TensorKernel:
    monkeypatch.setattr(runtime, "WORTH_HELP", 0.0)
    return compile_tensors(parse(TEXT))


@pytest.mark.parametrize("jobs", [2, 3, 7])
def test_threads_change_no_bit(kernel: TensorKernel, jobs: int) -> None:
    want = kernel(AT, jobs=1)
    assert [s.team is not None for s in next(iter(kernel.plans.values())).stretches].count(True) == 1
    for _ in range(20):
        for name, found in kernel(AT, jobs=jobs).items():
            assert_same_bits(found, want[name], name)


def test_a_team_of_which_nobody_comes_but_the_first_does_all(kernel: TensorKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    want = kernel(AT, jobs=1)
    for order in (range, lambda n: reversed(range(1, n))):
        def one_after_another(function, parts, jobs, order=order):   # type: ignore[no-untyped-def]
            for part in parts if order is range else [0, *order(jobs)]:
                function(part)
        monkeypatch.setattr(runtime, "share", one_after_another)
        assert_same_bits(kernel(AT, jobs=3)["h"], want["h"], "h")


def test_calls_from_several_threads_have_a_team_each(kernel: TensorKernel) -> None:
    want, found = kernel(AT, jobs=1)["h"], []
    threads = [threading.Thread(target=lambda: found.append(kernel(AT, jobs=2)["h"])) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 4
    for each in found:
        assert_same_bits(each, want, "h")
