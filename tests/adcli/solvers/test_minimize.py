"""adcli minimize and f.minimize: published minima, the verdict on every kind of point, conditions, and what is said."""
import json
import re
import subprocess
import sys

import compare_optima
import numpy as np
import pytest
from adcli.lang.lower.frontend import parse
from command import adcli as run
from command import succeeds
from hock_schittkowski import FOUND, UNSHOWN
from hock_schittkowski import PROBLEMS as HOCK_SCHITTKOWSKI
from hock_schittkowski_models import compiled
from places import DATA, ROOT
from session_seed import drawn, half, part

import adcli
from adcli import AdError
from adcli.numerics.linear import UNREAD
from adcli.solvers import minimize
from adcli.solvers.interior import PACKAGES
from adcli.solvers.minimize import SOLVERS
from adcli.solvers.minimize_command import SOLVER_NAMES

PROBLEMS = [c for c in compare_optima.problems([str(DATA)]) if c["id"].startswith("mgh/") and c["n_ops"] < 150]
ROSENBROCK = "v = (1 - x)**2 + 100*(y - x**2)**2"

SHOWN = [   # program, point, options; where it is least, and the value
    (ROSENBROCK, {"x": -1.2, "y": 1.0}, {}, [1, 1], 0),
    ("input x in [0, 0.5]\ninput y\n" + ROSENBROCK, {"x": 0.2, "y": 1.0}, {}, [0.5, 0.25], 0.25),
    (ROSENBROCK, {"x": 0.5, "y": 0.5}, {"subject_to": "x**2 + y**2 == 1"}, [0.78641515, 0.61769831], 0.04567481),
    ("v = x + y", {"x": 1.0, "y": 0.0}, {"subject_to": "x**2 + y**2 <= 2"}, [-1, -1], -2),
    ("v = x*y", {"x": 1.0, "y": 2.0}, {"subject_to": "x**2 + y**2 <= 2", "maximize": True}, [1, 1], 1),
    ("v = (x - 3)**2 + (y - 2)**2", {"x": 0.0, "y": 0.0}, {"subject_to": ["0 <= x + y <= 2", "x >= y"]}, [1.5, 0.5], 4.5),
    ("v = x**2 + y**2\ng = x + y", {"x": 5.0, "y": 0.0}, {"subject_to": "g >= 2"}, [1, 1], 2),
    ("v = x", {"x": 5.0}, {"subject_to": ["2 <= x", "x <= 9"]}, [2], 2),
    ("t = x - 1\nv = t**2 + y**2", {"x": 5.0, "y": 1.0}, {"subject_to": "t == y + 1"}, [1.5, -0.5], 0.5),
    ("v = 1e12*(x - 1e6)**2 + 1e-3*(y - 2e-6)**2", {"x": 2e6, "y": 1e-6}, {}, [1e6, 2e-6], 0),   # scales far apart
    ("v = x**2 - y**2 + y**4", {"x": 0.5, "y": 0.0}, {"subject_to": "y >= -0.1"}, [0, 0.5**0.5], -0.25),   # begins at a saddle
    *((f"v = x**2 - y**2 + y**4 {sign} y**3/9", {"x": 0.5, "y": 0.0}, {"solver": "BFGS"}, [0, y], -75/256)
      for sign, y in (("+", -0.75), ("-", 0.75))),   # both sides of a saddle go down, one of them further
    ("v = -x*y*z", {"x": 10.0, "y": 10.0, "z": 10.0}, {"subject_to": ["x + 2*y + 2*z <= 72", "x <= 20", "y <= 11"]}, [20, 11, 15],
     -3300),   # three conditions hold three inputs
    ("v = x**2 + y**2 + z**2", {"x": 1.0, "y": 1.0, "z": 1.0}, {"subject_to": ["x >= 1", "x**2 + y**2 >= 1"]}, [1, 0, 0], 1),
    # several multipliers do, and not all of them show it
    ("v = x**4 + y**2", {"x": 1.3, "y": 0.2}, {}, [0, 0], 0),   # to second order
]
UNQUALIFIED = [   # conditions whose gradients are zero or dependent at the least value: objective, conditions, verdict there
    ("x + y**2", ["x**2 <= 0"], "degenerate"),
    ("x + y", ["x**2 + y**2 <= 0"], "degenerate"),
    ("0*y - x", ["y <= (1 - x)**3", "y >= 0"], "degenerate"),   # a cusp
    ("x + y**2", ["x**2 - 2*x + 1 == 0"], "degenerate"),
    ("x**2 + y**2", ["x**2 <= 0"], "minimum"),
    ("x**2 + y**2", ["x + y >= 1", "2*x + 2*y >= 2"], "minimum"),
    ("x**2 + y**2", ["x + y == 1", "2*x + 2*y == 2"], "minimum"),
]
NOT_SHOWN = [   # program, point, options, verdict, and a piece of what is said
    ("v = x**2 - y**2", {"x": 0.0, "y": 0.0}, {"solver": "BFGS"}, "not stationary|saddle", "no minimum"),
    ("v = x**3", {"x": 0.5}, {}, "flat", "the Hessian is another"),
    *((f"v = x**3 + {c}*x**4", {"x": 0.3}, {}, "flat", "the Hessian is another") for c in (1, 100, 1e4)),   # least beside 0
    ("v = x*y", {"x": 0.5, "y": 0.0}, {}, "not stationary|saddle", "not stationary|saddle"),
    ("v = abs(x - 1/3) + y**2", {"x": 1.0, "y": 2.0}, {"solver": "L-BFGS-B"}, "not stationary|not smooth",
     "kink|not stationary"),
    ("v = (x - y)**2 - x - y; c = min(x, y); output v, c", {"x": 0.0, "y": 0.0}, {"subject_to": ["c <= 0"]}, "not smooth",
     "kink"),   # v falls where one of both is positive
    ("input x(N, 2); v +=! (x(i,0) - x(i,1))**2 - x(i,0) - x(i,1); c(i) = min(x(i,0), x(i,1)); output v, c",
     {"x": np.zeros((3, 2))}, {"subject_to": ["c <= 0"]}, "not smooth", "kink"),
    ("v = log(x) + y**2", {"x": -1.0, "y": 2.0}, {}, "not finite", "not finite"),
    ("v = x + y", {"x": 0.0, "y": 0.0}, {"subject_to": ["x**2 + y**2 <= 1", "x + y >= 5"], "solver": "SLSQP"},
     "infeasible", "do not hold"),
]


