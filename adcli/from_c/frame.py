"""Values of C while a function is read: whole numbers, and arrays that are where their elements are."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from adcli.from_python.arrays import MOST_WRITTEN_OUT, SUBSCRIPT
from adcli.from_python.expressions import subscripts_of
from adcli.from_python.statements import PythonStatements
from adcli.from_python.values import Array, KnownDict, Several, first_of, stacked
from adcli.lang.ir.affine import Affine, affine, bounds, exact_quotient, floor, never_negative, remainder
from adcli.readers.draft import IndexEntry, Ref


class CStatements(PythonStatements):
    """The statements of a C function."""

    by_reference, longest = True, MOST_WRITTEN_OUT

    def settle_constant(self, value: Array, needed: bool = False) -> None:
        """Take what a whole number is made of for sizes, one after another."""
        for name in sorted(value.loose):
            if needed or name in self.reading.facts.given:
                self.reading.learn_constant(name, None)

    def bound(self, name: str, value: Any) -> Any:
        """An array is where its elements are, and no copy."""
        if not isinstance(value, Array):
            return value
        for k, x in enumerate(value.items or []):
            if x.variable is None and x.constant is None and not x.pending:
                value.items[k] = self.bound(name, x)   # type: ignore[index]
        return value if value.shape and value.variable is not None and value.variable.hint else super().bound(name, value)

    def store_element(self, base: Array, places: Sequence[Affine], value: Array, symbol: str = "=") -> None:
        seen = self.reading.stored(base, places[0], self.box)   # type: ignore[attr-defined]
        conditional, self.conditional = self.conditional, self.conditional and not seen
        super().store_element(base, places, value, symbol)   # a reading that finds out how long it is is not kept
        self.conditional = conditional

    def call_unset(self, shape: Any) -> Array:
        """An array without values."""
        return self.filled(self.known(float("nan")), shape)

    def call_quotient(self, a: Array, b: Array) -> Array:
        """The quotient of whole numbers, cut off towards 0."""
        if isinstance(m := a.constant, int) and isinstance(n := b.constant, int):
            if n == 0:
                raise self.fault("this has no value")
            return self.known(abs(m) // abs(n) * (1 if (m < 0) == (n < 0) else -1))
        if a.whole is not None and b.whole is not None:
            if (by := b.whole.number) is not None and by > 0 and self.never_negative(a.whole):
                return self.whole(floor(a.whole, by))
            if (exact := exact_quotient(a.whole, b.whole)) is not None:
                return self.whole(exact)
        return self.operation("trunc", self.binary(ast.Div, a, b))

    def call_remainder(self, a: Array, b: Array) -> Array:
        if isinstance(m := a.constant, int) and isinstance(n := b.constant, int) and n:
            return self.known(abs(m) % abs(n) * (-1 if m < 0 else 1))
        if a.whole is not None and b.whole is not None and self.never_negative(a.whole):
            return self.whole(remainder(a.whole, b.whole))
        return self.elementwise("math", "fmod", [a, b], {})

    def never_negative(self, x: Affine) -> bool:
        return never_negative(bounds(x, self.box)[0])

    def call_behind(self, low: Any, high: Any, step: Any = None) -> Array:
        """The variable of a loop after its last turn."""
        a, b = (self.as_whole(x, "the bound of a loop") for x in (low, high))
        by = 1 if step is None else self.as_whole(step, "a step").number or 1
        if a.number is None or b.number is None:
            if abs(by) > 1:
                raise self.fault("the last turn of this loop is not known")
            return self.whole(b)
        return self.known(a.number + by * len(range(a.number, b.number, by)))

    def call_apart(self, *parts: Any) -> Several:
        """Views of one array, of which some are stored into: each ends where the next one begins."""
        lengths = [len(p.items) if isinstance(p, Array) and p.items is not None else 0 for p in parts]
        if len(set(lengths)) < len(lengths) or 0 in lengths:
            raise self.fault("this stores into an array that it has by two parameters",
                             f"use an array of its own for each{', or give the sizes, ⟦--at n=3⟧' * (0 in lengths)}")
        ends = [max((m for m in lengths if m < n), default=0) for n in lengths]
        return Several([stacked(p.items[:n - m]) for p, n, m in zip(parts, lengths, ends, strict=True)])

    def call_round(self, x: Array) -> Array:
        return self.operation("round", x)

    def place(self, base: Any, target: ast.AST) -> int | None:
        """Where what is behind a pointer begins among all elements of an array, if that is a number."""
        parts = subscripts_of(target) if isinstance(target, ast.Subscript) else []
        if not (parts and isinstance(parts[-1], ast.Slice) and isinstance(base, Array)):
            return None
        found = 0
        for p, x in zip(parts, base.shape, strict=True):
            at = self.affine(p.lower or p if isinstance(p, ast.Slice) else p, SUBSCRIPT).number
            if at is None or x.number is None:
                return None
            found = found * x.number + at
        return found

    def entry_of(self, base: KnownDict, node: ast.Subscript) -> Any:
        """An element of an array of structs is a struct."""
        if isinstance(node.slice, ast.Constant | ast.Slice):
            return super().entry_of(base, node)
        return KnownDict({k: self.taken(a, node) for k, a in base.items.items()})

    def taken(self, a: Array, node: ast.Subscript) -> Any:
        """What is behind a pointer into an array of several dimensions has one."""
        if len(a.shape) > 1 and (at := self.place(a, node)) is not None:
            return stacked(elements(a)[at:])
        found = super().taken(a, node)
        if not found.shape and isinstance(x := found.element(()), Ref) and x.variable.whole:
            found.whole = affine(IndexEntry(x))
        return found

    def store(self, target: ast.expr, value: Any) -> None:
        """What a function stored behind a pointer goes where that points to."""
        assert isinstance(target, ast.Subscript)
        if isinstance(value, KnownDict) and isinstance(self.value(target.value), KnownDict):
            for k, x in value.items.items():
                one = ast.Subscript(ast.Subscript(target.value, ast.Constant(k), ast.Store()), target.slice, ast.Store())
                self.store(ast.fix_missing_locations(ast.copy_location(one, target)), x)
            return
        if not isinstance(subscripts_of(target)[-1], ast.Slice):
            super().store(target, value)
            return
        base = self.value(target.value)
        at = self.place(base, target)
        if at is None or base.items is None or value.items is None:
            raise self.fault("what a function stores in a part of an array cannot be read here",
                             "give the number of elements with the point, ⟦--at n=3⟧, or store into an array of its own", target)
        items, new = elements(base), elements(value)
        items[at:at + len(new)] = new
        for x in base.shape[:0:-1]:
            items = [stacked(items[k:k + (x.number or 1)]) for k in range(0, len(items), x.number or 1)]
        self.unpack_into(target.value, stacked(items))


def elements(a: Array) -> list[Array]:
    """All elements of an array that is written out, in their order in memory."""
    return [a] if not a.shape else [x for part in a.items or [first_of(a, affine(k)) for k in range(a.shape[0].number or 0)]
                                    for x in elements(part)]
