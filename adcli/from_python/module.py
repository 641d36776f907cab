"""A Python file: its imports, constants and functions, and one of these as a program."""
from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from tokenize import COMMENT, generate_tokens
from typing import Any

from adcli.from_python.calls import TAKEN, WRITTEN, parameters, replaced
from adcli.from_python.reading import Accumulations, Advice, Facts, PythonReading, names_in, parts_of, repeated
from adcli.from_python.statements import PythonStatements
from adcli.from_python.values import Absent, Array, Defined, KnownDict, LibraryName, Several, imported, known, of_variable
from adcli.lang.ir.affine import Affine, affine, atoms
from adcli.lang.ir.errors import AdError, Source, alike
from adcli.readers.draft import DraftFunction, DraftInput, Variable, flat, number, written
from adcli.readers.front import chosen
from adcli.readers.names import NAMED

BUILTINS = frozenset(["abs", "min", "max", "sum", "len", "range", "enumerate", "zip", "reversed", "float", "int", "bool",
                      "round", "pow", "list", "tuple", "dict", "map", "any", "all"])
NUMBERS = ("float", "int", "bool", "complex", "Scalar", "Real", "Number")
"""Annotations of numbers."""
EXTENTS = re.compile(r"#.*?[(\[]\s*((?:\w+\s*,\s*)*\w+)\s*,?\s*[)\]]")
"""The shape of an array in a comment: # (n, d)."""


class PythonFile(PythonReading):
    """A reading of a function of a file; `frame` is how its statements are read."""

    frame: type[PythonStatements] = PythonStatements

    def __init__(self, source: Source, tree: ast.Module, facts: Facts) -> None:
        super().__init__(source, tree, facts)
        self.top = {name: s for s in tree.body for name in defined(s)}
        self.found: dict[str, Any] = {}
        roots = {a.name.partition(".")[0] for s in parts_of(ast.Import, tree) for a in s.names}
        if "torch" in roots and not roots & {"numpy", "jax"}:
            self.array_library = "torch"   # of whose methods some mean something else
        statements = [s for s in tree.body if not isinstance(s, ast.FunctionDef | ast.ClassDef)]
        stored = [n.id for n in parts_of(ast.Name, *statements) if isinstance(n.ctx, ast.Store)]
        self.changed = {n for n in stored if stored.count(n) > 1}
        self.changed |= {n for s in parts_of(ast.Global, tree) for n in s.names}
        self.functions: dict[ast.AST, DraftFunction | None] = {}
        self.definitions: dict[str, DraftFunction] = {}

    # Names of the file.

    def module_value(self, name: str) -> Any:
        if name not in self.found:
            self.found[name] = self.looked_up(name)
        return self.found[name]

    def looked_up(self, name: str) -> Any:
        s = self.top.get(name)
        if isinstance(s, ast.FunctionDef):
            return Defined(s)
        if isinstance(s, ast.Import | ast.ImportFrom):
            return imported(s)[name]
        if name in self.changed:
            raise self.fault(f"'{name}' is assigned more than once in the file", "make it a parameter of the function")
        if isinstance(s, ast.Assign | ast.AnnAssign):
            self.found[name] = Absent("is defined by itself")
            frame = self.frame(self, {}, self.draft.lines)
            self.at(s, frame.statement, s)
            self.found.update(frame.values)
            return self.found[name]
        if name in BUILTINS:
            return LibraryName(f"builtins.{name}")
        for star in (b for b in self.tree.body if isinstance(b, ast.ImportFrom) and b.names[0].name == "*"):
            if name in NAMED.get(star.module or "", ()) or name in WRITTEN or hasattr(PythonStatements, f"call_{name}"):
                return LibraryName(f"{star.module}.{name}")
        if s is not None:
            raise self.fault(f"'{name}' is no function and no constant of this file that can be read")
        close = alike(name, [*self.top])
        raise self.fault(f"there is no '{name}' in this file", f"did you mean '{close}'?" if close else
                         "import it from math or numpy, or make it a parameter of the function")

    # Functions in the program.

    def function(self, node: ast.AST, params: Sequence[str]) -> DraftFunction | None:
        if node not in self.functions:
            self.functions[node] = None
            self.functions[node] = self.at(node, self.function_made, node, params)
        return self.functions[node]

    def function_made(self, node: Any, params: Sequence[str]) -> DraftFunction | None:
        span = self.here
        variables = [Variable(p) for p in params]
        lines: list[Any] = []
        functions, inputs = len(self.draft.functions), self.inputs
        self.inputs = {}
        try:
            frame = self.frame(self, {p: of_variable(v, span) for p, v in zip(params, variables, strict=True)}, lines)
            frame.closed = True
            found = frame.result(node)
        except AdError:
            del self.draft.functions[functions:]
            return None
        finally:
            self.inputs = inputs
        results = found.items if isinstance(found, Several) else [found]
        if not results or not all(isinstance(r, Array) and not r.shape and not r.truth for r in results) or any(
                len(line.targets) > 1 or line.subscripts is not None or line.symbol != "=" for line in lines):
            return None
        if len(results) == 1 and not lines:
            made = DraftFunction(self.function_name(node.name), variables, [], [], results[0].element(()), span)
        else:
            own = [t for line in lines for t in line.targets]
            named = [v if (v := r.variable) in own else frame.line("", r).variable for r in results]
            outs = [v for v in dict.fromkeys(named) if v is not None]
            if len(outs) < len(results):   # the same value twice
                return None
            for v in outs:
                v.hint = v.hint or "value"
            made = DraftFunction(self.function_name(node.name), variables, lines, outs, None, span)
        self.draft.functions.append(made)
        return made

    def function_name(self, name: str) -> str:
        """A name that no function of the language has, nor an input."""
        from adcli.lang.lower.library import prelude  # only for a program with functions
        used = {f.name for f in self.draft.functions} | set(prelude())
        while name in TAKEN or name in used or name in self.top_inputs:
            name += "_"
        return name

    def written_function(self, name: str, params: Sequence[str], value: str) -> str:
        if name not in self.definitions:
            variables, span = [Variable(p) for p in params], self.here
            made = DraftFunction(self.function_name(name), variables, [], [], replaced(value, variables, span), span)
            self.definitions[name] = made
            self.draft.functions.append(made)
        return self.definitions[name].name


