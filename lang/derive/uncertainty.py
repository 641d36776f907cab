"""Propagation of uncertainty as a Program: standard uncertainties of inputs in, those of outputs out.

To first order u(v) is the length of the vector of contributions c·u(x), c the partial derivatives (JCGM 100:2008, Evaluation
of measurement data: Guide to the expression of uncertainty in measurement, equations 10 and 16). Correlated contributions are
first made independent by the Cholesky factor L of the correlation matrix, so u(v) = ‖Lᵀ(c∘u)‖ is a sum of squares: it cannot
become negative by rounding, and `hypot` takes it without overflow. Contributions that cancel within their rounding are 0: what is
left of them is no uncertainty.

To second order, for jointly normal inputs of covariance Σ, Hessian H: the mean is v + ½ tr(HΣ), the variance gᵀΣg + ½ tr((HΣ)²)
(the moments of a quadratic form: Searle, Linear Models, 1971, section 2.5). With B = Lᵀ(u∘H∘u)L these are v + ½ tr B and
u(v)² + ½ ‖B‖², again a sum of squares. An independent input of skewness γ and kurtosis κ, with c its contribution and b its entry
of the diagonal, has (c + ½γb)² + ¼(κ − 1 − γ²)b² for c² + ½b² (the moments of a quadratic polynomial; never negative, since
κ ≥ 1 + γ²: Pearson 1916). JCGM 100, 5.1.2, note, has the same terms where the inputs are independent and normal, and further ones
with third derivatives, which belong to an expansion of higher order.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from adcli.lang.derive.derivatives import gradient
from adcli.lang.derive.uncertainty_figures import Correlation, Factor, Figure, Moments, cholesky, components, figures
from adcli.lang.ir import Atom, Lit, Param, Program, Result, Var, substitute
from adcli.lang.ir.build import Builder, Expr, apply
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import Names
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.records import paused
from adcli.lang.passes.pipeline import run
from adcli.lang.simplify.simplify import simplify

Sparse = dict[tuple[int, int], Expr]

ROUNDING = math.ulp(1.0)
CANCELLED = 16
"""A sum of contributions is 0 where it is below this many roundings of its terms, and one more for each term."""
MOST_RESULTS = 100_000
"""Results of one propagation, or second derivatives (which are symmetric: twice as many) with what correlations make of them."""


@paused()
def propagation(program: Program, wrt: Sequence[str], order: int = 1, correlations: Sequence[Correlation] = (),
                moments: Sequence[Moments] = (), dof: bool = False) -> Program:
    """The program with further inputs u_x, the standard uncertainties of the inputs in `wrt`, and the `figures` as further
    results. Where u(v) is 0 or infinite, shares and correlations are 0. `moments` are of inputs that are not normal and have no
    correlation, for the second order. With `dof` there are also inputs dof_x, degrees of freedom, by default infinitely many.
    AdError where `correlations` cannot be."""
    outputs = [r.name for r in program.results]
    factor = cholesky(wrt, correlations)
    wanted = figures(outputs, wrt, order, correlations, dof)
    curved = len(outputs) * len(wrt) * sum(map(len, factor)) if order > 1 else 0
    if len(wanted) > MOST_RESULTS or curved > 2 * MOST_RESULTS:
        raise AdError(f"{len(wrt)} uncertain inputs and {len(outputs)} outputs are too many for one propagation",
                      help="choose outputs with ⟦--of⟧, or give fewer inputs a spread")
    derived = _named(gradient(program, wrt, None, "auto", order))
    names, b = Names.of(derived), Builder()
    b.equations.extend(derived.equations)
    spreads = tuple(Param(Var(n := names.fresh(f"u_{x}")), n, low=0.0, high=math.inf, seed=x) for x in wrt)
    degrees = tuple(Param(Var(n := names.fresh(f"dof_{x}")), n, math.inf, 1.0, math.inf) for x in wrt if dof)
    made = _Propagation(b, derived, wrt, [b.expr(s.var) for s in spreads], factor, moments)
    values: dict[Figure, Expr] = {}
    for v in outputs:
        values |= made.first(v, correlations)
        values |= made.second(v) if order > 1 else {}
        if dof:
            values[Figure("dof", v)] = made.degrees(v, [b.expr(p.var) for p in degrees], components(wrt, correlations))
    for f in wanted:
        if f.kind == "corr":
            values[f] = made.correlation(f.of, f.along[0])
    results = tuple(Result(names.fresh(f.hint), values[f].atom, f.of) for f in wanted)
    whole = replace(derived, params=derived.params + spreads + degrees, equations=tuple(b.equations),
                    results=derived.results[:len(outputs)] + results)
    return run(whole, [simplify])


class _Propagation:
    """The equations of one propagation. `parts` has for each output its independent contributions, `whole` u(v)."""

    def __init__(self, b: Builder, derived: Program, wrt: Sequence[str], spreads: list[Expr], factor: Factor,
                 moments: Sequence[Moments]) -> None:
        self.moments = {wrt.index(x): (skewness, kurtosis) for x, skewness, kurtosis in moments}
        self.b, self.wrt, self.spreads, self.factor = b, wrt, spreads, factor
        self.values = {r.name: b.expr(r.atom) for r in derived.results if not r.wrt}
        self.partials: dict[str, dict[tuple[str, ...], Expr]] = {v: {} for v in self.values}
        for r in derived.results:
            if r.wrt and not (isinstance(r.atom, Lit) and r.atom.value == 0):
                self.partials[r.of or ""][r.wrt] = b.expr(r.atom)
        self.parts: dict[str, dict[int, Expr]] = {}
        self.whole: dict[str, Expr] = {}
        self.none: dict[str, Expr] = {}

    def line(self, value: Expr, name: str) -> Expr:
        """The value of the last equation under a name of its own; the next line begins."""
        self.b.group += 1
        return self.b.rename(value, (name, False), 0)

    def first(self, v: str, correlations: Sequence[Correlation]) -> dict[Figure, Expr]:
        """The standard uncertainty of one output and the shares in its variance."""
        terms = {i: self.line(c * self.spreads[i], f"u_{v}_{x}")
                 for i, x in enumerate(self.wrt) if (c := self.partials[v].get((x,))) is not None}
        self.parts[v] = self.turned(terms)
        whole = self.whole[v] = self.line(self.length(list(self.parts[v].values())), f"u_{v}")
        none = self.none[v] = self.line((whole == 0) | (whole == math.inf), f"none_{v}")
        found = {Figure("u", v): whole}
        portions = {i: self.line(t / whole, f"part_{v}_{self.wrt[i]}") for i, t in terms.items()}
        nothing = self.b.expr(Lit(0.0))
        for i, x in enumerate(self.wrt):
            mine = portions.get(i)
            found[Figure("share", v, (x,))] = nothing if mine is None else self.unless(none, 100 * (mine * mine))
        for x, y, r in correlations:
            one, other = portions.get(self.wrt.index(x)), portions.get(self.wrt.index(y))
            joint = nothing if one is None or other is None else self.unless(none, 200 * r * (one * other))
            found[Figure("share", v, (x, y))] = joint
        return found

    def degrees(self, v: str, dofs: Sequence[Expr], groups: Sequence[Sequence[str]]) -> Expr:
        """The inverse of the effective degrees of freedom of u(v) by the formula of Welch and Satterthwaite (JCGM 100, G.2b), 0
        where u(v) is 0 or infinite. Correlated inputs count as one; NaN where their degrees of freedom differ."""
        found = []
        for group in groups:
            places = [self.wrt.index(x) for x in group]
            ratios = [self.parts[v][i] / self.whole[v] for i in places if i in self.parts[v]]
            if not ratios:
                continue
            part = total([r * r for r in ratios])
            own = [apply(TABLE["select"], self.spreads[i] == 0, math.inf, dofs[i]) for i in places]
            least = apply(TABLE["min"], *own) if len(own) > 1 else own[0]
            for i, dof in zip(places, own, strict=True) if len(own) > 1 else ():
                least = apply(TABLE["select"], (self.spreads[i] == 0) | (dof == least), least, math.nan)
            found.append(part * part / least)
        return self.unless(self.none[v], total(found)) if found else self.b.expr(Lit(0.0))

    def correlation(self, v: str, w: str) -> Expr:
        """The correlation coefficient of two outputs: the cosine of the angle between their contributions."""
        both = [i for i in self.parts[v] if i in self.parts[w]]
        if not both:
            return self.b.expr(Lit(0.0))
        cosine = total([(self.parts[v][i] / self.whole[v]) * (self.parts[w][i] / self.whole[w]) for i in both])
        inside = apply(TABLE["max"], apply(TABLE["min"], cosine, 1), -1)
        return self.unless(self.none[v] | self.none[w], inside)

    def second(self, v: str) -> dict[Figure, Expr]:
        """Estimate and standard uncertainty of one output to second order. The mean is an `fma`, not a sum: a sum would count as
        linear in the spreads, and vanish with them by the zero rule (`adcli.lang.passes.zero_seeds`)."""
        position = {x: i for i, x in enumerate(self.wrt)}
        curved: Sparse = {}
        for along, h in self.partials[v].items():
            if len(along) == 2:
                i, j = position[along[0]], position[along[1]]
                curved[i, j] = curved[j, i] = self.line(h * self.spreads[i] * self.spreads[j], f"u_{v}_{'_'.join(along)}")
        turned = self.turned_twice(curved)
        trace = [t for (i, j), t in turned.items() if i == j]
        mean = apply(TABLE["fma"], 0.5, total(trace), self.values[v]) if trace else self.values[v]
        first, rest = [self.whole[v]], [t for (i, j), t in turned.items() if i < j]
        diagonal = {i: t for (i, j), t in turned.items() if i == j}
        if any(skewness for i, (skewness, _) in self.moments.items() if i in diagonal):
            parts = dict(self.parts[v])
            for i, (skewness, _) in self.moments.items():
                if skewness and i in diagonal:
                    parts[i] = total([*([parts[i]] if i in parts else []), 0.5 * skewness * diagonal[i]])
            first = list(parts.values())
        for i, t in diagonal.items():
            skewness, kurtosis = self.moments.get(i, (0.0, 3.0))
            rest.append(0.5 * math.sqrt(max(kurtosis - 1 - skewness**2, 0.0)) * t)
        return {Figure("mean", v): mean, Figure("u2", v): self.length([*first, *rest])}

    def turned(self, terms: Mapping[int, Expr]) -> dict[int, Expr]:
        """Lᵀ times a vector: contributions that are independent."""
        columns: dict[int, list[Expr]] = {}
        for i, t in terms.items():
            for k, weight in self.factor[i].items():
                columns.setdefault(k, []).append(t if weight == 1 else weight * t)
        return {k: self.remainder(parts) for k, parts in columns.items()}

    def turned_twice(self, terms: Sparse) -> Sparse:
        """Lᵀ A L for a symmetric A."""
        for _ in range(2):
            columns: dict[tuple[int, int], list[Expr]] = {}
            for (i, j), t in terms.items():
                for k, weight in self.factor[i].items():
                    columns.setdefault((j, k), []).append(t if weight == 1 else weight * t)
            terms = {place: self.remainder(parts) for place, parts in columns.items()}
        return terms

    def remainder(self, parts: Sequence[Expr]) -> Expr:
        """The sum of contributions, 0 where they cancel. The bound is a sum of small parts, which cannot overflow, and an
        infinite sum is not below it."""
        whole = total(parts)
        if len(parts) < 2:
            return whole
        rounding = (CANCELLED + len(parts)) * ROUNDING
        bound = total([rounding * apply(TABLE["abs"], part) for part in parts])
        return apply(TABLE["select"], apply(TABLE["abs"], whole) < bound, 0, whole)

    def length(self, parts: Sequence[Expr]) -> Expr:
        if len(parts) < 2:
            return apply(TABLE["abs"], parts[0]) if parts else self.b.expr(Lit(0.0))
        return apply(TABLE["hypot"], *parts)

    def unless(self, none: Expr, value: Expr) -> Expr:
        return apply(TABLE["select"], none, 0, value)


def total(parts: Sequence[Expr]) -> Expr:
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    return whole


def _named(derived: Program) -> Program:
    """A derivative program whose partial derivatives have their names inside, since they are no results any more."""
    owned: set[Atom] = {r.atom for r in derived.results if not r.wrt}
    owned.update(p.var for p in derived.params)
    env: dict[Atom, Atom] = {}
    for r in derived.results:
        if r.wrt and isinstance(r.atom, Var) and r.atom not in owned:
            env.setdefault(r.atom, Var(r.name))
    return substitute(derived, env)
