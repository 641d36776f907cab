"""adcli from Python: Functions of numbers and arrays, their derivatives, what goes wrong, and how they travel."""
from __future__ import annotations

import copy
import itertools
import math
import pickle
import pydoc
import struct
import threading

import numpy as np
import pytest
from adcli.codegen.rows import jit
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from adcli.lang.printing.printer import STYLES
from command import adcli as adcli_command
from places import WORKED
from same_programs import equal
from session_seed import each_choice
from side_by_side import in_threads

import adcli
from adcli.api.function import LOOP


def bits(x: float) -> bytes:
    return struct.pack("<d", x)


@pytest.fixture(scope="module")
def worked():
    return adcli.load(WORKED)


# ---------------------------------------------------------------- values

def test_a_whole_number_of_any_size_stands_beside_an_array() -> None:
    f = adcli.compile("v = x*y")
    for y in (10**30, -2**63, 2**63, 2**64):
        assert f(x=np.array([1.0, 2.0]), y=y)["v"].tolist() == [float(y), 2 * float(y)] and f(x=2.0, y=y)["v"] == 2 * float(y)


def test_numbers(worked):
    assert worked(x=2.0, y=5.0) == {"v": 3920.6}
    assert worked({"x": 2, "y": 5}) == {"v": 3920.6}
    assert worked({"x": 2}, y=5) == {"v": 3920.6}
    assert worked(x=True, y=np.float32(5)) == worked(x=1, y=5)
    assert type(worked(x=2, y=5)["v"]) is float
    assert type(worked(x=np.float64(2), y=np.array(5))["v"]) is float
    assert adcli.load(str(WORKED))(x=2, y=5) == {"v": 3920.6}


def test_defaults():
    f = adcli.compile("param k = 3; input x = 2; v = k*x")
    assert f() == {"v": 6.0}
    assert f(x=5) == {"v": 15.0}
    assert f(k=np.array([1.0, 2.0]))["v"].tolist() == [2.0, 4.0]


def test_a_program_without_inputs():
    assert adcli.compile("v = 1/3")() == {"v": 1 / 3}
    assert adcli.compile("v = 1/3").grad()() == {"v": 1 / 3}


def test_a_program_that_is_a_function():
    f = adcli.compile("def f(a, b) -> (u, v) { u = a*b\n v = a - b }")
    assert (f.inputs, f.outputs) == (("a", "b"), ("u", "v"))
    assert f(a=3, b=2) == {"u": 6.0, "v": 1.0}


def test_inputs_called_like_arguments():
    f = adcli.compile("v = out*at*self")
    assert f({"out": 2.0, "at": 3.0, "self": 4.0}) == {"v": 24.0}
    assert f({"out": 2.0}, at=3.0, self=4.0) == {"v": 24.0}


@pytest.mark.parametrize("rows", [0, 1, 2, 7, 8, 9, 1000])
def test_arrays_have_the_bits_of_numbers(rows):
    g = adcli.compile("v = exp(sin(x)*y)/(1 + x**2) + log(abs(y))").grad()
    r = np.random.default_rng(rows)
    xs, ys = r.normal(size=rows), r.normal(size=rows)
    columns = g(x=xs, y=ys)
    for i in range(rows):
        at = g(x=float(xs[i]), y=float(ys[i]))
        assert {name: bits(c[i]) for name, c in columns.items()} == {name: bits(x) for name, x in at.items()}
    assert all(c.shape == (rows,) and c.dtype == np.float64 for c in columns.values())


def test_broadcasting(worked):
    xs, ys = np.linspace(1, 2, 3), np.linspace(1, 2, 4)
    table = worked(x=xs[:, None], y=ys)["v"]
    assert table.shape == (3, 4)
    assert all(table[i, j] == worked(x=float(x), y=float(y))["v"] for i, x in enumerate(xs) for j, y in enumerate(ys))
    assert worked(x=xs, y=5)["v"].shape == (3,)
    assert worked(x=np.zeros((0, 3)), y=1)["v"].shape == (0, 3)
    assert worked(x=[1, 2, 3], y=(1, 2, 3))["v"].shape == (3,)


