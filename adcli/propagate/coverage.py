"""Coverage factors: how many standard uncertainties make an interval of a given probability (JCGM 100:2008, annex G)."""
from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from adcli.input.values import value
from adcli.lang.ir.errors import AdError

FAR = 10_000.0
"""Degrees of freedom from which the t-distribution is expanded about the normal one: the first term left out is below 1e-14."""
ENDLESS = 1e30
"""Degrees of freedom that differ in no digit from infinitely many."""
WHOLE = 1e-9
"""How far below a whole number, by rounding, degrees of freedom still are that number."""


def probability(text: str) -> float:
    """A coverage probability, as a number or in percent."""
    if factor := re.fullmatch(r"\s*k\s*=?\s*(\d+\.?\d*)\s*", text):
        raise AdError(f"⟦--coverage {text}⟧: a probability is wanted, and this is a factor", help=by_factor(float(factor[1])))
    p = value("⟦--coverage⟧", text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not (p > 0 and (1 + p) / 2 < 1):
        help = by_factor(p) if 1 <= p <= LARGEST_FACTOR else f"write ⟦--coverage {text}%⟧" if 1 < p < 100 else \
            "write ⟦--coverage 0.95⟧ or 95%"
        raise AdError(f"⟦--coverage {text}⟧: a probability must lie between 0 and 1", help=help)
    return p


LARGEST_FACTOR = 5
"""Up to which a number that is no probability is rather a coverage factor than a percentage."""


def by_factor(k: float) -> str:
    """Help for a coverage factor, by the normal distribution."""
    return f"for k = {k:g} write ⟦--coverage {math.erf(k / math.sqrt(2)):.10g}⟧"


def effective_dof(variances: Mapping[str, float], dofs: Mapping[str, float], groups: Sequence[Sequence[str]]) -> float | None:
    """The effective degrees of freedom of a combined standard uncertainty by the formula of Welch and Satterthwaite (JCGM 100,
    equation G.2b). `variances` are the parts of its variance by input, and by pairs x:y of correlated ones. The `groups` of
    correlated inputs count as one evaluation where they have the same degrees of freedom; None where they have not, and where the
    variance is 0 or not finite."""
    whole = math.fsum(variances.values())
    if not 0 < whole < math.inf:
        return None
    found = []
    for group in groups:
        own = {dofs[x] for x in group}
        if len(own) > 1:
            return None
        part = math.fsum(v for name, v in variances.items() if name.partition(":")[0] in group) / whole
        found.append(part * part / own.pop())
    total = math.fsum(found)
    return 1 / total if total else math.inf


def coverage_factor(probability: float, dof: float) -> float:
    """k, so that y ± kU has this coverage probability, from the t-distribution with the degrees of freedom, a fraction cut off
    (JCGM 100, G.4.1); NaN below one."""
    if dof == math.inf:
        from statistics import NormalDist
        return NormalDist().inv_cdf((1 + probability) / 2)
    whole = math.floor(min(dof, ENDLESS) * (1 + WHOLE))
    return t_reach(probability, whole) if whole >= 1 else math.nan


def t_reach(probability: float, dof: int) -> float:
    """The t with P(|T| ≤ t) = probability for `dof` degrees of freedom."""
    if dof >= FAR:
        from statistics import NormalDist
        return expanded(NormalDist().inv_cdf((1 + probability) / 2), dof)
    low, high = 0.0, 1.0
    while inside(high, dof) < probability and high < 1e300:
        low, high = high, 2 * high
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (middle, high) if inside(middle, dof) < probability else (low, middle)
    return high


def inside(t: float, dof: int) -> float:
    """P(|T| ≤ t): finite sums for whole degrees of freedom (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3
    and 26.7.4)."""
    angle = math.atan2(t, math.sqrt(dof))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = dof % 2
    term = cosine if odd else 1.0
    terms = [term] if dof > 1 else []
    for i in range(2 + odd, dof - 1, 2):
        term *= cosine * cosine * (i - 1) / i
        terms.append(term)
    whole = sine * math.fsum(terms)
    return 2 / math.pi * (angle + whole) if odd else whole


def expanded(z: float, dof: float) -> float:
    """The quantile of the t-distribution from the one of the normal distribution (Abramowitz and Stegun, 26.7.5)."""
    terms = ((z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
             (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160)
    return z + math.fsum(term / dof ** (i + 1) for i, term in enumerate(terms))
