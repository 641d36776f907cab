"""Divisions in loops by what these do not change have the bits of division, at whatever numbers."""
from __future__ import annotations

import itertools

import numpy as np
import pytest
from adcli.codegen.loops import bodies
from adcli.codegen.machine import veclib
from adcli.codegen.modules.module import emit
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.lower.frontend import parse
from session_seed import drawn

wide = pytest.mark.skipif(not veclib.host().wide, reason="this processor has no AVX-512, and divides")
BY_ROWS = "input x(M, N), y(M)\nq(i, j) = x(i, j) / y(i)\noutput q"
CONSTANTS = (3.0, -0.7, 1e-5, 10.0, 1.9999999999999998, 0.1)


def bits(x: np.ndarray) -> np.ndarray:
    return x.view(np.int64)


def assert_quotients(got: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """These are the processor's quotients."""
    with np.errstate(all="ignore"):
        wanted = np.divide(x, y)
    alike = (bits(got) == bits(wanted)) | (np.isnan(got) & np.isnan(wanted))
    assert alike.all(), (x[~alike][:3], np.broadcast_to(y, x.shape)[~alike][:3], got[~alike][:3], wanted[~alike][:3])


def divided(x: np.ndarray, y: np.ndarray) -> None:
    """Each row of x by its y, compared with the processor's quotients."""
    kernel = compile_tensors(parse(BY_ROWS))
    x, y = (np.ascontiguousarray(a, float) for a in (x, y))
    assert_quotients(kernel({"x": x, "y": y})["q"], x, y[:, None])


def numbers_at_edges() -> list[float]:
    """Zeros, the ends of all ranges and the numbers beside them, and none."""
    info, most, exponents = np.finfo(float), bodies.LARGEST_DIVISOR, (2.0 ** -511, 2.0 ** 513)
    ends = [info.tiny, info.smallest_subnormal, info.max, most, 1 / most, 1, 2, *exponents,
            *(x * y for x in exponents for y in (most, 1 / most))]
    with np.errstate(over="ignore"):
        found = {float(f(x, w)) for x in ends for w in (0, np.inf) for f in (np.nextafter, lambda a, b: a)}
    sided = [s * x for x in sorted(found) for s in (1, -1)]
    return [*sided, 0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -3.0]


def test_numbers_at_edges_alone_and_among_others() -> None:
    edges = np.array(numbers_at_edges())
    alone = np.repeat(edges, 16)
    rng = np.random.default_rng(drawn("edges").randrange(1 << 32))
    among = rng.uniform(1, 2, alone.size)
    among[::16] = edges
    zeros = np.where(rng.random(alone.size) < 0.5, 0.0, among) * rng.choice([-1, 1], alone.size)
    row = np.concatenate([alone, among, zeros, edges[:13]])
    divided(np.broadcast_to(row, (edges.size, row.size)), edges)


def test_millions_of_patterns_of_bits() -> None:
    rng = np.random.default_rng(drawn("patterns").randrange(1 << 32))
    rows, columns, size = 1000, 2003, 8
    whole = rng.integers(0, 256, (rows, size * columns), np.uint8).view(float)
    divided(whole, rng.integers(0, 256, size * rows, np.uint8).view(float))
    near = rng.uniform(1, 2, rows) * 2.0 ** rng.integers(-18, 18, rows)
    divided(whole, near)
    divided(rng.uniform(1, 2, (rows, columns)) * rng.choice([-1, 1], (rows, columns)), near)


def test_quotients_near_the_middle_of_two_numbers() -> None:
    """Mantissas whose quotients are as near as can be: X·2⁵⁴ or X·2⁵³ is ±1, ±2, … modulo Y; and at the ends."""
    choices, over, under = drawn("middles"), [], []
    for _ in range(2_000):
        y = choices.randrange(1 << 52, 1 << 53) | 1
        row = []
        for rest, power in itertools.product((1, -1, 3, -3, 5), (53, 54)):
            x = rest * pow(1 << power, -1, y) % y
            row += [x << shift if 1 << 52 <= x << shift < 1 << 53 else 0 for shift in range(2)]
        over.append(row)
        under.append(y)
    divided(np.array(over, float), np.array(under, float))
    ends = [1 + k * 2.0 ** -52 for k in range(40)] + [2 - k * 2.0 ** -52 for k in range(1, 41)]
    divided(np.broadcast_to(ends, (80, 80)), np.array(ends))


@pytest.mark.parametrize("text", [
    "q(i, j) = x(i, j) / y(i) / (y(i) + y(i))", "q(i, j) = (x(i, j) + y(i)) / sqrt(y(i)) / x(0, j)", "q(j) +=! x(i, j) / y(i)",
    "q(i) +=! x(i, j) / y(i) * z(j)", "q(i) max=! x(i, j) / y(i) where j <= i + 2", "q(i, j) = sin(x(i, j)) / y(i) / 3",
    "q(i, j) = x(i, j) / z(j)", "q(i) +=! x(i, j) / z(j)", "q(i, j) = x(i, 2*j) / y(i) where j in 0:9"])
def test_where_divisors_stand_still(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In loops, tiles and registers of any kind: as the processor divides, which numbers out of range are left to."""
    program = parse(f"input x(M, N), y(M), z(N)\n{text}\noutput q")
    rng = np.random.default_rng(drawn(text).randrange(1 << 32))
    given = {"x": rng.standard_normal((37, 43)), "y": rng.uniform(0.5, 2, 37), "z": rng.standard_normal(43)}
    given["x"][rng.random((37, 43)) < 0.1] = 0
    at = dict(given.items())
    got = compile_tensors(program)(at)["q"]
    monkeypatch.setattr("adcli.codegen.loops.bodies.suits", lambda e, on: False)
    wanted = compile_tensors(program)(at)["q"]
    assert np.array_equal(bits(got), bits(wanted))


def test_constants() -> None:
    x = np.random.default_rng(drawn("constants").randrange(1 << 32)).standard_normal((5, 1003))
    for y in CONSTANTS:
        got = compile_tensors(parse(f"input x(M, N)\nq(i, j) = x(i, j) / {y}\noutput q"))({"x": x})["q"]
        assert_quotients(got, x, np.full((5, 1), y))


@wide
def test_where_it_is_done() -> None:
    """Where the divisor is older than the quotient, on registers of AVX-512."""
    def fused(text: str, lanes: int = 8, library: veclib.Library | None = None) -> int:
        program = parse(f"input x(M, N), y(M), z(M, N)\n{text}\noutput q")
        return emit(program, lanes, library or veclib.host()).text.count("@llvm.fma")
    assert fused("q(i, j) = x(i, j) / y(i)") > 0
    assert fused("q(i, j) = x(i, j) / 3") > 0
    assert fused("q(i, j) = x(i, j) / 4") == 0
    assert fused("q(i, j) = x(i, j) / z(i, j)") == 0
    assert fused("q(i, j) = x(i, j) / 1e300") == 0
    assert fused("q(i, j) = x(i, j) / y(i)", 4) == fused("q(i, j) = x(i, j) / y(i)", 8, veclib.NO_LIBRARY) == 0
