"""plot: places found to the last digits and told for what they are, lines broken there, axes, contours, the command."""
from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from command import adcli, succeeds
from session_seed import drawn, half

from adcli import compile
from adcli.pictures.scales import vertical
from adcli.pictures.terminal import text
from adcli.plot.plots import Wanted, picture

ROOT2 = math.sqrt(2)
PLACES = [
    # program, range, where which kind of place is; by hand
    ("abs(x)", (-3, 3), {"kink": [0]}), ("abs(x)", (-3.1, 3), {"kink": [0]}), ("abs(x - 0.1)", (-1e6, 1e6), {"kink": [0.1]}),
    ("max(x, 0.3, x*x)", (-2, 2), {"kink": [-math.sqrt(0.3), 0.3, 1]}), ("hypot(x, 0)", (-1.1, 1), {"kink": [0]}),
    ("relu(x) + clamp(x, -1, 2)", (-3, 3), {"kink": [-1, 0, 2]}), ("1e-300*abs(x)", (-1, 1), {"kink": [0]}),
    ("x**2 + 1e-4*abs(x - 1)", (-3, 3), {"kink": [1]}),
    ("floor(x)", (-2.5, 2.5), {"jump": [-2, -1, 0, 1, 2]}), ("fmod(x, 0.7)", (-2, 2), {"jump": [-1.4, -0.7, 0.7, 1.4]}),
    ("round(x)", (-1, 2), {"jump": [-0.5, 0.5, 1.5]}), ("x > 0 ? 1 : (x < 0 ? -1 : 5)", (-1, 1), {"jump": [0]}),
    ("x/abs(x)", (-1, 1), {"jump": [0]}), ("copysign(1, x)", (-1, 2), {"jump": [0]}), ("atan2(x, -y)", (-1, 1), {"jump": [0]}),
    ("1/x", (-3.1, 3), {"pole": [0]}), ("1/x**2", (-3.1, 3), {"pole": [0]}), ("1/(x**2 - 2)", (-3, 3), {"pole": [-ROOT2, ROOT2]}),
    ("tan(x)", (-3, 3), {"pole": [-math.pi / 2, math.pi / 2]}), ("gamma(x)", (-3.5, 3), {"pole": [-3, -2, -1, 0]}),
    ("x + 1e-9/x", (-2, 2.1), {"pole": [0]}), ("1/sqrt(abs(x))", (-1, 1), {"pole": [0]}),
    ("log(abs(x))", (-2, 2), {"singular": [0]}), ("cbrt(x)", (-1.01, 1), {"singular": [0]}),
    ("x > 0 ? x*log(x) : 0", (-1, 2), {"singular": [0]}), ("log(x)", (-1, 3), {"singular": [0]}),
    ("sqrt(x)", (-1, 3), {"domain": [0]}), ("acos(x)", (-2, 2), {"domain": [-1, 1]}), ("sqrt(x - 1) + sqrt(2 - x)", (0, 3),
                                                                                      {"domain": [1, 2]}),
    ("sin(x)/x", (-3, 3), {"hole": [0]}), ("(1 - cos(x))/x**2", (-3.1, 3), {"hole": [0]}), ("sin(1/x)", (-1, 1), {"hole": [0]}),
    ("exp(1000*x)", (-1, 1), {"overflow": [math.log(1.7976931348623157e308) / 1000]}),
    ("exp(1/x)", (-1, 1), {"pole": [0], "overflow": [1 / math.log(1.7976931348623157e308)]}),
    ("floor(x) + 1e9", (-0.5, 1.5), {"jump": [0, 1]}), ("abs(x) + 1e9", (-1, 1.1), {"kink": [0]}),
    ("x > 0 ? x**2 : 0", (-1, 1.01), {}), ("exp(-x**2)", (-3, 3), {}), ("tanh(1e9*x)", (-1, 1), {}), ("0*x", (-1, 1), {}),
    ("max(x, x)", (-1, 1), {}), ("abs(x)*abs(x)", (-1, 1), {}), ("floor(y)*x", (-1, 1), {}), ("nan*x", (-1, 1), {}),
]
WORDS = {"kink": "kink", "jump": "jump", "pole": "pole", "singular": "singular", "domain": "edge of the domain",
         "hole": "no value", "overflow": "too large"}


