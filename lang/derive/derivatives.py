"""Derivatives that people ask for, composed from the two modes.

A gradient is the value and every first partial derivative; each of them remembers what it is the derivative of, so that
differentiating again gives d2v_dx_dy once, not twice. A Jacobian is the same, and a Hessian the gradient with the second
derivatives of one output; in these two, entries that are zero by construction are left out where they are many. Every order
is one step: the entries wanted, the cheapest plan of sweeps for them (lang/derive/sweep_plans.py), the sweeps. `DerivationStep`
records the choice.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace

from adcli.lang.derive.cost import operations
from adcli.lang.derive.sweep_plans import Entries, SweepPlan, carried_out, cheapest, needed_for, plans, priced
from adcli.lang.ir import MODES, Atom, Lit, Program, Result, shape_of
from adcli.lang.ir.affine import shape_text
from adcli.lang.ir.errors import AdError, nearest, plural
from adcli.lang.ir.names import ALONG, Names, tensor_of
from adcli.lang.ir.records import paused, plain_record, value_record
from adcli.lang.modes.forward import jvp, strip_seeds
from adcli.lang.operations.activity import (
    PartialKey,
    inputs_to_differentiate,
    outputs_named,
    outputs_to_differentiate,
    with_outputs,
)
from adcli.lang.operations.limits import LIMIT, MOST_DERIVATIVES, OF_A_STATEMENT, partial_derivatives, quantity, said, too_much
from adcli.lang.passes.pipeline import Pass, chosen_outputs, run
from adcli.lang.simplify.simplify import simplify

MANY_ENTRIES = 100
"""Entries of a matrix beyond which those that are zero by construction are left out, if they are half of it or more."""
MOST_GONE_THROUGH = 250_000
"""Operations of programs of all orders together, some ten seconds: each order starts from the whole program of the one before."""
IN_PROPORTION = 20
"""Operations for each of the program, and each order, up to which its derivatives are never refused: one gradient takes less."""


@value_record
class DerivationStep:
    """How one order of derivatives was computed: the `ways` there were for the program that was `needed`, and the one `taken`,
    which need not have been counted; entries of the matrix that are not zero by construction, of how many; weighted operations
    of the program `before` and `after`."""

    order: int
    entries: int
    of: int
    needed: Program
    ways: tuple[SweepPlan, ...]
    taken: SweepPlan
    before: int
    after: int

    @property
    def plans(self) -> tuple[SweepPlan, ...]:
        """The ways with what each costs, which is counted for who asks."""
        taken = self.taken
        return tuple([priced(self.needed, taken if p.reads is taken.reads else p) for p in self.ways])


@plain_record
class UnderWay:
    """A derivative under way: the program, the inputs, the weighted operations that it may come to have, and the steps so far."""

    program: Program
    wrt: list[str]
    mode: str
    most: int
    steps: list[DerivationStep] = field(default_factory=list)


@paused()
def gradient(program: Program, wrt: Sequence[str] | None = None, of: Sequence[str] | None = None, mode: str = "auto",
             order: int = 1, steps: list[DerivationStep] | None = None) -> Program:
    """The outputs in `of` and all their partial derivatives with respect to `wrt`, up to `order`.

    An entry of `of` can also be one partial derivative, as v:x,x,y; if there are such, only those come beside the outputs.
    What was chosen is appended to `steps`.
    """
    if not isinstance(order, int) or order < 1:
        raise AdError(f"order must be a whole number of at least 1, not {said(order)}", help="order 1 is the gradient")
    outputs, chosen = requested(program, of)
    inputs = inputs_to_differentiate(program, wrt, chosen)
    if not chosen:
        count = len(outputs) * partial_derivatives(len(inputs), order)
        what = f"order {quantity(order)} of {plural(len(inputs), 'input')}"
        allow_derivatives(count, what if len(outputs) == 1 else f"{what} and {plural(len(outputs), 'output')}",
                          "ask for a lower order, choose inputs with ⟦--wrt⟧, or single derivatives with ⟦--of v:x,x,y⟧")
    started = start(program, inputs, outputs, mode, steps)
    only_of_scalars(program, outputs)
    if not chosen:
        newest, sizes = list(outputs), [size(started.program)]
        for k in range(1, order + 1):
            newest = extend(started, newest, zeros=True)
            if not newest:
                break
            sizes.append(size(started.program))
            refuse_long(sizes, order - k)
        return started.program
    if order > 1:
        raise AdError("an order and chosen partial derivatives cannot be used together", help="v:x,y is of order 2 by itself")
    return chosen_partials(started, outputs, chosen)


@paused()
def jacobian(program: Program, wrt: Sequence[str] | None = None, of: Sequence[str] | None = None, mode: str = "auto",
             zeros: bool | None = None, steps: list[DerivationStep] | None = None) -> Program:
    """The outputs in `of` and their Jacobian with respect to `wrt`.

    `zeros` says whether entries that are zero by construction are results too; None leaves them out where they are many.
    """
    outputs = outputs_to_differentiate(program, of)
    started = start(program, inputs_to_differentiate(program, wrt), outputs, mode, steps)
    extend(started, outputs, zeros)
    return started.program


@paused()
def hessian(program: Program, wrt: Sequence[str] | None = None, of: Sequence[str] | None = None, mode: str = "auto",
            zeros: bool | None = None, steps: list[DerivationStep] | None = None) -> Program:
    """One output, its gradient and its Hessian: the entries on and above the diagonal. `zeros` as for a Jacobian."""
    output = one_output(program, of)
    started = start(program, inputs_to_differentiate(program, wrt), [output], mode, steps)
    extend(started, extend(started, [output], zeros=True), zeros)
    return started.program


@paused()
def hvp(program: Program, wrt: Sequence[str] | None = None, of: Sequence[str] | None = None,
        along: Sequence[str] | None = None) -> Program:
    """One output and the product hvp_x of its Hessian with a direction, for every x in `wrt`: inputs gain `dx` for every x
    in `along` (default: all of `wrt`); the direction has no other components.

    Forward mode over reverse mode: one tangent sweep over the gradient, whatever the number of inputs.
    """
    inputs, output = inputs_to_differentiate(program, wrt), one_output(program, of)
    whole = gradient(program, inputs, [output], "reverse")
    partials = {r.wrt[-1]: r.name for r in whole.results if r.wrt}   # the output may itself be a derivative

    def products(moved: Program) -> Program:
        tangents, only = moved.results[len(whole.results):], with_outputs(moved, [output])
        names = Names.of(only)
        named = [Result(names.fresh(f"hvp_{x}"), t.atom) for x, t in zip(inputs, tangents, strict=True)]
        return replace(only, results=(*only.results, *named))

    directions = inputs if along is None else along
    return run(whole, [lambda p: jvp(p, directions, [partials[x] for x in inputs]), products, simplify])


def one_output(program: Program, of: Sequence[str] | None) -> str:
    """The output that a Hessian is of. AdError where that is not one."""
    outputs = outputs_to_differentiate(program, of)
    if len(outputs) != 1:
        meant = next((r.name for r in program.results if not shape_of(r.atom)), "v")
        raise AdError(f"a Hessian needs one output, and there are {len(outputs)}", help=f"choose one: ⟦--of {meant}⟧")
    only_of_scalars(program, outputs)
    return outputs[0]


# ---------------------------------------------------------------- one step

def start(program: Program, wrt: list[str], outputs: list[str], mode: str, steps: list[DerivationStep] | None) -> UnderWay:
    """The outputs alone, simplified."""
    if mode not in MODES:
        raise AdError(f"no mode '{mode}'", help=nearest(str(mode), MODES) or f"the modes are {', '.join(MODES)}")
    primal = chosen_outputs(program, outputs)
    return UnderWay(primal, wrt, mode, max(LIMIT, IN_PROPORTION * operations(primal)), [] if steps is None else steps)


def extend(d: UnderWay, rows: Sequence[str], zeros: bool | None) -> list[str]:
    """Add the partial derivatives of the results `rows` with respect to all inputs; the names of the new results."""
    if not d.wrt:
        return []
    needed = needed_for(d.program, {*rows})
    entries = Entries.of(needed, rows, d.wrt, is_symmetric(d.program, rows, d.wrt))
    there, whole = sum(map(len, entries.pattern)), len(rows) * len(d.wrt)
    full = zeros or (zeros is None and not (whole > MANY_ENTRIES and 2 * there <= whole))
    count = whole if full else there
    allow_derivatives((count + len(rows)) // 2 if entries.symmetric else count, f"a matrix of {len(rows)} by {len(d.wrt)}",
                      "choose inputs with ⟦--wrt⟧ and outputs with ⟦--of⟧; hvp, jvp and vjp give products with the matrix")
    present = entries.positions()
    if full:
        n = range(len(d.wrt))
        present = [(i, j) for i in range(len(rows)) for j in n if not entries.symmetric or i <= j]
    return step(d, needed, entries, [(rows[i], d.wrt[j]) for i, j in present])


def size(program: Program) -> int:
    """Equations and results that one more order has to go through."""
    return len(program.equations) + len(program.results)


def refuse_long(sizes: Sequence[int], left: int) -> None:
    """AdError where the orders that are left go through too much: where each is longer than the one before by no less than the
    last ones say."""
    if len(sizes) < 4 or not left:
        return
    _, before, last = sizes[-3:]
    first = last - before
    bend = max(first - (before - sizes[-3]), 0)
    ahead = left * last + first * left * (left + 1) // 2 + bend * left * (left + 1) * (left + 2) // 6
    order = len(sizes) - 1 + left
    most = max(MOST_GONE_THROUGH, IN_PROPORTION * order * sizes[0])
    if ahead > most:
        raise too_much(f"order {quantity(order)} goes through about", ahead, "operations on its way",
                       "taylor gives high orders along a direction", most)


def allow_derivatives(count: int, what: str, help: str) -> None:
    """AdError where `what` has more partial derivatives than a program can have results."""
    if count > MOST_DERIVATIVES:
        raise too_much(f"{what} gives", count, "derivatives", help, MOST_DERIVATIVES)


def is_symmetric(program: Program, rows: Sequence[str], wrt: Sequence[str]) -> bool:
    """Whether the partial derivatives of the results `rows` are a Hessian: the rows are the gradient of one output."""
    origins = {r.name: (r.of, r.wrt) for r in program.results}
    first = origins[rows[0]][0] if rows else None
    return first is not None and [origins[r] for r in rows] == [(first, (x,)) for x in wrt]


def step(d: UnderWay, needed: Program, entries: Entries, wanted: Iterable[tuple[str, str]]) -> list[str]:
    """Compute entries by the cheapest plan for the part of the program that they need; those `wanted`, each as (result, input),
    become results with a name."""
    found = plans(needed, entries)
    taken = cheapest(needed, [p for p in found if d.mode in ("auto", p.mode)] or found)
    if d.steps:   # what a first order takes that needs no counting is in proportion to the text
        taken = priced(needed, taken)
    before, known = operations(d.program), len(d.program.results)
    count = before + (written_sweeps(needed, taken) if entries.dense else taken.cost)
    if count > d.most:
        raise too_much("these derivatives take", count, "operations",
                       "ask for a lower order, or choose inputs with ⟦--wrt⟧ and outputs with ⟦--of⟧", d.most)
    d.program = run(d.program, [sweeps(taken, wanted, d.wrt), simplify])
    results = d.program.results[known:]
    d.steps.append(DerivationStep(len(results[0].wrt) if results else 1, sum(map(len, entries.pattern)),
                        len(entries.rows) * len(entries.columns), needed, tuple(found), taken, before, operations(d.program)))
    return [r.name for r in results]


def written_sweeps(needed: Program, plan: SweepPlan) -> int:
    """Operations that the sweeps of a plan add to a program with tensors: those for all elements of one are written once. What
    they compute is known with the sizes, when memory and time are asked for."""
    return plan.sweeps * len(needed.equations) * OF_A_STATEMENT


def sweeps(plan: SweepPlan, wanted: Iterable[tuple[str, str]], wrt: Sequence[str]) -> Pass:
    """The pass that appends the sweeps of a plan; the entries `wanted` become results."""
    def appended(program: Program) -> Program:
        equations, values = carried_out(program, plan)
        results = (*program.results, *named_results(program, wrt, wanted, values))
        return replace(program, params=strip_seeds(program), equations=tuple(equations), results=results)
    return appended


def only_of_scalars(program: Program, outputs: Sequence[str]) -> None:
    """AdError where a gradient, or a Hessian, of a tensor is asked for."""
    scalar = next((r.name for r in program.results if not shape_of(r.atom)), None)
    for r in program.results:
        if r.name in outputs and (shape := shape_of(r.atom)):
            others = "take vjp for the adjoints of a cotangent, jvp for the tangent along a direction, jacobian for all of them"
            raise AdError(f"'{r.name}' is a tensor of shape {shape_text(shape)}; a gradient needs a scalar",
                          help=f"choose the scalar output: ⟦--of {scalar}⟧; or {others}" if scalar else others)


def named_results(program: Program, wrt: Sequence[str], wanted: Iterable[tuple[str, str]],
                  values: dict[tuple[str, str], Atom]) -> list[Result]:
    """The entries as results; mixed derivatives that there are already, in another order, are left out."""
    names, position = PartialNames(program), {x: i for i, x in enumerate(wrt)}
    rows = {r.name: r for r in program.results}
    wanted = tuple(wanted)
    orders = {1 + len(rows[row].wrt) for row, _ in wanted}   # others need no look, which is long at high orders
    known = {(r.of, canonical(r.wrt, position)) for r in program.results if len(r.wrt) in orders}
    results = []
    for row, x in wanted:
        r = rows[row]
        key = r.of or r.name, canonical((*r.wrt, x), position)
        if key not in known:
            known.add(key)
            value = values.get((row, x), Lit(0.0))
            results.append(Result(names(*key), value, *key))
    return results


def canonical(along: Sequence[str], position: dict[str, int]) -> tuple[str, ...]:
    """The inputs of a mixed partial derivative in one order, since that of differentiation makes no difference."""
    if len(along) < 2 or len(set(along)) < 2:
        return tuple(along)
    return tuple(sorted(along, key=lambda x: (position.get(x, -1), x)))


class PartialNames:
    """Names of the derivatives of a program: dv_dx, or dv_dx_1 where the program has a dv_dx. Of a program of elements
    they are elements of what the derivatives of the tensors are called."""

    def __init__(self, program: Program) -> None:
        names = Names.of(program)
        self.fresh = Names(map(tensor_of, names.taken)).fresh
        self.found: dict[tuple[str, ...], str] = {}

    def __call__(self, output: str, wrt: Sequence[str]) -> str:
        key, name = (output, *wrt), partial_name(output, wrt)
        whole = tensor_of(name)
        if len(whole) < len(name):
            key = tuple(map(tensor_of, key))
        if key not in self.found:
            self.found[key] = self.fresh(whole)
        return self.found[key] + name[len(whole):]


def partial_name(output: str, wrt: Sequence[str]) -> str:
    """dv_dx, d2v_dx_dy, …; of elements of tensors dv_dA(2, 0, 1), as they are elements of dv_dA."""
    power, whole = "" if len(wrt) == 1 else str(len(wrt)), "_d".join((output, *wrt))
    if not whole.endswith(")") and ")_d" not in whole:
        return f"d{power}{whole}"
    names, places = zip(*(x.rstrip(")").split("(") if x.endswith(")") else (x, "") for x in (output, *wrt)), strict=True)
    place = ", ".join(filter(None, places))
    return f"d{power}{names[0]}_" + "_".join(f"d{x}" for x in names[1:]) + (f"({place})" if place else "")


# ---------------------------------------------------------------- chosen partial derivatives

def requested(program: Program, of: Sequence[str] | None, differentiated: bool = True) -> tuple[list[str], list[PartialKey]]:
    """Outputs in `of`, which are to be `differentiated`, and the partial derivatives written v:x,x,y, each with its inputs as
    they are written."""
    chosen: list[PartialKey] = []
    for text in of or ():
        output, *along = ALONG.split(text, 1)
        if along:
            if not output.strip():
                raise AdError(f"'{text}' lacks an output before the colon", help=f"write {program.results[0].name}{text.strip()}")
            inputs = tuple(x.strip() for x in along[0].split(","))
            if not all(inputs):
                raise AdError(f"'{text}' lacks the name of an input", help=f"write {output}:x for the derivative along x")
            chosen.append((output.strip(), inputs))
    outputs = None if of is None else [ALONG.split(text, 1)[0].strip() for text in of]
    return (outputs_to_differentiate if differentiated else outputs_named)(program, outputs), chosen


def chosen_partials(d: UnderWay, outputs: list[str], chosen: Sequence[PartialKey]) -> Program:
    """The outputs and the chosen partial derivatives, each by way of its lower orders, which they share."""
    place = {p.name: i for i, p in enumerate(d.program.params)}
    outside = [x for _, along in chosen for x in along if x not in d.wrt]
    if outside:
        raise AdError(f"'{outside[0]}' is not among the inputs of ⟦--wrt⟧")
    d.wrt.sort(key=lambda x: place[x])
    position = {x: i for i, x in enumerate(d.wrt)}
    targets = [(v, canonical(along, position)) for v, along in chosen]
    at: dict[PartialKey, str] = {(v, ()): v for v in outputs}
    for order in range(1, max(len(along) for _, along in targets) + 1):
        prefixes = dict.fromkeys((v, along[:order]) for v, along in targets if len(along) >= order)
        wanted = [(at[v, along[:-1]], along[-1]) for v, along in prefixes]
        rows, columns = list(dict.fromkeys(r for r, _ in wanted)), list(dict.fromkeys(x for _, x in wanted))
        needed = needed_for(d.program, {*rows})
        step(d, needed, Entries.of(needed, rows, columns), wanted)
        at.update({(r.of, canonical(r.wrt, position)): r.name for r in d.program.results if r.of})
    return chosen_outputs(d.program, [*outputs, *dict.fromkeys(at[key] for key in targets)])
