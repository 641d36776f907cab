"""Programs of tensors as builtins of Python: what they give is what the way in Python gives, to the bit and to the letter, for
whatever they are called with."""
import sys
from decimal import Decimal
from functools import partial

import numpy as np
import pytest
from adcli.codegen.builtins import direct
from adcli.codegen.modules import calls, plans
from adcli.codegen.modules.direct_tensors import FIRST_CALLS, OftenCalled
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.lower.frontend import parse
from outcomes import outcome
from session_seed import drawn
from side_by_side import in_threads

import adcli
from adcli.api.function import LOOP
from adcli.api.words import together

TEXT = """
input A(N, M), x(M), int32 at(N), int32 n
param k = 3.5
y(i) +=! k * A(at(i), j) * x(j) where i in 0:N
z(i) = x(i) * n where i in 0:M
v +=! y(i)**2
output v, y, z
"""
A = np.arange(6.0).reshape(2, 3) - 1.25
GOOD = {"A": A, "x": np.array([0.5, -2.0, 3.0]), "at": np.array([1, 0]), "n": 3, "k": 2.0}
SHAPED = [GOOD["x"], A, A.T, A[:, ::-1], A.astype(np.float32), A.astype(">f8"), A.astype(int), A.tolist(),
          A[:0], A[:1], A.ravel(), [1, 0], np.array([0, 1]), np.array([0, 2]), np.array([-1, 0]), np.array([0.0, 1.0]),
          np.array([0, 1], np.int32),
          np.frombuffer(b"." + A.tobytes(), offset=1).reshape(2, 3), np.ma.masked_less(A, 1), np.full((2, 3), np.nan)]
NUMBERS = [2.0, -0.0, float("nan"), 3, 0, -1, True, 2**53 + 1, 2**63 - 1, 2**63, 10**400, np.float64(0.5), np.float32(0.5),
           np.int64(2), np.int32(2), Decimal(1), "2", None, 1j, np.array(2.0), np.array(2), np.array([2.0])]


def often(f, values, **options):
    """Called until its code is made well, and then until it is called quickly."""
    for _ in range(2):
        for _ in range(LOOP):
            f(values, **options)
        if (succession := f._made().succession) is not None:
            succession.thread.join()
    return f


def both(f, at, **options):
    """A call, and the same on its way in Python; `out` is made anew for each."""
    made = options.pop("out", lambda: None)
    slow = partial(f._called, together(at, {}), jobs=options.get("jobs"))
    return [outcome(lambda: f(at, out=made(), **options)), outcome(lambda: slow(out=made()))]


@pytest.fixture(scope="module")
def f():
    made = often(adcli.compile(TEXT), GOOD)
    assert made._arrays is not direct.never
    return made


@pytest.fixture
def no_way_in_python(monkeypatch):
    def gone(*arguments):
        raise AssertionError("it was not the builtin")
    return lambda: monkeypatch.setattr(adcli.api.function.Function, "_called", gone)


QUICK = [GOOD, GOOD | {"k": 3}, GOOD | {"k": np.float64(2)}, {k: x for k, x in GOOD.items() if k != "k"}, GOOD | {"n": -7},
         dict(reversed(GOOD.items()))]


def test_sums_in_blocks_of_steps_are_computed_by_the_builtin(no_way_in_python):
    """The adjoint of a loop adds up over the steps, block by block."""
    text = "input a(N), c; v(0) = 1; for t in 0:N { w(t) = sin(c * a(t)) * v(t); v(t+1) = cos(w(t)) }; s = v(N)"
    values = {"a": np.linspace(-1, 1, 5000), "c": 0.5}
    g = often(adcli.compile(text).grad(), values)
    assert all(len(plan.actions) > 1 for plan in g._made().plans.values())
    expected = both(g, values)
    assert expected[0] == expected[1]
    no_way_in_python()
    assert outcome(lambda: g(values)) == expected[0]


