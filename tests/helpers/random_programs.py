"""Random programs of the language as text, for the property tests and the byte fuzzer.

A program is written along the grammar with every feature of the language but tensors. What decides is a `random.Random`:
hypothesis hands in one whose choices it records and shrinks, the fuzzer an ordinary one. Each program is written twice, as
a person would (operators, redundant parentheses, comments, line ends) and with calls alone (`add(x, mul(y, 2))`), where
precedence plays no part: both must be read as the same program.
"""
from __future__ import annotations

import math
import random
from dataclasses import dataclass

from adcli.lang.ir import Program
from adcli.lang.ir.primitives import TABLE
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from one_operation import BESSEL, COSTLY

TERNARY, OR, AND, NOT, COMPARISON, SUM, PRODUCT, UNARY, POWER, ATOM = range(10)
BINARY = {"or": (("or", "||"), OR, OR, AND), "and": (("and", "&&"), AND, AND, NOT),
          **{name: ((symbol,), COMPARISON, SUM, SUM) for name, symbol in
             (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!="))},
          "add": (("+",), SUM, SUM, PRODUCT), "sub": (("-",), SUM, SUM, PRODUCT),
          "mul": (("*",), PRODUCT, PRODUCT, UNARY), "div": (("/",), PRODUCT, PRODUCT, UNARY),
          "pow": (("**", "^"), POWER, ATOM, UNARY)}
"""Operation: how it is spelled, its level, the least levels of its operands."""

COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
ARITHMETIC = ("add", "sub", "mul", "div")
OPERATORS = {*BINARY, "neg", "not", "select"}
ARITY = {"square": (1, 1), "recip": (1, 1), "rsqrt": (1, 1), "negate": (1, 1),
         **{p.name: (p.arity, 4 if p.variadic else p.arity) for p in TABLE.values()
            if p.name not in {*OPERATORS, "dup"} and not p.static}}
"""Functions of real arguments, with the fewest and the most arguments."""

WITH_ORDERS = {"polygamma": "nx", "dpow": "xxnn", "dxlogy": "xxn", "derfcx": "xn",
               "dsinc": "xn", "dexprel": "xn", "polygamma_gap": "nnxx",
               "dgamma_p": "xxn", "gamma_density": "xxnn", "dvoigt": "xxxnn", "dzeta": "xn", "dhurwitz_zeta": "xxn",
               **{f"d{name}": "xxnn" for name in BESSEL},
               "dinc_beta": "xxxnn", "inc_beta_density": "xxxnnn",
               "dinc_beta_logit": "xxxnn", "inc_beta_logit_density": "xxxnnn"}
"""Functions of real arguments and of constants that say how often something is differentiated."""
COSTLY_CALLS, CALLS = ([name for name in (*ARITY, *WITH_ORDERS) if (name in COSTLY) == costly] for costly in (True, False))

NAMES = ("x", "y", "z", "v", "w", "a", "dx", "d_dv", "d_dx", "x1", "x2", "i1", "i2", "dv", "dv_dx", "d2v_dx_dx", "v_1", "pi",
         "gamma", "e", "tau", "status", "sin", "α", "Δt", "x̂", "π", "a·b", "größe", "dup", "where", "_u", "select", "f1")
"""Names of values: plain ones, ones that derivatives would like to have, ones that functions have, ones beyond ASCII."""
FUNCTIONS = ("sq", "f", "g", "norm", "ψ", "relu", "square", "cbrt")
LITERALS = ("2", "3", "0", "1", "2.5", ".5", "1.", "1e-3", "0x1.8p-2", "1_000", "0.1", "7", "1e2", "0X.8", "3e0", "00.25", "4")
EXTREMES = ("inf", "nan", "1e308", "1e-308", "5e-324", "1_000e15", "9007199254740993")
EXPONENTS = ("2", "3", "1", "0", "-1", "-2", "5", "0.5", "2.0", "-3")
COMMENTS = ("# a comment", "#", "# x = 1; (", "# größer −∞", "#! not a shebang")


@dataclass(frozen=True)
class Piece:
    """An expression in both spellings; `level` is that of its outermost operator in `text`."""

    text: str
    level: int
    calls: str
    constant: bool = False


@dataclass(frozen=True)
class Signature:
    """A user function: kinds of its parameters, 'r' or 't', and of its results."""

    params: str
    results: str


@dataclass(frozen=True)
class Sample:
    """A program in both spellings."""

    text: str
    calls: str


class Scope:
    """Where expressions are written: the program itself or the body of a function."""

    def __init__(self, r: random.Random, functions: dict[str, Signature], forbidden: set[str], budget: int,
                 extreme: bool = False) -> None:
        self.r, self.functions, self.forbidden, self.budget, self.extreme = r, functions, forbidden, budget, extreme
        self.kinds: dict[str, str] = {}
        self.unread: dict[str, str] = {}
        self.assigned: set[str] = set()

    def chance(self, one_in: int) -> bool:
        return self.r.randrange(one_in) == one_in - 1   # hypothesis shrinks towards 0, the plain choice

    # Expressions.

    def real(self, depth: int) -> Piece:
        self.budget -= 1
        if depth <= 0 or self.budget <= 0:
            return self.decorated(self.leaf())
        kind = self.r.randrange(12)
        if kind < 2:
            return self.decorated(self.leaf())
        if kind < 6:
            return self.decorated(self.binary(self.r.choice(ARITHMETIC), self.real(depth - 1), self.real(depth - 1)))
        if kind == 6:
            return self.decorated(self.power(depth))
        if kind == 7:
            return self.decorated(self.sign(self.real(depth - 1)))
        if kind == 8:
            return self.decorated(self.select(self.truth(depth - 1), self.real(depth - 1), self.real(depth - 1)))
        if kind == 9 and any(s.results == "r" for s in self.functions.values()):
            return self.decorated(self.user_call(depth, "r"))
        return self.decorated(self.call(depth))

    def truth(self, depth: int) -> Piece:
        self.budget -= 1
        names = [n for n, k in self.kinds.items() if k == "t"]
        kind = self.r.randrange(8) if depth > 0 and self.budget > 0 else 7
        if kind == 0 and names:
            return self.read(self.r.choice(names))
        if kind == 1:
            inner = self.truth(depth - 1)
            calls = f"not({inner.calls})"
            if self.chance(2):
                return Piece(f"not({inner.text})", NOT, calls)
            return Piece(f"{self.r.choice(('not ', '!'))}{self.least(inner, NOT)}", NOT, calls)
        if kind in (2, 3):
            return self.enclosed(self.binary(self.r.choice(("and", "or")), self.truth(depth - 1), self.truth(depth - 1)))
        if kind == 4 and any(s.results == "t" for s in self.functions.values()):
            return self.user_call(depth, "t")
        return self.enclosed(self.binary(self.r.choice(COMPARISONS), self.real(depth - 1), self.real(depth - 1)))

    def leaf(self) -> Piece:
        names = [n for n, k in self.kinds.items() if k == "r"]
        if names and not self.chance(4):
            return self.read(self.r.choice(names))
        if self.chance(6) and "pi" not in self.kinds and "pi" not in self.forbidden:
            return Piece("pi", ATOM, "pi", True)
        text = self.r.choice(EXTREMES if self.extreme and self.chance(6) else LITERALS)
        return Piece(text, ATOM, text, True)

    def read(self, name: str) -> Piece:
        self.unread.pop(name, None)
        return Piece(name, ATOM, name)

    def decorated(self, piece: Piece) -> Piece:
        """Parentheses and signs that change nothing."""
        piece = self.enclosed(piece)
        if self.chance(24):
            piece = Piece(f"+{self.least(piece, UNARY)}", UNARY, piece.calls, piece.constant)
        return piece

    def enclosed(self, piece: Piece) -> Piece:
        if not self.chance(8):
            return piece
        blank = self.r.choice(("", " ", "\n  "))
        return Piece(f"({blank}{piece.text}{blank})", ATOM, piece.calls, piece.constant)

    def least(self, piece: Piece, level: int) -> str:
        return piece.text if piece.level >= level else f"({piece.text})"

    def binary(self, name: str, left: Piece, right: Piece) -> Piece:
        symbols, level, least_left, least_right = BINARY[name]
        calls = f"{name}({left.calls}, {right.calls})"
        if self.chance(5):
            return Piece(f"{name}({left.text}, {right.text})", ATOM, calls)
        symbol = self.r.choice(symbols)
        blank = " " if symbol.isalpha() or self.chance(2) else ""
        return Piece(f"{self.least(left, least_left)}{blank}{symbol}{blank}{self.least(right, least_right)}", level, calls)

    def power(self, depth: int) -> Piece:
        text = self.r.choice(EXPONENTS)
        whole = Piece(text, UNARY if text.startswith("-") else ATOM, text, True)
        return self.binary("pow", self.real(depth - 1), self.real(depth - 1) if self.chance(3) else whole)

    def sign(self, inner: Piece) -> Piece:
        """A minus in front of a constant is part of it, while `neg(2)` is an operation."""
        if self.chance(5):
            name = self.r.choice(("neg", "negate"))
            return Piece(f"{name}({inner.text})", ATOM, f"neg({inner.calls})")
        text = f"-{self.least(inner, UNARY)}"
        if inner.constant:
            return Piece(text, UNARY, f"-{inner.calls}", True)
        return Piece(text, UNARY, f"neg({inner.calls})")

    def select(self, c: Piece, x: Piece, y: Piece) -> Piece:
        calls = f"select({c.calls}, {x.calls}, {y.calls})"
        if self.chance(5):
            return Piece(f"select({c.text}, {x.text}, {y.text})", ATOM, calls)
        middle = TERNARY if self.chance(2) else OR
        return Piece(f"{self.least(c, OR)} ? {self.least(x, middle)} : {y.text}", TERNARY, calls)

    def call(self, depth: int) -> Piece:
        name = self.r.choice(COSTLY_CALLS if self.chance(16) else CALLS)
        if name in self.functions or name in self.forbidden:
            name = "exp"
        if name in WITH_ORDERS:
            return self.called(name, [Piece(n := self.r.choice("012"), ATOM, n) if what == "n" else self.real(depth - 1)
                                      for what in WITH_ORDERS[name]])
        fewest, most = ARITY[name]
        return self.called(name, [self.real(depth - 1) for _ in range(self.r.randint(fewest, most))])

    def user_call(self, depth: int, results: str) -> Piece:
        name = self.r.choice([n for n, s in self.functions.items() if s.results == results])
        return self.called(name, self.arguments(name, depth))

    def arguments(self, name: str, depth: int) -> list[Piece]:
        return [self.real(depth - 1) if k == "r" else self.truth(depth - 1) for k in self.functions[name].params]

    def called(self, name: str, args: list[Piece]) -> Piece:
        comma = self.r.choice((", ", ",", ",\n    "))
        return Piece(f"{name}({comma.join(a.text for a in args)})", ATOM, f"{name}({', '.join(a.calls for a in args)})")

    # Statements.

    def bind(self, name: str, kind: str) -> None:
        self.unread.pop(name, None)
        self.kinds[name] = self.unread[name] = kind
        self.assigned.add(name)

    def statement(self, targets: list[str], depth: int) -> Sample:
        """One assignment to the first of `targets`, or to several of them."""
        several = [n for n, s in self.functions.items() if len(s.results) > 1]
        kind = self.r.randrange(10)
        if kind == 0 and len(targets) > 1:
            return self.tuple_of_values(targets[:2], depth)
        if kind == 1 and len(targets) > 1 and any(k == "r" for k in self.kinds.values()):
            return self.copies(targets[:2], depth)
        if kind in (2, 3) and several:
            return self.several_results(self.r.choice(several), targets, depth)
        truth = kind == 4
        value = self.truth(depth) if truth else self.real(depth)
        self.bind(targets[0], "t" if truth else "r")
        return Sample(f"{targets[0]}{self.r.choice((' = ', '='))}{value.text}", f"{targets[0]} = {value.calls}")

    def tuple_of_values(self, targets: list[str], depth: int) -> Sample:
        values = [self.real(depth), self.real(depth)]
        left = self.bound(targets, "rr")
        return Sample(f"{left} = ({values[0].text}, {values[1].text})", f"{left} = ({values[0].calls}, {values[1].calls})")

    def copies(self, targets: list[str], depth: int) -> Sample:
        if self.chance(2):
            name = self.r.choice([n for n, k in self.kinds.items() if k == "r"])
            self.read(name)
            left = self.bound(targets, "rr")
            return Sample(f"{left} = dup {name}", f"{left} = dup({name})")
        value = self.real(depth)
        left = self.bound(targets, "rr")
        return Sample(f"{left} = dup({value.text})", f"{left} = dup({value.calls})")

    def several_results(self, name: str, targets: list[str], depth: int) -> Sample:
        call = self.called(name, self.arguments(name, depth))
        kinds = self.functions[name].results
        chosen = [targets[i] if i < len(targets) else "_" for i in range(len(kinds))]
        left = self.bound(chosen, kinds)
        return Sample(f"{left} = {call.text}", f"{left} = {call.calls}")

    def bound(self, targets: list[str], kinds: str) -> str:
        shown = [targets[0], *["_" if self.chance(5) else t for t in targets[1:]]]
        for name, kind in zip(shown, kinds, strict=True):
            if name != "_":
                self.bind(name, kind)
        return f"({', '.join(shown)})"


class Author:
    """Writes a whole program."""

    def __init__(self, r: random.Random, size: int, extreme: bool) -> None:
        self.r, self.size, self.extreme = r, size, extreme
        self.functions: dict[str, Signature] = {}
        count = r.choice((0, 0, 1, 2, 3))
        self.planned = r.sample(FUNCTIONS, count)
        self.text: list[str] = []
        self.calls: list[str] = []

    def add(self, sample: Sample) -> None:
        self.text.append(sample.text)
        self.calls.append(sample.calls)

    def scope(self, budget: int) -> Scope:
        return Scope(self.r, dict(self.functions), set(self.planned) - set(self.functions), budget, self.extreme)

    def sample(self) -> Sample:
        if self.r.randrange(12) == 0:
            self.planned = ["whole"]
            self.block("whole", "r" * self.r.randint(1, 4), truth=False)
            return Sample(self.laid_out(), "\n".join(self.calls))
        for name in self.planned:
            self.define(name)
        self.main()
        return Sample(self.laid_out(), "\n".join(self.calls) + "\n")

    # Functions.

    def define(self, name: str) -> None:
        params = "r" * self.r.randint(1, 3)
        if self.r.randrange(3) == 0:
            self.block(name, params)
        else:
            self.line(name, params)

    def line(self, name: str, params: str) -> None:
        s, names = self.scope(self.size // 3), self.locals(len(params))
        s.kinds.update(dict.fromkeys(names, "r"))
        kind = self.r.randrange(6)
        if kind == 0:                                       # a truth parameter: its first use says so
            body = s.select(Piece("c", ATOM, "c"), s.real(2), s.real(2))
            names, params = ["c", *names], "t" + params
        else:
            body = s.truth(2) if kind == 1 else s.real(3)
        head = f"def {name}({', '.join(names)}) = "
        self.add(Sample(head + body.text, head + body.calls))
        self.functions[name] = Signature(params, "t" if kind == 1 else "r")

    def block(self, name: str, params: str, truth: bool = True) -> None:
        s, names = self.scope(self.size // 3), self.locals(len(params))
        s.kinds.update(dict.fromkeys(names, "r"))
        pool = [n for n in ("t", "u", "w", "dx", "i1", "v") if n not in names]
        body = [s.statement(self.r.sample(pool, 2), 2) for _ in range(self.r.randint(1, 3))]
        assigned = [n for n in s.kinds if n in pool and (truth or s.kinds[n] == "r")]
        if not assigned:
            body.append(assigned_real(s, "u"))
            assigned = ["u"]
        results = self.r.sample(assigned, self.r.randint(1, min(3, len(assigned))))
        head = f"def {name}({', '.join(names)}) -> ({', '.join(results)}) {{"
        joint = self.r.choice(("\n", "; ", "\n\n    # inside\n    "))
        opening = self.r.choice((" ", "\n    "))
        self.add(Sample(f"{head}{opening}{joint.join(b.text for b in body)}{self.r.choice((' ', chr(10)))}}}",
                        f"{head}\n" + "\n".join(b.calls for b in body) + "\n}"))
        self.functions[name] = Signature(params, "".join(s.kinds[n] for n in results))

    def locals(self, count: int) -> list[str]:
        return self.r.sample([n for n in ("a", "b", "x", "y", "dx", "i1", "gamma", "β") if n not in self.planned], count)

    # The program's own statements.

    def main(self) -> None:
        names = [n for n in NAMES if n not in self.planned]
        inputs = self.r.sample(names, self.r.randint(1, 6))
        s = self.scope(self.size)
        declared = inputs[:self.r.randint(0, len(inputs))] if self.r.randrange(2) else []
        if declared:
            self.declare(declared)
        s.kinds.update((n, "r") for n in inputs if n not in ("pi", "π") or n in declared)   # undeclared, the constant
        free = [n for n in names if n not in declared]
        overwritten = declared[-1] if declared and self.r.randrange(6) == 0 else None
        for _ in range(self.r.randint(1, 6)):
            self.add(s.statement(self.r.sample(free, min(3, len(free))), 4))
        self.add(assigned_real(s, overwritten or self.r.choice(free)))
        self.outputs(s, overwritten)

    def declare(self, inputs: list[str]) -> None:
        items = [self.item(n) for n in inputs]
        if self.r.randrange(2):
            cut = self.r.randrange(len(items) + 1)
            lines = [f"{word} {', '.join(part)}" for word, part in (("input", items[:cut]), ("param", items[cut:])) if part]
        else:
            lines = [f"{self.r.choice(('input', 'input', 'param'))} {item}" for item in items]
        for line in lines:
            self.add(Sample(line, line))

    def item(self, name: str) -> str:
        forms = ("", "", " = 2", " = -.5", " in [0, 1]", " = 0.5 in [0, 1]", " in [-pi/2, 2**3] = 1", " = 9.81",
                 " in [-inf, inf]", " = 1e-3 in [-1, 1]", " = -(3 + 1)/2", " = nan", " in [0.1, 0.1]")
        return name + self.r.choice(forms)

    def outputs(self, s: Scope, overwritten: str | None) -> None:
        """An `output` line where the rule for names never read would give none, a truth value or too many."""
        unread = s.unread
        if not overwritten and "t" not in unread.values() and len(unread) <= 4 and self.r.randrange(2):
            return
        real = [n for n in s.kinds if s.kinds[n] == "r" and n in s.assigned]
        chosen = self.r.sample(real, self.r.randint(1, min(4, len(real))))
        if overwritten and overwritten not in chosen:
            chosen[-1] = overwritten
        line = f"output {', '.join(chosen)}"
        self.add(Sample(line, line))

    def laid_out(self) -> str:
        """The statements with the blank lines, comments and separators of a person."""
        r, out = self.r, ["#!/usr/bin/env adcli\n"] if self.r.randrange(10) == 0 else []
        for line in self.text:
            end = r.randrange(10)
            out.append(("    " if end == 0 else "") + line)
            out.append({1: "; ", 2: " ;\n", 3: f"   {r.choice(COMMENTS)}\n", 4: "\n\n\n", 5: f"\n{r.choice(COMMENTS)}\n",
                        6: "\r\n", 7: " \t\n"}.get(end, "\n"))
        whole = "".join(out)
        return whole.rstrip("\n; ") if r.randrange(6) == 0 else whole


def assigned_real(s: Scope, name: str) -> Sample:
    value = s.real(4)
    s.bind(name, "r")
    return Sample(f"{name} = {value.text}", f"{name} = {value.calls}")


def sample(r: random.Random, size: int = 40, extreme: bool = False) -> Sample:
    """A random program of about `size` operations; `extreme` ones hold inf, nan and the ends of the range too."""
    return Author(r, size, extreme).sample()


def law(examples: int) -> settings:
    """The settings of a property test: new examples in every run (tests/helpers/session_seed.py), and no clock. A sixth of
    what a test names is what one run has time for; the next run draws others, and tests/long/run many more."""
    return settings(max_examples=max(examples // 6, 6), deadline=None, database=None, suppress_health_check=list(HealthCheck))


choices = st.integers(0, 2**64 - 1).map(random.Random)
"""Of hypothesis only the seed: each choice that hypothesis makes takes as long as all the others that a program needs."""


@st.composite
def samples(draw: st.DrawFn, size: int = 40, extreme: bool = False) -> Sample:
    return sample(draw(choices), size, extreme)


# ---------------------------------------------------------------- points

SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 2.0, 3.0, 1e-300, -1e-300, 1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan)


def point(r: random.Random, program: Program, special: int = 0) -> dict[str, float]:
    """Values for the inputs: ordinary numbers, and one in `special` of them (0: none) a special one."""
    return {p.name: r.choice(SPECIAL) if special and r.randrange(special) == 0 else round(r.uniform(-3.0, 3.0), 3)
            for p in program.params}


@st.composite
def points(draw: st.DrawFn, program: Program, count: int = 3, special: int = 0) -> list[dict[str, float]]:
    r = draw(choices)
    return [point(r, program, special) for _ in range(count)]


extreme = samples(24, extreme=True)


def mixed_points(r: random.Random, program: Program, count: int = 3) -> list[dict[str, float]]:
    """An ordinary point, and some with more and more special values."""
    return [point(r, program, special) for special in (0, 4, 2, 1)[:count]]
