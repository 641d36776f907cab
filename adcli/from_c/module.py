"""A function of a C file as a program."""
from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NoReturn

from adcli.from_c.frame import CStatements
from adcli.from_c.text import CText
from adcli.from_python.module import PythonProgram
from adcli.from_python.reading import Accumulations, Advice, Again, Facts, repeated
from adcli.from_python.values import (
    Array,
    KnownDict,
    LibraryName,
    Several,
    known,
    of_variable,
    scalar,
    stacked,
    whole,
    with_leaves,
)
from adcli.lang.ir.affine import Affine, Extreme, Index, affine, atoms, bounds, greatest
from adcli.lang.ir.errors import AdError, Source, Span, missing
from adcli.lang.tree.nodes import Call, Node, Op, Token
from adcli.readers.draft import DraftInput, DraftLine, DraftLoop, Range, Ref, Variable, alive, flat, leaves, number, sums
from adcli.readers.front import chosen

IN_C = {
    Advice.NUMBER_OF_STEPS: "write for (i = 0; i < n; i++) with steps that are enough",
    Advice.KEEP: "keep what it found in a variable: r = c ? a : r",
    Advice.CHOICE: "write y[i] = c ? a : b",
    Advice.FIRST_ELEMENT:
        "assign y[0] before the loop, and y[i] for all others in it: for (i = 1; i < n; i++)",
    Advice.COUNTER: "write it with the index of the loop: k = 2*i",
    Advice.RETURN: "end it with return v, or store the result: *y = v",
    Advice.EXTENT:
        "it has to be made of int parameters and indices; or give the sizes with the point, ⟦--at n=3⟧, to write loops out",
    Advice.ELEMENTS: "declare it with its number of elements: double y[3]",
}
"""Advice in the words of C."""


class CFacts(Facts):
    """What is known of a function: parameters that are sizes, among the rest."""

    def __init__(self, **known: Any) -> None:
        super().__init__(**known)
        self.sized: set[str] = set()
        self.numbers: dict[str, int] = {}   # those among them that no array says
        self.kept: set[str] = set()   # what is stored through and read before


class Unset(Token):
    """An element of a parameter as the caller has it: NaN, where only its own output takes it over."""

    __slots__ = ("at", "param")

    def __init__(self, param: str, at: tuple[int, ...], span: Span) -> None:
        super().__init__("NAME", "nan", *span)
        self.param, self.at = param, at


