"""The laws as functions: each raises AssertionError where a program breaks one, and returns what it could look at.

The property tests call them on random programs. The tests of the passes plant faults and show that each law catches what
it is there for.
"""
from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import mpmath
from adcli.codegen.machine import kernel as kernels
from adcli.codegen.rows import expand
from adcli.codegen.rows.compiled import compile_program
from adcli.lang.derive.derivatives import gradient
from adcli.lang.derive.sweep_plans import EntryRead, SweepPlan, carried_out
from adcli.lang.evaluate import FLOAT, Arithmetic, evaluate, every_value, read
from adcli.lang.ir import Equation, Primitive, Program, Result, Var
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.table_sum import TableSum
from adcli.lang.lower.frontend import parse
from adcli.lang.modes import reverse as reverse_mode
from adcli.lang.passes import pipeline
from adcli.lang.passes.status import with_status
from adcli.lang.passes.zero_seeds import drop_zero_seeds
from adcli.lang.printing.format import format_tree
from adcli.lang.printing.printer import STYLES, print_program
from adcli.lang.simplify.simplify import simplify
from adcli.lang.syntax.parse import parse_tree
from adcli.lang.syntax.scan import normal
from back_ends import MODES, alike, bits, both_tiers, on_tape
from multiple_precision import mpmath_arithmetic
from one_operation import SUMS
from same_programs import equal
from well_formed import check, check_linear

Point = Mapping[str, float]


def report(program: Program, *rest: object) -> str:
    """What an assertion says: the program and whatever else led there."""
    return "\n".join([print_program(program), *map(str, rest)])


# ---------------------------------------------------------------- text

def check_round_trip(program: Program) -> None:
    """Every style reads back to the same program, and printing it again gives the same text."""
    for style in STYLES:
        text = print_program(program, style)
        try:
            again = parse(text)
        except AdError as fault:
            raise AssertionError(f"{style}: {fault}\n{text}") from None
        assert equal(program, again), f"{style}:\n{text}\nreads back as\n{print_program(again, 'anf')}"
        once_more = print_program(again, style)
        assert once_more == text or style == "prefix", f"{style}:\n{text}\nis printed again as\n{once_more}"


def check_format(text: str) -> None:
    """The canonical form and the prefix form say the same, and the canonical form is its own."""
    program, tree = parse(text), parse_tree(normal(text, "text"))
    canonical = format_tree(tree)
    assert format_tree(parse_tree(normal(canonical, "text"))) == canonical, text
    for other in (canonical, format_tree(tree, "prefix")):
        assert equal(program, parse(other)), f"{text}\nbecame\n{other}"


def stages(program: Program) -> list[Program]:
    """The program at every stage of the compiler."""
    return [check(make(program)) for name, make in pipeline.STAGES.items() if make is not None and name not in ("anf", "ranges")]


# ---------------------------------------------------------------- the two modes

class Sized:
    """A derivative program at a point: every value that is linear in the seeds with the size of the terms it is summed from.

    Both modes multiply the same partial derivatives of the same values along the same paths, in another order. So they may
    differ by the roundings of products and sums, a few units in the last place of `size`, the sum of the absolute values
    of all terms. Two things make the order matter more. Where a product leaves the range of doubles, its value and all that
    follows from it is `unfair`. And where an infinite partial derivative is multiplied out over a sum, (1 + 0)·∞ becomes
    ∞ + 0·∞: a NaN that a sum or a product made of numbers is `invalid`, and may stand against an infinity.
    """

    def __init__(self, program: Program, at: Point) -> None:
        self.values = every_value(program, at, FLOAT)
        self.size: dict[Any, float] = {p.var: abs(at[p.name]) for p in program.params if p.seed}
        self.unfair: set[Any] = set()
        self.invalid: set[Any] = set()
        self.steps = len(program.equations)
        for e in program.equations:
            if not e.op.truth and any(a in self.size for a in e.args):
                self.step(e)

    def step(self, e: Equation) -> None:
        args = [read(self.values, a, FLOAT) for a in e.args]
        used = (e.args[1 if args[0] else 2],) if e.op.name == "select" else e.args
        out = self.values[e.outs[0]]
        terms = [self.size.get(a, abs(x)) for a, x in zip(e.args, args, strict=True)]
        match e.op.name:
            case "add" | "sub":
                size, fair = terms[0] + terms[1], True
            case "mul" | "div":
                size = terms[0] * terms[1] if e.op.name == "mul" else quotient(terms[0], abs(args[1]))
                fair = in_range(out, args, size)
            case "neg" | "dup":
                size, fair = terms[0], True
            case "select":
                size, fair = terms[1 if args[0] else 2], True
            case _:
                raise AssertionError(f"{e.op.name} of a seed: a derivative program is linear in its seeds")
        made = out != out and not any(x != x for x in args)
        for v in e.outs:
            self.size[v] = size
            if not fair or any(a in self.unfair for a in used):
                self.unfair.add(v)
            if made or any(a in self.invalid for a in used):
                self.invalid.add(v)


