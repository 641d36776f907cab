"""An adjoint that reaches only an arm that is not taken is zero by construction, whatever stands between: in both modes, as for
scalars."""
from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoints, tangents
from adcli.lang.simplify.simplify import simplify
from row_tables import each_row
from session_seed import part
from tensor_laws import NUMPY

NAN, INF = math.nan, math.inf
INPUTS = "input x(N), v(N), k(N), w(N, N)\n"
BAD = [("log", -1.0), ("log", 0.0), ("sqrt", -1.0), ("sqrt", 0.0), ("1/", 0.0), ("acosh", 0.5), ("", NAN), ("", INF)]
"""What makes no number, or an infinite one, of a value: in an intermediate tensor, or as it is given."""

CHAINS = {
    "elementwise": "p(i) = {f}(x(i)); o(i) = p(i)*v(i); u(i) = k(i) > 0 ? o(i) : 0; s +=! u(i)",
    "the other arm": "p(i) = {f}(x(i)); o(i) = p(i)*v(i); u(i) = k(i) <= 0 ? v(i) : o(i)*o(i); s +=! u(i)",
    "further back": "p(i) = {f}(x(i)); q(i) = p(i)*v(i); o(i) = 2*q(i) + v(i); u(i) = k(i) > 0 ? o(i) : 3*v(i); s +=! u(i)",
    "two factors": "p(i) = {f}(x(i)); q(i) = v(i)**2; o(i) = p(i)*q(i); u(i) = k(i) > 0 ? o(i)*q(i) : q(i); s +=! u(i)",
    "a place": "p(i) = {f}(x(i)); o(i) = p(i)*v(i); u(i) = i > 0 ? o(i) : 0; s +=! u(i)",
    "one element": "p(i) = {f}(x(i)); o(i) = p(i)*v(i); s = o(1)",
    "a sum": "p(i) = {f}(x(i)); o(i) +=! p(i)*w(i, j)*v(j); u(i) = k(i) > 0 ? o(i) : 0; s +=! u(i)",
    "an extremum": "p(i) = {f}(x(i)); o(i) = p(i)*v(i); m(i) = k(i) > 0 ? o(i) : 5*v(i); s max=! m(i)",
    "a loop": "h(0) = v(0); for t in 0:N {{ p(t) = {f}(x(t))*h(t); h(t + 1) = k(t) > 0 ? p(t) : v(t) }}; s = h(N)",
    "a loop before": "for t in 0:N {{ p(t) = {f}(x(t)) }}; o(i) = p(i)*v(i); u(i) = k(i) > 0 ? o(i) : 0; s +=! u(i)",
    "a number chosen": "p(i) = {f}(x(i)); o(i) = p(i)*v(i); a = o(0); s = (k(0) > 0 ? a : v(0)) + o(1)",
    "a sum chosen": "p(i) = {f}(x(i)); o(i) = p(i)*v(i); t +=! o(i); s = (k(0) > 0 ? t : v(0)) + o(1)",
    "a sum or an element": "p(i) = {f}(x(i)); o(i) = p(i)*v(i); t +=! o(i); s = k(0) > 0 ? t : o(1)",
    "a loop behind": "p(i) = {f}(x(i)); o(i) = p(i)*v(i); h(0) = 0; for t in 0:N {{ h(t + 1) = h(t) + (k(t) > 0 ? o(t) : 0) }}; "
                     "s = h(N)",
}
CASES = [(name, text, f, at) for name, text in CHAINS.items() for f, at in BAD if f or name not in ("a place", "one element")]


def values_of(bad: float) -> Mapping[str, Any]:
    return {"x": np.array([bad, 4.0]), "v": np.array([1.5, 2.0]), "k": np.array([0.0, 1.0]), "w": np.array([[1.0, 2], [3, 4]])}


@each_row(("name", "text", "f", "bad"), part(CASES, 3))
def test_both_modes_agree_where_an_arm_is_not_taken(name: str, text: str, f: str, bad: float) -> None:
    program = parse(INPUTS + text.format(f=f).replace("; ", "\n") + "\noutput s\n")
    at = values_of(bad)
    backward = gradient(program, wrt=["v"], mode="reverse")
    reverse = evaluate(backward, at, NUMPY)["ds_dv"]
    forward = evaluate(gradient(program, wrt=["v"], mode="forward"), at, NUMPY)["ds_dv"]
    assert np.all(np.isfinite(reverse)), (name, reverse)
    np.testing.assert_allclose(reverse, forward, rtol=1e-14)
    np.testing.assert_allclose(compile_tensors(backward)(at)["ds_dv"], reverse, rtol=1e-14)


@each_row(("text", "f", "bad"), [(CHAINS[n], f, x) for n, (f, x) in itertools.product(
    ("elementwise", "further back", "two factors"), BAD)])
def test_reverse_over_reverse_agrees_too(text: str, f: str, bad: float) -> None:
    program = parse(INPUTS + text.format(f=f).replace("; ", "\n") + "\noutput s\n")
    at = values_of(bad)
    first = gradient(program, wrt=["v"])
    again = simplify(adjoints(first, ["v"], ["ds_dv"]))
    second = evaluate(again, {**at, "d_dds_dv": np.array([1.0, 1.0])}, NUMPY)["d_dv"]
    ahead = evaluate(simplify(tangents(first, ["v"])), {**at, "dv": np.array([1.0, 1.0])}, NUMPY)["dds_dv"]
    assert np.all(np.isfinite(second))
    np.testing.assert_allclose(second, ahead, rtol=1e-14)