@pytest.mark.parametrize("case", part(PROBLEMS, 4), ids=lambda c: c["id"])
def test_published_minima(case):
    published = case["published"]
    f = adcli.compile(case["program"])
    found = f.minimize(dict(zip(compare_optima.order(case), map(float, published["x0"]), strict=True)))
    lowest = float(published["fmin"])
    better = found.fun <= lowest + max(1e-9, compare_optima.unit(published["fmin"]) if lowest else 0)
    assert better or found.success, found.message   # some start leads to another minimum, which is one then


@pytest.mark.parametrize("number", drawn("Hock", "Schittkowski").sample([*{*HOCK_SCHITTKOWSKI} - {25, 88, 89, 90, 91, 92}], 3))
def test_minima_of_hock_and_schittkowski_in_the_language(number):
    """All of them as models of Pyomo: tests/adcli/from_nl/test_module.py."""
    f, at, conditions = compiled(HOCK_SCHITTKOWSKI[number])
    found = f.minimize(at, of="f", subject_to=conditions)
    assert found.verdict == UNSHOWN[number] if number in UNSHOWN else found.success, found.message
    least = FOUND.get(number, HOCK_SCHITTKOWSKI[number].least)
    assert found.fun == pytest.approx(least, rel=1e-6, abs=1e-3 if number == 13 else 1e-6)


@pytest.mark.parametrize("program, at, options, where, value", half(SHOWN))
def test_a_minimum_is_found_and_shown(program, at, options, where, value):
    found = adcli.compile(program).minimize(at, of="v", **options)
    assert found.success, found.message
    assert found.x == pytest.approx(where, rel=1e-6, abs=1e-6)   # as far as is promised
    assert found.fun == pytest.approx(value, rel=1e-7, abs=1e-7)
    assert found.maxcv <= 1e-8


@pytest.mark.parametrize("program, at, options, verdict, said", half(NOT_SHOWN))
def test_what_is_no_minimum_is_not_called_one(program, at, options, verdict, said):
    found = adcli.compile(program).minimize(at, **options)
    assert not found.success
    assert re.fullmatch(verdict, found.verdict), found.message
    assert re.search(said, " ".join([found.message, *found.why])), found


def test_a_search_goes_on_beside_points_where_nothing_is_finite():
    root = adcli.compile("""input x, a
h(0) = x
for t in 0:20 until abs(h(t+1) - h(t)) < 1e-9 { h(t+1) = h(t) - (h(t)**2 - a)/(2*h(t)) }
f = (h(20) - 2)**2
output f""")
    found = root.minimize({"x": 1, "a": 0}, solver="trust-exact")
    assert not found.success and found.fun < 4
    for start, said in ((3, "sqrt'(u) at u = 0.0: singular"), (3.3, "at x = 1: its minimum may be where its domain ends")):
        edge = adcli.compile("f = sqrt(x - 1)").minimize({"x": start})
        assert not edge.success and edge.x == pytest.approx([1], abs=1e-5) and said in " ".join(map(str, edge.why))


