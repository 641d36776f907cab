"""Outputs that are equations, which solve takes for the difference of both sides and other verbs refuse."""
import pytest
from command import adcli as run
from command import succeeds


@pytest.mark.parametrize("program, at, x", [
    ("cos(x) == x", {"x": 1.0}, 0.7390851332151607), ("v = (x**2 == a)", {"x": 1.0, "a": 3.0}, 3**0.5),
    ("c = x == 2\nv = c ? x : 2*x - 3", {"x": 1.0}, 1.5), ("f = x == 2\noutput f", {"x": 1.0}, 2.0),
    ("input x(N), b(N)\nr(i) = x(i)*x(i) == b(i)", {"x": "[1.0, 1.0]", "b": "[4.0, 9.0]"}, [2.0, 3.0])])
def test_an_output_may_be_an_equation(program, at, x, tmp_path):
    """At points, of a file, and in what is emitted."""
    path = tmp_path / "p.ad"
    path.write_text(program)
    for words in (("-e", program), (path,)):
        ended = succeeds("solve", *words, "--wrt", "x", "--at", ",".join(f"{k}={v}" for k, v in at.items()), "--format", "json")
        assert ended.records[0]["at"]["x"] == pytest.approx(x)
    assert "==" not in succeeds("solve", path, "--wrt", "x", "--emit", "text").out.split("\n", 4)[-1] or "c =" in program
    assert "is a truth value" in run("solve", "-e", "x >= 2", "--at", "x=1").err
