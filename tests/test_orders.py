"""Law 9: every order of the two modes and Taylor coefficients give the same derivatives to order 3, in value and status, at every
special point of every row; where that is smooth they are the limits, and what is infinite beside a finite value is singular."""
from __future__ import annotations

import itertools
import math

import pytest
from adcli.lang.ir import SINGULAR, SMOOTH, Primitive
from adcli.lang.ir.special_rows import DERIVATIVES
from adcli.lang.lower.frontend import parse
from back_ends import MODES
from one_operation import REAL, few_costly, number_of_points, orders, program
from orders import Orders, alike, elements, of_elements
from row_tables import each_row
from session_seed import drawn, part

INF = math.inf
FINITE = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0]
BEYOND = [INF, -INF, 1e-300, -1e-300, 1e300, 40.0, -800.0]
OVERFLOWS = {"hypot", "unit", "atan2", "div", "expint_ei"}
"""Rows whose derivatives have powers of a reciprocal as factors, so beside 1e-300 intermediate products are out of range."""
STATICS = {"pown": [(-2,), (-1,), (0,), (1,), (2,), (70,)], "polygamma": [(0,), (1,)], "dxlogy": [(0,), (2,)],
           "derfcx": [(0,), (2,)],
           **{name: orders(name, (0, 1)) for name in DERIVATIVES}, "dpow": [(0, 0), (1, 0), (0, 1), (2, 1)]}
CASES = [(op, static, count) for op in few_costly(REAL) if op.name != "stop" for static in STATICS.get(op.name, [()])
         for count in ((2, 3) if op.variadic else (op.arity,))]
MOST = 60
"""Points at which a row is looked at, drawn where there are more."""


def named(case: tuple[Primitive, tuple[int, ...], int]) -> str:
    op, static, count = case
    return f"{op.name}{count}{static or ''}"


def points(op: Primitive, names: list[str], values: list[float]) -> list[dict[str, float]]:
    found = list(itertools.product(values, repeat=len(names)))
    most = number_of_points(op, MOST)
    if len(found) > most:
        found = drawn("orders", op.name).sample(found, most)
    return [dict(zip(names, x, strict=True)) for x in found]


@each_row("case", CASES, ids=named)
def test_all_orders_of_modes_agree(case):
    op, static, count = case
    p = program(op, static, count)
    names = [x.name for x in p.params]
    orders = Orders(p, 3 if count < 3 else 2, [x for x in names if not x.startswith("c")])
    for point in points(op, names, FINITE if op.name in OVERFLOWS else [*FINITE, *BEYOND]):
        assert list(orders.disagreements(point)) == []


@each_row("case", part(CASES, 3), ids=named)
def test_smooth_derivatives_are_limits_and_infinite_ones_are_singular(case):
    op, static, count = case
    p = program(op, static, count)
    names = [x.name for x in p.params]
    orders = [Orders(p, k, [x for x in names if not x.startswith("c")]) for k in range(1, 4 if count < 3 else 3)]
    for point in points(op, names, FINITE):
        limits = None   # those of a higher order are those of a lower one too
        for one in reversed(orders):
            got = one.forward(point)
            infinite = any(math.isinf(x) for name, x in got.items() if name != "z")
            if math.isfinite(got["z"]) and infinite:
                assert got["status"] >= SINGULAR, (point, got)
            if got["status"] == SMOOTH:
                limits = limits or one.limits(point)
                assert list(one.wrong_limits(point, got, limits)) == []


def text_of_elements(op: Primitive, static: tuple[int, ...], count: int) -> str:
    """The row on every element of its inputs."""
    constants = dict(zip(op.static, static, strict=True))
    names = [f"{'c' if op.kind(i) == 't' else 'x'}{i}" for i in range(count)]
    args = [str(constants[i]) if i in constants else f"{n}(i) < 0" if n[0] == "c" else f"{n}(i)" for i, n in enumerate(names)]
    inputs = ", ".join(f"{n}(N)" for i, n in enumerate(names) if i not in constants)
    return f"input {inputs}\nz(i) = {op.spelled or op.name}({', '.join(args)})\noutput z"


@each_row("case", part([case for case in CASES if case[2] < 4 or case[0].static], 3), ids=named)
def test_the_elements_of_tensors_have_the_same_second_derivatives(case):
    op, static, count = case
    p = program(op, static, count)
    names = [x.name for x in p.params]
    orders, tensors = Orders(p, 2, [x for x in names if x[0] != "c"]), parse(text_of_elements(op, static, count))
    at = points(op, names, FINITE)
    columns = {name: [point[name] for point in at] for name in names}
    wanted = [orders.forward(point) for point in at]
    for r in orders.plain.results:
        if len(r.wrt) == 2:
            for first, second in itertools.product(MODES, repeat=2):
                got = elements(of_elements(tensors, "z", [(first, r.wrt[0]), (second, r.wrt[1])]), columns)
                wrong = [(point, x, want[r.name]) for point, x, want in zip(at, got, wanted, strict=True)
                         if not alike(x, want[r.name])]
                assert not wrong, (r.name, first, second, wrong)


# ---------------------------------------------------------------- compositions

