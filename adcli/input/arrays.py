"""Tensors as values: out of lists, text and files, and into files.

A tensor is an array of float64, or of int64 where the program declares integers. What a file is shows in its first bytes: .npy
and .npz by their marks, JSON by a bracket, anything else is a matrix of numbers with a line for each row. Sizes are read and
compared with the memory there is before anything is taken, and nothing in a file is ever run.
"""
from __future__ import annotations

import math
import os
import re
import sys
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import replace
from tokenize import TokenError
from typing import IO, Any

import numpy as np

from adcli.codegen.machine.memory import require_room
from adcli.input.fields import Fault, field_number
from adcli.input.nested import MOST_DIMENSIONS, element, flattened, of_lists, of_text
from adcli.input.values import malformed, one_text
from adcli.lang.ir import Param, Program, Values
from adcli.lang.ir.affine import atoms, shape_text
from adcli.lang.ir.errors import AdError, nearest, plural
from adcli.lang.ir.names import composed
from adcli.lang.sizes.binding import bind, ends_early, shapes
from adcli.lang.sizes.binding import number as extent
from adcli.output.standard import opened

Array = np.ndarray
InputValue = float | Array
DOUBLE = np.dtype(np.float64)
NPY, ZIP = b"\x93NUMPY", (b"PK\x03\x04", b"PK\x05\x06")
REAL = "fiub"
"""Kinds of elements that are real numbers."""
COMPRESSED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
BROKEN = (TokenError, ValueError, TypeError, KeyError, SyntaxError, OverflowError, EOFError, RecursionError)
"""Errors of NumPy for a malformed header."""
BYTES_PER_CHARACTER = 16
"""Bytes of memory that a character of numbers as text takes on the way to an array, at most."""
PLAIN_LINE = re.compile(r"[0-9eE.+\- \t,]*", re.ASCII)


# ---------------------------------------------------------------- lists and text

def text_array(name: str, text: str) -> Array:
    """A tensor written as nested lists; see `of_text`."""
    return np.asarray(of_text(name, text))


def json_array(name: str, nested: Any, where: str = "") -> Array:
    """Nested lists of numbers as an array; see `of_lists`."""
    return np.asarray(of_lists(name, nested, where))


# ---------------------------------------------------------------- what an input needs

WITHOUT_MISSING = {"numpy": ".astype(float).filled(float('nan'))", "pandas": ".to_numpy(float, na_value=float('nan'))",
                   "polars": ".fill_null(float('nan'))", "pyarrow": ".cast('float64').fill_null(float('nan'))"}
"""Calls of libraries that turn missing entries into NaN."""


def refuse_missing(what: str, given: Any) -> None:
    """AdError where entries are marked as missing: by a mask of NumPy, beneath which is anything, as NA or as null. NaN is not
    missing, it is a value."""
    if isinstance(given, list | tuple):
        for x in given:
            if type(x) is not float:
                refuse_missing(what, x)
        return
    if count := missing(given):
        library, name = type(given).__module__.partition(".")[0], what.partition("'")[2].rstrip("'") or "x"
        raise AdError(f"{what} has {count:,} missing {'entry' if count == 1 else 'entries'}",
                      help=f"to compute with NaN there, give {name}{WITHOUT_MISSING.get(library, ' without them')}")


def missing(given: Any) -> int:
    """Number of entries marked as missing."""
    # NumPy imports masks only where somebody asks for them: who has one has done so; another thread may be about to
    if isinstance(given, getattr(sys.modules.get("numpy.ma"), "MaskedArray", ())):
        return int(np.ma.count_masked(given))
    if (nulls := getattr(given, "null_count", None)) is not None:   # of polars and Arrow
        return int(np.sum(np.asarray(nulls() if callable(nulls) else nulls)))
    if not hasattr(given, "isna"):
        return 0
    types = getattr(given, "dtypes", getattr(given, "dtype", None))   # of pandas, whose own have NA
    if all(isinstance(t, np.dtype) for t in np.atleast_1d(np.asarray(types, object))):
        return 0
    return int(np.sum(np.asarray(given.isna())))


def no_array(what: str, given: Any, error: Exception) -> AdError:
    """AdError for an object that NumPy cannot convert."""
    parts = given if isinstance(given, list | tuple) else [given]
    if any(getattr(x, "requires_grad", False) for x in parts):
        name = what.partition("'")[2].rstrip("'") or "x"
        return AdError(f"{what} requires grad, and torch would not know of what is computed with it",
                       help=f"give {name}.detach()" if parts[0] is given else "give x.detach() for each of them")
    return AdError(f"{what}: {error or type(error).__name__}")


