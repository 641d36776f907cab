"""How mathematics spells names, numbers and formulas: in Unicode, and in LaTeX.

Operators and their precedence come from `adcli.lang.tree.notation`. A `Label` is the name of a value: what the user calls it, or
a letter with an index. A dot above is a tangent, a bar an adjoint.
"""
from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from adcli.lang.analyse.trace import ADJOINT, TANGENT, VALUE
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.rounded import Meaning, Named, Rounded
from adcli.lang.tree.notation import ATOM, INFIX, POWER, PRODUCT, SUM, TERNARY, UNARY, Piece, call, enclosed, infix, is_constant

NEGATIVE = re.compile(r"-|\(-([\d.]+)\)")
"""The sign in front of a product, or a negative number."""
Number = Callable[[float], str]
SUBSCRIPTS = str.maketrans("-0123456789", "₋₀₁₂₃₄₅₆₇₈₉")
NUMBERED = re.compile(r"([^\W\d_]+)(\d+)")
"""A name whose digits are its index."""
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LARGEST = 3
"""Operations of a constant that is written as what it was rounded from."""
OPEN_CALL = re.compile(r"(^|[ -])(\w+)\(([^-()\s,|][^()\s,|]*)\)$")
"""A function of a name or number at the end of a formula, which books write without parentheses: v × cos u."""


class Label(NamedTuple):
    """A name of the program, or with a subscript the letter that numbered values go by. An element of a tensor has a `place`."""

    stem: str
    subscript: int | None = None
    place: str = ""


def label_of(name: str) -> Label:
    """The label of a name, which may be that of an element: h(3, 0)."""
    stem, _, place = name.rstrip(")").partition("(")
    return Label(stem, None, place)


class Unicode:
    """ẋ1, v̄₋₁, v₁ × v₂, ln v₁."""

    MARKS: Mapping[str, str] = {VALUE: "", TANGENT: "\u0307", ADJOINT: "\u0304"}

    def __init__(self, number: Number) -> None:
        self.written = number
        self.elements: set[str] = set()

    def label(self, label: Label, kind: str = VALUE) -> str:
        """A name, marked as a tangent or an adjoint."""
        stem, index = label.stem, "" if label.subscript is None else str(label.subscript)
        if not index and (m := NUMBERED.fullmatch(stem)):
            stem, index = m.groups()
        name = self.marked(stem, kind) + index.translate(SUBSCRIPTS)
        if not label.place:
            return name
        self.elements.add(element := f"{name}({label.place})")
        return element

    def marked(self, text: str, kind: str) -> str:
        """A name as it is written, marked as a tangent or an adjoint."""
        at = next((i for i, c in enumerate(text, 1) if c.isalpha()), 1)
        return unicodedata.normalize("NFC", text[:at] + self.MARKS[kind] + text[at:])

    def partial(self, above: str, below: Mapping[str, int]) -> str:
        """The partial derivative of an output, so many times along each input."""
        orders = {n: "" if n == 1 else str(n).translate(SUPERSCRIPTS) for n in {sum(below.values()), *below.values()}}
        return f"∂{orders[sum(below.values())]}{above}/" + "".join(f"∂{x}{orders[n]}" for x, n in below.items())

    def direction(self, text: str, number: str) -> str:
        """A tangent or an adjoint in one of several directions."""
        return f"{text}⁽{number.translate(SUPERSCRIPTS)}⁾"

    def spelled(self, name: str) -> str:
        """A name that would look like another, letter by letter."""
        return name

    def number(self, x: float) -> Piece:
        """A number, or a truth value; a negative one stands in parentheses beside an operator."""
        if isinstance(x, bool):
            return str(x).lower(), ATOM
        if isinstance(x, Rounded) and x.size <= LARGEST:
            return meant(self, x.meaning)
        text = self.written(x)
        return text, SUM if text.startswith("-") else ATOM

    def operation(self, name: str, parts: Sequence[Piece]) -> Piece:
        """An operation of the table on its operands."""
        if name in WRITTEN_OUT:
            return WRITTEN_OUT[name](self, parts)
        parts = halved(self, name, parts)
        if name == "pow" and re.fullmatch(r"-?\d{1,3}", parts[1][0]):
            return enclosed(parts[0], ATOM) + parts[1][0].translate(SUPERSCRIPTS), POWER
        if name == "neg":
            return f"-{enclosed(parts[0], POWER)}", UNARY
        if name == "mul" and parts[1][1] == PRODUCT and parts[1][0].startswith("1 / "):
            return enclosed(parts[0], PRODUCT) + parts[1][0][1:], PRODUCT
        spelling = TABLE[name].unicode
        if spelling and "#" in spelling:
            return filled(spelling, parts)
        if spelling and name in INFIX:
            text, level = infix(name, parts)
            return text.replace(f" {INFIX[name][0]} ", f" {spelling} "), level
        return infix(spelling or name, parts)

    def remark(self, reason: str) -> str:
        """Why a term is zero, in parentheses."""
        return f"({reason})"

    def polished(self, formula: str) -> str:
        """A whole formula, as it stands in a cell."""
        return OPEN_CALL.sub(lambda m: m[0] if f"{m[2]}({m[3]})" in self.elements else f"{m[1]}{m[2]} {m[3]}", formula)


