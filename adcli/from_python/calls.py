"""Calls of functions of the file, of Python and of its libraries."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

from adcli.from_python.arrays import told
from adcli.from_python.frame import OPERATIONS, TRUTHS, Make
from adcli.from_python.functions import MatrixFunctions
from adcli.from_python.values import Array, Defined, KnownDict, LibraryName, Method, Several, loose_of, of_variable, scalar
from adcli.lang.ir.errors import alike
from adcli.lang.ir.primitives import TABLE
from adcli.lang.tree.nodes import Call, Node, Op, Token
from adcli.lang.tree.notation import ALIASES, MATRIX_CALLS, TENSOR_CALLS
from adcli.readers.draft import DraftFunction, DraftLine, Ref, Variable
from adcli.readers.names import CHOSEN, NAMED, definition_of, renamed, row_of

DEEPEST = 60
"""Calls of functions of the file inside of one another."""


class PythonCalls(MatrixFunctions):
    """What calls give; arrays that are passed `by_reference` are no values of their own."""

    by_reference = False

    def of_Call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        args: list[Any] = []
        for a in node.args:
            args += self.each(a.value) if isinstance(a, ast.Starred) else [self.value(a)]
        if any(k.arg is None for k in node.keywords):
            raise self.fault("** in a call cannot be read", "write the arguments by their names")
        named = {k.arg: self.value(k.value) for k in node.keywords if k.arg is not None}
        if isinstance(function, Defined):
            return self.of_file(function, args, named)
        if isinstance(function, LibraryName):
            return self.of_library(function.path, args, named)
        if isinstance(function, Method):
            return self.of_method(function, args, named)
        raise self.fault(f"{told(function)} cannot be called")

    def of_method(self, m: Method, args: list[Any], named: dict[str, Any]) -> Any:
        if isinstance(m.value, KnownDict) and m.name in ("values", "items", "keys", "get"):
            if m.name == "get":
                key = args[0].constant if isinstance(args[0], Array) else args[0]
                return m.value.items.get(key, args[1] if len(args) > 1 else None)
            found = m.value.items
            return Several({"values": [*found.values()], "keys": [*found]}.get(m.name) or [
                Several([*pair]) for pair in found.items()])
        if isinstance(m.value, Array | Several):
            to_float = m.name == "astype" and len(args) == 1 and isinstance(args[0], LibraryName) and "float" in args[0].path
            if to_float or m.name in ("item", "copy", "double", "contiguous"):
                return m.value
            if m.name in ("t", "transpose") and not args:
                return self.transposed(self.as_array(m.value))
            return self.of_library(f"{self.reading.array_library}.{m.name}", [m.value, *args], named)
        raise self.fault(f"{told(m.value)} has no function '{m.name}' that can be read")

    # Functions of the file.

    def of_file(self, f: Defined, args: list[Any], named: dict[str, Any]) -> Any:
        name = "lambda" if isinstance(f.node, ast.Lambda) else f.node.name
        values = self.arguments(f, args, named)
        if self.reading.depth > DEEPEST:
            raise self.fault(f"'{name}' calls itself without an end that is seen", "write a loop, or give the number of calls")
        if f.around is None and all(isinstance(v, Array) and not v.shape and not v.truth for v in values.values()):
            found = self.reading.function(f.node, list(values))
            if found is not None:
                return self.applied(found, list(values.values()))
        return self.inlined(f, values)

    def call_map(self, f: Any, *xs: Any) -> Several:
        if not isinstance(f, Defined):
            raise self.fault("map of this function cannot be read", "write a comprehension: [f(u) for u in x]")
        return Several([self.of_file(f, list(items), {})
                        for items in zip(*(self.each_of(x) for x in xs), strict=False)], "list")

    def arguments(self, f: Defined, args: list[Any], named: dict[str, Any]) -> dict[str, Any]:
        """The values of the parameters."""
        a = f.node.args
        if a.vararg or a.kwarg:
            raise self.fault("a function with * or ** among its parameters cannot be read")
        defaults = {p.arg: d for p, d in parameters(a)}
        given = dict(zip(defaults, args, strict=False)) | named
        if len(args) > len(defaults) - len(a.kwonlyargs) or not named.keys() <= defaults.keys():
            raise self.fault(f"these arguments do not fit the parameters {', '.join(defaults)}")
        for p, d in defaults.items():
            if d is None and p not in given:
                raise self.fault(f"there is no value for '{p}'", f"write {p}=…")
        outer = self.beside(f.around or {})
        return {p: given[p] if d is None or p in given else outer.value(d) for p, d in defaults.items()}

    def inlined(self, f: Defined, values: dict[str, Any]) -> Any:
        """The lines of a function in the place of its call."""
        for p, v in values.items():
            if isinstance(v, Array) and not (v.shape and self.by_reference) and v.variable is None and v.items is None and (
                    v.whole is None and v.known is None):
                v.pending = v.pending or (p, self.reading.part, self)
        inner = {**(f.around or {}), **values}
        self.reading.depth += 1
        try:
            return self.beside(inner, arm=True, shared=set(inner)).result(f.node)
        finally:
            self.reading.depth -= 1

    def applied(self, f: DraftFunction, args: list[Array]) -> Any:
        """A call of a function that is in the program."""
        span = self.here
        nodes = [a.element(()) for a in args]
        loose = loose_of(args)
        if f.value is not None:
            return scalar(Call(f.name, nodes, *span), isinstance(f.value, Op) and f.value.name in TRUTHS, loose)
        targets = [Variable("" if len(f.results) == 1 else v.hint) for v in f.results]
        if len(targets) == 1:
            return scalar(Call(f.name, nodes, *span), False, loose)
        self.lines.append(DraftLine(targets, [Call(f.name, nodes, *span)], span))
        return Several([of_variable(v, span, loose) for v in targets])

    # Functions of libraries.

    def of_library(self, path: str, args: list[Any], named: dict[str, Any]) -> Any:
        library, _, name = path.rpartition(".")
        named = {SAME.get(k, k): v for k, v in named.items() if k not in IGNORED}
        written = WRITTEN.get(path) or WRITTEN.get(name)
        if written is not None and library in WITH_ARRAYS:
            return self.of_written(written, [*map(self.as_array, args[:1]), *args[1:]], named)
        work: Callable[..., Any] | None = getattr(self, f"call_{name}", None)
        if work is not None and library in WITH_ARRAYS and (library == "builtins") >= (name in BUILTIN_ONLY):
            self.library = library
            try:
                given = signature(work).bind(*args, **named)
            except TypeError:
                raise self.fault(f"'{name}' cannot be read with these arguments", "leave out what is not needed") from None
            return work(*given.args, **given.kwargs)
        return self.elementwise(library, name, args, named)

    def of_written(self, text: str, args: list[Any], named: dict[str, Any]) -> Any:
        """The value of a function of a library that is written in Python, with the place of its call."""
        function = ast.parse(text, mode="eval").body
        assert isinstance(function, ast.Lambda)
        for n in ast.walk(function):
            ast.copy_location(n, self.reading.part)
        values = self.arguments(Defined(function, {}), args, named)
        return self.beside({"np": LibraryName("numpy"), **values}).value(function.body)

    def elementwise(self, library: str, name: str, args: list[Any], named: dict[str, Any]) -> Array:
        """A function of numbers, of each element where it has arrays."""
        library = "" if library == "builtins" else library
        known_names = NAMED.get(library, frozenset()) if library != "numpy" else NAMED["numpy"] | NAMED["torch"]
        if name not in known_names:
            read = [n for n in sorted(known_names) if hasattr(self, f"call_{n}") or row_of(renamed(library, n), len(args))
                    or definition_of(library, renamed(library, n), len(args))]
            close = alike(name, read)
            raise self.fault(f"there is no '{'.'.join(filter(None, (library, name)))}' that can be read",
                             f"did you mean '{close}'?" if close else "`adcli help sources` lists what can")
        arrays = [self.at(n, self.as_array, a) for a, n in zip([*args, *named.values()], self.argument_nodes(), strict=False)]
        if name in ("positive", "float", "float64", "double"):
            return arrays[0]
        truth = row_of(name, len(arrays)) in TRUTHS or name in ("isnan", "isinf", "isfinite")
        to_kind = self.as_truth if name.startswith("logical") else self.as_number
        return self.apply(self.made(library, name, len(arrays)), [*map(to_kind, arrays)], truth)

    def made(self, library: str, name: str, count: int) -> Make:
        """The operation of a function: one of the language's, or one that is written into the program."""
        span, called = self.here, renamed(library, name)
        definition = definition_of(library, called, count)
        row = None if library == "math" and name == "remainder" else row_of(called, count)
        if row is not None and (called, count) not in CHOSEN:
            return lambda x: (Op if row in OPERATIONS else Call)(row, x, *span)
        if definition is None:
            raise self.fault(f"'{name}' cannot be read with {count} argument{'s' * (count != 1)}")
        function = self.reading.written_function(*definition)
        return lambda x: Call(function, x, *span)


