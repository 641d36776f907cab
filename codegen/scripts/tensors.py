"""A program with tensors as an ES module: the loops of its C, on arrays of the module's own.

    export const inputs = [{name: "A", shape: ["M", "N"]}, {name: "s", value: 2}, …]
    export const outputs = ["C", …]
    export function NAME(A, s, …) { …; return {C, …}; }

Tensors are nested arrays, whose innermost may be typed ones, and so are those among the results. Sizes come with them. An error
of the language is thrown where they do not fit one another or the subscripts, and where a subscript is outside that is read.
"""
from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from adcli.codegen.c.loops import LoopLanguage
from adcli.codegen.c.matrices import FUNCTIONS
from adcli.codegen.c.spelling import operator
from adcli.codegen.c.tensors import TensorStatements
from adcli.codegen.c.whole_numbers import WholeNumbers
from adcli.codegen.scripts.javascript import LANGUAGE, WORDS, key
from adcli.codegen.scripts.module import Language, ScriptModule, ScriptStatements, listed, no_symbol, quoted, wrapped
from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Result, Var
from adcli.lang.ir.affine import Affine, AffineAtom, Extreme, Floor, Modulo, affine, atoms, shape_text, text
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.notation import ATOM, INDENT, PRODUCT, UNARY, Piece, enclosed
from adcli.lang.ir.precision import DOUBLE
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.rule_programs import statics

OUTSIDE = 'throw new RangeError("a subscript that is read is outside");'
LOOPS = LoopLanguage("let", "const", "const", "let", "", "", OUTSIDE, "{}.subarray({})")
HELPERS = {
    "shape": """
function shape(name, given, rank) {
    // the extents of nested arrays; behind an extent of 0 they do not say theirs
    const found = [];
    for (let part = given; found.length < rank; part = part?.[0]) {
        if (!Array.isArray(part) && !ArrayBuffer.isView(part) && !(part === undefined && found.includes(0))) {
            throw new TypeError(`'${name}' has ${rank} dimensions, and what is given has ${found.length}`);
        }
        found.push(part?.length);
    }
    return found;
}""",
    "elements": """
function elements(name, given, shape, whole) {
    // all elements of nested arrays, one behind the other
    const found = new Float64Array(shape.reduce((count, extent) => count && count * extent, 1));
    let at = 0;
    function fill(part, d) {
        if (d < shape.length) {
            if (part.length !== shape[d]) throw new RangeError(`'${name}' has rows of different lengths`);
            for (const inner of part) fill(inner, d + 1);
        } else {
            if (whole && !Number.isInteger(+part)) throw new TypeError(`'${name}' has ${part}, which is no whole number`);
            found[at++] = part;
        }
    }
    fill(given, 0);
    return found;
}""",
    "nested": """
function nested(elements, shape) {
    // the elements as nested arrays
    if (shape.length === 1) return Array.from(elements);
    const size = shape[0] ? elements.length / shape[0] : 0;
    return Array.from({length: shape[0]}, (_, i) => nested(elements.subarray(i * size, (i + 1) * size), shape.slice(1)));
}""",
}


FROM_C = ((r"/\* (.*) \*/", r"// \1"), ("const REAL ", "const "), (r"\(REAL\)", ""), (r"(REAL|size_t|int) (?=\w+( =|;))", "let "),
          ("NAN", "NaN"), ("INFINITY", "Infinity"), ("isfinite", "Number.isFinite"), ("FABS", "Math.abs"), ("SQRT", "Math.sqrt"),
          ("LOG", "Math.log"), ("ZERO", "0"), ("ONE", "1"), ("HALF", "0.5"))
"""What the statements of functions on matrices are in this language, that are written for C."""


class ScriptWholeNumbers(WholeNumbers):
    """Texts of expressions of sizes and indices, which are numbers like any others here."""

    def plain(self, x: Affine) -> bool:
        return True

    def size_atom(self, a: AffineAtom) -> Piece:
        match a:
            case Floor(whole, divisor):
                return f"Math.floor({enclosed(self.size(whole), PRODUCT)} / {divisor})", ATOM
            case Modulo(whole, by) if not self.natural(whole):
                n = enclosed(self.size(by), UNARY)
                return f"(({enclosed(self.size(whole), PRODUCT)} % {n} + {n}) % {n})", ATOM
            case Extreme(parts, largest):
                return f"Math.{'max' if largest else 'min'}({', '.join(self.size(p)[0] for p in parts)})", ATOM
            case _:
                return super().size_atom(a)

    def signed(self, x: Affine) -> Piece:
        return self.size(x)

    def real(self, x: Affine, kind: str = "double") -> Piece:
        return self.size(x)


class ScriptBody(ScriptStatements):
    """The body of a comprehension; its value stands in the expression that uses it wherever that is short."""

    def single(self, e: Equation) -> bool:
        return len(e.outs) == 1 and self.uses[e.outs[0]] == 1