def conformed(p: Param, given: Any, where: str = "", real: np.dtype = DOUBLE) -> Array:
    """The value of an input as an array of its kind of elements, of a precision where they are real; its shape is checked where
    sizes are bound."""
    refuse_missing(f"{where}input '{p.name}'", given)
    try:
        array = np.asarray(given)
    except Exception as error:   # an object says in its own way that it is no array
        flattened(p.name, given, where)
        raise no_array(f"{where}input '{p.name}'", given, error) from None
    if array.dtype.kind not in REAL:
        what = f"an array of {array.dtype}" if array.ndim else type(given).__name__
        if array.dtype == object and isinstance(given, list | tuple):
            flattened(p.name, given, where)
        raise AdError(f"{where}input '{p.name}' must be real numbers, not {what}")
    if p.var.integer:
        return integers(p.name, array, where)
    with np.errstate(over="ignore"):   # of a longer format
        found = np.ascontiguousarray(array, real) if array.ndim else array.astype(real)
    if real != DOUBLE and (wrong := np.isinf(found) & np.isfinite(array)).any():
        at = int(np.flatnonzero(wrong)[0])
        raise AdError(f"{where}{element(p.name, at, array.shape)}: {array.reshape(-1)[at]} is too large for single precision",
                      help="use double precision, the default")
    return found


def integers(name: str, array: Array, where: str = "") -> Array:
    """An array of int64. AdError where an element is no integer, which is never rounded to one."""
    if array.dtype.kind == "f":
        wrong = ~(np.isfinite(array) & (np.floor(array) == array) & (np.abs(array) < 2.0 ** 63))
    elif array.dtype.kind == "u":
        wrong = array > np.iinfo(np.int64).max
    else:
        wrong = np.zeros(array.shape, bool)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        size = "64-bit " if array.dtype.kind == "u" else ""
        what = f"a tensor of {size}integers" if array.ndim else "an integer input"
        raise AdError(f"{where}{element(name, at, array.shape)}: {what} cannot hold {array.reshape(-1)[at]}")
    return np.ascontiguousarray(array, np.int64) if array.ndim else array.astype(np.int64)


def given(p: Param, x: Any) -> InputValue:
    """The value of an input: a float, or an array."""
    if isinstance(x, float) and not p.var.integer and not p.var.shape:
        return x
    array = conformed(p, x)
    return array if array.ndim or p.var.integer else float(array)


def fitting(program: Program, point: dict[str, Any]) -> dict[str, Any]:
    """The point, with empty lists as tensors of all dimensions. AdError where shapes do not fit the program or each other."""
    point = of_all_dimensions(program, point)
    bind(program, {name: np.shape(x) for name, x in point.items()}, point)
    return point


def of_all_dimensions(program: Program, point: dict[str, Any]) -> dict[str, Any]:
    """The point, with nested lists that end before all their dimensions show as tensors that have them: the extents behind come
    from other inputs. AdError where none has them."""
    short = [p for p in program.params if p.name in point and ends_early(p, np.shape(point[p.name]))]
    if not short:
        return point
    arrays = {name: np.asarray(x) for name, x in point.items()}   # an integer may be a small tensor
    sizes = bind(program, {name: x.shape for name, x in arrays.items()}, arrays, unseen=True)
    return {**point, **{p.name: empty_of_all_dimensions(p, arrays[p.name], sizes) for p in short}}


def empty_of_all_dimensions(p: Param, there: Array, sizes: Mapping[str, int]) -> Array:
    """A tensor without elements, with the dimensions behind those that its lists show."""
    behind = p.var.shape[there.ndim:]
    open_names = [a for x in behind for a in atoms(x) if isinstance(a, str) and a not in sizes]
    if open_names:
        raise AdError(f"'{p.name}' has no elements, and nothing says what {open_names[0]} is in {shape_text(p.var.shape)}",
                      help=f"give it as a file, {p.name}=@{p.name}.npy, whose header has the shape")
    return there.reshape(*there.shape, *[extent(x, sizes) for x in behind])


def filled(program: Program, at: Values, seeds: Values) -> dict[str, Any]:
    """A point of a derivative: a seed that is a number becomes the tensor that has it everywhere. AdError where a shape does
    not fit."""
    own = replace(program, params=tuple(p for p in program.params if not p.seed))
    whole = fitting(own, dict(at))
    sizes = bind(own, {name: np.shape(x) for name, x in whole.items()}, whole)
    found = shapes(program, sizes)
    for p in program.params:
        if p.seed:
            x, shape = seeds[p.name], found[p.var]
            require_room(f"'{p.name}'", 8 * math.prod(shape))
            if np.ndim(x) and np.shape(x) != shape and not ends_early(p, np.shape(x)):
                raise AdError(f"what is given for '{p.seed}' has the shape {np.shape(x)}, and '{p.seed}' has {shape}",
                              help=f"a number fills all of it: {p.seed}=1")
            whole[p.name] = np.full(shape, x) if np.ndim(x) == 0 else x
    return fitting(program, whole)


def is_zero(x: Any) -> bool:
    """Test for a seed that is zero everywhere."""
    return not np.any(x)


# ---------------------------------------------------------------- files