@pytest.mark.parametrize("change", [
    lambda a: a.astype(int), lambda a: a.tolist(), np.asfortranarray, lambda a: a.T.copy().T, lambda a: a[::-1][::-1],
    lambda a: a.astype(">f8"), lambda a: a.astype(np.float32), lambda a: np.repeat(a, 2, axis=1)[:, ::2], np.ma.asarray,
    lambda a: np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(np.float64).reshape(a.shape)])
def test_any_layout_gives_the_same(worked, change):
    xs = np.arange(1.0, 13.0).reshape(3, 4)
    expected = worked(x=xs, y=xs + 1)["v"]
    given = change(xs)
    before = copy.deepcopy(given)
    got = worked(x=given, y=xs + 1)["v"]
    assert got.tobytes() == expected.tobytes()
    assert np.array_equal(before, given)


def test_out(worked):
    g = worked.grad()
    xs, ys = np.linspace(1, 2, 21), np.linspace(2, 3, 21)
    first = g(x=xs, y=ys)
    copies = {name: a.copy() for name, a in first.items()}
    again = g(x=ys, y=xs, out=first)
    assert all(again[name] is first[name] for name in first)
    assert not np.array_equal(copies["v"], first["v"])
    g(x=xs, y=ys, out=first)
    assert all(np.array_equal(copies[name], first[name]) for name in first)
    scalar = {name: np.empty(()) for name in g.outputs}
    assert float(g(x=2.0, y=5.0, out=scalar)["dv_dx"]) == 5880.0
    assert g(x=xs, y=5.0, out={n: np.empty(21) for n in g.outputs})["v"].shape == (21,)


def test_out_may_overlap_the_inputs(worked):
    g = worked.grad()
    memory = np.linspace(1, 2, 64)
    xs, ys = memory[:30].copy(), memory[10:40].copy()
    expected = g(x=xs, y=ys)
    out = {"v": memory[3:33], "dv_dx": np.empty(30), "dv_dy": np.empty(30)}
    got = g(x=memory[:30], y=memory[10:40], out=out)
    assert all(np.array_equal(got[name], expected[name]) for name in g.outputs)


# ---------------------------------------------------------------- derivatives

def test_gradients(worked):
    g = worked.grad()
    assert (g.inputs, g.outputs) == (("x", "y"), ("v", "dv_dx", "dv_dy"))
    assert g(x=2, y=5) == {"v": 3920.6, "dv_dx": 5880.0, "dv_dy": -0.12}
    for mode in ("auto", "forward", "reverse"):
        assert worked.grad(mode=mode)(x=2, y=4) == {"v": 3920.75, "dv_dx": 5880.0, "dv_dy": -0.1875}
    assert worked.grad(wrt=["y"], of=["v"]).outputs == ("v", "dv_dy")
    assert worked.grad(wrt="y").outputs == ("v", "dv_dy")
    assert worked.grad(wrt=("y", "x", "y")).outputs == ("v", "dv_dy", "dv_dx")


def test_gradients_of_gradients_name_each_derivative_once(worked):
    names = ("v", "dv_dx", "dv_dy", "d2v_dx_dx", "d2v_dx_dy", "d2v_dy_dy")
    twice, at_once = worked.grad().grad(), worked.grad(order=2)
    assert sorted(twice.outputs) == sorted(names)
    assert at_once.outputs == names
    assert twice(x=2, y=4) == at_once(x=2, y=4)
    assert at_once(x=2, y=4)["d2v_dy_dy"] == 6 / 4**3


def test_tangents_and_adjoints(worked):
    forward, reverse = worked.jvp(), worked.vjp()
    assert (forward.inputs, forward.outputs) == (("x", "y", "dx", "dy"), ("v", "dv"))
    assert (reverse.inputs, reverse.outputs) == (("x", "y", "d_dv"), ("v", "d_dx", "d_dy"))
    assert forward(x=2, y=4, dx=1, dy=0) == {"v": 3920.75, "dv": 5880.0}
    assert reverse(x=2, y=4, d_dv=2) == {"v": 3920.75, "d_dx": 11760.0, "d_dy": -0.375}
    assert worked.jvp(wrt=["y"]).inputs == ("x", "y", "dy")
    assert worked.vjp(wrt=["y"]).outputs == ("v", "d_dy")


