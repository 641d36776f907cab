"""The distribution of an output as a picture: a histogram of the samples that Monte Carlo drew, or of samples of its own, and
the normal distribution of the linear model."""
from __future__ import annotations

import math

import numpy as np

from adcli.lang.ir.errors import AdError
from adcli.pictures.picture import Curve, Panel, Picture, PictureTable
from adcli.propagate.at_points import Budgets
from adcli.propagate.budgets import Budget
from adcli.propagate.given import Sampling
from adcli.propagate.monte_carlo import sample
from adcli.propagate.prepare import COVERAGE

SAMPLES, KEPT = 1 << 17, 1 << 22
"""Samples that are drawn for a picture alone, and those of Monte Carlo that are kept for it: 32 MiB."""
MOST_BINS, FEWEST_BINS = 80, 20
OUTER = 0.0005
"""Share of the samples that is left out on each side where they lie far out."""
REACH = 4.0
"""How many standard uncertainties the curve of the linear model reaches."""


def keep_samples(writer: Budgets) -> None:
    """Let Monte Carlo keep samples for `picture_of`. AdError where there are several outputs or points."""
    task, points = writer.task, writer.points
    if len(task.signature.outputs) > 1:
        raise AdError("⟦--plot⟧ draws one output", help=f"choose one: ⟦--of {task.signature.outputs[0]}⟧")
    own, source = task.signature.own, task.signature.source
    if len(points) > 1 or len(list(points[0].located(own, lambda note: None, source))) > 1:
        raise AdError("⟦--plot⟧ draws one point", help="give one ⟦--at⟧, without ranges")
    writer.keep = KEPT


def picture_of(writer: Budgets, budget: Budget) -> Picture:
    """The picture of the one output at the one point, with its budget."""
    told = writer.told or sample(writer.experiment(budget.at, budget.spreads), Sampling(SAMPLES, 0, COVERAGE), None,
                                 lambda done: None, SAMPLES)
    (output,) = budget.outputs
    return distribution(output.name, told.kept, output.value, output.u, told.samples)


def distribution(name: str, samples: np.ndarray, value: float, u: float, drawn: int) -> Picture:
    """The histogram of samples, which are the first of those `drawn`, beside a normal distribution."""
    good = samples[np.isfinite(samples)]
    if not len(good):
        raise AdError(f"no sample of {name} is finite, so there is nothing to draw")
    if not math.isfinite(float(good.max()) - float(good.min())):
        raise AdError(f"the samples of {name} lie further apart than any double", help="give a smaller spread")
    low, high = ends(good)
    apart = (high - low) / float(np.spacing(max(abs(low), abs(high))))   # doubles between them
    bins = int(min(np.clip(math.sqrt(len(good)) / 3, FEWEST_BINS, MOST_BINS), max(apart / 2, 1)))
    inside = good[(good >= low) & (good <= high)]
    counts, edges = np.histogram(inside, bins, (low, high) if low < high else None)
    density = counts / (len(good) * np.diff(edges))
    some = f"{len(good):,} samples" if drawn == len(samples) else f"{len(good):,} of {drawn:,} samples"
    curves = [Curve(some, tuple(edges.tolist()), tuple(density.tolist()), "steps")]
    with np.errstate(over="ignore"):
        mean, deviation = good.mean(), good.std(ddof=1) if len(good) > 1 else 0.0
    notes = [f"{some}: mean {mean:.6g}, standard deviation {deviation:.3g}" if len(good) > 1 else "one sample"]
    curve_x, curve_y = np.empty(0), np.empty(0)
    if 0 < u < math.inf and math.isfinite(value):
        curve_x = np.linspace(min(low, value - REACH * u), max(high, value + REACH * u), 401)
        curve_y = normal(curve_x, value, u)
        curves.append(Curve("linear model", tuple(curve_x.tolist()), tuple(curve_y.tolist()), number=1))
        notes.append(f"linear model: {value:.6g} ± {u:.3g}")
    else:
        notes.append(f"the linear model has no distribution: its standard uncertainty is {u:.3g}")
    if left := len(good) - len(inside):
        notes.append(f"{left:,} samples lie outside of the picture")
    if bad := len(samples) - len(good):
        notes.append(f"{bad:,} samples are NaN or infinite")
    middles = (edges[1:] + edges[:-1]) / 2
    model = normal(middles, value, u) if len(curve_x) else np.full(len(middles), np.nan)
    rows = zip(edges[:-1].tolist(), edges[1:].tolist(), density.tolist(), model.tolist(), strict=True)
    return Picture("", name, (Panel("density", tuple(curves), low=0.0),), notes=tuple(notes),
                   table=PictureTable((f"{name}_low", f"{name}_high", "density", "linear_density"), tuple(rows)))


def normal(x: np.ndarray, mean: float, u: float) -> np.ndarray:
    """The density of the normal distribution."""
    with np.errstate(all="ignore"):
        return np.exp(-0.5 * ((x - mean) / u) ** 2) / (u * math.sqrt(2 * math.pi))


def ends(samples: np.ndarray) -> tuple[float, float]:
    """Where the picture begins and ends: at all samples, or at most of them where the outermost are far out."""
    low, high = float(samples.min()), float(samples.max())
    inner = np.quantile(samples, (OUTER, 1 - OUTER))
    wide = float(inner[1] - inner[0])
    return max(low, float(inner[0]) - wide / 4), min(high, float(inner[1]) + wide / 4)
