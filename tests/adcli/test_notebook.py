"""The magic %%ad and errors without a traceback, in an IPython of this process; notebooks are executed in tests/notebooks."""
from __future__ import annotations

import pytest

import adcli

pytest.importorskip("IPython")


@pytest.fixture(scope="module")
def shell():
    from IPython.core.interactiveshell import InteractiveShell
    made = InteractiveShell()
    made.run_line_magic("load_ext", "adcli")
    yield made
    made.run_line_magic("unload_ext", "adcli")
    assert "ad" not in made.magics_manager.magics["cell"] and not hasattr(adcli.AdError, "_render_traceback_")


@pytest.fixture
def cell(shell, capsys):
    """Runs a cell; gives whether it went well, its value, and what it showed."""
    def run(text):
        done = shell.run_cell(text)
        shown = capsys.readouterr()
        return done.success, done.result, shown.out, shown.err
    return run


def test_a_cell_is_a_function(cell, shell):
    assert cell("%%ad f\nv = x*y**2\n") == (True, None, "f = <adcli.Function (x, y) -> (v)>\n", "")
    assert shell.user_ns["f"](x=2.0, y=3.0) == {"v": 18.0}


def test_a_cell_asks_a_verb(cell):
    """As it does in the notebooks of tests/notebooks, where verbs of all kinds are asked."""
    assert cell("x0 = 4.0")[0] and cell("%%ad g --at x={x0} --hex\nv = x\n")[2] == "v = 0x1.0000000000000p+2\n"   # a verb: eval
    assert cell("%ad grad g --at x=nan") == (True, None, "v = nan\ndv_dx = 1.0\n", "<stdin>: note: x is nan: domain\n")


@pytest.mark.parametrize("text, told", [
    ("%%ad f\nv = tahn(x)\n", "%%ad f:1:5: error: unknown function 'tahn'\n"
     "    v = tahn(x)\n        ^^^^\nhelp: did you mean 'tanh'?"),
    ("%%ad\nv = x\n", "error: %%ad: no name for the Function\nhelp: write %%ad f, or %%ad f grad --at x=2,y=5"),
    ("%%ad a.b\nv = x\n", "error: %%ad: 'a.b' is no name for a Function\nhelp: write %%ad f, or %%ad f grad --at x=2,y=5"),
    ("%%ad lambda\nv = x\n", "error: %%ad: 'lambda' is no name for a Function\nhelp: write %%ad f, or %%ad f grad --at x=2,y=5"),
    ("%%ad grad --at x=2\nv = x\n", "error: %%ad grad: the first word is the name of the Function\n"
     "help: write %%ad f grad --at x=2"),
    ("%%ad f 'grad\nv = x\n", "error: %ad f 'grad: no closing quotation\nhelp: write %%ad f, or %%ad f grad --at x=2,y=5"),
    ("%ad grad g --at x=\0", "error: no process takes these options: embedded null byte"),
    ("%ad grad g", "adcli: error: no values for x\nhelp: give a point: --at x=1"),
    ("f = adcli.compile('v = x')\ndef g():\n    return f(y=1)\ng()", "line 3: return f(y=1)\nerror: no input 'y'\n"
     "help: the inputs are x"),
])
def test_what_is_wrong_is_said_without_a_traceback(text, told, cell, shell):
    shell.user_ns["adcli"] = adcli
    went_well, _, out, err = cell(text)
    assert not went_well and told in out + err and "Traceback" not in out + err and len((out + err).splitlines()) <= 5
