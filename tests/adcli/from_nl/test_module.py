"""Models in .nl files: every operation, terms of one shape, what is refused and where, and the answer for AMPL and Pyomo."""
from __future__ import annotations

import json
import math
import os
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from adcli.lang.ir.errors import AdError
from command import adcli
from hock_schittkowski import FOUND, PROBLEMS, UNSHOWN
from hock_schittkowski_models import WRITTEN, evaluated, pyomo_model, start_of
from nl_files import binary, nl
from places import ROOT
from session_seed import half

import adcli as api
from adcli.from_nl import module
from adcli.solvers.scalar_function import vector_function

DATA = ROOT / "tests" / "data" / "nl"
X = (0.6, -1.7)
OPERATIONS = [
    ("o0 v0 v1", "x + y"), ("o1 v0 v1", "x - y"), ("o2 v0 v1", "x * y"), ("o3 v0 v1", "x / y"), ("o4 v1 v0", "math.fmod(y, x)"),
    ("o5 v1 n3", "y**3"), ("o5 v0 n-1.5", "x**-1.5"), ("o5 v0 v1", "x**y"), ("o6 v0 v1", "max(x - y, 0)"), ("o6 v1 v0", "0.0"),
    ("o11 3 v0 v1 n2", "min(x, y, 2)"), ("o12 2 v0 v1", "max(x, y)"), ("o12 1 v1", "y"), ("o13 v1", "math.floor(y)"),
    ("o14 v1", "math.ceil(y)"), ("o15 v1", "abs(y)"), ("o16 o5 v0 n2", "-x**2"), ("o35 o22 v0 v1 n1 v1", "y"),
    ("o35 o20 o23 v0 v1 o28 v0 n0.6 v0 v1", "x"), ("o35 o21 o24 v0 n0.6 o29 v0 v1 n3 n4", "3"), ("o35 o30 v0 n0.6 n3 n4", "4"),
    ("o35 o34 o22 v0 v1 v0 v1", "x"), ("o35 o70 3 o22 v1 v0 o22 n0 v0 o22 v0 n1 n1 n2", "1"),
    ("o35 o71 2 o22 v0 v1 o22 v0 n0 n1 n2", "2"), ("o35 o72 o22 v1 v0 o22 v0 n0 o22 n0 v0 n1 n2", "2"),
    ("o35 o73 o22 v1 v0 o22 n0 v0 n1 n2", "1"), ("o35 v0 n1 n2", "1"), ("o2 n3 o22 v1 v0", "3"), ("o37 v1", "math.tanh(y)"),
    ("o38 v1", "math.tan(y)"), ("o39 v0", "math.sqrt(x)"), ("o40 v1", "math.sinh(y)"), ("o41 v1", "math.sin(y)"),
    ("o42 v0", "math.log10(x)"), ("o43 v0", "math.log(x)"), ("o44 v1", "math.exp(y)"), ("o45 v1", "math.cosh(y)"),
    ("o46 v1", "math.cos(y)"), ("o47 v0", "math.atanh(x)"), ("o48 v1 v0", "math.atan2(y, x)"), ("o49 v1", "math.atan(y)"),
    ("o50 v1", "math.asinh(y)"), ("o51 v0", "math.asin(x)"), ("o52 o1 n1 v1", "math.acosh(1 - y)"), ("o53 v0", "math.acos(x)"),
    ("o54 4 v0 v1 n2.5 o2 v0 v1", "x + y + 2.5 + x*y"), ("o55 v1 v0", "-2.0"), ("o57 o2 n10 v1 n0", "-17.0"),
    ("o57 o2 v1 v0 n1", "-1.0"), ("o58 o2 v1 v0 n1", "-1.0"), ("o58 v1 n0", "-1.0"), ("o59 3 o22 v1 v0 o22 v0 v1 o29 v0 n0", "2"),
    ("o60 5 n1 v0 n1 n1 v1", "2"), ("o35 o62 n2 o59 2 o22 v1 v0 o22 n0 v0 n1 n2", "1"),
    ("o35 o68 n2 o59 2 o22 v1 v0 o22 n0 v0 n1 n2", "2"), ("o64 3 n-1 n-1 n2 n0.5 n5 v0", "x*2 + 3*(x - 0.5)"),
    ("o64 3 n-1 n-1 n2 n0.5 n5 v1", "-2 + (y + 1)*-1"), ("o76 v0 n2.5", "x**2.5"), ("o77 v1", "y**2"), ("o78 n2 v1", "2**y"),
    ("o0 v2 o2 v3 v0", "x*y + (x + x*y)*x"), ("o41 s2", "math.sin(2)"), ("l3", "3"),
    ("o44 o54 13" + " o2 n0.01 v0"*6 + " v1"*7, "math.exp(0.06*x + 7*y)")]
