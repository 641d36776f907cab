"""AC optimal power flow of networks in MATPOWER's case format: the program, its inputs, and the bounds of its values.

The model is that of PGLib-OPF (Babaeinejadsarookolaee et al., arXiv:1908.02788) in polar coordinates: voltage angles `va` and
magnitudes `vm` at buses, active and reactive power `pg`, `qg` of generators; per unit, angles in radians.
"""
from __future__ import annotations

import pathlib
import re
from typing import Any, NamedTuple

import numpy as np

PROGRAM = """\
input va(N), vm(N), pg(G), qg(G)
input int32 from(L), int32 to(L), int32 bus(G)
param pd(N), qd(N), gs(N), bs(N)
param gf(L), bf(L), gt(L), bt(L), gft(L), bft(L), gtf(L), btf(L)
param c2(G), c1(G), c0(G)
cost +=! c2(g)*pg(g)**2 + c1(g)*pg(g) + c0(g)
angle(l) = va(from(l)) - va(to(l))
c(l) = vm(from(l))*vm(to(l))*cos(angle(l))
s(l) = vm(from(l))*vm(to(l))*sin(angle(l))
pf(l) = gf(l)*vm(from(l))**2 + gft(l)*c(l) + bft(l)*s(l)
qf(l) = -bf(l)*vm(from(l))**2 - bft(l)*c(l) + gft(l)*s(l)
pt(l) = gt(l)*vm(to(l))**2 + gtf(l)*c(l) - btf(l)*s(l)
qt(l) = -bt(l)*vm(to(l))**2 - btf(l)*c(l) - gtf(l)*s(l)
p(i) = pd(i) + gs(i)*vm(i)**2
p(from(l)) += pf(l)
p(to(l)) += pt(l)
p(bus(g)) += -pg(g)
q(i) = qd(i) - bs(i)*vm(i)**2
q(from(l)) += qf(l)
q(to(l)) += qt(l)
q(bus(g)) += -qg(g)
power_from(l) = pf(l)**2 + qf(l)**2
power_to(l) = pt(l)**2 + qt(l)**2
output cost, p, q, power_from, power_to, angle
"""
UNKNOWNS = ("va", "vm", "pg", "qg")
BASELINE = {14: "2178.1", 118: "97214", 300: "5.6522e5", 1354: "1.2588e6", 2869: "2.4628e6", 10_000: "1.3540e6"}
"""The objective of PGLib's BASELINE.md, $/h, by buses."""


class Network(NamedTuple):
    """The inputs of PROGRAM with a start of the unknowns (flat voltages, the middles of generators), and bounds of unknowns and
    outputs: `p` and `q` are what is missing at a bus, which is 0."""

    inputs: dict[str, Any]
    bounds: dict[str, tuple[np.ndarray, np.ndarray]]


def read(path: str | pathlib.Path) -> Network:
    """The network of a MATPOWER case."""
    text = pathlib.Path(path).read_text("utf-8")
    base = float(re.search(r"mpc\.baseMVA\s*=\s*([\d.eE+-]+)", text)[1])
    bus, gen, branch, cost = (table(text, name) for name in ("bus", "gen", "branch", "gencost"))
    number = {int(n): k for k, n in enumerate(bus[:, 0])}
    on = gen[:, 7] > 0
    gen, cost, branch = gen[on], cost[:len(on)][on], branch[branch[:, 10] > 0]
    start, end = ([number[int(n)] for n in branch[:, k]] for k in (0, 1))
    series = 1/(branch[:, 2] + 1j*branch[:, 3])
    tap = np.where(branch[:, 8] == 0, 1, branch[:, 8])*np.exp(1j*np.radians(branch[:, 9]))
    own, ft, tf = series + 0.5j*branch[:, 4], -series/tap.conj(), -series/tap
    own_from = own/abs(tap)**2
    coefficients = np.zeros((len(gen), 3))
    for row, given in zip(coefficients, cost, strict=True):
        terms = given[4:4 + int(given[3])]
        row[3 - len(terms):] = terms
    generators = {name: gen[:, [a, b]]/base for name, a, b in (("pg", 9, 8), ("qg", 4, 3))}
    rate = np.where(branch[:, 5] == 0, np.inf, branch[:, 5]/base)**2
    reference = bus[:, 1] == 3
    angles = np.where(reference, np.radians(bus[:, 8]), np.inf)
    buses, branches = len(bus), len(branch)
    return Network({
        "va": np.zeros(buses), "vm": np.ones(buses), **{name: x.mean(axis=1) for name, x in generators.items()},
        "from": np.array(start), "to": np.array(end), "bus": np.array([number[int(n)] for n in gen[:, 0]]),
        "pd": bus[:, 2]/base, "qd": bus[:, 3]/base, "gs": bus[:, 4]/base, "bs": bus[:, 5]/base,
        "gf": own_from.real, "bf": own_from.imag, "gt": own.real, "bt": own.imag,
        "gft": ft.real, "bft": ft.imag, "gtf": tf.real, "btf": tf.imag,
        "c2": coefficients[:, 0]*base**2, "c1": coefficients[:, 1]*base, "c0": coefficients[:, 2]}, {
        "va": (np.where(reference, angles, -np.inf), angles), "vm": (bus[:, 12], bus[:, 11]),
        **{name: (x[:, 0], x[:, 1]) for name, x in generators.items()},
        "p": (np.zeros(buses), np.zeros(buses)), "q": (np.zeros(buses), np.zeros(buses)),
        "power_from": (np.full(branches, -np.inf), rate), "power_to": (np.full(branches, -np.inf), rate),
        "angle": (np.radians(branch[:, 11]), np.radians(branch[:, 12]))})


def table(text: str, name: str) -> np.ndarray:
    """A matrix of a case."""
    rows = re.search(rf"mpc\.{name}\s*=\s*\[(.*?)\]", text, re.DOTALL)[1]
    found = [line.split("%")[0].replace(";", " ").split() for line in rows.splitlines()]
    return np.array([[float(x) for x in row] for row in found if row])
