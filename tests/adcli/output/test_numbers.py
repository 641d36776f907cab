"""How numbers are spelled: as asked for, in every format the same number, and never one that is not finite where it was."""
from __future__ import annotations

import json
import math
import sys

import pytest
from adcli.lang.ir.errors import AdError

from adcli.output.numbers import NEARLY_LARGEST, json_number, json_text, non_finite, number_format, rounded, shortest

VALUES = [0.0, -0.0, 1.0, 0.1, -2.5, 1e16, 1e22, 5e-324, NEARLY_LARGEST, 1.75e308, sys.float_info.max]
OTHERS = {math.nan: "nan", math.inf: "inf", -math.inf: "-inf"}


@pytest.mark.parametrize("template",
                         ["%f", "%.3F", "%e", "%E", "%g", "%G", "%+.2e", "% 8.3f", "%#.0f", "%-12.4g", "%012.5f", "%999.1f"])
def test_a_template_is_printf(template):
    number = number_format(template, False)
    for x in VALUES[:8]:
        assert number(x) == template % x
    assert [number(x) for x in OTHERS] == list(OTHERS.values())
    assert all(math.isfinite(float(number(s * x))) for x in VALUES for s in (1, -1))


@pytest.mark.parametrize("template",
                         ["", "%", "%d", "%s", "%.6", "6g", "%.3g%.3g", " %.3g", "%.3g\n", "%.1000f", "%1000f", "%*f", "%١f",
                          "%lf"])
def test_no_other_template(template):
    with pytest.raises(AdError) as found:
        number_format(template, False)
    assert found.value.help == "write --fmt %.6g"
    assert str(found.value.message) == f"--fmt '{template}' is not a number format; use %e, %f or %g"


def test_hexadecimal_and_shortest_read_back():
    assert number_format(None, False) is shortest
    number = number_format(None, True)
    for x in VALUES:
        assert float.fromhex(number(x)).hex() == x.hex() == number(x)
        assert float(shortest(x)).hex() == x.hex() and any(c in shortest(x) for c in ".e")
    assert [number(x) for x in OTHERS] == list(OTHERS.values()) == [shortest(x) for x in OTHERS]
    assert shortest(3) == "3.0"
    with pytest.raises(AdError, match="--fmt and --hex cannot be used together"):
        number_format("%g", True)


def test_what_would_round_to_infinity_is_not_rounded():
    for x in (sys.float_info.max, -sys.float_info.max, 1.75e308):
        assert rounded(x, "%.0e") == repr(x)
    assert rounded(NEARLY_LARGEST, "%.0e") == "1e+308"
    assert rounded(9.96e307, "%.1e") == "1.0e+308"
    assert rounded(1.79e308, "%.2e") == "1.79e+308"


@pytest.mark.parametrize(("x", "text"), [(math.nan, "NaN"), (-math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")])
def test_json_has_strings_for_what_it_has_no_numbers_for(x, text):
    assert json_number(x) == non_finite(x) == text
    with pytest.raises(ValueError, match="JSON"):
        json_text(x)


def test_json_numbers_have_the_digits_of_the_format():
    assert json_text([json_number(0.123), json_number(0.123, number_format("%.1f", False)),
                      json_number(1.0)]) == "[0.123,0.1,1.0]"
    assert json_number(0.5, number_format(None, True)) == "0x1.0000000000000p-1", "a text where JSON has no such number"
    assert json_text({"é": [1, "a b"]}) == '{"é":[1,"a b"]}'
    for x in VALUES:
        assert json.loads(json_text(json_number(x))) == x
