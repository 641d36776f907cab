"""Divisions in loops by what these do not change have the bits of division, at whatever numbers."""
from __future__ import annotations

import itertools

import numpy as np
import pytest
from adcli.codegen.machine import veclib
from adcli.codegen.nests import quotients
from adcli.codegen.nests.module import emit
from adcli.codegen.nests.runtime import compile_tensors
from adcli.lang.ir.precision import DOUBLE, PRECISIONS, SINGLE, Precision
from adcli.lang.lower.frontend import parse
from session_seed import drawn

wide = pytest.mark.skipif(not veclib.host().wide, reason="this processor has no AVX-512, and divides")
both = pytest.mark.parametrize("precision", [DOUBLE, SINGLE], ids=lambda p: p.name)
BY_ROWS = "input x(M, N), y(M)\nq(i, j) = x(i, j) / y(i)\noutput q"
CONSTANTS = (3.0, -0.7, 1e-5, 10.0, 1.9999999999999998, 0.1)


def bits(x: np.ndarray) -> np.ndarray:
    return x.view(np.int64 if x.dtype == np.float64 else np.int32)


def assert_quotients(got: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """These are the processor's quotients."""
    with np.errstate(all="ignore"):
        wanted = np.divide(x, y)
    alike = (bits(got) == bits(wanted)) | (np.isnan(got) & np.isnan(wanted))
    assert alike.all(), (x[~alike][:3], np.broadcast_to(y, x.shape)[~alike][:3], got[~alike][:3], wanted[~alike][:3])


def divided(x: np.ndarray, y: np.ndarray, precision: Precision) -> None:
    """Each row of x by its y, compared with the processor's quotients."""
    kernel = compile_tensors(parse(BY_ROWS), precision=precision)
    x, y = (np.ascontiguousarray(a, precision.code) for a in (x, y))
    assert_quotients(kernel({"x": x, "y": y})["q"], x, y[:, None])


def numbers_at_edges(precision: Precision) -> list[float]:
    """Zeros, the ends of all ranges and the numbers beside them, and none."""
    real = np.dtype(precision.code).type
    info, most = np.finfo(real), quotients.DIVISORS[precision]
    ends = [info.tiny, info.smallest_subnormal, info.max, most, 1 / most, 1, 2, *quotients.QUOTIENTS[precision],
            *(x * y for x in quotients.QUOTIENTS[precision] for y in (most, 1 / most))]
    with np.errstate(over="ignore"):
        found = {float(f(real(x), real(w))) for x in ends for w in (0, np.inf) for f in (np.nextafter, lambda a, b: a)}
    sided = [s * x for x in sorted(found) for s in (1, -1)]
    return [*sided, 0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -3.0]


@both
def test_numbers_at_edges_alone_and_among_others(precision: Precision) -> None:
    edges = np.array(numbers_at_edges(precision), precision.code)
    alone = np.repeat(edges, 16)
    rng = np.random.default_rng(drawn("edges").randrange(1 << 32))
    among = rng.uniform(1, 2, alone.size).astype(precision.code)
    among[::16] = edges
    zeros = np.where(rng.random(alone.size) < 0.5, 0.0, among) * rng.choice([-1, 1], alone.size)
    row = np.concatenate([alone, among, zeros, edges[:13]])
    divided(np.broadcast_to(row, (edges.size, row.size)), edges, precision)


@both
def test_millions_of_patterns_of_bits(precision: Precision) -> None:
    rng = np.random.default_rng(drawn("patterns").randrange(1 << 32))
    rows, columns, size = 1000, 2003, precision.bytes
    whole = rng.integers(0, 256, (rows, size * columns), np.uint8).view(precision.code)
    divided(whole, rng.integers(0, 256, size * rows, np.uint8).view(precision.code), precision)
    near = rng.uniform(1, 2, rows) * 2.0 ** rng.integers(-18, 18, rows)
    divided(whole, near, precision)
    divided(rng.uniform(1, 2, (rows, columns)) * rng.choice([-1, 1], (rows, columns)), near, precision)


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
    divided(np.array(over, float), np.array(under, float), DOUBLE)
    ends = [1 + k * 2.0 ** -52 for k in range(40)] + [2 - k * 2.0 ** -52 for k in range(1, 41)]
    divided(np.broadcast_to(ends, (80, 80)), np.array(ends), DOUBLE)


def test_all_quotients_of_single_mantissas_by_some() -> None:
    """All 2²³ mantissas by a few, the ends among them."""
    choices = drawn("mantissas")
    x = (np.arange(1 << 23, dtype=np.int32) + (127 << 23)).view(np.float32)
    for y in (1 + 2.0 ** -23, 2 - 2.0 ** -23, 2 - 2.0 ** -22, *(choices.uniform(1, 2) for _ in range(3))):
        divided(x[None, :], np.array([y]), SINGLE)


@both
@pytest.mark.parametrize("text", [
    "q(i, j) = x(i, j) / y(i) / (y(i) + y(i))", "q(i, j) = (x(i, j) + y(i)) / sqrt(y(i)) / x(0, j)", "q(j) +=! x(i, j) / y(i)",
    "q(i) +=! x(i, j) / y(i) * z(j)", "q(i) max=! x(i, j) / y(i) where j <= i + 2", "q(i, j) = sin(x(i, j)) / y(i) / 3",
    "q(i, j) = x(i, j) / z(j)", "q(i) +=! x(i, j) / z(j)", "q(i, j) = x(i, 2*j) / y(i) where j in 0:9"])
def test_where_divisors_stand_still(text: str, precision: Precision, monkeypatch: pytest.MonkeyPatch) -> None:
    """In loops, tiles and registers of any kind: as the processor divides, which numbers out of range are left to."""
    program = parse(f"input x(M, N), y(M), z(N)\n{text}\noutput q")
    rng = np.random.default_rng(drawn(text).randrange(1 << 32))
    given = {"x": rng.standard_normal((37, 43)), "y": rng.uniform(0.5, 2, 37), "z": rng.standard_normal(43)}
    given["x"][rng.random((37, 43)) < 0.1] = 0
    at = {name: a.astype(precision.code) for name, a in given.items()}
    got = compile_tensors(program, precision=precision)(at)["q"]
    monkeypatch.setattr("adcli.codegen.nests.bodies.suits", lambda e, on: False)
    wanted = compile_tensors(program, precision=precision)(at)["q"]
    assert np.array_equal(bits(got), bits(wanted))


@both
def test_constants(precision: Precision) -> None:
    x = np.random.default_rng(drawn("constants").randrange(1 << 32)).standard_normal((5, 1003)).astype(precision.code)
    for y in CONSTANTS:
        got = compile_tensors(parse(f"input x(M, N)\nq(i, j) = x(i, j) / {y}\noutput q"), precision=precision)({"x": x})["q"]
        assert_quotients(got, x, np.full((5, 1), y, precision.code))


@both
def test_a_value_divided_again_and_again(precision: Precision) -> None:
    """At the edges of all ranges, which the first quotient or a later one leaves, by divisors of which one or none suits."""
    edges = np.array(numbers_at_edges(precision), precision.code)
    rng, most = np.random.default_rng(drawn("again").randrange(1 << 32)), np.finfo(precision.code).maxexp
    away = int(np.log2(quotients.DIVISORS[precision])) - 1
    scaled = rng.uniform(1, 2, (2 * most, 8)) * 2.0 ** np.arange(-most, most)[:, None]
    mixed = np.where(rng.random((20, 8)) < 0.2, rng.choice(edges, (20, 1)), rng.standard_normal((20, 8)))
    x = np.concatenate([edges, scaled.ravel(), mixed.ravel()]).astype(precision.code)
    x = np.broadcast_to(x, (200, x.size)).copy()
    near = rng.uniform(0.5, 2, 200) * 2.0 ** rng.choice([-away, -1, 0, 1, away], 200)
    y, z = (np.where(rng.random(200) < part, rng.choice(edges, 200), near).astype(precision.code) for part in (0.4, 0.2))
    text = ("input x(M, N), y(M), z(M)\np(i, j) = x(i, j) / y(i) / z(i)\nq(i, j) = x(i, j) / y(i) / y(i) / (z(i) + 0) / 3\n"
            "r(i, j) = x(i, j) / y(i) - x(i, j) / y(i) / 7 / z(i)\noutput p, q, r")
    got = compile_tensors(parse(text), precision=precision)({"x": x, "y": y, "z": z})
    y, z = y[:, None], z[:, None]
    with np.errstate(all="ignore"):
        assert_quotients(got["p"], np.divide(x, y), z)
        assert_quotients(got["q"], x / y / y / (z + 0), np.array(3, precision.code))
        wanted = x / y - x / y / np.array(7, precision.code) / z
    assert (np.isnan(wanted) | (bits(got["r"]) == bits(wanted)))[~np.isnan(got["r"])].all()
    assert np.array_equal(np.isnan(wanted), np.isnan(got["r"]))


@wide
def test_one_question_for_a_value_divided_again() -> None:
    def questions(text: str) -> int:
        program = parse(f"input x(M, N), y(M), z(M)\nq(i, j) = {text}\noutput q")
        return emit(program, 8, veclib.host()).text.count("fcmp oeq")
    assert questions("x(i, j) / y(i) / z(i) / (y(i) + 0)") == questions("x(i, j) / y(i)") > 0
    two = questions("x(i, j) / y(i) - x(i, j) / z(i)")
    assert questions("x(i, j) / y(i) / z(i) / y(i) / z(i)") == two > questions("x(i, j) / z(i)")


@wide
def test_where_it_is_done() -> None:
    """Where the divisor is older than the quotient, on registers of AVX-512."""
    def fused(text: str, lanes: int = 8, library: veclib.Library | None = None) -> int:
        program = parse(f"input x(M, N), y(M), z(M, N)\n{text}\noutput q")
        return emit(program, lanes, library or veclib.host(), precision=PRECISIONS["double"]).text.count("@llvm.fma")
    assert fused("q(i, j) = x(i, j) / y(i)") > 0
    assert fused("q(i, j) = x(i, j) / 3") > 0
    assert fused("q(i, j) = x(i, j) / 4") == 0
    assert fused("q(i, j) = x(i, j) / z(i, j)") == 0
    assert fused("q(i, j) = x(i, j) / 1e300") == 0
    assert fused("q(i, j) = x(i, j) / y(i)", 4) == fused("q(i, j) = x(i, j) / y(i)", 8, veclib.NO_LIBRARY) == 0
