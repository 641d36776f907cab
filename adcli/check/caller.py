"""Run in a process of its own: calls somebody's function at points and says what comes back, one JSON text a line.

This file is given to Python by its path and imports nothing of adcli, so that what it loads finds the modules that it would
find in a bare Python. The request stands on standard input: {"library" or "python": path, "names": those to try,
"inputs": names, "points": […], "arrays": whether values may be tensors, as nested lists, "most": numbers, "seconds": it may
take}. The answers go where standard output was; before
anything foreign is loaded, standard output becomes /dev/null, so the function may print. The first answer is {"name": …} or
{"unusable": why, "known": names}. Then comes {"numbers": […]} or {"wrong": why} for each point; where numbers have names there
are "names" too, and "unread" says what those are, by their places, that are no numbers.
"""
from __future__ import annotations

import json
import math
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from keyword import iskeyword
from typing import Any, BinaryIO

GUARD = 512
"""Doubles in front of and behind an array that a function must leave alone."""
UNWRITTEN = 0x7FF4_ADC1_1ADC_11AD
"""The bits of a NaN that no arithmetic makes."""
MOST_FILE = 64 << 20
"""Bytes of a library's file in which names are looked for."""
DEEPEST = 50
"""Lists within lists."""
MOST = (1 << 22) + 1
"""Numbers that are read of what a function returns; so many are too many."""


