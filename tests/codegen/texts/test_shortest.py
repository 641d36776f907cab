"""Texts of doubles against Python's `repr`, which is another algorithm."""
from __future__ import annotations

import math
import struct
from fractions import Fraction
from random import Random

import numpy as np
from adcli.codegen.machine.kernel import Kernel
from adcli.codegen.rows.compiled import linked
from adcli.codegen.rows.jit import object_code
from adcli.codegen.texts import writing
from adcli.codegen.texts.shortest import BITS, HIGHEST, LOWEST, exponent, power
from adcli.codegen.texts.writing import NumberSpelling, filled, writer
from row_tables import each_row
from session_seed import drawn


def neighbours(x: float) -> list[float]:
    return [math.nextafter(x, 0), x, math.nextafter(x, math.inf)]


def edges() -> list[float]:
    """Where notations, lengths and distances to the neighbours change; whole numbers and the smallest."""
    found = [0.0, -0.0, math.inf, -math.inf, math.nan, -math.nan, *(math.ldexp(n, -1074) for n in range(1, 400))]
    for k in range(-1074, 1024, 2):
        found += neighbours(math.ldexp(1.0, k))
    for k in range(-323, 309):
        found += [*neighbours(float(f"1e{k}")), float(f"5e{k - 1}"), -float(f"9.5e{k - 1}")]
    return [*found, *(float(10**k - 1) for k in range(1, 18)), *(10.0**k + 0.5 for k in range(16))]


def wild(random: Random, count: int) -> list[float]:
    """Doubles of any bits, and such as people have: few digits, and results."""
    any_bits = struct.unpack(f"<{count}d", random.randbytes(8 * count))
    return [*any_bits, *(round(random.uniform(-1e4, 1e4), random.randrange(6)) for _ in range(count)),
            *(random.gauss(0, 1) for _ in range(count))]


def texts(kernel: Kernel, values: list[float]) -> list[str]:
    return filled(kernel, len(values), [np.array(values), b"\n"], NumberSpelling()).decode().split("\n")[:-1]


def test_numbers_are_written_as_python_writes_them() -> None:
    values = [*edges(), *wild(drawn("texts of doubles"), 30_000)]
    assert texts(writer(), values) == list(map(repr, values))


@each_row("wrong", [
    ("sub i64 %vbr, %outside", "sub i64 %vbr, 0"), ("%closer, i64 1, i64 2", "%closer, i64 2, i64 2"),
    ("add i64 %q.log, 1", "add i64 %q.log, 2"), ("icmp ugt i64 %cut, 1 ", "icmp ugt i64 %cut, -2 "),
    ("i1 %over, %to.even", "i1 %over, %half"), ("icmp ule i64 %w10, %upper", "icmp ule i64 %w10, 0"),
    ("icmp ult i64 %exponent, 16", "icmp ult i64 %exponent, 15"), ("icmp ult i64 %above, 4", "icmp ult i64 %above, 3"),
    ("icmp ne i64 %e.hundreds, 0", "icmp ne i64 %e.hundreds, 1"), ("mul i64 %twos, 103", "mul i64 %twos, 102")],
    ids=lambda w: w[1])
def test_a_wrong_digit_is_noticed(wrong: tuple[str, str]) -> None:
    text = writing.text()
    assert wrong[0] in text
    broken = linked(object_code(text.replace(*wrong), level=0), writer().entry)
    values = [*edges(), *wild(drawn("wrong digits", *wrong), 3000)]
    assert texts(broken, values) != list(map(repr, values))


def test_powers_are_rounded_up_to_their_bits() -> None:
    for k in range(LOWEST, HIGHEST + 1):
        true = Fraction(10)**k / Fraction(2)**(exponent(k) - BITS + 1)
        assert 0 <= power(k) - true < 1 and 1 << BITS - 1 <= power(k) < 1 << BITS


def test_the_exponent_is_that_of_the_power_of_two_below() -> None:
    assert all(Fraction(2)**exponent(k) <= Fraction(10)**k < Fraction(2)**(exponent(k) + 1) for k in range(-1233, 1234, 3))