def test_outputs_are_chosen_after_deriving():
    """Whatever they are: the work of the others is left out, and the status stays that of all."""
    g = adcli.compile("v = x*sin(y); w = abs(x)").grad()
    only = g.only("dv_dy, w")
    assert only.outputs == ("dv_dy", "w") and only(x=2.0, y=0.0) == {"dv_dy": 2.0, "w": 2.0}
    assert "cos" in only.text() and "sin" not in only.text()
    assert only.status(x=0.0, y=1.0) == g.status(x=0.0, y=1.0) == "kink"
    assert only.only(["w"]).outputs == ("w",) and g.only(None).outputs == g.outputs
    with pytest.raises(adcli.AdError, match="no output 'dv_dz'"):
        g.only("dv_dz")


def test_of_keeps_the_outputs_it_names():
    f = adcli.compile("v = x*y; w = x + y")
    assert f.grad(of="w").outputs == ("w", "dw_dx", "dw_dy")
    assert f.jvp(of=["w"]).outputs == ("w", "dw")
    assert (f.vjp(of=["w"]).inputs, f.vjp(of=["w"]).outputs) == (("x", "y", "d_dw"), ("w", "d_dx", "d_dy"))


def test_modes_compose(worked):
    """A Hessian-vector product in three ways: (f'' · (1, 0))."""
    at = {"x": 2.0, "y": 4.0}
    over = worked.jvp().vjp()
    assert over.inputs == ("x", "y", "dx", "dy", "d_dv", "d_ddv")
    assert over.outputs == ("v", "dv", "d_dx", "d_dy", "d_ddx", "d_ddy")
    got = over(at, dx=1, dy=0, d_dv=0, d_ddv=1)
    assert (got["d_dx"], got["d_dy"]) == (5880.0, 0.0)
    inner = worked.grad().jvp()
    assert inner.outputs == ("v", "dv_dx", "dv_dy", "dv", "ddv_dx", "ddv_dy")
    got = inner(at, dx=1, dy=0)
    assert (got["ddv_dx"], got["ddv_dy"]) == (5880.0, 0.0)
    got = worked.vjp().jvp(wrt=["x", "y"])(at, d_dv=1, dx=1, dy=0)
    assert 5880.0 in got.values()


def test_a_zero_seed_drops_what_it_would_have_caused():
    f = adcli.compile("v = sqrt(x) + y")
    assert f.jvp()(x=0, y=1, dx=0, dy=1) == {"v": 1.0, "dv": 1.0}
    assert f.jvp()(x=0, y=1, dx=1, dy=0) == {"v": 1.0, "dv": math.inf}
    found = f.jvp()(x=np.zeros(2), y=1, dx=[0, 1], dy=[1, 0])["dv"]
    assert found.tolist() == [1.0, math.inf]


def test_a_param_is_differentiated_only_where_named():
    f = adcli.compile("param k = 3; v = k*x")
    assert f.grad().outputs == ("v", "dv_dx")
    assert f.grad(wrt="k")(x=2) == {"v": 6.0, "dv_dk": 2.0}


# ---------------------------------------------------------------- text

def test_text_reads_back(worked):
    for function in (worked, worked.grad(), worked.jvp(), worked.vjp()):
        for style in ("nested", "anf", "prefix"):
            again = adcli.compile(function.text(style))
            assert (again.inputs, again.outputs) == (function.inputs, function.outputs)
            at = {name: 2.0 + i for i, name in enumerate(function.inputs)}
            assert again(at) == function(at)


def test_llvm_is_verified(worked):
    for lanes in (1, 2, 4, 8):
        text = worked.grad().llvm(lanes=lanes)
        assert f"rows: begin to end - 1{'; their number' if lanes > 1 else ''}" in text
        jit.verify(text)


