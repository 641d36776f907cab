"""--enclose: the bounds as programs, tables and JSON, and what is said of boxes that are wrong."""
from __future__ import annotations

import sys

import pytest
from command import adcli, succeeds

# ---------------------------------------------------------------- what is printed

def test_text_is_a_program_of_declarations():
    out = succeeds("grad", "-e", "v = x**2*y", "--at", "x=1±0.5,y=2", "--enclose").out
    assert out == ("input v in [0.5, 4.5]       # at most 1 times the true range\n"
                   "input dv_dx in [2.0, 6.0]   # at most 1 times the true range\n"
                   "input dv_dy in [0.25, 2.25]   # at most 1 times the true range\n".replace("]       #", "]         #").replace(
                       "6.0]   #", "6.0]     #"))
    again = succeeds("eval", "-e", out + "w = v + dv_dx - dv_dy", "--enclose").out
    assert again.startswith("input w in [0.25, 10.25]")


def test_bounds_at_a_point_are_neighbours():
    out = succeeds("eval", "-e", "v = x/3", "--at", "x=1", "--enclose").out
    assert out == "input v in [0.3333333333333333, 0.33333333333333337]\n"
    assert succeeds("eval", "-e", "v = x/4", "--at", "x=1", "--enclose").out == "input v in [0.25, 0.25]\n"
    assert succeeds("eval", "-e", "v = x/3", "--at", "x=1", "--enclose", "--hex").out == \
        "input v in [0x1.5555555555555p-2, 0x1.5555555555556p-2]\n"


def test_several_points_are_headed():
    out = succeeds("eval", "-e", "v = x*y", "--at", "x=1:2:2,y=3±1", "--enclose").out
    assert out == ("# x = 1.0, y in [2.0, 4.0]\ninput v in [2.0, 4.0]   # at most 1 times the true range\n\n"
                   "# x = 2.0, y in [2.0, 4.0]\ninput v in [4.0, 8.0]   # at most 1 times the true range\n")


def test_declared_ranges_are_the_box_where_no_point_is_given():
    (found,) = succeeds("grad", "-e", "input x in [0, 1]; param k = 2; v = k*x*(1-x)", "--enclose", "--format", "json").records
    assert found["at"] == {"x": [0.0, 1.0], "k": 2.0}
    assert found["enclosure"] == {"value": {"v": [0.0, 0.5]}, "grad": {"v": {"x": [-2.0, 2.0]}}} == found["inner"]


def test_csv_has_two_columns_a_result():
    out = succeeds("eval", "-e", "v = x*y", "--at", "x=1±0.5,y=2", "--enclose", "--format", "csv").out
    assert out == "x_low,x_high,y_low,y_high,v_low,v_high,v_decoration\n0.5,1.5,2.0,2.0,1.0,3.0,com\n"
    out = succeeds("jvp", "-e", "v = x*y", "--at", "x=1,y=2", "--tangent", "x=1", "--enclose", "--format", "csv").out
    assert out == ("x,y,dx,dy,v_low,v_high,v_decoration,dv_low,dv_high,dv_decoration\n"
                   "1.0,2.0,1.0,0.0,2.0,2.0,com,2.0,2.0,com\n")


def test_infinite_bounds_are_json_strings_and_the_operation_is_named():
    ended = adcli("eval", "-e", "v = log(x)", "--at", "x=1±2", "--enclose", "--format", "json", "--strict")
    assert ended.code == 4 and ended.records[0]["enclosure"] == {"value": {"v": ["-Infinity", "Infinity"]}}
    assert ended.err == "-e:1:5: note: log(u) at u in [-1.0, 3.0]: no bound is known\n"
    assert adcli("eval", "-e", "v = log(x)", "--at", "x=1±2", "--enclose", "-q").err == ""


def test_constants_of_an_operation_are_no_operands_of_a_note():
    ended = adcli("grad", "-e", "v = x**y", "--at", "x=0.5±0.5,y=1.5±1", "--enclose", "--order", "2")
    assert ended.err == "-e:1:5: note: dpow(u, v, 1, 0) at u in [0.0, 1.0], v in [0.5, 2.5]: no bound is known\n"