MIXED = [   # formula, point, derivatives that are limits, by the inputs in order
    ("x**y", {"x": 0.0, "y": 1.0}, {"xy": -INF, "xx": 0.0, "yy": 0.0, "x": 1.0}),
    ("x**y", {"x": 0.0, "y": 2.0}, {"xy": 0.0, "xxy": -INF, "xx": 2.0}),
    ("x**y", {"x": 0.0, "y": 0.5}, {"xy": -INF, "xx": -INF, "yy": 0.0}),
    ("x**y", {"x": 5e-324, "y": 0.0}, {"xy": INF, "x": 0.0}),
    ("3*x**k", {"x": 0.0, "k": 1.0}, {"xk": -INF}), ("(a + b)**p", {"a": 0.5, "b": -0.5, "p": 1.0}, {"ap": -INF, "bp": -INF}),
    ("tanh(x)**y", {"x": 0.0, "y": 1.0}, {"xy": -INF, "xx": 0.0}), ("x**y*y", {"x": 0.0, "y": 1.0}, {"xy": -INF}),
    ("exp(-x)*y**x", {"x": 1.0, "y": 0.0}, {"xy": -INF}), ("xlogy(x, y)", {"x": 0.0, "y": 0.0}, {"xy": INF, "xyy": -INF}),
    ("xlogy(x, y)", {"x": 0.0, "y": 2.0}, {"xy": 0.5, "yy": 0.0}), ("acosh(x)", {"x": 1.0}, {"x": INF, "xx": -INF, "xxx": INF}),
    ("(x*y + 1)**(x - y)", {"x": 2.0, "y": -0.5}, {"x": 0.0, "xx": 0.5 ** 2 * 2.5 * 1.5 * 0.0 ** 0.5}),
]


@each_row(("text", "at", "wanted"), MIXED)
def test_mixed_derivatives_beside_the_edge_of_a_domain(text, at, wanted):
    orders = Orders(parse(f"input {', '.join(at)}\nv = {text}"), 3)
    assert list(orders.disagreements(at)) == []
    for got in orders.at(at).values():
        for wrt, want in wanted.items():
            [name] = [r.name for r in orders.plain.results if r.wrt == tuple(wrt)]
            assert got[name] == pytest.approx(want, abs=1e-12), name


PARTS = ["x", "y", "x**y", "y**x", "abs(x)**y", "tanh(x)**y", "(x + y)**2.5", "xlogy(x, y)", "x*y", "hypot(x, y)", "atan2(y, x)",
         "exp(-x)", "log1p(y)", "sqrt(x)", "x**1.5", "fmod(x, 3)", "max(x, y)", "clamp(x, -1, 1)", "acosh(1 + x)", "cbrt(y)",
         "(x > 0 ? x*x : -x)", "2**y", "sigmoid(x - y)", "x**3", "1/(2 + x)"]
FORMS = ["{}", "({} + {})", "({} * {})", "({} - {})", "sin({})", "exp({})", "({})**2", "tanh({} + {})", "(3 + {})**({})"]


@each_row("seed", range(15))
def test_smooth_compositions_have_their_limits_in_all_orders_of_modes(seed):
    """Whatever its value, what is called smooth is what derivatives beside the point tend to."""
    r = drawn("compositions", seed)
    form = r.choice(FORMS)
    p = parse("input x, y\nv = " + form.format(*[r.choice(PARTS) for _ in range(form.count("{}"))]))
    orders = [Orders(p, k) for k in (1, 2)]
    for point in [dict(zip("xy", at, strict=True)) for at in itertools.product((0.0, 1.0, 0.5, -1.0, 2.0), repeat=2)]:
        for one in orders:
            found = one.at(point).values()
            for got in found:
                infinite = any(math.isinf(x) for name, x in got.items() if name != "v")
                assert not (math.isfinite(got["v"]) and infinite and got["status"] < SINGULAR), (p, point, got)
            if any(got["status"] == SMOOTH for got in found):   # elsewhere 0·inf can be in another place
                assert [*one.disagreements(point), *one.wrong_limits(point, one.forward(point), one.limits(point))] == []


@each_row("line", [
    "v = 0**y", "v = (-2)**y", "v = 2**y", "v = x**2.5", "v = x**-0.5", "v = x**100", "v = x**(y + 0.5)", "v = x**x",
    "v = stop(x)**y", "v = x**stop(y)", "param p = 1; v = x**p", "param a = 0; v = a**y", "v = dpow(x, 2.5, 1, 0)",
    "v = dpow(2, y, 0, 1)", "v = xlogy(y, x) + x**y"])
def test_bases_and_exponents_that_do_not_vary(line):
    orders = Orders(parse(line), 3)
    fixed = {p.name: p.default for p in orders.program.params if not p.active}
    for at in itertools.product((0.0, -0.0, 1.0, -1.0, 0.5, 3.0), repeat=len(orders.wrt)):
        point = {**dict(zip(orders.wrt, at, strict=True)), **fixed}
        assert list(orders.disagreements(point)) == []
        if (got := orders.forward(point))["status"] == SMOOTH:
            assert list(orders.wrong_limits(point, got, orders.limits(point))) == []
