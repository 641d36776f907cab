"""Log densities for samplers: bounds, gradients, and draws of the real packages."""
from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from adcli.lang.ir.errors import AdError
from places import ROOT
from scipy import stats

import adcli

Y, S = np.array([28, 8, -3, 7, -1, 1, 18, 12.0]), np.array([15, 10, 16, 11, 9, 11, 10, 18.0])
BOUNDS = {"x": ("x in [0, inf]", lambda u: math.exp(u), lambda u: u),
          "a": ("x in [-inf, 3]", lambda u: 3 - math.exp(u), lambda u: u),
          "b": ("x in [1, 4]", lambda u: 1 + 3 / (1 + math.exp(-u)),
                lambda u: math.log(3) - math.log1p(math.exp(-u)) - math.log1p(math.exp(u))),
          "c": ("x", lambda u: u, lambda u: 0.0)}


def eight_schools() -> Any:
    return adcli.load(ROOT / "samples/eight_schools.ad").logdensity(y=Y, s=S)


def radon() -> Any:
    r = np.random.default_rng(3)
    county = r.integers(0, 6, 40)
    data = {"y": r.standard_normal(40), "level": r.integers(0, 2, 40) * 1.0, "county": county}
    return adcli.load(ROOT / "samples/radon.ad").logdensity(start={"z": np.zeros(6)}, **data)