def test_multipliers_are_what_the_optimum_changes_by():
    """df*/db for each bound b, of least and of greatest values, against problems solved anew."""
    step = 1e-4
    for maximize in (False, True):
        f = adcli.compile("v = 3*x + y + 0.1*z*x")
        def best(b, f=f, maximize=maximize):
            return f.minimize(x=1.0, y=1.0, z=0.2, subject_to=[f"x**2 + y**2 <= {2 + b}", "z == 0.5*x"], maximize=maximize)
        found = best(0.0)
        assert found.success, found.message
        assert found.multipliers[0] == pytest.approx((best(step).fun - best(-step).fun) / (2 * step), rel=1e-5)


@pytest.mark.parametrize("objective, conditions, verdict", half(UNQUALIFIED))
def test_no_multiplier_is_claimed_where_gradients_of_conditions_are_dependent(objective, conditions, verdict):
    found = adcli.compile(f"v = {objective}").minimize(x=0.5, y=0.6, subject_to=conditions)
    assert found.verdict == verdict, found.message
    assert np.isnan([*found.multipliers, *(m for _, m in found.held)]).all()


def test_a_circle_is_a_condition_however_small():
    found = adcli.compile("v = x + y").minimize(x=1e-6, y=1e-6, subject_to="x**2 + y**2 <= 1e-10")
    assert found.success, found.message
    assert found.multipliers == pytest.approx([-0.5**0.5 / 1e-5], rel=1e-6)


def test_tensors_and_scalars_have_the_same_minimum():
    draw = drawn("solvers", "tensors")
    a = np.array([[draw.uniform(-1, 1) for _ in range(3)] for _ in range(5)])
    y = np.array([draw.uniform(-0.5, 0.5) for _ in range(5)])
    f = adcli.compile("input A(M,N), x(N), y(M)\nr(i) +=! A(i,j)*x(j)\ne(i) = r(i) + 0.1*r(i)*r(i)*r(i) - y(i)\nv +=! e(i)*e(i)")
    rows = [" + ".join(f"({c!r})*x{j}" for j, c in enumerate(row)) for row in a.tolist()]
    scalars = "\n".join(f"r{i} = {row}\ne{i} = r{i} + 0.1*r{i}*r{i}*r{i} - ({z!r})"
                        for i, (row, z) in enumerate(zip(rows, y.tolist(), strict=True)))
    g = adcli.compile(scalars + "\nv = " + " + ".join(f"e{i}**2" for i in range(5)) + "\noutput v")
    one, other = f.minimize(A=a, y=y, x=np.zeros(3), wrt="x"), g.minimize(x0=0.0, x1=0.0, x2=0.0)
    assert one.success and other.success, (one.message, other.message)
    assert one.x == pytest.approx(other.x, rel=1e-8, abs=1e-9)


def test_many_inputs_take_products_with_the_hessian():
    f = adcli.compile("input x(N)\nv +=! (1 - x(i))**2 + 100*(x(i+1) - x(i)**2)**2")
    found = f.minimize(x=np.full(320, 1.3))
    assert found.success and found.verdict == "minimum", found.message
    assert found.x == pytest.approx(np.ones(320), rel=1e-5)


def test_another_start_takes_the_code_of_the_one_before(monkeypatch):
    def refused(*args, **options):
        raise AssertionError("compiled")
    f, words = adcli.compile("v = (x - a)**2 + (y - 1)**4; w = x + y*y - 2"), {"of": "v", "subject_to": "x <= 1"}
    one = f.minimize(x=0.5, y=2.0, a=0.0, wrt="x,y", **words)
    other = f.solve(x=1.0, y=1.5, a=2.0, wrt="x,y")
    monkeypatch.setattr("adcli.solvers.scalar_function.compiled", refused)
    assert f.minimize(x=0.5, y=2.0, a=0.0, wrt="x,y", **words).x.tolist() == one.x.tolist()
    assert f.minimize(x=0.5, y=2.0, a=5.0, wrt="x,y", **words).x == pytest.approx([1, 1], abs=1e-3)
    assert f.solve(x=1.0, y=1.5, a=2.0, wrt="x,y").x.tolist() == other.x.tolist()
    with pytest.raises(AssertionError, match="compiled"):
        f.minimize(x=0.5, y=2.0, a=0.0, wrt="x", **words)


def test_every_solver_that_is_named_is_there():
    assert set(SOLVER_NAMES) == {"auto", *SOLVERS}


@pytest.mark.parametrize("solver", half([s for s in SOLVERS if s not in PACKAGES]))
def test_each_solver_finds_the_minimum(solver):
    found = adcli.compile("v = (x - 1)**4 + (x - 1)**2 + x*y + y**2").minimize(x=2.0, y=2.0, solver=solver)
    assert found.success and found.solver == solver, found
    assert np.abs(found.jac).max() < 1e-9


