"""Why a result is not smooth: the operation responsible, and in a tensor the element.

A program of scalars is run once at the point by the reference evaluator. One with tensors is asked by native code where its
status comes from (`adcli.lang.passes.status_places`), and only the body of the comprehension found is run.
"""
from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from adcli.answers.evaluation import rounded_point
from adcli.codegen.rows.native_arithmetic import native_arithmetic
from adcli.lang.analyse.numeric_sweeps import arguments, met
from adcli.lang.evaluate import FLOAT, Arithmetic, ValuesAt, every_value, read
from adcli.lang.ir import DOMAIN, INDETERMINATE, LEVELS, POLE, SINGULAR, Atom, Equation, Lit, Program, Values, Var
from adcli.lang.ir.affine import Affine, Index, value
from adcli.lang.ir.errors import Note, Source
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.operations.precision import PRECISIONS
from adcli.lang.passes.status import Activity, activity, counts, is_of_constants
from adcli.lang.tree.notation import ATOM, infix
from adcli.output.layout import Row
from adcli.output.numbers import Number, number_format, shortest
from adcli.task.tasks import Task

if TYPE_CHECKING:
    from adcli.lang.passes.status_places import Place

SELECT, STOP = TABLE["select"], TABLE["stop"]
OPERANDS = ("u", "v", "w")
SYMBOLS = {"+": "+=!", "*": "*=!", "min": "min=!", "max": "max=!", "lse": "lse=!", "=": "="}


def note(task: Task, row: Row, jobs: int | None = None) -> Note:
    """One note for a result that is not smooth."""
    source = task.signature.source
    for p in task.signature.own:
        place = first_nan(p.name, row.at[p.name])
        if place is not None:
            return Note(f"{place} is nan: {LEVELS[row.level]}", None, source)
    return in_tensors(task, row.at, row.level, jobs) if task.signature.tensors else in_scalars(task, row.at, row.level)


def first_nan(name: str, x: Any) -> str | None:
    """The element of an input that is no number."""
    if type(x) is float:
        return name if x != x else None
    import numpy as np

    from adcli.input.nested import element
    wrong = np.flatnonzero(np.isnan(x))
    return element(name, int(wrong[0]), np.shape(x)) if len(wrong) else None


# ---------------------------------------------------------------- programs of scalars

def in_scalars(task: Task, at: Mapping[str, float], level: int) -> Note:
    """The operation of the program that is to blame, or that of its derivative."""
    primal, program = task.primal, task.program if task.verb.differentiates else task.primal
    precision = PRECISIONS[task.request.precision]
    at, arithmetic = rounded_point(at, precision), native_arithmetic(precision)
    values = every_value(primal, at, arithmetic)
    worst, place = worst_operation(primal, values, activity(primal, task.derivation.wrt, program))
    if place is None or worst < level == SINGULAR:
        return _in_derivative(program, every_value(program, at, arithmetic), level, primal.source, numbers_of(task))
    return blame(primal, place, values, level, worst, "'" if program is not primal and worst != DOMAIN else "", numbers_of(task))


def numbers_of(task: Task) -> Number:
    """Format of numbers in notes, the default one of results."""
    return number_format(None, False, task.request.precision)


def worst_operation(primal: Program, values: ValuesAt, known: Activity) -> tuple[int, Equation | None]:
    """The first operation of the greatest level that the results depend on, and the level."""
    worst, place = 0, None
    for e, level in levels(primal, values, known):
        if level > worst:
            worst, place = level, e
    return worst, place


def blame(primal: Program, e: Equation, values: Mapping[Var, Any], level: int, worst: int, prime: str = "",
          number: Number = shortest) -> Note:
    """The note on an operation that is to blame for a level; `worst` is its own."""
    made = f" is {shown(values[e.outs[0]], number)}" if worst == DOMAIN and not e.op.truth else ""
    return Note(f"{described(e, prime)} at {operands(e, values, number)}{made}: {reason(level)}", e.span, primal.source)


