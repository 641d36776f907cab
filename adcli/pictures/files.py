"""A picture as a file, by matplotlib: SVG, PNG or PDF, without a window, and the same bytes for the same picture.

Everything is placed on axes from 0 to 1, as in characters: matplotlib's own axes end where widths are no doubles.

Colours are those of Okabe and Ito (Color Universal Design, 2008), which people with any colour vision tell apart; curves differ
in their dashes too. Letters are those of matplotlib's own font, as outlines in SVG and embedded in PDF, so that a file looks
alike everywhere; its words are in the title and the description of the file.
"""
from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from textwrap import wrap
from typing import Any, NamedTuple

from adcli.lang.ir.errors import AdError
from adcli.pictures import picture as pictures
from adcli.pictures.picture import Contour, Curve, Panel, Picture, require_package
from adcli.pictures.scales import Scale, heights_of, horizontal, labels, placed, vertical


class Theme(NamedTuple):
    """Colours of the ground, of what is written, of axes and notes, of the grid, and of curves."""

    ground: str
    ink: str
    quiet: str
    rule: str
    curves: tuple[str, ...]


THEMES = {
    "light": Theme("white", "#222222", "#5f6368", "#d9dce0",
                   ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#444444")),
    "dark": Theme("#15181b", "#e4e7ea", "#a3adb6", "#3a4248",
                  ("#56B4E9", "#E69F00", "#2DBE94", "#DD8FBC", "#6FA8FF", "#F07C3A", "#c8ccd0"))}
DASHES = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), "-", (0, (5, 1.5)), (0, (1.2, 1.2)))
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
    "svg.hashsalt": "adcli", "svg.fonttype": "path", "pdf.compression": 6, "font.size": 9.5, "axes.linewidth": 0.8,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.linewidth": 0.6,
    "axes.axisbelow": True, "lines.linewidth": 1.7, "legend.frameon": False,
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica", "sans-serif"], "axes.unicode_minus": True,
    "text.parse_math": False, "axes.formatter.useoffset": False,
}
SMALLEST, LARGEST = 1.0, 60.0
"""Inches of a file."""
MOST_MARKERS = 20_000
"""Points of data that are markers in a file; more are an image."""
DOTS = 160
"""Pixels of an inch of PNG, where the size is not given in pixels."""


SVG: dict[str, str | None] = {"Date": None, "Creator": "adcli"}
PNG: dict[str, str | None] = {"Software": "adcli"}
PDF: dict[str, str | None] = {"CreationDate": None, "Creator": "adcli", "Producer": None}
"""Metadata of files of any picture."""


def coloured(theme: Theme) -> dict[str, str]:
    """The settings of a theme."""
    return {"figure.facecolor": theme.ground, "axes.facecolor": theme.ground, "grid.color": theme.rule,
            **dict.fromkeys(("axes.labelcolor", "text.color"), theme.ink),
            **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), theme.quiet)}


def metadata(picture: Picture, form: str) -> dict[str, str | None]:
    """Metadata of a file, with the words of the picture, which are outlines in it."""
    words = {"Title": picture.title or picture.caption, "Subject" if form == "pdf" else "Description": picture.caption}
    return words | {"svg": SVG, "png": PNG, "pdf": PDF}[form]


