"""A check that is asked for: its options, its subject and its points."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adcli.input.settings import Options
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.activity import inputs_to_differentiate, outputs_to_differentiate, with_outputs
from adcli.lang.operations.precision import PRECISIONS
from adcli.task.rules import require_fit

if TYPE_CHECKING:
    from adcli.check.against import Against
    from adcli.check.points import Check
    from adcli.input.sampling import Point

MOST_POINTS = 100_000
"""Points in one run."""
SAMPLES = 10
"""Points that are drawn where nothing else is said."""
TIME_LIMIT, MOST_SECONDS = 60, 86_400
"""Seconds for somebody's function."""
RETURNS = ("value", "gradient", "hessian", "all")
"""Contents of a result of somebody's function: the outputs, their first or second derivatives alone, or one after another."""


@dataclass(frozen=True, kw_only=True)
class CheckOptions(Options):
    """Options of check."""

    samples: int
    seed: int
    digits: int
    against: str | None
    symbol: str | None
    returns: str | None
    time_limit: int
    everything: bool
    precision: str | None
    plot: str | None


def run(check: Check, points: Sequence[Point], remark: Callable[[str], object]) -> None:
    """Look at points, in numbers of the check's precision."""
    from adcli.answers.evaluation import rounded_point
    source = check.primal.source
    if check.holds and source is not None and "stop" in source.text:   # else it is norm that has one
        remark("what stop holds is kept at its value at each point: derivatives are compared for that")
    check.run([rounded_point(at, check.precision) for at in points])


def check_of(primal: Program, inputs: list[str], options: CheckOptions) -> Check:
    """The check that options ask for."""
    from adcli.check.points import Check
    return Check(primal, inputs, options.seed, options.everything, PRECISIONS[options.precision or "double"],
                 10.0 ** -options.digits, others(primal, options))


def differentiated(program: Program, outputs: list[str] | None, inputs: list[str] | None) -> tuple[Program, list[str]]:
    """The program with the outputs asked for, and the inputs to differentiate by. AdError where there are none."""
    primal = with_outputs(program, outputs_to_differentiate(program, outputs))
    inputs = inputs_to_differentiate(primal, inputs)
    if not inputs:
        raise AdError("no input to differentiate with respect to",
                      help=f"differentiate by a param: ⟦--wrt {primal.params[0].name}⟧" if primal.params else None)
    return primal, inputs


def others(primal: Program, options: CheckOptions) -> Against | None:
    """Somebody's derivatives, where there are any to compare with."""
    require_fit(options, "check")
    if options.against is None:
        return None
    from adcli.check.against import Against
    from adcli.check.foreign import foreign
    from adcli.check.points import of_scalars
    from adcli.task.emit import default_symbol
    names = [default_symbol(primal.source, verb) for verb in ("grad", "hessian", "jacobian", "eval")]
    asked = foreign(options.against, names, options.symbol, options.time_limit)
    if not of_scalars(primal) and asked.kind != "python":
        raise AdError("of a program with tensors or loops, ⟦--against⟧ asks a Python function",
                      help="write ⟦--against model.py:grad⟧: it takes the inputs by their names, as numbers and NumPy arrays")
    if of_scalars(primal) and any(e.op is TABLE["stop"] for e in primal.equations):
        raise AdError("⟦--against⟧ cannot be used with a program that has stop", help="give what stop holds as an input: param k")
    return Against(asked, options.returns)


def usable_points(check: Check, at: list[Point]) -> tuple[list[Point], dict[str, Any]]:
    """The points at which something can be looked at: inputs are numbers, and so is a value."""
    outputs = len(check.primal.results)
    good = [p for p, finite in zip(at, check.finite(at), strict=True) if all(finite[:-outputs]) and any(finite[-outputs:])]
    return good, {"how": "given", "usable": len(good), "unusable": len(at) - len(good), "seed": None}


def drawn_points(check: Check, count: int, seed: int) -> tuple[list[Point], dict[str, Any]]:
    """Drawn points at which all values are finite. AdError where none is found."""
    from adcli.input.sampling import usable
    points, failed = usable(check.draw(seed), count, lambda batch: all_finite(check, batch))
    if not points:
        raise AdError(f"none of the {failed} points drawn has finite values", help="give a point with ⟦--at⟧, or declare ranges:"
                      f" input {check.primal.params[0].name} in [1, 2]")
    return points, {"how": "drawn", "usable": len(points), "unusable": failed, "seed": seed}


def all_finite(check: Check, at: Sequence[Point]) -> list[bool]:
    """At which drawn points all is finite; it is not where drawn whole numbers are no subscripts or sizes that fit."""
    try:
        return [all(finite) for finite in check.finite(at)]
    except AdError:
        return [all_finite(check, [p])[0] for p in at] if len(at) > 1 else [False]
