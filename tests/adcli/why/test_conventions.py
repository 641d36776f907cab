"""why --limit at kinks, ties and jumps: what is chosen there, and what the sides have instead."""
import pytest
from command import succeeds


def limits(*command):
    """The limits that are told, by result: what both sides have, or the right and the left one."""
    (found,) = succeeds("why", *command, "--limit", "--format", "json").records
    told = [limit for group in found["why"] for limit in group.get("limits", ())]
    return {t["result"]: t["right"] if t["right"] == t["left"] else (t["right"], t["left"]) for t in told}


@pytest.mark.parametrize("program, at, expected", [
    ("0.5*hypot(x, y)**2", "x=0,y=0", {"d2f_dx_dx": 1.0, "d2f_dy_dy": 1.0, "d2f_dx_dy": 0.0, "df_dx": 0.0, "df_dy": 0.0}),
    ("abs(x)**2", "x=0", {"df_dx": 0.0, "d2f_dx_dx": 2.0}),
    ("x == 0 ? 0 : x", "x=0", {"df_dx": 1.0, "d2f_dx_dx": 0.0}),
    ("max(x**2, 2*x**2)", "x=0", {"df_dx": 0.0, "d2f_dx_dx": 4.0}),       # printed: 3
    ("max(x, 2*x)", "x=0", {"df_dx": (2.0, 1.0), "d2f_dx_dx": 0.0}),
    ("clamp(x, 0, 1)", "x=1", {"df_dx": (0.0, 1.0), "d2f_dx_dx": 0.0}),
    ("x == 1 ? 3*x : x**3", "x=1", {"df_dx": 3.0, "d2f_dx_dx": 6.0}),
    ("abs(x)**3*y", "x=1,y=1", {}),
    ("input x(N); s +=! abs(x(i))**2", "x=[0,1]", {"ds_dx(0)": 0.0, "d2s_dx_dx(0, 0)": 2.0}),
    ("input x(N); s +=! abs(x(i))", "x=[0,0]", {"ds_dx(0)": (1.0, -1.0), "d2s_dx_dx(0, 0)": 0.0}),
    ("input x(N); s max=! x(i)", "x=[1,1,0]", {"ds_dx(0)": (1.0, 0.0), "d2s_dx_dx(0, 0)": 0.0})])
def test_limits_of_both_sides(program, at, expected):
    for mode in ("reverse", "forward"):
        assert limits("-e", program, "--at", at, "--order", "2", "--mode", mode) == expected

