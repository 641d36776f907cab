"""Functions for SciPy: published optima, shapes, sparse matrices, and what is wrong said clearly."""
import pickle

import compare_optima
import numpy as np
import pytest
from places import DATA
from scipy.optimize import NonlinearConstraint, least_squares, minimize, rosen, rosen_der, rosen_hess
from scipy.sparse import coo_array
from session_seed import drawn, part

import adcli
from adcli import AdError
from adcli.solvers.scalar_function import vector_function

PROBLEMS = list(compare_optima.problems([str(DATA)]))
CHAIN = " + ".join(f"100*(x{i + 1} - x{i}**2)**2 + (1 - x{i})**2" for i in range(1, 30))
ORDER = [f"x{i}" for i in range(1, 31)]
CASES = part([case for case in PROBLEMS if "biggs_exp6" not in case["id"]], 3)   # which takes SciPy 5 s


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_a_published_optimum_is_stationary_and_reached(case):
    assert compare_optima.stationary(case) is None
    assert compare_optima.reached(case) is None


def test_there_are_optima_and_a_wrong_one_is_noticed():
    assert len(PROBLEMS) > 8
    wrong = {"xmin_approx": ["1.10000", "0.20000", "0.30000"], "fmin": "-1.0"}
    moved = dict(PROBLEMS[0], published={**PROBLEMS[0]["published"], **wrong})
    assert compare_optima.stationary(moved)
    assert compare_optima.reached(moved)


def test_one_output_against_scipys_own_rosenbrock_function():
    fun, jac, hess = adcli.compile(f"v = {CHAIN}").scipy(order=ORDER)
    x = np.linspace(-1.5, 1.5, 30)
    assert fun(x) == pytest.approx(rosen(x), rel=1e-14)
    assert jac(x) == pytest.approx(rosen_der(x), rel=1e-13)
    assert hess(x).toarray() == pytest.approx(rosen_hess(x), rel=1e-13)
    assert minimize(fun, np.zeros(30), jac=jac, hess=hess, method="Newton-CG", tol=1e-12).x == pytest.approx(np.ones(30))


def test_several_outputs_are_residuals_or_constraints():
    f = adcli.compile("r1 = 10*(y - x**2)\nr2 = 1 - x")
    fun, jac, hess = f.scipy(order=["x", "y"])
    assert fun([2, 5]).tolist() == [10.0, -1.0]
    assert jac([2, 5]).tolist() == [[-40.0, 10.0], [-1.0, 0.0]]
    assert hess([2, 5], [3, 7]).tolist() == [[-60.0, 0.0], [0.0, 0.0]]
    assert least_squares(fun, [-1.2, 1.0], jac=jac).x == pytest.approx([1, 1])
    circle = adcli.compile("c = x**2 + y**2\nd = x - y").scipy(order=["x", "y"])
    constraint = NonlinearConstraint(circle.fun, [1, 0], [1, 0], jac=circle.jac, hess=circle.hess)
    plane = adcli.compile("v = x + y").scipy(order=["x", "y"])
    found = minimize(plane.fun, [-1.0, -0.5], jac=plane.jac, hess=plane.hess, method="trust-constr", constraints=constraint)
    assert found.x == pytest.approx([-(0.5**0.5)] * 2, abs=1e-5)


def test_other_inputs_are_fixed():
    f = adcli.compile("param g = 9.81\nv = g*x**2 + a*y")
    assert f.scipy(a=2.0).fun([1, 3]) == 15.81
    assert f.scipy(order=["y"], x=1.0, a=2.0, g=1.0).jac([3.0]).tolist() == [2.0]
    assert f.scipy(order=["g", "x", "y", "a"]).fun([1, 2, 3, 4]) == 16.0


def test_of_chooses_the_output():
    f = adcli.compile("u = x**2\nw = x**3")
    assert f.scipy(of="w").hess([2.0]).tolist() == [[12.0]]
    assert f.scipy(of="w").fun(2.0) == 8.0