COMMON = ("o2 v0 v1", "o0 v0 v2")


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes a model, and gives its name."""
    monkeypatch.chdir(tmp_path)

    def write(content, name="m.nl"):
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return name
    return write


def flat(found):
    return [float(x) for value in found.values() for x in np.ravel(value)]


@pytest.mark.parametrize("form", ["text", "<", ">"])
def test_every_operation(written, form):
    text = nl([each for each, _ in OPERATIONS], 2, start=X, common=COMMON)
    want = [float(eval(formula, {"math": math, "x": X[0], "y": X[1]})) for _, formula in OPERATIONS]
    objective, *found = flat(api.load(written(text if form == "text" else binary(text, form)))())
    assert objective == 0
    for (each, _), got, expected in zip(OPERATIONS, found, want, strict=True):
        assert got == pytest.approx(expected, rel=1e-14), each


def drawn(r, depth, variables):
    """A random expression of a few shapes."""
    if depth == 0 or r.random() < 0.2:
        return f"v{r.randrange(variables)}" if r.random() < 0.8 else f"n{r.uniform(0.5, 2)!r}"
    parts = [drawn(r, depth - 1, variables) for _ in range(14)]
    x, y, *_ = parts
    return r.choice([f"o0 {x} {y}", f"o2 {x} {y}", f"o41 {x}", f"o5 {x} n{r.choice((2, 3))}", f"o1 {x} {y}", f"o16 {x}",
                     f"o46 o54 14 {' '.join(parts)}"])


def large_model(r, variables=6, rows=12):
    common = [drawn(r, 1, variables + k) for k in range(4)]
    linear = [(i, j, r.choice((1.0, -1.0, r.uniform(-2, 2)))) for i in range(0, rows, 2) for j in r.sample(range(variables), 3)]
    limits = [r.choice(("4 1.5", "0 -1 2", "1 3", "2 -2.5")) for _ in range(rows)]
    bounds = [r.choice(("3", "0 -4 4", "1 3", "2 -2.5")) for _ in range(variables)]
    return nl([f"o0 o2 v0 v{k % variables} {drawn(r, 2, variables + 4)}" for k in range(rows)], variables,
              f"o0 v0 {drawn(r, 3, variables)}", bounds, limits,
              [r.uniform(-1, 1) for _ in range(variables)], common, linear)


def derivatives_of(name):
    """Values, Jacobian and the Hessian of the sum with some weights of all outputs of a model."""
    from adcli.solvers.minimize import stated
    f = api.load(name)
    at = {p.name: p.default for p in f.program.params}
    function = stated(f.program, None, None, (), False, at).function
    x = function.start(at)
    weights = np.cos(np.arange(len(function.fun(x))))
    dense = [np.asarray(m.todense()) if hasattr(m, "todense") else m for m in (function.jac(x), function.hess(x, weights))]
    return function.fun(x), *dense


@pytest.mark.parametrize("seed", half(range(2)))
def test_tables_say_what_names_say(written, monkeypatch, seed):
    """A model in tables has the values and derivatives that it has written out."""
    name = written(large_model(random.Random(seed)))
    long = derivatives_of(name)
    monkeypatch.setattr(module, "FEW", -1)
    for got, want in zip(derivatives_of(name), long, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)


def test_why_names_the_line_of_the_row_among_many(written):
    start = [-1.0 if k == 97 else 2.0 for k in range(150)]
    name = written(text := nl([f"o43 v{k}" for k in range(150)], 150, "o5 v0 n2", start=start))
    line = text.split("\n").index("C97") + 2   # its expression
    assert f"m.nl:{line}:1: in c(97), log(u) at u = x(97) = -1.0 is nan" in adcli("why", name).out
    assert f"m.nl:{line}:1: note: log(u) at u = -1.0, k = 97 is nan" in adcli("eval", name).err


def test_rows_of_one_shape_are_one_statement(written):
    """x'' = -sin(x) at 4,000 points, and a sum of as many squares."""
    n = 4_000
    rows = [f"o54 4 v{k} o2 n-2 v{k + 1} v{k + 2} o2 n0.01 o41 v{k + 1}" for k in range(n)]
    squares = " ".join(f"o5 v{k} n2" for k in range(n))
    name = written(nl(rows, n + 2, f"o54 {n} {squares}", limits=["4 0"] * n))
    shown = adcli("show", name).out
    assert "c(k) = x(k) + x(k + 2) - 2 * x(k + 1) + 0.01 * sin(x(k + 1)) where k in 0:4000" in shown
    assert "objective +=! x(k)**2 where k in 0:4000" in shown and shown.count("\n") == 6
    x = np.linspace(0, 1, n + 2)
    found = api.load(name)(x=x)
    np.testing.assert_allclose(found["c"], x[:-2] - 2*x[1:-1] + x[2:] + 0.01*np.sin(x[1:-1]), atol=1e-15)
    assert found["objective"] == pytest.approx(np.sum(x[:-2]**2), rel=1e-14)


# ---------------------------------------------------------------- what is wrong with a file

SMALL = nl(["o2 v0 v1", "o41 v2"], 3, "o5 v0 n2", ["0 0 1", "3", "2 0"], ["4 1", "1 2"], [1.0, 2.0, 3.0], (),
           [(0, 2, 1.5), (1, 0, 1.0)])


@pytest.mark.parametrize(("old", "new", "line", "said"), [
    ("o41", "o56", "m.nl:16:1", "o56, precision(x, n), is not read"),
    ("o41", "f0 1", "m.nl:16:1", "imported functions are not read"),
    ("o41", "o99", "m.nl:16:1", "expected an expression, which begins with o, n or v, not 'o99'"),
    ("o41\nv2", "o41\nv7", "m.nl:17:1", "there are 3 variables and common expressions, from 0 on"),
    ("o41\nv2", "o41\nv2x", "m.nl:17:1", "'2x' is no number"),
    ("o41\nv2\n", "o41\n", "m.nl:15:1", "the expression ends too early"),
    ("o41\nv2\n", "o41\nv2\nv1\n", "m.nl:18:1", "expected the end of the expression"),
    ("C1", "L1", "m.nl:15:1", "logical constraints are not read"),
    ("C1", "F1 0 0 name", "m.nl:15:1", "imported functions are not read"),
    ("C1", "C5", "m.nl:15:1", "C5 is beyond what the header counts"),
    ("C1", "C0", "m.nl:15:1", "C0 is there twice"),
    ("4 1\n", "5 1 2\n", "m.nl:27:1", "complementarity is not read"),
    ("4 1\n", "7 1\n", "m.nl:27:1", "expected bounds"),
    ("J0 1\n2 1.5", "J0 1\n9 1.5", "m.nl:33:1", "the variables are 0 to 2"),
    ("J0 1\n2 1.5", "J0 2\n2 1.5", "m.nl:33:1", "expected 2 lines"),
    (" 3 2 1 0 0", " 3 2", "m.nl:2:1", "line 2 of the header has the numbers of variables, constraints and objectives"),
    ("g3 1 1 0", "x3 1 1 0", "m.nl", "not a .nl file: it begins with 'x', not with g or b")])
def test_what_is_wrong_has_its_place(written, old, new, line, said):
    assert old in SMALL
    result = adcli("eval", written(SMALL.replace(old, new, 1)))
    assert result.code == 3
    assert f"{line}: error: {said}" in result.err


def test_files_that_are_cut_or_changed_are_refused_or_read(written):
    r = random.Random(7)
    forms = [SMALL.encode(), binary(SMALL), binary(SMALL, ">")]
    changed = [data[:k] for data in forms for k in range(0, len(data), 3)]
    for data in forms:
        for _ in range(100):
            other = bytearray(data)
            other[r.randrange(len(data))] = r.choice(b"0123456789ovnCJxrb\n \0\xff")
            changed.append(bytes(other))
    refused = 0
    for data in changed:
        try:
            module.read(module.decode(data, "m.nl"), None, {}, {})
        except AdError as fault:
            refused += 1
            assert str(fault).startswith("m.nl")
    assert refused > len(changed) / 2
    for data in (b"", forms[1][:200], forms[1].replace(b"0 0 1 1\n", b"0 0 2 1\n")):
        assert adcli("eval", written(data)).code == 3


# ---------------------------------------------------------------- minima, and answers for AMPL

@pytest.mark.parametrize(("rows", "objective", "bounds", "limits", "code"), half([
    ((), "o5 o0 v0 n-2 n2", ["3"], (), 0), (("v0",), "o5 v0 n2", ["3"], ("2 3",), 0),
    (("o5 v0 n2",), "v0", ["3"], ("4 -1",), 200), ((), "v0", ["3"], (), 300), ((), "o5 v0 n3", ["0 -1 0"], (), 0)]))
def test_the_answer_for_ampl(written, rows, objective, bounds, limits, code):
    stub = written(nl(rows, 1, objective, bounds, limits, [-0.5])).removesuffix(".nl")
    result = adcli(stub, "-AMPL", "max_iter=9")
    assert (result.code, result.err.count("note: adcli has no option max_iter")) == (0, 1)
    lines = Path(f"{stub}.sol").read_text().split("\n")
    at = lines.index("Options")
    assert lines[at + 1:at + 9] == ["3", "1", "1", "0", *map(str, [len(rows)]*2), "1", "1"]
    assert lines[-2] == f"objno 0 {code}"
    if code == 0:
        *duals, x = map(float, lines[at + 9:-2])
        assert (x, duals) == {"o5 o0 v0 n-2 n2": (2.0, []), "o5 v0 n2": (3.0, [6.0]), "o5 v0 n3": (-1.0, [])}[objective]


def test_a_model_without_an_objective_asks_for_any_point(written):
    text = nl(["o5 v0 n2"], 1, limits=["4 4"], start=[1.0]).replace(" 1 1 1 0 0", " 1 1 0 0 0").replace("O0 0\nn0\n", "")
    result = adcli("minimize", written(text))
    assert result.code == 0
    assert result.out.startswith("x0 = 2.0\nobjective = 0.0\n")


def test_whole_numbers_are_any_numbers_and_no_answer_for_ampl(written):
    name = written(nl((), 2, "o0 o5 v0 n2 o5 o1 v1 n0.5 n2", start=[1.0, 1.0]).replace(" 0 0 0 0 0\n", " 0 1 0 0 0\n", 1)
                   .replace(" 2 2 2\n", " 0 1 0\n"))
    result = adcli("minimize", name)
    assert "note: x1: whole numbers in the model, any numbers here" in result.err
    assert "x1 = 0.5" in result.out
    for words in ((name,), ("-", "--from", "nl"), ("-e", "v = (x - 1)**2", "--at", "x=0")):
        assert adcli("minimize", *words, "-AMPL", stdin=SMALL.encode()).code == 2


def test_a_model_of_pyomo_from_the_tests(monkeypatch):
    """Files that Pyomo has written; see tests/data/README.md."""
    monkeypatch.chdir(DATA)
    for name, least in (("hs071", 17.0140173), ("hs118", 664.82045), ("../../../samples/pendulum_control", None)):
        result = adcli("minimize", f"{name}.nl", "--format", "json")
        found = json.loads(result.out)
        assert found["minimum"], result.out
        if least:
            assert next(iter(found["value"].values())) == pytest.approx(least, rel=1e-8)
    shown = adcli("show", "../../../samples/pendulum_control.nl").out
    assert "turn(k) = -0.05 * speed(k) - 0.05 * speed(k + 1) - angle(k) + angle(k + 1) where k in 0:40" in shown
    assert "limit(k) = t(k) where k in 0:41" in shown


def test_a_program_that_is_kept_takes_its_tables_from_the_model(written):
    name = written(nl([f"o2 v{k} o41 v{(7*k) % 120}" for k in range(120)], 120, "o5 v0 n2", start=[0.1 + k for k in range(120)]))
    written(adcli("show", name).out, "kept.ad")
    assert adcli("eval", "kept.ad", "--at", f"@{name}").out == adcli("eval", name).out


# ---------------------------------------------------------------- Pyomo

@pytest.fixture
def solver(monkeypatch, tmp_path):
    """The command adcli where Pyomo looks for a solver."""
    pytest.importorskip("pyomo.environ")
    command = tmp_path / "adcli"
    command.write_text(f"#!{sys.executable}\nimport sys\nfrom adcli.__main__ import main\nsys.exit(main())\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.chdir(tmp_path)


@pytest.mark.engine
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", WRITTEN)
def test_minima_of_hock_and_schittkowski(solver, number):
    """Pyomo's model has the published minimum."""
    pyomo_model(PROBLEMS[number]).write("m.nl")
    found = json.loads(adcli("minimize", "m.nl", "--format", "json").out)
    assert found["verdict"] == UNSHOWN[number] if number in UNSHOWN else found["minimum"]
    least = FOUND.get(number, PROBLEMS[number].least)
    assert found["value"]["objective"] == pytest.approx(least, rel=1e-6, abs=1e-3 if number == 13 else 1e-6)


