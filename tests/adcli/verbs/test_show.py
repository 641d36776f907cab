"""The verbs show and fmt."""
from __future__ import annotations

import pytest
from command import adcli, succeeds
from places import WORKED

pytestmark = pytest.mark.usefixtures("empty_folder")


@pytest.mark.parametrize("stage", ["parsed", "anf", "ssa", "dup", "forward", "reverse", "simplified"])
@pytest.mark.parametrize("style", [None, "nested", "anf", "prefix"])
def test_every_stage_is_a_program(stage, style):
    if (stage, style) == ("parsed", "anf"):
        assert adcli("show", WORKED, "--stage", stage, "--style", style).code == 2
        return
    text = succeeds("show", WORKED, "--stage", stage, *(["--style", style] if style else [])).out
    at = "x=2,y=5" + {"forward": ",dx=1,dy=0", "reverse": ",d_dv=1"}.get(stage, "")
    assert succeeds("eval", "-", "--at", at, stdin=text.encode()).out.startswith("v = 3920.6\n")

