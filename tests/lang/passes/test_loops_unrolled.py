"""Loops over numbers against the same steps written out: at awkward points too, with seeds that are zero, with the status."""
from __future__ import annotations

import math
import re
from itertools import product

import pytest
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Program
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoint_program, evaluation_program, tangent_program
from adcli.lang.passes.status import with_status
from adcli.lang.simplify.simplify import simplify
from session_seed import drawn, half

STEPS = 3
BODIES = {
    "a root": ("h(0) = a", "h(t+1) = sqrt(h(t))*b", "y = h({T})"),
    "a quotient": ("h(0) = a; h(1) = b", "h(t+2) = h(t)/h(t+1) + b", "y = h({T}+1)*h({T})"),
    "a choice": ("h(0) = a", "r(t) = log(h(t)); h(t+1) = h(t) > b ? r(t) : h(t)*b", "y = h({T})"),
    "a kink": ("h(0) = a", "h(t+1) = max(h(t), b) - abs(h(t))", "y = h({T})"),
    "two values": ("v(0) = a; x(0) = b", "f(t) = -x(t)*x(t)**0.5; v(t+1) = v(t) + f(t); x(t+1) = x(t) + v(t+1)",
                   "y = v({T}) + x({T})"),
    "only one active": ("c(0) = 1; h(0) = a", "c(t+1) = c(t)*2 - 2; h(t+1) = h(t)**c(t) + b", "y = h({T})"),
    "a start that is a constant": ("h(0) = a; h(1) = 0", "h(t+2) = h(t)*b + h(t+1)", "y = h({T}) + sqrt(h(1))"),
    "a constant that is read": ("h(0) = a; h(1) = 0", "h(t+2) = sqrt(h(t+1)) + h(t)*b", "y = h({T}+1)"),
    "added": ("h(0) = a", "h(t+1) += sqrt(h(t)); h(t+1) += b*h(t)", "y = h({T}) + h(1)"),
}
POINTS = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (-1.0, 0.5), (0.7, 0.9), (2.0, -0.0)]
"""Of finite numbers: whether a product with an infinite one meets a zero seed is asked of scalars only (zero_seeds.py)."""
SEEDS = [0.0, 1.0]


def loop(name: str) -> Program:
    before, body, after = BODIES[name]
    text = f"input a, b, int32 T\n{before}\nfor t in 0:T {{ {body} }}\n{after.replace('{T}', 'T')}\noutput y\n"
    return parse(text)


def numbered(text: str, t: int) -> str:
    """h(t+1) as h1 in the first step."""
    return re.sub(r"\b([vxhcrf])\(([t\d+]+)\)", lambda m: f"{m[1]}{eval(m[2], {'t': t})}", text)


def written_out(name: str) -> Program:
    before, body, after = BODIES[name]
    text = "; ".join([before, *[numbered(body, t) for t in range(STEPS)], numbered(after.replace("{T}", str(STEPS)), 0)])
    text = numbered(text, 0)
    for k in range(STEPS + 2):   # the first addition starts, as an assignment does
        text = text.replace(f"h{k} += ", f"h{k} = ", 1)
    text = re.sub(r"(h\d) \+= ([^;]*)", r"\1 = \1 + (\2)", text)
    return parse(f"input a, b\n{text}\noutput y\n")


def same(one: float, other: float) -> bool:
    return (math.isnan(one) and math.isnan(other)) or one == other or abs(one - other) <= 1e-13 * max(abs(one), abs(other))


@pytest.mark.parametrize("name", half([*BODIES]))
def test_a_loop_is_its_steps_written_out(name: str) -> None:
    whole, steps = loop(name), written_out(name)
    for make, wrt, seeds in ((tangent_program, "ab", "ab"), (tangent_program, "b", "b"), (adjoint_program, "ab", "y")):
        both = []
        for program in (whole, steps):
            derived = make(program, [*wrt])
            both.append((derived, simplify(with_status(evaluation_program(derived), program, [*wrt]))))
        for (a, b), given in product(drawn("unrolled", name).sample(POINTS, 7), product(SEEDS, repeat=len(seeds))):
            got, want = [list(evaluate(final, {"a": a, "b": b, "T": STEPS, **{
                p.name: x for p, x in zip([p for p in derived.params if p.seed], given, strict=True)}}).values())
                for derived, final in both]
            assert all(map(same, got, want)), (make.__name__, a, b, given, got, want)
