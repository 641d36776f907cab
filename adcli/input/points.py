"""Points given on the command line: `x=2,y=5`, ranges `x=0:1:11`, `@points.json`, several of each; tensors `A=@matrix.npy`,
`A=[[1,2],[3,4]]`, `@inputs.npz`.

One `--at` is a comma-separated list of parts. Every part is an axis, a sequence of partial points (one for a number or a tensor,
n for a range, one for each object of a file), and the axes of one `--at` span a grid, the last running fastest. Points are
made one by one as they are asked for, so a grid takes no memory.
"""
from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, pairwise, product, takewhile
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from adcli.codegen.machine.small import shape_of
from adcli.input.nested import of_text, small
from adcli.input.values import DECIMAL, shortened, value
from adcli.lang.ir import Param, Program, Values
from adcli.lang.ir.errors import AdError, Note, Source, nearest
from adcli.lang.ir.names import composed, repeated, tensor_of

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np

Point = dict[str, Any]
"""A value for each input: a float, or an array where it is a tensor."""
Axis = Sequence[Point]
SPREAD = re.compile(r"±|~|^[+-]?[\d._]+([eE][+-]?\d+)?\s*\(")
"""Mark of a number with a spread: x=2±0.1, x=2.0(1), x=2~exp."""
EXACT = 1 << 53
"""Whole numbers below this are doubles."""
WHOLE, DIGITS = re.compile(r"([^=]+)=\s*[+-]?[0-9.]*", re.ASCII), re.compile(r"[0-9.]+", re.ASCII)
"""`x=3` and the 5 behind it, where someone writes decimals with a comma."""
RANGE = re.compile(r"\s*(?::|\.\.\.?)\s*")
"""Separators of the parts of a range, also in other languages."""
LONGEST_RANGE = 1 << 53
"""Points of one range."""
FILE = re.compile(r"[^=,{}\[\]()]+\.(npy|npz|csv|tsv|txt|dat|json|jsonl|ndjson|parquet)(\.gz)?", re.IGNORECASE)
"""Shape of a file name."""
LINSPACE = re.compile(r"(?:\w+\.)?linspace\(\s*([^\s,()]+)\s*,\s*([^\s,()]+)\s*,\s*(\d+)\s*\)")
"""A range as NumPy has it."""
NO_COMMA = re.compile(r"\s*[;\s]\s*(?=[^\W\d]\w*\s*=[^=])")
"""Separators of two inputs that people write for a comma."""
LISTED = re.compile(r"(?:(?:\w+\.)?(?:array|asarray|tensor|vector|list|tuple|c|SVector|SA) ?)?[(\[]*([^()\[\]]+)[)\]]*")
"""Numbers as other languages put them together: (1, 2), c(1, 2), np.array([1, 2]), and with blanks or semicolons between."""
LISTS = {1: "[1, 2]", 2: "[[1, 2], [3, 4]]"}
"""Tensors of so many dimensions, as they are written."""


class GridRange(Sequence[Point]):
    """Values of one input from `first` to `last`, each the double nearest to the exact value. A count that is not `counted` is
    still to be chosen."""

    def __init__(self, name: str, first: Fraction, last: Fraction, count: int, counted: bool = True) -> None:
        self.name, self.length, self.ends = name, count, (float(first), float(last))
        self.first, self.last, self.counted = first, last, counted
        self.scale = first.denominator * last.denominator * max(1, count - 1)
        self.low, self.high = first.numerator * last.denominator, last.numerator * first.denominator

    def __len__(self) -> int:
        return self.length

    def upwards(self, count: int) -> GridRange:
        """Range from its lower end, with so many values."""
        return GridRange(self.name, min(self.first, self.last), max(self.first, self.last), count)

    def __getitem__(self, i: int) -> Point:  # type: ignore[override]  # no slices are taken
        n = self.length - 1
        if i in (0, n):
            return {self.name: self.ends[i == n]}
        return {self.name: (self.low * (n - i) + self.high * i) / self.scale}

    def values(self, index: np.ndarray) -> np.ndarray:
        """Values at many indices: in NumPy where every step of it is exact but the last, which rounds once."""
        n = max(1, self.length - 1)
        if max(abs(self.low), abs(self.high)) * n >= EXACT or self.scale >= EXACT:
            import numpy as np
            places, where = np.unique(index, return_inverse=True)
            return np.array([self[i][self.name] for i in places.tolist()])[where]
        found = (self.low * (n - index) + self.high * index) / float(self.scale)
        found[index == 0], found[index == self.length - 1] = self.ends
        return found