def test_values_in_the_order_of_the_inputs(worked):
    """Alone, beside names, as arrays and tensors, and for all methods that take a point."""
    for calls in range(2 * LOOP):   # before and after it is a builtin
        assert worked(2.0, 5.0) == worked(x=2.0, y=5.0) == worked(2.0, y=5.0) == worked({"x": 2.0}, y=5.0), calls
        assert adcli.compile("v = x**2")(3.0) == {"v": 9.0}
    assert worked(2, np.float64(5)) == worked(2.0, 5.0)
    assert worked([2.0, 3.0], 5.0)["v"].tolist() == worked(x=[2.0, 3.0], y=5.0)["v"].tolist()
    assert adcli.compile("input k, A(N), x = 2\nv +=! A(i)*k*x")(3.0, [1.0, 2.0]) == {"v": 18.0}
    g = worked.grad()
    assert g.status(2.0, 5.0) == "smooth" and worked.hessian().sparse(2.0, 5.0).shape == (2, 2)
    assert worked.trace(2.0, 5.0).data == worked.trace(x=2.0, y=5.0).data
    assert worked.check(2.0, 5.0).data == worked.check(x=2.0, y=5.0).data
    assert adcli.compile("v = (x - 1)**2 + y**2").minimize(2.0, 3.0, wrt="x").at == {"x": 1.0, "y": 3.0}


class Frame:
    """What data frames have in common; its columns come as they are."""

    columns = property(lambda self: list(self.data))

    def __init__(self, **columns):
        self.data = columns

    def __getitem__(self, name):
        return self.data[name]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", None])
def test_a_data_frame_has_inputs_and_other_columns(worked, kind):
    columns = {"id": ["a", "b"], "y": [5.0, 4.0], "x": [2, 3]}
    if kind is None:
        frame = Frame(**columns)
    else:
        module = pytest.importorskip(kind)
        frame = (module.table if kind == "pyarrow" else module.DataFrame)(columns)
    assert worked(frame)["v"].tolist() == worked(x=[2.0, 3.0], y=[5.0, 4.0])["v"].tolist()
    assert worked(frame, y=1.0)["v"].tolist() == worked(x=[2.0, 3.0], y=1.0)["v"].tolist()
    assert worked.grad().status(frame).tolist() == ["smooth", "smooth"]
    with pytest.raises(adcli.AdError, match="the data frame has no column 'id_'") as fault:
        adcli.compile("v = x*id_")(frame)
    assert fault.value.help == "did you mean 'id'?"
    with pytest.raises(adcli.AdError, match="other values beside it"):
        worked(frame, 3.0)
    with pytest.raises(adcli.AdError, match="must be real numbers"):
        adcli.compile("v = x*id")(frame)


def test_a_frame_that_is_not_collected(worked):
    frame = pytest.importorskip("polars").LazyFrame({"x": [1.0], "y": [2.0]})
    with pytest.raises(adcli.AdError, match="a LazyFrame is not computed yet") as fault:
        worked(frame)
    assert fault.value.help.startswith("give a data frame: f(frame.collect())")


# ---------------------------------------------------------------- faults


def test_jacobians_and_hessians_by_tensors_are_functions():
    f = adcli.compile("input A(M), x, k = 2\nC(i) +=! A(i)*x*k\nv +=! C(i)**2\noutput C, v")
    at = {"A": [1.0, 3.0], "x": 5.0}
    found = f.jacobian(of="C")(at)
    assert found["dC_dA"].tolist() == [[10.0, 0.0], [0.0, 10.0]] and found["dC_dx"].tolist() == [2.0, 6.0]
    found = f.hessian(of="v")(at)
    assert found["d2v_dA_dA"].tolist() == [[200.0, 0.0], [0.0, 200.0]] and found["d2v_dA_dx"].tolist() == [80.0, 240.0]
    assert found["d2v_dx_dx"] == 80.0
    found = f.taylor(2, wrt="x", of="C")({**at, "dx": 1.0})
    assert [x.tolist() for x in found.values()] == [[10.0, 30.0], [2.0, 6.0], [0.0, 0.0]]