def quotient(x: float, y: float) -> float:
    return x / y if y else math.nan if x == 0 or x != x else math.inf


def in_range(product: float, factors: Sequence[float], size: float) -> bool:
    """Whether a product or quotient of finite numbers stayed where it has its full precision."""
    if not all(map(math.isfinite, factors)) or product != product:
        return True
    if not math.isfinite(size) or not math.isfinite(product):
        return 0.0 in factors
    return 0.0 in factors or abs(product) >= sys.float_info.min


def seeded(program: Program, mode: str, wrt: Sequence[str] | None = None) -> Program:
    """The jvp (forward) or vjp (reverse) program as it is evaluated."""
    make = pipeline.tangents if mode == "forward" else pipeline.adjoints
    return drop_zero_seeds(simplify(make(program, wrt)))


def seeds_at(derived: Program, at: Point, seeds: Mapping[str, float]) -> dict[str, float]:
    """A point for a seeded program: seeds by the name of what they belong to, 0 where not given."""
    return {**at, **{p.name: seeds.get(p.seed, 0.0) for p in derived.params if p.seed}}


def check_modes_agree(program: Program, points: Iterable[Point]) -> int:
    """Forward and reverse give the same partial derivatives and the same status; the number of partials compared."""
    wrt, of = [p.name for p in program.params], [r.name for r in program.results]
    tangents, adjoints = (seeded(program, mode, wrt) for mode in MODES)
    by_mode = [with_status(gradient(program, wrt, mode=mode), program, wrt) for mode in MODES]
    compared = 0
    for at in points:
        partials = {}
        for x in wrt:
            forward_at = Sized(tangents, seeds_at(tangents, at, {x: 1.0}))
            for v, r in zip(of, tangents.results[len(of):], strict=True):
                partials[v, x] = [(forward_at, r.atom)]
        for v in of:
            reverse_at = Sized(adjoints, seeds_at(adjoints, at, {v: 1.0}))
            for x, r in zip(wrt, adjoints.results[len(of):], strict=True):
                partials[v, x].append((reverse_at, r.atom))
        fair = [check_same(program, at, name, *pair) for name, pair in partials.items()]
        compared += sum(fair)
        if all(fair):
            words = [evaluate(p, at)[p.results[-1].name] for p in by_mode]
            assert words[0] == words[1], report(program, at, f"status {words}")
    return compared


def check_same(program: Program, at: Point, name: object, one: tuple[Sized, Any], other: tuple[Sized, Any]) -> bool:
    """Whether a partial could be compared; AssertionError where its two values differ."""
    (f, a), (g, b) = one, other
    if a in f.unfair or b in g.unfair:
        return False
    x, y = read(f.values, a, FLOAT), read(g.values, b, FLOAT)
    if (a in f.invalid and x != x and math.isinf(y)) or (b in g.invalid and y != y and math.isinf(x)):
        return False
    size = max(f.size.get(a, abs(x)), g.size.get(b, abs(y))) if math.isfinite(x) and math.isfinite(y) else 0.0
    allowed = (f.steps + g.steps) * sys.float_info.epsilon * size
    assert alike(x, y) or abs(x - y) <= allowed, report(program, at, name, f"forward {x!r}, reverse {y!r}, allowed {allowed!r}")
    return True


def check_transposes(program: Program, at: Point, v: Mapping[str, float], w: Mapping[str, float]) -> bool:
    """⟨w, J v⟩ = ⟨Jᵀ w, v⟩ for seeds given at run time, zeros among them; whether it could be compared."""
    wrt, of = [p.name for p in program.params], [r.name for r in program.results]
    tangents, adjoints = (seeded(program, mode, wrt) for mode in MODES)
    f, g = Sized(tangents, seeds_at(tangents, at, v)), Sized(adjoints, seeds_at(adjoints, at, w))
    left, left_size, left_fair = product(f, tangents.results[len(of):], [w[name] for name in of])
    right, right_size, right_fair = product(g, adjoints.results[len(of):], [v[name] for name in wrt])
    if not (left_fair and right_fair and math.isfinite(left_size) and math.isfinite(right_size)):
        return False
    allowed = (f.steps + g.steps + len(wrt) + len(of)) * sys.float_info.epsilon * max(left_size, right_size)
    assert abs(left - right) <= allowed, report(program, at, v, w, f"{left!r} and {right!r}, allowed {allowed!r}")
    return True