class Grids(NamedTuple):
    """Axes, those of a grid in one list; `spare` are names that the program does not use and that are no mistake."""

    grids: list[list[Axis]]
    spare: set[str]

    @property
    def points(self) -> int:
        """Number of points."""
        return sum(math.prod(map(len, grid)) for grid in self.grids)


def points(params: Sequence[Param], specs: Sequence[str], remark: Callable[[str], None]) -> Iterator[Point]:
    """All points that the `--at` options give, complete: defaults are filled in, tensors are arrays of the kind that the program
    declares. Every name is checked before the first point comes out, so a bad point loses no results."""
    return points_of(params, checked(params, specs, remark))


def points_of(params: Sequence[Param], found: Grids, light: bool = False) -> Iterator[Point]:
    """The points of grids, made one by one. In `light` ones tensors that were given as lists are small ones, no arrays."""
    kinds, (grids, spare) = ranks(params), found
    return (typed(params, kinds, complete(params, {n: x for n, x in point.items() if n not in spare} if spare else point), light)
            for grid in grids for point in combined(grid))


def checked(params: Sequence[Param], specs: Sequence[str], remark: Callable[[str], None], uncounted: bool = False) -> Grids:
    """The grids that the `--at` options span, with all names checked. `uncounted`: a range may leave its count to the verb."""
    kinds, specs = ranks(params), joined(params, specs) or [""]
    grids = [axes(spec, kinds, uncounted=uncounted) for spec in specs]
    spare: set[str] = set()
    for spec, grid in zip(specs, grids, strict=True):
        for each in product(*[shapes(axis) for axis in grid]):
            names = [name for kind in each for name in kind]
            if (twice := repeated(names)) is not None:
                raise AdError(f"'{twice}' is given twice in '{spec}'")
            spare |= components(params, names)
            try:
                complete(params, dict.fromkeys((n for n in names if n not in spare), 0.0))
            except AdError as fault:
                if len(specs) > 1:
                    fault.message += f" in --at {spec}"
                    fault.help = fault.help or "each --at is a point of its own: give it all values, --at x=2,y=5"
                raise
    for name in sorted(spare):
        remark(f"note: the program does not use {name}")
    return Grids(grids, spare)


def ranks(params: Sequence[Param]) -> dict[str, int]:
    """The number of dimensions of every input, where some are tensors or integers; else nothing, and all are numbers."""
    if any(p.var.shape or p.var.integer for p in params):
        return {p.seed or p.name: len(p.var.shape) for p in params}
    return {}


def typed(params: Sequence[Param], kinds: Mapping[str, int], point: Point, light: bool = False) -> Point:
    """The point with arrays where inputs are tensors or integers, or small tensors."""
    if not kinds:
        return point
    found = {p.name: small(p, point[p.name]) if light else None for p in params}
    if None not in found.values():
        return found
    from adcli.input.arrays import given
    return {p.name: given(p, point[p.name]) if x is None else x for p, x in zip(params, found.values(), strict=True)}


def require_point(params: Iterable[Param], specs: Sequence[str], others: str = "") -> None:
    """AdError where an input has no default and no point is given; `others` says what else the verb takes."""
    missing = [p for p in params if p.default is None]
    if not missing or specs:
        return
    from adcli.lang.ir.affine import shape_text
    example = ",".join(f"{p.name}=@{p.name}.npy" if p.var.shape else f"{p.name}=1" for p in missing[:3])
    names = ", ".join(f"{p.name}{shape_text(p.var.shape)}" if p.var.shape else p.name for p in missing)
    raise AdError(f"no values for {names}", help=f"give a point: ⟦--at {example}{'' if len(missing) <= 3 else ',…'}{others}⟧")


