"""Builtins that Python calls: the memory they share with it, and how their LLVM IR is written.

A plan is made in Python (`direct`) and read by code (`calls`), so both have its words from here. A writer has values, loops,
tests that lead elsewhere, and what every builtin begins and ends with.
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from adcli.codegen.rows.instructions import bits
from adcli.lang.operations.precision import DOUBLE, FIRST_TOO_LARGE, Precision

# ---------------------------------------------------------------- memory layout

NAME = "adcli_calls"
"""The function of the module, which says where its builtins are."""
ENTRIES = ("numbers", "columns", "tensors", "vector")
"""The builtins, in the order in which it does."""
PLAN = ("api", "kernel", "lanes", "work", "memory", "patience", "inputs", "outputs", "input_names", "output_names", "required",
        "defaults", "components", "origins", "entries", "sources", "places", "size",
        "kinds", "shapes", "bytes", "actions", "acts", "flag")
"""The words of a plan, addresses and counts. A call takes `memory` bytes, of which the kernel has `work`; for more rows than
`patience` the lock is given back. Of a vector with so many `components`, `origins` has each input's, or -1 for its default;
result `sources[k]` goes to `places[k]` of `size` numbers, for all `entries`.

Of nests, `kinds` says of each input and result whether it is a tensor of REALS or WHOLES, a number REAL, WHOLE or COUNT, which is
planned for one value; `shapes` has the rank and the extents of each tensor and the value of each COUNT, one after the other, and
`bytes` the size of each. `actions` has three numbers for each of `acts`: a word of the frame and what it is set to, or RUN and
the first and last of the steps that are run then. Word `flag` of the frame is not 0 after a fault."""
RUN = -1
REALS, WHOLES, REAL, WHOLE, COUNT = range(5)
API = {
    "PyDict_GetItemWithError": "ptr (ptr, ptr)", "PyDict_Size": "i64 (ptr)", "PyDict_New": "ptr ()",
    "PyDict_SetItem": "i32 (ptr, ptr, ptr)", "PyFloat_AsDouble": "double (ptr)", "PyLong_AsDouble": "double (ptr)",
    "PyLong_AsLongLong": "i64 (ptr)",
    "PyFloat_FromDouble": "ptr (double)", "PyErr_Occurred": "ptr ()", "PyErr_Clear": "void ()",
    "PyErr_ExceptionMatches": "i32 (ptr)", "Py_IncRef": "void (ptr)", "Py_DecRef": "void (ptr)",
    "PyMem_RawMalloc": "ptr (i64)", "PyMem_RawFree": "void (ptr)", "PyEval_SaveThread": "ptr ()",
    "PyEval_RestoreThread": "void (ptr)"}
"""Functions of Python's stable interface that are called, in the order of their addresses."""
OBJECTS = ("None", "True", "dict", "float", "int", "Exception", "float64", "ndarray", "dtype", "int64")
"""Objects whose addresses are behind those of the functions; of NumPy the scalar of doubles, the array, the dtype of the
precision, and that of whole numbers."""
CONTENT = 32
"""Bytes from the beginning of a bytes object to its first byte."""
TYPE = 8
"""Bytes from the beginning of any object to its type."""
DATA, DIMENSIONS, SHAPE, DTYPE, FLAGS = 16, 24, 32, 56, 64
"""Offsets in NumPy's arrays, by its binary interface."""
READABLE, WRITABLE = 0x101, 0x501
"""NumPy's flags of an array in one piece that is aligned, and of one that can be written, too."""


# ---------------------------------------------------------------- text

HOLDS = 2
"""References by which an array is held: with one, NumPy lets another thread resize it that has taken it out of its dictionary."""


