"""The one data structure: a straight-line program in single-assignment form.

    program  ::= params, equations, results
    equation ::= outs = op(args)              (with the source span it came from)
    op       ::= primitive                    a row of the table, on rank-0 values
               | comprehension                lang/operations/comprehension.py, on tensors
               | recurrence                   lang/operations/recurrence.py: statements run in the order of an index
    atom     ::= Var | Lit

Everything here is immutable. A `Var` is known by identity; its name is a hint for printing and never compared. A pass is
a function Program → Program with one loop over the equations; nothing recurses over equations. Values are real or truth
(comparisons); a truth value never carries a tangent. Every Var has a shape, () for a scalar: extents are expressions of
size names, which the shapes of the inputs make numbers.

The room `ir` holds this structure, the table of primitives and what every program must satisfy between passes; everything else
is built on it. A new operation is a row of `primitives.py` and nothing more. Nothing here knows the text of the language, how
values are computed, or what is differentiated for whom.
"""
from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from adcli.lang.ir.errors import Note, Source, Span
from adcli.lang.ir.records import record

if TYPE_CHECKING:
    from adcli.lang.ir.affine import Affine
    from adcli.lang.ir.problem import StatedProblem

Values = Mapping[str, Any]
"""Values by the names of what has them: inputs, seeds, results."""
Op = TypeVar("Op", bound="Primitive", covariant=True)
"""The kind of an operation, where a type tells it: `Equation[Comprehension]`."""
Other = TypeVar("Other", bound="Primitive")


@record
class Var:
    """A value. `name` is a printing hint (None: the printer finds one); a `temp` is a value no user named.

    A tensor has one extent for each dimension in its `shape`. One of integers is an input that subscripts read, and has no
    derivative; nor has a computed value that is declared to be `whole`, which subscripts may read too: its elements are doubles
    that are whole numbers, or NaN or infinite, which no subscript can be.
    """

    name: str | None = None
    temp: bool = False
    truth: bool = False
    shape: Shape = ()
    integer: bool = False
    whole: bool = False


@record
class Lit:
    """A constant double. Two are the same if their bits are (any NaN is the one NaN)."""

    value: float
    shape: ClassVar[Shape] = ()

    @property
    def bits(self) -> bytes:
        return b"nan" if math.isnan(self.value) else struct.pack("<d", self.value)

    @property
    def integer(self) -> int | None:
        """The value as an integer, where it is one."""
        return int(self.value) if math.isfinite(self.value) and self.value == int(self.value) else None


Atom = Var | Lit
Atoms = tuple[Atom, ...]
Shape = tuple["Affine", ...]
Point = Mapping[str, float]
"""A number for each input."""


def shape_of(atom: Atom) -> Shape:
    return atom.shape


@record
class Primitive:
    """A row of the table in `lang/ir/primitives.py`, which explains the columns. What else an equation can be is derived from it,
    and says that it is an operation on `tensors`."""

    tensors: ClassVar[bool] = False
    name: str
    signature: str
    maps: tuple[Callable[..., Any] | None, ...] = ()
    many: ManyArguments | None = None
    static: tuple[int, ...] = ()
    telling: tuple[int, ...] = ()
    status: tuple[Status, ...] = ()
    value: Callable[..., Any] | None = None
    llvm: str | None = None
    libm: str | None = None
    domain: tuple[tuple[float, float], ...] = ()
    commutes: bool = False
    hides_nan: bool = False
    spelled: str | None = None
    about: str = ""
    args: str = ""
    defined: str = ""
    c: str | None = None
    js: str | None = None
    python: str | None = None
    latex: str | None = None
    unicode: str | None = None
    pieces: str | None = None
    vanishes: bool = False
    saturates: bool = False
    factored: bool = False
    periodic: bool = False
    ulps: float | None = None
    absolute: bool = False
    arity: int = field(init=False)
    """Number of arguments; for a variadic row the smallest."""
    outs: int = field(init=False)
    """Number of results."""
    truth: bool = field(init=False)
    """Whether the result is a truth value."""

    def __post_init__(self) -> None:
        before, after = self.signature.split(">")
        for column, value in (("arity", len(before)), ("outs", len(after)), ("truth", after.endswith("t"))):
            object.__setattr__(self, column, value)

    def kind(self, position: int) -> str:
        """'r' or 't': what argument `position` must be."""
        return self.signature[min(position, self.arity - 1)]

    @property
    def variadic(self) -> bool:
        """Whether it takes any number of arguments from `arity` on."""
        return self.many is not None

    def map(self, position: int) -> Callable[..., Any] | None:
        """The linear map of argument `position`, None where it is zero by construction; those of a variadic row beyond its
        arity are in `many`."""
        return self.maps[min(position, len(self.maps) - 1)] if self.maps else None

    @property
    def singular(self) -> bool:
        """Whether it can be infinite at finite values, whatever is inside of it."""
        return any(s.level >= SINGULAR for s in self.status)

    @property
    def onto(self) -> int | None:
        """The argument that the result starts from, if there is one."""
        return None

    @property
    def reduction(self) -> str:
        """How values of several points are combined."""
        return "="

    def start(self, e: Equation) -> Atom | None:
        """The value that the result starts from, if there is one."""
        return None if self.onto is None else e.args[self.onto]

    def started(self, e: Equation) -> Iterable[tuple[Atom, Var]]:
        """The values that results start from, each with its result."""
        before = self.start(e)
        return () if before is None else [(before, e.outs[0])]

    def inner(self) -> Sequence[Equation]:
        """The equations inside of an operation on tensors: of a body, or statements."""
        return ()

    def moved(self, e: Equation, values: Collection[Atom], steps: bool = True) -> Iterable[Atom]:
        """The results that move with `values`, some of which the equation reads; without `steps` not those that only jump."""
        return () if self.pieces == "step" and not steps else [x for x in e.outs if not x.whole]

    def living(self, e: Equation, needed: Collection[Atom]) -> Equation:
        """The equation without what no `needed` result takes."""
        return e

    def __repr__(self) -> str:
        return f"<{self.name}>"