def names_in(spec: str) -> list[str]:
    """The names that one `--at` gives, @FILE for those of a file."""
    return [part.partition("=")[0].strip() for part in parts(spec) if part.strip()]


def joined(params: Sequence[Param], specs: Sequence[str]) -> Sequence[str]:
    """The `--at` options; in one where they are parts of one point: one of them alone lacks an input that is needed, and none is
    named twice. Spreads may stand in them; of a file it is not known what it has."""
    names = list(map(names_in, specs))
    flat = [name for each in names for name in each]
    needed = {p.name for p in params if p.default is None}
    lacking = any(needed.difference(each) for each in names if not any(name.startswith("@") for name in each))
    return [",".join(specs)] if lacking and len(flat) == len(set(flat)) and len(specs) > 1 else specs


def need_headings(params: Sequence[Param], specs: Sequence[str]) -> bool:
    """True if the points of the `--at` options need a heading each."""
    return several(joined(params, specs))


def several(specs: Sequence[str]) -> bool:
    """True if points need a heading each: there may be more than one. The options are `joined`."""
    return len(specs) > 1 or any(c in spec for spec in specs for c in ":@")


def components(params: Sequence[Param], names: Sequence[str]) -> set[str]:
    """The names that are no inputs but stand beside inputs of the same numbered family, as x0 beside x1 and x2: components
    of a vector that this formula happens not to use. They can hide no mistyped name, since no family member is left out."""
    known = {p.name for p in params}
    families = {family(p.name) for p in params if p.default is None and family(p.name) != p.name}
    return {n for n in names if n not in known and family(n) in families and family(n) != n}


def family(name: str) -> str:
    """x of x12; the name itself where it does not end in a number."""
    return name.rstrip("0123456789")


def shapes(axis: Axis) -> list[tuple[str, ...]]:
    """The different sets of names that the points of an axis give."""
    return [(axis.name,)] if isinstance(axis, GridRange) else list(dict.fromkeys(tuple(p) for p in axis))


def combined(grid: Sequence[Axis]) -> Iterator[Point]:
    """The points of a grid, the last axis running fastest."""
    for number in range(math.prod(len(axis) for axis in grid)):
        point: Point = {}
        for axis in reversed(grid):
            number, i = divmod(number, len(axis))
            point.update(axis[i])
        yield point


def located(params: Sequence[Param], specs: Sequence[str], remark: Callable[[object], None],
            source: Source | None) -> Iterator[Point]:
    """The points that --at gives, complete; one remark for each number that leaves the range it was declared with."""
    return within(params, points(params, specs, remark), remark, source)


def one_point(params: Sequence[Param], specs: Sequence[str], remark: Callable[[object], None], source: Source | None,
              said: str, help: str) -> Point:
    """The point that --at gives. AdError, as `said` and `help`, where it gives several or none."""
    found = list(islice(located(params, specs, remark, source), 2))
    if len(found) != 1:
        raise AdError(f"{said}, and ⟦--at⟧ gives {'several' if found else 'none'}", help=help)
    return found[0]


