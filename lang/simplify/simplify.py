"""Simplification that never changes a bit: equal equations once, exact operations folded, dead equations dropped.

One pass forward with a hash table and one backward, so the time is linear. What is folded is what IEEE arithmetic guarantees
to be the same double for every operand, NaN and −0 included: x·1, x/1, x − 0, x + (−0), −(−x), signs that meet; twice c·x and
powers of two times it, which are one product where c is a whole number (`one_product`); and operations on constants that are
correctly rounded everywhere. x·0 and x + 0 are not folded: they are not exact.

The body of a comprehension is simplified as any program is; constants among its arguments and equal sources go into it, and
guards that always hold are dropped.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from adcli.lang.ir import Atom, Atoms, Equation, Lit, Primitive, Program, Var
from adcli.lang.ir.primitives import INDEX_POWER, TABLE
from adcli.lang.ir.rounded import Rounded, folded
from adcli.lang.simplify.ranges import SMALLEST, Context, Ranges, apart, contexts

if TYPE_CHECKING:
    from adcli.lang.simplify.nonzero_domains import Support

ValueKey = tuple[object, ...]
"""A value number: equal for equations that compute the same value."""
DUP, SELECT, NEG, NOT = TABLE["dup"], TABLE["select"], TABLE["neg"], TABLE["not"]
ADD, SUB, MUL, DIV, POWN = TABLE["add"], TABLE["sub"], TABLE["mul"], TABLE["div"], TABLE["pown"]
POW, ABS = TABLE["pow"], TABLE["abs"]
TWO = Lit(2.0)
of_tensors = cache(lambda: import_module(f"{__name__}_tensors"))
"""The part for operations on tensors, which programs of scalars never load."""


def simplify(program: Program, known: Mapping[Atom, Atom] | None = None, truths: Mapping[Atom, bool] | None = None) -> Program:
    """Simplify a program without changing a bit of its results: no equation that another one makes needless.

    `known` says of inputs what they are: a constant, or another input; `truths` which value a condition has.
    """
    return prune(Folder(known, truths, tested(program)).program(program))


def tested(program: Program) -> Mapping[Atom, Context]:
    """The contexts of a program in which rules make choices."""
    return contexts(program) if any(e.op is SELECT and e.group for e in program.equations) else {}


def prune(program: Program) -> Program:
    """The program without the equations that no result needs."""
    needed: set[Atom] = {r.atom for r in program.results}
    kept, changed = list[Equation](), False
    for e in reversed(program.equations):
        if e.outs[0] in needed or (len(e.outs) > 1 and not needed.isdisjoint(e.outs)):
            living = e if type(e.op) is Primitive else e.op.living(e, needed)   # as most of a long program
            changed = changed or living is not e
            kept.append(living)
            needed.update(living.args)
    if len(kept) == len(program.equations) and not changed:
        return program
    kept.reverse()
    return replace(program, equations=tuple(kept))


class Folder:
    """The forward pass: what each variable is now, and which equation computed what."""

    def __init__(self, known: Mapping[Atom, Atom] | None = None, truths: Mapping[Atom, bool] | None = None,
                 under: Mapping[Atom, Context] | None = None) -> None:
        self.env: dict[Atom, Atom] = dict(known or {})
        self.seen: dict[ValueKey, Var] = {}
        self.constants: dict[Lit, Lit] = {}    # the first of those that are the same
        self.plain: dict[Atom, Lit] = {}       # of them those that nothing is exact beside
        self.first: dict[object, Lit] = {}
        self.folded: dict[ValueKey, Lit | None] = {}   # what operations on constants come to
        self.opposite: dict[Atom, Atom] = {}   # of the results of `neg` and `not`
        self.negatives: dict[Lit, Lit] = {}    # constants with the other sign
        self.scaled: dict[Atom, tuple[Lit, Atom]] = {}   # products of a constant and a variable
        self.factors: dict[tuple[Lit, Lit], Lit | None] = {}   # what two constants are that are one factor
        self.known: dict[Atom, bool] = dict(truths or {})   # truth values that are the same at every point
        self.onto: dict[Atom, Equation] = {}   # of comprehensions onto another value
        self.loops: dict[object, tuple[Var, ...]] = {}   # what recurrences have made
        self.supports: dict[Atom, Support] = {}   # of tensors where that is known
        self.equations: list[Equation] = []
        self.ranges = Ranges(self.equations)
        self.under = under or {}   # the conditions under which old values matter

    def context(self, e: Equation) -> list[tuple[Atom, bool]]:
        """The conditions under which the value of an equation matters, as they are now."""
        return [(self.env.get(c, c), truth) for c, truth in self.under.get(e.outs[0], ())]

    def program(self, old: Program) -> Program:
        self.lines(old.equations)
        results = tuple([r.with_atom(self.env.get(r.atom, r.atom)) for r in old.results])
        return replace(old, equations=tuple(self.equations), results=results)

    def lines(self, equations: Iterable[Equation]) -> None:
        """Each equation as it comes to be: dropped where it is a value that stands already, else kept."""
        env, opposite, known, plain, keep, rules = self.env, self.opposite, self.known, self.plain, self.keep, FOLDS
        number, now, entered, append = self.number, env.get, self.seen.setdefault, self.equations.append
        a: Atom | None
        b: Atom | None
        args: Atoms
        for e in equations:
            op = e.op
            if op in PLAIN_OPERATIONS:
                first, second = e.args
                x, y = now(first, first), now(second, second)
                if type(x) is Var:
                    a, b = x, y if type(y) is Var else plain.get(y) or number(y)
                else:
                    a, b = plain.get(x) or number(x), y if type(y) is Var else None
                if (a is not None and b is not None and a not in opposite and b not in opposite
                        and (not known or (a not in known and b not in known))):   # as `keep` does, which is called less often
                    out = e.outs[0]
                    if ((op is MUL and (type(a) is Lit or type(b) is Lit)) or (a is b and op is ADD)) and (
                            value := one_product(self, e, (a, b))):
                        env[out] = value
                        continue
                    earlier = entered((op, b, a) if op.commutes and id(b) < id(a) else (op, a, b), out)
                    if earlier is not out:
                        env[out] = earlier
                    else:
                        append(e if x is first and y is second else Equation(e.outs, op, (x, y), e.span, e.group))
                    continue
                args = x, y
            elif op in OF_ONE:
                first, = e.args
                x = now(first, first)
                out = e.outs[0]
                if type(x) is Var and x not in opposite and not out.whole:
                    earlier = entered((op, x), out)
                    if earlier is not out:
                        env[out] = earlier
                    else:
                        append(e if x is first else Equation(e.outs, op, (x,), e.span, e.group))
                        if op is NEG:
                            opposite[out] = x
                    continue
                args = x,
            else:
                args = tuple(map(now, e.args, e.args))
            if op.tensors:
                of_tensors().enter(self, e, args)
                continue
            rule = rules.get(op)
            value = rule(self, e, args) if rule else None
            if value is None:
                keep(e if args == e.args else e.with_args(args))   # atoms are equal if they are the same
            else:
                for out in e.outs:
                    env[out] = value

    def keep(self, e: Equation) -> Atom:
        """Enter an equation, unless an equal one stands already; returns the value."""
        out, op = e.outs[0], e.op
        earlier = self.seen.setdefault(self.key(e), out)
        if earlier is not out:
            self.env[out] = earlier
            return earlier
        if op is NEG or op is NOT:
            self.opposite[out] = e.args[0]
        self.equations.append(e)
        return out

    def key(self, e: Equation) -> ValueKey:
        """Equal for equations that compute the same value."""
        key = self.value_key(e.op, e.args)
        return (*key, *[out.whole for out in e.outs]) if any(out.whole for out in e.outs) else key

    def value_key(self, op: Primitive, args: Atoms) -> ValueKey:
        """Equal for operations that compute the same of the same arguments."""
        if len(args) == 1 and type(args[0]) is Var and type(op) is Primitive:
            return op, args[0]
        if len(args) != 2 or type(op) is not Primitive:
            same = [self.constant(a) if isinstance(a, Lit) else a for a in args]
            return of_tensors().structure(op) if op.tensors else op, *same
        x, y = args
        if isinstance(x, Lit):
            x = self.constant(x)
        if isinstance(y, Lit):
            y = self.constant(y)
        return (op, y, x) if op.commutes and id(y) < id(x) else (op, x, y)

    def constant(self, a: Lit) -> Lit:
        """The first constant that is the same."""
        found = self.constants.get(a)
        if found is None:
            found = self.constants[a] = self.first.setdefault(identity(a), a)
            if a.value not in EXACT:
                self.plain[a] = found
        return found

    def number(self, a: Atom) -> Lit | None:
        """The first constant that is the same, where nothing is exact beside it."""
        return self.plain.get(a) if type(a) is Lit and self.constant(a) else None

    def negated(self, a: Lit) -> Lit:
        """A constant with the other sign, one for all places."""
        found = self.negatives.get(a)
        if found is None:
            found = self.negatives[a] = self.constant(Lit(-a.value))
        return found

    def product(self, c: Lit, d: Lit) -> Lit | None:
        """The one factor that two are, where they are exact together; one constant for all places."""
        if (c, d) not in self.factors:
            self.factors[c, d] = self.constant(Lit(c.value * d.value)) if exact_together(c.value, d.value) else None
        return self.factors[c, d]

    def again(self, e: Equation, op: Primitive, *args: Atom) -> Atom:
        """The value of the equation rewritten as op(args), with the same variable."""
        rewritten = Equation(e.outs, op, args, e.span, e.group)
        folded = FOLDS[op](self, rewritten, args)
        return self.keep(rewritten) if folded is None else folded


# ---------------------------------------------------------------- what is the same

def identity(constant: Lit) -> object:
    """The identity of a constant: its bits, and its meaning where it was rounded."""
    return (constant.bits, constant.value.meaning) if type(constant.value) is Rounded else constant.bits


# ---------------------------------------------------------------- exact operations

CONSTANT: dict[str, Callable[..., float | None]] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y if y != 0 else None, "abs": lambda x: abs(x), "sqrt": lambda x: math.sqrt(x) if x >= 0 else None}
"""Operations that every machine rounds alike, on constants; None where Python would raise."""

EXACT = (0.0, 1.0, -1.0)
"""Constants beside which an operation on a variable can be exact."""

Fold = Callable[[Folder, Equation, Atoms], Atom | None]
"""The atom that an equation with these arguments comes to, or None if it must be computed as it stands."""


def _of_constants(f: Folder, e: Equation, args: Atoms) -> Lit | None:
    """An operation on constants alone."""
    constants = [f.constant(a) for a in args if isinstance(a, Lit)]
    if len(constants) < len(args):
        return None
    key = (e.op, *constants)
    if key not in f.folded:
        values = tuple([a.value for a in constants])
        result = CONSTANT[e.op.name](*values)
        meant = None if result is None else folded(e.op.name, result, values)
        f.folded[key] = None if meant is None else f.constant(Lit(meant))
    return f.folded[key]


def _is(atom: Atom, value: float) -> bool:
    """Whether the atom is this very double (−0 is not 0) and not only rounded to it."""
    return (type(atom) is Lit and atom.value == value and type(atom.value) is not Rounded
            and (value != 0 or math.copysign(1, atom.value) == math.copysign(1, value)))


def _binary(constants: Fold, variables: Fold) -> Fold:
    """The fold of an operation of two arguments: as one of constants alone, by what is exact where one is a constant, by the
    signs of variables."""
    def rule(f: Folder, e: Equation, args: Atoms) -> Atom | None:
        x, y = args
        found = None
        if type(x) is Lit and type(y) is Lit:
            found = _of_constants(f, e, args) or constants(f, e, args)
        elif (type(x) is Lit and x.value in EXACT) or (type(y) is Lit and y.value in EXACT):
            found = constants(f, e, args)
        if found is not None:
            return found
        return variables(f, e, args) if x in f.opposite or y in f.opposite else one_product(f, e, args)
    return rule


def one_product(f: Folder, e: Equation, args: Atoms) -> Atom | None:
    """c·(2·x), 2·(c·x) and c·x + c·x as the product (2c)·x, where c is a whole number, and so with other powers of two.

    The bits are the same for every x: scaling by a power of two commutes with rounding but where the result is subnormal, and
    there c·x, a whole multiple of the smallest number, is not rounded; what overflows in one way does in the other, since
    no factor is below 1.
    """
    found = factor(args) if e.op is MUL else (TWO, args[0]) if e.op is ADD and args[0] is args[1] else None
    if found is None:
        return None
    c, x = found
    inner = f.scaled.get(x)
    one = f.product(c, inner[0]) if inner else None
    if inner is None or one is None:
        if e.op is MUL and e.outs[0].temp:
            f.scaled[e.outs[0]] = found
        return None
    whole = one, inner[1]
    if e.outs[0].temp:
        f.scaled[e.outs[0]] = whole
    return f.keep(Equation(e.outs, MUL, whole, e.span, e.group))


def factor(args: Atoms) -> tuple[Lit, Atom] | None:
    """The constant of a product, and the other factor."""
    x, y = args
    return (x, y) if type(x) is Lit else (y, x) if type(y) is Lit else None


def exact_together(c: float, d: float) -> bool:
    """Whether two whole numbers, one of them a power of two, are one factor: of what single precision can hold, too."""
    return (type(c) is type(d) is float and c.is_integer() and d.is_integer() and 0 < abs(c * d) < 2.0 ** 53
            and 0.5 in (abs(math.frexp(c)[0]), abs(math.frexp(d)[0])))


def _added_constant(f: Folder, e: Equation, args: Atoms) -> Atom | None:
    x, y = args
    if _is(x, -0.0) or _is(y, -0.0):
        return y if _is(x, -0.0) else x
    return x if _is(y, 0.0) and not f.ranges.under(x, f.context(e)).minus else None


def _added_signs(f: Folder, e: Equation, args: Atoms) -> Atom:
    x, y = args
    return f.again(e, SUB, x, f.opposite[y]) if y in f.opposite else f.again(e, SUB, y, f.opposite[x])


def _subtracted_constant(f: Folder, e: Equation, args: Atoms) -> Atom | None:
    x, y = args
    return x if _is(y, 0.0) else f.again(e, NEG, y) if _is(x, -0.0) else None


def _subtracted_signs(f: Folder, e: Equation, args: Atoms) -> Atom | None:
    x, y = args
    return f.again(e, ADD, x, f.opposite[y]) if y in f.opposite else None


def _multiplied_constant(f: Folder, e: Equation, args: Atoms) -> Atom | None:
    x, y = args
    if _is(x, 1.0):
        return y
    if _is(x, -1.0):
        return f.again(e, NEG, y)
    return x if _is(y, 1.0) else f.again(e, NEG, x) if _is(y, -1.0) else None


def _divided_constant(f: Folder, e: Equation, args: Atoms) -> Atom | None:
    x, y = args
    return x if _is(y, 1.0) else f.again(e, NEG, x) if _is(y, -1.0) else None


def _signs(f: Folder, e: Equation, args: Atoms) -> Atom | None:
    """Signs that meet in a product or quotient. A sign alone stays where it is: moved out of the product, it would change
    the sign of a zero in the derivative, where −(a − b) is not b − a."""
    (x, y), opposite = args, f.opposite
    if x in opposite:
        if y in opposite:
            return f.again(e, e.op, opposite[x], opposite[y])
        return f.again(e, e.op, opposite[x], f.negated(y)) if isinstance(y, Lit) else None
    return f.again(e, e.op, f.negated(x), opposite[y]) if isinstance(x, Lit) else None


def _neg(f: Folder, e: Equation, args: Atoms) -> Atom | None:
    x, = args
    return f.negated(x) if isinstance(x, Lit) else f.opposite.get(x)


def _pown(f: Folder, e: Equation, args: Atoms) -> Atom | None:
    x, n = args
    if _is(n, 1.0):
        return x
    if isinstance(n, Lit) and n.value == 0:
        return Lit(1.0)
    return f.again(e, MUL, x, x) if _is(n, 2.0) else None


def _pow(f: Folder, e: Equation, args: Atoms) -> Atom | None:
    """A literal integer as exponent means `pown`, which rounds otherwise, so a computed one stays so."""
    x, n = args
    if isinstance(e.args[1], Lit) or not isinstance(n, Lit) or n.integer is None:
        return None
    computed = f.keep(Equation((Var(None, True),), MUL, (n, Lit(1.0))))
    return f.keep(e.with_args((x, computed)))


def _select(f: Folder, e: Equation, args: Atoms) -> Atom | None:
    c, x, y = args
    if (truth := dict(f.context(e)).get(c)) is not None:
        return x if truth else y
    if x is y or (isinstance(x, Lit) and isinstance(y, Lit) and identity(x) == identity(y)):
        return x
    if c in f.known:
        return x if f.known[c] else y
    while c in f.opposite:
        c, x, y = f.opposite[c], y, x
    if c is not args[0]:
        return f.again(e, SELECT, c, x, y)
    if _is(x, 1.0) and _is(y, 0.0):
        f.supports[e.outs[0]] = (e.outs[0],)
    return None


# ---------------------------------------------------------------- truth values that are the same at every point

def _compare(holds: Callable[[float, float], bool]) -> Fold:
    """A comparison of constants, or of what cannot be so; only `select` makes use of it. What a program compares itself may not
    be equal either, as its status says where it is."""
    def learn(f: Folder, e: Equation, args: Atoms) -> None:
        x, y = args
        if isinstance(x, Lit) and isinstance(y, Lit) and Rounded not in (type(x.value), type(y.value)):
            f.known[e.outs[0]] = holds(x.value, y.value)
        elif (truth := f.ranges.truth(e.with_args(args), f.context(e), not e.group)) is not None:
            f.known[e.outs[0]] = truth
    return learn


def _extreme(f: Folder, e: Equation, args: Atoms) -> Atom | None:
    """A maximum or minimum of two of which one, that is never NaN, is always smaller or larger."""
    for x, y in (args, args[::-1]) if len(args) == 2 else ():
        less, more = (y, x) if e.op.name == "max" else (x, y)
        if (isinstance(y, Lit) or f.ranges.numbers) and apart(f.ranges.of(less), f.ranges.of(more)):
            return x
    return None


def _abs(f: Folder, e: Equation, args: Atoms) -> Atom | None:
    """The absolute value of a constant, of a negative, or of what is more than 0."""
    if args[0] in f.opposite:
        return f.again(e, ABS, f.opposite[args[0]])
    return _of_constants(f, e, args) or (args[0] if f.ranges.of(args[0]).low > -f.ranges.numbers * SMALLEST else None)


def _not(f: Folder, e: Equation, args: Atoms) -> None:
    if args[0] in f.known:
        f.known[e.outs[0]] = not f.known[args[0]]


def _joined(dominant: bool) -> Fold:
    """`or`, which one true part makes true, or `and`, which one false part makes false; beside another part it is that part."""
    def learn(f: Folder, e: Equation, args: Atoms) -> Atom | None:
        truths = [f.known.get(a) for a in args]
        if dominant in truths:
            f.known[e.outs[0]] = dominant
        elif None not in truths:
            f.known[e.outs[0]] = not dominant
        else:
            return next((b for (a, b) in zip(truths, reversed(args), strict=True) if a is not None), None)
        return None
    return learn


COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
FOLDS: dict[Primitive, Fold] = {
    DUP: lambda f, e, args: args[0], SELECT: _select, ABS: _abs, TABLE["sqrt"]: _of_constants,
    TABLE["max"]: _extreme, TABLE["min"]: _extreme,
    ADD: _binary(_added_constant, _added_signs), SUB: _binary(_subtracted_constant, _subtracted_signs),
    MUL: _binary(_multiplied_constant, _signs), DIV: _binary(_divided_constant, _signs), NEG: _neg, POWN: _pown, POW: _pow,
    INDEX_POWER: _pow,
    **{TABLE[name]: _compare(getattr(operator, name)) for name in COMPARISONS},
    NOT: _not, TABLE["and"]: _joined(False), TABLE["or"]: _joined(True)}
PLAIN_OPERATIONS = frozenset([ADD, SUB, MUL, DIV, *[TABLE[name] for name in (*COMPARISONS, "and", "or")]])
"""Operations that stay what they are on variables, and on a variable and a constant beside which nothing is exact, unless signs
meet or a truth value is known: most of any program."""
OF_ONE = frozenset([row for row in TABLE.values() if row.arity == row.outs == 1 and not row.variadic
                    and row not in (NOT, ABS)])
"""Operations that stay what they are on a variable, unless signs meet."""