def test_an_error_knows_its_place():
    with pytest.raises(adcli.AdError) as raised:
        adcli.compile("p = x\nv = 2 * tahn(p)", "bad.ad")
    error = raised.value
    assert (error.message, error.line, error.column, error.help) == ("unknown function 'tahn'", 2, 9, "did you mean 'tanh'?")
    assert str(error) == ("bad.ad:2:9: error: unknown function 'tahn'\n    v = 2 * tahn(p)\n            ^^^^\n"
                          "help: did you mean 'tanh'?")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.column == 9


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError):
        adcli.load(tmp_path / "none.ad")
    (tmp_path / "bad.ad").write_bytes(b"v = \xff")
    with pytest.raises(adcli.AdError, match="byte offset 4"):
        adcli.load(tmp_path / "bad.ad")


def test_a_fault_leaves_the_function_usable(worked):
    with pytest.raises(adcli.AdError):
        worked(x="a", y=1)
    assert worked(x=2, y=5) == {"v": 3920.6}


# ---------------------------------------------------------------- the object

PROGRAMS = ["v = exp(sin(x)*y)/(1 + x**2)", "v = x; w = 2; u = x", "input x = nan, y in [0, 1]; param k = 1e-320; v = x*y*k",
            "input x; output x; x = x*x", "v = x > 0 ? log(x) : abs(x)", "v = max(x, y, z)*fma(x, y, z)"]


@pytest.mark.parametrize("text", PROGRAMS)
def test_pickle(text):
    """A Function and its derivatives give the same bits where they arrive, and go on as they would have."""
    f = adcli.compile(text, "some.ad")
    for function in (f, f.grad(), f.grad().grad(), f.jvp(), f.vjp(), f.jvp().grad()):
        again = pickle.loads(pickle.dumps(function))
        assert (again.inputs, again.outputs) == (function.inputs, function.outputs)
        assert [again.text(style) for style in STYLES] == [function.text(style) for style in STYLES]
        assert again.grad().text() == function.grad().text()
        for start in (0.3, -1.7, 0.0):
            at = {name: start + 0.1 * i for i, name in enumerate(function.inputs)}
            assert {k: bits(v) for k, v in again(at).items() if v == v} == {k: bits(v) for k, v in function(at).items() if v == v}
        assert [(p.seed, p.active, p.low, p.high) for p in again.program.params] == \
            [(p.seed, p.active, p.low, p.high) for p in function.program.params]
        assert again.grad().outputs == function.grad().outputs
        assert len(pickle.dumps(function)) < 20_000


def test_copies_are_the_function(worked):
    assert copy.copy(worked) is worked
    assert copy.deepcopy({"f": worked})["f"] is worked


def test_immutable(worked):
    for name in ("inputs", "outputs", "program", "x", "name"):
        with pytest.raises(AttributeError):
            setattr(worked, name, 1)
    before = worked.text()
    worked.grad()
    worked.grad(wrt=["x"])(x=1, y=2)
    assert worked.text() == before


def test_repr_is_small(worked):
    assert repr(worked.grad()) == "<adcli.Function (x, y) -> (v, dv_dx, dv_dy)>"
    wide = adcli.compile("v = " + " + ".join(f"x{i}" for i in range(500)))
    assert repr(wide) == "<adcli.Function (x0, x1, x2, x3, x4, … 500 in all) -> (v)>"


def test_threads():
    """Eight threads compile and call one Function at the same time."""
    g = adcli.compile("".join(f"a{i + 1} = sin(a{i} + x*y)\n" for i in range(60))).grad()
    xs = np.linspace(0, 1, 1001)
    expected = adcli.compile(g.text())(x=xs, y=0.5, a0=1.0)
    wrong = []

    def work(k: int) -> None:
        for i in range(20):
            j = (97 * k + 13 * i) % 1001
            if g(x=float(xs[j]), y=0.5, a0=1.0) != {name: c[j] for name, c in expected.items()}:
                wrong.append(j)
            if any(not np.array_equal(c, expected[name]) for name, c in g(x=xs, y=0.5, a0=1.0).items()):
                wrong.append(-1)

    in_threads(work, 8)
    assert wrong == []


# ---------------------------------------------------------------- threads share the rows

