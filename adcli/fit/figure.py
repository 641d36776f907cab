"""A fit as a picture: the data with the fitted curve, and below them the residuals."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from adcli.fit.inference import COVERAGE, factor_of, predictions
from adcli.input.points import GridRange
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.pictures.picture import Curve, Panel, Picture, PictureTable
from adcli.plot.plots import Wanted, pictured
from adcli.plot.setting import POINTS, Setting

if TYPE_CHECKING:
    from adcli.fit.data import Observations
    from adcli.fit.fit import Fit, Fitted
    from adcli.fit.inference import Intervals
    from adcli.numerics.linear import Vector

MOST_OUTPUTS = 3
BAND_POINTS = 101
MOST_PROFILES = 6


def picture(fit: Fit, program: Program, found: Fitted, o: Observations, coverage: float = COVERAGE) -> Picture:
    """The picture of a fit to the rows of a table. Where one input varies from row to row there is a curve over the range of the
    data with its bands, else the fitted values are points; those of tensors are drawn element by element. Known standard
    uncertainties are error bars, by the scatter of the residuals where only their ratios count. AdError where nothing varies."""
    outputs = [r.name for r in program.results]
    if o.places is None or any(np.asarray(x).dtype == object for x in (*o.inputs.values(), *o.observed)):
        return of_elements(fit, ", ".join(outputs), found)
    if len(outputs) > MOST_OUTPUTS:
        raise AdError(f"⟦--plot⟧ draws up to {MOST_OUTPUTS} outputs", help=f"choose: ⟦--of {','.join(outputs[:MOST_OUTPUTS])}⟧")
    rows = len(o.places.rows)
    columns = {name: np.broadcast_to(np.asarray(x, np.float64), rows) for name, x in o.inputs.items()}
    varying = [name for name, x in columns.items() if np.ptp(x) > 0]
    if not varying:
        raise AdError("⟦--plot⟧ needs an input that varies from row to row")
    name, x = varying[0], columns[varying[0]]
    values = fit.model(found.values).values.reshape(len(outputs), rows)
    fixed = {n: float(c[0]) for n, c in columns.items()} | dict(zip(found.names, found.values.tolist(), strict=True))
    panels, notes = list[Panel](), list[str]()
    curved = len(varying) == 1 and not o.sets
    bands = banded(fit, found, o, name, fixed, coverage) if curved else [[]] * len(outputs)
    for k, output in enumerate(outputs):
        observed = np.broadcast_to(np.asarray(o.observed[k], np.float64), rows)
        sigma, scale = o.sigmas[k], 1.0 if found.absolute else found.residual_sd
        bars = () if sigma is None else tuple((np.broadcast_to(sigma, rows) * scale).tolist())
        model = None
        if curved:
            span = GridRange(name, Fraction(float(x.min())), Fraction(float(x.max())), POINTS[0])
            drawn = pictured(Setting(program, (span,), fixed), Wanted([output], 0))
            (model,) = drawn.panels
            notes += drawn.notes
        panels += paired(output, x, observed, values[k], bars, model, bands[k])
    if len(varying) > 1:
        notes.append(f"against {name}; {', '.join(varying[1:4])} {'vary' if len(varying) > 2 else 'varies'} too")
    return Picture(title(found), name, tuple(panels), notes=tuple(notes), table=numbers(name, outputs, panels, values))


def of_elements(fit: Fit, output: str, found: Fitted) -> Picture:
    """A fit of tensors: all elements that are compared, one after another."""
    values = fit.model(found.values).values
    number, scale = np.arange(len(values)), found.residual_sd if not found.absolute else 1.0
    bars = () if np.ptp(fit.factor) == 0 and not found.absolute else tuple((scale / fit.factor).tolist())
    panels = paired(output, number, fit.observed, values, bars, None, ())
    return Picture(title(found), "element", tuple(panels), table=numbers("element", [output], panels, [values]))


def paired(output: str, x: Vector, observed: Vector, values: Vector, bars: tuple[float, ...], model: Panel | None,
           bands: Sequence[Curve]) -> list[Panel]:
    """The panels of an output: data with the fit, the panel `model` of its curve or points, and bands; the residuals."""
    data = Curve("data ± σ" if bars else "data", tuple(x.tolist()), tuple(observed.tolist()), "points", 6, bars)
    model = model or Panel(output, (Curve("fitted", data.x, tuple(values.tolist()), "points"),))
    curves = (data, *(Curve("fit", c.x, c.y, c.style) for c in model.curves), *bands)
    residual = Curve("data − fit", data.x, tuple((observed - values).tolist()), "points", 6, bars)
    return [Panel(output, curves, model.marks, model.upright, low=model.low, high=model.high, share=1.5),
            Panel(f"residual of {output}", (residual,), flat=(0.0,), share=0.8)]


def title(found: Fitted) -> str:
    return ", ".join(f"{n} = {v:.6g}" for n, v in list(zip(found.names, found.values.tolist(), strict=True))[:6])


def numbers(name: str, outputs: Sequence[str], panels: Sequence[Panel], values: Sequence[Vector]) -> PictureTable:
    """The numbers under the picture."""
    shown = {name: np.array(panels[0].curves[0].x)}
    for v, panel, fitted in zip(outputs, panels[::2], values, strict=True):
        data = panel.curves[0]
        shown |= {v: np.array(data.y)} | ({f"{v}_sigma": np.array(data.error)} if data.error else {})
        shown |= {f"{v}_fit": fitted, f"{v}_residual": np.array(data.y) - fitted}
    return PictureTable(tuple(shown), tuple(zip(*(column.tolist() for column in shown.values()), strict=True)))


def banded(fit: Fit, found: Fitted, o: Observations, name: str, fixed: Mapping[str, float],
           coverage: float) -> list[list[Curve]]:
    """The ends of the bands of each output over the range of the data: that of the curve, and that of new observations where one
    scatter is known for all of them. A band is one curve with a gap. None without degrees of freedom."""
    x = np.asarray(o.inputs[name], np.float64)
    across = np.linspace(x.min(), x.max(), BAND_POINTS)
    inputs = {n: across if n == name else fixed[n] for n in o.inputs}
    factors = [np.unique(f) for f in o.factors]
    scatters = [1 / f[0] if len(f) == 1 and found.loss.name == "linear" else None for f in factors]
    made = predictions(fit, found, inputs, scatters, coverage)
    gap, chance = np.array([np.nan]), f"{100 * coverage:.10g} %"
    return [[Curve(f"{chance} of {of}", tuple(np.r_[across, gap, across].tolist()),
                   tuple(np.r_[p.value - half, gap, p.value + half].tolist()), "dashed", number)
             for number, of, half in ((1, "the curve", p.half), (2, "observations", p.half_new))
             if half is not None and np.isfinite(half).any()] for p in made]


def profiles(found: Fitted, ends: Intervals) -> Picture:
    """The profiles of the first parameters: τ against the distance of the parameter from its estimate in standard uncertainties,
    a straight line where the model is linear."""
    curves, rows = list[Curve](), list[tuple[float | str, ...]]()
    for k, (name, interval) in enumerate([*ends.of.items()][:MOST_PROFILES]):
        i = found.names.index(name)
        at, u = float(found.values[i]), float(found.uncertainties[i])
        x = tuple((b - at) / u for b, _ in interval.points)
        curves.append(Curve(name, x, tuple(t for _, t in interval.points), "line", k))
        rows += [(name, b, t) for b, t in interval.points]
    if not curves:
        raise AdError("⟦--plot⟧: no parameter has a profile")
    t = factor_of(found, ends.coverage)
    wide = max(abs(x) for c in curves for x in c.x)
    curves.insert(0, Curve("linear", (-wide, wide), (-wide, wide), "dashed", MOST_PROFILES))
    panel = Panel("τ", tuple(curves), flat=(-t, 0.0, t), low=-1.5 * t, high=1.5 * t)
    return Picture(f"profiles, and |τ| = {t:.4g} for {ends.chance}", "(parameter − estimate) / standard uncertainty", (panel,),
                   table=PictureTable(("param", "value", "tau"), tuple(rows)))
