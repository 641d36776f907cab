"""SymPy as a language that programs of numbers are written in: a module that builds an expression for each output.

    from sympy import Rational, exp, symbols
    x, y = symbols("x y", real=True)
    NAME = {"v": Rational("0.5")*exp(x), …}

It is the program as mathematics writes it (`lang/simplify/mathematics.py`), and decimal numbers are the rational ones that are
written. `--from sympy` reads it back.
"""
from __future__ import annotations

import keyword
import math
import re
from collections.abc import Iterator, Sequence

from adcli.codegen.c.language import Helpers, Language, Statements, letters, quoted, wrapped
from adcli.codegen.c.whole_numbers import WholeNumbers
from adcli.codegen.emission import EmitOptions, commented
from adcli.codegen.rows.expand import Definitions, expand
from adcli.lang.ir import Equation, Lit, Primitive, Program, has_tensors
from adcli.lang.ir.build import Expr, apply
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import name_table, words
from adcli.lang.ir.primitives import TABLE
from adcli.lang.simplify.mathematics import mathematical
from adcli.lang.simplify.simplify import simplify
from adcli.lang.tree.notation import ATOM, Piece, call, constant, infix

OPERATORS = ("add", "sub", "mul", "div", "neg", "pow", "pown", "lt", "le", "gt", "ge")
"""Operations that Python's operators are on expressions, too."""
NAMES = {name: name for name in words("""
sqrt cbrt exp log sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh sign floor erf erfc erfinv gamma digamma
polygamma""")} | {
    "max": "Max", "min": "Min", "fmax": "Max", "fmin": "Min", "abs": "Abs", "ceil": "ceiling", "lgamma": "loggamma",
    "eq": "Eq", "ne": "Ne", "and": "And", "or": "Or", "not": "Not",
    "lambert_w0": "LambertW", "expint_e1": "E1", "expint_ei": "Ei", "bessel_k": "besselk", "bessel_i": "besseli",
    "bessel_j": "besselj", "bessel_y": "bessely",
    "zeta": "zeta", "hurwitz_zeta": "zeta"}
"""Operations that SymPy has as functions, and its names for them."""
FORMS = {"select": "Piecewise(({1}, {0}), ({2}, True))", "lambert_wm1": "LambertW({0}, -1)"}
CONSTANTS = {math.pi: "pi", math.e: "E", math.inf: "oo", -math.inf: "-oo"}
USED = frozenset([*NAMES.values(), *CONSTANTS.values(), "nan", "Piecewise", "Rational", "symbols"])
"""Names that a module may import."""


def op(name: str, *args: Expr | float) -> Expr:
    return apply(TABLE[name], *args)


def toward_zero(x: Expr, more: float = 0) -> Expr:
    return op("sign", x) * op("floor", op("abs", x) + more)


DEFINITIONS: Definitions = {
    "fma": lambda x, y, z: x * y + z,
    "clamp": lambda x, low, high: op("min", op("max", x, low), high),
    "relu": lambda x: op("max", x, 0),
    "trunc": toward_zero,
    "round": lambda x: toward_zero(x, 0.5),
    "fmod": lambda x, y: x - y * toward_zero(x / y),
    "copysign": lambda x, y: op("select", y >= 0, op("abs", x), -op("abs", x)),
    "hypot": lambda x, *more: op("sqrt", sum((op("pown", y, 2) for y in more), op("pown", x, 2))),
    "exp2": lambda x: op("pow", x.builder.expr(Lit(2.0)), x),
    "expm1": lambda x: op("exp", x) - 1,
    "log1p": lambda x: op("log", 1 + x),
    "log2": lambda x: op("log", x) / op("log", x.builder.expr(Lit(2.0))),
    "log10": lambda x: op("log", x) / op("log", x.builder.expr(Lit(10.0))),
    "logaddexp": lambda x, y: op("log", op("exp", x) + op("exp", y)),
    "softplus": lambda x: op("log", 1 + op("exp", x)),
    "xlogy": lambda x, y: x * op("log", y),
    "lbeta": lambda x, y: op("lgamma", x) + op("lgamma", y) - op("lgamma", x + y),
    "erfcx": lambda x: op("exp", x * x) * op("erfc", x),
    "bessel_ke": lambda n, x: op("exp", x) * op("bessel_k", n, x),
    "log_bessel_k": lambda n, x: op("log", op("bessel_k", n, x)),
    "bessel_ie": lambda n, x: op("exp", -x) * op("bessel_i", n, x),
    "log_bessel_i": lambda n, x: op("log", op("bessel_i", n, x)),
    "normal_pdf": lambda x: op("exp", -(x * x) / 2) / op("sqrt", x.builder.expr(Lit(2 * math.pi))),
    "normal_cdf": lambda x: op("erfc", -x / op("sqrt", x.builder.expr(Lit(2.0)))) / 2,
}
"""Operations that SymPy does not have, by others; for those that are left the table has a definition."""


