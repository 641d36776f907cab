"""Arithmetic of truncated power series on the IR, by the rules of the primitive table.

A rule says z' = Σ mapᵢ(xᵢ') for z = f(x₁, …), and along x(s) that is a differential equation: coefficient k of z is coefficient
k − 1 of the right-hand side, divided by k. The right-hand side is what the rule emits, with the series of xᵢ' as its seed; it
is read as operations on series again. So sin needs the series of cos, which needs that of sin, each one order behind the
other, and nothing expands for ever because equal operations on equal series are one. Only sums, products, quotients and
choices are done on coefficients (R. E. Moore, Interval Analysis, 1966, ch. 11; A. Griewank and A. Walther, Evaluating
Derivatives, 2nd ed. 2008, ch. 13).

A coefficient that is zero by construction is None; one that exists under a condition is a `Term` with its guard, so the
conventions of order 1 are those of forward mode. Outside a domain every coefficient is NaN, as the value is.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from adcli.lang.ir import Atom, Equation, Lit, Primitive, Var
from adcli.lang.ir.build import Builder, Expr, When, mapped
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import LONGEST_CHAIN, NAN, TABLE
from adcli.lang.modes.guards import Guard, Term, restrict, result, total
from adcli.lang.simplify.simplify import CONSTANT, identity

ADD, SUB, NEG, MUL, DIV = (TABLE[name] for name in ("add", "sub", "neg", "mul", "div"))
SELECT, DUP, POW, POWN, AND, NOT, NE = (TABLE[name] for name in ("select", "dup", "pow", "pown", "and", "not", "ne"))


class PowerSeries:
    """A power series in s, by what it is the result of; its coefficients are computed in order, when one asks for them.

    `terms[k]` is coefficient k, None where it is zero by construction. A series that is not `active` is a constant.
    A `flat` one is constant as long as it is a number: its further coefficients are NaN where the value is, else none.
    `origin` is the series that this is the derivative of; a series made from derivatives is `seeded`, and linear in them.
    `slopes` is the right-hand side of the differential equation, `same` a series with the same further coefficients.
    """

    __slots__ = ("active", "args", "flat", "op", "origin", "same", "seeded", "slopes", "terms")

    def __init__(self, op: Primitive | None = None, args: tuple[PowerSeries, ...] = (), active: bool = False,
                 flat: bool = True) -> None:
        self.op, self.args, self.active, self.flat = op, args, active, flat
        self.seeded: bool = any(a.seeded for a in args)
        self.terms: list[Term | None] = []
        self.origin: PowerSeries | None = None
        self.slopes: list[SlopeSeries] | None = None
        self.same: PowerSeries | None = None

    @property
    def value(self) -> Expr:
        """The value at s = 0, which every series but a seeded one has."""
        term = self.terms[0]
        assert term is not None
        return term.value

    def term(self, k: int) -> Term | None:
        """Coefficient k, which has been computed."""
        return self.terms[k] if k == 0 or self.active else None

    @property
    def constant(self) -> Lit | None:
        """The constant that this is, where it is one by construction."""
        return self.value.atom if self.op is None and not self.active and isinstance(self.value.atom, Lit) else None


class SlopeSeries:
    """One map of a rule as a series, and the truth values under which it exists."""

    __slots__ = ("conditions", "series")

    def __init__(self, series: PowerSeries, conditions: list[tuple[PowerSeries, bool]]) -> None:
        self.series, self.conditions = series, conditions


class Expansion:
    """The series of a program's values, equal ones once, and the equations of their coefficients."""

    def __init__(self, b: Builder, order: int, most: int) -> None:
        self.b, self.order, self.most = b, order, most
        self.series: dict[Atom, PowerSeries] = {}
        self.known: dict[tuple[object, ...], PowerSeries] = {}
        self.ratios: dict[tuple[int, int], Term] = {}
        self.hints: dict[Atom, Var] = {}
        self.outside = PowerSeries(active=True)
        self.outside.terms = [Term(b, Lit(NAN))] * (order + 1)
        self.compute: dict[Primitive | None, Callable[[PowerSeries, int], Term | None]] = {
            ADD: self.plus, SUB: self.minus, NEG: self.negative, MUL: self.product, DIV: self.quotient, SELECT: self.choice}

    # -- the program

    def enter(self, value: Var, direction: Var | None) -> None:
        """An input, which is x + s·dx along the direction dx."""
        s = self.series[value] = PowerSeries(active=direction is not None, flat=direction is None)
        s.terms = [Term(self.b, value), None if direction is None else Term(self.b, direction)]
        s.terms += [None] * (self.order - 1)

    def line(self, e: Equation) -> None:
        """An equation and, behind it, the coefficients of its result."""
        self.b.equations.append(e)
        self.b.span, self.b.group = e.span, self.b.group + 1
        if e.op is DUP:
            self.series.update(dict.fromkeys(e.outs, self.read(e.args[0])))
            return
        out = e.outs[0]
        s = self.series[out] = self.series_of(e.op, [self.read(a) for a in e.args])
        if not s.terms:
            s.terms.append(Term(self.b, out))
        for k in range(len(s.terms), self.order + 1 if s.active else 0):
            self.b.group += 1
            term = self.coefficient(s, k)
            if term is not None and out.name and isinstance(term.atom, Var) and term.atom.name is None:
                self.hints.setdefault(term.atom, Var(f"{out.name}_{k}", out.temp))

    def result(self, atom: Atom, k: int, factor: int) -> Atom:
        """A multiple of coefficient k of a result, as the user sees it."""
        found = result(self.b, self.coefficient(self.read(atom), k))
        return found if factor == 1 or isinstance(found, Lit) else (self.b.expr(found) * factor).atom

    def read(self, atom: Atom) -> PowerSeries:
        return self.literal(atom) if isinstance(atom, Lit) else self.series[atom]

    # -- which series there are

    def literal(self, value: Lit) -> PowerSeries:
        key = identity(value)
        s = self.known.get((key,))
        if s is None:
            s = self.known[key,] = PowerSeries()
            s.terms.append(Term(self.b, value))
        return s

    def derivative(self, s: PowerSeries) -> PowerSeries:
        """The derivative of a series: k + 1 times coefficient k + 1."""
        d = self.known.get(("derivative", id(s)))
        if d is None:
            d = self.known["derivative", id(s)] = PowerSeries(active=True, flat=False)
            d.origin, d.seeded = s, True
        return d

    def series_of(self, op: Primitive, args: Sequence[PowerSeries]) -> PowerSeries:
        """op(args) as a series, always the same one for the same arguments."""
        s = self.shorter(op, args[0], args[-1])
        key = (op, *map(id, args))
        s = s or self.known.get(key)
        if s is None:
            active = not op.truth and any(a.active for a in args)
            flat = op.pieces == "step" or (not op.hides_nan and all(a.flat or op.map(i) is None for i, a in enumerate(args)))
            s = self.known[key] = PowerSeries(op, tuple(args), active, flat)
        return s

    def shorter(self, op: Primitive, first: PowerSeries, last: PowerSeries) -> PowerSeries | None:
        """A series that op(first, last) is, exactly: a sign that meets a sign, and the derivative of y·c where c is flat."""
        if op is NEG:
            if first.op is NEG:
                return first.args[0]
            return self.derivative(self.series_of(NEG, [first.origin])) if first.origin else None
        if op is MUL and last.origin:
            first, last = last, first
        if op in (MUL, DIV) and first.origin and last.flat:
            return self.derivative(self.series_of(op, [first.origin, last]))
        return None

    # -- the rules

    def slopes(self, s: PowerSeries) -> list[SlopeSeries]:
        """The right-hand side of the differential equation of s, made once."""
        if s.slopes is None:
            s.slopes = list(self.by_rules(s))
        return s.slopes

    def by_rules(self, s: PowerSeries) -> Iterator[SlopeSeries]:
        """The rules of s applied to the derivatives of its arguments, where that is not zero by construction."""
        assert s.op is not None
        e, scratch, read = Equation((s.value.var,), s.op, tuple([a.value.atom for a in s.args])), Builder(), 0
        here: dict[Atom, PowerSeries] = {s.value.atom: s, **{a.value.atom: a for a in s.args}}
        for i, a in enumerate(s.args):
            seed = Var()
            found = mapped(scratch, e, i, scratch.expr(seed)) if a.active else None
            if found is None:
                continue
            here[seed] = self.derivative(a)
            for made in scratch.equations[read:]:
                here[made.outs[0]] = self.emitted(s, made.op, [self.in_rule(here, x) for x in made.args])
            read = len(scratch.equations)
            if isinstance(found, When):
                yield SlopeSeries(self.in_rule(here, found.value.atom), conditions(here[found.condition.atom]))
            else:
                yield SlopeSeries(self.in_rule(here, found.atom), [])

    def in_rule(self, here: dict[Atom, PowerSeries], atom: Atom) -> PowerSeries:
        """The series of an operand of a rule. A NaN there says that the point is outside the domain, where no coefficient is a
        number."""
        if atom in here or isinstance(atom, Var):
            return here[atom]
        return self.outside if math.isnan(atom.value) else self.literal(atom)

    def emitted(self, s: PowerSeries, op: Primitive, args: list[PowerSeries]) -> PowerSeries:
        """An operation that the rule of s has emitted.

        Constants are folded. A power climbs down to ever lower ones until its exponent is below 0: from there on
        x**(p − 1) is x**p / x, also for x = 0. (For p > 0 it is not.)
        """
        values = [c.value for a in args if (c := a.constant) is not None]
        if op.name in CONSTANT and len(values) == len(args) and all(type(x) is float for x in values):
            folded = CONSTANT[op.name](*values)
            if folded is not None:
                return self.literal(Lit(folded))
        if op in (POW, POWN) and args[1].constant is not None:
            if op is s.op and args[0] is s.args[0] and values[-1] < -1:
                return self.series_of(DIV, [s, args[0] if op is POWN else self.series_of(ADD, [args[0], self.literal(Lit(0.0))])])
            op = POW if args[1].constant.integer is None else POWN
        return self.series_of(op, args)

    # -- coefficients

    def coefficient(self, s: PowerSeries, k: int) -> Term | None:
        """Coefficient k of a series. What it needs first waits on a stack, since a chain of rules can be as long as k."""
        stack: list[tuple[PowerSeries, int]] = [(s, k)] if s.active or k == 0 else []
        while stack:
            here, j = stack[-1]
            if j < len(here.terms):
                stack.pop()
                continue
            if len(self.b.equations) > self.most:
                raise AdError(f"the coefficients up to order {self.order} take more than {self.most:,} operations",
                              help="ask for a lower order")
            missing = [(a, i) for a, i in self.needs(here, j) if i >= len(a.terms) and (a.active or i == 0)]
            if len(here.terms) < j:
                missing.append((here, j - 1))
            if missing:
                stack += missing
            else:
                here.terms.append(self.next_term(here, j))
        return s.term(k)

    def needs(self, s: PowerSeries, k: int) -> Iterator[tuple[PowerSeries, int]]:
        """The coefficients that coefficient k of s is computed from."""
        if s.origin is not None:
            yield s.origin, k + 1
        elif k and s.flat and s.op is not None and s.op not in self.compute:
            for i, a in enumerate(s.args):
                yield a, 0 if s.op.pieces == "step" or s.op.map(i) is None else 1
        elif k == 0 or s.op in self.compute:
            for a in s.args:
                yield a, 0 if a.op is not None and a.op.truth else k
        elif (chain := self.chain(s)) is not None:
            yield chain, k
        else:
            for m in self.slopes(s):
                yield (m.series, k - 1) if m.series.origin is None else (m.series.origin, k)
                for c, _ in m.conditions:
                    yield c, 0

    def next_term(self, s: PowerSeries, k: int) -> Term | None:
        """Coefficient k of s, where those that it needs are known."""
        if s.origin is not None:
            ahead = s.origin.term(k + 1)
            return ahead if k == 0 or ahead is None else Term.of(ahead.value * (k + 1), ahead.guard)
        assert s.op is not None
        if k == 0 and not s.seeded:
            return Term(self.b, self.b.emit(s.op, *[a.value.atom for a in s.args]))
        if s.op in self.compute:
            return self.compute[s.op](s, k)
        if s.flat:
            return self.lost(s, s.op)
        chain = self.chain(s)
        return chain.term(k) if chain is not None else self.sum([self.integral(m, k) for m in self.slopes(s)])

    def integral(self, m: SlopeSeries, k: int) -> Term | None:
        """Coefficient k of the integral of one map."""
        if m.series.origin is not None:
            term = m.series.origin.term(k)
        else:
            term = m.series.term(k - 1)
            if term is not None and k > 1:
                term = Term.of(term.value / k, term.guard)
        return self.under(term, tuple([(truth_of(c), wanted) for c, wanted in m.conditions]))

    def chain(self, s: PowerSeries) -> PowerSeries | None:
        """x**n with a small constant n as the products that it is; their series have the further coefficients of s."""
        if s.same is None and s.op is POWN and (n := s.args[1].constant) is not None and 1 < n.value <= LONGEST_CHAIN:
            s.same = s.args[0]
            for bit in f"{int(n.value):b}"[1:]:
                s.same = self.series_of(MUL, [s.same, s.same])
                if bit == "1":
                    s.same = self.series_of(MUL, [s.same, s.args[0]])
        return s.same

    # -- arithmetic of coefficients

    def lost(self, s: PowerSeries, op: Primitive) -> Term | None:
        """A further coefficient of a flat series: NaN where one of an argument is, and none else."""
        if op.pieces != "step":
            found = [a.term(1) for i, a in enumerate(s.args) if op.map(i) is not None]
            return self.sum([Term.of(self.outside.value, term.guard) for term in found if term is not None])
        missing = self.series_of(NE, [s.args[0], s.args[0]])
        self.coefficient(missing, 0)
        return Term.of(self.outside.value, ((truth_of(missing), True),))

    def plus(self, s: PowerSeries, k: int) -> Term | None:
        return self.sum([a.term(k) for a in s.args])

    def minus(self, s: PowerSeries, k: int) -> Term | None:
        first, second = s.args
        return self.sum([first.term(k), negated(second.term(k))])

    def negative(self, s: PowerSeries, k: int) -> Term | None:
        return negated(s.args[0].term(k))

    def choice(self, s: PowerSeries, k: int) -> Term | None:
        """The coefficient of the arm taken."""
        condition, first, second = s.args
        c = truth_of(condition)
        return total(self.b, [self.under(first.term(k), ((c, True),)), self.under(second.term(k), ((c, False),))])

    def product(self, s: PowerSeries, k: int) -> Term | None:
        """Σ xⱼ y₍ₖ₋ⱼ₎."""
        x, y = s.args
        if k and (x.flat or y.flat):
            flat, other = (x, y) if x.flat else (y, x)
            whole = self.times(flat.term(0), other.term(k))
            return whole if whole and not whole.guard else self.sum([whole, self.times(flat.term(k), other.term(0))])
        return self.sum([self.times(x.term(j), y.term(k - j)) for j in range(k + 1)])

    def quotient(self, s: PowerSeries, k: int) -> Term | None:
        """zₖ = xₖ/y₀ − Σ (yⱼ/y₀) z₍ₖ₋ⱼ₎ over j ≥ 1, in the form of the rule of division."""
        x, y = s.args
        head = None if (top := x.term(k)) is None else Term.of(top.value / y.value, top.guard)
        if y.flat:
            return head if k == 0 or (head and not head.guard) else self.sum([head, self.times(self.ratio(y, k), s.term(0))])
        return self.sum([head, *[self.times(self.ratio(y, j), s.term(k - j)) for j in range(1, k + 1)]])

    def ratio(self, y: PowerSeries, j: int) -> Term | None:
        """−yⱼ/y₀."""
        term = y.term(j)
        if term is None:
            return None
        key = (id(y), j)
        if key not in self.ratios:
            self.ratios[key] = Term.of(-(term.value / y.value), term.guard)
        return self.ratios[key]

    def times(self, x: Term | None, y: Term | None) -> Term | None:
        """The product of two terms; None where there is no point at which both exist."""
        if x is None or y is None:
            return None
        guard = restrict(self.b, x.guard, y.guard) if y.guard else x.guard
        outside = self.outside.value
        value = outside if outside.atom in (x.atom, y.atom) else x.value * y.value
        return None if guard is None else Term.of(value, guard)

    def under(self, x: Term | None, more: Guard) -> Term | None:
        """A term under a further condition."""
        guard = restrict(self.b, x.guard, more) if x is not None and more else None
        return x if x is None or not more else None if guard is None else Term.of(x.value, guard)

    def sum(self, terms: Iterable[Term | None]) -> Term | None:
        """The sum of terms, those that exist under the same guard first, so that each guard is looked at once."""
        groups: dict[Guard, list[Term]] = {}
        for term in terms:
            if term is not None:
                groups.setdefault(term.guard, []).append(term)
        return total(self.b, [total(self.b, group) for group in groups.values()])


def negated(term: Term | None) -> Term | None:
    return None if term is None else Term.of(-term.value, term.guard)


def truth_of(condition: PowerSeries) -> Var:
    atom = condition.value.atom
    assert isinstance(atom, Var)
    return atom


def conditions(condition: PowerSeries) -> list[tuple[PowerSeries, bool]]:
    """A condition as the truth values that must hold or fail together."""
    found: list[tuple[PowerSeries, bool]] = []
    stack = [(condition, True)]
    while stack:
        s, wanted = stack.pop()
        if s.op is NOT:
            stack.append((s.args[0], not wanted))
        elif s.op is AND and wanted:
            stack += [(s.args[1], True), (s.args[0], True)]
        else:
            found.append((s, wanted))
    return found
