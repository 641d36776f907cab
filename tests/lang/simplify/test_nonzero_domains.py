"""Tensors that say which derivatives exist are conditions on indices wherever that is known, and the zero rule stays."""
from __future__ import annotations

import re

import numpy as np
import pytest
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import Program
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoint_program, adjoints, evaluation_program, tangent_program, tangents
from adcli.lang.passes.zero_seeds import drop_zero_seeds
from adcli.lang.printing.printer import print_program
from adcli.lang.simplify.simplify import simplify
from row_tables import each_row
from session_seed import drawn

ATTENTION = """\
input Q(T, D), K(T, D), V(T, D)
s(t, u) +=! Q(t, d) * K(u, d) / sqrt(D)
l(t) lse=! s(t, u) where t >= u
p(t, u) = exp(s(t, u) - l(t)) where t >= u
y(t, d) +=! p(t, u) * V(u, d) where t >= u
"""
BY_MAXIMUM = """\
input Q(T, D), K(T, D), V(T, D)
s(t, u) +=! Q(t, d) * K(u, d) / sqrt(D)
m(t) max=! s(t, u) where t >= u
e(t, u) = exp(s(t, u) - stop(m(t))) where t >= u
z(t) +=! e(t, u) where t >= u
p(t, u) = e(t, u) / z(t) where t >= u
y(t, d) +=! p(t, u) * V(u, d) where t >= u
"""


def flags(program: Program) -> list[str]:
    """The lines that make or ask for what only says what exists."""
    return [x for x in print_program(program).splitlines() if re.search(r"!= 0|= 1 where|= 1$", x)]


@pytest.mark.parametrize("text", [ATTENTION, BY_MAXIMUM])
def test_a_causal_attention_needs_no_tensor_of_what_exists(text):
    program = parse(text)
    first = adjoint_program(program)
    assert flags(adjoints(program))
    for made in (first, tangent_program(program), tangent_program(first)):
        assert not flags(made), print_program(made)
    assert re.search(r"d_dQ_K\(t, u\) = d_ds2?\(t, u\) / sqrt\(D\) where t >= u", print_program(first))


ASKED = {
    "a row": ("i1(i) = 1 where i in 0:N, i >= 2", "i1(i)", "i >= 2"),
    "moved": ("i1(i + 1) = 1 where i in 0:N - 1, float(N) i1", "i1(i)", "i >= 1"),
    "mirrored": ("i1(N - 1 - i) = 1 where i in 2:N, float(N) i1", "i1(i)", "N >= i + 3"),
    "counted": ("i1(i) +=! 1 where i in 0:N, j in 0:N, i >= j", "i1(i)", None),
    "counted from one": ("i1(i) +=! 1 where i in 0:N, j in 1:N, i >= j", "i1(i)", "i >= 1"),
    "one element": ("i1(2) = 1 where float(N) i1", "i1(i)", "i >= 2, 2 >= i"),
    "a sum": ("i0(i) = 1 where i in 0:N, i >= 2\ni9(i) = 1 where i in 0:N, i >= 3\ni1(i) = i0(i) + i9(i)", "i1(i)", "i >= 2"),
    "both": ("i0(i) = 1 where i in 0:N, i >= 2\ni9(i) = 1 where i in 0:N, 4 >= i\n"
             "i1(i) = i0(i) != 0 and i9(i) != 0 ? 1 : 0", "i1(i)", "4 >= i, i >= 2"),
    "cleared": ("i1(i) = 1 where i in 0:N\ni1(i) = 0 where i in 0:N, i >= 3", "i1(i)", "2 >= i"),
    "at another place": ("i1(i) = 1 where i in 0:N, i >= 2", "i1(N - 1 - i)", "N >= i + 3"),
    "unknown": ("i1(i) +=! x(i) > 0 ? 1 : 0", "i1(i)", "i1"),
    "even places": ("i1(2*i) = 1 where i in 0:floor(N / 2), float(N) i1".replace("floor(N / 2)", "N / 2"), "i1(i)", "i1"),
    "through integers": ("i1(k(i)) = 1 where float(N) i1", "i1(i)", "i1"),
}
"""How a tensor is made, how an element of it is asked for, and the guard that comes instead: None for none, i1 for itself."""


@each_row("name", ASKED)
def test_what_becomes_of_a_question(name):
    made, element, guard = ASKED[name]
    asks = f"y(i) = {element} != 0 ? 1 / x(i) : 0 where i in 0:N\noutput y"
    program = parse(f"input x(N), int32 k(N)\n{made}\n{asks}", exact_order=True)
    simple = simplify(program)
    line = next(x for x in print_program(simple).splitlines() if x.startswith("y("))
    if guard == "i1":
        assert "!= 0" in line
    else:
        assert "!=" not in line
        assert line.partition(", ")[2] == guard or line.partition("where ")[2] == (guard or "")
    for zeros in ([0, 1, 2, 3], [3, 4, 5], []):
        x = np.arange(1.0, 7.0)
        x[zeros] = 0
        at = {"x": x, "k": np.array([5, 2, 2, 0, 5, 1])}
        assert evaluate(simple, at, FLOAT)["y"].tobytes() == evaluate(program, at, FLOAT)["y"].tobytes()


NORMALISED = """\
input x(T, D), W(D, F), g(F)
h(t, j) +=! x(t, d) * W(d, j)
mean(t) +=! h(t, j) / F
var(t) +=! (h(t, j) - mean(t))**2 / F
y(t, j) = g(j) * (h(t, j) - mean(t)) / sqrt(var(t))
L +=! y(t, j)**3
"""