@pytest.mark.engine
@pytest.mark.parametrize("solver", PACKAGES)
def test_interior_point_solvers(solver):
    pytest.importorskip(PACKAGES[solver][0])
    for program, at, options, where, _ in SHOWN:
        found = adcli.compile(program).minimize(at, of="v", **{**options, "solver": solver})
        assert found.x == pytest.approx(where, rel=1e-6, abs=1e-6), found
        assert found.solver == solver


@pytest.mark.engine
@pytest.mark.parametrize("solver", PACKAGES)
def test_many_variables_and_conditions(solver):
    pytest.importorskip(PACKAGES[solver][0])
    n = 400
    f = adcli.compile("input x(N); v +=! (x(i) - 2)**4 + (x(i) - 2)**2; g(i) = x(i)**2 + x(i + 1); output v, g")
    found = f.minimize(x=np.ones(n), of="v", subject_to=["g <= 2", "x(0) == 0.5"], solver=solver)
    assert found.maxcv <= 1e-8 and found.solver == solver and found.x[0] == 0.5
    assert found.x[1:-1] == pytest.approx(found.x[20], abs=0.2) and found.conditions[3] == "g(3) <= 2"


@pytest.mark.parametrize("conditions, where", [
    ("x(0) + x(1) <= 0.5", [-0.25, 0.75, 2.0]), ("x(2) == x(N - 3) + 1", [0.5, 1.0, 1.5]),
    (["h(1) >= 3", "x(0) >= 1"], [1.5, 1.0, 2.0]),
    ("h(2) >= 3", [0.8, 1.4, 2.0]),
])
def test_conditions_on_elements(conditions, where):
    f = adcli.compile("input x(N); v +=! (x(i) - i)**2; h(0) = x(0); for t in 0:N { h(t + 1) = h(t) + x(t) }; output v")
    found = f.minimize(x=[0.1, 0.2, 0.3], subject_to=conditions)
    assert found.x == pytest.approx(where, abs=1e-8) and found.success, found


@pytest.mark.parametrize("condition, hi, where", [("x <= 2*hi", 0.5, 1), ("-hi <= x <= hi", np.inf, 2), ("2*x <= hi", np.inf, 2)])
def test_bounds_made_of_inputs_that_do_not_move(condition, hi, where):
    f = adcli.compile("input x; param hi; v = (x - 2)**2")
    assert f.minimize(x=2.0, hi=hi, wrt="x", subject_to=condition).x == pytest.approx([where], abs=1e-8)


@pytest.mark.parametrize("conditions, where, named", [
    ("x >= low", [0.5, 0.7, 1], []),   # bounds, as inputs that do not move say them
    ("low <= x <= 2*high", [0.5, 0.7, 1], []),
    ("low <= 2*x <= high", [0.25, 0.35, 0.5], [f"low({i}) <= 2*x({i}) <= high({i})" for i in range(3)]),
    ("x*x - 1 == 3", [2, 2, 2], ["x(0)*x(0) - 1 == 3", "x(1)*x(1) - 1 == 3", "x(2)*x(2) - 1 == 3"]),
    ("total == 2*N", [2, 2, 2], ["total == 2*N"]),
    ("x >= low - x(0)", [17/30, 4/30, 13/30], ["x(0) >= low(0) - x(0)", "x(1) >= low(1) - x(0)", "x(2) >= low(2) - x(0)"]),
    (["x(N - 1) == N", "g <= -1"], [-1, -1, 3], ["x(N - 1) == N", "g(0) <= -1", "g(1) <= -1"]),
    ("A*A > -B", [0, 0, 0], ["A(0, 0)*A(0, 0) > -B(0, 0)", "A(1, 0)*A(1, 0) > -B(1, 0)"]),
])
def test_conditions_on_whole_tensors_and_sizes(conditions, where, named):
    """Each is reported by its element."""
    f = adcli.compile("input x(N), low(N), high(N), A(M,K), B(M,K); v +=! x(i)**2; total +=! x(i)\n"
                      "g(i) = x(i) where i in 0:2; output v, g, total")
    known = {"low": [0.5, 0.7, 1.0], "high": [5.0, 5.0, 5.0], "A": [[1.0], [2.0]], "B": [[1.0], [4.0]]}
    found = f.minimize(x=[1.5, 2.5, 3.5], **known, wrt="x", of="v", subject_to=conditions)
    assert found.success, found
    assert found.x == pytest.approx(where, abs=1e-7)
    assert found.conditions == named


