"""solve at zeros of higher order, where no sensitivity exists, and at simple ones that look like them: what is right is known
from how each system was made."""
import math
from fractions import Fraction

import numpy as np
import pytest
from command import adcli as run
from session_seed import drawn, half

import adcli


def polynomial(roots, scale):
    """With these zeros, expanded: every coefficient but the first is rounded."""
    found = [Fraction(1)]
    for root in map(Fraction, roots):
        found = [a - root * b for a, b in zip([*found, 0], [0, *found], strict=True)]
    return "f = " + " + ".join(f"({float(c) * scale!r})*x**{len(roots) - k}" for k, c in enumerate(found))


def solved(program, known=(), **at):
    return adcli.compile(program).solve(at, wrt=[name for name in at if name not in known])


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("root", half([1.0, 0.7, -3.1, 1e-6, 1e6, 100.3]))
def test_a_zero_of_higher_order_is_no_solution_and_a_simple_one_beside_it_is(order, root):
    draw = drawn("order", order, root)
    others, scale = draw.choice([[], [3 * root], [-2 * root, 5 * root]]), draw.choice([1.0, 1e-12, 1e15])
    found = solved(polynomial([root] * order + others, scale), x=root * draw.uniform(0.7, 1.3))
    assert (found.verdict, found.success, found.sensitivity) == ("singular", False, None), found.message
    scale = draw.choice([1.0, 1e-290, 1e200])
    found = solved(polynomial([root, root * 1.001, -root], scale), x=root * draw.uniform(0.9998, 1.0002))
    assert found.success, found.message
    assert found.x[0] == pytest.approx(root, rel=1e-11)


@pytest.mark.parametrize("place", range(6))
def test_a_tangent_of_a_circle(place):
    draw = drawn("tangent", place)
    r, angle, cx, cy = 10 ** draw.uniform(-3, 3), draw.uniform(0, 2 * math.pi), draw.uniform(-5, 5), draw.uniform(-5, 5)
    known = {"cx": cx, "cy": cy, "r": r, "a": math.cos(angle), "b": math.sin(angle)}
    start = {"x": cx + 1.3 * r * known["a"], "y": cy + 1.2 * r * known["b"]}
    for part, verdict in ((1.0, "singular"), (0.9, "solution"), (1.1, "no solution")):
        known["d"] = known["a"] * cx + known["b"] * cy + part * r
        found = solved("f = (x - cx)**2 + (y - cy)**2 - r*r\ng = a*x + b*y - d", known, **start, **known)
        assert found.verdict == verdict, (part, found.message)


@pytest.mark.parametrize("program, at", half([
    ("x**2 - 2*x + c", {"x": 3.0, "c": 1.0}), ("x*exp(x) - p", {"x": -0.5, "p": -1 / math.e}),
    ("log(x) + x**2/(2*e) - 2*x/sqrt(e) + a", {"x": 1.5, "e": math.e, "a": 1.0}),
    ("log(x) + x**2/(2*e) - 2*x/sqrt(e) + a", {"x": 1.8, "e": math.e, "a": 1.0}),
    ("8*T/(3*v - 1) - 3/v**2 - P", {"v": 1.5, "T": 1.0, "P": 1.0}), ("((x + 1e16) - 1e16) - 1", {"x": 1.0}),
    ("exp(x) - 1 - x", {"x": 0.5}), ("x - sin(x)", {"x": 0.5}), ("1 - cos(x)", {"x": 0.5}), ("sin(x) - 1", {"x": 1.2}),
    ("log(x) - x + 1", {"x": 1.4}), ("x**4", {"x": 3.0}), ("(x - 0.1*3)**2", {"x": 1.0}),
    ("f = x*y\ng = x + y", {"x": 1.0, "y": 0.3}), ("f = x/1e-12 + y*1e-12 - 2\ng = x*y - 1", {"x": 8e-13, "y": 2.3e12}),
    ("f = x**2 - 2*x + 1\ng = x**3 - 3*x**2 + 3*x - 1", {"x": 3.0}),
    ("input x(N)\nr(i) = x(i)*x(i) - 2*x(i) + i*0.5\noutput r", {"x": [0.8, -0.5, 3.0]}),
    ("input x(N), c(N)\ns +=! x(i)*x(i)\nt +=! c(i)*x(i)\nf = s - 1\ng = t - 1\noutput f, g",
     {"x": [0.8, 0.5], "c": [0.6, 0.8]})]))