def reason(level: int) -> str:
    """A level of the program itself, where it is indeterminate what a zero is multiplied by; operands of a derivative say it."""
    return f"{LEVELS[level]} (0·inf)" if level == INDETERMINATE else LEVELS[level]


def _in_derivative(program: Program, values: Mapping[Var, Any], level: int, source: Source | None, number: Number) -> Note:
    """The note where every operation of the program itself is smooth: the operation of its derivative that makes an infinity, or
    a NaN."""
    right = math.isfinite if level == SINGULAR else lambda x: x == x
    for e in program.equations:
        if not e.op.truth and not right(values[e.outs[0]]) and all(right(read(values, a, FLOAT)) for a in e.args):
            text = f"the derivative has {described(e, '')} at {operands(e, values, number)}: {LEVELS[level]}"
            return Note(text, e.span, source)
    return Note(reason(level), None, source)


def levels(program: Program, values: ValuesAt, known: Activity | None) -> Iterator[tuple[Equation, int]]:
    """The equations that the results really depend on at this point, in order, each with the worst level it meets: arms not taken
    are left out, and what is not rough in the status either. Without `known`, all that is met counts."""
    needed: set[Atom] = {r.atom for r in program.results}
    moving, taken = set(needed), []
    for e in reversed(program.equations):
        if needed.isdisjoint(e.outs):
            continue
        moves = not moving.isdisjoint(e.outs)
        taken.append((e, not moves or is_of_constants(e)))
        read_here = e.args if e.op is not SELECT else (e.args[0], e.args[1] if read(values, e.args[0], FLOAT) else e.args[2])
        needed.update(read_here)
        if moves and e.op is not STOP:
            moving.update(read_here)
    return ((e, level_of(e, values, still, known)) for e, still in reversed(taken))


def level_of(e: Equation, values: ValuesAt, still: bool, known: Activity | None) -> int:
    """The worst level that counts which an operation meets at its operands, or -1; a NaN counts where it is made."""
    out = values[e.outs[0]]
    if not e.op.truth and out != out and all(a == a for a in arguments(e, values)):
        return DOMAIN
    if known is None:
        return max((s.level for s in met(e, values) if s.level >= POLE or not still), default=-1)
    return max((s.level for s in met(e, values) if counts(s, e, still, known)), default=-1)


def letter(position: int) -> str:
    """Name of an argument in messages: u, v, w, u3, …"""
    return OPERANDS[position] if position < len(OPERANDS) else f"u{position}"


def described(e: Equation, prime: str) -> str:
    """The operation on u, v, …, as a user would write it: log'(u), (u / v)'."""
    words = [str(a.integer) if i in fixed(e) and isinstance(a := e.args[i], Lit) else letter(i) for i in few(e.args)]
    names = [(word, ATOM) for word in some(words, e.args)]
    text, level = infix(e.op.spelled or e.op.name, names)
    if level == ATOM:
        return text.replace("(", f"{prime}(", 1)
    return f"({text}){prime}" if prime else text


def operands(e: Equation, values: Mapping[Var, Any], number: Number) -> str:
    known = [f"{letter(i)} = {shown(read(values, e.args[i], FLOAT), number)}" for i in few(e.args) if i not in fixed(e)]
    return ", ".join(some(known, e.args))


def fixed(e: Equation) -> tuple[int, ...]:
    """The arguments that are constants of the operation and written as such: 1 of polygamma(1, x)."""
    return () if e.op.spelled else e.op.static


MOST_NAMED, NAMED_OF_MANY = 8, 3
"""Operands up to which a message names them all, and how many it names of more."""


def few(operands: Sequence[Any]) -> range:
    """The positions of the operands that a message names."""
    return range(len(operands) if len(operands) <= MOST_NAMED else NAMED_OF_MANY)


def some(texts: list[str], operands: Sequence[Any]) -> list[str]:
    """Texts of the first few operands, with … where there are more."""
    return texts if len(operands) <= MOST_NAMED else [*texts, "…"]