@pytest.mark.parametrize("stated, at, options, where, named", [
    ("minimize (x - 1)**2 + (y - 2)**2; subject to x + y <= 2, x == y", {"x": 0.0, "y": 0.0}, {}, [1, 1],
     ["x + y <= 2", "x == y"]),
    ("minimize (x - 1)**2 + (y - 2)**2; subject to x + y <= 2", {"x": 0.0, "y": 0.0}, {"subject_to": "y <= 1"}, [1, 1],
     ["x + y <= 2"]),
    ("maximize v; v = x*y; subject to x**2 + y**2 <= 2", {"x": 1.0, "y": 2.0}, {}, [1, 1], ["x**2 + y**2 <= 2"]),
    ("maximize v; v = x*y; w = x + y; subject to v >= 1", {"x": 1.0, "y": 2.0}, {"of": "w", "subject_to": "x == y"}, [1, 1],
     ["v >= 1", "x == y"]),
    ("input x(N); v +=! (x(i) - 2*i)**2; minimize v; subject to x(i + 1) - x(i) <= 1 where i in 1:3", {"x": [0.0]*4}, {},
     [0, 3, 4, 5], ["x(1 + 1) - x(1) <= 1", "x(2 + 1) - x(2) <= 1"]),
    ("input x(N), t; minimize t; subject to (x(i) - i)**2 <= t, x(0) >= 1", {"x": [0.5, 0.0], "t": 3.0}, {"wrt": "t"}, [1], ...),
    ("input x(N), t; minimize t; subject to x == 1, 2*x(i) - i <= t", {"x": [3.0, 3.0], "t": 9.0}, {}, [1, 1, 2], ...),
    ("input x(N); param m(N, M), cap(M); v +=! (x(i) - 3)**2; load(j) +=! m(i, j)*x(i); minimize v; subject to load <= cap",
     {"x": [0.0, 0.0], "m": [[1.0], [1.0]], "cap": [2.0]}, {}, [1, 1], ["load(0) <= cap(0)"]),
])
def test_a_program_states_its_problem(stated, at, options, where, named):
    found = adcli.compile(stated).minimize(at, **options)
    if stated.startswith("input x(N), t; minimize t; subject to (x"):   # x(0) >= 1 does not hold, and x does not move
        assert not found.success and "do not hold" in found.message
        return
    assert found.success and found.x == pytest.approx(where, abs=1e-6), found
    assert named in (..., found.conditions)


def test_a_chain_of_numbers_is_reported_part_by_part():
    ended = succeeds("minimize", "-e", "v = (x - 5)**2 + y**2", "--at", "x=1,y=2", "--subject-to", "y <= x <= 2*y")
    assert "# y <= x: not active" in ended.out and "# x <= 2*y: active, multiplier" in ended.out


# ---------------------------------------------------------------- the command

def test_the_command_prints_the_point_and_what_was_checked():
    ended = succeeds("minimize", "-e", ROSENBROCK, "--at", "x=-1.2,y=1")
    assert ended.out.splitlines()[:4] == ["x = 1.0", "y = 1.0", "v = 0.0", "# minimum: gradient 0, Hessian positive definite"]
    ended = succeeds("minimize", "-e", "v = x + y", "--at", "x=1,y=0", "--subject-to", "x**2 + y**2 <= 2", "--fmt", "%.4f")
    assert ended.out.startswith("x = -1.0000\ny = -1.0000\nv = -2.0000\n# minimum: gradient of the Lagrangian")
    assert "# x**2 + y**2 <= 2: active, multiplier -0.5\n" in ended.out


def test_json_is_a_point_that_the_next_command_reads(tmp_path):
    path = tmp_path / "min.json"
    succeeds("minimize", "-e", "v = (x - a)**2 + y**2", "--at", "x=1,y=1,a=3", "--wrt", "x,y", "-o", path)
    assert succeeds("eval", "-e", "v = (x - a)**2 + y**2", "--at", f"@{path}").out == "# x = 3.0, a = 3.0, y = 0.0\nv = 0.0\n"
    record = succeeds("minimize", "-e", "v = (x - 3)**2", "--at", "x=1", "--format", "json").records[0]
    assert (record["at"], record["verdict"], record["minimum"]) == ({"x": 3.0}, "minimum", True)
    table = succeeds("minimize", "-e", "v = (x - 3)**2", "--at", "x=1", "--format", "csv").out
    assert table.startswith("x,v,gradient,violation,verdict,solver\n3.0,0.0,")


def test_several_starts_give_the_best():
    ended = succeeds("minimize", "-e", "v = (x**2 - 4)**2 + x", "--at", "x=-5:5:4")
    assert ended.out.startswith("x = -2.03")
    assert "4 starts: 2 with this value, 2 at others, the next v = 1.98" in ended.out


@pytest.mark.parametrize("program, at, piece", [
    ("v = abs(x - 1/3) + y**2", "x=1,y=2", "abs'(u) at u = 0.0: kink"), ("v = x*y", "x=0.5,y=0", "v still falls")])   # far out
def test_a_failure_ends_with_its_reason(program, at, piece):
    ended = run("minimize", "-e", program, "--at", at, "--solver", "L-BFGS-B")
    assert ended.code == 1 and piece in ended.err