def defined(s: ast.stmt) -> Iterator[str]:
    """The names that a statement of a file gives a meaning to."""
    match s:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from names_in(*targets)
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.Import() | ast.ImportFrom():
            yield from imported(s)


# ---------------------------------------------------------------- the program

class PythonProgram(PythonFile):
    """A reading of the function that is the program."""

    def __init__(self, source: Source, tree: ast.Module, function: ast.FunctionDef, facts: Facts) -> None:
        super().__init__(source, tree, facts)
        self.node = function
        self.top_inputs = {p.arg for p, _ in parameters(function.args)}

    def program(self) -> Source:
        if (p := self.node.args.vararg or self.node.args.kwarg) is not None:
            raise self.fault(f"'{p.arg}' is not the name of one input", "give each input a name", p)
        values = {p.arg: self.input(p, d) for p, d in parameters(self.node.args)}
        frame = self.frame(self, values, self.draft.lines)
        self.outputs(frame.result(self.node), frame)
        taken = {*self.top_inputs, *(t.hint for line in flat(self.draft.lines) for t in line.targets),
                 *(n for n, _ in self.draft.outputs)}
        self.draft.sizes = self.size_names(taken)
        docs = (ast.get_docstring(self.node) or "").split("\n") if ast.get_docstring(self.node) else []
        span = self.span(self.node)
        return written(self.draft, self.source, f"{self.source.name}:{self.node.name}", span, self.comments(), docs)

    def size_names(self, taken: set[str]) -> dict[str, str]:
        """Names of the sizes of the inputs: those of annotations, else N, M, K, …"""
        keys = dict.fromkeys(a for i in self.draft.inputs for x in i.variable.shape for a in atoms(x) if isinstance(a, str))
        free = (n for n in (*"NMKLPQRSTUV", *(f"N{i}" for i in range(1, 1000))) if n not in taken and n not in keys)
        return {key: key if "." not in key and key not in taken else next(free) for key in keys}

    # Inputs.

    def input(self, p: ast.arg, default: ast.expr | None) -> Any:
        name, span = p.arg, self.span(p)
        value = None if default is None else PythonStatements(self, {}, []).value(default)
        if default is not None and not (isinstance(value, Array) and not value.shape and value.constant is not None):
            if isinstance(value, Array | Several):
                raise self.fault("the default of an array cannot be read", "leave it out, and give it with the point", default)
            return value   # None, or a text: no input
        if "loat" in annotation(p):
            self.real.add(name)
        number_given = value.constant if isinstance(value, Array) else None
        self.inputs[name] = number_given
        shape = self.shape(p)
        if shape is None:
            self.facts.ranks.setdefault(name, 0) if name in self.facts.given else None
        rank = self.facts.ranks.get(name, 0)
        extents = shape if shape is not None else [affine(f"{name}.{d}") for d in range(rank)]
        fixed = self.facts.constants.get(name)
        written_default = fixed if fixed is not None else None if extents else number_given
        variable = Variable(name, [self.facts.size(x) for x in extents], True, name in self.facts.whole)
        given = None if written_default is None else number(float(written_default), span)
        self.draft.inputs.append(DraftInput(variable, span, given,
                                       default is not None or fixed is not None, fixed is not None))
        if fixed is not None:
            return known(fixed, span)
        open_rank = shape is None and default is None and self.open(name)
        return of_variable(variable, span, frozenset([name]) if open_rank or annotation(p) in ("", "int") else frozenset())

    def shape(self, p: ast.arg) -> list[Affine] | None:
        """The extents that an annotation or a comment says; None where they say nothing."""
        if p.annotation is None:
            return None
        text = annotation(p)
        if text in NUMBERS:
            return []
        quoted = re.search(r"""\[.*?["']([^"']*)["']\s*\]$""", text)
        said = quoted[1].split() if quoted else None
        if said is None and (comment := EXTENTS.search(self.lines[(p.end_lineno or p.lineno) - 1])):
            said = comment[1].replace(" ", "").split(",")
        if said is not None:
            return [affine(int(w)) if w.isdecimal() else affine(w) for w in said]
        if re.fullmatch(r"(typing\.)?(list|List|Sequence|tuple|Tuple)\[.*\]", text):
            self.facts.ranks.setdefault(p.arg, len(re.findall(r"list|List|Sequence|tuple|Tuple", text)))
        elif re.search("Array|Tensor|array", text):
            self.facts.ranks.setdefault(p.arg, 1)
        return None

    # Outputs.

    def outputs(self, found: Any, frame: PythonStatements) -> None:
        if found is None:
            raise self.fault(f"'{self.node.name}' returns nothing", Advice.RETURN, self.node.body[-1])
        returned = next((s for s in reversed(self.node.body) if isinstance(s, ast.Return)), None)
        place = self.node if returned is None else returned.value or returned
        pairs = list(self.named(found, place))
        names: dict[str, Array] = {}
        for name, value in pairs:
            name = self.node.name if name == "" or (name in self.top_inputs and len(pairs) == 1) else name
            called, k = name, 1
            while called in names or called in self.top_inputs:
                k += 1
                called = f"{name}{k}"
            names[called] = value
        for name, value in names.items():
            self.at(place, self.output, name, value, frame)

    def output(self, name: str, value: Any, frame: PythonStatements) -> None:
        a = frame.as_array(value)
        if a.truth:
            raise self.fault(f"'{name}' is a truth value, and outputs are numbers", "return 1.0 if c else 0.0")
        a = frame.one_array(a)
        v = a.variable
        if v is None or v.input or v in [w for _, w in self.draft.outputs] or a.whole is not None or a.pending:
            v = frame.line("", a).variable
        assert v is not None
        v.hint = v.hint or name
        self.draft.outputs.append((name, v))

    def named(self, found: Any, place: ast.AST) -> Iterator[tuple[str, Any]]:
        """The results with their names: those of variables, where a variable is one of them."""
        if isinstance(found, KnownDict):
            yield from ((re.sub(r"\W", "_", str(k)), v) for k, v in found.items.items())
            return
        items = found.items if isinstance(found, Several) else [found]
        each = place.elts if isinstance(place, ast.Tuple | ast.List) and len(place.elts) == len(items) else [place] * len(items)
        for item, n in zip(items, each, strict=True):
            yield n.id if isinstance(n, ast.Name) and each.count(n) == 1 else "", item

    def comments(self) -> list[tuple[int, str]]:
        """The comments of the function with their lines."""
        before, first = self.node.lineno - 1, self.node.body[0].lineno
        tokens = generate_tokens(StringIO("\n".join(self.lines[before:self.node.end_lineno])).readline)
        found = [(t.start[0] + before, t.string.rstrip()) for t in tokens if t.type == COMMENT]
        return [(line, text) for line, text in found if line >= first]


