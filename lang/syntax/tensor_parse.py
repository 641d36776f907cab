"""The callbacks of the grammar for tensor comprehensions: see lang/syntax/parse.py, whose class they belong to."""
from __future__ import annotations

from typing import Any

from adcli.lang.ir.errors import AdError
from adcli.lang.syntax.chain import finished, two
from adcli.lang.syntax.tree import Clause, Compute, Item, Node, Token, Typed

Parts = list[Any]
Element = tuple[Token, list[Node] | None]

ELEMENTS = ("float", "double", "half", "float16", "float32", "float64")
"""Types of elements that mean double."""
INTEGERS = ("int", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
"""Types of elements that are whole numbers: for subscripts, without derivative."""


class TensorActions:
    """Statements, clauses and declarations of tensors."""

    # Statements.

    def element(self, p: Parts) -> Element:
        return p[0], p[2]

    def element_empty(self, p: Parts) -> Element:
        return p[0], []

    def compute(self, p: Parts) -> Compute:
        target, subscripts = p[0]
        return computed(target, subscripts, p[1], p[2], p[3])

    def compute_scalar(self, p: Parts) -> Compute:
        return computed(p[0], None, p[1], p[2], p[3])

    def compute_let(self, p: Parts) -> Compute:
        return computed(p[0], None, p[1], p[2], p[4])

    # Clauses.

    def range_clause(self, p: Parts) -> Clause:
        low, high = two(p[2], ":")
        if high is None:
            raise AdError(f"'{p[0].text}' needs a range", (low.start, low.end), f"write {p[0].text} in 0:N, half open")
        return Clause("range", p[0], [low, high], p[0].start, high.end)

    def let_clause(self, p: Parts) -> Clause:
        value = finished(p[2])
        return Clause("let", p[0], [value], p[0].start, value.end)

    def guard_clause(self, p: Parts) -> Clause:
        value = finished(p[0])
        return Clause("guard", None, [value], value.start, value.end)

    def exists_clause(self, p: Parts) -> Clause:
        value = finished(p[1])
        return Clause("exists", None, [value], p[0].start, value.end)

    def shape_clause(self, p: Parts) -> Clause:
        name = Typed(p[4], known(p[0]), p[2], p[4].end)
        return Clause("shape", name, [], p[0].start, name.end)

    # Declarations.

    def typed(self, p: Parts) -> Typed:
        return Typed(p[1], known(p[0]), None, p[1].end)

    def typed_tensor(self, p: Parts) -> Typed:
        return Typed(p[4], known(p[0]), p[2], p[4].end)

    def item_tensor(self, p: Parts) -> Item:
        return Item(Typed(p[0], None, p[2], p[3].end))

    def item_tensor_default(self, p: Parts) -> Item:
        raise AdError(f"the tensor '{p[0].text}' cannot have a default", (p[4].start, finished(p[5]).end),
                      "only scalars have one")

    def item_typed(self, p: Parts) -> Item:
        if p[0].text not in (*ELEMENTS, *INTEGERS):
            raise AdError(f"a ',' is missing between '{p[0].text}' and '{p[1].text}'", (p[1].start, p[1].end),
                          f"write {p[0].text}, {p[1].text}")
        return Item(self.typed(p))

    def item_typed_tensor(self, p: Parts) -> Item:
        return Item(Typed(p[1], known(p[0]), p[3], p[4].end))

    def item_tensor_typed(self, p: Parts) -> Item:
        return Item(self.typed_tensor(p))


def computed(target: Token, subscripts: list[Node] | None, symbol: Token, chain: Any, clauses: list[Clause]) -> Compute:
    if symbol.text in ("**=", "^=", "-=", "/=", "-=!", "/=!"):
        raise AdError(f"there is no '{symbol.text}'", (symbol.start, symbol.end),
                      "a tensor is made by =, +=!, *=!, min=!, max=!, and changed by +=, *=, min=, max=" if subscripts is not None
                      or symbol.text.endswith("!") else f"write {target.text} = {target.text} {symbol.text[:-1]} ...")
    value, same = two(chain, "<=>")
    end = clauses[-1].end if clauses else (same or value).end
    return Compute(target, subscripts, symbol.text, value, same, clauses, target.start, end)


def known(element: Token) -> Token:
    """A type of elements that the language has."""
    if element.text not in (*ELEMENTS, *INTEGERS):
        raise AdError(f"'{element.text}' is no type of elements", (element.start, element.end),
                      "float and double mean double, int32 and the like are whole numbers")
    return element
