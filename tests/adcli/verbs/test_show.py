"""The verbs show and fmt."""
from __future__ import annotations

import pathlib

import pytest
from command import adcli, succeeds
from places import WORKED

pytestmark = pytest.mark.usefixtures("empty_folder")


def test_a_program_may_be_formatted_in_place():
    pathlib.Path("p.ad").write_text("v=x*(y+1)  # product\n")
    succeeds("fmt", "p.ad", "-o", "p.ad")
    assert pathlib.Path("p.ad").read_text() == "v = x * (y + 1)  # product\n"
    assert succeeds("fmt", "--check", "p.ad").out == ""


@pytest.mark.parametrize("stage", ["parsed", "anf", "ssa", "dup", "forward", "reverse", "simplified"])
@pytest.mark.parametrize("style", [None, "nested", "anf", "prefix"])
def test_every_stage_is_a_program(stage, style):
    if (stage, style) == ("parsed", "anf"):
        assert adcli("show", WORKED, "--stage", stage, "--style", style).code == 2
        return
    text = succeeds("show", WORKED, "--stage", stage, *(["--style", style] if style else [])).out
    at = "x=2,y=5" + {"forward": ",dx=1,dy=0", "reverse": ",d_dv=1"}.get(stage, "")
    assert succeeds("eval", "-", "--at", at, stdin=text.encode()).out.startswith("v = 3920.6\n")


def test_show_takes_wrt_and_of():
    text = succeeds("show", "-e", "v = x*y; w = x", "--stage", "reverse", "--wrt", "y", "--of", "v").out
    assert succeeds("eval", "-", "--at", "x=2,y=5,d_dv=1", stdin=text.encode()).out == "v = 10.0\nw = 2.0\nd_dy = 2.0\n"
