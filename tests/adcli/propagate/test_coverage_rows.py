"""propagate --data --coverage: k, U and effective degrees of freedom of each row are those of its point."""
import math

import pytest
from command import adcli as run
from command import succeeds
from session_seed import drawn

PROGRAM = ("-e", "v = a*b + sin(c)/d", "-e", "w = a - b*c")
HEAD = ",".join(kind + x for kind in ("", "u_", "dof_") for x in "abcd")


@pytest.mark.parametrize("correlation", [(), ("--correlation", "a:b=0.4,b:c=-0.3")])
def test_a_row_has_what_its_point_has(correlation):
    draw, rows = drawn("coverage rows", correlation), []
    for _ in range(4):
        together = draw.randint(1, 30)
        dof = [together if correlation and x != "d" else draw.choice([draw.randint(1, 40), draw.uniform(1, 50)]) for x in "abcd"]
        spreads = [draw.choice([0.0, draw.uniform(0.01, 0.2)]) for _ in "abcd"]
        spreads[1] = spreads[1] or 0.1   # what joins a and c
        rows.append([*(draw.uniform(0.5, 2) for _ in "abcd"), *spreads, *dof])
    table = "\n".join([HEAD, *(",".join(map(repr, row)) for row in rows), ""])
    asked = ("propagate", *PROGRAM, *correlation, "--coverage", "0.9")
    found = succeeds(*asked, "--data", "-", "--format", "json", stdin=table.encode()).records
    for row, record in zip(rows, found, strict=True):
        at = ",".join(f"{x}={row[i]!r}±{row[4 + i]!r}~t({row[8 + i]!r})" for i, x in enumerate("abcd"))
        point = run(*asked, "--at", at, "--format", "json").records[0]
        for v in "vw":
            interval = point["interval"][v]
            for kind in ("k", "U", "low", "high"):
                assert record[f"{kind}_{v}"] == pytest.approx(interval[kind], rel=1e-12, abs=1e-15)
            if v in point.get("dof", {}):
                assert record[f"dof_{v}"] == pytest.approx(point["dof"][v], rel=1e-12)


def test_correlated_inputs_of_different_degrees_of_freedom_have_no_factor():
    asked = ("propagate", "-e", "v = x + y", "--correlation", "x:y=0.5", "--coverage", "0.95", "--format", "json")
    ended = run(*asked, "--data", "-", stdin=b"x,u_x,dof_x,y,u_y,dof_y\n1,1,4,2,1,9\n1,1,4,2,0,9\n1,1,4,2,1,4\n")
    assert [r["k_v"] for r in ended.records] == ["NaN", pytest.approx(2.776445105), pytest.approx(2.776445105)]
    assert math.isclose(ended.records[2]["u_v"], math.sqrt(3))
    assert "<stdin>:2: not finite, 1 of 3 rows\nnote: v: no effective degrees of freedom, since" in ended.err