def places(drawn_picture):
    """The places of each kind, from the notes of a picture with few of them."""
    found = {}
    for note in drawn_picture.notes:
        for kind, word in WORDS.items():
            if note[2:].startswith(word) and " at x = " in note:
                numbers = note.partition(" at x = ")[2].partition(":")[0]
                found.setdefault(kind, []).extend(float(x) for x in numbers.split(", "))
    return {kind: sorted(x) for kind, x in found.items()}


@pytest.mark.parametrize("formula, ends, wanted", half(PLACES), ids=lambda x: x if isinstance(x, str) else "")
def test_places_are_found_and_told_for_what_they_are(formula, ends, wanted):
    program = parse(f"v = {formula}")
    found = places(got := picture(program, {p.name: tuple(map(float, ends)) if p.name == "x" else 0.4 for p in program.params}))
    assert set(found) == set(wanted), got.notes
    for kind, at in wanted.items():
        assert found[kind] == pytest.approx(sorted(at), rel=1e-5, abs=1e-12)   # notes have six digits


@pytest.mark.parametrize("formula, at", [("1/(x - {})", "pole"), ("abs(x - {})", "kink"), ("x > {} ? 1 : 0", "jump")])
def test_a_place_that_is_drawn_is_found_to_the_last_digit_but_a_few(formula, at):
    r = drawn("plot", formula)
    for _ in range(3):
        c = r.uniform(-2, 2)
        got = picture(parse(f"v = {formula.format(repr(c))}"), {"x": (-3.0, 3.0 + r.random())}, points=r.randint(50, 500))
        marks = [m.x for m in got.panels[0].marks] or list(got.panels[0].upright)
        assert marks and all(abs(x - c) <= 1e-14 for x in marks)


@pytest.mark.parametrize("formula, at", [("1/x", 0.0), ("tan(x)", math.pi / 2), ("floor(x)", 1.0), ("log(abs(x - 0.7))", 0.7),
                                      ("x < 0.3 ? x : 9 - x", 0.3)])
def test_no_line_is_drawn_across(formula, at):
    for got in (picture(parse(f"v = {formula}"), {"x": (-2.0, 2.1)}, points=n) for n in (2, 7, 401)):
        (curve, *_) = got.panels[0].curves
        pairs = pairwise(zip(curve.x, curve.y, strict=True))
        across = [(a, b) for a, b in pairs if a[0] < at - 1e-12 and b[0] > at + 1e-12 and a[1] == a[1] and b[1] == b[1]]
        assert not across and list(curve.x) == sorted(curve.x)


def test_both_limits_and_the_value_between_them_are_marked():
    (value, slope) = picture(parse("v = abs(x)"), {"x": (-1.0, 1.0)}).panels
    assert [(m.kind, m.x) for m in value.marks] == [("kink", 0.0)]
    assert sorted((m.kind, round(m.y, 9)) for m in slope.marks) == [("jump", -1.0), ("jump", 1.0), ("value", 0.0)]


def test_an_axis_is_clipped_only_where_a_curve_goes_to_infinity():
    pole, steep = (picture(parse(f"v = {t}"), {"x": (-3.0, 3.0)}).panels[0] for t in ("1/x", "exp(5*x)"))
    assert pole.low is not None and pole.high is not None and -60 < pole.low < -1 < 1 < pole.high < 60
    assert steep.low is None and steep.high is None


def test_rounding_is_no_turn():
    notes = [picture(parse(f"v = {t}"), {"x": (-1.0, 1.0)}).notes for t in ("acos(x) + asin(x)", "sin(5e3*x)")]
    assert [any("turns" in note for note in each) for each in notes] == [False, True]


