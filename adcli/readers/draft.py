"""A program in the making: lines about values and elements that have no names yet, each with its place in the text that is read.

A reader gives every value a `Variable` of its own, however often the source assigns a name; `written` chooses the names.
Expressions are those of the source tree, with `Ref` and `Whole` as leaves. Subscripts are affine, an index is known by identity.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from adcli.lang.ir.affine import Affine, Index
from adcli.lang.ir.errors import Span
from adcli.lang.ir.notation import constant
from adcli.lang.tree.nodes import Call, Node, Op, Token


class Variable:
    """A value with a name: `hint` is what the source calls it. `shape` is () for a number. An input keeps its name."""

    __slots__ = ("hint", "input", "name", "shape")

    def __init__(self, hint: str, shape: Sequence[Affine] = (), input: bool = False) -> None:
        self.hint, self.shape, self.input, self.name = hint, tuple(shape), input, hint


class Ref(Token):
    """A variable, or an element of one; a whole tensor has subscripts None."""

    __slots__ = ("subscripts", "variable")

    def __init__(self, variable: Variable, span: Span, subscripts: Sequence[Affine] | None = None) -> None:
        super().__init__("NAME", variable.hint, *span)
        self.variable, self.subscripts = variable, None if subscripts is None else tuple(subscripts)


class Whole(Token):
    """A sum of indices and sizes as a number."""

    __slots__ = ("value",)

    def __init__(self, value: Affine, span: Span) -> None:
        super().__init__("NAME", "", *span)
        self.value = value


Range = tuple[Affine, Affine]


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class DraftLine:
    """An assignment. `subscripts` are those of the one target, None for a number or a whole
    tensor; `ranges` are those of its indices."""

    targets: list[Variable]
    values: list[Node]
    span: Span
    subscripts: tuple[Affine, ...] | None = None
    symbol: str = "="
    ranges: dict[Index, Range] = field(default_factory=dict)

    @property
    def lines(self) -> list[DraftLine]:
        return [self]


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class DraftLoop:
    """A loop over steps."""

    step: Index
    low: Affine
    high: Affine
    body: list[DraftLine | DraftLoop]
    span: Span

    @property
    def lines(self) -> list[DraftLine]:
        return [line for each in self.body for line in each.lines]


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class DraftFunction:
    """A function of numbers: its value, or lines and the results among their targets."""

    name: str
    params: list[Variable]
    lines: list[DraftLine]
    results: list[Variable]
    value: Node | None
    span: Span


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class DraftInput:
    """An input with its default; a fixed one has its only value as its range."""

    variable: Variable
    span: Span
    default: Node | None = None
    param: bool = False
    fixed: bool = False


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Draft:
    """A program: `outputs` by name, in their order; `sizes` are the names of those in extents."""

    inputs: list[DraftInput] = field(default_factory=list)
    functions: list[DraftFunction] = field(default_factory=list)
    lines: list[DraftLine | DraftLoop] = field(default_factory=list)
    outputs: list[tuple[str, Variable]] = field(default_factory=list)
    sizes: dict[str, str] = field(default_factory=dict)


def number(value: float, span: Span) -> Node:
    """A constant."""
    text, _ = constant(float(value))
    if text.startswith("-"):
        return Op("neg", [number(-value, span)], *span)
    return Token("NAME" if text in ("inf", "nan") else "NUMBER", text, *span)


def leaves(*roots: Node) -> Iterator[Token]:
    """The leaves of expressions."""
    stack = list(roots)
    while stack:
        node = stack.pop()
        if isinstance(node, Op | Call):
            stack += node.args
        elif isinstance(node, Token):
            yield node


def read_in(line: DraftLine | DraftLoop) -> set[Variable]:
    """The variables that a line reads."""
    return {t.variable for each in line.lines for t in leaves(*each.values) if isinstance(t, Ref)}
