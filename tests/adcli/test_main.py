"""The command as a process of its own: pipes, signals, closed and full streams, what it imports."""
from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

import pytest
from places import ROOT, WORKED
from session_seed import each_choice, half

from adcli import main

ADCLI = f"{sys.executable} -m adcli"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "LC_ALL": "C"}
NO_MODULES = "export PYTHONDONTWRITEBYTECODE=1"   # where files are limited: Python keeps the half that fits


def shell(command: str, folder: pathlib.Path) -> subprocess.CompletedProcess[bytes]:
    """A line of shell in which `adcli` is this one."""
    line = f"set -o pipefail; adcli() {{ {ADCLI} \"$@\"; }}; {command}"
    return subprocess.run(["bash", "-c", line], cwd=folder, env=ENVIRONMENT, capture_output=True, timeout=60, check=False)


def test_pipes_compose(tmp_path):
    ended = shell(f"adcli jvp {WORKED} --emit text | adcli vjp - --at x=2,y=5,dx=1,dy=0 --cotangent dv=1", tmp_path)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout.decode().splitlines()[:4] == ["v = 3920.6", "dv = 5880.0", "d_dx = 5880.0", "d_dy = 0.0"]


@pytest.mark.parametrize("form", ["text", "json", "csv"])
def test_a_closed_pipe_ends_quietly(tmp_path, form):
    ended = shell(f"adcli eval -e 'x*y' --at x=0:1:1000000,y=0:1:1000000 --format {form} | head -1", tmp_path)
    assert ended.stdout.count(b"\n") == 1
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_full_disk_is_told_once(tmp_path):
    for line, name in (("adcli eval -e 1 > /dev/full", "standard output"), ("adcli eval -e 1 -o /dev/full", "/dev/full"),
                       ("adcli eval -e x --at x=0:1:10000 > /dev/full", "standard output")):
        ended = shell(line, tmp_path)
        assert (ended.returncode, ended.stderr) == (2, f"adcli: error: {name}: No space left on device\n".encode())


def test_a_file_that_does_not_fit_leaves_the_old_one(tmp_path):
    (tmp_path / "r").write_text("old")
    ended = shell(f"{NO_MODULES}; ulimit -f 8; adcli eval -e x --at x=0:1:100000 -o r", tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, b"", b"adcli: error: r: File too large\n")
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"r": "old"}


def test_rows_to_parquet_that_do_not_fit_are_told_by_the_name_of_the_file(tmp_path):
    (tmp_path / "a.parquet").write_text("old")
    (tmp_path / "scratch").mkdir()
    (tmp_path / "rows.csv").write_text("x\n" + "1.2345678901\n" * 9000)
    line = NO_MODULES + ("; trap '' XFSZ; export TMPDIR=$PWD/scratch; {}; "
                         "adcli eval -e x --data {} --format parquet {} 2>&1 | cat")
    way = f" (a temporary file in {tmp_path / 'scratch'})"
    for limit, to, said in (("ulimit -f 8", "-o a.parquet", f"a.parquet{way}: File too large"),
                            ("ulimit -f 8", "", f"standard output{way}: File too large"),
                            ("ulimit -f 0; cd /", f"-o {tmp_path}/a.parquet", f"{tmp_path}/a.parquet: No usable temporary ")):
        found = shell(line.format(limit, tmp_path / "rows.csv", to), tmp_path).stdout.decode()
        assert found.startswith(f"adcli: error: {said}"), found
    assert {p.name for p in tmp_path.iterdir()} == {"a.parquet", "rows.csv", "scratch"}
    assert (tmp_path / "a.parquet").read_text() == "old" and not list((tmp_path / "scratch").iterdir())


def test_closed_streams(tmp_path):
    assert shell("adcli eval -e 1 >&-", tmp_path).stderr == \
        b"adcli: error: standard output is closed\nhelp: write to a file with -o FILE\n"
    ended = shell("adcli eval -e x --at y=1 2>&-", tmp_path)
    assert (ended.returncode, ended.stdout) == (2, b"")
    ended = shell("adcli eval - <&-", tmp_path)
    assert (ended.returncode, ended.stderr) == (2, b"adcli: error: standard input is closed\n")


