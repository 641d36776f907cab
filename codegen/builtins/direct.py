"""Kernels as builtin functions of Python, whose calls cost a tenth of those by ctypes; see `builtin_calls`.

What is assumed of objects in memory (CPython's type, NumPy's arrays) is looked at on known ones before it is relied on. Where
Python is another, or a kernel is not one piece of code, there are no builtins, and callers have their way in Python.
"""
from __future__ import annotations

import ctypes
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from adcli.codegen.builtins.plan_words import (
    API,
    CONTENT,
    DATA,
    DIMENSIONS,
    DTYPE,
    ENTRIES,
    FLAGS,
    MEMORY_WORDS,
    NAME,
    OBJECTS,
    PLAN,
    READABLE,
    SHAPE,
    TYPE,
    WRITABLE,
    CallMemory,
)
from adcli.codegen.machine.kernel import CACHE_LINE, COMPILING, CodegenError, EntryPoint, Kernel, NoExecutableMemory
from adcli.codegen.rows.compiled import same_for_all
from adcli.lang.operations.precision import PRECISIONS

PATIENCE = 20_000
"""Equations times rows that are computed with Python's lock held: about ten microseconds. A single row counts as a block."""
FASTCALL = 0x80
"""Python's METH_FASTCALL."""
NEW_BUILTIN = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
Quick = Callable[..., Any]
"""A builtin, or what stands in its place: it gives None for what it does not know."""


class Plan(bytes):
    """The words of PLAN that a builtin is bound to, with the objects whose addresses these and the builtin have, which it may
    outlive where Python ends."""

    kept: tuple[object, ...]


class Gathered(NamedTuple):
    """How a vector goes into a kernel, and what of its results goes where: see `layout`."""

    components: int
    origins: Sequence[int]
    sources: Sequence[int]
    places: Sequence[int]
    size: int


class ShapedValue(NamedTuple):
    """An input or a result of nests, of a kind of `layout`: rank and extents, or the value of a COUNT, and bytes."""

    kind: int
    shape: tuple[int, ...]
    bytes: int


class Shaped(NamedTuple):
    """Inputs and results of nests for one set of shapes, and what is run: see `layout`. Calls that make their results, in the
    `order` of a dictionary, have a `frame`: None where there are no such."""

    columns: Sequence[ShapedValue]
    actions: Sequence[tuple[int, int, int]]
    flag: int
    frame: CallMemory | None = None
    order: Sequence[str] = ()


class MethodDef(ctypes.Structure):
    """Python's PyMethodDef."""

    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


def never(*arguments: object) -> None:
    """Stand-in where there is no builtin: it knows nothing."""


def by_name(kernel: Kernel, inputs: Sequence[str], outputs: Sequence[str], defaults: Mapping[str, float],
            equations: int) -> tuple[Quick, Quick]:
    """`numbers` and `columns` of a kernel."""
    found = builtins(kernel.entry.code) if is_code(kernel) else None
    if found is None:
        return never, never
    names = [tuple(map(sys.intern, each)) for each in (inputs, outputs)]
    plan = planned(kernel, equations, [defaults.get(name, 0.0) for name in inputs], names,
                   [name not in defaults for name in inputs], Gathered(0, (), (), (), 0))
    return found("numbers", plan), found("columns", plan)


def of_tensors(kernel: Kernel, names: Sequence[Sequence[str]], defaults: Mapping[str, float], shaped: Shaped,
               instructions: float) -> tuple[Quick, Quick]:
    """`tensors` and `results` of the code of nests, whose inputs and results have these names."""
    found = builtins(kernel.entry.code) if is_code(kernel) else None
    if found is None or not with_arrays(kernel.entry.code):
        return never, never
    inputs, outputs = (tuple(map(sys.intern, each)) for each in names)
    places = Gathered(0, (), (), [*map(shaped.order.index, outputs)], 0)
    plan = planned(kernel, int(instructions) if instructions > PATIENCE else 1, [defaults.get(name, 0.0) for name in inputs],
                   (inputs, outputs), [name not in defaults for name in inputs], places, shaped)
    return found("tensors", plan), found("results", plan) if shaped.frame is not None else never