@pytest.mark.parametrize("at", QUICK, ids=range(len(QUICK)))
def test_what_fits_is_computed_by_the_builtin(f, at, no_way_in_python):
    expected = both(f, at)
    assert expected[0] == expected[1]
    no_way_in_python()
    assert outcome(lambda: f(at)) == expected[0]
    assert list(f(at)) == ["v", "y", "z"]
    assert type(f(at)["v"]) is float


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", GOOD)
def test_any_argument_gives_what_the_way_in_python_gives(f, name):
    seen = set()
    for x in [*SHAPED, *NUMBERS]:
        quick, slow = both(f, GOOD | {name: x})
        assert quick == slow, x
        seen.add(quick[0])
    assert seen == {dict, adcli.AdError}


@pytest.mark.parametrize("at", [{}, GOOD | {"more": 1.0}, {"A": A}, {**GOOD, "x": GOOD["x"], "y": 1.0}], ids=len)
def test_any_names_give_what_the_way_in_python_gives(f, at):
    quick, slow = both(f, at)
    assert quick == slow


X = np.zeros(20)
OUTS = {
    "good": lambda: {"v": 1.0, "y": np.zeros(2), "z": np.zeros(3)},
    "order": lambda: {"z": np.zeros(3), "v": 1.0, "y": np.zeros(2)},
    "some": lambda: {"y": np.zeros(2)}, "number": lambda: {"v": np.zeros(()), "y": np.zeros(2), "z": np.zeros(3)},
    "shape": lambda: {"v": 1.0, "y": np.zeros(3), "z": np.zeros(3)}, "overlap": lambda: {"v": 1.0, "y": X[:2], "z": X[1:4]},
    "beside": lambda: {"v": 1.0, "y": X[:2], "z": X[2:5]}, "input": lambda: {"v": 1.0, "y": np.zeros(2), "z": GOOD["x"].copy()},
    "single": lambda: {"v": 1.0, "y": np.zeros(2, np.float32), "z": np.zeros(3)}, "name": lambda: {"v": 1.0, "w": np.zeros(2)},
    "list": list, "text": lambda: {"v": "1", "y": np.zeros(2), "z": np.zeros(3)},
    "steps": lambda: {"v": 1.0, "y": X[:4:2], "z": np.zeros(3)}}


@pytest.mark.parametrize("out", OUTS)
def test_any_out_gives_what_the_way_in_python_gives(f, out):
    quick, slow = both(f, GOOD, out=OUTS[out])
    assert quick == slow


def test_out_is_what_is_given_and_an_input_may_be_among_it(f):
    out = f(GOOD)
    y = out["y"]
    assert f(GOOD | {"k": 1.0}, out=out)["y"] is y
    x = GOOD["x"].copy()
    found = f(GOOD | {"x": x}, out={"v": 1.0, "y": np.zeros(2), "z": x})
    assert found["z"] is x
    assert found["z"].tolist() == (GOOD["x"] * 3).tolist()
    assert found["v"] == f(GOOD)["v"]


def test_results_are_the_callers_own(f):
    first = f(GOOD)
    kept = outcome(lambda: first)
    f(GOOD | {"k": 9.0})
    assert outcome(lambda: first) == kept


def test_memory_of_large_results_is_used_again_where_nobody_has_a_view(no_way_in_python):
    x = np.arange(calls.LARGE / 8)
    f = often(adcli.compile("input x(N)\ny(i) = x(i) + 1\ns +=! x(i)\noutput y, s"), {"x": x})
    no_way_in_python()
    view = f({"x": x})["y"][5:]
    places = {f({"x": x + k})["y"].ctypes.data for k in range(9)}
    assert len(places) <= 3 and view.tolist() == (x[5:] + 1).tolist()
    assert not any(place <= view.ctypes.data < place + x.nbytes for place in places)
    assert f({"x": x})["s"] == x.sum()


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_a_run_that_threads_share_is_computed_by_the_builtin(jobs, no_way_in_python, monkeypatch):
    monkeypatch.setattr(plans, "WORTH_THREADS", 0.0)
    monkeypatch.setattr(plans, "WORTH_HELP", 0.0)
    teams = []
    monkeypatch.setattr(calls, "lead", lambda *given, lead=calls.lead: (teams.append(1 + len(given[2])), lead(*given))[1])
    at = {"A": np.arange(40_000.0).reshape(200, 200) % 7, "x": np.arange(200.0) % 5}
    f = often(adcli.compile("input A(N, N), x(N)\nB(i, j) +=! A(i, k) * A(k, j)\ny(i) +=! B(i, j) * x(j)\noutput B, y"), at)
    expected, wrong = both(f, at, jobs=jobs)[1], both(f, {"A": at["A"]}, jobs=jobs)
    assert wrong[0] == wrong[1]
    no_way_in_python()
    teams.clear()
    assert all(outcome(lambda: f(at, jobs=jobs)) == expected for _ in range(20))
    assert teams == [jobs] * 20 * (jobs > 1)