def product(sized: Sized, results: Sequence[Result], weights: Sequence[float]) -> tuple[float, float, bool]:
    """The inner product of results and weights, the size of its terms, and whether it is fair to compare it."""
    total = size = 0.0
    fair = True
    for r, weight in zip(results, weights, strict=True):
        value = read(sized.values, r.atom, FLOAT)
        if weight:
            total += weight * value if value else 0.0
            size += abs(weight) * sized.size.get(r.atom, abs(value))   # of a value that has cancelled to 0 too
        fair = fair and r.atom not in sized.unfair
    return total, size, fair


def check_zero_seeds(program: Program, points: Iterable[Point]) -> None:
    """A zero seed drops its contributions: bit for bit what a program without that seed gives."""
    wrt, of = [p.name for p in program.params], [r.name for r in program.results]
    tangents, adjoints = (seeded(program, mode, wrt) for mode in MODES)
    for at in points:
        for x in wrt:
            alone, seeds = seeded(program, "forward", [x]), {x: 1.5}
            want, got = (last(p, at, seeds, len(of)) for p in (alone, tangents))
            assert list(map(bits, want)) == list(map(bits, got)), report(program, at, f"only d{x}: {want}, with zeros: {got}")
        for v in of:
            alone = drop_zero_seeds(simplify(pipeline.adjoints(program, wrt, [v])))
            want, got = (last(p, at, {v: 1.5}, len(wrt)) for p in (alone, adjoints))
            assert list(map(bits, want)) == list(map(bits, got)), report(program, at, f"only d_d{v}: {want}, with zeros: {got}")


def last(derived: Program, at: Point, seeds: Mapping[str, float], count: int) -> list[float]:
    """The last `count` results: the derivatives."""
    found = evaluate(derived, seeds_at(derived, at, seeds))
    return [found[r.name] for r in derived.results[-count:]]


# ---------------------------------------------------------------- differences

LARGEST = 1e4
"""Values beyond this are not looked at by differences: multiple precision would have to be multiplied."""


def check_differences(program: Program, at: Point, mode: str) -> int:
    """Partials against central differences of the value, in multiple precision; the number of partials compared.

    Nothing is compared where the status is not smooth or a number in between is very large. The differences know no
    rule; that a point is smooth is what the status program says. Nor do they know what `stop` takes for a constant.
    """
    if any(e.op is TABLE["stop"] for e in program.equations):
        return 0
    wrt = [p.name for p in program.params]
    derived = with_status(gradient(program, wrt, mode=mode), program, wrt)
    if any(abs(x) > LARGEST for v, x in every_value(derived, at, FLOAT).items() if not v.truth):
        return 0
    mp = mpmath_arithmetic(90)
    exact = {name: mp.constant(x) for name, x in at.items()}
    got = evaluate(derived, exact, mp)
    if got.pop(derived.results[-1].name) != 0 or not all(map(mpmath.isfinite, (got[r.name] for r in program.results))):
        return 0
    partials = [r for r in derived.results[:-1] if r.wrt]
    for r in partials:
        want = difference(program, exact, r.wrt[0], mp)[r.of]
        near = abs(got[r.name] - want) <= mpmath.mpf("1e-11") * max(1, abs(want))
        assert near, report(program, at, f"{mode}: {r.name} = {float(got[r.name])!r}, by differences {float(want)!r}")
    return len(partials)


def difference(program: Program, at: Mapping[str, Any], x: str, mp: Arithmetic) -> dict[str, Any]:
    """The central difference quotients of all results with respect to an input."""
    h = mp.constant(10.0) ** -30
    above, below = (evaluate(program, {**at, x: at[x] + s * h}, mp) for s in (1, -1))
    return {name: (above[name] - below[name]) / (2 * h) for name in above}


# ---------------------------------------------------------------- passes

def unsimplified(program: Program, mode: str) -> Program:
    """The partial derivatives as the sweeps make them."""
    of, wrt = [r.name for r in program.results], [p.name for p in program.params]
    reads = {(v, x): EntryRead(mode, v, x) for v in of for x in wrt}
    forwards = mode == "forward"
    plan = SweepPlan(tuple((x,) for x in wrt) if forwards else (), () if forwards else tuple((v,) for v in of), reads)
    equations, found = carried_out(program, plan)
    results = tuple(Result(f"d{v}_d{x}", found[v, x]) for v in of for x in wrt)
    return Program(program.params, tuple(equations), results)


def check_simplify(program: Program, points: Iterable[Point]) -> None:
    """Simplification changes no bit of a value or a derivative."""
    plain = [program, *(unsimplified(program, mode) for mode in MODES)]
    simple = [check(simplify(p)) for p in plain]
    for at in points:
        for p, q in zip(plain, simple, strict=True):
            want, got = evaluate(p, at), evaluate(q, at)
            wrong = [name for name in want if bits(want[name]) != bits(got[name])]
            assert not wrong, report(p, at, "simplified:", print_program(q), {n: (want[n], got[n]) for n in wrong})