def of_vector(kernel: Kernel, constants: Sequence[float], gathered: Gathered, equations: int) -> Quick:
    """`vector` of a kernel, whose inputs are constants where they are no components; in Python where there is none here."""
    found = builtins(kernel.entry.code) if is_code(kernel) else None
    if found is None or not with_arrays(kernel.entry.code):
        return in_python(kernel, constants, gathered)
    return found("vector", planned(kernel, equations, constants, ((), ()), (), gathered))


def in_python(kernel: Kernel, constants: Sequence[float], gathered: Gathered) -> Quick:
    """`vector` in Python, also for a kernel that is not one piece of code."""
    import numpy as np
    lanes, from_vector = kernel.lanes, [i for i, origin in enumerate(gathered.origins) if origin >= 0]
    origins, places = (np.array(each, np.intp) for each in (gathered.origins, gathered.places))
    sources = np.array(gathered.sources, np.intp)
    fixed = np.array(constants, np.float64)

    def filled(into: Any, *vectors: Any) -> Any:
        given, found = np.empty((len(fixed), lanes)), np.empty((kernel.entry.outputs, lanes))
        given[:] = fixed[:, None]
        given[from_vector] = np.concatenate(vectors)[origins[from_vector], None]
        inputs, outputs = (block.ctypes.data + 8 * lanes * np.arange(len(block)) for block in (given, found))
        kernel(inputs.ctypes.data, outputs.ctypes.data, 0, lanes, kernel.workspace())
        into.reshape(-1)[places] = found[sources, 0]
        return into

    return filled


def is_code(kernel: Kernel) -> bool:
    """True for compiled code, not the evaluator in its place."""
    return type(kernel) is Kernel