@pytest.mark.parametrize("solver", ["SLSQP", "trust-constr"])
@pytest.mark.parametrize("conditions, where", [
    ("x + y == 3", [1.5, 1.5]), ("x*y >= 4", [2, 2]), ("-4 <= x + y <= -2", [-1, -1]), ("x + y <= -2", [-1, -1]),
    ("2 <= x + y <= 5", [1, 1]), (["x + y == 3", "x <= 1"], [1, 2]), (["x + y == 3", "x - y >= 1"], [2, 1]),
    (["-9 <= x + y <= 9", "x*x + y*y >= -1"], [0, 0])])
def test_either_solver_keeps_conditions_of_any_kind(solver, conditions, where):
    found = adcli.compile("v = x*x + y*y").minimize(x=4.0, y=1.0, subject_to=conditions, solver=solver)
    assert found.success, found
    assert found.x == pytest.approx(where, abs=1e-6)


def test_a_long_search_is_told_as_it_goes():
    from adcli.solvers.minimize import minimize, stated
    told = []
    problem = stated(adcli.compile("v = (x - 1)**2").program, None, None, ["x*x >= 4"], False, {"x": 3.0})
    minimize(problem, watch=lambda *state: told.append(state))
    assert told[0][:3] == (0, 1, 4.0) and [state[1] for state in told] == sorted(state[1] for state in told)


# ---------------------------------------------------------------- minima of higher order

@pytest.mark.parametrize("objective, x", half([
    ("x**4 - 4*x**3 + 6*x**2 - 4*x + 1", 1), ("exp(x) - x**3/6 - x**2/2 - x", 0), ("x**4/24 - cos(x) - x**2/2", 0),
    ("(x*x - 2*x + 1)**2 + y**2", 1), ("x**4 - 8*x**3 + 24*x**2 - 32*x + 16", 2), ("(exp(x) - exp(1)*x)**2", 1),
    ("x**6 - 6*x**5 + 15*x**4 - 20*x**3 + 15*x**2 - 6*x + 1", 1)]))
def test_no_positive_definite_hessian_is_claimed_where_the_hessian_is_zero(objective, x):
    """Wherever a solver stops: as near as the rounding of the gradient tells, the Hessian is not 0."""
    f, draw = adcli.compile(f"v = {objective}"), drawn("order", objective)
    for _ in range(3):
        found = f.minimize({name: draw.uniform(0.3, 4) for name in f.inputs})
        assert found.verdict in ("flat", "not strict"), found.message
        assert found.x[0] == pytest.approx(x, abs=2e-2)


def test_a_minimum_that_a_line_has_is_not_called_strict():
    found = adcli.compile("v = (x + y)**2").minimize(x=0.5, y=1.0)
    assert found.verdict in ("flat", "not strict", "not unique") and re.search("along [xy] [+-]1", found.message), found


def test_tensors_have_minima_of_higher_order_too():
    text = "input x(N)\nv +=! x(i)**4 - 4*x(i)**3 + {}*x(i)**2 - 4*x(i) + 1\noutput v"
    for start in ([2.1, 0.4, 3.3], [1.3, 1.9, 2.7]):
        assert adcli.compile(text.format("6")).minimize(x=start).verdict in ("flat", "not strict")
        assert adcli.compile(text.format("6.0001")).minimize(x=start).verdict == "minimum"


# ---------------------------------------------------------------- many variables

NETWORK = """\
input x(N), y(N)
param low(N), high(N), load(K)
v +=! (x(i) - 2)**2 + y(i)
total(i) = x(i)**2 + x(i + 1) + y(i) + y(i + 1)
output v, total
"""
LARGE = [   # objective, conditions, verdict
    ("+=! (x(i) - 2)**2 + (y(i) - i/10)**2", [], "minimum"),
    ("+=! (x(i) - 2)**2 + (y(i) - 1)**2", ["low <= x <= high", "total <= 3*load"], "minimum"),
    ("+=! (x(i) - 2)**2 + y(i)", ["low <= x <= high", "total == load", "low <= y"], "minimum"),
    ("+=! (x(i) - 2)**2 + y(i)/4 + y(i)/4", ["y >= -1", "low <= x", "x(0) == 1.25"], "minimum"),
    ("+=! (x(i) - 2)**2 + 0*y(i)", ["low <= x <= high"], "not unique"),
    ("+=! x(i)**2 - (y(i) - 0.25)**2", ["low <= x <= high", "low <= y <= high"], "minimum"),
    ("+=! x(i)**4 + y(i)**2", ["low <= x", "y >= 1"], "minimum"),
    ("+=! x(i)**4 + (y(i) - 1)**2", ["total <= 90*load"], "flat|not strict"),
    ("+=! x(i)**2 + y(i)**3", ["total <= 9*load"], "flat|not stationary|saddle"),
    ("+=! x(i)**2 + y(i)**2", ["total == 9*load", "x >= 10", "y >= 0"], "infeasible"),
]
TRAPS = [   # what is added to Σ (x(i) − 1)² over i > 0, x(0) of the start or point, conditions, verdict
    *((f"{sign}x(0)**{power}", 0.0, ["x >= -9"], verdict) for sign, power, verdict in (
        ("-1e-11*", 2, "flat"), ("-1e-6*", 2, "saddle"), ("1e9 - 1e-2*", 2, "saddle"), ("", 3, "flat"),
        ("", 4, "not strict"), ("-", 4, "flat"), ("-", 8, "flat"), ("", 9, "flat"), ("-", 120, "flat"))),
    ("1e-12*x(0)", 0.0, ["x >= -9"], "flat"), ("1e10 + x(0)", 0.0, ["x >= -9"], "minimum|flat"),
    ("1 + exp(-x(0))", 30.0, ["x >= -9"], "flat"), ("-max(x(0), 0)**2", 0.0, ["x >= -9"], "flat|saddle"),
    ("2*x(0)**4 - 3*x(0)**2*(x(1) - 1)", 0.0, ["x >= -9"], "flat"),   # Peano: least along all lines, and no minimum
    ("x(0)*(x(1) - 1) - x(0)**2", 0.0, ["x >= 0"], "saddle"),   # a multiplier that is zero
    ("-1e-11*x(0)**2", 0.0, ["x >= 0"], "flat"), ("1e-9*x(0)**2", 0.0, ["x >= -9"], "minimum"),
    ("1e6 + x(0)", -9e-5, ["h <= 0"], "degenerate"), ("x(0)", -1e-8, ["h == 0"], "degenerate"),
    ("0*x(0)", 0.0, ["x >= -9"], "not strict"),
]


