"""Histories that say what exists are zero where one number is, by induction along the loop; and no bit of a result changes."""
from __future__ import annotations

import re
from random import Random
from typing import Any

import numpy as np
import pytest
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import Program
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoint_program
from adcli.lang.passes.zero_seeds import drop_zero_seeds
from adcli.lang.printing.printer import print_program
from adcli.lang.simplify import nonzero_domains
from adcli.lang.simplify.simplify import simplify
from back_ends import MODES
from places import ROOT
from planted_faults import caught
from random_loops import random_loop
from row_tables import each_row
from session_seed import drawn
from well_formed import check

LOOPS = {
    "down": "h(0) = a\nfor t in 0:T { h(t + 1) = sqrt(h(t)) / c(t) }\ny = h(T)",
    "up": "h(T) = a\nfor t in 0:T down { h(t) = b / h(t + 1) + log(c(t)) }\ny = h(0) * a",
    "two lags": "h(0) = a\nh(1) = b\nfor t in 0:T { h(t + 2) = log(h(t)) * h(t + 1) + sqrt(c(t)) }\ny = h(T + 1)",
    "two histories": "h(0) = a\ng(0) = b\nfor t in 0:T { g(t + 1) = h(t) / g(t); h(t + 1) = sqrt(g(t + 1)) }\ny = h(T) + g(T)",
    "every step": "h(0) = a\nfor t in 0:T { e(t) = c(t) / h(t); h(t + 1) = h(t) + b * e(t) }\ny +=! e(t)**2",
    "tensors": "g(0, n) = u(n)\nfor t in 0:T { z(t, m) +=! g(t, n) * W(n, m); g(t + 1, m) = sqrt(z(t, m)) }\ny +=! g(T, n)",
    "from the second step": "h(0) = a\nfor t in 1:T { h(t) = sqrt(h(t - 1)) / c(t) }\ny = h(T - 1)",
    "not all elements": "g(0, n) = u(n)\nfor t in 0:T { g(t + 1, n) = sqrt(g(t, n)) where n in 1:N }\ny +=! g(T, n) * u(n)",
    "in the middle": "h(0) = a\nfor t in 0:T { h(t + 1) = sqrt(h(t)) }\ny = h(1)",
    "an arm": "h(0) = a\nfor t in 0:T { h(t + 1) = c(t) > 0.5 ? sqrt(h(t)) : b }\ny = h(T)",
}
UNDECIDED = {"two lags", "in the middle", "not all elements", "an arm", "every step"}
"""What is not proved, or is not so: at every step nothing reads the last h(T), and its adjoint meets an infinite e(T - 1)."""


def awkward(r: Random, program: Program, steps: int, size: int) -> dict[str, Any]:
    """A point with elements that are 0, infinite or NaN, and a seed that may be zero."""
    at: dict[str, Any] = {}
    for p in program.params:
        shape = [{"T": steps, "N": size}[str(x.terms[0][0])] for x in p.var.shape]
        x = np.array([r.choice((r.uniform(0.1, 1.5), 0.0, 1.0, np.inf, np.nan) if r.random() < 0.3 else (r.uniform(0.1, 1.5),))
                      for _ in range(int(np.prod(shape)))]).reshape(shape)
        at[p.name] = x if shape else float(x)
    return {**at, "T": steps, "d_dy": r.choice((1.0, -0.3, 0.0, -0.0, np.inf, np.nan))}


def bits(x: Any) -> bytes:
    """Those of a result; a NaN is one whatever its sign, which the order of two factors decides."""
    return bytes(np.where(np.isnan(x), np.nan, x).tobytes())


def check_bits(program: Program, r: Random, least: int = 1) -> None:
    """What simplification makes of a program with its seeds gated, at awkward points, for loops of any length."""
    gated = check(drop_zero_seeds(program))
    simple = check(simplify(gated))
    for _ in range(12):
        at = awkward(r, program, r.randint(least, 4), r.randint(1, 3))
        at = {n: x for n, x in at.items() if n in {p.name for p in program.params} or n == "T"}
        with np.errstate(all="ignore"):
            got, want = (evaluate(p, at, FLOAT) for p in (simple, gated))
        for name in want:
            assert bits(got[name]) == bits(want[name]), (name, at, got[name], want[name])


