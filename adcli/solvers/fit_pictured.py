"""A fit as a picture: the data with the fitted curve, and below them the residuals."""
from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from adcli.input.points import GridRange
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.pictures.picture import Curve, Panel, Picture, PictureTable
from adcli.plot.pictured import pictured
from adcli.plot.ranges import POINTS, Setting

if TYPE_CHECKING:
    from adcli.solvers.fit import Fitted
    from adcli.solvers.fit_data import Observations
    from adcli.solvers.fit_model import Fit

MOST_OUTPUTS = 3
MARGIN = Fraction(1, 20)
"""Of the range of the data, that the curve goes on beyond."""


def picture(fit: Fit, program: Program, found: Fitted, o: Observations) -> Picture:
    """The picture of a fit to the rows of a table. Where one input varies from row to row there is a curve, else the fitted
    values are points. AdError where nothing varies, and for tensors."""
    outputs = [r.name for r in program.results]
    if o.places is None or any(np.asarray(x).dtype == object for x in (*o.inputs.values(), *o.observed)):
        raise AdError("--plot draws fits of numbers; this one has tensors")
    if len(outputs) > MOST_OUTPUTS:
        raise AdError(f"--plot draws up to {MOST_OUTPUTS} outputs", help=f"choose: --of {','.join(outputs[:MOST_OUTPUTS])}")
    rows = len(o.places.rows)
    columns = {name: np.broadcast_to(np.asarray(x, np.float64), rows) for name, x in o.inputs.items()}
    varying = [name for name, x in columns.items() if np.ptp(x) > 0]
    if not varying:
        raise AdError("--plot needs an input that varies from row to row")
    name, x = varying[0], columns[varying[0]]
    values = fit.model(found.values).values.reshape(len(outputs), rows)
    fixed = {n: float(c[0]) for n, c in columns.items()} | dict(zip(found.names, found.values.tolist(), strict=True))
    panels, notes = list[Panel](), list[str]()
    for k, output in enumerate(outputs):
        observed = np.broadcast_to(np.asarray(o.observed[k], np.float64), rows)
        data = Curve("data", tuple(x.tolist()), tuple(observed.tolist()), "points", number=6)
        if len(varying) == 1:
            drawn = pictured(Setting(program, (around(name, x),), fixed), [output], 0)
            (model,) = drawn.panels
            notes += drawn.notes
        else:
            model = Panel(output, (Curve("fitted", tuple(x.tolist()), tuple(values[k].tolist()), "points"),))
        panels.append(Panel(output, (data, *(Curve("fit", c.x, c.y, c.style) for c in model.curves)), model.marks, model.upright,
                            low=model.low, high=model.high, share=1.5))
        panels.append(Panel(f"residual of {output}" if k else "residual",
                            (Curve("data − fit", tuple(x.tolist()), tuple((observed - values[k]).tolist()), "points", number=6),),
                            flat=(0.0,), share=0.8))
    names = (name, *(f"{v}{suffix}" for v in outputs for suffix in ("", "_fit", "_residual")))
    columns_of = [x, *(c for k in range(len(outputs)) for c in (
        np.broadcast_to(o.observed[k], rows), values[k], np.broadcast_to(o.observed[k], rows) - values[k]))]
    table = PictureTable(names, tuple(tuple(float(c[i]) for c in columns_of) for i in range(rows)))
    title = ", ".join(f"{n} = {v:.6g}" for n, v in list(zip(found.names, found.values.tolist(), strict=True))[:6])
    if len(varying) > 1:
        notes.append(f"against {name}; {', '.join(varying[1:4])} {'vary' if len(varying) > 2 else 'varies'} too")
    return Picture(title, name, tuple(panels), notes=tuple(notes), table=table)


def around(name: str, x: np.ndarray) -> GridRange:
    """The range of the data and a little more."""
    low, high = Fraction(float(x.min())), Fraction(float(x.max()))
    more = (high - low) * MARGIN
    return GridRange(name, low - more, high + more, POINTS[0])
