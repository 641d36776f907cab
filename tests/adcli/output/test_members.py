"""The names of members in the JSON of each verb, which programs of other people read."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from command import succeeds

NAMES = {"x", "y", "v", "a"}
"""Those that a program chose."""
POINTS = b"x,y\n1,2.1\n2,3.9\n3,6.2\n4,7.8\n"


def members(found: Any) -> Iterator[str]:
    for key, x in found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ():
        if isinstance(key, str):
            yield key
        yield from members(x)


@pytest.mark.parametrize("verb, args, wanted", [
    ("minimize", ["-e", "v = (x - 3)**2 + y", "--at", "x=1,y=1", "--subject-to", "y >= 2", "--subject-to", "x <= 9"],
     "at bound bounds conditions evaluations gradient gradients hessians iterations message minimum multiplier "
     "sentence solver status value values verdict violation"),
    ("solve", ["-e", "x**2 - a", "--wrt", "x", "--at", "x=1,a=2"],
     "at condition dx_da evaluations residual sensitivity sentence solver verdict"),
    ("propagate", ["-q", "-e", "v = x*y", "--at", "x=2±0.1,y=5±0.2", "--monte-carlo", "1000", "--shortest", "--second-order"],
     "U at bad coverage error high high_off interval k low low_off mean monte_carlo of samples second_order "
     "seed share shortest spread status tolerance u value verdict"),
    ("check", ["-e", "v = x**2", "--at", "x=2"],
     "all allowed at compared digits entries entry expected failed fault first got how looked_at method methods "
     "note points program second seed skipped slope unusable usable verdict worst"),
    ("trace", ["-e", "v = x**2", "--at", "x=2", "--tangent", "x=1", "--cotangent", "v=1"],
     "adjoint at cotangent formula input inputs line lines name of op operand operands output outputs span "
     "status steps tangent terms value"),
    ("why", ["-e", "v = sin(x)/x", "--at", "x=0", "--limit"],
     "at because causes column dv_dx file from gives kind left limits line operands operation result results "
     "rewrite right source sweep text to why wrt"),
    ("fit", ["-e", "v = a*x", "--data", "-", "--y", "y", "--params", "a=1"],
     "at chi2 converged correlation cost covariance dof evaluations held high loss low params residual_sd "
     "residuals sigma solver start uncertainty undetermined value"),
    ("grad", ["-e", "v = log(x)", "--at", "x=2", "--digits", "--status"],
     "at digits grad status value"),
    ("grad", ["-e", "v = log(x)", "--at", "x=2", "--enclose"],
     "at decoration enclosure grad value"),
    ("hessian", ["-e", "v = x**2*y", "--at", "x=2,y=1"],
     "at grad hessian status value")])
def test_members(verb: str, args: list[str], wanted: str) -> None:
    found = succeeds(verb, *args, "--format", "json", stdin=POINTS if "-" in args else b"").records
    assert " ".join(sorted({*members(found)} - NAMES)) == wanted
