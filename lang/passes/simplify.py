"""Simplification that never changes a bit: equal equations once, exact operations folded, dead equations dropped.

One pass forward with a hash table and one backward, so the time is linear. What is folded is what IEEE arithmetic guarantees
to be the same double for every operand, NaN and −0 included: x·1, x/1, x − 0, x + (−0), −(−x), signs that meet;
and operations on constants that are correctly rounded everywhere. x·0 and x + 0 are not folded: they are not exact.

The body of a comprehension is simplified as any program is; constants among its arguments and equal sources go into it, and
guards that always hold are dropped.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from adcli.lang.ir import Atom, Equation, Lit, Program, Var
from adcli.lang.ir.affine import Affine, Index, affine, substituted
from adcli.lang.ir.comprehension import BodySource, Comprehension, Read
from adcli.lang.ir.elementwise import compact
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.rounded import Rounded, folded

ValueKey = tuple[object, ...]
"""What two equations have in common that compute the same value."""
DUP, SELECT, NEG, NOT = TABLE["dup"], TABLE["select"], TABLE["neg"], TABLE["not"]
ADD, SUB, MUL, DIV, POWN = TABLE["add"], TABLE["sub"], TABLE["mul"], TABLE["div"], TABLE["pown"]
AND, OR, POW = TABLE["and"], TABLE["or"], TABLE["pow"]

COMPARE: dict[str, Callable[[float, float], bool]] = {
    "lt": lambda x, y: x < y, "le": lambda x, y: x <= y, "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y,
    "eq": lambda x, y: x == y, "ne": lambda x, y: x != y}


def simplify(program: Program, known: Mapping[Atom, Atom] | None = None) -> Program:
    """The same program, bit for bit at every point, with no equation that another one makes needless.

    `known` says of inputs what they are: a constant, or another input.
    """
    return prune(_Folder(program, known).program())


def prune(program: Program) -> Program:
    """The program without the equations that no result needs."""
    needed: set[Atom] = {r.atom for r in program.results}
    kept = []
    for e in reversed(program.equations):
        if not needed.isdisjoint(e.outs):
            kept.append(e)
            needed.update(e.args)
    kept.reverse()
    return replace(program, equations=tuple(kept))


class _Folder:
    """The forward pass: what each variable is now, and which equation computed what."""

    def __init__(self, program: Program, known: Mapping[Atom, Atom] | None = None) -> None:
        self.old = program
        self.env: dict[Atom, Atom] = dict(known or {})
        self.seen: dict[ValueKey, Var] = {}
        self.defined: dict[Atom, Equation] = {}
        self.known: dict[Atom, bool] = {}
        self.equations: list[Equation] = []

    def program(self) -> Program:
        for e in self.old.equations:
            self.equation(e)
        results = tuple([r.with_atom(self.env.get(r.atom, r.atom)) for r in self.old.results])
        return replace(self.old, equations=tuple(self.equations), results=results)

    def equation(self, e: Equation) -> None:
        args = tuple([self.env.get(a, a) for a in e.args])
        if e.op is POW and isinstance(args[1], Lit):
            args = (args[0], self.exponent(e.args[1], args[1]))
        if e.op is DUP:
            self.env.update(dict.fromkeys(e.outs, args[0]))
            return
        out = e.outs[0]
        if isinstance(e.op, Comprehension):
            self.comprehension(e, e.op, args)
            return
        if e.op.truth:
            self.learn(e, args)
        else:
            folded = self.fold(e, args)
            if folded is not None:
                self.env[out] = folded
                return
        self.keep(e.with_args(args))

    def comprehension(self, e: Equation, op: Comprehension, args: tuple[Atom, ...]) -> None:
        """A comprehension with its body simplified; what it starts from, where it has no points."""
        op, args = normal(op, args)
        if op.onto is not None and empty(op):
            self.env[e.outs[0]] = args[op.onto]
        else:
            self.keep(Equation(e.outs, op, args, e.span, e.group))

    def exponent(self, was: Atom, now: Lit) -> Atom:
        """The exponent of a power. A literal integer there means `pown`, which rounds otherwise, so a computed one stays so."""
        if isinstance(was, Lit) or now.integer is None:
            return now
        return self.keep(Equation((Var(None, True),), MUL, (now, Lit(1.0))))

    def keep(self, e: Equation) -> Atom:
        """Enter an equation, unless an equal one stands already; returns the value."""
        key = value_key(e)
        earlier = self.seen.get(key)
        if earlier is not None:
            self.env[e.outs[0]] = earlier
            if e.outs[0] in self.known:
                self.known[earlier] = self.known[e.outs[0]]
            return earlier
        self.seen[key] = e.outs[0]
        self.defined[e.outs[0]] = e
        self.equations.append(e)
        return e.outs[0]

    # -- truth values whose operands are constants

    def learn(self, e: Equation, args: tuple[Atom, ...]) -> None:
        """Note a truth value that is the same at every point; only `select` makes use of it."""
        compare = COMPARE.get(e.op.name)
        truths = [self.known.get(a) for a in args]
        if compare is not None:
            x, y = args
            if isinstance(x, Lit) and isinstance(y, Lit) and Rounded not in (type(x.value), type(y.value)):
                self.known[e.outs[0]] = compare(x.value, y.value)
        elif e.op is NOT:
            if truths[0] is not None:
                self.known[e.outs[0]] = not truths[0]
        else:
            dominant = e.op is OR
            if dominant in truths:
                self.known[e.outs[0]] = dominant
            elif None not in truths:
                self.known[e.outs[0]] = not dominant

    # -- real values

    def fold(self, e: Equation, args: tuple[Atom, ...]) -> Atom | None:
        """The atom that an equation comes to, or None if it must be computed as it stands."""
        rule = FOLDS.get(e.op.name)
        if all(isinstance(a, Lit) for a in args):
            exact = CONSTANT.get(e.op.name)
            if exact is not None:
                values = tuple([a.value for a in args if isinstance(a, Lit)])
                result = exact(*values)
                meant = None if result is None else folded(e.op.name, result, values)
                if meant is not None:
                    return Lit(meant)
        return rule(self, e, args) if rule else None

    def negated(self, atom: Atom) -> Atom | None:
        """y, if the atom is −y."""
        if isinstance(atom, Lit):
            return Lit(-atom.value) if math.copysign(1.0, atom.value) < 0 and not math.isnan(atom.value) else None
        e = self.defined.get(atom)
        return e.args[0] if e is not None and e.op is NEG else None

    def again(self, e: Equation, op: str, *args: Atom) -> Atom:
        """The value of the equation rewritten as op(args), with the same variable."""
        rewritten = Equation(e.outs, TABLE[op], args, e.span, e.group)
        folded = self.fold(rewritten, args)
        return self.keep(rewritten) if folded is None else folded


# ---------------------------------------------------------------- what is the same

def value_key(e: Equation) -> ValueKey:
    """Equal for equations that compute the same of the same arguments."""
    parts: list[object] = [identity(a) if isinstance(a, Lit) else id(a) for a in e.args]
    if isinstance(e.op, Comprehension):
        return (structure(e.op), *parts)
    if e.op.commutes and len(parts) == 2:
        parts.sort(key=repr)
    return (e.op, *parts)


def identity(constant: Lit) -> object:
    """What tells constants apart: their bits, and the meaning of what was rounded."""
    return (constant.bits, constant.value.meaning) if type(constant.value) is Rounded else constant.bits


def structure(op: Comprehension) -> ValueKey:
    """What two comprehensions have in common that compute the same of the same arguments, whatever their indices are called."""
    by: dict[Index | str, Affine] = {r.index: affine(f" {k}") for k, r in enumerate(op.ranges)}
    return (op.reduction, op.onto, op.shape, tuple((r.low, r.high) for r in op.ranges),
            tuple(substituted(g, by) for g in op.guards), tuple(_form(s, by) for s in op.write),
            tuple(_form(s, by) for s in op.sources), body_structure(op.body))


def _form(s: BodySource, by: Mapping[Index | str, Affine]) -> object:
    return (s.arg, *[_form(x, by) for x in s.subscripts]) if isinstance(s, Read) else substituted(s, by)


def body_structure(body: Program) -> ValueKey:
    """The operations of a body in order, with numbers for its values."""
    number: dict[Atom, int] = {p.var: k for k, p in enumerate(body.params)}

    def part(a: Atom) -> object:
        return identity(a) if isinstance(a, Lit) else number[a]

    lines: list[object] = []
    for e in body.equations:
        lines.append((e.op, *map(part, e.args)))
        for out in e.outs:
            number[out] = len(number)
    return (len(body.params), *lines, part(body.results[0].atom))


# ---------------------------------------------------------------- comprehensions

def normal(op: Comprehension, args: tuple[Atom, ...]) -> tuple[Comprehension, tuple[Atom, ...]]:
    """The same comprehension with a simplified body, and without sources, arguments and guards that it does not need."""
    known: dict[Atom, Atom] = {}
    first: dict[object, Var] = {}
    for p, s in zip(op.body.params, op.sources, strict=True):
        constant = _constant(s, args)
        if constant is not None:
            known[p.var] = constant
        else:
            earlier = first.setdefault(_read_form(s, args), p.var)
            if earlier is not p.var:
                known[p.var] = earlier
    guards = tuple(g for g in op.guards if g.number is None or g.number < 0)
    return compact(replace(op, guards=guards, body=simplify(op.body, known)), args)


def empty(op: Comprehension) -> bool:
    """Whether the domain has no points whatever the sizes are."""
    lengths = [(r.high - r.low).number for r in op.ranges]
    return any(g.number is not None and g.number < 0 for g in op.guards) or any(n is not None and n <= 0 for n in lengths)


def _constant(s: BodySource, args: tuple[Atom, ...]) -> Lit | None:
    if isinstance(s, Read):
        atom = args[s.arg]
        return atom if isinstance(atom, Lit) else None
    return None if s.number is None else Lit(float(s.number))


def _read_form(s: BodySource, args: tuple[Atom, ...]) -> object:
    """What two sources have in common that are the same value: the argument is known by its value."""
    return (id(args[s.arg]), *[_read_form(x, args) for x in s.subscripts]) if isinstance(s, Read) else s


# ---------------------------------------------------------------- exact operations

def _is(atom: Atom, value: float) -> bool:
    """Whether the atom is this very double (−0 is not 0) and not only rounded to it."""
    return (isinstance(atom, Lit) and atom.value == value and math.copysign(1, atom.value) == math.copysign(1, value)
            and type(atom.value) is not Rounded)


def _add(f: _Folder, e: Equation, args: tuple[Atom, ...]) -> Atom | None:
    x, y = args
    if _is(x, -0.0) or _is(y, -0.0):
        return y if _is(x, -0.0) else x
    minus_y, minus_x = f.negated(y), f.negated(x)
    if minus_y is not None and isinstance(y, Var):
        return f.again(e, "sub", x, minus_y)
    if minus_x is not None and isinstance(x, Var):
        return f.again(e, "sub", y, minus_x)
    return None


def _sub(f: _Folder, e: Equation, args: tuple[Atom, ...]) -> Atom | None:
    x, y = args
    if _is(y, 0.0):
        return x
    if _is(x, -0.0):
        return f.again(e, "neg", y)
    minus_y = f.negated(y)
    return f.again(e, "add", x, minus_y) if minus_y is not None and isinstance(y, Var) else None


def _mul(f: _Folder, e: Equation, args: tuple[Atom, ...]) -> Atom | None:
    x, y = args
    if _is(x, 1.0) or _is(y, 1.0):
        return y if _is(x, 1.0) else x
    if _is(x, -1.0) or _is(y, -1.0):
        return f.again(e, "neg", y if _is(x, -1.0) else x)
    return _signs(f, e, "mul", x, y)


def _div(f: _Folder, e: Equation, args: tuple[Atom, ...]) -> Atom | None:
    x, y = args
    if _is(y, 1.0):
        return x
    if _is(y, -1.0):
        return f.again(e, "neg", x)
    return _signs(f, e, "div", x, y)


def _signs(f: _Folder, e: Equation, op: str, x: Atom, y: Atom) -> Atom | None:
    """Signs that meet in a product or quotient. A sign alone stays where it is: moved out of the product, it would change
    the sign of a zero in the derivative, where −(a − b) is not b − a."""
    minus_x = f.negated(x) if isinstance(x, Var) else None
    minus_y = f.negated(y) if isinstance(y, Var) else None
    if minus_x is not None and minus_y is not None:
        return f.again(e, op, minus_x, minus_y)
    if minus_x is not None:
        return f.again(e, op, minus_x, Lit(-y.value)) if isinstance(y, Lit) else None
    if minus_y is not None:
        return f.again(e, op, Lit(-x.value), minus_y) if isinstance(x, Lit) else None
    return None


def _neg(f: _Folder, e: Equation, args: tuple[Atom, ...]) -> Atom | None:
    if isinstance(args[0], Lit):
        return Lit(-args[0].value)
    return f.negated(args[0])


def _pown(f: _Folder, e: Equation, args: tuple[Atom, ...]) -> Atom | None:
    x, n = args
    if _is(n, 1.0):
        return x
    if isinstance(n, Lit) and n.value == 0:
        return Lit(1.0)
    return f.again(e, "mul", x, x) if _is(n, 2.0) else None


def _select(f: _Folder, e: Equation, args: tuple[Atom, ...]) -> Atom | None:
    c, x, y = args
    if x is y or (isinstance(x, Lit) and isinstance(y, Lit) and identity(x) == identity(y)):
        return x
    if c in f.known:
        return x if f.known[c] else y
    while (condition := f.defined.get(c)) is not None and condition.op is NOT:
        c, x, y = condition.args[0], y, x
    return None if c is args[0] else f.again(e, "select", c, x, y)


FOLDS: dict[str, Callable[[_Folder, Equation, tuple[Atom, ...]], Atom | None]] = {
    "add": _add, "sub": _sub, "mul": _mul, "div": _div, "neg": _neg, "pown": _pown, "select": _select}


CONSTANT: dict[str, Callable[..., float | None]] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y if y != 0 else None, "abs": lambda x: abs(x), "sqrt": lambda x: math.sqrt(x) if x >= 0 else None}
"""Operations that every machine rounds alike, on constants; None where Python would raise."""
