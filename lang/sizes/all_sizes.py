"""The proof for all sizes at once, for code that is written before they are known: what `sizes.prove` asks of numbers, as
conditions on names.

Most subscripts are inside of their tensors whatever the sizes are, and leave no condition. What is left is said of sizes alone
where a box has ends; a subscript that guards keep inside, in a way that is not found here, is to be checked where it is used.
Numbers are kept so small that no sum in an extent, a range, a guard or a subscript overflows a word.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from adcli.lang.ir import Equation, Program, Var, shape_of
from adcli.lang.ir.affine import (
    Affine,
    Extreme,
    Floor,
    Index,
    Modulo,
    NewSubstitution,
    Product,
    Substitution,
    affine,
    atoms,
    bounds,
    nested,
    never_negative,
    shape_text,
    substituted,
    text,
)
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.records import plain_record, value_record
from adcli.lang.operations.comprehension import ends_of, in_ranges
from adcli.lang.operations.matrix import Boxed, accesses
from adcli.lang.operations.recurrence import Recurrence, boxed, loops, meetings
from adcli.lang.sizes.in_bounds import divisors, expressions, magnitude, meeting_sizes
from adcli.lang.sizes.proofs import proved
from adcli.lang.sizes.ranges import Access, Domain, ends_in_doubt

SMALLEST_DIVISOR = 8
"""The bytes of an element."""


@value_record
class Condition:
    """Where all expressions of `given` are at least 0, so are those of `then`; `why` is for people."""

    then: tuple[Affine, ...]
    why: str
    given: tuple[Affine, ...] = ()


@plain_record
class SizeConditions:
    """Conditions on sizes.

    The product of each tuple of `products` must be at most the largest word divided by `divisor`, as must every size; then every
    sum is a word. Those of `positive` are at least 1, which all else takes for granted: quotients are by them. `loose` has the
    subscripts that are not proved, by the result of the equation, with the extents.
    """

    divisor: int = SMALLEST_DIVISOR
    positive: list[Affine] = field(default_factory=list)
    products: list[tuple[Affine, ...]] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    loose: set[tuple[Var, Affine, Affine]] = field(default_factory=set)


def size_conditions(program: Program) -> SizeConditions:
    """The conditions that sizes must meet before a program may run."""
    found = SizeConditions()
    known: list[Affine] = []
    seen: set[object] = set()

    def require(condition: Condition) -> None:
        then = tuple(x for x in condition.then if not never_negative(x) and not proved(x, known))
        if then and (then, condition.given) not in seen:
            seen.add((then, condition.given))
            found.conditions.append(Condition(then, condition.why, condition.given))
        if not condition.given:
            known.extend(then)

    def divided(*expressions: Affine) -> None:
        for a in divisors(*expressions):
            if a.divisor not in found.positive and not a.whole.indices():
                found.positive.append(a.divisor)
                known.append(a.divisor - 1)

    boxes = [*boxed(program.equations)]
    for v in (*(p.var for p in program.params), *(out for e in program.equations for out in e.outs)):
        factors = tuple(sorted(v.shape, key=repr))
        if len(factors) > 1 and factors not in seen:
            seen.add(factors)
            found.products.append(v.shape)
        divided(*v.shape)
        require(Condition(v.shape, f"the extents of {v.name or 'a value'}{shape_text(v.shape)}"))
        for x in v.shape:
            _measure(x, {}, found)
    for e in boxes:
        for x, y, why in equal(e, e.op):
            require(Condition((x - y, y - x), why))
    for e in boxes:
        op = e.op
        reaches = {r.index: max(_reach(r.low, {}), _reach(r.high, {})) + 1 for r in op.ranges}
        largest: NewSubstitution = {r.index: _absolute(r.low) + _absolute(r.high) for r in op.ranges}
        for x in expressions(op):
            _measure(x, reaches, found, largest)
        divided(*expressions(op))
        some = tuple(r.high - r.low - 1 for r in op.ranges)
        for a in divisors(*expressions(op)):
            what = "remainder" if isinstance(a, Modulo) else "quotient"
            require(Condition((a.divisor - 1,), f"a {what} is by {text(a.divisor)}", some))
        inside(e, op, known, found, require)
    for loop in loops(program.equations):
        in_order(program, loop, loop.op, known, require)
    return found


def in_order(program: Program, e: Equation, op: Recurrence, known: Sequence[Affine],
             require: Callable[[Condition], None]) -> None:
    """Every element of a loop read behind its writes, and assigned by one statement. AdError where that is not seen for all
    sizes."""
    for each in meetings(e):
        left = meeting_sizes(each, op, known)
        if left is not None:
            if not left:
                raise AdError(f"that the loop over {op.step.name} assigns elements once, and before they are read, is not "
                              "proved for all sizes", each.other.span, "adcli eval and Python run it: there sizes are numbers",
                              program.source)
            *given, last = left
            require(Condition((-last - 1,), f"the loop over {op.step.name} assigns elements once, and before they are read",
                              tuple(given)))


def equal(e: Equation, op: Boxed) -> Iterator[tuple[Affine, Affine, str]]:
    """Pairs of extents that must be the same, with why."""
    for a in op.agreements:
        yield a.left, a.right, f"{text(a.left)} and {text(a.right)} are one extent"
    if (before := op.start(e)) is not None:
        for x, y in zip(shape_of(before), op.shape, strict=True):
            yield x, y, f"{text(x)} and {text(y)} are one extent"


def inside(e: Equation, op: Boxed, known: Sequence[Affine], found: SizeConditions,
           require: Callable[[Condition], None]) -> None:
    """Every subscript of an equation inside of its tensor: proved, asked of sizes, or kept as loose."""
    ends = ends_of(op.ranges)
    some = tuple(r.high - r.low - 1 for r in op.ranges)
    domain = [*in_ranges(op.ranges), *op.guards]
    for atom, subscripts in accesses(e, op):
        for s, extent in zip(subscripts, shape_of(atom), strict=False):   # of matrices the leading ones
            if not isinstance(s, Affine):
                continue
            low, high = bounds(s, ends)
            rooms = [(s, low), (extent - 1 - s, extent - 1 - high)]
            left = [end for x, end in rooms if not never_negative(end) and not proved(x, [*domain, *known])]
            if not left:
                continue
            if op.guards or any(isinstance(a, Index) for x in left for a in atoms(x)):
                found.loose.add((e.outs[0], s, extent))
            else:
                name = atom.name if isinstance(atom, Var) and atom.name else "a value"
                given = tuple(x for x in some if not never_negative(x))
                require(Condition(tuple(left), f"subscript {text(s)} of {name}", given))


# ---------------------------------------------------------------- proofs

def in_doubt(access: Access, domain: Domain) -> list[Affine]:
    """The expressions whose sign decides whether all subscripts are inside, and is not proved over a domain."""
    known = domain.known()
    return [end for end in ends_in_doubt(access, domain) if not proved(end, known)]


# ---------------------------------------------------------------- words

def _measure(x: Affine, reaches: Mapping[Index, int], found: SizeConditions,
             largest: Substitution | None = None) -> None:
    """Make the divisor so large that no sum in an expression overflows, and have its products bounded: those of sizes, and of the
    `largest` values of indices with sizes."""
    found.divisor = max(found.divisor, _reach(x, reaches))
    for a in _products(x):
        pair = _absolute(substituted(a.left, largest or {})), _absolute(substituted(a.right, largest or {}))
        if pair not in found.products:
            found.products.append(pair)


def _reach(x: Affine, reaches: Mapping[Index, int]) -> int:
    """How many times the largest size (at least 1) an expression and its partial sums can be."""
    return magnitude(x, lambda a: reaches[a] if isinstance(a, Index) else 1)


def _products(x: Affine) -> Iterator[Product]:
    """The products of sizes in an expression."""
    return (a for each in nested(x) for a, _ in each.terms if isinstance(a, Product))


def _absolute(x: Affine) -> Affine:
    """An expression that is at least as large as another one and its negative."""
    whole = Affine((), abs(x.constant))
    for a, c in x.terms:
        match a:
            case Floor(inner, _):
                whole += _absolute(inner) * abs(c)
            case Extreme(parts, _):
                for p in parts:
                    whole += _absolute(p) * abs(c)
            case Modulo(_, by):
                whole += _absolute(by) * abs(c)
            case _:
                whole += affine(a) * abs(c)
    return whole