class CallWriter:
    """Writes functions: values in single assignment, loops, and tests that lead elsewhere."""

    def __init__(self, precision: Precision) -> None:
        self.precision, self.scalar, self.shift = precision, precision.type, precision.bytes.bit_length() - 1
        self.lines: list[str] = []
        self.count = 0

    def fresh(self, what: str) -> str:
        self.count += 1
        return f"{what}.{self.count}"

    def do(self, *lines: str) -> None:
        self.lines += [f"  {line}" for line in lines]

    def value(self, expression: str) -> str:
        z = self.fresh("%v")
        self.do(f"{z} = {expression}")
        return z

    def at(self, kind: str, base: str, index: object) -> str:
        return self.value(f"getelementptr {kind}, ptr {base}, i64 {index}")

    def get(self, kind: str, base: str, index: object) -> str:
        return self.value(f"load {kind}, ptr {self.at(kind, base, index)}, align {4 if kind in ('i32', 'float') else 8}")

    def put(self, kind: str, base: str, index: object, x: str) -> None:
        self.do(f"store {kind} {x}, ptr {self.at(kind, base, index)}, align {4 if kind == 'float' else 8}")

    def number(self, base: str, index: object) -> str:
        """A number of a column, as a double."""
        found = self.get(self.scalar, base, index)
        return found if self.precision is DOUBLE else self.value(f"fpext {self.scalar} {found} to double")

    def keep(self, base: str, index: object, x: str) -> None:
        """A double as a number of a column. One that is too large for that, or infinite, is left to Python."""
        if self.precision is not DOUBLE:
            self.require(self.value(f"fcmp ult double {x}, {bits(FIRST_TOO_LARGE)}"))
            self.require(self.value(f"fcmp ugt double {x}, {bits(-FIRST_TOO_LARGE)}"))
            x = self.value(f"fptrunc double {x} to {self.scalar}")
        self.put(self.scalar, base, index, x)

    def field(self, kind: str, base: str, offset: int) -> str:
        """The value at an offset in bytes."""
        return self.get(kind, self.at("i8", base, offset), 0)

    def word(self, name: str) -> str:
        """A number of the plan."""
        return self.get("i64", "%plan", PLAN.index(name))

    def table(self, name: str) -> str:
        """An address of the plan."""
        return self.get("ptr", "%plan", PLAN.index(name))

    def is_a(self, x: str, type: str) -> str:
        """True if an object is exactly of a type of OBJECTS."""
        return self.value(f"icmp eq ptr {self.field('ptr', x, TYPE)}, {self.known(type)}")

    def known(self, name: str) -> str:
        return self.get("ptr", "%api", len(API) + OBJECTS.index(name))

    def api(self, name: str, *arguments: str) -> str:
        result, kinds = API[name].rstrip(")").split(" (")
        given = ", ".join(f"{kind} {x}" for kind, x in zip(kinds.split(", ") if kinds else [], arguments, strict=True))
        call = f"call {result} {self.get('ptr', '%api', list(API).index(name))}({given})"
        if result != "void":
            return self.value(call)
        self.do(call)
        return ""

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def go(self, label: str) -> None:
        self.do(f"br label %{label}")

    def branch(self, condition: str, then: str, otherwise: str) -> None:
        self.do(f"br i1 {condition}, label %{then}, label %{otherwise}")

    def require(self, condition: str, otherwise: str = "other") -> None:
        """Go on where a condition holds."""
        on = self.fresh("on")
        self.branch(condition, on, otherwise)
        self.label(on)

    def compared(self, how: str, kind: str, a: str, b: object) -> str:
        return self.value(f"icmp {how} {kind} {a}, {b}")

    @contextmanager
    def each(self, count: object) -> Iterator[str]:
        """A loop over 0, …, count - 1."""
        i = self.fresh("%i")
        start, top, body, end, done = (f"{i[1:]}.{part}" for part in ("start", "top", "body", "end", "done"))
        self.go(start)
        self.label(start)
        self.go(top)
        self.label(top)
        self.do(f"{i} = phi i64 [ 0, %{start} ], [ {i}.next, %{end} ]")
        self.branch(self.compared("slt", "i64", i, count), body, done)
        self.label(body)
        yield i
        self.go(end)
        self.label(end)
        self.do(f"{i}.next = add i64 {i}, 1")
        self.go(top)
        self.label(done)

    @contextmanager
    def function(self, head: str) -> Iterator[None]:
        self.lines += [f"define internal {head} {{", "entry:"]
        yield
        self.lines += ["}", ""]

    @contextmanager
    def builtin(self, name: str) -> Iterator[None]:
        """A function of Python, to whose end its body goes with what it gives as %answer, or with null where it gives up."""
        with self.function(f"ptr @{name}(ptr %self, ptr %arguments, i64 %count)"):
            self.do("%answer = alloca ptr", "store ptr null, ptr %answer", "%held = alloca i64", "store i64 0, ptr %held",
                    f"%plan = getelementptr i8, ptr %self, i64 {CONTENT}", "%api = load ptr, ptr %plan")
            n, m = self.word("inputs"), self.word("outputs")
            self.do(f"%n = add i64 {n}, 0", f"%m = add i64 {m}, 0", "%both = add i64 %n, %m")
            self.do(f"%memory = getelementptr i8, ptr {self.api('PyMem_RawMalloc', self.word('memory'))}, i64 0",
                    "%own = getelementptr i64, ptr %memory, i64 0", "%in = getelementptr i64, ptr %own, i64 %both",
                    "%out = getelementptr i64, ptr %in, i64 %n", "%rest = getelementptr i64, ptr %out, i64 %m")
            self.require(self.compared("ne", "ptr", "%memory", "null"), "end")
            yield
            self.go("other")
            self.label("other")
            with self.each(self.value("load i64, ptr %held")) as k:
                for _ in range(HOLDS):
                    self.api("Py_DecRef", self.get("ptr", "%own", k))
            self.api("PyMem_RawFree", "%memory")
            self.go("end")
            self.label("end")
            found = self.value("load ptr, ptr %answer")
            self.branch(self.compared("ne", "ptr", found, "null"), "found", "none")
            self.label("found")
            self.do(f"ret ptr {found}")
            self.label("none")
            self.branch(self.compared("eq", "ptr", self.api("PyErr_Occurred"), "null"), "unknown", "wrong")
            self.label("wrong")
            usual = self.compared("ne", "i32", self.api("PyErr_ExceptionMatches", self.known("Exception")), 0)
            self.branch(usual, "forgotten", "raised")
            self.label("raised")
            self.do("ret ptr null")
            self.label("forgotten")
            self.api("PyErr_Clear")
            self.go("unknown")
            self.label("unknown")
            none = self.known("None")
            self.api("Py_IncRef", none)
            self.do(f"ret ptr {none}")

    def answer(self, x: str) -> None:
        self.do(f"store ptr {x}, ptr %answer")

    def hold(self, x: str) -> None:
        """Hold an object until the end; or null, in its place."""
        for _ in range(HOLDS):
            self.api("Py_IncRef", x)
        k = self.value("load i64, ptr %held")
        self.put("ptr", "%own", k, x)
        self.do(f"store i64 {self.value(f'add i64 {k}, 1')}, ptr %held")