def annotation(p: ast.arg) -> str:
    """The text of an annotation, which may stand in quotation marks."""
    a = p.annotation
    return "" if a is None else a.value if isinstance(a, ast.Constant) and isinstance(a.value, str) else ast.unparse(a)


def read(source: Source, name: str | None, given: Mapping[str, object], ranks: Mapping[str, int]) -> Source:
    """The program that a function of a Python file is."""
    try:
        tree = Accumulations().visit(ast.parse(source.text))
    except SyntaxError as fault:
        at = source.start_of(fault.lineno or 1) + max(0, (fault.offset or 1) - 1)
        raise AdError(f"this is not Python: {fault.msg}", (at, at + 1), None, source) from None
    functions = {s.name: s for s in tree.body if isinstance(s, ast.FunctionDef)}
    function = functions[chosen(source, {n: names_in(f) for n, f in functions.items()},
                                [n for n in functions if not n.startswith("_")], name, "def f(x): return x**2")]
    facts = Facts(ranks=dict(ranks), given=given)
    return repeated(lambda: PythonProgram(source, tree, function, facts).program(), source)


def names(text: str) -> list[str]:
    """The public functions of a file."""
    return [s.name for s in ast.parse(text).body if isinstance(s, ast.FunctionDef) and not s.name.startswith("_")]
