"""adcli solve and f.solve: published zeros, sensitivities against systems solved anew, and what is said where there is none."""
import json

import numpy as np
import pytest
from command import adcli as run
from command import succeeds
from places import DATA
from session_seed import drawn

import adcli
from adcli import AdError

CASES = [c for c in json.loads((DATA / "mgh.json").read_text(encoding="utf-8"))["cases"]
         if len(c["outputs"]) >= len(c["inputs"]) > 1 and "xmin_approx" in c["published"] and c["n_ops"] < 150]
SYSTEMS = [   # program, unknowns, start, other inputs
    ("f = x**2 + y**2 - a\ng = x*y - b", {"x": 2.0, "y": 0.3}, {"a": 4.0, "b": 1.0}),
    ("f = x - e*sin(x) - m", {"x": 1.0}, {"e": 0.4, "m": 1.2}),
    ("f = a*x - 1\ng = x - 2\nh = x**2 - 3*a", {"x": 1.0}, {"a": 0.9}),   # more equations than unknowns: least squares
    ("f = exp(x) - y*a\ng = y**3 + x - b\nh = z*x - y*a*b", {"x": 0.5, "y": 1.0, "z": 1.0}, {"a": 1.5, "b": 2.0}),
    ("f = 1e6*(x - a*1e-3)\ng = y*x - 1e-9*a", {"x": 1e-3, "y": 1e-6}, {"a": 2.0}),   # scales far apart
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["id"])
def test_published_zeros_and_least_squares(case):
    names = sorted(case["inputs"], key=lambda x: int(x[1:]))
    published = case["published"]
    found = adcli.compile(case["program"]).solve(dict(zip(names, map(float, published["x0"]), strict=True)))
    lowest = float(published["fmin"])
    reached = float(found.fun @ found.fun) <= lowest + max(1e-12, lowest * 1e-5)
    assert reached or (found.verdict == "least squares" and found.success), found.message
    assert (found.verdict == "solution") <= (lowest == 0)


@pytest.mark.parametrize("program, start, known", SYSTEMS)
def test_sensitivities_are_those_of_systems_solved_anew(program, start, known):
    f, draw = adcli.compile(program), drawn("solve", program)
    known = {name: value * draw.uniform(0.95, 1.05) for name, value in known.items()}
    found = f.solve({**start, **known}, wrt=list(start))
    assert found.success, found.message
    for p, value in known.items():
        h = 1e-4 * value
        near = [f.solve({**found.at, p: value + k * h}, wrt=list(start)).at for k in (-2, -1, 1, 2)]
        for x in start:
            slope = (near[0][x] - 8 * near[1][x] + 8 * near[2][x] - near[3][x]) / (12 * h)
            assert found.sensitivity[f"d{x}_d{p}"] == pytest.approx(slope, rel=1e-6, abs=1e-12)


def test_tensors_are_unknowns_and_known():
    f = adcli.compile("input A(N,N), x(N), b(N), k\ny(i) +=! A(i,j)*x(j)\nr(i) = y(i) + k*x(i)*x(i)*x(i) - b(i)")
    draw = drawn("solve", "tensors")
    a = np.array([[4.0 * (i == j) + draw.uniform(-1, 1) for j in range(3)] for i in range(3)])
    b = np.array([draw.uniform(-1, 1) for _ in range(3)])
    found = f.solve(A=a, x=np.zeros(3), b=b, k=0.5, wrt="x")
    assert found.success, found.message
    x = found.at["x"]
    assert a @ x + 0.5 * x**3 == pytest.approx(b, abs=1e-14)
    inverse = np.linalg.inv(a + np.diag(1.5 * x**2))
    assert found.sensitivity["dx_db"] == pytest.approx(inverse, rel=1e-10)
    assert found.sensitivity["dx_dk"] == pytest.approx(-inverse @ x**3, rel=1e-10)
    assert found.sensitivity["dx_dA"] == pytest.approx(-np.einsum("ik,l->ikl", inverse, x), rel=1e-10)


@pytest.mark.parametrize("program, at, verdict, said", [
    ("x**2 + a", "x=1,a=1", "no solution", "x = 0.0 is a factor of the derivative of x**2"),
    ("log(x) + a", "x=-1,a=1", "not finite", "outside its domain"),
    ("(x - 1)**3", "x=3", "singular", "the Jacobian is singular")])