class CProgram(PythonProgram):
    """A reading of the function that is the program."""

    frame = CStatements
    facts: CFacts

    def __init__(self, source: Source, tree: ast.Module, function: ast.FunctionDef, facts: CFacts, file: Any) -> None:
        super().__init__(source, tree, function, facts)
        self.file, self.signature = file, file.signature(function.name)
        self.top_inputs -= (facts.sized - set(facts.numbers)) | set(self.signature.outs)
        self.needs: dict[str, list[Affine]] = {}

    def fault(self, message: str, help: str | None = None, node: ast.AST | None = None) -> AdError:
        if help is not None:
            help = IN_C.get(help, help).replace(Advice.OR_DEFAULT, "")
        return super().fault(message, help, node)

    def looked_up(self, name: str) -> Any:
        if "." in name:
            return LibraryName(name.rstrip("."))
        if name in self.top:
            return super().looked_up(name)
        raise self.fault(f"'{name}' is read before it has a value", f"set it where it is declared: double {name} = 0")

    def function(self, node: ast.AST, params: Sequence[str]) -> Any:
        """Whole numbers are worked out where they are asked for."""
        returns = self.file.signature(node.name).returns   # type: ignore[attr-defined]
        return None if returns is None or returns.whole else super().function(node, params)

    def learn_constant(self, name: str, default: object) -> NoReturn:
        """A parameter that is a whole number is a size first, where arrays have it as an extent."""
        if name not in self.facts.sized and name not in self.facts.constants and self.signature.params[name].whole:
            self.facts.sized.add(name)
            raise Again
        super().learn_constant(name, default)

    def input(self, p: ast.arg, default: ast.expr | None) -> Any:
        return self.of_kind(p, self.signature.params[p.arg], p.arg in self.signature.outs)

    def of_kind(self, p: ast.arg, kind: Any, stored: bool) -> Any:
        """The first value of a parameter; a struct has that of its fields."""
        span = self.span(p)
        if kind.fields is not None:
            outer = () if p.arg in self.signature.numbers else kind.dims
            return KnownDict({f: self.of_kind(ast.copy_location(ast.arg(f"{p.arg}_{f}"), p), k._replace(dims=(*outer, *k.dims)),
                                              stored) for f, k in kind.fields.items()})
        if p.arg in self.facts.sized and p.arg not in self.facts.constants:
            if (n := self.facts.numbers.get(p.arg)) is not None:
                self.draft.inputs.append(DraftInput(Variable(p.arg, input=True), span, number(n, span), True, True))
            return whole(affine(p.arg), span)
        if p.arg in self.signature.numbers:
            kind = kind._replace(dims=())
        if stored and p.arg not in self.facts.kept:
            return self.at(p, self.out, p, kind)
        self.top_inputs.add(p.arg)
        p.annotation = ast.Constant("int" if kind.whole and not kind.dims else "float")
        if not kind.dims:
            return super().input(p, None)
        variable = Variable(p.arg, [self.facts.size(x) for x in self.extents(p, kind)], True, kind.whole)
        self.draft.inputs.append(DraftInput(variable, span))
        return of_variable(variable, span)

    def extents(self, p: ast.arg, kind: Any) -> list[Affine]:
        """The extents of an array that is a parameter: as they are declared, or names for those that are not."""
        from adcli.from_c.body import CBody
        frame = self.frame(self, {n: whole(affine(n), (0, 0)) if n not in self.facts.constants else known(
            self.facts.constants[n], (0, 0)) for n, k in self.signature.params.items() if k.whole and not k.dims}, [])
        found = []
        for d, x in enumerate(kind.dims):
            if x is None:
                found.append(affine(f"{p.arg}.{d}"))
                continue
            found.append(frame.affine(ast.fix_missing_locations(CBody(self.file, self.signature).value(x)), "an extent"))
            new = {a for a in atoms(found[-1]) if a in self.signature.params} - self.facts.sized
            if new:
                self.facts.sized |= new   # type: ignore[arg-type]
                raise Again
        return found

    def out(self, p: ast.arg, kind: Any) -> Any:
        """The first value of what is stored: none, as far as that shows."""
        extents = [self.facts.size(x) for x in self.extents(p, kind)]
        if any(x.number is None for x in extents):
            if self.file.added_to(p.arg, self.node.name):
                self.facts.kept.add(p.arg)
                raise Again
            frame = self.frame(self, {}, self.draft.lines)
            return frame.line(p.arg, frame.call_unset(Several([*map(frame.whole, extents)])))

        def part(at: tuple[int, ...]) -> Array:
            if len(at) == len(extents):
                return scalar(Unset(p.arg, at, self.here))
            return stacked([part((*at, k)) for k in range(extents[len(at)].number or 0)])
        return part(())

    def keep(self) -> None:
        """Begin again with the values that the caller has of what is read before it is stored into. What is stored under a
        condition only is NaN where that does not hold."""
        own = {v: name for name, v in self.draft.outputs}
        lines = flat(alive(self.draft))
        names = {x.targets[0]: x.values[0] for x in lines if isinstance(x.values[0], Unset) and x.targets[0] not in own}
        for line in lines:
            for t in unset(names, *line.values) if line.targets[0] not in names else ():
                at = tuple(x.number for x in line.subscripts or ())
                if not (isinstance(line.values[0], Unset) and own.get(line.targets[0]) == t.param and at == t.at):
                    self.facts.kept.add(t.param)
                    raise Again
            line.values = [with_leaves(v, lambda x: number(float("nan"), x.span) if isinstance(x, Unset) else x)
                           for v in line.values]

    # What the arrays have to have.

    def outputs(self, found: Any, frame: Any) -> None:
        super().outputs(without_structs(found), frame)
        self.keep()
        self.learn_extents()
        extents = [x for i in self.draft.inputs for x in i.variable.shape]
        for n in sorted(self.facts.sized - {*self.facts.constants, *self.facts.numbers}):
            if n not in solvable(extents) and (n in set().union(*map(atoms, extents)) or self.read(n)):
                self.facts.numbers[n] = self.given_number(n)
                raise Again

    def given_number(self, name: str) -> int:
        """The number that the point has for a size which no array has as an extent."""
        value = self.facts.given.get(name)
        if not isinstance(value, int | float) or value != int(value) or value < 0:
            raise self.fault(f"'{name}' has to be known here", f"give it with the point, ⟦--at {name}=3⟧, or declare the arrays "
                             f"with it: double x[{name}]", self.parameter(name))
        return int(value)

    def parameter(self, name: str) -> ast.arg:
        return next(a for a in self.node.args.args if a.arg == name)

    def made(self, tried: bool) -> Source:
        """The program; one that is `tried` is a program for all sizes, or an error."""
        try:
            found = self.program()
        except AdError:
            self.learn(whole=False)
            raise
        if tried and self.facts.sized:
            from adcli.lang.lower.frontend import parse_source
            parse_source(found)
        return found

    def size_names(self, taken: set[str]) -> dict[str, str]:
        return super().size_names(taken) | {n: str(k) for n, k in self.facts.numbers.items()}

    def read(self, size: str) -> bool:
        """True if a size stands anywhere in the lines."""
        return any(size in atoms(x) for line, around in turns(self.draft.lines, {}) for x in chain(
            *map(sums, leaves(*line.values)), *around.values(), *line.ranges.values()))

    def stored(self, base: Array, at: Affine, box: Mapping[Index, Range]) -> bool:
        """Keep in mind up to where an array is stored into, if nobody has said how long it is."""
        if (key := unsaid(base.shape)) is not None:
            self.need(key, bounds(at, box)[1] + 1)
        return key is not None

    def need(self, key: str, extent: Affine) -> None:
        if key not in atoms(extent) and not any(isinstance(a, Index) for a in atoms(extent)):
            self.needs.setdefault(key, []).append(extent)

    def learn_extents(self) -> None:
        """Extents that nobody declares are those of the subscripts."""
        for line, around in turns(self.draft.lines, {}):
            box = {i: (low, high - 1) for i, (low, high) in {**around, **line.ranges}.items()}
            reads = [(t.variable, t.subscripts) for t in leaves(*line.values) if isinstance(t, Ref)]
            for v, at in (*((v, line.subscripts) for v in line.targets), *reads):
                for x, extent in zip(at or (), v.shape, strict=False):
                    if (key := unsaid([extent])) is not None:
                        self.need(key, bounds(x, box)[1] + 1)
        self.learn(whole=True)
        for unknown in filter(None, (unsaid(v.shape) for _, v in self.draft.outputs)):
            name = unknown.partition(".")[0]
            raise self.fault(f"how many elements '{name}' has is not seen",
                             f"declare it with its number of elements: double {name}[n]", self.parameter(name))

    def learn(self, whole: bool) -> None:
        """Begin again with extents that were found; those of a part of the function may be too small where they are numbers."""
        found = {key: greatest(*([x for x in parts if x.number is None] or parts)) for key, parts in self.needs.items()}
        new = {key: x for key, x in found.items() if (whole or x.number is None) and not any(
            isinstance(a, Extreme) for a, _ in x.terms)}
        if new:
            self.facts.sizes.update(new)
            raise Again

    def comments(self) -> list[tuple[int, str]]:
        first, last = self.node.body[0].lineno, self.node.end_lineno or self.node.lineno
        return [(k, text) for k, text in self.file.text.comments if first <= k <= last]