class Latex:
    r"""\dot{x}_{1}, \bar{v}_{-1}, v_{1} \cdot v_{2}, \ln v_{1}: mathematics for amsmath. `names` are all there are."""

    MARKS: Mapping[str, str] = {VALUE: "{}", TANGENT: r"\dot{{{}}}", ADJOINT: r"\bar{{{}}}"}

    def __init__(self, number: Number, names: Collection[str]) -> None:
        self.written = number
        self.parts = dict(zip(names, latex_names(list(names)), strict=True))

    def label(self, label: Label, kind: str = VALUE) -> str:
        named = label.subscript is None
        base, sub = (self.parts.get(label.stem) or typeset(label.stem)) if named else (label.stem, str(label.subscript))
        index = ", ".join(filter(None, (sub, label.place)))
        return self.marked(base, kind) + (f"_{{{index}}}" if index else "")

    def marked(self, text: str, kind: str) -> str:
        return self.MARKS[kind].format(text)

    def partial(self, above: str, below: Mapping[str, int]) -> str:
        order = sum(below.values())
        inputs = [rf"\partial {x}" + (f"^{{{n}}}" if n > 1 else "") for x, n in below.items()]
        return rf"\frac{{\partial{f'^{{{order}}}' if order > 1 else ''} {above}}}" + "{" + r" \, ".join(inputs) + "}"

    def direction(self, text: str, number: str) -> str:
        return f"{text}^{{({number})}}"

    def spelled(self, name: str) -> str:
        return spelled_out(name)

    def number(self, x: float) -> Piece:
        if isinstance(x, bool):
            return rf"\text{{{str(x).lower()}}}", ATOM
        if not math.isfinite(x):
            return (r"\text{nan}", ATOM) if x != x else (r"\infty", ATOM) if x > 0 else (r"-\infty", SUM)
        if type(x) is Named:
            return rf"\{x.name}", ATOM
        if isinstance(x, Rounded) and x.size <= LARGEST:
            return meant(self, x.meaning)
        text = self.written(x).strip()
        mantissa, power, exponent = text.partition("e") if "x" not in text else (text, "", "")
        level = SUM if text.startswith("-") else PRODUCT if power else ATOM
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if power else text, level

    def operation(self, name: str, parts: Sequence[Piece]) -> Piece:
        if name in WRITTEN_OUT:
            return WRITTEN_OUT[name](self, parts)
        parts = halved(self, name, parts)
        if name == "pow":
            return f"{enclosed(parts[0], ATOM)}^{{{parts[1][0]}}}", POWER
        if name == "neg":
            return f"-{enclosed(parts[0], POWER)}", UNARY
        if name == "mul" and parts[1][1] == POWER and parts[1][0].startswith(r"\frac{1}{"):
            return self.operation("div", [parts[0], (parts[1][0][len(r"\frac{1}{"):-1], ATOM)])
        spelling = TABLE[name].latex
        if spelling and "#" in spelling:
            return filled(spelling, parts)
        text, level = infix(name, parts)
        if level == ATOM:
            return call(spelling or rf"\operatorname{{{name}}}".replace("_", r"\_"), parts)
        symbol = "not" if name == "not" else INFIX[name][0]
        return f" {text} ".replace(f" {symbol} ", f" {spelling or symbol} ", 1).strip(), level

    def remark(self, reason: str) -> str:
        return rf"\text{{({reason})}}"

    def polished(self, formula: str) -> str:
        return re.sub(r"(\\[a-z]+(?:_\{?\d+\}?)?|\\operatorname\{\w+\})\(([^-()\s][^()\s]*)\)$", r"\1 \2", formula)