@record
class ManyArguments:
    """The maps of a variadic row for more arguments than its arity, in time and text linear in their number.

    `map(t, z, u, s)` is the map of an argument u. What it needs of all arguments together is s = `shared(z, *args)`, computed
    once an operation; without `shared` it is map(t, z, u).
    """

    map: Callable[..., Any]
    shared: Callable[..., Any] | None = None


@record
class Status:
    """Where a primitive is not smooth: `level` where `condition(z, *args)` holds.

    `nan` says that the row's own convention makes a partial NaN there (so the NaN is no surprise); `needs` names an
    argument that must be active for the entry to count, `order` the order of derivatives from which on it counts.
    """

    level: int
    condition: Callable[..., Any]
    nan: bool = False
    needs: int | None = None
    order: int = 0


LEVELS = ("smooth", "kink", "jump", "singular", "pole", "domain", "indeterminate")
SMOOTH, KINK, JUMP, SINGULAR, POLE, DOMAIN, INDETERMINATE = range(7)

MODES = ("auto", "forward", "reverse")


@record
class Equation(Generic[Op]):
    """outs = op(args). Equations of one nonzero `group` came from one line of a derivative and are printed as one."""

    outs: tuple[Var, ...]
    op: Op
    args: tuple[Atom, ...]
    span: Span | None = None
    group: int = 0

    def with_args(self, args: Iterable[Atom]) -> Equation[Op]:
        """The equation with other arguments. (`dataclasses.replace` takes ten times as long, and programs are long.)"""
        return Equation(self.outs, self.op, tuple(args), self.span, self.group)

    def with_op(self, op: Other, args: Iterable[Atom], outs: tuple[Var, ...] | None = None) -> Equation[Other]:
        """Another operation in the place of this one, with the same results or others."""
        return Equation(self.outs if outs is None else outs, op, tuple(args), self.span, self.group)

    def substituted(self, env: Mapping[Atom, Atom]) -> Equation[Op]:
        """The equation with the atoms of `env` replaced, used or defined; itself where it has none of them."""
        if env.keys().isdisjoint(self.args) and env.keys().isdisjoint(self.outs):
            return self
        outs = []
        for out in self.outs:
            new = env.get(out, out)
            assert isinstance(new, Var), "an equation defines variables"
            outs.append(new)
        return Equation(tuple(outs), self.op, tuple([env.get(a, a) for a in self.args]), self.span, self.group)


@record
class Param:
    """An input: a `default` where it has one (of a tensor an array), a `low`..`high` range to sample and to check, or a
    `constraint` on the vectors of its last dimension or on matrices, a name in `notation.CONSTRAINTS`.

    `active` is false for `param` inputs, which are differentiated only where named. `seed` names the input or output
    whose tangent or cotangent this is: an exact zero there drops its contributions (SEMANTICS, the zero rule).
    """

    var: Var
    name: str
    default: Any = None
    low: float | None = None
    high: float | None = None
    active: bool = True
    seed: str | None = None
    constraint: str | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the range, infinite where none is declared."""
        return -math.inf if self.low is None else self.low, math.inf if self.high is None else self.high


@record
class Result:
    """An output. A partial derivative remembers the output it is `of` and the inputs it was taken with respect to."""

    name: str
    atom: Atom
    of: str | None = None
    wrt: tuple[str, ...] = ()

    def with_atom(self, atom: Atom) -> Result:
        """The result with another value. (There may be a million, and `dataclasses.replace` takes five times as long.)"""
        return self if atom is self.atom else Result(self.name, atom, self.of, self.wrt)


@record
class Program:
    """Inputs, equations in an order in which they can be carried out, and outputs."""

    params: tuple[Param, ...]
    equations: tuple[Equation, ...]
    results: tuple[Result, ...]
    source: Source | None = field(default=None, repr=False)
    notes: tuple[Note, ...] = ()
    problem: StatedProblem | None = None   # of a text; passes do not keep its values
    counted: Mapping[Primitive, int] | None = field(default=None, init=False, repr=False)   # see `counts`

    def param(self, name: str) -> Param:
        return next(p for p in self.params if p.name == name)

    def result(self, name: str) -> Result:
        return next(r for r in self.results if r.name == name)


def definitions(equations: Iterable[Equation]) -> dict[Atom, Equation]:
    """The equation that makes each value."""
    return {out: e for e in equations for out in e.outs}


def counts(program: Program) -> Mapping[Primitive, int]:
    """How many equations it has of each operation; counted once, since many ask and a program may be long."""
    if program.counted is None:
        object.__setattr__(program, "counted", Counter([e.op for e in program.equations]))
    assert program.counted is not None
    return program.counted


def operations(program: Program) -> Set[Primitive]:
    """The different operations of its equations: few, also in a long program."""
    return counts(program).keys()


def has_tensors(program: Program) -> bool:
    """Whether anything in a program is a tensor, or a whole number, which is computed as these are."""
    return any(p.var.shape or p.var.integer for p in program.params) or any(op.tensors for op in operations(program))


def substitute(program: Program, env: Mapping[Atom, Atom]) -> Program:
    """The program with the atoms of `env` replaced: where they are used, and variables by variables where they are defined.
    Inputs stay, used or not."""
    results = tuple([r.with_atom(env.get(r.atom, r.atom)) for r in program.results])
    return replace(program, equations=tuple([e.substituted(env) for e in program.equations]), results=results)
