"""adcli solve --data: a solution a row, of numbers and of lists, after rows without one, and what is said of those."""
import numpy as np
import pytest
from command import adcli as run
from command import succeeds
from session_seed import drawn

import adcli

KEPLER = "x - e*sin(x) - m"


def test_a_row_has_what_its_point_has(tmp_path):
    draw, path = drawn("solve", "rows"), tmp_path / "orbits.csv"
    rows = [(f"o{i}", draw.uniform(0, 3), draw.uniform(0, 0.8)) for i in range(4)]
    path.write_text("id,m,e\n" + "".join(f"{i},{m!r},{e!r}\n" for i, m, e in rows))
    header, *lines = succeeds("solve", "-e", KEPLER, "--wrt", "x", "--at", "x=1", "--data", path).out.splitlines()
    assert header == "id,m,e,x,dx_de,dx_dm,residual,verdict"
    f = adcli.compile(KEPLER)
    for (i, m, e), line in zip(rows, lines, strict=True):
        name, *numbers, verdict = line.split(",")
        found = f.solve(x=1.0, m=m, e=e, wrt="x")
        assert (name, verdict) == (i, "solution")
        assert list(map(float, numbers[2:-1])) == [found.x[0], found.sensitivity["dx_de"], found.sensitivity["dx_dm"]]


def test_a_row_without_a_solution_says_so_and_the_next_goes_on():
    ended = run("solve", "-e", "x**2 - a", "--wrt", "x", "--at", "x=1", "--data", "-", stdin=b"a\n4\n-1\n9\n")
    assert ended.code == 1
    assert [line.split(",")[0::4] for line in ended.out.splitlines()[1:]] == [["4", "solution"], ["-1", "no solution"],
                                                                               ["9", "solution"]]
    assert "<stdin>:3: not solved, 1 of 3 rows" in ended.err and "x = 0.0 is a factor" in ended.err
    marked = run("solve", "-e", "x**2 - a", "--wrt", "x", "--at", "x=1", "--data", "-", "--on-error", "mark", stdin=b"a\nq\n9\n")
    assert (marked.code, "'q' is not a number" in marked.out.splitlines()[1]) == (0, True)


def test_lists_are_tensors():
    lines = '{"A":[[2,1],[0,4]],"b":[1,2]}\n{"A":[[2]],"b":[3]}\n{"A":[[2,1]],"b":[3]}\n'
    program = "input A(N,N), x(N), b(N)\ny(i) +=! A(i,j)*x(j)\nr(i) = y(i) - b(i)\noutput r"
    asked = ("--wrt", "x", "--at", "x=[0,0]", "--data", "-", "--on-error", "skip")
    ended = run("solve", "-e", program, *asked, stdin=lines.encode())
    record, = ended.records
    assert record["x"] == pytest.approx([0.25, 0.5])
    assert np.array(record["dx_db"]) == pytest.approx(np.linalg.inv([[2, 1], [0, 4]]))