def unset(names: Mapping[Variable, Node], *roots: Node) -> Iterator[Unset]:
    """What is read of elements without a value, but for arms of choices; `names` are variables that are one."""
    stack = list(roots)
    while stack:
        node = stack.pop()
        node = names.get(node.variable, node) if isinstance(node, Ref) else node
        if isinstance(node, Unset):
            yield node
        elif isinstance(node, Op | Call):
            stack += node.args if node.name != "select" else [node.args[0], *(
                a for a in node.args[1:] if not isinstance(names.get(a.variable, a) if isinstance(a, Ref) else a, Unset))]


def without_structs(found: Any) -> Any:
    """Results with the fields of structs one by one."""
    if not isinstance(found, KnownDict):
        return found
    inner = {k: without_structs(v) for k, v in found.items.items()}
    return KnownDict({name: x for k, v in inner.items() for name, x in (
        {f"{k}_{f}": y for f, y in v.items.items()} if isinstance(v, KnownDict) else {k: v}).items()})


def turns(lines: Sequence[DraftLine | DraftLoop], around: dict[Index, Range]) -> Iterator[tuple[DraftLine, dict[Index, Range]]]:
    """The lines with the ranges of the loops around them."""
    for line in lines:
        if isinstance(line, DraftLoop):
            yield from turns(line.body, {**around, line.step: (line.low, line.high)})
        else:
            yield line, around


