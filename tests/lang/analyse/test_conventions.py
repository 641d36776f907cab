"""Which derivatives are conventions: those that a kink, a tie or a jump has a part in, and no others."""
from __future__ import annotations

import math
from itertools import combinations_with_replacement

import pytest
from adcli.lang.analyse.conventions import NO_CONVENTION, AskedDerivative, Convention, conventions, enclosed
from adcli.lang.derive.derivatives import gradient
from adcli.lang.ir import JUMP, KINK, Atom, Equation, Lit, Var
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from adcli.lang.sparsity.sparsity import interactions
from row_tables import each_row

AT_A_KINK, AT_A_JUMP = Convention(True, KINK), Convention(True, JUMP)


def judged(text, at, *along, of="v"):
    """What one derivative is a convention at; a pair of numbers is a range."""
    box = {name: x if isinstance(x, tuple) else (x, x) for name, x in at.items()}
    (found,) = conventions(parse(text), box, [AskedDerivative((of,), [(x,) for x in along])])
    return found


@each_row("text, at, along, expected", [
    ("v = abs(x)", {"x": 0.0}, "", NO_CONVENTION),                       # the value is what it is
    ("v = abs(x)", {"x": 0.0}, "x", AT_A_KINK),
    ("v = abs(x)", {"x": 1.0}, "x", NO_CONVENTION),
    ("v = abs(x)", {"x": 0.0}, "xx", AT_A_KINK),                         # 0 by construction, and yet none
    ("v = abs(x)**2 + y**2", {"x": 0.0, "y": 1.0}, "yy", NO_CONVENTION),
    ("v = abs(x)**2 + y**2", {"x": 0.0, "y": 1.0}, "xy", NO_CONVENTION),
    ("v = abs(x)*y", {"x": 0.0, "y": 1.0}, "xy", AT_A_KINK),
    ("v = abs(x)*y", {"x": 0.0, "y": 1.0}, "xyy", NO_CONVENTION),        # a product is linear in each factor
    ("v = abs(x)*y**2", {"x": 0.0, "y": 1.0}, "xyy", AT_A_KINK),
    ("v = exp(abs(x) + y)", {"x": 0.0, "y": 1.0}, "xyy", AT_A_KINK),
    ("v = 0.5*hypot(x, y)**2", {"x": 0.0, "y": 0.0}, "xy", AT_A_KINK),
    ("v = max(x, y)", {"x": 1.0, "y": 1.0}, "y", AT_A_KINK),
    ("v = floor(x) > 0 ? x : 2*x", {"x": 1.0}, "x", AT_A_JUMP),          # behind the jump there is no tie
    ("v = floor(x) > 0 ? x : 2*x", {"x": 0.5}, "x", NO_CONVENTION),
    ("v = abs(x) < 1 ? x : 2*x", {"x": 0.0}, "x", NO_CONVENTION),        # a kink turns no comparison
    ("v = floor(x) > 0 and y > 0 ? x : 2*x", {"x": 1.0, "y": 1.0}, "x", AT_A_JUMP),
    ("v = max(x, y, z)", {"x": 1.0, "y": 1.0, "z": 0.0}, "x", AT_A_KINK),
    ("v = x == 0 ? 0 : x", {"x": 0.0}, "x", AT_A_JUMP),
    ("v = x == 0 ? 0 : x*y", {"x": 0.0, "y": 2.0}, "y", NO_CONVENTION),  # along y the choice stays
    ("v = x > 0 && y > 0 ? x : y", {"x": 1.0, "y": 0.0}, "y", AT_A_JUMP),
    ("v = x > 0 ? abs(y) : y", {"x": 1.0, "y": 0.0}, "y", AT_A_KINK),
    ("v = x > 0 ? y : abs(y)", {"x": 1.0, "y": 0.0}, "y", NO_CONVENTION),  # the arm not taken
    ("v = floor(x)", {"x": 1.0}, "x", AT_A_JUMP),
    ("v = floor(abs(x) + 0.5)", {"x": 0.0}, "x", NO_CONVENTION),         # constant near by
    ("v = x*stop(abs(x))", {"x": 0.0}, "x", NO_CONVENTION),
    ("v = x**y", {"x": 0.0, "y": 0.0}, "y", AT_A_JUMP),
    ("v = x**y", {"x": 0.0, "y": 0.0}, "x", NO_CONVENTION),              # the jump is along y
    ("v = abs(x - 0.3)", {"x": 0.1 + 0.2}, "x", NO_CONVENTION),          # exact arithmetic has no tie here
    ("v = abs(3*(x/3) - x)", {"x": 0.1}, "x", Convention(False, KINK)),  # bounds never say 0
    ("v = abs(x)", {"x": (-1.0, 1.0)}, "x", Convention(False, KINK)),
    ("v = abs(x)*y", {"x": 0.0, "y": (1.0, 2.0)}, "x", AT_A_KINK),
])
def test_a_derivative_is_a_convention_where_a_kink_has_a_part_in_it(text, at, along, expected):
    assert judged(text, at, *along) == expected


