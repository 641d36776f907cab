"""What goes wrong on somebody's side: in a library, in a Python function and in a command."""
from __future__ import annotations

import contextlib
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from adcli.lang.ir.errors import AdError
from session_seed import half
from somebody import BY_X, BY_Y, TEXT, compiled, held, needs_c

C_FAULTS = {
    "segv": ("*(volatile int *)8 = 1;", "crashes (SIGSEGV)"),
    "aborts": ('fprintf(stderr, "a check failed\\n"); abort();', "crashes (SIGABRT): a check failed"),
    "exits": ("exit(3);", "ends with exit code 3"), "leaves": ("exit(0);", "ends with exit code 0"),
    "code": ("return 7;", "returns 7, and 0 means success"), "nothing": ("return 0;", "returns 0 numbers; expected"),
    "beyond": ("for (int i = 0; i < 20; i++) out[i] = i;", "writes out[19]: more results than there can be"),
    "far": ("for (long i = 0; ; i++) out[i] = i;", "crashes (SIG"),
    "before": ("out[-1] = 0;", "writes in front of its array of results"),
    "hole": ("out[0] = out[2] = 1;", "never writes out[1], and writes out[2]"),
    "closes": ("for (int i = 0; i < 30; i++) close(i);", "ends with exit code"),
    "forges": ('for (int i = 3; i < 30; i++) write(i, "{\\"numbers\\": [1, 2]}\\nx\\n", 23);', "writes into the pipe of its"),
}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    heads = "".join(f"#include <{name}.h>\n" for name in ("math", "stdio", "stdlib", "unistd"))
    functions = [f"int {name}(const double *in, double *out) {{ {text} return 0; }}" for name, (text, _) in C_FAULTS.items()]
    good = f'int good(const double *in, double *out) {{ double x = in[0], y = in[1]; puts("1,2,3"); fflush(stdout);' \
           f" out[0] = {BY_X}; out[1] = {BY_Y}; return 0; }}\nint big_work(const double *in, double *out) {{ return 0; }}" \
           "\nint _Z5otherPKdPd(const double *in, double *out) { return 0; }"
    return compiled(tmp_path_factory.mktemp("c"), "\n".join([heads, *functions, good]), "faulty")


@needs_c
@pytest.mark.parametrize("name", half(sorted(C_FAULTS)))
def test_what_a_c_function_does_wrong_is_a_finding(name, faulty):
    tally = held(faulty, symbol=name).tally
    assert tally.verdict == "FAIL" and C_FAULTS[name][1] in tally.findings[0].message, tally


@needs_c
def test_a_function_may_print_and_a_missing_one_is_no_finding(faulty):
    assert held(faulty, symbol="good").tally.failed == 0
    with pytest.raises(AdError, match='C\\+\\+ has given the function \'other\' another name: declare it extern "C"'):
        held(faulty, names=["none", "other"])
    with pytest.raises(AdError) as fault:
        held(faulty, names=["worked_grad", "worked_eval"])
    assert "none of the functions worked_grad, worked_eval" in fault.value.message and fault.value.help.startswith("nm -D ")


PYTHON_FAULTS = {
    "raises": ("[][1]", "raises IndexError: list index out of range (m.py:2)"), "leaves": ("sys.exit(4)", "raises SystemExit: 4"),
    "ends": ("os._exit(4)", "ends with exit code 4"), "aborts": ("os.abort()", "crashes (SIGABRT)"),
    "nothing": ("None", "returns None, which is no number"), "word": ("'abc'", "returns str, which is no number"),
    "complex_": ("[1j, 2]", "returns complex, which is no number"), "many": ("[[1]*5]", "returns 5 numbers"),
    "itself": ("itself(x, y)", "raises RecursionError"), "names": ("dict(a=1, b=2)", "names none of the entries v, dv_dx"),
    "varies": ("[1, 2] if x > 1.6 else [1, 2, 3]", "elsewhere"), "lists": ("dict(v=[1, 2])", "names none of the entries"),
}


@pytest.mark.parametrize("name", half(sorted(PYTHON_FAULTS)))
def test_what_a_python_function_does_wrong_is_a_finding(name, tmp_path):
    (tmp_path / "m.py").write_text(f"import os, sys\ndef {name}(x, y): print('1,2,3'); return {PYTHON_FAULTS[name][0]}\n")
    tally = held(f"{tmp_path / 'm.py'}:{name}").tally
    assert tally.verdict == "FAIL" and any(PYTHON_FAULTS[name][1] in f.message for f in tally.findings), tally


@pytest.mark.parametrize(("what", "said"), [
    ("exit 3", "ends with exit code 3"), ("kill -SEGV $$", "crashes (SIGSEGV)"), ("echo no >&2; false", "exit code 1: no"),
    ("true", "writes 0 rows for 4 points"), ("head -3", "writes 2 rows for 4 points"), ("cat", "names none of the entries v,"),
    ("sed 's/x,y/q r,2 s/'", "begins with 'q r', which is no number and no name"),
    ("sed 's/x,y/v,q/; s/^[12]/a/'", "writes 'a."), ("sed 's/x,y/v/'", "a row of 2 fields under a header of 1"),
    ("printf '{\"v\": 1}\\n%.0s' 1 2 3 4", "begins with '{\"v\": 1}'"), ("sed 's/.*/1,2,3,4,5/; 1d'", "returns 5 numbers"),
    ("head -c 3000 /dev/urandom | tr '\\n' a", ""), ("head -c 200000 /dev/zero | tr '\\0' a", "writes no table of CSV")])
def test_what_a_command_does_wrong_is_a_finding(what, said):
    tally = held(what).tally
    assert tally.verdict == "FAIL" and any(said in f.message for f in tally.findings), tally


def test_a_hang_and_a_flood_end(tmp_path, monkeypatch):
    (tmp_path / "m.py").write_text("import time\ndef f(x, y):\n    if x > 1.5: time.sleep(100)\n    return 1, 2\n")
    started = time.monotonic()
    for what in (f"{tmp_path / 'm.py'}:f", "sleep 100 & sleep 100"):
        assert "gives no answer within 0.7 s" in held(what, seconds=0.7).tally.findings[-1].message
    monkeypatch.setattr("adcli.check.foreign.MOST_BYTES", 1 << 20)
    assert "writes more than 1 MiB" in held("yes").tally.findings[0].message
    assert time.monotonic() - started < 60


def test_an_interrupt_ends_what_was_started_too(tmp_path):
    (tmp_path / "m.py").write_text("import os, time\ndef f(x, y):\n"
                                   "    with open('pid', 'w') as file: print(os.getpid(), file=file)\n    time.sleep(100)\n")
    run = subprocess.Popen([sys.executable, "-m", "adcli", "check", "-e", TEXT, "--against", "m.py:f"], cwd=tmp_path,
                           stdout=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    pid = eventually(lambda: int((tmp_path / "pid").read_text().rstrip("\n")))
    run.send_signal(signal.SIGINT)
    assert run.wait(30) == 130 and eventually(lambda: not running(pid) or None)


def eventually(look, seconds=60.0):
    """What a look gives once it gives something."""
    for _ in range(int(seconds / 0.05)):
        with contextlib.suppress(OSError, ValueError):
            if (found := look()) is not None:
                return found
        time.sleep(0.05)
    raise AssertionError("never")


def running(pid):
    """Whether there is a process that has not ended."""
    try:
        return "State:\tZ" not in pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