def within(params: Sequence[Param], at: Iterable[Point], remark: Callable[[Note], None],
           source: Source | None) -> Iterator[Point]:
    """The points, with empty lists as tensors of all dimensions; one remark for each number that leaves the range it was declared
    with."""
    bounded = [(p, p.low, p.high) for p in params if p.low is not None and p.high is not None]
    if any(len(p.var.shape) > 1 for p in params):
        at = map(partial(with_dimensions, Program(tuple(params), (), ())), at)
    constrained = [p for p in params if p.constraint]
    if not bounded and not constrained:
        yield from at
        return
    for point in at:
        for p in list(constrained):
            from adcli.input.constraints import broken  # start-up: few inputs have constraints
            if note := broken(p, point[p.name], source):
                remark(note)
                constrained.remove(p)
        for each in list(bounded):
            p, low, high = each
            x = point[p.name]
            if p.var.shape:
                import numpy as np  # start-up: few inputs that are tensors have ranges
                x = np.asarray(x)
                wrong = np.argwhere(~((x >= low) & (x <= high)))[:1].tolist()
            else:
                wrong = [] if low <= x <= high else [()]
            for place in wrong:
                remark(out_of_range(p, x[tuple(place)].item() if place else x, source, place))
                bounded.remove(each)
        yield point


def with_dimensions(program: Program, point: Point) -> Point:
    """The point, with empty lists as tensors of all dimensions."""
    if all(map(prod, map(shape_of, point.values()))):
        return point
    from adcli.input.arrays import of_all_dimensions
    return of_all_dimensions(program, point)


def first_outside(column: np.ndarray, low: float, high: float) -> float | None:
    """The first number of a column that is not in a range, if there is one."""
    outside = ~((column >= low) & (column <= high))
    return float(column[outside.argmax()]) if outside.any() else None


def out_of_range(p: Param, x: float, source: Source | None, place: Sequence[int] = ()) -> Note:
    """The remark on an input, or an element of it, that leaves the range it was declared with. AdError where that is one number:
    the program is written for no other, as where it has so many steps."""
    element = f"({', '.join(map(str, place))})" if place else ""
    if p.low == p.high:
        raise AdError(f"{p.name}{element} = {x!r}, but the program is written for {p.name} = {p.low!r}",
                      help=f"give each value of '{p.name}' a run of its own: ⟦--at {p.name}={x:g}⟧")
    return Note(f"{p.name}{element} = {x!r} is outside its range [{p.low!r}, {p.high!r}]", None, source)


def axes(spec: str, kinds: Mapping[str, int], option: str = "--at", uncounted: bool = False) -> list[Axis]:
    """The axes of one option; `kinds` are the `ranks` of the inputs, and ranges may be `uncounted`."""
    if spec.lstrip().startswith("{"):
        raise AdError(f"{option} {shortened(spec)} is not name=value",
                      help=f"write JSON to a file: {option} @point.json, or a pipe: {option} @-")
    found = [axis(part, kinds, uncounted, option) for part in named_values(spec, kinds, option)]
    if not found and spec.strip():
        raise AdError(f"{option} '{spec}' gives nothing", help=f"write {option} x=2,A=@matrix.npy") if kinds else \
            AdError(f"'{spec}' is not a point", help="write ⟦--at x=2,y=5⟧")
    return found


def named_values(spec: str, kinds: Mapping[str, int], option: str) -> list[str]:
    """The parts of a point. AdError where one is the end of a number that was written with a comma."""
    pieces = [part.strip() for part in parts(spec) if part.strip()]
    for i, (before, part) in enumerate(pairwise(pieces), 1):
        if DIGITS.fullmatch(part) and (start := WHOLE.fullmatch(before)):
            rank, more = kinds.get(start[1].strip(), 0), ",".join(takewhile(DIGITS.fullmatch, pieces[i:]))
            raise AdError(f"'{part}' is not name=value", help=other_meaning(spec, rank, before, more, option))
    return pieces


