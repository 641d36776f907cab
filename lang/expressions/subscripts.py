"""Subscripts, extents and bounds: from expressions of the source tree to affine expressions.

A subscript is a sum of indices and sizes with whole numbers and sizes as factors; a quotient is allowed where it is exact, its
floor and a remainder everywhere. Of sizes alone, as in an extent or a bound of `where`, `/` is the floor of the quotient, and
there may be the least and greatest of several.

Reads of elements that nothing has written.

What statements write one by one before a loop, and the loop step by step, need not be all of a tensor. The boxes of elements that
are written are kept with the value (`Tensors.written`), for those that loops assign; every read of such a value is inside of
them, or a fault.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import Protocol

from adcli.lang.expressions.scope import Context
from adcli.lang.ir import Atom
from adcli.lang.ir.affine import Affine, Floor, Index, affine, floor, greatest, least, product, remainder, text, weight
from adcli.lang.ir.errors import AdError, Fix
from adcli.lang.sizes.histories import Gappy, box_of, missing, surely_missing, surely_written
from adcli.lang.sizes.ranges import Access, Domain, Range
from adcli.lang.syntax.constants import number
from adcli.lang.tree.nodes import Call, Node, Op, Token, bare, postorder
from adcli.lang.tree.notation import SIZES_OF

TOO_LARGE = 2**53
"""Whole numbers in subscripts and extents are smaller."""
LONGEST = 1000
"""Numbers and names in an expression: products of sums could double with each factor."""
MOST_NESTED = 100
"""Products, quotients, least and greatest in one extent or bound."""


class Calls(Protocol):
    """What a reader asks of a scope about a call."""

    def has_meaning(self, name: str) -> bool: ...
    def unknown(self, node: Call) -> AdError: ...


class AffineReader:
    """Reads affine expressions; `name` gives names a meaning, `what` says in errors what is being read."""

    def __init__(self, context: Context, name: Callable[[Token], Affine], bound: bool = False,
                 scope: Calls | None = None) -> None:
        self.context, self.name, self.bound, self.scope = context, name, bound, scope

    def refuse_sizes(self, root: Node) -> None:
        """AdError for a function that gives a size in other languages, which has a name here."""
        for node in postorder(root) if self.scope and type(root) is not Token else ():
            if type(node) is Call and node.name in SIZES_OF and self.scope and not self.scope.has_meaning(node.name):
                raise self.scope.unknown(node)

    def read(self, root: Node, what: str) -> Affine:
        return self.ratio(root, what, False)[0]

    def ratio(self, root: Node, what: str, exact: bool) -> tuple[Affine, int]:
        """An expression and what it is divided by: 1, or, where quotients are `exact` as in values, 2 for N / 2."""
        self.refuse_sizes(root)
        stack: list[tuple[Affine, int]] = []
        nested, floors = 0, set[int]()
        for node in postorder(root):
            if isinstance(node, Op | Call) and node.name == "floor" and len(node.args) == 1:
                floors.add(id(bare(node.args[0])))
        for node in postorder(root):
            if type(node) is Token:
                stack.append((self.leaf(node, what), 1))
                continue
            assert isinstance(node, Op | Call)
            nested += node.name in ("mul", "div", "min", "max")
            if nested > MOST_NESTED:
                raise self.context.fault(f"{what}: more than {MOST_NESTED} products, quotients, min and max", node)
            split = len(stack) - len(node.args)
            args = stack[split:]
            if exact and (node.name in ("div", "floor") or any(d > 1 for _, d in args)):
                value, by = self.divided(node, args, root, what)
            else:
                value, by = self.applied(node, [a for a, _ in args], root, what, id(node) in floors), 1
            if weight(value) > LONGEST or by >= TOO_LARGE:
                raise self.context.fault(f"{what} is too long an expression", node)
            if abs(value.constant) >= TOO_LARGE or any(abs(c) >= TOO_LARGE for _, c in value.terms):
                raise self.context.fault(f"{what}: a number is too large", node)
            stack[split:] = [(value, by)]
        return stack[0]

    def divided(self, node: Op | Call, args: list[tuple[Affine, int]], root: Node, what: str) -> tuple[Affine, int]:
        """An operation on expressions with divisors."""
        values, by = [a for a, _ in args], prod(d for _, d in args)
        if node.name == "div" and len(args) == 2 and args[1][1] == 1 and (args[1][0].number or 0) > 0:
            return values[0], by * args[1][0].constant
        if node.name == "floor" and len(args) == 1:
            return floor(values[0], by), 1
        if by == 1 or node.name == "mul":
            return self.applied(node, values, root, what), by
        if node.name in ("add", "sub", "neg"):
            return self.applied(node, [a * (by // d) for a, d in args], root, what), by
        raise self.not_affine(node, values, root, what)

    def leaf(self, token: Token, what: str) -> Affine:
        if token.type == "NAME":
            return self.name(token)
        value = number(token, self.context.source)
        if value != int(value) or abs(value) >= TOO_LARGE:
            said = "not a whole number" if value != int(value) else "too large"
            raise self.context.fault(f"{what}: '{token.text}' is {said}", token)
        return affine(int(value))

    def applied(self, node: Op | Call, args: list[Affine], root: Node, what: str, floored: bool = False) -> Affine:
        """An operation on expressions; `floored` where it is a quotient of which the floor is taken."""
        name, count = node.name, len(args)
        if name == "add" and count == 2:
            return args[0] + args[1]
        if name == "sub" and count == 2:
            return args[0] - args[1]
        if name in ("neg", "pos", "negate") and count == 1:
            return args[0] if name == "pos" else -args[0]
        if name == "mul" and count == 2:
            factor = args[1].number if args[0].number is None else args[0].number
            if factor is not None:
                return (args[1] if args[0].number is not None else args[0]) * factor
            if not args[0].indices() or not args[1].indices():
                return product(args[0], args[1])
        if name == "rem" and count == 2 and not args[1].indices():
            if args[1].number is not None and args[1].number <= 0:
                raise self.context.fault(f"{what}: a remainder by {args[1].number}", node, "a remainder is by a positive number")
            return remainder(args[0], args[1])
        if name == "div" and count == 2 and args[1].number != 0 and not args[1].indices():
            return self.quotient(node, args[0], args[1], what, floored)
        if name == "floor" and count == 1:
            return args[0]
        if name in ("min", "max") and args and not any(a.indices() for a in args):
            return (least if name == "min" else greatest)(*args)
        raise self.not_affine(node, args, root, what)

    def quotient(self, node: Op | Call, whole: Affine, by: Affine, what: str, floored: bool) -> Affine:
        """A quotient by a number or a size, where it is exact, or where the floor is meant."""
        n = by.number
        if n is not None and whole.constant % n == 0 and all(c % n == 0 for _, c in whole.terms):
            return Affine(tuple((a, c // n) for a, c in whole.terms), whole.constant // n)
        if n is None or n > 0:
            found = floor(whole, by)
            if floored or not any(isinstance(a, Floor) and a.whole.indices() for a, _ in found.terms):
                return found
        said, written = f"{what}: a quotient by {text(by)} that is not always exact", f"floor({self.context.text(bare(node))})"
        if n is None or n > 0:
            raise self.context.fault(said + self.indices(whole), node, f"for the whole number below it write {written}",
                                     Fix(node.start, node.end, written))
        raise self.context.fault(said + self.indices(whole), node,
                                 "a subscript is a sum of indices and sizes with whole-number factors")

    def not_affine(self, node: Op | Call, args: list[Affine], root: Node, what: str) -> AdError:
        found = self.indices(*args)
        if node.name == "div":
            told = "a quotient in subscripts, ranges and extents is by a whole number above 0, or by a size"
        elif not self.bound:
            told = "a subscript is a sum of indices with whole numbers and sizes as factors"
        elif node.name in ("min", "max") and found:
            told = "with indices in them, max is a whole lower end and min a whole upper end: j in max(i - 1, 0):min(i + 2, N)"
        else:
            told = "a bound is made of sizes and whole numbers by + - * /, min and max"
        return self.context.fault(f"{what} is not affine: {self.context.text(bare(root))}{found}", node, told)

    def indices(self, *args: Affine) -> str:
        names = ", ".join(dict.fromkeys(f"'{i.name}'" for a in args for i in a.indices()))
        return f" (index {names})" if names else ""


def operands(node: Node, name: str) -> list[Node]:
    """The operands of `min` or `max`, whichever `name` is, where it is the whole expression but for what is added to it, and else
    the expression."""
    call = bare(node)
    if type(call) is Call and call.name == name:
        return [inner for a in call.args for inner in operands(a, name)]
    if type(call) is Op and call.name in ("add", "sub") and len(call.args) == 2:
        first, second = operands(call.args[0], name), operands(call.args[1], name) if call.name == "add" else call.args[1:]
        return [Op(call.name, [x, y], call.start, call.end) for x in first for y in second] if len(first + second) > 2 else [node]
    return [node]


# ---------------------------------------------------------------- reads of elements that nothing has assigned

def check_elements(context: Context, written: Mapping[Atom, Gappy], atom: Atom | None, a: Access, ranges: Iterable[Range],
                   guards: Iterable[Affine]) -> None:
    """AdError where an access to a value may be of an element along the step that nothing has written, or is surely of one
    elsewhere."""
    gappy = written.get(atom) if atom is not None else None
    if gappy is None:
        return
    ranges = tuple(ranges)
    gaps = [gap(gappy, a, ranges, each) for each in (guards, ())]   # the ends of ranges may be nearer than guards, for some sizes
    at = gaps[0]
    if at is None or gaps[1] is None or is_written(gappy, a, ranges, guards):
        return
    element = f"{a.tensor}({', '.join(map(text, at))})"
    beyond = any(low + 1 != high == at[gappy.place] for low, high in (box[gappy.place] for box in gappy.boxes))
    before = f"{a.tensor}({', '.join(text(x - 1 if d == gappy.place else x) for d, x in enumerate(at))})"
    raise AdError(f"this reads {element}, which nothing has written", a.span(gappy.place),
                  f"the last that is written is {before}: the end of a range is not in it" if beyond else
                  f"give it a value first: {element} = ...", context.source)


def is_written(gappy: Gappy, a: Access, ranges: tuple[Range, ...], guards: Iterable[Affine]) -> bool:
    """Whether every element of an access over a domain has been written, which boxes around these elements do not show."""
    at = [affine(Index("")) if x is None else x for x in a.subscripts]
    inside = [y for x, extent in zip(at, a.extents, strict=True) for y in (x, extent - 1 - x)]   # proved elsewhere
    return surely_written(at, [*Domain(ranges, tuple(guards), ()).known(), *inside], gappy.regions)


def gap(gappy: Gappy, a: Access, ranges: tuple[Range, ...], guards: Iterable[Affine]) -> tuple[Affine, ...] | None:
    """An element of an access over a domain that may be one that nothing has written, along the step, or is surely one."""
    whole = tuple((affine(0), extent) for extent in a.extents)
    box = box_of([affine(0) if x is None else x for x in a.subscripts], ranges, guards)
    assert box is not None, "no subscript is gathered"
    read = tuple(each if x is None else own for x, own, each in zip(a.subscripts, box, whole, strict=True))
    inside = [x for (low, high), extent in zip(read, a.extents, strict=True) for x in (low, extent - high)]   # proved elsewhere
    known, place = [*(r.high - r.low - 1 for r in ranges), *inside], gappy.place
    at = missing(read, gappy.boxes, known, place)
    own = read[place:place + 1]
    if at is None or surely_missing(at, gappy.boxes, known) or missing(own, [b[place:place + 1] for b in gappy.boxes], known):
        return at
    return None
