"""The uncertainty budget as a table for a report, in Markdown, LaTeX or HTML: a row for each uncertain input, as EA-4/02
(Evaluation of the Uncertainty of Measurement in Calibration, section 6) and the examples of JCGM 100, annex H, have it."""
from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from adcli.codegen.documents.notation import latex_names
from adcli.output.numbers import Number
from adcli.output.typeset import MARKUPS, booktabs, latex_text, markdown_table, markdown_text
from adcli.propagate.budgets import Budget, Correlations, OutputBudget, Shown, judged, pair

HEAD = ("Quantity", "Estimate", "Standard uncertainty", "Distribution", "Degrees of freedom", "Sensitivity", "Contribution",
        "Share in %")
WORDS = ("Quantity", "Distribution")
"""The columns that hold no numbers."""
DOF = HEAD.index("Degrees of freedom")
"""The column that is left out where all standard uncertainties are known exactly."""


class Markup(NamedTuple):
    """How names, numbers and sentences are written; `table` takes its title, the heading, the rows of the inputs, that of the
    output."""

    name: Callable[[str], str]
    number: Callable[[str], str]
    plain: Callable[[str], str]
    sentence: Callable[[str], str]
    table: Callable[[str, Sequence[str], Sequence[Sequence[str]], Sequence[Sequence[str]]], Iterator[str]]


def tables(form: str, budgets: Iterable[Budget], number: Number | None, shown: Shown, several: bool) -> Iterator[str]:
    """A table for every output at every point, and below it what is known of the output; then the correlations of the outputs.
    Without `number`, an estimate with its standard uncertainty is rounded as in a report, and other figures have three digits."""
    first = True
    for budget in budgets:
        dialect = DIALECTS[form]([*budget.at, *(o.name for o in budget.outputs)])
        where = f" at {', '.join(f'{dialect.name(x)} = {v:.6g}' for x, v in budget.at.items())}" if several else ""
        for output in budget.outputs:
            title = f"Uncertainty budget of {dialect.name(output.name)}{where}"
            yield "".join(["" if first else "\n", *dialect.table(title, *cells(budget, output, number, dialect)),
                           *map(dialect.sentence, sentences(budget, output, shown))])
            first = False
        for kind, found in budget.together if budget.correlations else ():
            if found:
                title = f"Correlation coefficients{' by Monte Carlo' if kind == 'mc_corr' else ''}{where}"
                yield f"\n{''.join(dialect.table(title, *matrix(budget, found, number, dialect), [])).rstrip()}\n"


def matrix(budget: Budget, found: Correlations, number: Number | None, to: Markup) -> tuple[list[str], list[list[str]]]:
    """The heading and the rows of the lower triangle of a correlation matrix."""
    names = [o.name for o in budget.outputs]

    def figure(r: float) -> str:
        return to.number(number(r) if number else f"{r:.3g}")

    rows = [[to.name(w), *(figure(found[v, w]) for v in names[:i]), figure(1.0), *[""] * (len(names) - i - 1)]
            for i, w in enumerate(names)]
    return [to.plain(HEAD[0]), *map(to.name, names)], rows