@pytest.mark.parametrize("term, x0, conditions, verdict", part(TRAPS, 4))
def test_no_more_is_claimed_of_a_point_than_is_so(term, x0, conditions, verdict):
    """The verdict on the very point, among 400 variables."""
    from adcli.solvers.minimize import judgement, stated
    from adcli.solvers.problem import Evaluations
    f = adcli.compile("input x(N)\nv +=! (x(i) - 1)**2 where i in 1:N\ntotal +=! x(i)\n"
                      f"v += {term}\nh = x(0)**2\noutput v, h, total")
    at = np.array([x0, *np.ones(399)])
    evaluations = Evaluations(stated(f.program, None, ["v"], ["total >= -1e9", *conditions], False, {"x": at}), at)
    found = judgement(evaluations, at, None)
    assert re.fullmatch(verdict, found.verdict), found.verdict


CHAIN_ENDS = ["length == 4", "x(0) == 1", "x(N - 1) == 3"]


@pytest.mark.engine
@pytest.mark.parametrize(("program", "conditions", "count"), [
    ("input x(N)\nstep(i) = sqrt(1 + ((x(i + 1) - x(i))*(N - 1))**2)/(N - 1)\n"
     "v +=! (x(i) + x(i + 1))/2*step(i) where i in 0:N - 1; length +=! step(i); output v, length", CHAIN_ENDS, 402),
    ("input x(N), u(N)\nh(i) = sqrt(1 + u(i)**2)\nv +=! (x(i)*h(i) + x(i + 1)*h(i + 1))/(2*(N - 1))\n"
     "length +=! (h(i) + h(i + 1))/(2*(N - 1)) where i in 0:N - 1\n"
     "slope(i) = x(i + 1) - x(i) - (u(i) + u(i + 1))/(2*(N - 1))\noutput v, length, slope", [*CHAIN_ENDS, "slope == 0"], 3000)])
def test_minima_that_a_condition_on_all_variables_makes(program, conditions, count):
    """The hanging chain (COPS), whose Hessian is positive definite on the null space of its length, and of its slopes where they
    are variables: errors in these add up along the chain."""
    pytest.importorskip("pounce")
    s = np.linspace(0, 1, count)
    at = {"x": 1 + 8*s*(s - 0.75)} if count < 1000 else {"x": 1 + 4*s*(s - 0.5), "u": 8*(s - 0.25)}
    found = adcli.compile(program).minimize(at, of="v", subject_to=conditions)
    assert found.verdict == "minimum" and found.fun == pytest.approx(5.06848, abs=1e-4)


@pytest.mark.engine
@pytest.mark.parametrize(("title", "size", "value"), [("rocket", 100, -1.012832), ("rocket", 200, -1.0128357),
    ("bearing", 60, -0.180522)])
def test_bounds_that_hold_are_found_among_many_that_are_near(title, size, value, tmp_path):
    """COPS: a thrust that is singular between its bounds, and a pressure that is 0 from where it would be negative. A solver's
    answer leaves open which bounds hold."""
    pytest.importorskip("pounce")
    from bench_large import command, of_problem
    from large_models import CASES
    case = next(c for c in CASES if title in c.title)
    found = json.loads(succeeds(*command(of_problem(case, size), tmp_path, "pounce")[3:]).out)
    assert found["verdict"] == "minimum" and found["value"]["f"] == pytest.approx(value, abs=1e-5)


