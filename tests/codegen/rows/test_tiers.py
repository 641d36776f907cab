"""Which tier a program begins in, when it moves up, and that nobody sees it."""
from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
from adcli.codegen.machine.cache import Store
from adcli.codegen.machine.kernel import Kernel, NoExecutableMemory, TapeKernel, run
from adcli.codegen.rows import jit, tier_up, tiers
from adcli.codegen.rows.compiled import Interpreted, compile_program
from adcli.codegen.rows.expand import for_machine
from adcli.codegen.rows.llvm import compile_length
from adcli.lang.ir import Program
from adcli.lang.lower.frontend import parse
from native_programs import long_program
from places import ROOT

AT = [[0.1 * k + 0.01 * i for i in range(50)] for k in range(5)]


def joined(kernel: Kernel) -> None:
    """Wait for what is compiled meanwhile."""
    assert isinstance(kernel, tiers.TieredKernel)
    if kernel.succession.thread is not None and kernel.succession.thread.ident:
        kernel.succession.thread.join()


def rising(program: Program, monkeypatch: pytest.MonkeyPatch, after: int) -> tiers.TieredKernel:
    """A program that is compiled after so many blocks of rows."""
    monkeypatch.setattr(tiers, "LONG", 0)
    monkeypatch.setattr(tiers, "blocks_worth", lambda tape: after)
    kernel = tiers.native(program)
    assert isinstance(kernel, tiers.TieredKernel)
    return kernel


def test_short_programs_are_compiled_and_long_ones_begin_on_a_tape(monkeypatch: pytest.MonkeyPatch) -> None:
    program = long_program(300)
    assert type(tiers.native(program)) is Kernel and type(tiers.native(program, "compiled")) is Kernel
    assert type(tiers.native(program, "tape")) is TapeKernel
    monkeypatch.setattr(tiers, "LONG", 100)
    assert type(tiers.native(program)) is tiers.TieredKernel and type(tiers.native(program, "compiled")) is Kernel