def number(value: float) -> Piece:
    if value != value or value in CONSTANTS or value.is_integer():
        return constant(value) if value.is_integer() else (CONSTANTS.get(value, "nan"), ATOM)
    return f'Rational("{value!r}")', ATOM


def operation(e: Equation, spelling: str, parts: Sequence[Piece]) -> Piece:
    """An operation on pieces; of whole numbers alone the first one is made SymPy's, as Python would divide them as doubles."""
    left = iter(parts)
    parts = [number(a.value) if i in e.op.static and isinstance(a, Lit) else next(left) for i, a in enumerate(e.args)]
    if spelling in FORMS:
        return FORMS[spelling].format(*(text for text, _ in parts)), ATOM
    if spelling not in OPERATORS:
        return call(spelling, parts)
    if all(text.lstrip("-").isdigit() for text, _ in parts):
        parts = [call("Rational", parts[:1]), *parts[1:]]
    return infix("pow" if spelling == "pown" else spelling, parts)


def spelling(op: Primitive) -> str | None:
    return op.name if op.name in OPERATORS or op.name in FORMS else NAMES.get(op.name)


LANGUAGE = Language(
    name="SymPy", words=USED.union(keyword.kwlist), identifier=letters, number=number, spelling=spelling, operation=operation,
    helpers={}, definitions=DEFINITIONS, declaration=lambda var, name, text: f"{name} = {text}",
    comment=lambda lines: commented(lines, "#").splitlines(), expressions=lambda names, helpers: WholeNumbers(names, str))


def emit(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    return commented([*header, f"{options.name}: the expressions by their outputs"], "#") + module(program, options.name)


def module(program: Program, name: str) -> str:
    """The module of a program, without its comment. AdError where it has tensors, or operations that SymPy does not have."""
    if has_tensors(program):
        raise AdError("this program has tensors, and SymPy's expressions are of numbers here",
                      help="write the elements as inputs of their own")
    made = expand(mathematical(simplify(program)), DEFINITIONS, lambda e: spelling(e.op) is not None)
    helpers = Helpers(LANGUAGE, [name])
    writer = Statements(helpers, made, {v: helpers.named(text) for v, text in name_table(made).items()})
    body = list(writer.computed())
    results = [f"{quoted(r.name)}: {writer.piece(r.atom)[0]}" for r in made.results]
    lines = [*symbols([(writer.names[p.var], p.name) for p in made.params]), *body, *wrapped(f"{name} = {{", results, "}")]
    used = USED.intersection(*[re.findall(r'\w+|".*?"', "\n".join(lines))])
    return "\n".join([*([f"from sympy import {', '.join(sorted(used))}", ""] if used else []), *lines, ""])


def symbols(inputs: Sequence[tuple[str, str]]) -> Iterator[str]:
    if inputs:
        names = ", ".join(name for name, _ in inputs) + "," * (len(inputs) == 1)
        yield f"{names} = symbols({quoted(' '.join(text for _, text in inputs) + ',' * (len(inputs) == 1))}, real=True)"
