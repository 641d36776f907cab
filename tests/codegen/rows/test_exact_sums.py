"""Exact sums against fractions: any doubles, any order, products of up to three; with and without native code."""
from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random

import pytest
from adcli.codegen.machine.kernel import Kernel, pointers
from adcli.codegen.rows import exact_sums
from adcli.codegen.rows.compiled import linked
from adcli.codegen.rows.exact_sums import BIAS, MOST_FACTORS, UNIT, InterpretedSums, adder, limbs, record
from adcli.codegen.rows.jit import object_code
from session_seed import drawn

EDGES = (0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 2.225073858507201e-308, 1.7976931348623157e308,
         -1.7976931348623157e308, 1.0, -1.0, math.nextafter(2.0, 0.0), 2.0**-31, 2.0**-32, 2.0**-33,
         math.inf, -math.inf, math.nan)
FACTORS = range(1, MOST_FACTORS + 1)
Added = list[tuple[Fraction, tuple[int, int, int]]]


def wild(random: Random) -> float:
    """A double of any exponent, or an edge."""
    if random.random() < 0.2:
        return random.choice(EDGES)
    return math.ldexp(random.choice((-1, 1)) * random.getrandbits(53), random.randint(-1074, 971))


def records(factors: int, count: int) -> array[int]:
    return array("q", [BIAS]) * (record(factors) * count)


def taken(found: array[int], factors: int) -> Iterator[tuple[int, tuple[int, int, int]]]:
    """For each record the sum of its finite terms, in units of 2^(UNIT·factors), and how many were NaN, +inf and -inf."""
    for start in range(0, len(found), record(factors)):
        words = [word - BIAS for word in found[start:start + record(factors)]]
        nan, up, down = words[limbs(factors):limbs(factors) + 3]
        yield sum(word << 32 * i for i, word in enumerate(words[:limbs(factors)])), (nan, up, down)


def added(add: Kernel, columns: list[list[float]], numbers: list[int], count: int) -> Added:
    """The sum of each record, as a fraction, with its counts."""
    factors = len(columns)
    given = [array("d", c) for c in columns]
    which, held = array("i", numbers), records(factors, count)
    add(pointers([a.buffer_info()[0] for a in (*given, which)]), pointers([held.buffer_info()[0]]), 0, len(numbers))
    return [(Fraction(whole) * Fraction(2) ** (UNIT * factors), counts) for whole, counts in taken(held, factors)]


def expected(columns: list[list[float]], numbers: list[int], count: int) -> Added:
    """The same by fractions and IEEE 754's own products of what is not finite."""
    sums, counts = [Fraction(0)] * count, [[0, 0, 0] for _ in range(count)]
    for *terms, k in zip(*columns, numbers, strict=True):
        if all(map(math.isfinite, terms)):
            sums[k] += math.prod(map(Fraction, terms))
        else:
            product = math.prod(math.copysign(1.0, x) if math.isfinite(x) and x else x for x in terms)
            counts[k][0 if product != product else 1 if product > 0 else 2] += 1
    return [(s, (a, b, c)) for s, (a, b, c) in zip(sums, counts, strict=True)]


def table(factors: int, rows: int, random: Random) -> list[list[float]]:
    """Columns, the last one with values that cancel each other."""
    columns = [[wild(random) for _ in range(rows)] for _ in range(factors)]
    for i in range(0, rows - 1, 3):
        for c in columns[:-1]:
            c[i + 1] = c[i]
        columns[-1][i + 1] = -columns[-1][i]
    return columns


@pytest.mark.parametrize("make", [lambda factors: adder(factors), lambda factors: InterpretedSums(adder(factors).entry)],
                         ids=["native", "interpreted"])
@pytest.mark.parametrize("factors", FACTORS)
def test_sums_are_those_of_fractions(factors: int, make: Callable[[int], Kernel]) -> None:
    random = drawn("exact sums", factors)
    columns, numbers = table(factors, 400, random), [random.randrange(5) for _ in range(400)]
    assert added(make(factors), columns, numbers, 5) == expected(columns, numbers, 5)
    edges = [list(c) for c in zip(*((a, b, c) for a in EDGES for b in EDGES for c in EDGES), strict=True)][:factors]
    assert added(make(factors), edges, [0] * len(edges[0]), 1) == expected(edges, [0] * len(edges[0]), 1)


def test_a_record_takes_as_many_terms_as_it_says() -> None:
    """The largest piece of a term, MOST_TERMS times, stays within what a limb has room for, above and below."""
    largest = 2 * exact_sums.LIMB
    assert exact_sums.BIAS + largest * exact_sums.MOST_TERMS < 1 << 63
    assert exact_sums.BIAS - largest * exact_sums.MOST_TERMS > 0


@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("wrong", [
    ("%moved0, 32", "%moved0, 33"),                        # what passes to the next limb
    (f"%moved0, {exact_sums.LIMB}", f"%moved0, {exact_sums.LIMB >> 1}"),   # what stays
    ("%place.all, 5", "%place.all, 6"),
    ("sub i64 %exponent0, %one0", "sub i64 %exponent0, 0"),   # subnormal numbers
    ("ashr i64 %bits.all, 63", "lshr i64 %bits.all, 63"),
    ("or i1 %nan.all, %zero.all", "or i1 %nan.all, false"),   # 0·inf
], ids=lambda w: w[0])
def test_a_wrong_carry_is_noticed(factors: int, wrong: tuple[str, str]) -> None:
    if "zero" in wrong[0] and factors == 1:
        pytest.skip("a factor of its own is never 0 and infinite")
    text = exact_sums.text(factors)
    assert wrong[0] in text
    broken = linked(object_code(text.replace(*wrong)), adder(factors).entry)
    random = drawn("broken sums", factors)
    columns = table(factors, 400, random)
    for c, x in zip(columns, (0.0, math.inf, 1.0), strict=False):
        c[0] = x
    places = [0] * 400
    if wrong[0].startswith("%place"):   # would write elsewhere: only what is small
        columns = [[math.ldexp(math.frexp(x)[0], -900) if math.isfinite(x) else 1e-300 for x in c] for c in columns]
    assert added(broken, columns, places, 1) != expected(columns, places, 1)