@pytest.mark.parametrize("rows", [0, 1, 7, 8, 4095, 4096, 4097, 100_003])
def test_results_do_not_depend_on_the_number_of_threads(rows):
    g = adcli.compile("v = x*sin(y)/(1 + exp(-x))").grad()
    at = {"x": np.linspace(-3, 3, rows), "y": np.linspace(0, 9, rows)}
    one = g(at, jobs=1)
    for jobs in (2, 3, 16, None):
        several = g(at, jobs=jobs)
        assert all(np.array_equal(one[name], several[name]) for name in one)


def test_inputs_called_out_and_jobs():
    f = adcli.compile("v = out*jobs")
    assert f({"out": 2.0, "jobs": 3.0}) == {"v": 6.0}
    with pytest.raises(adcli.AdError, match=r"write f\({'out': 2.0}\)"):
        f(out=2.0)


def test_the_jacobian_is_every_partial_derivative_of_every_output():
    j = adcli.compile("u = x*y\nw = x - y").jacobian()
    assert j.outputs == ("u", "w", "du_dx", "du_dy", "dw_dx", "dw_dy")
    assert j(x=2.0, y=3.0)["du_dx"] == 3.0


# ---------------------------------------------------------------- names, and the module

@pytest.mark.parametrize("wrt", ["x,y", " y , x ", ["x", "y"], ("y", "x"), None])
def test_names_in_one_text_or_in_several(wrt):
    f = adcli.compile("v = x*y; w = y/x")
    assert set(f.grad(wrt).outputs) == {"v", "w", "dv_dx", "dv_dy", "dw_dx", "dw_dy"}
    assert set(f.jvp(wrt).inputs) == {"x", "y", "dx", "dy"}
    assert f.vjp(of="w,v").outputs[:2] == ("w", "v")
    assert f.grad(of="v:x,y; w:y").outputs == ("v", "w", "d2v_dx_dy", "dw_dy")


def test_the_module_shows_what_is_public():
    assert dir(adcli) == adcli.__all__ == ["AdError", "Function", "__version__", "compile", "load", "to_sympy"]
    assert all(getattr(adcli, name) is not None for name in dir(adcli))
    assert "Function(" in pydoc.plain(pydoc.render_doc(adcli))
    with pytest.raises(AttributeError, match="no attribute 'gradient'"):
        adcli.gradient  # noqa: B018


# ---------------------------------------------------------------- the status

STATUS_ROWS = [("sqrt(x)*y", 0.0, 1.0), ("sqrt(x)*y", 1.0, 0.0), ("abs(x)*y", 0.0, 1.0), ("floor(x)+y", 2.0, 1.0),
               ("y/x", 0.0, 1.0), ("log(x)*y", -1.0, 1.0), ("x > 0 ? log(x) : y", -1.0, 1.0), ("sqrt(x)**2 + y", 0.0, 1.0),
               ("x*y", math.nan, 1.0)]
VERBS = {"eval": lambda f: f, "grad": lambda f: f.grad(), "jvp": lambda f: f.jvp(), "vjp": lambda f: f.vjp(),
         "jacobian": lambda f: f.jacobian("x"), "hessian": lambda f: f.hessian("x"), "taylor": lambda f: f.taylor(2, "y")}
SEEDS = {"jvp": {"dx": 1.0, "dy": 1.0}, "vjp": {"d_dv": 1.0}, "taylor": {"dy": 1.0}}
OPTIONS = {"jacobian": ["--wrt", "x"], "hessian": ["--wrt", "x"], "jvp": ["--tangent", "x=1,y=1"],
           "taylor": ["--order", 2, "--tangent", "y=1"]}


@pytest.mark.parametrize("verb, row", each_choice([*VERBS], STATUS_ROWS))
def test_the_status_is_that_of_the_command(verb, row):
    text, x, y = row
    g = VERBS[verb](adcli.compile(f"v = {text}"))
    options = ["--at", f"x={x},y={y}", "--format", "json", *OPTIONS.get(verb, ())]
    shown = adcli_command(verb, "-e", f"v = {text}", *options).records[0]
    assert g.status(x=x, y=y, **SEEDS.get(verb, {})) == shown["status"]
    assert pickle.loads(pickle.dumps(g)).status({"x": x, "y": y, **SEEDS.get(verb, {})}) == shown["status"]


