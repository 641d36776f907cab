"""Expressions of sizes and indices as texts of whole numbers with signs.

Sizes are far below the largest word (`adcli.lang.sizes.all_sizes`), so that no sum of them overflows. What is compared has its
negative terms on the other side, as people write it: `i + 2 < N`.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import prod

from adcli.lang.ir.affine import Affine, AffineAtom, Extreme, Floor, Index, Modulo, Product, affine
from adcli.lang.tree.notation import ATOM, PRODUCT, SUM, UNARY, Piece, enclosed


class WholeNumbers:
    """Texts of expressions; `names` are those of sizes, and of indices once they are bound. `function` gives the names of the
    functions floor(x, y), least(x, y) and greatest(x, y)."""

    floored = False
    """True where a quotient is the floor, whatever its sign."""
    times, gap = "*", " "
    both, either, negation = " && ", " || ", "!"
    """Between factors and around signs; and how tests are joined."""

    def __init__(self, names: Mapping[str, str], function: Callable[[str], str] = str) -> None:
        self.names: dict[Index | str, str] = dict(names.items())
        self.function = function
        self.negative: set[Index | str] = set()
        """The indices, and steps of loops, that may be negative."""

    def bind(self, index: Index | str, name: str, low: Affine) -> None:
        """Give an index, or the step of a loop, a name."""
        self.names[index] = name
        if self.natural(low):
            self.negative.discard(index)
        else:
            self.negative.add(index)

    # ------------------------------------------------------------ what is never negative

    def natural(self, x: Affine) -> bool:
        """True for an expression that shows it is never negative."""
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

    # ------------------------------------------------------------ values

    def size(self, x: Affine) -> Piece:
        """An expression of any sign."""
        if (rest := remainder_of(x)) is not None and self.natural(rest[0]):
            return self.modulo(rest[0], affine(rest[1]))[0], SUM
        return self.summed(x, self.atom)

    def text(self, x: Affine) -> str:
        return self.size(x)[0]

    def product(self, shape: Sequence[Affine]) -> str:
        """The number of elements of a shape."""
        constant = prod(x.number for x in shape if x.number is not None)
        texts = [enclosed(self.size(x), UNARY) for x in shape if x.number is None] if constant else []
        return "*".join([*texts, *([str(constant)] if constant != 1 or not texts else [])])

    def atom(self, a: AffineAtom) -> Piece:
        match a:
            case Floor(whole, by):
                return self.floor(whole, by)
            case Extreme(parts, largest):
                return self.extreme(parts, largest)
            case Product(left, right):
                return f"{enclosed(self.size(left), UNARY)}{self.times}{enclosed(self.size(right), UNARY)}", PRODUCT
            case Modulo(whole, by):
                return self.modulo(whole, by)
            case _:
                return self.names[a], ATOM

    def floor(self, whole: Affine, by: Affine) -> Piece:
        if self.floored or self.natural(whole):
            return self.quotient(enclosed(self.size(whole), PRODUCT), enclosed(self.size(by), UNARY))
        return f"{self.function('floor')}({self.text(whole)}, {self.text(by)})", ATOM

    def quotient(self, whole: str, divisor: str) -> Piece:
        """The floor of a quotient, which is not negative unless all are `floored`."""
        return f"{whole} / {divisor}", PRODUCT

    def modulo(self, whole: Affine, by: Affine) -> Piece:
        x, n = enclosed(self.size(whole), PRODUCT), enclosed(self.size(by), UNARY)
        return (f"{x} % {n}", PRODUCT) if self.natural(whole) else (f"(({x} % {n} + {n}) % {n})", ATOM)

    def extreme(self, parts: Sequence[Affine], largest: bool) -> Piece:
        name = self.function("greatest" if largest else "least")
        return reduce(lambda x, y: f"{name}({x}, {y})", map(self.text, parts)), ATOM

    def summed(self, x: Affine, atom: Callable[[AffineAtom], Piece]) -> Piece:
        """A sum of multiples, positive terms first."""
        constant = x.constant
        if not x.terms:
            return str(constant), ATOM if constant >= 0 else UNARY
        if len(x.terms) == 1 and not constant and x.terms[0][1] == 1:
            return atom(x.terms[0][0])
        shown = str(constant) if constant > 0 and all(c < 0 for _, c in x.terms) else ""
        constant = 0 if shown else constant
        for a, c in sorted(x.terms, key=lambda term: term[1] < 0):
            least = PRODUCT if shown or c > 0 else UNARY   # a minus in front binds closer than % does
            factor = enclosed(atom(a), least) if abs(c) == 1 else f"{abs(c)}{self.times}{enclosed(atom(a), UNARY)}"
            shown += (f"{self.gap}{'-' if c < 0 else '+'}{self.gap}" if shown else "-" if c < 0 else "") + factor
        if constant:
            shown += f"{self.gap}{'-' if constant < 0 else '+'}{self.gap}{abs(constant)}"
        return shown, PRODUCT if len(x.terms) == 1 and not constant and x.terms[0][1] > 0 else SUM

    # ------------------------------------------------------------ tests

    def natural_test(self, x: Affine) -> str | None:
        """The test x >= 0, None where that shows; in parentheses where it is more than a conjunction."""
        if self.natural(x):
            return None
        for a, c in x.terms:
            if isinstance(a, Extreme) and abs(c) == 1:   # one comparison for each part
                each = [self.natural_test(x - affine(a) * c + p * c) for p in a.parts]
                if a.greatest == (c < 0):
                    return self.both.join(filter(None, each)) or None
                return None if None in each else f"({self.either.join(f'({test})' for test in each)})"
        if x.constant < 0 and any(c < 0 for _, c in x.terms):
            return self.compared(x + 1, "<")
        return self.compared(x, "<=")

    def implied(self, given: Sequence[Affine], then: Sequence[Affine]) -> str | None:
        """The test that all of `then` are >= 0 where all of `given` are, None where that shows."""
        holds = self.both.join(filter(None, map(self.natural_test, then)))
        if len(then) == 2 and then[0] == -then[1]:
            holds = self.compared(then[0], "==")
        where = self.both.join(filter(None, map(self.natural_test, given)))
        return (f"{self.negation}({where}){self.either}({holds})" if where else holds) if holds else None

    def below(self, index: Index | str, end: Affine) -> str:
        """The test that an index is below the end of its range."""
        x = end - affine(index)
        if any(isinstance(a, Extreme) for a, _ in x.terms):
            return self.natural_test(x - 1) or "1"
        return self.compared(x, "<")

    def compared(self, x: Affine, symbol: str) -> str:
        """The test 0 < x, 0 <= x or 0 == x, with terms on both sides; a number alone stands on the right."""
        above = Affine(tuple((a, c) for a, c in x.terms if c > 0), max(x.constant, 0))
        left, right = self.text(above - x), self.text(above)
        return f"{right} {symbol.replace('<', '>')} {left}" if left.isdigit() else f"{left} {symbol} {right}"


def remainder_of(x: Affine) -> tuple[Affine, int] | None:
    """Dividend and divisor of an expression that is a remainder: x - d*floor(x / d)."""
    for a, c in x.terms:
        if isinstance(a, Floor) and (n := a.divisor.number) and c == -n and x + affine(a) * n == a.whole:
            return a.whole, n
    return None