Notation = Unicode | Latex
"""Names, numbers and operations as pieces of text with the level of their outermost operator."""


def filled(form: str, parts: Sequence[Piece]) -> Piece:
    """A form of the table with its operands. One that begins with an operand is a clause, one that only ends with one (√#1) binds
    it like a power, and so does a fraction its own parts together; all others close their operands in."""
    if form.startswith("#"):
        level, inner = TERNARY, TERNARY
    elif form[-2:-1] == "#":
        level, inner = POWER, ATOM
    else:
        level, inner = POWER if form.startswith(r"\frac") else ATOM, TERNARY
        if level == POWER and (minus := NEGATIVE.match(parts[0][0])) and (parts[0][1] >= PRODUCT or is_constant(parts[0])):
            positive = re.sub(r"^\(([^()]*)\)$", r"\1", (minus[1] or "") + parts[0][0][minus.end():]), parts[0][1]
            return f"-{filled(form, [positive, *parts[1:]])[0]}", UNARY
    return re.sub(r"#(\d)", lambda m: enclosed(parts[int(m[1]) - 1], inner), form), level


# ---------------------------------------------------------------- names in LaTeX

LETTERS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
           "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega")
CAPITALS = ("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega")
GREEK = dict(zip("αβγδεζηθικλμνξπρστυφχψω" "ΓΔΘΛΞΠΣΥΦΨΩ", LETTERS + CAPITALS, strict=True))
SPECIAL = {"_": r"\_", "#": r"\#", "$": r"\$", "%": r"\%", "&": r"\&", "{": r"\{", "}": r"\}"}
"""Characters that LaTeX reads as something else."""


def latex_names(names: Sequence[str]) -> list[tuple[str, str]]:
    """The base and the index of every name; names that would look the same are spelled out instead."""
    found = [typeset(name) for name in names]
    times = Counter(found)
    return [parts if times[parts] == 1 else (spelled_out(name), "") for name, parts in zip(names, found, strict=True)]


def typeset(name: str) -> tuple[str, str]:
    """x_max as x with the index max, alpha2 as α with the index 2, the element A(0, 1) as A with 0,1."""
    base, index = name, ""
    if m := re.fullmatch(r"(\w+)\(([\d, ]+)\)", name):
        (base, index), subscripts = typeset(m[1]), m[2].replace(" ", "")
        return base, f"{index};\\,{subscripts}" if index else subscripts
    if m := re.fullmatch(r"([^\W\d]+?)_?(\d+)|([^\W_]+)_([^\W_]+)", name):
        base, index = (m[1], m[2]) if m[1] else (m[3], m[4])
    return letter(base), index if index.isdecimal() or not index or letter(index) == index else f"\\text{{{index}}}"


def letter(base: str) -> str:
    """A letter as it is, a Greek one or its name as the command, a word in italics."""
    if (name := GREEK.get(base, base)) in GREEK.values():
        return f"\\{name}"
    return base if len(base) == 1 and base.isascii() and base != "_" else spelled_out(base)


def spelled_out(name: str) -> str:
    escaped = "".join(SPECIAL.get(c, c) for c in name)
    return rf"\mathit{{{escaped}}}" if name.isascii() else rf"\textit{{{escaped}}}"


# ---------------------------------------------------------------- partial derivatives that are rows of the table

def power_partial(notation: Notation, parts: Sequence[Piece]) -> Piece:
    """∂ₓᵐ∂ᵧⁿ x**y as books write it for x > 0: x**(y − m)·Q(m, n) (lang/ir/special_functions.py)."""
    (x, y), (m, n) = parts[:2], [int(float(text)) for text, _ in parts[2:]]
    power = notation.operation("pow", [x, less(notation, y, m)])
    if n == 0:
        return times(notation, [*[less(notation, y, k) for k in range(m)], power])
    return times(notation, [power, *log_polynomial(notation, y, notation.operation("log", [x]), m, n)])