def test_streams_by_name(tmp_path):
    ended = shell("adcli eval -e 1 -o /dev/fd/1; adcli eval -e 2 -o >(cat); adcli eval -e 3 -o /proc/self/fd/1 >> r; cat r; "
                  "adcli eval -e 4 -o /dev/null", tmp_path)
    assert sorted(ended.stdout.splitlines()) == [b"f = 1.0", b"f = 2.0", b"f = 3.0"]
    assert ended.stderr == b""


def test_names_outside_ascii_in_a_plain_locale(tmp_path):
    (tmp_path / "é.ad").write_text("Größe = α*2")
    ended = shell("adcli eval é.ad --at α=1; adcli eval é.ad --at β=1", tmp_path)
    assert ended.stdout.decode() == "Größe = 2.0\n"
    assert ended.stderr.decode() == "adcli: error: no input 'β'\nhelp: the inputs are α\n"


def long_run(folder: pathlib.Path, *options: str) -> subprocess.Popen[bytes]:
    """adcli at work on a program that takes it long."""
    (folder / "long.ad").write_text("a0 = x\n" + "".join(f"a{i + 1} = sin(a{i}*x + {i})\n" for i in range(150_000)))
    command = [sys.executable, "-m", "adcli", "grad", "long.ad", *options]
    return subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize("seconds", half([1.5, 4]))
def test_an_interrupt_ends_a_compilation_at_once(tmp_path, seconds):
    process = long_run(tmp_path, "--at", "x=1", "-o", "r")
    time.sleep(seconds)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    assert process.communicate(timeout=20) == (b"", b"")
    assert time.monotonic() - start < 5   # what is left of the work takes longer
    assert process.returncode == 130
    assert [p.name for p in tmp_path.iterdir()] == ["long.ad"]


def test_an_interrupt_leaves_whole_rows_and_no_file(tmp_path):
    grid = ["-e", "x*y", "--at", "x=0:1:1000000,y=0:1:1000", "--format", "csv"]
    command = [sys.executable, "-m", "adcli", "eval", *grid]
    process = subprocess.Popen(command, bufsize=0, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    start = process.stdout.read(1000)
    process.send_signal(signal.SIGINT)
    rest, said = process.communicate(timeout=20)
    assert (process.returncode, said) == (130, b"")
    lines = (start + rest).decode().split("\n")
    assert lines[0] == "x,y,f"
    assert lines[-1] == ""
    assert all(float(x) * float(y) == float(v) for x, y, v in (line.split(",") for line in lines[1:-1]))

    process = subprocess.Popen([*command, "-o", "r"], cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE)
    until_it_writes(process, tmp_path)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20)[1] == b""
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []


def until_it_writes(process, folder):
    """Wait until the process has its output file open, which has no name yet or a hidden one."""
    wait = time.monotonic() + 20
    while time.monotonic() < wait:
        assert process.poll() is None
        for entry in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if os.readlink(entry).startswith(f"{folder}/"):   # the folder itself is read by Python's imports
                    return
        time.sleep(0.02)
    raise AssertionError("nothing is written")


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files without a name are a service of Linux")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_process_that_is_killed_leaves_the_old_file_and_nothing_else(tmp_path, number):
    (tmp_path / "r").write_text("old")
    grid = ["-e", "x*y", "--at", "x=0:1:1000000,y=0:1:1000"]
    process = subprocess.Popen([sys.executable, "-m", "adcli", "eval", *grid, "-o", "r"], cwd=tmp_path, env=ENVIRONMENT)
    until_it_writes(process, tmp_path)
    process.send_signal(number)
    assert process.wait(timeout=20) == -number
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"r": "old"}


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files without a name are a service of Linux")
@pytest.mark.parametrize(("number", "name"), half(each_choice(
    [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ["r.parquet", "r.npz"])))
def test_nothing_is_left_of_rows_on_the_way_to_columns(tmp_path, name, number):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen([sys.executable, "-m", "adcli", "eval", "-e", "x*y", "--data", "-", "-o", name], cwd=tmp_path,
                               env={**ENVIRONMENT, "TMPDIR": str(scratch)}, stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(b"x,y\n" + b"1.25,2.5\n" * 400_000)
    process.stdin.flush()
    until_it_writes(process, scratch)
    process.send_signal(number)
    assert process.wait(timeout=20) == (130 if number == signal.SIGINT else -number)
    assert [p.name for p in tmp_path.iterdir()] == ["scratch"] and not list(scratch.iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_temporary_folder_goes_with_the_process(tmp_path, number):
    script = ("import sys, time; from adcli import main; from adcli.output import streams\n"
              "def run(args):\n with streams.temporary_folder(None) as folder:\n  open(folder + '/x', 'w').close()\n"
              "  print(folder, flush=True)\n  time.sleep(60)\nmain.run = run; main.main()")
    process = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, env={**ENVIRONMENT, "TMPDIR": str(tmp_path)},
                               stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline().startswith(str(tmp_path).encode())
    process.send_signal(number)
    assert process.wait(timeout=20) == -number and not list(tmp_path.iterdir())


INTERRUPTED = """
import os, signal, sys
class At:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)
module, *sys.argv = sys.argv[1:]
sys.meta_path.insert(0, At())
from adcli.__main__ import main
main()
"""


@pytest.mark.parametrize("module", half([
    "adcli.main", "threading", "click", "inspect", "adcli.task.verbs", "adcli.verbs.evaluate", "adcli.codegen.machine.kernel",
    "adcli.output.report", "adcli.lang.syntax.scan"]))
def test_an_interrupt_while_it_is_imported_is_as_quiet_as_later(module):
    command = [sys.executable, "-c", INTERRUPTED, module, "adcli", "eval", "-e", "x", "--at", "x=0:1:1000000"]
    ended = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, b"")
    assert ended.stdout[-1:] in (b"", b"\n")


def test_an_interrupt_that_the_process_is_to_ignore_is_ignored():
    command = [sys.executable, "-c", INTERRUPTED, "click", "adcli", "eval", "-e", "x", "--at", "x=1"]
    ended = subprocess.run(["sh", "-c", "trap '' INT; exec \"$@\"", "sh", *command], cwd=ROOT, env=ENVIRONMENT,
                           capture_output=True, check=True)
    assert (ended.stdout, ended.stderr) == (b"f = 1.0\n", b"")


@pytest.mark.parametrize("planted, line, said", [
    ("raise ImportError('libflint.so: cannot map')", "flint: eval -e x --at x=1 --enclose",
     b"adcli: error: the installation cannot be read: libflint.so: cannot map\n"),
    ("raise EOFError('half of a file')", "click: eval -e x --at x=1",
     b"adcli: error: the installation cannot be read: half of a file\n"),
    ("def __getattr__(name): raise NameError(name)", "polars: eval -e x --at x=1 -o r.parquet",
     b"adcli: error: the installation cannot be read: polars cannot be loaded\n"),
    ("def __getattr__(name): raise NameError(name)", "polars: eval -e x --data r.csv -o s.csv", b""),
    ("class PanicException(BaseException): pass\ndef __getattr__(name): raise PanicException('no thread')",
     "polars: eval -e x --at x=1 -o r.parquet", b"adcli: error: polars has given up: no thread\n")])
def test_a_library_that_cannot_be_loaded_is_not_a_missing_one_and_no_defect(tmp_path, planted, line, said):
    module, _, words = line.partition(": ")
    (tmp_path / "r.csv").write_text("x\n2\n")
    (tmp_path / "planted").mkdir()
    (tmp_path / "planted" / f"{module}.py").write_text(planted)
    environment = {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join([str(tmp_path / "planted"), str(ROOT)])}
    ended = subprocess.run([sys.executable, "-m", "adcli", *words.split()], cwd=tmp_path, env=environment, capture_output=True,
                           check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (2 if said else 0, b"", said)


@pytest.mark.parametrize("error, code, said", [("MemoryError", 2, "adcli: error: not enough memory for this program\n"),
                                               ("KeyError('x')", 70, "internal error: KeyError: 'x'\n")])
def test_a_thread_that_dies_ends_the_process_and_nobody_waits_for_it(error, code, said):
    script = (f"import threading\nfrom adcli import main\nmain.set_up()\ndef die(): raise {error}\n"
              "threading.Thread(target=die).start()\nthreading.Event().wait(30)")
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=20, check=False)
    assert ended.returncode == code and said in ended.stderr


@pytest.mark.parametrize("first", [MemoryError, SystemError, KeyError])
@pytest.mark.parametrize("then", [MemoryError, SystemError])
def test_where_there_is_no_memory_to_say_so_it_is_said_all_the_same(first, then, monkeypatch, capfd):
    def fails(error):
        def failing(*args):
            raise error
        return failing
    monkeypatch.setattr(main, "_exit_code", fails(first))
    monkeypatch.setattr(main, "say", fails(then))
    monkeypatch.setattr(main, "exhausted", fails(then))
    assert main.run([]) == 2 and capfd.readouterr().err == "adcli: error: not enough memory for this program\n"


def test_python_in_the_folder_of_the_sources_finds_all_of_the_package():
    """It finds this folder before an installed package, and what is installed apart from it not at all."""
    line = "from adcli.lang.ir.errors import AdError; print(AdError.__name__)"
    run = subprocess.run([sys.executable, "-S", "-c", line], cwd=ROOT, env={}, capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("AdError\n", "")


def test_modules_of_the_folder_one_is_in_are_not_imported(tmp_path):
    for module in ("click", "numpy", "signal"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit('planted')")
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "PYTHONPATH"}
    ended = subprocess.run([sys.executable, "-m", "adcli", "eval", "-e", "1"], cwd=tmp_path, env=environment, capture_output=True,
                           check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"f = 1.0\n", b"")


def imported(cache: pathlib.Path, *arguments: str) -> set[str]:
    """The packages and modules that a run imports, with a cache of its own."""
    ended = subprocess.run([sys.executable, "-X", "importtime", "-m", "adcli", *arguments], cwd=ROOT,
                           env={**ENVIRONMENT, "ADCLI_CACHE_DIR": str(cache)}, capture_output=True, text=True, check=True)
    return {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines() if line.startswith("import time:")}


STATEMENTS_OF_TENSORS = {f"adcli.lang.{name}" for name in (
    "sizes.ranges", "sizes.all_sizes", "lower.tensor_scope", "statements.comprehension", "lower.loops",
    "statements.matrix_statement",
    "modes.comprehension_rules", "simplify.simplify_tensors", "passes.status_tensors", "modes.recurrence_rules",
    "passes.zero_seeds_tensors", "operations.recurrence", "printing.comprehension_printer")}
"""What only programs with tensors need."""


@pytest.mark.parametrize("line, never", [
    (["grad", "-e", "x*sin(y)", "--at", "x=2,y=5"], {"numpy", "polars", "queue", *STATEMENTS_OF_TENSORS}),
    (["jvp", "-e", "x*y", "--emit", "text"], {"numpy", "llvmlite", "polars"}),
    (["show", "-e", "x*y", "--stage", "reverse"], {"numpy", "llvmlite", "polars", "adcli.editors.kinds", "adcli.output.wrap",
                                                          "adcli.lang.operations.comprehension", *STATEMENTS_OF_TENSORS}),
    (["check", "-e", "x*x", "--at", "x=2"], {"polars", "adcli.output.html", "adcli.pictures"}),
    (["propagate", "-e", "x", "--at", "x=2±1"], {"polars", "adcli.output.html", "adcli.pictures"}),
    (["grad", "--help"], {"numpy", "llvmlite", "lark", "polars"}),
    (["--version"], {"numpy", "llvmlite", "lark", "polars"}),
])
def test_what_is_not_needed_is_not_imported(line, never, tmp_path):
    assert all(find_spec(name) for name in STATEMENTS_OF_TENSORS), "a file that has moved is imported by no run"
    packages = imported(tmp_path, *line)
    assert "adcli" in packages
    assert packages.isdisjoint(never)


def test_the_list_of_verbs_loads_none_of_them():
    script = "import sys; from adcli.main import run; run(['--help'])\nprint(sorted(m for m in sys.modules if '.lang.' in m))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    assert done.stdout.splitlines()[-1] == "['adcli.lang.ir', 'adcli.lang.ir.errors', 'adcli.lang.ir.records']"