def test_directions_that_move_together():
    """A direction is at a kink if one of its inputs is, and the second derivative of a tie has its pairs."""
    p = parse("v = max(x, y) + z*z; w = z")
    at = {"x": (1.0, 1.0), "y": (1.0, 1.0), "z": (0.0, 0.0)}
    asked = [AskedDerivative(of, along) for of, along in (
        (("v", "w"), (("x", "z"),)), (("w",), (("x", "z"),)), (("v",), (("z",), ("x", "z"))))]
    assert conventions(p, at, asked) == [AT_A_KINK, NO_CONVENTION, NO_CONVENTION]


def kinked_rows():
    """Every row with a kink or a jump in its status, with a special point of it."""
    points = {"abs": (0.0,), "relu": (0.0,), "relu2": (0.0,), "relu3": (0.0,), "sign": (0.0,),
              "floor": (1.0,), "ceil": (1.0,), "trunc": (1.0,), "round": (0.5,),
              "max": (1.0, 1.0), "min": (1.0, 1.0), "fmax": (1.0, 1.0), "fmin": (1.0, 1.0), "fdim": (1.0, 1.0),
              "clamp": (0.0, 0.0, 1.0), "fmod": (2.0, 1.0), "hypot": (0.0, 0.0), "copysign": (0.0, 1.0), "atan2": (0.0, -1.0),
              "pow": (0.0, 0.0), "unit": (0.0, 0.0)}
    rows = {name: row for name, row in TABLE.items() if not row.truth and any(s.level in (KINK, JUMP) for s in row.status)}
    return [(name, points[name]) for name in rows]


@each_row("name, point", kinked_rows())
def test_no_digits_and_no_common_bounds_at_the_kinks_of_any_row(name, point):
    """From the order on that the row says to order 3, of some input at least."""
    names = "xyz"[:len(point)]
    p = parse(f"input {', '.join(names)}; v = {name}({', '.join(names)})")
    at = dict(zip(names, [(x, x) for x in point], strict=True))
    first = max(1, min(s.order for s in TABLE[name].status))
    for order in range(first, 4):
        asked = [AskedDerivative(("v",), along) for along in combinations_with_replacement(names, order)]
        assert any(c.certain for c in conventions(p, at, asked))
    program = gradient(p, list(names))
    known = enclosed(program, at, p, [AskedDerivative((r.of or r.name,), [(x,) for x in r.wrt]) for r in program.results])
    assert known.decorations[0] != "trv" or name in ("pow",)
    assert "trv" in known.decorations[1:] and (-math.inf, math.inf) in known.bounds[1:]


@pytest.mark.parametrize("text", ["0.5*hypot(x, y)**2", "abs(x)**2", "x == y ? 0 : x**2", "max(x**2, 2*x**2) + y", "abs(x)*x*y"])
def test_beside_a_kink_nothing_is_a_convention(text):
    """As near as doubles get."""
    p = parse(f"input x, y; v = {text}")
    for x, expected in ((0.0, True), (5e-324, False), (-1e-200, False)):
        found = conventions(p, {"x": (x, x), "y": (0.0, 0.0)}, [AskedDerivative(("v",), (("x",), ("x",)))])
        assert found[0].certain is expected and bool(found[0].level) is expected


def test_a_box_is_judged_piece_by_piece():
    """The bounds of x**2 − x + 1 on [0, 2] go below 0 at once, and no piece's do."""
    p = parse("v = relu(x*x - x + 1)")
    derived = gradient(p, ["x"])
    asked = [AskedDerivative(("v",), ()), AskedDerivative(("v",), (("x",),))]
    assert judged("v = relu(x*x - x + 1)", {"x": (0.0, 2.0)}, "x") == Convention(False, KINK)
    assert enclosed(derived, {"x": (0.0, 2.0)}, p, asked).decorations == ["com", "com"]


def test_an_operation_says_what_its_maps_depend_on():
    def of(name: str, *args: Atom) -> tuple[tuple[int, ...], ...]:
        operands = args or tuple([Var("x") for _ in range(TABLE[name].arity)])
        return interactions(Equation((Var("z"),), TABLE[name], operands))
    x = Var("x")
    assert {name: of(name) for name in ("add", "mul", "div")} == {"add": ((), ()), "mul": ((1,), (0,)), "div": ((1,), (0, 1))}
    assert [of("pown", x, Lit(n))[0] for n in (0.0, 1.0, 2.0, 3.0)] == [(), (), (0,), (0,)]
    assert of("select") == ((), (), ())
    assert [len(of("max", *[x] * n)) for n in (2, 3, 4)] == [2, 3, 4]