def log_polynomial(notation: Notation, y: Piece, log: Piece, m: int, n: int) -> list[Piece]:
    """The factors of Q(m, n) = (y − m + 1)·Q(m − 1, n) + n·Q(m − 1, n − 1), Q(0, n) = log(x)ⁿ."""
    if m == 0 or n == 0:
        return [less(notation, y, k) for k in range(m)] or raised(notation, log, n)
    first = [less(notation, y, m - 1), *log_polynomial(notation, y, log, m - 1, n)]
    second = [*[notation.number(float(n))] * (n > 1), *log_polynomial(notation, y, log, m - 1, n - 1)]
    return [notation.operation("add", [times(notation, f) for f in (first, second)])]


def log_product_partial(notation: Notation, parts: Sequence[Piece]) -> Piece:
    """∂ᵧⁿ x·log(y) as books write it: ±(n − 1)!·x / yⁿ."""
    (x, y), n = parts[:2], int(float(parts[2][0]))
    if n == 0:
        return times(notation, [x, notation.operation("log", [y])])
    factor = math.factorial(n - 1)
    above = times(notation, [*[notation.number(float(factor))] * (factor > 1), x])
    found = notation.operation("div", [above, *raised(notation, y, n)])
    return found if n % 2 else notation.operation("neg", [found])


def times(notation: Notation, factors: Sequence[Piece]) -> Piece:
    """The product of some factors, 1 without any."""
    return reduce(lambda a, b: notation.operation("mul", [a, b]), factors) if factors else notation.number(1.0)


def raised(notation: Notation, base: Piece, n: int) -> list[Piece]:
    """baseⁿ as a list of factors, which is empty for n = 0."""
    return [base if n == 1 else notation.operation("pow", [base, notation.number(float(n))])][:n]


def less(notation: Notation, y: Piece, k: int) -> Piece:
    return notation.operation("sub", [y, notation.number(float(k))]) if k else y


def meant(notation: Notation, meaning: Meaning) -> Piece:
    """The number that a constant of a rule was rounded from: ln 2."""
    match meaning:
        case ("mul", float(k), ("atan", 1.0)):
            return quarters(notation, k)
        case ("atan", 1.0):
            return quarters(notation, 1.0)
        case (str(name), *parts):
            return notation.operation(name, [meant(notation, part) for part in parts])
    assert isinstance(meaning, float)
    return notation.number(meaning)


def quarters(notation: Notation, k: float) -> Piece:
    """So many quarters of π."""
    pi = ("π" if isinstance(notation, Unicode) else r"\pi", ATOM)
    return times(notation, [notation.number(k / 4), pi]) if k > 4 else notation.operation("div", [pi, notation.number(4 / k)])


def halved(notation: Notation, name: str, parts: Sequence[Piece]) -> Sequence[Piece]:
    """The operands, of half of 1/z those of 1/(2·z)."""
    if name != "div" or parts[0][0] != "0.5":
        return parts
    return [notation.number(1.0), times(notation, [notation.number(2.0), parts[1]])]


def square(notation: Notation, x: Piece) -> Piece:
    return notation.operation("pow", [x, notation.number(2.0)])


def inverse(notation: Notation, below: Piece) -> Piece:
    return notation.operation("div", [notation.number(1.0), below])


def fused(notation: Notation, parts: Sequence[Piece]) -> Piece:
    """x·y + z, of a negative x a difference."""
    x, y, z = parts
    minus = x[0].startswith("-") and (x[1] == UNARY or is_constant(x))
    if not minus:
        return notation.operation("add", [notation.operation("mul", [x, y]), z])
    x = x[0][1:], ATOM if is_constant(x) else POWER
    return notation.operation("sub", [z, square(notation, y) if x[0] == y[0] else notation.operation("mul", [x, y])])


WRITTEN_OUT: Mapping[str, Callable[[Notation, Sequence[Piece]], Piece]] = {
    "dpow": power_partial, "dxlogy": log_product_partial,
    "sech2": lambda n, parts: inverse(n, square(n, n.operation("cosh", parts))),
    "lorentz": lambda n, parts: inverse(n, n.operation("add", [n.number(1.0), square(n, parts[0])])),
    "gauss": lambda n, parts: n.operation("exp", [n.operation("neg", [square(n, parts[0])])]),
    "unit": lambda n, parts: n.operation("div", [parts[0], n.operation("hypot", parts)]),
    "fma": fused}
"""Rows of the table that documents write as formulas of others."""
