"""Data of a fit: parameters with starts and bounds, outputs with what they are compared with, inputs from columns."""
from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from adcli.answers.evaluation import unfit_where_refused
from adcli.input.constraints import require_unconstrained
from adcli.input.nested import arrays_of
from adcli.input.points import axis, parts, unknown_name
from adcli.lang.ir import Param, Program, Values
from adcli.lang.ir.errors import AdError, plural
from adcli.lang.ir.names import composed, repeated
from adcli.numerics.least_squares import Start
from adcli.numerics.linear import Components

Array = np.ndarray
BOUNDS = re.compile(r"\s(in\s*\[[^\]]*\]?)\s*$")
"""The bounds of all elements behind a tensor."""
BY = re.compile(r"\s+by\s+(\S+)\s*$")
"""The column of sets behind a parameter."""
Wanted = str | float | Array
"""A column by its name, one number for all rows, or the numbers themselves."""


class Begin(NamedTuple):
    """Where the search for a parameter begins, a number or an array, and its bounds; the column that names the sets of rows which
    have a parameter of their own each, None where all have one."""

    value: Any
    low: float = -math.inf
    high: float = math.inf
    by: str | None = None


class Comparison(NamedTuple):
    """An output, what it is compared with, and the standard uncertainty of that, None where it is not known."""

    output: str
    observed: Wanted
    sigma: Wanted | None = None


# ---------------------------------------------------------------- parameters

def starts(text: str, ranks: Mapping[str, int]) -> dict[str, Begin | None]:
    """Starts and bounds that --params gives: b1=500 in [0, 1000], as behind the word `param`, A=@start.npy or A=[1, 2] for a
    tensor, and None for a name alone."""
    pieces = [piece.strip() for piece in parts(text) if piece.strip()]
    if not pieces or any(c in text for c in ";#\n"):
        raise AdError(f"⟦--params⟧ '{text}' names no parameters", help="write ⟦--params b1=500,b2=1e-4⟧ or 'b1=500 in [0, 1000]'")
    found: dict[str, Begin | None] = {}
    for piece in pieces:
        by = BY.search(piece)
        piece = piece[:by.start()] if by else piece
        name, equals, given = (s.strip() for s in piece.partition("="))
        if equals and given[:1] in ("@", "["):
            name, bounds = composed(name), BOUNDS.search(piece)
            array = arrays_of(axis(piece[:bounds.start()] if bounds else piece, ranks or {"": 1})[0])[name]
            range_ = declared(f"{name} {bounds[1]}")[1] if bounds else None
            begin: Begin | None = (range_ or Begin(array))._replace(value=array)
        else:
            name, begin = declared(piece)
        if name in found:
            raise AdError(f"⟦--params⟧: '{name}' is given twice")
        found[name] = (begin or Begin(math.nan))._replace(by=composed(by[1])) if by else begin
    return found


def declared(piece: str) -> tuple[str, Begin | None]:
    """One parameter, read as the language reads `param`."""
    from adcli.lang.lower.frontend import parse
    with unfit_where_refused():   # a fault of the command line, although it has a place
        (p,) = parse(f"param {piece}\nadcli_nothing = 0", "⟦--params⟧").params
    return p.name, None if p.default is None and p.low is None else begin_of(p)


def begin_of(p: Param) -> Begin:
    require_unconstrained(p)
    return Begin(math.nan if p.default is None else p.default, *p.ends)


def parameters(program: Program, given: Mapping[str, Begin | None] | None,
               columns: Callable[[], Collection[str]] = tuple) -> dict[str, Begin]:
    """The parameters that are fitted, each with its start and bounds: those that are given, which take from the program what is
    not said; without any, all that the program declares by `param`. AdError where one has no start, or one beyond its bounds;
    where there is none, its help leaves out the `columns` of the data."""
    known = {p.name: p for p in program.params if not p.var.integer}
    if given is None:
        given = {p.name: None for p in known.values() if not p.active}
    if not given:
        starts, known_there = ("1", "[1,1]", "[[1,1],[1,1]]"), columns()
        free = [p for p in program.params if p.name not in known_there]
        need = ",".join(f"{p.name}={starts[min(len(p.var.shape), 2)]}" for p in free or program.params[:1])
        raise AdError("nothing is to be fitted: the program has no param",
                      help=f"name parameters with a start: ⟦--params {need}⟧")
    found = {}
    for name, begin in given.items():
        if name not in known:
            raise unknown_name("input", name, list(known))
        own = begin_of(known[name])
        begin = own if begin is None else begin
        rank = len(known[name].var.shape)
        if begin is not own and np.ndim(begin.value) != rank:
            needed = f"an array of {plural(rank, 'dimension')}" if rank else "one number"
            raise AdError(f"the start of parameter '{name}' is {needed}")
        if not known[name].var.shape and math.isinf(begin.low) and math.isinf(begin.high):
            begin = begin._replace(low=own.low, high=own.high)
        if np.ndim(begin.value) == 0 and math.isnan(begin.value):
            if math.isnan(own.value):
                raise AdError(f"parameter '{name}' has no start", help=f"give one: ⟦--params {name}=1⟧")
            begin = begin._replace(value=own.value)
        require_start(name, begin)
        found[name] = begin
    return found