WRITTEN = {
    "mean": "lambda x, axis=None, keepdims=False: np.sum(x, axis, keepdims) / np.size(x, axis)",
    "average": "lambda x, axis=None: np.mean(x, axis)",
    "var": "lambda x, axis=None, ddof=0: "
           "np.sum((x - np.mean(x, axis, axis is not None))**2, axis) / (np.size(x, axis) - ddof)",
    "torch.var": "lambda x, axis=None, ddof=1: np.var(x, axis, ddof)",
    "std": "lambda x, axis=None, ddof=0: np.sqrt(np.var(x, axis, ddof))",
    "torch.std": "lambda x, axis=None, ddof=1: np.std(x, axis, ddof)",
    "log_softmax": "lambda x, axis=-1: x - np.logsumexp(x, axis, True)",
    "softmax": "lambda x, axis=-1: np.exp(np.log_softmax(x, axis))",
    "scipy.special.log_softmax": "lambda x, axis=None: np.log_softmax(x, axis)",
    "scipy.special.softmax": "lambda x, axis=None: np.softmax(x, axis)",
    "trace": "lambda A: np.sum(np.diag(A))",
    "diff": "lambda x: x[1:] - x[:-1]",
    "linspace": "lambda low, high, num=50: low + np.arange(num) * ((high - low) / (num - 1))",
    "c.fdim": "lambda x, y: np.relu(x - y)"}