def named(operands: Sequence[Any]) -> dict[str, Any]:
    """Operands by what they are called in a message."""
    return {letter(i): x for i, x in enumerate(operands)}


def shown(x: Any, number: Number = shortest) -> str:
    return repr(x).lower() if isinstance(x, bool) else number(x)


# ---------------------------------------------------------------- programs with tensors

def in_tensors(task: Task, at: Values, level: int, jobs: int | None) -> Note:
    """The operation and the element that are to blame, found by native code."""
    source, arithmetic = task.primal.source, native_arithmetic(PRECISIONS[task.request.precision])
    place, grade, found = worst(task, task.primal, task.derivation.wrt, at, jobs)
    if place is not None and not grade < level == SINGULAR:
        prime = "'" if task.verb.differentiates and grade != DOMAIN else ""
        text, span = told(place, found, grade, prime, arithmetic, numbers_of(task))
        return Note(f"{text}: {reason(level)}", span, source, assigned(place, found))
    place, grade, found = worst(task, task.program, None, at, jobs)
    if place is not None:
        text, span = told(place, found, grade, "", arithmetic, numbers_of(task))
        return Note(f"the derivative has {text.removesuffix(' is nan')}: {LEVELS[level]}", span, source)
    return Note(reason(level), None, source)


def worst(task: Task, program: Program, wrt: Collection[str] | None, at: Values,
          jobs: int | None) -> tuple[Place | None, int, Values]:
    """The first place of the greatest level, and what is known of it: first all levels are computed, then the rest for one."""
    import numpy as np

    from adcli.input.arrays import filled
    from adcli.lang.passes.status_places import places
    from adcli.task.native import native
    located, known = places(program, wrt, task.program)
    point = {p.name: at[p.name] for p in program.params}
    if any(p.seed for p in program.params):
        point = filled(program, {p.name: at[p.name] for p in program.params if not p.seed}, at)

    def run(names: Collection[str]) -> Values:
        chosen = replace(located, results=tuple(r for r in located.results if r.name in names))
        kernel = native(chosen, task.slot and task.slot.store, task.request.precision, fast=task.request.fast)
        return kernel({name: np.asarray(x) for name, x in point.items()}, jobs=jobs)

    levels = run({p.level for p in known})
    greatest = max((float(levels[p.level]) for p in known), default=0.0)
    if greatest <= 0:
        return None, 0, levels
    place = next(p for p in known if levels[p.level] == greatest)
    return place, int(greatest), run(asked) if (asked := {*place.indices, *place.values}) else levels


def assigned(place: Place, found: Values) -> str:
    """The element that a statement assigns at a place."""
    e, where = place.equation, [float(found[name]) for name in place.indices]
    if not isinstance(e.op, Comprehension) or not all(map(math.isfinite, where)):
        return ""
    at: dict[Index | str, int] = {r.index: int(i) for r, i in zip(place.ranges, where, strict=True)}
    try:
        return f"{e.outs[0].name}({', '.join(str(value(x, at)) for x in e.op.write if isinstance(x, Affine))})"
    except KeyError:   # a size
        return ""


def told(place: Place, found: Values, grade: int, prime: str, arithmetic: Arithmetic, number: Number) -> tuple[str, Any]:
    """A place in words, and where it is."""
    e = place.equation
    if place.kind == "matrix":
        return told_matrix(place, found, number), e.span
    where = [float(found[name]) for name in place.indices]
    values = [float(found[name]) for name in place.values]
    index = "".join(f", {r.index.name} = {int(i)}" for r, i in zip(place.ranges, where, strict=True) if math.isfinite(i))
    name = e.outs[0].name or "a value"
    if not all(map(math.isfinite, where)) or place.kind == "reduction":
        return (f"{symbol(e)} of infinite numbers at {name} is nan" if grade == DOMAIN else f"'{name}'"), e.span
    if place.kind == "ties":
        subscripts = f"({', '.join(str(int(i)) for i in where)})" if where else ""
        return f"{symbol(e)} at {name}{subscripts} with {int(values[0])} equal elements", e.span
    if place.kind == "row":
        shown_values = ", ".join(f"{letter(i)} = {shown(x, number)}" for i, x in enumerate(values) if i not in fixed(e))
        return f"{described(e, prime)} at {shown_values}{' is nan' if grade == DOMAIN else ''}", e.span
    line, known = inner(e, values, place.known, arithmetic)
    if line is None:
        return f"'{name}'{index}", e.span
    made = f" is {shown(known[line.outs[0]], number)}" if grade == DOMAIN and not line.op.truth else ""
    return f"{described(line, prime)} at {operands(line, known, number)}{index}{made}", line.span or e.span


