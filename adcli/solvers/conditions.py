"""The problem that a program and the options state together.

A condition of --subject-to is a statement `subject to`, read by the same parser in a text of its own, with the values of the
program as inputs. Each condition becomes a further output with bounds: numbers, or values of inputs that do not move.
"""
from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import Atom, Equation, Lit, Primitive, Program, Result, Var, has_tensors, shape_of
from adcli.lang.ir.affine import atoms, shape_text
from adcli.lang.ir.build import Builder
from adcli.lang.ir.errors import AdError, nearest
from adcli.lang.ir.names import Names
from adcli.lang.ir.problem import SideCondition, StatedProblem
from adcli.lang.operations.activity import active_values, outputs_to_differentiate, with_outputs
from adcli.lang.operations.elementwise import elementwise
from adcli.lang.syntax.scan import scan


class StatedCondition(NamedTuple):
    """The output, or the input that moves, `name` must lie between `low` and `high`, numbers or values of inputs that do not
    move, as `stated`."""

    stated: SideCondition
    name: str
    low: Atom
    high: Atom


def with_conditions(program: Program, of: Sequence[str] | None, texts: Iterable[str],
                    moved: Sequence[str] = ()) -> tuple[Program, list[StatedCondition], list[StatedCondition]]:
    """The program with its objective as the first output, and an output for each condition of its own and in `texts`; the
    conditions; and those that are bounds of an input in `moved`, which are no outputs. The objective is the one output in `of`,
    by default that of the program, or the one that no condition names."""
    program = with_statements(program, texts)
    stated = program.problem or StatedProblem()
    active = active_values(program, moved)
    inputs = {p.var: p.name for p in program.params if p.name in moved}
    outputs = FurtherOutputs(program)
    conditions, bounds = list[StatedCondition](), list[StatedCondition]()
    for c in stated.conditions:
        for each in compared(c, active):
            atom, low, high = outputs.bounded(each, active)
            if atom in inputs:
                bounds.append(StatedCondition(each, inputs[atom], low, high))
            else:
                conditions.append(StatedCondition(each, outputs.named(atom), low, high))
    if of is None and stated.objective:
        of = [stated.objective]
    objective = outputs_to_differentiate(program, of)
    if of is None and len(objective) > 1:
        asked = {a for c in stated.conditions for a in c.parts}
        objective = [r.name for r in program.results if r.name in objective and r.atom not in asked]
    if len(objective) != 1:
        first = (objective or [r.name for r in program.results])[0]
        raise AdError(f"an objective is one output, and there are {len(objective)}",
                      help=f"choose it: ⟦--of {first}⟧, or write minimize {first} in the program")
    if shape_of(program.result(objective[0]).atom):
        raise AdError(f"the objective '{objective[0]}' is a tensor", help="choose a scalar output with ⟦--of⟧")
    return outputs.program([objective[0], *(c.name for c in conditions)]), conditions, bounds


def greatest(program: Program, of: Sequence[str] | None, maximize: bool) -> bool:
    """Whether the greatest value is looked for. `of` replaces the objective of the program; without it `maximize` must not
    contradict that."""
    stated = program.problem
    if of is not None or stated is None or stated.objective is None:
        return maximize
    if maximize and not stated.maximize:
        raise AdError("the program says minimize", help=f"leave out ⟦--maximize⟧, or write ⟦--of {stated.objective}⟧ with it")
    return stated.maximize


def with_equations(program: Program, of: Sequence[str] | None, texts: Sequence[str]) -> Program:
    """The program with an output for each equation in `texts`, and of its own where it has no objective, which is zero where the
    equation holds, and with the outputs in `of` (default: all, where there are no equations)."""
    if program.problem and program.problem.objective:
        if of is None and not texts:
            raise AdError(f"the program says {'maximize' if program.problem.maximize else 'minimize'}",
                          help="write adcli minimize, or name the outputs that are to be 0: ⟦--of v⟧")
        program = replace(program, problem=None)
    program = with_statements(program, texts)
    equations = program.problem.conditions if program.problem else ()
    if other := next((c for c in equations if not c.equation), None):
        raise AdError(f"'{other.text}' is not an equation", help="write 'g == 1'; adcli minimize takes other conditions")
    outputs = FurtherOutputs(program, "equation")
    made = [outputs.named(outputs.difference(c)) for c in equations]
    kept = [] if made and of is None else outputs_to_differentiate(program, of)
    return outputs.program([*kept, *made])


def compared(c: SideCondition, active: set[Atom]) -> Sequence[SideCondition]:
    """A condition as comparisons of one side that moves with others that do not, as far as they are; else two by two."""
    low, value, high = (*c.parts, c.parts[-1])[:3]
    fits = shape_of(value) or not (shape_of(low) or shape_of(high))
    return [c] if len(c.parts) == 3 and fits and active.isdisjoint((low, high)) else c.pairs()


