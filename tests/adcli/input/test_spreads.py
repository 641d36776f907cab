"""Points with a spread: ± in its spellings, percent, and what is wrong with the others."""
import pytest
from adcli.lang.ir.errors import AdError

from adcli.input.spreads import split


@pytest.mark.parametrize("spec, plain, spreads", [
    ("x=2±0.1,y=5", "x=2,y=5", {"x": 0.1}), ("x=2+-0.1", "x=2", {"x": 0.1}), ("x = 2 +/- 1e-3", "x = 2 ", {"x": 1e-3}),
    ("x=-4±5%", "x=-4", {"x": 0.2}), ("x=2", "x=2", {}), ("x=1±0,y=2±pi", "x=1,y=2", {"x": 0.0, "y": 3.141592653589793}),
    ("@points.json", "@points.json", {}), ("x=1e+3", "x=1e+3", {}), ("x=0:1:3", "x=0:1:3", {})])
def test_a_point_and_its_spreads(spec, plain, spreads):
    assert split(spec) == (plain, pytest.approx(spreads))


@pytest.mark.parametrize("spec, message", [
    ("x=2±0.1±0.2", "two spreads"), ("x=0:1:3±1", "not name=value±spread"), ("x±1", "not name=value±spread"),
    ("x=1±-1", "0 or more"),
    ("x=1±inf", "finite"), ("x=1±", "'x=1±' has no spread after"), ("x=1±%", "'x=1±%' has no spread after"),
    ("x=1±abc", "x's spread abc: not a constant"), ("x=1±nan%", "finite"),
    ("x=1±5%%", "x's spread 5%: an expression is missing")])
def test_a_wrong_spread_is_refused(spec, message):
    with pytest.raises(AdError, match=message):
        split(spec)


@pytest.mark.parametrize("text, written", [
    ("1.23(4)", "1.23±0.04"), ("-1.2(345)", "-1.2±34.5"), ("12(3)", "12±3"),
    ("6.62(10)e-34", "6.62e-34±0.10e-34"), (".5(1)", "0.5±0.1")])
def test_an_uncertainty_in_brackets_is_told_as_a_spread(text, written):
    with pytest.raises(AdError, match="after ±") as caught:
        split(f"y=1,x={text}")
    assert caught.value.help == f"write x={written}"
    split(f"x={written}")
