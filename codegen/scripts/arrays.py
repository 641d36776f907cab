"""A program with tensors as a module of Python that needs NumPy alone: array operations for each comprehension.

    inputs, outputs = ("A", …), ("C", …)
    defaults = {"s": 2.0, …}
    def NAME(A, s, …): …; return C, …

The indices of a comprehension are open grids (`np.ogrid`), so that its body is an expression of whole arrays, which are reduced
along the axes of the indices that are summed over; where guards leave points out, the indices are lists of the points that are
left. A loop over steps is one of Python, operations on matrices are those of `np.linalg`. A ValueError says where sizes do not
fit one another or the subscripts, an IndexError where a subscript is outside that is read.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from adcli.codegen.c.loops import BoxLoops, LoopLanguage, Loops
from adcli.codegen.c.matrices import MatrixLoops
from adcli.codegen.nests.layout import elements
from adcli.codegen.nests.recurrences import StepLoop
from adcli.codegen.scripts.module import quoted, wrapped
from adcli.codegen.scripts.python import IMPORTS, LANGUAGE, WORDS, number, parameters, tuple_items
from adcli.codegen.scripts.tensors import ScriptTensors
from adcli.lang.ir import Atom, Equation, Lit, Program, Result, Var, shape_of
from adcli.lang.ir.affine import Affine, AffineAtom, Extreme, Floor, Index, Modulo, Product, affine, atoms, never_negative
from adcli.lang.ir.comprehension import BodySource, Subscript, atoms_in, fixed_indices
from adcli.lang.ir.matrix import Boxed, MatrixOperation, accesses
from adcli.lang.ir.notation import ATOM, INDENT, PRODUCT, SUM, Piece, enclosed
from adcli.lang.ir.recurrence import Recurrence
from adcli.lang.sizes.proofs import proved

LOOPS = LoopLanguage("", "", "", "", "", "", "", "")
UFUNCS = {"+": "np.add", "*": "np.multiply", "min": "np.minimum", "max": "np.maximum"}
STARTS = {"=": "0.0", "+": "0.0", "*": "1.0", "min": "np.inf", "max": "-np.inf"}
HELPERS = {
    "tensor": """
def _tensor(name, given, rank, kind):
    # what is given as an array
    found = np.asarray(given)
    if not found.size:   # lists do not say the extents behind a 0
        found = found.reshape(found.shape + (0,) * (rank - found.ndim))
    if kind is int and not np.all(found == np.floor(found)):
        raise ValueError(f"{name} has an element that is no whole number")
    if found.ndim != rank:
        raise ValueError(f"{name} has {rank} dimensions, and what is given has {found.ndim}")
    return found.astype(np.int64 if kind is int else float)""",
    "required": """
def _required(holds, message):
    if not holds:
        raise ValueError(message)""",
    "inside": """
def _inside(subscripts, extent):
    # subscripts that are known now, all inside of a dimension
    if not np.all((subscripts >= 0) & (subscripts < extent)):
        raise IndexError(f"a subscript is outside of a dimension with {extent} elements")
    return np.asarray(subscripts).astype(np.int64)""",
    "points": """
def _points(indices, conditions):
    # the points of a box where conditions hold, as lists of indices
    indices = np.broadcast_arrays(*indices)
    kept = np.ones(indices[0].shape, bool)
    for holds in conditions:
        kept &= holds
    return [x[kept] for x in indices]""",
    "solve": """
def _solve(a, b):
    # x with a @ x = b; NaN where that is not defined
    try:
        return np.linalg.solve(a, b) if np.isfinite(a).all() else np.full(b.shape, np.nan)
    except np.linalg.LinAlgError:
        return np.full(b.shape, np.nan)""",
    "solve_lower": """
def _solve_lower(a, b):
    # x with a @ x = b, of a what is on and below the diagonal
    a, x = np.tril(a), np.full(b.shape, np.nan)
    if np.isfinite(a).all() and np.all(np.diagonal(a) != 0.0):
        for i in range(len(a)):
            x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
    return x""",
    "solve_upper": """
