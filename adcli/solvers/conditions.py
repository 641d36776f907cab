"""Conditions on an optimum, as --subject-to says them: `g <= 0`, `g == 1`, `0 <= g <= 2`, where g is an expression of inputs,
outputs, sizes and other values of the program that have a name. Each becomes a further output with bounds; where tensors stand
in it without subscripts it holds for every element, and the output is a tensor. Bounds are numbers, or expressions of inputs that
do not move, also tensors: `low <= x <= high`."""
from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import Atom, Equation, Param, Program, Result, Var, shape_of
from adcli.lang.ir.affine import shape_text
from adcli.lang.ir.errors import AdError, nearest
from adcli.lang.ir.names import Names
from adcli.lang.operations.activity import outputs_to_differentiate, with_outputs

COMPARISON = re.compile(r"<=|>=|==|<|>|=")
HELP = "write 'g <= 0', 'g == 1' or '0 <= g <= 2'"
NAME = r"(?<![\w.])[^\W\d]\w*"


Bound = float | str
"""A number, or an expression of inputs that do not move."""


class StatedCondition(NamedTuple):
    """`text` is what the user wrote, with the tensors `whole` without subscripts; the output `name` must lie between `low` and
    `high`."""

    text: str
    name: str
    low: Bound
    high: Bound
    whole: Collection[str] = ()

    def of_element(self, subscripts: str) -> str:
        """The condition on one element, (1, 0) or of a number nothing."""
        return with_subscripts(self.text, self.whole, subscripts)


def with_conditions(program: Program, of: Sequence[str] | None, texts: Iterable[str],
                    moved: Sequence[str] = ()) -> tuple[Program, list[StatedCondition], list[StatedCondition]]:
    """The program with its objective as the first output, and an output for each condition; the conditions; and those that are
    bounds of an input in `moved`, which are no outputs. The objective is the one output in `of`, by default the one that no
    condition names."""
    whole, conditions, bounds, asked = program, list[StatedCondition](), list[StatedCondition](), set[str]()
    values, fixed = named_values(program), {p.name for p in program.params} - set(moved)
    for text in texts:
        for own, part, low, high in parsed(text, values, fixed if moved else ()):
            if part.strip() in moved:
                bounds.append(StatedCondition(own, part.strip(), low, high))
                continue
            whole, name = with_expression(whole, part, text)
            conditions.append(StatedCondition(own, name, low, high, whole_tensors(own, values)))
            asked.add(part.strip())
    objective = outputs_to_differentiate(program, of)
    if of is None and len(objective) > 1:
        objective = [name for name in objective if name not in asked]
    if len(objective) != 1:
        raise AdError(f"an objective is one output, and there are {len(objective)}",
                      help=f"choose it: ⟦--of {(objective or [r.name for r in program.results])[0]}⟧")
    if shape_of(program.result(objective[0]).atom):
        raise AdError(f"the objective '{objective[0]}' is a tensor", help="choose a scalar output with ⟦--of⟧")
    return with_outputs(whole, [objective[0], *(c.name for c in conditions)]), conditions, bounds


def with_equations(program: Program, of: Sequence[str] | None, texts: Sequence[str]) -> Program:
    """The program with an output for each equation, which is zero where it holds, and the outputs in `of` (default: all, where
    there are no equations)."""
    whole, made = program, list[str]()
    for text in texts:
        found = parsed(text, named_values(program))
        if any(low != high for *_, low, high in found):
            raise AdError(f"'{text}' is not an equation", help="write 'g == 1'")
        for _, part, number, _ in found:
            whole, name = with_expression(whole, f"({part}) - ({number!r})" if number else part, text, "equation")
            made.append(name)
    kept = [] if texts and of is None else outputs_to_differentiate(program, of)
    return with_outputs(whole, [*kept, *made])


