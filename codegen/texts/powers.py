"""Powers of ten to 128 bits, as native code reads and writes decimals by them."""
from __future__ import annotations

LOWEST, HIGHEST = -342, 324
"""The exponents of ten that doubles meet: read from 19 digits on, and as inverses of those they are written with."""
BITS = 128


def power(k: int) -> int:
    """10^k times the power of two that makes it BITS bits long, rounded up."""
    above, below = (10**k, 1) if k >= 0 else (1, 10**-k)
    shift = BITS - 1 - exponent(k)
    return -(-(above << max(0, shift)) // (below << max(0, -shift)))


def exponent(k: int) -> int:
    """⌊log2 10^k⌋ for |k| ≤ 1233, as native code has it too (`EXPONENT`)."""
    return k * 1741647 >> 19


def exponent_lines(name: str, k: str) -> str:
    """The same for a value of native code."""
    return f"""\
  {name}.long = mul i64 {k}, 1741647
  {name} = ashr i64 {name}.long, 19"""


def table() -> str:
    """All powers as a constant of a module, from LOWEST on."""
    found = ", ".join(f"i{BITS} {power(k)}" for k in range(LOWEST, HIGHEST + 1))
    return f"@powers = private unnamed_addr constant [{HIGHEST - LOWEST + 1} x i{BITS}] [{found}]\n"


def power_lines(name: str, k: str) -> str:
    """The power of an exponent within the table: `name`.high and `name`.low, 64 bits each, as wide integers."""
    return f"""\
  {name}.place = sub i64 {k}, {LOWEST}
  {name}.at = getelementptr i{BITS}, ptr @powers, i64 {name}.place
  {name} = load i{BITS}, ptr {name}.at
  {name}.high = lshr i{BITS} {name}, 64
  {name}.low = and i{BITS} {name}, {(1 << 64) - 1}"""
