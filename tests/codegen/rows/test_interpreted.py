"""Systems that refuse executable memory: pages that are executable from the first, else the evaluator, never a crash."""
import json
import os
import subprocess
import sys

import polars
import pytest
from adcli.codegen.machine.kernel import run
from adcli.codegen.rows.compiled import Interpreted, compile_program
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.precision import DOUBLE
from places import ROOT

REFUSE = """
import ctypes, os, sys
assert not ctypes.CDLL(None).prctl(65, 1, 0, 0, 0)   # PR_SET_MDWE: no page is both written and executed
if sys.argv.pop(1) == "no files":
    def refused(*_):
        raise PermissionError(13, "memfd_create")
    os.memfd_create = refused
"""
COMMAND = REFUSE + "from adcli.main import main; main()"
API = REFUSE + "import adcli; f = adcli.compile('v = x*sin(y)').grad(); print(f(x=2.0, y=0.0), f(x=[2.0], y=[0.0])['dv_dy'])"
POINT = ["grad", "samples/worked.ad", "--at", "x=2,y=5"]
GRADIENT = "v = 3920.6\ndv_dx = 5880.0\ndv_dy = -0.12\n"
TENSORS = ["eval", "-e", "input x(N)\ny(i) = 2*x(i)\noutput y", "--at", "x=[1,2]"]


def refuses() -> bool:
    """Whether this system can be asked to refuse."""
    code = "import ctypes, sys; sys.exit(ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) != 0)"
    return sys.platform == "linux" and subprocess.run([sys.executable, "-c", code]).returncode == 0


needs_refusal = pytest.mark.skipif(not refuses(), reason="this system cannot be asked to refuse executable memory")


def asked(code, files, *args, stdin="", cache=os.devnull):
    return subprocess.run([sys.executable, "-c", code, files, *args], input=stdin, capture_output=True, text=True, cwd=ROOT,
                          env={**os.environ, "ADCLI_CACHE_DIR": str(cache), "PYTHONSAFEPATH": "1"})


@needs_refusal
@pytest.mark.parametrize("files", ["files", "no files"])
def test_cold_and_warm_at_points_and_on_rows(files, tmp_path):
    for _ in range(2):
        found = asked(COMMAND, files, *POINT, cache=tmp_path / "cache")
        assert (found.returncode, found.stdout) == (0, GRADIENT)
        assert ("interpreted" in found.stderr) == (files == "no files")
    found = asked(COMMAND, files, "grad", "samples/worked.ad", stdin="x,y\n2,5\n2,5\n")
    assert found.stdout.splitlines()[1:] == ["2,5,3920.6,5880.0,-0.12"] * 2
    found = asked(COMMAND, files, "grad", "samples/worked.ad", "--mean", "--weights", "w", stdin="x,y,w\n2,5,3\n2,5,-1\n")
    assert found.stdout == "rows = 2\nweights = 2.0\n" + GRADIENT


@needs_refusal
def test_tensors_run_from_files_or_are_refused():
    found = asked(COMMAND, "files", *TENSORS)
    assert (found.returncode, found.stdout) == (0, "y = [2.0, 4.0]\n"), found.stderr
    found = asked(COMMAND, "no files", *TENSORS)
    assert (found.returncode, found.stdout) == (2, "")
    assert "allows no executable memory" in found.stderr


@needs_refusal
@pytest.mark.parametrize("files", ["files", "no files"])
def test_from_python(files):
    found = asked(API, files)
    assert found.stdout == "{'v': 0.0, 'dv_dx': 0.0, 'dv_dy': 2.0} [2.]\n", found.stderr


@needs_refusal
def test_code_of_a_machine_with_native_code_is_interpreted_elsewhere(tmp_path):
    """A kept entry is no reason to run what cannot be run."""
    assert subprocess.run([sys.executable, "-m", "adcli", *POINT], cwd=ROOT, capture_output=True, text=True, env={
        **os.environ, "ADCLI_CACHE_DIR": str(tmp_path), "PYTHONSAFEPATH": "1"}).stdout == GRADIENT
    assert asked(COMMAND, "no files", *POINT, cache=tmp_path).stdout == GRADIENT


def test_it_is_called_as_native_code_is():
    program = parse("v = x*exp(-y)\nw = x < y ? 1 : 2")
    rows = [[1.0, 2.5, -0.0], [0.0, 3.0, -1.5]]
    assert json.dumps(run(Interpreted(program, DOUBLE), rows)) == json.dumps(run(compile_program(program), rows))
    assert run(Interpreted(parse("v = 3"), DOUBLE), [], rows=2) == [[3.0, 3.0]]
    assert Interpreted(program, DOUBLE).workspace() is None


@needs_refusal
def test_parquet_is_written_where_polars_cannot_ask_the_processor(tmp_path):
    found = asked(COMMAND, "files", *POINT, "--at", "x=3,y=5", "-o", str(tmp_path / "o.parquet"))
    assert (found.returncode, found.stderr) == (0, "")
    assert polars.read_parquet(tmp_path / "o.parquet")["dv_dx"].to_list()[0] == 5880.0
