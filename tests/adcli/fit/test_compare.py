"""Models side by side: the likelihoods, criteria and tests of textbooks, and what is refused."""
from __future__ import annotations

import json

import numpy as np
import pytest
from command import adcli, succeeds
from scipy import stats

from adcli import compile

X, Y = np.array([1.0, 2.0, 3.0, 5.0, 8.0, 9.0]), np.array([2.0, 4.0, 3.0, 7.0, 11.0, 10.5])
ROWS = ("x,y,s\n" + "".join(f"{x},{y},{s}\n" for x, y, s in zip(X, Y, 0.1 * X, strict=True))).encode()
LINE = ("fit", "-e", "v = a + b*x", "--against", "v = a + b*x + c*x**2", "--against", "v = a", "--params", "a=1,b=1,c=0")


def models(*args: str) -> list[dict[str, float]]:
    found: list[dict[str, float]] = json.loads(succeeds(*LINE, *args, "--format", "json", stdin=ROWS).out)["models"]
    return found


@pytest.mark.parametrize("known", [True, False])
def test_criteria_are_those_of_the_normal_likelihood(known: bool) -> None:
    sigma, n = 0.1 * X, 6
    rows = models("--y", "y:s", "--sigma", "absolute" if known else "relative")
    costs, likelihoods = [], []
    for row, degree in zip(rows, (1, 2, 0), strict=True):
        b, (cost,) = np.linalg.lstsq(np.vander(X, degree + 1) / sigma[:, None], Y / sigma, rcond=None)[:2]
        scale = sigma * (1 if known else np.sqrt(cost / n))
        likelihood = stats.norm.logpdf(Y, np.vander(X, degree + 1) @ b, scale).sum()
        k = degree + 1 + (not known)
        expected = {"parameters": degree + 1, "cost": cost, "log likelihood": likelihood, "AIC": 2*k - 2*likelihood,
                    "AICc": 2*k - 2*likelihood + 2*k*(k + 1)/(n - k - 1), "BIC": k*np.log(n) - 2*likelihood}
        for name, x in expected.items():
            assert row[name] == pytest.approx(x, rel=1e-9), name
        costs.append(cost)
        likelihoods.append(likelihood)
    assert min(row["ΔAIC"] for row in rows) == 0 and rows[0].get("F", rows[0].get("χ²")) is None
    if known:
        assert [rows[i]["p"] for i in (1, 2)] == pytest.approx([
            stats.chi2.sf(2 * abs(likelihoods[i] - likelihoods[0]), 1) for i in (1, 2)], rel=1e-9)
    else:
        f = [(costs[0] - costs[1]) / (costs[1] / 3), (costs[2] - costs[0]) / (costs[0] / 4)]
        assert [rows[i]["F"] for i in (1, 2)] == pytest.approx(f, rel=1e-8)
        assert [rows[i]["p"] for i in (1, 2)] == pytest.approx([stats.f.sf(f[0], 1, 3), stats.f.sf(f[1], 1, 4)], rel=1e-8)


def test_counts_are_compared_by_the_ratio_of_likelihoods() -> None:
    """Deviances of R's example of glm: 5.1291 with all effects, 10.581 without any, on 4 and 8 degrees of freedom."""
    counts = (18, 17, 15, 20, 10, 20, 25, 13, 12)
    rows = "y,o2,o3,t2,t3\n" + "".join(f"{y},{i % 3 == 1:d},{i % 3 == 2:d},{i // 3 == 1:d},{i // 3 == 2:d}\n"
                                       for i, y in enumerate(counts))
    found = succeeds("fit", "-e", "v = b0 + b1*o2 + b2*o3 + b3*t2 + b4*t3", "--against", "v = b0", "--params",
                     "b0=1,b1=0,b2=0,b3=0,b4=0", "--y", "y", "--loss", "poisson_log", "--format", "json", stdin=rows.encode())
    one, other = json.loads(found.out)["models"]
    assert (other["χ²"], one["AIC"]) == (pytest.approx(10.581 - 5.1291, abs=5e-4), pytest.approx(56.76, abs=5e-3))
    assert other["p"] == pytest.approx(stats.chi2.sf(other["χ²"], 4))


def test_an_output_of_another_name_is_compared_with_the_same_column() -> None:
    both = [succeeds("fit", "-e", "y = a + b*x", "--against", other, "--params", "a=1,b=1,c=0", "--format", "json", stdin=ROWS)
            for other in ("a + b*x + c*x**2", "y = a + b*x + c*x**2")]
    one, other = (json.loads(ended.out)["models"][1] for ended in both)
    assert one | {"model": ""} == other | {"model": ""}


def test_a_comparison_is_a_table_in_every_format() -> None:
    text = succeeds(*LINE, "--y", "y", stdin=ROWS).out
    assert "# models, each tested against the first" in text and "param c" not in text
    assert succeeds(*LINE, "--y", "y", "--format", "csv", stdin=ROWS).out.startswith("model,parameters,cost,log likelihood,AIC,")
    assert "| 3 | " in succeeds(*LINE, "--y", "y", "--format", "markdown", stdin=ROWS).out
    assert "v = a + b*x + c*x" in succeeds(*LINE, "--y", "y", "--format", "latex", stdin=ROWS).out


@pytest.mark.parametrize("params", [(), ("--params", "a,b")])
def test_another_model_has_the_starts_of_the_first(params: tuple[str, ...]) -> None:
    costs = []
    for declared, given in (("", ("--params", "a=1,b=1")), ("param a = 1, b = 1; ", params)):
        args = ("-e", f"{declared}v = a + b*x", "--against", "v = a", *given, "--y", "y", "--format", "json")
        costs.append([m["cost"] for m in json.loads(succeeds("fit", *args, stdin=ROWS).out)["models"]])
    assert costs[0] == costs[1]


def test_parameters_are_fixed_by_at_and_linked_by_expressions() -> None:
    program = ("-e", "param a = 1, b = 1, c = 0.5", "-e", "v = a + b*x + c*x**2")
    fixed = json.loads(succeeds("fit", *program, "--at", "c=0", "--y", "y", "--format", "json", stdin=ROWS).out)
    plain = json.loads(succeeds(*LINE[:3], "--params", "a=1,b=1", "--y", "y", "--format", "json", stdin=ROWS).out)
    assert (list(fixed["params"]), fixed["params"]) == (["a", "b"], plain["params"])
    args = (*program, "--params", "a=1,b=-2*a,c=a/4", "--y", "y")
    linked = json.loads(succeeds("fit", *args, "--format", "json", stdin=ROWS).out)
    basis = 1 - 2*X + X**2 / 4
    a = basis @ Y / (basis @ basis)
    assert linked["params"]["a"]["value"] == pytest.approx(a, rel=1e-11) and linked["dof"] == 5
    assert "b = -2 * a\n" in succeeds("fit", *args, "--format", "program", stdin=ROWS).out
    for params in ("a=1,b=-2*a,c=a/4", {"a": 1.0, "b": "-2*a", "c": "a/4"}):
        assert compile("v = a + b*x + c*x**2").fit({"x": X, "y": Y}, params=params).x == pytest.approx([a], rel=1e-11)
    faults = {"a=b,b=1,c=c/2": "'c' is a function of itself", "a=1,q=a": "no input 'q'", "a=x,b=1": "must be a constant"}
    for params, said in faults.items():
        found = adcli("fit", *program, "--params", params, "--y", "y", stdin=ROWS)
        assert (found.code, said in found.err) == (2, True), found.err
