"""The trace of a point that is too large to be written out: the values of all statements by native code.

Tangents are those of forward mode, of all values. Adjoints are those of the inputs: reverse mode keeps no others.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from adcli.answers.all_values import all_values
from adcli.codegen.documents.notation import Label
from adcli.codegen.rows.native_arithmetic import native_arithmetic
from adcli.lang.analyse.trace import TANGENT, VALUE, Trace, traced
from adcli.lang.evaluate.one_element import Element, KnownValues
from adcli.lang.evaluate.recording import TooLong
from adcli.lang.ir import Atom, Lit, Program, Result, Var
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.log_sum_exp import in_sums
from adcli.lang.ir.precision import Precision
from adcli.lang.passes.forward import jvp_with_sweep
from adcli.lang.passes.pipeline import adjoint_program
from adcli.lang.passes.status import with_status
from adcli.lang.sizes.binding import bind, number
from adcli.task.native import native
from adcli.trace.labels import element_labels, no_element

Seeds = Mapping[str, Mapping[str, Any]]


class LargeTrace:
    """A program with tensors at a point, every value as an array."""

    abridged = True

    def __init__(self, program: Program, at: Mapping[str, Any], wrt: Sequence[str], seeds: Seeds,
                 precision: Precision) -> None:
        self.program, self.wrt, self.seeds, self.precision = program, wrt, seeds, precision
        self.at = {name: np.asarray(x) for name, x in at.items()}
        self.values = all_values(program, at, precision.name)

    def numbers(self, atom: Atom, kind: str) -> np.ndarray | None:
        """The values, tangents or adjoints of all elements; None for adjoints that are not known."""
        if isinstance(atom, Lit):
            return np.asarray(atom.value if kind == VALUE else 0.0)
        found = self.values if kind == VALUE else self.tangents if kind == TANGENT else self.adjoints
        return np.asarray(found[atom], float) if atom in found else None

    @cached_property
    def tangents(self) -> dict[Var, Any]:
        moved, sweep = jvp_with_sweep(self.program, self.wrt)
        values = [v for v in self.values if not v.integer]
        results = tuple([Result(f"r{i}", sweep.derivative(v)) for i, v in enumerate(values)])
        kernel = native(replace(moved, equations=tuple(sweep.b.equations), results=results), precision=self.precision.name)
        found = kernel({**self.at, **self.filled(moved, self.seeds[TANGENT])})
        return {v: found[r.name] for v, r in zip(values, results, strict=True)}

    @cached_property
    def adjoints(self) -> dict[Var, Any]:
        swept = adjoint_program(self.program, self.wrt)
        weights = self.filled(swept, self.seeds["cotangent"])
        found = native(swept, precision=self.precision.name)({**self.at, **weights})
        of = {r.name: r.atom for r in self.program.results if isinstance(r.atom, Var)}
        names = [r.name for r in swept.results[len(self.program.results):]]
        return {**{of[p.seed]: weights[p.name] for p in swept.params if p.seed in of},
                **{self.program.param(x).var: found[name] for x, name in zip(self.wrt, names, strict=True)}}

    def filled(self, program: Program, given: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The seeds of a sweep in the shapes of what they belong to."""
        sizes = bind(self.program, {n: x.shape for n, x in self.at.items()}, self.at)
        return {p.name: np.full([number(x, sizes) for x in p.var.shape], given[p.seed], float) for p in program.params if p.seed}

    @cached_property
    def worst(self) -> tuple[int, None]:
        """The worst status at the point; what has it is found natively."""
        program = with_status(self.program, self.program, self.wrt)
        only = replace(program, results=program.results[-1:])
        return int(native(only, precision=self.precision.name)(self.at)[only.results[0].name]), None

    def of_element(self, wanted: str) -> tuple[Trace, dict[Var, Label]]:
        """The operations that compute one element, and what their values are called. AdError where it is none, or they are too
        many."""
        if ":" in wanted:
            raise AdError("of a point as large as this ⟦--element⟧ takes one element", help="name it: ⟦--element 'h(3, 0)'⟧")
        plain = in_sums(self.program)
        elements = KnownValues(plain, self.values if plain is self.program else
                               all_values(plain, self.at, self.precision.name), native_arithmetic(self.precision))
        name, _, places = wanted.replace(" ", "").rstrip(")").partition("(")
        computed = {n: o for o, n in elements.names.items() if o in elements.makers and not o.temp}
        place = tuple([int(p) for p in places.split(",") if p.isdecimal()])
        shape = np.shape(elements.values[computed[name]]) if name in computed else ()
        if name not in computed or len(place) != len(shape) or any(i >= n for i, n in zip(place, shape, strict=True)):
            raise no_element(self.program, wanted, {n: np.shape(elements.values[o]) for n, o in computed.items()})
        try:
            how = elements.made(Element(computed[name], place))
        except TooLong:
            raise AdError(f"too many operations compute {wanted} to be written out",
                          help="give smaller tensors: fewer rows of a batch, fewer units") from None
        trace = traced(how.program, how.at, [], None, None, elements.arithmetic)
        return trace, element_labels(trace, {}, list(self.at))