def parsed(text: str, values: Mapping[str, Atom], fixed: Collection[str] = ()) -> list[tuple[str, str, Bound, Bound]]:
    """A condition on the `values` of a program in parts of one comparison or two: each as it is written, and its expression with
    the bounds that this lies between."""
    parts, signs = pieces(text)
    if not signs or not all(part.strip() for part in parts):
        raise AdError(f"'{text}' is not a condition", help=HELP)
    if "=" in signs:
        raise AdError(f"'{text}': = assigns", help=f"write '{text.replace('=', '==')}'")
    directions = {sign[0] for sign in signs}
    if len(signs) > 2 or len(directions) > 1 or (len(signs) == 2 and "==" in signs):
        raise AdError(f"'{text}' is more than one condition", help="give each by itself")
    if directions == {">"}:
        parts = parts[::-1]
    if signs == ["=="]:
        left, right = parts
        number, other = something_moves([constant(right, values, fixed), constant(left, values, fixed)])
        if number is not None and other is not None:
            raise AdError(f"'{text}' is of numbers alone", help=HELP)
        if other is not None:
            left, number = right, other
        return [(text.strip(), *((left, number, number) if number is not None else (f"({left}) - ({right})", 0.0, 0.0)))]
    numbers = something_moves([constant(part, values, fixed) for part in parts])
    if None not in numbers:
        raise AdError(f"'{text}' is of numbers alone", help=HELP)
    if len(parts) == 3 and numbers[0] is not None and numbers[2] is not None:
        low, high = numbers[0], numbers[2]
        if isinstance(low, float) and isinstance(high, float) and low > high:
            raise AdError(f"'{text}' holds nowhere: {low!r} is more than {high!r}")
        return [(text.strip(), parts[1], low, high)]
    pairs = list(pairwise(zip(parts, numbers, strict=True)))
    own = [f"{less.strip()} <= {more.strip()}" for (less, _), (more, _) in pairs] if len(pairs) > 1 else [text.strip()]
    return [(each, *below(*pair)) for each, pair in zip(own, pairs, strict=True)]


def something_moves(bounds: list[Bound | None]) -> list[Bound | None]:
    """Bounds of which the last that has names is none where there would be nothing else to hold."""
    named = [k for k, bound in enumerate(bounds) if isinstance(bound, str)]
    return [None if k == named[-1] else bound for k, bound in enumerate(bounds)] if named and None not in bounds else bounds


def below(less: tuple[str, Bound | None], more: tuple[str, Bound | None]) -> tuple[str, Bound, Bound]:
    """less <= more, as an expression between two bounds."""
    (left, low), (right, high) = less, more
    if high is not None:
        return left, -math.inf, high
    return (right, low, math.inf) if low is not None else (f"({left}) - ({right})", -math.inf, 0.0)


def pieces(text: str) -> tuple[list[str], list[str]]:
    """Parts of a text between comparisons outside of brackets, and the comparisons."""
    parts, signs, depth, start = list[str](), list[str](), 0, 0
    for found in re.finditer(rf"[()\[\]]|{COMPARISON.pattern}", text):
        if found[0] in "()[]":
            depth += 1 if found[0] in "([" else -1
        elif depth == 0:
            parts.append(text[start:found.start()])
            signs.append(found[0])
            start = found.end()
    return [*parts, text[start:]], signs


def constant(text: str, values: Mapping[str, Atom], fixed: Collection[str] = ()) -> Bound | None:
    """The value of an expression of numbers alone, or an expression of `fixed` inputs; None where it has other names."""
    program = expression(text, text, values)
    if program.params:
        return text.strip() if all(p.name in fixed for p in program.params) else None
    number = evaluate(program, {}, FLOAT)[program.results[0].name]
    if number != number:
        raise AdError(f"the bound {text.strip()} is nan")
    return float(number)


def value_of(bound: Bound, program: Program, at: Mapping[str, Any]) -> Any:
    """The number or the array of numbers of a bound at a point."""
    from adcli.task.native import compiled
    if isinstance(bound, float):
        return bound
    if bound in at:
        found = np.asarray(at[bound], np.float64)
    else:
        whole, name = with_expression(program, bound, bound)
        found = np.asarray(compiled(with_outputs(whole, [name]), True)(at)[name])
    if np.isnan(found).any():
        raise AdError(f"the bound {bound} is nan")
    return found