def separated(begins: Mapping[str, Begin], sets: Mapping[str, Array]) -> tuple[dict[str, Begin], dict[str, Any]]:
    """The parameters with one for each set of rows, A(1), A(2), …; and for each name of a program its place among them, a number
    or one for each row."""
    found, places = dict[str, Begin](), dict[str, Any]()
    for name, begin in begins.items():
        if begin.by is None:
            places[name], found[name] = len(found), begin
            continue
        if np.ndim(begin.value) or begin.by not in sets:
            raise AdError(f"'{name} by {begin.by}' is for numbers, and for rows of a table")
        labels = list(dict.fromkeys(sets[begin.by].tolist()))
        places[name] = len(found) + np.array([labels.index(x) for x in sets[begin.by].tolist()])
        found |= {f"{name}({label})": begin._replace(by=None) for label in labels}
    return found, places


def places_at(places: Values, sets: Mapping[str, Array], begins: Mapping[str, Begin],
              labels: Mapping[str, Array]) -> dict[str, Any]:
    """The places of parameters for other rows, by their labels. AdError where no row of the fit has one."""
    found = dict(places)
    for name, begin in begins.items():
        if begin.by is not None:
            known = dict(zip(sets[begin.by].tolist(), places[name].tolist(), strict=True))
            if (other := next((x for x in labels[begin.by].tolist() if x not in known), None)) is not None:
                raise AdError(f"no row of the fit has {begin.by} = {other}, so {name} is not known there")
            found[name] = np.array([known[x] for x in labels[begin.by].tolist()])
    return found


def require_start(name: str, begin: Begin) -> None:
    """AdError where a start is no number, or none between the bounds."""
    if not np.isfinite(begin.value).all():
        raise AdError(f"the start of parameter '{name}' is not finite")
    if not begin.low < begin.high:
        raise AdError(f"parameter '{name}' has no room between its bounds [{begin.low!r}, {begin.high!r}]",
                      help=f"a parameter that is known is no parameter: ⟦--at {name}={begin.low!r}⟧")
    if not np.all((begin.low <= begin.value) & (begin.value <= begin.high)):
        each = zip(components_of({name: begin}).components, np.ravel(begin.value).tolist(), strict=True)
        element, x = next((e, x) for e, x in each if not begin.low <= x <= begin.high)
        given = f"{x!r}" if element == name else "…"
        raise AdError(f"{element} = {x!r} starts outside its range [{begin.low!r}, {begin.high!r}]",
                      help=f"give another start, or another range: ⟦--params '{name}={given} in [LOW, HIGH]'⟧")


def components_of(begins: Mapping[str, Begin]) -> Components:
    return Components(list(begins), [np.shape(b.value) for b in begins.values()])


def start_of(begins: Mapping[str, Begin]) -> Start:
    """The parameters as one vector."""
    of, each = components_of(begins), begins.values()
    return Start(tuple(of.components), of.pack({name: b.value for name, b in begins.items()}),
                 of.repeated([b.low for b in each]), of.repeated([b.high for b in each]))


def packed(begins: Mapping[str, Begin], vector: Array) -> dict[str, Any]:
    """The parameters by name, from the vector of them all: floats, or arrays where they are tensors."""
    return components_of(begins).unpack(np.array(vector))


# ---------------------------------------------------------------- what outputs are compared with

def targets(text: str, outputs: Sequence[str]) -> list[Comparison]:
    """Comparisons that --y gives: y, y:sigma, 0, or v=y1:s1,w=y2; 0 is for every output."""
    pieces = [piece.strip() for piece in parts(text) if piece.strip()]
    if not pieces:
        raise AdError("⟦--y⟧ names nothing", help="write ⟦--y y⟧, ⟦--y⟧ y:sigma, or ⟦--y 0⟧ where the output is the residual")
    if len(pieces) == 1 and "=" not in pieces[0]:
        observed, sigma = observation(pieces[0])
        if len(outputs) > 1 and isinstance(observed, str):
            raise AdError(f"⟦--y {text}⟧: the program has {len(outputs)} outputs: {', '.join(outputs)}",
                          help=f"write ⟦--y {outputs[0]}={text},{outputs[1]}=…⟧, or choose one: ⟦--of {outputs[0]}⟧")
        return [Comparison(v, observed, sigma) for v in outputs]
    found = []
    for piece in pieces:
        name, equals, what = (s.strip() for s in piece.partition("="))
        if not equals:
            raise AdError(f"⟦--y⟧: '{piece}' is not output=column", help=f"write ⟦--y {outputs[0]}={piece}⟧")
        if composed(name) not in outputs:
            raise unknown_name("output", composed(name), outputs)
        found.append(Comparison(composed(name), *observation(what)))
    if (twice := repeated([t.output for t in found])) is not None:
        raise AdError(f"⟦--y⟧: '{twice}' is given twice")
    if any(t.sigma is None for t in found) and any(t.sigma is not None for t in found):
        without = next(t for t in found if t.sigma is None)
        raise AdError(f"⟦--y⟧: {without.output} has no standard uncertainty, and another output has one",
                      help=f"write ⟦--y {without.output}={without.observed}:SIGMA⟧, a column or a number")
    return found


