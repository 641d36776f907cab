"""Monte Carlo: against closed forms and against itself, and its verdict on linear propagation (JCGM 101:2008, clause 8)."""
from __future__ import annotations

import math

import numpy as np
import pytest
from adcli.codegen.rows.compiled import compile_program
from adcli.codegen.rows.expand import for_machine
from adcli.lang.lower.frontend import parse
from command import adcli, numbers, succeeds
from places import ROOT
from session_seed import half

from adcli.input.distributions import DISTRIBUTIONS, SAMPLES, Sample, Spread, T
from adcli.propagate import monte_carlo
from adcli.propagate.draws import draws
from adcli.propagate.given import Sampling
from adcli.propagate.monte_carlo import (
    Experiment,
    ModelVerdict,
    Sampled,
    SampledEnd,
    SampleTally,
    compared,
    drawn,
    sample,
    samples_wanted,
    sure_ranks,
    tolerance,
)


def experiment(text: str, values: list[float], spreads: dict[int, float | Spread], pairs=()) -> Experiment:
    """A kernel as the verb uses it, its last result standing for the status; a number is the spread of a normal input."""
    program = parse(f"{text}\nlevel = 0 * {parse(text).params[0].name}\n")
    names = [p.name for p in program.params]
    uncertain = {names[i]: s if isinstance(s, Spread) else Spread(values[i], s) for i, s in spreads.items()}
    return Experiment(compile_program(for_machine(program)), dict(zip(names, values, strict=True)), draws(uncertain, pairs))


def run(of: Experiment, samples: int = 200_000, seed: int = 1, coverage: float = 0.95, jobs: int | None = None):
    return sample(of, Sampling(samples, seed, coverage), jobs, lambda done: None)[:2]


def test_the_normal_distribution():
    ((got,), _) = run(experiment("v = x", [3.0], {0: 2.0}), 1_000_000)
    assert got.mean == pytest.approx(3, abs=4 * got.mean_error)
    assert got.u == pytest.approx(2, abs=4 * got.u_error)
    assert got.low == pytest.approx(3 - 2 * 1.959963984540054, abs=4 * got.low_error)
    assert got.high == pytest.approx(3 + 2 * 1.959963984540054, abs=4 * got.high_error)
    assert got.mean_error == pytest.approx(2e-3, rel=0.01)
    assert got.u_error == pytest.approx(2 / math.sqrt(2e6), rel=0.01)
    density = math.exp(-1.959963984540054**2 / 2) / math.sqrt(2 * math.pi) / 2
    assert got.low_error == pytest.approx(math.sqrt(0.025 * 0.975 / 1e6) / density, rel=0.2)


def test_the_errors_of_the_figures_are_those_of_repetition():
    of = experiment("v = exp(x)", [0.0], {0: 0.5})
    runs = [run(of, 20_000, seed)[0][0] for seed in range(60)]
    for kind in ("mean", "u", "low", "high"):
        said = np.mean([s.figures[kind][1] for s in runs])
        assert np.std([s.figures[kind][0] for s in runs]) == pytest.approx(said, rel=0.35), kind


def test_correlated_inputs_are_drawn_with_their_correlation():
    of = experiment("a = x\nb = y\nc = z\ns = x + y", [0.0, 0.0, 0.0], {0: 1.0, 1: 2.0, 2: 1.0},
                    [("x", "y", 0.7), ("y", "z", -0.5)])
    found, r = run(of)
    assert r[0, 1] == pytest.approx(0.7, abs=0.01)
    assert r[1, 2] == pytest.approx(-0.5, abs=0.01)
    assert r[0, 2] == pytest.approx(0, abs=0.01)
    assert found[3].u == pytest.approx(math.sqrt(1 + 4 + 2 * 0.7 * 2), rel=0.01)


def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads():
    file = Sample("f", (1.0, 2.0, 4.0))
    of = experiment("v = x*y + a*b\nw = x/y + c*d", [1.0, 3.0, 1.0, 1.0, 2.0, 1.0], {
        0: 0.1, 1: 0.2, 2: Spread(1.0, 0.1, DISTRIBUTIONS["arcsine"]), 3: Spread(1.0, 0.1, T, 5.0),
        4: Spread(2.0, 1.5, SAMPLES, sample=file), 5: Spread(1.0, 1.0, DISTRIBUTIONS["exp"])})
    one, two, five = (run(of, 300_001, jobs=jobs) for jobs in (1, 2, 5))
    assert one[0] == two[0] == five[0]
    assert (one[1] == five[1]).all()
    assert run(of, 300_001, seed=2)[0] != one[0]


@pytest.mark.parametrize("text", ["v = x", "v = round(4*x)", "v = clamp(x, -1, 1)", "v = x**2", "v = 0*x", "v = 1/x",
                                  "v = sqrt(x)"])