def expression(text: str, whole: str, values: Mapping[str, Atom]) -> Program:
    """An expression of the values and sizes of a program, as a program; of tensors without subscripts, for every element."""
    from adcli.lang.lower.frontend import parse
    named, every = dict.fromkeys(re.findall(NAME, text)), tensors_among(values)
    sized = [next((t for t, x in every.items() if name in re.findall(NAME, shape_text(x.shape))), name)
             for name in named if name not in values]
    tensors = [Param(every[name], name) for name in dict.fromkeys((*named, *sized)) if name in every]
    together = whole_tensors(text, values)
    if len({x.shape for x in together.values()}) > 1:
        shapes = ", ".join(name + shape_text(x.shape) for name, x in together.items())
        raise AdError(f"'{whole.strip()}': tensors of different shapes, {shapes}", help="declare them with the same sizes")
    rank = len(next(iter(together.values())).shape) if together else 0
    place = f"({', '.join(f'element_{k}' for k in range(rank))})" * (rank > 0)
    statement = f"subject_to{place} = {with_subscripts(text.strip(), together, place)}\n"
    try:
        return parse(f"input {', '.join(map(declaration, tensors))}\n{statement}" if tensors else statement, f"'{whole.strip()}'")
    except AdError as error:
        if not tensors:
            raise
        inner = "=" in (error.help or "")   # a statement, which a condition is not
        raise AdError(f"'{whole.strip()}': {error.message}",
                      help="make it an output of the program, and name that" if inner else error.help) from None


def tensors_among(values: Mapping[str, Atom]) -> dict[str, Var]:
    return {name: x for name, x in values.items() if isinstance(x, Var) and x.shape}


def subscripted(name: re.Match[str]) -> bool:
    """True if a name in a text has subscripts."""
    return name.string[name.end():].lstrip().startswith("(")


def whole_tensors(text: str, values: Mapping[str, Atom]) -> dict[str, Var]:
    """The tensors that an expression names without subscripts."""
    every = tensors_among(values)
    return {found[0]: every[found[0]] for found in re.finditer(NAME, text) if found[0] in every and not subscripted(found)}


def with_subscripts(text: str, names: Collection[str], subscripts: str) -> str:
    """An expression with subscripts at the tensors `names` that have none."""
    return re.sub(NAME, lambda found: found[0] + subscripts * (found[0] in names and not subscripted(found)), text)


def declaration(param: Param) -> str:
    return f"{'int32 ' * param.var.integer}{param.name}{shape_text(param.var.shape)}"


def with_expression(program: Program, text: str, whole: str, stem: str = "subject_to") -> tuple[Program, str]:
    """The program with the value of an expression as one more output, and the output's name, by the option that says it."""
    values = named_values(program)
    name = Names.of(program).fresh(stem)
    if text.strip() in values:   # also a tensor
        return replace(program, results=(*program.results, Result(name, values[text.strip()]))), name
    made = expression(text, whole, values)
    env: dict[Atom, Atom] = {}
    for p in made.params:
        if p.name not in values:
            raise AdError(f"'{whole.strip()}': no value '{p.name}' in the program",
                          help=nearest(p.name, list(values)) or f"the values are {', '.join(values)}")
        env[p.var] = values[p.name]
    equations = [Equation(e.outs, e.op, tuple(env.get(a, a) for a in e.args), None, e.group) for e in made.equations]
    atom = env.get(made.results[0].atom, made.results[0].atom)
    return replace(program, equations=(*program.equations, *equations), results=(*program.results, Result(name, atom))), name


def named_values(program: Program) -> Mapping[str, Atom]:
    """Outputs, inputs, and the last value of each name in between."""
    inner = {o.name: o for e in program.equations for o in e.outs if o.name and not o.temp and not o.truth}
    return {**inner, **{p.name: p.var for p in program.params}, **{r.name: r.atom for r in program.results}}