def cells(budget: Budget, output: OutputBudget, number: Number | None,
          to: Markup) -> tuple[list[str], list[list[str]], list[list[str]]]:
    """The heading, a row for each uncertain input and for the correlations, and that of the output."""
    assert budget.slopes is not None, "made for a table"
    slopes: Mapping[str, float] = budget.slopes.get(output.name, {})

    def figure(x: float | None) -> str:
        return "" if x is None else to.number(number(x) if number else f"{x:.3g}")

    def degrees(dof: float) -> str:
        return to.number(number(dof) if number else f"{dof:.4g}")

    def estimate(x: float, u: float) -> list[str]:
        if number:
            return [figure(x), figure(u)]
        value, width, exponent = pair(x, u)
        return [to.number(value + exponent), to.number(width + exponent)]

    rows = [[to.name(x), *estimate(budget.at[x], s.u), to.plain(s.label), degrees(s.dof), figure(slopes.get(x, 0.0) + 0.0),
             figure(abs(slopes.get(x, 0.0)) * s.u), figure(output.shares.get(x))] for x, s in budget.spreads.items()]
    for x, y, r in budget.given_correlations:
        share = output.shares.get(f"{x}:{y}")
        if share is not None:
            rows.append([f"{to.name(x)}, {to.name(y)}", "", "", to.plain(f"r = {r:.4g}"), "", "", "", figure(share)])
    dof = math.inf if output.dof is None else output.dof
    whole = 100.0 if output.shares else None
    last = [to.name(output.name), *estimate(output.value, output.u), "", degrees(dof), "", "", figure(whole)]
    table = [[*map(to.plain, HEAD)], *rows, last]
    if all(s.dof == math.inf for s in budget.spreads.values()):
        table = [[cell for i, cell in enumerate(row) if i != DOF] for row in table]
    return table[0], table[1:-1], table[-1:]


def sentences(budget: Budget, output: OutputBudget, shown: Shown) -> Iterator[str]:
    """Sentences below the table."""
    yield f"Standard uncertainty: {shown(output.value, output.u)}."
    if output.interval and budget.sampling:
        k = output.interval.k
        told = f"; {judged(output.interval.agreement)}" if output.interval.agreement else ""
        yield (f"Expanded uncertainty: {shown(output.value, output.interval.expanded)} with k = {k:.3g} for"
               f" {budget.sampling.chance}{told}.")
    if output.quadratic:
        yield f"To second order: {shown(*output.quadratic)}."
    if output.sampled and budget.sampling:
        s = output.sampled
        symmetric, shortest = (f"from {' to '.join(''.join(pair(x, s.u)[::2]) for x in ends)}" if ends else ""
                               for ends in ((s.low, s.high), s.shortest))
        yield (f"Monte Carlo, {budget.samples} samples: {shown(s.mean, s.u)}; {budget.sampling.chance} {symmetric}"
               f"{', the shortest ' if shortest else ''}{shortest}.")


# ---------------------------------------------------------------- the notations

def in_markdown(names: Sequence[str]) -> Markup:
    def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], last: Sequence[Sequence[str]]) -> Iterator[str]:
        yield f"**{markdown_text(title)}**\n\n"
        yield from markdown_table([*map(markdown_text, head)], [*rows, *last])
        yield "\n"

    return Markup(str, str, str, MARKUPS["markdown"].sentence, table)


def in_latex(names: Sequence[str]) -> Markup:
    spelled = {name: f"${base}_{{{sub}}}$" if sub else f"${base}$" for name, (base, sub) in
               zip(names, latex_names(names), strict=True)}

    def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], last: Sequence[Sequence[str]]) -> Iterator[str]:
        yield f"% {title}\n"
        yield from booktabs("".join("l" if column in WORDS else "r" for column in head), head, [rows, last])

    return Markup(spelled.__getitem__, latex_number, latex_text, MARKUPS["latex"].sentence, table)


def in_html(names: Sequence[str]) -> Markup:
    from adcli.output import html

    def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], last: Sequence[Sequence[str]]) -> Iterator[str]:
        yield html.table(title, head, [rows, last], "".join("<" if column in WORDS else ">" for column in head))

    return Markup(str, str, str, html.paragraph, table)


def latex_number(text: str) -> str:
    """A number as it is printed, with its power of ten spelled out."""
    if not (found := re.fullmatch(r"\s*(-?[0-9.]+)(?:e([+-]?[0-9]+))?", text)):
        return r"$\infty$" if text == "inf" else latex_text(text)
    return f"${found[1]}$" if found[2] is None else rf"${found[1]} \cdot 10^{{{int(found[2])}}}$"


DIALECTS = {"markdown": in_markdown, "latex": in_latex, "html": in_html}
