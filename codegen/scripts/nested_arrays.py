"""Programs with tensors in scripts: what is given as arrays and numbers, and the sizes that come with these; and the loops of
JavaScript on arrays of the module's own.

Tensors are nested arrays, whose innermost may be typed ones, and so are those among the results. An error of the language is
raised where sizes do not fit one another or the subscripts, and where a subscript is outside that is read.
"""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence

from adcli.codegen.c.language import Helpers, quoted
from adcli.codegen.c.loop_nests import LoopStatements
from adcli.codegen.c.plan import TensorStatements
from adcli.lang.ir import Param, Program, Var
from adcli.lang.ir.affine import affine, atoms, text
from adcli.lang.ir.errors import AdError
from adcli.lang.passes.pipeline import evaluation_program
from adcli.lang.tree.notation import PRODUCT, enclosed


class ScriptTensors(TensorStatements, ABC):
    """Writes the statements of a program with tensors; `shapes` are the texts of the shapes of inputs."""

    def __init__(self, helpers: Helpers, program: Program) -> None:
        super().__init__(helpers, evaluation_program(program))
        self.shapes: dict[str, str] = {}
        self.bound_by: set[tuple[str, int]] = set()
        self.known: list[str] = []

    def taken(self) -> Iterator[str]:
        """Inputs as arrays and numbers, and the sizes, which must fit."""
        for p, n in zip(self.given.params, self.inputs, strict=True):
            yield from self.input(p, n)
        for name, n in self.counted.items():
            yield self.required(f"{self.values[self.counts[name].var]} >= 0", f"{name} is below 0")
            yield self.assigned(n, self.values[self.counts[name].var])
        alone = {extent for p in self.given.params for extent in p.var.shape}
        for name in sorted(self.sizes, key=lambda name: affine(name) not in alone):   # so that they are known to the others
            yield self.assigned(self.sizes[name], self.bound(name))
            self.known.append(name)
        yield from self.fitting(self.divisor_tests())
        yield from self.agreed()
        yield from self.fitting(self.size_tests())

    def fitting(self, tests: Iterable[tuple[str, str]]) -> Iterator[str]:
        return (self.required(test, f"sizes do not fit: {why}".rstrip(": ")) for test, why in tests)

    @abstractmethod
    def input(self, p: Param, name: str) -> Iterator[str]:
        """An input as what the statements work on."""

    @abstractmethod
    def required(self, test: str, message: str) -> str:
        """The statement that raises an error where a test fails."""

    def assigned(self, name: str, text: str) -> str:
        return self.language.declaration(Var(), name, text)

    def agreed(self) -> Iterator[str]:
        """That the extents of inputs are what their sizes make them."""
        for p in self.given.params:
            for d, extent in enumerate(p.var.shape):
                if (p.name, d) not in self.bound_by:
                    size, found = self.whole.text(extent), self.extent(p.name, d)
                    test = f"{self.given_or(found, size) if d else found} {self.equal} {size}"
                    yield self.required(test, f"dimension {d} of {p.name} is not {text(extent)}")

    def bound(self, name: str) -> str:
        """A size, from an extent that is it alone, or a sum in which it is the only one that is not known."""
        extents = [(extent, p.name, d) for p in self.given.params for d, extent in enumerate(p.var.shape)]
        alone = [(tensor, d) for extent, tensor, d in extents if extent == affine(name)]
        if alone:
            first = min(alone, key=lambda place: place[1] > 0)
            self.bound_by.add(first)
            places = [first] if first[1] == 0 else alone
            return self.first_given([self.extent(*place) for place in places], first[1] == 0)
        for extent, tensor, d in extents:
            c = extent.coefficient(name)
            rest = extent - affine(name) * c
            if c and name not in atoms(rest) and atoms(rest) <= {*self.counted, *self.known}:
                found = self.extent(tensor, d)
                found = self.given_or(found, "0") if d else found
                return self.whole.quotient(f"({found} - {enclosed(self.whole.size(rest), PRODUCT)})", str(c))[0]
        raise AdError(f"the size {name} is no extent of an input by itself", None,
                      f"declare an input with the extent {name} alone", self.given.source)

    equal = "=="

    def extent(self, name: str, d: int) -> str:
        """The extent of dimension d of an input."""
        return f"{self.shapes[name]}[{d}]"

    def given_or(self, extent: str, size: str) -> str:
        """An extent, or what it has to be where nested arrays do not say it, behind an extent of 0."""
        return extent

    def first_given(self, extents: Sequence[str], certain: bool) -> str:
        """The first extent that nested arrays say."""
        return extents[0]


class JavaScriptTensors(ScriptTensors, LoopStatements):
    """Writes the body of a function of JavaScript."""

    equal = "==="

    def lines(self) -> list[str]:
        statements = list(self.computed())
        return [*self.taken(), *self.places(), *statements]

    def input(self, p: Param, name: str) -> Iterator[str]:
        if p.var.shape:
            shape = self.shapes[p.name] = self.helpers.named(f"{name}_shape")
            yield f"const {shape} = {self.helpers.function('shape')}({quoted(p.name)}, {name}, {len(p.var.shape)});"
            elements = self.helpers.function("elements")
            yield f"{name} = {elements}({quoted(p.name)}, {name}, {shape}, {str(p.var.integer).lower()});"
        else:
            yield f"{name} = +{name};"
            if p.var.integer:
                yield self.required(f"Number.isInteger({name})", f"{p.name} is no whole number")

    def required(self, test: str, message: str) -> str:
        return f"if (!({test})) throw new RangeError({quoted(message)});"

    def given_or(self, extent: str, size: str) -> str:
        return f"({extent} ?? {size})"

    def first_given(self, extents: Sequence[str], certain: bool) -> str:
        return extents[0] if certain else " ?? ".join([*extents, "0"])

    def places(self) -> Iterator[str]:
        """The arrays of results, and of what is kept between nests: new ones, or such as nothing reads any more."""
        for v in self.own_outputs():
            yield f"const {self.values[v]} = new Float64Array({self.whole.product(v.shape)});"
        first: dict[int, str] = {}
        for v, slot in self.slots:
            name = self.values[v]
            there = first.setdefault(slot, name)
            yield f"const {name} = {f'new Float64Array({self.whole.product(v.shape)})' if there == name else there};"

    def returned(self) -> list[str]:
        """The texts of the results."""
        return [f"{self.helpers.function('nested')}({self.values[r.atom]}, [{', '.join(map(self.whole.text, r.atom.shape))}])"
                if isinstance(r.atom, Var) and r.atom.shape else self.piece(r.atom)[0] for r in self.given.results]