def test_ends_are_exact_order_statistics_however_few_values_are_kept(text, monkeypatch):
    """With bounds drawn closer again and again the figures are those of all samples sorted."""
    monkeypatch.setattr(monte_carlo, "BLOCK_SAMPLES", 1 << 12)
    monkeypatch.setattr(monte_carlo, "KEPT_DOUBLES", 1 << 13)
    of, samples = experiment(text, [0.0], {0: 1.0}), 300_000
    ((got,), _) = run(of, samples, coverage=0.9, jobs=1)
    every = np.concatenate([drawn(of, 1, (i, min(1 << 12, samples - at)))[0] for i, at in enumerate(range(0, samples, 1 << 12))])
    finite = np.sort(every[np.isfinite(every)])
    count = len(finite)
    rank = (count - int(0.9 * count + 0.5) + 1) // 2
    assert (got.low, got.high) == (finite[rank - 1], finite[rank + int(0.9 * count + 0.5) - 1])
    assert got.bad == samples - count
    assert got.mean == pytest.approx(finite.mean(), rel=1e-9, abs=1e-12)
    assert got.u == pytest.approx(finite.std(ddof=1), rel=1e-9, abs=1e-12)


def test_what_is_kept_does_not_grow_with_the_samples():
    end, r, held = SampledEnd(0.025, 1 << 12), np.random.default_rng(0), []
    for i in range(1, 401):
        end.take(end.around(r.standard_normal(10_000)))
        end.tighten(10_000 * i)
        held.append(end.held)
    assert max(held[20:]) < 50_000   # of 4,000,000


def test_no_finite_sample_at_all():
    tally = SampleTally(np.array([math.nan, math.inf]), 0.95, 100)
    tally.take(tally.reduced(np.array([math.nan, math.inf, -math.inf])))
    got = tally.figures()
    assert got.bad == 3
    assert math.isnan(got.mean)
    assert math.isnan(got.high)


def test_without_a_finite_sample_there_is_no_verdict_and_no_correlation():
    ended = adcli("propagate", "-e", "v = log(x)", "-e", "w = x", "--at", "x=-9±1", "--monte-carlo", 100)
    assert "too few samples to tell whether the linear model is good enough for v" not in ended.err
    assert math.isnan(numbers(ended.out)["mc_corr_v_w"])


@pytest.mark.parametrize("dof, told", [(1, True), (2, True), (2.5, False), (9, False)])
def test_samples_without_a_standard_deviation_are_told(dof, told):
    ended = adcli("propagate", "-e", "v = x", "--at", f"x=1±0.1~t({dof})", "--monte-carlo", 100)
    assert ("have no standard deviation" in ended.err) == told


def test_samples_outside_the_domain_are_counted_and_told():
    ended = adcli("propagate", "-e", "v = sqrt(x)", "--at", "x=1±1", "--monte-carlo", 100_000)
    got = numbers(ended.out)
    assert got["mc_bad_v"] == pytest.approx(15866, abs=500)   # P(x < 0) = Φ(−1)
    assert f"v is NaN or infinite for {got['mc_bad_v']:.0f} of 100000 samples" in ended.err
    assert adcli("propagate", "-e", "v = sqrt(x)", "--at", "x=1±1", "--monte-carlo", 100_000, "--strict").code == 4


# ---------------------------------------------------------------- the verdict (JCGM 101:2008, clause 8)

@pytest.mark.parametrize("u, want", [(0.035, 0.0005), (0.0996, 0.005), (32.0, 0.5), (588.0, 5), (1.0, 0.05), (0.0, 0.0)])
def test_the_numerical_tolerance_has_two_digits(u, want):
    assert tolerance(u) == pytest.approx(want, rel=1e-12)


def sampled(low: float, high: float, reach: float) -> Sampled:
    return Sampled(low + high, 1.0, low, high, 0.0, 0.0, 0.0, 0.0, 0, (low - reach, low + reach), (high - reach, high + reach))


@pytest.mark.parametrize("low, high, reach, verdict", [
    (-2.0, 2.0, 0.03, "agrees"), (-2.04, 2.0, 0.03, "unclear"), (-2.06, 2.0, 0.03, "unclear"), (-2.0, 2.2, 0.03, "differs"),
    (-2.0, 2.2, 3.0, "unclear"), (-2.0, 2.0, math.inf, "unclear")])
def test_the_verdict(low, high, reach, verdict):
    assert compared(-2.0, 2.0, 1.0, sampled(low, high, reach)).verdict == verdict
    assert compared(-2.0, math.nan, math.nan, sampled(0.0, 0.0, 0.1)).verdict == "differs"


@pytest.mark.parametrize("samples", half([2, 10, 40, 100, 1000]))
@pytest.mark.parametrize("text", ["v = x + y", "v = x", "v = 2*x - y"])
def test_an_exact_model_is_not_said_to_differ(text, samples):
    """A linear model of normal inputs, over many seeds: the significance allows one in a thousand."""
    of = experiment(text, [1.0, 2.0][:len(parse(text).params)], dict(enumerate([1.0, 0.3][:len(parse(text).params)])))
    u = {"v = x + y": math.hypot(1, 0.3), "v = x": 1.0, "v = 2*x - y": math.hypot(2, 0.3)}[text]
    y = {"v = x + y": 3.0, "v = x": 1.0, "v = 2*x - y": 0.0}[text]
    reach = 1.959963984540054 * u
    verdicts = [compared(y - reach, y + reach, u, run(of, samples, seed, jobs=1)[0][0]).verdict for seed in range(60)]
    assert verdicts.count("differs") <= 1
    assert verdicts.count("agrees") == 0   # so few samples tell nothing