TIES = {**dict.fromkeys(("eigenvalues", "eigenvectors"), "{1} of {0}, where two eigenvalues are equal"),
        **dict.fromkeys(("singular_values", "svd_u", "svd_v"), "{1} of {0}, where two singular values are equal or one is 0"),
        **dict.fromkeys(("qr_q", "qr_r"), "{1} of {0}, where a column depends on those before"),
        **dict.fromkeys(("sort", "sort_order"), "{1} of {0}, where two elements are equal"),
        "search": "{1} in {0}, where an element is the number that is looked for"}
"""Descriptions of operations on matrices without a derivative; with the matrix and the operation."""


def told_matrix(place: Place, found: Values, number: Number) -> str:
    """Description of an undefined operation on matrices: its pivot, counted from 1, or the element that is to blame."""
    import numpy as np

    from adcli.input.nested import element
    from adcli.lang.evaluate.matrix_operations import failed_pivot
    from adcli.lang.operations.matrix import FORMS, SEARCH
    e = place.equation
    op = e.op
    matrix, stack = e.args[op.sources[0].arg], np.asarray(found[place.values[0]])
    name = (matrix.name if isinstance(matrix, Var) else None) or "the matrix"
    if op.name == SEARCH:
        return TIES[SEARCH].format(name, SEARCH)
    for at in np.ndindex(stack.shape[:-2]):
        lows = [int(found[low]) for low in place.indices]
        where = "".join(f", {r.index.name} = {low + i}" for r, low, i in zip(place.ranges, lows, at, strict=True))
        wrong = np.flatnonzero(~np.isfinite(stack[at]))
        if len(wrong):
            first = element(name, int(wrong[0]), stack[at].shape)
            return f"{op.name} at {first} = {shown(float(stack[at].flat[wrong[0]]), number)}{where} is nan"
        pivot = failed_pivot(op, stack[at])
        if pivot is not None:
            made = {"logdet": "-inf", "det": "0"}.get(op.name, "nan")
            return f"{op.name} at pivot {pivot.place + 1} of {name} = {shown(pivot.value, number)}{where} is {made}"
        if op.name == "logdet" and np.linalg.slogdet(stack[at])[0] < 0:
            return f"logdet at a negative determinant of {name}{where} is nan"
    if FORMS[op.name][0] == "mn" and stack.shape[-2] < stack.shape[-1]:
        return f"{op.name} of {name}, which has fewer rows than columns, is nan"
    return TIES[op.name].format(name, op.name) if op.name in TIES else f"'{e.outs[0].name or op.name}'"


def inner(e: Equation[Comprehension], values: list[float], moving: Activity | None, arithmetic: Arithmetic,
          ) -> tuple[Equation | None, Mapping[Any, Any]]:
    """The operation in the body of a comprehension that is to blame at these values of its sources."""
    from adcli.lang.passes.status_tensors import unmoved
    body = e.op.body
    known = every_value(body, {p.name: x for p, x in zip(body.params, values, strict=True)}, arithmetic)
    greatest, blamed, still = 0, None, unmoved(e)
    for line, level in levels(body, known, moving):
        if level > greatest and line not in still:
            greatest, blamed = level, line
    return blamed, known


def symbol(e: Equation[Comprehension]) -> str:
    return "the first index" if e.outs[0].whole else SYMBOLS[e.op.reduction]   # of argmin=! and argmax=!
