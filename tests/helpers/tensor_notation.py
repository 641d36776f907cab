"""Programs with tensors as IR, in a notation short enough for tests and benchmarks."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adcli.lang.ir import Equation, Lit, Param, Primitive, Program, Result, Var
from adcli.lang.ir.affine import Affine, Index, affine
from adcli.lang.ir.build import Builder, Expr
from adcli.lang.operations.comprehension import Comprehension, Range, Read


class Tensors:
    """A program under construction. `inputs` are shapes, as "M N"; "int B" is a tensor of integers, "" a scalar."""

    def __init__(self, **inputs: str) -> None:
        self.equations: list[Equation] = []
        self.values: dict[str, Var | Lit] = {}
        self.params = []
        for name, shape in inputs.items():
            integer = shape.startswith("int")
            extents = tuple(map(expression, shape.removeprefix("int").split()))
            var = self.values[name] = Var(name, shape=extents, integer=integer)
            self.params.append(Param(var, name, active=not integer))

    def make(self, name: str, write: str, reduction: str, ranges: str, reads: Sequence[str], body: Callable[..., Any],
             shape: str | None = None, guards: Sequence[str] = (), onto: str | None = None) -> Tensors:
        """name(write) reduction= body(reads) where ranges: "C", "i j", "+", "i:M j:N k:0:K", ["A i k", "B k j"]; a read is a
        tensor with subscripts, an expression after "=", or a subscript read as "[I b]"."""
        indices, box = {}, []
        for text in ranges.split():
            index, *ends = text.split(":")
            indices[index] = Index(index)
            low, high = ["0", *ends][-2:]
            box.append(Range(indices[index], expression(low), expression(high)))
        args: list[Var | Lit] = []

        def subscripts(words: str) -> tuple[Any, ...]:
            return tuple(read(w[1:-1].replace(",", " ")) if w[0] == "[" else expression(w, indices) for w in words.split())

        def read(words: str) -> Any:
            if words[0] == "=":
                return expression(words[1:], indices)
            tensor, _, rest = words.partition(" ")
            place = subscripts(rest)
            args.append(self.values[tensor])
            return Read(len(args) - 1, place)

        sources = tuple(read(r) for r in reads)
        b = Builder()
        params = tuple(Param(Var(f"x{k}"), f"x{k}") for k in range(len(sources)))
        value = body(*[b.expr(p.var) for p in params])
        inner = Program(params, tuple(b.equations), (Result("z", value.atom if isinstance(value, Expr) else Lit(float(value))),))
        extents = {r.index: r.high for r in box}
        there = subscripts(write)
        out_shape = tuple(map(expression, shape.split())) if shape is not None else tuple(extents[s.index] for s in there)
        start = None
        if onto is not None:
            start = len(args)
            args.append(self.values[onto])
        op = Comprehension(ranges=tuple(box), guards=tuple(expression(g, indices) for g in guards), write=there, shape=out_shape,
                           reduction=reduction, sources=sources, body=inner, onto=start)
        var = self.values[name] = Var(name, shape=out_shape)
        self.equations.append(Equation((var,), op, tuple(args)))
        return self

    def scalar(self, name: str, op: Primitive, *args: str) -> Tensors:
        """name = op(args), on scalars."""
        var = self.values[name] = Var(name, truth=op.truth)
        self.equations.append(Equation((var,), op, tuple(self.values[a] for a in args)))
        return self

    def program(self, *results: str) -> Program:
        return Program(tuple(self.params), tuple(self.equations), tuple(Result(r, self.values[r]) for r in results))


def expression(text: str, indices: Mapping[str, Index] | None = None) -> Affine:
    """An expression with + and - and, after what it multiplies, * and a number: "i*2 + k - 1"."""
    names: dict[str, Any] = {w: affine(w) for w in text.replace("*", " ").replace("+", " ").replace("-", " ").split()
                             if w.isidentifier()}
    names |= {n: affine(i) for n, i in (indices or {}).items()}
    found = eval(text, {}, names)   # the texts of tests
    return found if isinstance(found, Affine) else affine(int(found))