class ScriptTensors(TensorStatements):
    """Writes the statements of a program with tensors, and the module that they stand in."""

    words: Collection[str] = {*WORDS, *HELPERS, "RangeError", "TypeError", "ArrayBuffer"}
    script: Language = LANGUAGE

    def __init__(self, program: Program, name: str) -> None:
        if name in self.words:
            raise no_symbol(name, self.script.name, self.script.taken(self.words).fresh(name))
        self.module = ScriptModule(self.script, Program((), (), ()), name)
        super().__init__(program, name, DOUBLE)
        self.language, self.module.names = LOOPS, self.c_names
        self.whole = ScriptWholeNumbers(self.whole.sizes, "")
        self.names = dict(self.values)
        self.bound_by: set[tuple[str, int]] = set()
        self.known: list[str] = []
        self.shapes = {p.name: self.c_names.named(f"{n}_shape") for p, n in zip(self.given.params, self.inputs, strict=True)
                       if p.var.shape}

    # ------------------------------------------------------------ statements

    def number(self, value: float) -> Piece:
        return self.script.number(value)

    def combined(self, op: str, old: Piece, new: Piece) -> Piece:
        return operator(self.script.spelling(TABLE[op]) or self.module.function(op), [old, new])

    def body(self, body: Program) -> ScriptBody:
        return ScriptBody(self.module, body, {})

    def declared(self, var: Var, text: str) -> str:
        return self.script.assignment(self.names[var], text)

    def piece(self, atom: Atom) -> Piece:
        return self.number(atom.value) if isinstance(atom, Lit) else super().piece(atom)

    def operation(self, e: Equation) -> Piece:
        static = statics(e)
        spelling = self.script.spelling(e.op) or self.module.function(e.op.name, static)
        return self.script.operation(e, spelling, [self.piece(a) for i, a in enumerate(e.args) if i not in dict(static)])

    # ------------------------------------------------------------ the module

    def text(self) -> str:
        """The module, without its comment."""
        statements = [line for e in self.program.equations for line in self.equation(e)]
        values = [self.returned(r) for r in self.given.results]
        body = [*self.taken(), *self.places(), *statements, *wrapped("return {", values, "};")]
        params = [n if p.default is None else f"{n} = {self.number(p.default)[0]}"
                  for p, n in zip(self.given.params, self.inputs, strict=True)]
        lines = [*wrapped("export const inputs = [", list(map(described, self.given.params)), "];"),
                 *wrapped("export const outputs = [", [quoted(r.name) for r in self.given.results], "];"), "",
                 *wrapped(f"export function {self.name}(", params, ") {"), *(INDENT + line for line in body), "}", ""]
        for name, helper in HELPERS.items():
            if any(f"{name}(" in line for line in lines):
                lines += [helper.strip("\n"), ""]
        for op in self.matrices:
            lines += [self.matrix_function(op), ""]
        return "\n".join([*lines, *self.module.helpers]).rstrip("\n") + "\n"

    def matrix_function(self, op: str) -> str:
        """One of the functions that C has, whose arrays are typed ones here."""
        lines = FUNCTIONS[op].strip("\n").replace("$", "\0").split("\n")
        head = re.sub(r"(const )?(size_t|REAL|int) \*?", "", re.sub(r"^static \w+ ", "function ", lines[0]))
        body = "\n".join(lines[1:])
        for old, new in FROM_C:
            body = re.sub(old, new, body)
        return re.sub("\0(\\w+)", lambda m: self.matrices[m[1]], f"{head}\n{body}".replace(")\n{", ") {", 1))

    def taken(self) -> Iterator[str]:
        """Inputs as arrays and numbers, and the sizes, which must fit."""
        for p, n in zip(self.given.params, self.inputs, strict=True):
            if p.var.shape:
                yield f"const {self.shapes[p.name]} = shape({quoted(p.name)}, {n}, {len(p.var.shape)});"
                yield f"{n} = elements({quoted(p.name)}, {n}, {self.shapes[p.name]}, {str(p.var.integer).lower()});"
            else:
                yield f"{n} = +{n};"
                if p.var.integer:
                    yield self.required(f"Number.isInteger({n})", f"{p.name} is no whole number")
        for name, n in self.counted.items():
            yield self.required(f"{self.values[self.counts[name].var]} >= 0", f"{name} is below 0")
            yield f"const {n} = {self.values[self.counts[name].var]};"
        for name, n in self.ordered_sizes():
            yield f"const {n} = {self.bound(name)};"
        yield from self.agreed()
        for c in self.conditions.conditions:
            if (test := self.tested(c)) is not None:
                yield self.required(test, f"sizes do not fit: {c.why}" if c.why else "sizes do not fit")

    def agreed(self) -> Iterator[str]:
        """That the extents of inputs are what their sizes make them."""
        for p in self.given.params:
            for d, extent in enumerate(p.var.shape):
                if (p.name, d) not in self.bound_by:
                    size, found = self.extent(extent)[0], f"{self.shapes[p.name]}[{d}]"
                    test = f"{self.given_or(found, size) if d else found} === {size}"
                    yield self.required(test, f"dimension {d} of {p.name} is not {text(extent)}")

    def extent(self, x: Affine) -> Piece:
        """An expression of sizes."""
        return self.whole.size(x)

    def required(self, test: str, message: str) -> str:
        return f"if (!({test})) throw new RangeError({quoted(message)});"

    def bound(self, name: str) -> str:
        """A size, from an extent that is it alone, or a sum in which it is the only one that is not known."""
        extents = [(extent, p.name, d) for p in self.given.params for d, extent in enumerate(p.var.shape)]
        alone = [(tensor, d) for extent, tensor, d in extents if extent == affine(name)]
        if alone:
            first = min(alone, key=lambda place: place[1] > 0)
            self.bound_by.add(first)
            if first[1] == 0:
                return f"{self.shapes[first[0]]}[0]"
            return self.first_given([f"{self.shapes[tensor]}[{d}]" for tensor, d in alone])
        for extent, tensor, d in extents:
            c = extent.coefficient(name)
            rest = extent - affine(name) * c
            if c and name not in atoms(rest) and atoms(rest) <= {*self.counted, *self.known}:
                found = f"{self.shapes[tensor]}[{d}]"
                found = self.given_or(found, "0") if d else found
                return self.quotient(f"{found} - {enclosed(self.extent(rest), PRODUCT)}", c)
        raise AdError(f"the size {name} is no extent of an input by itself", None,
                      f"declare an input with the extent {name} alone", self.given.source)

    def given_or(self, extent: str, size: str) -> str:
        """An extent, or what it has to be where nested arrays do not say it, behind an extent of 0."""
        return f"({extent} ?? {size})"

    def first_given(self, extents: list[str]) -> str:
        return " ?? ".join([*extents, "0"])

    def quotient(self, text: str, divisor: int) -> str:
        return f"Math.floor(({text}) / {divisor})"

    def ordered_sizes(self) -> Iterator[tuple[str, str]]:
        """The sizes, those first that an extent is alone, so that they are known to the others."""
        alone = {extent for p in self.given.params for extent in p.var.shape}
        for name in sorted(self.sizes, key=lambda name: affine(name) not in alone):
            yield name, self.sizes[name]
            self.known.append(name)

    def places(self) -> Iterator[str]:
        """The arrays of results, and of what is kept between nests: new ones, or such as nothing reads any more."""
        for r, n in zip(self.given.results, self.outputs, strict=True):
            if isinstance(r.atom, Var) and r.atom.shape and self.values[r.atom] == n:
                yield f"const {n} = new Float64Array({self.whole.product(r.atom.shape)});"
        first: dict[int, str] = {}
        for v, slot in self.slots:
            name = self.values[v]
            there = first.setdefault(slot, name)
            yield f"const {name} = {f'new Float64Array({self.whole.product(v.shape)})' if there == name else there};"

    def returned(self, r: Result) -> str:
        if not (isinstance(r.atom, Var) and r.atom.shape):
            return f"{key(r.name)}: {self.piece(r.atom)[0]}"
        return f"{key(r.name)}: nested({self.values[r.atom]}, [{', '.join(self.whole.size(x)[0] for x in r.atom.shape)}])"


def described(p: Param) -> str:
    """What a page needs to know of an input."""
    parts = [f"name: {quoted(p.name)}"]
    if p.var.shape:
        parts.append(f"shape: [{', '.join(quoted(text(x)) for x in p.var.shape)}]")
    if p.var.integer:
        parts.append("whole: true")
    for word, value in (("value", p.default), ("min", p.low), ("max", p.high)):
        if value is not None:
            parts.append(f"{word}: {LANGUAGE.number(value)[0]}")
    return f"{{{', '.join(parts)}}}"


def tensor_module(program: Program, name: str) -> str:
    """The module of a program with tensors, without its comment."""
    return ScriptTensors(program, name).text()


def tensor_calling(program: Program, name: str) -> list[str]:
    """How the function is called and loaded, for the comment in front of it."""
    given = [p.name + (shape_text(p.var.shape) if p.var.shape else "") for p in program.params]
    return [f"call: {name}({listed([p.name for p in program.params])}) gives {{{listed([r.name for r in program.results])}}}",
            f"tensors are nested arrays: {listed([x for x in given if '(' in x])}",
            f'load: import {{{name}, inputs}} from "./FILE.mjs"; in a page inside <script type="module">']