def observation(text: str) -> tuple[Wanted, Wanted | None]:
    """y or y:sigma, each a column or a number."""
    observed, colon, sigma = text.rpartition(":")
    if not colon:
        return named(text), None
    if not observed.strip() or not sigma.strip():
        raise AdError(f"⟦--y⟧: '{text}' is not column:sigma", help="write ⟦--y y:sigma⟧, or ⟦--y y:0.1⟧ for one uncertainty")
    return named(observed), named(sigma)


def named(text: str) -> Wanted:
    """A column, or a number or an array where it reads as one."""
    text = text.strip()
    if text.startswith("["):
        from adcli.input.arrays import text_array
        return text_array("⟦--y⟧", text)
    try:
        return float(text) if text[:1] in "+-.0123456789" else composed(text)
    except ValueError:
        return composed(text)


class Places(NamedTuple):
    """Where rows come from: their positions among the rows of all `tables`, which have a name and a number of rows each."""

    rows: Array
    tables: Sequence[tuple[str, int]] = ()

    def named(self, i: int) -> str:
        """Row i as a user finds it: counted from 1 in its table, or from 0 in arrays."""
        row = int(self.rows[i])
        for name, count in self.tables:
            if row < count:
                return f"{name}: row {row + 1}"
            row -= count
        return f"row {row}"


class Observations(NamedTuple):
    """Everything in arrays: the inputs that are no parameters, by name, and for each output what it is compared with, the
    standard uncertainty of that (None where it is not known) and what it is called; `weights` of squares (None: all are 1);
    `places` where the rows come from, None where there are tensors and no rows; `sets` the labels in columns that name sets.
    Rows of a program with tensors are arrays of objects, a tensor or a number a row."""

    inputs: Values
    observed: Sequence[Array]
    sigmas: Sequence[Array | None]
    weights: Array | None
    called: Sequence[str]
    places: Places | None = None
    sets: Mapping[str, Array] = MappingProxyType({})

    @property
    def factors(self) -> list[Array | float]:
        """Factors of the residuals of each output."""
        root = 1.0 if self.weights is None else np.sqrt(self.weights)
        return [root if sigma is None else root / sigma for sigma in self.sigmas]

    def only(self, kept: Array) -> Observations:
        """These rows."""
        def part(x: Array | None) -> Any:
            return x[kept] if x is not None and np.ndim(x) else x
        places = self.places and self.places._replace(rows=self.places.rows[kept])
        return Observations({name: part(x) for name, x in self.inputs.items()}, [*map(part, self.observed)],
                            [*map(part, self.sigmas)], part(self.weights), self.called, places,
                            {name: part(x) for name, x in self.sets.items()})


def objects(values: Sequence[Any]) -> Array:
    """One tensor a row, or a number."""
    found = np.empty(len(values), object)
    for i, x in enumerate(values):
        found[i] = x
    return found


def wrong(o: Observations) -> Iterator[tuple[str, Array]]:
    """Faults that leave no residual: the reason, and where."""
    def somewhere(test: Callable[[Any], Any], x: Array) -> Array:
        return np.array([bool(np.any(test(e))) for e in x], bool) if np.asarray(x).dtype == object else test(x)

    for name, x in o.inputs.items():
        yield f"input '{name}' is nan", somewhere(np.isnan, x)
    for called, x, sigma in zip(o.called, o.observed, o.sigmas, strict=True):
        yield f"{called} is not finite", somewhere(lambda y: ~np.isfinite(y), x)
        if sigma is not None:
            yield (f"the standard uncertainty of {called} must be finite and greater than 0",
                   somewhere(lambda s: ~(np.isfinite(s) & (np.asarray(s) > 0)), sigma))
    if o.weights is not None:
        yield "a weight must be finite and not negative", ~(np.isfinite(o.weights) & (o.weights >= 0))


def require_numbers(o: Observations) -> None:
    """AdError where no residual can be made of a number."""
    for reason, where in wrong(o):
        if np.any(where):
            at = int(np.flatnonzero(where)[0])
            raise AdError(f"row {at}: {reason}" if np.ndim(where) == 1 else reason)
