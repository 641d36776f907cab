"""The laws of tensor programs as functions: each raises AssertionError where a sample breaks one.

Values are compared with plain loops, tangents with differences of those loops in multiple precision, adjoints with tangents.
"""
from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import mpmath
import numpy as np
from adcli.lang.evaluate import FLOAT, evaluate, numpy_arithmetic
from adcli.lang.ir import Program
from adcli.lang.passes.pipeline import adjoints, tangents
from adcli.lang.simplify.simplify import simplify
from comprehension_samples import BIG, Sample
from multiple_precision import mpmath_arithmetic

NUMPY, DIGITS = numpy_arithmetic(), 40
STEP = mpmath.mpf(10) ** -14


def run(program: Program, values: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The results with NumPy's arithmetic, which those with Python's floats must equal."""
    got, again = evaluate(program, {**values, **more}, NUMPY), evaluate(program, {**values, **more}, FLOAT)
    for name in got:
        close(got[name], again[name], 1e-14, name)
    return got


def check_values(sample: Sample) -> None:
    """The reference evaluation gives what plain loops give, in each arithmetic."""
    program, want = sample.program(), sample.meaning()
    for arithmetic in (NUMPY, FLOAT, mpmath_arithmetic(DIGITS)):
        got = evaluate(program, sample.values, arithmetic)
        for name, value in want.items():
            close(got[name], value, 1e-12, name)


def check_derivatives(sample: Sample, r: random.Random) -> None:
    """Tangents along a direction are differences; ⟨w, J v⟩ = ⟨Jᵀ w, v⟩."""
    program = sample.program()
    v = {n: direction(r, np.shape(sample.values[n])) for n in sample.reals}
    w = {n: direction(r, sample.extents(n)) for n in sample.results}
    got = evaluate(simplify(tangents(program)), {**sample.values, **{f"d{n}": x for n, x in v.items()}}, NUMPY)
    for name, value in differences(sample, v).items():
        close(got[f"d{name}"], value, 1e-9, f"the tangent of {name}")
    back = evaluate(simplify(adjoints(program)), {**sample.values, **{f"d_d{n}": x for n, x in w.items()}}, NUMPY)
    one, other = inner(w, {n: got[f"d{n}"] for n in w}), inner(v, {n: back[f"d_d{n}"] for n in v})
    assert abs(one - other) <= 1e-10 * (1 + abs(one)), f"<w, Jv> = {one}, <J'w, v> = {other}"


def check_second_order(sample: Sample, r: random.Random) -> None:
    """The adjoint program differentiated both ways: its tangents are its differences, its adjoints agree with its tangents."""
    first = simplify(adjoints(sample.program()))
    at = {p.name: sample.values.get(p.name, None) for p in first.params}
    at.update({f"d_d{n}": direction(r, sample.extents(n)) for n in sample.results})
    free = [p.name for p in first.params if not p.var.integer]
    v = {n: direction(r, np.shape(at[n])) for n in free}
    ahead = simplify(tangents(first))
    moved = evaluate(ahead, {**at, **dict(zip(seeds(ahead, first), v.values(), strict=True))}, NUMPY)
    names = [x.name for x in ahead.results[len(first.results):]]
    dz = dict(zip([x.name for x in first.results], [moved[n] for n in names], strict=True))
    for name, value in plain_differences(first, at, v).items():
        close(dz[name], value, 1e-4, f"the second derivative {name}")
    w = {x.name: direction(r, np.shape(dz[x.name])) for x in first.results}
    behind = simplify(adjoints(first))
    back = evaluate(behind, {**at, **dict(zip(seeds(behind, first), w.values(), strict=True))}, NUMPY)
    found = dict(zip(free, [back[x.name] for x in behind.results[len(first.results):]], strict=True))
    one, other = inner(w, dz), inner(v, found)
    assert abs(one - other) <= 1e-9 * (1 + abs(one)), f"<w, Jv> = {one}, <J'w, v> = {other}"


def seeds(derivative: Program, program: Program) -> list[str]:
    """The inputs that a derivative program has gained."""
    return [p.name for p in derivative.params[len(program.params):]]


def differences(sample: Sample, v: Mapping[str, Any]) -> dict[str, Any]:
    """Central differences of the plain loops along a direction, in multiple precision."""
    with mpmath.workdps(DIGITS):
        def moved(sign: int) -> dict[str, Any]:
            near = {n: big(x) + sign * STEP * big(v[n]) if n in v else x for n, x in sample.values.items()}
            return sample.meaning(near, BIG)
        up, down = moved(1), moved(-1)
        return {n: (up[n] - down[n]) / (2 * STEP) for n in up}


def plain_differences(program: Program, at: Mapping[str, Any], v: Mapping[str, Any], step: float = 1e-6) -> dict[str, Any]:
    def moved(sign: int) -> dict[str, Any]:
        return evaluate(program, {n: np.asarray(x) + sign * step * v[n] if n in v else x for n, x in at.items()}, NUMPY)
    up, down = moved(1), moved(-1)
    return {n: (np.asarray(up[n]) - np.asarray(down[n])) / (2 * step) for n in up}


def direction(r: random.Random, shape: tuple[int, ...]) -> Any:
    drawn = np.array([round(r.uniform(-1, 1), 5) for _ in range(int(np.prod(shape)))]).reshape(shape)
    return drawn if shape else float(drawn)


def big(x: Any) -> Any:
    if not np.shape(x):
        return mpmath.mpf(float(x))
    array = np.empty(np.shape(x), object)
    for at in np.ndindex(array.shape):
        array[at] = mpmath.mpf(float(np.asarray(x)[at]))
    return array


def inner(x: Mapping[str, Any], y: Mapping[str, Any]) -> float:
    return sum(float((np.asarray(x[n], float) * np.asarray(y[n], float)).sum()) for n in x)


def close(got: Any, want: Any, tolerance: float, what: str) -> None:
    x, y = np.asarray(got, float), np.asarray(want, float)
    assert x.shape == y.shape, f"{what} has shape {x.shape}, not {y.shape}"
    assert np.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True), f"{what}: {x} is not {y}"
