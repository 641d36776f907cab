"""Graphs at a point: the value, tangent and adjoint of every node, what is nan or infinite, and where paths are cut.

The numbers of programs of scalars are those of the sweeps that `why` explains, and so are the words; those of programs with
tensors are the values of the derivative program, of which the adjoint of every value is made a result.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adcli.answers.evaluation import all_derivatives, all_values
from adcli.codegen.documents.graph import AtPoint, Said
from adcli.codegen.rows.native_arithmetic import native_arithmetic
from adcli.lang.analyse.explain import Cause, Explainer, Question
from adcli.lang.analyse.numeric_sweeps import Sweep, forward_sweep, reverse_sweep
from adcli.lang.ir import Atom, Equation, Lit, Program, Var, has_tensors
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.precision import DOUBLE
from adcli.output.numbers import Number

if TYPE_CHECKING:
    import numpy as np

DUP = TABLE["dup"]
WORDS = {"not taken": "arm not taken", "not the winner": "not the winner", "hinge": "flat side", "step": "flat step",
         "comparison": "only a comparison", "kink": "kink: 0 by convention", "zero factor": "times 0", "stationary": "slope 0",
         "tail": "slope rounds to 0", "underflow": "underflow", "unverified": "slope 0"}
"""Labels of edges by which no derivative goes on, by the kind of cause."""
WIDEST_TENSOR = 6
"""Elements of a tensor that are shown; of a larger one the least and the largest."""

Seeds = Mapping[str, Any]
"""By the names of inputs, or of outputs."""


def at_point(program: Program, point: Mapping[str, Any], wrt: Sequence[str], tangent: Seeds | None, cotangent: Seeds | None,
             number: Number) -> AtPoint:
    """A program at a point; adjoints and tangents where there are seeds for all outputs or inputs."""
    if has_tensors(program):
        if tangent is not None:
            raise AdError("⟦--tangent⟧: the values of this program are tensors", help="draw its tangents: ⟦--stage forward⟧")
        return _tensors(program, point, wrt, cotangent, number)
    explainer = Explainer(program, point, wrt, native_arithmetic(DOUBLE))
    sweeps = []
    if tangent is not None:
        sweeps.append(forward_sweep(program, explainer.values, [(program.param(x).var, s) for x, s in tangent.items()]))
    if cotangent is not None:
        weights = [(r.atom, cotangent[r.name]) for r in reversed(program.results) if r.name in cotangent]
        sweeps.append(reverse_sweep(program, explainer.values, weights, explainer.depends, explainer.active))
    scalars = _Scalars(explainer, sweeps, number)
    return AtPoint(dict(scalars.values()), dict(scalars.cuts(sweeps[-1])) if sweeps else {})


class _Scalars:
    """The numbers of a program of scalars, in words."""

    def __init__(self, explainer: Explainer, sweeps: Sequence[Sweep], number: Number) -> None:
        self.explainer, self.sweeps, self.number = explainer, sweeps, number
        self.copies = {o: o.name or "" for e in explainer.program.equations if e.op is DUP for o in e.outs}

    def values(self) -> Iterator[tuple[Atom, Said]]:
        for var, x in self.explainer.values.items():
            copy = var in self.copies
            lines = [] if copy else [f"value {self.text(x)}"]
            lines += [f"{self.copies.get(var, '')} {sweep.word} {self.text(d.value)}".lstrip() for sweep in self.sweeps
                      if (d := sweep.derivatives.get(var)) is not None]
            yield var, Said(tuple(lines), self.mark(var, x))

    def text(self, x: Any) -> str:
        return str(x).lower() if isinstance(x, bool) else self.number(x)

    def mark(self, var: Var, x: Any) -> str:
        """The fault of a value, else of its derivatives; with the reason, where that came about here."""
        if wrong(x):
            return self.because(self.text(x), Question(var), lambda c: c.position is None and self.defines(c, var))
        for sweep in self.sweeps:
            if wrong(d := sweep.numbers.get(var, 0.0)):
                return self.because(f"{sweep.word} {self.text(d)}", Question(var, sweep), lambda c: self.reaches(c, var))
        return ""

    def defines(self, cause: Cause, var: Var) -> bool:
        return cause.equation is not None and var in cause.equation.outs

    def reaches(self, cause: Cause, var: Var) -> bool:
        e = cause.equation
        return e is not None and cause.position is not None and (e.args[cause.position] is var or var in e.outs)

    def because(self, text: str, question: Question, here: Callable[[Cause], bool]) -> str:
        cause = self.explainer.causes(question)[0]
        return f"{text}: {cause.kind.replace('·', ' · ')}" if here(cause) else text

    def cuts(self, sweep: Sweep) -> Iterator[tuple[tuple[Equation, int], str]]:
        """The arguments of operations that a derivative reaches and does not pass."""
        parts = {(p.equation, p.position): p for line in sweep.lines for p in line}
        for e in self.explainer.program.equations:
            for i, a in enumerate(e.args):
                source = a if sweep.forward else e.outs[0]
                if e.op is DUP or isinstance(a, Lit) or a not in self.explainer.depends or not sweep.numbers.get(source):
                    continue
                p = parts.get((e, i))
                if p is None or p.derivative.absent:
                    yield (e, i), WORDS[self.explainer.ending(e, i)]
                elif p.value == 0:
                    cause = self.explainer.part_zero(sweep, p)
                    assert isinstance(cause, Cause), "the derivative that reaches it is not zero"
                    yield (e, i), WORDS[cause.kind]


def wrong(x: Any) -> bool:
    """True for nan and infinities."""
    return not isinstance(x, bool) and not math.isfinite(x)


# ---------------------------------------------------------------- tensors

def _tensors(program: Program, point: Mapping[str, Any], wrt: Sequence[str], cotangent: Seeds | None, number: Number) -> AtPoint:
    values = all_values(program, point)
    adjoints = {} if cotangent is None else all_derivatives(program, point, wrt, cotangent, True)
    said: dict[Atom, Said] = {}
    for var, x in values.items():
        lines = [f"value {tensor_text(x, number)}"]
        lines += [f"adjoint {tensor_text(adjoints[var], number)}"] if var in adjoints else []
        said[var] = Said(tuple(lines), tensor_mark(x) or (f"adjoint {m}" if (m := tensor_mark(adjoints.get(var, 0.0))) else ""))
    return AtPoint(said)


def tensor_text(x: Any, number: Number) -> str:
    """A small tensor with its elements, a large one by its shape, its least and its largest element."""
    import numpy as np
    array: np.ndarray = np.asarray(x)
    if array.dtype == bool and array.ndim == 0:
        return str(bool(array)).lower()
    if array.size <= WIDEST_TENSOR:
        return nested(array, number)
    shape = " × ".join(map(str, array.shape))
    finite = array[np.isfinite(array)]
    if not finite.size:
        return f"{shape}, none finite"
    low, high = number(float(finite.min())), number(float(finite.max()))
    return f"{shape}, all {low}" if low == high and finite.size == array.size else f"{shape}, {low} to {high}"


def nested(array: np.ndarray, number: Number) -> str:
    if array.ndim == 0:
        return str(int(array)) if array.dtype.kind in "iu" else number(float(array))
    return f"[{', '.join(nested(part, number) for part in array)}]"


def tensor_mark(x: Any) -> str:
    """How many elements are nan or infinite."""
    import numpy as np
    array: np.ndarray = np.asarray(x, float)
    found = [(np.isnan(array), "nan"), (np.isposinf(array), "inf"), (np.isneginf(array), "-inf")]
    said = [word if array.ndim == 0 else f"{int(there.sum()):,} × {word}" for there, word in found if there.any()]
    return ", ".join(said)
