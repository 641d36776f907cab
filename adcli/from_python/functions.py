"""Functions of Python itself and of its libraries that are not of numbers one by one: `call_NAME` is what `NAME` gives."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from adcli.from_python.arrays import Arrays
from adcli.from_python.frame import ZERO, stacked, truth_as_number
from adcli.from_python.values import Array, Defined, Indexed, KnownDict, PythonRange, Several, known, whole
from adcli.lang.tree.nodes import Call


class Functions(Arrays):
    """Ranges, lists, and what goes along an axis."""

    # Python's own.

    def call_range(self, node: ast.Call, *args: Any) -> PythonRange:
        values = [self.as_whole(a, n, "the bound of a range") for a, n in zip(args, node.args, strict=False)]
        low, high = (ZERO, values[0]) if len(values) == 1 else values[:2]
        step = values[2].number if len(values) > 2 else 1
        return PythonRange(low, high, step) if step else self.refuse(node, "the step of a range has to be a number")

    def call_len(self, node: ast.Call, x: Any) -> Array:
        if isinstance(x, Several | KnownDict):
            return known(len(x.items), self.span(node))
        return whole(self.ranked(self.as_array(x, node), 1, node).shape[0], self.span(node))

    def call_int(self, node: ast.Call, x: Any) -> Array:
        a = self.as_array(x, node)
        span = self.span(node)
        if a.constant is not None:
            return known(int(a.constant), span)
        return a if a.whole is not None else self.apply(lambda y: Call("trunc", y, *span), [a], node)

    def call_bool(self, node: ast.Call, x: Any) -> Array:
        return self.truth(node.args[0])

    def call_list(self, node: ast.Call, x: Any = None) -> Several:
        return Several([] if x is None else self.each_of(x, node), "list")

    def call_tuple(self, node: ast.Call, x: Any = None) -> Several:
        return Several([] if x is None else self.each_of(x, node))

    def call_dict(self, node: ast.Call, **items: Any) -> KnownDict:
        return KnownDict(items)

    def call_enumerate(self, node: ast.Call, x: Any, start: Any = None) -> Several | Indexed:
        first = 0 if start is None else self.as_whole(start, node, "a start").number or 0
        span = self.span(node)
        if (over := self.turns(x, node)) is not None:
            return Indexed(over.extent, lambda t: Several([whole(t + first, span), over.item(t)]))
        return Several([Several([known(k, span), item]) for k, item in enumerate(self.each_of(x, node), first)])

    def call_zip(self, node: ast.Call, *args: Any) -> Several | Indexed:
        over = [self.turns(a, node) for a in args]
        sizes = [o for o in over if o is not None]
        if len(sizes) == len(args) > 0:
            for o in sizes[1:]:
                self.equal(sizes[0].extent, o.extent, node)
            return Indexed(sizes[0].extent, lambda t: Several([o.item(t) for o in sizes]))
        return Several([Several(list(items)) for items in zip(*(self.each_of(a, node) for a in args), strict=False)])

    def call_reversed(self, node: ast.Call, x: Any) -> Several:
        return Several(self.each_of(x, node)[::-1], "list")

    def call_map(self, node: ast.Call, f: Any, *xs: Any) -> Several:
        if not isinstance(f, Defined):
            raise self.fault(node, "map of this function cannot be read", "write a comprehension: [f(u) for u in x]")
        return Several([self.of_file(f, list(items), {}, node)
                        for items in zip(*(self.each_of(x, node) for x in xs), strict=False)], "list")

    # Along axes.

    def call_sum(self, node: ast.Call, x: Any, axis: Any = None, keepdims: Any = None, dim: Any = None,
                 start: Any = None) -> Array:
        if self.library == "builtins":   # of the rows of a matrix
            axis, start = known(0, self.span(node)), start if start is not None else axis
        found = self.along("sum", x, node, axis if dim is None else dim, keepdims)
        if start is not None:
            found = self.binary(ast.Add, self.as_array(start, node), found, node)
        return found

    def along(self, name: str, x: Any, node: ast.Call, axis: Any, keepdims: Any) -> Array:
        if isinstance(x, Several) and not x.items:
            return known(0 if name == "sum" else 1, self.span(node))
        a = truth_as_number(self, self.as_array(x, node), node)
        return self.reduction(name, a, node, axis, isinstance(keepdims, Array) and bool(keepdims.known))

    def call_prod(self, node: ast.Call, x: Any, axis: Any = None, keepdims: Any = None) -> Array:
        return self.along("prod", x, node, axis, keepdims)

    def call_max(self, node: ast.Call, *args: Any, axis: Any = None, keepdims: Any = None, dim: Any = None) -> Array:
        return self.extreme("max", args, node, axis if dim is None else dim, keepdims)

    def call_min(self, node: ast.Call, *args: Any, axis: Any = None, keepdims: Any = None, dim: Any = None) -> Array:
        return self.extreme("min", args, node, axis if dim is None else dim, keepdims)

    def call_amax(self, node: ast.Call, x: Any, axis: Any = None, keepdims: Any = None, dim: Any = None) -> Array:
        return self.along("max", x, node, axis if dim is None else dim, keepdims)

    def call_amin(self, node: ast.Call, x: Any, axis: Any = None, keepdims: Any = None, dim: Any = None) -> Array:
        return self.along("min", x, node, axis if dim is None else dim, keepdims)

    def extreme(self, name: str, args: Sequence[Any], node: ast.Call, axis: Any, keepdims: Any) -> Array:
        if len(args) == 2 and self.library not in ("builtins", "torch"):
            args, axis = args[:1], args[1]
        if len(args) == 1:
            if self.library == "torch" and axis is not None:
                raise self.fault(node, f"'{name}' along a dimension gives two results", f"write torch.a{name}(x, dim=…)")
            return self.along(name, args[0], node, axis, keepdims)
        arrays = [self.as_array(a, node) for a in args]
        whole_ones = [a.constant for a in arrays if isinstance(a.constant, int)]
        if len(whole_ones) == len(arrays):
            return known(max(whole_ones) if name == "max" else min(whole_ones), self.span(node))
        return self.folded(name, arrays, node)

    def call_logsumexp(self, node: ast.Call, x: Any, axis: Any = None, keepdims: Any = None, dim: Any = None) -> Array:
        return self.along("logsumexp", x, node, axis if dim is None else dim, keepdims)

    def call_mean(self, node: ast.Call, x: Any, axis: Any = None, keepdims: Any = None, dim: Any = None) -> Array:
        return self.mean(self.as_array(x, node), node, axis if dim is None else dim,
                         isinstance(keepdims, Array) and bool(keepdims.known))

    call_average = call_mean

    def call_var(self, node: ast.Call, x: Any, axis: Any = None, ddof: Any = None) -> Array:
        usual = int(self.library == "torch")
        less = usual if ddof is None else self.as_whole(ddof, node, "ddof").number or 0
        return self.variance(self.as_array(x, node), node, axis, less)

    def call_std(self, node: ast.Call, x: Any, axis: Any = None, ddof: Any = None) -> Array:
        span = self.span(node)
        return self.apply(lambda y: Call("sqrt", y, *span), [self.call_var(node, x, axis, ddof)], node)

    def call_softmax(self, node: ast.Call, x: Any, axis: Any = None, dim: Any = None) -> Array:
        span = self.span(node)
        return self.apply(lambda y: Call("exp", y, *span), [self.call_log_softmax(node, x, axis, dim)], node)

    def call_log_softmax(self, node: ast.Call, x: Any, axis: Any = None, dim: Any = None) -> Array:
        a = self.ranked(self.as_array(x, node), 1, node)
        axis = axis if dim is None else dim
        if axis is None and self.library != "scipy.special":
            axis = known(-1, self.span(node))
        return self.binary(ast.Sub, a, self.reduction("logsumexp", a, node, axis, True), node)

    def call_cumsum(self, node: ast.Call, x: Any, axis: Any = None) -> Array:
        return self.running("cumsum", ast.Add, x, node)

    def call_cumprod(self, node: ast.Call, x: Any, axis: Any = None) -> Array:
        return self.running("cumprod", ast.Mult, x, node)

    def running(self, name: str, kind: type[ast.operator], x: Any, node: ast.Call) -> Array:
        a = self.ranked(self.as_array(x, node), 1, node)
        if len(a.shape) > 1:
            raise self.fault(node, f"{name} of a matrix cannot be read", "take it of each row")
        if a.items is None:
            return self.called(name, [a], a.shape, self.span(node))
        found: list[Array] = []
        for item in a.items:
            found.append(self.binary(kind, found[-1], item, node) if found else item)
        return stacked(found)