def test_blame_is_with_what_reaches_the_output():
    got = picture(parse("a = abs(x)\nb = floor(x)"), {"x": (-1.5, 1.5)})
    assert got.notes == ("◆ kink at x = 0: abs(x)", "○ jump at x = -1, 0, 1: floor(x)")


def test_the_table_is_what_grad_says():
    args = ["-e", "v = x**3*y", "--at", "x=-1:0.3,y=2", "--points", 14, "--format", "csv", "--derivatives", 2]
    plotted = succeeds("plot", *args).out
    computed = succeeds("grad", "-e", "v = x**3*y", "--at", "x=-1:0.3:14,y=2", "--wrt", "x", "--order", 2, "--format", "csv",
                        "--status").out
    columns = [[row.split(",")[k] for row in computed.splitlines()] for k in (0, 2, 3, 4, 5)]
    assert plotted.splitlines() == [",".join(row) for row in zip(*columns, strict=True)]


# ---------------------------------------------------------------- contours

def test_contours_of_a_product():
    got = picture(parse("v = x*y"), {"x": (-3.0, 3.0), "y": (-2.0, 2.0)}, points=31)
    c = got.contour
    assert c is not None and got.panels == ()
    assert all(c.z[j][i] == x * y for j, y in enumerate(c.y) for i, x in enumerate(c.x))
    assert {0.0, 2.0, -2.0} <= set(c.levels) and len(c.levels) <= 15
    for x, y, dx, dy in c.arrows:   # along the gradient (y, x), measured in the two ranges
        assert dx * (x * 4) == pytest.approx(dy * (y * 6), abs=1e-9) and dx * y + dy * x > 0


def test_the_order_of_the_ranges_is_that_of_the_axes():
    one, other = (picture(parse("v = x + 10*y"), at, points=15) for at in ({"x": (0.0, 1.0), "y": (0.0, 1.0)},
                                                                            {"y": (0.0, 1.0), "x": (0.0, 1.0)}))
    assert (one.x_name, one.y_name, other.x_name, other.y_name) == ("x", "y", "y", "x")
    for got, slope in ((one, 10), (other, 0.1)):
        assert all(dy == pytest.approx(slope * dx) for _, _, dx, dy in got.contour.arrows)


def test_an_output_that_does_not_depend_on_the_input_is_flat():
    got = picture(parse("a = y\nb = 3\nc = x"), {"x": (0.0, 1.0), "y": 2.0}, points=5)
    assert [set(c.y) for c in got.panels[0].curves] == [{2.0}, {3.0}, {0.0, 0.25, 0.5, 0.75, 1.0}]
    assert [set(c.y) for c in got.panels[1].curves] == [{0.0}, {0.0}, {1.0}]


def test_contours_have_gaps_and_marks_where_the_value_jumps_or_has_a_pole():
    jump, pole, kink = (picture(parse(f"v = {t}"), {"x": (-1.0, 1.0), "y": (-1.0, 1.05)}, points=21).contour
                        for t in ("x + y > 0.1 ? 1 + x : y", "1/(x - y/3)", "abs(x*y - 0.5)"))
    assert {m.kind for m in jump.marks} == {"jump"} and all(abs(m.x + m.y - 0.1) < 1e-12 for m in jump.marks)
    assert {m.kind for m in pole.marks} == {"pole"} and all(abs(m.x - m.y / 3) < 1e-12 for m in pole.marks)
    assert {m.kind for m in kink.marks} == {"kink"} and all(abs(m.x * m.y - 0.5) < 1e-12 for m in kink.marks)
    gaps = [sum(z != z for row in c.z for z in row) for c in (jump, pole, kink)]
    assert gaps[0] and gaps[1] and not gaps[2]