class Unusable(Exception):
    """Nothing can be called: why, and the names that there are."""

    def __init__(self, message: str, known: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.known = sorted(set(known))


class Wrong(Exception):
    """Broken contract of a function that was called."""


Called = Callable[[Sequence[float]], dict[str, Any]]


def main() -> None:
    """One request."""
    answers = os.fdopen(os.dup(1), "wb")
    request = json.load(sys.stdin.buffer)
    signal.alarm(int(request["seconds"]) + 1)   # whoever waits for the answers may have been ended
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    answer(answers, request)
    os._exit(0)   # what a library does when it is unloaded is no result


def answer(answers: BinaryIO, request: dict[str, Any]) -> None:
    """Write the answers to a request."""
    try:
        name, function = library(request) if "library" in request else python(request)
    except Unusable as fault:
        say(answers, {"unusable": str(fault), "known": fault.known})
        return
    say(answers, {"name": name})
    for point in request["points"]:
        try:
            say(answers, function(point))
        except Wrong as fault:
            say(answers, {"wrong": str(fault)})
        except BaseException as error:
            say(answers, {"wrong": f"raises {raised(error)}"})


def say(answers: BinaryIO, record: dict[str, Any]) -> None:
    answers.write(json.dumps(record).encode() + b"\n")
    answers.flush()


def raised(error: BaseException) -> str:
    """An exception in a line, with the last line of a file that it came through."""
    place, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file != __file__ and not file.startswith("<"):
            place = f" ({os.path.basename(file)}:{trace.tb_lineno})"
        trace = trace.tb_next
    return f"{type(error).__name__}{f': {error}' if str(error) else ''}{place}"


# ---------------------------------------------------------------- a library with the C interface

def library(request: dict[str, Any]) -> tuple[str, Called]:
    """The function of a shared library: the first of the names that it has."""
    import ctypes
    try:
        loaded = ctypes.CDLL(request["library"])
    except OSError as error:
        raise Unusable(f"cannot be loaded: {error}") from None
    for name in request["names"]:
        try:
            function = loaded[name]
        except (AttributeError, ValueError):
            continue
        function.restype = ctypes.c_int
        return name, c_function(function, request["most"])
    with open(request["library"], "rb") as file:
        words = file.read(MOST_FILE)
    for name in request["names"]:
        if f"\0_Z{len(name)}{name}".encode() in words:
            raise Unusable(f'C++ has given the function \'{name}\' another name: declare it extern "C"')
    raise Unusable("no such function")


def c_function(function: Any, most: int) -> Called:
    """int f(const double *in, double *out): how much it writes is seen in an array that begins as a NaN nobody computes."""
    import ctypes
    from mmap import mmap
    blank = UNWRITTEN.to_bytes(8, sys.byteorder)

    def call(point: Sequence[float]) -> dict[str, Any]:
        start, length = 8 * GUARD, most + 2 * GUARD
        out = (ctypes.c_uint64 * length).from_buffer(mmap(-1, 8 * length))
        ctypes.memmove(out, blank * length, 8 * length)
        code = function((ctypes.c_double * len(point))(*point), ctypes.byref(out, start))
        if code != 0:
            raise Wrong(f"returns {code}, and 0 means success (a function without a result must be declared int, and return 0)")
        written = [x != UNWRITTEN for x in out]
        if any(written[:GUARD]):
            raise Wrong("writes in front of its array of results")
        used = written[GUARD:]
        count = len(used) - used[::-1].index(True) if any(used) else 0
        if count > most:
            raise Wrong(f"writes out[{count - 1}]: more results than there can be")
        if not all(used[:count]):
            raise Wrong(f"never writes out[{used.index(False)}], and writes out[{count - 1}]")
        return {"numbers": list((ctypes.c_double * count).from_buffer(out, start))}
    return call


# ---------------------------------------------------------------- a Python function

def python(request: dict[str, Any]) -> tuple[str, Called]:
    """The function of a Python file."""
    module = imported(request["python"])
    (name,), found = request["names"], module
    for part in name.split("."):
        known = [n for n in vars(found) if not n.startswith("_")] if hasattr(found, "__dict__") else []
        if not hasattr(found, part):
            raise Unusable(f"no '{part}'", [n for n in known if callable(getattr(found, n))])
        found = getattr(found, part)
    if not callable(found):
        raise Unusable(f"'{name}' is no function")
    return name, python_function(found, name, request["inputs"], request["arrays"], getattr(module, "inputs", None))


def imported(path: str) -> Any:
    """A file as a module, with the modules of its folder beside it, as Python runs a script; in a package as a part of that."""
    from importlib import import_module
    from importlib.util import module_from_spec, spec_from_file_location
    folder, stem = os.path.split(os.path.splitext(path)[0])
    sys.path.insert(0, folder)
    name = f"against_{stem}" if stem in sys.modules else stem
    packages: list[str] = []
    while os.path.exists(os.path.join(folder, "__init__.py")) and os.path.basename(folder):
        folder, package = os.path.split(folder)
        packages.insert(0, package)
    try:
        if packages:
            sys.path.insert(1, folder)
            return import_module(".".join([*packages, stem]))
        spec = spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(module)
    except BaseException as error:
        raise Unusable(f"cannot be imported: {raised(error)}") from None
    return module


def python_function(function: Callable[..., Any], name: str, inputs: Sequence[str], arrays: bool = False,
                    listed: object = None) -> Called:
    """A function of some inputs by their names; else of an array of all, where `arrays` are among them of all in order, as in a
    module that lists them (those of --emit python do). What it returns as a mapping may have names for arrays: dL_dW(0, 1)."""
    in_order = isinstance(listed, tuple) and listed == tuple(inputs)
    by_name = None if in_order else arguments(function, name, inputs, arrays)

    def call(point: Sequence[Any]) -> dict[str, Any]:
        values = [tensor(x) if isinstance(x, list) else x for x in point]
        if by_name is not None:
            given = dict(zip(inputs, values, strict=True))
            return record(function(**{parameter: given[n] for parameter, n in by_name.items()}), arrays)
        return record(function(*values) if in_order or arrays else function(array(point)), arrays)
    return call


def arguments(function: Callable[..., Any], name: str, inputs: Sequence[str], arrays: bool = False) -> dict[str, str] | None:
    """The inputs that a function takes by name, by its parameters; None where it takes an array of all, or with `arrays` all in
    order. A word of Python has an underscore behind it: lambda_."""
    from inspect import Parameter, signature
    try:
        taken = signature(function)
    except (TypeError, ValueError):
        return None

    def binds(*given: Any, **named: Any) -> bool:
        try:
            return taken.bind(*given, **named) is not None
        except TypeError:
            return False

    parameters = list(taken.parameters.values())
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters) and (arrays or len(parameters) == 1):
        return {n: n for n in inputs}
    words = {n + "_" if iskeyword(n) else n: n for n in inputs}
    known = {p.name: words[p.name] for p in parameters if p.name in words and p.kind in (
        Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)}
    if known and binds(**known) and (arrays or len(known) > 1 or not binds(0)):
        return known
    if binds(*inputs) if arrays else binds(inputs):
        return None
    raise Unusable(f"{name}({', '.join(p.name for p in parameters)}) takes neither the inputs by their names,"
                   f" {', '.join(inputs)}, nor {'all of them in order' if arrays else 'an array of them'}")


