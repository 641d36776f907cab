"""How C99 writes expressions of sizes and indices.

Sizes and indices are of type `size_t`, whose sums wrap around and are right wherever their true value is not negative. What is
compared has its negative terms on the other side, so that nothing wraps there: `i + 2 < N` and not `i < N - 2`. An index whose
range begins below 0 is a `ptrdiff_t`, and so is every expression with it until it is a subscript.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from adcli.lang.ir.affine import Affine, AffineAtom, Extreme, Floor, Index, Modulo, Product, affine
from adcli.lang.ir.notation import ATOM, PRODUCT, SUM, UNARY, Piece, enclosed

FLOOR = ("static ptrdiff_t NAME(ptrdiff_t x, ptrdiff_t y)", "{",
         "    /* the floor of x / y, for y above 0 */",
         "    return x / y - (x % y < 0);", "}")
"""Division in C rounds to 0."""


class WholeNumbers:
    """Texts of expressions; `sizes` are the names of sizes in C, `floor` that of the function `FLOOR`."""

    def __init__(self, sizes: Mapping[str, str], floor: str) -> None:
        self.sizes, self.floor = dict(sizes), floor
        self.floor_used = False
        self.indices: dict[Index, str] = {}
        self.negative: set[Index | str] = set()
        """The indices, and steps of loops, that may be negative."""

    def bind(self, index: Index | str, name: str, low: Affine) -> str:
        """Give an index, or the step of a loop, a name; its type in C."""
        if isinstance(index, Index):
            self.indices[index] = name
        else:
            self.sizes[index] = name
        if self.natural(low):
            self.negative.discard(index)
            return "size_t"
        self.negative.add(index)
        return "ptrdiff_t"

    # ------------------------------------------------------------ what is never negative

    def natural(self, x: Affine) -> bool:
        """Whether an expression shows that it is never negative."""
        return x.constant >= 0 and all(c > 0 and self.natural_atom(a) for a, c in x.terms)

    def natural_atom(self, a: AffineAtom) -> bool:
        match a:
            case Index() | str():
                return a not in self.negative
            case Floor(whole, _):
                return self.natural(whole)
            case Extreme(parts, largest):
                return (any if largest else all)(map(self.natural, parts))
            case Product(left, right):
                return self.natural(left) and self.natural(right)
            case _:   # a remainder too
                return True

    def plain(self, x: Affine) -> bool:
        """Whether no part of an expression is negative by itself."""
        return all(self.natural_atom(a) for a, _ in x.terms)

    # ------------------------------------------------------------ values

    def size(self, x: Affine) -> Piece:
        """An expression as a `size_t`; right where it is not negative."""
        if (rest := remainder_of(x)) is not None and self.natural(rest[0]):
            return f"{enclosed(self.size(rest[0]), PRODUCT)} % {rest[1]}", SUM
        x = normal(x)
        if not self.plain(x):
            return f"(size_t){enclosed(self.signed(x), UNARY)}", UNARY
        return summed([(self.size_atom(a), c) for a, c in x.terms], x.constant)

    def product(self, shape: Sequence[Affine]) -> str:
        """The number of elements of a shape."""
        constant = prod(x.number for x in shape if x.number is not None)
        texts = [enclosed(self.size(x), UNARY) for x in shape if x.number is None] if constant else []
        return "*".join([*texts, *([str(constant)] if constant != 1 or not texts else [])])

    def size_atom(self, a: AffineAtom) -> Piece:
        match a:
            case Index():
                return self.indices[a], ATOM
            case Floor(whole, divisor):
                return f"{enclosed(self.size(whole), PRODUCT)} / {divisor}", PRODUCT
            case Extreme(parts, largest):
                return self.extreme(parts, largest, [self.size(p)[0] for p in parts])
            case Product(left, right):
                return f"{enclosed(self.size(left), UNARY)}*{enclosed(self.size(right), UNARY)}", PRODUCT
            case Modulo(whole, by) if self.natural(normal(whole)):
                return f"{enclosed(self.size(whole), PRODUCT)} % {enclosed(self.size(by), UNARY)}", PRODUCT
            case Modulo(whole, by):   # % of C has the sign of what it divides
                n = f"(ptrdiff_t){enclosed(self.size(by), UNARY)}"
                return f"(size_t)(({enclosed(self.signed(whole), PRODUCT)} % {n} + {n}) % {n})", UNARY
            case _:
                return self.sizes[a], ATOM

    def signed(self, x: Affine) -> Piece:
        """An expression as a `ptrdiff_t`."""
        x = normal(x)
        return summed([(self.signed_atom(a), c) for a, c in x.terms], x.constant)

    def signed_atom(self, a: AffineAtom) -> Piece:
        match a:
            case Index() | str() if a in self.negative:
                return self.indices[a] if isinstance(a, Index) else self.sizes[a], ATOM
            case Floor(whole, divisor) if not self.natural(whole):
                self.floor_used = True
                return f"{self.floor}({self.signed(whole)[0]}, {divisor})", ATOM
            case Extreme(parts, largest) if not self.natural_atom(a):
                return self.extreme(parts, largest, [self.signed(p)[0] for p in parts])
            case Product(left, right) if not self.natural_atom(a):
                return f"{enclosed(self.signed(left), UNARY)}*{enclosed(self.signed(right), UNARY)}", PRODUCT
            case _:
                return f"(ptrdiff_t){enclosed(self.size_atom(a), UNARY)}", UNARY

    def extreme(self, parts: Sequence[Affine], largest: bool, texts: Sequence[str]) -> Piece:
        """The least or greatest: the first that none of those behind it is better than."""
        chosen = texts[-1]
        for k in reversed(range(len(parts) - 1)):
            better = [self.natural_test(parts[k] - p if largest else p - parts[k]) for p in parts[k + 1:]]
            chosen = f"{' && '.join(filter(None, better)) or '1'} ? {texts[k]} : {chosen}"
        return f"({chosen})", ATOM

    def real(self, x: Affine, kind: str = "double") -> Piece:
        """An expression as a number of a type of C."""
        if not x.terms:
            return f"{x.constant}.0{'f' if kind == 'float' else ''}", UNARY if x.constant < 0 else ATOM
        whole = self.size(x) if self.natural(normal(x)) else self.signed(x)
        return f"({kind}){enclosed(whole, UNARY)}", UNARY

    # ------------------------------------------------------------ tests

    def natural_test(self, x: Affine) -> str | None:
        """Whether x >= 0, None where that shows; in parentheses where it is more than a conjunction."""
        x = normal(x)
        if self.natural(x):
            return None
        for a, c in x.terms:
            if isinstance(a, Extreme) and abs(c) == 1:   # one comparison for each part
                each = [self.natural_test(x - affine(a) * c + p * c) for p in a.parts]
                if a.greatest == (c < 0):
                    return " && ".join(filter(None, each)) or None
                return None if None in each else f"({' || '.join(f'({test})' for test in each)})"
        if not self.plain(x):
            return f"{enclosed(self.signed(x), SUM)} >= 0"
        if x.constant < 0 and any(c < 0 for _, c in x.terms):
            return self.compared(x + 1, "<")
        return self.compared(x, "<=")

    def below(self, index: Index | str, end: Affine) -> str:
        """Whether an index is below the end of its range."""
        x = normal(end - affine(index))
        if not self.plain(x) or any(isinstance(a, Extreme) for a, _ in x.terms):
            return self.natural_test(x - 1) or "1"
        return self.compared(x, "<")

    def zero_test(self, x: Affine) -> str:
        """Whether x = 0."""
        return self.compared(x, "==") if self.plain(normal(x)) else f"{enclosed(self.signed(x), SUM)} == 0"

    def compared(self, x: Affine, symbol: str) -> str:
        """Whether 0 < x, 0 <= x or 0 == x, with terms on both sides; a number alone stands on the right."""
        above = Affine(tuple((a, c) for a, c in x.terms if c > 0), max(x.constant, 0))
        left, right = self.size(above - x)[0], self.size(above)[0]
        if right == "0" and symbol == "<":
            return "0"   # compilers warn where nothing can be below 0
        return f"{right} {symbol.replace('<', '>')} {left}" if left.isdigit() else f"{left} {symbol} {right}"


def remainder_of(x: Affine) -> tuple[Affine, int] | None:
    """What is divided and by what, where an expression is the remainder of a division: x - d*floor(x / d)."""
    for a, c in x.terms:
        if isinstance(a, Floor) and c == -a.divisor and x + affine(a) * a.divisor == a.whole:
            return a.whole, a.divisor
    return None


def normal(x: Affine) -> Affine:
    """The expression with floors of positive terms only: floor((H - K) / 2) is floor((H + K) / 2) - K."""
    whole = Affine((), x.constant)
    for a, c in x.terms:
        if isinstance(a, Floor):
            inside, d = normal(a.whole), a.divisor
            rest = Affine(tuple((b, k % d) for b, k in inside.terms if k % d), inside.constant % d)
            out = Affine(tuple((b, k // d) for b, k in inside.terms if k // d), inside.constant // d)
            whole = whole + (out + affine(Floor(rest, d)) if rest.terms else out) * c
        else:
            whole = whole + affine(a) * c
    return whole


def summed(terms: Sequence[tuple[Piece, int]], constant: int) -> Piece:
    """A sum of multiples of pieces, positive terms first."""
    if not terms:
        return str(constant), ATOM if constant >= 0 else UNARY
    if len(terms) == 1 and not constant and terms[0][1] == 1:
        return terms[0][0]
    shown = str(constant) if constant > 0 and all(c < 0 for _, c in terms) else ""
    constant = 0 if shown else constant
    for piece, c in sorted(terms, key=lambda t: t[1] < 0):
        factor = enclosed(piece, PRODUCT) if abs(c) == 1 else f"{abs(c)}*{enclosed(piece, UNARY)}"
        shown = f"{shown or '0'} - {factor}" if c < 0 else f"{shown} + {factor}" if shown else factor
    if constant:
        shown += f" {'-' if constant < 0 else '+'} {abs(constant)}"
    return shown, PRODUCT if len(terms) == 1 and not constant and terms[0][1] > 0 else SUM