def read_tensor(name: str, path: str, rank: int) -> Array:
    """The tensor in a file: .npy, a member of an .npz, nested lists in JSON, or a matrix of `rank` 1 or 2 as text."""
    if not path:
        raise AdError(f"{name}=@ needs a file name", help=f"write {name}=@matrix.npy")
    try:
        with opened(path) as file:
            start = file.peek(len(NPY))
            if start.startswith(NPY):
                return read_npy(file, path)
            if start.startswith(ZIP):
                return member(name, path, read_npz(path, file))
            if path != "-":
                require_room(path, BYTES_PER_CHARACTER * os.fstat(file.fileno()).st_size)
            text = file.read().decode("utf-8-sig")
    except OSError as error:
        raise AdError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise AdError(f"{path}: not a tensor: a stray byte at byte offset {error.start}",
                      help="tensors are read from .npy, .npz, JSON and CSV") from None
    if text.lstrip().startswith("["):
        return json_array(name, json_lists(path, text), f"{path}: ")
    matrix = read_matrix(path, text)
    if rank == 1 and 1 in matrix.shape:
        return matrix.reshape(-1)
    return matrix.reshape(()) if rank == 0 and matrix.size == 1 else matrix


def json_lists(path: str, text: str) -> list[Any]:
    import json
    try:
        return one_text(path, text)
    except json.JSONDecodeError as error:
        raise malformed(path, error.lineno, error) from None


def read_npz(path: str, file: Any = None, kinds: str = REAL) -> dict[str, Array]:
    """All arrays of an archive by name, of these kinds of elements; `file` where it is open already."""
    found: dict[str, Array] = {}
    try:
        with zipfile.ZipFile(file or path) as archive:
            for entry in archive.infolist():
                name, dot, suffix = composed(entry.filename).rpartition(".")
                if suffix != "npy" or not dot or entry.compress_type not in COMPRESSED:
                    raise AdError(f"{path}: {entry.filename} is not an array that NumPy wrote")
                if name in found:
                    raise AdError(f"{path}: '{name}' occurs twice")
                with archive.open(entry) as inner:
                    found[name] = read_npy(inner, f"{path}: {entry.filename}", kinds)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error) as error:
        raise AdError(f"{path}: not an .npz archive: {error}") from None
    except OSError as error:
        raise AdError(f"{path}: {error.strerror or error}") from None
    if not found:
        raise AdError(f"{path}: the archive has no arrays")
    return found


def member(name: str, path: str, arrays: Mapping[str, Array]) -> Array:
    """The array of an archive that is called as the input, or the only one."""
    if name in arrays:
        return arrays[name]
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    raise AdError(f"{path}: no array '{name}'", help=nearest(name, arrays) or f"it has {', '.join(arrays)}")


def read_npy(file: IO[bytes], path: str, kinds: str = REAL) -> Array:
    """The array in an .npy file, whose data are compared with its header before any memory is taken."""
    shape, by_columns, dtype = npy_header(file, path)
    if dtype.kind not in kinds:
        raise AdError(f"{path}: must be real numbers, not {dtype}")
    size = math.prod(shape) * dtype.itemsize
    require_room(path, size)
    data = bytearray()
    while len(data) < size and (piece := file.read(min(size - len(data), 1 << 24))):
        data += piece
    if len(data) < size or file.read(1):
        found = f"truncated: {len(data):,} bytes" if len(data) < size else f"more than {size:,} bytes"
        raise AdError(f"{path}: {found} of data, but {shape} of {dtype} needs {size:,}")
    flat = np.frombuffer(data, dtype)
    return flat.reshape(shape[::-1]).T if by_columns else flat.reshape(shape)


def npy_header(file: IO[bytes], path: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    from numpy.lib import format as npy
    try:
        version = npy.read_magic(file)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        with warnings.catch_warnings(action="ignore"):   # of headers that Python 2 wrote
            shape, by_columns, dtype = read(file)
    except BROKEN:
        raise AdError(f"{path}: not an .npy file that this NumPy can read") from None
    if min(shape, default=0) < 0 or max(shape, default=0) > sys.maxsize or len(shape) > MOST_DIMENSIONS:
        raise AdError(f"{path}: impossible shape {shape}")
    return shape, by_columns, dtype


def read_matrix(path: str, text: str) -> Array:
    """A matrix of numbers with a line for each row, separated by commas, tabs or blanks, without a header."""
    separator = "," if "," in text else "\t" if "\t" in text else None
    rows: list[list[float]] = []
    first = 0
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            row = read_row(path, number, line.rstrip("\r"), separator)
            first = first or number
            if rows and len(row) != len(rows[0]):
                raise AdError(f"{path}:{number}: {plural(len(row), 'field')}, but line {first} has {len(rows[0])}")
            rows.append(row)
    if not rows:
        raise AdError(f"{path}: no numbers")
    return np.array(rows)


def read_row(path: str, number: int, line: str, separator: str | None) -> list[float]:
    """The numbers of one line: quickly where nothing is special about them, else as rows of tables are read."""
    fields = line.split(separator)
    if PLAIN_LINE.fullmatch(line):
        try:
            found = list(map(float, fields))
            if math.inf not in found and -math.inf not in found:
                return found
        except ValueError:
            pass
    try:
        return [field_number(unquoted(f).encode()) for f in fields]
    except Fault as fault:
        raise AdError(f"{path}:{number}: {fault.reason}", help="a matrix has no header" if number == 1 else None) from None


def unquoted(field: str) -> str:
    bare = field.strip()
    return bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] == '"' else field