def test_no_sensitivity_is_claimed(program, at):
    found = solved(program, ("c", "p", "e", "a", "T", "P"), **at)
    assert (found.verdict, found.sensitivity) == ("singular", None), found.message


@pytest.mark.parametrize("program, at, x", half([
    ("1e-20*x - 1e-20", {"x": 3.0}, [1.0]), ("x*1e300 - 3", {"x": 3.0}, [3e-300]), ("1e16*x - 1e16", {"x": 3.0}, [1.0]),
    ("tanh(1e8*(x - 1))", {"x": 1.0000000001}, [1.0]), ("x**1.5 + x", {"x": 1.0}, [0.0]),
    ("sinh(x) - 1e100", {"x": 200.0}, [230.9516564]),
    ("x**2 - 2*x + 0.999999", {"x": 0.5}, [0.999]), ("x - 1e-300", {"x": 1e-200}, [1e-300]),
    ("f = x/1e-20 + y*1e-20 - 3\ng = x*y - 2", {"x": 0.8e-20, "y": 2.3e20}, [1e-20, 2e20]),
    ("f = 1e-20*x - 1e-20\ng = 1e20*x*y - 1e20\nh = 1e20*y - 1e20", {"x": 3.0, "y": 2.0}, [1.0, 1.0])]))
def test_a_simple_zero_of_any_scale_is_a_solution(program, at, x):
    found = solved(program, **at)
    assert found.success, found.message
    assert found.x == pytest.approx(np.array(x), rel=1e-8, abs=0)


def test_rows_and_the_command_claim_no_more():
    ended = run("solve", "-e", "x**2 - 2*x + c", "--wrt", "x", "--at", "x=3", "--data", "-", stdin=b"c\n1\n0.75\n")
    assert ended.code == 1
    assert [line.split(",")[-1] for line in ended.out.splitlines()[1:]] == ["singular", "solution"]
    ended = run("solve", "-e", "x**2 - 2*x + c", "--wrt", "x", "--at", "x=3,c=1")
    assert ended.code == 1 and "dx_dc" not in ended.out
    assert "the Jacobian is singular to rounding: no sensitivities" in ended.out


def test_programs_too_long_to_be_written_out_have_the_rounding_of_their_inputs(monkeypatch):
    from adcli.solvers import vector_function
    monkeypatch.setattr(vector_function, "MOST_WRITTEN", 0)
    text = "input x(N), c\nr(i) = x(i)*x(i) - 2*x(i) + c\noutput r"
    assert solved(text, "c", x=[3.0, 0.5], c=1.0).verdict == "singular"
    assert solved(text, "c", x=[3.0, 0.5], c=0.75).x == pytest.approx([1.5, 0.5])


def test_steps_beyond_the_domain_are_no_steps():
    """A Newton step that leads to where nothing is finite has no length, and was the shortest."""
    assert [solved(f"f = {f}", x=3.0).verdict for f in ("x**1.5", "x**2.5", "x*sqrt(x)")] == ["singular"] * 3
    assert np.isfinite(solved("f = sqrt(x)", x=3.0).fun).all()


def test_a_solution_of_which_rounding_leaves_few_digits_is_none():
    """A linear equation, whose Jacobian is the same everywhere: 1e14 beside 1 has two digits left for x."""
    for large, verdict in ((1e14, "singular"), (1e8, "solution")):
        assert solved("f = ((x + a) - a) - 1", "a", x=2.0, a=large).verdict == verdict