def other_meaning(spec: str, rank: int, before: str, part: str, option: str) -> str:
    """Suggestion for a number after a comma: a decimal, or a part of a vector."""
    name = before.partition("=")[0].strip()
    written = re.search(rf"(?<![^\s,]){re.escape(name)}\s*=([^=\[\]]*)(?=,[^,=]*=|$)", spec)
    if rank:
        return f"write {option} {name}={f'[{written[1].strip()}]' if written and rank == 1 else LISTS.get(rank, f'@{name}.npy')}"
    from adcli.lang.syntax.numbers import MARKS, as_number  # only after a fault
    number = as_number(marked := f"{before.partition('=')[2].strip()},{part}")
    if number and number.reason == MARKS:   # 1,234.5 or 1,000
        return f"{number.reason}: write {' or '.join(f'{option} {spec.replace(marked, x)}' for x in number.choices)}"
    fixed = re.sub(r"(=\s*[+-]?[0-9]*)\s*,\s*([0-9]+)(?=\s*(?:,|$))", r"\1.\2", spec)
    if all("=" in p or p.strip().startswith("@") for p in parts(fixed)):
        return f"a decimal point, not a comma: write {option} {fixed}"
    return several_points(name, listed_numbers(written[1]), option) if written else f"write {option} x=2,y=5"


def parts(spec: str) -> Iterator[str]:
    """Parts between commas outside brackets and parentheses."""
    if "[" not in spec and "(" not in spec:
        yield from spec.split(",")
        return
    depth = start = 0
    for found in re.finditer(r"[\[\](),]", spec):
        depth += {"[": 1, "]": -1, "(": 1, ")": -1, ",": 0}[found[0]]
        if found[0] == "," and depth <= 0:
            yield spec[start:found.start()]
            start = found.end()
    yield spec[start:]


def axis(part: str, kinds: Mapping[str, int], uncounted: bool = False, option: str = "--at") -> Axis:
    """One part of a point: `x=2`, `x=0:1:11`, `@file`; with tensors also `A=@file` and `A=[…]`; `x=0:1` where it may be
    `uncounted`."""
    if part.startswith("@"):
        from adcli.input.point_files import file_points
        return file_points(part[1:], kinds)
    name, equals, text = (s.strip() for s in part.partition("="))
    name = composed(name)
    if not equals or not name:
        raise AdError(f"'{part}' is not name=value", help=no_value(part, kinds, option))
    if kinds and text[:1] in ("@", "["):
        if text[0] == "[":
            return [{name: of_text(name, text)}]
        from adcli.input.arrays import read_tensor
        return [{name: read_tensor(name, text[1:], kinds.get(name, 2))}]
    if text[:1] == "@":
        from adcli.input.point_files import file_number
        return [{name: file_number(name, text[1:])}]
    if SPREAD.search(text):
        raise AdError(f"'{part}' has a spread, which this verb does not take",
                      help="spreads are for propagate and --enclose")
    try:
        return span(name, text, uncounted) if RANGE.search(text) else [{name: value(name, text)}]
    except AdError as fault:
        from adcli.lang.syntax.numbers import as_number
        if FILE.fullmatch(text):
            fault.help = f"a file has @: write {name}=@{text}"
        elif meant := in_other_words(name, text):
            fault.help = f"write {meant}"
        elif (words := listed_numbers(text)) and kinds.get(name, 0) < 2 and not as_number(text):
            fault.message = f"{name}={shortened(text)}: expected one number, not {len(words)}"
            listed = f"'{name}' is a tensor: write {name}=[{', '.join(words)}]"
            fault.help = listed if kinds.get(name) else several_points(name, words, option)
        elif text.startswith("[") and not kinds:
            fault.help = several_points(name, ["1", "2"], option)
        elif rank := kinds.get(name, 0):
            fault.help = f"'{name}' is a tensor: write {name}={LISTS.get(rank, '')}{' or ' * (rank in LISTS)}{name}=@{name}.npy"
        raise


def no_value(part: str, kinds: Mapping[str, int], option: str) -> str:
    """Suggestion for a part of a point that is not name=value."""
    if FILE.fullmatch(part):
        from adcli.input.point_files import TABLES  # only after a fault
        return f"rows go to --data: --data {part}" if part.lower().removesuffix(".gz").endswith(TABLES) else \
            f"a file of values has @: {option} @{part}"
    if part in kinds:
        return f"write {option} {part}={LISTS.get(kinds[part], 1)}"
    return f"write {option} {'x=2,y=5' if option == '--at' else f'{part}=1'}"


