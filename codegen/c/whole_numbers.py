"""Expressions of sizes and indices as texts: of whole numbers as scripts have them, and as the unsigned words of C.

In C sizes and indices are of type `size_t`, whose sums wrap around and are right wherever their true value is not negative. What
is compared has its negative terms on the other side, so that nothing wraps there: `i + 2 < N` and not `i < N - 2`. An index whose
range begins below 0 is a `ptrdiff_t`, and so is every expression with it until it is a subscript.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from adcli.lang.ir.affine import Affine, AffineAtom, Extreme, Floor, Index, Modulo, Product, affine
from adcli.lang.ir.notation import ATOM, PRODUCT, SUM, UNARY, Piece, enclosed

FLOOR = """
static ptrdiff_t $floor(ptrdiff_t x, ptrdiff_t y)
{
    /* the floor of x / y, for y above 0 */
    return x / y - (x % y < 0);
}"""
"""Division in C rounds to 0."""


class WholeNumbers:
    """Texts of expressions; `names` are those of sizes, and of indices once they are bound."""

    times, gap, zero = "*", " ", ""
    both, either, negation = " && ", " || ", "!"
    """Between factors, around signs, in front of a sign that has nothing in front; and how tests are joined."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names: dict[Index | str, str] = dict(names.items())
        self.negative: set[Index | str] = set()
        """The indices, and steps of loops, that may be negative."""

    def bind(self, index: Index | str, name: str, low: Affine) -> str:
        """Give an index, or the step of a loop, a name; its type in C."""
        self.names[index] = name
        if self.natural(low):
            self.negative.discard(index)
            return "size_t"
        self.negative.add(index)
        return "ptrdiff_t"

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
        """An expression that is a size or a subscript."""
        if (rest := remainder_of(x)) is not None and self.natural(rest[0]):
            return self.modulo(rest[0], affine(rest[1]))[0], SUM
        return self.summed(x, self.atom)

    def signed(self, x: Affine) -> Piece:
        """An expression that may be negative."""
        return self.size(x)

    def real(self, x: Affine, kind: str = "") -> Piece:
        """An expression as a number like any other, in C of a type."""
        return self.size(x)

    def text(self, x: Affine) -> str:
        return self.size(x)[0]

    def product(self, shape: Sequence[Affine]) -> str:
        """The number of elements of a shape."""
        constant = prod(x.number for x in shape if x.number is not None)
        texts = [enclosed(self.size(x), UNARY) for x in shape if x.number is None] if constant else []
        return "*".join([*texts, *([str(constant)] if constant != 1 or not texts else [])])

    def atom(self, a: AffineAtom) -> Piece:
        match a:
            case Floor(whole, divisor):
                return self.floor(whole, divisor)
            case Extreme(parts, largest):
                return self.extreme(parts, largest)
            case Product(left, right):
                return f"{enclosed(self.size(left), UNARY)}{self.times}{enclosed(self.size(right), UNARY)}", PRODUCT
            case Modulo(whole, by):
                return self.modulo(whole, by)
            case _:
                return self.names[a], ATOM

    def floor(self, whole: Affine, divisor: int) -> Piece:
        return self.quotient(enclosed(self.size(whole), PRODUCT), divisor)

    def quotient(self, whole: str, divisor: int) -> Piece:
        """The floor of a quotient that is not negative."""
        return f"{whole} / {divisor}", PRODUCT

    def modulo(self, whole: Affine, by: Affine) -> Piece:
        return f"{enclosed(self.size(whole), PRODUCT)} % {enclosed(self.size(by), UNARY)}", PRODUCT

    def extreme(self, parts: Sequence[Affine], largest: bool) -> Piece:
        raise NotImplementedError

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
            shown = shown or (self.zero if c < 0 else "")
            least = PRODUCT if shown or c > 0 else UNARY   # a minus in front binds closer than % does
            factor = enclosed(atom(a), least) if abs(c) == 1 else f"{abs(c)}{self.times}{enclosed(atom(a), UNARY)}"
            shown += (f"{self.gap}{'-' if c < 0 else '+'}{self.gap}" if shown else "-" if c < 0 else "") + factor
        if constant:
            shown += f"{self.gap}{'-' if constant < 0 else '+'}{self.gap}{abs(constant)}"
        return shown, PRODUCT if len(x.terms) == 1 and not constant and x.terms[0][1] > 0 else SUM

    # ------------------------------------------------------------ tests

    def normal(self, x: Affine) -> Affine:
        return x

    def plain(self, x: Affine) -> bool:
        """True for an expression that can be compared term by term."""
        return True

    def natural_test(self, x: Affine) -> str | None:
        """The test x >= 0, None where that shows; in parentheses where it is more than a conjunction."""
        x = self.normal(x)
        if self.natural(x):
            return None
        for a, c in x.terms:
            if isinstance(a, Extreme) and abs(c) == 1:   # one comparison for each part
                each = [self.natural_test(x - affine(a) * c + p * c) for p in a.parts]
                if a.greatest == (c < 0):
                    return self.both.join(filter(None, each)) or None
                return None if None in each else f"({self.either.join(f'({test})' for test in each)})"
        if not self.plain(x):
            return f"{enclosed(self.signed(x), SUM)} >= 0"
        if x.constant < 0 and any(c < 0 for _, c in x.terms):
            return self.compared(x + 1, "<")
        return self.compared(x, "<=")

    def implied(self, given: Sequence[Affine], then: Sequence[Affine]) -> str | None:
        """The test that all of `then` are >= 0 where all of `given` are, None where that shows."""
        holds = self.both.join(filter(None, map(self.natural_test, then)))
        if len(then) == 2 and then[0] == -then[1]:
            holds = self.zero_test(then[0])
        where = self.both.join(filter(None, map(self.natural_test, given)))
        return (f"{self.negation}({where}){self.either}({holds})" if where else holds) if holds else None

    def below(self, index: Index | str, end: Affine) -> str:
        """The test that an index is below the end of its range."""
        x = self.normal(end - affine(index))
        if not self.plain(x) or any(isinstance(a, Extreme) for a, _ in x.terms):
            return self.natural_test(x - 1) or "1"
        return self.compared(x, "<")

    def zero_test(self, x: Affine) -> str:
        """The test x = 0."""
        return self.compared(x, "==") if self.plain(self.normal(x)) else f"{enclosed(self.signed(x), SUM)} == 0"

    def compared(self, x: Affine, symbol: str) -> str:
        """The test 0 < x, 0 <= x or 0 == x, with terms on both sides; a number alone stands on the right."""
        above = Affine(tuple((a, c) for a, c in x.terms if c > 0), max(x.constant, 0))
        left, right = self.text(above - x), self.text(above)
        if right == "0" and symbol == "<" and self.natural(above - x):
            return "0"   # compilers warn where nothing can be below 0
        return f"{right} {symbol.replace('<', '>')} {left}" if left.isdigit() else f"{left} {symbol} {right}"