def drawn(picture: Picture, form: str) -> bytes:
    """The picture as a file of svg, png or pdf."""
    require_package(form)
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    out, theme, size = io.BytesIO(), THEMES[picture.theme], picture.size
    if size and not all(SMALLEST <= x <= LARGEST for x in size.inches):
        raise AdError(f"a file is {SMALLEST:g} to {LARGEST:g} inches wide and high", help="write ⟦--size 16x10cm⟧")
    settings: dict[Any, Any] = {**matplotlib.rcParamsDefault, "backend": "agg", **SETTINGS, **coloured(theme)}   # not a user's
    with pictures.one_at_a_time, matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*axes sizes collapsed")
        width = size.inches[0] if size else WIDTH
        notes = [line for note in picture.notes
                 for line in wrap(note, round(NOTE_WIDTH * width / WIDTH), subsequent_indent="    ")]
        height = MAP if picture.contour else max(LEAST, sum(PANEL * p.share for p in picture.panels))
        figure = Figure(figsize=size.inches if size else (width, height + LINE * len(notes) + MARGINS), layout="constrained")
        FigureCanvasAgg(figure)
        (contoured if picture.contour else stacked)(figure, picture).set_xlabel(picture.x_name)
        heading = "\n".join(wrap(picture.title, round(TITLE_WIDTH * width / WIDTH)))
        figure.suptitle(heading, x=SIDE, ha="left", color=theme.quiet, fontsize="medium")
        figure.supxlabel("\n".join(notes), x=SIDE, ha="left", color=theme.quiet, fontsize=8.5)
        try:
            figure.savefig(out, format=form, dpi=size.dots if size and size.dots else DOTS, metadata=metadata(picture, form))
        except UserWarning:
            raise AdError(f"a picture with {len(picture.panels) or 1} axes and {len(notes)} lines of notes does not fit its size",
                          help="make it larger, as ⟦--size 16x12cm⟧, or leave ⟦--size⟧ out") from None
    return out.getvalue()


# ---------------------------------------------------------------- curves

def stacked(figure: Any, picture: Picture) -> Any:
    """The panels one below the other; the axes of the last."""
    every = figure.subplots(len(picture.panels), 1, sharex=True, squeeze=False,
                            height_ratios=[p.share for p in picture.panels])[:, 0]
    across, known = horizontal(picture), list[int]()
    for ax, p in zip(every, picture.panels, strict=True):
        numbers = [c.number for c in p.every]
        panelled(ax, p, across, THEMES[picture.theme], numbers != known)
        known = numbers
    figure.align_ylabels(list(every))
    return every[-1]


def ticked(axis: Any, scale: Scale, most: int) -> None:
    """Round numbers along an axis from 0 to 1."""
    ticks = scale.ticks(most)
    axis.set_ticks([scale.place(t) for t in ticks], [word.replace("-", "\N{MINUS SIGN}") for word in labels(ticks)])


def panelled(ax: Any, p: Panel, across: Scale, theme: Theme, legend: bool) -> None:
    """Draw a panel, its twin over it, and a legend of both."""
    traced(ax, p, across, theme)
    handles = ax.get_legend_handles_labels()[0]
    where: dict[str, Any] = {"loc": "best"}
    if p.twin:
        other = ax.twinx()
        other.grid(False)
        other.spines["right"].set_visible(True)
        traced(other, p.twin, across, theme)
        handles += other.get_legend_handles_labels()[0]
        where = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 4, "borderaxespad": 0}   # over no curve of the two
        for each, part in ((ax, p), (other, p.twin)):
            if len({c.number for c in part.curves}) == 1:
                each.yaxis.label.set_color(theme.curves[part.curves[0].number % len(theme.curves)])
    if len(handles) > 1 and legend:
        ax.legend(handles, p.legend, fontsize=8.5, handlelength=2.6, **where)


def traced(ax: Any, p: Panel, across: Scale, theme: Theme) -> None:
    """Draw the curves and the marks of a panel on its axes."""
    up = vertical(p)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ticked(ax.xaxis, across, MOST_TICKS)
    ticked(ax.yaxis, up, MOST_TICKS if p.share > 1 else MOST_TICKS - 3)
    for place in p.upright:
        ax.axvline(across.place(place), color=theme.quiet, linestyle=(0, (2, 2)), linewidth=1)
    for place in p.flat:
        ax.axhline(up.place(place), color=theme.quiet, linewidth=0.8)
    for c in p.curves:
        colour = theme.curves[c.number % len(theme.curves)]
        if c.bars:
            x, low, high = zip(*((across.place(x), up.place(low), up.place(high)) for x, low, high in c.bars), strict=True)
            ax.vlines(x, low, high, color=colour, linewidth=1, alpha=0.6)
        plotted(ax, c, colour, [across.place(x) for x in c.x], [up.place(y) for y in c.y], up.place(0.0))
    for m in p.marks:
        look = dict(MARKERS[m.kind])
        hollow = look.pop("hollow", False)
        ax.plot([across.place(m.x)], [up.place(m.y)], color=theme.ink, linestyle="none",
                markerfacecolor=theme.ground if hollow else theme.ink, markeredgewidth=1.1, clip_on=False, zorder=4, **look)
    ax.set_ylabel(p.name)


