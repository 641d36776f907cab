"""A picture as a file, by matplotlib: SVG, PNG or PDF, without a window, and the same bytes for the same picture.

Colours are those of Okabe and Ito (Color Universal Design, 2008), which people with any colour vision tell apart; curves differ
in their dashes too. Text in SVG stays text, in the fonts that the reader has.
"""
from __future__ import annotations

import io
import math
from typing import Any

from adcli.pictures.packages import require_package
from adcli.pictures.picture import Contour, Curve, Panel, Picture
from adcli.pictures.scales import labels, scale_of

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#444444")
DASHES = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), "-", (0, (5, 1.5)), (0, (1.2, 1.2)))
INK, QUIET, RULE = "#222222", "#5f6368", "#d9dce0"
MARKERS: dict[str, dict[str, Any]] = {
    "kink": {"marker": "D", "markersize": 5.5}, "singular": {"marker": "^", "markersize": 7},
    "domain": {"marker": "s", "markersize": 5.5}, "jump": {"marker": "o", "markersize": 5.5, "hollow": True},
    "hole": {"marker": "s", "markersize": 6, "hollow": True}, "value": {"marker": "o", "markersize": 5.5},
    "overflow": {"marker": "s", "markersize": 5.5}, "pole": {"marker": "|", "markersize": 8},
}
"""The same shapes that stand for them in characters."""
WIDTH, PANEL, LINE = 7.0, 2.1, 0.17
"""Inches: the picture, a panel of share 1, a line of the notes."""
MAP, LEAST = 5.0, 3.3
MARGINS = 0.95
SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "adcli", "svg.fonttype": "none", "pdf.compression": 6, "font.size": 9.5, "axes.edgecolor": QUIET,
    "axes.labelcolor": INK, "text.color": INK, "xtick.color": QUIET, "ytick.color": QUIET, "axes.linewidth": 0.8,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": RULE, "grid.linewidth": 0.6,
    "axes.axisbelow": True, "lines.linewidth": 1.7, "legend.frameon": False, "figure.facecolor": "white",
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica", "sans-serif"], "axes.unicode_minus": True,
    "text.parse_math": False, "axes.formatter.useoffset": False,
}
METADATA = {"svg": {"Date": None, "Creator": "adcli"}, "png": {"Software": "adcli"},
            "pdf": {"CreationDate": None, "Creator": "adcli", "Producer": None}}


def drawn(picture: Picture, form: str) -> bytes:
    """The picture as a file of svg, png or pdf."""
    require_package(form)
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    out = io.BytesIO()
    settings: dict[Any, Any] = {**matplotlib.rcParamsDefault, "backend": "agg", **SETTINGS}   # whatever a user's file says
    with matplotlib.rc_context(settings):
        height = MAP if picture.contour else max(LEAST, sum(PANEL * p.share for p in picture.panels))
        below = LINE * len(picture.notes)
        figure = Figure(figsize=(WIDTH, height + below + MARGINS))
        FigureCanvasAgg(figure)
        whole = height + below + MARGINS
        top = 0.34 if picture.title else 0.14
        area = {"left": 0.115, "right": 0.975, "top": 1 - top / whole, "bottom": (below + 0.62) / whole}
        if picture.contour:
            axes = figure.subplots(gridspec_kw=area | {"right": 0.91})
            contoured(figure, axes, picture, picture.contour)
        else:
            ratios = [p.share for p in picture.panels]
            every = figure.subplots(len(ratios), 1, sharex=True, squeeze=False,
                                    gridspec_kw={"height_ratios": ratios, "hspace": 0.16, **area})[:, 0]
            known: list[int] = []
            for ax, p in zip(every, picture.panels, strict=True):
                numbers = [c.number for c in p.curves]
                panelled(ax, p, picture.log_x, numbers != known)
                known = numbers
            axes = every[-1]
            figure.align_ylabels(list(every))
        axes.set_xlabel(picture.x_name)
        figure.text(area["left"], 1 - 0.2 / whole, picture.title, color=QUIET, ha="left", va="center")
        for k, note in enumerate(reversed(picture.notes)):
            figure.text(area["left"], (0.1 + LINE * k) / whole, note, color=QUIET, fontsize=8.5, va="bottom")
        figure.savefig(out, format=form, dpi=160, metadata=METADATA[form])
    return out.getvalue()


