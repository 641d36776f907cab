"""Subscripts, extents and bounds: from expressions of the source tree to affine expressions.

A subscript is a sum of indices and sizes with whole-number factors; a quotient is allowed where it is exact. Of sizes alone, as
in an extent or a bound of `where`, there may moreover be the floor of a quotient, the least and greatest of several, and
products.
"""
from __future__ import annotations

from collections.abc import Callable

from adcli.lang.ir.affine import Affine, affine, floor, greatest, least, product
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.scope import Context
from adcli.lang.syntax.constants import number
from adcli.lang.syntax.tree import Call, Node, Op, Token, bare, postorder

TOO_LARGE = 2**53
"""Whole numbers in subscripts and extents are smaller."""
MOST_NESTED = 100
"""Products, quotients, least and greatest in one extent or bound."""


class AffineReader:
    """Reads affine expressions; `name` gives names a meaning, `what` says in errors what is being read."""

    def __init__(self, context: Context, name: Callable[[Token], Affine], bound: bool = False) -> None:
        self.context, self.name, self.bound = context, name, bound

    def read(self, root: Node, what: str) -> Affine:
        stack: list[Affine] = []
        nested = 0
        for node in postorder(root):
            if isinstance(node, Op | Call) and node.name in ("mul", "div", "min", "max"):
                nested += 1
                if nested > MOST_NESTED:
                    raise self.context.fault(f"{what}: more than {MOST_NESTED} products, quotients, min and max", node)
            if type(node) is Token:
                stack.append(self.leaf(node, what))
                continue
            assert isinstance(node, Op | Call)
            split = len(stack) - len(node.args)
            value = self.applied(node, stack[split:], root, what)
            if abs(value.constant) >= TOO_LARGE or any(abs(c) >= TOO_LARGE for _, c in value.terms):
                raise self.context.fault(f"{what}: a number is too large", node)
            stack[split:] = [value]
        return stack[0]

    def leaf(self, token: Token, what: str) -> Affine:
        if token.type == "NAME":
            return self.name(token)
        value = number(token, self.context.source)
        if value != int(value) or abs(value) >= TOO_LARGE:
            said = "not a whole number" if value != int(value) else "too large"
            raise self.context.fault(f"{what}: '{token.text}' is {said}", token)
        return affine(int(value))

    def applied(self, node: Op | Call, args: list[Affine], root: Node, what: str) -> Affine:
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
            if not args[0].indices() and not args[1].indices():
                return product(args[0], args[1])
        if name in ("div", "rem") and count == 2 and args[1].number:
            return self.quotient(node, args[0], args[1].number, what)
        if name in ("min", "max") and args and not any(a.indices() for a in args):
            return (least if name == "min" else greatest)(*args)
        raise self.not_affine(node, args, root, what)

    def quotient(self, node: Op | Call, whole: Affine, divisor: int, what: str) -> Affine:
        """A quotient or a remainder by a whole number, where it is exact, or where the floor is meant."""
        exact = whole.constant % divisor == 0 and all(c % divisor == 0 for _, c in whole.terms)
        if node.name == "div" and exact:
            return Affine(tuple((a, c // divisor) for a, c in whole.terms), whole.constant // divisor)
        if node.name == "rem" and exact:
            return affine(0)
        if node.name == "div" and divisor > 0 and not whole.indices():
            return floor(whole, divisor)
        said = "a quotient" if node.name == "div" else "a remainder"
        raise self.context.fault(f"{what}: {said} by {divisor} that is not always exact" + self.indices(whole), node,
                                 "a subscript is a sum of indices and sizes with whole-number factors")

    def not_affine(self, node: Op | Call, args: list[Affine], root: Node, what: str) -> AdError:
        found = self.indices(*args)
        return self.context.fault(f"{what} is not affine: {self.context.text(bare(root))}{found}", node,
                                  "a subscript is a sum of indices and sizes with whole-number factors" if not self.bound else
                                  "a bound is made of sizes and whole numbers by + - * /, min and max")

    def indices(self, *args: Affine) -> str:
        names = ", ".join(dict.fromkeys(f"'{i.name}'" for a in args for i in a.indices()))
        return f" (index {names})" if names else ""
