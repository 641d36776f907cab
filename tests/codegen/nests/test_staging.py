"""Values of known inputs: which are computed beforehand, and that no bit of a result changes by it."""
from __future__ import annotations

from unittest import mock

import numpy as np
from adcli.codegen.nests.cse_across_statements import staged
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.lower.frontend import parse
from adcli.lang.printing.printer import print_program
from row_tables import each_row
from session_seed import drawn

import adcli
from adcli.api import densities

DRAW = np.random.default_rng(drawn(7).getrandbits(30))
DATA = {"y": DRAW.poisson(3.0, 6) + 0.5, "s": DRAW.uniform(0.5, 2, 6), "k": np.array([0, 2, 1, 1, 0, 2]), "z": np.zeros(3)}
CASES = {
    "a function of data and gathered parameters": (
        "input y(N), int32 k(N), z(C); lp +=! y(i)*z(k(i)) - exp(z(k(i))) - lgamma(y(i) + 1)", ["lgamma(y(i) + 1)"]),
    "the most of a value": ("input y(N), s(N), a; lp +=! a*(log(s(i)) - y(i)/s(i)) + sin(a*y(i))", ["log(s(i)) - y(i) / s(i)"]),
    "statements and numbers": (
        "input y(N), s(N), a; w(i) = y(i)/s(i); t +=! w(i)**2; lp +=! (a - w(i))**2*t; output lp", ["y(i) / s(i)", "known"]),
    "a scattered sum": ("input y(N), int32 k(N), z(C); e(k(i)) +=! exp(y(i)) where float(C) e; lp +=! e(c)*z(c); output lp", []),
    "the product of a sum stays": ("input y(N), s(N), a; lp +=! y(i)*exp(s(i)); q = lp*a; output q", ["+=!"]),
    "a sum with a product of data": ("input y(N), s(N), a; lp +=! a*(y(i)*exp(s(i)))", ["y(i) * exp(s(i))"]),
    "in a loop": ("input y(T), a; h(0) = 0; for t in 0:T { h(t + 1) = h(t)*a + exp(-y(t)) }; lp = h(T); output lp", []),
    "sizes of parameters": ("input y(N), z(C); m(c, i) = exp(y(i)) where c in 0:C; lp +=! m(c, i)*z(c); output lp", [])}


@each_row("text, parts", CASES.values())
def test_what_is_known_is_computed_before(text: str, parts: list[str]) -> None:
    program = parse(text)
    given = {p.name: DATA[p.name] for p in program.params if p.name in DATA and p.name != "z"}
    first, rest = staged(program, given)
    assert [part in print_program(first) for part in parts] == [True] * len(parts) and bool(first.results) == bool(parts)
    unknown = {p.name: np.array([0.3, -0.2, 0.7]) if p.var.shape else 0.8 for p in program.params if p.name not in given}
    known = evaluate(first, given, numpy_arithmetic()) if first.results else {}
    assert evaluate(rest, {**given, **unknown, **known}, numpy_arithmetic()) == evaluate(
        program, {**given, **unknown}, numpy_arithmetic())


@each_row("text", [text for text, _ in CASES.values()])
def test_a_log_density_keeps_its_bits(text: str) -> None:
    f = adcli.compile(text)
    data = {name: DATA[name] for name in f.inputs if name in DATA and name != "z"}
    start = {"z": np.zeros(3)} if "z" in f.inputs else None
    with mock.patch.object(densities, "staged", lambda program, known: (program.__class__((), (), ()), program)):
        whole = f.logdensity(start=start, **data)
    d = f.logdensity(start=start, **data)
    u = np.linspace(-0.4, 0.9, d.dim)
    for (one, slopes), (other, same) in [(whole(u), d(u))]:
        assert one == other == d.value(u) and slopes.tobytes() == same.tobytes()