@pytest.mark.parametrize("text", [ATTENTION + "L +=! y(t, d)**2\noutput L", NORMALISED + "output L"])
def test_what_comes_from_one_seed_is_asked_of_a_number(text):
    """And no bit of a result changes, where rows are all the same (the deviation is 0, its root's derivative infinite) or NaN."""
    program = adjoint_program(parse(text))
    gated = drop_zero_seeds(program)
    simple = evaluation_program(program)
    assert re.search(r"i\d+\(.*!= 0", print_program(gated))
    assert re.search(r"i\d+ != 0 \?", print_program(simple))
    assert not re.search(r"\bi\d+\([^)]", print_program(simple)), print_program(simple)
    r = np.random.default_rng(drawn("one seed", text).randrange(1 << 30))
    for awkward in (1.0, 0.0, np.inf, np.nan):
        for seed in (0.0, -0.0, 1.0, -0.3, np.inf, np.nan):
            for sizes in ({"T": 3, "D": 2, "F": 4}, {"T": 3, "D": 0, "F": 4}, {"T": 0, "D": 1, "F": 1}):
                at = {p.name: r.normal(size=[sizes[n.terms[0][0]] for n in p.var.shape]) for p in program.params if p.var.shape}
                at["x" if "x" in at else "Q"][:1] *= awkward
                with np.errstate(all="ignore"):
                    got, want = (evaluate(p, {**at, "d_dL": seed}, FLOAT) for p in (simple, gated))
                for name in want:   # a NaN is one whatever its sign
                    found, expected = (np.where(np.isnan(x), np.nan, x).tobytes() for x in (got[name], want[name]))
                    assert found == expected, (name, at, seed)


@pytest.mark.parametrize(("made", "element", "kept"), [
    ("i >= 2", "i1(N - 3)", "N >= 5"), ("M >= i", "i1(N - 1)", "M + 1 >= N"), ("M >= N", "i1(i)", "M >= N"),
    ("N >= 2", "i1(i)", "N >= 2"), ("i >= 0", "i1(i)", "")])
def test_a_number_is_asked_where_the_sizes_allow(made, element, kept):
    """Elsewhere every element is 0, whatever the number."""
    program = parse(f"input x(N), w(M), c\nz = c != 0 ? 1 : 0\ni1(i) = z where i in 0:N, {made}\n"
                    f"y(i) = {element} != 0 ? 1 / x(i) : 0 where i in 0:N\noutput y")
    simple = simplify(program)
    assert kept in print_program(simple) and "(i) != 0" not in print_program(simple)
    for n in range(1 if element == "i1(i)" else 3, 7):
        for m in (1, 3, 4, 8):
            for c in (0.0, 2.0):
                at = {"x": np.arange(1.0 * n), "w": np.ones(m), "c": c}
                with np.errstate(all="ignore"):
                    got, want = (evaluate(p, {q.name: at[q.name] for q in p.params}, FLOAT)["y"] for p in (simple, program))
                np.testing.assert_array_equal(got, want, f"{n} {m} {c}")


def test_guards_that_follow_from_ranges_or_from_each_other_go():
    program = parse("input A(N, N), x(N)\ny(i) +=! A(i, j) * x(j) where i >= j, i + 3 >= j, j >= 0, N > i")
    assert "where" in print_program(program)
    assert print_program(simplify(program)).splitlines()[1] == "y(i) +=! A(i, j) * x(j) where i >= j"


@pytest.mark.parametrize("condition", ["t >= u + 1", "u >= t", "t >= u, t <= u + 1", "t >= u, u >= 1", "t == u"])
def test_what_no_point_reaches_stays_zero_where_a_derivative_is_infinite(condition):
    """d sqrt at 0 is infinite: an element that nothing under the condition reads has derivative 0, as by plain differences."""
    text = (f"input z(T), w(T)\ns(t, u) = sqrt(z(u)) * w(t) where t in 0:T\np(t, u) = 2 * s(t, u) where {condition}\n"
            f"v +=! p(t, u) where {condition}")
    r, size = drawn("zero rule", condition), 4
    reached = np.array([[eval(condition.replace(",", " and"), {"t": t, "u": u}) for u in range(size)] for t in range(size)])
    z = np.where(reached.any(axis=0), 1.0 + r.random(), 0.0)
    w = np.array([0.5 + r.random() for _ in range(size)])
    first = adjoint_program(parse(text))
    got = evaluate(first, {"z": z, "w": w, "d_dv": 1.0}, FLOAT)
    want = [sum(w[t] / np.sqrt(z[u]) for t in range(size) if reached[t, u]) if reached[:, u].any() else 0.0 for u in range(size)]
    np.testing.assert_allclose(got["d_dz"], want, rtol=1e-14)
    again = parse(print_program(first))
    np.testing.assert_array_equal(evaluate(again, {"z": z, "w": w, "d_dv": 1.0}, FLOAT)["d_dz"], got["d_dz"])
    for second in (tangents(first), simplify(tangents(first))):
        seeds = {q.name: np.ones(size) if q.var.shape else 1.0 for q in second.params if q.name not in ("z", "w", "d_dv")}
        moved = evaluate(second, {"z": z, "w": w, "d_dv": 1.0, **seeds}, FLOAT)
        assert np.isfinite(moved["dd_dz"]).all()
