"""A new verb takes two files, and a new function a row: those of the manual are planted in a copy of the package, and everything
knows them."""
from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys

import pytest
from documents import fenced, text
from planted_package import PlantedPackage

END = "\n)}\n"
"""How the table of verbs ends."""


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """The package with the function and the Laplacian of the chapter internals, and no other change."""
    package = PlantedPackage(tmp_path_factory.mktemp("planted"))
    primitive, function, maker, row = fenced(text("internals"), "text")
    with (package.root / "adcli/lang/ir/primitives.py").open("a", encoding="utf-8") as table:
        table.write(f"\n{primitive}")
    (package.root / "adcli/lang/derive/laplacian.py").write_text(function, encoding="utf-8")
    package.plant("adcli/task/verbs.py", "\nVERBS = {", f"{maker}\n")
    package.plant("adcli/task/verbs.py", END, "\n" + row.rstrip("\n"))
    yield package
    package.close()


PROGRAM = ("-e", "v = x**2 * y**3")
RESULTS = "v = 4.0\nlap_v = 26.0\n"


def test_at_a_point(planted):
    assert planted.prints("laplacian", *PROGRAM, "--at", "x=2,y=1") == RESULTS
    assert planted.prints("laplacian", *PROGRAM, "--at", "x=2,y=1", "--wrt", "x", "--mode", "forward") == "v = 4.0\nlap_v = 2.0\n"


def test_of_tensors(planted):
    """Of numbers and of their tensor it is one number: by hand, and with cross terms, an input beside it, and a matrix."""
    def lap(program: str, at: str) -> float:
        return float(planted.prints("laplacian", "-e", program, "--at", at).partition("lap_v = ")[2])

    assert lap("input x(N); v +=! x(i)**3", "x=[1,2,3]") == 36.0
    assert lap("input x(N), y; v +=! x(i)**3*x(0)*y**2 where i in 0:N", "x=[1,2,3],y=2") == 4*(12 + 6*2 + 6*3) + 2*(1 + 8 + 27)
    assert lap("input A(M, N); v +=! A(i, j)**2*A(j, i)", "A=[[1,2],[3,4]]") == 6*1 + 2*3 + 2*2 + 6*4
    assert lap("v = x**3 + y**3 + z**3", "x=1,y=2,z=3") == 36.0 and lap("input x(N); v +=! x(i)**3", "x=[]") == 0.0


AWKWARD = (0.0, -0.0, 1.0, -2.5, 1e-300, 30.0, 710.0, -800.0, 1e300, math.inf, -math.inf, math.nan)


def test_the_new_function_in_tensors(planted):
    """To third order it has in a tensor what it has on rows of numbers; as a row of the table it is tried in test_manual."""
    asked = ("--tangent", "x=1", "--order", "3")
    rows = planted.prints("taylor", "-e", "v = sech(x)", *asked, stdin="x\n" + "".join(f"{x!r}\n" for x in AWKWARD))
    given = ",".join(map(repr, AWKWARD))
    whole = planted.prints("taylor", "-e", "input x(N); v(i) = sech(x(i))", "--at", f"x=[{given}]", *asked, "--format", "json")
    of_rows = [list(map(float, row.split(",")[1:])) for row in rows.splitlines()[1:]]
    for row, *of_tensor in zip(of_rows, *json.loads(whole)["taylor"]["v"], strict=True):
        assert row == pytest.approx([float(x) for x in of_tensor], rel=1e-14, abs=0, nan_ok=True)
    assert of_rows[0] == [1.0, 0.0, -0.5, 0.0] and of_rows[8] == [0.0] * 4


def test_from_python(planted):
    script = "import adcli; print(adcli.compile('v = x**2 * y**3').laplacian(wrt='x')(x=2.0, y=1.0))"
    done = subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(planted.root)}, cwd=planted.root,
                          capture_output=True, text=True, check=True)
    assert done.stdout == "{'v': 4.0, 'lap_v': 2.0}\n"


def test_in_json(planted):
    record = json.loads(planted.prints("laplacian", *PROGRAM, "--at", "x=2,y=1", "--format", "json"))
    assert record == {"at": {"x": 2.0, "y": 1.0}, "value": {"v": 4.0}, "laplacian": {"v": 26.0}, "status": "smooth"}


def test_on_rows(planted):
    assert planted.prints("laplacian", *PROGRAM, stdin="x,y\n2,1\n1,0\n") == "x,y,v,lap_v\n2,1,4.0,26.0\n1,0,0.0,0.0\n"


def test_emitted(planted):
    emitted = planted.prints("laplacian", *PROGRAM, "--emit", "text")
    assert re.match(r"# adcli \S+: the output and its Laplacian of -e, .+ mode\n# outputs: v, lap_v\n# inputs: x, y\n"
                    r"# made by: adcli laplacian -e 'v = x\*\*2 \* y\*\*3' --emit text\n", emitted)
    assert planted.prints("eval", "-", "--at", "x=2,y=1", stdin=emitted) == RESULTS
    assert "@adcli_laplacian" in planted.prints("laplacian", *PROGRAM, "--emit", "llvm")


def test_it_is_listed_helped_and_completed(planted):
    assert "  laplacian  One output and its Laplacian.\n" in planted.prints("--help")
    shown = planted.prints("laplacian", "--help")
    assert "One output and the sum of its second derivatives" in shown and "--wrt" in shown and "--tangent" not in shown
    assert planted.prints("help", "laplacian") == planted.prints("laplacian", "--help-all")
    assert planted.run("laplacia", *PROGRAM).stderr == "adcli: error: no verb 'laplacia'\nhelp: did you mean 'laplacian'?\n"
