"""Every verb with standard streams that are closed, full, broken or open the wrong way: nothing is lost that can be written, the
exit code is right, and nothing is a defect."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time

import pytest
from places import ROOT
from session_seed import half

from adcli.main import OTHER_VERBS, ROWS
from adcli.output import standard

LINES = {
    **{name: [name, "-e", "v = x*sin(y)", "--emit", "text"] for name in ROWS},
    **{name: [name, "-e", "v = x*sin(y)", "--at", "x=2,y=5"] for name in ("grad", "trace", "why")},
    **{name: [name, "-e", "x*y"] for name in ("show", "draw", "fmt")}, "fmt --check": ["fmt", "--check", "-e", "x*y"],
    **{name: [name, "--help"] for name in ("bench", "check", "explore", "fit", "lsp", "minimize", "plot", "solve")},
    "cache": ["cache", "info"], "functions": ["functions", "atan2"], "help": ["help", "exit-codes"], "editor": ["editor", "vim"],
    "--help": ["grad", "--help"], "--version": ["--version"], "nothing": [],
    "a fault": ["grad", "-e", "x*", "--at", "x=1"], "a kink": ["grad", "-e", "abs(x)", "--at", "x=0", "--strict"],
    "a file": ["grad", "-e", "x*y", "--at", "x=2,y=5", "-o", "r"], "rows": ["grad", "-e", "x*y", "--data", "p.csv"],
    "rows to a file": ["grad", "-e", "x*y", "--data", "p.csv", "-o", "r"], "rows in": ["grad", "-e", "x*y", "--data", "-"],
    "a program in": ["fmt", "-"],
    "to stderr": ["eval", "-e", "x", "--at", "x=1", "-o", "/dev/fd/2"], "completion": ["_ADCLI_COMPLETE=bash_source"],
}
"""A line for every verb (those of long work that are quick), and for where things go to and come from."""
STATES = ["", "0 closed", "1 closed", "2 closed", "0 closed,1 closed,2 closed", "1 full", "2 full", "1 broken", "1 wrong",
          "2 wrong", "0 wrong"]
EVERY = ("grad", "rows to a file", "rows in", "to stderr", "--help")
"""Lines for every state; of the others, which are alike, a run has half with a few."""
CASES = [*((name, state) for name in EVERY for state in STATES),
         *((name, state) for name in half([name for name in LINES if name not in EVERY]) for state in ("", "1 closed"))]
RUNNER = r"""
import json, os, sys
sys.path[:0] = [sys.argv[1]]
from adcli.main import leave, run
import adcli.rows.stream, adcli.trace.command, adcli.why.command, adcli.task.derive
import adcli.answers.results, adcli.codegen.rows.jit, adcli.manual.markdown
from adcli.output import standard
cases = json.load(open("cases.json"))
def prepared(state):
    for number, given in enumerate(("in", "out", "err")):
        how = next((s.split()[1] for s in state.split(",") if s.startswith(str(number))), "")
        if how == "closed":
            os.close(number)
            continue
        if how == "broken":
            read, file = os.pipe()
            os.close(read)
        elif how == "wrong":
            file = os.open(os.devnull, os.O_WRONLY if number == 0 else os.O_RDONLY)
        else:
            flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            file = os.open("/dev/full" if how == "full" else given, flags)
        os.dup2(file, number)
        os.close(file)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if f"{number} closed" in state:
            setattr(sys, name, None)
    standard.set_up()
def content(name):
    try:
        return open(name, errors="replace").read()
    except FileNotFoundError:
        return None
found = []
for line, state in cases:
    for name in ("r", "out", "err"):
        if os.path.exists(name):
            os.unlink(name)
    open("in", "w").write("x,y\n1,2\n" if "--data" in line else "v = x\n")
    child = os.fork()
    if child == 0:
        if line and line[0].startswith("_"):
            os.environ.update([line[0].split("=")])
        prepared(state)
        leave(run(line))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    found.append([code, content("out"), content("err"), content("r")])
json.dump(found, open("found.json", "w"))
"""


@pytest.fixture
def found(tmp_path_factory):
    """Exit code, standard output, standard error and the file of every line in every state."""
    folder = tmp_path_factory.mktemp("streams")
    (folder / "p.csv").write_text("x,y\n1,2\n3,4\n")
    (folder / "cases.json").write_text(json.dumps([(LINES[name], state) for name, state in CASES]))
    environment = {**os.environ, "ADCLI_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", RUNNER, str(ROOT)], cwd=folder, check=True, timeout=400, env=environment)
    return dict(zip(CASES, json.loads((folder / "found.json").read_text()), strict=True))


def test_every_verb_is_there():
    assert {*ROWS, *OTHER_VERBS} <= {line[0] for line in LINES.values() if line}


def test_nothing_is_lost_that_can_be_written(found):
    for name, state in CASES:
        if not state:
            continue
        code, out, err, file = found[name, ""]
        assert code == {"a fault": 3, "a kink": 4, "fmt --check": 1, "nothing": 2}.get(name, 0), (name, err)
        needs_input = name in ("rows in", "a program in") and "0" in state
        lost = ("1" in state and bool(out) and not needs_input) or ("2" in state and name == "to stderr")
        wanted = 2 if needs_input or (lost and "broken" not in state) else 0 if lost else code
        got = found[name, state]
        assert got[0] == wanted, (name, state, got)
        assert "internal error" not in (got[2] or ""), (name, state, got)
        if "1" not in state and not needs_input:
            assert got[1] == out, (name, state, got)
        if "2" not in state and not lost and not needs_input:
            assert got[2] == err, (name, state, got)
        if "2" not in state and lost and wanted:
            word = {"closed": "closed", "full": "standard output: No space left", "wrong": "standard output: Bad file"}
            assert word[state.split()[-1]] in got[2], (name, state, got)
        assert got[3] == file, (name, state, got)


# ---------------------------------------------------------------- streams that do not wait

def test_a_pipe_that_does_not_wait_is_waited_for():
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    data = b"x" * 300_000
    with standard.NamedFile(reading, "r", "in") as source, standard.NamedFile(writing, "w", "out") as target:
        taken = []
        thread = threading.Thread(target=lambda: taken.append(source.read()))
        thread.start()
        time.sleep(0.02)
        at = 0
        while at < len(data):
            at += target.write(data[at:])
        target.close()
        thread.join(10)
    assert taken == [data]
