"""A program as mathematics writes it: 1/x where what runs is x < 0 ? f : 1/(x + 0).

Rules of differentiation are written for what they give at the edge of a domain, at infinities and at zeros with a sign, and for
the last digit. For a reader that hides the derivative. `mathematical` leaves out the cases of a rule in which no point of the
open domain is, writes out the operations that only rules have (`gauss`, `sech2`), and brings products and sums into the order in
which people write them: numbers first, quotients with one bar, powers, no sum that begins with a minus, constants by their names.
The result is a program of the language whose values are equal inside of the domain, to rounding; it is for reading.

Cases are left out by `rule_cases`, guards by what declared ranges say. Of programs with tensors the bodies of comprehensions are
written so; long programs stay as they are.
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from adcli.lang.ir import Atom, Equation, Lit, Program, Result, Var, has_tensors, primitives
from adcli.lang.ir.build import Builder
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.rounded import Meaning, Named, meaning
from adcli.lang.simplify.ranges import bounded
from adcli.lang.simplify.rule_cases import LONGEST, Decided, carried_out, has_cases, inside, without_cases
from adcli.lang.simplify.simplify import Folder, prune, tested

SMALL, SHOWN, LARGE = 4, 12, 40
"""Parts of an expression up to which it stands wherever it is used, an output too; beyond the last one it has a name though it
is used once."""
SIMPLE = 1000
"""Numbers whose numerators and denominators are below it are multiplied; others stand as they are written."""


@dataclass(frozen=True)
class PoweredBase:
    """A part of an expression: a value, a number that is no simple fraction, a sum of products, or an operation on products."""

    head: Any
    args: tuple[Monomial, ...] = ()

    @cached_property
    def size(self) -> int:
        return 1 + sum(a.size for a in self.args)

    @cached_property
    def constant(self) -> bool:
        return not isinstance(self.head, Var) and all(base.constant for a in self.args for base, _ in a.powers)

    @cached_property
    def key(self) -> str:
        """A text that orders the arguments of commuting operations."""
        head = self.head.name or "" if isinstance(self.head, Var) else str(self.head)
        return f"{head}({','.join(a.key for a in self.args)})"


@dataclass(frozen=True)
class Monomial:
    """A fraction times powers of bases, in the order in which they are written."""

    factor: Fraction
    powers: tuple[tuple[PoweredBase, Fraction], ...] = ()

    @cached_property
    def key(self) -> str:
        return f"{self.factor}*{'*'.join(f'{base.key}^{e}' for base, e in self.powers)}"

    @cached_property
    def size(self) -> int:
        return (self.factor not in (1, -1)) + sum(base.size + (e != 1) for base, e in self.powers)


def alone(base: PoweredBase, e: Fraction | int = 1) -> Monomial:
    """A power of one base."""
    return Monomial(Fraction(1), ((base, Fraction(e)),))


SUM = "sum"
NOTE = "for reading: the mathematics inside of the domain; cases of rules that hold no drawn point are left out"
ONE, ZERO = Monomial(Fraction(1)), Monomial(Fraction(0))
PI = alone(PoweredBase(Named(math.pi, "pi")))


def require_short(program: Program) -> None:
    """AdError where a program is not one that is rewritten."""
    if len(program.equations) > LONGEST:
        raise AdError(f"the style math is for programs of at most {LONGEST:,} operations", help="write --style nested")


def mathematical(program: Program) -> Program:
    """The program as mathematics writes it; itself where it is too long to be read. Of tensors it is what is computed of elements
    that is so written."""
    if len(program.equations) > LONGEST:
        return program
    program = decided(within_ranges(program)).program
    if not has_tensors(program):
        return rewritten(program)
    from adcli.lang.simplify.rule_cases_tensors import with_bodies  # only for programs with tensors
    return with_bodies(program, lambda e: rewritten(e.op.body))


def decided(program: Program, at: Mapping[str, Any] | None = None) -> Decided:
    """The program without the cases of rules that hold no point inside of the domain, nor the point `at`. Values keep their
    variables, so that those of the whole program are theirs too. A long program stays as it is."""
    if len(program.equations) > LONGEST:
        return Decided(program)
    if has_tensors(program):
        from adcli.lang.simplify.rule_cases_tensors import decided_bodies  # only for programs with tensors
        return Decided(decided_bodies(program, at))
    own = {*(p.var for p in program.params), *(out for e in program.equations if not e.group for out in e.outs)}   # of the text
    if not has_cases(program, own):
        return without_cases(program, [], own, True)
    points = inside(program)
    if points and at is not None:
        points.append({p.var: at[p.name] for p in program.params})
        points = points if carried_out(program.equations, points[-1]) else []
    if not points:
        return Decided(program)
    return without_cases(program, points, own, True)


def within_ranges(program: Program) -> Program:
    """The program for inputs in their declared ranges, where some have one."""
    declared = [p for p in program.params if p.low is not None or p.high is not None]
    if not declared:
        return program
    folder = Folder(under=tested(program))
    folder.ranges.numbers = True
    for p in declared:
        folder.ranges.found[p.var] = bounded(*p.ends, True)
    return prune(folder.program(program))


# ---------------------------------------------------------------- products and sums

def number(x: float) -> Monomial:
    """A constant: a fraction if it is a simple one, what it means if that is a formula."""
    turns = Fraction(x / math.pi).limit_denominator(12) if math.isfinite(x) else Fraction(0)
    if turns and abs(turns.numerator) <= 12 and float(turns) * math.pi == x:
        return times(Monomial(turns), PI)
    if isinstance(meant := meaning(x), tuple):
        return of_meaning(meant)
    if math.isfinite(x) and simple(exact := Fraction(x)):
        return Monomial(exact)
    return alone(PoweredBase(float(x)))


def simple(x: Fraction) -> bool:
    return x.denominator < SIMPLE and abs(x.numerator) < (SIMPLE if x.denominator > 1 else SIMPLE ** 3)


def of_meaning(meant: Meaning) -> Monomial:
    """The constant that a formula of numbers stands for."""
    if not isinstance(meant, tuple):
        return number(meant)
    if meant == ("atan", 1.0):
        return times(Monomial(Fraction(1, 4)), PI)
    return operation(meant[0], [of_meaning(a) for a in meant[1:]])


def times(*products: Monomial) -> Monomial:
    factor = Fraction(1)
    powers: dict[PoweredBase, Fraction] = {}
    for p in products:
        if not simple(factor * p.factor):
            p = Monomial(Fraction(1), ((PoweredBase(float(p.factor)), Fraction(1)), *p.powers))
        factor *= p.factor
        for base, e in p.powers:
            powers[base] = powers.get(base, Fraction(0)) + e
    if not factor:
        return ZERO
    return Monomial(factor, tuple((base, e) for base, e in powers.items() if e)) if not any(map(even, powers.items())) else \
        times(Monomial(factor), *[undone(base, e) for base, e in powers.items() if e])


def even(power: tuple[PoweredBase, Fraction]) -> bool:
    """Test for an even power of a root or a length, which is a power of what is in it."""
    base, e = power
    return base.head in ("sqrt", "hypot") and e.denominator == 1 and e % 2 == 0 and e != 0


def undone(base: PoweredBase, e: Fraction) -> Monomial:
    """A power of a base; an even one of a root or a length is one of what is in it."""
    if not even((base, e)):
        return alone(base, e)
    inner = base.args[0] if base.head == "sqrt" else plus(*[to_power(a, Fraction(2)) for a in base.args])
    return to_power(inner, e / 2)


def to_power(base: Monomial, e: Fraction) -> Monomial:
    """A power with a constant exponent."""
    if (e.denominator != 1 and (base.factor != 1 or [k for _, k in base.powers] != [1])) or (not base.factor and e <= 0) or \
            (abs(e) > LARGE and abs(base.factor) != 1):
        return alone(PoweredBase(SUM, (base,)), e)   # (x**2)**0.5 is no x
    return times(Monomial(base.factor ** int(e) if base.factor != 1 else Fraction(1)),
                 *[alone(inner, k * e) for inner, k in base.powers])


def plus(*products: Monomial) -> Monomial:
    """A sum, like terms put together, the first one positive if one is."""
    made = collected(products)
    if any(summed(p) for p in made):
        made = collected(term for p in made for term in (terms(p) if summed(p) else [p]))
    made.sort(key=lambda t: t.factor < 0)
    if len(made) < 2:
        return made[0] if made else ZERO
    return alone(PoweredBase(SUM, tuple(made)))


def collected(products: Iterable[Monomial]) -> list[Monomial]:
    """The products, like terms put together."""
    factors: dict[tuple[tuple[PoweredBase, Fraction], ...], Fraction] = {}
    for p in products:
        factors[p.powers] = factors.get(p.powers, Fraction(0)) + p.factor
    return [Monomial(factor, powers) for powers, factor in factors.items() if factor]


def summed(p: Monomial) -> bool:
    """Test for a sum or what is subtracted as one."""
    return len(p.powers) == 1 and p.powers[0][0].head == SUM and p.powers[0][1] == 1 and p.factor in (1, -1)


def terms(p: Monomial) -> list[Monomial]:
    """The terms of a sum with their signs."""
    return [Monomial(t.factor * p.factor, t.powers) for t in p.powers[0][0].args]


def negative(p: Monomial) -> Monomial:
    less = Monomial(-p.factor, p.powers)
    return plus(*terms(less)) if summed(p) and any(t.factor < 0 for t in terms(p)) else less


def call(name: str, *args: Monomial) -> Monomial:
    return alone(PoweredBase(name, args))


def inverse(p: Monomial) -> Monomial:
    return to_power(p, Fraction(-1)) if p.factor else call("div", ONE, ZERO)


def root(x: Monomial) -> Monomial:
    """A square root, with square factors of its number in front."""
    top, bottom = (math.isqrt(abs(k)) for k in (x.factor.numerator, x.factor.denominator))
    if x.factor > 0 and Fraction(top * top, bottom * bottom) == x.factor:
        rest = Monomial(Fraction(1), x.powers)
        return times(Monomial(Fraction(top, bottom)), call("sqrt", rest)) if x.powers else Monomial(Fraction(top, bottom))
    return call("sqrt", x)


def dpow(x: Monomial, y: Monomial, m: Monomial, n: Monomial) -> Monomial:
    """A partial derivative of a power, of order m by the base and n by the exponent."""
    if (m.factor and n.factor) or m.factor < 0 or n.factor < 0:
        return call("dpow", x, y, m, n)
    falling = [plus(y, Monomial(Fraction(-k))) for k in range(int(m.factor))]
    return times(*falling, power(x, plus(y, negative(m))), *[call("log", x)] * int(n.factor))


def power(x: Monomial, y: Monomial) -> Monomial:
    """A power; one with a constant exponent joins other powers of its base."""
    return to_power(x, y.factor) if not y.powers else call("pow", x, y)


def dxlogy(x: Monomial, y: Monomial, n: Monomial) -> Monomial:
    """The derivative of order n ≥ 1 of x·log(y) by y."""
    order = int(n.factor)
    if order < 1:
        return call("dxlogy", x, y, n)
    return times(Monomial(Fraction((-1) ** (order - 1) * math.factorial(order - 1))), x, to_power(y, Fraction(-order)))


def first_of(name: str, derivative: Callable[[Monomial], Monomial]) -> Callable[..., Monomial]:
    """The first derivative written out; higher ones are calls of the row that has all of them."""
    return lambda x, n: derivative(x) if n == ONE and not all(base.constant for base, _ in x.powers) else call(name, x, n)


WRITTEN_OUT: Mapping[str, Callable[..., Monomial]] = {
    "add": plus, "sub": lambda x, y: plus(x, negative(y)), "neg": negative, "mul": times, "dup": lambda x: x,
    "div": lambda x, y: times(x, inverse(y)), "fma": lambda x, y, z: plus(times(x, y), z),
    "pown": power, "pow": power, "sqrt": root, "dpow": dpow,
    "gauss": lambda x: call("exp", negative(to_power(x, Fraction(2)))),
    "sech2": lambda x: to_power(call("cosh", x), Fraction(-2)),
    "unit": lambda x, y: times(x, inverse(operation("hypot", [x, y]))),
    "dxlogy": dxlogy,
    "dsinc": first_of("dsinc", lambda x: times(plus(call("cos", times(PI, x)), negative(call("sinc", x))), inverse(x))),
    "dexprel": first_of("dexprel", lambda x: times(plus(call("exp", x), negative(call("exprel", x))), inverse(x))),
    "lorentz": lambda x: inverse(plus(ONE, to_power(x, Fraction(2)))),
}
"""How mathematics writes operations, by their rows; others are calls."""


def operation(name: str, args: Sequence[Monomial]) -> Monomial:
    if name in WRITTEN_OUT:
        return WRITTEN_OUT[name](*args)
    return call(name, *(sorted(args, key=lambda a: a.key) if name == "hypot" else args))


# ---------------------------------------------------------------- a program again

def rewritten(program: Program) -> Program:
    """The program with its values as products and sums. Values without a name of the text stand where they are used, if that is
    once or they are small; in derivatives small outputs do, too."""
    uses = Counter(a for e in program.equations for a in {*e.args}) + Counter(r.atom for r in program.results)
    outputs = {r.atom for r in program.results}
    forms: dict[Atom, Monomial] = {p.var: alone(PoweredBase(p.var)) for p in program.params}
    inlined: dict[Atom, Monomial] = {}   # outputs, in derivatives
    kept: dict[Atom, tuple[Equation, Monomial]] = {}
    for e in program.equations:
        known = [number(a.value) if isinstance(a, Lit) else inlined.get(a, forms[a]) if e.group else forms[a] for a in e.args]
        form = operation(e.op.name, known)
        for out in e.outs:
            forms[out] = form
            if out in outputs or not out.temp or form.size > (SMALL if uses[out] > 1 else LARGE):
                kept[out] = e, form
                forms[out] = alone(PoweredBase(out))
                if out in outputs and form.size <= SHOWN:
                    inlined[out] = form
    named_values = [v for e in program.equations for v in e.outs]
    taken = {p.name for p in program.params} | {r.name for r in program.results} | {v.name for v in named_values}
    emitter = ProductWriter(kept, taken)
    results: list[Result] = []
    for r in program.results:   # one that is another is written once more, if it is short
        short = kept[r.atom][1] if r.atom in kept and kept[r.atom][1].size <= SHOWN else None
        again = short and r.atom in [other.atom for other in program.results[:len(results)]]
        results.append(r.with_atom(emitter.product(short) if short and again else emitter.named(r.atom)))
    return replace(program, equations=tuple(emitter.builder.equations), results=tuple(results))


class ProductWriter:
    """Writes products as equations of a builder, those that other values name first; `names` are the values that are written, or
    what they are, and `taken` names of the program, which no constant can have."""

    def __init__(self, kept: Mapping[Atom, tuple[Equation, Monomial]], taken: Collection[str | None]) -> None:
        self.builder = Builder()
        self.kept, self.taken = kept, taken
        self.names: dict[Atom, Atom] = {}

    def named(self, atom: Atom) -> Atom:
        """The value of a name; what is a constant or another name alone is that."""
        if atom in self.names or atom not in self.kept:
            return self.names.get(atom, atom)
        waiting = [atom]
        while waiting:   # programs may be deep
            unwritten = [v for v in variables(self.kept[waiting[-1]][1]) if v in self.kept and v not in self.names]
            if unwritten:
                waiting.append(unwritten[0])
                continue
            out = waiting.pop()
            e, form = self.kept[out]
            self.builder.span, self.builder.group = e.span, e.group
            start = len(self.builder.equations)
            value = self.product(form)
            if isinstance(out, Var) and len(self.builder.equations) > start and self.builder.equations[-1].outs == (value,):
                last = self.builder.equations[-1]
                self.builder.equations[-1] = Equation((out,), last.op, last.args, last.span, last.group)
                value = out
            self.names[out] = value
        return self.names[atom]

    def op(self, name: str, *args: Atom) -> Atom:
        return self.builder.emit(primitives.TABLE[name], *args)

    def product(self, p: Monomial) -> Atom:
        powers = sorted(p.powers, key=lambda power: 0 if power[0].constant else 2 if power[0].head == SUM else 1)
        top = [self.power(base, e) for base, e in powers if e > 0]
        bottom = [self.power(base, -e) for base, e in powers if e < 0]
        count = abs(p.factor.numerator)
        minus = p.factor < 0
        if count != 1 or not top:
            top.insert(0, Lit(float(-count if minus else count)))
        elif minus:
            top[0] = self.op("neg", top[0])
        if p.factor.denominator != 1:
            bottom.insert(0, Lit(float(p.factor.denominator)))
        value = self.chain(top)
        return self.op("div", value, self.chain(bottom)) if bottom else value

    def chain(self, atoms: Sequence[Atom]) -> Atom:
        value = atoms[0]
        for a in atoms[1:]:
            value = self.op("mul", value, a)
        return value

    def power(self, base: PoweredBase, e: Fraction) -> Atom:
        x = self.base(base)
        if e == Fraction(1, 2):
            return self.op("sqrt", x)
        return x if e == 1 else self.op("pown" if e.denominator == 1 else "pow", x, Lit(float(e)))

    def base(self, base: PoweredBase) -> Atom:
        if isinstance(base.head, Var):
            return self.names.get(base.head, base.head)
        if isinstance(base.head, float):
            return Lit(float(base.head) if repr(base.head) in self.taken else base.head)
        if base.head != SUM:
            return self.op(base.head, *[self.product(a) for a in base.args])
        value = self.product(base.args[0])
        for term in base.args[1:]:
            less = term.factor < 0
            value = self.op("sub" if less else "add", value, self.product(negative(term) if less else term))
        return value


def variables(product: Monomial) -> Iterator[Atom]:
    """The values that a product names."""
    for base, _ in product.powers:
        if isinstance(base.head, Var):
            yield base.head
        for a in base.args:
            yield from variables(a)
