"""Which entries the numbers are that somebody returns."""
from __future__ import annotations

import pytest
from adcli.lang.derive.derivatives import hessian
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse

from adcli.check.returned import Returned


def test_numbers_are_known_by_how_many_there_are():
    two = Returned(parse("u = x*y\nv = x + y"), ["x", "y"], None)
    assert [two.by_count(n) and len(two.by_count(n)) for n in (2, 4, 6, 8, 12, 14, 5)] == [2, 4, 6, 8, 12, 14, None]
    assert two.by_count(4) == [("u", ("x",)), ("u", ("y",)), ("v", ("x",)), ("v", ("y",))]
    assert two.by_name(["v", "dv_dy", "d2u_dy_dx", "q"]) == {0: ("v", ()), 1: ("v", ("y",)), 2: ("u", ("y", "x"))}
    half_of_it = Returned(parse("v = x*y"), ["x", "y"], "hessian")
    assert half_of_it.by_count(3) == [("v", ("x", "x")), ("v", ("x", "y")), ("v", ("y", "y"))] and half_of_it.by_count(2) is None
    one = parse("v = x**2")
    with pytest.raises(AdError, match="1 number can be the value, the gradient or the hessian"):
        Returned(one, ["x"], None).by_count(1)
    assert Returned(one, ["x"], "gradient").by_count(1) == [("v", ("x",))]


def test_zeros_by_construction_may_be_left_out():
    names = [f"x{i}" for i in range(12)]
    program = parse("v = " + " + ".join(f"{x}**2" for x in names))
    ours = [(r.of or r.name, r.wrt) for r in hessian(program).results]
    assert len(ours) == 1 + 12 + 12 and Returned(program, names, None).by_count(len(ours)) == ours