def test_rows_that_keep_coming_move_up_and_have_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    program = long_program(300)
    kernel, want = rising(program, monkeypatch, after=20), repr(run(compile_program(program), AT))
    blocks = -(-50 // kernel.lanes)
    for call in range(6):
        assert isinstance(kernel.current, TapeKernel) == (call * blocks < 20)
        assert repr(run(kernel, AT)) == want
        joined(kernel)
    assert kernel.workspace() is None


def test_one_call_of_many_rows_moves_up_between_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code is made while the first piece is played, and there before the second begins."""
    program = long_program(300)
    kernel, seen, begun = rising(program, monkeypatch, after=2), [], threading.Event()
    monkeypatch.setattr(tiers, "AT_A_TIME", 0.0)
    memory, make = tiers.TieredKernel.memory, kernel.succession.make
    kernel.succession.make = lambda: begun.wait() and make()

    def looked(self: tiers.TieredKernel, current: Kernel) -> object:
        seen.append(type(current))
        begun.set()
        joined(self)
        return memory(self, current)
    monkeypatch.setattr(tiers.TieredKernel, "memory", looked)
    assert repr(run(kernel, AT)) == repr(run(compile_program(program), AT))
    assert seen == [TapeKernel, Kernel]


def test_threads_share_a_kernel_while_it_moves_up(monkeypatch: pytest.MonkeyPatch) -> None:
    program = long_program(1500)
    kernel, want = rising(program, monkeypatch, after=60), repr(run(compile_program(program), AT))
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: repr(run(kernel, AT)), range(60))) == {want}
    joined(kernel)
    assert type(kernel.current) is Kernel and repr(run(kernel, AT)) == want


def test_it_is_compiled_once_whoever_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, count, made = rising(long_program(300), monkeypatch, after=1), [], jit.object_code
    monkeypatch.setattr(jit, "object_code", lambda *args, **more: count.append(1) or made(*args, **more))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: run(kernel, AT), range(20)))
    joined(kernel)
    assert len(count) == 1


@pytest.mark.parametrize("thread", [True, False], ids=["thread", "no thread"])
def test_too_little_memory_to_compile_leaves_the_tape_and_a_defect_is_said(
        thread: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not thread:
        monkeypatch.setattr(tier_up, "started", lambda thread: False)
    for fault in (MemoryError(), jit.CodegenError("nonsense")):
        kernel, want = rising(long_program(300), monkeypatch, after=1), repr(run(compile_program(long_program(300)), AT))

        def refused(fault: BaseException = fault) -> Kernel:
            raise fault
        kernel.succession.make = refused
        first = None
        try:
            first = repr(run(kernel, AT))
        except jit.CodegenError:
            assert not isinstance(fault, MemoryError)
        joined(kernel)
        if isinstance(fault, MemoryError):
            assert first == repr(run(kernel, AT)) == want
        else:
            with pytest.raises(jit.CodegenError):
                run(kernel, AT)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_process_made_by_fork_meanwhile_compiles_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread of its parent is not in it."""
    kernel, held = rising(long_program(300), monkeypatch, after=1), threading.Event()
    make, want = kernel.succession.make, repr(run(compile_program(long_program(300)), AT))
    kernel.succession.make = lambda: held.wait() and make()
    run(kernel, AT)
    assert kernel.succession.thread is not None and kernel.succession.thread.is_alive()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)   # of forks beside threads
        child = os.fork()
    if child == 0:
        try:
            kernel.succession.make = make
            run(kernel, AT)
            joined(kernel)
            os._exit(0 if type(kernel.current) is Kernel and repr(run(kernel, AT)) == want else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    held.set()
    joined(kernel)
    assert type(kernel.current) is Kernel


def test_a_script_that_ends_while_llvm_works_ends_well() -> None:
    """Without a wait for what LLVM is at, one of thirty such ends is a crash; a script waits for no more than that."""
    script = ("from adcli.codegen.machine.kernel import run\nfrom adcli.codegen.rows import jit, tier_up, tiers\n"
              "from native_programs import long_program\nimport threading, time\ntiers.LONG, began = 0, threading.Event()\n"
              "made = jit.object_codes\n"
              "jit.object_codes = lambda *given: (began.set(), made(*given))[1]\n"
              "kernel = tiers.native(long_program(3000))\nkernel.succession.worth = 0\nrun(kernel, [[1.0]] * 5)\n"
              "assert began.wait(30)\ntime.sleep(0.05)\n")
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=100,
                           env={**os.environ, "PYTHONPATH": str(ROOT / "tests/helpers")})
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_system_that_refuses_native_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> Kernel:
        raise NoExecutableMemory
    monkeypatch.setattr(tiers, "interpreter", refused)
    from adcli.codegen.rows import compiled
    monkeypatch.setattr(compiled, "linked", refused)
    assert isinstance(tiers.native(long_program(20), "tape"), Interpreted)


def test_the_interpreter_is_made_once_and_kept(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, want = long_program(300), repr(run(compile_program(long_program(300)), AT))
    store = Store(str(tmp_path / "cache"), lambda said: pytest.fail(said))
    count, made = [], jit.object_code
    monkeypatch.setattr(jit, "object_code", lambda *args, **more: count.append(1) or made(*args, **more))
    for _ in range(3):
        monkeypatch.setattr(tiers, "_interpreters", {})
        assert repr(run(tiers.native(program, "tape", store), AT)) == want
        assert repr(run(tiers.native(program, "tape"), AT)) == want   # the process has it
    assert len(count) == 1
    for entry in (tmp_path / "cache").iterdir():
        entry.write_bytes(entry.read_bytes()[:-1])
    monkeypatch.setattr(tiers, "_interpreters", {})
    assert repr(run(tiers.native(program, "tape", store), AT)) == want and len(count) == 2


def test_choices_are_counted_as_what_they_take_to_compile() -> None:
    """Of the same length, a program of choices begins on a tape sooner: LLVM takes three times as long for it."""
    lengths = [compile_length(for_machine(parse(f"v = {'x * (' * 90}y{')' * 90}"))),
               compile_length(for_machine(parse("v = " + "".join(f"x < {k} ? y : " for k in range(45)) + "x")))]
    assert lengths == [90 + 2 * 3, 3 * 90 + 2 * 3]
