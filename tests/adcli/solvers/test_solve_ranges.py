"""solve looks for unknowns inside of their declared ranges, at points, in rows and from Python, and says where none is there."""
import math

import pytest
from command import adcli as run

import adcli

VOLATILITY = """input S=100, K=100, T=1, price
input vol = 0.2 in [0.001, 5]
d = (log(S/K) + vol*vol/2*T)/(vol*sqrt(T))
f = S*0.5*erfc(-d/sqrt(2)) - K*0.5*erfc((vol*sqrt(T) - d)/sqrt(2)) - price
output f"""


def test_what_is_outside_is_no_solution():
    ended = run("solve", "-e", "input x = 0.5 in [0, 1]", "-e", "f = x**2 - 4")
    assert (ended.code, "no solution in [0, 1]: residual 3" in ended.out) == (1, True)
    found = adcli.compile("input x = 0.5 in [0, 1]\nf = x**2 - 1.000000001").solve()
    assert (found.verdict, found.message) == ("no solution", "no solution in [0, 1]: residual 1e-09")
    found = adcli.compile("input x in [0, 3], y in [-1, 2]\nf = x*y - 5\ng = x + y - 3").solve(x=1, y=1)
    assert found.message.startswith("no solution with x in [0, 3], y in [-1, 2]: residual")


@pytest.mark.parametrize("program, at, x", [
    ("input x = 0.5 in [0, 1]\nf = x**2 - 1", {}, [1.0]), ("input x = 0.5 in [0, 1]\nf = x", {}, [0.0]),
    ("input x = 0.5 in [0, 1]\nf = x**2 - 0.49", {"x": 7.0}, [0.7]), ("input x = 0.5 in [0, inf]\nf = x**2 - 4", {}, [2.0]),
    ("input x = 2.5 in [2, 2.5]\nf = x - 2\ng = 2*x - 4", {}, [2.0]), ("input x = 0 in [0, 9]\nf = log(x) - 1", {}, [math.e]),
    ("input x in [0, 3], y in [-1, 2]\nf = x*y - 2\ng = x + y - 3", {"x": 1, "y": 1}, [2.0, 1.0]),
    ("input x in [0, 1], y in [0, 1]\nf = exp(40*x) - 2\ng = sin(9*y) + x - 0.99", {"x": 1.0, "y": 0.7}, None),
    ("input x(N) in [0, 1]\nr(i) = x(i)*x(i) - 0.25*(i + 1)*(i + 1)\noutput r", {"x": [0.9, -3.0]}, [0.5, 1.0]),
    ("input x = 9 in [0, 10]\nf = tanh(50*(x - 0.3))", {}, [0.3])])
def test_a_solution_inside_or_at_an_end_is_found(program, at, x):
    found = adcli.compile(program).solve(at)
    assert found.success, found.message
    if x is not None:
        assert found.x == pytest.approx(x, rel=1e-10, abs=1e-15)


def test_implied_volatilities_stay_in_their_range():
    f = adcli.compile(VOLATILITY)
    for price, strike, start in ((10, 100, 0.2), (1e-9, 150, 5.0), (98, 100, 0.001), (50.2, 50, 0.001)):
        found = f.solve(price=price, K=strike, vol=start, wrt="vol")
        assert found.success and 0.001 < found.x[0] < 5, found.message
        assert f(found.at)["f"] == pytest.approx(0, abs=1e-12 * price)
    for price in (0.0, 99.0, 120.0):   # less than at 0.001, more than at 5, more than the share
        found = f.solve(price=price, wrt="vol")
        assert (found.verdict, found.message[:27]) == ("no solution", "no solution in [0.001, 5]: "[:27])
        assert 0.001 <= found.x[0] <= 5


def test_rows():
    words = ("-e", "input x = 0.5 in [0, 1]", "-e", "f = x**2 - a", "--wrt", "x")
    ended = run("solve", *words, "--data", "-", stdin=b"a\n0.25\n4\n1\n")
    assert ended.code == 1
    assert [line.split(",")[::4] for line in ended.out.splitlines()[1:]] == [["0.25", "solution"], ["4", "no solution"],
                                                                             ["1", "solution"]]
    assert "<stdin>:3: not solved" in ended.err and "no solution in [0, 1]: residual 3" in ended.err
    assert "x = 4.0 is outside its range" in run("solve", *words, "--at", "x=4,a=0.25").err


@pytest.mark.parametrize("program, at, x", [
    ("input x in [0, 1], y in [0, 1]\nf = sin(20*x) + 3*x - 2.9\ng = y - x", {"x": 0.1, "y": 0.9}, 0.945634694),
    ("input x in [0, 4], y in [0, 4]\nf = (x - 3)*((x - 1)**2 + 0.1)\ng = y - x", {"x": 0.2, "y": 0.1}, 3.0)])
def test_other_starts_are_tried_where_the_first_leads_nowhere(program, at, x):
    found = adcli.compile(program).solve(at)
    assert found.success and found.x == pytest.approx([x, x]), found.message


def test_one_unknown_beyond_its_range_is_enough():
    found = adcli.compile("input x in [0, 1], y in [0, 1]\nf = x - 1.0000000001\ng = y - 0.5").solve(x=0.5, y=0.5)
    assert (found.verdict, found.x.tolist()) == ("no solution", [1.0, 0.5])