@pytest.mark.parametrize("p", [0.025, 0.975, 0.5, 1e-4])
@pytest.mark.parametrize("count", [2, 10, 300, 10_000, 10**6])
def test_order_statistics_bound_a_quantile_with_the_significance(count, p):
    """Against the binomial distribution by SciPy: the bound is never too narrow, and not much too wide."""
    from scipy.stats import binom
    first, last = sure_ranks(count, p)
    allowed = monte_carlo.SIGNIFICANCE / 4
    assert first == 0 or binom.cdf(first - 1, count, p) <= allowed   # so few below the quantile
    assert last > count or binom.sf(last - 1, count, p) <= allowed
    wide = 1.5 * 3.5 * math.sqrt(count * p * (1 - p)) + 20
    assert first >= count * p - wide
    assert last <= count * p + wide


def test_as_many_samples_as_are_said_to_tell_do():
    text, at = "v = x*y", {"x": 20.0, "y": 30.0}
    of = experiment(text, list(at.values()), {0: 0.02, 1: 0.04})
    u = math.hypot(30 * 0.02, 20 * 0.04)
    interval = 600 - 1.959963984540054 * u, 600 + 1.959963984540054 * u
    samples, verdicts = 1000, []
    while len(verdicts) < 4 and "agrees" not in verdicts:
        (got,), _ = run(of, samples)
        agreement = compared(*interval, u, got)
        verdicts.append(agreement.verdict)
        samples = samples_wanted(samples, agreement, got)
    assert (verdicts[0], verdicts[-1]) == ("unclear", "agrees")
    assert samples_wanted(10, ModelVerdict(0.0, 0.0, 0.0, "unclear"), got) is None


def test_a_nearly_linear_program_agrees():
    ended = succeeds("propagate", "-e", "v = x + 0.001*x**2", "--at", "x=1±0.1", "--monte-carlo", 1_000_000)
    assert "interval of the linear model; agrees with Monte Carlo" in ended.out


def test_a_curved_program_is_told():
    ended = adcli("propagate", "-e", "v = x**2", "--at", "x=0±1", "--monte-carlo", 10_000)
    assert ended.code == 0
    assert "note: the linear model is not good enough for v here; try --second-order" in ended.err
    assert numbers(ended.out)["mc_mean_v"] == pytest.approx(1, abs=0.1)


def test_a_product_of_zeros_is_told_to_be_good_to_second_order():
    at = "ls=50000623±25,d=215±9.7,da=0±0.58e-6,theta=-0.1±0.41,as=11.5e-6±1.2e-6,dt=0±0.029"
    ended = adcli("propagate", ROOT / "samples/gauge_block.ad", "--at", at, "--second-order", "--monte-carlo", "4e6")
    assert ended.err == "note: the linear model is not good enough for l here; the quadratic one is\n"


@pytest.mark.engine
@pytest.mark.parametrize("count, seed", [("500", "3"), ("200000", "7"), ("auto", "0")])
def test_the_picture_shows_the_samples_that_were_drawn(count, seed, tmp_path):
    asked = ("propagate", "-e", "v = exp(x)", "--at", "x=1±0.2~rect", "--monte-carlo", count, "--seed", seed)
    asked = (*asked, "--format", "json", "-q")
    told = succeeds(*asked, "--plot", tmp_path / "a.svg").records[0]["monte_carlo"]
    picture = (tmp_path / "a.svg").read_text(encoding="utf-8")
    of = told["of"]["v"]
    assert f"{told['samples']:,} samples: mean {of['mean']:.6g}, standard deviation {of['u']:.3g}" in picture
    succeeds(*asked, "--plot", tmp_path / "a.csv")
    rows = [list(map(float, line.split(","))) for line in (tmp_path / "a.csv").read_text().splitlines()[1:]]
    counts = [density * (high - low) * told["samples"] for low, high, density, _ in rows]
    assert sum(counts) == pytest.approx(told["samples"]) and all(abs(c - round(c)) < 1e-6 * told["samples"] for c in counts)


@pytest.mark.engine
def test_a_picture_of_very_many_samples_says_how_many_it_has(tmp_path, monkeypatch):
    from adcli.propagate import pictured
    monkeypatch.setattr(pictured, "KEPT", 70_000)
    succeeds("propagate", "-e", "v = 2*x", "--at", "x=1±0.2", "--monte-carlo", "150000", "--plot", tmp_path / "a.svg", "-q")
    assert "70,000 of 150,000 samples: mean" in (tmp_path / "a.svg").read_text(encoding="utf-8")
