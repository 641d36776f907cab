"""The evaluators and the emitted languages: each takes programs with points, and gives the results as the reference would."""
from __future__ import annotations

import contextlib
import ctypes
import pathlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import pytest
from adcli.codegen.emission import EmitOptions
from adcli.codegen.library.code import linked, object_file
from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import Kernel, run
from adcli.codegen.modules.runtime import compile_tensors
from adcli.codegen.rows import jit, point
from adcli.codegen.rows.compiled import Interpreted, compile_program
from adcli.codegen.rows.expand import for_machine
from adcli.codegen.rows.instructions import Instructions
from adcli.codegen.scripts.tape import tape
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.precision import DOUBLE
from back_ends import on_tape
from c_programs import CC, run_in_c
from c_tensors import Point as TensorPoint
from c_tensors import run_tensors
from libraries import LD, called
from native_programs import WIDTHS
from pages import in_node
from script_programs import (
    NODE,
    OCTAVE,
    RUSTC,
    flat,
    in_octave,
    in_rust,
    run_in_node,
    run_in_octave,
    run_in_python,
    run_in_rust,
    tensors_in_node,
    tensors_in_python,
)

OPERATIONS = [op for op in TABLE.values() if op.name != "dup"]
Cases = Sequence[tuple[Program, Sequence[Sequence[float]]]]
Rows = list[list[list[float]]]
"""For each program, for each of its points, the results in order."""


class BackEnd(NamedTuple):
    """One way to compute: what runs it, whether it is there, whether its bits are those of machine code on one row at a time."""

    name: str
    run: Callable[[pathlib.Path, Cases], Rows]
    there: bool = True
    bits: bool = False


def by_kernels(make: Callable[[Program], Kernel], folder: pathlib.Path, cases: Cases) -> Rows:
    found = []
    for program, points in cases:
        columns = run(make(program), [[float(at[k]) for at in points] for k in range(len(program.params))], len(points))
        found.append([[column[i] for column in columns] for i in range(len(points))])
    return found


def compiled(lanes: int) -> Callable[[pathlib.Path, Cases], Rows]:
    return partial(by_kernels, lambda p: compile_program(for_machine(p), lanes))


def as_functions(folder: pathlib.Path, cases: Cases, size: int = point.PART_SIZE) -> Rows:
    """Functions of two arrays in a shared library, in parts of so many equations."""
    instructions, names = Instructions(1, veclib.NO_LIBRARY), [f"f{k}" for k in range(len(cases))]
    with pytest.MonkeyPatch.context() as patch:
        for limit in ("ONE_PART", "PART_SIZE") if size != point.PART_SIZE else ():
            patch.setattr(point, limit, size)
        lines = [line for name, (p, _) in zip(names, cases, strict=True)
                 for line in point.function(for_machine(p), name, instructions).lines]
    code = jit.object_code("\n".join([*instructions.declarations(), *lines, ""]), jit.baseline())
    (folder / f"{size}.so").write_bytes(linked(code, names, None))
    library = ctypes.CDLL(str(folder / f"{size}.so"))
    return [[called(library, name, at, len(p.results)) for at in points] for name, (p, points) in zip(names, cases, strict=True)]


def on_a_page(folder: pathlib.Path, cases: Cases) -> Rows:
    return in_node(folder, [({"tape": tape(p, {})}, [([*at],) for at in points]) for p, points in cases])


BACK_ENDS = [
    *(BackEnd(f"native, {lanes} lanes", compiled(lanes)) for lanes in WIDTHS),
    BackEnd("tape", partial(by_kernels, lambda p: on_tape(for_machine(p)))),
    BackEnd("interpreted", partial(by_kernels, lambda p: Interpreted(p, DOUBLE))),
    BackEnd("object", as_functions, LD is not None, bits=True),
    BackEnd("c", run_in_c, CC is not None, bits=True),
    BackEnd("js", run_in_node, NODE is not None),
    BackEnd("python", lambda folder, cases: run_in_python(cases)),
    BackEnd("rust", run_in_rust, RUSTC is not None),
    BackEnd("matlab", run_in_octave, OCTAVE is not None),
    BackEnd("page", on_a_page, NODE is not None),
]
IN_PARTS = [
    BackEnd("object in parts", partial(as_functions, size=20), LD is not None, bits=True),
    BackEnd("c in parts", partial(run_in_c, size=25), CC is not None, bits=True),
    BackEnd("js in parts", partial(run_in_node, size=25), NODE is not None),
]
"""Long texts are cut."""