def test_where_there_is_no_regular_solution(program, at, verdict, said):
    ended = run("solve", "-e", program, "--at", at, "--wrt", "x", "--format", "json")
    assert ended.code == 1
    record = ended.records[0]
    assert record["verdict"] == verdict and said in record["sentence"] + ended.err
    assert record["sensitivity"] == {}


def test_equations_of_any_scale():
    found = adcli.compile("f = 1e-200*(x - 1)\ng = 1e200*(y*x - 2)").solve(x=0.5, y=1.0)
    assert found.success and found.x.tolist() == [1.0, 2.0]


def test_equations_as_they_are_written():
    f = adcli.compile("px = cos(q) + cos(q + p)\npy = sin(q) + sin(q + p)")
    found = f.solve(q=0.3, p=0.8, equations=["px == 1", "py == 2*q + 0.5"])
    assert found.success, found.message
    assert f(found.at) == pytest.approx({"px": 1.0, "py": 2 * found.at["q"] + 0.5}, abs=1e-14)
    with pytest.raises(AdError, match="is not an equation"):
        f.solve(q=0.3, p=0.8, equations="px <= 1")


def test_equations_between_tensors():
    f = adcli.compile("input x(N), b(N)\ny(i) = x(i)*x(i)")
    found = f.solve(x=[1.0, 1.0], b=[4.0, 9.0], wrt="x", equations="y == 2*b + N")
    assert found.x**2 == pytest.approx([10, 20])


def test_unknowns_that_only_go_together():
    found = adcli.compile("f = x + y - 1\ng = 2*x + 2*y - 2").solve(x=1.0, y=2.0)
    assert not found.success
    assert "singular along x +1, y -1" in found.message or "singular along x -1, y +1" in found.message


# ---------------------------------------------------------------- the command


def test_jacobians_and_sensitivities_are_emitted():
    """At the solution, what was emitted gives the sensitivities that were printed."""
    words = ("-e", "f = x**2*y - a", "-e", "g = x + y*b", "--equation", "f == 1", "--equation", "g == y", "--wrt", "x,y")
    written = succeeds("solve", *words, "--emit", "text").out
    point, equations = {"x": 1.0, "y": 1.0, "a": 2.0, "b": 0.3}, ["f == 1", "g == y"]
    found = adcli.compile("f = x**2*y - a\ng = x + y*b").solve(point, equations=equations, wrt="x,y")
    at = adcli.compile(written)(found.at)
    by = [[[at[f"dequation{i}_d{p}"] for p in names] for i in ("", "_1")] for names in ("xy", "ab")]
    assert by[0] == pytest.approx(found.jac) and [at["equation"], at["equation_1"]] == pytest.approx([0, 0], abs=1e-12)
    wanted = [[found.sensitivity[f"d{x}_d{p}"] for p in "ab"] for x in "xy"]
    assert -np.linalg.solve(*by) == pytest.approx(np.array(wanted), abs=1e-12)
    derived = adcli.compile(succeeds("solve", *words, "--emit", "text", "--sensitivities").out)(found.at)
    assert {name: derived[name] for name in found.sensitivity} == pytest.approx(found.sensitivity, abs=1e-12)
    assert "--sensitivities needs --emit" in run("solve", *words, "--sensitivities", "--at", "x=1,y=1,a=2,b=0.3").err
    for more, said in ((("--at", "x=1"), "--at x: an unknown is no constant"), (("--data", "-"), "--data cannot be used")):
        assert said in run("solve", *words, *more, "--emit", "c").err
    assert "--style needs --emit" in run("solve", *words, "--style", "anf").err


def test_a_range_of_parameters_is_a_table():
    ended = succeeds("solve", "-e", "x**2 - a", "--wrt", "x", "--at", "x=1,a=1:4:4", "--format", "csv")
    header, *rows = ended.out.splitlines()
    assert header == "a,x,dx_da,residual,verdict"
    assert [float(row.split(",")[1]) ** 2 for row in rows] == pytest.approx([1, 2, 3, 4])
    headed = succeeds("solve", "-e", "x**2 - a", "--wrt", "x", "--at", "x=1,a=1:4:2").out
    assert headed.startswith("# a = 1.0\nx = 1.0\n") and "\n\n# a = 4.0\nx = 2.0\n" in headed


def test_json_is_a_point_that_the_next_command_reads(tmp_path):
    path = tmp_path / "x.json"
    succeeds("solve", "-e", "x**2 - a", "--wrt", "x", "--at", "x=1,a=4", "-o", path)
    assert "f = 0.0" in succeeds("eval", "-e", "x**2 - a", "--at", f"@{path}").out

