"""The memory that builtins share with Python: the words of a plan, Python's functions, and where things lie in objects.

A plan is made in Python (`direct`) and read by code (`builtin_calls`).
"""
from __future__ import annotations

from typing import Any

CallMemory = tuple[Any, dict[int, int], object]
"""The frame of a call of nests, where values lie, and what holds the memory."""
NAME = "adcli_calls"
"""The function of the module, which says where its builtins are."""
ENTRIES = ("numbers", "columns", "tensors", "results", "vector")
"""The builtins, in the order in which it does."""
PLAN = ("api", "kernel", "lanes", "work", "memory", "patience", "inputs", "outputs", "input_names", "output_names", "required",
        "defaults", "components", "origins", "entries", "sources", "places", "size",
        "kinds", "shapes", "bytes", "actions", "acts", "flag", "frame", "busy", "order", "blanks")
"""The words of a plan, addresses and counts. A call takes `memory` bytes, of which the kernel has `work`; for more rows than
`patience` the lock is given back. Of a vector with so many `components`, `origins` has each input's, or -1 for its default;
result `sources[k]` goes to `places[k]` of `size` numbers, for all `entries`.

Of nests, `kinds` says of each input and result whether it is a tensor of REALS or WHOLES, a number REAL, WHOLE or COUNT, which is
planned for one value; `shapes` has the rank and the extents of each tensor and the value of each COUNT, one after the other, and
`bytes` the size of each. `actions` has three numbers for each of `acts`: a word of the frame and what it is set to, or RUN and
the first and last of the steps that are run then. Word `flag` of the frame is not 0 after a fault. A call that makes its results
works in `frame`, if the word at `busy` is 0; it copies the dictionary `order`, or puts each result in its place of a tuple, which
`places` has, and `blanks` has for each tensor the arguments by
which `numpy.empty` makes its array."""
RUN = -1
REALS, WHOLES, REAL, WHOLE, COUNT = range(5)
API = {
    "PyDict_GetItemWithError": "ptr (ptr, ptr)", "PyDict_Size": "i64 (ptr)", "PyDict_New": "ptr ()",
    "PyDict_SetItem": "i32 (ptr, ptr, ptr)", "PyFloat_AsDouble": "double (ptr)", "PyLong_AsDouble": "double (ptr)",
    "PyLong_AsLongLong": "i64 (ptr)", "PyDict_Copy": "ptr (ptr)", "PyObject_CallObject": "ptr (ptr, ptr)",
    "PyTuple_New": "ptr (i64)", "PyTuple_SetItem": "i32 (ptr, i64, ptr)", "PyFloat_FromDouble": "ptr (double)",
    "PyErr_Occurred": "ptr ()", "PyErr_Clear": "void ()",
    "PyErr_ExceptionMatches": "i32 (ptr)", "Py_IncRef": "void (ptr)", "Py_DecRef": "void (ptr)",
    "PyMem_RawMalloc": "ptr (i64)", "PyMem_RawFree": "void (ptr)", "PyEval_SaveThread": "ptr ()",
    "PyEval_RestoreThread": "void (ptr)"}
"""Functions of Python's stable interface that are called, in the order of their addresses."""
OBJECTS = ("none", "true", "dict", "float", "int", "exception", "float64", "ndarray", "dtype", "int64", "empty")
"""Objects whose addresses are behind those of the functions; of NumPy the scalar of doubles, the array, the dtype of the
precision, that of whole numbers, and the function that makes an array."""
CONTENT = 32
"""Bytes from the beginning of a bytes object to its first byte."""
TYPE = 8
"""Bytes from the beginning of any object to its type."""
DATA, DIMENSIONS, SHAPE, DTYPE, FLAGS = 16, 24, 32, 56, 64
"""Offsets in NumPy's arrays, by its binary interface."""
MEMORY_WORDS = 1
"""Words of a call's memory before those of its columns: how many objects it holds."""
READABLE, WRITABLE = 0x101, 0x501
"""NumPy's flags of an array in one piece that is aligned, and of one that can be written, too."""
