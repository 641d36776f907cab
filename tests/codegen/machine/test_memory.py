"""How much memory there is, and how that is said."""
from __future__ import annotations

import builtins
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from adcli.codegen.machine import memory
from adcli.codegen.machine.memory import (
    LIBRARIES,
    LIMITS,
    UNASKED_BYTES,
    UNKNOWN,
    amount,
    available,
    left,
    of_group,
    require_room,
)
from adcli.lang.ir.errors import AdError
from places import ROOT

from adcli import main
from adcli.output import streams


def test_amounts_in_the_largest_unit_that_has_digits_enough() -> None:
    assert [amount(n) for n in (0, 9_999, 10_000, 90_000_000, 1 << 40, 1 << 50)] == \
        ["0 bytes", "9999 bytes", "9 KiB", "85 MiB", "1024 GiB", "1048576 GiB"]


def test_a_system_that_does_not_say_has_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 < available() < 1 << 62

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise FileNotFoundError
    monkeypatch.setattr(builtins, "open", refuse)
    found = available()
    monkeypatch.undo()
    assert found == 1 << 62


LADDER = """
import os, resource, sys
from adcli.codegen.machine import memory
from adcli.main import run
lines = {"grad": ["grad", "-e", "x*sin(x)", "--at", "x=2", "--no-cache"],
         "tensors": ["eval", "-e", "input A(N)", "-e", "s +=! A(i)", "--at", "A=[1,2]", "--no-cache"]}
space, data = resource.RLIMIT_AS, resource.RLIMIT_DATA
for limit, kib in ((space, 30_000), (space, 150_000), (data, 8_400), (data, 14_000), (data, 40_000)):
    for line in lines.values():
        child = os.fork()
        if not child:
            resource.setrlimit(limit, (kib << 10, kib << 10))
            memory.watch_loading()
            os._exit(run(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def test_with_too_little_memory_there_is_an_answer_or_a_message() -> None:
    assert [left(limit) for limit in LIMITS] == [1 << 62] * 2
    assert all(set(limit.libraries) == set(LIBRARIES) == {"numpy", "llvmlite", "polars"} for limit in LIMITS)
    ended = subprocess.run([sys.executable, "-c", LADDER], capture_output=True, text=True, check=True,
                           env={**os.environ, "PYTHONPATH": str(ROOT)})
    codes = [line for line in ended.stdout.splitlines() if line in ("0", "2")]
    others = [line for line in ended.stdout.splitlines() if line not in ("0", "2")]
    assert len(codes) == 10
    assert all(" = " in line for line in others)   # results
    said = ended.stderr.splitlines()
    assert all(line.startswith(("adcli: error: ", "help: raise it: ulimit")) for line in said), said
    assert sum(line.startswith("adcli: error: ") for line in said) == codes.count("2")


@pytest.mark.parametrize("refused", [MemoryError, ImportError, SystemError, OSError])
def test_a_message_is_said_where_nothing_more_can_be_loaded(
        refused: type[Exception], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A module is read from a file, mapped, and given memory: each may fail where a message is to get its colours."""
    def refuse(lines: list[str], stream: object) -> list[str]:
        raise refused
    monkeypatch.setattr(streams, "for_reader", refuse)
    streams.say("adcli: error: not enough memory")
    assert capsys.readouterr().err == "adcli: error: not enough memory\n"


def test_a_control_group_has_what_it_and_those_above_it_leave(tmp_path: Path) -> None:
    """A container with 2 GiB on a machine with 64, of which 1 GiB is used, half of that for files that can be read again."""
    def group(path: str, most: str, used: int) -> None:
        (tmp_path / path).mkdir(parents=True, exist_ok=True)
        (tmp_path / path / "memory.max").write_text(most + "\n")
        (tmp_path / path / "memory.current").write_text(f"{used}\n")
        (tmp_path / path / "memory.stat").write_text(f"anon {used // 2}\ninactive_file {used // 2}\n")
    group("a/b", "max", 1 << 30)
    assert of_group("12:cpu:/x\n0::/a/b\n", str(tmp_path)) == UNKNOWN
    group("a", str(2 << 30), 1 << 30)
    assert of_group("0::/a/b\n", str(tmp_path)) == of_group("0::/a\n", str(tmp_path)) == 3 << 29
    group("a/b", str(1 << 30), 1 << 30)
    assert of_group("0::/a/b\n", str(tmp_path)) == 1 << 29
    assert of_group("0::/\n", str(tmp_path)) == UNKNOWN


def test_what_is_small_is_taken_without_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adcli.codegen.machine.memory.available", lambda: 0)
    require_room("it", UNASKED_BYTES)
    with pytest.raises(AdError, match="it needs 64 MiB of memory, but only 0 bytes is free"):
        require_room("it", UNASKED_BYTES + 1)


REFUSED = """
import importlib.util, sys
from adcli.codegen.machine import kernel, memory
from adcli.main import main
if sys.argv.pop(1) == "threads":
    kernel.started = lambda thread: False
else:
    memory.left = lambda limit: 0 if "polars" in sys.modules else memory.UNKNOWN
sys.argv[0] = "adcli"
main()
"""


@pytest.mark.parametrize("refused", ["threads", "memory"])
def test_rows_do_without_a_library_that_cannot_be_loaded_and_parquet_says_why(refused: str, tmp_path: Path) -> None:
    """A table that is worth loading polars for, under `ulimit -u 1` or `ulimit -v 600000`."""
    pytest.importorskip("polars")
    rows = "x\n" + "0.5\n" * 80_000

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", REFUSED, refused, "eval", "-e", "v = x + 1", *more], input=rows, text=True,
                              capture_output=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)})
    done = run()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "x,v\n" + "0.5,1.5\n" * 80_000
    done = run("-o", str(tmp_path / "v.parquet"))
    assert done.returncode == 2
    assert done.stderr.startswith("adcli: error: polars needs ")
    assert "\nhelp: raise" in done.stderr
    assert not list(tmp_path.iterdir())


def test_where_a_limit_leaves_next_to_nothing_any_error_says_so(monkeypatch: pytest.MonkeyPatch,
                                                                capsys: pytest.CaptureFixture[str]) -> None:
    """A module that is not found, or text that is not read, is then no defect and no damaged installation."""
    def fail(fault: Exception) -> tuple[int, str]:
        monkeypatch.setattr(main, "_exit_code", raising(fault))
        return main.run([]), capsys.readouterr().err

    def raising(fault: Exception) -> Any:
        def raise_it(args: list[str]) -> int:
            raise fault
        return raise_it
    assert memory.exhausted() is None
    assert [fail(e)[0] for e in (SystemError("no exception set"), ImportError("failed to map segment"))] == [70, 2]
    monkeypatch.setattr(memory, "left", lambda limit: 1 << 20 if limit.counts == "data" else UNKNOWN)
    said = "adcli: error: not enough memory: the limit leaves 1024 KiB of data\nhelp: raise it: ulimit -d unlimited\n"
    assert [fail(e) for e in (SystemError("no exception set"), ImportError("failed to map segment"))] == [(2, said)] * 2