def test_sparse_matrices():
    f = adcli.compile(f"v = {CHAIN}")
    at = dict.fromkeys(ORDER, 1.3)
    hessian = f.hessian(wrt=ORDER)
    matrix = hessian.sparse(at)
    assert matrix.shape == (30, 30)
    assert matrix.nnz == 3 * 30 - 2
    assert matrix.toarray() == pytest.approx(rosen_hess(np.full(30, 1.3)), rel=1e-13)
    assert (pickle.loads(pickle.dumps(hessian)).sparse(at) != matrix).nnz == 0
    jacobian = adcli.compile("u = x*y\nw = sin(z)\nq = 2*k").jacobian(wrt=["x", "y", "z"])
    matrix = jacobian.sparse(x=2.0, y=3.0, z=0.0, k=1.0)
    assert (matrix.shape, matrix.nnz) == ((3, 3), 3)
    assert matrix.toarray().tolist() == [[3.0, 2.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]


def test_entries_of_tensors_without_zeros_are_vectors():
    f, x = adcli.compile("input x(N)\nv +=! i % 2 == 0 ? x(i)**2*x(i+1) : x(i+1)**3 where i in 0:N-1"), np.linspace(0.5, 1.4, 5)
    for made in (f.hessian(zeros=False), f.jacobian(zeros=False)):
        found, shape = made(x=x), made.sparse(x=x).shape
        there = found["row"] >= 0
        entries = coo_array((found["value"][there], (found["row"][there], found["column"][there])), shape=shape)
        np.testing.assert_allclose(entries.toarray(), made.sparse(x=x).toarray(), rtol=1e-15)
    with pytest.raises(AdError, match="not made statement by statement"):
        adcli.compile("input a, int T\nh(0) = a\nfor t in 0:T { h(t+1) = sin(h(t)) }\nv = h(T)").hessian(zeros=False)


def test_the_hessian_of_a_linear_function_is_a_square_matrix_of_zeros():
    f = adcli.compile("v = " + " + ".join(f"{i}*x{i}" for i in range(15)))
    at = {f"x{i}": 1.0 for i in range(15)}
    assert (f.hessian().sparse(at).shape, f.hessian().sparse(at).nnz) == ((15, 15), 0)
    assert f.scipy().hess([1.0] * 15).toarray().tolist() == np.zeros((15, 15)).tolist()


def test_tensors_are_raveled_into_one_vector():
    """Every derivative of a network's loss by two tensors and a scalar, against differences of the one before."""
    f = adcli.compile("input W(M,N), x(N), b(M), k\nh(i) +=! W(i,j)*x(j)\nr(i) = tanh(k*h(i) + b(i))\nv +=! r(i)*r(i)\n"
                      "output v, r")
    draw = drawn("scipy", "tensors")
    start = {"b": [draw.uniform(-1, 1) for _ in range(2)], "k": 0.7,
             "W": [[draw.uniform(-1, 1) for _ in range(3)] for _ in range(2)]}
    s = f.scipy(order=["b", "k", "W"], of="v", start=start, x=[0.5, -1.0, 2.0])
    assert s.names == ["b(0)", "b(1)", "k", *(f"W({i}, {j})" for i in range(2) for j in range(3))]
    assert s.pack(s.unpack(s.x0)).tolist() == s.x0.tolist() == [*start["b"], 0.7, *start["W"][0], *start["W"][1]]
    assert s.fun(s.x0) == f(x=[0.5, -1.0, 2.0], **start)["v"]
    steps = 1e-6 * np.eye(9)
    assert s.jac(s.x0) == pytest.approx([(s.fun(s.x0 + h) - s.fun(s.x0 - h)) / 2e-6 for h in steps], rel=1e-6, abs=1e-8)
    hessian = np.array([(s.jac(s.x0 + h) - s.jac(s.x0 - h)) / 2e-6 for h in steps])
    assert s.hess(s.x0) == pytest.approx(hessian, rel=1e-6, abs=1e-8)
    assert s.hessp(s.x0, np.arange(9.0)) == pytest.approx(hessian @ np.arange(9.0), rel=1e-6, abs=1e-7)
    both = f.scipy(order=["b", "k", "W"], start={**start, "x": [0.5, -1.0, 2.0]})
    slopes = np.array([(both.fun(s.x0 + h) - both.fun(s.x0 - h)) / 2e-6 for h in steps])
    assert both.jac(s.x0) == pytest.approx(slopes.T, rel=1e-6, abs=1e-8)
    weights = np.array([0.3, -2.0, 0.5])
    curved = np.array([(both.jac(s.x0 + h) - both.jac(s.x0 - h)).T @ weights / 2e-6 for h in steps])
    assert both.hess(s.x0, weights) == pytest.approx(curved, rel=1e-6, abs=1e-8)
    assert minimize(s.fun, s.x0, jac=s.jac, hessp=s.hessp, method="trust-krylov").fun < 1e-6


# ---------------------------------------------------------------- one computation for one point

TWO = "u = x*sin(y) + exp(x*y)\nw = x**3/y"
ONE, VECTOR = f"v = {CHAIN}", "input A(2, 2), x(2)\nr(i) +=! A(i, j)*tanh(x(j))\noutput r"
TENSORS = "input A(2, 2), x(2)\nr(i) +=! A(i, j)*tanh(x(j))\nv +=! r(i)**2\noutput v"


def counted(f, monkeypatch):
    """What a function computes, in order: f of values alone, fj of both."""
    done = []
    for name, letter in (("values", "f"), ("values_and_jacobian", "fj")):
        whole = getattr(f, name)
        monkeypatch.setattr(f, name, lambda x, whole=whole, letter=letter: done.append(letter) or whole(x))
    return done


@pytest.mark.parametrize("text", [TWO, ONE, TENSORS, VECTOR], ids=["two", "one", "loss", "vector"])
def test_values_and_jacobian_of_one_point_are_computed_once(text, monkeypatch):
    """A gradient with its value where both are wanted; else what is asked for. All have the bits of functions that were never
    asked for anything else, and belong to the caller."""
    program = adcli.compile(text).program
    start = {p.name: np.zeros([n.number for n in p.var.shape]) for p in program.params}

    def made():
        return vector_function(program, [p.name for p in program.params], {}, start)

    f, n = made(), made().n
    done = counted(f, monkeypatch)
    draw = drawn("scipy", "once", text)
    points = [np.array([draw.uniform(0.5, 1.5) for _ in range(n)]) for _ in range(6)]

    def same(found, x, call):
        dense = [m if isinstance(m, np.ndarray) else m.toarray() for m in (found, getattr(made(), call)(x))]
        assert dense[0].tobytes() == dense[1].tobytes()

    f.output_sizes(points[0])   # of tensors they are found by a first computation
    for pattern, expected, alone in [
            ("fj", ["f", "fj"], ["f", "fj"]), ("fj", ["fj"], ["f", "fj"]), ("jf", ["fj"], ["fj"]), ("fj", ["fj"], ["f", "fj"]),
            ("ff", ["fj"], ["f"]), ("f", ["f"], ["f"]), ("f", ["f"], ["f"]), ("fjj", ["f", "fj", "fj"], ["f", "fj", "fj"]),
            ("jfjf", ["fj", "fj"], ["fj", "fj"])]:
        x = points.pop(0)
        points.append(x)
        done.clear()
        for letter in pattern:
            call = {"f": "fun", "j": "jac"}[letter]
            found = getattr(f, call)(x)
            same(found, x, call)
            if isinstance(found, np.ndarray):
                found[...] = np.nan   # it is the caller's
            else:
                found.data[:] = found.indices[:] = 0
        assert done == expected if text in (ONE, TENSORS) else done == alone, pattern


def test_products_at_one_point_take_one_hessian(monkeypatch):
    f = vector_function(adcli.compile(f"v = {CHAIN}").program, ORDER, {}, {})
    made, whole = [], f.hess
    monkeypatch.setattr(f, "hess", lambda x, v: made.append(1) or whole(x, v))
    x, one = np.linspace(0.5, 1.5, 30), np.ones(1)
    for p in np.eye(30)[:4]:
        assert f.hessp(x, one, p) == pytest.approx(rosen_hess(x) @ p, rel=1e-13)
    assert len(made) == 1
    assert f.hessp(x, 2*one, p) == pytest.approx(2*rosen_hess(x) @ p, rel=1e-13)
    assert f.hessp(x + 1, one, p) == pytest.approx(rosen_hess(x + 1) @ p, rel=1e-13)


def test_elsewhere_nothing_is_known_from_here():
    f = vector_function(adcli.compile("param k = 2\nv = k*x").program, ["x"], {"k": 2.0}, {})
    x = np.array([3.0])
    assert [f.fun(x)[0], f.jac(x)[0, 0], f.fun(x)[0]] == [6.0, 2.0, 6.0]
    other = f.elsewhere({"k": 5.0, "x": 0.0})
    assert [other.fun(x)[0], other.jac(x)[0, 0], f.fun(x)[0]] == [15.0, 5.0, 6.0]


@pytest.mark.parametrize("given", ["start", "fixed"])
def test_an_array_that_is_fixed_may_change_afterwards(given):
    """What is known of a point would no longer go with what is computed there."""
    f = adcli.compile("input A(2, 2), x(2); y(i) +=! A(i, j)*x(j); L +=! y(i)**2; output L")
    a, x = np.eye(2), np.array([3.0, 4.0])
    made = f.scipy(order=["x"], start={"A": a, "x": x}) if given == "start" else f.scipy(order=["x"], A=a)
    a[:] = 0.0
    assert made.fun(x) == 25.0 and made.jac(x).tolist() == [6.0, 8.0] and made.hessp(x, x).tolist() == [6.0, 8.0]


def test_no_result_is_overwritten_by_a_later_call():
    fun, jac, hess = adcli.compile(TWO).scipy(order=["x", "y"])
    x, v = np.array([1.0, 2.0]), np.ones(2)
    first = [fun(x), jac(x), hess(x, v)]
    kept = [m.copy() for m in first]
    for call in (fun, jac, lambda x: hess(x, v)):
        call(x)[...] = 7.0
        call(x + 1)
    assert all(np.array_equal(a, b) for a, b in zip(first, kept, strict=True))
    assert [np.array_equal(call(x), k) for call, k in zip((fun, jac, lambda x: hess(x, v)), kept, strict=True)] == [True] * 3


VECTORS = [[1.0, 2.0], (1, 2), np.array([1, 2]), np.array([1.0, 2.0], np.float32), np.array([[1.0, 2.0]]), np.arange(4.0)[::-2],
           np.array([1.0, 2.0], ">f8"), np.array([True, False])]


@pytest.mark.parametrize("x", VECTORS, ids=repr)
def test_a_vector_of_any_kind(x):
    fun, jac, hess = adcli.compile("v = x**2*y").scipy(order=["x", "y"])
    a, b = np.ravel(x).astype(float)
    assert (fun(x), jac(x).tolist(), hess(x).tolist()) == (a*a*b, [2*a*b, a*a], [[2*b, 2*a], [2*a, 0.0]])
    assert type(fun(x)) is float


def test_derivatives_are_outputs_like_any_others():
    fun, jac, hess = adcli.compile("v = x**2*y").grad().scipy(order=["x", "y"], of="dv_dx")
    assert (fun([2.0, 3.0]), jac([2.0, 3.0]).tolist()) == (12.0, [6.0, 4.0])
    assert hess([2.0, 3.0]).tolist() == [[0.0, 2.0], [2.0, 0.0]]
