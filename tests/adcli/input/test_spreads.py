"""Points with a spread: ± in its spellings, percent, and what is wrong with the others."""

import pytest
from adcli.lang.ir.errors import AdError
from hypothesis import given
from hypothesis import strategies as st

from adcli.input.distributions import NORMAL, split, widths
from adcli.propagate.budgets import concise, pair


@pytest.mark.parametrize("spec, plain, spreads", [
    ("x=2±0.1,y=5", "x=2,y=5", {"x": 0.1}), ("x=2+-0.1", "x=2", {"x": 0.1}), ("x = 2 +/- 1e-3", "x=2", {"x": 1e-3}),
    ("x=-4±5%", "x=-4", {"x": 0.2}), ("x=2", "x=2", {}), ("x=1±0,y=2±pi", "x=1,y=2", {"x": 0.0, "y": 3.141592653589793}),
    ("@points.json", "@points.json", {}), ("x=1e+3", "x=1e+3", {}), ("x=0:1:3", "x=0:1:3", {})])
def test_a_point_and_its_spreads(spec, plain, spreads):
    found, given = split(spec)
    assert (found, {name: s.width for name, s in given.items()}) == (plain, pytest.approx(spreads))
    assert all(s.kind is NORMAL and s.u == s.width for s in given.values())
    assert widths(spec) == (found, pytest.approx(spreads))


@pytest.mark.parametrize("text, number, u", [
    ("1.23(4)", 1.23, 0.04), ("-1.2(345)", -1.2, 34.5), ("12(3)", 12, 3), ("6.62(10)e-34", 6.62e-34, 1e-35), (".5(1)", 0.5, 0.1),
    ("12.0(1)", 12, 0.1), ("12.0(1.2)e-3", 0.012, 0.0012), ("100.02147(0.00035)", 100.02147, 0.00035), ("+3.(2)", 3, 2),
    ("1.6726219260(5)E-27", 1.672621926e-27, 5e-37), ("0.00(1)", 0, 0.01), ("4(0)", 4, 0), ("1_234_567.8(9)", 1234567.8, 0.9)])
def test_an_uncertainty_in_brackets(text, number, u):
    """As in JCGM 100, 7.2.2, and in tables of constants."""
    plain, spreads = split(f"y=1,x={text}")
    assert float(plain.partition(",x=")[2]) == number
    assert spreads["x"].u == pytest.approx(u, rel=1e-15)


@given(st.floats(-1e300, 1e300), st.floats(0, 1e300, exclude_min=True))
def test_what_is_written_in_brackets_is_read_again(value, u):
    """The figures of 12.00(15) are those of 12.00 ± 0.15."""
    short, (shown, width, power) = concise(value, u), pair(value, u)
    if "±" in short:   # more digits than a double has
        return
    (spread,) = split(f"x={short}")[1].values()
    assert spread.x == float(shown + power)
    assert spread.u == pytest.approx(float(width + power), rel=1e-14)


def test_a_box_has_no_distribution():
    assert widths("x=12.0(1),y=1") == ("x=12.0,y=1", {"x": pytest.approx(0.1)})
    with pytest.raises(AdError, match="a box has no distribution") as caught:
        widths("x=2±0.1~rect")
    assert caught.value.help == "write x=2±0.1"

