"""One reading of a Python file: its places, what is known of its inputs, and how a construct is refused.

A reading begins with what is known from annotations and from the point. What it learns on the way (that an input is a vector,
that two sizes are one, that an input has to be a constant) is a fact, and a new fact starts the reading over.
"""
from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

from adcli.lang.ir.affine import Affine, affine, text
from adcli.lang.ir.errors import AdError, Source, Span
from adcli.readers.draft import Draft, DraftFunction
from adcli.readers.origin import PartReader

MOST_LINES = 100_000
"""Lines that a program may have with its loops written out."""
MOST_READINGS = 60


class Advice:
    """Advice in the words of Python; a reader of another language has its own words for each."""

    NUMBER_OF_STEPS = "write for i in range(n) with a number of steps that is enough"
    KEEP = "keep what it found in a variable: r = a if c else r"
    CHOICE = "write y[i] = a if c else b"
    FIRST_ELEMENT = "assign y[0] before the loop, and y[i] for i in range(1, len(y)) in it"
    COUNTER = "write it as a sum of the index of the loop, k = 2*i"
    RETURN = "end it with return v"
    EXTENT = "it has to be made of numbers, sizes such as len(x), and indices of loops"
    ELEMENTS = "begin with np.zeros(n) of a number of elements that is known"
    OR_DEFAULT = ", or as a default in the file"

Part = TypeVar("Part", bound=ast.AST)


class Again(Exception):
    """A fact has been learned."""


@dataclass(eq=False, repr=False, match_args=False)
class Facts:
    """What is known of the inputs: ranks, those that are `guessed` from a use among them, arrays of `whole` numbers, values of
    those that have to be constants, and sizes that others say, by `input.dimension` or the name that an annotation has."""

    ranks: dict[str, int] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, Affine] = field(default_factory=dict)
    given: Mapping[str, object] = field(default_factory=dict)
    guessed: set[str] = field(default_factory=set)
    whole: set[str] = field(default_factory=set)

    def size(self, x: Affine) -> Affine:
        """An extent with the sizes that others say put in."""
        for _ in range(len(self.sizes) + 1):
            known = [(a, c) for a, c in x.terms if a in self.sizes]
            if not known:
                break
            for a, c in known:
                x = x - affine(a) * c + self.sizes[str(a)] * c
        return x


class Accumulations(ast.NodeTransformer):
    """Statements such as x[i] = x[i] + e as x[i] += e, which is what sums are found by."""

    def visit_Assign(self, s: ast.Assign) -> ast.stmt:
        match s:
            case ast.Assign([ast.Subscript() as t], ast.BinOp(left, op, right)):
                sides = ((left, right), (right, left))[:1 + isinstance(op, ast.Add | ast.Mult)]
                if rest := next((e for x, e in sides if ast.unparse(x) == ast.unparse(t)), None):
                    return ast.copy_location(ast.AugAssign(t, op, rest), s)
        return s


def repeated(made: Callable[[], Source], source: Source) -> Source:
    """The program, read again with each fact that is learned."""
    for _ in range(MOST_READINGS):
        try:
            return made()
        except Again:
            continue
        except RecursionError:
            raise AdError("this is nested too deeply to be read", source=source) from None
    raise AdError("the shapes of the arrays cannot be found", source=source, help="declare their extents")


class PythonReading(PartReader, ABC):
    """The text, its tree and the program in the making."""

    def __init__(self, source: Source, tree: ast.Module, facts: Facts) -> None:
        self.source, self.tree, self.facts = source, tree, facts
        self.draft = Draft()
        self.spans: dict[ast.AST, Span] = {}
        self.lines = source.text.split("\n")
        self.depth = 0   # of calls of functions of the file inside of one another
        self.count = 0
        self.inputs: dict[str, object] = {}
        self.top_inputs: set[str] = set()
        self.real: set[str] = set()   # those that are annotated as real numbers
        self.array_library = "numpy"

    def offset(self, line: int, column: int) -> int:
        text = self.lines[line - 1]
        return self.source.start_of(line) + (column if text.isascii() else len(text.encode()[:column].decode()))

    def span(self, node: ast.AST) -> Span:
        if not isinstance(node, ast.expr | ast.stmt | ast.arg | ast.alias | ast.keyword):
            return 0, 0
        start, end = self.offset(node.lineno, node.col_offset), node.end_lineno or node.lineno
        return start, start + len(node.arg) if isinstance(node, ast.arg) else self.offset(end, node.end_col_offset or 0)

    @property
    def here(self) -> Span:
        """The place of the part that is being read."""
        if self.part not in self.spans:
            self.spans[self.part] = self.span(self.part)
        return self.spans[self.part]

    def fault(self, message: str, help: str | None = None, node: ast.AST | None = None) -> AdError:
        """The error for what cannot be read, at its place, with what could."""
        return AdError(message, self.span(node or self.part), help, self.source)

    # What the file says, which `PythonFile` knows.

    @abstractmethod
    def module_value(self, name: str) -> Any:
        """The value of a name of the file, or of Python."""

    @abstractmethod
    def function(self, node: ast.AST, params: Sequence[str]) -> DraftFunction | None:
        """A function of numbers as one of the program; None where it has to be written out in the place of its call."""

    @abstractmethod
    def written_function(self, name: str, params: Sequence[str], value: str) -> str:
        """The name of a function that is written into the program, once."""

    def counted(self) -> None:
        """AdError where the program grows without end."""
        self.count += 1
        if self.count > MOST_LINES:
            raise self.fault(f"written out, this is more than {MOST_LINES:,} lines",
                             "use fewer steps, or arrays in place of loops")

    # Facts.

    def open(self, name: str) -> bool:
        """True if an input may be an array of another rank: it has no default, and nobody has said its rank."""
        unsaid = name not in self.facts.ranks or name in self.facts.guessed
        return name in self.inputs and self.inputs[name] is None and unsaid

    def learn_rank(self, name: str, rank: int) -> NoReturn:
        self.facts.ranks[name] = rank
        self.facts.guessed.add(name)
        raise Again

    def learn_whole(self, name: str) -> None:
        """An array is one of whole numbers, since its elements are subscripts, unless its annotation says otherwise."""
        if name not in self.facts.whole | self.real:
            self.facts.whole.add(name)
            raise Again

    def learn_constant(self, name: str, default: object) -> NoReturn:
        """An input has to be a whole number that is known: the point's, or its default."""
        value = self.facts.given.get(name, default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int):
            raise self.fault(f"'{name}' has to be known here",
                             f"give it with the point, ⟦--at {name}=3⟧{Advice.OR_DEFAULT}")
        self.facts.constants[name] = value
        raise Again

    def equal(self, x: Affine, y: Affine) -> None:
        """Take two extents for equal from now on. AdError where they cannot be."""
        if x == y:
            return
        for one, other in ((y, x), (x, y)):
            atom = one.terms[0][0] if len(one.terms) == 1 and one.terms[0][1] == 1 and not one.constant else None
            if isinstance(atom, str) and not any(a == atom for a, _ in other.terms):
                self.facts.sizes[atom] = other
                raise Again
        raise self.fault(f"these have {text(x)} and {text(y)} elements",
                         "arrays of one shape go together, and numbers with any")


def parts_of(kind: type[Part], *roots: ast.AST) -> list[Part]:
    """The parts of a kind."""
    return [n for r in roots for n in ast.walk(r) if isinstance(n, kind)]


def names_in(*roots: ast.AST) -> set[str]:
    return {n.id for n in parts_of(ast.Name, *roots)}
