"""A picture as a file, by matplotlib: SVG, PNG or PDF, without a window, and the same bytes for the same picture.

Everything is placed on axes from 0 to 1, as in characters: matplotlib's own axes end where widths are no doubles.

Colours are those of Okabe and Ito (Color Universal Design, 2008), which people with any colour vision tell apart; curves differ
in their dashes too. Text in SVG stays text, in the fonts that the reader has.
"""
from __future__ import annotations

import io
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from adcli.pictures import picture as pictures
from adcli.pictures.picture import Contour, Curve, Panel, Picture, require_package
from adcli.pictures.scales import Scale, horizontal, labels, placed, vertical

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#444444")
DASHES = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), "-", (0, (5, 1.5)), (0, (1.2, 1.2)))
INK, QUIET, RULE = "#222222", "#5f6368", "#d9dce0"
MARKERS: dict[str, dict[str, Any]] = {
    "kink": {"marker": "D", "markersize": 5.5}, "singular": {"marker": "^", "markersize": 7},
    "domain": {"marker": "s", "markersize": 5.5}, "jump": {"marker": "o", "markersize": 5.5, "hollow": True},
    "hole": {"marker": "s", "markersize": 6, "hollow": True}, "value": {"marker": "o", "markersize": 5.5},
    "overflow": {"marker": "s", "markersize": 5.5}, "pole": {"marker": "|", "markersize": 8},
}
"""Markers of the shapes that they have in characters."""
WIDTH, PANEL, LINE = 7.0, 2.1, 0.17
"""Inches: the picture, a panel of share 1, a line of the notes."""
MAP, LEAST = 5.0, 3.3
MOST_TICKS = 9
TITLE_WIDTH, NOTE_WIDTH = 82, 94
"""Characters of a line above and below the axes."""
MARGINS = 0.95
SIDE = 0.02
"""Where title and notes begin, as a part of the width."""
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
    with pictures.one_at_a_time, matplotlib.rc_context(settings):
        height = MAP if picture.contour else max(LEAST, sum(PANEL * p.share for p in picture.panels))
        notes = [line for note in picture.notes for line in wrap(note, NOTE_WIDTH, subsequent_indent="    ")]
        figure = Figure(figsize=(WIDTH, height + LINE * len(notes) + MARGINS), layout="constrained")
        FigureCanvasAgg(figure)
        if picture.contour:
            axes = figure.subplots()
            contoured(figure, axes, picture, picture.contour)
        else:
            every = figure.subplots(len(picture.panels), 1, sharex=True, squeeze=False,
                                    height_ratios=[p.share for p in picture.panels])[:, 0]
            across, known = horizontal(picture), list[int]()
            for ax, p in zip(every, picture.panels, strict=True):
                numbers = [c.number for c in p.curves]
                panelled(ax, p, across, numbers != known)
                known = numbers
            axes = every[-1]
            figure.align_ylabels(list(every))
        axes.set_xlabel(picture.x_name)
        figure.suptitle("\n".join(wrap(picture.title, TITLE_WIDTH)), x=SIDE, ha="left", color=QUIET, fontsize="medium")
        figure.supxlabel("\n".join(notes), x=SIDE, ha="left", color=QUIET, fontsize=8.5)
        figure.savefig(out, format=form, dpi=160, metadata=METADATA[form])
    return out.getvalue()


# ---------------------------------------------------------------- curves

def ticked(axis: Any, scale: Scale, most: int) -> None:
    """Round numbers along an axis from 0 to 1."""
    ticks = scale.ticks(most)
    axis.set_ticks([scale.place(t) for t in ticks], [word.replace("-", "\N{MINUS SIGN}") for word in labels(ticks)])