def adjoints(text: str) -> Program:
    return adjoint_program(parse(text), None, ["y"])


def loop(name: str) -> Program:
    return adjoints(f"input a, b, c(T), u(N), W(N, N)\n{LOOPS[name]}\noutput y")


def asking(program: Program) -> list[str]:
    """The lines that say of elements whether they exist."""
    return [x for x in print_program(program).splitlines() if re.search(r"\bi\d+\([^)].*\+?=!? .*\? 1 : 0", x)]


@each_row("name", LOOPS)
def test_a_loop_keeps_its_bits_without_histories_of_what_exists(name: str) -> None:
    program = loop(name)
    gated = drop_zero_seeds(program)
    histories = [x for x in asking(simplify(gated)) if x.startswith("    ")]
    assert any(x.startswith("    ") for x in asking(gated)) and bool(histories) == (name in UNDECIDED), histories
    check_bits(program, drawn("supports of loops", name), int("T - 1" in LOOPS[name] or "h(1)" in LOOPS[name]))


def test_the_adjoint_of_what_nothing_reads_meets_an_infinite_factor() -> None:
    """The last e is infinite: 0·inf = NaN of the last h, which reaches no result, is in no derivative by b."""
    program = parse(f"input a, b, c(T)\n{LOOPS['every step']}\noutput y")
    at = {"a": 1.0, "b": -1.0, "c": np.array([1.0, 2.0])}
    found = [evaluate(gradient(program, ["a", "b"], ["y"], mode), at) for mode in MODES]
    assert [(x["dy_da"], x["dy_db"]) for x in found] == [(-np.inf, -np.inf)] * 2


@pytest.mark.parametrize("name", ["lotka_volterra", "gradient_descent", "leapfrog"])
def test_models_have_no_histories_of_what_exists(name: str) -> None:
    program = adjoint_program(parse((ROOT / f"tests/programs/models/{name}.ad").read_text(encoding="utf-8")))
    assert asking(drop_zero_seeds(program)) and not asking(simplify(drop_zero_seeds(program)))


def test_random_loops_keep_their_bits() -> None:
    r = drawn("supports of random loops")
    for _ in range(6):
        check_bits(adjoints(random_loop(r).replace(" checkpoint", "")), r)


QUESTIONS = {
    "all elements": ("i(T) = k where float(T + 1) i", "i(t) += i(t + 1) != 0 ? 1 : 0", True),
    "assigned": ("i(T) = k where float(T + 1) i", "i(t) = i(t + 1) != 0 ? 1 : 0", True),
    "too few": ("i(1) = k where float(T + 1) i", "i(t) += i(t + 1) != 0 ? 1 : 0", False),
    "overwritten": ("i(j) = k where j in 0:T + 1", "i(t) = x(t) > 1 ? 1 : 0", False),
    "by the value of another": ("i(T) = k where float(T + 1) i", "i(t) += i(t + 1) != 0 and x(t) > 1 ? 1 : 0", False),
    "counted down": ("i(T) = k where float(T + 1) i", "i(t) += i(t + 1) != 0 ? -1 : 0", False),
}
"""How a history begins, what happens to it at each step, and whether it is nowhere zero unless k is."""


def check_question(name: str) -> None:
    starts, step, decided = QUESTIONS[name]
    program = parse(f"input x(T), c\nk = c > 0 ? 1 : 0\n{starts}\nfor t in 0:T down {{ {step} }}\n"
                    "y(t) = i(t) != 0 ? 1 / x(t) : 0 where t in 0:T\noutput y")
    simple = check(simplify(program))
    for steps in (1, 2, 5):
        for c in (-1.0, 1.0):
            at = {"x": 0.75 + 0.5 * np.arange(steps), "c": c}
            found, want = (evaluate(p, at, FLOAT)["y"] for p in (simple, program))
            assert found.tobytes() == want.tobytes(), print_program(simple)
    assert ("for t" not in print_program(simple)) == decided, print_program(simple)


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_becomes_of_a_question(name: str) -> None:
    check_question(name)


@pytest.mark.parametrize("name", ["too few", "overwritten", "by the value of another"])
def test_a_claim_must_follow(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nonzero_domains, "is_union", lambda claim, pieces, shape: True)
    with caught():
        check_question(name)