@pytest.mark.engine
def test_equations_that_are_given_twice_hold_a_minimum_without_multipliers():
    """More equations than variables, half of them dependent: IPOPT takes none, and SuperLU ends the process in trust-constr."""
    pytest.importorskip("pounce")
    f = adcli.compile("input x(N)\nv +=! (x(i) - 0.3)**2; c(i) = x(i + 1)**2 - (i + 1)/N\noutput v, c")
    found = f.minimize(x=np.ones(200), of="v", subject_to=["c == 0", "2*c == 0"])
    assert found.verdict == "minimum" and found.x[1:] == pytest.approx(np.sqrt(np.arange(1, 200)/200)), found
    assert np.isnan(found.multipliers).all()


def test_another_module_of_the_name_is_no_solver(monkeypatch):
    import sys
    import types
    monkeypatch.setitem(sys.modules, "pounce", types.ModuleType("pounce"))
    monkeypatch.setattr("adcli.solvers.interior.find_spec", lambda name: name != "cyipopt")
    f = adcli.compile("input x(N); v +=! (x(i) - 2)**2; g(i) = x(i)**2; output v, g")
    with pytest.raises(AdError, match="pounce-solver"):
        f.minimize(x=np.ones(400), of="v", solver="pounce")
    assert f.minimize(x=np.ones(400), of="v", subject_to="g <= 9").solver == "trust-constr"


@pytest.mark.engine
def test_the_extension_of_a_solver_is_loaded_alone_and_once():
    pytest.importorskip("pounce")
    code = ("import sys; from adcli.solvers.interior import package; own = package('pounce'); "
            "assert 'scipy.optimize' not in sys.modules; import pounce; "
            "assert pounce.Problem is own.Problem and package('pounce') is pounce")
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.engine
@pytest.mark.parametrize("objective, conditions, verdict", LARGE)
def test_sparse_verdicts_are_those_of_dense_matrices(objective, conditions, verdict, monkeypatch):
    pytest.importorskip("pounce")
    import adcli.solvers.problem
    import adcli.solvers.vector_function
    f = adcli.compile(NETWORK.replace("+=! (x(i) - 2)**2 + y(i)", objective))
    n = 30
    given = {"x": np.ones(n), "y": np.ones(n), "low": np.full(n, 0.5), "high": np.full(n, 1.5),
             "load": np.linspace(2.0, 3.0, n - 1)}
    found = []
    for most in (1000, 10):
        for module in (minimize, adcli.solvers.problem, adcli.solvers.vector_function):
            monkeypatch.setattr(module, "MOST_DENSE", most)
        found.append(f.minimize(given, wrt=["x", "y"], of="v", subject_to=conditions, solver="pounce"))
    assert all(re.fullmatch(verdict, each.verdict) for each in found), [each.message for each in found]
    if verdict == "minimum":
        assert found[0].fun == pytest.approx(found[1].fun, rel=1e-8) and found[0].x == pytest.approx(found[1].x, abs=1e-5)
        assert found[0].multipliers == pytest.approx(found[1].multipliers, abs=1e-5)


@pytest.mark.parametrize("n, has, note", [
    (400, [], "note: 400 variables and 399 conditions may take"), (400, ["pounce"], None), (20, [], None)])
def test_a_large_problem_without_a_fit_solver_says_which_to_install(n, has, note, monkeypatch):
    monkeypatch.setattr(minimize, "installed", lambda: has)
    program = parse("input x(N)\nv +=! x(i)**2\ng(i) = x(i) + x(i+1)\noutput v, g")
    problem = minimize.stated(program, None, ["v"], ("g >= 1",), False, {"x": np.ones(n)})
    said = minimize.advice(problem, "auto")
    assert said is None if note is None else said.startswith(note) and "pip install pounce-solver" in said
    assert minimize.advice(problem, "SLSQP") is None


def test_what_is_not_loaded_with_scipy_can_be_loaded_later():
    script = ("from adcli.numerics.linear import UNREAD, load_scipy; import sys, numpy; load_scipy(); load_scipy()\n"
              "assert not {f'numpy.{name}' for name in UNREAD} & {*sys.modules}\n"
              "import scipy.optimize; print(*[getattr(numpy, name).__name__ for name in UNREAD])")
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert said.split() == [f"numpy.{name}" for name in UNREAD]


def test_a_bound_that_is_nearly_reached_is_told_as_declared():
    at = "y=[28,8,-3],s=[15,10,16],mu=4,tau=3,z=[1,0,0]"
    found = succeeds("minimize", ROOT / "samples/eight_schools.ad", "--maximize", "--wrt", "mu,tau,z", "--at", at)
    assert "tau is at its bound 0: " in found.out and "tau = 0.0\n" not in found.out