def test_other_shapes_are_planned_in_their_turn(f, no_way_in_python):
    r = drawn("shapes")
    for n, m in ((4, 2), (1, 1), (2, 3)):
        matrix = np.array([[r.gauss(0, 1) for _ in range(m)] for _ in range(n)])
        at = {"A": matrix, "x": np.ones(m), "at": np.zeros(n, np.int64), "n": 1}
        quick, slow = both(f, at)
        assert quick == slow
        often(often(f, at), at)
    expected = both(f, at)[1]
    no_way_in_python()
    assert outcome(lambda: f(at)) == expected


def test_a_size_that_an_input_gives_is_looked_at():
    f = adcli.compile("input int32 n\ny(i) = i**2 where i in 0:n\noutput y")
    often(f, {"n": 4})
    assert f._arrays is not direct.never
    assert [f(n=n)["y"].tolist() for n in (4, 3, 5, 4)] == [[float(i * i) for i in range(n)] for n in (4, 3, 5, 4)]


def test_a_fault_of_one_call_is_none_of_the_next(f):
    wrong = GOOD | {"at": np.array([0, 7])}
    for _ in range(3):
        with pytest.raises(adcli.AdError, match="out of range"):
            f(wrong)
        assert both(f, GOOD)[0] == both(f, GOOD)[1]


@pytest.mark.parametrize("patience", [direct.PATIENCE, 0])
def test_threads_have_frames_of_their_own(f, patience, monkeypatch):
    """Also where Python's lock is given back while one of them computes, and for what is no quick call."""
    monkeypatch.setattr(direct, "PATIENCE", patience)
    f = f if patience else often(adcli.compile(TEXT), GOOD)
    points = [GOOD | {"k": float(k)} | ({"x": GOOD["x"].astype(np.float32)} if k == 3 else {}) for k in range(8)]
    expected = [outcome(lambda at=at: f._called(at, None, None)) for at in points]
    wrong = []

    def work(k):
        for _ in range(150):
            if outcome(lambda: f(points[k])) != expected[k]:
                wrong.append(k)
    in_threads(work, 8)
    assert not wrong


def test_quick_calls_are_those_of_the_kernel():
    kernel = compile_tensors(parse("input x(N), a, int32 k(M)\ny(j) = a*x(k(j))\ns +=! y(j)\noutput y, s"))
    called, draw = OftenCalled(kernel), np.random.default_rng(0)
    for turn in range(2 * FIRST_CALLS):
        n = 4 if turn % 7 else 5   # other shapes in between
        at = {"x": draw.normal(size=n), "a": float(turn), "k": draw.integers(0, n, 3)}
        found, want = called(at), kernel(at)
        assert np.array_equal(found["y"], want["y"]) and found["s"] == want["s"]
    assert direct.never not in called.quick


def test_nothing_is_kept(f):
    x = np.array([1.0, 2.0, 3.0])
    for at in (GOOD | {"x": x}, GOOD | {"x": x, "at": np.array([0, 9])}, GOOD | {"x": x, "n": 2**70}, GOOD | {"x": x, "more": 1}):
        before = sys.getrefcount(x)
        for _ in range(50):
            outcome(lambda at=at: f(at))
        assert sys.getrefcount(x) == before


def test_a_call_takes_less_than_a_third_of_the_time_that_it_takes_in_python(f):
    from timeit import repeat
    quick, slow = (min(repeat(call, number=300, repeat=7)) for call in (lambda: f(GOOD), lambda: f._called(GOOD, None, None)))
    assert quick < slow / 3
