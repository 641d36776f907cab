"""What a Function says of itself is what the shell says of the same program: the same data, the same text, the same notes."""
from __future__ import annotations

import json
import math
import pickle
from collections.abc import Mapping

import numpy as np
import pytest
from command import adcli as shell
from fronts import in_python
from markup import tables, visible
from session_seed import half

import adcli
from adcli.output.numbers import NON_FINITE

SAMPLES = [3.0, 3.5, 2.5, 4.0, 2.0]
# verb, program, arguments in Python, the same options of the shell
CASES = [
    ("trace", "y = log(x1) + x1*x2 - sin(x2)", {"x1": 2, "x2": 5.0, "tangent": {"x1": 1}}, "--at x1=2,x2=5 --tangent x1=1"),
    ("trace", "output y, w; y = x*sin(x); w = y < 1 ? x : -x", {"x": 2.0, "cotangent": "y=1,w=2", "names": "program",
     "of": "y,w"}, "--at x=2 --cotangent y=1,w=2 --names program --of y,w"),
    ("trace", "input x in [0, 1]; y = log(x)*0", {"x": -1.0, "tangent": {"x": 1}, "cotangent": {"y": 2.0}, "wrt": ["x"]},
     "--at x=-1 --tangent x=1 --cotangent y=2 --wrt x"),
    ("trace", "v = 3", {}, ""),
    ("trace", "input x(N), k, int32 n; y(i) = k*x(i); v +=! y(i)**2*n",
     {"x": [1.0, 2.0], "k": 3.0, "n": 2, "tangent": {"x": [1.0, 0.0]}}, "--at x=[1,2],k=3,n=2 --tangent x=[1,0]"),
    ("why", "v = x*log(x)", {"x": 0.0, "limit": True}, "--at x=0 --limit"),
    ("why", "v = x*y; w = abs(x)", {"x": 0.0, "y": math.inf, "mode": "forward", "order": 2, "of": "w,v", "wrt": "x"},
     "--at x=0,y=inf --mode forward --order 2 --of w,v --wrt x"),
    ("why", "input x(N), z(M), int32 n; v +=! log(x(i))*n; w +=! z(i)*0",
     {"x": [1.0, 0.0], "z": np.zeros(1001), "n": 2, "of": "v"}, "--at 'x=[1,0],z=[" + "0," * 1000 + "0],n=2' --of v"),
    ("why", "input x in [0, 1]; v = x", {"x": 2.0}, "--at x=2"),
    ("check", "v = x*sin(y)", {"samples": 3, "seed": 7}, "--samples 3 --seed 7"),
    ("check", "input x in [0, 1], y; v = x*abs(y); w = y", {"x": [0.5, 2.0], "y": 1.0, "of": "v", "wrt": "y", "digits": 20},
     "--at x=0.5,y=1 --at x=2,y=1 --of v --wrt y --digits 20"),
    ("check", "v = x**2", {"x": 3.0, "against": "echo 5", "returns": "gradient"},
     "--at x=3 --against 'echo 5' --returns gradient"),
    ("propagate", "v = x*y; w = x/y", {"x": (2, 0.1), "y": "5±2%", "coverage": 0.9, "correlation": {("x", "y"): 0.5}},
     "--at x=2±0.1,y=5±2% --coverage 0.9 --correlation x:y=0.5"),
    ("propagate", "input x, y = 3; v = x**2*y; w = y", {"x": "2.0(1)~rect", "second_order": True, "of": ["v"]},
     "--at x=2.0(1)~rect --second-order --of v"),
    ("propagate", "v = exp(x) + z", {"x": "0±1", "z": 1, "monte_carlo": 2000, "seed": 3, "shortest": True, "coverage": "90%"},
     "--at x=0±1,z=1 --monte-carlo 2000 --seed 3 --shortest --coverage 90%"),
    ("propagate", "v = x - x", {"x": (2.0, 0.1), "correlation": {}}, "--at x=2±0.1"),
    ("propagate", "input A(N, N), b(N), k; x = solve(A, b); y(i) = x(i)*k",
     {"A": (np.array([[4, 1], [2, 3]]), 0.05), "b": [1.0, 2.0], "k": "2±1%", "covariance": {"b": [[0.01, 0.004], [0.004, 0.04]]},
      "correlation": {("A(0,1)", "A(1, 0)"): 0.5}},
     "--at A=[[4,1],[2,3]]±0.05,b=[1,2],k=2±1% --covariance b=[[0.01,0.004],[0.004,0.04]] --correlation 'A(0, 1):A(1,0)=0.5'"),
    ("propagate", "v = 2*x", {"x": SAMPLES}, "--at x=@{values}:x"),
]


def plain(x: object) -> object:
    """What JSON has for data."""
    if isinstance(x, Mapping):
        return {name: plain(y) for name, y in x.items()}
    if isinstance(x, list | tuple):
        return [plain(y) for y in x]
    return next((word for word, y in NON_FINITE.items() if repr(y) == repr(x)), x)


@pytest.mark.parametrize("verb, program, given, options", half(CASES))
def test_python_and_the_shell_say_the_same(verb, program, given, options, tmp_path):
    import shlex
    values = tmp_path / "values.csv"
    values.write_text("x\n" + "\n".join(map(str, SAMPLES)) + "\n")
    view = getattr(adcli.compile(program, "-e"), verb)(**given)
    words = [verb, "-e", program, *shlex.split(options.format(values=values))]
    as_json, as_text = shell(*words, "--format", "json"), shell(*words)
    assert view.verb == verb and plain(view) == as_json.records[0]
    assert view.text.rstrip("\n") == as_text.out.rstrip("\n")
    if verb != "check":   # of which every point has its notes
        assert "\n".join(view.notes) == in_python(as_text.err.rstrip("\n"))
    assert repr(view) == "\n".join([*view.notes, view.text.rstrip("\n")])
    assert pickle.loads(pickle.dumps(view)).text == view.text
    shown = visible(view._repr_html_())
    assert all(note.split("\n")[0] in shown for note in view.notes)