def panelled(ax: Any, p: Panel, across: Scale, legend: bool) -> None:
    up = vertical(p)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ticked(ax.xaxis, across, MOST_TICKS)
    ticked(ax.yaxis, up, MOST_TICKS if p.share > 1 else MOST_TICKS - 3)
    for place in p.upright:
        ax.axvline(across.place(place), color=QUIET, linestyle=(0, (2, 2)), linewidth=1)
    for place in p.flat:
        ax.axhline(up.place(place), color=QUIET, linewidth=0.8)
    for c in p.curves:
        if c.bars:
            x, low, high = zip(*((across.place(x), up.place(low), up.place(high)) for x, low, high in c.bars), strict=True)
            ax.vlines(x, low, high, color=COLOURS[c.number % len(COLOURS)], linewidth=1, alpha=0.6)
        plotted(ax, c, [across.place(x) for x in c.x], [up.place(y) for y in c.y], up.place(0.0))
    for m in p.marks:
        look = dict(MARKERS[m.kind])
        hollow = look.pop("hollow", False)
        ax.plot([across.place(m.x)], [up.place(m.y)], color=INK, linestyle="none", markerfacecolor="white" if hollow else INK,
                markeredgewidth=1.1, clip_on=False, zorder=4, **look)
    if len(p.curves) > 1 and legend:
        ax.legend(loc="best", fontsize=8.5, handlelength=2.6)
    ax.set_ylabel(p.name)


def plotted(ax: Any, c: Curve, x: Sequence[float], y: Sequence[float], ground: float) -> None:
    colour = COLOURS[c.number % len(COLOURS)]
    if c.style == "steps":
        ax.stairs(y, x, baseline=ground, fill=True, color=colour, alpha=0.3, linewidth=0, label=c.name)
    elif c.style == "points":
        ax.plot(x, y, linestyle="none", marker="o", markersize=3.6, color=colour, label=c.name)
    else:
        dash = (0, (5, 2)) if c.style == "dashed" else DASHES[c.number % len(DASHES)]
        ax.plot(x, y, color=colour, linestyle=dash, label=c.name)


# ---------------------------------------------------------------- contours

def contoured(figure: Any, ax: Any, picture: Picture, c: Contour) -> None:
    ax.grid(False)
    across, up = Scale(c.x[0], c.x[-1]), Scale(c.y[0], c.y[-1])
    if len(c.levels) > 1:
        from matplotlib.colors import BoundaryNorm
        x, y, z, levels = placed(c, across, up)
        steps = BoundaryNorm(levels, 256, extend="both")
        filled = ax.contourf(x, y, z, levels=levels, cmap="cividis", norm=steps, extend="both", algorithm="serial")
        ax.contour(x, y, z, levels=levels, colors="white", linewidths=0.6, alpha=0.8, negative_linestyles="solid")
        bar = figure.colorbar(filled, ax=ax, pad=0.02, fraction=0.07, ticks=levels, label=c.name, spacing="uniform")
        bar.ax.set_yticklabels([word.replace("-", "\N{MINUS SIGN}") for word in labels(c.levels)])
        bar.outline.set_visible(False)
    if c.arrows:
        tails = [across.place(a[0]) for a in c.arrows], [up.place(a[1]) for a in c.arrows]
        ax.quiver(*tails, [a[2] for a in c.arrows], [a[3] for a in c.arrows], angles="xy", scale_units="xy", scale=1,
                  pivot="mid", color="white", edgecolor=INK, linewidth=0.6, width=0.0042, headwidth=4, headlength=4,
                  headaxislength=3.6, zorder=3)
    by_kind: dict[str, list[tuple[float, float]]] = {}
    for m in c.marks:
        by_kind.setdefault(m.kind, []).append((across.place(m.x), up.place(m.y)))
    for kind, places in by_kind.items():
        colour = {"kink": "#E69F00", "jump": "#D55E00"}.get(kind, "#CC0000")
        ax.plot(*zip(*places, strict=True), linestyle="none", marker="o", markersize=1.6, color=colour, zorder=4)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ticked(ax.xaxis, across, MOST_TICKS)
    ticked(ax.yaxis, up, MOST_TICKS)
    ax.set_ylabel(picture.y_name)
