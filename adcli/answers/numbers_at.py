"""A task at a point as a program of numbers, whatever the ranks of its values: what digits and enclosures are taken of.

A program with tensors is written out at the point. Each number among the results is a derivative of some outputs along inputs
that move together.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from adcli.answers.evaluation import complete_point, without_zeros
from adcli.codegen.machine.small import unpacked
from adcli.lang.analyse.conventions import AskedDerivative
from adcli.lang.ir import Program, Values, Var
from adcli.lang.passes.zero_seeds import drop_zero_seeds
from adcli.task.tasks import Task

if TYPE_CHECKING:
    from adcli.lang.evaluate.recording import Pivots

Elements = Mapping[str, Sequence[str]]
"""The elements of every input and output by name, in the order of memory; a number is the one element of itself."""


class NumbersAt(NamedTuple):
    """The derivative and the program it is of as programs of numbers, the value of every number, what each result is, the shapes
    of the results, the inputs and seeds as they were given, and the pivots of operations on matrices."""

    program: Program
    primal: Program
    at: Mapping[str, float]
    asked: list[AskedDerivative]
    shapes: list[tuple[int, ...]]
    given: Values
    pivots: tuple[Pivots, ...] = ()


def as_numbers(task: Task, what: str) -> Callable[[Values], NumbersAt]:
    """A task as a program of numbers at each point, which has the inputs. AdError, of `what`, where that is too long."""
    if task.signature.tensors:
        program = without_zeros(task)
        return lambda at: written_at(task, program, dict(at), what)
    names = [*(p.name for p in task.signature.own), *task.signature.outputs]
    program, asked = drop_zero_seeds(task.program), derivatives(task, {name: (name,) for name in names}, task.seeds)
    shapes: list[tuple[int, ...]] = [()] * len(program.results)
    return lambda at: NumbersAt(program, task.primal, {**at, **task.seeds}, asked, shapes, {**at, **task.seeds})


def written_at(task: Task, program: Program, own: dict[str, Any], what: str) -> NumbersAt:
    import numpy as np

    from adcli.lang.evaluate.recording import elements
    from adcli.lang.evaluate.unfolding import unfolded
    from adcli.task.shapes import written_out
    at = complete_point(task, own, program)
    whole, primal = written_out(program, at, what), unfolded(task.primal, at)
    shaped = {name: np.asarray(x) for name, x in at.items()}
    for r in task.primal.results:   # a constant has no elements of its own
        shaped[r.name] = primal.elements[r.atom] if isinstance(r.atom, Var) else np.zeros(())
    asked = derivatives(task, {name: [*elements(name, x)] for name, x in shaped.items()}, at)
    shapes = [whole.elements[r.atom].shape if isinstance(r.atom, Var) else () for r in program.results]
    return NumbersAt(whole.program, primal.program, whole.at, asked, shapes, at, whole.pivots)


def derivatives(task: Task, elements: Elements, seeds: Values) -> list[AskedDerivative]:
    """One for each number among the results, in order. Of the `seeds` those that are 0 move nothing, nor do those left out."""
    signature = task.signature
    moving = [name for p in signature.seeds if p.seed and p.name in seeds
              for name, x in zip(elements[p.seed], flat(seeds[p.name]), strict=True) if x]
    found = [AskedDerivative((name,), ()) for v in signature.values for name in elements[v]]
    for column, path in zip(signature.derived, task.verb.places(signature), strict=True):
        match path:
            case ("taylor", str(v), int(order)):
                found += [AskedDerivative((name,), (moving,) * order) for name in elements[v]]
            case ("jvp", str(v)):
                found += [AskedDerivative((name,), (moving,)) for name in elements[v]]
            case ("vjp", str(x)):
                found += [AskedDerivative(moving, ((name,),)) for name in elements[x]]
            case ("hvp", str(x)):
                outputs = [name for v in signature.outputs for name in elements[v]]
                found += [AskedDerivative(outputs, (moving, (name,))) for name in elements[x]]
            case _:
                found += [AskedDerivative((name,), [(x,) for x in along]) for name, *along in product(
                    elements[column.of or ""], *[elements[x] for x in column.wrt])]
    return found


def flat(x: Any) -> Sequence[float]:
    """The elements of a value of any rank."""
    return unpacked(x) if isinstance(x, memoryview) else x.ravel().tolist() if hasattr(x, "ravel") else [x]
