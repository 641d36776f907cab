"""Writing IR in the notation of mathematics.

A `Builder` collects equations; an `Expr` is an atom that knows its builder, so that `t * (z * sigmoid(-x))` in the
primitive table emits the equations that compute it. Every rule, status condition and composition of the table is
written with these, and nothing else emits IR for them.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Union

from adcli.lang.ir import Atom, Atoms, Equation, Lit, ManyArguments, Param, Primitive, Program, Result, Shape, Var
from adcli.lang.ir.errors import Span

OPERATORS: dict[str, Primitive] = {}
"""The rows behind the operators below; `adcli.lang.ir.primitives` fills this when it is imported."""

Operand = Union["Expr", float, int]
Hint = tuple[str | None, bool]
"""The name of a value that is to be made, for printing, and whether it is one that no user named."""
NO_HINT: Hint = (None, True)
Operands = Callable[[Atoms], Atoms]
"""The operands of a line among the values that there are when it is written."""
WrittenLine = tuple[Primitive, Operands]


class Builder:
    """A list of equations under construction; `span` and `group` are stamped on each one emitted. In programs with tensors
    `infinite` are values that can be infinite or NaN at finite inputs, and `chosen` say where what conditions choose exists."""

    __slots__ = ("chosen", "equations", "group", "infinite", "shared", "span")

    def __init__(self) -> None:
        self.infinite: Collection[Atom] = ()
        self.chosen: set[Atom] = set()
        self.shared: dict[Equation, tuple[Expr, ...]] = {}   # what the maps of an operation have in common, once emitted
        self.equations: list[Equation] = []
        self.span: Span | None = None
        self.group = 0

    def emit(self, op: Primitive, *args: Atom, name: str | None = None, temp: bool = True,
             shape: Shape = ()) -> Var:
        """Append an equation of a new value, which is returned."""
        if not op.tensors:
            require_numbers(op, args)
        return self.define(Var(name, temp, op.truth, shape), op, args)

    def define(self, out: Var, op: Primitive, args: tuple[Atom, ...]) -> Var:
        """Append `out = op(args)` and return `out`."""
        self.equations.append(Equation((out,), op, args, self.span, self.group))
        return out

    def line(self, op: Primitive, args: Atoms, hint: Hint) -> Var:
        """Append `out = op(args)` for a row of the table, `out` with a printing hint; returns it."""
        require_numbers(op, args)
        out = Var(hint[0], hint[1], op.truth)
        self.equations.append(Equation((out,), op, args, self.span, self.group))
        return out

    def lines(self, lines: Sequence[WrittenLine], values: Atoms, hint: Hint) -> Atom:
        """Append lines that find their operands among `values` and what the lines before have made; returns what the last one
        makes, which gets the printing hint."""
        require_numbers(lines[0][0], values)
        append, span, group = self.equations.append, self.span, self.group
        if len(lines) > 1:
            for op, operands in lines[:-1]:
                out = Var(None, True, op.truth)
                append(Equation((out,), op, operands(values), span, group))
                values += (out,)
        op, operands = lines[-1]
        out = Var(hint[0], hint[1], op.truth)
        append(Equation((out,), op, operands(values), span, group))
        return out

    def rename(self, value: Expr, hint: Hint, start: int) -> Expr:
        """Give the value that the last equation defined its printing hint, if it was emitted at `start` or later."""
        last = self.equations[-1] if len(self.equations) > start else None
        if last is None or last.outs[0] is not value.atom or len(last.outs) > 1:
            return value
        out = last.outs[0]
        if (out.name, out.temp) == hint:   # it was emitted with it
            return value
        out = Var(*hint, out.truth, out.shape)
        self.equations[-1] = Equation((out,), last.op, last.args, last.span, last.group)
        return Expr(self, out)

    def expr(self, atom: Atom) -> Expr:
        return Expr(self, atom)


def require_numbers(op: Primitive, args: Atoms) -> None:
    """TypeError where a row of the table would be applied to a tensor."""
    for a in args:
        if a.shape:
            name = (a.name if isinstance(a, Var) else None) or "an operand"
            raise TypeError(f"{op.name} is an operation on numbers, and {name} is a tensor: "
                            "see elementwise in adcli.lang.operations.elementwise")


def operator(name: str) -> Callable[[Expr, Operand], Expr]:
    return lambda self, other: apply(OPERATORS[name], self, other)


def reflected(name: str) -> Callable[[Expr, Operand], Expr]:
    return lambda self, other: apply(OPERATORS[name], other, self)


class Expr:
    """An atom with the operators of the language; each emits one equation. Python numbers become constants."""

    __slots__ = ("atom", "builder")
    __hash__ = None  # type: ignore[assignment]  # `==` builds an equation, so an Expr is no dictionary key

    def __init__(self, builder: Builder, atom: Atom) -> None:
        self.builder, self.atom = builder, atom

    @property
    def literal(self) -> Lit:
        """The constant this is; for arguments that a row declares static."""
        if not isinstance(self.atom, Lit):
            raise TypeError("not a constant")
        return self.atom

    @property
    def var(self) -> Var:
        """The variable this is; for what an equation has made."""
        assert isinstance(self.atom, Var), "a constant"
        return self.atom

    __add__, __radd__ = operator("add"), reflected("add")
    __sub__, __rsub__ = operator("sub"), reflected("sub")
    __mul__, __rmul__ = operator("mul"), reflected("mul")
    __truediv__, __rtruediv__ = operator("div"), reflected("div")
    __lt__, __le__, __gt__, __ge__ = operator("lt"), operator("le"), operator("gt"), operator("ge")
    __eq__, __ne__ = operator("eq"), operator("ne")   # type: ignore[assignment]  # builds `eq`, as in any symbolic system
    __and__, __or__ = operator("and"), operator("or")

    def __neg__(self) -> Expr:
        return apply(OPERATORS["neg"], self)

    def __invert__(self) -> Expr:
        return apply(OPERATORS["not"], self)


def apply(op: Primitive, *args: Operand) -> Expr:
    """Emit `op(args)` into the builder of an argument that has one."""
    atoms: list[Atom] = []
    for a in args:
        if isinstance(a, Expr):
            builder = a.builder
            atoms.append(a.atom)
        else:
            atoms.append(Lit(a if isinstance(a, float) else float(a)))
    return Expr(builder, builder.line(op, tuple(atoms), NO_HINT))


def many(op: Primitive, count: int) -> ManyArguments | None:
    """The maps of an operation of `count` arguments where it is a variadic one with more than its arity."""
    return op.many if count > op.arity else None


def mapped(b: Builder, e: Equation, position: int, seed: Expr) -> Expr | When | None:
    """The map of one argument of `e`, a row of the table, applied to a seed; None where that is zero by construction."""
    written, out = many(e.op, len(e.args)), b.expr(e.outs[0])
    if written is not None:
        made: Expr | When | None = written.map(seed, out, b.expr(e.args[position]), *shared(b, e))
        return made
    rule = e.op.map(position)
    return None if rule is None else rule(seed, out, *[b.expr(a) for a in e.args])


def shared(b: Builder, e: Equation) -> tuple[Expr, ...]:
    """The common part of the maps of an operation of many arguments, emitted once."""
    written = many(e.op, len(e.args))
    if written is None or written.shared is None:
        return ()
    if e not in b.shared:
        b.shared[e] = (written.shared(b.expr(e.outs[0]), *[b.expr(a) for a in e.args]),)
    return b.shared[e]


class When:
    """A contribution that exists only where `condition` holds and is zero by construction elsewhere."""

    __slots__ = ("condition", "value")

    def __init__(self, condition: Expr, value: Expr) -> None:
        self.condition, self.value = condition, value


def composed(op: Primitive, static: dict[int, Lit] | None = None, count: int | None = None) -> Any:
    """The definition of a composed primitive as a small Program of its own: see `Primitive.value`."""
    static, builder = static or {}, Builder()
    atoms: list[Atom] = [static.get(i) or Var(f"x{i}") for i in range(count or op.arity)]
    assert op.value is not None
    out = op.value(*[builder.expr(a) for a in atoms])
    params = tuple(Param(a, f"x{i}") for i, a in enumerate(atoms) if isinstance(a, Var))
    return Program(params, tuple(builder.equations), (Result("z", out.atom),))
