"""Losses of one's own: published and closed forms of counts, normal models and posteriors, and what is refused."""
from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from command import adcli, succeeds

from adcli import compile

X, Y, N = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), np.array([1.0, 2.0, 4.0, 7.0, 8.0, 9.0]), 10.0
S = np.array([0.5, 0.4, 0.8, 0.5, 1.0, 0.5])
DATA = {"x": X, "y": Y, "n": np.full(6, N), "s": S, "w": np.array([1.0, 2.0, 1.0, 3.0, 1.0, 2.0])}
ROWS = ("x,y,n,s,w\n" + "".join(",".join(map(repr, map(float, row))) + "\n" for row in zip(*DATA.values(), strict=True))).encode()
LINE = ("-e", "v = a + b*x", "--params", "a=1,b=1")
DESIGN = np.column_stack([np.ones(6), X])


def fit(*args: str, stdin: bytes = ROWS) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(succeeds("fit", *args, "--y", "y", "--format", "json", stdin=stdin).out)
    return found


def numbers(found: dict[str, Any], what: str = "value") -> list[float]:
    return [p[what] for p in found["params"].values()]


def test_counts_are_those_of_the_example_of_r() -> None:
    """The randomised trial of Dobson (1990), as the help of R's glm has it, with the numbers that R prints; AIC 56.76."""
    counts = np.array([18, 17, 15, 20, 10, 20, 25, 13, 12], float)
    i = np.arange(9)
    columns = {"y": counts, "o2": i % 3 == 1, "o3": i % 3 == 2, "t2": i // 3 == 1, "t3": i // 3 == 2}
    start = dict.fromkeys(("b0", "b1", "b2", "b3", "b4"), 0.0)
    linear = "b0 + b1*o2 + b2*o3 + b3*t2 + b4*t3"
    for text, loss in ((f"exp({linear})", "poisson"), (linear, "poisson_log")):
        r = compile(f"v = {text}").fit({n: np.asarray(c, float) for n, c in columns.items()}, params=start, loss=loss)
        np.testing.assert_allclose(r.x, [3.044522, -0.4542553, -0.2929871, 0, 0], atol=6e-7)
        np.testing.assert_allclose(list(r.uncertainties.values()), [0.1709, 0.2022, 0.1927, 0.2, 0.2], atol=5e-5)
        assert 2 * r.cost + 10 == pytest.approx(56.76, abs=5e-3)
        assert (r.success, r.dof, r.losses) == (True, 4, (r.cost,))


@pytest.mark.parametrize(("model", "loss"), [
    ("p = sigmoid(a + b*x)", "-binomial_lpmf(observed, n, predicted)"),
    ("p = a + b*x", "-binomial_logit_lpmf(observed, n, predicted)")])
def test_binomial_counts_are_those_of_scoring(model: str, loss: str) -> None:
    """Fisher scoring; with the logit link the expected Hessian is the Hessian (McCullagh and Nelder 1989, 2.5)."""
    b = np.zeros(2)
    for _ in range(30):
        p = 1 / (1 + np.exp(-DESIGN @ b))
        h = DESIGN.T @ (DESIGN * (N * p * (1 - p))[:, None])
        b = b + np.linalg.solve(h, DESIGN.T @ (Y - N * p))
    found = fit("-e", model, "--params", "a=0,b=0", "--loss", loss)
    np.testing.assert_allclose(numbers(found), b, rtol=1e-10)
    np.testing.assert_allclose(numbers(found, "uncertainty"), np.sqrt(np.linalg.inv(h).diagonal()), rtol=1e-10)


def test_squares_as_a_loss_are_least_squares() -> None:
    squares = fit(*LINE, "--loss", "residual**2/2")
    plain = json.loads(succeeds("fit", *LINE, "--y", "y:1", "--format", "json", stdin=ROWS).out)
    for what in ("value", "uncertainty"):
        np.testing.assert_allclose(numbers(squares, what), numbers(plain, what), rtol=1e-11)
    assert squares["cost"] == pytest.approx(plain["chi2"] / 2) and squares["dof"] == plain["dof"] == 4


def test_a_scale_among_the_parameters_is_that_of_maximum_likelihood() -> None:
    """σ² = SSR/n; the Hessian at the maximum is blocks XᵀX/σ² and 2n/σ²."""
    found = fit(*LINE[:3], "a=1,b=1,sd=1 in [0, 100]", "--loss", "-normal_lpdf(observed, predicted, sd)")
    b, ssr = np.linalg.lstsq(DESIGN, Y, rcond=None)[:2]
    sd = np.sqrt(ssr[0] / 6)
    np.testing.assert_allclose(numbers(found), [*b, sd], rtol=1e-9)
    u = sd * np.sqrt([*np.linalg.inv(DESIGN.T @ DESIGN).diagonal(), 1 / 12])
    np.testing.assert_allclose(numbers(found, "uncertainty"), u, rtol=1e-8)
    assert found["cost"] == pytest.approx(3 * np.log(2 * np.pi * sd**2) + 3)


def test_a_loss_may_name_other_outputs() -> None:
    """A scatter that is an output is that of the expression in the loss; a column of the name goes before an output."""
    written = fit("-e", "v = a + b*x", "--params", "a=1,b=1,c=1,d=0.1", "--loss", "-normal_lpdf(observed, predicted, c + d*x)")
    model = ("-e", "v = a + b*x; sd = c + d*x; output v, sd", "--params", "a=1,b=1,c=1,d=0.1")
    for loss, more in (("-normal_lpdf(observed, predicted, sd)", ()), ("-normal_lpdf(y, v, sd)", ("--of", "v"))):
        assert numbers(fit(*model, "--loss", loss, *more)) == pytest.approx(numbers(written), rel=1e-9)
    f = compile(model[1])
    r = f.fit(DATA, y="y", params={"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.1}, loss="-normal_lpdf(observed, predicted, sd)")
    assert list(r.x) == pytest.approx(numbers(written), rel=1e-9)
    line = fit(*LINE, "--loss", "-normal_lpdf(observed, predicted, s)")
    assert numbers(fit("-e", "v = a + b*x; s = 2*x; output v, s", "--of", "v", "--params", "a=1,b=1", "--loss",
                       "-normal_lpdf(observed, predicted, s)")) == numbers(line)


def test_a_posterior_of_a_line_is_the_conjugate_one() -> None:
    priors = ("--prior", "normal_lpdf(a, 3, 0.2)", "--prior", "normal_lpdf(b, 1, 0.5)")
    h = DESIGN.T @ (DESIGN / S[:, None]**2) + np.diag([25.0, 4.0])
    mean = np.linalg.solve(h, DESIGN.T @ (Y / S**2) + [75.0, 4.0])
    written = succeeds("fit", *LINE, "--y", "y:s", *priors, "--format", "json", stdin=ROWS)
    found = json.loads(written.out)
    np.testing.assert_allclose(numbers(found), mean, rtol=1e-12)
    np.testing.assert_allclose(numbers(found, "uncertainty"), np.sqrt(np.linalg.inv(h).diagonal()), rtol=1e-12)
    r = compile("v = a + b*x").fit(DATA, sigma="s", params="a=1,b=1", prior=priors[1::2])
    assert (r.x.tolist(), len(r.losses)) == (numbers(found), 2)
    told = succeeds("fit", *LINE, "--y", "y:s", *priors, stdin=ROWS).out
    assert "# uncertainties = from the inverse Hessian of the loss and the priors\n" in told and "# log prior = " in told


def test_weights_are_expressions_and_count_losses() -> None:
    known = json.loads(succeeds("fit", *LINE, "--y", "y:s", "--sigma", "relative", "--format", "json", stdin=ROWS).out)
    by_weight = fit(*LINE, "--weights", "1/s**2")
    np.testing.assert_allclose(numbers(by_weight, "uncertainty"), numbers(known, "uncertainty"), rtol=1e-9)
    loss = ("--loss", "-student_t_lpdf(observed, 3, predicted, 0.5)")
    head, *rows = ROWS.decode().splitlines(keepends=True)
    repeated = "".join(row for row in rows for _ in range(int(float(row.split(",")[-1])))).encode()
    weighted, several = fit(*LINE, *loss, "--weights", "w"), fit(*LINE, *loss, stdin=head.encode() + repeated)
    for what in ("value", "uncertainty"):
        np.testing.assert_allclose(numbers(weighted, what), numbers(several, what), rtol=1e-9)
    r = compile("v = a + b*x").fit(DATA, params="a=1,b=1", weights="1/s**2")
    np.testing.assert_allclose(r.x, numbers(by_weight), rtol=1e-12)


def test_saddles_bounds_and_what_is_not_determined_are_as_with_squares() -> None:
    args = ("fit", "--y", "y", "--loss", "residual**2/2")
    assert "param w = 1.4" in succeeds(*args, "-e", "v = x*w**2", "--params", "w=0", stdin=ROWS).out
    lost = adcli(*args, "-e", "v = a + c + b*x", "--params", "a=1,b=1,c=1", stdin=ROWS)
    assert (lost.code, "here the data determine a + c" in lost.err) == (1, True)
    held = adcli(*args, "-e", "v = a + b*x", "--params", "a=0.2 in [0, 0.5],b=1", stdin=ROWS)
    assert (held.code, "at its bound" in held.out, "a is held by its bound 0.5" in held.err) == (0, True, True)
    for loss in ("predicted", "abs(residual)", "-residual**2"):   # without a minimum, or one with second derivatives
        endless = adcli("fit", *LINE, "--y", "y", "--loss", loss, stdin=ROWS)
        assert (endless.code, "not converged" in endless.err, "influence" in endless.err) == (1, True, False), endless
    idle = adcli("fit", *LINE[:3], "a=1,b=1,c=1", "--y", "y", "--loss", "residual**2/2 + 0*c", stdin=ROWS)
    assert (idle.code, "c has no influence" in idle.err) == (1, True)