@pytest.mark.engine
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", [20, 42, 56, 62, 73, 81, 112, 113])
def test_derivatives_of_hock_and_schittkowski(solver, number):
    """The Jacobian and the Hessian of the Lagrangian beside the start are those that JAX has of the formulas."""
    import jax
    jax.config.update("jax_enable_x64", True)
    problem = PROBLEMS[number]
    pyomo_model(problem).write("m.nl", io_options={"symbolic_solver_labels": True})
    x = np.array(start_of(problem))
    x += 0.01 * np.cos(np.arange(len(x)))
    maths = {name: getattr(jax.numpy, name) for name in ("exp", "log", "sin", "cos", "sqrt")}
    program = api.load("m.nl").program
    order = np.array([int(p.name.removeprefix("x_")) - 1 for p in program.params])
    rows = [0 if r.name == "objective" else int(r.name.removeprefix("condition_")) for r in program.results]
    function = vector_function(program, [p.name for p in program.params], {}, {p.name: 0.0 for p in program.params})
    weights = np.cos(np.arange(len(rows)))

    def values(x):
        return jax.numpy.stack([jax.numpy.asarray(v, float) for v in evaluated(problem, list(x), maths)])[np.array(rows)]
    want = jax.jacobian(values)(x)[:, order], jax.hessian(lambda x: weights @ values(x))(x)[order][:, order]
    for got, expected in zip((function.jac(x[order]), function.hess(x[order], weights)), want, strict=True):
        np.testing.assert_allclose(getattr(got, "toarray", lambda got=got: got)(), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.engine
def test_pyomo_takes_adcli_for_a_solver(solver):
    import pyomo.environ as pyomo
    m = pyomo_model(PROBLEMS[71])
    m.dual = pyomo.Suffix(direction=pyomo.Suffix.IMPORT)
    result = pyomo.SolverFactory("asl:adcli").solve(m)
    assert result.solver.termination_condition == pyomo.TerminationCondition.optimal
    assert pyomo.value(m.objective) == pytest.approx(17.0140173)
    assert [m.dual[c] for c in m.condition.values()] == pytest.approx([0.5522937, -0.1614686], rel=1e-6)
    m.no = pyomo.Constraint(expr=m.x[1] + m.x[2] <= 1)
    result = pyomo.SolverFactory("asl:adcli").solve(m, load_solutions=False)
    assert result.solver.termination_condition == pyomo.TerminationCondition.infeasible
