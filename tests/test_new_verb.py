"""A new verb takes two files: those of the manual are planted in a copy of the package, and everything knows the verb."""
from __future__ import annotations

import json
import re

import pytest
from documents import fenced, text
from planted_package import PlantedPackage

END = "\n)}\n"
"""How the table of verbs ends."""


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """The package with the Laplacian of the chapter internals, and no other change."""
    package = PlantedPackage(tmp_path_factory.mktemp("planted"))
    _, function, maker, row = fenced(text("internals"), "text")
    (package.root / "adcli/lang/derive/laplacian.py").write_text(function, encoding="utf-8")
    package.plant("adcli/task/verbs.py", "\nVERBS = {", f"{maker}\n")
    package.plant("adcli/task/verbs.py", END, "\n" + row.rstrip("\n"))
    return package


PROGRAM = ("-e", "v = x**2 * y**3")
RESULTS = "v = 4.0\nlap_v = 26.0\n"


def test_at_a_point(planted):
    assert planted.prints("laplacian", *PROGRAM, "--at", "x=2,y=1") == RESULTS
    assert planted.prints("laplacian", *PROGRAM, "--at", "x=2,y=1") == RESULTS   # from the cache
    assert planted.prints("laplacian", *PROGRAM, "--at", "x=2,y=1", "--wrt", "x", "--mode", "forward") == "v = 4.0\nlap_v = 2.0\n"


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
    assert planted.prints("help", "laplacian") == shown
    assert planted.run("laplacia", *PROGRAM).stderr == "adcli: error: no verb 'laplacia'\nhelp: did you mean 'laplacian'?\n"
