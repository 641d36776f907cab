"""What is told of one name, compared with the text changed by hand: the name moved by a small step, and its inputs drawn."""
from __future__ import annotations

import importlib.util

import pytest
from adcli.lang.evaluate import evaluate
from adcli.lang.lower.frontend import parse, read_through
from adcli.lang.syntax.scan import normal
from session_seed import drawn

from adcli.lsp.one_name import bounds, function_program, partials, program_by, shape_at, value_program
from adcli.lsp.scopes import ScopedNames

ROWS = [   # statements, and the number of the one behind which its target is moved
    (["p = 7 * x", "r = 1 / y", "q = p * x * 5", "v = 2 * p * q + 3 * r"], 0),
    (["p = 7 * x", "r = 1 / y", "q = p * x * 5", "v = 2 * p * q + 3 * r"], 2),
    (["s = 1 + y", "s = s + sin(x)", "s = s * x", "v = s**2", "w = s + v", "output v, w"], 1),
    (["s = x", "t = s", "v = exp(t) / s"], 0),
    (["(a, b) = (x * y, x + y)", "v = a * b"], 0),
    (["def sq(a) = a * a", "u = sq(x)", "v = sq(u) * y"], 1),
    (["x = x * y", "v = x**3 + y"], 0),
]


def facts(statements, number):
    tree, program, _ = read_through(normal("\n".join(statements), "t"))
    start = sum(len(s) + 1 for s in statements[:number])
    at = next(o for o in ScopedNames(tree).all() if o.start >= start and o.defines)
    return tree, program, at


@pytest.mark.parametrize("statements, number", ROWS)
def test_the_derivatives_by_a_name_are_those_of_a_step_of_it(statements, number):
    tree, program, at = facts(statements, number)
    value = value_program(tree, at)
    by, name = program_by(tree, program, at, value)
    text = partials(by, [name])
    point = {"x": 0.7, "y": 1.3}
    here = evaluate(value, {p.name: point[p.name] for p in value.params})[at.name]

    def moved(step):
        own = at.name
        changed = parse("\n".join([*statements[:number + 1], f"{own} = {own} + {step!r}", *statements[number + 1:]]))
        return evaluate(changed, {p.name: point[p.name] for p in changed.params})

    up, down = moved(1e-6), moved(-1e-6)
    shown = parse("output " + ", ".join(f"d{v}_d{name}" for v in up if f"d{v}_d{name}" in text) + "\n" + text)
    found = evaluate(shown, {p.name: {**point, name: here}[p.name] for p in shown.params})
    assert found
    for output in up:
        if f"d{output}_d{name}" in found:
            assert found[f"d{output}_d{name}"] == pytest.approx((up[output] - down[output]) / 2e-6, rel=1e-6, abs=1e-6)
        else:
            assert up[output] - down[output] in (0.0, pytest.approx(2e-6))   # it does not depend on the name, or is it


@pytest.mark.skipif(importlib.util.find_spec("flint") is None, reason="needs python-flint")
def test_bounds_hold_and_say_where_there_is_a_value():
    text = ("input x in [-1, 2], y in [0.5, 3]\nparam k = 2\n"
            "a = x**2 - k*y\nb = sqrt(x) * y\nc = a + z\nd = k\nv = a + b + c + d\n")
    tree, _, _ = read_through(normal(text, "t"))
    values = {o.name: value_program(tree, o) for o in ScopedNames(tree).all() if o.defines and o.kind == "value"}
    a, b = bounds(values["a"]), bounds(values["b"])
    choose = drawn("one name")
    for _ in range(50):
        x, y = choose.uniform(-1, 2), choose.uniform(0.5, 3)
        assert a.ends[0] <= x**2 - 2 * y <= a.ends[1]
        assert x < 0 or b.ends[0] <= x**0.5 * y <= b.ends[1]
    assert a.everywhere and not b.everywhere and bounds(values["c"]) is None
    assert a.ends == pytest.approx((-6, 3), abs=0.1) and [p.name for p in a.inputs] == ["x", "y", "k"]
    assert bounds(values["d"]).ends == (2, 2)


def test_the_shape_of_a_value_and_a_function_of_numbers():
    text = "input A(N, M), b(M)\ndef f(x, y) -> (u, w) { u = x * y; w = x }\nC(i) +=! A(i, j) * b(j)\n(p, q) = f(C(0), C(1))\n"
    tree, program, _ = read_through(normal(text, "t"))
    at = next(o for o in ScopedNames(tree).all() if o.name == "C")
    value = value_program(tree, at)
    assert shape_at(value) == "(N)"
    by, name = program_by(tree, program, at, value)
    assert "dp_dC(i) +=!" in partials(by, [name]) or "dp_dC(" in partials(by, [name])
    function = function_program(tree, tree.statements[1])
    assert partials(function, ["x", "y"]).splitlines() == ["du_dx = y", "du_dy = x", "dw_dx = 1"] or "du_dx = y" in partials(
        function, ["x", "y"])


def test_a_text_with_faults_has_names_and_no_values():
    tree, program, error = read_through(normal("s = 2 * tahn(x)\nv = s +\n", "t"))
    assert program is None and error is not None
    assert [value_program(tree, o) for o in ScopedNames(tree).all()] == [None] * 5