"""Functions of libraries, by their names or those of one library, in words of others."""
IGNORED = frozenset(("dtype", "device", "requires_grad", "copy", "order", "optimize", "precision", "assume_a", "check_finite",
                     "np"))
"""Arguments by name that do not change a value."""
SAME = {"dim": "axis", "keepdim": "keepdims", "min": "a_min", "max": "a_max", "low": "a_min", "high": "a_max"}
"""Arguments of other libraries, or other versions, by NumPy's names."""
WITH_ARRAYS = frozenset(("builtins", "numpy", "jax.numpy", "torch", "autograd.numpy", "numpy.linalg", "jax.numpy.linalg",
                         "autograd.numpy.linalg", "torch.linalg", "scipy.linalg", "jax.scipy.linalg", "scipy.special",
                         "jax.scipy.special", "jax.nn", "torch.nn.functional", "jax.lax", "c"))
"""The libraries that functions of whole arrays are taken from."""
BUILTIN_ONLY = frozenset(("range", "len", "int", "bool", "list", "tuple", "dict", "enumerate", "zip", "reversed", "map"))
TAKEN = frozenset((*TABLE, *ALIASES, *MATRIX_CALLS, *TENSOR_CALLS))
"""Names of the language's own functions."""


def parameters(a: ast.arguments) -> list[tuple[ast.arg, ast.expr | None]]:
    """Parameters with their defaults."""
    positional = [*a.posonlyargs, *a.args]
    defaults = [None] * (len(positional) - len(a.defaults)) + list(a.defaults)
    return [*zip(positional, defaults, strict=True), *zip(a.kwonlyargs, a.kw_defaults, strict=True)]


def replaced(text: str, params: Sequence[Variable], span: tuple[int, int]) -> Node:
    """The value of a definition, with variables for its parameters."""
    from adcli.lang.ir.errors import Source
    from adcli.lang.syntax.parse import parse_tree
    from adcli.lang.tree.nodes import Assign, bare
    statement = parse_tree(Source("", f"value = {text}")).statements[0]
    assert isinstance(statement, Assign)
    by_name = {v.hint: v for v in params}

    def put(node: Node) -> Node:
        node = bare(node)
        if isinstance(node, Op | Call):
            return type(node)(node.name, [put(a) for a in node.args], *span)
        assert isinstance(node, Token)
        return Ref(by_name[node.text], span) if node.text in by_name else Token(node.type, node.text, *span)
    return put(statement.values[0])
