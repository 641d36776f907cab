"""Sums that say where something exists, in parts: not zero just where the whole is."""
from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
import pytest
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import Equation, Program, Var
from adcli.lang.ir.build import Builder
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.passes import zero_seeds_tensors
from adcli.lang.passes.zero_seeds_tensors import in_parts
from planted_faults import caught
from row_tables import each_row
from session_seed import drawn
from well_formed import check

DECLARED = "input a(T, E), b(U, E), c(U), d, g(T, U), int32 k(E)\n"
PARTS = {
    "i(t, u) +=! a(t, e) != 0 or b(u, e) != 0 ? 1 : 0": 2,
    "i(t, u) +=! a(t, e) != 0 or b(u, e) != 0 or g(t, u) != 0 ? 1 : 0": 3,
    "i(t, u) +=! a(t, e) != 0 or c(u) != 0 or a(t, e) > 0.5 ? 1 : 0": 2,
    "i(t, u) +=! a(t, e) != 0 ? 1 : 0 where u in 0:U": 1,
    "i(t, u) +=! a(t, e) != 0 and a(t, e) < 0.5 ? 1 : 0 where u in 0:U, t >= u": 1,
    "i(t) +=! a(t, e) != 0 or c(u) != 0 ? 1 : 0": 2,
    "i(t, u) +=! a(t, e) != 0 or c(u) != 0 ? 1 : 0 where e in 1:E": 2,
    "i(t, u) +=! a(t, e) != 0 or c(u) != 0 ? 1 : 0 where e >= t": 2,
    "i(t, u) +=! a(t, e) != 0 or c(u) != 0 ? 1 : 0 where t >= u, e in 0:E": 2,
    "i(t) +=! a(t, e) != 0 ? 1 : 0 where u in 0:U, e >= u, t in 0:T": 1,
    "i(t*U + u) +=! a(t, e) != 0 or c(u) != 0 ? 1 : 0 where float(T * U) i": 2,
    "i(t + 1, u) +=! a(t, e) != 0 or c(u) != 0 ? 1 : 0 where t in 0:T - 1, float(T, U) i": 2,
    "i(t, u) +=! c(k(e)) != 0 or a(t, e) != 0 ? 1 : 0 where u in 0:U": 2,
    "i(t, u) +=! d != 0 or a(t, e) != 0 ? 1 : 0 where u in 0:U": 2,
    "i +=! a(t, e) != 0 or b(u, e) != 0 ? 1 : 0": 2,
    "i(t, u) +=! a(t, e) != 0 and b(u, e) != 0 ? 1 : 0": 0,
    "i(t, u) +=! a(t, e) != 0 or c(u) != 0 ? 1 : 0 where e >= t, 2 * u >= e, u in 0:U": 0,
    "i(t) +=! a(t, e) != 0 ? 1 : 0": 0,
    "i(t, u) = g(t, u) != 0 or c(u) != 0 ? 1 : 0": 0,
}
"""Sums, and how many sums take their place: 0 where they stay."""


def apart(program: Program) -> Program | None:
    """The program with its last line in parts."""
    *before, e = program.equations
    assert isinstance(e.op, Comprehension)
    exists = next(x for x in e.op.body.equations if x.op is TABLE["select"]).args[0]
    assert isinstance(exists, Var)
    b = Builder()
    made = in_parts(b, e.op, e.args, exists)
    return made and check(replace(program, equations=(*before, *b.equations, Equation(e.outs, *made, e.span))))


def check_parts(text: str) -> None:
    program = parse(f"{DECLARED}{text}\noutput i", exact_order=True)
    made = apart(program)
    assert (0 if made is None else len(made.equations) - len(program.equations)) == PARTS[text]
    r = np.random.default_rng(drawn("parts", text).randrange(1 << 30))
    for sizes in ({"T": 3, "E": 2, "U": 4}, {"T": 2, "E": 4, "U": 3}, {"T": 2, "E": 1, "U": 2}, {"T": 3, "E": 0, "U": 2},
                  {"T": 2, "E": 2, "U": 0}, {"T": 1, "E": 1, "U": 1}):
        for dense in (0.0, 0.1, 0.3, 1.0) if made is not None else ():
            at = {p.name: r.random([sizes[str(n.terms[0][0])] for n in p.var.shape]) for p in program.params}
            at = {name: np.where(r.random(x.shape) < dense, x, 0.0) for name, x in at.items()}
            at["k"] = r.integers(0, max(sizes["U"], 1), at["k"].shape)
            if sizes["U"] or not prod(at["k"].shape):
                found, want = (evaluate(p, {**at, "d": float(at["d"])}, FLOAT)["i"] for p in (made, program))
                assert ((np.asarray(found) != 0) == (np.asarray(want) != 0)).all(), (at, found, want)


@each_row("text", PARTS)
def test_a_sum_in_parts_is_not_zero_where_the_whole_is(text: str) -> None:
    check_parts(text)


def test_what_is_left_out_of_a_sum_must_have_a_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zero_seeds_tensors, "without_index",
                        lambda conditions, i: [c for c in conditions if i not in c.indices()])
    with caught():
        check_parts("i(t, u) +=! d != 0 or a(t, e) != 0 ? 1 : 0 where u in 0:U")