def test_the_status_of_arrays_is_an_array_of_words():
    g = adcli.compile("v = sqrt(x)*y; w = abs(y)").grad()
    found = g.status(x=[0.0, 1.0, -1.0], y=[[1.0], [0.0]])
    assert found.tolist() == [[g.status(x=x, y=y) for x in (0.0, 1.0, -1.0)] for y in (1.0, 0.0)]
    assert g.status(x=np.zeros((0, 3)), y=1.0).shape == (0, 3)
    assert adcli.compile("v = sqrt(x)*y; w = abs(y)").grad(of="w").status(x=0.0, y=1.0) == "smooth"
    assert adcli.compile("v = sqrt(out)/jobs").status(out=1.0, jobs=0.0) == "pole"
    largest = adcli.compile("input A(N); s max=! A(i)").grad()
    assert (largest.status(A=[1, 1]), largest.status(A=[1, 2])) == ("kink", "smooth")


# ---------------------------------------------------------------- depth

DEEP = 1100
"""Levels: more than Python has frames."""


def in_turn(n):
    """All rows of the table that a text can call, one inside the other."""
    rows = [p for p in TABLE.values() if p.kind(0) == "r" and not p.truth and not p.static and p.outs == 1 and p.name != "select"]
    text = "x"
    for _, row in zip(range(n), itertools.cycle(rows), strict=False):
        text = f"{row.name}({text}{', y' * (row.arity - 1)})"
    return text


@pytest.mark.parametrize("value", [
    "(" * DEEP + "x" + ")" * DEEP, "-" * DEEP + "x", "x" + "**-y" * DEEP, "x - (" * DEEP + "y" + ")" * DEEP,
    "x < 1 ? y : " * DEEP + "x", "(" * DEEP + "x" + " < 1 ? y : x)" * DEEP, "not " * DEEP + "(x < 1) ? 1 : y",
    "(x < 1 and " * DEEP + "y < 2" + ")" * DEEP + " ? 1 : y", in_turn(DEEP)],
    ids=["parentheses", "minus", "power", "minus right", "else", "condition", "not", "and", "rows in turn"])
def test_what_is_nested_deeper_than_the_stack_of_python(value):
    f = adcli.compile(f"v = {value}")
    assert equal(parse(f.text()), f.program) and equal(pickle.loads(pickle.dumps(f)).program, f.program)
    if "**" not in value:   # whose derivatives take long
        assert f.grad(mode="reverse").outputs[0] == "v"


@pytest.mark.parametrize("statement", [
    "v +=! A(i) where " + "i >= 0 and (" * DEEP + "i >= 1" + ")" * DEEP,
    "v +=! A(i) where " + "(" * DEEP + "i >= 1" + ")" * DEEP, "v +=! A(" + "(" * DEEP + "i" + ")" * DEEP + ")",
    "v +=! " + "A(i) < 1 ? x : " * DEEP + "A(i)", "v +=! " + "not " * DEEP + "A(i) < 1 ? 1 : x"],
    ids=["and", "parentheses", "subscript", "else", "not"])
def test_what_is_nested_deep_in_a_statement_of_tensors(statement):
    f = adcli.compile(f"input A(N), x\n{statement}")
    assert equal(pickle.loads(pickle.dumps(f)).program, f.program)
    assert f.jvp().outputs == ("v", "dv")


def test_a_thread_with_a_small_stack_records_and_differentiates_a_long_function():
    def long(x):
        for _ in range(1500):
            x = x + 1
        return x
    found, before = [], threading.stack_size(64 << 10)
    try:
        thread = threading.Thread(target=lambda: found.append(pickle.loads(pickle.dumps(adcli.compile(long).grad())).outputs))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert found == [("f", "df_dx")]


def test_the_name_of_a_file_is_no_program():
    with pytest.raises(adcli.AdError, match=r"'models/f\.ad' is the name of a file\nhelp: write adcli\.load\('models/f\.ad'\)"):
        adcli.compile("models/f.ad")