def tensor(x: Any) -> Any:
    """Nested lists as NumPy has them where it is installed."""
    try:
        import numpy as np
    except ImportError:
        return x
    return np.array(x)


def array(point: Sequence[float]) -> Any:
    """The inputs in order, as NumPy has them where it is installed; an array of one is a number as well."""
    try:
        import numpy as np
    except ImportError:
        return list(point)

    class One(np.ndarray):
        def __float__(self) -> float:
            return float(self.item())
    given = np.array(point, dtype=float)
    return given.view(One) if len(point) == 1 else given


def record(returned: Any, arrays: bool = False) -> dict[str, Any]:
    """Numbers that a function returned, in order; those of a mapping have names, and may be arrays."""
    if hasattr(returned, "items") and hasattr(returned, "keys"):
        pairs = list(returned.items())
        if all(isinstance(name, str) for name, _ in pairs):
            return named(pairs, arrays)
        returned = [x for _, x in pairs]
    return {"numbers": [x for _, x in islice(elements("", returned), MOST)]}


def named(pairs: Sequence[tuple[str, Any]], arrays: bool) -> dict[str, Any]:
    """Numbers with names, those of arrays with their places; a list of one is a number where there are no `arrays`. What is no
    number may be something else that is returned: "unread" says what, for whoever needs it."""
    found, unread = list[tuple[str, float]](), {}
    for name, x in pairs:
        try:
            each = list(islice(elements(name, x), MOST))
        except Wrong as fault:
            each, unread[len(found)] = [(name, math.nan)], str(fault)
        found += each if arrays or len(each) != 1 else [(name, each[0][1])]
    return {"names": [name for name, _ in found], "numbers": [x for _, x in found], **({"unread": unread} if unread else {})}


def elements(name: str, x: Any, place: tuple[int, ...] = ()) -> Iterator[tuple[str, float]]:
    """The numbers in arrays, lists, tuples and all else that has an order, in order, named by their places."""
    for convert in ("toarray", "__array__", "tolist"):
        if hasattr(x, convert) and (convert != "__array__" or not hasattr(x, "tolist")):
            x = getattr(x, convert)()
    if len(place) < DEEPEST and (isinstance(x, (list, tuple, Iterator)) or sequence(x)):
        for k, each in enumerate(x):
            yield from elements(name, each, (*place, k))
        return
    if isinstance(x, (str, bytes, bool)) or not hasattr(type(x), "__float__"):
        raise Wrong(f"returns {type(x).__name__ if x is not None else None}, which is no number")
    yield (f"{name}({', '.join(map(str, place))})" if place else name), float(x)


def sequence(x: Any) -> bool:
    """Test for an array of an unknown kind."""
    return hasattr(x, "__len__") and hasattr(x, "__getitem__") and not isinstance(x, (str, bytes, dict))


if __name__ == "__main__":
    main()
