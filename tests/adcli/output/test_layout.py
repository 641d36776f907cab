"""Which result stands where: values at paths, and what a layout calls its results."""
from __future__ import annotations

import pytest

from adcli.output.layout import Layout, nested

PATHS = (("dv_dx", ("grad", "v", "x")), ("dv_dy", ("grad", "v", "y")), ("c0", ("taylor", "v", 0)), ("c1", ("taylor", "v", 1)),
         ("h", ("hess", "v", "x", "y")), ("m00", ("rows", 0)), ("d", ("d",)))


def test_values_stand_at_their_paths():
    found = nested([path for _, path in PATHS], [1, 2, 3, 4, 5, 6, 7])
    assert found == {"grad": {"v": {"x": 1, "y": 2}}, "taylor": {"v": [3, 4]}, "hess": {"v": {"x": {"y": 5}}}, "rows": [6],
                     "d": 7}
    assert nested([], []) == {}
    for count in (0, 2):
        with pytest.raises(ValueError, match="zip"):
            nested([("d",)], [1] * count)


@pytest.mark.parametrize("status", [None, "status"])
def test_results_have_names_in_order_and_the_shape_of_json(status):
    layout = Layout("grad", ("x", "y"), "tangent", {}, ("v", "w"), PATHS[:2], status)
    assert layout.results == ["v", "w", "dv_dx", "dv_dy"]
    assert layout.names == [*layout.results, *([status] if status else [])]
    assert layout.shaped([1, 2, 3, 4]) == {"value": {"v": 1, "w": 2}, "grad": {"v": {"x": 3, "y": 4}}}
    assert layout._replace(values=()).shaped([3, 4]) == {"grad": {"v": {"x": 3, "y": 4}}}
    assert Layout(None, ("x",), "", {}, ("v",), ()).shaped(["one"]) == {"value": {"v": "one"}}