def test_notes_of_contours_name_each_kind_once():
    notes = picture(parse("v = sqrt(x*y) + abs(x - 0.3)"), {"x": (-1.0, 1.0), "y": (-1.0, 1.0)}, points=21).notes
    assert sorted(notes[:2]) == ["■ edge of the domain: sqrt(x*y)", "◆ kink: abs(x - 0.3)"] and "-0 at" not in notes[2]


# ---------------------------------------------------------------- ranges at the ends of what a double is

EXTREME = [(0.0, 5e-324), (-1e-310, 1e-310), (-1e308, 1e308), (-1.79e308, 1.79e308), (1.0, 1 + 2 ** -52), (1e15, 1e15 + 1)]


@pytest.mark.parametrize("formula", ["x > 0 ? floor(x) : log(x)", "1e308*sin(x)", "1e-308*cbrt(x)", "x*y", "x > y ? y : x"])
def test_any_range_is_drawn(formula):
    program, r = parse(f"v = {formula}"), drawn("ranges", formula)
    got = picture(program, {p.name: r.choice(EXTREME) for p in program.params}, points=5)
    assert all(math.isfinite(part) for arrow in (got.contour.arrows if got.contour else ()) for part in arrow)
    assert "┌──" in text(got)


def test_a_place_is_named_in_a_range_that_is_wider_than_a_double():
    assert places(picture(parse("v = log(x)"), {"x": (-1.79e308, 1.79e308)}, points=5)) == {"singular": [0]}


def test_notes_tell_neighbours_apart():
    near = picture(parse("v = abs(x - 1) + abs(x - 1.0000001)"), {"x": (0.9999999, 1.0000003)})
    assert places(near) == {"kink": [1, 1.0000001]}
    least, greatest, _ = picture(parse("v = 1e-9*x*y + 100000"), {"x": (0.0, 1.0), "y": (1e6, 1e6 + 1)}, points=5).notes
    assert least.startswith("least on the grid: v = 100000 at x = 0,") and "v = 100000.001 at x = 1, y = 1000001" in greatest


# ---------------------------------------------------------------- the command


def test_the_steps_of_a_range_are_those_of_decimals():
    args = ["-e", "v = x", "--at", "x=0.3:0", "--points", 4, "--format", "csv", "--derivatives", 0]
    out = succeeds("plot", *args).out.splitlines()
    assert [row.split(",")[0] for row in out[1:]] == [repr(float(Fraction(k, 10))) for k in range(4)]


def test_logarithmic_axes_and_a_title():
    args = ["plot", "-e", "v = 1/x", "--at", "x=1:1e4", "--derivatives", "0", "--logx", "--logy"]
    found = succeeds(*args, "--points", "5", "--format", "csv").out.splitlines()[1:]
    assert [float(row.split(",")[0]) for row in found] == pytest.approx([1, 10, 100, 1e3, 1e4])
    lines = succeeds(*args, "--title", "a straight line").out.splitlines()
    assert lines[0] == " a straight line" and lines[-2].split() == ["1", "10", "100", "1000", "10000"]
    assert [line[:7].strip() for line in lines if "┤" in line[:8]] == ["1┤", "0.1┤", "0.01┤", "0.001┤", "0.0001┤"]
    shown = succeeds("plot", "-e", "v = x", "--at", "x=-1:1", "--logy", "--derivatives", "0").out
    assert shown.endswith(" 201 values not positive: no place on a logarithmic axis\n")
    assert adcli("plot", "-e", "v = x", "--at", "x=0:5", "--logx").err == (
        "adcli: error: a logarithmic axis has positive numbers, and x begins at 0.0\nhelp: write --at x=0.005:5.0\n")
    assert adcli("plot", "-e", "v = x*y", "--at", "x=1:5,y=1:2", "--logy").code == 2
    drawn_picture = picture(parse("v = 1/x"), {"x": (1.0, 1e4)}, Wanted(order=0), 5, logx=True, logy=True)
    assert drawn_picture.log_x and drawn_picture.panels[0].log and len(drawn_picture.table.rows) == 5