class MachineNumbers(WholeNumbers):
    """Texts of C; `real_type` is the type of numbers, and `floor_function` gives the name of the function `FLOOR`."""

    zero = "0"

    def __init__(self, names: Mapping[str, str], real_type: str, floor_function: Callable[[], str]) -> None:
        super().__init__(names)
        self.real_type, self.floor_function = real_type, floor_function

    def plain(self, x: Affine) -> bool:
        """True for an expression without a part that is negative by itself."""
        return all(self.natural_atom(a) for a, _ in x.terms)

    def normal(self, x: Affine) -> Affine:
        """The expression with floors of positive terms only: floor((H - K) / 2) is floor((H + K) / 2) - K."""
        whole = Affine((), x.constant)
        for a, c in x.terms:
            if isinstance(a, Floor):
                inside, d = self.normal(a.whole), a.divisor
                rest = Affine(tuple((b, k % d) for b, k in inside.terms if k % d), inside.constant % d)
                out = Affine(tuple((b, k // d) for b, k in inside.terms if k // d), inside.constant // d)
                whole = whole + (out + affine(Floor(rest, d)) if rest.terms else out) * c
            else:
                whole = whole + affine(a) * c
        return whole

    def size(self, x: Affine) -> Piece:
        """An expression as a `size_t`; right where it is not negative."""
        if (rest := remainder_of(x)) is not None and self.natural(rest[0]):
            return super().size(x)
        x = self.normal(x)
        return self.summed(x, self.atom) if self.plain(x) else (f"(size_t){enclosed(self.signed(x), UNARY)}", UNARY)

    def signed(self, x: Affine) -> Piece:
        """An expression as a `ptrdiff_t`."""
        return self.summed(self.normal(x), self.signed_atom)

    def real(self, x: Affine, kind: str = "") -> Piece:
        kind = kind or self.real_type
        if not x.terms:
            return f"{x.constant}.0{'f' if kind == 'float' else ''}", UNARY if x.constant < 0 else ATOM
        whole = self.size(x) if self.natural(self.normal(x)) else self.signed(x)
        return f"({kind}){enclosed(whole, UNARY)}", UNARY

    def modulo(self, whole: Affine, by: Affine) -> Piece:
        if self.natural(self.normal(whole)):
            return super().modulo(whole, by)
        n = f"(ptrdiff_t){enclosed(self.size(by), UNARY)}"   # % of C has the sign of what it divides
        return f"(size_t)(({enclosed(self.signed(whole), PRODUCT)} % {n} + {n}) % {n})", UNARY

    def extreme(self, parts: Sequence[Affine], largest: bool) -> Piece:
        return self.chosen(parts, largest, [self.text(p) for p in parts])

    def signed_atom(self, a: AffineAtom) -> Piece:
        match a:
            case Index() | str() if a in self.negative:
                return self.names[a], ATOM
            case Floor(whole, divisor) if not self.natural(whole):
                return f"{self.floor_function()}({self.signed(whole)[0]}, {divisor})", ATOM
            case Extreme(parts, largest) if not self.natural_atom(a):
                return self.chosen(parts, largest, [self.signed(p)[0] for p in parts])
            case Product(left, right) if not self.natural_atom(a):
                return f"{enclosed(self.signed(left), UNARY)}*{enclosed(self.signed(right), UNARY)}", PRODUCT
            case _:
                return f"(ptrdiff_t){enclosed(self.atom(a), UNARY)}", UNARY

    def chosen(self, parts: Sequence[Affine], largest: bool, texts: Sequence[str]) -> Piece:
        """The least or greatest: the first that none of those behind it is better than."""
        chosen = texts[-1]
        for k in reversed(range(len(parts) - 1)):
            better = [self.natural_test(parts[k] - p if largest else p - parts[k]) for p in parts[k + 1:]]
            chosen = f"{' && '.join(filter(None, better)) or '1'} ? {texts[k]} : {chosen}"
        return f"({chosen})", ATOM


def remainder_of(x: Affine) -> tuple[Affine, int] | None:
    """Dividend and divisor of an expression that is a remainder: x - d*floor(x / d)."""
    for a, c in x.terms:
        if isinstance(a, Floor) and c == -a.divisor and x + affine(a) * a.divisor == a.whole:
            return a.whole, a.divisor
    return None