def planned(kernel: Kernel, equations: int, defaults: Sequence[float], names: Sequence[tuple[str, ...]],
            required: Sequence[bool], gathered: Gathered, shaped: Shaped | None = None) -> Plan:
    """The plan of a kernel, with the names of inputs and outputs where they are looked up."""
    functions = api(kernel.entry.code)
    kept: list[object] = [kernel, names, functions]

    def table(kind: str, values: Sequence[Any]) -> int:
        made = array(kind, values)
        kept.append(made)
        return made.buffer_info()[0]

    entry = kernel.entry
    inputs, outputs = (entry.inputs, entry.outputs) if shaped is None else (len(names[0]), len(names[1]))
    shaped = shaped or Shaped((), (), 0)
    frame = 0 if shaped.frame is None else ctypes.addressof(shaped.frame[0])
    columns, order = inputs + outputs, dict.fromkeys(shaped.order)
    blanks = [(c.shape[1:],) if entry.code == "d" else (c.shape[1:], entry.code) for c in shaped.columns[inputs:]]
    kept += [order, blanks, shaped.frame]
    given, found = (table("Q", [id(name) for name in each]) for each in names)
    words = {
        "api": ctypes.addressof(functions), "kernel": pointed(kernel.function), "lanes": kernel.lanes,
        "work": kernel.work_bytes,
        "memory": 8 * (MEMORY_WORDS + columns * (3 + kernel.lanes) + gathered.components) + kernel.work_bytes + CACHE_LINE,
        "patience": max(0, PATIENCE // max(equations, 1) - kernel.lanes + 1), "inputs": inputs, "outputs": outputs,
        "input_names": given, "output_names": found, "required": table("q", required), "defaults": table("d", defaults),
        "components": gathered.components, "origins": table("q", gathered.origins), "entries": len(gathered.sources),
        "sources": table("q", gathered.sources), "places": table("q", gathered.places), "size": gathered.size,
        "kinds": table("q", [c.kind for c in shaped.columns]), "shapes": table("q", [n for c in shaped.columns for n in c.shape]),
        "bytes": table("q", [c.bytes for c in shaped.columns]),
        "actions": table("q", [n for action in shaped.actions for n in action]), "acts": len(shaped.actions), "flag": shaped.flag,
        "frame": frame, "busy": table("q", [0]), "order": id(order), "blanks": table("Q", [id(each) for each in blanks])}
    plan = Plan(array("Q", [words[name] for name in PLAN]).tobytes())
    plan.kept = tuple(kept)
    return plan


def builtins(code: str = "d") -> Callable[[str, Plan], Quick] | None:
    """The maker of builtins from plans, for kernels on numbers with this letter; None where there are none."""
    return once(_builtins, code)


def with_arrays(code: str = "d") -> bool:
    """Let builtins know NumPy; False where its arrays are not as `layout` has them."""
    return once(_with_arrays, code)


_once: dict[tuple[Any, str], Any] = {}


def once(made: Callable[[str], Any], code: str) -> Any:
    """The result of a function, computed by one thread, also where they begin together, and there for all without waiting for
    what another one compiles."""
    if (made, code) in _once:
        return _once[made, code]
    with COMPILING:
        if (made, code) not in _once:
            _once[made, code] = made(code)
        return _once[made, code]


def _builtins(code: str) -> Callable[[str, Plan], Quick] | None:
    if not known_python():
        return None
    try:
        made = compiled(code)
        new = NEW_BUILTIN(("PyCFunction_NewEx", ctypes.pythonapi))   # our own: others may declare theirs as they like
        api(code)
    except (CodegenError, NoExecutableMemory, MemoryError, AttributeError):
        return None
    addresses = (ctypes.c_void_p * len(ENTRIES))()
    made(addresses, None, 0, 0)
    methods = {name: MethodDef(name.encode(), address, FASTCALL, None)
               for name, address in zip(ENTRIES, addresses, strict=True)}

    def builtin(name: str, plan: Plan) -> Quick:
        plan.kept += (made, methods)
        found: Quick = new(ctypes.addressof(methods[name]), plan, None)
        return found

    return builtin


def _with_arrays(code: str) -> bool:
    if not known_python():
        return False
    import numpy as np
    a = np.empty((2, 3), code)
    a.flags.writeable = False
    dtype, at = np.dtype(code), id(a)
    extents = at_address(ctypes.c_void_p, at + SHAPE)
    fits = (at_address(ctypes.c_void_p, at + DATA) == a.ctypes.data
            and at_address(ctypes.c_int, at + DIMENSIONS) == 2
            and extents is not None and [at_address(ctypes.c_ssize_t, extents + 8 * k) for k in range(2)] == [2, 3]
            and at_address(ctypes.c_void_p, at + DTYPE) == id(dtype)
            and at_address(ctypes.c_int, at + FLAGS) & WRITABLE == READABLE)
    if fits:
        for name, known in (("float64", np.float64), ("ndarray", np.ndarray), ("dtype", dtype), ("int64", np.dtype(np.int64)),
                            ("empty", np.empty)):
            api(code)[len(API) + OBJECTS.index(name)] = id(known)
    return fits


@cache
def api(code: str) -> Any:
    """The table of Python's functions and objects, for numbers with this letter."""
    functions = [pointed(getattr(ctypes.pythonapi, name)) for name in API]
    known = {"none": id(None), "true": id(True), "dict": id(dict), "float": id(float), "int": id(int),
             "exception": id(Exception)}
    return (ctypes.c_void_p * (len(functions) + len(OBJECTS)))(*functions, *[known.get(name, 0) for name in OBJECTS])


def at_address(kind: Any, address: int) -> Any:
    return kind.from_address(address).value


def pointed(function: Any) -> int:
    """The address of a function of ctypes; by its `cast` the function would hold itself for ever."""
    return int(at_address(ctypes.c_void_p, ctypes.addressof(function)))


def known_python() -> bool:
    """True if objects lie in memory as `layout` has them: CPython for 64 bits, with its lock."""
    if sys.implementation.name != "cpython" or sys.maxsize < 1 << 32 or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    word, number = Plan(b"words of a plan."), 1.5
    return (at_address(ctypes.c_void_p, id(number) + TYPE) == id(float)
            and ctypes.string_at(id(word) + CONTENT, len(word)) == word)


def compiled(code: str) -> Kernel:
    """The module for numbers with this letter, whose text is written only where the cache does not have it."""
    def text() -> str:
        from adcli.codegen.builtins import builtin_calls
        return builtin_calls.text(next(p for p in PRECISIONS.values() if p.code == code))

    return same_for_all(f"calls {code}", EntryPoint(NAME, 1, 0, 0, 0, ()), text, keep=True)