# ---------------------------------------------------------------- tensors

class TensorBackEnd(NamedTuple):
    """The same for programs with tensors: all numbers of the results one after the other, None where a point is refused. Lists in
    lists do not say how long the elements of an empty list would be."""

    name: str
    run: Callable[[pathlib.Path, list[Program], list[list[TensorPoint]]], list[list[list[float] | None]]]
    there: bool = True
    nested: bool = False


def refused(results: Any) -> list[float] | None:
    return None if isinstance(results, str) else flat(results)


def rows_of(found: list[Any], points: list[list[TensorPoint]]) -> list[list[list[float] | None]]:
    each = iter(found)
    return [[refused(next(each)) for _ in row] for row in points]


def by_nests(folder: pathlib.Path, programs: list[Program], points: list[list[TensorPoint]]) -> list[list[list[float] | None]]:
    def results(kernel: Any, program: Program, at: TensorPoint) -> list[float] | None:
        try:
            found = kernel({p.name: at[0][p.name] for p in program.params})
            return flat([found[r.name] for r in program.results])
        except AdError:
            return None
    return [[results(kernel, p, at) for at in row]
            for p, row, kernel in zip(programs, points, map(compile_tensors, programs), strict=True)]


def by_c(folder: pathlib.Path, programs: list[Program], points: list[list[TensorPoint]], objects: bool = False,
         ) -> list[list[list[float] | None]]:
    """C, or object files that have its interface."""
    codes, kept = [], []
    for k, p in enumerate(programs if objects else []):
        with contextlib.suppress(AdError):   # a guard whose effect is not seen for all sizes
            codes.append(object_file(p, [], EmitOptions(lanes=(1, 2, 4)[k % 3], name=f"f{len(codes)}")))
            kept.append(k)
    kept = kept if objects else [*range(len(programs))]
    found = run_tensors(folder, [programs[k] for k in kept], [points[k] for k in kept], codes)
    made = {k: [None if code else numbers for code, numbers in row] for k, row in zip(kept, found, strict=True)}
    return [made.get(k, [...]*len(row)) for k, row in enumerate(points)]


def scripts(language: Callable[..., list[Any]], folder: pathlib.Path, programs: list[Program], points: list[list[TensorPoint]],
            ) -> list[list[list[float] | None]]:
    return rows_of(language(folder, programs, points), points)


TENSOR_BACK_ENDS = [
    TensorBackEnd("native", by_nests),
    TensorBackEnd("object", partial(by_c, objects=True), CC is not None),
    TensorBackEnd("c", by_c, CC is not None),
    TensorBackEnd("js", partial(scripts, tensors_in_node), NODE is not None, nested=True),
    TensorBackEnd("rust", in_rust, RUSTC is not None),
    TensorBackEnd("matlab", in_octave, OCTAVE is not None),
    TensorBackEnd("python", partial(scripts, lambda folder, *asked: tensors_in_python(*asked))),
]


def named(each: BackEnd | TensorBackEnd) -> Any:
    """A row of a table of tests."""
    return pytest.param(each, id=each.name, marks=pytest.mark.skipif(not each.there, reason=f"no {each.name}"))


every_back_end = pytest.mark.parametrize("back_end", list(map(named, BACK_ENDS)))
also_in_parts = pytest.mark.parametrize("back_end", list(map(named, [*BACK_ENDS, *IN_PARTS])))
every_tensor_back_end, every_tensor_language = (
    pytest.mark.parametrize("back_end", [named(each) for each in TENSOR_BACK_ENDS if each.name not in without])
    for without in ((), ("object",)))
"""An object refuses sizes at which a condition alone keeps a subscript inside."""