class FurtherOutputs:
    """A program that gets further outputs, named by the option that says them."""

    def __init__(self, program: Program, stem: str = "subject_to") -> None:
        self.start, self.stem, self.fresh = program, stem, Names.of(program).fresh
        self.builder, self.results = Builder(), list(program.results)

    def program(self, names: Sequence[str]) -> Program:
        """The program with these outputs."""
        equations = (*self.start.equations, *self.builder.equations)
        return with_outputs(replace(self.start, equations=equations, results=tuple(self.results), problem=None), names)

    def named(self, atom: Atom) -> str:
        """The name of a value as an output."""
        self.results.append(Result(self.fresh(self.stem), atom))
        return self.results[-1].name

    def bounded(self, c: SideCondition, active: set[Atom]) -> tuple[Atom, Atom, Atom]:
        """The value that a condition holds, and its bounds. Where nothing moves it is the last side with a name."""
        parts = c.parts if c.signs[0].strip()[0] != ">" else c.parts[::-1]
        moving = [k for k, a in enumerate(parts) if a in active]
        if len(moving) > 1 or any(shape_of(a) and not shape_of(parts[k]) for a in parts for k in moving):
            return self.difference(c), Lit(0.0) if c.equation else Lit(-math.inf), Lit(0.0)
        at = moving[0] if moving else max(k for k, a in enumerate(parts) if isinstance(a, Var))
        low = parts[at - 1] if at else parts[1] if c.equation else Lit(-math.inf)
        high = parts[at + 1] if at + 1 < len(parts) else parts[0] if c.equation else Lit(math.inf)
        return parts[at], low, high

    def difference(self, c: SideCondition) -> Atom:
        """What is zero where an equation holds, and not positive where an inequality does."""
        less, more = c.parts if c.signs[0].strip()[0] != ">" else c.parts[::-1]
        for one, other in ((less, more), (more, less)):
            if isinstance(other, Lit) and other.value == 0 and c.equation:
                return one
        if shape_of(less) and shape_of(more) and shape_of(less) != shape_of(more):
            shapes = f"{shape_text(shape_of(less))} and {shape_text(shape_of(more))}"
            raise AdError(f"'{c.text}': tensors of different shapes, {shapes}", help="declare them with the same sizes")
        b = self.builder
        if shape_of(less) or shape_of(more):
            return elementwise(b, lambda x, y: x - y, less, more).atom
        return (b.expr(less) - b.expr(more)).atom


def value_of(bound: Atom, program: Program, at: Mapping[str, Any]) -> Any:
    """The number or the array of numbers of a bound at a point."""
    from adcli.task.native import compiled
    given = next((p.name for p in program.params if p.var is bound), None)
    alone = replace(program, results=(Result("bound", bound),), problem=None)
    found = bound.value if isinstance(bound, Lit) else at[given] if given else (
        compiled(alone, True)(at) if has_tensors(program) else evaluate(alone, at, FLOAT))["bound"]
    if np.isnan(found).any():
        raise AdError("a bound is nan", help="write a number, or inf where there is no bound")
    return np.asarray(found, np.float64)


# ---------------------------------------------------------------- options as statements

def with_statements(program: Program, texts: Iterable[str]) -> Program:
    """The program with further conditions, each as it stands behind `subject to`."""
    for text in texts:
        made = condition_program(text, values := named_values(program))
        env: dict[Atom, Atom] = {p.var: values[p.name] for p in made.params}
        equations = [Equation(e.outs, told_of(text, e.op), tuple(env.get(a, a) for a in e.args), None, e.group)
                     for e in made.equations]
        stated, more = program.problem or StatedProblem(), made.problem or StatedProblem()
        conditions = [c.substituted(env) for c in more.conditions]
        program = replace(program, equations=(*program.equations, *equations),
                          problem=replace(stated, conditions=(*stated.conditions, *conditions)))
    return program


def told_of(text: str, op: Primitive) -> Primitive:
    """The operation with faults of extents that name the condition, which has no place in the program's text."""
    if not (agreements := getattr(op, "agreements", ())):
        return op
    said = text.strip().replace("%", "%%")
    return replace(op, agreements=tuple(replace(a, span=None, message=f"'{said}': {a.message}") for a in agreements))  # type: ignore[call-arg]


def condition_program(text: str, values: Mapping[str, Atom]) -> Program:
    """A condition as a program, whose inputs are the `values` that it names."""
    from adcli.lang.lower.frontend import parse
    statement = f"subject to {text.strip()}"
    named = dict.fromkeys(t.text for t in scan(statement)[0] if t.type == "NAME")
    of_sizes = [next((t for t, x in values.items() if name in sizes(x)), name) for name in named if name not in values]
    declared = [name for name in dict.fromkeys([*named, *of_sizes]) if name in values]
    lines = [statement, *(declaration(name, values[name]) for name in declared), f"{Names({*values, *named}).fresh('none')} = 0"]
    try:
        made = parse("\n".join(lines), "condition")
    except AdError as fault:
        if re.search(r"(?<![<>=!])=(?!=)", fault.help or ""):   # a statement, which a condition is not
            unknown = re.search(r"no value '(\w+)'", fault.message)
            fault.help = (unknown and nearest(unknown[1], list(values))) or "make it an output of the program, and name that"
            fault.fix = None
        fault.help = fault.help and fault.help.replace("write subject to ", "write ")
        raise
    if other := next((p.name for p in made.params if p.name not in values), None):
        raise AdError(f"'{text.strip()}': no value '{other}' in the program",
                      help=nearest(other, list(values)) or f"the values are {', '.join(values)}")
    return made


def declaration(name: str, x: Atom) -> str:
    return f"input {'int32 ' * (isinstance(x, Var) and x.integer)}{name}{shape_text(shape_of(x)) if shape_of(x) else ''}"


def sizes(x: Atom) -> set[object]:
    """The names in the shape of a tensor."""
    return {a for extent in x.shape for a in atoms(extent)}


def named_values(program: Program) -> Mapping[str, Atom]:
    """FurtherOutputs, inputs, and the last value of each name in between."""
    inner = {o.name: o for e in program.equations for o in e.outs if o.name and not o.temp and not o.truth}
    return {**inner, **{p.name: p.var for p in program.params}, **{r.name: r.atom for r in program.results}}
