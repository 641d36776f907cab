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

from collections.abc import Callable, Iterator, Sequence

from adcli.codegen.c.language import quoted
from adcli.codegen.c.loop_nests import BoxLoops, Loops, MatrixLoops
from adcli.codegen.c.whole_numbers import WholeNumbers
from adcli.codegen.nests.layout import elements
from adcli.codegen.scripts.nested_arrays import ScriptTensors
from adcli.lang.ir import Atom, Equation, Lit, Param, Var, shape_of
from adcli.lang.ir.affine import Affine, Index, atoms, never_negative
from adcli.lang.operations.comprehension import NEUTRAL, BodySource, Subscript, atoms_in, fixed_indices, in_ranges
from adcli.lang.operations.matrix import accesses
from adcli.lang.sizes.proofs import proved
from adcli.lang.tree.notation import ATOM, PRODUCT, Piece, enclosed

UFUNCS = {"+": "np.add", "*": "np.multiply", "min": "np.minimum", "max": "np.maximum"}


class ArrayBox(BoxLoops):
    """The elements that an operation touches, as NumPy has them, and lines of Python."""

    f: ArrayTensors

    def say(self, line: str) -> None:
        super().say(line.strip().removesuffix(";"))

    def local(self, hint: str) -> str:
        return self.f.local(hint, self.used)

    def place(self, atom: Atom, subscripts: Sequence[Subscript]) -> str:
        assert isinstance(atom, Var)
        inner = [self.subscript(s, extent)[0] for s, extent in zip(subscripts, shape_of(atom), strict=False)]
        return f"{self.f.values[atom]}[{', '.join(inner)}]" if inner else self.f.values[atom]

    def subscript(self, s: Subscript, extent: Affine) -> Piece:
        if isinstance(s, Affine) and (self.out, s, extent) not in self.f.loose:
            return self.whole.size(s)
        text = self.whole.text(s) if isinstance(s, Affine) else self.place(self.e.args[s.arg], s.subscripts)
        return f"{self.f.helpers.function('inside')}({text}, {self.whole.text(extent)})", ATOM

    def source(self, s: BodySource) -> Piece:
        if isinstance(s, Affine):
            if any(isinstance(a, Index) for a in atoms(s)):
                return f"1.0 * {enclosed(self.whole.size(s), PRODUCT)}", PRODUCT
            return f"np.float64({self.whole.text(s)})", ATOM
        atom = self.e.args[s.arg]
        if isinstance(atom, Lit):
            return self.language.number(atom.value)
        place = self.place(atom, s.subscripts)
        if not atom.integer:
            return place, ATOM
        return (f"1.0 * {place}", PRODUCT) if atom.shape else (f"np.float64({place})", ATOM)

    def bound(self, index: Index) -> str:
        shown = None if self.text is None else self.text.by[index].index
        if index not in self.opened:
            self.opened.add(index)
            self.whole.names[index] = self.f.local((shown or index).name, self.used)
        return self.whole.names[index]

    def span(self, index: Index) -> str:
        r = next(r for r in self.op.ranges if r.index is index)
        return f"{self.whole.text(r.low)}:{self.whole.text(r.high)}"


