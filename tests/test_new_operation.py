"""A new operation takes one row of the table: it is planted there, in a copy of the package, and every verb knows it."""
from __future__ import annotations

import math

from planted_package import PlantedPackage

ROW = '''
versine = row("versine", "r>r", lambda t, z, x: t * sin(x), value=lambda x: 2 * (sin(x / 2) * sin(x / 2)), vanishes=True,
              about="1 - cos(x), accurate near 0")
'''


PRINTED = [
    (["eval", "-e", "v = versine(x)", "--at", "x=0.5"], str(1 - math.cos(0.5))[:10]),
    (["grad", "-e", "v = versine(x)*y", "--at", "x=0.5,y=2", "--mode", "reverse"], str(2 * math.sin(0.5))[:10]),
    (["grad", "-e", "v = versine(x)*y", "--at", "x=0.5,y=2", "--mode", "forward"], str(2 * math.sin(0.5))[:10]),
    (["hessian", "-e", "v = versine(x)", "--at", "x=0.5"], str(math.cos(0.5))[:10]),
    (["taylor", "-e", "v = versine(x)", "--at", "x=0.5", "--order", "3"], str(math.sin(0.5))[:10]),
    (["grad", "-e", "v = versine(x)", "--emit", "text"], "versine(x)"),
    (["fmt", "-e", "v = versine( x )"], "versine(x)"),
    (["check", "-e", "v = versine(x)*exp(y)", "--at", "x=0.5,y=2"], "ok"),
    (["trace", "-e", "v = versine(x)*y", "--at", "x=0.5,y=2", "--cotangent", "v=1"], "× sin x"),
    (["trace", "-e", "v = versine(x)*y", "--at", "x=0.5,y=2", "--format", "latex"], r"\operatorname{versine}"),
    (["why", "-e", "v = 1/versine(x)", "--at", "x=0"], "versine"),
    (["grad", "-e", "v = versine(x)", "--at", "x=0.5", "--digits"], str(math.sin(0.5))[:10]),
    (["grad", "-e", "v = versine(x)", "--at", "x=0.5", "--enclose"], str(math.sin(0.5))[:10]),
]


def test_one_row_is_all_that_a_new_operation_takes(tmp_path):
    """The package with one row more in lang/ir/primitives.py and no other change."""
    package = PlantedPackage(tmp_path / "planted")
    package.plant("adcli/lang/ir/primitives.py", "\nOPERATORS.update", ROW)
    for args, wanted in PRINTED:
        assert wanted in package.prints(*args), args
    package.close()