def _solve_upper(a, b):
    # x with a @ x = b, of a what is on and above the diagonal
    return _solve_lower(a[::-1, ::-1], b[::-1])[::-1]""",
    "cholesky": """
def _cholesky(a):
    # x with x @ x.T = (a + a.T)/2
    try:
        return np.linalg.cholesky(0.5 * a + 0.5 * a.T) if np.isfinite(a).all() else np.full(a.shape, np.nan)
    except np.linalg.LinAlgError:
        return np.full(a.shape, np.nan)""",
    "logdet": """
def _logdet(a):
    # the logarithm of the determinant
    sign, value = np.linalg.slogdet(a) if np.isfinite(a).all() else (-1.0, np.nan)
    return np.nan if sign < 0.0 else value""",
    "inverse": """
def _inverse(a):
    # x with a @ x = 1
    try:
        return np.linalg.inv(a) if np.isfinite(a).all() else np.full(a.shape, np.nan)
    except np.linalg.LinAlgError:
        return np.full(a.shape, np.nan)""",
}


class ArrayNumbers:
    """Texts of expressions of sizes and indices; these may be arrays."""

    def __init__(self, names: Iterable[tuple[str, str]]) -> None:
        self.names: dict[Index | str, str] = dict(names)

    def piece(self, x: Affine) -> Piece:
        shown = ""
        for a, c in sorted(x.terms, key=lambda term: term[1] < 0):
            one = self.atom(a)
            one = one if abs(c) == 1 else (f"{abs(c)}*{enclosed(one, PRODUCT)}", PRODUCT)
            shown += (" - " if c < 0 else " + " if shown else "") + enclosed(one, PRODUCT)
        if x.constant or not shown:
            shown += f" {'-' if x.constant < 0 else '+'} {abs(x.constant)}" if shown else str(x.constant)
        if len(x.terms) == 1 and not x.constant and x.terms[0][1] == 1:
            return shown, self.atom(x.terms[0][0])[1]
        return shown.strip(), SUM if x.terms or x.constant < 0 else ATOM

    def atom(self, a: AffineAtom) -> Piece:
        match a:
            case Floor(whole, divisor):
                return f"{enclosed(self.piece(whole), PRODUCT)} // {divisor}", SUM
            case Modulo(whole, by):
                return f"{enclosed(self.piece(whole), PRODUCT)} % {enclosed(self.piece(by), ATOM)}", SUM
            case Product(left, right):
                return f"{enclosed(self.piece(left), PRODUCT)}*{enclosed(self.piece(right), ATOM)}", PRODUCT
            case Extreme(parts, largest):
                texts = [self.piece(p)[0] for p in parts]
                if not any(isinstance(i, Index) for p in parts for i in atoms(p)):
                    return f"{'max' if largest else 'min'}({', '.join(texts)})", ATOM
                shown = texts[0]
                for text in texts[1:]:
                    shown = f"np.{'maximum' if largest else 'minimum'}({shown}, {text})"
                return shown, ATOM
            case _:
                return self.names[a], ATOM

    def text(self, x: Affine) -> str:
        return self.piece(x)[0]

    def shape(self, extents: Sequence[Affine]) -> str:
        return f"({', '.join(map(self.text, extents))}{',' if len(extents) == 1 else ''})"


class ArrayBox(BoxLoops):
    """The elements that an operation touches, as NumPy has them, and lines of Python."""

    f: ArrayTensors

    def lines(self) -> list[str]:
        if self.text is not None:
            self.made += commented(self.text.line().split("\n"))
        self.written()
        return self.made

    def say(self, line: str) -> None:
        super().say(line.strip().removesuffix(";"))

    def begin(self, head: str) -> None:
        self.say(f"{head}:")
        self.depth += 1

    def close(self, depth: int) -> None:
        self.depth = depth

    def local(self, hint: str) -> str:
        return self.f.local(hint, self.used)

    def place(self, atom: Atom, subscripts: Sequence[Subscript]) -> str:
        assert isinstance(atom, Var)
        inner = [self.subscript(s, extent)[0] for s, extent in zip(subscripts, shape_of(atom), strict=False)]
        return f"{self.f.values[atom]}[{', '.join(inner)}]" if inner else self.f.values[atom]

    def subscript(self, s: Subscript, extent: Affine) -> Piece:
        numbers = self.f.numbers
        if isinstance(s, Affine):
            loose = (self.out, s, extent) in self.f.loose
            return (f"_inside({numbers.text(s)}, {numbers.text(extent)})", ATOM) if loose else numbers.piece(s)
        atom = self.e.args[s.arg]
        assert isinstance(atom, Var)
        return f"_inside({self.place(atom, s.subscripts)}, {numbers.text(extent)})", ATOM

    def source(self, s: BodySource) -> Piece:
        if isinstance(s, Affine):
            if any(isinstance(a, Index) for a in atoms(s)):
                return f"1.0 * {enclosed(self.f.numbers.piece(s), PRODUCT)}", PRODUCT
            return f"np.float64({self.f.numbers.text(s)})", ATOM
        atom = self.e.args[s.arg]
        if isinstance(atom, Lit):
            return number(atom.value)
        place = self.place(atom, s.subscripts)
        if not atom.integer:
            return place, ATOM
        return (f"1.0 * {place}", PRODUCT) if atom.shape else (f"np.float64({place})", ATOM)

    def bound(self, index: Index) -> str:
        shown = None if self.text is None else self.text.by[index].index
        if index not in self.opened:
            self.opened.add(index)
            self.f.numbers.names[index] = self.f.local((shown or index).name, self.used)
        return self.f.numbers.names[index]

    def span(self, index: Index) -> str:
        r = next(r for r in self.op.ranges if r.index is index)
        return f"{self.f.numbers.text(r.low)}:{self.f.numbers.text(r.high)}"


class ArrayNest(ArrayBox, Loops):
    """Writes one comprehension."""

    shown_grid: Sequence[Index] = ()

    def written(self) -> None:
        op = self.op
        onto = None if op.onto is None else self.e.args[op.onto]
        there = self.stays or (isinstance(onto, Var) and self.f.values[onto] == self.f.values[self.out])
        named = [i for i in op.indices if any(i in atoms(s) for s in op.write if isinstance(s, Affine))]
        plain = not op.guards and all(isinstance(s, Affine) for s in op.write) and fixed_indices(op.ranges, op.write) >= {*named}
        if plain and (op.reduction != "=" or len(named) == len(op.ranges)):
            if some := self.some_point():
                self.filled_first(there)
                self.begin(f"if {some}")
            self.at_elements(named, there or bool(some))
        else:
            self.at_points(named, there)
        self.close(0)

    def some_point(self) -> str:
        """The test that the box has points, where NumPy would look at subscripts even if it has none."""
        ranges = [r for r in self.op.ranges if not never_negative(r.high - r.low - 1)]
        looked_at = self.fails_without({r.index for r in ranges}.__le__)
        return " and ".join(f"{self.f.numbers.text(r.low)} < {self.f.numbers.text(r.high)}" for r in ranges) if looked_at else ""

    def fails_without(self, empty: Callable[[set[Index | str]], bool]) -> bool:
        """Whether a subscript may be outside where no point is: one of indices that are not `empty` then."""
        known = [x for c in self.f.conditions.conditions if not c.given for x in c.then]
        for atom, subscripts in accesses(self.e, self.op):
            for s, extent in zip(subscripts, shape_of(atom), strict=False):
                own = atoms_in([s])
                if not empty(own):
                    there = [x for r in self.op.ranges if r.index in own
                             for x in (affine(r.index) - r.low, r.high - 1 - affine(r.index))]
                    if not isinstance(s, Affine) or not all(proved(x, [*there, *known]) for x in (s, extent - 1 - s)):
                        return True
        return False

    def grid(self, order: Sequence[Index]) -> None:
        """The indices as an open grid."""
        if self.shown_grid == [*order]:
            return
        self.shown_grid = [*order]
        names = [self.bound(i) for i in order]
        if len(order) == 1:
            self.say(f"{names[0]} = np.arange({self.span(order[0]).replace(':', ', ')})")
        elif order:
            self.say(f"{', '.join(names)} = np.ogrid[{', '.join(map(self.span, order))}]")

    def box(self, order: Sequence[Index]) -> str:
        """The shape of a grid."""
        return f"np.broadcast({', '.join(self.f.numbers.names[i] for i in order)}).shape" if len(order) > 1 else \
            f"{self.f.numbers.names[order[0]]}.shape" if order else "()"

    def reduced_values(self, value: str, box: str, axes: str) -> str:
        """The values of a box, reduced along some of its axes."""
        ufunc, start = UFUNCS[self.op.reduction], STARTS[self.op.reduction]
        return f"{ufunc}.reduce(np.broadcast_to({value}, {box}), axis={axes}, initial={start})"

    def at_elements(self, outer: Sequence[Index], there: bool) -> None:
        """All values at once, reduced along the last axes: the whole result, or the elements that are written."""
        op, whole = self.op, elements(self.op)
        outer = outer if whole is None else whole
        inner = [i for i in op.indices if i not in outer]
        self.grid([*outer, *inner])
        value = self.value()
        if inner:
            axes = tuple(range(len(outer), len(outer) + len(inner)))
            value = self.reduced_values(value[0], self.box([*outer, *inner]), str(axes)), ATOM
            if outer and (op.onto is not None or there or whole is None):
                total = self.local("total")
                self.say(f"{total} = {value[0]}")
                self.grid(outer)
                value = total, ATOM
        if op.onto is not None and op.reduction != "=":
            value = self.combined(self.start(), value)
        if not op.shape:
            self.say(f"{self.f.values[self.out]} = {value[0]}")
        elif whole is not None and not there:
            copied = f"np.broadcast_to({value[0]}, {self.box(outer)}) + 0.0"
            self.say(f"{self.f.values[self.out]} = {value[0] if inner and op.onto is None else copied}")
        else:
            self.started(there)
            self.say(f"{self.place(self.out, op.write)} = {value[0]}")

    def filled_first(self, there: bool) -> None:
        """The result with what it starts from, where nothing more may come."""
        if self.op.shape:
            self.started(there)
        else:
            self.say(f"{self.f.values[self.out]} = {self.start()[0]}")

    def started(self, there: bool) -> None:
        """The whole result with what its elements start from."""
        if not there:
            onto = None if self.op.onto is None else self.e.args[self.op.onto]
            shape = self.f.numbers.shape(self.op.shape)
            made = f"{self.f.values[onto]}.copy()" if isinstance(onto, Var) else f"np.full({shape}, {self.start()[0]})"
            self.say(f"{self.f.values[self.out]} = {made}")

    def at_points(self, named: Sequence[Index], there: bool) -> None:
        """The points that guards leave, whose values go to their elements one by one."""
        op, name = self.op, self.f.values[self.out]
        self.filled_first(there)
        if still := [g for g in op.guards if not any(isinstance(a, Index) for a in atoms(g))]:
            self.begin(f"if {' and '.join(f'{self.f.numbers.text(g)} >= 0' for g in still)}")
        moving = [g for g in op.guards if g not in still]
        if self.stays and op.onto is None and op.reduction != "=":
            self.listed(named, [g for g in moving if {*g.indices()} <= {*named}])
            self.say(f"{self.place(self.out, op.write)} = {STARTS[op.reduction]}")
        self.listed(op.indices, moving)
        if op.indices and self.fails_without(lambda own: not own.isdisjoint(op.indices)):   # lists are empty together
            self.begin(f"if {self.f.numbers.names[op.indices[0]]}.size")
        value = self.value()
        box = self.box(op.indices[:1])
        if not op.shape:
            total = (self.reduced_values(value[0], box, "None"), ATOM) if op.indices else value
            self.say(f"{name} = {total[0] if op.reduction == '=' else self.combined((name, ATOM), total)[0]}")
            return
        where = self.local("where")
        written = [self.subscript(s, x)[0] for s, x in zip(op.write, op.shape, strict=True)]
        self.say(f"{where} = {', '.join(f'np.broadcast_to({w}, {box})' for w in written)}{',' if len(written) == 1 else ''}")
        put = f"{name}[{where}] = {value[0]}"
        self.say(put if op.reduction == "=" else f"{UFUNCS[op.reduction]}.at({name}, {where}, {value[0]})")

    def listed(self, order: Sequence[Index], guards: Sequence[Affine]) -> None:
        """The indices as lists of the points where guards hold."""
        self.shown_grid = ()
        self.grid(order)
        self.shown_grid = ()
        if order:
            names = ", ".join(self.f.numbers.names[i] for i in order)
            holds = ", ".join(f"{self.f.numbers.text(g)} >= 0" for g in guards)
            self.say(f"{names}{',' if len(order) == 1 else ''} = _points([{names}], [{holds}])")


class ArrayMatrices(ArrayBox, MatrixLoops):
    """Writes one operation on matrices."""

    def written(self) -> None:
        op, numbers = self.op, self.f.numbers
        if op.shape and op.write and not self.stays:
            self.say(f"{self.f.values[self.out]} = np.zeros({numbers.shape(op.shape)})")
        for r in op.ranges:
            self.begin(f"for {self.bound(r.index)} in range({self.span(r.index).replace(':', ', ')})")
        if op.guards:
            self.begin(f"if {' and '.join(f'{numbers.text(g)} >= 0' for g in op.guards)}")
        matrix, *right = [self.place(self.e.args[s.arg], s.subscripts) for s in op.sources]
        given = ", ".join([f"{matrix}.T" if op.transposed else matrix, *right])
        self.say(f"{self.place(self.out, op.write)} = _{op.name}({given})")
        self.close(0)


class ArrayTensors(ScriptTensors):
    """Writes the statements of a program with tensors for NumPy, and the module that they stand in."""

    words: Collection[str] = {*WORDS, *(f"_{name}" for name in HELPERS),
                              "IndexError", "bool", "int", "len", "max", "min", "range", "reversed"}
    script = LANGUAGE

    def __init__(self, program: Program, name: str) -> None:
        super().__init__(program, name)
        self.language = LOOPS
        self.names = {v: f"np.float64({n})" if v.integer else n for v, n in self.values.items()}
        self.numbers = ArrayNumbers([*self.sizes.items(), *self.counted.items(), *self.steps.items()])

    def equation(self, e: Equation) -> Iterator[str]:
        if isinstance(e.op, Recurrence):
            yield from self.recurrence(self.shown[e.op], self.loops[e.outs[0]])
        elif isinstance(e.op, Boxed):
            yield from self.statement(self.shown.get(e.outs[0], e), e, False)
        else:
            yield from super().equation(e)

    def statement(self, shown: Equation | None, e: Equation, stays: bool) -> list[str]:
        write = ArrayMatrices if isinstance(e.op, MatrixOperation) else ArrayNest
        return write(self, shown, e, stays).lines()

    def recurrence(self, shown: Equation, loop: StepLoop) -> Iterator[str]:
        """A loop, whose histories are arrays."""
        for v in loop.histories:
            if v in loop.starts:
                yield f"{self.values[v]} = np.zeros({self.numbers.shape(v.shape)})"
        yield from commented("\n".join(self.printed.recurrence(shown)).split("\n"))
        steps = f"range({self.numbers.text(loop.low)}, {self.numbers.text(loop.high)})"
        yield f"for {self.steps[loop.step]} in {f'reversed({steps})' if loop.down else steps}:"
        for e in loop.equations:
            yield from (INDENT + line for line in self.statement(None, e, e.outs[0] in loop.histories))

    # ------------------------------------------------------------ the module

    def text(self) -> str:
        program = self.given
        statements = [line for e in self.program.equations for line in self.equation(e)]
        values = [self.returned(r) for r in program.results]
        body = [*self.taken(), 'with np.errstate(all="ignore"):', *(INDENT + line for line in statements or ["pass"]),
                *(wrapped("return (", values, ")") if len(values) > 1 else [f"return {values[0]}"])]
        used = [*body]
        helpers: list[str] = []
        for name, helper in reversed(HELPERS.items()):
            if any(f"_{name}(" in line for line in used):
                used += helper.split("\n")
                helpers = [*helper.strip("\n").split("\n"), "", *helpers]
        helpers = [*helpers, *self.module.helpers]
        imports = [line for word, line in IMPORTS.items() if word == "np." or any(word in line for line in helpers)]
        defaults = [f"{quoted(p.name)}: {number(p.default)[0]}" for p in program.params if p.default is not None]
        lines = [*imports, *wrapped("inputs = (", tuple_items([quoted(p.name) for p in program.params]), ")"),
                 *wrapped("outputs = (", tuple_items([quoted(r.name) for r in program.results]), ")"),
                 *(wrapped("defaults = {", defaults, "}") if defaults else []), "", "",
                 *(part for line in helpers for part in ([line] if line else ["", ""])),
                 *wrapped(f"def {self.name}(", parameters(program, self.inputs), "):"), *(INDENT + line for line in body), ""]
        return "\n".join(lines)

    def taken(self) -> Iterator[str]:
        for p, n in zip(self.given.params, self.inputs, strict=True):
            if p.var.shape:
                yield f"{n} = _tensor({quoted(p.name)}, {n}, {len(p.var.shape)}, {'int' if p.var.integer else 'float'})"
                self.shapes[p.name] = f"{n}.shape"
            else:
                yield f"{n} = int({n})" if p.var.integer else f"{n} = np.float64({n})"
        for name, n in self.counted.items():
            yield self.required(f"{self.values[self.counts[name].var]} >= 0", f"{name} is below 0")
            yield f"{n} = {self.values[self.counts[name].var]}"
        for name, n in self.ordered_sizes():
            yield f"{n} = {self.bound(name)}"
        yield from self.agreed()
        for c in self.conditions.conditions:
            given, then = (" and ".join(f"{self.numbers.text(x)} >= 0" for x in xs) for xs in (c.given, c.then))
            yield self.required(f"not ({given}) or ({then})" if given else then, f"sizes do not fit: {c.why}")

    def given_or(self, extent: str, size: str) -> str:
        """The extent: arrays have all of theirs."""
        return extent

    def first_given(self, extents: list[str]) -> str:
        return extents[0]

    def quotient(self, text: str, divisor: int) -> str:
        return f"({text}) // {divisor}"

    def extent(self, x: Affine) -> Piece:
        return self.numbers.piece(x)

    def required(self, test: str, message: str) -> str:
        return f"_required({test.replace('===', '==')}, {quoted(message)})"

    def returned(self, r: Result) -> str:
        if isinstance(r.atom, Var) and r.atom.shape:
            return self.values[r.atom]
        return f"np.float64({self.piece(r.atom)[0]})"


def commented(lines: Sequence[str]) -> list[str]:
    return [f"# {line}".rstrip() for line in lines]


def array_module(program: Program, name: str) -> str:
    """The module of a program with tensors, without its comment."""
    return ArrayTensors(program, name).text()