def test_a_view_is_a_mapping_of_plain_data():
    f = adcli.compile("v = x*sin(y)")
    found = f.check(samples=2)
    assert found["verdict"] == "ok" and dict(found) == found == f.check(samples=2)
    assert {m["method"] for m in found["methods"]} > {"multiple precision", "forward against reverse"}
    assert json.loads(json.dumps(dict(found))) == found
    assert f.trace(x=1.0, y=2.0, cotangent={"v": 1.0})["inputs"][0]["adjoint"] == adcli.compile("sin(y)")(y=2.0)["f"]
    assert f.propagate(x=(1.0, 0.5), y=2.0)["u"] == {"v": pytest.approx(0.5 * math.sin(2.0), rel=1e-15)}


def test_views_are_equal_where_a_nan_is():
    f = adcli.compile("v = x*log(y)")
    found = f.why(x=0.0, y=0.0)
    assert found == f.why(x=0.0, y=0.0) == dict(found) == pickle.loads(pickle.dumps(found))
    assert found != f.why(x=1.0, y=0.0) and found != 1


def test_python_does_not_print_ten_thousand_lines():
    f = adcli.compile("".join(f"a{i + 1} = a{i}*1.5\n" for i in range(1000)))
    view = f.trace(a0=1.0)
    assert len(repr(view).splitlines()) == 41 and "lines more; print(view.text) shows them" in repr(view)
    assert repr(view).splitlines()[-1] == view.text.splitlines()[-1]


def test_derivatives_can_be_looked_at_too():
    """The point of a derivative has its seeds; places are those in the text that the user wrote."""
    g = adcli.compile("v = x**2", "square.ad").grad()
    assert [r["output"] for r in g.trace(x=3.0)["outputs"]] == ["v", "dv_dx"]
    assert g.check(samples=2)["verdict"] == "ok"
    assert g.propagate(x=(3.0, 0.5))["u"] == {"v": 3.0, "dv_dx": 1.0}
    h = adcli.compile("v = x*log(x)", "log.ad").vjp()
    assert "log.ad:1:7" in repr(h.why(x=0.0, d_dv=1.0))


# ---------------------------------------------------------------- in a notebook

@pytest.mark.parametrize("call", [
    lambda f: f.trace(x=1.0, y=2.0, cotangent={"v": 1.0}), lambda f: f.check(x=1.0, y=2.0),
    lambda f: f.propagate(x=(1.0, 0.1), y=2.0)])
def test_tables_for_listeners(call):
    """Each has a caption, a heading for each column, and rows as wide as the headings; the numbers of the text stand in it."""
    view = call(adcli.compile("v = x*exp(y)"))
    found = tables(view._repr_html_())
    assert found
    for table in found:
        assert table.caption and table.headings and table.scopes <= {"col", "colgroup", "row"}
        assert {len(row) for row in table.rows} == {table.columns}


def test_a_function_shows_what_goes_in_and_out():
    f = adcli.compile("input x = 2 in [0, 3]\nparam k = 3\nv = k*x < 3 ? x : -x")
    assert [row for table in tables(f._repr_html_()) for row in table.rows] == [
        ["x", "2.0", "[0, 3]", "input"], ["k", "3.0", "", "param"]]
    assert "Outputs: v" in visible(f._repr_html_()) and "k * x &lt; 3" in f._repr_html_()
    assert f.vjp()._repr_html_().count("seed of v") == 1
    assert "\\begin{align*}\nv &= " in adcli.compile("v = x**2/y")._repr_latex_()
    mv = adcli.load("samples/matrix_vector.ad")
    assert mv._repr_latex_() is None and "A(M, N)" in visible(mv._repr_html_())


def test_a_long_function_is_not_written_out():
    f = adcli.compile("".join(f"a{i} = x*{i}.5\nv{i} = a{i} + sin(a{i})\n" for i in range(300)))
    assert "f.text() is the program" in visible(f._repr_html_()) and f._repr_latex_() is None
    assert len(f.trace(x=1.0)._repr_html_()) < 400_000


def test_whole_numbers_are_written_as_in_the_shell():
    f = adcli.compile("v = x**2")
    assert f.propagate(x=(1.0, 0.1), monte_carlo=1e3) == f.propagate(x=(1.0, 0.1), monte_carlo=np.int64(1000))


@pytest.mark.parametrize("number", [np.float64(2), np.array(2.0), 2, np.int32(2)])
def test_numbers_of_every_kind_are_points(number):
    f = adcli.compile("v = x**2")
    assert f.trace(x=number) == f.trace({"x": 2.0}) == f.trace(x=2.0)
    assert f.propagate(x=(number, np.float32(0.5)))["u"] == {"v": 2.0}


def test_the_budget_on_a_page_is_that_of_the_shell() -> None:
    told = adcli.compile("v = 2*x*y").propagate(x=(3.0, 0.1), y=(5.0, 0.2))
    (budget, *_) = tables(told._repr_html_())
    written = shell("propagate", "-e", "v = 2*x*y", "--at", "x=3±0.1,y=5±0.2", "--format", "markdown").out
    assert [list(row) for row in budget.rows if row[0] == "x"] == [["x", "3.00", "0.10", "normal", "10", "1", "41"]]
    assert "| x | 3.00 | 0.10 | normal | 10 | 1 | 41 |" in written