@pytest.mark.parametrize(("formula", "box", "line", "decoration"), [
    ("sqrt(x)", "x=0±1", "input f in [0.0, 1.0]   # partly defined; at most 1 times the true range", "trv"),
    ("sqrt(x)", "x=-2±1", "input f in [-inf, inf]   # no value", "trv"),
    ("1/x", "x=0", "input f in [-inf, inf]   # no value", "trv"),
    ("fmax(sqrt(x), -1)", "x=-1", "input f in [-1.0, -1.0]   # may be undefined", "trv"),
    ("floor(x)", "x=1±1", "input f in [0.0, 2.0]   # may jump; at most 1 times the true range", "def"),
    ("abs(x)", "x=0±1", "input f in [0.0, 1.0]   # at most 1 times the true range", "com"),
])
def test_where_a_result_is_defined_is_said_in_every_format(formula, box, line, decoration):
    args = ("eval", "-e", formula, "--at", box, "--enclose", "-q", "--strict")
    assert adcli(*args).out == line + "\n"
    as_json, as_csv = adcli(*args, "--format", "json"), adcli(*args, "--format", "csv")
    assert as_json.records[0]["decoration"] == {"value": {"f": decoration}}
    assert as_csv.out.splitlines()[0].endswith("f_decoration") and as_csv.out.endswith(f",{decoration}\n")
    assert as_json.code == as_csv.code == (4 if decoration == "trv" else 0)


def test_a_range_that_is_not_certain_is_null_and_declared_ranges_have_decorations():
    (found,) = succeeds("eval", "-e", "input x in [0, 2]; f = sqrt(2) + 0*x", "--enclose", "--format", "json").records
    assert found["inner"] == {"value": {"f": None}} and found["decoration"] == {"value": {"f": "com"}}


def test_a_comparison_that_nothing_decides_is_named():
    ended = adcli("eval", "-e", "v = sin(x)**2 + cos(x)**2 - 1 > 0 ? x : -x", "--at", "x=1", "--enclose")
    assert ended.out == "input v in [-1.0, 1.0]\n"
    assert ended.err == "-e:1:5: note: u > v at u in [-5e-324, 5e-324], v = 0.0: cannot be decided\n"


@pytest.mark.parametrize(("args", "said"), [
    (["-e", "x*y", "--at", "x=1"], "no value for y"), (["-e", "x*y"], "no range for x, y"),
    (["-e", "x", "--at", "z=1±2"], "no input 'z'"), (["-e", "x", "--at", "x=1,z=1±2"], "no input 'z'"),
    (["-e", "x", "--at", "x=inf"], "x = inf: --enclose needs finite inputs"),
    (["-e", "x", "--at", "x=nan"], "x = nan: --enclose needs finite inputs"),
    (["-e", "x", "--at", "x=1e308±1.7e308"], "x = [-6.9"), (["-e", "x", "--at", "x=1±-1"], "x's spread must be"),
    (["-e", "x", "--at", "x=1±2±3"], "has two spreads"),
    (["-e", "x", "--at", "x=1", "--fmt", "%.3g"], "rounded bounds guarantee nothing"),
    (["-e", "x", "--at", "x=1", "--digits"], "cannot be used together"),
    (["-e", "x", "--data", "-"], "which takes points and boxes"),
    (["-e", "x", "--at", "x=1", "--status"], "--status"),
    (["-e", "input x in [-inf, 1]; v = x"], "--enclose needs finite inputs"),
])
def test_faults_of_the_user(args, said):
    ended = adcli("eval", *args, "--enclose")
    assert (ended.code, ended.out) == (2, "") and said in ended.err


def test_every_derivative_verb_takes_boxes():
    for verb, more in (("grad", []), ("jacobian", []), ("hessian", []), ("jvp", ["x=1"]), ("hvp", ["x=1"]), ("taylor", ["x=1"])):
        tangent = ["--tangent", *more] if more else []
        out = succeeds(verb, "-e", "v = x**3", "--at", "x=1±0.5", *tangent, "--enclose").out
        assert "times the true range" in out


def test_without_python_flint_its_installation_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "flint", None)
    ended = adcli("eval", "-e", "x", "--at", "x=1", "--enclose")
    assert ended.code == 2 and ended.err.endswith(f"help: {sys.executable} -m pip install python-flint\n")