def plotted(ax: Any, c: Curve, colour: str, x: Sequence[float], y: Sequence[float], ground: float) -> None:
    if c.style == "steps":
        ax.stairs(y, x, baseline=ground, fill=True, color=colour, alpha=0.3, linewidth=0, label=c.name)
    elif c.style == "points":
        ax.plot(x, y, linestyle="none", marker="o", markersize=3.6, color=colour, label=c.name,
                rasterized=len(x) > MOST_MARKERS)
    else:
        dash = (0, (5, 2)) if c.style == "dashed" else DASHES[c.number % len(DASHES)]
        ax.plot(x, y, color=colour, linestyle=dash, label=c.name)


# ---------------------------------------------------------------- maps

def contoured(figure: Any, picture: Picture) -> Any:
    """A heat map: colours between which the levels are equally far apart, lines at the levels, arrows, marks and points."""
    ax, c = figure.subplots(), picture.contour
    assert c is not None
    ax.grid(False)
    across, up = Scale(c.x[0], c.x[-1]), Scale(c.y[0], c.y[-1])
    colours: dict[str, Any] = {}
    if len(c.levels) > 1:
        import numpy as np
        from matplotlib.colors import FuncNorm
        x, y, z, levels = placed(c, across, up)
        knots = np.unique([0.0, *levels, 1.0])
        even = np.linspace(0, 1, len(knots))
        colours = {"cmap": "cividis", "norm": FuncNorm((lambda v: np.interp(v, knots, even), lambda v: np.interp(v, even, knots)),
                                                       0.0, 1.0)}
        heat = ax.imshow(z, origin="lower", extent=(0, 1, 0, 1), aspect="auto", interpolation="bilinear", **colours)
        ax.contour(x, y, z, levels=levels, colors="white", linewidths=0.6, alpha=0.7, negative_linestyles="solid")
        bar = figure.colorbar(heat, ax=ax, pad=0.02, fraction=0.07, ticks=levels, label=c.name)
        bar.ax.set_yticklabels([word.replace("-", "\N{MINUS SIGN}") for word in labels(c.levels)])
        bar.outline.set_visible(False)
    if c.arrows:
        tails = [across.place(a[0]) for a in c.arrows], [up.place(a[1]) for a in c.arrows]
        ax.quiver(*tails, [a[2] for a in c.arrows], [a[3] for a in c.arrows], angles="xy", scale_units="xy", scale=1,
                  pivot="mid", color="white", edgecolor="#222222", linewidth=0.4, width=0.0035, headwidth=4.5, headlength=4.5,
                  headaxislength=4, zorder=3)
    by_kind: dict[str, list[tuple[float, float]]] = {}
    for m in c.marks:
        by_kind.setdefault(m.kind, []).append((across.place(m.x), up.place(m.y)))
    for kind, places in by_kind.items():
        colour = {"kink": "#E69F00", "jump": "#D55E00"}.get(kind, "#CC0000")
        ax.plot(*zip(*places, strict=True), linestyle="none", marker="o", markersize=1.6, color=colour, zorder=4)
    dotted(ax, c, across, up, colours)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ticked(ax.xaxis, across, MOST_TICKS)
    ticked(ax.yaxis, up, MOST_TICKS)
    ax.set_ylabel(picture.y_name)
    return ax


def dotted(ax: Any, c: Contour, across: Scale, up: Scale, colours: dict[str, Any]) -> None:
    """The data over a map, in its colours where they have values."""
    heights = heights_of(c)
    for known in (False, True):
        points = [p for p in c.points if (bool(colours) and p[2] == p[2]) is known]
        fill = {"c": [heights.place(value) for *_, value in points], **colours} if known else {"color": "white"}
        ax.scatter([across.place(p[0]) for p in points], [up.place(p[1]) for p in points], s=30, edgecolors="#222222",
                   linewidths=0.9, zorder=5, rasterized=len(points) > MOST_MARKERS, **fill)