def check_duplicate(program: Program, points: Iterable[Point]) -> None:
    """Explicit duplication uses every value at most once, and changes no bit."""
    linear = check_linear(check(reverse_mode.duplicate(program)))
    assert equal(simplify(program), simplify(linear)), report(linear)
    for at in points:
        want, got = evaluate(program, at), evaluate(linear, at)
        assert {n: bits(x) for n, x in want.items()} == {n: bits(x) for n, x in got.items()}, report(linear, at)


def check_arm(alone: Program, chosen: Program, points: Iterable[Point]) -> None:
    """`chosen`, which selects the formula of `alone`, has its value and its derivatives, bit for bit."""
    for mode in MODES:
        one, other = (gradient(p, mode=mode) for p in (alone, chosen))
        for at in points:
            want, got = evaluate(one, at), evaluate(other, at)
            wrong = {n: (x, got[n]) for n, x in want.items() if bits(x) != bits(got[n])}
            assert not wrong, report(chosen, mode, at, f"taken alone, and as an arm: {wrong}")


# ---------------------------------------------------------------- native code

def native(program: Program, points: Sequence[Point]) -> list[list[float]]:
    """The results of a program that a machine can run, one list for each result; the same in both tiers."""
    return both_tiers(program, [[at[p.name] for at in points] for p in program.params], len(points))


def check_native(program: Program, points: Sequence[Point]) -> int:
    """Every operation of the native code against the reference on the very operands it had; the number of operations.

    Errors of one operation so never reach another: what IEEE 754 defines must agree to the bit, a function of libm to 4 units
    in the last place (10 for gamma, as glibc documents it).
    """
    whole = exposed(program)
    columns = native(whole, points)
    check_operations(whole, points, [[column[i] for column in columns] for i in range(len(points))])
    return len(whole.results) * len(points)


def exposed(program: Program) -> Program:
    """The program as code is made of it, with every real value a result."""
    program = expand.for_machine(program)
    made = [e for e in program.equations if not e.op.truth]
    return Program(program.params, program.equations, tuple(Result(f"v{k}", e.outs[0]) for k, e in enumerate(made)))


def check_operations(program: Program, points: Sequence[Point], rows: Sequence[Sequence[float]]) -> None:
    """The results of a program with all values exposed, a row for each point, against the reference."""
    for at, row in zip(points, rows, strict=True):
        values: dict[Var, Any] = {p.var: at[p.name] for p in program.params}
        values.update((r.atom, x) for r, x in zip(program.results, row, strict=True))
        for e in program.equations:
            args = [read(values, a, FLOAT) for a in e.args]
            want = FLOAT.apply(e.op, args, e.args)
            got = values.setdefault(e.outs[0], want)
            said = f"{e.op.name}{tuple(args)} = {got!r}, not {want!r}"
            assert e.op.truth or near(e.op, got, want, args), report(program, at, said)


def near(op: Primitive, got: float, want: float, args: Sequence[float]) -> bool:
    if bits(got) == bits(want):
        return True
    if op.name == "copysign" and math.isnan(args[1]):   # the sign of a NaN means nothing, and not every language keeps it
        return abs(got) == abs(want)
    if op.llvm or op.name in ("fmax", "fmin", "fmod") or not (math.isfinite(got) and math.isfinite(want)):
        return False
    if op.name in ("lgamma", "lbeta", "logaddexp", "dsinc", "expint_e1", "expint_ei"):   # beside their zeros
        return abs(got - want) <= 8 * math.ulp(max(abs(want), 1.0, abs(args[0])))
    if op.name in SUMS or isinstance(op, TableSum):   # whose derivatives cross zero
        return abs(got - want) <= 1e-12 * max(abs(want), 1.0)
    if op.name == "dpow" and args[0] > 0:   # a polynomial in y and log(x), beside its zeros
        x, y = args
        try:
            return abs(got - want) <= 16 * math.ulp(max(abs(want), x ** (y - 2) * (1 + y * y) * (1 + math.log(x) ** 2)))
        except OverflowError:   # of terms that cancel
            return True
    return abs(got - want) <= (10 if op.name == "gamma" else 4) * math.ulp(want)


def check_rows(program: Program, points: Sequence[Point]) -> None:
    """A row has the same bits among others, at every place of a block, and alone; in both tiers."""
    program = expand.for_machine(program)
    columns = [[at[p.name] for at in points] for p in program.params]
    alone = [[c[0] for c in both_tiers(program, [[x[i]] for x in columns], 1)] for i in range(len(points))]
    for kernel, count in itertools.product((compile_program(program), on_tape(program)), range(1, len(points) + 1)):
        together = kernels.run(kernel, [x[:count] for x in columns], count)
        for i in range(count):
            assert [bits(c[i]) for c in together] == list(map(bits, alone[i])), report(program, points[i], f"row {i} of {count}")