# ---------------------------------------------------------------- curves

def panelled(ax: Any, p: Panel, log_x: bool, legend: bool) -> None:
    x = [v for c in p.curves for v in c.x if math.isfinite(v)]
    if x and not log_x and all(c.style != "points" for c in p.curves) and min(x) < max(x):
        ax.set_xlim(min(x), max(x))
    up = scale_of((y for c in p.curves for y in c.y), p.low, p.high, p.log)
    ax.set_ylim(up.low, up.high)
    for axis, scale in (("x", scale_of(x, log=True) if log_x else None), ("y", up if p.log else None)):
        if scale:
            ticks = scale.ticks(9)
            getattr(ax, f"set_{axis}scale")("log")
            getattr(ax, f"set_{axis}ticks")(ticks, labels(ticks))
            getattr(ax, f"set_{axis}lim")(scale.low, scale.high)
            ax.minorticks_off()
    for place in p.upright:
        ax.axvline(place, color=QUIET, linestyle=(0, (2, 2)), linewidth=1)
    for place in p.flat:
        ax.axhline(place, color=QUIET, linewidth=0.8)
    for c in p.curves:
        plotted(ax, c)
    for m in p.marks:
        look = dict(MARKERS[m.kind])
        hollow = look.pop("hollow", False)
        ax.plot([m.x], [m.y], color=INK, linestyle="none", markerfacecolor="white" if hollow else INK, zorder=4,
                markeredgewidth=1.1, clip_on=False, **look)
    if len(p.curves) > 1 and legend:
        ax.legend(loc="best", fontsize=8.5, handlelength=2.6)
    ax.set_ylabel(p.name)


def plotted(ax: Any, c: Curve) -> None:
    colour = COLOURS[c.number % len(COLOURS)]
    if c.style == "steps":
        ax.stairs(c.y, c.x, fill=True, color=colour, alpha=0.3, linewidth=0, label=c.name)
    elif c.style == "points":
        ax.plot(c.x, c.y, linestyle="none", marker="o", markersize=3.6, color=colour, label=c.name)
    else:
        dash = (0, (5, 2)) if c.style == "dashed" else DASHES[c.number % len(DASHES)]
        ax.plot(c.x, c.y, color=colour, linestyle=dash, label=c.name)


# ---------------------------------------------------------------- contours

def contoured(figure: Any, ax: Any, picture: Picture, c: Contour) -> None:
    import numpy as np
    z = np.ma.masked_invalid(np.array(c.z))
    ax.grid(False)
    if len(c.levels) > 1 and z.count():
        from matplotlib.colors import BoundaryNorm
        steps = BoundaryNorm(c.levels, 256, extend="both")
        filled = ax.contourf(c.x, c.y, z, levels=c.levels, cmap="cividis", norm=steps, extend="both", algorithm="serial")
        ax.contour(c.x, c.y, z, levels=c.levels, colors="white", linewidths=0.6, alpha=0.8, negative_linestyles="solid")
        bar = figure.colorbar(filled, ax=ax, pad=0.02, fraction=0.07, ticks=c.levels, label=c.name, spacing="uniform")
        bar.ax.set_yticklabels(labels(c.levels))
        bar.outline.set_visible(False)
    if c.arrows:
        x, y, dx, dy = (np.array(column) for column in zip(*c.arrows, strict=True))
        ax.quiver(x, y, dx, dy, angles="xy", scale_units="xy", scale=1, pivot="mid", color="white", edgecolor=INK, linewidth=0.6,
                  width=0.0042, headwidth=4, headlength=4, headaxislength=3.6, zorder=3)
    by_kind: dict[str, list[tuple[float, float]]] = {}
    for m in c.marks:
        by_kind.setdefault(m.kind, []).append((m.x, m.y))
    for kind, places in by_kind.items():
        colour = {"kink": "#E69F00", "jump": "#D55E00"}.get(kind, "#CC0000")
        ax.plot(*zip(*places, strict=True), linestyle="none", marker="o", markersize=1.6, color=colour, zorder=4)
    ax.set_xlim(c.x[0], c.x[-1])
    ax.set_ylim(c.y[0], c.y[-1])
    ax.set_ylabel(picture.y_name)
