"""Which derivative each result of a task is, number by number: of which outputs, and along which inputs that move together."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from adcli.lang.analyse.conventions import AskedDerivative
from adcli.lang.ir import Var
from adcli.task.tasks import Task

if TYPE_CHECKING:
    from adcli.lang.evaluate.unfolding import Unfolded

Elements = Mapping[str, Sequence[str]]
"""The elements of every input and output by name, in the order of memory; a number is the one element of itself."""


def derivatives(task: Task, elements: Elements, seeds: Mapping[str, Any]) -> list[AskedDerivative]:
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


def of_numbers(task: Task) -> list[AskedDerivative]:
    """The derivatives of a task of numbers."""
    names = [*(p.name for p in task.signature.own), *task.signature.outputs]
    return derivatives(task, {name: (name,) for name in names}, task.seeds)


def of_elements(task: Task, primal: Unfolded, at: Mapping[str, Any]) -> list[AskedDerivative]:
    """Those of a task with tensors, whose program is written out at a point."""
    import numpy as np

    from adcli.lang.evaluate.recording import elements
    shaped = {name: np.asarray(x) for name, x in at.items()}
    for r in task.primal.results:   # a constant has no elements of its own
        shaped[r.name] = primal.elements[r.atom] if isinstance(r.atom, Var) else np.zeros(())
    names = {name: [*elements(name, x)] for name, x in shaped.items()}
    return derivatives(task, names, at)


def flat(x: Any) -> Sequence[float]:
    """The elements of a value of any rank."""
    return x.ravel().tolist() if hasattr(x, "ravel") else [x]