def several_points(name: str, values: list[str], option: str) -> str:
    """Suggestion for several values of a scalar input."""
    points = " ".join(f"{option} {name}={word}" for word in values[:2])
    return f"several values are several points: {points}{' …' * (len(values) > 2)}; a tensor is declared: input {name}(N)"


def listed_numbers(text: str) -> list[str]:
    """The numbers that a text has, where it is made of several and nothing else."""
    found = LISTED.fullmatch(text)
    words = re.split(r"\s*[;,]\s*|\s+", found[1].strip(" ,;")) if found else []
    return words if len(words) > 1 and all(map(DECIMAL.fullmatch, words)) else []


def in_other_words(name: str, text: str) -> str | None:
    """Suggestion for a value in the notation of other languages: linspace(0, 1, 3), several parts with no comma between, x==1."""
    if found := LINSPACE.fullmatch(text):
        return f"{name}={':'.join(found.groups())}"
    if NO_COMMA.search(text):
        return f"{name}={NO_COMMA.sub(',', text)}"
    return f"{name}={text[1:].strip()}" if text.startswith("=") and text[1:].strip() else None


def span(name: str, text: str, uncounted: bool = False) -> GridRange:
    """first:last:count, both ends included; or first:last, where it may be `uncounted`."""
    fields = text.split(":")
    counted = len(fields) == 3
    if not counted and not (uncounted and len(fields) == 2 and all(fields)):
        ends = RANGE.split(text)
        low, high = ends if len(ends) == 2 and all(ends) else ("0", "1")
        if uncounted:
            raise AdError(f"{name}={text}: a range is first:last or first:last:count", help=f"write {name}={low}:{high}")
        raise AdError(f"{name}={text}: a range is first:last:count", help=f"write {name}={low}:{high}:11 for 11 points")
    first, last, count = (value(name, field) for field in (fields if counted else (*fields, "2")))
    if not 1 <= count <= LONGEST_RANGE or count != math.floor(count):
        raise AdError(f"{name}={text}: the count must be a whole number, 1 or more")
    if not (math.isfinite(first) and math.isfinite(last)):
        raise AdError(f"{name}={text}: the ends of a range must be finite")
    if count == 1 and first != last:
        raise AdError(f"{name}={text}: one point cannot reach from {first} to {last}", help="give a count of 2 or more")
    return GridRange(name, exact(fields[0], first), exact(fields[1], last), int(count), counted)


def exact(text: str, double: float) -> Fraction:
    """A number as it is written where that is a decimal, so that the steps of 0:0.3:4 are those of 0.1."""
    from fractions import Fraction
    return Fraction(text.strip()) if DECIMAL.fullmatch(text.strip()) else Fraction(double)


def complete(params: Sequence[Param], given: Values, what: str = "input") -> dict[str, Any]:
    """The value of every input in order, the given one or the default. AdError for names unknown or missing, which are
    names of a `what`."""
    known = {p.name for p in params}
    for name in given:
        if name not in known:
            if composed(str(name)) in known:
                return complete(params, {composed(n): x for n, x in given.items()}, what)
            from adcli.lang.ir.affine import atoms
            if any(name in atoms(extent) for p in params for extent in p.var.shape):
                raise AdError(f"no {what} '{name}'", help=f"'{name}' is a size, which the shapes of the tensors say")
            raise unknown_name(what, str(name), [p.name for p in params])
    missing = [p.name for p in params if p.name not in given and p.default is None]
    if missing:
        raise AdError(f"no value for {', '.join(missing)}")
    return {p.name: given.get(p.name, p.default) for p in params}


def unknown_name(what: str, name: str, known: Sequence[str]) -> AdError:
    if name != (whole := tensor_of(name)) and whole in known:
        return AdError(f"'{name}' is an element, and a tensor is given whole", help=f"write {whole}=[…]")
    listed = f"the {what}s are {', '.join(known)}" if known else f"the program has no {what}s"
    return AdError(f"no {what} '{name}'", help=nearest(name, known) or listed)