def unsaid(shape: Sequence[Affine]) -> str | None:
    """The name of a first extent that nobody has said."""
    a = shape[0].terms[0][0] if shape and len(shape[0].terms) == 1 else None
    return a if isinstance(a, str) and "." in a else None


def solvable(extents: Sequence[Affine]) -> set[str]:
    """The sizes that follow from extents: one that is the only unknown in one, as a multiple of it."""
    found: set[str] = set()
    more = True
    while more:
        more = False
        for x in extents:
            new = {str(a) for a in atoms(x)} - found
            if len(new) == 1 and len(x.terms) == 1:
                found |= new
                more = True
    return found


def opened(source: Source) -> Any:
    """The file, taken apart."""
    try:
        from adcli.from_c.body import read_declarations
        from adcli.from_c.tree import CFile
    except ImportError:
        raise missing("a file of C", "pycparser") from None
    file = CFile(CText(source))
    read_declarations(file)
    return file


def read(source: Source, name: str | None, given: Mapping[str, object], ranks: Mapping[str, int]) -> Source:
    """The program that a function of a C file is."""
    file = opened(source)
    from adcli.from_c.body import CBody
    from adcli.from_c.tree import names
    public = [n for n, d in file.definitions.items() if "static" not in d.decl.storage]
    name = chosen(source, {n: names([d.body]) for n, d in file.definitions.items()}, public, name,
                  "double f(double x) { return x*x; }")
    made = [CBody(file, file.signature(n), n == name).function(d) for n, d in needed(file, name)]
    tree = Accumulations().visit(ast.Module([*file.body, *made, *file.variants.values()], []))
    function = next(s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name == name)
    ast.fix_missing_locations(tree)
    for n in ast.walk(tree):
        for t in n.targets if isinstance(n, ast.Assign) else [n.target] if isinstance(n, ast.AugAssign | ast.For) else ():
            for each in t.elts if isinstance(t, ast.Tuple) else [t]:
                each.ctx = ast.Store()   # type: ignore[attr-defined]
    head(file, function)
    return begun_again(source, tree, function, file, given)


def begun_again(source: Source, tree: ast.Module, function: ast.FunctionDef, file: Any,
                given: Mapping[str, object]) -> Source:
    """The program with sizes as numbers, where it cannot be read for all sizes."""
    whole = [n for n, k in file.signature(function.name).params.items() if k.whole and not k.dims]
    numbers = {n: int(v) for n in whole if isinstance(v := given.get(n), int | float) and v == int(v)}
    facts, left = CFacts(given=given), bool(numbers)

    def made() -> Source:
        nonlocal facts, left
        try:
            return CProgram(source, tree, function, facts, file).made(left)
        except AdError:
            if not left:
                raise
            left, facts = False, CFacts(given=given)
            facts.sized, facts.constants = set(numbers), numbers
            raise Again from None
    return repeated(made, source)


def needed(file: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The functions that one calls, and itself."""
    from adcli.from_c.tree import names
    found, todo = {name}, [name]
    while todo:
        called = names([file.definitions[todo.pop()].body]) & set(file.definitions) - found
        found |= called
        todo += called
    return ((n, d) for n, d in file.definitions.items() if n in found)


def head(file: Any, function: ast.FunctionDef) -> None:
    """Put the comment that stands above a function into it, as Python has it."""
    lines: list[str] = []
    at, notes = function.lineno - 1, dict(file.text.comments)
    while at > 0 and (at in notes or file.text.source.line(at).strip() in ("*/", "/*", "/**", "*")):
        lines[:0] = [notes[at][2:]] if at in notes else []
        at -= 1
    if lines:
        place = ast.copy_location(ast.Constant("\n".join(lines)), function.body[0])
        function.body.insert(0, ast.copy_location(ast.Expr(place), function.body[0]))


def names(text: str) -> list[str]:
    """The public functions of a file, as its lines look: headers and macros are not needed to complete a word."""
    return re.findall(r"^(?!static\b|typedef\b)[A-Za-z_][\w \t*]*?\b(\w+)\s*\([^;{}()]*\)\s*\{", text, re.MULTILINE)