def in_matrices() -> Any:
    text = "input A(N, M) in [0, 2], s in [0, inf], y(N, M); lp +=! -A(i, j)*(y(i, j) - s)**2*(i + 2*j)"
    return adcli.compile(text).logdensity(y=np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("name", BOUNDS)
def test_a_range_is_a_function_of_the_component_and_its_slope(name: str) -> None:
    declared, inner, log_slope = BOUNDS[name]
    d = adcli.compile(f"input {declared}, y; lp = -x**2*y").logdensity(y=2.0)
    for u in (-3.0, 0.0, 0.5, 2.0):
        x = inner(u)
        assert d.value([u]) == pytest.approx(-2 * x * x + log_slope(u), rel=1e-14)
        assert d.unpack([u])["x"] == pytest.approx(x, rel=1e-15) and d.pack({"x": x})[0] == pytest.approx(u, abs=1e-12)


VECTORS = "input _p(D, K) in simplex, n(D, K), c(L, M) in ordered, o(K) in ordered, s in [0, inf]; " \
    "input F(2, M, M) in cholesky_factor_corr; " \
    "a +=! n(d, k)*log(_p(d, k)); b +=! -c(i, j)**2/2*(i + 1); e +=! -o(k)**2/2; f +=! F(i, j, k)*(i + j - k); " \
    "lp = a + b + e + f - s; output lp"
COUNTS = np.array([[2.0, 3.0, 1.5, 0.5], [0.5, 0.0, 1.0, 4.0]])


def in_vectors() -> Any:
    return adcli.compile(VECTORS).logdensity(n=COUNTS, start={"c": [[-1.0, 0.0, 1.0], [0.0, 2.0, 3.0]]})


def test_constraints_have_the_volume_element_of_their_map() -> None:
    d = in_vectors()
    u = 0.7 * np.cos(np.arange(d.dim))
    x, step = d.unpack(u), 1e-5
    below = np.tril_indices(3, -1)
    free = [np.concatenate([y["_p"][:, :-1].ravel(), y["c"].ravel(), y["o"], [y["s"]], y["F"][:, *below].ravel()])
            for y in (d.unpack(u + step * sign * e) for e in np.eye(d.dim) for sign in (1, -1))]
    volume = np.linalg.slogdet((np.array(free[::2]) - free[1::2]) / (2 * step))[1]
    assert (x["_p"] > 0).all() and (np.diff(x["c"]) > 0).all() and (np.diff(x["o"]) > 0).all()
    np.testing.assert_allclose([*x["_p"].sum(-1), *(x["F"]**2).sum(-1).ravel()], 1, rtol=1e-15)
    assert (np.triu(x["F"], 1) == 0).all() and (np.diagonal(x["F"], 0, 1, 2) > 0).all() and "F(1, 2, 1)" in d.names
    want = (COUNTS * np.log(x["_p"])).sum() - (x["c"]**2 * [[1], [2]]).sum() / 2 - (x["o"]**2).sum() / 2 - x["s"]
    want += (x["F"] * np.fromfunction(lambda i, j, k: i + j - k, (2, 3, 3))).sum()
    assert d.value(u) == pytest.approx(want + volume, abs=1e-8)
    rows = d.unpack(np.array([[u, 2*u, 3*u]]))
    assert rows["_p"].shape == (1, 3, 2, 4) and (rows["o"][0, 0] == x["o"]).all() and rows["s"].shape == (1, 3)


@pytest.mark.parametrize("make", [eight_schools, radon, in_matrices, in_vectors])
def test_the_gradient_is_that_of_the_value(make: Any) -> None:
    d = make()
    u = d.start + np.linspace(-0.5, 0.5, d.dim)
    value, gradient = d(u)
    steps = 1e-5 * np.eye(d.dim)
    found = [(d.value(u + e) - d.value(u - e)) / 2e-5 for e in steps]
    assert value == d.value(u) and len(d.names) == d.dim
    np.testing.assert_allclose(gradient, found, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(d.pack(d.unpack(u)), u, atol=1e-13)


def test_the_value_is_the_density_in_the_new_coordinates() -> None:
    d, u = eight_schools(), np.linspace(-1, 1, 10)
    mu, tau, z = u[0], math.exp(u[1]), u[2:]
    want = (stats.norm.logpdf(mu, 0, 5) + stats.halfcauchy.logpdf(tau, 0, 5) + stats.norm.logpdf(z).sum()
            + stats.norm.logpdf(Y, mu + tau * z, S).sum() + u[1])
    assert d.value(u) == pytest.approx(want, rel=1e-13)
    assert d.names[:3] == ["mu", "tau", "z(0)"] and d.unpack(np.zeros((3, 2, 10)))["z"].shape == (3, 2, 8)


def test_what_is_no_number_has_no_density() -> None:
    d = adcli.compile("input x, y; lp = log(x)*y").logdensity(y=1.0)
    value, gradient = d([-1.0])
    assert value == d.value([-1.0]) == -math.inf and list(gradient) == [0.0]


def test_a_value_on_its_bound_has_no_component() -> None:
    with pytest.raises(AdError, match="'tau' has a value that is not inside of its range"):
        eight_schools().pack({"mu": 0, "tau": 0, "z": np.zeros(8)})


def test_a_vector_of_another_length_is_refused_and_a_pool_takes_the_density() -> None:
    d = eight_schools()
    for of in (d, d.value, d.unpack, lambda u: d(np.zeros((2, 10)))):
        with pytest.raises(AdError, match=r"the vector has shape .*, and the density 10 components"):
            of(np.zeros(3))
    with pytest.raises(AdError, match="no value for tau"):
        d.pack({"mu": 0})
    sent = pickle.dumps(d)
    assert pickle.loads(sent) is pickle.loads(sent) and pickle.loads(sent).value(d.start) == d.value(d.start)


@pytest.mark.parametrize("name, x", [("p", [0.0, 1.0]), ("p", [0.2, 0.2]), ("c", [1.0, 1.0])])
def test_a_vector_outside_of_its_constraint_has_no_components(name: str, x: list[float]) -> None:
    d = adcli.compile("input p(2) in simplex, c(2) in ordered; lp = p(0)*c(0)").logdensity()
    with pytest.raises(AdError, match=f"'{name}' has a value that is not inside of"):
        d.pack({"p": [0.5, 0.5], "c": [0.0, 1.0], name: x})


NORMAL = "input m, s in [0, inf], y(N); lp +=! normal_lpdf(y(i), m, s) - log(s)/N"
"""Its posterior is known: m is as Student's t about the mean, s² as an inverse of chi-squared."""


def check(draws: dict[str, np.ndarray]) -> None:
    assert np.mean(draws["m"]) == pytest.approx(np.mean(Y), abs=0.6) and np.std(draws["m"]) == pytest.approx(
        np.std(Y, ddof=1) / math.sqrt(8) * math.sqrt(7 / 5), rel=0.2)


@pytest.mark.engine
def test_emcee_draws_from_a_known_posterior() -> None:
    emcee = pytest.importorskip("emcee")
    d = adcli.compile(NORMAL).logdensity(y=Y, start={"m": 5.0, "s": 10.0})
    sampler = emcee.EnsembleSampler(20, d.dim, d.value)
    sampler.random_state = np.random.RandomState(1).get_state()
    sampler.run_mcmc(d.start + 0.1 * np.random.default_rng(1).standard_normal((20, d.dim)), 1500)
    check(d.unpack(sampler.get_chain(discard=300, flat=True)))


@pytest.mark.engine
@pytest.mark.filterwarnings("ignore")
def test_nutpie_draws_from_a_known_posterior() -> None:
    nutpie = pytest.importorskip("nutpie")
    d = adcli.compile(NORMAL).logdensity(y=Y, start={"m": 5.0, "s": 10.0})
    found = nutpie.sample(d.nutpie(), draws=1000, tune=300, chains=2, cores=1, seed=1, progress_bar=False)
    check({name: found.posterior[name].values for name in ("m", "s")})


@pytest.mark.engine
@pytest.mark.filterwarnings("ignore")
def test_blackjax_draws_a_simplex_and_an_ordered_vector() -> None:
    blackjax, jax = pytest.importorskip("blackjax"), pytest.importorskip("jax")
    n = np.array([2.0, 3.0, 1.0])
    d = adcli.compile("input p(K) in simplex, n(K), c(3) in ordered; a +=! n(k)*log(p(k)); b +=! normal_lpdf(c(k), 0, 1); "
                      "lp = a + b; output lp").logdensity(n=n)
    density = d.jax()
    kernel = blackjax.nuts(density, step_size=0.4, inverse_mass_matrix=np.ones(d.dim))

    def step(state: Any, key: Any) -> Any:
        state, _ = kernel.step(key, state)
        return state, state.position

    _, draws = jax.lax.scan(step, kernel.init(jax.numpy.asarray(d.start)), jax.random.split(jax.random.key(1), 800))
    found = d.unpack(draws)
    np.testing.assert_allclose(found["p"].mean(0), (n + 1) / (n + 1).sum(), atol=0.03)   # of Dirichlet's distribution
    np.testing.assert_allclose(found["c"].mean(0), np.array([-1.5, 0, 1.5]) / math.sqrt(math.pi), atol=0.12)   # order statistics
    assert density(np.zeros(d.dim, int)) == pytest.approx(d.value(np.zeros(d.dim)), rel=1e-6)   # not a whole number
    with pytest.raises(AdError, match="the vector has shape"):
        jax.jit(density)(jax.numpy.zeros(3))
    both = jax.vmap(jax.value_and_grad(density))(draws[-3:])
    for u, value, gradient in zip(draws[-3:], *both, strict=True):
        assert value == pytest.approx(d(u)[0], rel=1e-6) and gradient == pytest.approx(d(u)[1], rel=1e-5, abs=1e-5)
