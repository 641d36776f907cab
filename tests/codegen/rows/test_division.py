"""Division by multiplication has the bits of division, at whatever numbers."""
from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from adcli.codegen.machine import veclib
from adcli.codegen.machine.arrays import run_arrays
from adcli.codegen.rows import division, llvm
from adcli.codegen.rows.compiled import compile_program
from adcli.codegen.rows.division import multiplied_out
from adcli.codegen.rows.expand import for_machine
from adcli.lang.lower.frontend import parse
from session_seed import drawn

lookup = pytest.mark.skipif(not veclib.host().wide, reason="this processor has no table of reciprocals of doubles")
CONSTANTS = (3.0, -0.7, 1e-5, 6.02214076e23, 1.4142135623730951, 2 - 2.0 ** -52, 1 + 2.0 ** -52)
QUOTIENTS = {"q": "x/y", "r": "1/y", **{f"k{i}": f"{c!r}/y" for i, c in enumerate(CONSTANTS)},
             **{f"c{i}": f"x/{c!r}" for i, c in enumerate(CONSTANTS)}}


def quotients(x: np.ndarray, y: np.ndarray) -> None:
    """Every quotient of these, compared with the processor's."""
    lines = [f"{name} = {text}" for name, text in QUOTIENTS.items()]
    program = for_machine(parse("\n".join([*lines, f"output {', '.join(QUOTIENTS)}"])))
    assert len(multiplied_out(program.equations)) == len(QUOTIENTS)
    columns = dict(zip(("x", "y"), (x, y), strict=True))
    got = run_arrays(compile_program(program, 8), [np.ascontiguousarray(columns[p.name]) for p in program.params])
    with np.errstate(all="ignore"):
        for (name, text), column in zip(QUOTIENTS.items(), got, strict=True):
            over, under = (columns.get(part) if part in columns else float(part) for part in text.split("/"))
            wanted = np.divide(over, under)
            alike = (column.view(np.int64) == wanted.view(np.int64)) | (np.isnan(column) & np.isnan(wanted))
            assert alike.all(), (name, x[~alike][:3], y[~alike][:3], column[~alike][:3], wanted[~alike][:3])


def near_the_middle(choices: random.Random, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Mantissas whose quotients are as near as can be to the middle of two doubles: X·2⁵⁴ or X·2⁵³ is ±1, ±2, … modulo Y."""
    found = []
    for _ in range(count):
        y = choices.randrange(1 << 52, 1 << 53) | 1
        for rest, power in itertools.product((1, -1, 3, -3, 5), (53, 54)):
            x = rest * pow(1 << power, -1, y) % y
            found += [(x << shift, y) for shift in range(2) if 1 << 52 <= x << shift < 1 << 53]
    over, under = zip(*found, strict=True)
    return np.array(over, float), np.array(under, float)


@pytest.fixture
def slow_divider(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every division is better multiplied out."""
    monkeypatch.setattr(division, "DIVISION", 10_000)
    monkeypatch.setattr(division, "MOST_CHOSEN", 100)


@lookup
@pytest.mark.usefixtures("slow_divider")
def test_quotients_near_the_middle_of_two_doubles() -> None:
    choices = drawn("near the middle")
    x, y = near_the_middle(choices, 3_000)
    signs = np.array([choices.choice((1.0, -1.0)) for _ in x])
    quotients(x * signs, y)
    quotients(x * 2.0 ** -53, y * signs * 2.0 ** 40)


@lookup
@pytest.mark.usefixtures("slow_divider")
def test_quotients_of_mantissas_at_the_ends_and_at_random() -> None:
    ends = [1 + k * 2.0 ** -52 for k in range(40)] + [2 - k * 2.0 ** -52 for k in range(1, 41)]
    x, y = (np.array(side) for side in zip(*itertools.product(ends, ends), strict=True))
    quotients(x, y)
    quotients(-x * 2.0 ** 300, y * 2.0 ** -99)
    rng = np.random.default_rng(drawn("mantissas").randrange(1 << 32))
    sides = [rng.uniform(1, 2, 40_000) * 2.0 ** rng.integers(-395, 395, 40_000) * rng.choice([-1, 1], 40_000) for _ in range(2)]
    quotients(*sides)


@lookup
@pytest.mark.usefixtures("slow_divider")
@pytest.mark.parametrize("alone", [True, False])
def test_blocks_with_numbers_that_are_too_large_or_too_small_or_none(alone: bool) -> None:
    """Each in a block of its own kind, and each in a block of others."""
    values = [0.0, 5e-324, 2.0 ** -1022, 2.0 ** -401, 2.0 ** -400, 2.0 ** 400, math.nextafter(2.0 ** 400, math.inf), 1e308,
              math.inf, math.nan, 1.5]
    pairs = list(itertools.product([*values, *(-v for v in values)], repeat=2))
    if alone:
        pairs = [pair for pair in pairs for _ in range(8)]
    else:
        choices = drawn("blocks")
        pairs = [p for pair in pairs for p in (*[(choices.uniform(1, 2), choices.uniform(-3, -2))] * choices.randrange(8), pair)]
    quotients(*(np.array(side) for side in zip(*pairs, strict=True)))


def nearest(x: Fraction, digits: int) -> Fraction:
    """The number of so many binary digits that is next to x, the even one of two."""
    if not x:
        return x
    unit = Fraction(2) ** (math.frexp(x)[1] - digits)
    return round(x / unit) * unit


@pytest.mark.parametrize("digits", [3, 4, 5, 6])
def test_all_mantissas_of_few_digits(digits: int) -> None:
    """Some of these have a rest that is not exact, which must not matter."""
    inexact = 0
    for y in map(Fraction, range(1 << digits - 1, 1 << digits)):
        r = nearest(1 / y, digits)
        for x in map(Fraction, range(1 << digits - 1, 1 << digits)):
            q = nearest(x * r, digits)
            rest = nearest(x - y * q, digits)
            inexact += rest != x - y * q
            assert nearest(q + rest * r, digits) == nearest(x / y, digits), (x, y)
    assert digits == 3 or inexact


def test_what_is_multiplied_out_is_counted() -> None:
    """Where the divider is what takes longest; a division by a power of two is a product anyway."""
    def chosen(text: str) -> int:
        return len(multiplied_out(for_machine(parse(text)).equations))
    assert chosen("v = x/y") == 1
    assert chosen("v = x/y + z/y") == 2
    assert chosen("v = x/8") == 0
    assert chosen("v = x/1e-200") == 0
    assert chosen("v = 1e200/x") == 0
    assert 0 < chosen("v = " + " + ".join(f"x/(y + {k})" for k in range(50))) <= division.MOST_CHOSEN
    assert chosen("v = x/y + sin(x) + cos(x) + tan(x)") == 0
    assert chosen("v = " + " + ".join(f"x*x/(y + {k})/3" for k in range(20))) > 0


def test_machines_without_the_table_divide() -> None:
    program = for_machine(parse("v = x/y"))
    for lanes, library, fast in ((8, veclib.NO_LIBRARY, False), (4, veclib.host(), False), (8, veclib.host(), True)):
        text = llvm.emit(program, lanes, library, fast=fast).text
        assert "rcp14" not in text and text.count("fdiv") == 1
