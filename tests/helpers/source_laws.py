"""The laws of a text with tensors: each raises AssertionError where the program breaks one."""
from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from adcli.lang.evaluate import evaluate
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoints, tangents
from adcli.lang.printing.printer import print_program
from adcli.lang.simplify.simplify import simplify
from native_tensors import everywhere
from same_programs import equal
from tensor_laws import NUMPY, close, direction, inner, plain_differences, seeds
from well_formed import check


def check_source(source: str, at: Mapping[str, Any], reference: Callable[..., Any], r: random.Random) -> None:
    """A program of one output with a derivative, whose value `reference` gives for the inputs by name: its value, tangent,
    adjoint and the tangent of that, by the evaluation and as native code; and each text reads back equal."""
    program = check(parse(source))
    free = {p.name: np.shape(at[p.name]) for p in program.params if not p.var.integer}
    got = evaluate(program, at, NUMPY)
    name = next(x.name for x in program.results if not x.atom.whole)
    z = got[name]
    close(z, reference(**at), 1e-13, name)
    v, w = {n: direction(r, s) for n, s in free.items()}, direction(r, np.shape(z))
    ahead, back = check(simplify(tangents(program))), check(simplify(adjoints(program)))
    dz = evaluate(ahead, {**at, **{f"d{n}": x for n, x in v.items()}}, NUMPY)[f"d{name}"]
    up, down = ({**at, **{n: at[n] + step * v[n] for n in free}} for step in (1e-6, -1e-6))
    close(dz, (reference(**up) - reference(**down)) / 2e-6, 1e-7, "the tangent")
    inputs = {**at, f"d_d{name}": w}
    gradients = evaluate(back, inputs, NUMPY)
    one, other = inner({name: w}, {name: dz}), inner(v, {n: gradients[f"d_d{n}"] for n in v})
    assert abs(one - other) <= 1e-11 * (1 + abs(one)), f"<w, Jv> = {one}, <J'w, v> = {other}"
    for p in (program, ahead, back):
        text = print_program(p)
        assert equal(parse(text), p) and print_program(parse(text)) == text, text
    everywhere(back, inputs, gradients)
    second = check(simplify(tangents(back)))
    along = {n: direction(r, np.shape(x)) for n, x in inputs.items() if n in free or n == f"d_d{name}"}
    moved = evaluate(second, {**inputs, **dict(zip(seeds(second, back), along.values(), strict=True))}, NUMPY)
    differences = plain_differences(back, inputs, along)
    for result in second.results[len(back.results):]:
        of = next(n for n in differences if f"d{n}" == result.name or f"d{n}_1" == result.name)
        close(moved[result.name], differences[of], 1e-6, f"the second derivative {result.name}")