def test_a_parametric_curve_is_that_of_its_outputs():
    got = picture(parse("x = cos(t); y = sin(t); z = abs(cos(t))"), {"t": (0.0, 6.5)}, Wanted(against="x"))
    (panel,), (y, z) = got.panels, got.panels[0].curves
    assert got.x_name == "x" and [c.number for c in (y, z)] == [0, 1] and got.table.names == ("t", "x", "y", "z", "status")
    assert all(a * a + b * b == pytest.approx(1) for a, b in zip(y.x, y.y, strict=True)) and z.y == tuple(map(abs, z.x))
    assert [(m.kind, m.x) for m in panel.marks] == [("kink", pytest.approx(0, abs=1e-12))] * 2
    jump = picture(parse("x = floor(t); y = t"), {"t": (0.5, 1.5)}, Wanted(against="x")).panels[0]
    assert [(m.kind, m.x, round(m.y, 9)) for m in jump.marks] == [("jump", 0, 1), ("jump", 1, 1), ("value", 1, 1)]
    assert sum(v != v for v in jump.curves[0].y) == 1


def test_outputs_with_an_axis_at_the_right():
    program = parse("a = sin(x); b = 1000*x; c = 2000*x")
    (value, slope) = picture(program, {"x": (0.0, 3.0)}, Wanted(right=["b", "c"])).panels
    for panel, names in ((value, ["a", "b", "c"]), (slope, ["da/dx", "db/dx", "dc/dx"])):
        assert [c.name for c in panel.every] == names and [c.number for c in panel.every] == [0, 1, 2]
        assert len(panel.curves) == 1 and vertical(panel).high < 2 and vertical(panel.twin).high > 900
    lines = text(picture(program, {"x": (0.0, 3.0)}, Wanted(["a", "b"], 0, right=["b"]))).splitlines()
    assert lines[0].split() == ["⠤⠤", "a", "•", "b", "(right)"] and any(line.startswith("  1┤") for line in lines)
    assert any(line.endswith("├2000") for line in lines) and {max(map(line.rfind, "│├")) for line in lines} <= {-1, 75}


DATA = "t,v,other\n0.5,1,a\n1,2.5,b\n"


def test_data_are_points_over_curves_and_maps(tmp_path):
    (tmp_path / "d.csv").write_text(DATA)
    given = {"t": [0.5, 1.0], "v": [1.0, 2.5]}
    (panel,) = picture(parse("v = t**2; w = t"), {"t": (0.0, 2.0)}, Wanted(order=0, data=given)).panels
    assert [(c.name, c.number, c.style) for c in panel.curves[2:]] == [("v, data", 0, "points")]
    assert (panel.curves[2].x, panel.curves[2].y) == ((0.5, 1.0), (1.0, 2.5))
    curve = ["plot", "-e", "v = t**2", "--at", "t=0:2", "--derivatives", 0, "--data"]
    shown = succeeds(*curve, tmp_path / "d.csv").out
    assert "• v, data" in shown and "• v, data" in succeeds(*curve, "-", stdin=DATA.encode()).out
    assert view(compile("v = t**2").plot(t=(0.0, 2.0), derivatives=0, data=given)) == shown
    c = picture(parse("f = t*v"), {"t": (0.0, 2.0), "v": (0.0, 3.0)}, Wanted(order=0, data=given), 9).contour
    assert c.points == ((0.5, 1.0, pytest.approx(math.nan, nan_ok=True)), (1.0, 2.5, pytest.approx(math.nan, nan_ok=True)))


def view(picture_view):
    return str(picture_view).removesuffix("\n") + "\n"


def test_python_has_the_same_faults():
    with pytest.raises(AdError, match="no input 'z'"):
        picture(parse("v = x"), {"z": 1.0})
    with pytest.raises(AdError, match="nothing varies"):
        picture(parse("v = x"), {"x": 1.0})