class ArrayNest(ArrayBox, Loops):
    """Writes one comprehension."""

    shown_grid: Sequence[Index] = ()

    def written(self) -> None:
        op = self.op
        onto = op.start(self.e)
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
        return " and ".join(f"{self.whole.text(r.low)} < {self.whole.text(r.high)}" for r in ranges) if looked_at else ""

    def fails_without(self, empty: Callable[[set[Index | str]], bool]) -> bool:
        """True where a subscript may be outside though there is no point: one of indices that are not `empty` then."""
        known = [x for c in self.f.conditions.conditions if not c.given for x in c.then]
        for atom, subscripts in accesses(self.e, self.op):
            for s, extent in zip(subscripts, shape_of(atom), strict=False):
                own = atoms_in([s])
                if not empty(own):
                    there = in_ranges(r for r in self.op.ranges if r.index in own)
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
        return f"np.broadcast({', '.join(self.whole.names[i] for i in order)}).shape" if len(order) > 1 else \
            f"{self.whole.names[order[0]]}.shape" if order else "()"

    def reduced_values(self, value: str, box: str, axes: str) -> str:
        """The values of a box, reduced along some of its axes."""
        start = self.language.number(NEUTRAL[self.op.reduction])[0]
        return f"{UFUNCS[self.op.reduction]}.reduce(np.broadcast_to({value}, {box}), axis={axes}, initial={start})"

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
            onto = self.op.start(self.e)
            shape = shape_text(self.whole, self.op.shape)
            made = f"{self.f.values[onto]}.copy()" if isinstance(onto, Var) else f"np.full({shape}, {self.start()[0]})"
            self.say(f"{self.f.values[self.out]} = {made}")

    def at_points(self, named: Sequence[Index], there: bool) -> None:
        """The points that guards leave, whose values go to their elements one by one."""
        op, name = self.op, self.f.values[self.out]
        self.filled_first(there)
        if still := [g for g in op.guards if not any(isinstance(a, Index) for a in atoms(g))]:
            self.begin(f"if {' and '.join(f'{self.whole.text(g)} >= 0' for g in still)}")
        moving = [g for g in op.guards if g not in still]
        if self.stays and op.onto is None and op.reduction != "=":
            self.listed(named, [g for g in moving if {*g.indices()} <= {*named}])
            self.say(f"{self.place(self.out, op.write)} = {self.language.number(NEUTRAL[op.reduction])[0]}")
        self.listed(op.indices, moving)
        if op.indices and self.fails_without(lambda own: not own.isdisjoint(op.indices)):   # lists are empty together
            self.begin(f"if {self.whole.names[op.indices[0]]}.size")
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
            names = ", ".join(self.whole.names[i] for i in order)
            holds = ", ".join(f"{self.whole.text(g)} >= 0" for g in guards)
            self.say(f"{names}{',' if len(order) == 1 else ''} = {self.f.helpers.function('points')}([{names}], [{holds}])")


class ArrayMatrices(ArrayBox, MatrixLoops):
    """Writes one operation on matrices."""

    def written(self) -> None:
        op = self.op
        if op.shape and op.write and not self.stays:
            self.say(f"{self.f.values[self.out]} = np.zeros({shape_text(self.whole, op.shape)})")
        for r in op.ranges:
            self.begin(f"for {self.bound(r.index)} in range({self.span(r.index).replace(':', ', ')})")
        if op.guards:
            self.begin(f"if {' and '.join(f'{self.whole.text(g)} >= 0' for g in op.guards)}")
        matrix, *right = [self.place(self.e.args[s.arg], s.subscripts) for s in op.sources]
        given = ", ".join([f"{matrix}.T" if op.transposed else matrix, *right])
        self.say(f"{self.place(self.out, op.write)} = {self.f.helpers.function(op.name)}({given})")
        self.close(0)


class ArrayTensors(ScriptTensors):
    """Writes the statements of a program with tensors for NumPy."""

    nest, matrices = ArrayNest, ArrayMatrices

    def lines_of(self, e: Equation, shown: Equation | None, stays: bool) -> list[str]:
        return super().lines_of(e, shown, stays and shown is None)

    def recurrence(self, e: Equation) -> Iterator[str]:
        loop = self.loops[e.outs[0]]
        for v in loop.histories:
            if v in loop.starts:
                yield f"{self.values[v]} = np.zeros({shape_text(self.whole, v.shape)})"
        yield from (line.removesuffix(";") for line in super().recurrence(e) if line.strip())

    def input(self, p: Param, name: str) -> Iterator[str]:
        if p.var.shape:
            self.shapes[p.name] = f"{name}.shape"
            kind, tensor = "int" if p.var.integer else "float", self.helpers.function("tensor")
            yield f"{name} = {tensor}({quoted(p.name)}, {name}, {len(p.var.shape)}, {kind})"
        else:
            yield f"{name} = int({name})" if p.var.integer else f"{name} = np.float64({name})"

    def required(self, test: str, message: str) -> str:
        return f"{self.helpers.function('required')}({test}, {quoted(message)})"

    def returned(self) -> list[str]:
        """The texts of the results."""
        return [self.values[r.atom] if isinstance(r.atom, Var) and r.atom.shape else f"np.float64({self.piece(r.atom)[0]})"
                for r in self.given.results]


def shape_text(whole: WholeNumbers, extents: Sequence[Affine]) -> str:
    """A shape as a tuple."""
    return f"({', '.join(map(whole.text, extents))}{',' if len(extents) == 1 else ''})"
